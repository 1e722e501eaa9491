/* The frames to learn from: their choice and their samples. */
#include "sound/signal/scene.h"

/* The frame with the most energy among first .. last-1. */
static int64_t loudest(const tl_frames *layout, const double *energy, int64_t hops, int64_t first,
                       int64_t last)
{
    int64_t wide = (layout->M + layout->hop - 1) / layout->hop, best = first;
    double most = -1.0;
    for (int64_t n = first; n < last; n++) {
        double sum = 0.0; /* frame n covers hops n + 1 - wide .. n */
        for (int64_t h = tl_max(0, n + 1 - wide); h <= tl_min(n, hops - 1); h++)
            sum += energy[h];
        if (sum > most) {
            most = sum;
            best = n;
        }
    }
    return best;
}

/* All N frames; or, of fewer, the loudest in each of scene->frames equal slots of time. */
static tlnmf_error choose_frames(tlnmf_ctx *ctx, tl_scene *scene, int64_t N)
{
    int64_t hop = scene->layout.hop, hops = (scene->sound->length + hop - 1) / hop;
    if (scene->frames == N) {
        for (int64_t n = 0; n < N; n++)
            scene->n[n] = n;
        return TLNMF_OK;
    }
    double *energy;
    void *memory;
    tl_slot table[] = {TL_SLOT(energy, hops)};
    TRY(TL_ARENA(ctx, "the energies", table, &memory));
    tlnmf_error error = tl_sound_energies(ctx, scene->sound, hop, hops, energy);
    for (int64_t i = 0; i < scene->frames && error == TLNMF_OK; i++)
        scene->n[i] = loudest(&scene->layout, energy, hops, i * N / scene->frames,
                              (i + 1) * N / scene->frames);
    tl_release(&ctx->hooks, memory);
    return error;
}

tl_stretch tl_scene_stretch(const tl_scene *scene, int64_t i)
{
    const tl_frames *layout = &scene->layout;
    int64_t length = layout->M + layout->hop - 1, channels = scene->sound->channels;
    return (tl_stretch){.first = tl_frame_first(layout, scene->n[i]) - layout->hop + 1,
                        .length = length,
                        .channels = channels,
                        .x = scene->samples + i * length * channels};
}

/* The samples of all frames, and the active sources. Frames overlap: `ahead` holds up to `most`
 * samples of the sound, so that each is read about once. */
static tlnmf_error read_frames(tlnmf_ctx *ctx, tl_scene *scene, tl_stretch *ahead, int64_t most)
{
    tl_stretch last = tl_scene_stretch(scene, scene->frames - 1);
    double sum = 0.0, count = 0.0;
    for (int64_t i = 0; i < scene->frames; i++) {
        tl_stretch x = tl_scene_stretch(scene, i);
        int64_t numbers = x.length * x.channels;
        if (x.first < ahead->first || x.first + x.length > ahead->first + ahead->length) {
            ahead->first = x.first;
            ahead->length = tl_min(most, last.first + last.length - x.first);
            TRY(tl_sound_read(ctx, scene->sound, ahead));
        }
        tl_copy(x.x, ahead->x + (x.first - ahead->first) * x.channels, numbers);
        for (int64_t t = 0; t < numbers; t++)
            sum += x.x[t] * x.x[t];
        count += (double)numbers;
        scene->active[i] = tl_schedule_active(&scene->schedule, &scene->layout, scene->n[i]);
    }
    double power = sum / count;
    if (!(power > 1e-280)) /* 1 / eps must not overflow, and eps is a fraction of the power */
        return tl_fail(ctx, TLNMF_ERR_DATA, "the sound is silent: there is nothing to learn from");
    if (!(power < 1e280))
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the sound has samples that are too large to square: scale them");
    return TLNMF_OK;
}

static tlnmf_error read_all(tlnmf_ctx *ctx, tl_scene *scene)
{
    enum { NUMBERS = 1 << 16 }; /* half a megabyte, or ten frames (chosen arbitrarily) */
    int64_t channels = scene->sound->channels, length = tl_scene_stretch(scene, 0).length;
    int64_t most = tl_max(10 * length, NUMBERS / channels);
    tl_stretch ahead = {.channels = channels};
    void *memory;
    tl_slot table[] = {TL_SLOT(ahead.x, most * channels)};
    TRY(TL_SCRATCH(ctx, "a piece of sound", table, &memory));
    tlnmf_error error = read_frames(ctx, scene, &ahead, most);
    tl_release(&ctx->hooks, memory);
    return error;
}

tlnmf_error tl_scene_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                            const tl_frames *layout, int64_t most, tl_scene *scene)
{
    int64_t N = tl_frames_count(layout, sound->length);
    int64_t each = (layout->M + layout->hop - 1) * sound->channels;
    *scene = (tl_scene){.sound = sound,
                        .schedule = *schedule,
                        .layout = *layout,
                        .frames = tl_min(N, most),
                        .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(scene->n, scene->frames), TL_SLOT(scene->active, scene->frames),
                       TL_SLOT(scene->samples, scene->frames * each)};
    TRY(TL_ARENA(ctx, "the frames to learn from", table, &scene->memory));
    tlnmf_error error = choose_frames(ctx, scene, N);
    if (error == TLNMF_OK)
        error = read_all(ctx, scene);
    if (error != TLNMF_OK)
        tl_scene_free(scene);
    return error;
}

void tl_scene_free(tl_scene *scene)
{
    tl_release(&scene->hooks, scene->memory);
    scene->memory = NULL;
}
