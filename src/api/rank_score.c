/* Held-out scores within the time limit: the data of folds, one fit, all fits. */
#include "api/marginal.h"
#include "api/rank.h"
#include "base/comm.h"
#include "base/record.h"
#include "base/rng.h"
#include "search/distribute.h"

#include <math.h>
#include <stdio.h>

/* A pseudo-random number below `folds`, the same in every run. */
static int scatter(int64_t i, int folds)
{
    return (int)(tl_splitmix64((uint64_t)i) % (uint64_t)folds);
}

/* ---- folds of frames ------------------------------------------------------------------------- */

/* The frames of a fold, or all others. Each of `folds` consecutive frames is in another fold.
 * Frames of weight 0 are in none: a fold of such frames would have no score. */
static tlnmf_error select_frames(const tl_comparison *c, const tl_rank_table *t, int fold,
                                 bool others, tlnmf_data **out)
{
    int64_t *frames, count = 0;
    void *memory;
    tl_slot table[] = {TL_SLOT(frames, c->data->N)};
    TRY(TL_ARENA(c->ctx, "the frames of a fold", table, &memory));
    for (int64_t n = 0, i = 0; n < c->data->N; n++) {
        if (tl_data_is_silent(c->data, n))
            continue;
        if (((scatter(i / t->folds, t->folds) + i) % t->folds == fold) != others)
            frames[count++] = n;
        i++;
    }
    tlnmf_error error = tl_data_select(c->ctx, c->data, count, frames, out);
    tl_release(&c->ctx->hooks, memory);
    if (error == TLNMF_OK && others && (*out)->T == 0)
        return tl_fail(c->ctx, TLNMF_ERR_DATA, "fold %d has the only frames that are not silent",
                       fold);
    return error;
}

/* ---- folds of realisations ------------------------------------------------------------------- */

/* Copies realisation s, M x frames. It is a realisation of Y, or every B-th frame of one if B
 * frames count as realisations of one frame. */
static void copy_realisation(const tlnmf_data *data, int64_t B, int64_t s, double *out)
{
    int64_t M = data->M, N = data->made_of[2], frames = N / B;
    const double *y = data->Y + s / B * M * N;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < frames; n++)
            out[m * frames + n] = y[m * N + n * B + s % B];
}

/* Sets the user's weights, without the factors for missing realisations. */
static tlnmf_error take_weights(tlnmf_ctx *ctx, const tlnmf_data *from, tlnmf_data *to)
{
    double *weights;
    void *memory;
    bool counted = false;
    if (!from->weighted)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(weights, from->N)};
    TRY(TL_ARENA(ctx, "weights", table, &memory));
    for (int64_t n = 0; n < from->N; n++)
        counted = counted || from->present[n] > 0.0;
    for (int64_t n = 0; n < from->N; n++)
        weights[n] = !counted                 ? from->weight[n]
                     : from->present[n] > 0.0 ? from->weight[n] / from->present[n]
                                              : 0.0;
    tlnmf_error error = tlnmf_data_set_weights(ctx, to, weights);
    tl_release(&ctx->hooks, memory);
    return error;
}

/* Fold f of the realisations, or all others. */
static tlnmf_error make_part(const tl_comparison *c, const tl_rank_table *t, int fold, bool others,
                             tlnmf_data **out)
{
    const tlnmf_data *data = c->data;
    int64_t B = t->S / data->made_of[0], frames = data->made_of[2] / B, count = 0;
    double *part;
    void *memory;
    bool gaps = tlnmf_record_get_integer(data->record, "missing") > 0;
    if (t->kind == TL_RANK_FRAMES)
        return select_frames(c, t, fold, others, out);
    tl_slot table[] = {TL_SLOT(part, t->S * data->M * frames)};
    TRY(TL_ARENA(c->ctx, "a fold", table, &memory));
    for (int64_t s = 0; s < t->S; s++)
        if ((s % t->folds == fold) != others)
            copy_realisation(data, B, s, part + count++ * data->M * frames);
    const int64_t shape[3] = {count, data->M, frames};
    tlnmf_error error = gaps ? tlnmf_data_from_incomplete(c->ctx, part, shape, out)
                             : tlnmf_data_from_realisations(c->ctx, part, shape, out);
    tl_release(&c->ctx->hooks, memory);
    if (error == TLNMF_OK && t->kind == TL_RANK_REALISATIONS)
        error = take_weights(c->ctx, data, *out);
    return error;
}

/* The held-out data of fold f (of realisations: s % folds == f), and all others. */
static tlnmf_error split(const tl_comparison *c, const tl_rank_table *t, int fold,
                         tlnmf_data **train, tlnmf_data **test)
{
    *train = *test = NULL;
    tlnmf_error error = make_part(c, t, fold, true, train);
    if (error == TLNMF_OK)
        error = make_part(c, t, fold, false, test);
    error = tl_distribute_agree(c->ctx, NULL, c->ctx->starts_comm, error);
    if (error != TLNMF_OK) {
        tlnmf_data_free(*train);
        tlnmf_data_free(*test);
        *train = *test = NULL;
    }
    return error;
}

/* ---- folds of the entries of V --------------------------------------------------------------- */

/* The fold of entry i: a speckle pattern. If that leaves a row without one of the folds: diagonals
 * that are shifted every few frames, so that each fold is equally frequent in all rows and
 * columns. */
static int fold_of(const tl_rank_table *t, int64_t i, int64_t N)
{
    int64_t m = i / N, n = i % N;
    if (!t->balanced)
        return scatter(i, t->folds);
    return (int)((scatter(n / t->folds, t->folds) + n + m) % t->folds);
}

/* Whether the speckle pattern leaves a row without one of the folds. */
static bool is_uneven(const tl_rank_table *t, const tlnmf_data *data)
{
    bool uneven = false;
    for (int64_t m = 0; m < data->M && !uneven; m++) {
        unsigned met = 0;
        for (int64_t n = 0; n < data->N; n++)
            met |= 1u << scatter(m * data->N + n, t->folds);
        uneven = met != (1u << t->folds) - 1;
    }
    return uneven;
}

/* Masks all entries except those of a fold, or only those of the fold, and counts the entries
 * that remain. `mask` is M x N scratch. Seven parameters: which entries, and where to. */
static tlnmf_error set_mask(const tl_comparison *c, const tl_rank_table *t, int fold, bool others,
                            tlnmf_data *masked, double *mask, double *count)
{
    int64_t N = masked->N, size = masked->M * N;
    *count = 0.0;
    for (int64_t i = 0; i < size; i++) {
        mask[i] = (fold_of(t, i, N) == fold) != others ? 1.0 : 0.0;
        *count += mask[i];
    }
    return tlnmf_data_set_mask(c->ctx, masked, mask);
}

/* ---- one fit --------------------------------------------------------------------------------- */

/* A fit within `seconds`. Sets t->interrupted if the caller stopped it, and *cut if the time ended
 * it. */
static tlnmf_error fit(tl_comparison *c, tl_rank_table *t, const tlnmf_data *data, double seconds,
                       const double *Phi, double *cut, tl_result **out)
{
    const double least = 1e-3; /* seconds that an option can be */
    tl_settings opt = c->opt;
    const tl_start start = {.Phi = Phi};
    if (isfinite(seconds))
        opt.max_seconds = fmax(seconds, least);
    const tl_search_task how = {.data = data,
                                .start = Phi != NULL ? &start : NULL,
                                .starts_comm = c->ctx->starts_comm,
                                .units = c->units,
                                .section = c->section};
    TRY(tl_fit_as(c->ctx, &opt, &how, out));
    t->interrupted = t->interrupted || (*out)->info.outcome == TLNMF_OUTCOME_CANCELLED;
    if ((*out)->info.outcome == TLNMF_OUTCOME_TIME)
        *cut = 1.0;
    return TLNMF_OK;
}

/* C of held-out data at a point that was learnt from the others, over `entries`. */
static tlnmf_error evaluate(tl_comparison *c, const tlnmf_data *data, const tl_result *result,
                            double entries, double *score)
{
    tl_values values = {0};
    const tl_model_point point = {result->Phi, result->W, result->H, result->info.K, c->opt.eps};
    TRY(tl_evaluate(c->ctx, data, &point, &values, NULL));
    *score = values.C / entries;
    return TLNMF_OK;
}

/* One pass over all K. */
typedef struct pass {
    tl_rank_table *t;
    int fold;                       /* -1: Phi is learnt from all entries */
    const tlnmf_data *train, *test; /* NULL: entries */
    tlnmf_data *masked;             /* entries */
    double *mask;                   /* M x N */
    bool shares;                    /* the time is divided among its fits */
} pass;

/* The same of held-out frames, whose activations are integrated out. Small data finish their first
 * fold after the deadline. If the time ends, *score remains NaN and *cut becomes 1. */
static tlnmf_error integrate(const tl_comparison *c, const pass *p, const tl_result *result,
                             double *cut, double *score)
{
    const double grace = 0.5, least = 1e-3; /* seconds */
    double *values, mean, left = c->deadline + (p->shares ? grace : 0.0) - tl_wall_seconds();
    tl_settings how = c->opt;
    void *memory;
    const tl_model_point point = {result->Phi, result->W, result->H, result->info.K, c->opt.eps};
    tl_slot table[] = {TL_SLOT(values, p->test->N)};
    how.max_seconds = isfinite(left) ? fmax(left, least) : 0.0;
    TRY(TL_ARENA(c->ctx, "the scores of frames", table, &memory));
    tlnmf_error error = tl_marginal_data(c->ctx, p->test, &point, p->train->N, &how, values, &mean);
    tl_release(&c->ctx->hooks, memory);
    if (error == TLNMF_OK)
        *score = mean;
    if (error != TLNMF_ERR_CALLBACK)
        return error;
    p->t->interrupted = tl_stopped(c->ctx->monitor) != 0; /* by the caller, not by the time */
    *cut = p->t->interrupted ? *cut : 1.0;
    return TLNMF_OK;
}

/* C per entry of held-out realisations or frames at a Phi, W, H that were learnt from the others:
 * up to a constant and a factor, their negative log-likelihood. */
static tlnmf_error score_learnt(tl_comparison *c, const pass *p, int64_t i, double seconds)
{
    tl_rank_table *t = p->t;
    tl_result *result;
    double entries = (double)p->test->M * (double)p->test->N;
    if (t->kind == TL_RANK_FRAMES && p->shares)
        seconds *= 0.5; /* the scores need the rest */
    TRY(fit(c, t, p->train, seconds, c->Phi, &t->cut[i], &result));
    tlnmf_error error = TLNMF_OK;
    if (!t->interrupted && t->kind == TL_RANK_FRAMES)
        error = integrate(c, p, result, &t->cut[i], &t->score[i * t->folds + p->fold]);
    else if (!t->interrupted)
        error = evaluate(c, p->test, result, entries, &t->score[i * t->folds + p->fold]);
    tl_result_free(result);
    return error;
}

/* C per entry of a fold at W and H that were learnt from the others, at a Phi learnt from all. */
static tlnmf_error score_entries(tl_comparison *c, const pass *p, int64_t i, double seconds)
{
    tl_rank_table *t = p->t;
    tl_result *result;
    double count;
    const double *Phi = t->Phi + i * c->data->M * c->data->M;
    TRY(tl_distribute_agree(c->ctx, NULL, c->ctx->starts_comm,
                            set_mask(c, t, p->fold, true, p->masked, p->mask, &count)));
    TRY(fit(c, t, p->masked, seconds, Phi, &t->cut[i], &result));
    tlnmf_error error = set_mask(c, t, p->fold, false, p->masked, p->mask, &count);
    if (error == TLNMF_OK && !t->interrupted)
        error = evaluate(c, p->masked, result, count, &t->score[i * t->folds + p->fold]);
    tl_result_free(result);
    return error;
}

/* Phi from all entries. */
static tlnmf_error learn_Phi(tl_comparison *c, const pass *p, int64_t i, double seconds)
{
    tl_rank_table *t = p->t;
    tl_result *result;
    int64_t size = c->data->M * c->data->M;
    TRY(fit(c, t, c->data, seconds, c->Phi, &t->cut[i], &result));
    tl_copy(t->Phi + i * size, result->Phi, size);
    t->known[i] = t->interrupted ? 0.0 : 1.0;
    tl_result_free(result);
    return TLNMF_OK;
}

/* ---- all fits -------------------------------------------------------------------------------- */

/* Several processes make the same fits: if one runs out of time, all stop. */
static bool any_process(const tl_comparison *c, bool here)
{
    return tl_comm_max(c->ctx->starts_comm, here ? 1.0 : 0.0) > 0.0;
}

static bool is_done(const pass *p, int64_t i)
{
    const tl_rank_table *t = p->t;
    return p->fold < 0 ? t->known[i] != 0.0 : !isnan(t->score[i * t->folds + p->fold]);
}

/* Sets the progress of the fits that follow. */
static void announce(const tl_comparison *c, const tl_rank_table *t, int fold)
{
    c->ctx->monitor->fold = fold < 0 ? 0 : fold;
    c->ctx->monitor->folds = t->folds;
    c->ctx->monitor->k = c->low;
}

/* The fits before fit i of the pass, as a fraction of all. Learning Phi counts as a fold. */
static double part_done(const tl_comparison *c, const pass *p, int64_t i)
{
    const tl_rank_table *t = p->t;
    bool learns = t->kind == TL_RANK_ENTRIES;
    double before = (double)((learns ? p->fold + 1 : p->fold) * t->count + i);
    double here = before / ((double)t->count * (double)(learns ? t->folds + 1 : t->folds));
    return ((double)(t - c->table) + here) / (double)c->tables;
}

/* One pass over all K, each with its share of the time. Finished fits are skipped. */
static tlnmf_error run(tl_comparison *c, const pass *p)
{
    tl_rank_table *t = p->t;
    tlnmf_error error = TLNMF_OK;
    announce(c, t, p->fold);
    for (int64_t i = 0; error == TLNMF_OK && !t->interrupted && i < t->count; i++) {
        double left = c->deadline - tl_wall_seconds(), before = t->cut[i];
        double seconds = p->shares ? left / (double)(t->count - i) : left;
        if (is_done(p, i))
            continue;
        c->ctx->monitor->k = c->opt.k = c->low + i;
        c->ctx->monitor->compared = part_done(c, p, i);
        snprintf(c->section, sizeof c->section, "fold.%d.%d.%lld", (int)(t - c->table), p->fold + 1,
                 (long long)c->opt.k);
        tl_log(c->ctx, TLNMF_LOG_INFO, "comparing k: fold %d of %d, k = %lld",
               p->fold < 0 ? 1 : p->fold + 1, t->folds, (long long)c->opt.k);
        error = p->fold < 0       ? learn_Phi(c, p, i, seconds)
                : p->test == NULL ? score_entries(c, p, i, seconds)
                                  : score_learnt(c, p, i, seconds);
        error = tl_distribute_agree(c->ctx, NULL, c->ctx->starts_comm, error);
        t->timed_out = any_process(c, t->timed_out || t->cut[i] != 0.0);
        t->interrupted = any_process(c, t->interrupted);
        bool late = !p->shares && t->cut[i] != before;
        if (any_process(c, late || !is_done(p, i))) { /* half a fold is not comparable */
            if (p->fold >= 0)
                t->score[i * t->folds + p->fold] = NAN;
            if (!p->shares)
                t->cut[i] = before;
            break;
        }
        if (error == TLNMF_OK && !t->interrupted)
            tl_rank_finished(c);
    }
    return error;
}

/* Whether a fold that takes as long as the last one would end in time. */
static bool has_time(const tl_comparison *c, tl_rank_table *t, double spent)
{
    bool late = any_process(c, tl_wall_seconds() + spent > c->deadline);
    t->timed_out = t->timed_out || late;
    return !late;
}

static bool is_complete(const tl_rank_table *t, int fold)
{
    bool all = true;
    for (int64_t i = 0; i < t->count; i++)
        all = all && !isnan(t->score[i * t->folds + fold]);
    return all;
}

/* One fold of a table; `data` and `mask` are those of entries. */
static tlnmf_error score_fold(tl_comparison *c, tl_rank_table *t, int fold, tlnmf_data *masked,
                              double *mask)
{
    tlnmf_data *train = NULL, *test = NULL;
    if (is_complete(t, fold))
        return TLNMF_OK;
    announce(c, t, fold);
    if (t->kind != TL_RANK_ENTRIES) {
        tlnmf_error error = split(c, t, fold, &train, &test);
        if (error == TLNMF_ERR_CALLBACK)
            t->interrupted = any_process(c, tl_stopped(c->ctx->monitor) != 0);
        if (error != TLNMF_OK)
            return t->interrupted ? TLNMF_OK : error;
    }
    const pass p = {.t = t,
                    .fold = fold,
                    .train = train,
                    .test = test,
                    .masked = masked,
                    .mask = mask,
                    .shares = fold == 0};
    tlnmf_error error = run(c, &p);
    tlnmf_data_free(train);
    tlnmf_data_free(test);
    return error;
}

static tlnmf_error score_folds(tl_comparison *c, tl_rank_table *t, tlnmf_data *masked, double *mask)
{
    tlnmf_error error = TLNMF_OK;
    double began = tl_wall_seconds(), spent = 0.0;
    for (int f = 0; error == TLNMF_OK && !t->interrupted && f < t->folds; f++) {
        if (f > 0 && !has_time(c, t, spent))
            break;
        error = score_fold(c, t, f, masked, mask);
        if (error != TLNMF_OK || t->interrupted || !is_complete(t, f))
            break;
        t->complete = f + 1;
        spent = (tl_wall_seconds() - began) / (double)(f + 1);
    }
    return error;
}

/* Learns Phi of each K first, in three quarters of the time; then W and H alone, without the fold.
 */
static tlnmf_error score_by_entries(tl_comparison *c, tl_rank_table *t)
{
    tlnmf_data *masked = NULL;
    double *mask, end = c->deadline;
    void *memory;
    const tl_settings asked = c->opt;
    tl_slot table[] = {TL_SLOT(mask, c->data->M * c->data->N)};
    TRY(tl_distribute_agree(c->ctx, NULL, c->ctx->starts_comm,
                            TL_ARENA(c->ctx, "a mask", table, &memory)));
    t->balanced = is_uneven(t, c->data);
    if (isfinite(end))
        c->deadline = tl_wall_seconds() + 0.75 * (end - tl_wall_seconds());
    tlnmf_error error = tl_distribute_agree(c->ctx, NULL, c->ctx->starts_comm,
                                            tl_data_copy(c->ctx, c->data, &masked));
    if (error == TLNMF_OK)
        error = run(c, &(pass){.t = t, .fold = -1, .shares = true});
    c->deadline = end;
    c->opt.method = TL_METHOD_NMF;
    c->opt.exchange = 0;
    if (error == TLNMF_OK)
        error = score_folds(c, t, masked, mask);
    c->opt = asked;
    tlnmf_data_free(masked);
    tl_release(&c->ctx->hooks, memory);
    return error;
}

tlnmf_error tl_rank_score(tl_comparison *c, tl_rank_table *t)
{
    return t->kind == TL_RANK_ENTRIES ? score_by_entries(c, t) : score_folds(c, t, NULL, NULL);
}
