/* Checkpoints: a fit that goes on from one ends with the same bits, wherever it was saved; what
 * does not fit is refused, and what is damaged does no harm. */
#include "search/result.h"
#include "support.h"

enum { S = 3, MOST = 64 };

/* States of each kind of fit to go on from: the first argument; `make torture` asks for more. */
static int64_t states = 4;

typedef struct packed {
    unsigned char *bytes;
    size_t size;
} packed;

/* Keeps every `each`-th state, and the last. */
typedef struct keeper {
    tlnmf_ctx *ctx;
    int64_t calls, each;
    packed kept[MOST], last;
    int count;
} keeper;

static packed pack(tlnmf_ctx *ctx, const tlnmf_record *state)
{
    packed p = {0};
    assert_ok(ctx, tlnmf_record_pack(ctx, state, NULL, &p.size));
    p.bytes = malloc(p.size);
    assert_non_null(p.bytes);
    assert_ok(ctx, tlnmf_record_pack(ctx, state, p.bytes, &p.size));
    return p;
}

static int save(const tlnmf_record *state, void *user)
{
    keeper *k = user;
    if (k->calls++ % k->each == 0 && k->count < MOST)
        k->kept[k->count++] = pack(k->ctx, state);
    if (k->each == INT64_MAX) { /* only the last is wanted */
        free(k->last.bytes);
        k->last = pack(k->ctx, state);
    }
    return 0;
}

static void forget(keeper *k)
{
    for (int i = 0; i < k->count; i++)
        free(k->kept[i].bytes);
    free(k->last.bytes);
    k->count = 0;
    k->last = (packed){0};
}

/* ---- fits ------------------------------------------------------------------------------------ */

typedef struct problem {
    tlnmf_ctx *ctx, *saver; /* the saver's context packs while the other one is busy */
    tlnmf_data *data;
    tlnmf_settings *settings;
    bool diagonalises;
} problem;

static problem create(const char *task, int64_t M, int64_t N, const char *options)
{
    problem p = {.ctx = new_ctx(), .saver = new_ctx(), .diagonalises = strcmp(task, "jd") == 0};
    double *Y = new_doubles(S * M * N);
    simulate_gcm(p.ctx, (gcm_recipe){S, M, N, 3, 1, 2, TL_STREAM_OWN}, Y, NULL, NULL);
    p.data = data_of(p.ctx, Y, S, M, N);
    free(Y);
    assert_ok(p.ctx, tlnmf_settings_create(p.ctx, task, &p.settings));
    char text[512], *rest = text, *word;
    snprintf(text, sizeof text, "%s", options);
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        assert_ok(p.ctx, tlnmf_settings_set_text(p.ctx, p.settings, word, equals + 1));
    }
    return p;
}

static void destroy(problem *p)
{
    tlnmf_settings_free(p->settings);
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->saver);
    tlnmf_ctx_free(p->ctx);
}

static tlnmf_error try_run(problem *p, const packed *from, keeper *k, tlnmf_record **model)
{
    tlnmf_record *state = NULL;
    if (from != NULL)
        assert_ok(p->ctx, tlnmf_record_unpack(p->ctx, from->bytes, from->size, &state));
    if (k != NULL)
        k->ctx = p->saver;
    tlnmf_ctx_set_checkpoint(p->ctx, 0.0, k != NULL ? save : NULL, k);
    tlnmf_ctx_set_resume(p->ctx, state);
    tlnmf_error error = (p->diagonalises ? tlnmf_diagonalise : tlnmf_fit)(p->ctx, p->data,
                                                                          p->settings, NULL, model);
    tlnmf_ctx_set_resume(p->ctx, NULL);
    tlnmf_record_free(state);
    return error;
}

static tlnmf_record *run(problem *p, const packed *from, keeper *k)
{
    tlnmf_record *model;
    assert_ok(p->ctx, try_run(p, from, k, &model));
    return model;
}

/* Every name but clocks and the number of threads. */
static void assert_same(const tlnmf_record *a, const tlnmf_record *b)
{
    const char *name;
    assert_int_equal(tlnmf_record_count(a), tlnmf_record_count(b));
    for (size_t i = 0; (name = tlnmf_record_name(a, i)) != NULL; i++) {
        tlnmf_type type = tlnmf_record_type(a, name);
        assert_int_equal(type, tlnmf_record_type(b, name));
        if (strstr(name, "seconds") != NULL || strcmp(name, "option.threads") == 0)
            continue;
        int64_t shape[2][TLNMF_MAX_RANK], count = 1;
        int32_t rank;
        const double *x = tlnmf_get_array(a, name, &rank, shape[0]),
                     *y = tlnmf_get_array(b, name, NULL, shape[1]);
        assert_memory_equal(shape[0], shape[1], sizeof shape[0]);
        for (int32_t d = 0; d < rank; d++)
            count *= shape[0][d];
        double real[2] = {tlnmf_get_real(a, name), tlnmf_get_real(b, name)};
        bool same =
            tlnmf_get_integer(a, name) == tlnmf_get_integer(b, name) &&
            memcmp(&real[0], &real[1], sizeof *real) == 0 &&
            (type != TLNMF_TEXT || strcmp(tlnmf_get_text(a, name), tlnmf_get_text(b, name)) == 0) &&
            (x == NULL || count == 0 || memcmp(x, y, (size_t)count * sizeof *x) == 0);
        if (!same)
            fail_msg("%s is another one", name);
    }
}

typedef struct variant {
    const char *task, *options;
    int64_t M, N;
} variant;

static const variant variants[] = {
    {"fit", "k=2 starts=3 J=60 threads=2", 6, 10},
    {"fit", "k=2 starts=2 method=tl hops=3 trace=true J=60 threads=2", 6, 10},
    {"fit", "k=1 starts=2 method=tl certify=true J=30", 46, 6}, /* too large to run to the end */
    {"fit", "k=2 method=tl starts=2 newton=true J=40", 6, 10},
    {"fit", "k=2 method=tl newton=true continuation=true eps-rel=1e-3 J=30", 6, 10},
    {"fit", "k=2 method=jd starts=3 threads=2 trace=true J=60", 6, 10},
    {"fit", "k=2 method=nmf starts=3 J=60", 6, 10},
    {"fit", "k=2 method=tl exchange=true starts=2 threads=2 J=40", 6, 10},
    {"fit", "k=2 method=tl solver=paper J=30 starts=2 trace=true", 6, 10},
    {"fit", "k=2 method=jd solver=paper J=30 exchange=true starts=2 threads=2", 6, 10},
    {"fit", "k=2 method=tl precision=mixed starts=2 J=40", 10, 20},
    {"fit", "k=2 method=tl stream=numpy starts=2 hops=2 J=40", 6, 10},
    {"jd", "starts=3 threads=2 J=60", 8, 10},
    {"jd", "whiten=true starts=2 trace=true J=60", 8, 10},
    {"jd", "precision=mixed continuation=true starts=2 J=60", 10, 20},
};

enum { VARIANTS = sizeof variants / sizeof *variants };

/* Saves at every pause; goes on from some of these states, and from states of the runs that did. */
static void ends_with_the_same_bits(void **state)
{
    (void)state;
    int64_t resumed = 0;
    for (size_t v = 0; v < VARIANTS; v++) {
        problem p = create(variants[v].task, variants[v].M, variants[v].N, variants[v].options);
        tlnmf_record *whole = run(&p, NULL, NULL);
        keeper count = {.each = INT64_MAX / 2}, all = {0}, second = {0};
        tlnmf_record_free(run(&p, NULL, &count));
        assert_true(count.calls > states);
        all.each = 1 + count.calls / states;
        tlnmf_record *saved = run(&p, NULL, &all);
        assert_same(whole, saved);
        tlnmf_record_free(saved);
        for (int i = 0; i < all.count; i++) {
            second.each = 1 + count.calls / 4;
            tlnmf_record *again = run(&p, &all.kept[i], i % 3 == 1 ? &second : NULL);
            assert_same(whole, again);
            tlnmf_record_free(again);
            resumed++;
            for (int j = 1; j < second.count; j++, resumed++) {
                again = run(&p, &second.kept[j], NULL);
                assert_same(whole, again);
                tlnmf_record_free(again);
            }
            forget(&second);
        }
        forget(&count);
        forget(&all);
        tlnmf_record_free(whole);
        destroy(&p);
    }
    print_message("%lld resumed fits of %d kinds\n", (long long)resumed, (int)VARIANTS);
}

/* A cancelled fit leaves a state that goes on as if nothing had been. */
static void cancelled_goes_on(void **state)
{
    (void)state;
    for (size_t v = 0; v < VARIANTS; v++) {
        problem p = create(variants[v].task, variants[v].M, variants[v].N, variants[v].options);
        canceller s = {.last = INT64_MAX};
        tlnmf_ctx_set_progress(p.ctx, cancel_at, &s);
        tlnmf_record *whole = run(&p, NULL, NULL);
        int64_t calls = s.calls;
        for (int64_t i = 1; i < states; i++) {
            keeper k = {.each = INT64_MAX};
            s = (canceller){.last = 1 + calls * i / states};
            tlnmf_record *part = run(&p, NULL, &k);
            assert_string_equal(tlnmf_get_text(part, "outcome"), "cancelled");
            tlnmf_record_free(part);
            s.last = INT64_MAX;
            tlnmf_record *again = run(&p, &k.last, NULL);
            assert_same(whole, again);
            tlnmf_record_free(again);
            forget(&k);
        }
        tlnmf_record_free(whole);
        destroy(&p);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void assert_refused(problem *p, const packed *from, const char *why)
{
    tlnmf_record *model;
    assert_int_equal(try_run(p, from, NULL, &model), TLNMF_ERR_DATA);
    assert_null(model);
    if (strstr(tlnmf_message(p->ctx), why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", tlnmf_message(p->ctx), why);
}

static void refuses_what_differs(void **state)
{
    (void)state;
    problem p = create("fit", 8, 20, "k=3 starts=3 J=50"),
            other = create("fit", 8, 21, "k=3 starts=3 J=50"),
            louder = create("fit", 8, 20, "k=3 starts=3 J=50"),
            jd = create("jd", 8, 20, "starts=3");
    keeper k = {.each = 20};
    tlnmf_record_free(run(&p, NULL, &k));
    assert_refused(&other, &k.kept[1], "N = 20, this run of 21");
    assert_refused(&jd, &k.kept[1], "task = fit, this run of jd");
    tlnmf_settings_set_integer(p.ctx, p.settings, "seed", 7);
    assert_refused(&p, &k.kept[1], "option.seed = 1, this run of 7");
    tlnmf_settings_set_integer(p.ctx, p.settings, "seed", 1);
    tlnmf_settings_set_text(p.ctx, p.settings, "threads", "2"); /* changes nothing */
    tlnmf_record_free(run(&p, &k.kept[1], NULL));
    tlnmf_data_free(louder.data);
    double Y[S * 8 * 20];
    simulate_gcm(p.ctx, (gcm_recipe){S, 8, 20, 3, 1, 3, TL_STREAM_OWN}, Y, NULL, NULL);
    louder.data = data_of(p.ctx, Y, S, 8, 20);
    assert_refused(&louder, &k.kept[1], "other data");
    tlnmf_record *nothing;
    assert_ok(p.ctx, tlnmf_record_create(p.ctx, &nothing));
    packed empty = pack(p.ctx, nothing);
    assert_refused(&p, &empty, "kind = nothing");
    free(empty.bytes);
    tlnmf_record_free(nothing);
    forget(&k);
    destroy(&jd);
    destroy(&louder);
    destroy(&other);
    destroy(&p);
}

/* A packed record has a checksum; so this is about states that somebody has made up: any numbers in
 * the blocks. The fit ends, with an error or with a model, and the sanitizers see nothing. */
static void made_up_states_do_no_harm(void **state)
{
    (void)state;
    problem p = create("fit", 6, 10, "k=2 starts=2 hops=2 trace=true J=60");
    keeper k = {.each = 97};
    tl_rng rng;
    int refused = 0;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    tlnmf_record_free(run(&p, NULL, &k));
    assert_true(k.count > 1);
    for (int i = 0; i < 50 * states; i++) {
        tlnmf_record *made, *model;
        const packed *from = &k.kept[pick(&rng, 1, k.count - 1)];
        assert_ok(p.ctx, tlnmf_record_unpack(p.ctx, from->bytes, from->size, &made));
        for (size_t j = 0; j < tlnmf_record_count(made); j++) {
            int64_t shape[TLNMF_MAX_RANK];
            const char *name = tlnmf_record_name(made, j);
            double *x = (double *)tlnmf_get_array(made, name, NULL, shape); /* it is ours */
            for (int n = 0; x != NULL && shape[0] > 0 && n < 3; n++) {
                int64_t words[] = {0, -1, 1, INT64_MAX, (int64_t)1 << 40, pick(&rng, -9, 99)};
                memcpy(&x[pick(&rng, 0, pick(&rng, 0, 1) ? 20 : shape[0] - 1) % shape[0]],
                       &words[pick(&rng, 0, 5)], sizeof *x);
            }
        }
        tlnmf_ctx_set_checkpoint(p.ctx, 0.0, NULL, NULL);
        tlnmf_ctx_set_resume(p.ctx, made);
        tlnmf_error error = tlnmf_fit(p.ctx, p.data, p.settings, NULL, &model);
        refused += error != TLNMF_OK;
        assert_true(error == TLNMF_OK || error == TLNMF_ERR_DATA || error == TLNMF_ERR_NUMERIC);
        tlnmf_record_free(model);
        tlnmf_record_free(made);
    }
    assert_true(refused > 10 * states);
    tlnmf_ctx_set_resume(p.ctx, NULL);
    forget(&k);
    destroy(&p);
}

/* The last state, in which the best result is known: its info, then Phi, W, H. */
static tlnmf_record *unpack_with_best(problem *p, const keeper *k, tl_info **info, double **Phi)
{
    tlnmf_record *made;
    const packed *last = &k->kept[k->count - 1];
    assert_ok(p->ctx, tlnmf_record_unpack(p->ctx, last->bytes, last->size, &made));
    double *now = (double *)tlnmf_get_array(made, "now", NULL, NULL); /* it is ours */
    *info = (tl_info *)(void *)now;
    *Phi = now + sizeof **info / sizeof *now;
    assert_true((*info)->best_start >= 0);
    return made;
}

static void goes_on_from(problem *p, tlnmf_record *made, tlnmf_error error)
{
    tlnmf_record *model;
    tlnmf_ctx_set_checkpoint(p->ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(p->ctx, made);
    assert_int_equal(tlnmf_fit(p->ctx, p->data, p->settings, NULL, &model), error);
    tlnmf_record_free(model);
    tlnmf_ctx_set_resume(p->ctx, NULL);
    tlnmf_record_free(made);
}

/* No model of C = inf, though a state has one, or a Phi that leads to one. */
static void kept_results_must_be_finite(void **state)
{
    (void)state;
    enum { M = 6, N = 10 };
    problem p = create("fit", M, N, "k=2 starts=3 hops=0 method=tl J=30 threads=1");
    keeper k = {.each = 10};
    tl_info *info;
    double *Phi;
    tlnmf_record_free(run(&p, NULL, &k));
    goes_on_from(&p, unpack_with_best(&p, &k, &info, &Phi), TLNMF_OK);
    tlnmf_record *made = unpack_with_best(&p, &k, &info, &Phi);
    info->C = INFINITY;
    goes_on_from(&p, made, TLNMF_ERR_DATA);
    made = unpack_with_best(&p, &k, &info, &Phi);
    Phi[M * M] = -1.0; /* W */
    goes_on_from(&p, made, TLNMF_ERR_DATA);
    made = unpack_with_best(&p, &k, &info, &Phi);
    info->C = -1e300; /* no start is better */
    for (int i = 0; i < M * M; i++)
        Phi[i] = 1e200;
    goes_on_from(&p, made, TLNMF_ERR_NUMERIC);
    forget(&k);
    destroy(&p);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        states = strtol(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_with_the_same_bits),     cmocka_unit_test(cancelled_goes_on),
        cmocka_unit_test(refuses_what_differs),        cmocka_unit_test(made_up_states_do_no_harm),
        cmocka_unit_test(kept_results_must_be_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
