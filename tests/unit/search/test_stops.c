/* When and why a fit stops, and its trace. */
#include "unit/search/small_fit.h"

#include <time.h>

static int stop_after(const tlnmf_record *progress, void *user)
{
    (void)progress;
    int *left = user;
    return --*left <= 0;
}

/* Stops at every poll in turn, until the fit completes: each time, the result is valid. */
static void every_poll_can_stop_a_fit(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) { /* methods tl, jd, nmf and auto; both solvers */
        int calls = 1;
        tl_info info;
        do {
            problem p = create();
            int left = calls;
            p.opt.method = i % 4;
            p.opt.solver = i / 4;
            p.opt.starts = 2;
            p.opt.J = 4;
            p.opt.J_nmf = 3;
            p.opt.threads = calls % 2 + 1;
            info = fit(&p, stop_after, &left, NULL);
            assert_true(isfinite(info.C) && isfinite(info.L) && isfinite(info.I));
            assert_close(info.C, info.L + info.I, 1e-10);
            assert_true(info.orthogonality < 1e-13);
            assert_true(info.iterations <= p.opt.J * (i == 5 ? p.opt.J_tl : 1));
            assert_true((info.outcome == TLNMF_OUTCOME_CANCELLED) == (left <= 0));
            destroy(&p);
            calls++;
        } while (info.outcome == TLNMF_OUTCOME_CANCELLED);
        assert_true(calls > 10);
    }
}

/* Creating data has no partial result: an error, and nothing leaks. */
static void every_poll_can_stop_new_data(void **state)
{
    (void)state;
    double Y[S * M * N], Sigma[2 * M * M] = {0};
    tlnmf_ctx *ctx = new_ctx();
    simulate_gcm(ctx, (gcm_recipe){S, M, N, K, 1, 2, TL_STREAM_OWN}, Y, NULL, NULL);
    for (int i = 0; i < 2 * M; i++)
        Sigma[i / M * M * M + i % M * (M + 1)] = 1.0 + i;
    ctx->monitor->every = 0.0;
    for (int kind = 0; kind < 3; kind++) { /* S = 1, S = 3, covariances */
        tlnmf_error error = TLNMF_ERR_CALLBACK;
        for (int calls = 1; error != TLNMF_OK; calls++) {
            tlnmf_data *data;
            int left = calls;
            tlnmf_ctx_set_progress(ctx, stop_after, &left);
            error = kind == 2 ? tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){2, M, M}, &data)
                              : tlnmf_data_from_realisations(
                                    ctx, Y, (int64_t[]){kind == 0 ? 1 : S, M, N}, &data);
            assert_true(error == TLNMF_OK ? left > 0 : error == TLNMF_ERR_CALLBACK);
            assert_true((data == NULL) == (error != TLNMF_OK));
            tlnmf_data_free(data);
            assert_true(calls < 1000);
        }
    }
    tlnmf_ctx_free(ctx);
}

/* If an inner call runs out of time, the outer call continues; a cancellation ends both. */
static void nested_calls_have_their_own_deadlines(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_monitor *m = ctx->monitor;
    tl_scope outermost, outer;
    int left = 1;
    m->every = 0.0;
    tl_monitor_enter(m, 1e3, NULL, &outermost);
    tl_monitor_enter(m, 1e-9, NULL, &outer);
    while (!tl_poll(m))
        ;
    assert_int_equal(tl_stopped(m), TLNMF_OUTCOME_TIME);
    tl_monitor_leave(m, &outer);
    assert_false(tl_poll(m));
    tl_monitor_enter(m, 1e6, NULL, &outer);
    assert_true(m->deadline - m->since <= 1e3);
    tlnmf_ctx_set_progress(ctx, stop_after, &left);
    assert_true(tl_poll(m));
    tl_monitor_leave(m, &outer);
    assert_true(tl_poll(m));
    assert_int_equal(tl_stopped(m), TLNMF_OUTCOME_CANCELLED);
    tl_monitor_leave(m, &outermost);
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    tl_monitor_enter(m, 0.0, NULL, &outermost); /* the next call starts anew */
    assert_false(tl_poll(m));
    tl_monitor_leave(m, &outermost);
    assert_false(tl_poll(NULL));
    tlnmf_ctx_free(ctx);
}

/* Polls of libraries built on this one: independent outside of calls, with the stage of the call
 * inside. */
static int name_stage(const tlnmf_record *progress, void *user)
{
    snprintf(user, 16, "%s", tlnmf_record_get_text(progress, "stage"));
    return tlnmf_record_get_real(progress, "done") >= 0.5;
}

static void other_libraries_poll(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    char stage[16] = "";
    tl_scope outer;
    ctx->monitor->every = 0.0;
    assert_int_equal(tlnmf_poll(ctx, "read", 0.0, 4.0), 0);
    assert_int_equal(tlnmf_poll(NULL, "read", 0.0, 4.0), 0);
    tlnmf_ctx_set_progress(ctx, name_stage, stage);
    assert_int_equal(tlnmf_poll(ctx, "read", 1.0, 4.0), 0);
    assert_string_equal(stage, "read");
    assert_int_not_equal(tlnmf_poll(ctx, "read", 2.0, 4.0), 0);
    assert_int_equal(tlnmf_poll(ctx, "read", 0.0, 4.0), 0); /* the next file */
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    assert_false(tl_poll_at(ctx->monitor, "choose", 0.0, 3.0));
    assert_int_equal(tlnmf_poll(ctx, "read", 4.0, 4.0), 0);
    assert_string_equal(stage, "choose");
    tl_monitor_leave(ctx->monitor, &outer);
    tlnmf_ctx_free(ctx);
}

static int note_iterations(const tlnmf_record *progress, void *user)
{
    int64_t *iterations = user;
    iterations[0] = tlnmf_record_get_integer(progress, "iteration");
    iterations[1] = tlnmf_record_get_integer(progress, "iterations");
    return 0;
}

/* Counts that no integer can hold. */
static void polls_accept_any_count(void **state)
{
    (void)state;
    static const double counts[][2] = {
        {(double)NAN, 2.0}, {-1e300, (double)NAN}, {1e300, INFINITY}};
    static const int64_t expected[][2] = {{0, 2}, {0, 0}, {INT64_MAX / 2 + 1, INT64_MAX / 2 + 1}};
    tlnmf_ctx *ctx = new_ctx();
    int64_t iterations[2];
    ctx->monitor->every = 0.0;
    tlnmf_ctx_set_progress(ctx, note_iterations, iterations);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        assert_int_equal(tlnmf_poll(ctx, "read", counts[i][0], counts[i][1]), 0);
        assert_int_equal(iterations[0], expected[i][0]);
        assert_int_equal(iterations[1], expected[i][1]);
    }
    tlnmf_ctx_free(ctx);
}

static int poll_again(const tlnmf_record *progress, void *user)
{
    (void)progress;
    return tlnmf_poll(user, "read", 0.0, 1.0);
}

/* It would wait for itself if a poll waited for the report. */
static void a_progress_function_may_poll(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_progress progress = tl_progress_of("nmf");
    tl_scope outer;
    ctx->monitor->every = 0.0;
    tlnmf_ctx_set_progress(ctx, poll_again, ctx);
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    tl_report(ctx->monitor, &progress);
    assert_false(tl_poll(ctx->monitor));
    tl_monitor_leave(ctx->monitor, &outer);
    tlnmf_ctx_free(ctx);
}

/* Also if the start that is kept had finished before. */
static void cancelling_a_later_start_is_reported(void **state)
{
    (void)state;
    problem p = create();
    p.opt.starts = 50;
    p.opt.J = 3;
    p.opt.threads = 1;
    int left = 200;
    tl_info info = fit(&p, stop_after, &left, NULL);
    assert_int_equal(info.outcome, TLNMF_OUTCOME_CANCELLED);
    assert_true(info.best_start >= 0);
    destroy(&p);
}

static void time_ends_a_run(void **state)
{
    (void)state;
    problem p = create();
    p.opt.method = TL_METHOD_NMF; /* in paper mode it never stops by itself at tol = 0 */
    p.opt.solver = TL_ALGORITHM_PAPER;
    p.opt.J = 1000000000;
    p.opt.tol = 0.0;
    p.opt.max_seconds = 0.05;
    assert_int_equal(fit(&p, NULL, NULL, NULL).outcome, TLNMF_OUTCOME_TIME);
    destroy(&p);
}

static void stop_reasons_are_distinguished(void **state)
{
    (void)state;
    problem p = create();
    p.opt.solver = TL_ALGORITHM_PAPER;
    assert_int_equal(fit(&p, NULL, NULL, NULL).outcome, TLNMF_OUTCOME_ITERATIONS);
    p.opt.J = 100000;
    p.opt.tol = 1e-7;
    tl_info info = fit(&p, NULL, NULL, NULL);
    assert_int_equal(info.outcome, TLNMF_OUTCOME_CONVERGED);
    assert_true(info.iterations < 100000);
    p.opt.method = TL_METHOD_JD;
    p.opt.grad_tol = 1e-6;
    p.opt.J = 1000;
    info = fit(&p, NULL, NULL, NULL);
    assert_int_equal(info.outcome, TLNMF_OUTCOME_STATIONARY);
    assert_true(info.gradient_norm <= 1e-6);
    p.opt.grad_tol = 0.0; /* so that rounding ends it */
    assert_int_equal(fit(&p, NULL, NULL, NULL).outcome, TLNMF_OUTCOME_LINE_SEARCH);
    destroy(&p);
}

static void traces_are_complete(void **state)
{
    (void)state;
    problem p = create();
    p.opt.solver = TL_ALGORITHM_PAPER;
    p.opt.trace = 1;
    p.opt.tol = 0.0;
    tl_result *result;
    fit(&p, NULL, NULL, &result);
    const tl_trace_row *row = result->trace;
    int64_t length = result->trace_length;
    assert_int_equal(length, p.opt.J);
    for (int64_t i = 0; i < length; i++) {
        assert_int_equal(row[i].iteration, i + 1);
        assert_close(row[i].C, row[i].L + row[i].I, 1e-10);
        assert_true(row[i].step > 0.0);
        assert_int_equal(row[i].start, 0);
    }
    assert_close(row[length - 1].gradient, result->info.gradient_norm, 1e-9);
    tl_result_free(result);
    p.opt.method = TL_METHOD_JD;
    fit(&p, NULL, NULL, &result);
    row = result->trace;
    length = result->trace_length;
    assert_int_equal(row[0].stage, TL_STAGE_JD);
    assert_int_equal(row[length - 1].stage, TL_STAGE_NMF);
    assert_int_equal(row[length - 1].iteration, p.opt.J);
    assert_int_equal(result->info.outcome_of, TL_STAGE_NMF);
    assert_int_equal(result->info.nmf_iterations, p.opt.J);
    tl_result_free(result);
    destroy(&p);
}

/* With trace-all, the rows of every start equal those of a run of this start alone. */
static void traces_of_all_starts(void **state)
{
    (void)state;
    enum { STARTS = 3 };
    problem p = create();
    p.opt.method = TL_METHOD_TL;
    p.opt.hops = 0;
    p.opt.trace = p.opt.trace_all = 1;
    p.opt.starts = STARTS;
    tl_result *all, *best;
    fit(&p, NULL, NULL, &all);
    p.opt.trace_all = 0;
    fit(&p, NULL, NULL, &best);
    int64_t rows[STARTS] = {0}, at = 0;
    for (int64_t i = 0; i < all->trace_length; i++) {
        assert_true(i == 0 || all->trace[i].start >= all->trace[i - 1].start);
        rows[all->trace[i].start]++;
        at += all->trace[i].start < best->info.best_start;
    }
    for (int s = 0; s < STARTS; s++)
        assert_true(rows[s] > 0);
    assert_int_equal(rows[best->info.best_start], best->trace_length);
    for (int64_t i = 0; i < best->trace_length; i++) {
        assert_int_equal(best->trace[i].start, best->info.best_start);
        assert_true(best->trace[i].C == all->trace[at + i].C);
        assert_true(best->trace[i].gradient == all->trace[at + i].gradient);
    }
    tl_result_free(all);
    tl_result_free(best);
    destroy(&p);
}

/* ---- seconds ----------------------------------------------------------------------------------
 */

enum { NAP = 2000000 }; /* nanoseconds: far more than the clock's resolution */

static int sleep_a_little(const tlnmf_record *progress, void *user)
{
    struct timespec nap = {0, NAP};
    int *complete = user;
    if (tlnmf_record_get_integer(progress, "complete") == 1) {
        ++*complete;
        nanosleep(&nap, NULL);
    }
    return 0;
}

/* The test sleeps once per row: the times of consecutive rows differ by at least one sleep, and the
 * total time includes all of them. Starts and stages use one clock. */
static void times_of_a_trace_increase(void **state)
{
    (void)state;
    const double nap = 1e-9 * NAP;
    for (int i = 0; i < 12; i++) { /* three methods, two solvers, one start or three */
        problem p = create();
        p.opt.method = i % 3;
        p.opt.solver = i / 3 % 2;
        p.opt.starts = i < 6 ? 1 : 3;
        p.opt.threads = 1;
        p.opt.J = 6;
        p.opt.hops = 0;
        p.opt.trace = 1;
        tl_result *result;
        int naps = 0;
        double since = tl_wall_seconds();
        tl_info info = fit(&p, sleep_a_little, &naps, &result);
        double outside = tl_wall_seconds() - since, before = -nap;
        assert_true(result->trace_length >= p.opt.J && naps >= result->trace_length);
        for (int64_t row = 0; row < result->trace_length; row++) {
            double seconds = result->trace[row].seconds;
            assert_true(seconds >= before + nap);
            before = seconds;
        }
        assert_true(before + nap <= info.wall_seconds);
        assert_true(naps * nap <= info.wall_seconds && info.wall_seconds <= outside);
        tl_result_free(result);
        destroy(&p);
    }
}

/* The model contains the same times, by name. */
static void seconds_are_in_the_model(void **state)
{
    (void)state;
    problem p = create();
    p.opt.trace = 1;
    tlnmf_record *model;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    assert_ok(p.ctx, tlnmf_fit(p.ctx, p.data, &p.opt, NULL, &model));
    const double *seconds = tlnmf_record_get_array(model, "trace.seconds", NULL, shape);
    assert_non_null(seconds);
    assert_true(shape[0] >= p.opt.J);
    for (int64_t i = 1; i < shape[0]; i++)
        assert_true(seconds[i] >= seconds[i - 1]);
    assert_true(seconds[0] > 0.0 && seconds[shape[0] - 1] > seconds[0]);
    assert_true(seconds[shape[0] - 1] < tlnmf_record_get_real(model, "wall_seconds"));
    tlnmf_record_free(model);
    destroy(&p);
}

static int save_slowly(const tlnmf_record *state, void *user)
{
    (void)state;
    ++*(int *)user;
    return nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

/* Saving takes at most 1 % of the time: after a save of 0.2 s, the next one is due in 20 s. */
static void slow_checkpoints_are_rare(void **state)
{
    (void)state;
    int saves = 0;
    problem p = create();
    tlnmf_record *model;
    p.opt.starts = 12;
    p.opt.threads = 1;
    tlnmf_ctx_set_checkpoint(p.ctx, 1e-9, save_slowly, &saves);
    assert_ok(p.ctx, tlnmf_fit(p.ctx, p.data, &p.opt, NULL, &model));
    assert_int_equal(saves, 1);
    tlnmf_record_free(model);
    destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_poll_can_stop_a_fit),
        cmocka_unit_test(every_poll_can_stop_new_data),
        cmocka_unit_test(nested_calls_have_their_own_deadlines),
        cmocka_unit_test(other_libraries_poll),
        cmocka_unit_test(polls_accept_any_count),
        cmocka_unit_test(a_progress_function_may_poll),
        cmocka_unit_test(cancelling_a_later_start_is_reported),
        cmocka_unit_test(time_ends_a_run),
        cmocka_unit_test(stop_reasons_are_distinguished),
        cmocka_unit_test(traces_are_complete),
        cmocka_unit_test(traces_of_all_starts),
        cmocka_unit_test(times_of_a_trace_increase),
        cmocka_unit_test(seconds_are_in_the_model),
        cmocka_unit_test(slow_checkpoints_are_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
