/* Several separators over one recording: each in frames of its own, a round of samples at a time.
 */
#include "separate/blocks.h"

#include <math.h>

/* Frames of the longest hop in a round. */
enum { ROUND = 32 };

/* ---- which columns may sound ----------------------------------------------------------------- */

void tl_guide_fill(const tl_guide *guide, const tl_separator *separator, int64_t count,
                   const int64_t *n, bool *may_sound)
{
    const tl_frames *f = &separator->info.frames;
    for (int64_t i = 0; i < count; i++) {
        uint64_t active = tl_schedule_active(&guide->schedule, f, n[i]);
        bool mixed = __builtin_popcountll(active) > 1;
        int64_t first = tl_frame_first(f, n[i]), begin = first - f->hop + 1, end = first + f->M;
        for (int64_t k = 0; k < separator->K; k++)
            may_sound[k * count + i] = separator->gate[k] < 0 && active >> separator->owner[k] & 1;
        for (int64_t o = 0; guide->notes && mixed && o < separator->opens; o++) {
            tl_span open = separator->open[o];
            if (!(open.start < end && begin < open.end + guide->schedule.release))
                continue;
            for (int64_t k = 0; k < separator->K; k++)
                if (separator->gate[k] == open.source && active >> separator->owner[k] & 1)
                    may_sound[k * count + i] = true;
        }
    }
}

/* ---- making lanes ---------------------------------------------------------------------------- */

/* The first sample of frame n at its earliest shift. */
static int64_t earliest(const tl_lane *lane, int64_t n)
{
    return tl_frame_first(&lane->framing.f, n) - lane->framing.f.hop + 1;
}

/* The frames of a lane that hold samples first .. last-1. */
static void place(const tl_lanes *l, tl_lane *lane)
{
    const tl_frames *f = &lane->framing.f;
    lane->N = tl_min(tl_frames_count(f, l->sound->length), tl_frames_count(f, l->last));
    lane->n = tl_max(0, l->first / f->hop - 1);
    lane->done = earliest(lane, lane->n);
}

static tlnmf_error create_buffers(tl_lanes *l)
{
    enum { EACH = 3 };
    tl_slot table[EACH * TL_MEMBERS_MAX + 2];
    int64_t channels = l->sound->channels, rows = 0;
    for (int64_t i = 0; i < l->count; i++) {
        tl_lane *lane = &l->lane[i];
        int64_t numbers = l->silent ? 0 : (l->outputs - 1) * l->capacity * channels;
        table[rows++] = (tl_slot)TL_SLOT(lane->sums, numbers);
        table[rows++] = (tl_slot)TL_SLOT(lane->may_sound, lane->block.K * lane->block.capacity);
        table[rows++] = (tl_slot)TL_SLOT(lane->number, lane->block.capacity);
    }
    table[rows++] = (tl_slot)TL_SLOT(l->in, l->capacity * channels);
    table[rows++] = (tl_slot)TL_SLOT(l->next, l->capacity * channels);
    return tl_arena_create(l->ctx, "the outputs of a round", table, (size_t)rows, &l->buffers);
}

static tlnmf_error create_lanes(tl_lanes *l, const tl_separator *const *separator, double eps_scale)
{
    int64_t hop = 0, reach = 0;
    for (int64_t i = 0; i < l->count; i++) {
        tl_lane *lane = &l->lane[i];
        const tl_frames *f = &separator[i]->info.frames;
        lane->separator = separator[i];
        TRY(tl_framing_create(l->ctx, f, &lane->framing));
        TRY(tl_block_create_for(l->ctx, separator[i], &lane->framing, l->sound->channels,
                                &lane->block));
        lane->block.eps *= eps_scale;
        lane->ctx = *l->ctx;
        TRY(tl_block_use(&lane->ctx, l->updater, &lane->block));
        if (tl_schedule_has_ranges(&l->guide.schedule))
            TRY(tl_ranges_create(l->ctx, lane->block.rows, lane->block.capacity,
                                 &lane->block.ranges));
        place(l, lane);
        hop = tl_max(hop, f->hop);
        reach = tl_max(reach, f->M + 2 * f->hop);
        l->base = i == 0 ? lane->done : tl_min(l->base, lane->done);
    }
    l->round = ROUND * hop;
    l->capacity = l->round + 2 * reach;
    l->ready = l->base;
    return create_buffers(l);
}

tlnmf_error tl_lanes_create(tl_lanes *l, const tl_separator *const *separator, int64_t count,
                            double eps_scale)
{
    const tl_separator *first = separator[0];
    l->hooks = l->ctx->hooks;
    l->count = count;
    l->outputs = (l->components ? first->K : first->info.sources) + (l->residual ? 1 : 0);
    tl_slot table[] = {TL_SLOT(l->lane, count)};
    TRY(TL_ARENA(l->ctx, "the members", table, &l->memory));
    tlnmf_error error = create_lanes(l, separator, eps_scale);
    if (error != TLNMF_OK)
        tl_lanes_free(l);
    return error;
}

void tl_lanes_free(tl_lanes *l)
{
    for (int64_t i = 0; l->memory != NULL && i < l->count; i++) {
        if (l->lane[i].block.memory != NULL)
            tl_block_free(&l->lane[i].block);
        if (l->lane[i].framing.block != NULL)
            tl_framing_free(&l->lane[i].framing);
    }
    tl_release(&l->hooks, l->buffers);
    tl_release(&l->hooks, l->memory);
    l->memory = l->buffers = NULL;
}

/* ---- a round --------------------------------------------------------------------------------- */

static double *sum_of(const tl_lanes *l, const tl_lane *lane, int64_t output)
{
    return lane->sums + output * l->capacity * l->sound->channels;
}

const double *tl_lanes_output(const tl_lanes *l, int64_t lane, int64_t output)
{
    return sum_of(l, &l->lane[lane], output);
}

static tl_part part_of(const tl_lanes *l, int64_t output)
{
    bool single = l->components != 0;
    return (tl_part){.sources = single ? 0 : (uint64_t)1 << output,
                     .component = single ? output : -1,
                     .no_floor = l->residual != 0,
                     .floor_share = 1.0 / (double)l->outputs};
}

static void keep_H(const tl_lane *lane, int64_t n)
{
    int64_t count = lane->block.count;
    for (int64_t k = 0; lane->H != NULL && k < lane->block.K; k++)
        tl_copy(lane->H + k * lane->N + n, lane->block.H + k * count, count);
}

/* How much of the block's power the model leaves over. */
static void weigh_excess(tl_lane *lane)
{
    const tl_block *block = &lane->block;
    for (int64_t i = 0; i < block->rows * block->count; i++) {
        lane->power += block->V[i];
        lane->excess += fmax(0.0, block->V[i] - block->Vhat[i]);
    }
}

double tl_lanes_unexplained(const tl_lanes *l)
{
    double sum = 0.0;
    for (int64_t i = 0; i < l->count; i++)
        sum += l->lane[i].power > 0.0 ? l->lane[i].excess / l->lane[i].power : 0.0;
    return sum / (double)l->count;
}

/* H of the block, or that of a run before this one. */
static void fit(const tl_lanes *l, tl_lane *lane)
{
    tl_block *block = &lane->block;
    int64_t number = lane - l->lane, numbers = block->K * block->count;
    if (tl_blocks_take(l->blocks, number, numbers, lane->may_sound, block->H)) {
        tl_block_weigh(block);
        return;
    }
    tl_block_fit(block, lane->may_sound);
    if (block->error == TLNMF_OK)
        tl_blocks_put(l->blocks, number, numbers, lane->may_sound, block->H);
}

/* The next `count` frames: analysis, H, and their part of every output but the last. */
static tlnmf_error do_block(const tl_lanes *l, tl_lane *lane, int64_t count)
{
    tl_block *block = &lane->block;
    int64_t channels = l->sound->channels;
    tl_stretch in = {l->base, l->capacity, channels, l->in};
    tl_block_begin(block, count);
    for (int64_t i = 0; i < count; i++)
        lane->number[i] = lane->n + i;
    tl_block_cut(block, &in, lane->n);
    tl_guide_fill(&l->guide, lane->separator, count, lane->number, lane->may_sound);
    tl_block_analyse(block, block->rows);
    fit(l, lane);
    weigh_excess(lane);
    if (block->ranges.memory != NULL) {
        tl_ranges_fill(&block->ranges, &l->guide.schedule, &lane->framing.f, count, lane->number);
        tl_block_bar(block);
    }
    keep_H(lane, lane->n);
    for (int64_t o = 0; !l->silent && o + 1 < l->outputs; o++) {
        tl_part part = part_of(l, o);
        tl_stretch sum = {l->base, l->capacity, channels, sum_of(l, lane, o)};
        if (tl_block_part(block, &part))
            tl_block_add(block, lane->n, &sum);
    }
    lane->n += count;
    return block->error;
}

/* Divides what is complete now: (24). */
static void complete(const tl_lanes *l, tl_lane *lane, int64_t until)
{
    int64_t channels = l->sound->channels;
    for (int64_t o = 0; !l->silent && o + 1 < l->outputs; o++) {
        tl_stretch out = {lane->done, until - lane->done, channels,
                          sum_of(l, lane, o) + (lane->done - l->base) * channels};
        tl_frames_divide(&lane->framing, &out);
    }
    lane->done = until;
}

/* Until the lane has all samples before `target`. */
static tlnmf_error do_round(const tl_lanes *l, tl_lane *lane, int64_t target)
{
    int64_t hop = lane->framing.f.hop;
    while (lane->done < target && lane->n < lane->N) {
        int64_t need = (target - lane->done + hop - 1) / hop;
        int64_t count = tl_min(tl_min(need, lane->block.capacity), lane->N - lane->n);
        TRY(do_block(l, lane, count));
        complete(l, lane,
                 lane->n == lane->N ? tl_max(lane->done, l->last) : earliest(lane, lane->n));
    }
    return TLNMF_OK;
}

static void advance_lane(int64_t i, int64_t last, void *arg)
{
    const tl_lanes *l = arg;
    (void)last;
    l->lane[i].error = do_round(l, &l->lane[i], l->target);
}

/* What has been used makes way for others. */
static void shift(tl_lanes *l)
{
    int64_t channels = l->sound->channels, used = l->ready - l->base;
    int64_t kept = (l->capacity - used) * channels;
    for (int64_t i = 0; i < l->count; i++)
        for (int64_t o = 0; !l->silent && o + 1 < l->outputs; o++) {
            double *x = sum_of(l, &l->lane[i], o);
            memmove(x, x + used * channels, (size_t)kept * sizeof *x);
            memset(x + kept, 0, (size_t)(used * channels) * sizeof *x);
        }
    l->base = l->ready;
}

/* What the caller's thread does while others have begun with the lanes. */
static void read_ahead(void *arg)
{
    tl_lanes *l = arg;
    bool well = l->beside == NULL || l->beside(l->beside_arg);
    if (!well || l->target == l->last)
        return;
    tl_stretch next = {l->target, l->capacity, l->sound->channels, l->next};
    l->failed = tl_sound_read(l->ctx, l->sound, &next);
    l->fetched = true;
}

/* The sound from `base` on: what was read ahead, or at the beginning a first read. */
static tlnmf_error fetch(tl_lanes *l)
{
    tl_stretch in = {l->base, l->capacity, l->sound->channels, l->in};
    if (!l->fetched)
        return tl_sound_read(l->ctx, l->sound, &in);
    double *x = l->in;
    l->in = l->next;
    l->next = x;
    l->fetched = false;
    return l->failed;
}

tlnmf_error tl_lanes_advance(tl_lanes *l, bool *more)
{
    *more = l->ready < l->last;
    if (!*more)
        return TLNMF_OK;
    shift(l);
    TRY(fetch(l));
    l->target = tl_min(l->base + l->round, l->last);
    tl_share_beside(l->count, advance_lane, read_ahead, l); /* each has its own memory */
    for (int64_t i = 0; i < l->count; i++)
        if (l->lane[i].error != TLNMF_OK) {
            memcpy(l->ctx->message, l->lane[i].ctx.message, sizeof l->ctx->message);
            return l->lane[i].error;
        }
    l->ready = l->target;
    return TLNMF_OK;
}
