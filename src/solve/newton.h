/* Trust-region Newton steps (Nocedal and Wright, 4) by conjugate gradients in the metric of a
 * descent. For small problems close to a minimum, where L-BFGS takes hundreds of steps for the last
 * digits. */
#ifndef TLNMF_SOLVE_NEWTON_H
#define TLNMF_SOLVE_NEWTON_H

#include "engine/engine.h"
#include "solve/run.h"

enum { TL_NEWTON_MOST_M = 64 }; /* largest frame length for which it pays */

typedef struct tl_newton {
    double radius;  /* radius of the trust region, in the metric; 0: not known yet */
    tl_stage stage; /* reported to the progress function */
} tl_newton;

/* One step of the current descent, whose gradient and metric are up to date. True: the step was
 * taken, *value is the new objective and *length its length. False: the trust region shrank to
 * nothing or the run must end; the point is unchanged. */
bool tl_newton_step(tl_engine *e, tl_newton *newton, tl_run *run, double *value, double *length);

#endif
