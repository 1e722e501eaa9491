/* The threads of a call: they wait for pieces of work, take them one at a time, and go when the
 * call ends. OpenMP's own teams cannot be joined halfway, and their waiting is set for a whole
 * process. */
#include "base/base.h"
#include "base/patience.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Jobs inside jobs, such as a product of one part of a candidate among many candidates, can still
 * be joined; a fourth level runs where it is. The pieces of a job have up to SHARES shares at any
 * number of threads, a plain choice; with more threads some begin in the same one. */
enum { LEVELS = 3, CACHE_LINE = 64, SHARES = 16 };

/* The pieces first .. end - 1 that one thread takes before those of others: the same thread has the
 * same rows in every phase, and finds them in its cache. */
typedef struct share {
    _Alignas(CACHE_LINE) atomic_llong next;
    int64_t end;
} share;

/* Work that threads may join while it is open, which is as long as there may be pieces left.
 * `inside` counts the threads that might touch it: the owner goes on when they have left. */
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

/* Where this thread works: no member outside of calls. It belongs to the thread as the settings of
 * OpenMP do, so that no kernel has to pass it on. */
static _Thread_local struct {
    member *member;
    int level;
    tl_patience patience;
} here;

/* ---- waiting --------------------------------------------------------------------------------- */

/* Waits for a job: a moment in a loop, if cores are free, then asleep. */
static void wait_for_post(team *t, unsigned seen)
{
    atomic_fetch_add(&t->idle, 1);
    tl_patience_begin(&here.patience, t->crowded);
    while (atomic_load_explicit(&t->posted, memory_order_relaxed) == seen &&
           tl_patience_lasts(&here.patience))
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
    tl_patience_begin(&here.patience, t->crowded);
    while (atomic_load(&j->inside) > 0 && tl_patience_lasts(&here.patience))
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

void tl_announce(atomic_llong *x, int64_t value)
{
    atomic_store_explicit(x, value, memory_order_release);
}

void tl_wait_for(atomic_llong *x, int64_t least)
{
    const struct timespec nap = {.tv_nsec = 20000}; /* below the 50 us of waking; a plain choice */
    if (atomic_load_explicit(x, memory_order_acquire) >= least)
        return;
    tl_patience_begin(&here.patience, here.member != NULL && here.member->team->crowded);
    while (atomic_load_explicit(x, memory_order_acquire) < least)
        if (!tl_patience_lasts(&here.patience))
            nanosleep(&nap, NULL); /* an idle core is what the other thread may be waiting for */
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

/* Takes pieces until none is left, those of the own share first. */
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

/* An open job: whole starts rather than phases of a start, and of phases the one that fewest
 * threads work on. */
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
    omp_set_num_threads(1); /* also of BLAS, in this thread */
    while (!atomic_load(&t->ends)) {
        unsigned seen = atomic_load(&t->posted);
        job *j = find_job(t);
        if (j != NULL)
            join_job(t, j);
        else
            wait_for_post(t, seen);
    }
    return NULL;
}

/* ---- the team -------------------------------------------------------------------------------- */

/* Starts helpers up to this number, or as many as the system grants. They leave signals to the
 * threads of the host. */
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

/* NULL where there is no memory for it: the call then runs on one thread. The memory is not the
 * context's, nor are the stacks of the threads. */
static team *create(int threads)
{
    size_t bytes = sizeof(team) + (size_t)threads * sizeof(member);
    team *t = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (t == NULL)
        return NULL;
    memset(t, 0, bytes);
    t->threads = threads;
    t->crowded = threads > omp_get_num_procs();
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
    tlnmf_error error = TLNMF_OK;
    member *outer = here.member;
    int level = here.level;
    bool joins = outer != NULL && threads >= outer->team->threads;
    team *t = threads > 1 && outer == NULL ? create(threads) : NULL;
    if (!joins) {
        here.member = t != NULL ? &t->member[0] : NULL;
        here.level = 0;
    }
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1); /* of BLAS; holds for this region's task only */
        error = work(arg);
    }
    here.member = outer;
    here.level = level;
    destroy(t);
    return error;
}

int tl_thread_count(int64_t wanted)
{
    if (wanted > 0)
        return (int)tl_min(wanted, TL_THREADS_MOST);
    return tl_threads_here() > 1 ? tl_threads_here() : omp_get_max_threads();
}

int tl_threads_here(void)
{
    return here.member != NULL ? here.member->team->threads : 1;
}

int tl_thread_index(void)
{
    return here.member != NULL ? here.member->index : 0;
}

/* ---- work that is shared out ----------------------------------------------------------------- */

/* No share is empty: looking at one costs as much as a microsecond on a large machine. */
static void fill_shares(job *j, int64_t pieces)
{
    j->shares = (int)tl_min(SHARES, pieces);
    for (int64_t i = 0; i < j->shares; i++) {
        atomic_store_explicit(&j->share[i].next, pieces * i / j->shares, memory_order_relaxed);
        j->share[i].end = pieces * (i + 1) / j->shares;
    }
}

/* Whether anybody could take a piece: helpers that wait, or that have not been started. */
static bool has_helpers(team *t, int level, int64_t pieces)
{
    if (atomic_load(&t->running) < tl_min(pieces - 1, atomic_load(&t->most)))
        start_helpers(t, pieces - 1);
    return level == 0 || atomic_load(&t->idle) > 0;
}

/* Opens a job of `pieces` pieces; NULL if nobody would join it. */
static job *post(int64_t count, int64_t grain, int64_t pieces, tl_piece piece, void *arg)
{
    member *self = here.member;
    if (pieces < 2 || self == NULL || here.level >= LEVELS ||
        !has_helpers(self->team, here.level, pieces))
        return NULL;
    job *j = &self->job[here.level];
    j->grain = grain;
    j->count = count;
    j->piece = piece;
    j->arg = arg;
    fill_shares(j, (count + grain - 1) / grain);
    atomic_store(&j->open, 1);
    wake_all(self->team);
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
