/* Several separators over one recording, each with its own frames, in rounds of samples. */
#include "sound/render/passes.h"
#include "sound/model/blend.h"

#include <math.h>

/* ---- which columns may sound ----------------------------------------------------------------- */

/* may_sound of the next `count` frames of a pass. */
static void fill_may_sound(const tl_passes *l, tl_pass *pass, int64_t count)
{
    const tl_separator *separator = pass->separator;
    const tl_frames *f = &separator->info.frames;
    for (int64_t i = 0; i < count; i++) {
        int64_t n = pass->n + i;
        uint64_t active = tl_schedule_active(&l->schedule, f, n);
        bool mixed = __builtin_popcountll(active) > 1;
        for (int64_t k = 0; k < separator->K; k++)
            pass->may_sound[k * count + i] =
                separator->gate[k] < 0 && active >> separator->owner[k] & 1;
        int64_t first = tl_frame_first(f, n), from = first - f->hop + 1 - l->schedule.release;
        for (int64_t o = 0; l->notes && mixed; o++) {
            o = tl_span_index_next(&pass->open, from, first + f->M, o);
            if (o < 0)
                break;
            for (int64_t k = 0; k < separator->K; k++)
                if (separator->gate[k] == pass->open.span[o].source &&
                    active >> separator->owner[k] & 1)
                    pass->may_sound[k * count + i] = true;
        }
    }
}

/* ---- making passes --------------------------------------------------------------------------- */

/* The first sample of frame n at its earliest shift. */
static int64_t earliest(const tl_pass *pass, int64_t n)
{
    return tl_frame_first(&pass->framing.f, n) - pass->framing.f.hop + 1;
}

/* The frames of a pass that hold samples first .. last-1. */
static void place(const tl_passes *l, tl_pass *pass)
{
    const tl_frames *f = &pass->framing.f;
    pass->N = tl_min(tl_frames_count(f, l->sound->length), tl_frames_count(f, l->last));
    pass->n = tl_max(0, l->first / f->hop - 1);
    pass->done = earliest(pass, pass->n);
}

static tlnmf_error create_buffers(tl_passes *l)
{
    enum { EACH = 3 };
    bool ranges = tl_schedule_has_ranges(&l->schedule);
    tl_slot table[EACH * TL_MEMBERS_MAX + 2];
    int64_t channels = l->sound->channels, rows = 0;
    for (int64_t i = 0; i < l->count; i++) {
        tl_pass *pass = &l->pass[i];
        int64_t numbers = l->silent ? 0 : (l->outputs - 1) * l->capacity * channels;
        table[rows++] = (tl_slot)TL_SLOT(pass->sums, numbers);
        table[rows++] = (tl_slot)TL_SLOT(pass->may_sound, pass->block.K * pass->block.capacity);
        table[rows++] =
            (tl_slot)TL_SLOT(pass->barred, ranges ? pass->block.rows * pass->block.capacity : 0);
    }
    table[rows++] = (tl_slot)TL_SLOT(l->in, l->capacity * channels);
    table[rows++] = (tl_slot)TL_SLOT(l->next, l->capacity * channels);
    return tl_arena_create(l->ctx, "the outputs of a round", table, (size_t)rows, true,
                           &l->buffers);
}

static tlnmf_error create_passes(tl_passes *l, const tl_separator *const *separator,
                                 double eps_scale)
{
    int64_t hop = 0, reach = 0;
    for (int64_t i = 0; i < l->count; i++) {
        tl_pass *pass = &l->pass[i];
        const tl_frames *f = &separator[i]->info.frames;
        pass->separator = separator[i];
        TRY(tl_span_index_create(l->ctx, separator[i]->open, separator[i]->opens, &pass->open));
        TRY(tl_framing_create(l->ctx, f, &pass->framing));
        TRY(tl_frame_block_create_for(l->ctx, separator[i], &pass->framing, l->sound->channels,
                                      l->updater, &pass->block));
        pass->ctx = *l->ctx;
        pass->block.ctx = &pass->ctx;
        pass->block.eps *= eps_scale;
        place(l, pass);
        hop = tl_max(hop, f->hop);
        reach = tl_max(reach, f->M + 2 * f->hop);
        l->base = i == 0 ? pass->done : tl_min(l->base, pass->done);
    }
    l->round = TL_ROUND * hop;
    l->capacity = l->round + 2 * reach;
    l->ready = l->base;
    return create_buffers(l);
}

tlnmf_error tl_passes_create(tl_passes *l, const tl_separator *const *separator, int64_t count,
                             double eps_scale)
{
    const tl_separator *first = separator[0];
    l->hooks = l->ctx->hooks;
    l->count = count;
    l->outputs = (l->components ? first->K : first->info.sources) + (l->residual ? 1 : 0);
    tl_slot table[] = {TL_SLOT(l->pass, count)};
    TRY(TL_ARENA(l->ctx, "the members", table, &l->memory));
    tlnmf_error error = create_passes(l, separator, eps_scale);
    if (error != TLNMF_OK)
        tl_passes_free(l);
    return error;
}

void tl_passes_free(tl_passes *l)
{
    for (int64_t i = 0; l->memory != NULL && i < l->count; i++) {
        tl_frame_block_free(&l->pass[i].block);
        tl_framing_free(&l->pass[i].framing);
        tl_span_index_free(&l->pass[i].open);
    }
    tl_release(&l->hooks, l->buffers);
    tl_release(&l->hooks, l->memory);
    l->memory = l->buffers = NULL;
}

/* ---- a round --------------------------------------------------------------------------------- */

double *tl_pass_output(const tl_passes *l, const tl_pass *pass, int64_t output)
{
    return pass->sums + output * l->capacity * l->sound->channels;
}

static tl_part part_of(const tl_passes *l, int64_t output)
{
    bool single = l->components != 0;
    return (tl_part){.sources = single ? 0 : (uint64_t)1 << output,
                     .component = single ? output : -1,
                     .no_floor = l->residual != 0,
                     .floor_share = 1.0 / (double)l->outputs};
}

static void store_H(const tl_pass *pass, int64_t n)
{
    int64_t count = pass->block.count;
    for (int64_t k = 0; pass->H != NULL && k < pass->block.K; k++)
        tl_copy(pass->H + k * pass->N + n, pass->block.H + k * count, count);
}

/* Adds the block's power, and the part of it that exceeds the model. */
static void weigh_excess(tl_pass *pass)
{
    const tl_frame_block *block = &pass->block;
    for (int64_t i = 0; i < block->rows * block->count; i++) {
        pass->power += block->V[i];
        pass->excess += fmax(0.0, block->V[i] - block->Vhat[i]);
    }
}

double tl_passes_unexplained(const tl_passes *l)
{
    double sum = 0.0;
    for (int64_t i = 0; i < l->count; i++)
        sum += l->pass[i].power > 0.0 ? l->pass[i].excess / l->pass[i].power : 0.0;
    return sum / (double)l->count;
}

/* The next `count` frames: analysis, H, and their part of every output but the last. */
static tlnmf_error do_block(const tl_passes *l, tl_pass *pass, int64_t count)
{
    tl_frame_block *block = &pass->block;
    int64_t channels = l->sound->channels;
    tl_stretch in = {l->base, l->capacity, channels, l->in};
    tl_frame_block_cut(block, &in, pass->n, count);
    fill_may_sound(l, pass, count);
    tl_frame_block_analyse(block, block->rows);
    tl_frame_block_fit(block, pass->may_sound);
    if (block->error != TLNMF_OK || tl_poll(l->ctx->monitor)) /* the round is not written */
        return block->error;
    weigh_excess(pass);
    if (pass->barred != NULL) {
        tl_schedule_bar(&l->schedule, &pass->framing.f, block->rows, count, pass->n, pass->barred);
        tl_frame_block_bar(block, pass->barred);
    }
    store_H(pass, pass->n);
    for (int64_t o = 0; !l->silent && o + 1 < l->outputs; o++) {
        tl_part part = part_of(l, o);
        tl_stretch sum = {l->base, l->capacity, channels, tl_pass_output(l, pass, o)};
        if (tl_frame_block_part(block, &part))
            tl_frame_block_add(block, pass->n, &sum);
    }
    pass->n += count;
    return block->error;
}

/* Divides the samples that are complete: (24). */
static void complete(const tl_passes *l, tl_pass *pass, int64_t until)
{
    int64_t channels = l->sound->channels;
    for (int64_t o = 0; !l->silent && o + 1 < l->outputs; o++) {
        tl_stretch out = {pass->done, until - pass->done, channels,
                          tl_pass_output(l, pass, o) + (pass->done - l->base) * channels};
        tl_frames_divide(&pass->framing, &out);
    }
    pass->done = until;
}

/* Works until the pass has all samples before `target`, or until a stop. */
static tlnmf_error do_round(const tl_passes *l, tl_pass *pass, int64_t target)
{
    int64_t hop = pass->framing.f.hop;
    while (pass->done < target && pass->n < pass->N && !tl_poll(l->ctx->monitor)) {
        int64_t need = (target - pass->done + hop - 1) / hop;
        int64_t count = tl_min(tl_min(need, pass->block.capacity), pass->N - pass->n);
        TRY(do_block(l, pass, count));
        complete(l, pass,
                 pass->n == pass->N ? tl_max(pass->done, l->last) : earliest(pass, pass->n));
    }
    return TLNMF_OK;
}

static void advance_pass(int64_t i, int64_t last, void *arg)
{
    const tl_passes *l = arg;
    (void)last;
    l->pass[i].error = do_round(l, &l->pass[i], l->target);
}

/* Discards the samples that were used. */
static void shift(tl_passes *l)
{
    int64_t channels = l->sound->channels, used = l->ready - l->base;
    int64_t kept = (l->capacity - used) * channels;
    for (int64_t i = 0; i < l->count; i++)
        for (int64_t o = 0; !l->silent && o + 1 < l->outputs; o++) {
            double *x = tl_pass_output(l, &l->pass[i], o);
            memmove(x, x + used * channels, (size_t)kept * sizeof *x);
            memset(x + kept, 0, (size_t)(used * channels) * sizeof *x);
        }
    l->base = l->ready;
}

/* The work of the caller's thread while other threads run passes. */
static void read_ahead(void *arg)
{
    tl_passes *l = arg;
    bool well = l->beside == NULL || l->beside(l->beside_arg);
    if (!well || l->target == l->last)
        return;
    tl_stretch next = {l->target, l->capacity, l->sound->channels, l->next};
    l->failed = tl_sound_read(l->ctx, l->sound, &next);
    l->fetched = true;
}

/* The sound from `base` on: read ahead, or in the first round read now. */
static tlnmf_error fetch(tl_passes *l)
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

tlnmf_error tl_passes_advance(tl_passes *l, bool *more)
{
    *more = l->ready < l->last;
    if (!*more)
        return TLNMF_OK;
    shift(l);
    TRY(fetch(l));
    l->target = tl_min(l->base + l->round, l->last);
    tl_share_beside(l->count, advance_pass, read_ahead, l); /* each has its own memory */
    for (int64_t i = 0; i < l->count; i++)
        if (l->pass[i].error != TLNMF_OK)
            return tl_fail_as(l->ctx, l->pass[i].error, &l->pass[i].ctx);
    l->ready = l->target;
    return TLNMF_OK;
}
