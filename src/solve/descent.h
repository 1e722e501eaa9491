/* Descents over some of Phi, W, H: L-BFGS, and Newton near a minimum of a small problem. */
#ifndef TLNMF_SOLVE_DESCENT_H
#define TLNMF_SOLVE_DESCENT_H

#include "engine/engine.h"
#include "solve/run.h"

/* When a descent stops, and how it searches along a direction. */
typedef struct tl_descent {
    unsigned over; /* parts that move */
    int64_t last;  /* stop at this iteration of the run */
    /* Stop when sqrt(g' D^-1 g / MN) <= grad_tol, where D is the metric. Half its square times MN
     * is about how much lower the objective could still go, so that it means the same at every size
     * and scale of data. */
    double grad_tol;
    /* Also stop when the objective changed by less than least + relative |objective| in `calm`
     * iterations in a row. */
    double least, relative;
    int calm;
    int halvings;   /* largest number of halvings of a step */
    bool must_fall; /* reject a step whose gain is lost in rounding */
} tl_descent;

/* The rules of the fast solvers. */
tl_descent tl_descent_of(const tl_engine *e, const tl_settings *opt, unsigned over, int64_t last);

/* Descends from the engine's point, which then is the end of the descent. Returns the objective. */
double tl_descend(tl_engine *e, const tl_descent *how, tl_run *run);

#endif
