/* Wraps the operations of an engine: each calls the engine's operation and adds up its time. */
#include "gpu_watch.h"

#include <stdio.h>
#include <string.h>

/* The time of operations that do not wait for the device counts in the next one that does. DRAW is
 * the part of FILL on the host, which draws the start. */
typedef enum {
    CREATE,
    FREE,
    FILL,
    DRAW,
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
    KINDS
} kind;
static const char *const NAMES[KINDS] = {"create",  "free",    "fill",      "draw",   "store",
                                         "project", "inspect", "precision", "values", "gradient",
                                         "update",  "sweep",   "aim",       "try",    "slope",
                                         "take",    "begin",   "norm",      "revive"};
/* Operations of the host, and operations that mostly copy; all others compute. */
static const bool IS_HOST[KINDS] = {[DRAW] = true};
static const bool COPIES[KINDS] = {[CREATE] = true, [FREE] = true, [FILL] = true, [STORE] = true};
static const tl_engine_ops *inner;
static double (*counter)(const tl_engine *e), flops;
static tl_engine_ops timed;
static struct {
    double seconds;
    int64_t calls;
} spent[KINDS];

static void add_spent(kind k, double since)
{
    spent[k].seconds += tl_wall_seconds() - since;
    spent[k].calls++;
}

/* An operation that returns a value: its parameters, then its arguments. */
#define TIMED(kind, type, name, parameters, ...) \
    static type timed_##name parameters          \
    {                                            \
        double since = tl_wall_seconds();        \
        type answer = inner->name(__VA_ARGS__);  \
        add_spent(kind, since);                  \
        return answer;                           \
    }
TIMED(INSPECT, bool, inspect, (tl_engine * e, tl_inspection *found), e, found)
TIMED(PRECISION, bool, precision, (tl_engine * e, bool rough), e, rough)
TIMED(VALUES, tl_values, values, (tl_engine * e, unsigned which), e, which)
TIMED(GRADIENT, double, gradient, (tl_engine * e, unsigned of, double *Ganti), e, of, Ganti)
TIMED(SWEEP, double, sweep, (tl_engine * e, unsigned of, double floor, double least), e, of, floor,
      least)
TIMED(AIM, tl_aim, aim, (tl_engine * e, tl_direction how), e, how)
TIMED(TRY_STEP, double, try, (tl_engine * e, double a), e, a)
TIMED(SLOPE, double, slope, (tl_engine * e), e)
TIMED(BEGIN, double, begin, (tl_engine * e, unsigned over), e, over)
TIMED(NORM, double, norm, (tl_engine * e, bool renew), e, renew)
TIMED(REVIVE, bool, revive, (tl_engine * e, double least), e, least)

/* An operation that returns nothing. */
#define TIMED_ONLY(kind, name, parameters, ...) \
    static void timed_##name parameters         \
    {                                           \
        double since = tl_wall_seconds();       \
        inner->name(__VA_ARGS__);               \
        add_spent(kind, since);                 \
    }
TIMED_ONLY(STORE, store, (const tl_engine *e, double *Phi, double *W, double *H), e, Phi, W, H)
TIMED_ONLY(PROJECT, project, (tl_engine * e, unsigned parts), e, parts)
TIMED_ONLY(UPDATE, update, (tl_engine * e, unsigned parts, int64_t count), e, parts, count)
TIMED_ONLY(TAKE, take, (tl_engine * e, double a), e, a)

static void timed_free(tl_engine *e)
{
    double since = tl_wall_seconds();
    e->ops = inner; /* as the counter knows it */
    flops = counter(e);
    inner->free(e);
    add_spent(FREE, since);
}

typedef struct filling {
    tl_fill fill;
    void *user;
} filling;

static tlnmf_error timed_draw(const tl_point *point, void *user)
{
    const filling *f = user;
    double since = tl_wall_seconds();
    tlnmf_error error = f->fill(point, f->user);
    add_spent(DRAW, since);
    return error;
}

static tlnmf_error timed_fill(tl_engine *e, unsigned parts, tl_fill fill, void *user)
{
    double since = tl_wall_seconds(), before = spent[DRAW].seconds;
    tlnmf_error error = inner->fill(e, parts, timed_draw, &(filling){fill, user});
    add_spent(FILL, since + spent[DRAW].seconds - before);
    return error;
}

static tlnmf_error timed_create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    double since = tl_wall_seconds();
    tlnmf_error error = inner->create(ctx, spec, out);
    add_spent(CREATE, since);
    if (*out != NULL)
        (*out)->ops = &timed;
    return error;
}

const tl_engine_ops *with_watch(const tl_engine_ops *ops, double (*flops_of)(const tl_engine *e))
{
    inner = ops;
    counter = flops_of;
    flops = 0.0;
    memset(spent, 0, sizeof spent);
    timed = *ops; /* `bytes`, and NULL for missing optional operations */
    timed.create = timed_create;
    timed.free = timed_free;
    timed.fill = timed_fill;
    timed.store = timed_store;
    timed.project = timed_project;
    timed.inspect = timed_inspect;
    if (ops->precision != NULL)
        timed.precision = timed_precision;
    timed.values = timed_values;
    timed.gradient = timed_gradient;
    timed.update = timed_update;
    timed.sweep = timed_sweep;
    timed.aim = timed_aim;
    timed.try = timed_try;
    timed.slope = timed_slope;
    timed.take = timed_take;
    timed.begin = timed_begin;
    timed.norm = timed_norm;
    timed.revive = timed_revive;
    return &timed;
}

void print_spent(double seconds)
{
    double all = 0.0, host = 0.0, copies = 0.0;
    printf("     of it");
    for (int i = 0; i < KINDS; i++) {
        all += spent[i].seconds;
        host += IS_HOST[i] ? spent[i].seconds : 0.0;
        copies += COPIES[i] ? spent[i].seconds : 0.0;
        if (spent[i].calls > 0)
            printf(" %s %.3f s (%lld),", NAMES[i], spent[i].seconds, (long long)spent[i].calls);
    }
    host += seconds - all;
    double computing = seconds - host - copies;
    printf(" outside the engine %.3f s\n     host %.2f s, create, copy and free %.2f s, computing "
           "%.2f s",
           seconds - all, host, copies, computing);
    if (flops > 0.0)
        printf(": products %.1f TFlop, %.1f TF/s", 1e-12 * flops, 1e-12 * flops / computing);
    putchar('\n');
    fflush(stdout);
}
