/* Encodes a sound file in memory as FLAC or Ogg Vorbis, for a report page. */
#include "sound_bytes.h"

#include <stdlib.h>

/* libsndfile's Vorbis encoder keeps a whole write on its stack, so blocks are small. */
enum { BLOCK = 4096 };

/* Quality 0.4 of Vorbis is about 64 kb/s per channel; level 0 of FLAC is its fastest. */
static SNDFILE *open_encoder(const io_sound_info *info, io_packing packing, io_sound_bytes *to)
{
    SF_INFO out = {.samplerate = info->rate,
                   .channels = info->channels,
                   .format = packing == IO_PACKED_FLAC ? SF_FORMAT_FLAC | SF_FORMAT_PCM_16
                                                       : SF_FORMAT_OGG | SF_FORMAT_VORBIS};
    SNDFILE *encoder = io_sound_bytes_open(to, SFM_WRITE, &out);
    double quality = 0.4, level = 0.0;
    if (encoder == NULL)
        return NULL;
    sf_command(encoder, SFC_SET_CLIPPING, NULL, SF_TRUE);
    if (packing == IO_PACKED_FLAC)
        sf_command(encoder, SFC_SET_COMPRESSION_LEVEL, &level, sizeof level);
    else
        sf_command(encoder, SFC_SET_VBR_ENCODING_QUALITY, &quality, sizeof quality);
    return encoder;
}

/* Also true if it stopped because the result exceeds `most` bytes. */
static bool copy(tlnmf_ctx *ctx, const tlnmf_sound *sound, const io_sound_info *info,
                 SNDFILE *encoder, int every, const io_sound_bytes *to, size_t most)
{
    double *block = malloc((size_t)info->channels * BLOCK * sizeof *block);
    bool ok = block != NULL || io_fail(ctx, TLNMF_ERR_MEMORY, "out of memory for a sound");
    for (int64_t at = 0; ok && at < info->frames && (size_t)to->size <= most; at += BLOCK) {
        int64_t count = info->frames - at < BLOCK ? info->frames - at : BLOCK;
        if (at / info->rate % every != every / 2)
            continue;
        ok = tlnmf_sound_read(ctx, sound, at, count, block) == TLNMF_OK;
        if (ok && sf_writef_double(encoder, block, count) != count)
            ok = io_fail(ctx, TLNMF_ERR_MEMORY, "a sound cannot be packed: %s",
                         sf_strerror(encoder));
    }
    free(block);
    return ok;
}

bool io_sound_encode(tlnmf_ctx *ctx, const char *path, io_packing packing, int every, size_t most,
                     io_buffer *out)
{
    tlnmf_sound *sound;
    io_sound_bytes to = {.fd = -1};

    *out = (io_buffer){0};
    if (tlnmf_io_open_sound(ctx, path, &sound) != TLNMF_OK)
        return false;
    io_sound_info info = io_sound_info_of(sound);
    SNDFILE *encoder = open_encoder(&info, packing, &to);
    bool ok =
        encoder != NULL || io_fail(ctx, TLNMF_ERR_INPUT, "%s: cannot be packed for a page: %s",
                                   path, sf_strerror(NULL));
    if (ok)
        ok = copy(ctx, sound, &info, encoder, every, &to, most);
    if (encoder != NULL)
        sf_close(encoder);
    tlnmf_sound_free(sound);
    if (ok && (size_t)to.size <= most)
        *out = (io_buffer){.bytes = to.bytes, .size = (size_t)to.size, .capacity = (size_t)to.size};
    else
        free(to.bytes);
    return ok;
}
