/* Samples of a sound, read piece by piece through the caller's callback. */
#include "separate/separate.h"

#include <math.h>

tlnmf_error tl_sound_check(tlnmf_ctx *ctx, const tl_sound *sound)
{
    if (sound->length < 1 || sound->channels < 1 || sound->channels > 1024)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "sound of %lld samples, %lld channels",
                       (long long)sound->length, (long long)sound->channels);
    return TLNMF_OK;
}

tlnmf_error tl_sound_read(tlnmf_ctx *ctx, const tl_sound *sound, tl_stretch *stretch)
{
    int64_t channels = sound->channels, from = tl_max(0, stretch->first),
            to = tl_min(sound->length, stretch->first + stretch->length);
    memset(stretch->x, 0, (size_t)(stretch->length * channels) * sizeof *stretch->x);
    if (from >= to)
        return TLNMF_OK;
    double *x = stretch->x + (from - stretch->first) * channels;
    int status = sound->read(from, to - from, x, sound->user);
    if (status != 0)
        return tl_fail(ctx, TLNMF_ERR_CALLBACK,
                       "reading failed at sample %lld: the callback returned %d for samples %lld "
                       "to %lld",
                       (long long)from, status, (long long)from, (long long)to - 1);
    for (int64_t i = 0; i < (to - from) * channels; i++)
        if (!isfinite(x[i]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "sample %lld, channel %lld is not finite",
                           (long long)from + i / channels, (long long)i % channels);
    return TLNMF_OK;
}

tlnmf_error tl_sound_energies(tlnmf_ctx *ctx, const tl_sound *sound, int64_t hop, int64_t hops,
                              double *energy)
{
    const int64_t numbers = 65536; /* read at a time: half a megabyte */
    int64_t channels = sound->channels, each = tl_max(1, numbers / (hop * channels));
    tl_stretch piece = {.channels = channels};
    void *memory;
    tl_slot table[] = {TL_SLOT(piece.x, each * hop * channels)};
    TRY(TL_ARENA(ctx, "a piece of sound", table, &memory));
    tlnmf_error error = TLNMF_OK;
    for (int64_t h = 0; h < hops; h++)
        energy[h] = 0.0;
    for (int64_t h = 0; h < hops && error == TLNMF_OK; h += each) {
        piece.first = h * hop;
        piece.length = tl_min(each, hops - h) * hop;
        error = tl_sound_read(ctx, sound, &piece);
        for (int64_t t = 0; error == TLNMF_OK && t < piece.length * channels; t++)
            energy[h + t / (hop * channels)] += piece.x[t] * piece.x[t];
    }
    tl_release(&ctx->hooks, memory);
    return error;
}

tlnmf_error tl_sound_power(tlnmf_ctx *ctx, const tl_sound *sound, double *power)
{
    const int64_t hop = 4096; /* any: sums of sums lose fewer digits than one long sum */
    TRY(tl_sound_check(ctx, sound));
    int64_t hops = (sound->length + hop - 1) / hop;
    double *energy, sum = 0.0;
    void *memory;
    tl_slot table[] = {TL_SLOT(energy, hops)};
    TRY(TL_ARENA(ctx, "the energies", table, &memory));
    tlnmf_error error = tl_sound_energies(ctx, sound, hop, hops, energy);
    for (int64_t h = 0; h < hops; h++)
        sum += energy[h];
    tl_release(&ctx->hooks, memory);
    *power = sum / ((double)sound->length * (double)sound->channels);
    return error;
}
