#include "solve/solver.h"
#include "solve/solve.h"

static tlnmf_error create_joints(tlnmf_ctx *ctx, int problems, tl_solver *solver)
{
    if (problems & TL_FOR_TL)
        TRY(tl_joint_create(ctx, &solver->model, TL_JOINT_ALL, &solver->all));
    if (problems & TL_FOR_JD)
        TRY(tl_joint_create(ctx, &solver->model, TL_JOINT_PHI, &solver->phi));
    if (problems & TL_FOR_NMF)
        TRY(tl_joint_create(ctx, &solver->model, TL_JOINT_FACTORS, &solver->factors));
    return TLNMF_OK;
}

tlnmf_error tl_solver_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_settings *opt,
                             double eps, int64_t K, int problems, tl_solver *solver)
{
    *solver = (tl_solver){.kind = (tlnmf_solver)opt->solver};
    tlnmf_error error = tl_model_create(ctx, data, K, eps, opt->gamma, &solver->model);
    if (error == TLNMF_OK && solver->kind == TLNMF_SOLVER_FAST)
        error = create_joints(ctx, problems, solver);
    if (error != TLNMF_OK) {
        tl_solver_free(solver);
        *solver = (tl_solver){0};
    }
    return error;
}

void tl_solver_free(tl_solver *solver)
{
    if (solver->model.block == NULL) /* never made */
        return;
    tl_joint *joints[] = {&solver->all, &solver->phi, &solver->factors};
    for (int i = 0; i < 3; i++)
        if (joints[i]->block != NULL)
            tl_joint_free(joints[i]);
    tl_model_free(&solver->model);
}

void tl_solve_tl(tl_solver *solver, tl_run *run)
{
    if (solver->kind == TLNMF_SOLVER_FAST)
        tl_fast_tl(&solver->model, &solver->all, run);
    else
        tl_paper_tl(&solver->model, run);
}

void tl_solve_jd(tl_solver *solver, tl_run *run)
{
    if (solver->kind == TLNMF_SOLVER_FAST)
        tl_fast_jd(&solver->model, &solver->phi, run);
    else
        tl_paper_jd(&solver->model, run);
}

void tl_solve_nmf(tl_solver *solver, tl_run *run)
{
    if (solver->kind == TLNMF_SOLVER_FAST)
        tl_fast_nmf(&solver->model, &solver->factors, run);
    else
        tl_nmf(&solver->model, run);
}
