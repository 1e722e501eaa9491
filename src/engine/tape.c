/* The tape: each operation is played from it or recorded on it. */
#include "engine/tape.h"
#include "engine/lbfgs.h"

#include <math.h>

typedef enum operation {
    FILL = 1,
    STORE,
    PROJECT,
    INSPECT,
    PRECISION,
    VALUES,
    GRADIENT,
    UPDATE,
    SWEEP,
    AIM,
    TRY_STEP,
    SLOPE,
    TAKE,
    BEGIN,
    NORM,
    REVIVE,
    CG,
    NOTE,
} operation;

typedef struct tape {
    tl_engine is; /* first */
    tl_engine_ops ops;
    tl_engine *inner;
    double *words; /* for each operation its number, then what it returned */
    int64_t length, capacity, at;
    bool writes, replays, broken; /* broken: there was no memory for a word */
    tl_bytes state;               /* of the inner engine at the end of the tape */
    void (*reached)(void *user);
    void *user;
    tl_hooks hooks;
    void *block;
} tape;

/* ---- play and record ------------------------------------------------------------------------- */

static void mismatch(tape *t)
{
    t->replays = false;
    t->is.fault = TLNMF_ERR_DATA;
    t->is.why = "the checkpoint does not fit this run";
}

/* The end of the tape: the inner engine takes over. A run is never saved while it tries steps. */
static void take_over(tape *t, operation next)
{
    t->replays = false;
    if (next != TRY_STEP && next != SLOPE && next != TAKE)
        t->inner->ops->state(t->inner, &t->state);
    else
        t->state.bad = true;
    if (t->state.bad)
        mismatch(t);
    else
        t->reached(t->user);
}

/* If the tape is replayed, what the operation returned: `count` numbers to x. False: compute it.
 * After a mismatch all numbers are 0, with which solvers soon end. */
static bool play(tape *t, operation what, double *x, int64_t count)
{
    if (t->replays && t->at == t->length)
        take_over(t, what);
    if (t->replays && (t->length - t->at <= count || t->words[t->at] != (double)what))
        mismatch(t);
    if (t->is.fault != TLNMF_OK && t->inner->fault == TLNMF_OK) {
        for (int64_t i = 0; i < count; i++)
            x[i] = 0.0;
        return true;
    }
    if (!t->replays) {
        t->inner->eps = t->is.eps; /* solvers change it */
        return false;
    }
    tl_copy(x, t->words + t->at + 1, count);
    t->at += count + 1;
    return true;
}

static bool make_space(tape *t, int64_t count)
{
    enum { FIRST = 4096 };
    if (t->length + count <= t->capacity)
        return true;
    int64_t capacity = tl_max(tl_max(FIRST, 2 * t->capacity), t->length + count);
    double *larger = tl_allocate(&t->hooks, (size_t)capacity * sizeof *larger);
    if (larger == NULL) {
        t->broken = true;
        return false;
    }
    tl_copy(larger, t->words, t->length);
    tl_release(&t->hooks, t->words);
    t->words = larger;
    t->capacity = capacity;
    return true;
}

static void record(tape *t, operation what, const double *x, int64_t count)
{
    if (t->is.fault == TLNMF_OK && t->inner->fault != TLNMF_OK) {
        t->is.fault = t->inner->fault;
        t->is.why = t->inner->why;
    }
    if (!t->writes || t->broken || !make_space(t, count + 1))
        return;
    t->words[t->length] = (double)what;
    tl_copy(t->words + t->length + 1, x, count);
    t->length += count + 1;
}

/* An operation that returns nothing. */
#define ONLY_IF_COMPUTED(t, what, call) \
    do {                                \
        if (play((t), (what), NULL, 0)) \
            return;                     \
        call;                           \
        record((t), (what), NULL, 0);   \
    } while (0)

/* An operation that returns a number, computed by `call`. */
#define RETURN_PLAYED(t, what, call)           \
    do {                                       \
        double number_;                        \
        if (!play((t), (what), &number_, 1)) { \
            number_ = (call);                  \
            record((t), (what), &number_, 1);  \
        }                                      \
        return (__typeof__(call))number_;      \
    } while (0)

/* ---- the operations -------------------------------------------------------------------------- */

static tlnmf_error fill(tl_engine *e, unsigned parts, tl_fill function, void *user)
{
    tape *t = (tape *)e;
    if (play(t, FILL, NULL, 0))
        return TLNMF_OK;
    TRY(tl_engine_fill(t->inner, parts, function, user)); /* an error ends the run: not recorded */
    record(t, FILL, NULL, 0);
    return TLNMF_OK;
}

/* While the tape is replayed nothing is stored: whoever saves the run saves what was stored. */
static void store(const tl_engine *e, double *Phi, double *W, double *H)
{
    tape *t = (tape *)e;
    ONLY_IF_COMPUTED(t, STORE, tl_engine_store(t->inner, Phi, W, H));
}

static void project(tl_engine *e, unsigned parts)
{
    tape *t = (tape *)e;
    ONLY_IF_COMPUTED(t, PROJECT, tl_engine_project(t->inner, parts));
}

/* Called after a run only: never recorded. */
static bool inspect(tl_engine *e, tl_inspection *found)
{
    tape *t = (tape *)e;
    return !play(t, INSPECT, NULL, 0) && tl_engine_inspect(t->inner, found);
}

static bool precision(tl_engine *e, bool rough)
{
    tape *t = (tape *)e;
    RETURN_PLAYED(t, PRECISION, tl_engine_precision(t->inner, rough));
}

static tl_values values(tl_engine *e, unsigned which)
{
    tape *t = (tape *)e;
    double x[3];
    if (!play(t, VALUES, x, 3)) {
        tl_values v = tl_engine_values(t->inner, which);
        x[0] = v.C;
        x[1] = v.L;
        x[2] = v.I;
        record(t, VALUES, x, 3);
    }
    return (tl_values){x[0], x[1], x[2]};
}

/* The matrix is asked for after a run only, and never recorded; its norm is part of a trace. */
static double gradient(tl_engine *e, unsigned of, double *Ganti)
{
    tape *t = (tape *)e;
    if (Ganti != NULL)
        return play(t, GRADIENT, NULL, 0) ? 0.0 : tl_engine_gradient(t->inner, of, Ganti);
    RETURN_PLAYED(t, GRADIENT, tl_engine_gradient(t->inner, of, NULL));
}

static void update(tl_engine *e, unsigned parts, int64_t count)
{
    tape *t = (tape *)e;
    ONLY_IF_COMPUTED(t, UPDATE, tl_engine_update(t->inner, parts, count));
}

static double sweep(tl_engine *e, unsigned of, double floor, double least)
{
    tape *t = (tape *)e;
    RETURN_PLAYED(t, SWEEP, tl_engine_sweep(t->inner, of, floor, least));
}

static tl_aim aim(tl_engine *e, tl_direction how)
{
    enum { COUNT = 5 };
    tape *t = (tape *)e;
    double x[COUNT];
    if (!play(t, AIM, x, COUNT)) {
        tl_aim a = tl_engine_aim(t->inner, how);
        memcpy(x, (double[]){a.slope, a.value, a.norm, a.first, a.pairs}, sizeof x);
        record(t, AIM, x, COUNT);
    }
    return (tl_aim){x[0], x[1], x[2], x[3], (int)fmin(fmax(x[4], 0.0), TL_LBFGS_MOST)};
}

static double try_step(tl_engine *e, double a)
{
    tape *t = (tape *)e;
    RETURN_PLAYED(t, TRY_STEP, tl_engine_try(t->inner, a));
}

static double slope(tl_engine *e)
{
    tape *t = (tape *)e;
    RETURN_PLAYED(t, SLOPE, tl_engine_slope(t->inner));
}

static void take(tl_engine *e, double a)
{
    tape *t = (tape *)e;
    ONLY_IF_COMPUTED(t, TAKE, tl_engine_take(t->inner, a));
}

static double begin(tl_engine *e, unsigned over)
{
    tape *t = (tape *)e;
    RETURN_PLAYED(t, BEGIN, tl_engine_begin(t->inner, over));
}

static double norm(tl_engine *e, bool renew)
{
    tape *t = (tape *)e;
    RETURN_PLAYED(t, NORM, tl_engine_norm(t->inner, renew));
}

static bool revive(tl_engine *e, double least)
{
    tape *t = (tape *)e;
    RETURN_PLAYED(t, REVIVE, tl_engine_revive(t->inner, least));
}

static tl_cg cg(tl_engine *e, bool begins, double radius)
{
    tape *t = (tape *)e;
    double x[3];
    if (!play(t, CG, x, 3)) {
        tl_cg did = tl_engine_cg(t->inner, begins, radius);
        memcpy(x, (double[]){did.fall, did.rr, did.at_edge}, sizeof x);
        record(t, CG, x, 3);
    }
    return (tl_cg){x[0], x[1], x[2] != 0.0};
}

/* Whole words, the last padded: play() and record() know nothing else. */
static void note(tl_engine *e, void *x, size_t size)
{
    enum { MOST = 512 };
    tape *t = (tape *)e;
    double words[MOST] = {0.0};
    int64_t count = (int64_t)((size + sizeof *words - 1) / sizeof *words);
    if (count > MOST) {
        t->broken = true;
        return;
    }
    if (play(t, NOTE, words, count)) {
        memcpy(x, words, size);
        return;
    }
    memcpy(words, x, size);
    record(t, NOTE, words, count);
}

static void destroy(tl_engine *e)
{
    tape *t = (tape *)e;
    tl_hooks hooks = t->hooks;
    t->inner->ops->free(t->inner);
    tl_release(&hooks, t->words);
    tl_release(&hooks, t->block);
}

/* ---- create, save, replay -------------------------------------------------------------------- */

tlnmf_error tl_tape_create(tlnmf_ctx *ctx, tl_engine *inner, tl_engine **out)
{
    tape *t;
    void *block;
    tl_slot table[] = {TL_SLOT(t, 1)};
    *out = NULL;
    tlnmf_error error = TL_ARENA(ctx, "a tape", table, &block);
    if (error != TLNMF_OK) {
        inner->ops->free(inner);
        return error;
    }
    t->is = *inner;
    t->ops = (tl_engine_ops){.name = inner->ops->name,
                             .free = destroy,
                             .fill = fill,
                             .store = store,
                             .project = project,
                             .inspect = inspect,
                             .precision = precision,
                             .values = values,
                             .gradient = gradient,
                             .update = update,
                             .sweep = sweep,
                             .aim = aim,
                             .try = try_step,
                             .slope = slope,
                             .take = take,
                             .begin = begin,
                             .norm = norm,
                             .revive = revive,
                             .cg = cg,
                             .note = note};
    t->is.ops = &t->ops;
    t->inner = inner;
    t->hooks = ctx->hooks;
    t->block = block;
    *out = &t->is;
    return TLNMF_OK;
}

void tl_tape_begin(tl_engine *e)
{
    tape *t = (tape *)e;
    t->length = t->at = 0;
    t->writes = t->inner->ops->state != NULL;
    t->replays = t->broken = false;
}

void tl_tape_off(tl_engine *e)
{
    ((tape *)e)->writes = false;
}

bool tl_tape_replays(const tl_engine *e)
{
    return ((const tape *)e)->replays;
}

bool tl_tape_is_whole(const tl_engine *e)
{
    const tape *t = (const tape *)e;
    return t->writes && !t->broken && !t->replays;
}

void tl_tape_save(tl_engine *e, tl_bytes *b)
{
    tape *t = (tape *)e;
    tl_bytes_integer(b, &t->length);
    tl_bytes_doubles(b, t->words, t->length);
    t->inner->ops->state(t->inner, b);
}

bool tl_tape_replay(tl_engine *e, tl_bytes *b, void (*reached)(void *user), void *user)
{
    tape *t = (tape *)e;
    int64_t length = 0;
    tl_bytes_integer(b, &length);
    if (b->bad || length < 0 || (uint64_t)length > (b->capacity - b->size) / sizeof(double) ||
        !make_space(t, length))
        return false;
    tl_bytes_doubles(b, t->words, length);
    t->length = length;
    t->state = *b;
    t->reached = reached;
    t->user = user;
    t->replays = true;
    return true;
}
