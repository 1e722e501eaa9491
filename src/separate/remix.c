/* Judging by remixes: two stretches of the recording that have no source in common are added, and
 * what a candidate gets out of the sum is compared with them. That needs no reference, is measured
 * in what a listener cares about, and means the same for every transform and window. */
#include "separate/separate.h"

#include <math.h>
#include <stdlib.h>

enum { RUNS = 256, SHORTEST = 4, LONGEST = 64 }; /* the last two in frames' lengths */

/* Samples in which the same sources sound throughout. */
typedef struct run {
    int64_t start, end;
    uint64_t sources;
} run;

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int longest_first(const void *a, const void *b)
{
    const run *x = a, *y = b;
    int64_t p = x->end - x->start, q = y->end - y->start;
    return p != q ? (p < q) - (p > q) : (x->start > y->start) - (x->start < y->start);
}

static uint64_t sources_at(const tl_scene *scene, int64_t t)
{
    uint64_t set = 0;
    for (int64_t i = 0; i < scene->span_count; i++)
        if (scene->spans[i].start <= t && t < scene->spans[i].end)
            set |= (uint64_t)1 << scene->spans[i].source;
    return set;
}

/* The longest runs, at most RUNS; `edge` is scratch for 2 span_count + 2 numbers. What still rings
 * from before at a run's beginning stays in: it costs all candidates the same, and without the
 * beginning there would be no attack to judge by. */
static int64_t find_runs(const tl_scene *scene, int64_t *edge, run *runs)
{
    int64_t edges = 0, count = 0, length = scene->sound->length;
    edge[edges++] = 0;
    for (int64_t i = 0; i < scene->span_count; i++) {
        edge[edges++] = tl_min(tl_max(scene->spans[i].start, 0), length);
        edge[edges++] = tl_min(tl_max(scene->spans[i].end, 0), length);
    }
    edge[edges++] = length;
    qsort(edge, (size_t)edges, sizeof *edge, by_number);
    run open = {0, 0, 0};
    for (int64_t i = 0; i < edges; i++) {
        bool last = i + 1 == edges;
        if (!last && edge[i] == edge[i + 1])
            continue;
        uint64_t now = last ? 0 : sources_at(scene, edge[i]);
        if (now == open.sources && !last)
            continue;
        open.end = edge[i];
        bool keep = open.sources != 0 && open.end - open.start >= SHORTEST * scene->frames.M;
        if (keep && count == RUNS) { /* the shortest makes room */
            qsort(runs, (size_t)count, sizeof *runs, longest_first);
            count--;
        }
        if (keep)
            runs[count++] = open;
        open = (run){edge[i], edge[i], now};
    }
    qsort(runs, (size_t)count, sizeof *runs, longest_first);
    return count;
}

/* Pairs of different sets, the longest first. */
static int64_t find_pairs(const tl_scene *scene, int64_t runs, const run *r, tl_remix *remix,
                          int64_t start[TL_REMIXES][2])
{
    int64_t count = 0;
    for (int64_t j = 1; j < runs; j++) /* the shorter of a pair */
        for (int64_t i = 0; i < j && count < TL_REMIXES; i++) {
            bool fresh = (r[i].sources & r[j].sources) == 0;
            for (int64_t p = 0; p < count; p++) {
                const uint64_t *s = remix->pair[p].sources;
                fresh = fresh && !(s[0] == r[i].sources && s[1] == r[j].sources) &&
                        !(s[1] == r[i].sources && s[0] == r[j].sources);
            }
            if (!fresh)
                continue;
            remix->pair[count].sources[0] = r[i].sources;
            remix->pair[count].sources[1] = r[j].sources;
            remix->pair[count].length = tl_min(r[j].end - r[j].start, LONGEST * scene->frames.M);
            start[count][0] = r[i].start;
            start[count++][1] = r[j].start;
        }
    return count;
}

static tlnmf_error read_pairs(tlnmf_ctx *ctx, const tl_scene *scene, int64_t start[TL_REMIXES][2],
                              tl_remix *remix)
{
    int64_t C = remix->channels, most = 0;
    enum { PARTS = 2 * TL_REMIXES };
    tl_slot table[PARTS + 2];
    for (int64_t p = 0; p < TL_REMIXES; p++)
        for (int i = 0; i < 2; i++) {
            int64_t length = p < remix->count ? remix->pair[p].length : 0;
            table[2 * p + i] = (tl_slot)TL_SLOT(remix->pair[p].x[i], length * C);
            most = tl_max(most, length);
        }
    table[PARTS] = (tl_slot)TL_SLOT(remix->mix, most * C);
    table[PARTS + 1] = (tl_slot)TL_SLOT(remix->part, most * C);
    TRY(TL_ARENA(ctx, "the remixes", table, &remix->block));
    for (int64_t p = 0; p < remix->count; p++)
        for (int i = 0; i < 2; i++) {
            tl_stretch stretch = {start[p][i], remix->pair[p].length, C, remix->pair[p].x[i]};
            TRY(tl_sound_read(ctx, scene->sound, &stretch));
        }
    return TLNMF_OK;
}

tlnmf_error tl_remix_create(tlnmf_ctx *ctx, const tl_scene *scene, int64_t sources, tl_remix *remix)
{
    *remix = (tl_remix){.channels = scene->sound->channels, .hooks = ctx->hooks};
    if (scene->spans == NULL || sources < 2)
        return TLNMF_OK;
    int64_t *edge, start[TL_REMIXES][2];
    run *runs;
    void *scratch;
    tl_slot table[] = {TL_SLOT(edge, 2 * scene->span_count + 2), TL_SLOT(runs, RUNS)};
    TRY(TL_ARENA(ctx, "the spans' edges", table, &scratch));
    int64_t count = find_runs(scene, edge, runs);
    remix->count = find_pairs(scene, count, runs, remix, start);
    tl_release(&ctx->hooks, scratch);
    tlnmf_error error = remix->count > 0 ? read_pairs(ctx, scene, start, remix) : TLNMF_OK;
    if (error != TLNMF_OK)
        tl_remix_free(remix);
    return error;
}

void tl_remix_free(tl_remix *remix)
{
    tl_release(&remix->hooks, remix->block);
    remix->block = NULL;
    remix->count = 0;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* SI-SDR in dB, kept within what differences can mean. */
static double si_sdr(int64_t count, const double *truth, const double *estimate)
{
    double tt = 0.0, te = 0.0, ee = 0.0;
    for (int64_t i = 0; i < count; i++) {
        tt += truth[i] * truth[i];
        te += truth[i] * estimate[i];
        ee += estimate[i] * estimate[i];
    }
    if (!(tt > 0.0 && ee > 0.0))
        return tt > 0.0 ? -30.0 : 60.0;
    double kept = te * te / tt, lost = ee - kept;
    return fmin(60.0, fmax(-30.0, 10.0 * log10(kept / fmax(lost, 1e-30 * ee) + 1e-300)));
}

/* remix->part becomes what the engine takes for the first part of remix->mix. */
static void take_apart(const tl_remix *remix, int64_t p, tl_engine *engine, int64_t per_source)
{
    int64_t C = remix->channels, length = remix->pair[p].length;
    int64_t N = tl_frames_count(&engine->framing->f, length);
    const uint64_t *sets = remix->pair[p].sources;
    tl_stretch mix = {0, length, C, remix->mix}, part = {0, length, C, remix->part};
    tl_part first = {.sources = sets[0], .per_source = per_source, .floor_share = 0.5};
    uint64_t active[64];
    memset(remix->part, 0, (size_t)(length * C) * sizeof(double));
    for (int i = 0; i < 64; i++)
        active[i] = sets[0] | sets[1];
    int64_t most = tl_min(engine->most, 64);
    for (int64_t n = 0; n < N; n += most) {
        int64_t count = tl_min(most, N - n);
        for (int64_t i = 0; i < count; i++)
            tl_engine_put(engine, &mix, n + i, i, count);
        tl_engine_transform(engine, engine->M, count);
        tl_engine_fit_H(engine, count, per_source, active);
        tl_engine_weigh(engine, count);
        if (tl_engine_part(engine, count, &first))
            for (int64_t i = 0; i < count; i++)
                tl_engine_add(engine, n + i, i, count, &part);
    }
    tl_frames_divide(engine->framing, &part);
}

double tl_remix_judge(const tl_remix *remix, tl_engine *engine, int64_t per_source)
{
    double sum = 0.0;
    for (int64_t p = 0; p < remix->count; p++) {
        int64_t samples = remix->pair[p].length * remix->channels;
        double *const *x = remix->pair[p].x;
        for (int64_t t = 0; t < samples; t++)
            remix->mix[t] = x[0][t] + x[1][t];
        take_apart(remix, p, engine, per_source);
        sum += si_sdr(samples, x[0], remix->part);
        for (int64_t t = 0; t < samples; t++)
            remix->part[t] = remix->mix[t] - remix->part[t];
        sum += si_sdr(samples, x[1], remix->part);
    }
    return remix->count > 0 ? sum / (double)(2 * remix->count) : NAN;
}
