/* fit -k A:B: the held-out scores, within the time that there is. */
#include "cli/arrays/rank.h"

#include <math.h>
#include <time.h>

double rank_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Which fit is running, for the progress line. */
typedef struct place {
    int64_t K;
    int fold, folds;
} place;

static int show(const tlnmf_record *p, void *user)
{
    const place *at = user;
    char text[96];
    (void)p;
    snprintf(text, sizeof text, "comparing k: fold %d of %d, k = %lld", at->fold + 1, at->folds,
             (long long)at->K);
    cli_progress_show(text);
    return cli_interrupted();
}

/* ---- one fit --------------------------------------------------------------------------------- */

/* A fit within `seconds`; notes in the table whether it was interrupted, and in the line whether
 * the time ended it. */
static tlnmf_error fit(rank_table *t, rank_line *l, const tlnmf_data *data, double seconds,
                       const tlnmf_record *start, tlnmf_record **model)
{
    tlnmf_ctx *ctx = t->call->ctx;
    const double least = 1e-3; /* seconds that an option can be */
    tlnmf_error error = TLNMF_OK;
    if (isfinite(seconds))
        error = tlnmf_settings_set_real(ctx, t->settings, "max-seconds", fmax(seconds, least));
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, t->settings, start, model);
    int64_t outcome = error == TLNMF_OK ? tlnmf_get_integer(*model, "outcome_code") : 0;
    t->interrupted = t->interrupted || outcome == TLNMF_CANCELLED;
    l->cut = l->cut || outcome == TLNMF_TIME;
    return error;
}

/* C per entry of held-out realisations at a Phi, W, H that were learnt from the others: up to a
 * constant and a factor, their negative log-likelihood. */
static tlnmf_error score_fold(rank_table *t, rank_line *l, int fold, double seconds)
{
    tlnmf_ctx *ctx = t->call->ctx;
    tlnmf_record *model = NULL, *values = NULL;
    const tlnmf_record *sizes = tlnmf_data_record(t->test[fold]);
    tlnmf_error error = fit(t, l, t->train[fold], seconds, NULL, &model);
    if (error == TLNMF_OK)
        error = tlnmf_evaluate(ctx, t->test[fold], model, &values);
    if (error == TLNMF_OK)
        l->score[fold] =
            tlnmf_get_real(values, "C") / (tlnmf_get_real(sizes, "M") * tlnmf_get_real(sizes, "N"));
    tlnmf_record_free(values);
    tlnmf_record_free(model);
    return error;
}

/* ---- entries of V ---------------------------------------------------------------------------- */

/* A number below `folds` that is the same in every run (splitmix64). */
static int scatter(int64_t i, int folds)
{
    uint64_t x = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (int)((x ^ (x >> 31)) % (uint64_t)folds);
}

/* The fold of entry i: a speckle pattern. Where that leaves a row without one of the folds: each
 * as often in all rows and columns, by diagonals that are shifted every few frames. */
static int fold_of(const rank_table *t, int64_t i, int64_t N)
{
    int64_t m = i / N, n = i % N;
    if (!t->balanced)
        return scatter(i, t->folds);
    return (int)((scatter(n / t->folds, t->folds) + n + m) % t->folds);
}

/* Whether the speckle pattern leaves a row without one of the folds. */
static bool is_uneven(const rank_table *t)
{
    const tlnmf_record *sizes = tlnmf_data_record(t->data);
    int64_t M = tlnmf_get_integer(sizes, "M"), N = tlnmf_get_integer(sizes, "N");
    bool uneven = false;
    for (int64_t m = 0; m < M && !uneven; m++) {
        unsigned met = 0;
        for (int64_t n = 0; n < N; n++)
            met |= 1u << scatter(m * N + n, t->folds);
        uneven = met != (1u << t->folds) - 1;
    }
    return uneven;
}

/* Counts the entries of a fold (or all others), and masks the rest. */
static tlnmf_error mask_fold(rank_table *t, int fold, bool others, double *count)
{
    const tlnmf_record *sizes = tlnmf_data_record(t->data);
    int64_t N = tlnmf_get_integer(sizes, "N"), size = tlnmf_get_integer(sizes, "M") * N;
    *count = 0.0;
    for (int64_t i = 0; i < size; i++) {
        t->mask[i] = (fold_of(t, i, N) == fold) != others ? 1.0 : 0.0;
        *count += t->mask[i];
    }
    return tlnmf_data_set_mask(t->call->ctx, t->masked, t->mask);
}

/* Phi from all entries. */
static tlnmf_error learn_phi(rank_table *t, rank_line *l, double seconds)
{
    tlnmf_ctx *ctx = t->call->ctx;
    tlnmf_record *model = NULL;
    int64_t shape[TLNMF_MAX_RANK];
    tlnmf_error error = fit(t, l, t->data, seconds, NULL, &model);
    const double *Phi = tlnmf_get_array(model, "Phi", NULL, shape);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, &l->phi);
    if (error == TLNMF_OK)
        error = tlnmf_set_array(ctx, l->phi, "Phi", Phi, 2, shape);
    tlnmf_record_free(model);
    return error;
}

/* The settings of the fits at a kept Phi: what else they ask for is not NMF's. */
static tlnmf_error keep_phi(rank_table *t)
{
    static const char *const off[] = {"exchange", "certify", "newton", "trace", "trace-all"};
    tlnmf_ctx *ctx = t->call->ctx;
    tlnmf_error error = tlnmf_settings_set_text(ctx, t->settings, "method", "nmf");
    for (size_t i = 0; error == TLNMF_OK && i < sizeof off / sizeof *off; i++)
        error = tlnmf_settings_set_integer(ctx, t->settings, off[i], 0);
    return error;
}

/* C per entry of a fold at W and H that were learnt from the others, at a Phi learnt from all. */
static tlnmf_error score_entries(rank_table *t, rank_line *l, int fold, double seconds)
{
    tlnmf_record *model = NULL, *values = NULL;
    double count = 0.0;
    tlnmf_error error = mask_fold(t, fold, true, &count);
    if (error == TLNMF_OK)
        error = fit(t, l, t->masked, seconds, l->phi, &model);
    if (error == TLNMF_OK)
        error = mask_fold(t, fold, false, &count);
    if (error == TLNMF_OK)
        error = tlnmf_evaluate(t->call->ctx, t->masked, model, &values);
    l->score[fold] = tlnmf_get_real(values, "C") / count;
    tlnmf_record_free(values);
    tlnmf_record_free(model);
    return error;
}

/* ---- all fits -------------------------------------------------------------------------------- */

/* Several machines make the same fits: one whose time is over ends them all. */
static bool any_machine(bool here)
{
    const cli_machines *m = &cli_machines_values;
    double count = here;
    return m->size > 1 && m->sum(&count, 1, m->user) == 0 ? count > 0.0 : here;
}

/* One pass over all k; `work` is done for each with its share of the time. */
static tlnmf_error pass(rank_table *t, int fold, bool shares,
                        tlnmf_error (*work)(rank_table *, rank_line *, int, double))
{
    place at = {.fold = fold, .folds = t->folds};
    tlnmf_error error = TLNMF_OK;
    tlnmf_ctx_set_progress(t->call->ctx, show, &at);
    for (int64_t i = 0; error == TLNMF_OK && !t->interrupted && i < t->count; i++) {
        rank_line *l = &t->line[i];
        double left = t->deadline - rank_now();
        bool was_cut = l->cut;
        at.K = l->K;
        error = tlnmf_settings_set_integer(t->call->ctx, t->settings, "k", l->K);
        if (error == TLNMF_OK)
            error = work(t, l, fold, shares ? left / (double)(t->count - i) : left);
        t->timed_out = any_machine(t->timed_out || l->cut);
        t->interrupted = any_machine(t->interrupted);
        if (!shares && l->cut && !was_cut) { /* half a fold says nothing */
            l->cut = false;
            break;
        }
    }
    tlnmf_ctx_set_progress(t->call->ctx, NULL, NULL);
    return error;
}

static tlnmf_error first_phi(rank_table *t, rank_line *l, int fold, double seconds)
{
    (void)fold;
    return learn_phi(t, l, seconds);
}

static tlnmf_error one_fold(rank_table *t, rank_line *l, int fold, double seconds)
{
    tlnmf_error error = t->kind == RANK_ENTRIES ? score_entries(t, l, fold, seconds)
                                                : score_fold(t, l, fold, seconds);
    if (error == TLNMF_OK && !t->interrupted)
        l->folds = fold + 1;
    return error;
}

/* Whether a fold that takes as long as the last one would end in time. */
static bool has_time(rank_table *t, double spent)
{
    bool late = any_machine(rank_now() + spent > t->deadline);
    t->timed_out = t->timed_out || late;
    return !late;
}

static tlnmf_error score_folds(rank_table *t)
{
    tlnmf_error error = TLNMF_OK;
    if (t->kind == RANK_ENTRIES) {
        double end = t->deadline;
        t->balanced = is_uneven(t);
        if (isfinite(end)) /* the folds have the rest */
            t->deadline = rank_now() + 0.75 * (end - rank_now());
        error = pass(t, 0, true, first_phi);
        t->deadline = end;
        if (error == TLNMF_OK)
            error = keep_phi(t);
    }
    double began = rank_now(), spent = 0.0;
    for (int f = 0; error == TLNMF_OK && !t->interrupted && f < t->folds; f++) {
        if (f > 0 && !has_time(t, spent))
            break;
        error = pass(t, f, f == 0, one_fold);
        bool all = error == TLNMF_OK;
        for (int64_t i = 0; i < t->count; i++)
            all = all && t->line[i].folds == f + 1;
        if (!all || t->interrupted)
            break;
        t->complete = f + 1;
        spent = (rank_now() - began) / (double)(f + 1);
    }
    return error;
}

int rank_score(rank_table *t)
{
    tlnmf_error error = tlnmf_settings_copy(t->call->ctx, t->call->settings, &t->settings);
    if (error == TLNMF_OK)
        error = score_folds(t);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(t->call, error, NULL);
}
