#include "solve/solver.h"
#include "solve/solve.h"

static tl_joint_for room_for(const tl_settings *opt, bool turns_Phi)
{
    return (tl_joint_for){.turns_Phi = turns_Phi, .newton = opt->newton != 0};
}

tlnmf_error tl_solver_create(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *opt,
                             double eps, int64_t K, bool turns_Phi, tl_solver *solver)
{
    *solver = (tl_solver){.kind = (tl_algorithm)opt->solver};
    tlnmf_error error = tl_model_create(ctx, data, K, eps, opt->gamma, &solver->model);
    if (error == TLNMF_OK && solver->kind == TL_ALGORITHM_FAST)
        error = tl_joint_create(ctx, &solver->model, room_for(opt, turns_Phi), &solver->joint);
    if (error == TLNMF_OK && opt->precision == TL_PRECISION_MIXED) {
        error = tl_mixed_create(ctx, data, &solver->mixed);
        solver->joint.mixed = &solver->mixed;
    }
    if (error != TLNMF_OK) {
        tl_solver_free(solver);
        *solver = (tl_solver){0};
    }
    return error;
}

double tl_solver_bytes(const tlnmf_data *data, const tl_settings *opt, int64_t K, bool turns_Phi)
{
    double bytes = (double)tl_model_bytes(data, K);
    if (opt->solver == TL_ALGORITHM_FAST)
        bytes += (double)tl_joint_bytes(data, K, room_for(opt, turns_Phi));
    if (opt->precision == TL_PRECISION_MIXED)
        bytes += (double)tl_mixed_bytes(data);
    return bytes;
}

void tl_solver_free(tl_solver *solver)
{
    tl_mixed_free(&solver->mixed);
    if (solver->joint.block != NULL)
        tl_joint_free(&solver->joint);
    if (solver->model.block != NULL)
        tl_model_free(&solver->model);
}

void tl_solve_tl(tl_solver *solver, tl_run *run)
{
    if (solver->kind == TL_ALGORITHM_FAST)
        tl_fast_tl(&solver->model, &solver->joint, run);
    else
        tl_paper_tl(&solver->model, run);
}

void tl_solve_jd(tl_solver *solver, tl_run *run)
{
    if (solver->kind == TL_ALGORITHM_FAST)
        tl_fast_jd(&solver->model, &solver->joint, run);
    else
        tl_paper_jd(&solver->model, run);
}

void tl_solve_nmf(tl_solver *solver, tl_run *run)
{
    if (solver->kind == TL_ALGORITHM_FAST)
        tl_fast_nmf(&solver->model, &solver->joint, run);
    else
        tl_nmf(&solver->model, run);
}
