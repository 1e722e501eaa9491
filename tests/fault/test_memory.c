/* The n-th allocation fails, for every n: an error, nothing leaked, *out == NULL. */
#include "meter.h"
#include "sound/learn/course.h"
#include "sound/render/rounds.h"
#include "support.h"

enum { S = 3, M = 4, N = 10, K = 2 };

/* A complete fit, from data to model; false if it failed for lack of memory. */
static bool live(meter *m, const double *Y, const void *settings)
{
    const tl_settings *opt = settings;
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create_with(metered_allocate, metered_release, m, &ctx) != TLNMF_OK) {
        assert_null(ctx);
        return false;
    }
    tlnmf_data *data;
    tl_result *result = NULL;
    tlnmf_error error = tlnmf_data_from_realisations(ctx, Y, (int64_t[]){S, M, N}, &data);
    if (error == TLNMF_OK)
        error = tl_fit(ctx, data, opt, NULL, &result);
    else
        assert_null(data);
    if (error != TLNMF_OK) {
        assert_int_equal(error, TLNMF_ERR_MEMORY);
        assert_non_null(strstr(tlnmf_message(ctx), "no memory for "));
        assert_null(result);
    }
    tl_result_free(result);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return error == TLNMF_OK;
}

/* A complete use of some functions on these numbers; false if it failed for lack of memory. */
typedef bool (*life)(meter *m, const double *x, const void *settings);

/* Each allocation fails in turn: every failure is reported and nothing leaks. */
static void fail_each(life one, const double *x, const void *settings, int64_t least)
{
    meter all = {0};
    assert_true(one(&all, x, settings));
    assert_int_equal(all.alive, 0);
    assert_true(all.calls > least);
    for (int64_t n = 1; n <= all.calls; n++) {
        meter m = {.fail_at = n};
        assert_false(one(&m, x, settings));
        assert_int_equal(m.alive, 0);
    }
}

static void fail_everywhere(tl_method method, bool exchange, tl_precision precision)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * M * N);
    tl_settings opt = fit_settings(K);
    opt.J = 2;
    opt.method = (int32_t)method;
    opt.exchange = exchange;
    opt.precision = (int32_t)precision;
    opt.starts = 3;
    opt.trace = 1;
    opt.threads = 1; /* the meter counts without locks */
    opt.stream = exchange ? TL_STREAM_NUMPY : TL_STREAM_OWN;
    fail_each(live, Y, &opt, 10);
    free(Y);
}

/* Neighbouring frames, a start, an ascent, distances. */
static bool live_measures(meter *m, const double *Y, const void *settings)
{
    (void)settings;
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create_with(metered_allocate, metered_release, m, &ctx) != TLNMF_OK)
        return false;
    tl_settings opt = fit_settings(K);
    tlnmf_data *data, *truth = NULL;
    double Phi[M * M] = {0.0}, moved[M * M], W[M * K], H[K * N], angles[2], value;
    tlnmf_error error =
        tlnmf_data_from_neighbours(ctx, Y, (int64_t[]){S, M, N}, TLNMF_NEIGHBOURS_MOVING, 3, &data);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, Y, (int64_t[]){S, M, N}, &truth);
    if (error == TLNMF_OK)
        error = tl_draw_start(ctx, data, &opt, 0, Phi, W, H);
    memcpy(moved, Phi, sizeof moved);
    if (error == TLNMF_OK)
        error = tlnmf_theory_climb(ctx, data, truth, 0.1, 20, moved, &value);
    if (error == TLNMF_OK)
        error = tlnmf_transform_distance(ctx, M, moved, Phi, &value);
    if (error == TLNMF_OK)
        error = tlnmf_principal_angles(ctx, 2, M, moved, Phi, angles);
    if (error != TLNMF_OK) {
        assert_int_equal(error, TLNMF_ERR_MEMORY);
        assert_non_null(strstr(tlnmf_message(ctx), "no memory for "));
    }
    tlnmf_data_free(truth);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return error == TLNMF_OK;
}

static void measures(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * M * N);
    fail_each(live_measures, Y, NULL, 10);
    free(Y);
}

static void tl(void **state)
{
    (void)state;
    fail_everywhere(TL_METHOD_TL, false, TL_PRECISION_DOUBLE);
}

static void jd(void **state)
{
    (void)state;
    fail_everywhere(TL_METHOD_JD, false, TL_PRECISION_DOUBLE);
}

static void nmf(void **state)
{
    (void)state;
    fail_everywhere(TL_METHOD_NMF, false, TL_PRECISION_DOUBLE);
}

static void exchange(void **state)
{
    (void)state;
    fail_everywhere(TL_METHOD_TL, true, TL_PRECISION_DOUBLE);
}

/* The engine with arrays in single precision has more to allocate. */
static void mixed(void **state)
{
    (void)state;
    fail_everywhere(TL_METHOD_TL, false, TL_PRECISION_MIXED);
    fail_everywhere(TL_METHOD_AUTO, false, TL_PRECISION_MIXED);
}

/* ---- several k, and the check of the floor -----------------------------------------------------
 */

static int go_on(const tlnmf_record *progress, void *user);

/* Compares two k by realisations, or by entries if the data have none, and fits with eps-check;
 * false for lack of memory. */
static bool compare(meter *m, const double *Y, const void *settings)
{
    const tl_settings *opt = settings;
    const int64_t shape[] = {S, M, N}, range[] = {1, 2};
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create_with(metered_allocate, metered_release, m, &ctx) != TLNMF_OK)
        return false;
    tlnmf_ctx_set_progress(ctx, go_on, NULL);
    tlnmf_data *data;
    tlnmf_record *ranks = NULL, *model = NULL;
    tlnmf_error error = tlnmf_data_from_realisations(ctx, Y, shape, &data);
    if (error == TLNMF_OK && opt->method == TL_METHOD_TL)
        error = tlnmf_data_set_realisations(ctx, data, Y, shape);
    if (error == TLNMF_OK)
        error = tlnmf_compare_ranks(ctx, data, opt, range, NULL, &ranks);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, opt, NULL, &model);
    if (error != TLNMF_OK) {
        assert_int_equal(error, TLNMF_ERR_MEMORY);
        assert_non_null(strstr(tlnmf_message(ctx), "no memory for "));
        assert_null(model);
    }
    tlnmf_record_free(model);
    tlnmf_record_free(ranks);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return error == TLNMF_OK;
}

static void comparisons(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * M * N);
    tl_settings opt = fit_settings(K);
    opt.J = 2;
    opt.threads = 1;
    opt.eps_check = 1;
    for (int method = TL_METHOD_TL; method <= TL_METHOD_JD; method++) {
        opt.method = method;
        fail_each(compare, Y, &opt, 50);
    }
    free(Y);
}

/* ---- a model on data ------------------------------------------------------------------------ */

static int go_on(const tlnmf_record *progress, void *user)
{
    (void)progress;
    (void)user;
    return 0;
}

/* A fit, its model applied to the same data, and an applier; false for lack of memory. */
static bool apply(meter *m, const double *Y, const void *settings)
{
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create_with(metered_allocate, metered_release, m, &ctx) != TLNMF_OK)
        return false;
    tlnmf_ctx_set_progress(ctx, go_on, NULL);
    tl_settings fit = fit_settings(K);
    fit.J = 2;
    fit.threads = 1;
    tlnmf_data *data;
    tlnmf_record *model = NULL, *applied = NULL;
    tlnmf_applier *applier = NULL;
    tlnmf_error error = tlnmf_data_from_realisations(ctx, Y, (int64_t[]){S, M, N}, &data);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, &fit, NULL, &model);
    if (error == TLNMF_OK)
        error = tlnmf_apply(ctx, model, data, settings, &applied);
    bool is_applied = error == TLNMF_OK;
    if (is_applied)
        error = tlnmf_applier_create(ctx, model, settings, &applier);
    if (error != TLNMF_OK) {
        assert_int_equal(error, TLNMF_ERR_MEMORY);
        assert_non_null(strstr(tlnmf_message(ctx), "no memory for "));
        assert_true((applied != NULL) == is_applied);
        assert_null(applier);
    }
    tlnmf_applier_free(applier);
    tlnmf_record_free(applied);
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return error == TLNMF_OK;
}

static void application(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * M * N);
    for (int64_t row = 0; row < S * M; row++)
        Y[row * N] *= 1e-12; /* a frame far below the floor: the data are trimmed */
    tl_settings opt = defaults_of(TL_TASK_APPLY);
    opt.threads = 1;
    for (int keep = 0; keep < 4; keep++) {
        opt.keep_X = keep % 2;
        opt.keep_V = keep / 2;
        fail_each(apply, Y, &opt, 20);
    }
    free(Y);
}

/* ---- separation ----------------------------------------------------------------------------- */

enum { LENGTH = 600 };

typedef struct noise {
    const double *x;
    double stem[2][LENGTH];
} noise;

static int read_noise(int64_t first, int64_t count, double *x, void *user)
{
    const noise *all = user;
    memcpy(x, all->x + first, (size_t)count * sizeof *x);
    return 0;
}

static int write_stem(int64_t stem, int64_t first, int64_t count, const double *x, void *user)
{
    noise *all = user;
    memcpy(all->stem[stem] + first, x, (size_t)count * sizeof *x);
    return 0;
}

/* Learns from noise with two sources and separates it; false for lack of memory. */
static bool separate(meter *m, const double *x, const void *settings)
{
    (void)settings;
    static const tl_span spans[] = {{.start = 0, .end = 200, .source = 0},
                                    {.start = 200, .end = 400, .source = 1},
                                    {.start = 400, .end = 600, .source = 0},
                                    {.start = 400, .end = 600, .source = 1}};
    tlnmf_ctx *ctx;
    if (tlnmf_ctx_create_with(metered_allocate, metered_release, m, &ctx) != TLNMF_OK)
        return false;
    noise all = {.x = x};
    tl_sound sound = {LENGTH, 1, read_noise, &all};
    tl_learn_options opt = {.rate = 100.0, .any_window = 1, .any_length = 1, .any_J = 1};
    tl_settings_defaults(TL_TASK_LEARN, &opt.set);
    opt.frames = (tl_frames){
        .M = 16, .hop = 8, .shifts = 2, .window = TL_WINDOW_TUKEY, .taper = 0.1, .beta = 8.0};
    opt.sources = 2;
    opt.set.learn_frames = 50; /* fewer than all, so that energies are computed */
    opt.J = 1;
    opt.set.threads = 1;
    tl_blend *blend;
    tlnmf_error error =
        tl_blend_learn(ctx, &sound, spans, 4, &opt, NULL, tl_learn_candidates, &blend);
    if (error == TLNMF_OK) {
        tl_separate_run run = {.threads = 1, .write = write_stem, .user = &all};
        error = tl_blend_run(ctx, blend, &sound, &run);
    } else {
        assert_null(blend);
    }
    if (error != TLNMF_OK)
        assert_int_equal(error, TLNMF_ERR_MEMORY);
    tl_blend_free(blend);
    tlnmf_ctx_free(ctx);
    return error == TLNMF_OK;
}

static void separation(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *x = new_normals(&rng, LENGTH);
    fail_each(separate, x, NULL, 50);
    free(x);
}

/* More iterations of a fit or of apply need no more allocations. */
static void iterations_do_not_allocate(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * M * N);
    for (int method = 0; method < 3; method++) {
        int64_t calls[2];
        for (int i = 0; i < 2; i++) {
            tl_settings opt = fit_settings(K);
            opt.J = i == 0 ? 1 : 200;
            opt.tol = opt.grad_tol = 0.0;
            opt.method = method;
            opt.threads = 1;
            meter m = {0};
            assert_true(live(&m, Y, &opt));
            calls[i] = m.calls;
        }
        assert_int_equal(calls[0], calls[1]);
    }
    tl_settings opt = defaults_of(TL_TASK_APPLY);
    opt.threads = 1;
    opt.tol = opt.grad_tol = 0.0;
    meter few = {0}, many = {0};
    opt.J = 1;
    assert_true(apply(&few, Y, &opt));
    opt.J = 200;
    assert_true(apply(&many, Y, &opt));
    assert_int_equal(few.calls, many.calls);
    free(Y);
}

/* tlnmf_memory is an upper bound of the memory of a fit, and not much larger. */
static void memory_stays_within_the_estimate(void **state)
{
    (void)state;
    enum { LARGE_M = 40, LARGE_N = 70 };
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * LARGE_M * LARGE_N);
    for (int i = 0; i < 18; i++) {
        meter m = {0};
        tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m);
        tl_settings opt = fit_settings(30);
        if (i == 12 || i == 13)
            opt.task = TL_TASK_JD;
        opt.rank_reduce = -1; /* the default of jd */
        opt.method = i < 14 ? i % 4 : TL_METHOD_TL;
        opt.exchange = i >= 4 && i < 8 && opt.method != TL_METHOD_NMF;
        opt.solver = i >= 8 && i < 14 ? TL_ALGORITHM_PAPER : TL_ALGORITHM_FAST;
        opt.precision = i == 14 || i == 17 ? TL_PRECISION_MIXED : TL_PRECISION_DOUBLE;
        if (i == 16) /* from here on one frame is below the floor */
            for (int64_t row = 0; row < S * LARGE_M; row++)
                Y[row * LARGE_N] *= 1e-20;
        const int64_t realisations = i < 16 ? S : 1;
        opt.trace = i % 2;
        if (i == 0)
            opt.hops = 2;
        opt.stream = i % 5 == 1 ? TL_STREAM_NUMPY : TL_STREAM_OWN;
        opt.starts = 4;
        opt.J = 3;
        opt.threads = 1;
        tl_result *result;
        tlnmf_data *data = data_of(ctx, Y, realisations, LARGE_M, LARGE_N);
        size_t before = m.bytes;
        m.most = before;
        double said;
        assert_ok(ctx, tlnmf_memory(ctx, data, &opt, &said));
        assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
        double taken = (double)(m.most - before);
        if (!(taken <= said && taken >= 0.8 * said))
            fail_msg("case %d: estimated %.0f bytes, used %.0f", i, said, taken);
        tl_result_free(result);
        tlnmf_data_free(data);
        tlnmf_ctx_free(ctx);
    }
    free(Y);
}

/* A fit with a trace stays within the bound of tlnmf_memory plus that of tlnmf.h for the trace. */
static void traces_stay_within_their_bound(void **state)
{
    (void)state;
    static const struct {
        const char *task, *options;
        double rows, tables; /* of the trace: R, and tables with trace-all */
    } cases[] = {
        {"fit", "k=4 trace", 401, 0},
        {"fit", "k=4 trace method=tl starts=3", 401, 0},
        {"fit", "k=4 trace method=jd j-tl=3", 801, 0},
        {"fit", "k=4 trace exchange starts=2", 401, 0},
        {"fit", "k=4 trace-all starts=4", 401, 36},
        {"fit", "k=4 trace-all exchange starts=3 tol=0 grad-tol=0", 401, 28},
        {"fit", "k=4 trace method=nmf tol=0 grad-tol=0", 401, 0},
        {"jd", "trace-all starts=1", 401, 12},
    };
    enum { TRACED_M = 12, TRACED_N = 30 };
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    double *Y = new_normals(&rng, S * TRACED_M * TRACED_N);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        meter m = {0};
        double said, traces = 72.0 * cases[i].rows * (1 + 4 + cases[i].tables);
        tlnmf_ctx *ctx = new_ctx_with(metered_allocate, metered_release, &m);
        tlnmf_data *data = data_of(ctx, Y, S, TRACED_M, TRACED_N);
        tlnmf_settings *settings;
        tlnmf_record *model;
        assert_ok(ctx, tlnmf_settings_create(ctx, cases[i].task, &settings));
        assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, "J=200 threads=1"));
        assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, cases[i].options));
        assert_ok(ctx, tlnmf_memory(ctx, data, settings, &said));
        size_t before = m.bytes;
        m.most = before;
        assert_ok(ctx, strcmp(cases[i].task, "jd") == 0
                           ? tlnmf_diagonalise(ctx, data, settings, NULL, &model)
                           : tlnmf_fit(ctx, data, settings, NULL, &model));
        double taken = (double)(m.most - before);
        if (taken > said + traces)
            fail_msg("%s: estimated %.0f + %.0f bytes, used %.0f", cases[i].options, said, traces,
                     taken);
        tlnmf_record_free(model);
        tlnmf_settings_free(settings);
        tlnmf_data_free(data);
        tlnmf_ctx_free(ctx);
    }
    free(Y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tl),
        cmocka_unit_test(jd),
        cmocka_unit_test(nmf),
        cmocka_unit_test(exchange),
        cmocka_unit_test(mixed),
        cmocka_unit_test(measures),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(application),
        cmocka_unit_test(separation),
        cmocka_unit_test(iterations_do_not_allocate),
        cmocka_unit_test(memory_stays_within_the_estimate),
        cmocka_unit_test(traces_stay_within_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
