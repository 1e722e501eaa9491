/* The calls of a separation: outcomes, callbacks that fail, threads, errors. */
#include "unit/sound/duet.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

/* Options with few candidates and a short time of learning. */
static tl_learn_options quick_options(void)
{
    tl_learn_options opt = note_options();
    opt.frames.M = 50;
    opt.frames.hop = 25;
    opt.frames.shifts = 2;
    opt.set.method = TL_METHOD_TL;
    opt.set.basis = TL_BASIS_DCT;
    opt.set.per_source = 1;
    opt.set.learn_frames = 40;
    opt.J = 2;
    opt.any_J = 0;
    return opt;
}

static void expect_message(const tlnmf_ctx *ctx, const char *part)
{
    if (strstr(tlnmf_message(ctx), part) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", tlnmf_message(ctx), part);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

/* Stops from call number `at` on; records the last progress. */
typedef struct stopper {
    int calls, at;
    char stage[16];
    int64_t iteration, iterations;
    double C;
} stopper;

static int stop(const tlnmf_record *progress, void *user)
{
    stopper *s = user;
    if (tlnmf_record_get_integer(progress, "complete") != 1)
        return 0;
    snprintf(s->stage, sizeof s->stage, "%s", tlnmf_record_get_text(progress, "stage"));
    s->iteration = tlnmf_record_get_integer(progress, "iteration");
    s->iterations = tlnmf_record_get_integer(progress, "iterations");
    s->C = tlnmf_record_get_real(progress, "C");
    return ++s->calls >= s->at;
}

/* Begins a call of the context that reports to `report`. */
static void begin_call(tlnmf_ctx *ctx, tlnmf_progress_fn report, void *user)
{
    tl_scope outer;
    tlnmf_ctx_set_progress(ctx, report, user);
    ctx->monitor->depth = 0;
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
}

/* Learns the notes of the duet's mixture while the stopper lets it. */
static tl_separator *learn_until(tlnmf_ctx *ctx, const duet *d, const tl_learn_options *opt,
                                 stopper *s)
{
    arrays a = {.x = d->mix, .channels = 1};
    tl_sound sound = {LENGTH, 1, read_array, &a};
    tl_separator *separator;
    begin_call(ctx, stop, s);
    assert_ok(ctx, learn_one(ctx, &sound, NOTES, 4, opt, &separator));
    return separator;
}

static void a_finished_learning_has_done_its_iterations(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = quick_options();
    stopper never = {.at = 1000000};
    tl_separator *separator = learn_until(ctx, d, &opt, &never);
    assert_int_equal(separator->info.outcome, TLNMF_OUTCOME_ITERATIONS);
    assert_int_equal(separator->info.candidates, 1);
    assert_string_equal(never.stage, "choose");
    assert_int_equal(never.iteration, 1);
    assert_int_equal(never.iterations, 1);
    assert_true(never.C == separator->info.C);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* Stopped between candidates or within a descent: the current candidate is completed and kept. */
static void a_stopped_learning_is_cancelled(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    for (int i = 0; i < 3; i++) {
        opt.set.method = i == 2 ? TL_METHOD_TL : TL_METHOD_AUTO;
        stopper s = {.at = i == 1 ? 3 : 1};
        tl_separator *separator = learn_until(ctx, d, &opt, &s);
        assert_int_equal(separator->info.outcome, TLNMF_OUTCOME_CANCELLED);
        assert_int_equal(separator->info.candidates, s.at);
        assert_true(tl_poll(ctx->monitor));
        tl_separator_free(separator);
    }
    free(d);
    tlnmf_ctx_free(ctx);
}

static void a_run_ends_or_is_cancelled(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = quick_options();
    tl_separator *separator = learn(ctx, d->mix, 1, true, &opt);
    double *stems[2] = {d->stem[0], d->stem[1]};
    arrays a = {.x = d->mix, .channels = 1, .stems = stems};
    tl_sound sound = {LENGTH, 1, read_array, &a};
    tl_separate_run run = guided_run();
    run.write = write_array;
    run.user = &a;
    stopper s = {.at = 1};
    begin_call(ctx, stop, &s);
    assert_ok(ctx, run_one(ctx, separator, &sound, &run));
    assert_true(tl_poll(ctx->monitor));
    assert_int_equal(s.calls, 1);
    assert_string_equal(s.stage, "stems");
    s = (stopper){.at = 1000000};
    begin_call(ctx, stop, &s);
    assert_ok(ctx, run_one(ctx, separator, &sound, &run));
    assert_false(tl_poll(ctx->monitor));
    assert_int_equal(s.iteration, tl_frames_count(&separator->info.frames, LENGTH));
    assert_int_equal(s.iteration, s.iterations);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* ---- callbacks that fail --------------------------------------------------------------------- */

/* Sound in memory whose callbacks fail at one call, with 40 plus its number, and record where. */
typedef struct fragile {
    arrays a;
    int reads, fail_read, writes, fail_write;
    int64_t output, sample;
    tlnmf_ctx *ctx; /* not NULL: a failure names its cause */
} fragile;

static int read_fragile(int64_t first, int64_t count, double *x, void *user)
{
    fragile *f = user;
    f->sample = first;
    if (++f->reads == f->fail_read && f->ctx != NULL)
        return (int)tlnmf_fail(f->ctx, TLNMF_ERR_INPUT, "the cable is loose");
    return f->reads == f->fail_read ? 40 + f->reads : read_array(first, count, x, &f->a);
}

static int write_fragile(int64_t output, int64_t first, int64_t count, const double *x, void *user)
{
    fragile *f = user;
    f->output = output;
    f->sample = first;
    if (++f->writes == f->fail_write && f->ctx != NULL)
        return (int)tlnmf_fail(f->ctx, TLNMF_ERR_OUTPUT, "the disk is full");
    return f->writes == f->fail_write ? 40 + f->writes
                                      : write_array(output, first, count, x, &f->a);
}

/* Each read fails in turn, with a distinct error and a message that says where. */
static void a_failed_read_stops_learning(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = quick_options();
    tlnmf_error error = TLNMF_ERR_CALLBACK;
    int n = 1;
    for (; error == TLNMF_ERR_CALLBACK; n++) {
        fragile f = {.a = {.x = d->mix, .channels = 1}, .fail_read = n};
        tl_sound sound = {LENGTH, 1, read_fragile, &f};
        tl_separator *separator = (tl_separator *)1;
        error = learn_one(ctx, &sound, NOTES, 4, &opt, &separator);
        if (error == TLNMF_OK) {
            tl_separator_free(separator);
            break;
        }
        assert_int_equal(error, TLNMF_ERR_CALLBACK);
        assert_null(separator);
        char expected[100];
        snprintf(expected, sizeof expected,
                 "reading failed at sample %lld: the callback returned %d", (long long)f.sample,
                 40 + n);
        expect_message(ctx, expected);
    }
    assert_int_equal(error, TLNMF_OK);
    assert_true(n > 3); /* energies, frames, remixes */
    free(d);
    tlnmf_ctx_free(ctx);
}

static tlnmf_error run_fragile(tlnmf_ctx *ctx, const tl_separator *separator, fragile *f)
{
    tl_sound sound = {LENGTH, 1, read_fragile, f};
    tl_separate_run run = guided_run();
    run.write = write_fragile;
    run.user = f;
    return run_one(ctx, separator, &sound, &run);
}

static void a_failed_read_or_write_stops_a_run(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = quick_options();
    tl_separator *separator = learn(ctx, d->mix, 1, true, &opt);
    double *stems[2] = {d->stem[0], d->stem[1]};
    fragile whole = {.a = {.x = d->mix, .channels = 1, .stems = stems}};
    assert_ok(ctx, run_fragile(ctx, separator, &whole));
    assert_true(whole.reads > 1 && whole.writes == 2 * whole.reads);
    char expected[120];
    for (int n = 1; n <= whole.writes; n++) {
        fragile f = {.a = whole.a, .fail_write = n};
        assert_int_equal(run_fragile(ctx, separator, &f), TLNMF_ERR_CALLBACK);
        assert_int_equal(f.writes, n); /* no call after the one that failed */
        snprintf(expected, sizeof expected,
                 "writing output %lld failed at sample %lld: the callback returned %d",
                 (long long)f.output, (long long)f.sample, 40 + n);
        expect_message(ctx, expected);
    }
    for (int n = 1; n <= whole.reads; n++) {
        fragile f = {.a = whole.a, .fail_read = n};
        assert_int_equal(run_fragile(ctx, separator, &f), TLNMF_ERR_CALLBACK);
        assert_int_equal(f.reads, n);
        snprintf(expected, sizeof expected,
                 "reading failed at sample %lld: the callback returned %d", (long long)f.sample,
                 40 + n);
        expect_message(ctx, expected);
    }
    fragile writes = {.a = whole.a, .fail_write = 2, .ctx = ctx};
    assert_int_equal(run_fragile(ctx, separator, &writes), TLNMF_ERR_CALLBACK);
    expect_message(ctx, "writing output 1 failed at sample 0: the disk is full");
    fragile reads = {.a = whole.a, .fail_read = 1, .ctx = ctx};
    assert_int_equal(run_fragile(ctx, separator, &reads), TLNMF_ERR_CALLBACK);
    snprintf(expected, sizeof expected, "reading failed at sample %lld: the cable is loose",
             (long long)reads.sample);
    expect_message(ctx, expected);
    fragile silent = {.a = whole.a, .fail_read = 1}; /* an earlier cause is forgotten */
    assert_int_equal(run_fragile(ctx, separator, &silent), TLNMF_ERR_CALLBACK);
    assert_null(strstr(tlnmf_message(ctx), "loose"));
    assert_string_equal(tlnmf_error_name(TLNMF_ERR_CALLBACK), "callback");
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Sound in memory whose callbacks record their thread, and whether two run concurrently. */
typedef struct census {
    arrays a;
    pthread_t caller;
    atomic_int inside, reporting, reads, writes, reports, elsewhere, together;
} census;

static void enter(census *c, atomic_int *count)
{
    if (atomic_fetch_add(&c->inside, 1) != 0)
        atomic_fetch_add(&c->together, 1);
    if (!pthread_equal(pthread_self(), c->caller))
        atomic_fetch_add(&c->elsewhere, 1);
    atomic_fetch_add(count, 1);
}

static int read_counted(int64_t first, int64_t count, double *x, void *user)
{
    census *c = user;
    enter(c, &c->reads);
    read_array(first, count, x, &c->a);
    atomic_fetch_sub(&c->inside, 1);
    return 0;
}

static int write_counted(int64_t output, int64_t first, int64_t count, const double *x, void *user)
{
    census *c = user;
    enter(c, &c->writes);
    write_array(output, first, count, x, &c->a);
    atomic_fetch_sub(&c->inside, 1);
    return 0;
}

/* Called on any thread, but never concurrently. */
static int report_counted(const tlnmf_record *progress, void *user)
{
    (void)progress;
    census *c = user;
    if (atomic_fetch_add(&c->reporting, 1) != 0)
        atomic_fetch_add(&c->together, 1);
    atomic_fetch_add(&c->reports, 1);
    atomic_fetch_sub(&c->reporting, 1);
    return 0;
}

static void samples_pass_through_the_calling_thread(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    double *stems[2] = {d->stem[0], d->stem[1]};
    census c = {.a = {.x = d->mix, .channels = 1, .stems = stems}, .caller = pthread_self()};
    tl_sound sound = {LENGTH, 1, read_counted, &c};
    tl_learn_options opt = note_options();
    opt.set.threads = 4;
    opt.J = 2;
    opt.set.learn_frames = 60;
    begin_call(ctx, report_counted, &c);
    tl_separator *separator;
    assert_ok(ctx, learn_one(ctx, &sound, NOTES, 4, &opt, &separator));
    tl_separate_run run = guided_run();
    run.threads = 4;
    run.write = write_counted;
    run.user = &c;
    assert_ok(ctx, run_one(ctx, separator, &sound, &run));
    assert_true(c.reads > 5 && c.writes > 2 && c.reports > 15);
    assert_int_equal(c.elsewhere, 0);
    assert_int_equal(c.together, 0);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void refuse(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *span,
                   const tl_learn_options *opt, tlnmf_error error, const char *message)
{
    tl_separator *separator = (tl_separator *)1;
    assert_int_equal(learn_one(ctx, sound, span, span != NULL ? 1 : 0, opt, &separator), error);
    assert_null(separator);
    expect_message(ctx, message);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double *x = new_doubles(LENGTH);
    arrays a = {.x = x, .channels = 1};
    tl_sound sound = {LENGTH, 1, read_array, &a};
    tl_learn_options opt = note_options(), bad = opt;
    refuse(ctx, &sound, NULL, &opt, TLNMF_ERR_DATA, "the sound is silent");
    x[700] = NAN; /* bad data, not a callback that failed */
    refuse(ctx, &sound, NULL, &opt, TLNMF_ERR_DATA, "sample 700, channel 0 is not finite");
    x[700] = 1e200;
    refuse(ctx, &sound, NULL, &opt, TLNMF_ERR_DATA,
           "the sound has samples that are too large to square");
    x[700] = 1.0;
    bad.sources = 60;
    bad.set.learn_frames = 50;
    refuse(ctx, &sound, NULL, &bad, TLNMF_ERR_DATA, "60 components need at least as many frames");
    tl_span wrong = {.start = 0, .end = 10, .source = 2};
    refuse(ctx, &sound, &wrong, &opt, TLNMF_ERR_DATA, "span 0 is invalid: source 2");
    free(x);
    tlnmf_ctx_free(ctx);
}

/* Allocated bytes: now, and at most. */
typedef struct meter {
    size_t now, most;
} meter;

static void *allocate_metered(size_t bytes, void *user)
{
    meter *m = user;
    void *block = malloc(bytes);
    m->now += block != NULL ? malloc_usable_size(block) : 0;
    m->most = m->now > m->most ? m->now : m->most;
    return block;
}

static void release_metered(void *block, void *user)
{
    meter *m = user;
    m->now -= malloc_usable_size(block);
    free(block);
}

static void memory_stays_below_its_bound(void **state)
{
    (void)state;
    static const int32_t methods[] = {TL_METHOD_NMF, TL_METHOD_TL, TL_METHOD_AUTO};
    meter m = {0, 0};
    tlnmf_ctx *ctx = new_ctx_with(allocate_metered, release_metered, &m);
    duet *d = new_duet(ctx);
    for (int i = 0; i < 6; i++) {
        tl_learn_options opt = note_options();
        opt.set.method = methods[i % 3];
        opt.J = 1;
        double *stems[2] = {d->stem[0], d->stem[1]}, bound = tl_learn_memory(&opt, LENGTH, 1);
        m.most = 0;
        arrays a = {.x = d->mix, .channels = 1, .stems = stems};
        tl_sound sound = {LENGTH, 1, read_array, &a};
        tl_separate_run run = blind_run();
        tl_blend *blend;
        run.write = write_array;
        run.user = &a;
        assert_ok(ctx, tl_blend_learn(ctx, &sound, i < 3 ? NOTES : NULL, i < 3 ? 4 : 0, &opt, NULL,
                                      NULL, &blend));
        assert_ok(ctx, tl_blend_run(ctx, blend, &sound, &run));
        tl_blend_free(blend);
        assert_true((double)m.most < bound);
        assert_true((double)m.most > 0.03 * bound); /* and the bound is not too loose */
    }
    free(d);
    tlnmf_ctx_free(ctx);
    assert_int_equal(m.now, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_learning_has_done_its_iterations),
        cmocka_unit_test(a_stopped_learning_is_cancelled),
        cmocka_unit_test(a_run_ends_or_is_cancelled),
        cmocka_unit_test(a_failed_read_stops_learning),
        cmocka_unit_test(a_failed_read_or_write_stops_a_run),
        cmocka_unit_test(samples_pass_through_the_calling_thread),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(memory_stays_below_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
