/* Starts that are drawn, and both results of an exchange. */
#include "support.h"

enum { S = 3, M = 4, N = 6, K = 2 };
static const double eps = 0.01;

typedef struct problem {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
} problem;

static problem new_problem(void)
{
    problem p = {.ctx = new_ctx()};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 0);
    double *Y = new_normals(&rng, S * M * N);
    p.data = data_of(p.ctx, Y, S, M, N);
    free(Y);
    return p;
}

static void free_problem(problem *p)
{
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
}

static tl_result *fit(const problem *p, const tl_settings *opt, const tl_start *start)
{
    tl_result *result;
    assert_ok(p->ctx, tl_fit(p->ctx, p->data, opt, start, &result));
    return result;
}

static void a_drawn_start_equals_the_start_of_the_search(void **state)
{
    (void)state;
    problem p = new_problem();
    double Phi[M * M], W[M * K], H[K * N];
    tl_settings opt = fit_settings(K);
    opt.eps = eps;
    opt.J = 20;
    opt.method = TL_METHOD_TL;
    opt.solver = TL_ALGORITHM_PAPER;
    for (int stream = 0; stream < 2; stream++) {
        opt.stream = stream;
        opt.starts = 4;
        tl_result *many = fit(&p, &opt, NULL);
        assert_null(many->other);
        assert_ok(p.ctx, tl_draw_start(p.ctx, p.data, &opt, many->info.best_start, Phi, W, H));
        opt.starts = 1;
        tl_result *one = fit(&p, &opt, &(tl_start){Phi, W, H});
        assert_near(one->info.C, many->info.C, 1e-9);
        tl_result_free(one);
        tl_result_free(many);
    }
    assert_int_equal(tl_draw_start(p.ctx, p.data, &opt, 1, Phi, W, H), TLNMF_ERR_OPTION);
    free_problem(&p);
}

static tl_settings exchange_settings(void)
{
    tl_settings opt = fit_settings(K);
    opt.eps = eps;
    opt.starts = 3;
    opt.exchange = 1;
    opt.J = 30;
    return opt;
}

static void an_exchange_has_both_results(void **state)
{
    (void)state;
    problem p = new_problem();
    tl_settings opt = exchange_settings();
    for (int solver = 0; solver < 2; solver++)
        for (int method = TL_METHOD_TL; method <= TL_METHOD_JD; method++) {
            opt.solver = solver;
            opt.method = method;
            opt.handover = 5 * solver;
            tl_result *result = fit(&p, &opt, NULL), *other = result->other;
            assert_non_null(other);
            assert_null(other->other);
            assert_int_equal(result->info.method, method);
            assert_int_equal(other->info.method, 1 - method);
            tl_model_point point = {other->Phi, other->W, other->H, K, eps};
            assert_near(other->info.C, values_at(p.ctx, p.data, point, NULL).C, 1e-10);
            assert_near(other->info.C,
                        method == TL_METHOD_TL ? result->info.C_jd : result->info.C_tl, 1e-9);
            assert_int_equal(result->info.chain, other->info.chain);
            tl_result_free(result);
        }
    free_problem(&p);
}

/* The number of updates of W and H before TL-NMF starts from JD's results: all J J_nmf, or the
 * option.
 */
static void handover_counts_updates(void **state)
{
    (void)state;
    problem p = new_problem();
    tl_settings opt = exchange_settings();
    double C[3];
    opt.solver = TL_ALGORITHM_PAPER;
    opt.method = TL_METHOD_TL;
    opt.J = 4;
    opt.J_nmf = 3;
    for (int i = 0; i < 3; i++) {
        opt.handover = (int64_t[]){0, 12, 1}[i];
        tl_result *result = fit(&p, &opt, NULL);
        C[i] = result->info.C;
        tl_result_free(result);
    }
    assert_near(C[0], C[1], 1e-12 * fabs(C[0]));
    assert_true(fabs(C[0] - C[2]) > 1e-6);
    free_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drawn_start_equals_the_start_of_the_search),
        cmocka_unit_test(an_exchange_has_both_results),
        cmocka_unit_test(handover_counts_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
