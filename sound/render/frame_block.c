/* A block of frames: coefficients and power, H at a fixed W, masks, and back to frames. */
#include "sound/render/frame_block.h"

#include <math.h>

/* UPDATES: of H, from a flat start. The figures in docs/measurements/separation.md were measured
 * with this value. FITTED: frames whose H is fitted at a time, few enough for BLAS's products of
 * small matrices. */
enum { UPDATES = 40, FITTED = 16 };

tlnmf_error tl_frame_block_create(tlnmf_ctx *ctx, const tl_framing *framing, int64_t channels,
                                  int64_t K, bool spectral, tl_frame_block *block)
{
    int64_t M = framing->f.M, per_frame = framing->f.shifts * channels;
    int64_t capacity = tl_max(1, TL_BLOCK_COLUMNS / per_frame), columns = capacity * per_frame;
    int64_t masked = K > 0 ? capacity : 0; /* frames that need more than analysis */
    int64_t rows = spectral ? M / 2 + 1 : M;
    *block = (tl_frame_block){.framing = framing,
                              .M = M,
                              .K = K,
                              .rows = rows,
                              .channels = channels,
                              .per_frame = per_frame,
                              .capacity = capacity,
                              .ctx = ctx,
                              .hooks = ctx->hooks};
    tl_slot table[8 + TL_FACTORS_SLOTS] = {
        TL_SLOT(block->Y, M * columns),
        TL_SLOT(block->X, M * columns),
        TL_SLOT(block->V, rows * capacity),
        TL_SLOT(block->H, K * capacity),
        TL_SLOT(block->H_part, K * capacity),
        TL_SLOT(block->Vhat, rows * masked),
        TL_SLOT(block->mask, rows * masked),
        TL_SLOT(block->X_part, spectral ? 0 : M * masked * per_frame)};
    tl_factors_slots(&block->factors, rows, masked, K, 0, table + 8);
    TRY(tl_check_size(ctx, "a block's columns", columns));
    if (spectral)
        TRY(tl_dft_plan_create(ctx, M, &block->dft));
    tlnmf_error error = TL_SCRATCH(ctx, "a block of frames", table, &block->memory);
    if (error != TLNMF_OK)
        tl_frame_block_free(block);
    return error;
}

tlnmf_error tl_frame_block_create_for(tlnmf_ctx *ctx, const tl_separator *separator,
                                      const tl_framing *framing, int64_t channels,
                                      tl_updater *updater, tl_frame_block *block)
{
    TRY(tl_frame_block_create(ctx, framing, channels, separator->K, separator->Phi == NULL, block));
    block->Phi = separator->Phi;
    block->W = separator->W;
    block->owner = separator->owner;
    block->eps = separator->info.eps;
    for (int64_t i = 0; i < block->rows * block->K; i++)
        block->largest_W = fmax(block->largest_W, block->W[i]);
    block->paired = separator->info.basis == TL_BASIS_STFT;
    block->factors.updater = updater;
    if (updater == NULL || block->Phi != NULL)
        return TLNMF_OK;
    tlnmf_error error = updater->ops->open_spectrum(
        ctx, updater, block->M, block->capacity * block->per_frame, &block->there);
    if (error != TLNMF_OK)
        tl_frame_block_free(block);
    return error;
}

void tl_frame_block_free(tl_frame_block *block)
{
    if (block->there != NULL)
        block->factors.updater->ops->close_spectrum(block->there);
    block->there = NULL;
    tl_dft_plan_free(&block->dft);
    tl_release(&block->hooks, block->memory);
    block->memory = NULL;
}

/* ---- analysis -------------------------------------------------------------------------------- */

/* A piece of FRAMES frames takes 50 us and more. */
enum { FRAMES = 8 };

/* Frames that move between a block and a stretch, of which frame n is frame 0 of the block; or the
 * frames of a scene from number n on. */
typedef struct frame_move {
    const tl_frame_block *block;
    const tl_stretch *x;
    const tl_scene *scene; /* NULL: frames of the stretch */
    int64_t n;
} frame_move;

static void cut_frames(int64_t first, int64_t last, void *arg)
{
    const frame_move *c = arg;
    const tl_frame_block *block = c->block;
    for (int64_t i = first; i < last; i++) {
        tl_stretch x = c->scene != NULL ? tl_scene_stretch(c->scene, c->n + i) : *c->x;
        int64_t n = c->scene != NULL ? c->scene->n[c->n + i] : c->n + i;
        tl_frame_cut(block->framing, &x, n, block->count * block->per_frame, block->channels,
                     block->Y + i * block->per_frame);
    }
}

void tl_frame_block_cut(tl_frame_block *block, const tl_stretch *x, int64_t n, int64_t count)
{
    block->count = count;
    tl_share(count, FRAMES, cut_frames, &(frame_move){.block = block, .x = x, .n = n});
}

/* Rows 2j-1 and 2j of V, cosine and sine of one frequency, both become their mean: (25). */
static void share_power(int64_t rows, int64_t count, double *V)
{
    for (int64_t m = 1; m + 1 < rows; m += 2)
        for (int64_t n = 0; n < count; n++) {
            double mean = 0.5 * (V[m * count + n] + V[(m + 1) * count + n]);
            V[m * count + n] = V[(m + 1) * count + n] = mean;
        }
}

/* out[i] = the sum of the squares of columns i per_frame .. of a row of X. */
TL_HOT static void add_power(int64_t count, int64_t per_frame, double scale, const double *x,
                             double *out)
{
    for (int64_t i = 0; i < count; i++) {
        double sum = 0.0;
        for (int64_t t = 0; t < per_frame; t++)
            sum += x[i * per_frame + t] * x[i * per_frame + t];
        out[i] += scale * sum;
    }
}

/* Rows first .. last - 1 of V. */
static void fill_power(int64_t first, int64_t last, void *arg)
{
    const tl_frame_block *block = arg;
    int64_t M = block->M, count = block->count, columns = count * block->per_frame;
    bool spectral = block->Phi == NULL;
    memset(block->V + first * count, 0, (size_t)((last - first) * count) * sizeof *block->V);
    for (int64_t r = first; r < last; r++) {
        int64_t from = spectral ? tl_max(0, 2 * r - 1) : r; /* cosine and sine of frequency r */
        int64_t to = spectral ? tl_min(M, 2 * r + 1) : r + 1;
        double scale = (to - from == 2 ? 0.5 : 1.0) / (double)block->per_frame;
        for (int64_t m = from; m < to; m++)
            add_power(count, block->per_frame, scale, block->X + m * columns, block->V + r * count);
    }
}

void tl_frame_block_analyse(tl_frame_block *block, int64_t rows)
{
    enum { ROWS = 32 }; /* of V per piece, 30 us */
    int64_t M = block->M, columns = block->count * block->per_frame;
    bool spectral = block->Phi == NULL;
    if (block->there != NULL) {
        if (block->error == TLNMF_OK)
            block->error = block->factors.updater->ops->analyse(
                block->ctx, block->there,
                &(tl_spectral){block->count, block->per_frame, block->Y, block->V});
        return;
    }
    if (spectral)
        tl_dft_forward(&block->dft, columns, block->Y, block->X);
    else
        tl_gemm(TL_PLAIN, TL_PLAIN, rows, columns, M, 1.0, block->Phi, M, block->Y, columns, 0.0,
                block->X, columns);
    tl_share(rows, ROWS, fill_power, block);
    if (block->paired && !spectral)
        share_power(rows, block->count, block->V);
}

void tl_frame_block_analyse_scene(tl_frame_block *block, const tl_scene *scene, int64_t rows,
                                  double *V, double *X)
{
    int64_t N = scene->frames, per_frame = block->per_frame;
    for (int64_t first = 0; first < N && !tl_poll(block->ctx->monitor); first += block->capacity) {
        int64_t count = block->count = tl_min(block->capacity, N - first);
        tl_share(count, FRAMES, cut_frames,
                 &(frame_move){.block = block, .scene = scene, .n = first});
        tl_frame_block_analyse(block, rows);
        for (int64_t m = 0; m < rows; m++)
            tl_copy(V + m * N + first, block->V + m * count, count);
        for (int64_t m = 0; X != NULL && m < rows; m++)
            for (int64_t i = 0; i < count; i++)
                for (int64_t t = 0; t < per_frame; t++)
                    X[(t * rows + m) * N + first + i] = block->X[(m * count + i) * per_frame + t];
    }
}

/* ---- H --------------------------------------------------------------------------------------- */

/* Shares the power of each frame equally among the columns that may sound in it. Returns the
 * largest power of a frame. */
static double start_H(tl_frame_block *block, const bool *may_sound)
{
    int64_t count = block->count;
    double most = 0.0;
    for (int64_t n = 0; n < count; n++) {
        double power = 0.0;
        int64_t columns = 0;
        for (int64_t m = 0; m < block->rows; m++)
            power += block->V[m * count + n];
        for (int64_t k = 0; k < block->K; k++)
            columns += may_sound[k * count + n];
        most = power > most || isnan(power) ? power : most;
        for (int64_t k = 0; k < block->K; k++)
            block->H[k * count + n] =
                may_sound[k * count + n] ? (power + block->eps) / (double)columns : 0.0;
    }
    return most;
}

/* The update (7) sums W (V + eps) / (W H + eps)^2, which is largest where W H = 0. */
static tlnmf_error check_range(const tl_frame_block *block, double power)
{
    const double most = 1e300;
    double eps = block->eps, sum = power + eps * (double)block->rows;
    if (!(fmax(1.0, block->largest_W) * sum / eps / eps <= most))
        return tl_fail(block->ctx, TLNMF_ERR_DATA,
                       "frames of power %.3g with eps = %.3g exceed the range of double: use a "
                       "larger eps",
                       power, eps);
    return TLNMF_OK;
}

/* Columns first .. last - 1 of `from`, of `rows` rows that are `stride` apart, next to each other.
 */
static void gather(int64_t rows, int64_t stride, int64_t first, int64_t last, const double *from,
                   double *to)
{
    for (int64_t r = 0; r < rows; r++)
        tl_copy(to + r * (last - first), from + r * stride + first, last - first);
}

/* Computes H and Vhat of frames first .. last - 1, which depend on no other frame. Masks are
 * computed later: their memory holds V here, and the memory of H_part holds H. */
static void fit_frames(int64_t first, int64_t last, void *arg)
{
    tl_frame_block *block = arg;
    int64_t rows = block->rows, K = block->K, count = block->count, N = last - first;
    tl_factors f = block->factors;
    double *V = block->mask + rows * first, *H = block->H_part + K * first;
    f.N = N;
    f.eps = block->eps;
    f.U += 2 * rows * first;
    f.sums += 2 * K * first;
    gather(rows, count, first, last, block->V, V);
    gather(K, count, first, last, block->H, H);
    tlnmf_error error = tl_factors_run(
        block->ctx, &f, &(tl_updates){.V = V, .W = block->W, .H = H, .count = UPDATES, .U = f.U});
    if (error != TLNMF_OK) /* of a device, which fits all frames in one piece */
        block->error = error;
    for (int64_t k = 0; k < K; k++)
        tl_copy(block->H + k * count + first, H + k * N, N);
    for (int64_t m = 0; m < rows; m++)
        for (int64_t n = 0; n < N; n++)
            block->Vhat[m * count + first + n] = 1.0 / f.U[m * N + n];
}

void tl_frame_block_fit(tl_frame_block *block, const bool *may_sound)
{
    double power = start_H(block, may_sound);
    if (block->error == TLNMF_OK)
        block->error = check_range(block, power);
    if (block->error == TLNMF_OK)
        tl_share(block->count, block->factors.updater == NULL ? FITTED : block->count, fit_frames,
                 block);
}

/* ---- masks ----------------------------------------------------------------------------------- */

static bool belongs(const tl_frame_block *block, const tl_part *part, int64_t k)
{
    if (part->component >= 0)
        return k == part->component;
    return part->sources >> block->owner[k] & 1;
}

/* Fills H_part. Returns whether it has anything but zeros. */
static bool pick_rows(tl_frame_block *block, const tl_part *part)
{
    int64_t count = block->count;
    double sum = 0.0;
    for (int64_t k = 0; k < block->K; k++)
        for (int64_t n = 0; n < count; n++) {
            double h = belongs(block, part, k) ? block->H[k * count + n] : 0.0;
            block->H_part[k * count + n] = h;
            sum += h;
        }
    return sum > 0.0;
}

/* a_on of (23): the part's share of the floor in frame n. */
static double floor_share(const tl_frame_block *block, const tl_part *part, int64_t n)
{
    if (part->no_floor)
        return 0.0;
    double own = 0.0, all = 0.0;
    for (int64_t k = 0; k < block->K; k++) {
        own += block->H_part[k * block->count + n];
        all += block->H[k * block->count + n];
    }
    return all > 0.0 ? own / all : part->floor_share;
}

/* W H + a eps of a part, in `out`, 0 in rows that are barred. Returns whether it has a nonzero
 * entry. */
static bool model_part(tl_frame_block *block, const tl_part *part, double *out)
{
    int64_t rows = block->rows, K = block->K, count = block->count;
    bool any = pick_rows(block, part);
    tl_gemm(TL_PLAIN, TL_PLAIN, rows, count, K, 1.0, block->W, K, block->H_part, count, 0.0, out,
            count);
    for (int64_t n = 0; n < count; n++) {
        double floor = block->eps * floor_share(block, part, n);
        any = any || floor > 0.0;
        for (int64_t m = 0; m < rows; m++)
            out[m * count + n] += floor;
    }
    uint64_t bits =
        part->component >= 0 ? (uint64_t)1 << block->owner[part->component] : part->sources;
    for (int64_t i = 0; block->barred != NULL && i < rows * count; i++)
        if (block->barred[i] & bits)
            out[i] = 0.0;
    return any;
}

/* Fills the mask. Returns whether it has a nonzero entry. */
static bool make_mask(tl_frame_block *block, const tl_part *part)
{
    bool any = model_part(block, part, block->mask);
    for (int64_t i = 0; i < block->rows * block->count; i++)
        block->mask[i] /= block->Vhat[i];
    return any;
}

/* Vhat becomes the sum of the sources that may have a row; rows that no source may have stay. The
 * residual keeps the floor. */
void tl_frame_block_bar(tl_frame_block *block, const uint64_t *barred)
{
    block->barred = barred;
    int64_t cells = block->rows * block->count, sources = 0;
    for (int64_t k = 0; k < block->K; k++)
        sources = tl_max(sources, block->owner[k] + 1);
    double *sum = block->factors.U; /* scratch of the updates, which are done: rows x count */
    memset(sum, 0, (size_t)cells * sizeof *sum);
    for (int64_t r = 0; r < sources; r++) {
        tl_part part = {.sources = (uint64_t)1 << r, .component = -1};
        model_part(block, &part, block->mask);
        for (int64_t i = 0; i < cells; i++)
            sum[i] += block->mask[i];
    }
    for (int64_t i = 0; i < cells; i++)
        if (barred[i] != 0 && sum[i] > 0.0)
            block->Vhat[i] = sum[i];
}

/* Rows first .. last - 1 of X_part, where Phi is a matrix. */
static void mask_rows(int64_t first, int64_t last, void *arg)
{
    const tl_frame_block *block = arg;
    int64_t count = block->count, per_frame = block->per_frame, columns = count * per_frame;
    for (int64_t m = first; m < last; m++) {
        const double *mask = block->mask + m * count, *x = block->X + m * columns;
        double *out = block->X_part + m * columns;
        for (int64_t i = 0; i < count; i++)
            for (int64_t t = 0; t < per_frame; t++)
                out[i * per_frame + t] = mask[i] * x[i * per_frame + t];
    }
}

bool tl_frame_block_part(tl_frame_block *block, const tl_part *part)
{
    enum { MASKED = 32 }; /* rows per piece, 10 us */
    int64_t M = block->M, columns = block->count * block->per_frame;
    if (block->error != TLNMF_OK || !make_mask(block, part))
        return false;
    if (block->there != NULL) {
        block->error = block->factors.updater->ops->mask(
            block->ctx, block->there,
            &(tl_spectral){block->count, block->per_frame, block->mask, block->Y});
        return block->error == TLNMF_OK;
    }
    if (block->Phi == NULL) {
        tl_dft_inverse_masked(&block->dft, columns, block->per_frame, block->mask, block->X,
                              block->Y);
        return true;
    }
    tl_share(M, MASKED, mask_rows, block);
    tl_gemm(TL_TRANSPOSED, TL_PLAIN, M, columns, M, 1.0, block->Phi, M, block->X_part, columns, 0.0,
            block->Y, columns);
    return true;
}

/* Samples first .. last - 1 of the stretch, to which frames are added in their order. */
static void add_frames(int64_t first, int64_t last, void *arg)
{
    const frame_move *a = arg;
    const tl_frame_block *block = a->block;
    int64_t channels = a->x->channels;
    tl_stretch part = {a->x->first + first, last - first, channels, a->x->x + first * channels};
    for (int64_t i = 0; i < block->count; i++)
        tl_frame_add(block->framing, block->Y + i * block->per_frame, a->n + i,
                     block->count * block->per_frame, channels, &part);
}

void tl_frame_block_add(tl_frame_block *block, int64_t n, tl_stretch *y)
{
    enum { SAMPLES = 4096 }; /* a piece, 100 us and more where frames overlap */
    tl_share(y->length, SAMPLES, add_frames, &(frame_move){.block = block, .x = y, .n = n});
}
