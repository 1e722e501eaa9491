/* One start on several threads: the same bits at any number of threads, and the estimated memory.
 */
#include "support.h"

#include "reference/naive_engine.h"
#include "search/search.h"

/* Random data that are large enough for several pieces, and a search on them. */
typedef struct problem {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_settings opt;
} problem;

static problem create(int64_t S, int64_t M, int64_t N, int64_t K)
{
    problem p = {.ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    double *Y = new_normals(&rng, S * M * N);
    for (int64_t i = 0; i < S * M * N; i++)
        Y[i] *= 1.0 + (double)(i % N % 7); /* frames of different loudness */
    p.data = data_of(p.ctx, Y, S, M, N);
    free(Y);
    p.opt = fit_settings(K);
    p.opt.tol = p.opt.grad_tol = 0.0; /* all iterations */
    p.opt.starts = 1;
    return p;
}

static void destroy(problem *p)
{
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

static tl_result *search(problem *p, tl_goal goal, int64_t threads)
{
    tl_result *result;
    p->opt.threads = threads;
    tl_search_task task = {.goal = goal, .data = p->data, .opt = &p->opt, .eps = 0.01};
    assert_ok(p->ctx, tl_search(p->ctx, &task, &result));
    return result;
}

/* Phi, W, H and the values have the same bits at every number of threads. */
static void assert_same_bits(problem *p, tl_goal goal)
{
    static const int64_t numbers[] = {2, 3, 8, 16};
    int64_t M = p->data->M, N = p->data->N, K = goal == TL_GOAL_JD ? 0 : p->opt.k;
    tl_result *one = search(p, goal, 1);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        tl_result *many = search(p, goal, numbers[i]);
        assert_memory_equal(many->Phi, one->Phi, sizeof(double) * (size_t)(M * M));
        if (K > 0) {
            assert_memory_equal(many->W, one->W, sizeof(double) * (size_t)(M * K));
            assert_memory_equal(many->H, one->H, sizeof(double) * (size_t)(K * N));
            assert_true(many->info.C == one->info.C && many->info.I == one->info.I);
        }
        assert_true(many->info.L == one->info.L);
        assert_int_equal(many->info.iterations, one->info.iterations);
        tl_result_free(many);
    }
    tl_result_free(one);
}

static void one_start_has_the_same_bits(void **state)
{
    (void)state;
    static const tl_goal goals[] = {TL_GOAL_TL, TL_GOAL_JD_NMF, TL_GOAL_NMF};
    problem p = create(1, 136, 150, 4);
    for (int solver = 0; solver < 2; solver++)
        for (int i = 0; i < 3; i++) {
            p.opt.solver = solver == 0 ? TL_ALGORITHM_FAST : TL_ALGORITHM_PAPER;
            p.opt.J = solver == 0 ? 20 : 3;
            assert_same_bits(&p, goals[i]);
        }
    destroy(&p);
}

static void mixed_precision_has_the_same_bits(void **state)
{
    (void)state;
    problem p = create(1, 136, 150, 4);
    p.opt.precision = TL_PRECISION_MIXED;
    p.opt.J = 18;
    assert_same_bits(&p, TL_GOAL_TL);
    destroy(&p);
}

/* Frames of several columns: few long rows, and more rows. */
static void several_columns_have_the_same_bits(void **state)
{
    (void)state;
    problem few = create(8, 24, 260, 3), more = create(3, 60, 70, 3);
    few.opt.J = more.opt.J = 18;
    assert_same_bits(&few, TL_GOAL_JD);
    assert_same_bits(&few, TL_GOAL_TL);
    assert_same_bits(&more, TL_GOAL_TL);
    destroy(&few);
    destroy(&more);
}

/* Fewer starts than threads: the other threads join them. */
static void three_starts_have_the_same_bits(void **state)
{
    (void)state;
    problem p = create(1, 72, 100, 3);
    p.opt.starts = 3;
    p.opt.J = 20;
    assert_same_bits(&p, TL_GOAL_TL);
    p.opt.exchange = 1;
    assert_same_bits(&p, TL_GOAL_JD_NMF);
    destroy(&p);
}

/* Sweeps over long rows, compared with plain loops: the work is divided differently, the rotations
 * are the same. */
static void sweeps_of_long_rows_match_plain_loops(void **state)
{
    (void)state;
    problem p = create(8, 24, 260, 3);
    p.opt.J = 12;
    tl_result *fast = search(&p, TL_GOAL_JD, 2), *plain;
    tl_search_task task = {
        .goal = TL_GOAL_JD, .data = p.data, .opt = &p.opt, .eps = 0.01, .engine = &tl_engine_naive};
    assert_ok(p.ctx, tl_search(p.ctx, &task, &plain));
    assert_close(fast->info.L, plain->info.L, 1e-9);
    tl_result_free(fast);
    tl_result_free(plain);
    destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_start_has_the_same_bits),
        cmocka_unit_test(mixed_precision_has_the_same_bits),
        cmocka_unit_test(several_columns_have_the_same_bits),
        cmocka_unit_test(three_starts_have_the_same_bits),
        cmocka_unit_test(sweeps_of_long_rows_match_plain_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
