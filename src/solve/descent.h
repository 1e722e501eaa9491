/* Descents over the coordinates of joint.h: L-BFGS, and near a minimum of a small problem Newton.
 */
#ifndef TLNMF_SOLVE_DESCENT_H
#define TLNMF_SOLVE_DESCENT_H

#include "solve/joint.h"
#include "solve/run.h"

/* From the model's point, which it leaves at the end, up to iteration `last` of the run. It stops
 * when sqrt(g' D^-1 g / MN) <= grad_tol, D being the metric: half its square times MN is about how
 * much lower the objective could still go, so that it means the same at every size and scale. */
void tl_descend(tl_model *model, tl_joint *joint, tl_joint_over over, tl_run *run, int64_t last);

#endif
