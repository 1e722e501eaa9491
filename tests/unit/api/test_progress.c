/* The progress function: its records, and that it stops a run. */
#include "unit/api/results_table.h"
#include "unit/api/small.h"

#include <pthread.h>
#include <time.h>

/* The progress of a run so far. The function may run in other threads, where assertions must not
 * fail: it records errors instead. */
typedef struct told {
    int calls, complete, stop_at; /* stops at this complete iteration; 0: never */
    double seconds, done;         /* of the last call */
    char stages[64];              /* those seen, each followed by a space */
    const char *wrong;
    pthread_mutex_t alone; /* held while the function runs: no other thread may call it then */
    tlnmf_ctx *polled;     /* polled at the end of a stage, when the next poll is due; or NULL */
} told;

static const char names[] = "score done stage complete start starts iteration iterations C L I "
                            "step seconds seconds_left k fold folds";

/* The error in a progress record, or NULL. */
static const char *complaint(const tlnmf_record *p)
{
    if (tlnmf_record_count(p) != 17)
        return "not seventeen values";
    for (size_t i = 0; i < 17; i++) {
        const char *name = tlnmf_record_name(p, i);
        size_t row = find_result(name, "progress");
        if (!is_among(names, name) || row == SIZE_MAX ||
            tlnmf_result_type(row) != tlnmf_record_type(p, name))
            return name;
    }
    int64_t start = tlnmf_record_get_integer(p, "start"),
            starts = tlnmf_record_get_integer(p, "starts");
    int64_t done = tlnmf_record_get_integer(p, "iteration"),
            all = tlnmf_record_get_integer(p, "iterations");
    int64_t complete = tlnmf_record_get_integer(p, "complete");
    if (start < 0 || starts < 1 || start > starts) /* starts itself: the end of JD+NMF */
        return "start";
    if (done < 0 || done > all)
        return "iteration";
    return complete != 0 && complete != 1 ? "complete" : NULL;
}

static int watch(const tlnmf_record *progress, void *user)
{
    told *t = user;
    if (pthread_mutex_trylock(&t->alone) != 0) {
        t->wrong = "two threads at once";
        return 1;
    }
    const char *stage = tlnmf_record_get_text(progress, "stage"), *wrong = complaint(progress);
    double seconds = tlnmf_record_get_real(progress, "seconds");
    if (wrong == NULL && !(seconds >= t->seconds))
        wrong = "the time runs backwards";
    if (wrong != NULL)
        t->wrong = wrong;
    if (!is_among(t->stages, stage)) {
        size_t length = strlen(t->stages);
        snprintf(t->stages + length, sizeof t->stages - length, "%s ", stage);
    }
    t->calls++;
    t->seconds = seconds;
    t->done = tlnmf_record_get_real(progress, "done");
    t->complete += tlnmf_record_get_integer(progress, "complete") == 1;
    if (t->polled != NULL && t->done == 1.0) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        tlnmf_poll(t->polled, "watch", 1.0, 2.0);
    }
    int stop = t->stop_at > 0 && t->complete >= t->stop_at;
    pthread_mutex_unlock(&t->alone);
    return stop;
}

static void expect_well_told(const told *t)
{
    if (t->wrong != NULL)
        fail_msg("the progress was wrong: %s", t->wrong);
    assert_true(t->calls > 0);
}

static tlnmf_record *watched_fit(tlnmf_ctx *ctx, const char *pairs, told *t)
{
    tlnmf_data *data = small_data(ctx);
    tlnmf_settings *settings = new_settings(ctx, "fit", pairs);
    tlnmf_record *model;
    pthread_mutex_init(&t->alone, NULL);
    tlnmf_ctx_set_progress(ctx, watch, t);
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    expect_well_told(t);
    pthread_mutex_destroy(&t->alone);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    return model;
}

static void stages_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *pairs, *stages;
    } cases[] = {
        {"k=2 J=6 tol=0 grad-tol=0 method=tl solver=paper", "prepare tl "},
        {"k=2 J=6 tol=0 grad-tol=0 method=jd solver=paper", "prepare jd nmf "},
        {"k=2 J=6 tol=0 grad-tol=0 method=nmf solver=paper", "prepare nmf "},
        {"k=2 J=6 tol=0 grad-tol=0 method=nmf", "prepare nmf "},
    };
    tlnmf_ctx *ctx = new_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told t = {0};
        tlnmf_record *model = watched_fit(ctx, cases[i].pairs, &t);
        assert_string_equal(t.stages, cases[i].stages);
        assert_true(t.calls >= t.complete && t.complete >= 6);
        assert_string_equal(tlnmf_record_get_text(model, "outcome"), "iterations");
        tlnmf_record_free(model);
    }
    tlnmf_ctx_free(ctx);
}

/* Stopped after the third complete iteration: TLNMF_OK, and the model is the current iterate. */
static void a_run_is_cancelled(void **state)
{
    (void)state;
    static const char *const pairs[] = {"k=2 J=500 tol=0 grad-tol=0 method=tl solver=paper",
                                        "k=2 J=500 tol=0 grad-tol=0 method=tl hops=0",
                                        "k=2 J=500 tol=0 grad-tol=0 method=tl starts=4 hops=0"};
    tlnmf_ctx *ctx = new_ctx();
    for (int i = 0; i < 3; i++) {
        told t = {.stop_at = 3};
        tlnmf_record *model = watched_fit(ctx, pairs[i], &t);
        assert_int_equal(tlnmf_record_get_integer(model, "outcome_code"), TLNMF_OUTCOME_CANCELLED);
        assert_string_equal(tlnmf_record_get_text(model, "outcome"), "cancelled");
        assert_true(tlnmf_record_get_integer(model, "iterations") <= 4);
        tlnmf_data *data = small_data(ctx);
        tlnmf_record *values;
        assert_ok(ctx, tlnmf_evaluate(ctx, data, model, &values));
        assert_close(tlnmf_record_get_real(model, "C"), tlnmf_record_get_real(values, "C"), 1e-11);
        assert_true(tlnmf_record_get_real(model, "orthogonality") < 1e-12);
        tlnmf_record_free(values);
        tlnmf_record_free(model);
        tlnmf_data_free(data);
    }
    tlnmf_ctx_free(ctx);
}

/* Several starts on several threads: calls of the function never overlap (`alone` in watch), and
 * the result is the same as without a progress function. */
static void a_progress_function_does_not_change_the_result(void **state)
{
    (void)state;
    static const char pairs[] = "k=2 J=40 starts=6 method=tl threads=3";
    tlnmf_ctx *ctx = new_ctx();
    told t = {0};
    tlnmf_record *watched = watched_fit(ctx, pairs, &t), *alone;
    tlnmf_data *data = small_data(ctx);
    tlnmf_settings *settings = new_settings(ctx, "fit", pairs);
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &alone));
    assert_true(tlnmf_record_get_real(watched, "C") == tlnmf_record_get_real(alone, "C"));
    assert_true(t.calls > 6);
    tlnmf_record_free(alone);
    tlnmf_record_free(watched);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* Joint diagonalisation, the candidates of a separation, its stems, scores. The last report of a
 * separation or score has done = 1; the progress function may then poll. */
static void other_calls_also_report(void **state)
{
    (void)state;
    static double x[LENGTH * CHANNELS];
    tlnmf_ctx *ctx = new_ctx();
    fill_sound(x);
    tlnmf_data *data = small_data(ctx);
    tlnmf_sound *sound = labelled_sound(ctx, x);
    tlnmf_settings *jd = new_settings(ctx, "jd", "J=5"),
                   *learn = new_settings(ctx, "learn", QUICK_SEPARATION),
                   *take_apart = new_settings(ctx, "separate", "threads=1"),
                   *score = new_settings(ctx, "score", "");
    tlnmf_record *transform, *model, *report, *scores;
    told t[4] = {{0}, {0}, {0}, {0}};
    for (int i = 0; i < 4; i++) {
        pthread_mutex_init(&t[i].alone, NULL);
        t[i].polled = ctx;
    }
    tlnmf_ctx_set_progress(ctx, watch, &t[0]);
    assert_ok(ctx, tlnmf_diagonalise(ctx, data, jd, NULL, &transform));
    tlnmf_ctx_set_progress(ctx, watch, &t[1]);
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, learn, &model));
    tlnmf_ctx_set_progress(ctx, watch, &t[2]);
    assert_ok(ctx, tlnmf_separate(ctx, model, sound, take_apart, NULL, NULL, &report));
    tlnmf_ctx_set_progress(ctx, watch, &t[3]);
    assert_ok(ctx, tlnmf_score(ctx, x, x, (int64_t[]){1, LENGTH, CHANNELS}, score, &scores));
    tlnmf_ctx_set_progress(ctx, watch, &t[2]);
    for (int i = 0; i < 4; i++) {
        expect_well_told(&t[i]);
        assert_true(i == 0 || t[i].done == 1.0);
    }
    assert_string_equal(t[0].stages, "prepare jd ");
    assert_true(is_among(t[1].stages, "choose"));
    assert_string_equal(t[2].stages, "stems ");
    tlnmf_record_free(report);
    tlnmf_record_free(scores);
    tlnmf_settings_free(score);
    t[2].stop_at = 1;
    assert_ok(ctx, tlnmf_separate(ctx, model, sound, take_apart, NULL, NULL, &report));
    assert_string_equal(tlnmf_record_get_text(report, "outcome"), "cancelled");
    tlnmf_record_free(report);
    tlnmf_record_free(model);
    tlnmf_record_free(transform);
    tlnmf_settings_free(take_apart);
    tlnmf_settings_free(learn);
    tlnmf_settings_free(jd);
    tlnmf_sound_free(sound);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void a_flag_stops_a_run(void **state)
{
    tlnmf_ctx *ctx;
    tlnmf_record *model;
    int32_t flag = 0;
    (void)state;
    assert_int_equal(tlnmf_ctx_create(&ctx), TLNMF_OK);
    tlnmf_data *data = small_data(ctx);
    tlnmf_settings *settings = new_settings(ctx, "fit", "k=2");
    tlnmf_ctx_set_progress(ctx, tlnmf_stop_flag, &flag);
    for (flag = 0; flag < 2; flag++) {
        assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
        assert_int_equal(tlnmf_record_get_integer(model, "outcome_code") == TLNMF_OUTCOME_CANCELLED,
                         flag);
        tlnmf_record_free(model);
    }
    assert_int_equal(tlnmf_stop_flag(NULL, NULL), 0);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

/* A caller that uses the context of a call in its progress function. */
typedef struct caller {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tlnmf_settings *settings;
    tlnmf_error fit, make;
    char message[TLNMF_MESSAGE_SIZE];
} caller;

static int call_again(const tlnmf_record *progress, void *user)
{
    static const double Y[] = {1.0, 2.0, 3.0, 4.0};
    (void)progress;
    caller *c = user;
    tlnmf_record *model;
    tlnmf_data *data;
    c->fit = tlnmf_fit(c->ctx, c->data, c->settings, NULL, &model);
    c->make = tlnmf_data_from_realisations(c->ctx, Y, (int64_t[]){1, 2, 2}, &data);
    snprintf(c->message, sizeof c->message, "%s", tlnmf_message(c->ctx));
    return 0;
}

static void calls_inside_the_progress_function_are_refused(void **state)
{
    (void)state;
    caller c = {.ctx = new_ctx()};
    tlnmf_record *model;
    c.data = small_data(c.ctx);
    c.settings = new_settings(c.ctx, "fit", "k=2 J=3 starts=1 threads=1");
    tlnmf_ctx_set_progress(c.ctx, call_again, &c);
    assert_ok(c.ctx, tlnmf_fit(c.ctx, c.data, c.settings, NULL, &model));
    assert_int_equal(c.fit, TLNMF_ERR_ARGUMENT);
    assert_int_equal(c.make, TLNMF_ERR_ARGUMENT);
    assert_string_equal(
        c.message, "a progress function must not call the library with the context of its call");
    tlnmf_record_free(model);
    tlnmf_ctx_set_progress(c.ctx, NULL, NULL);
    assert_ok(c.ctx, tlnmf_fit(c.ctx, c.data, c.settings, NULL, &model)); /* idle again */
    tlnmf_record_free(model);
    tlnmf_settings_free(c.settings);
    tlnmf_data_free(c.data);
    tlnmf_ctx_free(c.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_are_reported),
        cmocka_unit_test(a_run_is_cancelled),
        cmocka_unit_test(a_progress_function_does_not_change_the_result),
        cmocka_unit_test(other_calls_also_report),
        cmocka_unit_test(a_flag_stops_a_run),
        cmocka_unit_test(calls_inside_the_progress_function_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
