/* Machines that are threads: sums and broadcasts with a barrier, for tests of shared-out work. */
#ifndef TLNMF_TESTS_MACHINES_H
#define TLNMF_TESTS_MACHINES_H

#include "support.h"

#include <pthread.h>

enum { MOST_MACHINES = 8 };

/* The order in which a sum adds the parts: other transports have others. */
typedef enum sum_order { FORWARDS, BACKWARDS, IN_PAIRS, SUM_ORDERS } sum_order;

typedef struct machines {
    pthread_barrier_t barrier;
    int size;
    sum_order order;
    double *part[MOST_MACHINES]; /* each machine's x of the call that is under way */
} machines;

typedef struct machine {
    machines *all;
    int rank;
    void (*work)(struct machine *m);
    void *arg;
} machine;

static inline double sum_of_parts(const machines *all, int64_t i)
{
    double x[MOST_MACHINES], sum = 0.0;
    for (int r = 0; r < all->size; r++)
        x[r] = all->part[r][i];
    if (all->order == IN_PAIRS) {
        for (int step = 1; step < all->size; step *= 2)
            for (int r = 0; r + step < all->size; r += 2 * step)
                x[r] += x[r + step];
        return x[0];
    }
    for (int r = 0; r < all->size; r++)
        sum += x[all->order == FORWARDS ? r : all->size - 1 - r];
    return sum;
}

/* Sums on the first machine, which the others then copy. */
static inline int sum_over_machines(double *x, int64_t count, void *user)
{
    machine *m = user;
    m->all->part[m->rank] = x;
    pthread_barrier_wait(&m->all->barrier);
    for (int64_t i = 0; m->rank == 0 && i < count; i++)
        x[i] = sum_of_parts(m->all, i);
    pthread_barrier_wait(&m->all->barrier);
    if (m->rank > 0)
        memcpy(x, m->all->part[0], (size_t)count * sizeof *x);
    pthread_barrier_wait(&m->all->barrier);
    return 0;
}

static inline int send_to_machines(double *x, int64_t count, int32_t root, void *user)
{
    machine *m = user;
    m->all->part[m->rank] = x;
    pthread_barrier_wait(&m->all->barrier);
    if (m->rank != root)
        memcpy(x, m->all->part[root], (size_t)count * sizeof *x);
    pthread_barrier_wait(&m->all->barrier);
    return 0;
}

static inline void *run_machine(void *arg)
{
    machine *m = arg;
    m->work(m);
    return NULL;
}

/* work() on `size` machines at once; arg[r] is for machine r. */
static inline void run_machines(int size, sum_order order, void (*work)(machine *m),
                                void *const *arg)
{
    machines all = {.size = size, .order = order};
    machine each[MOST_MACHINES];
    pthread_t thread[MOST_MACHINES];
    assert_true(size <= MOST_MACHINES);
    assert_int_equal(pthread_barrier_init(&all.barrier, NULL, (unsigned)size), 0);
    for (int r = 0; r < size; r++) {
        each[r] = (machine){&all, r, work, arg[r]};
        assert_int_equal(pthread_create(&thread[r], NULL, run_machine, &each[r]), 0);
    }
    for (int r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&all.barrier);
}

#endif
