/* tlnmf_spectrogram: the transform of a model, the frequencies of its rows, and V of a recording.
 */
#include "base/record.h"
#include "sound/model/separation_model.h"
#include "sound/render/frame_block.h"

/* The power of column c at frequency j / n. X is its real DFT, of length n. */
static double power_at(const double *X, int64_t n, int64_t columns, int64_t j, int64_t c)
{
    double a = X[tl_max(0, 2 * j - 1) * columns + c];
    if (j == 0 || 2 * j == n)
        return a * a;
    double b = X[2 * j * columns + c];
    return 0.5 * (a * a + b * b);
}

/* Finds the frequency at which the spectrum of each row of Phi is largest, as a fraction of the
 * rate. The grid is at least four times as fine as 1/M. */
static tlnmf_error find_frequencies(tlnmf_ctx *ctx, int64_t M, const double *Phi, double *frequency)
{
    enum { COLUMNS = 16 };
    int64_t n = 4;
    while (n < 4 * M)
        n *= 2;
    double *Y, *X;
    tl_dft_plan plan;
    void *memory;
    tl_slot table[] = {TL_SLOT(Y, n * COLUMNS), TL_SLOT(X, n * COLUMNS)};
    TRY(TL_ARENA(ctx, "the spectra of rows", table, &memory));
    tlnmf_error error = tl_dft_plan_create(ctx, n, &plan);
    for (int64_t first = 0; error == TLNMF_OK && first < M; first += COLUMNS) {
        int64_t count = tl_min(COLUMNS, M - first);
        for (int64_t t = 0; t < M; t++)
            for (int64_t c = 0; c < count; c++)
                Y[t * COLUMNS + c] = Phi[(first + c) * M + t];
        tl_dft_forward(&plan, COLUMNS, Y, X);
        for (int64_t c = 0; c < count; c++) {
            double largest = -1.0;
            for (int64_t j = 0; 2 * j <= n; j++)
                if (power_at(X, n, COLUMNS, j, c) > largest) {
                    largest = power_at(X, n, COLUMNS, j, c);
                    frequency[first + c] = (double)j / (double)n;
                }
        }
    }
    tl_dft_plan_free(&plan);
    tl_release(&ctx->hooks, memory);
    return error;
}

/* V of frames 0, stride, 2 stride, .. at the middle shift. */
static tlnmf_error fill_V(tlnmf_ctx *ctx, const tlnmf_sound *sound, tl_frame_block *block,
                          int64_t stride, int64_t columns, double *V)
{
    const tl_frames *f = &block->framing->f;
    int64_t middle = f->hop / 2, channels = block->channels;
    /* overlapping frames are read together, because seeking is slow */
    tl_stretch ahead = {.length = stride * f->hop < f->M ? 16 * f->M : f->M, .channels = channels};
    void *memory;
    tl_slot table[] = {TL_SLOT(ahead.x, ahead.length * channels)};
    TRY(TL_SCRATCH(ctx, "a piece of sound", table, &memory));
    tlnmf_error error = TLNMF_OK;
    for (int64_t begin = 0; begin < columns; begin += block->capacity) {
        int64_t count = tl_min(block->capacity, columns - begin);
        block->count = count;
        for (int64_t i = 0; error == TLNMF_OK && i < count; i++) {
            int64_t n = (begin + i) * stride, first = tl_frame_first(f, n) - middle;
            if ((begin == 0 && i == 0) || first + f->M > ahead.first + ahead.length) {
                ahead.first = first;
                error = tl_sound_read(ctx, &sound->sound, &ahead);
            }
            tl_stretch x = {ahead.first + middle, ahead.length, channels, ahead.x};
            tl_frame_cut(block->framing, &x, n, count * channels, channels,
                         block->Y + i * channels);
        }
        tl_frame_block_analyse(block, block->rows);
        for (int64_t m = 0; m < block->rows; m++)
            tl_copy(V + m * columns + begin, block->V + m * count, count);
    }
    tl_release(&ctx->hooks, memory);
    return error;
}

static tlnmf_error put_V(tlnmf_ctx *ctx, const tl_separator *s, const tlnmf_sound *sound,
                         int64_t stride, int64_t columns, tlnmf_record *out)
{
    tl_frames layout = s->info.frames;
    tl_framing framing;
    tl_frame_block block;
    double *V;
    layout.shifts = 1;
    if (columns > TL_SAMPLES_MAX / layout.hop / stride)
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE,
                       "stride = %lld, columns = %lld: the last column is not in the sound",
                       (long long)stride, (long long)columns);
    TRY(tl_record_new_array(ctx, out, "V", 2, (int64_t[]){s->rows, columns}, &V));
    TRY(tl_framing_create(ctx, &layout, &framing));
    tlnmf_error error =
        tl_frame_block_create(ctx, &framing, sound->sound.channels, 0, s->Phi == NULL, &block);
    if (error == TLNMF_OK) {
        block.Phi = s->Phi;
        error = fill_V(ctx, sound, &block, stride, columns, V);
        tl_frame_block_free(&block);
    }
    tl_framing_free(&framing);
    return error;
}

/* Phi and the frequencies of its rows. A separator without Phi has the DFT, one row per frequency.
 */
static tlnmf_error put_transform(tlnmf_ctx *ctx, const tl_separator *s, tlnmf_record *out)
{
    double *frequency;
    TRY(tl_record_new_array(ctx, out, "frequency", 1, &s->rows, &frequency));
    for (int64_t r = 0; s->Phi == NULL && r < s->rows; r++)
        frequency[r] = (double)r / (double)s->M;
    if (s->Phi == NULL)
        return TLNMF_OK;
    TRY(tlnmf_record_set_array(ctx, out, "Phi", s->Phi, 2, (int64_t[]){s->M, s->M}));
    return find_frequencies(ctx, s->M, s->Phi, frequency);
}

static tlnmf_error put_all(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                           int64_t stride, int64_t columns, tlnmf_record *out)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    const double *Phi = tlnmf_record_get_array(model, "Phi", &rank, shape);
    double *frequency;
    if (sound == NULL && Phi != NULL && rank == 2 && shape[0] == shape[1]) {
        TRY(tl_check_finite(ctx, "the model's Phi", shape[0], shape[0], Phi));
        TRY(tl_record_new_array(ctx, out, "frequency", 1, shape, &frequency));
        return find_frequencies(ctx, shape[0], Phi, frequency);
    }
    tl_blend *blend;
    TRY(tl_blend_from_record(ctx, model, &blend));
    tlnmf_error error = put_transform(ctx, blend->member[0], out);
    if (error == TLNMF_OK && sound != NULL)
        error = put_V(ctx, blend->member[0], sound, stride, columns, out);
    tl_blend_free(blend);
    return sound == NULL ? error : tl_sound_explain(ctx, sound, error);
}

tlnmf_error tlnmf_spectrogram(tlnmf_ctx *ctx, const tlnmf_record *model,
                              const tlnmf_sound *sound_or_null, int64_t stride, int64_t columns,
                              tlnmf_record **out)
{
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, model);
    if (sound_or_null != NULL && (stride < 1 || columns < 1))
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT,
                       "stride = %lld, columns = %lld: both must be at least 1", (long long)stride,
                       (long long)columns);
    TRY(tlnmf_record_create(ctx, out));
    return tl_record_keep_if(put_all(ctx, model, sound_or_null, stride, columns, *out), out);
}
