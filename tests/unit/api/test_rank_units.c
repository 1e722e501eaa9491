/* Checkpoints of a comparison: every one can be resumed with the same bits; mismatches are refused.
 */
#include "unit/api/small_ranks.h"

enum { MOST = 128 };

/* All states that were saved. */
typedef struct album {
    int count;
    tlnmf_record *state[MOST];
} album;

static int keep(const tlnmf_record *state, void *user)
{
    album *a = user;
    tlnmf_ctx *ctx = new_ctx();
    size_t size = 0;
    assert_true(a->count < MOST);
    assert_ok(ctx, tlnmf_record_pack(ctx, state, NULL, &size));
    void *bytes = malloc(size);
    assert_ok(ctx, tlnmf_record_pack(ctx, state, bytes, &size));
    assert_ok(ctx, tlnmf_record_unpack(ctx, bytes, size, &a->state[a->count++]));
    free(bytes);
    tlnmf_ctx_free(ctx);
    return 0;
}

static void clear(album *a)
{
    for (int i = 0; i < a->count; i++)
        tlnmf_record_free(a->state[i]);
    a->count = 0;
}

static tlnmf_error compare(const world *w, const char *pairs, int64_t high, tlnmf_record **ranks)
{
    const int64_t range[2] = {1, high};
    tlnmf_settings *settings = settings_of(w->ctx, pairs);
    tlnmf_error error = tlnmf_compare_ranks(w->ctx, w->data, settings, range, NULL, ranks);
    tlnmf_settings_free(settings);
    return error;
}

static void expect_same(const tlnmf_record *a, const tlnmf_record *b)
{
    static const char *const names[] = {"rank.scores", "other.rank.scores", "rank.C_per_entry",
                                        "rank.standard_error"};
    assert_int_equal(tlnmf_record_get_integer(a, "k"), tlnmf_record_get_integer(b, "k"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        const double *x = tlnmf_record_get_array(a, names[i], NULL, shape);
        const double *y = tlnmf_record_get_array(b, names[i], NULL, NULL);
        assert_true((x == NULL) == (y == NULL));
        if (x != NULL)
            assert_memory_equal(x, y, (size_t)(shape[0] * shape[1]) * sizeof *x);
    }
}

static int count_fits(const tlnmf_record *progress, void *user)
{
    int64_t *at = user; /* fits so far, k and fold of the last */
    int64_t k = tlnmf_record_get_integer(progress, "k"),
            fold = tlnmf_record_get_integer(progress, "fold");
    if (tlnmf_record_get_integer(progress, "complete") != 1)
        return 0; /* the data of a fold are prepared even if not all of its fits run */
    at[0] += k != at[1] || fold != at[2];
    at[1] = k;
    at[2] = fold;
    return 0;
}

/* A state is saved after each start and each fit; a resumed run fits only the rest. */
static void check_all_states(const world *w, const char *pairs, int fits)
{
    album a = {0};
    tlnmf_record *whole, *again;
    tlnmf_ctx_set_checkpoint(w->ctx, 0.0, keep, &a);
    assert_ok(w->ctx, compare(w, pairs, 2, &whole));
    tlnmf_ctx_set_checkpoint(w->ctx, 0.0, NULL, NULL);
    assert_true(a.count > fits);
    for (int i = 0; i < a.count; i += 1 + i / 12) {
        int64_t at[3] = {0, -1, -1};
        tlnmf_ctx_set_resume(w->ctx, a.state[i]);
        tlnmf_ctx_set_progress(w->ctx, count_fits, at);
        assert_ok(w->ctx, compare(w, pairs, 2, &again));
        assert_true(at[0] <= fits - fits * i / a.count + 1);
        assert_true(i < a.count - 1 || at[0] == 0);
        expect_same(again, whole);
        tlnmf_record_free(again);
    }
    tlnmf_ctx_set_progress(w->ctx, NULL, NULL);
    tlnmf_ctx_set_resume(w->ctx, NULL);
    tlnmf_record_free(whole);
    clear(&a);
}

static void every_state_resumes_with_the_same_bits(void **state)
{
    (void)state;
    world w = create(3, 0, 0);
    check_all_states(&w, "method=tl J=20", 2 * 3); /* 2 numbers, 3 folds */
    destroy(&w);
    w = create(10, 0, 0); /* 5 folds of frames */
    check_all_states(&w, "method=jd", 2 * 5);
    destroy(&w);
    w = create(1, 0, 0); /* 4 folds of neighbours; Phi; 5 folds of entries */
    check_all_states(&w, "method=jd", 2 * (4 + 1 + 5));
    destroy(&w);
}

static int stop_later(const tlnmf_record *progress, void *user)
{
    int *left = user;
    (void)progress;
    return --*left <= 0;
}

/* A cancelled comparison saves its state, even if the interval between saves is long. */
static void a_cancelled_comparison_resumes(void **state)
{
    (void)state;
    world w = create(3, 0, 0);
    album a = {0};
    tlnmf_record *whole, *part, *again;
    int calls = INT32_MAX;
    tlnmf_ctx_set_progress(w.ctx, stop_later, &calls);
    w.ctx->monitor->every = 0.0;
    assert_ok(w.ctx, compare(&w, "method=jd", 2, &whole));
    calls = (INT32_MAX - calls) / 2;
    tlnmf_ctx_set_checkpoint(w.ctx, 1e6, keep, &a);
    assert_ok(w.ctx, compare(&w, "method=jd", 2, &part));
    assert_string_equal(tlnmf_record_get_text(part, "outcome"), "cancelled");
    assert_int_equal(a.count, 1);
    tlnmf_ctx_set_progress(w.ctx, NULL, NULL);
    tlnmf_ctx_set_resume(w.ctx, a.state[0]);
    assert_ok(w.ctx, compare(&w, "method=jd", 2, &again));
    expect_same(again, whole);
    tlnmf_record_free(again);
    tlnmf_record_free(part);
    tlnmf_record_free(whole);
    clear(&a);
    destroy(&w);
}

static void refuse(const world *w, const char *pairs, int64_t high, const char *message)
{
    tlnmf_record *ranks = NULL;
    assert_int_equal(compare(w, pairs, high, &ranks), TLNMF_ERR_DATA);
    assert_null(ranks);
    assert_string_equal(tlnmf_message(w->ctx), message);
}

static void states_of_other_runs_are_refused(void **state)
{
    (void)state;
    world w = create(3, 0, 0);
    album a = {0};
    tlnmf_record *ranks;
    tlnmf_ctx_set_checkpoint(w.ctx, 0.0, keep, &a);
    assert_ok(w.ctx, compare(&w, "method=jd", 2, &ranks));
    tlnmf_record_free(ranks);
    tlnmf_ctx_set_checkpoint(w.ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(w.ctx, a.state[2]);
    refuse(&w, "method=tl", 2, "the checkpoint has method=jd, but this run has method=tl");
    refuse(&w, "method=jd", 3, "the checkpoint has high=2, but this run has high=3");
    tlnmf_settings *settings = settings_of(w.ctx, "method=jd k=2");
    assert_ok(w.ctx, tlnmf_fit(w.ctx, w.data, settings, NULL, &ranks)); /* a fit may follow */
    tlnmf_record_free(ranks);
    tlnmf_settings_free(settings);
    w.Y[7] += 1e-9; /* the data were made before */
    refuse(&w, "method=jd", 2, "the checkpoint belongs to other data or another start");
    w.Y[7] -= 1e-9;
    const char *name = NULL; /* rows of another length */
    for (size_t i = 0; name == NULL || strncmp(name, "fit.ranks.0.", 12) != 0; i++)
        name = tlnmf_record_name(a.state[2], i);
    char copy[64];
    snprintf(copy, sizeof copy, "%s", name);
    double *x = (double *)tlnmf_record_get_array(a.state[2], copy, NULL, NULL); /* it is ours */
    double first = x[0];
    x[0] = INFINITY;
    refuse(&w, "method=jd", 2, "the checkpoint is damaged");
    x[0] = first;
    assert_ok(w.ctx, tlnmf_record_set_array(w.ctx, a.state[2], copy, w.Y, 2, (int64_t[]){3, 2}));
    assert_int_equal(compare(&w, "method=jd", 2, &ranks), TLNMF_ERR_DATA);
    tlnmf_ctx_set_resume(w.ctx, NULL);
    clear(&a);
    destroy(&w);
}

/* max-seconds counts from the start of the resumed run. */
static void earlier_runs_use_no_time(void **state)
{
    (void)state;
    world w = create(3, 0, 0);
    album a = {0};
    tlnmf_record *whole, *again;
    const char *pairs = "method=jd max-seconds=1000";
    tlnmf_ctx_set_checkpoint(w.ctx, 0.0, keep, &a);
    assert_ok(w.ctx, compare(&w, pairs, 2, &whole));
    tlnmf_ctx_set_checkpoint(w.ctx, 0.0, NULL, NULL);
    assert_true(tlnmf_record_has(a.state[1], "fit.ranks.seconds"));
    assert_ok(w.ctx, tlnmf_record_set_real(w.ctx, a.state[1], "fit.ranks.seconds", 5000.0));
    tlnmf_ctx_set_resume(w.ctx, a.state[1]);
    assert_ok(w.ctx, compare(&w, pairs, 2, &again));
    expect_same(again, whole);
    tlnmf_ctx_set_resume(w.ctx, NULL);
    tlnmf_record_free(again);
    tlnmf_record_free(whole);
    clear(&a);
    destroy(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_resumes_with_the_same_bits),
        cmocka_unit_test(a_cancelled_comparison_resumes),
        cmocka_unit_test(states_of_other_runs_are_refused),
        cmocka_unit_test(earlier_runs_use_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
