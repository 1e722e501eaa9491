/* The solvers: each takes a model at its start and leaves it at its end. */
#ifndef TLNMF_SOLVE_SOLVE_H
#define TLNMF_SOLVE_SOLVE_H

#include "model/model.h"
#include "solve/descent.h"
#include "solve/run.h"

/* Algorithm 1: J x (J_nmf updates of W, H and J_tl transform steps). */
void tl_paper_tl(tl_model *model, tl_run *run);
/* Algorithm 2, first line: J x J_tl transform steps on L. */
void tl_paper_jd(tl_model *model, tl_run *run);
/* Algorithm 3: J x J_nmf updates of W, H at a transform that stays. */
void tl_nmf(tl_model *model, tl_run *run);

/* The same three problems, fast: sweeps or updates, then L-BFGS; at most J iterations in all. */
void tl_fast_tl(tl_model *model, tl_joint *joint, tl_run *run);
void tl_fast_jd(tl_model *model, tl_joint *joint, tl_run *run);
void tl_fast_nmf(tl_model *model, tl_joint *joint, tl_run *run);

#endif
