/* The solvers of the three problems, the paper's and the fast ones. Each starts at the engine's
 * point; at the end, the engine's point is the result. */
#ifndef TLNMF_SOLVE_SOLVER_H
#define TLNMF_SOLVE_SOLVER_H

#include "engine/engine.h"
#include "solve/run.h"

#include <math.h>

/* Algorithm 1: J x (J_nmf updates of W, H and J_tl transform steps). */
void tl_paper_tl(tl_engine *e, tl_run *run);
/* Algorithm 2, first line: J x J_tl transform steps on L. */
void tl_paper_jd(tl_engine *e, tl_run *run);
/* Algorithm 3: J x J_nmf updates of W, H at a fixed transform. */
void tl_paper_nmf(tl_engine *e, tl_run *run);

/* The same three problems, fast: sweeps or updates, then L-BFGS; at most J iterations in all. */
void tl_fast_tl(tl_engine *e, tl_run *run);
void tl_fast_jd(tl_engine *e, tl_run *run);
void tl_fast_nmf(tl_engine *e, tl_run *run);
/* H alone, at fixed Phi and W: fits a model to new data. */
void tl_fast_activations(tl_engine *e, tl_run *run);

/* The gradient norm of C or of L for a row of the trace; NaN if there is no trace. */
static inline double tl_traced_gradient(tl_engine *e, const tl_run *run, unsigned of)
{
    return run->trace_capacity > 0 && !run->quiet ? tl_engine_gradient(e, of, NULL) : (double)NAN;
}

typedef struct tl_solver {
    void (*tl)(tl_engine *e, tl_run *run);
    void (*jd)(tl_engine *e, tl_run *run);
    void (*nmf)(tl_engine *e, tl_run *run);
} tl_solver;

extern const tl_solver tl_paper, tl_fast;

static inline const tl_solver *tl_solver_of(const tl_settings *opt)
{
    return opt->solver == TL_ALGORITHM_FAST ? &tl_fast : &tl_paper;
}

/* ---- descents over some of Phi, W, H, as parts of other solvers ---------------------------------
 */

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
