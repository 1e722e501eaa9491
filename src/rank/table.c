/* Tables of held-out scores: their memory, their comparison, and the record. */
#include "base/record.h"
#include "rank/rank.h"

#include <math.h>
#include <stdio.h>

tlnmf_error tl_rank_create(const tl_comparison *c, tl_rank_table *t)
{
    int64_t count = c->high - c->low + 1, size = t->kind == TL_RANK_ENTRIES ? c->data->M : 0;
    t->count = count;
    t->best = t->sparing = -1;
    tl_slot table[] = {TL_SLOT(t->score, count * t->folds),
                       TL_SLOT(t->cut, count),
                       TL_SLOT(t->Phi, count * size * size),
                       TL_SLOT(t->known, count),
                       TL_SLOT(t->mean, count),
                       TL_SLOT(t->error, count),
                       TL_SLOT(t->done, count)};
    TRY(TL_ARENA(c->ctx, "a table of scores", table, &t->memory));
    for (int64_t i = 0; i < count * t->folds; i++)
        t->score[i] = NAN;
    return TLNMF_OK;
}

void tl_rank_free(const tl_comparison *c, tl_rank_table *t)
{
    tl_release(&c->ctx->hooks, t->memory);
    t->memory = NULL;
}

/* Folds share their realisations' luck, so that differences between two K are compared fold by
 * fold. */
void tl_rank_compare(tl_rank_table *t)
{
    int folds = t->complete;
    t->best = t->sparing = -1;
    for (int64_t i = 0; i < t->count; i++) {
        const double *score = t->score + i * t->folds;
        t->mean[i] = folds > 0 ? 0.0 : NAN;
        t->error[i] = NAN;
        t->done[i] = 0.0;
        for (int f = 0; f < t->folds; f++)
            t->done[i] += !isnan(score[f]);
        for (int f = 0; f < folds; f++)
            t->mean[i] += score[f] / folds;
        if (folds > 0 && (t->best < 0 || t->mean[i] < t->mean[t->best]))
            t->best = i;
    }
    for (int64_t i = 0; folds > 0 && i < t->count; i++) {
        const double *score = t->score + i * t->folds, *best = t->score + t->best * t->folds;
        double gap = t->mean[i] - t->mean[t->best], sum = 0.0;
        for (int f = 0; f < folds; f++) {
            double off = score[f] - best[f] - gap;
            sum += off * off;
        }
        t->error[i] = folds > 1 ? sqrt(sum / (folds - 1) / folds) : NAN;
        if (t->sparing < 0 && (gap <= t->error[i] || i == t->best))
            t->sparing = i;
    }
}

static tlnmf_error put_arrays(const tl_comparison *c, const tl_rank_table *t, const char *prefix,
                              tlnmf_record *out)
{
    const char *const names[] = {"k",          "C_per_entry", "above_best", "standard_error",
                                 "folds_done", "cut_short"};
    enum { COLUMNS = sizeof names / sizeof *names };
    char name[64];
    double *column[COLUMNS], *scores;
    for (int n = 0; n < COLUMNS; n++) {
        snprintf(name, sizeof name, "%srank.%s", prefix, names[n]);
        TRY(tl_record_new_array(c->ctx, out, name, 1, &t->count, &column[n]));
    }
    for (int64_t i = 0; i < t->count; i++) {
        const double values[COLUMNS] = {
            (double)(c->low + i), t->mean[i], t->best < 0 ? NAN : t->mean[i] - t->mean[t->best],
            t->error[i],          t->done[i], t->cut[i]};
        for (int n = 0; n < COLUMNS; n++)
            column[n][i] = values[n];
    }
    snprintf(name, sizeof name, "%srank.scores", prefix);
    TRY(tl_record_new_array(c->ctx, out, name, 2, (int64_t[]){t->count, t->folds}, &scores));
    tl_copy(scores, t->score, t->count * t->folds);
    return TLNMF_OK;
}

tlnmf_error tl_rank_put(const tl_comparison *c, const tl_rank_table *t, const char *prefix,
                        tlnmf_record *out)
{
    static const char *const kinds[] = {"realisations", "neighbours", "entries"};
    tlnmf_outcome outcome = t->interrupted ? TLNMF_CANCELLED
                            : t->timed_out ? TLNMF_TIME
                                           : TLNMF_CONVERGED;
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {{"k", t->best < 0 ? 0 : c->low + t->best},
                    {"k_sparing", t->sparing < 0 ? 0 : c->low + t->sparing},
                    {"rank_folds", t->complete},
                    {"rank_folds_wanted", t->folds},
                    {"rank_realisations", t->S},
                    {"outcome_code", outcome}};
    char name[64];
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, integers[i].name);
        TRY(tlnmf_set_integer(c->ctx, out, name, integers[i].value));
    }
    snprintf(name, sizeof name, "%srank_by", prefix);
    TRY(tl_record_refer_text(c->ctx, out, name, kinds[t->kind]));
    snprintf(name, sizeof name, "%soutcome", prefix);
    TRY(tl_record_refer_text(c->ctx, out, name, tlnmf_outcome_name(outcome)));
    return put_arrays(c, t, prefix, out);
}
