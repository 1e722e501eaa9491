/* Updates of dictionaries: every available implementation, compared with plain loops, and a whole
 * separation through the updater interface. Tests of the GPU are skipped without one. */
#include "engine/device.h"
#include "sound/learn/course.h"
#include "sound/model/factors.h"
#include "sound/render/rounds.h"
#include "unit/sound/duet.h"

/* ---- plain loops ----------------------------------------------------------------------------- */

/* An updater of plain loops, for the interface; `fails` is the number of the run that fails,
 * from 1. */
typedef struct plain {
    tl_updater is; /* first */
    atomic_llong runs;
    int64_t fails;
} plain;

static void plain_U(const tl_updates *u, double *U)
{
    for (int64_t m = 0; m < u->rows; m++)
        for (int64_t n = 0; n < u->N; n++) {
            double sum = u->eps;
            for (int64_t k = 0; k < u->K; k++)
                sum += u->W[m * u->K + k] * u->H[k * u->N + n];
            U[m * u->N + n] = 1.0 / sum;
        }
}

/* num / den of an entry of H, or (of_W) of W. */
static double plain_ratio(const tl_updates *u, const double *U, bool of_W, int64_t i, int64_t k)
{
    double num = 0.0, den = 0.0;
    for (int64_t j = 0; j < (of_W ? u->N : u->rows); j++) {
        int64_t m = of_W ? i : j, n = of_W ? j : i;
        double x = of_W ? u->H[k * u->N + n] : u->W[m * u->K + k], y = U[m * u->N + n];
        num += x * (u->V[m * u->N + n] + u->eps) * y * y;
        den += x * y;
    }
    return den > 0.0 ? num / den : 1.0;
}

static void plain_update(const tl_updates *u, double *U)
{
    plain_U(u, U);
    for (int64_t k = 0; k < u->K; k++)
        for (int64_t n = 0; n < u->N; n++)
            u->H[k * u->N + n] *= plain_ratio(u, U, false, n, k);
    if (!u->moves_W)
        return;
    plain_U(u, U);
    for (int64_t k = 0; k < u->K; k++) {
        double sum = 0.0;
        if (u->free != NULL && !u->free[k])
            continue;
        for (int64_t m = 0; m < u->rows; m++)
            sum += u->W[m * u->K + k] *= plain_ratio(u, U, true, m, k);
        for (int64_t m = 0; m < u->rows; m++)
            u->W[m * u->K + k] /= sum;
        for (int64_t n = 0; n < u->N; n++)
            u->H[k * u->N + n] *= sum;
    }
}

static tlnmf_error plain_run(tlnmf_ctx *ctx, tl_updater *updater, const tl_updates *u)
{
    plain *self = (plain *)updater;
    if (atomic_fetch_add(&self->runs, 1) + 1 == self->fails)
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "the device is lost");
    double *U = new_doubles(u->rows * u->N + 1);
    for (int64_t i = 0; i < u->count && !(u->stops != NULL && u->stops(u->user)); i++)
        plain_update(u, U);
    if (u->U != NULL)
        plain_U(u, u->U);
    free(U);
    return TLNMF_OK;
}

struct tl_spectrum {
    plain *of;
    int64_t M;
    double *Phi, *X;
};

static tlnmf_error plain_open(tlnmf_ctx *ctx, tl_updater *updater, int64_t M, int64_t columns,
                              tl_spectrum **out)
{
    (void)ctx;
    tl_spectrum *s = calloc(1, sizeof *s);
    assert_non_null(s);
    *s = (tl_spectrum){(plain *)updater, M, new_doubles(M * M), new_doubles(M * columns)};
    tl_dft(M, s->Phi);
    *out = s;
    return TLNMF_OK;
}

static void plain_close(tl_spectrum *s)
{
    free(s->Phi);
    free(s->X);
    free(s);
}

static tlnmf_error plain_analyse(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b)
{
    int64_t M = s->M, columns = b->count * b->per_frame;
    if (atomic_fetch_add(&s->of->runs, 1) + 1 == s->of->fails)
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "the device is lost");
    memset(b->out, 0, (size_t)((M / 2 + 1) * b->count) * sizeof *b->out);
    for (int64_t m = 0; m < M; m++)
        for (int64_t t = 0; t < columns; t++) {
            double x = 0.0, pair = m == 0 || m == M - 1 + M % 2 ? 1.0 : 0.5;
            for (int64_t j = 0; j < M; j++)
                x += s->Phi[m * M + j] * b->in[j * columns + t];
            s->X[m * columns + t] = x;
            b->out[(m + 1) / 2 * b->count + t / b->per_frame] +=
                pair * x * x / (double)b->per_frame;
        }
    return TLNMF_OK;
}

static tlnmf_error plain_mask(tlnmf_ctx *ctx, tl_spectrum *s, const tl_spectral *b)
{
    int64_t M = s->M, columns = b->count * b->per_frame;
    if (atomic_fetch_add(&s->of->runs, 1) + 1 == s->of->fails)
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "the device is lost");
    for (int64_t j = 0; j < M; j++)
        for (int64_t t = 0; t < columns; t++) {
            double y = 0.0;
            for (int64_t m = 0; m < M; m++)
                y += s->Phi[m * M + j] * s->X[m * columns + t] *
                     b->in[(m + 1) / 2 * b->count + t / b->per_frame];
            b->out[j * columns + t] = y;
        }
    return TLNMF_OK;
}

static const tl_updater_ops plain_ops = {.name = "plain",
                                         .at_once = 1,
                                         .run = plain_run,
                                         .open_spectrum = plain_open,
                                         .close_spectrum = plain_close,
                                         .analyse = plain_analyse,
                                         .mask = plain_mask};

/* ---- runs on small problems ------------------------------------------------------------------ */

typedef struct problem {
    double *V, *W, *H, *U;
    bool free[16];
} problem;

static problem new_problem(uint64_t seed, const tl_updates *shape)
{
    problem p = {.U = new_doubles(shape->rows * shape->N)};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, seed, 1);
    p.V = new_positives(&rng, shape->rows * shape->N);
    p.W = new_positives(&rng, shape->rows * shape->K);
    p.H = new_positives(&rng, shape->K * shape->N);
    for (int64_t i = 0; i < shape->K * shape->N; i += 3)
        p.H[i] = 0.0; /* silent there, and must remain silent */
    for (int64_t n = 0; n < shape->N && shape->K > 2; n++)
        p.H[shape->N + n] = 0.0; /* a column of W that never sounds: its denominators are 0 */
    for (int64_t k = 0; k < shape->K; k++)
        p.free[k] = k % 3 != 1;
    return p;
}

static void free_problem(problem *p)
{
    free(p->V);
    free(p->W);
    free(p->H);
    free(p->U);
}

/* Kinds of runs: H alone; all of W; some of its columns; none of them; U alone. */
enum { KINDS = 5 };
static tl_updates updates_of(int kind, const int64_t shape[3], problem *p)
{
    tl_updates u = {.rows = shape[0],
                    .N = shape[1],
                    .K = shape[2],
                    .eps = 0.05,
                    .V = p->V,
                    .W = p->W,
                    .H = p->H,
                    .moves_W = kind > 0,
                    .free = kind == 2 || kind == 3 ? p->free : NULL,
                    .count = kind == 4 ? 0 : 3,
                    .U = p->U};
    for (int64_t k = 0; kind == 3 && k < u.K; k++)
        p->free[k] = false;
    return u;
}

static tlnmf_error run_on_cpu(tlnmf_ctx *ctx, const tl_updates *u)
{
    tl_factors f;
    tl_slot table[TL_FACTORS_SLOTS];
    void *memory;
    tl_factors_slots(&f, u->rows, u->N, u->K, u->K, table);
    f.eps = u->eps;
    TRY(TL_ARENA(ctx, "the updates", table, &memory));
    tlnmf_error error = tl_factors_run(ctx, &f, u);
    tl_release(&ctx->hooks, memory);
    return error;
}

static tl_updater *gpu; /* NULL: no GPU */

static tlnmf_error run_on_gpu(tlnmf_ctx *ctx, const tl_updates *u)
{
    return gpu->ops->run(ctx, gpu, u);
}

static int differences;

static void compare_arrays(const char *who, int kind, const tl_updates *u, int64_t count,
                           const double *expected, const double *x)
{
    double off = largest_difference(count, expected, x), size = largest(count, expected);
    if (off <= 1e-12 * size)
        return;
    print_error("updates of kind %d by the %s, %lld x %lld, K = %lld: off by %.3g of %.3g\n", kind,
                who, (long long)u->rows, (long long)u->N, (long long)u->K, off, size);
    differences++;
}

static void compare(const char *who, tlnmf_error (*run)(tlnmf_ctx *ctx, const tl_updates *u))
{
    static const int64_t shapes[][3] = {{1, 1, 1},   {2, 3, 1},    {7, 13, 3},
                                        {33, 17, 5}, {129, 31, 9}, {257, 40, 16}};
    tlnmf_ctx *ctx = new_ctx();
    plain loops = {.is.ops = &plain_ops};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int kind = 0; kind < KINDS; kind++) {
            tl_updates shape = {.rows = shapes[s][0], .N = shapes[s][1], .K = shapes[s][2]};
            problem a = new_problem(s, &shape), b = new_problem(s, &shape);
            tl_updates expected = updates_of(kind, shapes[s], &a),
                       u = updates_of(kind, shapes[s], &b);
            assert_ok(ctx, plain_run(ctx, &loops.is, &expected));
            assert_ok(ctx, run(ctx, &u));
            compare_arrays(who, kind, &u, u.rows * u.K, expected.W, u.W);
            compare_arrays(who, kind, &u, u.K * u.N, expected.H, u.H);
            compare_arrays(who, kind, &u, u.rows * u.N, expected.U, u.U);
            free_problem(&a);
            free_problem(&b);
        }
    tlnmf_ctx_free(ctx);
    int found = differences;
    differences = 0;
    assert_int_equal(found, 0);
}

static void the_cpu_updates_match_plain_loops(void **state)
{
    (void)state;
    compare("cpu", run_on_cpu);
}

static void the_gpu_updates_match_plain_loops(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    compare("gpu", run_on_gpu);
}

/* Power and masked frames of blocks: odd and even lengths, one and several columns per frame. */
static void the_gpu_transforms_match_plain_loops(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {2, 3, 1}, {5, 2, 3}, {16, 4, 2}, {33, 7, 4}};
    if (gpu == NULL)
        skip();
    tlnmf_ctx *ctx = new_ctx();
    plain loops = {.is.ops = &plain_ops};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t M = shapes[i][0], count = shapes[i][1], per_frame = shapes[i][2],
                frames = M * count * per_frame, rows = M / 2 + 1;
        tl_spectrum *expected, *s;
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, i, 2);
        double *Y = new_normals(&rng, frames), *mask = new_positives(&rng, rows * count),
               *V[2] = {new_doubles(rows * count), new_doubles(rows * count)},
               *part[2] = {new_doubles(frames), new_doubles(frames)};
        assert_ok(ctx, plain_open(ctx, &loops.is, M, count * per_frame, &expected));
        assert_ok(ctx, gpu->ops->open_spectrum(ctx, gpu, M, count * per_frame + 3, &s));
        if (s == NULL) { /* only a few lengths are kept */
            assert_true(i >= 4);
        } else {
            assert_ok(ctx, gpu->ops->analyse(ctx, s, &(tl_spectral){count, per_frame, Y, V[1]}));
            assert_ok(ctx, gpu->ops->mask(ctx, s, &(tl_spectral){count, per_frame, mask, part[1]}));
            assert_ok(ctx, plain_analyse(ctx, expected, &(tl_spectral){count, per_frame, Y, V[0]}));
            assert_ok(ctx,
                      plain_mask(ctx, expected, &(tl_spectral){count, per_frame, mask, part[0]}));
            assert_true(largest_difference(rows * count, V[0], V[1]) <
                        1e-13 * largest(rows * count, V[0]));
            assert_true(largest_difference(frames, part[0], part[1]) <
                        1e-13 * largest(frames, part[0]));
            assert_int_equal(gpu->ops->analyse(ctx, s, &(tl_spectral){count + 4, per_frame, Y, Y}),
                             TLNMF_ERR_ARGUMENT);
        }
        gpu->ops->close_spectrum(s);
        plain_close(expected);
        free(Y);
        free(mask);
        for (int k = 0; k < 2; k++) {
            free(V[k]);
            free(part[k]);
        }
    }
    tlnmf_ctx_free(ctx);
}

static bool stop_after_two(void *user)
{
    return ++*(int *)user > 2;
}

/* A stopped run has done its first updates; sizes of 0 are valid. */
static void a_run_on_the_gpu_stops(void **state)
{
    (void)state;
    static const int64_t shape[] = {33, 17, 5};
    if (gpu == NULL)
        skip();
    tlnmf_ctx *ctx = new_ctx();
    tl_updates sizes = {.rows = 33, .N = 17, .K = 5};
    problem a = new_problem(1, &sizes), b = new_problem(1, &sizes);
    tl_updates two = updates_of(1, shape, &a), many = updates_of(1, shape, &b);
    int asked = 0;
    two.count = 2;
    many.count = 1000;
    many.stops = stop_after_two;
    many.user = &asked;
    assert_ok(ctx, run_on_gpu(ctx, &two));
    assert_ok(ctx, run_on_gpu(ctx, &many));
    assert_true(largest_difference(33 * 5, a.W, b.W) == 0.0); /* the same bits */
    many.N = 0;
    assert_ok(ctx, run_on_gpu(ctx, &many));
    free_problem(&a);
    free_problem(&b);
    tlnmf_ctx_free(ctx);
}

/* ---- a separation through the interface ------------------------------------------------------ */

static tlnmf_error separate_by(tlnmf_ctx *ctx, const duet *d, tl_updater *updater,
                               const tl_learn_options *how, double *const *stems)
{
    arrays a = {.x = d->mix, .channels = 1, .stems = stems};
    tl_sound sound = {LENGTH, 1, read_array, &a};
    tl_learn_options opt = *how;
    tl_separate_run run = guided_run();
    tl_blend *blend;
    opt.updater = run.updater = updater;
    run.notes = 1;
    run.write = write_array;
    run.user = &a;
    TRY(tl_blend_learn(ctx, &sound, NOTES, 4, &opt, NULL, NULL, &blend));
    tlnmf_error error = tl_blend_run(ctx, blend, &sound, &run);
    tl_blend_free(blend);
    return error;
}

/* Dictionaries from solos (0), and learnt transforms (1). */
static tl_learn_options options_of(int kind)
{
    tl_learn_options opt = note_options();
    opt.set.learn_frames = 40; /* plain loops are slow */
    opt.any_length = opt.any_window = opt.any_J = 0;
    if (kind == 1) {
        opt.set.method = TL_METHOD_TL;
        opt.set.per_source = 1;
        opt.J = 2;
    }
    return opt;
}

/* Every updater gives the stems of the CPU; a run that fails ends the call with its message. */
static void a_separation_uses_the_updater(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *here = new_duet(ctx), *there = new_duet(ctx);
    for (int kind = 0; kind < 2; kind++) {
        tl_learn_options opt = options_of(kind);
        double *stems[] = {here->stem[0], here->stem[1]},
               *others[] = {there->stem[0], there->stem[1]};
        plain loops = {.is.ops = &plain_ops};
        assert_ok(ctx, separate_by(ctx, here, NULL, &opt, stems));
        assert_ok(ctx, separate_by(ctx, there, &loops.is, &opt, others));
        assert_true(loops.runs > 10);
        assert_true(largest_difference(LENGTH, stems[0], others[0]) < 1e-8);
        if (gpu != NULL) {
            assert_ok(ctx, separate_by(ctx, there, gpu, &opt, others));
            assert_true(largest_difference(LENGTH, stems[0], others[0]) < 1e-8);
        }
        int64_t runs = loops.runs;
        for (int64_t fails = 1; fails <= runs; fails += tl_max(1, runs / 2)) {
            plain failing = {.is.ops = &plain_ops, .fails = fails};
            assert_int_equal(separate_by(ctx, there, &failing.is, &opt, others), TLNMF_ERR_NUMERIC);
            assert_string_equal(tlnmf_message(ctx), "the device is lost");
        }
    }
    free(here);
    free(there);
    tlnmf_ctx_free(ctx);
}

/* ---- the option ------------------------------------------------------------------------------ */

static void keep_message(tlnmf_log_level level, const char *message, void *user)
{
    if (level == TLNMF_LOG_WARNING && strstr(message, "device") != NULL)
        snprintf(user, TL_DEVICE_TEXT, "%s", message);
}

/* cpu: the CPU; gpu: the GPU or an error; auto: falls back to the CPU, with a message if a GPU
 * would pay. */
static void the_option_chooses_the_updater(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    char message[TL_DEVICE_TEXT] = "";
    const tl_updates small = {.rows = 10, .N = 10, .K = 2},
                     large = {.rows = 7057, .N = 600, .K = 1000};
    tl_updater *updater;
    tlnmf_ctx_set_log(ctx, keep_message, message);
    assert_ok(ctx, tl_device_updater(ctx, TL_DEVICE_CPU, &large, 0, &updater));
    assert_null(updater);
    assert_ok(ctx, tl_device_updater(ctx, TL_DEVICE_AUTO, &small, 0, &updater));
    assert_null(updater);
    assert_string_equal(message, "");
    assert_ok(ctx, tl_device_updater(ctx, TL_DEVICE_AUTO, &large, 0, &updater));
    assert_int_equal(updater != NULL, gpu != NULL);
    assert_int_equal(strncmp(message, "device auto: using the cpu: ", 28) == 0, gpu == NULL);
    tl_device_updater_close(updater);
    tlnmf_error error = tl_device_updater(ctx, TL_DEVICE_GPU, &small, 0, &updater);
    assert_int_equal(error, gpu != NULL ? TLNMF_OK : TLNMF_ERR_OPTION);
    if (gpu == NULL)
        assert_int_equal(strncmp(tlnmf_message(ctx), "device gpu: ", 12), 0);
    tl_device_updater_close(updater);
    tlnmf_ctx_free(ctx);
}

/* More than any GPU has is refused with three figures and a way out; auto takes that way. */
static void a_separation_that_is_too_large_is_refused(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    tlnmf_ctx *ctx = new_ctx();
    char message[TL_DEVICE_TEXT] = "";
    const tl_updates huge = {.rows = 100000, .N = 100000000, .K = 1000};
    static const char *const parts[] = {"a separation needs ", " GB, and the GPU has ",
                                        " GB free of ", "; run it without --device gpu"};
    tl_updater *updater;
    tlnmf_ctx_set_log(ctx, keep_message, message);
    assert_int_equal(tl_device_updater(ctx, TL_DEVICE_GPU, &huge, 0, &updater), TLNMF_ERR_OPTION);
    assert_null(updater);
    assert_ok(ctx, tl_device_updater(ctx, TL_DEVICE_AUTO, &huge, 0, &updater));
    assert_null(updater);
    for (int i = 0; i < 4; i++) {
        assert_non_null(strstr(tlnmf_message(ctx), parts[i]));
        assert_int_equal(strstr(message, parts[i]) != NULL, i < 3);
    }
    tlnmf_ctx_free(ctx);
}

/* The estimate of a run's memory: V, U and A, W, H and the sums. */
static void memory_of_a_run_is_estimated(void **state)
{
    (void)state;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library = tl_device_load(why);
    if (library == NULL) {
        skip();
        return;
    }
    tl_updates u = {.rows = 7000, .N = 600, .K = 1000};
    double VN = 8.0 * 7000 * 600, WK = 8.0 * 7000 * 1000, HN = 8.0 * 1000 * 600;
    assert_near(library->updates->bytes(&u), 3 * VN + WK + 3 * HN, 1e5);
    u.moves_W = true;
    assert_near(library->updates->bytes(&u), 3 * VN + 3 * WK + HN, 1e5);
}

/* False if there is a GPU that cannot be opened. */
static bool open_gpu(tlnmf_ctx *ctx)
{
    char why[TL_DEVICE_TEXT];
    tl_device device;
    const tl_device_library *library = tl_device_load(why);
    if (library == NULL || !library->find(0, &device, why)) {
        print_message("gpu: SKIPPED: %s\n", why);
        return true;
    }
    print_message("gpu: %s, %.1f GB\n", device.name, 1e-9 * device.memory);
    return library->updates->open(ctx, &gpu) == TLNMF_OK;
}

/* usage: unit_sound_updates [TEST], a name or a pattern */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_updates_match_plain_loops),
        cmocka_unit_test(the_gpu_updates_match_plain_loops),
        cmocka_unit_test(the_gpu_transforms_match_plain_loops),
        cmocka_unit_test(a_run_on_the_gpu_stops),
        cmocka_unit_test(a_separation_uses_the_updater),
        cmocka_unit_test(the_option_chooses_the_updater),
        cmocka_unit_test(a_separation_that_is_too_large_is_refused),
        cmocka_unit_test(memory_of_a_run_is_estimated),
    };
    tlnmf_ctx *ctx;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    int failed = open_gpu(ctx) ? 0 : 1;
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    tl_device_updater_close(gpu);
    tlnmf_ctx_free(ctx);
    return failed;
}
