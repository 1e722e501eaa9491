/* Sound without a label: any source may sound there, unless the caller says that none does. */
#include "sound/learn/course.h"

#include <stdio.h>

/* The recording is divided into pieces of PIECE seconds; those above QUIET of the mean power hold
 * sound. */
static const double PIECE = 0.02, QUIET = 1e-2;
/* Of the energy: above SOME there is a warning, because correct labels mostly leave less (the end
 * of a decay); above MUCH estimates are too high. */
static const double SOME = 0.005, MUCH = 0.02;

/* The pieces of a recording. */
typedef struct pieces {
    int64_t hop, count;
    double *energy;
    bool *bare; /* no label, and not quiet */
    void *memory;
} pieces;

/* Returns the first bare piece. */
static int64_t mark(pieces *p, const tl_schedule *schedule, double rate, tl_unlabelled *found)
{
    int64_t first = p->count;
    double total = 0.0, bare = 0.0, samples = 0.0;
    for (int64_t h = 0; h < p->count; h++)
        total += p->energy[h];
    for (int64_t h = 0; h < p->count; h++) {
        p->bare[h] =
            p->energy[h] > QUIET * total / (double)p->count &&
            tl_schedule_within(schedule, h * p->hop, (h + 1) * p->hop, schedule->release) == 0;
        first = p->bare[h] ? tl_min(first, h) : first;
        samples += p->bare[h] ? (double)p->hop : 0.0;
        bare += p->bare[h] ? p->energy[h] : 0.0;
    }
    found->seconds = samples / rate;
    found->energy = total > 0.0 ? bare / total : 0.0;
    return first;
}

/* The labels, and a span of every source in each stretch of bare pieces; a release ends with the
 * stretch. */
static tlnmf_error widen(tlnmf_ctx *ctx, const pieces *p, const tl_schedule *schedule,
                         tl_unlabelled *found)
{
    int64_t stretches = 0, first = 0;
    for (int64_t h = 0; h < p->count; h++)
        stretches += p->bare[h] && (h == 0 || !p->bare[h - 1]);
    tl_slot table[] = {TL_SLOT(found->spans, schedule->count + stretches * schedule->sources)};
    TRY(TL_ARENA(ctx, "the labels", table, &found->memory));
    for (int64_t i = 0; i < schedule->count; i++)
        found->spans[found->count++] = schedule->spans[i];
    for (int64_t h = 0; h < p->count; h++) {
        if (p->bare[h] && (h == 0 || !p->bare[h - 1]))
            first = h;
        bool ends = p->bare[h] && (h + 1 == p->count || !p->bare[h + 1]);
        for (int64_t k = 0; ends && k < schedule->sources; k++)
            found->spans[found->count++] =
                (tl_span){.start = first * p->hop,
                          .end = tl_max(first * p->hop + 1, (h + 1) * p->hop - schedule->release),
                          .source = k,
                          .anyone = 1};
    }
    return TLNMF_OK;
}

tlnmf_error tl_unlabelled_find(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                               const tl_schedule *schedule, bool silent, bool warn,
                               tl_unlabelled *found)
{
    pieces p = {.hop = tl_max(1, (int64_t)(PIECE * sound->rate))};
    p.count = (sound->sound.length + p.hop - 1) / p.hop;
    *found = (tl_unlabelled){.hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(p.energy, p.count), TL_SLOT(p.bare, p.count)};
    TRY(TL_ARENA(ctx, "the energies", table, &p.memory));
    tlnmf_error error = tl_sound_energies(ctx, &sound->sound, p.hop, p.count, p.energy);
    if (error == TLNMF_OK) {
        double at = (double)(mark(&p, schedule, sound->rate, found) * p.hop) / sound->rate;
        if (found->seconds > 0.0)
            snprintf(found->text, sizeof found->text,
                     "%.2f s with %.3g %% of the energy have no label (first at %.4g s). %s",
                     found->seconds, 100.0 * found->energy, at,
                     silent ? "It is divided equally among all stems"
                            : "Any source may sound there: label it, or use --unlabelled "
                              "silent to divide it equally among all stems");
        error = widen(ctx, &p, schedule, found);
    }
    tl_release(&ctx->hooks, p.memory);
    TRY(error);
    if (silent)
        found->count = schedule->count; /* the labels come first */
    if (warn && found->seconds > 0.0)
        tl_log(ctx, found->energy > SOME ? TLNMF_LOG_WARNING : TLNMF_LOG_INFO, "%s", found->text);
    return TLNMF_OK;
}

void tl_unlabelled_free(tl_unlabelled *found)
{
    tl_release(&found->hooks, found->memory);
    found->memory = NULL;
}

static void note_unlabelled(tlnmf_ctx *ctx, const tl_unlabelled *found, tl_caveats *caveats)
{
    if (found->energy > SOME)
        tl_caveats_warn(ctx, caveats, "%s", found->text);
    else if (found->seconds > 0.0)
        tl_log(ctx, TLNMF_LOG_INFO, "%s", found->text);
    if (found->energy > MUCH)
        caveats->sources = ~(uint64_t)0;
}

/* Warnings begin with the likely cause of the others: labels that are late or early, which leave
 * sound without a label; else labels that are missing, whose sound seems to belong to others. */
tlnmf_error tl_labels_look(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_schedule *schedule,
                           bool silent, tl_unlabelled *found, tl_caveats *caveats)
{
    tl_caveats checks = {0};
    bool shifted;
    *caveats = sound->caveats;
    TRY(tl_unlabelled_find(ctx, sound, schedule, silent, false, found));
    TRY(tl_check_labels(ctx, sound, schedule, found->energy, &checks, &shifted));
    if (!shifted)
        note_unlabelled(ctx, found, caveats);
    for (int64_t i = 0; i < checks.count; i++)
        tl_caveats_warn(ctx, caveats, "%s", checks.text[i]);
    caveats->sources |= checks.sources;
    if (shifted)
        note_unlabelled(ctx, found, caveats);
    return TLNMF_OK;
}
