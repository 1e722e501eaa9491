/* Held-out scores, within the time that there is. */
#include "base/record.h"
#include "base/sums.h"
#include "rank/rank.h"
#include "search/share.h"

#include <math.h>

/* ---- one fit --------------------------------------------------------------------------------- */

/* Tells the caller which fit is running. Works on a copy of the context, so that the last message
 * does not change during a run. */
static int report(const tl_progress *progress, void *user)
{
    const tl_comparison *c = user;
    tlnmf_ctx ctx = *c->ctx;
    (void)progress;
    tlnmf_set_integer(&ctx, c->progress, "k", c->K); /* the names are there: these cannot fail */
    tlnmf_set_integer(&ctx, c->progress, "fold", c->fold);
    tlnmf_set_integer(&ctx, c->progress, "folds", c->folds);
    tlnmf_set_real(&ctx, c->progress, "seconds", tl_wall_seconds() - c->began);
    return ctx.callback(c->progress, ctx.callback_user);
}

/* A fit within `seconds`. Notes in the table whether it was interrupted, and in *cut whether the
 * time ended it. */
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
                                .callback = c->progress != NULL ? report : NULL,
                                .user = c,
                                .machines = c->ctx->starts};
    TRY(tl_fit_as(c->ctx, &opt, &how, out));
    t->interrupted = t->interrupted || (*out)->info.outcome == TLNMF_CANCELLED;
    if ((*out)->info.outcome == TLNMF_TIME)
        *cut = 1.0;
    return TLNMF_OK;
}

/* C of held-out data at a point that was learnt from the others, over `entries`. */
static tlnmf_error evaluate(tl_comparison *c, const tlnmf_data *data, const tl_result *result,
                            double entries, double *score)
{
    tl_point_values values = {0};
    const tl_model_point point = {result->Phi, result->W, result->H, result->info.K, c->opt.eps};
    TRY(tl_evaluate(c->ctx, data, &point, &values, NULL));
    *score = values.C / entries;
    return TLNMF_OK;
}

/* What one pass over all K works on. */
typedef struct pass {
    tl_rank_table *t;
    int fold;                       /* -1: Phi is learnt from all entries */
    const tlnmf_data *train, *test; /* NULL: entries */
    tlnmf_data *masked;             /* entries */
    double *mask;                   /* M x N */
    bool shares;                    /* its fits share the time out */
} pass;

/* C per entry of held-out realisations at a Phi, W, H that were learnt from the others: up to a
 * constant and a factor, their negative log-likelihood. */
static tlnmf_error score_realisations(tl_comparison *c, const pass *p, int64_t i, double seconds)
{
    tl_rank_table *t = p->t;
    tl_result *result;
    double entries = (double)p->test->M * (double)p->test->N;
    TRY(fit(c, t, p->train, seconds, c->Phi, &t->cut[i], &result));
    tlnmf_error error =
        t->interrupted ? TLNMF_OK
                       : evaluate(c, p->test, result, entries, &t->score[i * t->folds + p->fold]);
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
    TRY(tl_share_error(c->ctx, NULL, c->ctx->starts,
                       tl_rank_mask(c, t, p->fold, true, p->masked, p->mask, &count)));
    TRY(fit(c, t, p->masked, seconds, Phi, &t->cut[i], &result));
    tlnmf_error error = tl_rank_mask(c, t, p->fold, false, p->masked, p->mask, &count);
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

/* Several machines make the same fits: one whose time is over ends them all. */
static bool any_machine(const tl_comparison *c, bool here)
{
    return tl_sums_max(c->ctx->starts, here ? 1.0 : 0.0) > 0.0;
}

static bool is_done(const pass *p, int64_t i)
{
    const tl_rank_table *t = p->t;
    return p->fold < 0 ? t->known[i] != 0.0 : !isnan(t->score[i * t->folds + p->fold]);
}

/* One pass over all K, each with its share of the time. Those that are there stay. */
static tlnmf_error run(tl_comparison *c, const pass *p)
{
    tl_rank_table *t = p->t;
    tlnmf_error error = TLNMF_OK;
    c->fold = p->fold < 0 ? 0 : p->fold;
    c->folds = t->folds;
    for (int64_t i = 0; error == TLNMF_OK && !t->interrupted && i < t->count; i++) {
        double left = c->deadline - tl_wall_seconds(), before = t->cut[i];
        double seconds = p->shares ? left / (double)(t->count - i) : left;
        if (is_done(p, i))
            continue;
        c->K = c->opt.k = c->low + i;
        error = p->fold < 0       ? learn_Phi(c, p, i, seconds)
                : p->test == NULL ? score_entries(c, p, i, seconds)
                                  : score_realisations(c, p, i, seconds);
        error = tl_share_error(c->ctx, NULL, c->ctx->starts, error);
        t->timed_out = any_machine(c, t->timed_out || t->cut[i] != 0.0);
        t->interrupted = any_machine(c, t->interrupted);
        if (!p->shares && t->cut[i] != before) { /* half a fold says nothing */
            t->cut[i] = before;
            t->score[i * t->folds + p->fold] = NAN;
            break;
        }
        if (error == TLNMF_OK)
            tl_rank_keep_save(c, t->interrupted);
    }
    return error;
}

/* Whether a fold that takes as long as the last one would end in time. */
static bool has_time(const tl_comparison *c, tl_rank_table *t, double spent)
{
    bool late = any_machine(c, tl_wall_seconds() + spent > c->deadline);
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
    if (t->kind != TL_RANK_ENTRIES)
        TRY(tl_rank_split(c, t, fold, &train, &test));
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

/* Phi of each K first, in three quarters of the time; then W and H alone, without the fold: what
 * else the settings ask for is not NMF's. */
static tlnmf_error score_by_entries(tl_comparison *c, tl_rank_table *t)
{
    tlnmf_data *masked = NULL;
    double *mask, end = c->deadline;
    void *memory;
    const tl_settings asked = c->opt;
    tl_slot table[] = {TL_SLOT(mask, c->data->M * c->data->N)};
    TRY(tl_share_error(c->ctx, NULL, c->ctx->starts, TL_ARENA(c->ctx, "a mask", table, &memory)));
    t->balanced = tl_rank_is_uneven(t, c->data);
    if (isfinite(end))
        c->deadline = tl_wall_seconds() + 0.75 * (end - tl_wall_seconds());
    tlnmf_error error =
        tl_share_error(c->ctx, NULL, c->ctx->starts, tl_data_copy(c->ctx, c->data, &masked));
    if (error == TLNMF_OK)
        error = run(c, &(pass){.t = t, .fold = -1, .shares = true});
    c->deadline = end;
    c->opt.method = TL_METHOD_NMF;
    c->opt.exchange = c->opt.newton = 0;
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
