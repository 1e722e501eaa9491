/* The threads of a call: they wait for pieces of work, take them one at a time, and end with the
 * call. OpenMP does not suffice: threads cannot join a team that is already at work, and how they
 * wait is set for a whole process. */
#define _GNU_SOURCE /* RUSAGE_THREAD; NOLINT(bugprone-reserved-identifier) */
#include "base/alone.h"
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Threads can also join jobs inside jobs, such as a product of one of many candidates; a job of the
 * fourth level runs on its own thread alone. The pieces of a job form up to SHARES shares (chosen
 * arbitrarily) at any number of threads; with more threads some begin in the same share. */
enum { LEVELS = 3, CACHE_LINE = 64, SHARES = 16 };

/* The pieces next .. end - 1 that one thread takes before others do: a thread has the same rows in
 * every phase, and finds them in its cache. */
typedef struct share {
    _Alignas(CACHE_LINE) atomic_llong next;
    int64_t end;
} share;

/* Work that threads may join while it is open: as long as there may be pieces left. `inside` counts
 * the threads that may still use it. The owner returns when they have left. */
typedef struct job {
    _Alignas(CACHE_LINE) atomic_int open;
    atomic_int inside;
    atomic_int owner_sleeps;
    int level;
    int64_t grain, count;
    int shares;
    tl_piece piece;
    void *arg;
    share share[SHARES];
} job;

typedef struct team team;

/* One thread of a team, the caller's or a helper's, and the jobs that it owns. */
typedef struct member {
    team *team;
    int index;
    pthread_t thread;
    job job[LEVELS];
} member;

struct team {
    int threads;                             /* with the caller */
    bool crowded;                            /* more threads than cores */
    _Alignas(CACHE_LINE) atomic_uint posted; /* grows with every job and at the end */
    _Alignas(CACHE_LINE) atomic_int idle, sleepers;
    atomic_int ends, running, most; /* helpers started so far, and that may be */
    pthread_mutex_t lock;           /* of the two conditions; while helpers are started */
    pthread_cond_t wake, left;
    member member[];
};

/* The state of this thread, like the settings of OpenMP, so that kernels need not pass it on. */
static _Thread_local struct {
    member *member; /* NULL outside of calls */
    int level;
    int calls;     /* tl_with_threads() inside one another */
    void *scratch; /* NULL: not asked for yet */
    /* the current wait */
    int looks;
    bool checked;
    double since;
    double tired_until; /* it does not spin before this time: another thread needs the core */
    long interruptions; /* by other threads, when last seen */
} here;

/* ---- waiting --------------------------------------------------------------------------------- */

/* A wait may spin for about the time that a sleeping thread takes to wake, some 50 us, and the
 * serial parts between two phases. The clock is read every LOOKS looks, about a microsecond. Waits
 * below SURE do not pay for a system call. Spinning costs others their time on a shared core: if
 * another thread interrupted this one, it does not spin for TIRED, a few time slices of the
 * scheduler. SURE and TIRED are chosen arbitrarily. */
static const double LONGEST = 150e-6, SURE = 5e-6, TIRED = 20e-3;
enum { LOOKS = 16 };

/* How often this thread had to leave its core to another. */
static long interruptions(void)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
#else
    return 0;
#endif
}

static void pause_core(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void begin_wait(void)
{
    here.looks = 0;
    here.checked = false;
}

/* Pauses the core for a moment. False when it is time to sleep. */
static bool may_spin(const team *t)
{
    if (t != NULL && t->crowded)
        return false;
    pause_core();
    if (++here.looks % LOOKS != 0)
        return true;
    double now = tl_wall_seconds();
    if (here.looks == LOOKS)
        here.since = now;
    if (!here.checked && now - here.since > SURE) {
        long count = interruptions();
        if (count != here.interruptions)
            here.tired_until = now + TIRED;
        here.interruptions = count;
        here.checked = true;
    }
    return now >= here.tired_until && now - here.since < LONGEST;
}

/* Waits for a job: spins for a moment, then sleeps. */
static void wait_for_post(team *t, unsigned seen)
{
    atomic_fetch_add(&t->idle, 1);
    begin_wait();
    while (atomic_load_explicit(&t->posted, memory_order_relaxed) == seen && may_spin(t))
        ;
    if (atomic_load(&t->posted) == seen) {
        pthread_mutex_lock(&t->lock);
        atomic_fetch_add(&t->sleepers, 1);
        while (atomic_load(&t->posted) == seen)
            pthread_cond_wait(&t->wake, &t->lock);
        atomic_fetch_sub(&t->sleepers, 1);
        pthread_mutex_unlock(&t->lock);
    }
    atomic_fetch_sub(&t->idle, 1);
}

/* Waits until all others have left the job. */
static void wait_for_others(team *t, job *j)
{
    begin_wait();
    while (atomic_load(&j->inside) > 0 && may_spin(t))
        ;
    if (atomic_load(&j->inside) == 0)
        return;
    pthread_mutex_lock(&t->lock);
    atomic_store(&j->owner_sleeps, 1);
    while (atomic_load(&j->inside) > 0)
        pthread_cond_wait(&t->left, &t->lock);
    atomic_store(&j->owner_sleeps, 0);
    pthread_mutex_unlock(&t->lock);
}

void tl_announce(atomic_int *x, int value)
{
    atomic_store_explicit(x, value, memory_order_release);
}

void tl_wait_for(atomic_int *x, int least)
{
    enum { NAP = 20000 }; /* ns, below the 50 us of waking; chosen arbitrarily */
    const team *t = here.member != NULL ? here.member->team : NULL;
    if (atomic_load_explicit(x, memory_order_acquire) >= least)
        return;
    begin_wait();
    while (atomic_load_explicit(x, memory_order_acquire) < least)
        if (!may_spin(t)) /* the other thread may need this core */
            nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
}

static void wake_all(team *t)
{
    atomic_fetch_add(&t->posted, 1);
    if (atomic_load(&t->sleepers) == 0)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Takes pieces until all are taken, starting with this thread's share. */
static void take_pieces(job *j)
{
    int level = here.level;
    int own = (int)((int64_t)here.member->index * j->shares / here.member->team->threads);
    here.level = j->level + 1;
    for (int i = 0; i < j->shares; i++) {
        share *s = &j->share[(own + i) % j->shares];
        while (atomic_load_explicit(&s->next, memory_order_relaxed) < s->end) {
            int64_t first = atomic_fetch_add(&s->next, 1) * j->grain;
            if (first >= tl_min(s->end * j->grain, j->count))
                break;
            j->piece(first, tl_min(first + j->grain, j->count), j->arg);
        }
    }
    atomic_store(&j->open, 0);
    here.level = level;
}

/* Joins a job, unless it has just been closed. */
static void join_job(team *t, job *j)
{
    atomic_fetch_add(&j->inside, 1);
    if (atomic_load(&j->open))
        take_pieces(j);
    if (atomic_fetch_sub(&j->inside, 1) == 1 && atomic_load(&j->owner_sleeps)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->left);
        pthread_mutex_unlock(&t->lock);
    }
}

/* Chooses an open job to join: whole starts before phases of a start, and among phases the one
 * with the fewest threads. */
static job *find_job(team *t)
{
    job *best = NULL;
    for (int level = 0; level < LEVELS && best == NULL; level++)
        for (int i = 1; i < t->threads; i++) {
            job *j = &t->member[(here.member->index + i) % t->threads].job[level];
            if (atomic_load(&j->open) &&
                (best == NULL || atomic_load(&j->inside) < atomic_load(&best->inside)))
                best = j;
        }
    return best;
}

static void *help(void *self)
{
    team *t = ((member *)self)->team;
    here.member = self;
    here.calls = 1;
    omp_set_num_threads(1); /* also of BLAS, in this thread */
    for (;;) {
        unsigned seen = atomic_load(&t->posted); /* before `ends`: else the last post is missed */
        if (atomic_load(&t->ends))
            break;
        job *j = find_job(t);
        if (j != NULL)
            join_job(t, j);
        else
            wait_for_post(t, seen);
    }
    free(here.scratch);
    return NULL;
}

/* ---- the team -------------------------------------------------------------------------------- */

/* Starts helpers up to this number, or as many as the system grants. They block all signals, which
 * the host's threads handle. */
static void start_helpers(team *t, int64_t wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&t->lock);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int running = atomic_load(&t->running);
    for (; running < tl_min(wanted, atomic_load(&t->most)); running++) {
        member *m = &t->member[running + 1];
        if (pthread_create(&m->thread, NULL, help, m) != 0)
            atomic_store(&t->most, running);
    }
    atomic_store(&t->running, (int)tl_min(running, atomic_load(&t->most)));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&t->lock);
}

/* The cores that this process may use. */
static int cores(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) /* fails with more than 1024 cores */
        return CPU_COUNT(&set);
#endif
    return (int)tl_min(tl_max(sysconf(_SC_NPROCESSORS_ONLN), 1), TL_THREADS_MOST);
#endif
}

/* NULL if there is no memory: the call then runs on one thread. The memory does not come from the
 * context's allocator; nor do the stacks of the threads. */
static team *create(int threads)
{
    size_t bytes = sizeof(team) + (size_t)threads * sizeof(member);
    team *t = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (t == NULL)
        return NULL;
    memset(t, 0, bytes);
    t->threads = threads;
    t->crowded = threads > cores();
    atomic_store(&t->most, threads - 1);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    pthread_cond_init(&t->left, NULL);
    for (int i = 0; i < threads; i++) {
        t->member[i].team = t;
        t->member[i].index = i;
        for (int level = 0; level < LEVELS; level++)
            t->member[i].job[level].level = level;
    }
    return t;
}

static void destroy(team *t)
{
    if (t == NULL)
        return;
    atomic_store(&t->ends, 1);
    wake_all(t);
    for (int i = 1; i <= atomic_load(&t->running); i++)
        pthread_join(t->member[i].thread, NULL);
    pthread_cond_destroy(&t->left);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

tlnmf_error tl_with_threads(int threads, tlnmf_error (*work)(void *arg), void *arg)
{
    TL_ALONE;
    member *outer = here.member;
    int level = here.level;
    bool joins = outer != NULL && threads >= outer->team->threads;
    team *t = threads > 1 && outer == NULL ? create(threads) : NULL;
    if (!joins) {
        here.member = t != NULL ? &t->member[0] : NULL;
        here.level = 0;
    }
    here.calls++;
    tlnmf_error error = work(arg);
    here.member = outer;
    here.level = level;
    if (--here.calls == 0) {
        free(here.scratch);
        here.scratch = NULL;
    }
    destroy(t);
    return error;
}

int tl_thread_count(int64_t wanted)
{
    if (wanted > 0)
        return (int)tl_min(wanted, TL_THREADS_MOST);
    if (tl_threads_here() > 1)
        return tl_threads_here();
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return cores();
#endif
}

int tl_threads_here(void)
{
    return here.member != NULL ? here.member->team->threads : 1;
}

int tl_thread_index(void)
{
    return here.member != NULL ? here.member->index : 0;
}

void *tl_thread_scratch(void)
{
    if (here.scratch == NULL && here.calls > 0)
        here.scratch = aligned_alloc(CACHE_LINE, TL_THREAD_SCRATCH);
    return here.scratch;
}

/* ---- shared work ----------------------------------------------------------------------------- */

/* No share is empty: looking at one can cost a microsecond on a large machine. */
static void fill_shares(job *j, int64_t pieces)
{
    j->shares = (int)tl_min(SHARES, pieces);
    for (int64_t i = 0; i < j->shares; i++) {
        atomic_store_explicit(&j->share[i].next, pieces * i / j->shares, memory_order_relaxed);
        j->share[i].end = pieces * (i + 1) / j->shares;
    }
}

/* Opens a job of `pieces` pieces, and starts the helpers that it lacks. NULL if no thread would
 * join it: a job inside another is opened only if a helper is idle. */
static job *post(int64_t count, int64_t grain, int64_t pieces, tl_piece piece, void *arg)
{
    member *self = here.member;
    if (pieces < 2 || self == NULL || here.level >= LEVELS)
        return NULL;
    team *t = self->team;
    if (atomic_load(&t->running) < tl_min(pieces - 1, atomic_load(&t->most)))
        start_helpers(t, pieces - 1);
    if (here.level > 0 && atomic_load(&t->idle) == 0)
        return NULL;
    job *j = &self->job[here.level];
    j->grain = grain;
    j->count = count;
    j->piece = piece;
    j->arg = arg;
    fill_shares(j, (count + grain - 1) / grain);
    atomic_store(&j->open, 1);
    wake_all(t);
    return j;
}

void tl_share(int64_t count, int64_t grain, tl_piece piece, void *arg)
{
    job *j = post(count, grain, (count + grain - 1) / grain, piece, arg);
    if (j == NULL) {
        for (int64_t first = 0; first < count; first += grain)
            piece(first, tl_min(first + grain, count), arg);
        return;
    }
    take_pieces(j);
    wait_for_others(here.member->team, j);
}

void tl_share_beside(int64_t count, tl_piece piece, void (*work)(void *arg), void *arg)
{
    job *j = post(count, 1, count + 1, piece, arg);
    here.level++; /* jobs inside `work` are not this one */
    work(arg);
    here.level--;
    for (int64_t i = 0; j == NULL && i < count; i++)
        piece(i, i + 1, arg);
    if (j == NULL)
        return;
    take_pieces(j);
    wait_for_others(here.member->team, j);
}

/* A queue: every piece of the job takes from it until it is empty. */
typedef struct queue {
    tl_piece piece;
    void *arg;
    int64_t count;
    atomic_llong next;
} queue;

static void take_all(int64_t first, int64_t last, void *arg)
{
    queue *q = arg;
    (void)first;
    (void)last;
    for (int64_t i; (i = atomic_fetch_add(&q->next, 1)) < q->count;)
        q->piece(i, i + 1, q->arg);
}

void tl_share_among(int64_t threads, int64_t count, tl_piece piece, void *arg)
{
    queue q = {.piece = piece, .arg = arg, .count = count};
    tl_share(tl_min(threads, count), 1, take_all, &q);
}

/* Work with a context and an error each. */
typedef struct tasks {
    tl_concurrent_fn work;
    void *arg;
    tlnmf_ctx *own;
    tlnmf_error *error;
} tasks;

static void do_task(int64_t i, int64_t last, void *arg)
{
    const tasks *t = arg;
    (void)last;
    t->error[i] = t->work(&t->own[i], i, t->arg);
}

tlnmf_error tl_concurrently(tlnmf_ctx *ctx, int64_t at_once, int64_t count, tl_concurrent_fn work,
                            void *arg)
{
    tasks t = {.work = work, .arg = arg};
    tlnmf_error error = TLNMF_OK;
    void *memory;
    tl_slot table[] = {TL_SLOT(t.own, count), TL_SLOT(t.error, count)};
    TRY(TL_ARENA(ctx, "concurrent work", table, &memory));
    for (int64_t i = 0; i < count; i++)
        t.own[i] = *ctx;
    tl_share_among(at_once, count, do_task, &t);
    for (int64_t i = count - 1; i >= 0; i--)
        if (t.error[i] != TLNMF_OK)
            error = tl_fail_as(ctx, t.error[i], &t.own[i]);
    tl_release(&ctx->hooks, memory);
    return error;
}

/* Work of a library built on this one. */
typedef struct foreign_work {
    tlnmf_piece_fn piece;
    void *user;
    int64_t count;
} foreign_work;

static void do_foreign(int64_t i, int64_t last, void *arg)
{
    const foreign_work *w = arg;
    (void)last;
    w->piece(i, w->user);
}

static tlnmf_error share_foreign(void *arg)
{
    tl_share(((const foreign_work *)arg)->count, 1, do_foreign, arg);
    return TLNMF_OK;
}

tlnmf_error tlnmf_parallel(tlnmf_ctx *ctx, int64_t count, tlnmf_piece_fn piece, void *user)
{
    TL_NEED(ctx, ctx);
    if (piece == NULL) {
        tl_note_null(ctx, "piece");
        return TLNMF_ERR_ARGUMENT;
    }
    return tl_with_threads(tl_thread_count(ctx->threads), share_foreign,
                           &(foreign_work){piece, user, count});
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The number of partial sums does not depend on the number of threads, so the sum has the same
 * bits. They take 2 KiB of stack; chosen arbitrarily. */
enum { PARTS = 256 };

typedef struct summing {
    tl_part_sum part;
    void *arg;
    int64_t grain;
    double sum[PARTS];
} summing;

static void sum_part(int64_t first, int64_t last, void *arg)
{
    summing *s = arg;
    s->sum[first / s->grain] = s->part(first, last, s->arg);
}

double tl_share_sum(int64_t count, int64_t grain, tl_part_sum part, void *arg)
{
    if (count <= grain)
        return count > 0 ? part(0, count, arg) : 0.0;
    int64_t most = (count + PARTS - 1) / PARTS;
    summing s = {.part = part, .arg = arg, .grain = (most + grain - 1) / grain * grain};
    s.grain = tl_max(s.grain, grain);
    tl_share(count, s.grain, sum_part, &s);
    double sum = 0.0;
    for (int64_t i = 0; i * s.grain < count; i++)
        sum += s.sum[i];
    return sum;
}
