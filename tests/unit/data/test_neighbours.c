/* Neighbouring frames as realisations of each other, compared with plain loops. */
#include "support.h"

/* L of data whose covariances are averages over frames, by plain loops: spec (15), (16). */
static double plain_L(const double *Y, const int64_t shape[3], bool moving, int B,
                      const double *Phi, double eps)
{
    int S = (int)shape[0], M = (int)shape[1], N = (int)shape[2];
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
    const int64_t shape[3] = {S, M, N};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 4, 0);
    double *Y = new_normals(&rng, S * M * N), *Phi = new_orthogonal(&rng, M);
    double *W = new_positives(&rng, M), *H = new_positives(&rng, N);
    for (int B = 1; B <= N; B++)
        for (int kind = 0; kind < 2; kind++) {
            tlnmf_data *data;
            assert_ok(ctx,
                      tlnmf_data_from_neighbours(ctx, Y, shape, (tlnmf_neighbours)kind, B, &data));
            assert_int_equal(tlnmf_record_get_integer(tlnmf_data_record(data), "N"),
                             kind == 1 ? N : (N + B - 1) / B);
            double L = values_at(ctx, data, (tl_model_point){Phi, W, H, 1, 0.1}, NULL).L;
            assert_near(L, plain_L(Y, shape, kind == 1, B, Phi, 0.1), 1e-11);
            tlnmf_data_free(data);
        }
    tlnmf_data *data;
    assert_int_equal(
        tlnmf_data_from_neighbours(ctx, Y, shape, TLNMF_NEIGHBOURS_BLOCKS, N + 1, &data),
        TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "block = 8 is outside [1, 7], the number of frames");
    assert_null(data);
    /* sizes whose products overflow */
    const int64_t huge[] = {(int64_t)1 << 30, M, INT64_MAX};
    for (int kind = 0; kind < 2; kind++)
        for (int64_t B = INT64_MAX; B > 0; B /= 1 << 20)
            assert_int_equal(
                tlnmf_data_from_neighbours(ctx, Y, huge, (tlnmf_neighbours)kind, B, &data),
                TLNMF_ERR_TOO_LARGE);
    assert_int_equal(tlnmf_data_from_neighbours(ctx, Y, shape, TLNMF_NEIGHBOURS_MOVING, 0, &data),
                     TLNMF_ERR_OPTION);
    assert_int_equal(
        tlnmf_data_from_neighbours(ctx, Y, (int64_t[]){0, M, N}, TLNMF_NEIGHBOURS_MOVING, 1, &data),
        TLNMF_ERR_SHAPE);
    assert_int_equal(tlnmf_data_from_neighbours(ctx, Y, shape, (tlnmf_neighbours)2, 1, &data),
                     TLNMF_ERR_OPTION);
    Y[5] = NAN;
    assert_int_equal(tlnmf_data_from_neighbours(ctx, Y, shape, TLNMF_NEIGHBOURS_MOVING, 2, &data),
                     TLNMF_ERR_DATA);
    free(Y);
    free(Phi);
    free(W);
    free(H);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_are_averages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
