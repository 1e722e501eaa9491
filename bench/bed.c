/* A problem of a given shape: random data, and all arrays. */
#include "bed.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void must(tlnmf_ctx *ctx, tlnmf_error error)
{
    if (error != TLNMF_OK) {
        fprintf(stderr, "bench: %s\n", tlnmf_message(ctx));
        exit(1);
    }
}

/* If rows are `apart`: the pair of rows that row m belongs to. Most pairs are far from each
 * other. */
static int64_t partner_group(const bed *b, int64_t m)
{
    return m % ((b->is.M + 1) / 2);
}

static bool is_group_of(const bed *b, int64_t m, int64_t n)
{
    return partner_group(b, m) == n % ((b->is.M + 1) / 2);
}

static void fill_data(bed *b, tl_rng *rng)
{
    for (int64_t s = 0; s < b->is.S; s++)
        for (int64_t m = 0; m < b->is.M; m++)
            for (int64_t n = 0; n < b->is.N; n++) {
                bool silent = b->is.apart && !is_group_of(b, m, n);
                b->Y[(s * b->is.M + m) * b->is.N + n] = silent ? 0.0 : tl_rng_normal(rng);
            }
}

static void fill_skew(int64_t M, double norm, tl_rng *rng, double *E)
{
    double scale = 0.5 * norm / sqrt((double)M); /* the norm of M x M normals is 2 sqrt(M) */
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < a; b++)
            E[a * M + b] = scale * tl_rng_normal(rng);
    tl_skew_complete(M, E);
}

static void fill_positive(int64_t count, tl_rng *rng, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = tl_rng_uniform(rng) + 0.1;
}

/* Low weights where a row has its data, high ones elsewhere: rows of different pairs do not
 * rotate. */
static void fill_weights_apart(bed *b, tl_rng *rng)
{
    for (int64_t m = 0; m < b->is.M; m++)
        for (int64_t n = 0; n < b->is.N; n++)
            b->U[m * b->is.N + n] = tl_rng_uniform(rng) + (is_group_of(b, m, n) ? 0.1 : 10.0);
}

static void allocate_inputs(bed *b)
{
    int64_t M = b->is.M, N = b->is.N, K = b->is.K, S = b->is.S, T = b->T;
    tl_slot table[] = {
        TL_SLOT(b->Phi, M * M),
        TL_SLOT(b->W, M * K),
        TL_SLOT(b->H, K * N),
        TL_SLOT(b->X, M * T),
        TL_SLOT(b->V, M * N),
        TL_SLOT(b->U, M * N),
        TL_SLOT(b->E, M * M),
        TL_SLOT(b->E_long, M * M),
        TL_SLOT(b->UX, tl_max(tl_gradient_scratch(b->data), tl_sweep_scratch(b->data, NULL, 1))),
        TL_SLOT(b->V_turned, N * M),
        TL_SLOT(b->M_scratch, M * M),
        TL_SLOT(b->twin_X, M * T),
        TL_SLOT(b->twin_U, M * T),
        TL_SLOT(b->rows, S * M),
        TL_SLOT(b->frame, S * M + S),
        TL_SLOT(b->fast.V, M * N),
        TL_SLOT(b->twin.V, M * N),
        TL_SLOT(b->fast.U, M * N),
        TL_SLOT(b->twin.U, M * N),
        TL_SLOT(b->fast.W, M * K),
        TL_SLOT(b->twin.W, M * K),
        TL_SLOT(b->fast.H, K * N),
        TL_SLOT(b->twin.H, K * N),
        TL_SLOT(b->fast.Phi, M * M),
        TL_SLOT(b->twin.Phi, M * M),
        TL_SLOT(b->fast.G, M * M),
        TL_SLOT(b->twin.G, M * M),
        TL_SLOT(b->fast.Q, M * M),
        TL_SLOT(b->twin.Q, M * M),
        TL_SLOT(b->fast_X, M * T)};
    must(b->ctx, TL_ARENA(b->ctx, "the bench", table, &b->block));
}

/* Kernels that allocate their own scratch. */
static void allocate_parts(bed *b)
{
    int64_t M = b->is.M;
    tl_slot table[2 + TL_MU_SLOTS + TL_SKEW_SLOTS] = {TL_SLOT(b->lent.a, M * M),
                                                      TL_SLOT(b->lent.b, M * M)};
    tl_mu_slots(&b->mu, M, b->is.N, b->is.K, table + 2);
    tl_skew_slots(&b->skew, M, table + 2 + TL_MU_SLOTS);
    b->mu.gamma = 1.0;
    must(b->ctx, TL_ARENA(b->ctx, "the bench", table, &b->parts));
}

void bed_create(tlnmf_ctx *ctx, shape is, bed *b)
{
    int64_t M = is.M, N = is.N, K = is.K;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 0);
    *b = (bed){.is = is, .ctx = ctx, .eps = 1e-2};
    b->Y = tl_allocate(&ctx->hooks, (size_t)(is.S * M * N) * sizeof *b->Y);
    if (b->Y == NULL)
        must(ctx, tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for the data"));
    fill_data(b, &rng);
    must(ctx, tlnmf_data_from_realisations(ctx, b->Y, (int64_t[]){is.S, M, N}, &b->data));
    b->T = b->data->T;
    allocate_inputs(b);
    allocate_parts(b);
    fill_positive(M * K, &rng, b->W);
    fill_positive(K * N, &rng, b->H);
    fill_skew(M, 0.01, &rng, b->E);
    fill_skew(M, 10.0, &rng, b->E_long);
    tl_identity(M, b->Phi);
    tl_coefficients(b->data, &tl_double, b->Phi, b->X, b->V);
    if (is.apart)
        fill_weights_apart(b, &rng);
    else
        tl_weights(M, N, K, b->W, b->H, b->eps, b->U);
    tl_mu_begin(&b->mu, b->V, b->V_turned);
    bed_reset(b);
}

void bed_reset(bed *b)
{
    int64_t M = b->is.M, N = b->is.N, K = b->is.K;
    outputs *sides[] = {&b->fast, &b->twin};
    for (int i = 0; i < 2; i++) {
        tl_copy(sides[i]->W, b->W, M * K);
        tl_copy(sides[i]->H, b->H, K * N);
        tl_copy(sides[i]->Phi, b->Phi, M * M);
    }
    tl_copy(b->twin_X, b->X, M * b->T);
    tl_copy(b->fast_X, b->X, M * b->T);
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t t = b->data->offset[n]; t < b->data->offset[n + 1]; t++)
                b->twin_U[m * b->T + t] = b->U[m * N + n];
}

void bed_free(bed *b)
{
    tlnmf_data_free(b->data);
    tlnmf_data_free(b->again);
    tl_release(&b->ctx->hooks, b->block);
    tl_release(&b->ctx->hooks, b->parts);
    tl_release(&b->ctx->hooks, b->Y);
}
