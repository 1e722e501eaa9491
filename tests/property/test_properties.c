/* Properties of any problem: each step lowers its objective, Phi remains orthogonal, the identities
 * of the paper, symmetries, gradients. Values are recomputed from the realisations in plain loops.
 */
#include "support.h"

#include "engine/engine.h"
#include "reference/naive_kernels.h"

/* A random small problem, sometimes with silent rows, silent frames or repeated frames. */
typedef struct problem {
    int64_t S, M, N, K;
    double *Y;
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tl_settings opt;
} problem;

static problem create(uint64_t seed)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1000, seed);
    problem p = {.S = pick(&rng, 1, 6), .M = pick(&rng, 1, 12), .N = pick(&rng, 1, 30)};
    p.K = pick(&rng, 1, 5);
    if (p.K > p.M * p.N)
        p.K = p.M * p.N;
    p.ctx = new_ctx();
    p.Y = new_normals(&rng, p.S * p.M * p.N);
    int64_t kind = pick(&rng, 0, 5);
    for (int64_t i = 0; i < p.S * p.M; i++) {
        double *row = p.Y + i * p.N;
        int64_t m = i % p.M;
        for (int64_t n = 0; n < p.N; n++) {
            row[n] *= exp(cos((double)(m + 2 * n))); /* frames and rows of different power */
            if ((kind == 1 && m == 0 && p.M > 1) || (kind == 2 && n == 0 && p.N > 1))
                row[n] = 0.0;
            if (kind == 3 && n > 0)
                row[n] = row[n - 1];
        }
    }
    p.data = data_of(p.ctx, p.Y, p.S, p.M, p.N);
    p.opt = fit_settings(p.K);
    p.opt.J = 25;
    p.opt.method = TL_METHOD_TL;
    p.opt.trace = 1;
    p.opt.seed = seed;
    p.opt.eps_rel = pow(10.0, -1.0 - (double)pick(&rng, 0, 7));
    p.opt.gamma = pick(&rng, 0, 1) ? 1.0 : 0.5;
    return p;
}

static void destroy(problem *p)
{
    tlnmf_data_free(p->data);
    tlnmf_ctx_free(p->ctx);
    free(p->Y);
}

/* Compares the reported C, L, I with their definitions. */
static void verify(const problem *p, const tl_result *result)
{
    tl_info info = result->info;
    double *V = new_doubles(p->M * p->N);
    const double *W = result->W, *H = result->H;
    tl_naive_power(p->S, p->M, p->N, p->Y, result->Phi, V);
    double scale = fabs(info.C) + fabs(info.L) + (double)(p->M * p->N);
    /* Tiny V lose digits by cancellation in Phi Y; the floor determines how many. */
    double tolerance = 1e-10 * scale + 1e-13 * scale * largest(p->M * p->N, V) / info.eps;
    assert_near(info.C, tl_naive_C(p->M, p->N, p->K, V, W, H, info.eps), tolerance);
    assert_near(info.L, tl_naive_L(p->M, p->N, V, info.eps), tolerance);
    assert_near(info.I, tl_naive_I(p->M, p->N, p->K, V, W, H, info.eps), tolerance);
    assert_near(info.C, info.L + info.I, 1e-10 * scale);
    assert_true(info.outcome != TLNMF_OUTCOME_NOT_RUN);
    double *scratch = new_doubles(p->M * p->M);
    assert_true(tl_orthogonality(p->M, result->Phi, scratch) < 1e-12);
    free(scratch);
    free(V);
}

/* The objective of the stage never increases by more than rounding. */
static void check_descent(const tl_result *result)
{
    int64_t length;
    const tl_trace_row *row = result->trace;
    length = result->trace_length;
    for (int64_t i = 1; i < length; i++) {
        if (row[i].stage != row[i - 1].stage)
            continue;
        double now = row[i].C, before = row[i - 1].C;
        if (row[i].stage == TL_STAGE_JD) {
            if (isnan(row[i].step)) /* a sweep at a higher floor */
                continue;
            now = row[i].L;
            before = row[i - 1].L;
        } else if (row[i].stage == TL_STAGE_NMF) {
            now = row[i].I;
            before = row[i - 1].I;
        }
        assert_true(now <= before + 1e-10 * (1.0 + fabs(before) + fabs(row[i].L)));
    }
}

static void every_method_descends_on_200_problems(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        problem p = create(seed);
        for (int which = 0; which < 6; which++) { /* three methods by two solvers */
            p.opt.method = which % 3;
            p.opt.solver = which / 3;
            tl_result *result;
            assert_ok(p.ctx, tl_fit(p.ctx, p.data, &p.opt, NULL, &result));
            check_descent(result);
            verify(&p, result);
            tl_result_free(result);
        }
        destroy(&p);
    }
}

static void orthogonal_after_1000_iterations(void **state)
{
    (void)state;
    problem p = create(17);
    p.opt.J = 1000;
    p.opt.tol = 0.0;
    tl_result *result;
    assert_ok(p.ctx, tl_fit(p.ctx, p.data, &p.opt, NULL, &result));
    assert_true(result->info.orthogonality < 1e-12);
    tl_result_free(result);
    destroy(&p);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* C or L at exp(t E) Phi for the elementary rotation E = e_a e_b' - e_b e_a'. */
static double along(tl_engine *e, const double *Phi, int64_t a, int64_t b, double t, unsigned of)
{
    int64_t M = e->M;
    double *turned = new_doubles(M * M);
    memcpy(turned, Phi, (size_t)(M * M) * sizeof *Phi);
    for (int64_t m = 0; m < M; m++) {
        turned[a * M + m] = cos(t) * Phi[a * M + m] + sin(t) * Phi[b * M + m];
        turned[b * M + m] = cos(t) * Phi[b * M + m] - sin(t) * Phi[a * M + m];
    }
    tl_engine_load(e, turned, NULL, NULL);
    free(turned);
    tl_values values = tl_engine_values(e, of);
    return of == TL_L ? values.L : values.C;
}

/* The derivative along E_ab is <E, G> = G_ab - G_ba = 2 Ganti_ab. */
static void gradients_agree_with_differences(void **state)
{
    (void)state;
    const double h = 1e-5;
    for (uint64_t seed = 0; seed < 20; seed++) {
        problem p = create(seed);
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, seed, 99);
        const tl_model model = {
            .data = p.data, .K = p.K, .eps = 0.1 * p.data->mean_power, .gamma = 1.0};
        tl_engine *e;
        assert_ok(p.ctx, tl_engine_cpu.create(p.ctx, &(tl_engine_spec){.model = &model}, &e));
        double *Phi = new_normals(&rng, p.M * p.M), *Ganti = new_doubles(p.M * p.M);
        double *W = new_positives(&rng, p.M * p.K), *H = new_positives(&rng, p.K * p.N);
        assert_ok(p.ctx, tl_polar(p.ctx, p.M, Phi));
        for (unsigned of = TL_C; of <= TL_L; of++) {
            tl_engine_load(e, Phi, W, H);
            double norm = tl_engine_gradient(e, of, Ganti), sum = 0.0;
            double size = fabs(along(e, Phi, 0, 0, 0.0, of)) + (double)(p.M * p.N);
            for (int64_t a = 0; a < p.M; a++)
                for (int64_t b = 0; b < p.M; b++) {
                    double difference =
                        (along(e, Phi, a, b, h, of) - along(e, Phi, a, b, -h, of)) / (2.0 * h);
                    assert_near(2.0 * Ganti[a * p.M + b], a == b ? 0.0 : difference, 1e-6 * size);
                    sum += Ganti[a * p.M + b] * Ganti[a * p.M + b];
                }
            assert_near(norm, sqrt(sum) / (2.0 * (double)p.N), 1e-12 * (norm + 1.0));
        }
        double *arrays[] = {Phi, Ganti, W, H};
        for (int i = 0; i < 4; i++)
            free(arrays[i]);
        e->ops->free(e);
        destroy(&p);
    }
}

/* ---- the paper's identities ------------------------------------------------------------------ */

/* Determinant of Diag(A) is the product of A's diagonal: eq. (6) needs the covariances, eq. (3)
 * only V. */
static void lemma_1(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        problem p = create(seed);
        double Phi[12 * 12], eps = 0.01 * p.data->mean_power, *V = new_doubles(p.M * p.N);
        assert_ok(p.ctx, tl_fixed_transform(p.ctx, TL_TRANSFORM_DCT, p.M, Phi));
        double L = (double)(p.M * p.N);
        for (int64_t n = 0; n < p.N; n++)
            for (int64_t m = 0; m < p.M; m++) { /* [Phi (Sigma_n + eps I) Phi']_mm */
                double d = 0.0;
                for (int64_t i = 0; i < p.M; i++)
                    for (int64_t j = 0; j < p.M; j++) {
                        double sigma = i == j ? eps : 0.0;
                        for (int64_t s = 0; s < p.S; s++)
                            sigma += p.Y[(s * p.M + i) * p.N + n] * p.Y[(s * p.M + j) * p.N + n] /
                                     (double)p.S;
                        d += Phi[m * p.M + i] * sigma * Phi[m * p.M + j];
                    }
                L += log(d); // cppcheck-suppress invalidFunctionArg
            }
        tl_naive_power(p.S, p.M, p.N, p.Y, Phi, V);
        assert_near(L, tl_naive_L(p.M, p.N, V, eps), 1e-9 * (fabs(L) + (double)(p.M * p.N)));
        free(V);
        destroy(&p);
    }
}

/* With K >= min(M, N) an exact factorisation exists: W = I, H = V has I = 0 and so C = L. */
static void full_rank_has_an_exact_factorisation(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        problem p = create(seed);
        double Phi[12 * 12], *W = new_doubles(p.M * p.M), *V = new_doubles(p.M * p.N);
        assert_ok(p.ctx, tl_fixed_transform(p.ctx, TL_TRANSFORM_DCT, p.M, Phi));
        tl_identity(p.M, W);
        tl_naive_power(p.S, p.M, p.N, p.Y, Phi, V);
        double eps = 0.1 * p.data->mean_power;
        tl_values v = values_at(p.ctx, p.data, (tl_model_point){Phi, W, V, p.M, eps}, NULL);
        assert_near(v.I, 0.0, 1e-12 * (double)(p.M * p.N));
        assert_near(v.C, v.L, 1e-12 * (fabs(v.L) + (double)(p.M * p.N)));
        free(W);
        free(V);
        destroy(&p);
    }
}

/* And the updates find it if they start near it. */
static void full_rank_fits_exactly(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        problem p = create(seed);
        int64_t full = p.M < p.N ? p.M : p.N;
        if (full <= 3 && full > 0) {
            p.opt.k = p.K = full;
            p.opt.method = TL_METHOD_NMF;
            p.opt.J = 20000;
            p.opt.tol = 0.0;
            p.opt.trace = 0;
            p.opt.gamma = 1.0;
            p.opt.eps_rel = 0.1;
            /* W = I, H = V is the optimum (or W = V, H = I): start near it. */
            double *W = new_doubles(p.M * full), *H = new_doubles(full * p.N);
            for (int64_t i = 0; i < p.M * full; i++)
                W[i] = p.M == full && i % (full + 1) != 0 ? 1e-3 : 1.0;
            for (int64_t i = 0; i < full * p.N; i++)
                H[i] = p.M != full && i / p.N != i % p.N ? 1e-3 : 1.0;
            tl_start start = {0};
            start.W = W;
            start.H = H;
            tl_result *result;
            assert_ok(p.ctx, tl_fit(p.ctx, p.data, &p.opt, &start, &result));
            tl_info info = result->info;
            assert_near(info.I, 0.0, 1e-3 * (double)(p.M * p.N));
            assert_near(info.C, info.L, 1e-3 * (double)(p.M * p.N));
            tl_result_free(result);
            free(W);
            free(H);
        }
        destroy(&p);
    }
}

/* ---- symmetries ------------------------------------------------------------------------------ */

static tl_result *run(problem *p, const double *Y, const tl_start *start)
{
    tl_result *result;
    tlnmf_data *data = data_of(p->ctx, Y, p->S, p->M, p->N);
    assert_ok(p->ctx, tl_fit(p->ctx, data, &p->opt, start, &result));
    tlnmf_data_free(data);
    return result;
}

/* Frames in reverse order: H in reverse order. Data rotated by Q: Phi rotated by Q'. Data times
 * c, eps times c^2: the same Phi and W, H times c^2. */
static void symmetries(void **state)
{
    (void)state;
    for (uint64_t seed = 40; seed < 60; seed++) {
        problem p = create(seed);
        int64_t M = p.M, N = p.N, K = p.K;
        p.opt.J = 5;
        p.opt.eps = 0.05 * p.data->mean_power;
        p.opt.trace = 0;
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, seed, 5);
        double *W = new_positives(&rng, M * K), *H = new_positives(&rng, K * N),
               *Q = new_normals(&rng, M * M), *Phi = new_normals(&rng, M * M);
        double *Z = new_doubles(p.S * M * N), *other_H = new_doubles(K * N),
               *rotated = new_doubles(M * M);
        assert_ok(p.ctx, tl_polar(p.ctx, M, Q));
        assert_ok(p.ctx, tl_polar(p.ctx, M, Phi));
        tl_start start = {0};
        start.Phi = Phi;
        start.W = W;
        start.H = H;
        tl_result *plain = run(&p, p.Y, &start);

        for (int64_t i = 0; i < p.S * M; i++)
            for (int64_t n = 0; n < N; n++)
                Z[i * N + n] = p.Y[i * N + N - 1 - n];
        for (int64_t k = 0; k < K; k++)
            for (int64_t n = 0; n < N; n++)
                other_H[k * N + n] = H[k * N + N - 1 - n];
        start.H = other_H;
        tl_result *turned = run(&p, Z, &start);
        double scale = largest(K * N, plain->H);
        for (int64_t k = 0; k < K; k++)
            for (int64_t n = 0; n < N; n++)
                assert_near(turned->H[k * N + n], plain->H[k * N + N - 1 - n], 1e-8 * scale);
        start.H = H;

        for (int64_t s = 0; s < p.S; s++) /* Z = Q Y, so Phi Q' acts on Z as Phi does on Y */
            tl_gemm(TL_PLAIN, TL_PLAIN, M, N, M, 1.0, Q, M, p.Y + s * M * N, N, 0.0, Z + s * M * N,
                    N);
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, M, 1.0, Phi, M, Q, M, 0.0, rotated, M);
        start.Phi = rotated;
        tl_result *spun = run(&p, Z, &start);
        tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, M, 1.0, plain->Phi, M, Q, M, 0.0, rotated, M);
        assert_near(largest_difference(M * M, spun->Phi, rotated), 0.0, 1e-8);
        start.Phi = Phi;

        const double c = 1e3;
        for (int64_t i = 0; i < p.S * M * N; i++)
            Z[i] = c * p.Y[i];
        for (int64_t i = 0; i < K * N; i++)
            other_H[i] = c * c * H[i];
        start.H = other_H;
        p.opt.eps *= c * c;
        tl_result *louder = run(&p, Z, &start);
        assert_near(largest_difference(M * M, louder->Phi, plain->Phi), 0.0, 1e-9);

        tl_result *all[] = {plain, turned, spun, louder};
        double *blocks[] = {W, H, Q, Phi, Z, other_H, rotated};
        for (int i = 0; i < 4; i++)
            tl_result_free(all[i]);
        for (int i = 0; i < 7; i++)
            free(blocks[i]);
        destroy(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_descends_on_200_problems),
        cmocka_unit_test(orthogonal_after_1000_iterations),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(lemma_1),
        cmocka_unit_test(full_rank_has_an_exact_factorisation),
        cmocka_unit_test(full_rank_fits_exactly),
        cmocka_unit_test(symmetries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
