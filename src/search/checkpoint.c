/* The finished units of a search: the rows of its starts, and the points that are needed later. */
#include "search/checkpoint.h"
#include "base/record.h"
#include "search/distribute.h"

#include <math.h>
#include <stdio.h>

enum { NAME = 64, NUMBERS = TL_UNIT_NUMBERS };

static tl_unit *row_of(const tl_pool *pool, int64_t p)
{
    const tl_checkpoint *c = &pool->checkpoint;
    return (tl_unit *)c->row + (p - c->batch->first);
}

/* ---- identity -------------------------------------------------------------------------------- */

/* Each number is hashed with its place, so processes can add up their hashes. Frame n has the
 * columns from offset[n] to offset[n + 1] of x; if offset is NULL, column n. */
static uint64_t hash_frames(const tlnmf_data *data, const double *x, int64_t rows,
                            const int64_t *offset)
{
    int64_t width = offset != NULL ? data->T : data->N;
    uint64_t sum = 0;
    for (int64_t r = 0; x != NULL && r < rows; r++)
        for (int64_t n = 0; n < data->N; n++) {
            uint64_t place = (uint64_t)((data->first + n) * rows + r) * 0x9e3779b97f4a7c15u;
            int64_t from = offset != NULL ? offset[n] : n;
            int64_t count = offset != NULL ? offset[n + 1] - from : 1;
            sum += tl_hash(TL_HASH_SEED ^ place, x + r * width + from, count);
        }
    return sum;
}

static uint64_t hash_point(uint64_t h, int64_t M, int64_t K, const double *Phi, const double *W)
{
    h = Phi != NULL ? tl_hash(h ^ 1, Phi, M * M) : h;
    return W != NULL ? tl_hash(h ^ 2, W, M * K) : h;
}

tlnmf_error tl_checkpoint_identify(tlnmf_ctx *ctx, tl_units *u, const char *section,
                                   const tlnmf_data *data, const tl_start *given,
                                   const tl_settings *opt, const char *more)
{
    const uint64_t modulus = (uint64_t)1 << 40; /* sums over processes are exact */
    char words[256];
    uint64_t here = hash_frames(data, data->R, data->M, data->offset) +
                    3 * hash_frames(data, data->B, data->M, NULL) +
                    5 * hash_frames(data, given->H, opt->k, NULL);
    double sum = (double)(here % modulus);
    tl_comm_add(data->frames_comm, &sum, 1);
    uint64_t h = (uint64_t)sum % modulus;
    h = hash_point(h, data->M, opt->k, given->Phi, given->W);
    snprintf(words, sizeof words, "M=%lld N=%lld frames=%s %s", (long long)data->M,
             (long long)data->all, data->frames_comm == NULL ? "here" : "distributed", more);
    return tl_units_begin(ctx, u, section, opt, words, h);
}

/* ---- the array of a start: its numbers, the point, the trace --------------------------------- */

static const char *name_of(const tl_pool *pool, int64_t p, char name[NAME])
{
    const tl_checkpoint *c = &pool->checkpoint;
    snprintf(name, NAME, "%s.%lld.start.%lld", c->section, (long long)c->stage,
             (long long)(p - c->batch->first));
    return name;
}

/* Phi, W and H of all frames. */
static int64_t point_size(const tlnmf_data *data, int64_t K)
{
    return data->M * data->M + K * (data->M + data->all);
}

double tl_checkpoint_bytes(const tl_plan *plan, const tlnmf_data *data, const tl_settings *opt)
{
    enum { STAGES = 6, COPIES = 3 };
    double points = opt->exchange ? STAGES + 2.0 * (double)plan->P : 0.5 * STAGES;
    double numbers = STAGES * NUMBERS * (double)plan->P;
    return COPIES * sizeof(double) * (numbers + points * (double)point_size(data, plan->K));
}

/* A start below plan.P is drawn: it depends on its number and the batch alone. */
static double input_of(const tl_pool *pool, int64_t p)
{
    const tl_batch *b = pool->checkpoint.batch;
    int64_t M = pool->data->M, K = pool->plan.K, i = p - b->from_first;
    uint64_t h = pool->checkpoint.input;
    if (!b->continues && p >= pool->plan.P)
        h = hash_point(h, M, K, b->from->Phi + i * M * M, b->from->W + i * M * K);
    return tl_hash_number(h);
}

/* Adds the array with the engine's point, under the lock. All processes that distribute frames call
 * this. */
static void put_start(const tl_pool *pool, const tl_engine *e, const tl_run *run,
                      const tl_unit *unit)
{
    const tl_checkpoint *c = &pool->checkpoint;
    const tlnmf_data *data = pool->data;
    int64_t M = data->M, K = pool->plan.K, size = point_size(data, K);
    char name[NAME];
    double *x;
    const int64_t shape[] = {1, NUMBERS + size + run->trace_length * TL_TRACE_COLUMNS};
    tlnmf_error error = tl_record_new_array(&c->units->ctx, c->units->record,
                                            name_of(pool, run->start, name), 2, shape, &x);
    if (tl_comm_max(data->frames_comm, error != TLNMF_OK) > 0.0) { /* on any process */
        tlnmf_record_remove(c->units->record, name);
        return; /* the start runs again */
    }
    *(tl_unit *)x = *unit;
    x += NUMBERS;
    tl_engine_store(e, x, K > 0 ? x + M * M : NULL, K > 0 ? c->H : NULL);
    tl_gather_H(data, K, c->H, x + M * (M + K));
    for (int64_t i = 0; i < run->trace_length; i++)
        tl_trace_values(&run->trace[i], x + size + i * TL_TRACE_COLUMNS);
}

/* The array of a start that is finished or has a saved iterate. NULL if there is none that this
 * search could have saved: the checksum of a file only finds accidents. */
static const double *get_start(const tl_pool *pool, int64_t p, double done)
{
    char name[NAME];
    const tlnmf_record *record = pool->checkpoint.units->record;
    int64_t rows, columns, M = pool->data->M, size = point_size(pool->data, pool->plan.K);
    const double *x = tl_units_rows(record, name_of(pool, p, name), &rows, &columns);
    if (x == NULL)
        return NULL;
    const tl_unit *unit = (const tl_unit *)x;
    bool ok = unit->done == done && unit->input == input_of(pool, p) && isfinite(unit->score) &&
              (done != TL_UNIT_FINISHED || unit->score == row_of(pool, p)->score) &&
              unit->iterations >= 0.0 && unit->iterations < 1e15 && unit->outcome >= 0.0 &&
              unit->outcome <= TLNMF_OUTCOME_TIME && unit->trace >= 0.0 &&
              (double)columns == NUMBERS + (double)size + TL_TRACE_COLUMNS * unit->trace;
    for (int64_t i = 0; ok && i < size; i++)
        ok = isfinite(x[NUMBERS + i]) && (i < M * M || x[NUMBERS + i] >= 0.0);
    return ok ? x : NULL;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static bool is_valid(const tl_pool *pool, int64_t p, const tl_unit *row)
{
    double J = (double)pool->opt->J;
    return row->done != 0.0 && row->input == input_of(pool, p) && isfinite(row->score) &&
           (row->J == J || (row->J < J && row->bound == 0.0));
}

/* Whether a stage needs the point or the trace of all its starts. */
static bool needs_all(const tl_pool *pool)
{
    return pool->checkpoint.batch->keep != NULL || pool->traces.starts > 0;
}

static void drop_start(const tl_pool *pool, int64_t p)
{
    char name[NAME];
    if (p >= 0 && p != pool->checkpoint.found && !needs_all(pool)) /* found may still be needed */
        tlnmf_record_remove(pool->checkpoint.units->record, name_of(pool, p, name));
}

/* Finds the valid starts, and the best of them; only its array may be needed. */
static void check_starts(tl_pool *pool)
{
    tl_checkpoint *c = &pool->checkpoint;
    c->best = c->found = -1;
    for (int64_t p = c->batch->first; p < c->batch->first + c->batch->count; p++) {
        tl_unit *row = row_of(pool, p);
        if (!is_valid(pool, p, row)) {
            row->done = row->continued = 0.0;
            continue;
        }
        row->done = TL_UNIT_FINISHED;
        bool better = c->best < 0 || row->score < row_of(pool, c->best)->score;
        drop_start(pool, better ? c->best : p);
        c->best = better ? p : c->best;
    }
    c->found = c->best;
}

tlnmf_error tl_checkpoint_begin(tl_pool *pool, const tl_batch *b)
{
    tl_checkpoint *c = &pool->checkpoint;
    const tl_info *best = &b->best->info;
    char name[NAME];
    if (c->units == NULL)
        return TLNMF_OK;
    c->batch = b;
    c->stage++;
    c->input = hash_point(TL_HASH_SEED, pool->data->M, 0, b->Phi, NULL);
    if (b->continues)
        c->input =
            hash_point((uint64_t)best->iterations, best->M, best->K, b->best->Phi, b->best->W);
    snprintf(name, sizeof name, "%s.%lld.units", c->section, (long long)c->stage);
    TRY(tl_record_table(pool->ctx, c->units->record, name, b->count, NUMBERS, &c->row));
    check_starts(pool);
    return TLNMF_OK;
}

bool tl_checkpoint_has(const tl_pool *pool, int64_t p)
{
    return pool->checkpoint.units != NULL && row_of(pool, p)->done != 0.0;
}

bool tl_checkpoint_skips(const tl_pool *pool, int64_t p, double *score)
{
    bool skips = tl_checkpoint_has(pool, p) && !needs_all(pool) && p != pool->checkpoint.found;
    if (skips)
        *score = row_of(pool, p)->score;
    return skips;
}

/* Whether a larger J might change where the start ends. The inner runs of hops and continuation do
 * not say whether J ended them. */
static bool is_bound(const tl_pool *pool, const tl_run *run)
{
    bool inner = run->roams && (pool->plan.hops > 0 || pool->opt->continuation);
    bool all =
        pool->checkpoint.batch->job->to_the_end || (run->to_the_end && pool->solver != &tl_fast);
    return run->outcome == TLNMF_OUTCOME_ITERATIONS || inner || all;
}

static tl_unit unit_of(const tl_pool *pool, const tl_run *run, tl_values values, double done)
{
    return (tl_unit){.done = done,
                     .input = input_of(pool, run->start),
                     .score = tl_score_of(pool->checkpoint.batch->job, values),
                     .J = (double)pool->opt->J,
                     .bound = is_bound(pool, run),
                     .C = values.C,
                     .L = values.L,
                     .I = values.I,
                     .outcome = (double)run->outcome,
                     .iterations = (double)run->iterations,
                     .trace = (double)run->trace_length,
                     .continued = run->continues};
}

void tl_checkpoint_add(tl_pool *pool, const tl_engine *e, const tl_run *run, tl_values values)
{
    tl_checkpoint *c = &pool->checkpoint;
    if (c->units == NULL || !c->adds || tl_pool_stopped(pool) ||
        tl_checkpoint_has(pool, run->start))
        return;
    tl_unit *row = row_of(pool, run->start);
    pthread_mutex_lock(&c->units->lock);
    *row = unit_of(pool, run, values, TL_UNIT_FINISHED);
    double least = c->best >= 0 ? row_of(pool, c->best)->score : INFINITY;
    bool better =
        c->best < 0 || row->score < least || (row->score == least && run->start < c->best);
    drop_start(pool, better ? c->best : run->start); /* its iterate */
    if (better || needs_all(pool))
        put_start(pool, e, run, row);
    c->best = better ? run->start : c->best;
    c->units->changed = true;
    pthread_mutex_unlock(&c->units->lock);
    tl_units_save(c->units, false);
}

/* ---- running starts -------------------------------------------------------------------------- */

/* If frames are distributed, the first process decides for all, every few iterations. */
static bool is_due(const tl_pool *pool, const tl_run *run, bool stops)
{
    enum { OFTEN = 16 }; /* iterations */
    tl_comm *frames = pool->data->frames_comm;
    bool due = tl_wall_seconds() >= run->pause_next;
    if (!pool->checkpoint.adds || run->quiet || isinf(run->pause_next))
        return false;
    if (frames == NULL)
        return due;
    return !stops && run->iterations % OFTEN == 0 &&
           tl_comm_of(frames, due && frames->rank == 0) > 0.0;
}

/* Saves the iterate if the start has run long enough. */
static void pause_run(const tl_engine *e, tl_run *run, bool stops)
{
    const tl_pool *pool = run->pause_user;
    tl_units *u = pool->checkpoint.units;
    if (is_due(pool, run, stops)) {
        tl_unit unit = unit_of(pool, run, (tl_values){0}, TL_UNIT_RUNNING);
        /* the union of checkpoints prefers later iterates, and finished starts to all of them */
        unit.score = 1e300 / (1.0 + (double)run->iterations);
        pthread_mutex_lock(&u->lock);
        put_start(pool, e, run, &unit);
        u->changed = true;
        pthread_mutex_unlock(&u->lock);
        run->pause_next = tl_wall_seconds() + u->ctx.keeping.iterate_after;
    }
    tl_units_save(u, false);
}

/* Restores the engine and the run to the state in the array. */
static void load_start(const tl_pool *pool, const double *x, tl_engine *e, tl_run *run,
                       tl_values *values)
{
    const tlnmf_data *data = pool->data;
    int64_t M = data->M, K = pool->plan.K;
    const double *Phi = x + NUMBERS, *W = Phi + M * M, *trace = Phi + point_size(data, K);
    tl_scatter_H(data, K, W + M * K, pool->checkpoint.H);
    tl_engine_load(e, Phi, K > 0 ? W : NULL, K > 0 ? pool->checkpoint.H : NULL);
    const tl_unit *unit = (const tl_unit *)x;
    *values = (tl_values){unit->C, unit->L, unit->I};
    run->outcome = (tlnmf_outcome)unit->outcome;
    run->iterations = (int64_t)unit->iterations;
    run->trace_length = tl_min((int64_t)unit->trace, run->trace_capacity);
    for (int64_t i = 0; i < run->trace_length; i++) {
        run->trace[i] = tl_trace_of_values(trace + i * TL_TRACE_COLUMNS);
        run->trace[i].start = run->start; /* it may have had another number */
    }
}

bool tl_checkpoint_take(tl_pool *pool, tl_engine *e, tl_run *run, tl_values *values)
{
    tl_checkpoint *c = &pool->checkpoint;
    if (c->units == NULL)
        return false;
    tl_unit *row = row_of(pool, run->start);
    bool finished = row->done != 0.0;
    pthread_mutex_lock(&c->units->lock);
    const double *x = get_start(pool, run->start, finished ? TL_UNIT_FINISHED : TL_UNIT_RUNNING);
    if (x != NULL) {
        load_start(pool, x, e, run, values);
    } else { /* after a change of J or starts: its point was not saved */
        row->done = row->continued = 0.0;
        c->best = c->best == run->start ? -1 : c->best;
    }
    run->continues = x != NULL && !finished;
    if (run->continues)
        row->continued = 1.0;
    pthread_mutex_unlock(&c->units->lock);
    run->pause = pause_run;
    run->pause_user = pool;
    run->pause_next = c->batch->job->to_the_end /* its iterate does not say in which solver it is */
                          ? (double)INFINITY
                          : tl_wall_seconds() + c->units->ctx.keeping.iterate_after;
    return x != NULL && finished;
}

void tl_checkpoint_count(tl_pool *pool)
{
    const tl_batch *b = pool->checkpoint.batch; /* NULL: this process keeps no units */
    double count = 0.0;
    for (int64_t p = b != NULL ? b->first : 0; b != NULL && p < b->first + b->count; p++)
        count += tl_distribute_runs_here(pool, b, p) && row_of(pool, p)->continued != 0.0;
    tl_comm_add(pool->starts_comm, &count, 1);
    pool->continued += (int64_t)count;
}

/* ---- the search ------------------------------------------------------------------------------ */

tlnmf_error tl_checkpoint_create(tl_pool *pool, const tl_search_task *task)
{
    tl_checkpoint *c = &pool->checkpoint;
    tl_units *u = task->units;
    tl_comm *frames = pool->data->frames_comm;
    char words[128], eps[TL_WORD];
    if (u == NULL) /* on all processes that distribute frames: tl_units_create() */
        return TLNMF_OK;
    if (frames != NULL && frames->rank > 0) /* one process writes */
        u->ctx.keeping.save = NULL;
    c->adds = tl_comm_max(frames, u->ctx.keeping.save != NULL) > 0.0;
    tl_slot slots[] = {TL_SLOT(c->H, pool->plan.K * pool->data->N)};
    TRY(TL_ARENA(pool->ctx, "checkpoints", slots, &c->block));
    c->units = u;
    c->section = task->section;
    c->stage = -1;
    /* eps of distributed frames is a mean over processes: its last bit depends on their number */
    tl_format_real(frames == NULL ? task->eps : 0.0, 15, eps);
    snprintf(words, sizeof words, "engine=%s eps=%s", pool->plan.engine->name, eps);
    TRY(tl_checkpoint_identify(pool->ctx, u, c->section, pool->data, &pool->starts.given, task->opt,
                               words));
    if (strcmp(c->section, u->section) == 0) /* the callers of other fits count the time */
        pool->seconds_before = u->before;
    pool->monitor->since -= pool->seconds_before; /* times of the trace; the deadline stays */
    return TLNMF_OK;
}
