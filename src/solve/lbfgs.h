/* Limited-memory BFGS directions on a flat vector, with a diagonal metric (Nocedal and
 * Wright, 7.4). */
#ifndef TLNMF_SOLVE_LBFGS_H
#define TLNMF_SOLVE_LBFGS_H

#include "base/base.h"

enum { TL_LBFGS_MEMORY = 10, TL_LBFGS_SLOTS = 2 };

typedef struct tl_lbfgs {
    int64_t size;
    int count, next; /* pairs held, where the next goes */
    double *s, *y;   /* MEMORY x size: steps and changes of the gradient */
    double rho[TL_LBFGS_MEMORY];
} tl_lbfgs;

void tl_lbfgs_slots(tl_lbfgs *lbfgs, int64_t size, tl_slot slots[TL_LBFGS_SLOTS]);
void tl_lbfgs_forget(tl_lbfgs *lbfgs);

/* Remembers s = step * direction and y = gradient - before, unless s'y is not positive; what counts
 * as positive is measured in the metric, since coordinates have different units. */
void tl_lbfgs_learn(tl_lbfgs *lbfgs, double step, const double *direction, const double *before,
                    const double *gradient, const double *metric);

/* direction = -(approximate inverse Hessian) gradient; `metric` is the diagonal that it starts
 * from. Returns the slope along it, direction' gradient. */
double tl_lbfgs_direction(const tl_lbfgs *lbfgs, const double *gradient, const double *metric,
                          double *direction);

#endif
