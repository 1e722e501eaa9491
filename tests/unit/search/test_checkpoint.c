/* Checkpoints: a resumed fit ends with the same bits, wherever it was saved; checkpoints of other
 * fits are refused, and damaged ones are harmless. */
#include "search/units.h"
#include "support.h"

enum { S = 3, MOST = 64 };

/* Number of states of each kind of fit to resume from: the first argument; `make torture` tests
 * more. */
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
    if (k->each == INT64_MAX) { /* only the last is kept */
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
    tlnmf_ctx *ctx, *saver; /* the saver's context packs while the other is in use */
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
    assert_ok(p.ctx, tlnmf_settings_set_all(p.ctx, p.settings, options));
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

/* Compares every value except for times and the number of threads. */
static void assert_same(const tlnmf_record *a, const tlnmf_record *b)
{
    const char *name;
    assert_int_equal(tlnmf_record_count(a), tlnmf_record_count(b));
    for (size_t i = 0; (name = tlnmf_record_name(a, i)) != NULL; i++) {
        tlnmf_type type = tlnmf_record_type(a, name);
        assert_int_equal(type, tlnmf_record_type(b, name));
        if (strstr(name, "seconds") != NULL || strcmp(name, "option.threads") == 0)
            continue;
        int64_t shape[2][TLNMF_MAX_DIMENSIONS], count = 1;
        int32_t rank;
        const double *x = tlnmf_record_get_array(a, name, &rank, shape[0]),
                     *y = tlnmf_record_get_array(b, name, NULL, shape[1]);
        assert_memory_equal(shape[0], shape[1], sizeof shape[0]);
        for (int32_t d = 0; d < rank; d++)
            count *= shape[0][d];
        double real[2] = {tlnmf_record_get_real(a, name), tlnmf_record_get_real(b, name)};
        bool same = tlnmf_record_get_integer(a, name) == tlnmf_record_get_integer(b, name) &&
                    memcmp(&real[0], &real[1], sizeof *real) == 0 &&
                    (type != TLNMF_TYPE_TEXT ||
                     strcmp(tlnmf_record_get_text(a, name), tlnmf_record_get_text(b, name)) == 0) &&
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
    {"fit", "k=2 method=tl continuation=true eps-rel=1e-3 J=30", 6, 10},
    {"fit", "k=2 method=jd starts=3 threads=2 trace=true J=60", 6, 10},
    {"fit", "k=2 method=nmf starts=3 J=60", 6, 10},
    {"fit", "k=2 method=tl starts=auto hops=0 J=60 threads=2", 6, 10},
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

/* Saves after every unit; resumes from each of these states, and from the states of resumed runs.
 */
static void ends_with_the_same_bits(void **state)
{
    (void)state;
    int64_t resumed = 0;
    for (size_t v = 0; v < VARIANTS; v++) {
        problem p = create(variants[v].task, variants[v].M, variants[v].N, variants[v].options);
        tlnmf_record *whole = run(&p, NULL, NULL);
        keeper all = {.each = 1}, second = {.each = 1};
        tlnmf_record *saved = run(&p, NULL, &all);
        assert_same(whole, saved);
        tlnmf_record_free(saved);
        assert_true(all.count > 0);
        for (int i = 0; i < all.count; i++, resumed++) {
            tlnmf_record *again = run(&p, &all.kept[i], &second);
            assert_same(whole, again);
            assert_int_equal(second.count, all.count - i - 1); /* nothing ran twice */
            tlnmf_record_free(again);
            if (second.count > 0) {
                again = run(&p, &second.kept[second.count - 1], NULL);
                assert_same(whole, again);
                tlnmf_record_free(again);
            }
            forget(&second);
        }
        forget(&all);
        tlnmf_record_free(whole);
        destroy(&p);
    }
    print_message("%lld resumed fits of %d kinds\n", (long long)resumed, (int)VARIANTS);
}

/* A cancelled fit saves a state; the resumed fit gives the result of an uninterrupted one. */
static void a_cancelled_fit_resumes(void **state)
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
            assert_string_equal(tlnmf_record_get_text(part, "outcome"), "cancelled");
            tlnmf_record_free(part);
            s.last = INT64_MAX;
            tlnmf_record *again = run(&p, k.last.bytes != NULL ? &k.last : NULL, NULL);
            assert_same(whole, again);
            tlnmf_record_free(again);
            forget(&k);
        }
        tlnmf_record_free(whole);
        destroy(&p);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void assert_refused(problem *p, const packed *from, const char *why)
{
    tlnmf_record *model;
    assert_int_equal(try_run(p, from, NULL, &model), TLNMF_ERR_DATA);
    assert_null(model);
    if (strstr(tlnmf_message(p->ctx), why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", tlnmf_message(p->ctx), why);
}

static void refuses_other_settings_and_data(void **state)
{
    (void)state;
    problem p = create("fit", 8, 20, "k=3 starts=3 J=50"),
            other = create("fit", 8, 21, "k=3 starts=3 J=50"),
            louder = create("fit", 8, 20, "k=3 starts=3 J=50"),
            jd = create("jd", 8, 20, "starts=3");
    keeper k = {.each = 1};
    tlnmf_record_free(run(&p, NULL, &k));
    assert_refused(&other, &k.kept[1], "the checkpoint has N=20, but this run has N=21");
    assert_refused(&jd, &k.kept[1], "the checkpoint has task=fit, but this run has task=jd");
    tlnmf_settings_set_integer(p.ctx, p.settings, "seed", 7);
    assert_refused(&p, &k.kept[1], "the checkpoint has seed=1, but this run has seed=7");
    tlnmf_settings_set_integer(p.ctx, p.settings, "seed", 1);
    tlnmf_settings_set_text(p.ctx, p.settings, "threads", "2"); /* changes nothing */
    tlnmf_record_free(run(&p, &k.kept[1], NULL));
    tlnmf_data_free(louder.data);
    double Y[S * 8 * 20];
    simulate_gcm(p.ctx, (gcm_recipe){S, 8, 20, 3, 1, 3, TL_STREAM_OWN}, Y, NULL, NULL);
    louder.data = data_of(p.ctx, Y, S, 8, 20);
    assert_refused(&louder, &k.kept[1], "the checkpoint has eps=");
    tlnmf_settings_set_text(p.ctx, p.settings, "eps", "1e-3");
    tlnmf_settings_set_text(p.ctx, louder.settings, "eps", "1e-3");
    forget(&k);
    tlnmf_record_free(run(&p, NULL, &k));
    assert_refused(&louder, &k.kept[1], "the checkpoint belongs to other data or another start");
    forget(&k);
    destroy(&jd);
    destroy(&louder);
    destroy(&other);
    destroy(&p);
}

static void refuses_other_records(void **state)
{
    (void)state;
    problem p = create("fit", 8, 20, "k=3 starts=3 J=50");
    tlnmf_record *record;
    assert_ok(p.ctx, tlnmf_record_create(p.ctx, &record));
    packed empty = pack(p.ctx, record);
    assert_refused(&p, &empty, "this is not a checkpoint");
    assert_ok(p.ctx, tlnmf_record_set_text(p.ctx, record, "kind", "checkpoint"));
    packed old = pack(p.ctx, record);
    assert_refused(&p, &old, "this is a checkpoint of another version of tlnmf");
    free(empty.bytes);
    free(old.bytes);
    tlnmf_record_free(record);
    destroy(&p);
}

/* ---- iterates -------------------------------------------------------------------------------- */

/* A start that has run for a long time saves its iterate. A resumed fit continues from it, ends no
 * higher and reports it. */
static void long_starts_continue(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "k=2 method=tl J=60 tol=0 grad-tol=0", "k=2 method=tl J=60 tol=0 solver=paper",
        "k=2 method=jd J=60 tol=0 grad-tol=0", "k=2 method=nmf J=60 tol=0 grad-tol=0"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        problem p = create("fit", 46, 6, kinds[i]);
        keeper k = {.each = 1};
        tlnmf_ctx_set_iterate_after(p.ctx, 0.0);
        tlnmf_record *whole = run(&p, NULL, &k);
        assert_true(k.count > 20);
        assert_int_equal(tlnmf_record_type(whole, "continued"), TLNMF_TYPE_NONE);
        double C = tlnmf_record_get_real(whole, "C");
        for (int j = 18; j < k.count && j < 50; j += 9) { /* past the sweeps */
            keeper ended = {.each = INT64_MAX};
            tlnmf_record *again = run(&p, &k.kept[j], &ended);
            assert_true(tlnmf_record_get_integer(again, "continued") >= 1 || j > k.count - 3);
            assert_near(tlnmf_record_get_real(again, "C"), C, 0.05 * fabs(C));
            if (ended.last.bytes != NULL) { /* resumed once more: it still says so */
                tlnmf_record *third = run(&p, &ended.last, NULL);
                assert_same(again, third);
                tlnmf_record_free(third);
            }
            tlnmf_record_free(again);
            forget(&ended);
        }
        tlnmf_record_free(whole);
        forget(&k);
        destroy(&p);
    }
}

/* ---- other limits ---------------------------------------------------------------------------- */

/* Resumes a fit with `before` from each of its states with `after`. Returns the least number of
 * units that ran. */
static int resume_with(const char *before, const char *after)
{
    problem p = create("fit", 46, 6, before), q = create("fit", 46, 6, after);
    keeper k = {.each = 1}, rest = {.each = 1};
    tlnmf_record_free(run(&p, NULL, &k));
    tlnmf_record *whole = run(&q, NULL, NULL);
    int least = MOST;
    for (int i = 0; i < k.count; i++) {
        tlnmf_record *again = run(&q, &k.kept[i], &rest);
        assert_same(whole, again);
        least = rest.count < least ? rest.count : least;
        tlnmf_record_free(again);
        forget(&rest);
    }
    tlnmf_record_free(whole);
    forget(&k);
    destroy(&q);
    destroy(&p);
    return least;
}

/* With a larger J, or more or fewer starts, the result is that of a new run, and units that are not
 * affected are kept. */
static void other_limits_keep_units(void **state)
{
    (void)state;
    /* all starts and the final stage of the best one converge: nothing runs again */
    assert_int_equal(resume_with("k=1 method=tl starts=3 J=4000", "k=1 method=tl starts=3 J=5000"),
                     0);
    /* J bounds all starts */
    assert_int_equal(resume_with("k=1 method=tl starts=3 J=20", "k=1 method=tl starts=3 J=25"), 4);
    /* one more start, and the final stage if another start is the best */
    int ran = resume_with("k=1 method=tl starts=3 J=4000", "k=1 method=tl starts=4 J=4000");
    assert_true(ran == 1 || ran == 2);
    resume_with("k=1 method=tl starts=4 J=4000", "k=1 method=tl starts=1 J=4000");
    resume_with("k=2 exchange=true starts=2 J=60", "k=2 exchange=true starts=3 J=60");
    resume_with("k=2 exchange=true starts=3 J=40", "k=2 exchange=true starts=2 J=60");
    resume_with("k=2 method=jd starts=3 J=400 trace-all=true",
                "k=2 method=jd starts=2 J=500 trace-all=true");
    resume_with("k=2 starts=2 J=60 solver=paper trace=true",
                "k=2 starts=3 J=61 solver=paper trace=true");
}

/* The best start of a checkpoint may lie beyond the starts that starts=auto would run. The resumed
 * run keeps it, even if it is stopped at once. */
static void auto_keeps_the_best_start(void **state)
{
    (void)state;
    const char *common = "k=2 method=tl hops=0 J=60 threads=1 seed=";
    for (int seed = 1; seed <= 4; seed++) {
        char many[80], few[80];
        snprintf(many, sizeof many, "starts=40 %s%d", common, seed);
        snprintf(few, sizeof few, "starts=auto %s%d", common, seed);
        problem p = create("fit", 6, 10, many), q = create("fit", 6, 10, few);
        keeper k = {.each = INT64_MAX};
        tlnmf_record *whole = run(&p, NULL, &k);
        double C = tlnmf_record_get_real(whole, "C");
        for (int stops = 0; stops < 2; stops++) {
            canceller s = {.last = stops == 1 ? 0 : INT64_MAX};
            tlnmf_ctx_set_progress(q.ctx, cancel_at, &s);
            tlnmf_record *again = run(&q, &k.last, NULL);
            assert_true(tlnmf_record_get_real(again, "orthogonality") < 1e-10);
            assert_true(tlnmf_record_get_real(again, "C") <= C + 1e-9 * fabs(C));
            tlnmf_record_free(again);
        }
        tlnmf_record_free(whole);
        forget(&k);
        destroy(&q);
        destroy(&p);
    }
}

/* A checksum protects packed records, so these states are forged: the blocks have arbitrary
 * numbers. The fit ends with an error or a model, and sanitizers report nothing. */
static void forged_states_are_harmless(void **state)
{
    (void)state;
    problem p = create("fit", 6, 10, "k=2 starts=2 hops=2 trace=true J=60");
    keeper k = {.each = 1};
    tl_rng rng;
    int refused = 0;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    tlnmf_record_free(run(&p, NULL, &k));
    assert_true(k.count > 0);
    for (int i = 0; i < 50 * states; i++) {
        tlnmf_record *made, *model;
        const packed *from = &k.kept[pick(&rng, 0, k.count - 1)];
        assert_ok(p.ctx, tlnmf_record_unpack(p.ctx, from->bytes, from->size, &made));
        for (size_t j = 0; j < tlnmf_record_count(made); j++) {
            int64_t shape[TLNMF_MAX_DIMENSIONS];
            const char *name = tlnmf_record_name(made, j);
            double *x = (double *)tlnmf_record_get_array(made, name, NULL, shape); /* it is ours */
            int64_t count = shape[0] * shape[1];
            for (int n = 0; x != NULL && count > 0 && n < 3; n++) {
                const double numbers[] = {0.0, -1.0, 1.0, 1e300, NAN, (double)pick(&rng, -9, 99)};
                x[pick(&rng, 0, pick(&rng, 0, 1) ? 20 : count - 1) % count] =
                    numbers[pick(&rng, 0, 5)];
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
    assert_true(refused > 0);
    tlnmf_ctx_set_resume(p.ctx, NULL);
    forget(&k);
    destroy(&p);
}

/* Replaces an array by one with the same numbers, as far as the new shape has room for them. */
static void reshape(tlnmf_ctx *ctx, tlnmf_record *made, const char *name, int32_t dimensions,
                    const int64_t *shape)
{
    int64_t old[TLNMF_MAX_DIMENSIONS], count = 1;
    const double *x = tlnmf_record_get_array(made, name, NULL, old);
    for (int32_t d = 0; d < dimensions; d++)
        count *= shape[d];
    double *copy = new_doubles(count + 1);
    for (int64_t i = 0; i < count && i < old[0] * old[1]; i++)
        copy[i] = x[i];
    if (count == TL_UNIT_NUMBERS + 1) /* the trace makes up for the missing point */
        ((tl_unit *)copy)->trace = -((double)(old[1] - count) / 9.0);
    assert_ok(ctx, tlnmf_record_set_array(ctx, made, name, copy, dimensions, shape));
    free(copy);
}

/* Arrays without numbers, with another number of dimensions, or that end before the point: units
 * that need them run again, and sanitizers report nothing. */
static void forged_shapes_are_harmless(void **state)
{
    (void)state;
    problem p = create("fit", 6, 10, "k=2 starts=2 method=tl hops=0 trace=true J=60");
    keeper k = {.each = 1};
    tlnmf_record *whole = run(&p, NULL, &k);
    const packed *last = &k.kept[k.count - 1];
    for (int kind = 0; kind < 3; kind++) {
        tlnmf_record *made, *all, *model;
        const char *name;
        assert_ok(p.ctx, tlnmf_record_unpack(p.ctx, last->bytes, last->size, &made));
        assert_ok(p.ctx, tlnmf_record_create(p.ctx, &all));
        for (size_t i = 0; (name = tlnmf_record_name(made, i)) != NULL; i++) {
            int64_t old[TLNMF_MAX_DIMENSIONS];
            if (tlnmf_record_get_array(made, name, NULL, old) == NULL ||
                strstr(name, ".start.") == NULL)
                continue;
            const int64_t shapes[][3] = {{0, old[1]}, {1, old[1], 0}, {1, TL_UNIT_NUMBERS + 1}};
            reshape(p.ctx, made, name, kind == 1 ? 3 : 2, shapes[kind]);
        }
        assert_ok(p.ctx, tlnmf_join_states(p.ctx, all, made));
        assert_ok(p.ctx, tlnmf_join_states(p.ctx, all, made));
        tlnmf_ctx_set_checkpoint(p.ctx, 0.0, NULL, NULL);
        tlnmf_ctx_set_resume(p.ctx, all);
        assert_ok(p.ctx, tlnmf_fit(p.ctx, p.data, p.settings, NULL, &model));
        assert_same(whole, model);
        tlnmf_ctx_set_resume(p.ctx, NULL);
        tlnmf_record_free(model);
        tlnmf_record_free(all);
        tlnmf_record_free(made);
    }
    tlnmf_record_free(whole);
    forget(&k);
    destroy(&p);
}

/* The last state, and the array of the best start: its numbers, then Phi, W, H. */
static tlnmf_record *unpack_with_best(problem *p, const keeper *k, double **best)
{
    tlnmf_record *made;
    char name[32];
    const packed *last = &k->kept[k->count - 1];
    assert_ok(p->ctx, tlnmf_record_unpack(p->ctx, last->bytes, last->size, &made));
    *best = NULL;
    for (int i = 0; i < 3 && *best == NULL; i++) {
        snprintf(name, sizeof name, "fit.0.start.%d", i);
        *best = (double *)tlnmf_record_get_array(made, name, NULL, NULL); /* it is ours */
    }
    assert_non_null(*best);
    assert_true(((tl_unit *)*best)->done == TL_UNIT_FINISHED);
    return made;
}

static void resumes_from(problem *p, tlnmf_record *made, tlnmf_error error)
{
    tlnmf_record *model;
    tlnmf_ctx_set_checkpoint(p->ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(p->ctx, made);
    assert_int_equal(tlnmf_fit(p->ctx, p->data, p->settings, NULL, &model), error);
    tlnmf_record_free(model);
    tlnmf_ctx_set_resume(p->ctx, NULL);
    tlnmf_record_free(made);
}

/* No model has C = inf, even if a state has, or has a Phi that leads to it. A point that no fit
 * could have saved is computed again. */
static void kept_results_must_be_finite(void **state)
{
    (void)state;
    enum { M = 6, N = 10 };
    problem p = create("fit", M, N, "k=2 starts=3 hops=0 method=tl J=30 threads=1");
    keeper k = {.each = 1};
    double *best;
    tlnmf_record_free(run(&p, NULL, &k));
    resumes_from(&p, unpack_with_best(&p, &k, &best), TLNMF_OK);
    tlnmf_record *made = unpack_with_best(&p, &k, &best);
    ((tl_unit *)best)->C = INFINITY;
    resumes_from(&p, made, TLNMF_ERR_NUMERIC);
    made = unpack_with_best(&p, &k, &best);
    best[TL_UNIT_NUMBERS + M * M] = -1.0; /* W */
    resumes_from(&p, made, TLNMF_OK);
    made = unpack_with_best(&p, &k, &best);
    ((tl_unit *)best)->C = -1e300; /* no start is better */
    for (int i = 0; i < M * M; i++)
        best[TL_UNIT_NUMBERS + i] = 1e200;
    resumes_from(&p, made, TLNMF_ERR_NUMERIC);
    forget(&k);
    destroy(&p);
}

/* max-seconds counts from the start of the resumed run; wall_seconds counts all runs. */
static void earlier_runs_use_no_time(void **state)
{
    (void)state;
    problem p = create("fit", 6, 10, "k=2 starts=3 J=30 threads=1 max-seconds=1000");
    keeper k = {.each = 1};
    tlnmf_record *made, *model;
    tlnmf_record_free(run(&p, NULL, &k));
    assert_ok(p.ctx, tlnmf_record_unpack(p.ctx, k.kept[0].bytes, k.kept[0].size, &made));
    assert_true(tlnmf_record_has(made, "fit.seconds"));
    assert_ok(p.ctx, tlnmf_record_set_real(p.ctx, made, "fit.seconds", 5000.0));
    tlnmf_ctx_set_checkpoint(p.ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(p.ctx, made);
    assert_ok(p.ctx, tlnmf_fit(p.ctx, p.data, p.settings, NULL, &model));
    assert_int_not_equal(tlnmf_record_get_integer(model, "outcome_code"), TLNMF_OUTCOME_TIME);
    assert_true(tlnmf_record_get_real(model, "wall_seconds") >= 5000.0);
    tlnmf_ctx_set_resume(p.ctx, NULL);
    tlnmf_record_free(model);
    tlnmf_record_free(made);
    forget(&k);
    destroy(&p);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        states = strtol(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_with_the_same_bits),
        cmocka_unit_test(a_cancelled_fit_resumes),
        cmocka_unit_test(refuses_other_settings_and_data),
        cmocka_unit_test(refuses_other_records),
        cmocka_unit_test(other_limits_keep_units),
        cmocka_unit_test(auto_keeps_the_best_start),
        cmocka_unit_test(long_starts_continue),
        cmocka_unit_test(forged_states_are_harmless),
        cmocka_unit_test(forged_shapes_are_harmless),
        cmocka_unit_test(kept_results_must_be_finite),
        cmocka_unit_test(earlier_runs_use_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
