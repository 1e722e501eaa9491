/* Threads that act as the processes of a distributed fit: sums and broadcasts with a barrier. */
#ifndef TLNMF_TESTS_PROCESSES_H
#define TLNMF_TESTS_PROCESSES_H

#include "support.h"

#include <pthread.h>

enum { MAX_PROCESSES = 8 };

/* The order in which a sum adds the parts, which depends on the transport. */
typedef enum sum_order { FORWARDS, BACKWARDS, IN_PAIRS, SUM_ORDERS } sum_order;

typedef struct processes {
    pthread_barrier_t barrier;
    int size;
    sum_order order;
    double *part[MAX_PROCESSES]; /* each process's x in the current call */
} processes;

typedef struct process {
    processes *all;
    int rank;
    void (*work)(struct process *m);
    void *arg;
} process;

static inline double sum_of_parts(const processes *all, int64_t i)
{
    double x[MAX_PROCESSES], sum = 0.0;
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

/* Process 0 computes the sum; the others copy it. */
static inline int sum_over_processes(double *x, int64_t count, void *user)
{
    process *m = user;
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

static inline int broadcast_to_processes(double *x, int64_t count, int32_t root, void *user)
{
    process *m = user;
    m->all->part[m->rank] = x;
    pthread_barrier_wait(&m->all->barrier);
    if (m->rank != root)
        memcpy(x, m->all->part[root], (size_t)count * sizeof *x);
    pthread_barrier_wait(&m->all->barrier);
    return 0;
}

static inline void *run_process(void *arg)
{
    process *m = arg;
    m->work(m);
    return NULL;
}

/* Runs work() on `size` processes concurrently; process r receives arg[r]. */
static inline void run_processes(int size, sum_order order, void (*work)(process *m),
                                 void *const *arg)
{
    processes all = {.size = size, .order = order};
    process each[MAX_PROCESSES];
    pthread_t thread[MAX_PROCESSES];
    assert_true(size <= MAX_PROCESSES);
    assert_int_equal(pthread_barrier_init(&all.barrier, NULL, (unsigned)size), 0);
    for (int r = 0; r < size; r++) {
        each[r] = (process){&all, r, work, arg[r]};
        assert_int_equal(pthread_create(&thread[r], NULL, run_process, &each[r]), 0);
    }
    for (int r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&all.barrier);
}

#endif
