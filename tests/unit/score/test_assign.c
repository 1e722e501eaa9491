/* Assignment: against trying all permutations. */
#include "support.h"

#include "score/score.h"

/* As tl_score_assign counts. */
static double counted(double score)
{
    return isnan(score) ? -1e4 : fmin(fmax(score, -1e4), 1e4);
}

static double best_sum(int64_t n, const double *score, int64_t row, unsigned used)
{
    double best = row == n ? 0.0 : -INFINITY;
    for (int64_t j = 0; row < n && j < n; j++)
        if (!(used >> j & 1))
            best = fmax(best,
                        counted(score[row * n + j]) + best_sum(n, score, row + 1, used | 1u << j));
    return best;
}

static double sum_of(int64_t n, const double *score, const int64_t *column)
{
    double sum = 0.0;
    bool used[64] = {false};
    for (int64_t i = 0; i < n; i++) {
        assert_true(column[i] >= 0 && column[i] < n && !used[column[i]]);
        used[column[i]] = true;
        sum += counted(score[i * n + column[i]]);
    }
    return sum;
}

static void assignment_is_the_best(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 2, 1);
    for (int round = 0; round < 300; round++) {
        int64_t n = 1 + round % 7, column[7];
        double score[49];
        for (int64_t i = 0; i < n * n; i++) {
            int64_t kind = pick(&rng, 0, round % 2 ? 9 : 30);
            score[i] = kind == 0   ? INFINITY
                       : kind == 1 ? -INFINITY
                       : kind == 2 ? NAN
                       : kind == 3 ? 1.0 /* ties */
                                   : 20.0 * tl_rng_normal(&rng);
        }
        assert_ok(ctx, tl_score_assign(ctx, n, score, column));
        assert_near(sum_of(n, score, column), best_sum(n, score, 0, 0), 1e-8);
    }
    tlnmf_ctx_free(ctx);
}

/* 50! permutations: the hidden one is far better than the rest. */
static void large_assignment(void **state)
{
    enum { MANY = 50 };
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 3, 1);
    double *score = new_normals(&rng, MANY * MANY);
    int64_t column[MANY];
    for (int64_t i = 0; i < MANY; i++)
        score[i * MANY + (17 * i + 5) % MANY] += 100.0;
    assert_ok(ctx, tl_score_assign(ctx, MANY, score, column));
    for (int64_t i = 0; i < MANY; i++)
        assert_int_equal(column[i], (17 * i + 5) % MANY);
    free(score);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignment_is_the_best),
        cmocka_unit_test(large_assignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
