/* In the place of src/base/team.c: runs all pieces on one thread and adds up the longest chain of
 * them. How much faster many threads can be is bounded by all work over that chain. Linked to the
 * program: span ARGUMENT.. [--threads N], the table goes to stderr. */
#define _GNU_SOURCE /* popen; NOLINT(bugprone-reserved-identifier) */
#include "base/base.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* LEVELS: as in team.c. LANES: threads that the longest chain is computed for, which no job needs
 * more of. */
enum { LEVELS = 3, LANES = 256, THREADS = 16 };
/* Places of the program that are told apart; what pieces have announced; rows that are shown. */
enum { PLACES = 192, NEWS = 1 << 15, SHOWN = 24 };

/* What runs, and between which jobs: pieces of `in`, after a job of `after`, until one of `before`.
 */
typedef struct place {
    const void *in, *after, *before;
} place;

/* A chain of work: its seconds at every place. */
typedef struct chain {
    double seconds, at[PLACES];
    long forks;
} chain;

typedef struct news {
    const void *x;
    int64_t value;
    chain *when;
} news;

static struct {
    place places[PLACES], here;
    int count, level, threads;
    double since, clock_cost, work[PLACES], all;
    long forks, pieces;
    chain now;
    news *news;
    int news_count;
} state = {.threads = 1};

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the chain ------------------------------------------------------------------------------- */

static int number_of(place p)
{
    for (int i = 0; i < state.count; i++)
        if (memcmp(&state.places[i], &p, sizeof p) == 0)
            return i;
    if (state.count == PLACES)
        return PLACES - 1;
    state.places[state.count] = p;
    return state.count++;
}

/* What has run since the last call belongs to the chain. */
static void end_stretch(const void *before)
{
    double dt = fmax(0.0, cpu() - state.since - state.clock_cost);
    place p = state.here;
    p.before = before;
    int i = number_of(p);
    state.now.seconds += dt;
    state.now.at[i] += dt;
    state.work[i] += dt;
    state.all += dt;
}

static void begin_stretch(const void *in, const void *after)
{
    state.here = (place){in, after, NULL};
    state.since = cpu();
}

/* A function as what tells places apart. */
static const void *address_of(tl_piece piece)
{
    const void *p;
    memcpy(&p, &piece, sizeof p);
    return p;
}

/* ---- the calls of team.c --------------------------------------------------------------------- */

/* Pieces on `lanes` threads, each on the one that is free first. */
static void fork_pieces(int64_t count, int64_t grain, int64_t lanes, tl_piece piece, void *arg)
{
    const void *in = state.here.in, *self = address_of(piece);
    int64_t pieces = (count + grain - 1) / grain;
    lanes = tl_min(lanes, pieces);
    chain *lane = malloc((size_t)lanes * sizeof *lane);
    if (lane == NULL)
        abort();
    end_stretch(self);
    for (int64_t i = 0; i < lanes; i++)
        lane[i] = state.now;
    state.forks++;
    state.pieces += pieces;
    state.level++;
    for (int64_t first = 0; first < count; first += grain) {
        int64_t next = 0;
        for (int64_t i = 1; i < lanes; i++)
            if (lane[i].seconds < lane[next].seconds)
                next = i;
        state.now = lane[next];
        begin_stretch(self, NULL);
        piece(first, tl_min(first + grain, count), arg);
        end_stretch(NULL);
        lane[next] = state.now;
    }
    state.level--;
    int64_t longest = 0;
    for (int64_t i = 1; i < lanes; i++)
        if (lane[i].seconds > lane[longest].seconds)
            longest = i;
    state.now = lane[longest];
    state.now.forks++;
    free(lane);
    begin_stretch(in, self);
}

void tl_share_among(int64_t threads, int64_t count, tl_piece piece, void *arg)
{
    if (count < 2 || state.threads == 1 || state.level >= LEVELS)
        for (int64_t i = 0; i < count; i++)
            piece(i, i + 1, arg);
    else
        fork_pieces(count, 1, threads, piece, arg);
}

void tl_share(int64_t count, int64_t grain, tl_piece piece, void *arg)
{
    int64_t pieces = (count + grain - 1) / grain;
    if (pieces < 2 || state.threads == 1 || state.level >= LEVELS)
        for (int64_t first = 0; first < count; first += grain)
            piece(first, tl_min(first + grain, count), arg);
    else
        fork_pieces(count, grain, tl_min(pieces, LANES), piece, arg);
}

/* `work` and the pieces of a job that it runs beside. */
typedef struct besides {
    tl_piece piece;
    void (*work)(void *arg);
    void *arg;
} besides;

static void do_beside(int64_t i, int64_t last, void *arg)
{
    const besides *b = arg;
    if (i == 0)
        b->work(b->arg);
    else
        b->piece(i - 1, last - 1, b->arg);
}

void tl_share_beside(int64_t count, tl_piece piece, void (*work)(void *arg), void *arg)
{
    tl_share(count + 1, 1, do_beside, &(besides){piece, work, arg});
}

void tl_announce(atomic_llong *x, int64_t value)
{
    const void *in = state.here.in;
    end_stretch(x);
    atomic_store(x, value);
    if (state.news == NULL)
        state.news = calloc(NEWS, sizeof *state.news);
    news *n = &state.news[state.news_count++ % NEWS];
    if (n->when == NULL)
        n->when = malloc(sizeof *n->when);
    if (n->when == NULL)
        abort();
    n->x = x;
    n->value = value;
    *n->when = state.now;
    begin_stretch(in, NULL);
}

void tl_wait_for(atomic_llong *x, int64_t least)
{
    const void *in = state.here.in;
    end_stretch(NULL);
    for (int i = state.news_count - 1; i >= 0 && i > state.news_count - NEWS; i--) {
        const news *n = &state.news[i % NEWS];
        if (n->x == x && n->value == least) {
            if (n->when->seconds > state.now.seconds)
                state.now = *n->when;
            break;
        }
    }
    begin_stretch(in, NULL);
}

tlnmf_error tl_with_threads(int threads, tlnmf_error (*work)(void *arg), void *arg)
{
    int before = state.threads;
    tlnmf_error error;
    state.threads = before > 1 && threads >= before ? before : before > 1 ? 1 : threads;
#pragma omp parallel num_threads(1)
    {
        omp_set_num_threads(1);
        error = work(arg);
    }
    state.threads = before;
    return error;
}

int tl_thread_count(int64_t wanted)
{
    return wanted > 0 ? (int)wanted : state.threads > 1 ? state.threads : THREADS;
}

int tl_threads_here(void)
{
    return state.threads;
}

int tl_thread_index(void)
{
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

extern const char __executable_start; /* the linker's; NOLINT(bugprone-reserved-identifier) */

static void print_name(const void *p)
{
    char command[256], name[64] = "";
    if (p == NULL) {
        fprintf(stderr, " %-22s", "-");
        return;
    }
    snprintf(command, sizeof command, "addr2line -f -e /proc/%d/exe 0x%llx 2>/dev/null",
             (int)getpid(), (long long)((const char *)p - &__executable_start));
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): a fixed command */
    if (pipe == NULL || fgets(name, sizeof name, pipe) == NULL)
        snprintf(name, sizeof name, "%p", p);
    if (pipe != NULL)
        pclose(pipe);
    name[strcspn(name, "\n.")] = '\0';
    fprintf(stderr, " %-22.22s", name[0] == '?' ? "(waiting)" : name);
}

static void report(void)
{
    end_stretch(NULL);
    double work = state.all, span = state.now.seconds;
    fprintf(
        stderr,
        "work %.4f s, longest chain %.4f s: at most %.1f times; 16 threads by Brent's bound %.1f "
        "times\n%ld jobs of %ld pieces, %ld of them in the chain\n",
        work, span, work / span, work / ((work - span) / THREADS + span), state.forks, state.pieces,
        state.now.forks);
    fprintf(stderr, "%9s %9s  %-22s %-22s %-22s\n", "chain, ms", "work, ms", "in pieces of",
            "after", "before");
    for (int row = 0; row < SHOWN && row < state.count; row++) {
        int most = 0;
        for (int i = 1; i < state.count; i++)
            if (state.now.at[i] > state.now.at[most])
                most = i;
        fprintf(stderr, "%9.2f %9.2f ", 1e3 * state.now.at[most], 1e3 * state.work[most]);
        print_name(state.places[most].in);
        print_name(state.places[most].after);
        print_name(state.places[most].before);
        fprintf(stderr, "\n");
        state.now.at[most] = -1.0;
    }
}

__attribute__((constructor)) static void begin(void)
{
    enum { TRIES = 1000 };
    double first = cpu();
    for (int i = 0; i < TRIES; i++)
        cpu();
    state.clock_cost = (cpu() - first) / TRIES;
    atexit(report);
    begin_stretch(NULL, NULL);
}
