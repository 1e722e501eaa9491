/* Directions of L-BFGS. */
#include "support.h"

#include "engine/lbfgs.h"

/* A convex quadratic with a wide spectrum: L-BFGS with exact steps ends at its minimum. */
static void lbfgs_solves_a_quadratic(void **state)
{
    (void)state;
    enum { n = 40 };
    tlnmf_ctx *ctx = new_ctx();
    tl_lbfgs lbfgs;
    tl_slot table[TL_LBFGS_SLOTS];
    void *block;
    tl_lbfgs_slots(&lbfgs, n, table);
    assert_ok(ctx, TL_ARENA(ctx, "a test", table, &block));
    double x[n], g[n], before[n], d[n], metric[n];
    for (int i = 0; i < n; i++) {
        x[i] = 1.0 + 0.1 * i;
        metric[i] = 1.0;
        g[i] = pow(10.0, 3.0 * i / (n - 1)) * x[i];
    }
    for (int it = 0; it < 200; it++) {
        double slope = tl_lbfgs_direction(&lbfgs, g, metric, d), curvature = 0.0;
        assert_true(slope <= 0.0);
        for (int i = 0; i < n; i++)
            curvature += pow(10.0, 3.0 * i / (n - 1)) * d[i] * d[i];
        if (curvature == 0.0)
            break;
        double a = -slope / curvature;
        for (int i = 0; i < n; i++) {
            before[i] = g[i];
            x[i] += a * d[i];
            g[i] = pow(10.0, 3.0 * i / (n - 1)) * x[i];
        }
        tl_lbfgs_step(&lbfgs, a, d);
        tl_lbfgs_learn(&lbfgs, before, g, metric);
    }
    assert_near(largest(n, x), 0.0, 1e-9);
    tl_release(&ctx->hooks, block);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lbfgs_solves_a_quadratic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
