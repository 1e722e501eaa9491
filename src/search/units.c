/* The checkpoint of a call: hashes, tables, the union of several checkpoints, when to save. */
#include "search/units.h"
#include "base/comm.h"
#include "base/record.h"
#include "base/settings.h"
#include "search/distribute.h"

#include <math.h>
#include <stdio.h>

enum { NAME = 64, IDENTITY = 4096 };
static const char KIND[] = "finished units 6"; /* the number changes with the format */

/* ---- hashes ---------------------------------------------------------------------------------- */

uint64_t tl_hash(uint64_t h, const void *x, int64_t words)
{
    const unsigned char *at = x;
    for (int64_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, at + i * (int64_t)sizeof word, sizeof word);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h;
}

double tl_hash_number(uint64_t h)
{
    return (double)(h >> 11);
}

/* ---- the union of two checkpoints ------------------------------------------------------------ */

static tlnmf_error check_kind(tlnmf_ctx *ctx, const tlnmf_record *state)
{
    const char *kind = tlnmf_record_get_text(state, "kind");
    if (kind == NULL)
        return tl_fail(ctx, TLNMF_ERR_DATA, "this is not a checkpoint");
    if (strcmp(kind, KIND) == 0)
        return TLNMF_OK;
    return tl_fail(ctx, TLNMF_ERR_DATA,
                   "this is a checkpoint of another version of tlnmf, which cannot be resumed: run "
                   "again without it");
}

/* Compares two identities, and names the first word that differs. Both have the same order. */
static tlnmf_error compare(tlnmf_ctx *ctx, const char *now, const char *was)
{
    size_t same = 0, word = 0;
    if (was == NULL || strcmp(now, was) == 0)
        return was == NULL ? tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is damaged") : TLNMF_OK;
    for (; now[same] == was[same]; same++)
        word = now[same] == ' ' ? same + 1 : word;
    if (strncmp(now + word, "hash", 4) == 0)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the checkpoint belongs to other data or another start");
    return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint has %.*s, but this run has %.*s",
                   (int)strcspn(was + word, " "), was + word, (int)strcspn(now + word, " "),
                   now + word);
}

const double *tl_units_rows(const tlnmf_record *record, const char *name, int64_t *rows,
                            int64_t *columns)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t dimensions;
    const double *x = tlnmf_record_get_array(record, name, &dimensions, shape);
    *rows = shape[0];
    *columns = shape[1];
    return dimensions == 2 && *rows > 0 && *columns >= TL_UNIT_NUMBERS ? x : NULL;
}

static bool is_better(const double *row, const double *old)
{
    const tl_unit *a = (const tl_unit *)row, *b = (const tl_unit *)old;
    return a->done != 0.0 && (b->done == 0.0 || a->score < b->score);
}

/* Replaces the rows of `all` that the state knows better. */
static tlnmf_error join_rows(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state,
                             const char *name)
{
    int64_t rows, columns, old_rows, old_columns;
    const double *from = tl_units_rows(state, name, &rows, &columns);
    const double *old = tl_units_rows(all, name, &old_rows, &old_columns);
    double *to;
    if (from == NULL || old == NULL)
        return TLNMF_OK;
    if (columns != old_columns) /* arrays of a start, with traces of different lengths */
        return is_better(from, old) ? tl_record_copy(ctx, state, name, all) : TLNMF_OK;
    TRY(tl_record_table(ctx, all, name, tl_max(old_rows, rows), columns, &to));
    for (int64_t i = 0; i < rows; i++, from += columns, to += columns)
        if (is_better(from, to))
            tl_copy(to, from, columns);
    return TLNMF_OK;
}

tlnmf_error tlnmf_join_states(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    const char *name;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, all);
    if (state == NULL)
        return tlnmf_record_set_text(ctx, all, "kind", KIND);
    TRY(check_kind(ctx, state));
    for (size_t i = 0; (name = tlnmf_record_name(state, i)) != NULL; i++)
        if (strstr(name, ".identity") != NULL && tlnmf_record_get_text(all, name) != NULL)
            TRY(compare(ctx, tlnmf_record_get_text(all, name), tlnmf_record_get_text(state, name)));
    for (size_t i = 0; (name = tlnmf_record_name(state, i)) != NULL; i++)
        if (!tlnmf_record_has(all, name))
            TRY(tl_record_copy(ctx, state, name, all));
        else if (tlnmf_record_type(state, name) == TLNMF_TYPE_ARRAY)
            TRY(join_rows(ctx, all, state, name));
    return TLNMF_OK;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* An error unless all processes have read the same state. */
static tlnmf_error agree(tlnmf_ctx *ctx, const tlnmf_record *state, tl_comm *frames_comm,
                         tl_comm *starts_comm)
{
    uint64_t h = TL_HASH_SEED;
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(state, i)) != NULL; i++) {
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        const double *x = tlnmf_record_get_array(state, name, NULL, shape);
        h = tl_hash(h + 1, x, x != NULL ? shape[0] * shape[1] * shape[2] * shape[3] : 0);
    }
    double here = tl_hash_number(h), first = here;
    tl_comm_broadcast(frames_comm, &first, 1);
    tl_comm_broadcast(starts_comm, &first, 1);
    if (first == here)
        return TLNMF_OK;
    return tl_fail(ctx, TLNMF_ERR_DATA,
                   "the processes resume from different checkpoints: all must see the same files");
}

bool tl_units_wanted(const tlnmf_ctx *ctx, tl_comm *frames_comm)
{
    bool here = ctx->keeping.save != NULL || ctx->keeping.resume != NULL;
    return tl_comm_max(frames_comm, here) > 0.0;
}

static tlnmf_error create(tlnmf_ctx *ctx, tl_units **out)
{
    void *block;
    tl_slot slots[] = {TL_SLOT(*out, 1)};
    TRY(TL_ARENA(ctx, "checkpoints", slots, &block));
    tl_units *u = *out;
    u->ctx = *ctx;
    u->since = tl_wall_seconds();
    u->next = u->since + ctx->keeping.seconds;
    pthread_mutex_init(&u->lock, NULL);
    TRY(tlnmf_record_create(ctx, &u->record));
    return tlnmf_join_states(ctx, u->record, ctx->keeping.resume);
}

tlnmf_error tl_units_create(tlnmf_ctx *ctx, tl_comm *frames_comm, tl_comm *starts_comm,
                            tl_units **out)
{
    *out = NULL;
    tlnmf_error error = TLNMF_OK;
    if (tl_units_wanted(ctx, frames_comm))
        error = create(ctx, out);
    error = tl_distribute_agree(ctx, frames_comm, starts_comm, error);
    if (error == TLNMF_OK) {
        const tlnmf_record *state = *out != NULL ? (*out)->record : NULL;
        error = tl_distribute_agree(ctx, frames_comm, starts_comm,
                                    agree(ctx, state, frames_comm, starts_comm));
    }
    if (error != TLNMF_OK) {
        tl_units_free(*out);
        *out = NULL;
    }
    return error;
}

void tl_units_free(tl_units *u)
{
    if (u == NULL)
        return;
    tl_hooks hooks = u->ctx.hooks; /* the block holds the context */
    tlnmf_record_free(u->record);
    pthread_mutex_destroy(&u->lock);
    tl_release(&hooks, u);
}

static void add_word(char text[IDENTITY], const char *name, const char *value)
{
    size_t length = strlen(text);
    snprintf(text + length, IDENTITY - length, " %s=%s", name, value != NULL ? value : "");
}

static void write_identity(const tl_settings *opt, const char *words, uint64_t hash,
                           char text[IDENTITY])
{
    const char *task = tl_task_name(opt->task), *name;
    char value[NAME];
    snprintf(text, IDENTITY, "version=%s task=%s %s", TLNMF_VERSION, task, words);
    for (size_t i = 0; (name = tlnmf_option_name(task, i)) != NULL; i++)
        if (strcmp(name, "threads") != 0 && strcmp(name, "J") != 0 && strcmp(name, "starts") != 0 &&
            strcmp(name, "max-seconds") != 0)
            add_word(text, name, tlnmf_settings_get_text(opt, name, value, sizeof value));
    snprintf(value, sizeof value, "%016llx", (unsigned long long)hash);
    add_word(text, "hash", value);
}

tlnmf_error tl_units_begin(tlnmf_ctx *ctx, tl_units *u, const char *section, const tl_settings *opt,
                           const char *words, uint64_t hash)
{
    char name[NAME], text[IDENTITY];
    const char *first = tlnmf_record_name(u->record, 1); /* after the kind */
    size_t length = strcspn(section, ".");
    if (u->section[0] == '\0') {
        if (first != NULL && (strncmp(first, section, length) != 0 || first[length] != '.'))
            return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is of another command");
        snprintf(u->section, sizeof u->section, "%s", section);
        snprintf(name, sizeof name, "%s.seconds", section);
        double seconds = tlnmf_record_get_real(u->record, name);
        u->before = seconds >= 0.0 && seconds < 1e12 ? seconds : 0.0;
    }
    write_identity(opt, words, hash, text);
    snprintf(name, sizeof name, "%s.identity", section);
    if (tlnmf_record_has(u->record, name))
        return compare(ctx, text, tlnmf_record_get_text(u->record, name));
    return tlnmf_record_set_text(ctx, u->record, name, text);
}

void tl_units_drop(tl_units *u, const char *prefix)
{
    size_t length = strlen(prefix);
    pthread_mutex_lock(&u->lock);
    for (size_t i = tlnmf_record_count(u->record); i > 0; i--) {
        const char *name = tlnmf_record_name(u->record, i - 1);
        if (strncmp(name, prefix, length) == 0 && name[length] == '.')
            tlnmf_record_remove(u->record, name);
    }
    pthread_mutex_unlock(&u->lock);
}

void tl_units_save(tl_units *u, bool now)
{
    const double share = 0.01; /* of the time that saving may take */
    char name[NAME];
    if (u == NULL)
        return;
    tl_keeping *keeping = &u->ctx.keeping;
    pthread_mutex_lock(&u->lock);
    double at = tl_wall_seconds();
    if (u->changed && keeping->save != NULL && (now || at >= u->next)) {
        snprintf(name, sizeof name, "%s.seconds", u->section);
        tlnmf_record_set_real(&u->ctx, u->record, name, u->before + at - u->since);
        if (keeping->save(u->record, keeping->user) != 0)
            keeping->save = NULL;
        double cost = tl_wall_seconds() - at;
        u->next = at + cost;
        if (keeping->seconds > 0.0)
            u->next += fmax(keeping->seconds, cost / share);
        u->changed = false;
    }
    pthread_mutex_unlock(&u->lock);
}
