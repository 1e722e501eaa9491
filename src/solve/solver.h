/* One start's worth of room for any of the three problems, by the paper's solvers or the fast ones.
 */
#ifndef TLNMF_SOLVE_SOLVER_H
#define TLNMF_SOLVE_SOLVER_H

#include "solve/joint.h"
#include "solve/run.h"

/* Which problems a solver is for: bits. */
enum { TL_FOR_TL = 1, TL_FOR_JD = 2, TL_FOR_NMF = 4 };

typedef struct tl_solver {
    tlnmf_solver kind;
    tl_model model;
    tl_joint all, phi, factors; /* fast only, and only those asked for */
} tl_solver;

tlnmf_error tl_solver_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_settings *opt,
                             double eps, int64_t K, int problems, tl_solver *solver);
void tl_solver_free(tl_solver *solver);

/* From the model's point, which they leave at the end. */
void tl_solve_tl(tl_solver *solver, tl_run *run);
void tl_solve_jd(tl_solver *solver, tl_run *run);
void tl_solve_nmf(tl_solver *solver, tl_run *run);

#endif
