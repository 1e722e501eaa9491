/* Measures against the truth, and neighbouring frames: against plain loops and known values. */
#include "support.h"

#include "linalg/linalg.h"
#include "paper/paper.h"

static tl_rng rng;

static double *new_orthogonal(tlnmf_ctx *ctx, int64_t M)
{
    double *A = new_normals(&rng, M * M);
    for (int64_t i = 0; i < M; i++) { /* Gram-Schmidt, twice */
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < i; j++) {
                double dot = 0.0;
                for (int64_t m = 0; m < M; m++)
                    dot += A[i * M + m] * A[j * M + m];
                for (int64_t m = 0; m < M; m++)
                    A[i * M + m] -= dot * A[j * M + m];
            }
        double norm = 0.0;
        for (int64_t m = 0; m < M; m++)
            norm += A[i * M + m] * A[i * M + m];
        for (int64_t m = 0; m < M; m++)
            A[i * M + m] /= sqrt(norm);
    }
    (void)ctx;
    return A;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void digamma_has_its_known_values(void **state)
{
    (void)state;
    const double euler = 0.57721566490153286;
    assert_near(tl_digamma(1.0), -euler, 1e-14);
    assert_near(tl_digamma(0.5), -euler - 2.0 * log(2.0), 1e-14);
    assert_near(tl_digamma(2.5), -euler - 2.0 * log(2.0) + 2.0 + 2.0 / 3.0, 1e-14);
    assert_near(tl_digamma(10.0), 2.2517525890667211, 1e-14);
    assert_near(tl_digamma(2500.0), 7.823845997522958, 1e-13);
}

static void bounds_are_the_formulas(void **state)
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

/* ---- assignment ------------------------------------------------------------------------------ */

static double best_by_trying(int64_t n, const double *cost, int64_t row, unsigned taken)
{
    double best = INFINITY;
    if (row == n)
        return 0.0;
    for (int64_t j = 0; j < n; j++)
        if ((taken & (1u << j)) == 0)
            best =
                fmin(best, cost[row * n + j] + best_by_trying(n, cost, row + 1, taken | (1u << j)));
    return best;
}

static void assignments_are_the_best(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    for (int trial = 0; trial < 300; trial++) {
        int64_t n = pick(&rng, 1, 6), match[6];
        double *cost = new_normals(&rng, n * n), sum = 0.0;
        for (int64_t i = 0; trial % 3 == 0 && i < n * n; i++)
            cost[i] = floor(2.0 * cost[i]); /* ties */
        assert_ok(ctx, tl_assign(ctx, n, cost, match));
        unsigned seen = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += cost[i * n + match[i]];
            seen |= 1u << match[i];
        }
        assert_int_equal(seen, (1u << n) - 1);
        assert_near(sum, best_by_trying(n, cost, 0, 0), 1e-12);
        free(cost);
    }
    double bad[1] = {NAN};
    int64_t match;
    assert_int_equal(tl_assign(ctx, 1, bad, &match), TLNMF_ERR_DATA);
    tlnmf_ctx_free(ctx);
}

/* ---- transforms ------------------------------------------------------------------------------ */

static void distance_sees_no_order_and_no_sign(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    enum { M = 7 };
    double *Phi = new_orthogonal(ctx, M), moved[M * M], distance;
    for (int i = 0; i < M; i++)
        for (int m = 0; m < M; m++)
            moved[((i * 3) % M) * M + m] = (i % 2 == 0 ? 1.0 : -1.0) * Phi[i * M + m];
    assert_ok(ctx, tlnmf_transform_distance(ctx, M, moved, Phi, &distance));
    assert_near(distance, 0.0, 1e-15);
    /* rows 0 and 1 turned by t: each moves by 2 sin(t / 2) */
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

static void angles_are_those_turned_by(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    enum { M = 9, K = 3 };
    static const double turn[K] = {1e-7, 0.3, 1.2};
    double *Phi = new_orthogonal(ctx, M), B[K * M], angle[K];
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
    p.Phi = new_orthogonal(p.ctx, QM);
    assert_ok(p.ctx, tlnmf_data_from_realisations(p.ctx, p.Y, QS, QM, QN, &p.data));
    assert_ok(p.ctx, tlnmf_data_from_covariances(p.ctx, p.Sigma, QN, QM, &p.truth));
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
    tlnmf_data *other;
    assert_ok(p.ctx, tlnmf_data_from_realisations(p.ctx, p.Y, QS, QM, QN - 1, &other));
    assert_int_equal(tlnmf_theory_Q(p.ctx, other, p.truth, p.Phi, p.eps, &Q), TLNMF_ERR_SHAPE);
    tlnmf_data_free(other);
    free_problem(&p);
}

/* The end of an ascent is higher, orthogonal, and no small turn of two rows leads on. */
static void climbing_ends_on_a_top(void **state)
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

/* ---- neighbours ------------------------------------------------------------------------------ */

/* L of data whose covariances are averages over frames, by plain loops: spec (15), (16). */
static double plain_L(const double *Y, int S, int M, int N, bool moving, int B, const double *Phi,
                      double eps)
{
    int frames = moving ? N : (N + B - 1) / B;
    double L = (double)M * frames;
    for (int n = 0; n < frames; n++)
        for (int m = 0; m < M; m++) {
            double v = 0.0;
            int count = 0, first = moving ? n - (B - 1) / 2 : n * B;
            for (int i = first; i < first + B; i++) {
                if (i < 0 || i >= N)
                    continue;
                count++;
                for (int s = 0; s < S; s++) {
                    double x = 0.0;
                    for (int j = 0; j < M; j++)
                        x += Phi[m * M + j] * Y[(s * M + j) * N + i];
                    v += x * x / S;
                }
            }
            L += log(v / count + eps);
        }
    return L;
}

static void neighbours_are_averages(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    enum { S = 2, M = 3, N = 7 };
    double *Y = new_normals(&rng, S * M * N), *Phi = new_orthogonal(ctx, M);
    double *W = new_positives(&rng, M), *H = new_positives(&rng, N), C, L, I;
    for (int B = 1; B <= N; B++)
        for (int kind = 0; kind < 2; kind++) {
            tlnmf_data *data;
            assert_ok(
                ctx, tlnmf_data_from_neighbours(ctx, Y, S, M, N, (tlnmf_neighbours)kind, B, &data));
            tl_data_info info;
            tl_data_describe(data, &info);
            assert_int_equal(info.N, kind == 1 ? N : (N + B - 1) / B);
            assert_ok(ctx, tl_evaluate(ctx, data, Phi, W, H, 1, 0.1, &C, &L, &I, NULL));
            assert_near(L, plain_L(Y, S, M, N, kind == 1, B, Phi, 0.1), 1e-11);
            tlnmf_data_free(data);
        }
    tlnmf_data *data;
    assert_int_equal(
        tlnmf_data_from_neighbours(ctx, Y, S, M, N, TLNMF_NEIGHBOURS_BLOCKS, N + 1, &data),
        TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "block = 8 is outside [1, 7], the frames there are");
    assert_null(data);
    assert_int_equal(tlnmf_data_from_neighbours(ctx, Y, S, M, N, TLNMF_NEIGHBOURS_MOVING, 0, &data),
                     TLNMF_ERR_OPTION);
    assert_int_equal(tlnmf_data_from_neighbours(ctx, Y, 0, M, N, TLNMF_NEIGHBOURS_MOVING, 1, &data),
                     TLNMF_ERR_SHAPE);
    assert_int_equal(tlnmf_data_from_neighbours(ctx, Y, S, M, N, (tlnmf_neighbours)2, 1, &data),
                     TLNMF_ERR_OPTION);
    Y[5] = NAN;
    assert_int_equal(tlnmf_data_from_neighbours(ctx, Y, S, M, N, TLNMF_NEIGHBOURS_MOVING, 2, &data),
                     TLNMF_ERR_DATA);
    free(Y);
    free(Phi);
    free(W);
    free(H);
    tlnmf_ctx_free(ctx);
}

/* ---- starts, and both results of an exchange ------------------------------------------------- */

static void a_drawn_start_is_that_of_the_search(void **state)
{
    (void)state;
    problem p = new_problem();
    tlnmf_settings opt;
    tl_settings_init(&opt);
    opt.k = 2;
    opt.eps = p.eps;
    opt.J = 20;
    opt.starts = 4;
    opt.method = TL_METHOD_TL;
    opt.solver = TL_ALGORITHM_PAPER;
    for (int stream = 0; stream < 2; stream++) {
        tl_result *many, *one;
        tl_info info, again;
        double Phi[QM * QM], W[QM * 2], H[2 * QN];
        opt.stream = stream;
        opt.starts = 4;
        assert_ok(p.ctx, tl_fit(p.ctx, p.data, &opt, NULL, NULL, NULL, &many));
        tl_result_describe(many, &info);
        assert_null((many)->other);
        assert_ok(p.ctx, tl_draw_start(p.ctx, p.data, &opt, info.best_start, Phi, W, H));
        tl_start start;
        tl_start_init(&start);
        start.Phi = Phi;
        start.W = W;
        start.H = H;
        opt.starts = 1;
        assert_ok(p.ctx, tl_fit(p.ctx, p.data, &opt, &start, NULL, NULL, &one));
        tl_result_describe(one, &again);
        assert_near(again.C, info.C, 1e-9);
        tl_result_free(one);
        tl_result_free(many);
    }
    double Phi[QM * QM], W[QM * 2], H[2 * QN];
    assert_int_equal(tl_draw_start(p.ctx, p.data, &opt, 1, Phi, W, H), TLNMF_ERR_OPTION);
    free_problem(&p);
}

static tlnmf_settings exchange_of(const problem *p)
{
    tlnmf_settings opt;
    tl_settings_init(&opt);
    opt.k = 2;
    opt.eps = p->eps;
    opt.starts = 3;
    opt.exchange = 1;
    opt.J = 30;
    return opt;
}

static void an_exchange_has_both_results(void **state)
{
    (void)state;
    problem p = new_problem();
    tlnmf_settings opt = exchange_of(&p);
    for (int solver = 0; solver < 2; solver++)
        for (int method = TL_METHOD_TL; method <= TL_METHOD_JD; method++) {
            tl_result *result;
            tl_info mine, its;
            double C, L, I;
            opt.solver = solver;
            opt.method = method;
            opt.handover = 5 * solver;
            assert_ok(p.ctx, tl_fit(p.ctx, p.data, &opt, NULL, NULL, NULL, &result));
            const tl_result *other = (result)->other;
            assert_non_null(other);
            assert_null((other)->other);
            tl_result_describe(result, &mine);
            tl_result_describe(other, &its);
            assert_int_equal(mine.method, method);
            assert_int_equal(its.method, 1 - method);
            assert_ok(p.ctx,
                      tl_evaluate(p.ctx, p.data, (other)->Phi, (other)->W,
                                     (other)->H, 2, p.eps, &C, &L, &I, NULL));
            assert_near(its.C, C, 1e-10);
            assert_near(its.C, method == TL_METHOD_TL ? mine.C_jd : mine.C_tl, 1e-9);
            assert_int_equal(mine.chain, its.chain);
            tl_result_free(result);
        }
    free_problem(&p);
}

/* The updates of W and H before TL-NMF starts from JD's results: all J J_nmf, or as many as said.
 */
static void handover_counts_updates(void **state)
{
    (void)state;
    problem p = new_problem();
    tlnmf_settings opt = exchange_of(&p);
    opt.solver = TL_ALGORITHM_PAPER;
    opt.method = TL_METHOD_TL;
    opt.J = 4;
    opt.J_nmf = 3;
    double C[3];
    for (int i = 0; i < 3; i++) {
        tl_result *result;
        tl_info info;
        opt.handover = (int64_t[]){0, 12, 1}[i];
        assert_ok(p.ctx, tl_fit(p.ctx, p.data, &opt, NULL, NULL, NULL, &result));
        tl_result_describe(result, &info);
        C[i] = info.C;
        tl_result_free(result);
    }
    assert_near(C[0], C[1], 1e-12 * fabs(C[0]));
    assert_true(fabs(C[0] - C[2]) > 1e-6);
    free_problem(&p);
}

int main(void)
{
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digamma_has_its_known_values),
        cmocka_unit_test(bounds_are_the_formulas),
        cmocka_unit_test(assignments_are_the_best),
        cmocka_unit_test(distance_sees_no_order_and_no_sign),
        cmocka_unit_test(angles_are_those_turned_by),
        cmocka_unit_test(Q_is_the_divergence),
        cmocka_unit_test(climbing_ends_on_a_top),
        cmocka_unit_test(neighbours_are_averages),
        cmocka_unit_test(a_drawn_start_is_that_of_the_search),
        cmocka_unit_test(an_exchange_has_both_results),
        cmocka_unit_test(handover_counts_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
