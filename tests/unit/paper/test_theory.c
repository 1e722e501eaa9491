/* Theory and distances, compared with plain loops and known values. */
#include "support.h"

static tl_rng rng;

/* ---- numbers --------------------------------------------------------------------------------- */

/* Remark 6 has log(S) - psi(S / 2) - log 2 per entry. */
static double digamma(double x)
{
    return log(x) - tlnmf_theory_asymptote(1, 1, (int64_t)(2.0 * x));
}

static void digamma_has_its_known_values(void **state)
{
    (void)state;
    const double euler = 0.57721566490153286;
    assert_near(digamma(1.0), -euler, 1e-14);
    assert_near(digamma(0.5), -euler - 2.0 * log(2.0), 1e-14);
    assert_near(digamma(2.5), -euler - 2.0 * log(2.0) + 2.0 + 2.0 / 3.0, 1e-14);
    assert_near(digamma(10.0), 2.2517525890667211, 1e-14);
    assert_near(digamma(2500.0), 7.823845997522958, 1e-13);
}

static void bounds_match_the_formulas(void **state)
{
    (void)state;
    assert_true(isinf(tlnmf_theory_bound(10, 50, 100, 1.0)));
    double h = 3.0 * (sqrt(10.0) + 2.0) / sqrt(1000.0);
    assert_close(tlnmf_theory_bound(10, 50, 1000, 2.0), 500.0 * h * h / (1.0 - h), 1e-14);
    assert_close(tlnmf_theory_probability(50, 4.0), pow(1.0 - 2.0 * exp(-8.0), 50.0), 1e-14);
    assert_true(tlnmf_theory_probability(50, 0.1) == 0.0);
    /* Remark 6: about MN / S for large S, and its exact value at S = 2 (psi(1) = -gamma) */
    assert_close(tlnmf_theory_asymptote(10, 50, 100000), 500.0 / 100000, 1e-4);
    assert_close(tlnmf_theory_asymptote(1, 1, 2), 0.57721566490153286, 1e-13);
}

/* ---- transforms ------------------------------------------------------------------------------ */

static void distance_ignores_order_and_sign(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    enum { M = 7 };
    double *Phi = new_orthogonal(&rng, M), moved[M * M], distance;
    for (int i = 0; i < M; i++)
        for (int m = 0; m < M; m++)
            moved[((i * 3) % M) * M + m] = (i % 2 == 0 ? 1.0 : -1.0) * Phi[i * M + m];
    assert_ok(ctx, tlnmf_transform_distance(ctx, M, moved, Phi, &distance));
    assert_near(distance, 0.0, 1e-15);
    /* rows 0 and 1 rotated by t: each moves by 2 sin(t / 2) */
    const double t = 1e-9;
    memcpy(moved, Phi, sizeof moved);
    for (int m = 0; m < M; m++) {
        moved[m] = cos(t) * Phi[m] + sin(t) * Phi[M + m];
        moved[M + m] = cos(t) * Phi[M + m] - sin(t) * Phi[m];
    }
    assert_ok(ctx, tlnmf_transform_distance(ctx, M, moved, Phi, &distance));
    assert_close(distance, sqrt(2.0) * 2.0 * sin(t / 2.0), 1e-6);
    moved[3] = NAN;
    assert_int_equal(tlnmf_transform_distance(ctx, M, moved, Phi, &distance), TLNMF_ERR_DATA);
    assert_int_equal(tlnmf_transform_distance(ctx, 0, moved, Phi, &distance), TLNMF_ERR_SHAPE);
    free(Phi);
    tlnmf_ctx_free(ctx);
}

static void principal_angles_equal_the_rotation_angles(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    enum { M = 9, K = 3 };
    static const double turn[K] = {1e-7, 0.3, 1.2};
    double *Phi = new_orthogonal(&rng, M), B[K * M], angle[K];
    for (int k = 0; k < K; k++) /* rows 3 .. 5 are orthogonal to rows 0 .. 2 */
        for (int m = 0; m < M; m++)
            B[k * M + m] = cos(turn[k]) * Phi[k * M + m] + sin(turn[k]) * Phi[(K + k) * M + m];
    for (int m = 0; m < M; m++) { /* another basis of the same span */
        double a = B[m], b = B[2 * M + m];
        B[m] = 0.6 * a + 0.8 * b;
        B[2 * M + m] = 0.6 * b - 0.8 * a;
    }
    assert_ok(ctx, tlnmf_principal_angles(ctx, K, M, Phi, B, angle));
    assert_near(angle[0], turn[0], 2e-8);
    assert_near(angle[1], turn[1], 1e-13);
    assert_near(angle[2], turn[2], 1e-13);
    assert_int_equal(tlnmf_principal_angles(ctx, M + 1, M, Phi, B, angle), TLNMF_ERR_SHAPE);
    free(Phi);
    tlnmf_ctx_free(ctx);
}

/* ---- Q_S ------------------------------------------------------------------------------------- */

enum { QM = 4, QN = 6, QS = 3 };

/* Y and covariances of the truth: V and Vbar of any Phi by plain loops, and their divergence. */
typedef struct problem {
    tlnmf_ctx *ctx;
    double *Y, *Sigma, *Phi;
    tlnmf_data *data, *truth;
    double eps;
} problem;

static problem new_problem(void)
{
    problem p = {.ctx = new_ctx(), .eps = 0.01};
    p.Y = new_normals(&rng, QS * QM * QN);
    p.Sigma = new_doubles(QN * QM * QM);
    for (int n = 0; n < QN; n++) {
        double *A = new_normals(&rng, QM * QM);
        for (int i = 0; i < QM * QM; i++)
            for (int k = 0; k < QM; k++)
                p.Sigma[n * QM * QM + i] += A[(i / QM) * QM + k] * A[(i % QM) * QM + k];
        free(A);
    }
    p.Phi = new_orthogonal(&rng, QM);
    p.data = data_of(p.ctx, p.Y, QS, QM, QN);
    p.truth = covariances_of(p.ctx, p.Sigma, QN, QM);
    return p;
}

static void free_problem(problem *p)
{
    tlnmf_data_free(p->data);
    tlnmf_data_free(p->truth);
    free(p->Y);
    free(p->Sigma);
    free(p->Phi);
    tlnmf_ctx_free(p->ctx);
}

static double plain_Q(const problem *p, const double *Phi)
{
    double Q = 0.0;
    for (int m = 0; m < QM; m++)
        for (int n = 0; n < QN; n++) {
            double A = p->eps, B = p->eps;
            for (int s = 0; s < QS; s++) {
                double x = 0.0;
                for (int i = 0; i < QM; i++)
                    x += Phi[m * QM + i] * p->Y[(s * QM + i) * QN + n];
                A += x * x / QS;
            }
            for (int i = 0; i < QM * QM; i++)
                B += Phi[m * QM + i / QM] * p->Sigma[n * QM * QM + i] * Phi[m * QM + i % QM];
            Q += A / B - log(A / B) - 1.0;
        }
    return Q;
}

static void Q_is_the_divergence(void **state)
{
    (void)state;
    problem p = new_problem();
    double Q;
    assert_ok(p.ctx, tlnmf_theory_Q(p.ctx, p.data, p.truth, p.Phi, p.eps, &Q));
    assert_close(Q, plain_Q(&p, p.Phi), 1e-12);
    assert_ok(p.ctx, tlnmf_theory_Q(p.ctx, p.data, p.data, p.Phi, p.eps, &Q));
    assert_near(Q, 0.0, 1e-12);
    assert_int_equal(tlnmf_theory_Q(p.ctx, p.data, p.truth, p.Phi, 0.0, &Q), TLNMF_ERR_OPTION);
    p.Phi[1] = INFINITY;
    assert_int_equal(tlnmf_theory_Q(p.ctx, p.data, p.truth, p.Phi, p.eps, &Q), TLNMF_ERR_DATA);
    free_problem(&p);
    p = new_problem();
    tlnmf_data *other = data_of(p.ctx, p.Y, QS, QM, QN - 1);
    assert_int_equal(tlnmf_theory_Q(p.ctx, other, p.truth, p.Phi, p.eps, &Q), TLNMF_ERR_SHAPE);
    tlnmf_data_free(other);
    free_problem(&p);
}

/* The end of an ascent is higher and orthogonal, and no small rotation of two rows improves it. */
static void an_ascent_ends_at_a_maximum(void **state)
{
    (void)state;
    for (int trial = 0; trial < 10; trial++) {
        problem p = new_problem();
        double before = plain_Q(&p, p.Phi), Q, moved[QM * QM];
        assert_ok(p.ctx, tlnmf_theory_climb(p.ctx, p.data, p.truth, p.eps, 500, p.Phi, &Q));
        assert_true(Q >= before);
        assert_close(Q, plain_Q(&p, p.Phi), 1e-10);
        for (int a = 0; a < QM; a++)
            for (int b = 0; b < a; b++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    double t = 1e-3 * sign;
                    memcpy(moved, p.Phi, sizeof moved);
                    for (int m = 0; m < QM; m++) {
                        moved[a * QM + m] = cos(t) * p.Phi[a * QM + m] + sin(t) * p.Phi[b * QM + m];
                        moved[b * QM + m] = cos(t) * p.Phi[b * QM + m] - sin(t) * p.Phi[a * QM + m];
                    }
                    assert_true(plain_Q(&p, moved) <= Q + 1e-7 * fabs(Q));
                }
        free_problem(&p);
    }
}

int main(void)
{
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digamma_has_its_known_values),
        cmocka_unit_test(bounds_match_the_formulas),
        cmocka_unit_test(distance_ignores_order_and_sign),
        cmocka_unit_test(principal_angles_equal_the_rotation_angles),
        cmocka_unit_test(Q_is_the_divergence),
        cmocka_unit_test(an_ascent_ends_at_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
