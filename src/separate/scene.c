/* Which frames to learn from, and who may sound in them. */
#include "separate/separate.h"

#include <math.h>

tlnmf_error tl_sound_check(tlnmf_ctx *ctx, const tl_sound *sound)
{
    if (sound->struct_size != sizeof *sound)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "the sound is from another version");
    if (sound->length < 1 || sound->channels < 1 || sound->channels > 1024)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "sound of %lld samples, %lld channels",
                       (long long)sound->length, (long long)sound->channels);
    return TLNMF_OK;
}

tlnmf_error tl_sound_read(tlnmf_ctx *ctx, const tl_sound *sound, tl_stretch *stretch)
{
    int64_t C = sound->channels, from = tl_max(0, stretch->first),
            to = tl_min(sound->length, stretch->first + stretch->length);
    memset(stretch->x, 0, (size_t)(stretch->length * C) * sizeof *stretch->x);
    if (from >= to)
        return TLNMF_OK;
    if (sound->read(from, to - from, stretch->x + (from - stretch->first) * C, sound->user) != 0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "the sound could not be read");
    for (int64_t i = 0; i < stretch->length * C; i++)
        if (!isfinite(stretch->x[i])) {
            long long frame = stretch->first + i / C, channel = i % C;
            return tl_fail(ctx, TLNMF_ERR_DATA, "frame %lld, channel %lld is not finite", frame,
                           channel);
        }
    return TLNMF_OK;
}

tlnmf_error tl_spans_check(tlnmf_ctx *ctx, const tl_span *spans, int64_t count, int64_t sources)
{
    for (int64_t i = 0; i < count; i++)
        if (spans[i].source < 0 || spans[i].source >= sources || spans[i].end < spans[i].start)
            return tl_fail(ctx, TLNMF_ERR_DATA, "span %lld: source %lld, samples %lld to %lld",
                           (long long)i, (long long)spans[i].source, (long long)spans[i].start,
                           (long long)spans[i].end);
    return TLNMF_OK;
}

uint64_t tl_active_in(const tl_frames *frames, const tl_span *spans, int64_t count, int64_t release,
                      int64_t sources, int64_t n)
{
    if (spans == NULL)
        return sources >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << sources) - 1;
    int64_t first = tl_frame_first(frames, n), begin = first - frames->hop + 1,
            end = first + frames->M;
    uint64_t set = 0;
    for (int64_t i = 0; i < count; i++)
        if (spans[i].start < end && begin < spans[i].end + release)
            set |= (uint64_t)1 << spans[i].source;
    return set;
}

/* ---- choosing frames ------------------------------------------------------------------------- */

/* The energy of every hop of the sound, which is read through once; blocks of many hops. */
static tlnmf_error hop_energies(tlnmf_ctx *ctx, const tl_sound *sound, int64_t hop, double *energy,
                                int64_t hops)
{
    int64_t each = tl_max(1, 65536 / (hop * sound->channels)), C = sound->channels;
    tl_stretch block = {.channels = C};
    void *memory;
    tl_slot table[] = {TL_SLOT(block.x, each * hop * C)};
    TRY(TL_ARENA(ctx, "a block of sound", table, &memory));
    tlnmf_error error = TLNMF_OK;
    for (int64_t h = 0; h < hops && error == TLNMF_OK; h += each) {
        block.first = h * hop;
        block.length = tl_min(each, hops - h) * hop;
        error = tl_sound_read(ctx, sound, &block);
        for (int64_t t = 0; error == TLNMF_OK && t < block.length * C; t++)
            energy[h + t / (hop * C)] += block.x[t] * block.x[t];
    }
    tl_release(&ctx->hooks, memory);
    return error;
}

tlnmf_error tl_sound_power(tlnmf_ctx *ctx, const tl_sound *sound, double *power)
{
    const int64_t hop = 4096;
    TRY(tl_sound_check(ctx, sound));
    int64_t hops = (sound->length + hop - 1) / hop;
    double *energy, sum = 0.0;
    void *memory;
    tl_slot table[] = {TL_SLOT(energy, hops)};
    TRY(TL_ARENA(ctx, "the energies", table, &memory));
    tlnmf_error error = hop_energies(ctx, sound, hop, energy, hops);
    for (int64_t h = 0; h < hops; h++)
        sum += energy[h];
    tl_release(&ctx->hooks, memory);
    *power = sum / ((double)sound->length * (double)sound->channels);
    return error;
}

/* The L of N frames: in each of L equal slots of time the one with the most energy. */
static tlnmf_error choose_frames(tlnmf_ctx *ctx, tl_scene *scene, int64_t N)
{
    int64_t hop = scene->frames.hop, length = scene->sound->length;
    int64_t hops = (length + hop - 1) / hop, wide = (scene->frames.M + hop - 1) / hop;
    if (scene->L == N) {
        for (int64_t n = 0; n < N; n++)
            scene->n[n] = n;
        return TLNMF_OK;
    }
    double *energy;
    void *memory;
    tl_slot table[] = {TL_SLOT(energy, hops)};
    TRY(TL_ARENA(ctx, "the energies", table, &memory));
    tlnmf_error error = hop_energies(ctx, scene->sound, hop, energy, hops);
    for (int64_t i = 0; i < scene->L && error == TLNMF_OK; i++) {
        double most = -1.0;
        for (int64_t n = i * N / scene->L; n < (i + 1) * N / scene->L; n++) {
            double sum = 0.0; /* frame n covers hops n + 1 - wide .. n */
            for (int64_t h = tl_max(0, n + 1 - wide); h <= tl_min(n, hops - 1); h++)
                sum += energy[h];
            if (sum > most) {
                most = sum;
                scene->n[i] = n;
            }
        }
    }
    tl_release(&ctx->hooks, memory);
    return error;
}

tl_stretch tl_scene_stretch(const tl_scene *scene, int64_t i)
{
    const tl_frames *f = &scene->frames;
    int64_t length = f->M + f->hop - 1;
    return (tl_stretch){.first = tl_frame_first(f, scene->n[i]) - f->hop + 1,
                        .length = length,
                        .channels = scene->sound->channels,
                        .x = scene->samples + i * length * scene->sound->channels};
}

static tlnmf_error fill(tlnmf_ctx *ctx, tl_scene *scene, const tl_separate_options *opt, int64_t N)
{
    double sum = 0.0;
    TRY(choose_frames(ctx, scene, N));
    for (int64_t i = 0; i < scene->L; i++) {
        tl_stretch stretch = tl_scene_stretch(scene, i);
        TRY(tl_sound_read(ctx, scene->sound, &stretch));
        for (int64_t t = 0; t < stretch.length * stretch.channels; t++)
            sum += stretch.x[t] * stretch.x[t];
        scene->active[i] = tl_active_in(&scene->frames, scene->spans, scene->span_count,
                                        opt->release, opt->sources, scene->n[i]);
    }
    scene->power = sum / (double)(scene->L * (scene->frames.M + scene->frames.hop - 1) *
                                  scene->sound->channels);
    if (!(scene->power > 1e-280)) /* 1/eps of it must not overflow */
        return tl_fail(ctx, TLNMF_ERR_DATA, "it is silent: there is nothing to learn from");
    if (!(scene->power < 1e280))
        return tl_fail(ctx, TLNMF_ERR_DATA, "its samples are too large to square");
    return TLNMF_OK;
}

tlnmf_error tl_scene_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                            int64_t span_count, const tl_separate_options *opt,
                            const tl_frames *frames, tl_scene *scene)
{
    *scene = (tl_scene){.sound = sound,
                        .spans = spans,
                        .span_count = span_count,
                        .frames = *frames,
                        .hooks = ctx->hooks};
    int64_t N = tl_frames_count(frames, sound->length);
    int64_t each = (frames->M + frames->hop - 1) * sound->channels;
    scene->L = tl_min(N, opt->learn_frames);
    tl_slot table[] = {TL_SLOT(scene->n, scene->L), TL_SLOT(scene->active, scene->L),
                       TL_SLOT(scene->samples, scene->L * each)};
    TRY(TL_ARENA(ctx, "the frames to learn from", table, &scene->block));
    tlnmf_error error = fill(ctx, scene, opt, N);
    if (error != TLNMF_OK)
        tl_scene_free(scene);
    return error;
}

void tl_scene_free(tl_scene *scene)
{
    tl_release(&scene->hooks, scene->block);
    scene->block = NULL;
}
