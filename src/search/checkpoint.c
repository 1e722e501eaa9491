/* Checkpoints of a search: what is saved when, and how a search goes on from it. */
#include "search/checkpoint.h"
#include "base/columns.h"
#include "base/record.h"
#include "engine/tape.h"
#include "search/identity.h"
#include "search/saved.h"
#include "search/share.h"

#include <math.h>
#include <stdatomic.h>

enum { MOST_BATCHES = 16 };

/* Saving takes at most this part of the time: it waits a hundred times as long as the last took. */
static const double SHARE = 0.01;

/* A worker's start, and its state when it was last saved. */
typedef struct slot {
    bool live;    /* a start is running */
    int thread;   /* on this thread of the call */
    bool saved;   /* its state is in `state` */
    bool fresh;   /* saved since the last checkpoint */
    bool stopped; /* saved because the search was cancelled: what follows is unwinding */
    int64_t p;
    tl_run *run;
    double next; /* when to save it again */
    tl_block state;
    tl_bytes from; /* the state that is replayed: what belongs to the host */
    struct tl_checkpoint *owner;
    int worker;
} slot;

struct tl_checkpoint {
    tl_pool *pool;
    const tl_search_task *task;
    tl_keeping keeping;
    atomic_bool saves; /* still: the search was neither stopped nor asked to save no more */
    const tlnmf_record *resume; /* NULL: from the beginning */
    int64_t resumed;            /* the batch that it was in */
    int64_t batch;              /* the current one; -1 before the first */
    tl_batch at;
    tl_block done;                   /* of its starts, a byte each */
    tl_block finished[MOST_BATCHES]; /* outputs of the batches before */
    tl_block now, points;            /* those of this one, so far: the best and the shelf */
    double score;                    /* of the best in `now`, ... */
    int64_t best_start;              /* ... and its start */
    bool frozen;        /* these stay: what comes was cancelled, or is of other machines */
    double written;     /* when the last checkpoint was */
    double cost, spent; /* seconds that it took; that were spent since */
    double wall, cpu;   /* seconds before this process */
    double since, since_cpu;
    slot *slots;
    void *memory;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Whether all machines that share the frames say so. */
static bool all_say(const tl_checkpoint *c, bool here)
{
    return tl_sums_of(c->pool->data->sums, !here) == 0.0;
}

/* On the machine that writes. */
static bool resize(const tl_checkpoint *c, tl_block *b, size_t size)
{
    const tl_columns frames = tl_frames_of(c->pool);
    if (tl_columns_writes(&frames))
        return tl_block_resize(&c->pool->ctx->hooks, b, size);
    b->size = (size + 7) / 8 * 8;
    return true;
}

static tlnmf_error damaged(tlnmf_ctx *ctx)
{
    return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
}

/* ---- batches and starts as bytes ------------------------------------------------------------- */

typedef void (*passing)(tl_checkpoint *c, tl_bytes *b);

/* The best of the batch; with trace-all the rows of all starts so far. */
static void pass_best(tl_checkpoint *c, tl_bytes *b)
{
    tl_traces *t = &c->pool->traces;
    tl_pass_result(c->pool, c->at.best, b);
    for (int64_t p = 0; p < t->starts; p++)
        tl_pass_trace(t->row + p * t->capacity, &t->length[p], t->capacity, b);
}

/* The final points of the batch, if they are kept. */
static void pass_points(tl_checkpoint *c, tl_bytes *b)
{
    for (int64_t i = 0; c->at.keep != NULL && i < c->at.count; i++)
        tl_pass_point(c->pool, c->at.keep, i, b);
}

static void pass_outputs(tl_checkpoint *c, tl_bytes *b)
{
    pass_best(c, b);
    pass_points(c, b);
}

/* What a running start has in the host's memory. */
static void pass_host(slot *s, tl_bytes *b)
{
    const tl_pool *pool = s->owner->pool;
    tl_run *run = s->run;
    tl_pass_trace(run->trace, &run->trace_length, run->trace_capacity, b);
    if (pool->plan.hops > 0)
        tl_pass_point(pool, &pool->worker[s->worker].hop, 0, b);
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Writes through `pass` into the block; false if there is no memory. */
static bool save_to(tl_checkpoint *c, passing pass, tl_block *to)
{
    tl_bytes b = {.mode = TL_BYTES_COUNT};
    pass(c, &b);
    if (!all_say(c, resize(c, to, b.size)))
        return false;
    b = (tl_bytes){.mode = TL_BYTES_WRITE, .at = to->bytes, .capacity = to->size};
    pass(c, &b);
    return true;
}

static bool save_now(tl_checkpoint *c)
{
    const tl_info *info = &c->at.best->info;
    c->best_start = info->best_start;
    c->score = tl_score_of(c->at.job, (tl_values){info->C, info->L, info->I});
    return save_to(c, pass_best, &c->now) && save_to(c, pass_points, &c->points);
}

static void pass_slot(tl_checkpoint *c, slot *s, tl_bytes *b)
{
    pass_host(s, b);
    tl_tape_save(c->pool->worker[s->worker].engine, b);
}

static bool save_slot(tl_checkpoint *c, slot *s)
{
    tl_bytes b = {.mode = TL_BYTES_COUNT};
    if (!all_say(c, tl_tape_is_whole(c->pool->worker[s->worker].engine)))
        return false;
    pass_slot(c, s, &b);
    s->saved = all_say(c, resize(c, &s->state, b.size));
    if (!s->saved)
        return false;
    b = (tl_bytes){.mode = TL_BYTES_WRITE, .at = s->state.bytes, .capacity = s->state.size};
    pass_slot(c, s, &b);
    return true;
}

static bool is_live(const tl_checkpoint *c, int64_t p)
{
    for (int i = 0; i < c->pool->plan.workers; i++)
        if (c->slots[i].live && c->slots[i].p == p)
            return true;
    return false;
}

/* The starts that run, and those of the resumed batch whose turn has not come yet. */
static tlnmf_error put_runs(tl_checkpoint *c, tlnmf_record *record)
{
    tlnmf_ctx *ctx = c->pool->ctx;
    tlnmf_error error = TLNMF_OK;
    char name[TL_BLOCK_NAME];
    for (int i = 0; i < c->pool->plan.workers; i++)
        if (c->slots[i].live && c->slots[i].saved)
            tl_block_put(ctx, record, tl_block_name("run", c->slots[i].p, name), &c->slots[i].state,
                         &error);
    for (int64_t i = 0; c->batch == c->resumed && i < c->at.count; i++) {
        tl_bytes b = tl_block_find(c->resume, tl_block_name("run", c->at.first + i, name));
        if (b.capacity > 0 && !c->done.bytes[i] && !is_live(c, c->at.first + i))
            tl_block_put(ctx, record, name, &(tl_block){b.at, b.capacity, b.capacity}, &error);
    }
    return error;
}

static tlnmf_error put_all(tl_checkpoint *c, tlnmf_record *record)
{
    tlnmf_ctx *ctx = c->pool->ctx;
    tlnmf_error error = TLNMF_OK;
    char name[TL_BLOCK_NAME];
    TRY(tl_identity_put(ctx, c->pool, c->task, record));
    TRY(tl_put_seconds(c->pool, c->wall + tl_wall_seconds() - c->since,
                       c->cpu + tl_cpu_seconds() - c->since_cpu, record));
    TRY(tlnmf_set_integer(ctx, record, "batch", c->batch));
    TRY(tlnmf_set_integer(ctx, record, "count", c->at.count));
    TRY(tlnmf_set_integer(ctx, record, "best_start", c->best_start));
    TRY(tlnmf_set_real(ctx, record, "score", c->score));
    for (int64_t i = 0; i < c->batch; i++)
        tl_block_put(ctx, record, tl_block_name("batch", i, name), &c->finished[i], &error);
    tl_block_put(ctx, record, "done", &c->done, &error);
    tl_block_put(ctx, record, "now", &c->now, &error);
    tl_block_put(ctx, record, "points", &c->points, &error);
    return error == TLNMF_OK ? put_runs(c, record) : error;
}

/* Under the lock. What cannot be saved is no reason to end the search: the last checkpoint stays.
 */
static void write(tl_checkpoint *c)
{
    double since = tl_wall_seconds();
    tlnmf_record *record = NULL;
    tlnmf_ctx *ctx = c->pool->ctx;
    tlnmf_error error = TLNMF_OK;
    const tl_columns frames = tl_frames_of(c->pool);
    if (!c->frozen && !save_now(c))
        error = tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for a checkpoint");
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, &record);
    if (error == TLNMF_OK)
        error = put_all(c, record);
    if (error != TLNMF_OK)
        tl_log(ctx, TLNMF_LOG_WARNING, "no checkpoint: %s", tlnmf_message(ctx));
    else if (tl_columns_writes(&frames) && c->keeping.save(record, c->keeping.user) != 0)
        c->saves = false;
    c->saves = all_say(c, c->saves);
    tlnmf_record_free(record);
    for (int i = 0; i < c->pool->plan.workers; i++)
        c->slots[i].fresh = false;
    c->written = tl_wall_seconds();
    c->cost = c->spent + c->written - since;
    c->spent = 0.0;
}

static bool all_fresh(const tl_checkpoint *c)
{
    for (int i = 0; i < c->pool->plan.workers; i++)
        if (c->slots[i].live && !c->slots[i].fresh)
            return false;
    return true;
}

/* Seconds until the next. */
static double wait_of(const tl_checkpoint *c)
{
    return c->keeping.seconds > 0.0 ? fmax(c->keeping.seconds, c->cost / SHARE) : 0.0;
}

/* Saves a start whose time has come, and the search once all running starts are saved, or one of
 * them takes too long. */
static void save_in_time(tl_checkpoint *c, slot *s)
{
    double now = tl_wall_seconds();
    if (now < s->next)
        return;
    omp_set_lock(&c->pool->monitor.lock);
    if (c->saves && !tl_pool_stopped(c->pool)) {
        save_slot(c, s);
        s->fresh = true;
        c->spent += tl_wall_seconds() - now;
        if (all_fresh(c) || now > c->written + 2.0 * c->keeping.seconds)
            write(c);
    }
    s->next = tl_wall_seconds() + wait_of(c);
    omp_unset_lock(&c->pool->monitor.lock);
}

/* Where frames are shared out: when the first machine says so, which all hear at the same
 * iteration. */
static void save_together(tl_checkpoint *c, slot *s)
{
    tl_monitor *monitor = &c->pool->monitor;
    bool due = tl_monitor_saves(monitor);
    tl_monitor_wish_to_save(monitor, monitor->sums->rank == 0 && tl_wall_seconds() >= s->next);
    if (!due)
        return;
    omp_set_lock(&monitor->lock);
    if (save_slot(c, s))
        write(c);
    s->next = tl_wall_seconds() + wait_of(c);
    omp_unset_lock(&monitor->lock);
    tl_monitor_wish_to_save(monitor, false);
}

/* A cancelled run is saved where it was when it heard of it. */
static void save_at_stop(tl_checkpoint *c, slot *s)
{
    omp_set_lock(&c->pool->monitor.lock);
    if (c->saves && !s->stopped)
        save_slot(c, s);
    s->stopped = true;
    omp_unset_lock(&c->pool->monitor.lock);
}

/* The slot of the run on this thread, or NULL. */
static slot *slot_here(tl_checkpoint *c)
{
    slot *found = NULL;
    omp_set_lock(&c->pool->monitor.lock);
    for (int i = 0; i < c->pool->plan.workers; i++)
        if (c->slots[i].live && c->slots[i].thread == tl_thread_index())
            found = &c->slots[i];
    omp_unset_lock(&c->pool->monitor.lock);
    return found;
}

/* tl_monitor.pause: the thread is that of a run. */
static bool pause_run(void *user, bool stops)
{
    tl_checkpoint *c = user;
    slot *s = slot_here(c);
    if (s == NULL)
        return false;
    if (tl_tape_replays(c->pool->worker[s->worker].engine))
        return true;
    if (c->saves && stops)
        save_at_stop(c, s);
    else if (c->saves && c->pool->data->sums != NULL)
        save_together(c, s);
    else if (c->saves)
        save_in_time(c, s);
    return false;
}

/* ---- batches --------------------------------------------------------------------------------- */

static tlnmf_error load_from(tl_checkpoint *c, passing pass, const char *name)
{
    tl_bytes b = tl_block_find(c->resume, name);
    pass(c, &b);
    return b.bad ? damaged(c->pool->ctx) : TLNMF_OK;
}

static tlnmf_error load_now(tl_checkpoint *c)
{
    tl_bytes done = tl_block_find(c->resume, "done");
    if (done.capacity != c->done.size)
        return damaged(c->pool->ctx);
    memcpy(c->done.bytes, done.at, done.capacity);
    TRY(load_from(c, pass_best, "now"));
    return load_from(c, pass_points, "points");
}

static tlnmf_error keep_outputs(tl_checkpoint *c)
{
    return save_to(c, pass_outputs, &c->finished[c->batch])
               ? TLNMF_OK
               : tl_fail(c->pool->ctx, TLNMF_ERR_MEMORY, "no memory for checkpoints");
}

tlnmf_error tl_checkpoint_begin(tl_checkpoint *c, const tl_batch *batch, bool *finished)
{
    char name[TL_BLOCK_NAME];
    *finished = false;
    if (c == NULL)
        return TLNMF_OK;
    c->at = *batch;
    if (++c->batch >= MOST_BATCHES)
        c->saves = false;
    if (!tl_block_resize(&c->pool->ctx->hooks, &c->done, (size_t)batch->count))
        return tl_fail(c->pool->ctx, TLNMF_ERR_MEMORY, "no memory for checkpoints");
    memset(c->done.bytes, 0, c->done.size);
    if (c->batch > c->resumed)
        return TLNMF_OK;
    *finished = c->batch < c->resumed;
    if (!*finished)
        return load_now(c);
    TRY(load_from(c, pass_outputs, tl_block_name("batch", c->batch, name)));
    return keep_outputs(c);
}

/* Whether a machine that now waits for others has something to save that it should not lose. */
static bool is_due(const tl_checkpoint *c)
{
    tl_sums *frames = c->pool->data->sums;
    bool due = tl_wall_seconds() >= c->written + wait_of(c);
    return tl_sums_of(frames, due && (frames == NULL || frames->rank == 0)) > 0.0;
}

void tl_checkpoint_wait(tl_checkpoint *c)
{
    if (c == NULL || !c->saves || c->pool->machines == NULL)
        return;
    omp_set_lock(&c->pool->monitor.lock);
    c->frozen = c->frozen || save_now(c);
    if (!c->frozen) {
        tl_log(c->pool->ctx, TLNMF_LOG_WARNING, "no memory for a checkpoint");
        c->saves = false;
    } else if (!tl_pool_stopped(c->pool) && is_due(c)) {
        write(c);
    }
    omp_unset_lock(&c->pool->monitor.lock);
}

tlnmf_error tl_checkpoint_end(tl_checkpoint *c, bool is_last)
{
    if (c == NULL || !c->saves)
        return TLNMF_OK;
    if (!tl_pool_stopped(c->pool)) {
        c->frozen = false;
        return is_last ? TLNMF_OK : keep_outputs(c);
    }
    omp_set_lock(&c->pool->monitor.lock);
    if (atomic_load(&c->pool->monitor.stop) == TLNMF_CANCELLED) {
        for (int i = 0; i < c->pool->plan.workers; i++)
            c->slots[i].live = c->slots[i].stopped; /* they have ended, but are not done */
        write(c);
    }
    c->saves = false;
    omp_unset_lock(&c->pool->monitor.lock);
    return TLNMF_OK;
}

bool tl_checkpoint_has(const tl_checkpoint *c, int64_t p)
{
    return c != NULL && c->done.bytes[p - c->at.first];
}

/* ---- starts ---------------------------------------------------------------------------------- */

/* The inner engine has its state: so has the host, now. */
static void reached(void *user)
{
    slot *s = user;
    pass_host(s, &s->from);
}

/* Skips what belongs to the host, for the tape comes after it. */
static void skip_host(const slot *s, tl_bytes *b)
{
    const tl_pool *pool = s->owner->pool;
    int64_t M = pool->data->M, N = pool->data->all, K = pool->plan.K, rows = 0;
    tl_bytes_integer(b, &rows);
    if (rows < 0 || rows > s->run->trace_capacity)
        b->bad = true;
    size_t bytes = b->bad ? 0 : (size_t)rows * sizeof(tl_trace_row);
    if (pool->plan.hops > 0)
        bytes += (size_t)(M * M + (M + N) * K) * sizeof(double);
    if (bytes > b->capacity - b->size)
        b->bad = true;
    b->size += b->bad ? 0 : bytes;
}

tlnmf_error tl_checkpoint_start(tl_checkpoint *c, int worker, int64_t p, tl_run *run)
{
    if (c == NULL)
        return TLNMF_OK;
    char name[TL_BLOCK_NAME];
    slot *s = &c->slots[worker];
    tl_engine *e = c->pool->worker[worker].engine;
    tl_bytes b = {0};
    if (c->batch == c->resumed)
        b = tl_block_find(c->resume, tl_block_name("run", p, name));
    omp_set_lock(&c->pool->monitor.lock);
    s->live = true;
    s->saved = s->fresh = s->stopped = false;
    s->p = p;
    s->run = run;
    s->thread = tl_thread_index();
    if (b.capacity > 0 && resize(c, &s->state, b.capacity)) { /* until it is saved anew */
        if (s->state.bytes != NULL)
            memcpy(s->state.bytes, b.at, b.capacity);
        s->saved = true;
    }
    omp_unset_lock(&c->pool->monitor.lock);
    tl_tape_begin(e);
    if (b.capacity == 0)
        return TLNMF_OK;
    s->from = b;
    skip_host(s, &b);
    return !b.bad && tl_tape_replay(e, &b, reached, s) ? TLNMF_OK
                                                       : damaged(&c->pool->worker[worker].ctx);
}

void tl_checkpoint_leave(tl_checkpoint *c, int worker)
{
    if (c == NULL)
        return;
    slot *s = &c->slots[worker];
    omp_set_lock(&c->pool->monitor.lock);
    s->live = false;
    omp_unset_lock(&c->pool->monitor.lock);
    tl_tape_off(c->pool->worker[worker].engine);
}

void tl_checkpoint_before(tl_checkpoint *c)
{
    if (c == NULL || !c->saves || c->frozen || !tl_pool_stopped(c->pool))
        return;
    c->frozen = save_now(c);
}

void tl_checkpoint_after(tl_checkpoint *c, int64_t p)
{
    if (c != NULL && !tl_pool_stopped(c->pool))
        c->done.bytes[p - c->at.first] = 1;
}

/* ---- create and free ------------------------------------------------------------------------- */

static tlnmf_error wrap_engines(tl_checkpoint *c)
{
    for (int i = 0; i < c->pool->plan.workers; i++) {
        tl_worker *w = &c->pool->worker[i];
        tl_engine *inner = w->engine;
        w->engine = NULL; /* the tape frees it even if it cannot be created */
        TRY(tl_tape_create(c->pool->ctx, inner, &w->engine));
        c->slots[i] = (slot){.owner = c, .worker = i, .next = c->since + c->keeping.seconds};
    }
    return TLNMF_OK;
}

static tlnmf_error check_resume(tl_checkpoint *c)
{
    tlnmf_ctx *ctx = c->pool->ctx;
    tlnmf_record *now;
    if (c->resume == NULL)
        return TLNMF_OK;
    TRY(tlnmf_record_create(ctx, &now));
    tlnmf_error error = tl_identity_put(ctx, c->pool, c->task, now);
    if (error == TLNMF_OK)
        error = tl_identity_compare(ctx, now, c->resume);
    tlnmf_record_free(now);
    TRY(error);
    c->resumed = tlnmf_get_integer(c->resume, "batch");
    if (c->resumed < 0 || c->resumed >= MOST_BATCHES ||
        !tl_get_seconds(c->pool, c->resume, &c->wall, &c->cpu))
        return damaged(ctx);
    return TLNMF_OK;
}

tlnmf_error tl_checkpoint_create(tl_pool *pool, const tl_search_task *task)
{
    tl_checkpoint *c;
    slot *slots;
    void *memory;
    const tl_keeping keeping = task->keeping != NULL ? *task->keeping : (tl_keeping){0};
    /* if one machine has checkpoints, all share what these must hold */
    if (!tl_share_any(pool, keeping.save != NULL || keeping.resume != NULL))
        return TLNMF_OK;
    pool->identity = tl_identity_data(pool->data);
    pool->columns = (int64_t)tl_sums_of(pool->data->sums, (double)pool->data->T);
    tl_slot table[] = {TL_SLOT(c, 1), TL_SLOT(slots, pool->plan.workers)};
    TRY(TL_ARENA(pool->ctx, "checkpoints", table, &memory));
    *c = (tl_checkpoint){.pool = pool,
                         .task = task,
                         .keeping = keeping,
                         .saves = keeping.save != NULL,
                         .resume = keeping.resume,
                         .resumed = -1,
                         .batch = -1,
                         .slots = slots,
                         .memory = memory};
    c->since = c->written = tl_wall_seconds();
    c->since_cpu = tl_cpu_seconds();
    pool->checkpoint = c; /* from now on the pool frees it */
    TRY(check_resume(c));
    pool->monitor.pause = pause_run;
    pool->monitor.pause_user = c;
    pool->monitor.since -= c->wall;
    pool->monitor.deadline -= c->wall;
    return wrap_engines(c);
}

void tl_checkpoint_free(tl_checkpoint *c)
{
    if (c == NULL)
        return;
    tl_hooks hooks = c->pool->ctx->hooks; /* the memory holds the object itself */
    for (int i = 0; i < MOST_BATCHES; i++)
        tl_release(&hooks, c->finished[i].bytes);
    for (int i = 0; i < c->pool->plan.workers; i++)
        tl_release(&hooks, c->slots[i].state.bytes);
    tl_release(&hooks, c->now.bytes);
    tl_release(&hooks, c->points.bytes);
    tl_release(&hooks, c->done.bytes);
    tl_release(&hooks, c->memory);
}

double tl_checkpoint_wall(const tl_checkpoint *c)
{
    return c != NULL ? c->wall : 0.0;
}

double tl_checkpoint_cpu(const tl_checkpoint *c)
{
    return c != NULL ? c->cpu : 0.0;
}
