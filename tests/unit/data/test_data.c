/* Compression, covariances, and data that must be refused. */
#include "support.h"

#include "data/data.h"
#include "reference/naive_kernels.h"

#include <stdatomic.h>

/* C, L and the gradient from compressed columns, against the realisations themselves (eps and K are
 * arbitrary here). */
static void compression_changes_nothing(void **state)
{
    (void)state;
    static const int64_t S[] = {1, 2, 3, 7, 8, 9, 50, 1000};
    enum { M = 8, N = 11, K = 3 };
    const double eps = 1e-6;
    for (size_t i = 0; i < sizeof S / sizeof *S; i++) {
        tlnmf_ctx *ctx = new_ctx();
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, 21, i);
        double *Y = new_normals(&rng, S[i] * M * N), *W = new_positives(&rng, M * K),
               *H = new_positives(&rng, K * N), Phi[M * M], V[M * N], U[M * N], G[M * M],
               Ganti[M * M];
        assert_ok(ctx, tlnmf_transform_matrix(ctx, "dct", M, Phi));
        tlnmf_data *data = data_of(ctx, Y, S[i], M, N);
        assert_true(data->T <= N * (S[i] < M ? S[i] : M));
        tl_values at = values_at(ctx, data, (tl_model_point){Phi, W, H, K, eps}, Ganti);
        tl_naive_power(S[i], M, N, Y, Phi, V);
        assert_close(at.C, tl_naive_C(M, N, K, V, W, H, eps), 1e-10);
        assert_close(at.L, tl_naive_L(M, N, V, eps), 1e-10);
        assert_close(at.I, tl_naive_I(M, N, K, V, W, H, eps), 1e-10);
        for (int64_t m = 0; m < M; m++)
            for (int64_t n = 0; n < N; n++) {
                U[m * N + n] = eps;
                for (int64_t k = 0; k < K; k++)
                    U[m * N + n] += W[m * K + k] * H[k * N + n];
                U[m * N + n] = 1.0 / U[m * N + n];
            }
        tl_naive_gradient(S[i], M, N, Y, Phi, U, G);
        double scale = largest(M * M, G);
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++)
                assert_near(Ganti[a * M + b], 0.5 * (G[a * M + b] - G[b * M + a]), 1e-12 * scale);
        tlnmf_data_free(data);
        free(Y);
        free(W);
        free(H);
        tlnmf_ctx_free(ctx);
    }
}

/* Realisations that are multiples of r vectors leave r columns, whatever S is; silence leaves none.
 */
static void rank_is_found(void **state)
{
    (void)state;
    enum { S = 20, M = 9, N = 4, RANK = 3 };
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 8, 0);
    double *basis = new_normals(&rng, M * RANK), *Y = new_doubles(S * M * N);
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N - 1; n++) /* frame N-1 is silent */
            for (int64_t r = 0; r < RANK; r++) {
                double weight = tl_rng_normal(&rng);
                for (int64_t m = 0; m < M; m++)
                    Y[(s * M + m) * N + n] += weight * basis[m * RANK + r];
            }
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    assert_int_equal(data->T, RANK * (N - 1));
    assert_int_equal(data->offset[N] - data->offset[N - 1], 0);
    tlnmf_data_free(data);
    free(Y);
    free(basis);
    tlnmf_ctx_free(ctx);
}

/* The number of columns equals that of frames, but one frame has two and another none. */
static void equal_counts_are_not_one_column_per_frame(void **state)
{
    (void)state;
    enum { S = 2, M = 3, N = 3, K = 1 };
    tlnmf_ctx *ctx = new_ctx();
    double Y[S * M * N], Phi[M * M], W[M], H[N], V[M * N];
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 9, 0);
    for (int i = 0; i < S * M * N; i++)
        Y[i] = i % N == 1 ? 0.0 : tl_rng_normal(&rng); /* frame 1 is silent */
    for (int m = 0; m < M; m++)
        Y[(M + m) * N + 2] = Y[m * N + 2]; /* frame 2 is the same in both */
    tlnmf_data *data = data_of(ctx, Y, S, M, N);
    assert_int_equal(data->T, N);
    assert_false(data->one_each);
    assert_ok(ctx, tlnmf_transform_matrix(ctx, "dct", M, Phi));
    for (int i = 0; i < 3; i++)
        W[i] = H[i] = 1.0 + i;
    tl_naive_power(S, M, N, Y, Phi, V);
    tl_values at = values_at(ctx, data, (tl_model_point){Phi, W, H, K, 1e-3}, NULL);
    assert_close(at.C, tl_naive_C(M, N, K, V, W, H, 1e-3), 1e-12);
    assert_close(at.L, tl_naive_L(M, N, V, 1e-3), 1e-12);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

static void notes_compress_to_a_few_columns(void **state)
{
    (void)state;
    enum { S = 20 };
    tlnmf_ctx *ctx = new_ctx();
    double theta[2 * S], *Y = new_doubles(S * NOTES_M * NOTES_N);
    assert_ok(ctx, tlnmf_random_phases(ctx, 1, TLNMF_STREAM_OWN, 2 * S, theta));
    simulate_notes(ctx, S, theta, Y, NULL);
    tlnmf_data *data = data_of(ctx, Y, S, NOTES_M, NOTES_N);
    tlnmf_data *trimmed;
    assert_ok(ctx, tl_data_trim(ctx, data, 5e-7, &trimmed));
    assert_non_null(trimmed); /* rounding of the phases is far below the floor */
    for (int64_t n = 0; n < data->N; n++)
        assert_true(trimmed->offset[n + 1] - trimmed->offset[n] <= 8);
    tlnmf_data *again;
    assert_ok(ctx, tl_data_trim(ctx, trimmed, 5e-7, &again));
    assert_null(again);
    tlnmf_data_free(trimmed);
    tlnmf_data_free(data);
    free(Y);
    tlnmf_ctx_free(ctx);
}

typedef struct usage {
    atomic_size_t held, most; /* several threads may allocate */
} usage;

enum { HEAD = 64 }; /* bytes before a block, which hold its size */

static void *allocate_metered(size_t bytes, void *user)
{
    usage *u = user;
    char *block = malloc(bytes + HEAD);
    assert_non_null(block);
    memcpy(block, &bytes, sizeof bytes);
    size_t held = atomic_fetch_add(&u->held, bytes) + bytes, most = u->most;
    while (held > most && !atomic_compare_exchange_weak(&u->most, &most, held))
        continue;
    return block + HEAD;
}

static void release_metered(void *block, void *user)
{
    size_t bytes;
    if (block == NULL)
        return;
    memcpy(&bytes, (char *)block - HEAD, sizeof bytes);
    ((usage *)user)->held -= bytes;
    free((char *)block - HEAD);
}

/* The bound of tlnmf_data_from_realisations. */
static void memory_stays_below_its_bound(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 64, 1600}, {1, 4, 3000}, {4, 64, 300}, {30, 16, 500},
                                        {90, 40, 50},  {3, 20, 100}, {100, 400, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        usage u = {0, 0};
        tlnmf_ctx *ctx;
        tlnmf_data *data;
        tl_rng rng;
        const int64_t *shape = shapes[i], count = shape[0] * shape[1] * shape[2];
        tl_rng_seed(&rng, TL_STREAM_OWN, 77, i);
        double *Y = new_normals(&rng, count);
        assert_int_equal(tlnmf_ctx_create_with(allocate_metered, release_metered, &u, &ctx),
                         TLNMF_OK);
        u.most = u.held;
        size_t before = u.held, bytes = (size_t)count * sizeof *Y;
        assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, shape, &data));
        size_t bound = (shape[0] == 1 ? 1 : 3) * bytes + 128 * (size_t)shape[2] +
                       512 * (size_t)shape[1] + 8192;
        if (u.most - before > bound || (shape[0] == 1 && u.most - before < bytes))
            fail_msg("shape %zu: %zu bytes, the bound is %zu", i, u.most - before, bound);
        tlnmf_data_free(data);
        tlnmf_ctx_free(ctx);
        assert_int_equal(u.held, 0);
        free(Y);
    }
}

/* One realisation is kept as it is, without its silent frames. */
static void one_realisation_keeps_its_bits(void **state)
{
    (void)state;
    enum { M = 30, N = 9000 };
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 32, 0);
    double *Y = new_normals(&rng, M * N);
    for (int silent = 0; silent < 2; silent++)
        for (int threads = 1; threads <= 3; threads += 2) {
            assert_ok(ctx, tlnmf_ctx_set_threads(ctx, threads));
            tlnmf_data *data = data_of(ctx, Y, 1, M, N);
            int64_t wrong = 0, t = 0;
            for (int64_t n = 0; n < N; n++) {
                bool is_silent = silent && n % 5 == 0;
                for (int64_t m = 0; m < M && !is_silent; m++)
                    wrong += data->R[m * data->T + t] != Y[m * N + n];
                wrong += data->offset[n] != t;
                t += is_silent ? 0 : 1;
            }
            assert_int_equal(data->T, t);
            assert_int_equal(wrong, 0);
            tlnmf_data_free(data);
            for (int64_t n = 0; n < N && threads == 3; n += 5)
                for (int64_t m = 0; m < M; m++) /* the next round; -0 is silent */
                    Y[m * N + n] = m % 2 == 0 ? 0.0 : -0.0;
            for (int64_t n = 1; n < N && threads == 3; n += 5)
                for (int64_t m = 0; m < M - 1; m++) /* only the last row sounds */
                    Y[m * N + n] = 0.0;
        }
    free(Y);
    tlnmf_ctx_free(ctx);
}

/* Covariances give the same objective as the realisations that they were computed from. */
static void compare_with_covariances(int64_t S)
{
    enum { M = 6, N = 7, K = 2 };
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 31, 0);
    double *Y = new_normals(&rng, S * M * N), Sigma[N * M * M], Phi[M * M];
    double *W = new_positives(&rng, M * K), *H = new_positives(&rng, K * N);
    for (int64_t n = 0; n < N; n++)
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                double sum = 0.0;
                for (int64_t s = 0; s < S; s++)
                    sum += Y[(s * M + a) * N + n] * Y[(s * M + b) * N + n];
                Sigma[(n * M + a) * M + b] = sum / (double)S;
            }
    tlnmf_data *from_Y = data_of(ctx, Y, S, M, N), *from_Sigma = covariances_of(ctx, Sigma, N, M);
    assert_close(from_Sigma->mean_power, from_Y->mean_power, 1e-14);
    assert_ok(ctx, tlnmf_transform_matrix(ctx, "dft", M, Phi));
    tl_model_point point = {Phi, W, H, K, 1e-3};
    tl_values a = values_at(ctx, from_Y, point, NULL);
    tl_values b = values_at(ctx, from_Sigma, point, NULL);
    assert_close(b.C, a.C, 1e-12);
    assert_close(b.L, a.L, 1e-12);
    assert_close(b.I, a.I, 1e-12);
    tlnmf_data_free(from_Y);
    tlnmf_data_free(from_Sigma);
    free(Y);
    free(W);
    free(H);
    tlnmf_ctx_free(ctx);
}

static void covariances_match_realisations(void **state)
{
    (void)state;
    compare_with_covariances(5);  /* singular */
    compare_with_covariances(20); /* definite */
}

static void refuse_Y(double *Y, int64_t S, int64_t M, int64_t N, tlnmf_error error,
                     const char *message)
{
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data = (tlnmf_data *)Y;
    assert_int_equal(tlnmf_data_from_realisations(ctx, Y, (int64_t[]){S, M, N}, &data), error);
    assert_string_equal(tlnmf_message(ctx), message);
    assert_null(data);
    tlnmf_ctx_free(ctx);
}

static void unusable_realisations_are_refused(void **state)
{
    (void)state;
    double Y[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, zeros[12] = {0};
    refuse_Y(Y, 0, 3, 4, TLNMF_ERR_SHAPE, "S (realisations) = 0 must be at least 1");
    refuse_Y(Y, 1, 0, 4, TLNMF_ERR_SHAPE, "M (frame length) = 0 must be at least 1");
    refuse_Y(Y, 1, 3, -4, TLNMF_ERR_SHAPE, "N (frames) = -4 must be at least 1");
    refuse_Y(Y, INT32_MAX, INT32_MAX, INT32_MAX, TLNMF_ERR_TOO_LARGE,
             "the array of the data would not fit the address space");
    refuse_Y(zeros, 1, 3, 4, TLNMF_ERR_DATA, "the data are all zeros: there is nothing to learn");
    Y[10] = NAN;
    refuse_Y(Y, 2, 2, 3, TLNMF_ERR_DATA, "realisation 1, row 1, frame 1 is not finite (nan)");
    Y[10] = -INFINITY;
    refuse_Y(Y, 1, 3, 4, TLNMF_ERR_DATA, "realisation 0, row 2, frame 2 is not finite (-inf)");
    Y[10] = 1e200;
    refuse_Y(Y, 1, 3, 4, TLNMF_ERR_DATA,
             "the power of the data does not fit a double (largest entry 1e+200): rescale them");
}

static void refuse_Sigma(const double *Sigma, const char *message)
{
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *data;
    assert_int_equal(tlnmf_data_from_covariances(ctx, Sigma, (int64_t[]){2, 2, 2}, &data),
                     TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), message);
    assert_null(data);
    tlnmf_ctx_free(ctx);
}

static void note_warning(tlnmf_log_level level, const char *message, void *user)
{
    if (level == TLNMF_LOG_WARNING)
        snprintf(user, 256, "%s", message);
}

/* Rounding of single precision is removed, with a warning. */
static void nearly_symmetric_covariances(void **state)
{
    (void)state;
    const double off = 2e-7;
    const double exact[] = {2, 1, 1, 2}, near[] = {2, 1 + off, 1 - off, 2};
    char warning[256] = "";
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_data *a, *b;
    tlnmf_ctx_set_log(ctx, note_warning, warning);
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, exact, (int64_t[]){1, 2, 2}, &a));
    assert_string_equal(warning, "");
    assert_ok(ctx, tlnmf_data_from_covariances(ctx, near, (int64_t[]){1, 2, 2}, &b));
    assert_string_equal(warning, "the covariances are symmetric and positive semidefinite only to "
                                 "2e-07 of their largest entries, as in single precision; the "
                                 "nearest symmetric positive semidefinite matrices are used");
    for (int i = 0; i < 4; i++)
        assert_near(a->R[i], b->R[i], 1e-14);
    tlnmf_data_free(a);
    tlnmf_data_free(b);
    tlnmf_ctx_free(ctx);
}

static void unusable_covariances_are_refused(void **state)
{
    (void)state;
    refuse_Sigma((double[]){1, 0, 0, 1, 1, 0.5, 0, 1},
                 "covariance 1 is not symmetric: entries (0, 1) and (1, 0) differ by 0.5 of 1");
    refuse_Sigma((double[]){1, 2, 2, 1, 1, 0, 0, 1},
                 "covariance 0 is not positive semidefinite (least eigenvalue -1 of 3)");
    refuse_Sigma((double[]){1, 0, 0, NAN, 1, 0, 0, 1},
                 "covariance 0, row 1, column 1 is not finite (nan)");
    refuse_Sigma((double[]){0, 0, 0, 0, 0, 0, 0, 0},
                 "the covariances have a mean power of 0: it must be positive");
    refuse_Sigma((double[]){-1, 0, 0, 0, 0, 0, 0, 0},
                 "the covariances have a mean power of -0.25: it must be positive");
    refuse_Sigma(
        (double[]){1, 1.7e308, 1.7e308, 1, 1, 0, 0, 1},
        "the power of the data does not fit a double (largest entry 1.7e+308): rescale them");
    refuse_Sigma(
        (double[]){-1e308, 0, 0, -1e308, 1, 0, 0, 1},
        "the power of the data does not fit a double (largest entry 1e+308): rescale them");
}

/* Two realisations of 2 x 2 powers: a gap in one, in both, and under a mask of 0. */
static void missing_powers_become_a_mask(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    const int64_t shape[3] = {2, 2, 2};
    double Y[] = {1, NAN, NAN, 2, 3, 5, NAN, NAN}, mask[] = {1, 1, 1, 0.5};
    int64_t missing = 0;
    assert_ok(ctx, tlnmf_fill_missing_powers(ctx, Y, shape, mask, &missing));
    assert_int_equal(missing, 4);
    const double mean = (5.0 + 25.0 + 4.0) / 3.0, wanted[] = {1, 0.5, 0, 0.25};
    assert_near(Y[1], 5.0, 1e-15);
    assert_near(Y[7], 2.0, 1e-15);
    assert_near(Y[2], sqrt(mean), 1e-12);
    assert_near(Y[6], sqrt(mean), 1e-12);
    for (int i = 0; i < 4; i++)
        assert_near(mask[i], wanted[i], 1e-15);
    for (int dof_first = 0; dof_first < 2; dof_first++) {
        tlnmf_data *data;
        assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, shape, &data));
        if (dof_first)
            assert_ok(ctx, tlnmf_data_set_dof(ctx, data, 2));
        assert_ok(ctx, tlnmf_data_set_mask(ctx, data, mask));
        assert_ok(ctx, tlnmf_data_set_dof(ctx, data, 2));
        assert_int_equal(tlnmf_record_get_integer(tlnmf_data_record(data), "missing"), 3);
        assert_ok(ctx, tlnmf_data_set_mask(ctx, data, NULL));
        assert_int_equal(tlnmf_record_get_integer(tlnmf_data_record(data), "missing"), 0);
        tlnmf_data_free(data);
    }
    double Z[] = {1, NAN, 2, NAN, 3, 5, NAN, 2}, only[] = {1, 1, 0, 1};
    assert_ok(ctx, tlnmf_fill_missing_powers(ctx, Z, shape, only, NULL));
    assert_true(isnan(Z[1]) && isnan(Z[3]) && !isnan(Z[6]));
    double none[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(tlnmf_fill_missing_powers(ctx, none, shape, only, &missing), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "every power is missing");
    assert_int_equal(tlnmf_fill_missing_powers(ctx, Z, (int64_t[]){2, 0, 2}, only, NULL),
                     TLNMF_ERR_SHAPE);
    assert_int_equal(tlnmf_fill_missing_powers(ctx, Z, (int64_t[]){INT64_MAX, 2, 2}, only, NULL),
                     TLNMF_ERR_TOO_LARGE);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compression_changes_nothing),
        cmocka_unit_test(rank_is_found),
        cmocka_unit_test(equal_counts_are_not_one_column_per_frame),
        cmocka_unit_test(notes_compress_to_a_few_columns),
        cmocka_unit_test(memory_stays_below_its_bound),
        cmocka_unit_test(one_realisation_keeps_its_bits),
        cmocka_unit_test(covariances_match_realisations),
        cmocka_unit_test(unusable_realisations_are_refused),
        cmocka_unit_test(nearly_symmetric_covariances),
        cmocka_unit_test(unusable_covariances_are_refused),
        cmocka_unit_test(missing_powers_become_a_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
