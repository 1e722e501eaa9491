/* Descents over some of Phi, W, H: L-BFGS, and near a minimum of a small problem Newton. */
#ifndef TLNMF_SOLVE_DESCENT_H
#define TLNMF_SOLVE_DESCENT_H

#include "engine/engine.h"
#include "solve/run.h"

/* How far down, and by what rules. */
typedef struct tl_descent {
    unsigned over; /* parts that move */
    int64_t last;  /* iteration of the run to stop at */
    /* It stops when sqrt(g' D^-1 g / MN) <= grad_tol, D being the metric: half its square times MN
     * is about how much lower the objective could still go, so that it means the same at every size
     * and scale. */
    double grad_tol;
    /* And when the objective changed by less than least + relative |objective|, `calm` times
     * running. */
    double least, relative;
    int calm;
    int halvings;   /* of a step */
    bool must_fall; /* a step whose gain drowns in rounding is none */
} tl_descent;

/* The rules of the fast solvers. */
tl_descent tl_descent_of(const tl_engine *e, const tl_settings *opt, unsigned over, int64_t last);

/* From the engine's point, which it leaves at the end. Returns the objective. */
double tl_descend(tl_engine *e, const tl_descent *how, tl_run *run);

#endif
