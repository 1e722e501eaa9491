/* A block of frames: coefficients, power, H for a W that stays, masks, and back. */
#include "separate/separate.h"

#include <math.h>

/* About as many columns a block: products are at full speed, and memory stays small. */
enum { COLUMNS = 512, UPDATES_OF_H = 40 };

tlnmf_error tl_engine_create(tlnmf_ctx *ctx, const tl_framing *framing, int64_t K, int64_t channels,
                             tl_engine *engine)
{
    int64_t M = framing->f.M, each = framing->f.shifts * channels;
    int64_t most = tl_max(1, COLUMNS / each);
    *engine = (tl_engine){.framing = framing,
                          .M = M,
                          .K = K,
                          .channels = channels,
                          .most = most,
                          .each = each,
                          .mu = {.gamma = 1.0},
                          .hooks = ctx->hooks};
    tl_slot table[8 + TL_MU_SLOTS] = {
        TL_SLOT(engine->Y, M * most * each), TL_SLOT(engine->X, M * most * each),
        TL_SLOT(engine->V, M * most),        TL_SLOT(engine->H, K * most),
        TL_SLOT(engine->Vhat, M * most),     TL_SLOT(engine->mask, M * most),
        TL_SLOT(engine->H_part, K * most),   TL_SLOT(engine->Z, M * most * each)};
    tl_mu_slots(&engine->mu, M, most, K, table + 8);
    TRY(tl_check_size(ctx, "a block's columns", most * each));
    return TL_ARENA(ctx, "a block of frames", table, &engine->block);
}

void tl_engine_free(tl_engine *engine)
{
    tl_release(&engine->hooks, engine->block);
    engine->block = NULL;
}

void tl_engine_put(tl_engine *engine, const tl_stretch *x, int64_t n, int64_t i, int64_t count)
{
    tl_frame_cut(engine->framing, x, n, count * engine->each, engine->Y + i * engine->each);
}

/* The mean of rows 2j-1 and 2j, cosine and sine of one frequency: (25). */
static void share_power(int64_t M, int64_t count, double *V)
{
    for (int64_t m = 1; m + 1 < M; m += 2)
        for (int64_t n = 0; n < count; n++) {
            double mean = 0.5 * (V[m * count + n] + V[(m + 1) * count + n]);
            V[m * count + n] = V[(m + 1) * count + n] = mean;
        }
}

void tl_engine_transform(tl_engine *engine, int64_t rows, int64_t count)
{
    int64_t M = engine->M, each = engine->each, T = count * each;
    tl_gemm(TL_PLAIN, TL_PLAIN, rows, T, M, 1.0, engine->Phi, M, engine->Y, T, 0.0, engine->X, T);
    double scale = 1.0 / (double)each;
    for (int64_t i = 0; i < rows * count; i++) {
        double sum = 0.0;
        for (int64_t t = 0; t < each; t++)
            sum += engine->X[i * each + t] * engine->X[i * each + t];
        engine->V[i] = scale * sum;
    }
    if (engine->paired)
        share_power(rows, count, engine->V);
}

void tl_engine_fit_H(tl_engine *engine, int64_t count, int64_t per_source, const uint64_t *active)
{
    int64_t M = engine->M, K = engine->K;
    for (int64_t n = 0; n < count; n++) {
        double power = 0.0;
        for (int64_t m = 0; m < M; m++)
            power += engine->V[m * count + n];
        int components = (int)per_source * __builtin_popcountll(active[n]);
        for (int64_t k = 0; k < K; k++)
            engine->H[k * count + n] =
                (active[n] >> (k / per_source) & 1) ? (power + engine->eps) / components : 0.0;
    }
    engine->mu.N = count;
    tl_mu_begin(&engine->mu, engine->V, NULL);
    for (int i = 0; i < UPDATES_OF_H; i++)
        tl_mu_update_H(&engine->mu, engine->eps, engine->W, engine->H);
}

/* ---- masks ----------------------------------------------------------------------------------- */

void tl_engine_weigh(tl_engine *engine, int64_t count)
{
    int64_t M = engine->M, K = engine->K;
    tl_gemm(TL_PLAIN, TL_PLAIN, M, count, K, 1.0, engine->W, K, engine->H, count, 0.0, engine->Vhat,
            count);
    for (int64_t i = 0; i < M * count; i++)
        engine->Vhat[i] += engine->eps;
}

static bool belongs(const tl_part *part, int64_t k)
{
    if (part->members > 0)
        return k >= part->first && k < part->first + part->members;
    return part->sources >> (k / part->per_source) & 1;
}

/* The part's rows of H to H_part. Returns whether the part has anything in the block. */
static bool pick(tl_engine *engine, int64_t count, const tl_part *part)
{
    double sum = 0.0;
    for (int64_t k = 0; k < engine->K; k++)
        for (int64_t n = 0; n < count; n++) {
            double h = belongs(part, k) ? engine->H[k * count + n] : 0.0;
            engine->H_part[k * count + n] = h;
            sum += h;
        }
    return sum > 0.0;
}

/* The part of the floor that goes with frame n: (23). */
static double floor_share(const tl_engine *engine, int64_t count, const tl_part *part, int64_t n)
{
    if (part->no_floor)
        return 0.0;
    double own = 0.0, all = 0.0;
    for (int64_t k = 0; k < engine->K; k++) {
        own += engine->H_part[k * count + n];
        all += engine->H[k * count + n];
    }
    return all > 0.0 ? own / all : part->floor_share;
}

bool tl_engine_part(tl_engine *engine, int64_t count, const tl_part *part)
{
    int64_t M = engine->M, K = engine->K, each = engine->each, T = count * each;
    bool any = pick(engine, count, part);
    tl_gemm(TL_PLAIN, TL_PLAIN, M, count, K, 1.0, engine->W, K, engine->H_part, count, 0.0,
            engine->mask, count);
    for (int64_t n = 0; n < count; n++) {
        double floor = engine->eps * floor_share(engine, count, part, n);
        any = any || floor > 0.0;
        for (int64_t m = 0; m < M; m++)
            engine->mask[m * count + n] =
                (engine->mask[m * count + n] + floor) / engine->Vhat[m * count + n];
    }
    if (!any)
        return false;
    double *masked = engine->Y; /* the frames themselves are not wanted any more */
    for (int64_t i = 0; i < M * count; i++)
        for (int64_t t = 0; t < each; t++)
            masked[i * each + t] = engine->mask[i] * engine->X[i * each + t];
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, M, T, M, 1.0, engine->Phi, M, masked, T, 0.0, engine->Z, T);
    return true;
}

void tl_engine_add(const tl_engine *engine, int64_t n, int64_t i, int64_t count, tl_stretch *y)
{
    tl_frame_add(engine->framing, engine->Z + i * engine->each, n, count * engine->each, y);
}
