/* Checkpoints of a search: what is saved when, and how a search goes on from it. */
#include "search/checkpoint.h"
#include "base/columns.h"
#include "base/record.h"
#include "engine/tape.h"
#include "search/identity.h"
#include "search/saved.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

enum { MOST_BATCHES = 16, NAME = 32 };

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
    int64_t first, count;
    tl_result *best;
    tl_shelf *keep;
    unsigned char *done; /* of the starts of this batch */
    int64_t done_capacity;
    tl_block finished[MOST_BATCHES]; /* outputs of the batches before */
    tl_block now;                    /* those of this one, so far */
    bool frozen;                     /* `now` stays: what comes was cancelled */
    double written;                  /* when the last checkpoint was */
    double cost, spent;              /* seconds that it took; that were spent since */
    double wall, cpu;                /* seconds before this process */
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

static void put_block(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, const tl_block *b,
                      tlnmf_error *error)
{
    int64_t words = (int64_t)(b->size / 8);
    if (*error == TLNMF_OK && b->bytes != NULL)
        *error = tl_record_refer_array(ctx, record, name, (const double *)(const void *)b->bytes, 1,
                                       &words);
}

/* The bytes of a block in the state to go on from; none if there is no such block. */
static tl_bytes find_block(const tl_checkpoint *c, const char *name)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;
    const double *x = tlnmf_get_array(c->resume, name, &rank, shape);
    tl_bytes b = {.mode = TL_BYTES_READ};
    if (x != NULL && rank == 1) {
        b.at = (unsigned char *)x; /* only read */
        b.capacity = (size_t)shape[0] * 8;
    }
    return b;
}

static const char *name_of(const char *what, int64_t number, char name[NAME])
{
    snprintf(name, NAME, "%s.%lld", what, (long long)number);
    return name;
}

static tlnmf_error damaged(tlnmf_ctx *ctx)
{
    return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
}

/* ---- batches and starts as bytes ------------------------------------------------------------- */

/* The outputs of the batch; with trace-all the rows of all starts so far. */
static void pass_batch(tl_checkpoint *c, tl_bytes *b)
{
    tl_traces *t = &c->pool->traces;
    tl_bytes_pass(b, c->done, (size_t)c->count);
    tl_pass_seconds(c->pool, b);
    tl_pass_result(c->pool, c->best, b);
    if (c->keep != NULL)
        tl_pass_shelf(c->pool, c->keep, c->count, b);
    for (int64_t p = 0; p < t->starts; p++)
        tl_pass_trace(t->row + p * t->capacity, &t->length[p], t->capacity, b);
}

/* What a running start has in the host's memory. */
static void pass_host(slot *s, tl_bytes *b)
{
    const tl_pool *pool = s->owner->pool;
    tl_run *run = s->run;
    tl_pass_trace(run->trace, &run->trace_length, run->trace_capacity, b);
    if (pool->plan.hops > 0)
        tl_pass_shelf(pool, &pool->worker[s->worker].hop, 1, b);
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Writes through `pass` into the block; false if there is no memory. */
static bool save_batch(tl_checkpoint *c, tl_block *to)
{
    tl_bytes b = {.mode = TL_BYTES_COUNT};
    pass_batch(c, &b);
    if (!all_say(c, resize(c, to, b.size)))
        return false;
    b = (tl_bytes){.mode = TL_BYTES_WRITE, .at = to->bytes, .capacity = to->size};
    pass_batch(c, &b);
    return true;
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
    char name[NAME];
    for (int i = 0; i < c->pool->plan.workers; i++)
        if (c->slots[i].live && c->slots[i].saved)
            put_block(ctx, record, name_of("run", c->slots[i].p, name), &c->slots[i].state, &error);
    for (int64_t i = 0; c->batch == c->resumed && i < c->count; i++) {
        tl_bytes b = find_block(c, name_of("run", c->first + i, name));
        if (b.capacity > 0 && !c->done[i] && !is_live(c, c->first + i))
            put_block(ctx, record, name, &(tl_block){b.at, b.capacity, b.capacity}, &error);
    }
    return error;
}

static tlnmf_error put_all(tl_checkpoint *c, tlnmf_record *record)
{
    tlnmf_ctx *ctx = c->pool->ctx;
    tlnmf_error error = TLNMF_OK;
    char name[NAME];
    TRY(tl_identity_put(ctx, c->pool, c->task, record));
    TRY(tlnmf_set_integer(ctx, record, "batch", c->batch));
    TRY(tlnmf_set_real(ctx, record, "wall_seconds", c->wall + tl_wall_seconds() - c->since));
    TRY(tlnmf_set_real(ctx, record, "cpu_seconds", c->cpu + tl_cpu_seconds() - c->since_cpu));
    for (int64_t i = 0; i < c->batch; i++)
        put_block(ctx, record, name_of("batch", i, name), &c->finished[i], &error);
    put_block(ctx, record, "now", &c->now, &error);
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
    if (!c->frozen && !save_batch(c, &c->now))
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

static tlnmf_error load_batch(tl_checkpoint *c, const char *name)
{
    tl_bytes b = find_block(c, name);
    pass_batch(c, &b);
    return b.bad ? damaged(c->pool->ctx) : TLNMF_OK;
}

static tlnmf_error clear_done(tl_checkpoint *c)
{
    const tl_hooks *hooks = &c->pool->ctx->hooks;
    if (c->count > c->done_capacity) {
        tl_release(hooks, c->done);
        c->done = tl_allocate(hooks, (size_t)c->count);
        c->done_capacity = c->done != NULL ? c->count : 0;
        if (c->done == NULL)
            return tl_fail(c->pool->ctx, TLNMF_ERR_MEMORY, "no memory for checkpoints");
    }
    memset(c->done, 0, (size_t)c->count);
    return TLNMF_OK;
}

static tlnmf_error keep_outputs(tl_checkpoint *c)
{
    return save_batch(c, &c->finished[c->batch])
               ? TLNMF_OK
               : tl_fail(c->pool->ctx, TLNMF_ERR_MEMORY, "no memory for checkpoints");
}

tlnmf_error tl_checkpoint_begin(tl_checkpoint *c, int64_t first, int64_t count, tl_result *best,
                                tl_shelf *keep, bool *finished)
{
    char name[NAME];
    *finished = false;
    if (c == NULL)
        return TLNMF_OK;
    c->first = first;
    c->count = count;
    c->best = best;
    c->keep = keep;
    if (++c->batch >= MOST_BATCHES)
        c->saves = false;
    TRY(clear_done(c));
    if (c->batch > c->resumed)
        return TLNMF_OK;
    *finished = c->batch < c->resumed;
    TRY(load_batch(c, *finished ? name_of("batch", c->batch, name) : "now"));
    return *finished ? keep_outputs(c) : TLNMF_OK;
}

tlnmf_error tl_checkpoint_end(tl_checkpoint *c, bool is_last)
{
    if (c == NULL || !c->saves)
        return TLNMF_OK;
    if (!tl_pool_stopped(c->pool))
        return is_last ? TLNMF_OK : keep_outputs(c);
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
    return c != NULL && c->done[p - c->first];
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
    char name[NAME];
    slot *s = &c->slots[worker];
    tl_engine *e = c->pool->worker[worker].engine;
    tl_bytes b = {0};
    if (c->batch == c->resumed)
        b = find_block(c, name_of("run", p, name));
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
    c->frozen = save_batch(c, &c->now);
}

void tl_checkpoint_after(tl_checkpoint *c, int64_t p)
{
    if (c != NULL && !tl_pool_stopped(c->pool))
        c->done[p - c->first] = 1;
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
    c->wall = tlnmf_get_real(c->resume, "wall_seconds");
    c->cpu = tlnmf_get_real(c->resume, "cpu_seconds");
    if (c->resumed < 0 || c->resumed >= MOST_BATCHES || !(c->wall >= 0.0) || !(c->cpu >= 0.0))
        return damaged(ctx);
    return TLNMF_OK;
}

tlnmf_error tl_checkpoint_create(tl_pool *pool, const tl_search_task *task)
{
    tl_checkpoint *c;
    slot *slots;
    void *memory;
    if (task->keeping == NULL || (task->keeping->save == NULL && task->keeping->resume == NULL))
        return TLNMF_OK;
    if (task->machines != NULL) /* they would have to agree on a moment */
        return task->keeping->resume == NULL
                   ? TLNMF_OK
                   : tl_fail(pool->ctx, TLNMF_ERR_DATA,
                             "there are no checkpoints where machines share out starts");
    pool->identity = tl_identity_data(pool->data);
    pool->columns = (int64_t)tl_sums_of(pool->data->sums, (double)pool->data->T);
    tl_slot table[] = {TL_SLOT(c, 1), TL_SLOT(slots, pool->plan.workers)};
    TRY(TL_ARENA(pool->ctx, "checkpoints", table, &memory));
    *c = (tl_checkpoint){.pool = pool,
                         .task = task,
                         .keeping = *task->keeping,
                         .saves = task->keeping->save != NULL,
                         .resume = task->keeping->resume,
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
    tl_release(&hooks, c->done);
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
