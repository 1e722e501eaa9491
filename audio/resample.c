/* Sample rates by libsamplerate, block by block. */
#include "audio/audio.h"

#include "base/base.h"

#include <samplerate.h>

int64_t audio_resampled_length(int64_t frames, int from, int to)
{
    int64_t whole = frames / from, rest = frames % from;
    return whole * to + (rest * to + from - 1) / from;
}

typedef struct resampler {
    SRC_STATE *state;
    SRC_DATA data;
    int channels;
    int64_t taken, made; /* frames */
    float *in, *out;
} resampler;

enum { BLOCK = 4096 }; /* frames */

/* One call of the library: the frames that it does not take yet are offered again. */
static int step(resampler *r, const double *x, int64_t frames, double *y, int64_t length)
{
    int64_t offered = tl_min(frames - r->taken, BLOCK), wanted = tl_min(length - r->made, BLOCK);
    for (int64_t i = 0; i < offered * r->channels; i++)
        r->in[i] = (float)x[r->taken * r->channels + i];
    r->data.data_in = r->in;
    r->data.data_out = r->out;
    r->data.input_frames = (long)offered;
    r->data.output_frames = (long)wanted;
    r->data.end_of_input = r->taken + offered == frames;
    int failed = src_process(r->state, &r->data);
    if (failed != 0)
        return failed;
    for (int64_t i = 0; i < r->data.output_frames_gen * r->channels; i++)
        y[r->made * r->channels + i] = (double)r->out[i];
    r->taken += r->data.input_frames_used;
    r->made += r->data.output_frames_gen;
    return 0;
}

tlnmf_error audio_resample(tlnmf_ctx *ctx, const double *x, int64_t frames, int channels, int from,
                           int to, double *y)
{
    int64_t length = audio_resampled_length(frames, from, to);
    resampler r = {.channels = channels, .data.src_ratio = (double)to / (double)from};
    if (!src_is_valid_ratio(r.data.src_ratio))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "from %d Hz to %d Hz is more than a factor of 256",
                       from, to);
    if (from == to) {
        tl_copy(y, x, frames * channels);
        return TLNMF_OK;
    }
    tl_slot table[] = {TL_SLOT(r.in, BLOCK * (int64_t)channels),
                       TL_SLOT(r.out, BLOCK * (int64_t)channels)};
    void *block;
    TRY(TL_ARENA(ctx, "resampling", table, &block));
    int failed = 0;
    r.state = src_new(SRC_SINC_BEST_QUALITY, channels, &failed);
    bool idle = false; /* nothing more comes out: the last frames are silence */
    while (failed == 0 && r.made < length && !idle) {
        failed = step(&r, x, frames, y, length);
        idle = r.data.output_frames_gen == 0 && r.data.input_frames_used == 0;
    }
    for (int64_t i = r.made * channels; failed == 0 && i < length * channels; i++)
        y[i] = 0.0;
    src_delete(r.state);
    tl_release(&ctx->hooks, block);
    return failed == 0 ? TLNMF_OK
                       : tl_fail(ctx, TLNMF_ERR_MEMORY, "libsamplerate: %s", src_strerror(failed));
}
