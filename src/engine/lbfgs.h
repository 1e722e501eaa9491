/* Limited-memory BFGS directions on a flat vector, with a diagonal metric (Nocedal and Wright,
 * 7.4). For many coordinates there are fewer pairs, in single precision: they only shape the
 * direction, and would take most of a solver's memory. */
#ifndef TLNMF_ENGINE_LBFGS_H
#define TLNMF_ENGINE_LBFGS_H

#include "base/base.h"

#include <math.h>

/* Pairs: docs/benchmarks.md. TL_GPU_PAIRS and TL_NAIVE_PAIRS must be equal to it: engines
 * agree. */
enum { TL_LBFGS_MOST = 10, TL_LBFGS_SLOTS = 4 };

typedef struct tl_lbfgs {
    int64_t size;
    int memory;      /* pairs that fit */
    int count, next; /* pairs held, where the next goes */
    /* memory x size: steps and changes of the gradient, in one precision or the other */
    double *s, *y;
    float *s_single, *y_single;
    double rho[TL_LBFGS_MOST];
} tl_lbfgs;

void tl_lbfgs_slots(tl_lbfgs *lbfgs, int64_t size, tl_slot slots[TL_LBFGS_SLOTS]);
void tl_lbfgs_forget(tl_lbfgs *lbfgs);
/* Forgets all pairs. From now on there are `size` coordinates, at most those of
 * tl_lbfgs_slots(). */
void tl_lbfgs_begin(tl_lbfgs *lbfgs, int64_t size);

/* The index of the pair learnt `age` steps ago; 0 is the latest. */
static inline int tl_lbfgs_place(const tl_lbfgs *lbfgs, int age)
{
    return (lbfgs->next - 1 - age + 2 * lbfgs->memory) % lbfgs->memory;
}

/* Whether s'y of a pair is positive beyond rounding, in view of s' D s and y' D^-1 y. */
static inline bool tl_lbfgs_is_curved(double ss, double yy, double sy)
{
    return sy > 1e-14 * sqrt(ss * yy);
}

/* Counts the pair that was stored at `next`. */
static inline void tl_lbfgs_keep(tl_lbfgs *lbfgs)
{
    lbfgs->next = (lbfgs->next + 1) % lbfgs->memory;
    if (lbfgs->count < lbfgs->memory)
        lbfgs->count++;
}

/* tl_lbfgs_step stores s = step * direction; tl_lbfgs_change stores y of some coordinates, from the
 * gradients before and after. */
void tl_lbfgs_change(tl_lbfgs *lbfgs, int64_t first, int64_t last, const double *before,
                     const double *gradient);
/* On one machine tl_lbfgs_learn completes the pair from the gradients
 * before and after. The pair is dropped unless s'y is positive, which is measured in the metric,
 * since coordinates have different units. */
void tl_lbfgs_step(tl_lbfgs *lbfgs, double step, const double *direction);
void tl_lbfgs_learn(tl_lbfgs *lbfgs, const double *before, const double *gradient,
                    const double *metric);

/* direction = -(approximate inverse Hessian) gradient; `metric` is the diagonal that it starts
 * from. Returns the slope along it, direction' gradient. */
double tl_lbfgs_direction(const tl_lbfgs *lbfgs, const double *gradient, const double *metric,
                          double *direction);

#endif
