/* How many starts found the best minimum, and starts=auto, which runs starts until three did. */
#include "support.h"

#include "search/search.h"

enum { M = 6, N = 12, MOST = 50, WAVE = 4, ENOUGH = 3 };

/* The scores of all starts, from the log. */
typedef struct scores {
    double of[MOST + 1];
    int64_t count;
} scores;

static void note(tlnmf_log_level level, const char *message, void *user)
{
    static const char head[] = "TL-NMF from start ", value[] = ": C = ";
    scores *s = user;
    char *end;
    (void)level;
    if (strncmp(message, head, strlen(head)) != 0)
        return;
    long start = strtol(message + strlen(head), &end, 10);
    assert_true(start >= 1 && strncmp(end, value, strlen(value)) == 0);
    s->of[start - 1] = strtod(end + strlen(value), NULL);
    s->count++;
}

typedef struct problem {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
} problem;

static problem create(int64_t S)
{
    problem p = {.ctx = new_ctx()};
    double *Y = new_doubles(S * M * N);
    simulate_gcm(p.ctx, (gcm_recipe){S, M, N, 3, 1, 2, TL_STREAM_OWN}, Y, NULL, NULL);
    p.data = data_of(p.ctx, Y, S, M, N);
    free(Y);
    return p;
}

static void destroy(problem *p)
{
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

static tlnmf_record *fit(problem *p, const char *options, const tlnmf_record *start)
{
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(p->ctx, tlnmf_settings_create(p->ctx, "fit", &settings));
    assert_ok(p->ctx, tlnmf_settings_set_all(p->ctx, settings, options));
    assert_ok(p->ctx, tlnmf_fit(p->ctx, p->data, settings, start, &model));
    tlnmf_settings_free(settings);
    return model;
}

static int64_t number(const tlnmf_record *model, const char *name)
{
    return tlnmf_record_get_integer(model, name);
}

/* The number of the first `count` scores that agree with the lowest of them. */
static int64_t agreeing(const scores *s, int64_t count)
{
    double best = INFINITY;
    int64_t agree = 0;
    for (int64_t p = 0; p < count; p++)
        best = fmin(best, s->of[p]);
    for (int64_t p = 0; p < count; p++)
        agree += s->of[p] - best <= 1e-6 * M * N + 1e-8 * fabs(best);
    return agree;
}

/* ---- the count ------------------------------------------------------------------------------- */

static void counts_scores_within_the_tolerance(void **state)
{
    (void)state;
    problem p = create(1);
    tl_settings opt = fit_settings(2);
    tl_result *r;
    opt.starts = 5;
    assert_ok(p.ctx, tl_result_create(p.ctx, p.data, &opt, 2, 0, &r));
    assert_int_equal(r->scores, 6);
    tl_result_count(r, INFINITY);
    assert_true(r->info.completed == 0 && r->info.agree == 0);
    double most = 1e-6 * M * N + 1e-8 * 100.0; /* above -100 */
    r->score[0] = -100.0 + 1.01 * most;
    r->score[1] = -100.0 + 0.99 * most;
    r->score[3] = -100.0;
    r->score[5] = -100.0 + 1e-9;
    tl_result_count(r, INFINITY);
    assert_true(r->info.completed == 4 && r->info.agree == 3);
    tl_result_count(r, -101.0); /* a start that was stopped is better */
    assert_true(r->info.completed == 4 && r->info.agree == 0);
    tl_result_free(r);
    destroy(&p);
}

/* One realisation: many minima. Many realisations: one. */
static void counts_the_starts_of_a_fit(void **state)
{
    (void)state;
    const int64_t realisations[] = {1, 100};
    for (int i = 0; i < 2; i++) {
        problem p = create(realisations[i]);
        scores s = {0};
        tlnmf_ctx_set_log(p.ctx, note, &s);
        tlnmf_record *model = fit(&p, "k=3 method=tl starts=9 hops=0 threads=2", NULL);
        assert_int_equal(s.count, 9);
        assert_int_equal(number(model, "starts"), 9);
        assert_int_equal(number(model, "starts_completed"), 9);
        assert_int_equal(number(model, "starts_agree"), agreeing(&s, 9));
        assert_true(i == 0 ? agreeing(&s, 9) < 4 : agreeing(&s, 9) > 4);
        tlnmf_record_free(model);
        destroy(&p);
    }
}

/* JD+NMF has two counts. With a fixed first Phi all starts of JD are the same: one runs. */
static void counts_both_stages_of_jd_nmf(void **state)
{
    (void)state;
    problem p = create(30);
    tlnmf_record *model = fit(&p, "k=3 method=jd starts=4", NULL);
    assert_int_equal(number(model, "starts_completed"), 4);
    assert_int_equal(number(model, "nmf_starts_completed"), 4);
    assert_true(number(model, "starts_agree") >= 1 && number(model, "nmf_starts_agree") >= 1);
    tlnmf_record_free(model);
    model = fit(&p, "k=3 method=jd starts=4 transform=dct", NULL);
    assert_int_equal(number(model, "starts_completed"), 1);
    assert_int_equal(number(model, "nmf_starts_completed"), 4);
    tlnmf_record_free(model);
    destroy(&p);
}

/* A start that is stopped is not completed, and does not count. */
static void stopped_starts_do_not_count(void **state)
{
    (void)state;
    problem p = create(1);
    canceller c = {.last = 60};
    tlnmf_ctx_set_progress(p.ctx, cancel_at, &c);
    tlnmf_record *model = fit(&p, "k=3 method=tl starts=40 hops=0 threads=1", NULL);
    assert_string_equal(tlnmf_record_get_text(model, "outcome"), "cancelled");
    assert_int_equal(number(model, "starts"), 40);
    assert_true(number(model, "starts_completed") < 10);
    assert_true(number(model, "starts_agree") <= number(model, "starts_completed"));
    tlnmf_record_free(model);
    destroy(&p);
}

/* ---- starts=auto ----------------------------------------------------------------------------- */

/* The number of starts follows from the scores of all starts, at any number of threads. */
static void auto_ends_when_three_agree(void **state)
{
    (void)state;
    const int64_t realisations[] = {1, 5, 12, 100};
    int64_t waves[4], between = 0;
    for (int i = 0; i < 4; i++) {
        problem p = create(realisations[i]);
        scores s = {0};
        tlnmf_ctx_set_log(p.ctx, note, &s);
        tlnmf_record_free(fit(&p, "k=3 method=tl starts=50 hops=0 threads=2", NULL));
        tlnmf_ctx_set_log(p.ctx, NULL, NULL);
        int64_t n = WAVE;
        while (n < MOST && agreeing(&s, n) < ENOUGH)
            n = n + WAVE < MOST ? n + WAVE : MOST;
        for (int threads = 1; threads <= 3; threads += 2) {
            char text[96];
            snprintf(text, sizeof text, "k=3 method=tl starts=auto hops=0 threads=%d", threads);
            tlnmf_record *model = fit(&p, text, NULL);
            assert_int_equal(number(model, "starts"), n);
            assert_int_equal(number(model, "starts_completed"), n);
            assert_int_equal(number(model, "starts_agree"), agreeing(&s, n));
            assert_string_equal(tlnmf_record_get_text(model, "option.starts"), "auto");
            snprintf(text, sizeof text, "k=3 method=tl starts=%d hops=0", (int)n);
            assert_true(tlnmf_record_get_real(model, "C") == fitted_C(p.ctx, p.data, text));
            tlnmf_record_free(model);
        }
        waves[i] = n;
        between += n > WAVE && n < MOST;
        destroy(&p);
    }
    assert_int_equal(waves[0], MOST);
    assert_int_equal(waves[3], WAVE);
    assert_true(between > 0); /* the rule ends a search after several waves */
}

/* TL-NMF from the result of JD+NMF is one more start. */
static void auto_counts_the_start_from_jd(void **state)
{
    (void)state;
    problem p = create(30);
    tlnmf_record *model = fit(&p, "k=3 starts=auto", NULL);
    assert_string_equal(tlnmf_record_get_text(model, "method"), "tl");
    assert_int_equal(number(model, "starts_completed"), number(model, "starts") + 1);
    tlnmf_record_free(model);
    destroy(&p);
}

/* If nothing is drawn, there is one start. */
static void auto_runs_one_start_if_all_are_the_same(void **state)
{
    (void)state;
    problem p = create(3);
    tlnmf_record *first = fit(&p, "k=3 method=tl J=3", NULL), *model;
    model = fit(&p, "k=3 method=tl starts=auto", first);
    assert_int_equal(number(model, "starts"), 1);
    assert_int_equal(number(model, "starts_completed"), 1);
    tlnmf_record_free(model);
    tlnmf_record_free(first);
    destroy(&p);
}

static void small_problems_use_auto(void **state)
{
    (void)state;
    problem p = create(1);
    tlnmf_settings *settings;
    tlnmf_record *start;
    static const struct {
        const char *options;
        int64_t starts;
    } rows[] = {{"k=3", 0},
                {"k=25", 0}, /* 36 + 18 k <= 500 */
                {"k=26", 1},
                {"k=27 method=nmf", 0}, /* 18 k <= 500 */
                {"k=28 method=nmf", 1},
                {"k=3 hops=2", 1},
                {"k=3 exchange=true", 1},
                {"k=3 solver=paper", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(p.ctx, tlnmf_settings_create(p.ctx, "fit", &settings));
        assert_int_equal(tlnmf_settings_get_integer(settings, "starts"), 1); /* the library's */
        assert_ok(p.ctx, tlnmf_settings_set_all(p.ctx, settings, rows[i].options));
        assert_int_equal(tlnmf_usual_starts(p.data, settings, NULL), rows[i].starts);
        assert_ok(p.ctx, tlnmf_draw_start(p.ctx, p.data, settings, 0, &start));
        assert_int_equal(tlnmf_usual_starts(p.data, settings, start), 1);
        tlnmf_record_remove(start, "W");
        tlnmf_record_remove(start, "H");
        assert_int_equal(tlnmf_usual_starts(p.data, settings, start),
                         rows[i].starts == 0 && strstr(rows[i].options, "nmf") != NULL ? 0 : 1);
        tlnmf_record_free(start);
        tlnmf_settings_free(settings);
    }
    destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_scores_within_the_tolerance),
        cmocka_unit_test(counts_the_starts_of_a_fit),
        cmocka_unit_test(counts_both_stages_of_jd_nmf),
        cmocka_unit_test(stopped_starts_do_not_count),
        cmocka_unit_test(auto_ends_when_three_agree),
        cmocka_unit_test(auto_counts_the_start_from_jd),
        cmocka_unit_test(auto_runs_one_start_if_all_are_the_same),
        cmocka_unit_test(small_problems_use_auto),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
