/* Judging by remixes: two passages of the recording without a common source are added, and the
 * separation of the sum is compared with them. This needs no ground truth, and scores of different
 * transforms and windows can be compared. */
#include "sound/judge/judge.h"
#include "sound/render/frame_block.h"
#include "sound/score/score.h"

#include <math.h>
#include <stdlib.h>

/* At most PASSAGES passages, the longest. */
enum { PASSAGES = 256 };

/* Samples start .. end-1, in which the same sources sound throughout. */
typedef struct remix_passage {
    int64_t start, end;
    uint64_t sources;
} remix_passage;

/* ---- finding passages ------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int longest_first(const void *a, const void *b)
{
    const remix_passage *x = a, *y = b;
    int64_t p = x->end - x->start, q = y->end - y->start;
    return p != q ? (p < q) - (p > q) : (x->start > y->start) - (x->start < y->start);
}

/* Where spans begin and end within the sound, ascending. `edge` has 2 count + 2 places. */
static int64_t find_edges(const tl_schedule *schedule, int64_t length, int64_t *edge)
{
    int64_t edges = 0;
    edge[edges++] = 0;
    for (int64_t i = 0; i < schedule->index.count; i++) {
        edge[edges++] = tl_min(tl_max(schedule->index.span[i].start, 0), length);
        edge[edges++] = tl_min(tl_max(schedule->index.span[i].end, 0), length);
    }
    edge[edges++] = length;
    qsort(edge, (size_t)edges, sizeof *edge, by_number);
    return edges;
}

/* Adds a passage to the list, in place of the shortest if there are PASSAGES of them. */
static int64_t add_passage(remix_passage fresh, int64_t count, remix_passage *list)
{
    if (count == PASSAGES) {
        qsort(list, (size_t)count, sizeof *list, longest_first);
        count--;
    }
    list[count++] = fresh;
    return count;
}

/* The passages of the recording, the longest first. */
static int64_t find_passages(const tl_schedule *schedule, int64_t length, int64_t shortest,
                             int64_t *edge, remix_passage *list)
{
    int64_t edges = find_edges(schedule, length, edge), count = 0;
    remix_passage open = {0, 0, 0};
    for (int64_t i = 0; i < edges; i++) {
        bool last = i + 1 == edges;
        if (!last && edge[i] == edge[i + 1])
            continue;
        uint64_t now = last ? 0 : tl_schedule_within(schedule, edge[i], edge[i] + 1, 0);
        if (now == open.sources && !last)
            continue;
        open.end = edge[i];
        if (open.sources != 0 && open.end - open.start >= shortest)
            count = add_passage(open, count, list);
        open = (remix_passage){edge[i], edge[i], now};
    }
    qsort(list, (size_t)count, sizeof *list, longest_first);
    return count;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Whether no pair so far has these two sets of sources. */
static bool is_new(const tl_remix *remix, uint64_t a, uint64_t b)
{
    for (int64_t p = 0; p < remix->count; p++) {
        const uint64_t *s = remix->pair[p].sources;
        if ((s[0] == a && s[1] == b) || (s[0] == b && s[1] == a))
            return false;
    }
    return true;
}

/* The samples at the beginning of a passage in which a foreign source may still ring. */
static int64_t ringing(const tl_schedule *schedule, int64_t start, uint64_t sources)
{
    uint64_t rings = tl_schedule_within(schedule, start, start + 1, schedule->release);
    return (rings & ~sources) != 0 ? schedule->release : 0;
}

/* Pairs of passages with no source in common, the longest first, each pair of sets once. */
static void find_pairs(const tl_schedule *schedule, int64_t passages, const remix_passage *list,
                       int64_t longest, tl_remix *remix)
{
    for (int64_t j = 1; j < passages; j++) /* the shorter one of a pair */
        for (int64_t i = 0; i < j && remix->count < TL_REMIXES; i++) {
            uint64_t a = list[i].sources, b = list[j].sources;
            if ((a & b) != 0 || !is_new(remix, a, b))
                continue;
            int64_t p = remix->count++, length = tl_min(list[j].end - list[j].start, longest);
            int64_t rings =
                tl_max(ringing(schedule, list[i].start, a), ringing(schedule, list[j].start, b));
            remix->pair[p].sources[0] = a;
            remix->pair[p].sources[1] = b;
            remix->pair[p].length = length;
            remix->pair[p].trim = tl_min(rings, length / 2);
            remix->pair[p].start[0] = list[i].start;
            remix->pair[p].start[1] = list[j].start;
        }
}

static tlnmf_error read_pairs(tlnmf_ctx *ctx, const tl_sound *sound, tl_remix *remix)
{
    int64_t channels = remix->channels;
    tl_slot table[2 * TL_REMIXES];
    for (int64_t p = 0; p < TL_REMIXES; p++)
        for (int i = 0; i < 2; i++) {
            int64_t length = p < remix->count ? remix->pair[p].length : 0;
            table[2 * p + i] = (tl_slot)TL_SLOT(remix->pair[p].x[i], length * channels);
            remix->longest = tl_max(remix->longest, length);
        }
    TRY(TL_ARENA(ctx, "the remixes", table, &remix->memory));
    for (int64_t p = 0; p < remix->count; p++)
        for (int i = 0; i < 2; i++) {
            tl_stretch stretch = {remix->pair[p].start[i], remix->pair[p].length, channels,
                                  remix->pair[p].x[i]};
            TRY(tl_sound_read(ctx, sound, &stretch));
        }
    return TLNMF_OK;
}

tlnmf_error tl_remix_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                            int64_t shortest, int64_t longest, tl_remix *remix)
{
    *remix = (tl_remix){.channels = sound->channels, .hooks = ctx->hooks};
    if (schedule->spans == NULL || schedule->sources < 2)
        return TLNMF_OK;
    int64_t *edge;
    remix_passage *list;
    void *scratch;
    tl_slot table[] = {TL_SLOT(edge, 2 * schedule->index.count + 2), TL_SLOT(list, PASSAGES)};
    TRY(TL_ARENA(ctx, "the spans' edges", table, &scratch));
    int64_t passages = find_passages(schedule, sound->length, shortest, edge, list);
    find_pairs(schedule, passages, list, longest, remix);
    tl_release(&ctx->hooks, scratch);
    tlnmf_error error = remix->count > 0 ? read_pairs(ctx, sound, remix) : TLNMF_OK;
    if (error != TLNMF_OK)
        tl_remix_free(remix);
    return error;
}

void tl_remix_free(tl_remix *remix)
{
    tl_release(&remix->hooks, remix->memory);
    remix->memory = NULL;
    remix->count = 0;
}

/* ---- judging --------------------------------------------------------------------------------- */

enum { AT_ONCE = 64 }; /* frames per block: keeps the table of active sources small */

/* The state of judging one separator. */
typedef struct judge {
    const tl_remix *remix;
    const tl_separator *separator;
    tl_frame_block *block;
    bool *may_sound;                 /* K x AT_ONCE */
    double *second, *mix, *estimate; /* longest x channels: a second part, a sum, an estimate */
} judge;

/* The columns of the sources of pair p, except columns that only serve certain notes. */
static void let_sound(const judge *j, int64_t p, int64_t count)
{
    uint64_t sources = j->remix->pair[p].sources[0] | j->remix->pair[p].sources[1];
    for (int64_t k = 0; k < j->separator->K; k++)
        for (int64_t i = 0; i < count; i++)
            j->may_sound[k * count + i] =
                j->separator->gate[k] < 0 && sources >> j->separator->owner[k] & 1;
}

/* Stores in the estimate the first part as the block separates it from the sum. */
static tlnmf_error estimate_first(const judge *j, int64_t p)
{
    const tl_remix *remix = j->remix;
    tl_frame_block *block = j->block;
    int64_t channels = remix->channels, length = remix->pair[p].length;
    int64_t N = tl_frames_count(&block->framing->f, length);
    tl_stretch mix = {0, length, channels, j->mix};
    tl_stretch estimate = {0, length, channels, j->estimate};
    tl_part first = {.sources = remix->pair[p].sources[0], .component = -1, .floor_share = 0.5};
    memset(j->estimate, 0, (size_t)(length * channels) * sizeof(double));
    int64_t most = tl_min(block->capacity, AT_ONCE);
    for (int64_t n = 0; n < N; n += most) {
        int64_t count = tl_min(most, N - n);
        let_sound(j, p, count);
        tl_frame_block_cut(block, &mix, n, count);
        tl_frame_block_analyse(block, block->rows);
        tl_frame_block_fit(block, j->may_sound);
        if (tl_frame_block_part(block, &first))
            tl_frame_block_add(block, n, &estimate);
        TRY(block->error);
    }
    tl_frames_divide(block->framing, &estimate);
    return TLNMF_OK;
}

/* The SI-SDR of the estimate against x from sample `from` on, over all channels. */
static double si_sdr(const judge *j, int64_t p, const double *x, int64_t from)
{
    const tl_remix *remix = j->remix;
    return tl_si_sdr_bounded(&(tl_si_sdr_pair){.reference = x + from * remix->channels,
                                               .estimate = j->estimate + from * remix->channels,
                                               .reference_scale = 1.0,
                                               .estimate_scale = 1.0,
                                               .samples = remix->pair[p].length - from,
                                               .channels = remix->channels,
                                               .last = remix->channels});
}

/* The mean SI-SDR of both parts, each scored with and without the beginning, in which another
 * source may still ring: only the first score includes the attack, and ringing does not limit
 * the second. The estimate of the first part is masked; the estimate of the second is the
 * remainder. The second part is rotated by `turn` samples. */
static tlnmf_error judge_pair(const judge *j, int64_t p, int64_t turn, double *mean)
{
    const tl_remix *remix = j->remix;
    int64_t length = remix->pair[p].length, channels = remix->channels, numbers = length * channels;
    double *const *x = remix->pair[p].x, sum = 0.0;
    tl_copy(j->second + turn * channels, x[1], (length - turn) * channels);
    tl_copy(j->second, x[1] + (length - turn) * channels, turn * channels);
    for (int64_t t = 0; t < numbers; t++)
        j->mix[t] = x[0][t] + j->second[t];
    TRY(estimate_first(j, p));
    sum += si_sdr(j, p, x[0], 0) + si_sdr(j, p, x[0], remix->pair[p].trim);
    for (int64_t t = 0; t < numbers; t++)
        j->estimate[t] = j->mix[t] - j->estimate[t];
    sum += si_sdr(j, p, j->second, 0) + si_sdr(j, p, j->second, remix->pair[p].trim);
    *mean = 0.25 * sum;
    return TLNMF_OK;
}

static tlnmf_error judge_all(const judge *j, double *score)
{
    double sum = 0.0, one = 0.0, other = 0.0;
    for (int64_t p = 0; p < j->remix->count; p++) {
        TRY(judge_pair(j, p, 0, &one));
        TRY(judge_pair(j, p, j->remix->pair[p].length / 3, &other));
        sum += 0.5 * (one + other);
    }
    *score = sum / (double)j->remix->count;
    return TLNMF_OK;
}

tlnmf_error tl_remix_judge(tlnmf_ctx *ctx, const tl_remix *remix, const tl_separator *separator,
                           double *score)
{
    *score = NAN;
    if (remix->count == 0)
        return TLNMF_OK;
    tl_framing framing;
    tl_frame_block block = {.memory = NULL};
    judge j = {.remix = remix, .separator = separator, .block = &block};
    void *memory;
    int64_t numbers = remix->longest * remix->channels;
    tl_slot table[] = {TL_SLOT(j.may_sound, separator->K * AT_ONCE), TL_SLOT(j.second, numbers),
                       TL_SLOT(j.mix, numbers), TL_SLOT(j.estimate, numbers)};
    TRY(TL_ARENA(ctx, "judging", table, &memory));
    tlnmf_error error = tl_framing_create(ctx, &separator->info.frames, &framing);
    if (error == TLNMF_OK)
        error = tl_frame_block_create_for(ctx, separator, &framing, remix->channels, remix->updater,
                                          &block);
    if (error == TLNMF_OK)
        error = judge_all(&j, score);
    if (tl_poll(ctx->monitor)) /* an interrupted run has no score */
        *score = NAN;
    tl_frame_block_free(&block);
    tl_framing_free(&framing);
    tl_release(&ctx->hooks, memory);
    return error;
}
