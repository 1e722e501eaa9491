/* Scores that are there, kept in checkpoints: what is saved when, and how it is taken again. */
#include "base/record.h"
#include "rank/rank.h"
#include "search/identity.h"

#include <math.h>
#include <stdio.h>

enum { FORMAT = 1, NAME = 32 };

struct tl_rank_keep {
    tl_keeping keeping;
    tlnmf_record *identity;
    bool changed; /* since the last checkpoint */
    double written;
};

/* ---- the arrays of a table ------------------------------------------------------------------- */

/* One that a checkpoint holds. */
typedef struct held {
    const char *what;
    double *x;
    int64_t shape[2];
    char name[NAME];
} held;

enum { HELD = 4 };

/* Returns how many there are. */
static int arrays_of(tl_comparison *c, int table, held out[HELD])
{
    tl_rank_table *t = &c->table[table];
    int64_t size = c->data->M * c->data->M;
    const held all[HELD] = {{"score", t->score, {t->count, t->folds}, ""},
                            {"cut", t->cut, {t->count, 1}, ""},
                            {"known", t->known, {t->count, 1}, ""},
                            {"Phi", t->Phi, {t->count, size}, ""}};
    int count = t->kind == TL_RANK_ENTRIES ? HELD : HELD - 2;
    for (int i = 0; i < count; i++) {
        out[i] = all[i];
        snprintf(out[i].name, NAME, "table.%d.%s", table, all[i].what);
    }
    return count;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static tlnmf_error fill(tl_comparison *c, tlnmf_record *record)
{
    held x[HELD];
    TRY(tl_identity_copy(c->ctx, c->keep->identity, record));
    for (int i = 0; i < c->tables; i++)
        for (int n = arrays_of(c, i, x) - 1; n >= 0; n--)
            TRY(tl_record_refer_array(c->ctx, record, x[n].name, x[n].x, 2, x[n].shape));
    return tlnmf_set_real(c->ctx, record, "seconds", tl_wall_seconds() - c->began);
}

static void save(tl_comparison *c)
{
    tl_rank_keep *k = c->keep;
    tlnmf_record *record = NULL;
    tlnmf_error error = tlnmf_record_create(c->ctx, &record);
    if (error == TLNMF_OK)
        error = fill(c, record);
    if (error != TLNMF_OK)
        tl_log(c->ctx, TLNMF_LOG_WARNING, "no checkpoint: %s", tlnmf_message(c->ctx));
    else if (k->keeping.save(record, k->keeping.user) != 0)
        k->keeping.save = NULL;
    tlnmf_record_free(record);
    k->changed = false;
    k->written = tl_wall_seconds();
}

void tl_rank_keep_save(tl_comparison *c, bool now)
{
    tl_rank_keep *k = c->keep;
    if (k == NULL || k->keeping.save == NULL)
        return;
    k->changed = k->changed || !now;
    if (now ? k->changed : tl_wall_seconds() >= k->written + k->keeping.seconds)
        save(c);
}

/* ---- going on -------------------------------------------------------------------------------- */

static tlnmf_error put_identity(tl_comparison *c)
{
    tlnmf_ctx *ctx = c->ctx;
    const tlnmf_data *data = c->data;
    tlnmf_record *id = c->keep->identity;
    tl_settings opt = c->opt;
    uint64_t start = TL_IDENTITY_SEED, all = (uint64_t)tl_identity_data(data);
    opt.k = c->low;
    if (c->Phi != NULL)
        start = tl_identity_hash(start, c->Phi, data->M * data->M);
    if (data->Y != NULL) /* compression cannot tell which realisations are which */
        all = tl_identity_hash(all, data->Y, data->made_of[0] * data->M * data->made_of[2]);
    TRY(tlnmf_set_text(ctx, id, "kind", "ranks"));
    TRY(tlnmf_set_integer(ctx, id, "format", FORMAT));
    TRY(tlnmf_set_text(ctx, id, "version", TLNMF_VERSION));
    TRY(tl_identity_put_options(ctx, &opt, id));
    TRY(tlnmf_set_integer(ctx, id, "low", c->low));
    TRY(tlnmf_set_integer(ctx, id, "high", c->high));
    TRY(tlnmf_set_integer(ctx, id, "M", data->M));
    TRY(tlnmf_set_integer(ctx, id, "N", data->N));
    TRY(tlnmf_set_integer(ctx, id, "data", (int64_t)all));
    return tlnmf_set_integer(ctx, id, "start", (int64_t)start);
}

static tlnmf_error load_table(tl_comparison *c, int table)
{
    held x[HELD];
    for (int n = arrays_of(c, table, x) - 1; n >= 0; n--) {
        const double *kept;
        TRY(tl_record_expect(c->ctx, c->keep->keeping.resume, "the checkpoint", x[n].name, 2,
                             x[n].shape, &kept));
        for (int64_t i = 0; kept != NULL && i < x[n].shape[0] * x[n].shape[1]; i++) {
            bool open = isnan(kept[i]) && x[n].x == c->table[table].score;
            if (!isfinite(kept[i]) && !open)
                return tl_fail(c->ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
            x[n].x[i] = kept[i];
        }
    }
    return TLNMF_OK;
}

static tlnmf_error load(tl_comparison *c)
{
    const tlnmf_record *state = c->keep->keeping.resume;
    double seconds = tlnmf_get_real(state, "seconds");
    TRY(tl_identity_compare(c->ctx, c->keep->identity, state));
    for (int i = 0; i < c->tables; i++)
        TRY(load_table(c, i));
    c->began -= seconds > 0.0 && isfinite(seconds) ? seconds : 0.0;
    return TLNMF_OK;
}

tlnmf_error tl_rank_keep_create(tl_comparison *c)
{
    const tl_keeping *keeping = &c->ctx->keeping;
    void *memory;
    tl_rank_keep *k;
    if (keeping->save == NULL && keeping->resume == NULL)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(k, 1)};
    TRY(TL_ARENA(c->ctx, "what is kept of a comparison", table, &memory));
    k->keeping = *keeping;
    if (c->ctx->starts != NULL && c->ctx->starts->rank > 0)
        k->keeping.save = NULL; /* all machines have the same scores: the first one keeps them */
    k->written = tl_wall_seconds();
    c->keep = k;
    TRY(tlnmf_record_create(c->ctx, &k->identity));
    TRY(put_identity(c));
    return keeping->resume != NULL ? load(c) : TLNMF_OK;
}

void tl_rank_keep_free(tl_comparison *c)
{
    if (c->keep == NULL)
        return;
    tlnmf_record_free(c->keep->identity);
    tl_release(&c->ctx->hooks, c->keep);
    c->keep = NULL;
}
