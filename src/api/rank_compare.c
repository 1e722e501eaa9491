/* tlnmf_compare_ranks: which data are held out, the tables of scores and their checkpoint, and
 * which table decides. */
#include "api/rank.h"
#include "base/record.h"
#include "search/checkpoint.h"
#include "search/distribute.h"

#include <math.h>
#include <stdio.h>

/* ---- before the fits ------------------------------------------------------------------------- */

/* Finds from the sizes how the data were made from realisations. */
typedef enum data_origin { UNKNOWN, AS_THEY_ARE, BLOCKS, MOVING } data_origin;

static data_origin made_by(const tlnmf_data *data)
{
    int64_t S = data->made_of[0], N = data->made_of[2];
    if (data->Y == NULL || data->S / data->dof % S != 0)
        return UNKNOWN;
    if (data->N == N)
        return data->S / data->dof == S ? AS_THEY_ARE : MOVING;
    return BLOCKS;
}

/* The frames that have a weight. */
static int64_t count_frames(const tlnmf_data *data)
{
    int64_t count = 0;
    for (int64_t n = 0; n < data->N; n++)
        count += !tl_data_is_silent(data, n);
    return count;
}

/* Chooses what to hold out. With many frames, and many realisations or a fixed transform: frames.
 * With one realisation of few frames, or at a fixed transform: entries. A learnt Phi has seen the
 * held-out entries, but not held-out neighbouring frames; these therefore have their own table. */
static void plan(tl_comparison *c)
{
    const tlnmf_data *data = c->data;
    int64_t S = data->S / data->dof;
    data_origin how = made_by(data);
    bool blocks = how == BLOCKS && !data->weighted; /* weights belong to whole blocks */
    bool several = (how == AS_THEY_ARE && S > 1) || blocks;
    bool near = how == AS_THEY_ARE && S == 1 && !data->weighted &&
                data->N / TL_RANK_NEAR >= TL_RANK_LEAST_FRAMES && c->opt.method != TL_METHOD_NMF;
    if (near)
        c->table[c->tables++] =
            (tl_rank_table){.kind = TL_RANK_NEIGHBOURS, .S = TL_RANK_NEAR, .folds = TL_RANK_NEAR};
    bool fixed = c->opt.method == TL_METHOD_NMF;
    if (how == AS_THEY_ARE && (fixed || data->S >= TL_RANK_MANY_REALISATIONS) &&
        count_frames(data) >= TL_RANK_MANY_FRAMES)
        c->table[c->tables++] =
            (tl_rank_table){.kind = TL_RANK_FRAMES, .S = data->S, .folds = TL_RANK_FRAME_FOLDS};
    else if (several)
        c->table[c->tables++] =
            (tl_rank_table){.kind = blocks ? TL_RANK_NEIGHBOURS : TL_RANK_REALISATIONS,
                            .S = S,
                            .folds = (int)tl_min(S, TL_RANK_FOLDS)};
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
        return tl_fail(c->ctx, TLNMF_ERR_OPTION,
                       "k from %lld to %lld is not a range within [1, %lld]", (long long)c->low,
                       (long long)c->high, (long long)most);
    return TLNMF_OK;
}

/* The floor is the same for all folds. Options that add to a fit, such as traces, are switched off.
 */
static tlnmf_error prepare(tl_comparison *c, const tl_settings *settings, const tlnmf_record *start)
{
    int64_t M = c->data->M;
    c->opt = *settings;
    c->opt.k = c->low;
    c->opt.trace = c->opt.trace_all = c->opt.certify = c->opt.eps_check = 0;
    if (!(c->opt.eps > 0.0))
        c->opt.eps = tl_default_floor(c->data, &c->opt);
    TRY(tlnmf_settings_check(c->ctx, &c->opt));
    if (c->data->frames_comm != NULL || c->ctx->frames_comm != NULL)
        return tl_fail(c->ctx, TLNMF_ERR_OPTION,
                       "several k cannot be compared if frames are distributed over processes");
    if (c->data->mask != NULL)
        return tl_fail(c->ctx, TLNMF_ERR_OPTION,
                       "several k cannot be compared if powers are missing or masked: pass one k");
    if (start == NULL)
        return TLNMF_OK;
    TRY(tl_check_start_names(c->ctx, start));
    if (tlnmf_record_get_array(start, "W", NULL, NULL) != NULL ||
        tlnmf_record_get_array(start, "H", NULL, NULL) != NULL)
        return tl_fail(c->ctx, TLNMF_ERR_OPTION, "to compare several k, a start may hold Phi only");
    return tl_record_expect(c->ctx, start, "the start", "Phi", 2, (int64_t[]){M, M}, &c->Phi);
}

static tlnmf_error check_frames(const tl_comparison *c)
{
    if (c->table[c->tables - 1].kind == TL_RANK_ENTRIES &&
        count_frames(c->data) < TL_RANK_LEAST_FRAMES)
        return tl_fail(c->ctx, TLNMF_ERR_DATA,
                       "comparing several k holds out entries of V, which requires at least %d "
                       "frames%s: use a single k",
                       TL_RANK_LEAST_FRAMES, c->data->weighted ? " that have a weight" : "");
    return TLNMF_OK;
}

/* ---- tables of held-out scores --------------------------------------------------------------- */

/* score, cut, known and Phi are one array of so many numbers; it begins at x. */
static int64_t numbers_of(const tl_comparison *c, const tl_rank_table *t)
{
    int64_t size = t->kind == TL_RANK_ENTRIES ? c->data->M * c->data->M : 0;
    return t->count * (t->folds + 2 + size);
}

static void place(tl_rank_table *t, double *x)
{
    t->score = x;
    t->cut = t->score + t->count * t->folds;
    t->known = t->cut + t->count;
    t->Phi = t->known + t->count;
}

static tlnmf_error create_table(const tl_comparison *c, tl_rank_table *t)
{
    int64_t count = c->high - c->low + 1;
    double *x;
    t->count = count;
    t->best = t->sparing = -1;
    tl_slot table[] = {TL_SLOT(x, numbers_of(c, t)), TL_SLOT(t->mean, count),
                       TL_SLOT(t->error, count), TL_SLOT(t->done, count)};
    TRY(TL_ARENA(c->ctx, "a table of scores", table, &t->memory));
    place(t, x);
    for (int64_t i = 0; i < count * t->folds; i++)
        t->score[i] = NAN;
    return TLNMF_OK;
}

/* ---- checkpoints: the numbers of a table lie in the record ----------------------------------- */

/* Fits that an earlier run's time limit has cut run again. */
static void forget_cut(tl_rank_table *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        if (t->cut[i] == 0.0)
            continue;
        for (int f = 0; f < t->folds; f++)
            t->score[i * t->folds + f] = NAN;
        t->cut[i] = t->known[i] = 0.0;
    }
}

/* Moves the numbers of a table to an array of the record, which may have them already. With another
 * J or other starts all fits run again. */
static tlnmf_error move(const tl_comparison *c, tl_rank_table *t)
{
    char name[64];
    int64_t count = numbers_of(c, t);
    double *x;
    snprintf(name, sizeof name, "fit.ranks.%d.%lld.%lld", (int)(t - c->table), (long long)c->opt.J,
             (long long)c->opt.starts);
    bool found = tlnmf_record_has(c->units->record, name) != 0;
    TRY(tl_record_table(c->ctx, c->units->record, name, 1, count, &x));
    if (!found)
        tl_copy(x, t->score, count);
    place(t, x);
    for (int64_t i = 0; i < count; i++) /* the score of a fold that has not run is NaN */
        if (!isfinite(x[i]) && (i >= t->count * t->folds || !isnan(x[i])))
            return tl_fail(c->ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
    forget_cut(t);
    return TLNMF_OK;
}

/* Takes the scores of finished folds from the state to resume. */
static tlnmf_error resume(tl_comparison *c)
{
    const tlnmf_data *data = c->data;
    char words[128];
    uint64_t h = TL_HASH_SEED;
    if (c->units == NULL)
        return TLNMF_OK;
    if (data->Y != NULL) /* compressed data do not distinguish their realisations */
        h = tl_hash(h, data->Y, data->made_of[0] * data->M * data->made_of[2]);
    snprintf(words, sizeof words, "low=%lld high=%lld hash-Y=%016llx dof=%lld", (long long)c->low,
             (long long)c->high, (unsigned long long)h, (long long)data->dof);
    TRY(tl_checkpoint_identify(c->ctx, c->units, "fit.ranks", data, &(tl_start){.Phi = c->Phi},
                               &c->opt, words));
    for (int i = 0; i < c->tables; i++)
        TRY(move(c, &c->table[i]));
    return TLNMF_OK;
}

void tl_rank_finished(const tl_comparison *c)
{
    if (c->units == NULL)
        return;
    tl_units_drop(c->units, c->section); /* its starts */
    c->units->changed = true;
    tl_units_save(c->units, false);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Means over the complete folds, the best K, and standard errors. Scores of one fold vary together,
 * so that differences between two K are taken fold by fold. */
static void summarise(tl_rank_table *t)
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

/* What limits the choice. At a fixed transform entries have no such limits. */
static void describe_limits(const tl_comparison *c, const tl_rank_table *t, char *text, size_t size)
{
    long long S = (long long)(t->kind == TL_RANK_ENTRIES ? c->data->S : t->S);
    bool learns = c->opt.method != TL_METHOD_NMF;
    text[0] = '\0';
    if (t->best < 0)
        return;
    if (t->kind == TL_RANK_NEIGHBOURS)
        snprintf(text, size,
                 "If the data change within %lld frames, this number is too low "
                 "(docs/howto/components.md)",
                 S);
    else if (t->kind == TL_RANK_ENTRIES && learns)
        snprintf(text, size,
                 S == 1 ? "Too few data: with one realisation Phi fits their noise, and this is "
                          "rarely the true number (docs/howto/components.md)"
                        : "Phi fits the noise of few realisations: this may not be the true number "
                          "(docs/howto/components.md)");
    else if (t->kind == TL_RANK_ENTRIES)
        return;
    else if (!learns && c->data->M * S < TL_RANK_FEW_ENTRIES)
        snprintf(text, size,
                 "Few data: with frames of %lld entries the true number is often larger by one "
                 "(docs/howto/components.md)",
                 (long long)c->data->M);
    else if (learns && S < TL_RANK_ENOUGH)
        snprintf(text, size,
                 "%s data: with %lld realisation%s the true number is %s found; it may be larger "
                 "(docs/howto/components.md)",
                 S < TL_RANK_MANY_REALISATIONS ? "Too few" : "Few", S, S == 1 ? "" : "s",
                 S < TL_RANK_MANY_REALISATIONS ? "rarely" : "not always");
    else if (S < 100)
        snprintf(text, size, "These data support this many components; the truth may have more");
}

/* Adds a table to the record; `prefix` is "" or "other.". */
static tlnmf_error put_table(const tl_comparison *c, const tl_rank_table *t, const char *prefix,
                             tlnmf_record *out)
{
    static const char *const kinds[] = {"realisations", "neighbours", "entries", "frames"};
    tlnmf_outcome outcome = t->interrupted ? TLNMF_OUTCOME_CANCELLED
                            : t->timed_out ? TLNMF_OUTCOME_TIME
                                           : TLNMF_OUTCOME_CONVERGED;
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {{"k", t->best < 0 ? 0 : c->low + t->best},
                    {"k_sparing", t->sparing < 0 ? 0 : c->low + t->sparing},
                    {"rank_folds", t->complete},
                    {"rank_folds_wanted", t->folds},
                    {"rank_realisations", t->S},
                    {"outcome_code", outcome}};
    char name[64], limits[160];
    describe_limits(c, t, limits, sizeof limits);
    snprintf(name, sizeof name, "%srank_limits", prefix);
    TRY(tlnmf_record_set_text(c->ctx, out, name, limits));
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, integers[i].name);
        TRY(tlnmf_record_set_integer(c->ctx, out, name, integers[i].value));
    }
    snprintf(name, sizeof name, "%srank_by", prefix);
    TRY(tl_record_refer_text(c->ctx, out, name, kinds[t->kind]));
    snprintf(name, sizeof name, "%soutcome", prefix);
    TRY(tl_record_refer_text(c->ctx, out, name, tlnmf_outcome_name(outcome)));
    return put_arrays(c, t, prefix, out);
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* Divides the remaining time among the tables. An interrupted table is the last. */
static tlnmf_error score_all(tl_comparison *c, int *made)
{
    double seconds = c->opt.max_seconds > 0.0 ? c->opt.max_seconds : INFINITY;
    tlnmf_error error = TLNMF_OK;
    bool continues = true;
    for (*made = 0; error == TLNMF_OK && continues && *made < c->tables; ++*made) {
        tl_rank_table *t = &c->table[*made];
        double left = c->began + seconds - tl_wall_seconds();
        c->deadline = tl_wall_seconds() + left / (c->tables - *made);
        error = tl_rank_score(c, t);
        summarise(t);
        bool late = t->complete > 0 && tl_wall_seconds() > c->began + seconds;
        continues = !t->interrupted && !(tl_comm_max(c->ctx->starts_comm, late ? 1.0 : 0.0) > 0.0);
    }
    return error;
}

/* Neighbours decide if their best K is above the smallest; else frames may change too fast. */
static tlnmf_error put_all(const tl_comparison *c, int made, tlnmf_record *out)
{
    int first = made == 2 && c->table[0].best <= 0 ? 1 : 0;
    TRY(tlnmf_record_set_real(c->ctx, out, "eps", c->opt.eps));
    TRY(put_table(c, &c->table[first], "", out));
    return made == 2 ? put_table(c, &c->table[!first], "other.", out) : TLNMF_OK;
}

/* Creates the tables and the checkpoint; the caller frees them, even if this fails. */
static tlnmf_error create(tl_comparison *c)
{
    for (int i = 0; i < c->tables; i++)
        TRY(create_table(c, &c->table[i]));
    return resume(c);
}

static tlnmf_error compare(tl_comparison *c, tlnmf_record *out)
{
    int made = 0;
    tl_comm *starts_comm = c->ctx->starts_comm;
    TRY(tl_units_create(c->ctx, NULL, starts_comm, &c->units));
    TRY(tl_distribute_agree(c->ctx, NULL, starts_comm, create(c)));
    TRY(score_all(c, &made));
    if (tl_wall_seconds() - c->began >= c->ctx->keeping.seconds)
        tl_units_save(c->units, true); /* the fit that follows may take long */
    return put_all(c, made, out);
}

tlnmf_error tlnmf_compare_ranks(tlnmf_ctx *ctx, const tlnmf_data *data,
                                const tlnmf_settings *settings, const int64_t *range,
                                const tlnmf_record *start, tlnmf_record **ranks)
{
    tl_comparison c = {.ctx = ctx, .data = data, .began = tl_wall_seconds()};
    tl_scope outer;
    TL_NEED_OUT(ctx, ranks);
    TL_NEED(ctx, data);
    TL_NEED(ctx, settings);
    TRY(tl_settings_need(ctx, settings, TL_TASK_FIT));
    TRY(check_range(&c, range));
    TRY(prepare(&c, settings, start));
    plan(&c);
    TRY(check_frames(&c));
    tl_warn_of_data(ctx, data, &c.opt, NULL);
    tl_warn_of_numbers(ctx, data, &c.opt, NULL);
    TRY(tlnmf_record_create(ctx, ranks));
    tl_monitor_enter(ctx->monitor, 0.0, NULL, &outer);
    tlnmf_error error = tl_record_keep_if(compare(&c, *ranks), ranks);
    ctx->monitor->folds = 0;
    ctx->monitor->k = 0;
    tl_monitor_leave(ctx->monitor, &outer);
    tl_units_free(c.units);
    for (int i = 0; i < c.tables; i++)
        tl_release(&ctx->hooks, c.table[i].memory);
    return error;
}
