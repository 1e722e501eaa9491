/* Trust-region Newton steps (Nocedal and Wright, 4): conjugate gradients in the metric of a
 * descent. For small problems close to a minimum, where L-BFGS takes hundreds of steps for the last
 * digits. */
#ifndef TLNMF_SOLVE_NEWTON_H
#define TLNMF_SOLVE_NEWTON_H

#include "engine/engine.h"
#include "solve/run.h"

enum { TL_NEWTON_MOST_M = 64 }; /* frame length up to which it pays */

typedef struct tl_newton {
    double radius;  /* of the region, in the metric; 0: not known yet */
    tl_stage stage; /* what progress is told */
} tl_newton;

/* One step of the descent at hand, whose gradient and metric are up to date. True: it was taken,
 * *value is the new objective, *length how long it was. False, with the point as it was, if the
 * region shrank to nothing or the run has to end. */
bool tl_newton_step(tl_engine *e, tl_newton *newton, tl_run *run, double *value, double *length);

#endif
