/* One start's room for any of the three problems, by the paper's solvers or the fast ones. */
#ifndef TLNMF_SOLVE_SOLVER_H
#define TLNMF_SOLVE_SOLVER_H

#include "solve/descent.h"
#include "solve/run.h"

typedef struct tl_solver {
    tl_algorithm kind;
    tl_model model;
    tl_joint joint; /* fast only */
    tl_mixed mixed; /* mixed precision only */
} tl_solver;

/* `turns_Phi` = false: for NMF only. */
tlnmf_error tl_solver_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             double eps, int64_t K, bool turns_Phi, tl_solver *solver);
double tl_solver_bytes(const tlnmf_data *data, const tl_settings *opt, int64_t K,
                       bool turns_Phi); /* that it takes up */
void tl_solver_free(tl_solver *solver);

/* From the model's point, which they leave at the end. */
void tl_solve_tl(tl_solver *solver, tl_run *run);
void tl_solve_jd(tl_solver *solver, tl_run *run);
void tl_solve_nmf(tl_solver *solver, tl_run *run);

#endif
