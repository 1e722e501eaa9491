/* The states that machines have saved of one search, as one state.
 *
 * A state holds finished batches (batch.0, ...), and of the batch that it was in: which starts are
 * done, the best of them (now, with its score), the points kept of them, and the state of those
 * that ran (run.3). Whatever a state says is so, since every start ends in the same bits wherever
 * it runs: the furthest batch counts, and what several states say of it is added up. States that
 * are older than others do no harm. */
#include "search/join.h"
#include "base/record.h"
#include "search/identity.h"
#include "search/saved.h"

#include <math.h>
#include <stdlib.h>

/* Whether a value says of what search a state is. */
static bool is_identity(const tlnmf_record *record, const char *name)
{
    static const char *const others[] = {
        "batch",        "count",       "best_start",  "score",
        "wall_seconds", "cpu_seconds", "nmf_seconds", "transform_seconds"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    return tlnmf_record_type(record, name) != TLNMF_ARRAY;
}

/* An error if they differ in what identifies them, as far as `names` has it. */
static tlnmf_error compare(tlnmf_ctx *ctx, const tlnmf_record *names, const tlnmf_record *all,
                           const tlnmf_record *state)
{
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(names, i)) != NULL; i++) {
        char is[TL_IDENTITY_TEXT], others[TL_IDENTITY_TEXT];
        tl_identity_describe(state, name, is);
        tl_identity_describe(all, name, others);
        if (is_identity(names, name) && strcmp(is, others) != 0)
            return tl_fail(ctx, TLNMF_ERR_DATA,
                           "the checkpoint is of another run than those beside it: %s = %s, not %s",
                           name, is, others);
    }
    return TLNMF_OK;
}

/* The start of "run.3"; -1 if the name is another one. */
static int64_t start_of(const char *name)
{
    static const char run[] = "run.";
    size_t length = strlen(run);
    return strncmp(name, run, length) == 0 ? strtoll(name + length, NULL, 10) : -1;
}

/* Whether the machine of this context may run the start (search/share.h). A batch of one start is
 * the first machine's, whatever its number. */
static bool is_ours(const tlnmf_ctx *ctx, const tlnmf_record *state, int64_t p)
{
    const char *text = tlnmf_get_text(state, "option.starts");
    int64_t P = text != NULL ? strtoll(text, NULL, 10) : 0;
    if (ctx->starts == NULL || P < 1)
        return true;
    int64_t place = tlnmf_get_integer(state, "count") == 1 ? 0 : p % P;
    return place % ctx->starts->size == ctx->starts->rank;
}

static tlnmf_error copy(tlnmf_ctx *ctx, const tlnmf_record *from, const char *name,
                        tlnmf_record *to)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;
    const double *x = tlnmf_get_array(from, name, &rank, shape);
    switch (tlnmf_record_type(from, name)) {
    case TLNMF_ARRAY:
        return tlnmf_set_array(ctx, to, name, x, rank, shape);
    case TLNMF_INTEGER:
        return tlnmf_set_integer(ctx, to, name, tlnmf_get_integer(from, name));
    case TLNMF_REAL:
        return tlnmf_set_real(ctx, to, name, tlnmf_get_real(from, name));
    case TLNMF_TEXT:
        return tlnmf_set_text(ctx, to, name, tlnmf_get_text(from, name));
    default:
        return TLNMF_OK;
    }
}

/* Replaces all that `all` has by the values of the state, but for the times. */
static tlnmf_error replace(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    const char *name;
    for (size_t i = tlnmf_record_count(all); i > 0; i--) {
        name = tlnmf_record_name(all, i - 1);
        if (tlnmf_record_type(all, name) == TLNMF_ARRAY)
            tlnmf_record_remove(all, name);
    }
    for (size_t i = 0; (name = tlnmf_record_name(state, i)) != NULL; i++) {
        int64_t p = start_of(name);
        bool seconds =
            strstr(name, "_seconds") != NULL && tlnmf_record_type(all, name) == TLNMF_REAL;
        if (!seconds && (p < 0 || is_ours(ctx, state, p)))
            TRY(copy(ctx, state, name, all));
    }
    return TLNMF_OK;
}

/* Adds which starts are done, and their points. */
static tlnmf_error add_done(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    tl_bytes done = tl_block_find(all, "done"), more = tl_block_find(state, "done");
    tl_bytes to = tl_block_find(all, "points"), from = tl_block_find(state, "points");
    int64_t count = tlnmf_get_integer(all, "count");
    if (count < 1 || count != tlnmf_get_integer(state, "count") || (size_t)count > done.capacity ||
        done.capacity != more.capacity || to.capacity != from.capacity ||
        to.capacity % (size_t)count != 0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
    size_t size = to.capacity / (size_t)count;
    for (int64_t i = 0; i < count; i++) {
        if (more.at[i] == 0 || done.at[i] != 0)
            continue;
        done.at[i] = 1; /* the arrays of `all` are ours */
        if (size > 0)
            memcpy(to.at + (size_t)i * size, from.at + (size_t)i * size, size);
    }
    return TLNMF_OK;
}

/* The best of both: the lower score, and of equal ones the smaller start number. */
static tlnmf_error add_best(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    static const char *const names[] = {"now", "score", "best_start"};
    int64_t start = tlnmf_get_integer(state, "best_start"),
            kept = tlnmf_get_integer(all, "best_start");
    double score = tlnmf_get_real(state, "score"), lowest = tlnmf_get_real(all, "score");
    bool better = kept < 0 || score < lowest || (score == lowest && start < kept);
    for (size_t i = 0; start >= 0 && better && i < sizeof names / sizeof *names; i++)
        TRY(copy(ctx, state, names[i], all));
    return TLNMF_OK;
}

static tlnmf_error add_runs(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(state, i)) != NULL; i++) {
        int64_t p = start_of(name);
        if (p >= 0 && is_ours(ctx, state, p) && tlnmf_record_type(all, name) == TLNMF_NONE)
            TRY(copy(ctx, state, name, all));
    }
    return TLNMF_OK;
}

static tlnmf_error add_seconds(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    static const char *const spent[] = {"cpu_seconds", "nmf_seconds", "transform_seconds"};
    for (size_t i = 0; i < sizeof spent / sizeof *spent; i++)
        TRY(tlnmf_set_real(ctx, all, spent[i],
                           tlnmf_get_real(all, spent[i]) + tlnmf_get_real(state, spent[i])));
    return tlnmf_set_real(
        ctx, all, "wall_seconds",
        fmax(tlnmf_get_real(all, "wall_seconds"), tlnmf_get_real(state, "wall_seconds")));
}

static tlnmf_error add(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    int64_t there = tlnmf_get_integer(all, "batch"), batch = tlnmf_get_integer(state, "batch");
    TRY(compare(ctx, all, all, state));
    TRY(compare(ctx, state, all, state));
    if (batch > there)
        TRY(replace(ctx, all, state));
    if (batch == there) {
        TRY(add_done(ctx, all, state));
        TRY(add_best(ctx, all, state));
        TRY(add_runs(ctx, all, state));
    }
    return add_seconds(ctx, all, state);
}

tlnmf_error tlnmf_join_states(tlnmf_ctx *ctx, tlnmf_record *all, const tlnmf_record *state)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, all);
    TL_NEED(ctx, state);
    const char *kind = tlnmf_get_text(state, "kind");
    if (kind == NULL || strcmp(kind, "checkpoint") != 0)
        return tl_fail(ctx, TLNMF_ERR_DATA, "this is not a checkpoint of a fit");
    return tlnmf_record_count(all) == 0 ? replace(ctx, all, state) : add(ctx, all, state);
}

/* ---- several machines that go on ------------------------------------------------------------- */

/* Of what all machines need of a state: all but the starts that run, and the times. */
static uint64_t hash_of(const tlnmf_record *state)
{
    int64_t batch = tlnmf_get_integer(state, "batch");
    uint64_t h = tl_identity_hash(TL_IDENTITY_SEED, &batch, 1);
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(state, i)) != NULL; i++) {
        tl_bytes b = tl_block_find(state, name);
        if (start_of(name) < 0)
            h = tl_identity_hash(h, b.at, (int64_t)(b.capacity / 8));
    }
    return h;
}

tlnmf_error tl_join_agree(tlnmf_ctx *ctx, tl_sums *frames, tl_sums *starts,
                          const tlnmf_record *state)
{
    if (frames == NULL && starts == NULL)
        return TLNMF_OK;
    uint64_t here = state != NULL ? hash_of(state) : 0;
    double part[2] = {(double)(here >> 32), (double)(here & 0xffffffff)}, first[2];
    memcpy(first, part, sizeof first);
    tl_sums_broadcast(frames, first, 2);
    tl_sums_broadcast(starts, first, 2);
    if (first[0] == part[0] && first[1] == part[1])
        return TLNMF_OK;
    return tl_fail(ctx, TLNMF_ERR_DATA,
                   "the machines go on from different checkpoints: all must see the same files");
}
