/* tlnmf_compare_ranks: what is kept aside, the tables one after the other, and which decides. */
#include "base/record.h"
#include "rank/rank.h"
#include "search/join.h"
#include "search/share.h"

#include <math.h>

/* ---- before the fits ------------------------------------------------------------------------- */

/* What the data were made of, as their sizes tell. */
typedef enum making { UNKNOWN, AS_THEY_ARE, BLOCKS, MOVING } making;

static making made_by(const tlnmf_data *data)
{
    int64_t S = data->made_of[0], N = data->made_of[2];
    if (data->Y == NULL || data->S % S != 0)
        return UNKNOWN;
    if (data->N == N)
        return data->S == S ? AS_THEY_ARE : MOVING;
    return BLOCKS;
}

/* What to keep aside. One realisation of a few frames, or at a kept transform: entries. Where Phi
 * is learnt it sees the entries, but not neighbouring frames: these have a table of their own. */
static void plan(tl_comparison *c)
{
    const tlnmf_data *data = c->data;
    making how = made_by(data);
    bool blocks = how == BLOCKS && !data->weighted; /* there is no weight of a part of a block */
    bool several = (how == AS_THEY_ARE && data->S > 1) || blocks;
    bool near = how == AS_THEY_ARE && data->S == 1 && !data->weighted &&
                data->N / TL_RANK_NEAR >= TL_RANK_LEAST_FRAMES && c->opt.method != TL_METHOD_NMF;
    if (near)
        c->table[c->tables++] =
            (tl_rank_table){.kind = TL_RANK_NEIGHBOURS, .S = TL_RANK_NEAR, .folds = TL_RANK_NEAR};
    if (several)
        c->table[c->tables++] =
            (tl_rank_table){.kind = blocks ? TL_RANK_NEIGHBOURS : TL_RANK_REALISATIONS,
                            .S = data->S,
                            .folds = (int)tl_min(data->S, TL_RANK_FOLDS)};
    else
        c->table[c->tables++] =
            (tl_rank_table){.kind = TL_RANK_ENTRIES, .folds = TL_RANK_ENTRY_FOLDS};
}

static tlnmf_error check_range(tl_comparison *c, const int64_t *range)
{
    const int64_t usual = 8, most = 10000; /* that of the option k */
    c->low = range != NULL ? range[0] : 1;
    c->high = range != NULL ? range[1] : tl_min(usual, tl_min(c->data->M, c->data->N));
    if (c->low < 1 || c->high < c->low || c->high > most)
        return tl_fail(c->ctx, TLNMF_ERR_OPTION, "k from %lld to %lld: 1 <= low <= high <= %lld",
                       (long long)c->low, (long long)c->high, (long long)most);
    return TLNMF_OK;
}

/* Folds see less than all data: the floor must be the same for all. What the settings ask for
 * beside a fit is left out. */
static tlnmf_error prepare(tl_comparison *c, const tl_settings *settings, const tlnmf_record *start)
{
    int64_t M = c->data->M;
    c->opt = *settings;
    c->opt.k = c->low;
    c->opt.trace = c->opt.trace_all = c->opt.certify = c->opt.eps_check = 0;
    if (!(c->opt.eps > 0.0))
        c->opt.eps = c->opt.eps_rel * c->data->mean_power;
    TRY(tlnmf_settings_check(c->ctx, &c->opt));
    if (c->data->sums != NULL || c->ctx->frames != NULL)
        return tl_fail(c->ctx, TLNMF_ERR_OPTION,
                       "several k are compared where all frames are on every machine");
    if (c->data->mask != NULL)
        return tl_fail(c->ctx, TLNMF_ERR_OPTION,
                       "several k are compared without a mask: one may be used up to keep entries "
                       "aside");
    if (start == NULL)
        return TLNMF_OK;
    if (tlnmf_get_array(start, "W", NULL, NULL) != NULL ||
        tlnmf_get_array(start, "H", NULL, NULL) != NULL)
        return tl_fail(c->ctx, TLNMF_ERR_OPTION,
                       "several k are compared from starts of their own: W and H cannot be given");
    return tl_record_expect(c->ctx, start, "the start", "Phi", 2, (int64_t[]){M, M}, &c->Phi);
}

static tlnmf_error check_frames(const tl_comparison *c)
{
    if (c->table[c->tables - 1].kind == TL_RANK_ENTRIES && c->data->N < TL_RANK_LEAST_FRAMES)
        return tl_fail(c->ctx, TLNMF_ERR_DATA,
                       "to compare several k, entries of V are kept aside, which takes %d frames: "
                       "give one k",
                       TL_RANK_LEAST_FRAMES);
    return TLNMF_OK;
}

/* All names of the record that the progress function gets. */
static tlnmf_error create_progress(tl_comparison *c)
{
    if (c->ctx->callback == NULL)
        return TLNMF_OK;
    TRY(tlnmf_record_create(c->ctx, &c->progress));
    TRY(tl_record_refer_text(c->ctx, c->progress, "stage", "ranks"));
    TRY(tlnmf_set_integer(c->ctx, c->progress, "k", c->low));
    TRY(tlnmf_set_integer(c->ctx, c->progress, "fold", 0));
    TRY(tlnmf_set_integer(c->ctx, c->progress, "folds", 0));
    return tlnmf_set_real(c->ctx, c->progress, "seconds", 0.0);
}

/* ---- the tables ------------------------------------------------------------------------------ */

/* Shares the time that is left out over the tables. One that was interrupted is the last. */
static tlnmf_error score_all(tl_comparison *c, int *made)
{
    double seconds = c->opt.max_seconds > 0.0 ? c->opt.max_seconds : INFINITY;
    tlnmf_error error = TLNMF_OK;
    bool go_on = true;
    for (*made = 0; error == TLNMF_OK && go_on && *made < c->tables; ++*made) {
        tl_rank_table *t = &c->table[*made];
        double left = c->began + seconds - tl_wall_seconds();
        c->deadline = tl_wall_seconds() + left / (c->tables - *made);
        error = tl_rank_score(c, t);
        tl_rank_compare(t);
        go_on = !t->interrupted;
    }
    return error;
}

/* Neighbours decide if they support more than the fewest; else they may have changed too much. */
static tlnmf_error put_all(const tl_comparison *c, int made, tlnmf_record *out)
{
    int first = made == 2 && c->table[0].best <= 0 ? 1 : 0;
    TRY(tlnmf_set_real(c->ctx, out, "eps", c->opt.eps));
    TRY(tl_rank_put(c, &c->table[first], "", out));
    return made == 2 ? tl_rank_put(c, &c->table[!first], "other.", out) : TLNMF_OK;
}

/* What the comparison works with; the caller frees what there is. */
static tlnmf_error create(tl_comparison *c)
{
    for (int i = 0; i < c->tables; i++)
        TRY(tl_rank_create(c, &c->table[i]));
    TRY(create_progress(c));
    return tl_rank_keep_create(c);
}

static tlnmf_error compare(tl_comparison *c, tlnmf_record *out)
{
    int made = 0;
    tl_sums *machines = c->ctx->starts;
    TRY(tl_share_error(c->ctx, NULL, machines, create(c)));
    TRY(tl_share_error(c->ctx, NULL, machines,
                       tl_join_agree(c->ctx, NULL, machines, c->ctx->keeping.resume)));
    TRY(score_all(c, &made));
    if (c->keep != NULL && tl_wall_seconds() - c->began >= c->ctx->keeping.seconds)
        tl_rank_keep_save(c, true); /* what follows may take long, too */
    return put_all(c, made, out);
}

tlnmf_error tlnmf_compare_ranks(tlnmf_ctx *ctx, const tlnmf_data *data,
                                const tlnmf_settings *settings, const int64_t *range,
                                const tlnmf_record *start, tlnmf_record **ranks)
{
    tl_comparison c = {.ctx = ctx, .data = data, .began = tl_wall_seconds()};
    TL_NEED(ctx, ranks);
    *ranks = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_FIT));
    TRY(check_range(&c, range));
    TRY(prepare(&c, settings, start));
    plan(&c);
    TRY(check_frames(&c));
    TRY(tlnmf_record_create(ctx, ranks));
    tlnmf_error error = tl_record_keep_if(compare(&c, *ranks), ranks);
    tl_rank_keep_free(&c);
    tlnmf_record_free(c.progress);
    for (int i = 0; i < c.tables; i++)
        tl_rank_free(&c, &c.table[i]);
    return error;
}
