/* The option eps-check: whether a third or three times the floor would give another result. */
#include "api/api.h"
#include "base/record.h"
#include "linalg/linalg.h"
#include "search/distribute.h"

#include <math.h>

enum { FLOORS = 2 };
static const double factors[FLOORS] = {1.0 / 3.0, 3.0};

typedef struct floor_check {
    double eps[FLOORS], above[FLOORS], same_atoms[FLOORS];
    bool cancelled;
    int64_t continued; /* starts of these fits that continued from a saved iterate */
    double *dots;      /* M x M: scratch */
} floor_check;

/* Fraction of the energy in rows of the model's Phi that the other Phi also has: the absolute value
 * of the inner product is above 0.9. */
static double same_atoms(const tlnmf_record *model, int64_t M, const double *other, double *dots)
{
    const double alike = 0.9; /* an angle of 26 degrees, chosen arbitrarily */
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
    const double *energy = tlnmf_record_get_array(model, "energy", NULL, NULL);
    double found = 0.0, total = 0.0;
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, M, 1.0, Phi, M, other, M, 0.0, dots, M);
    for (int64_t a = 0; a < M; a++) {
        double best = 0.0;
        for (int64_t b = 0; b < M; b++)
            best = fmax(best, fabs(dots[a * M + b]));
        total += energy[a];
        found += best > alike ? energy[a] : 0.0;
    }
    return total > 0.0 ? found / total : 1.0; /* the floor hides all data */
}

/* Fits with floor number i. Computes by how much C at the model's eps rises, and the fraction of
 * the energy in the same atoms. */
static tlnmf_error compare(tlnmf_ctx *ctx, tl_search_task how, tl_settings opt,
                           const tlnmf_record *model, int i, floor_check *check)
{
    double eps = tlnmf_record_get_real(model, "eps");
    tl_result *other;
    tl_values values = {0};
    opt.eps = check->eps[i] = factors[i] * eps;
    how.section = i == 0 ? "lower" : "higher";
    TRY(tl_fit_as(ctx, &opt, &how, &other));
    check->continued += other->info.continued;
    check->cancelled = other->info.outcome == TLNMF_OUTCOME_CANCELLED;
    const tl_model_point point = {other->Phi, other->W, other->H, other->info.K, eps};
    tlnmf_error error = tl_evaluate(ctx, how.data, &point, &values, NULL);
    check->above[i] =
        (values.C - tlnmf_record_get_real(model, "C")) / tlnmf_record_get_real(model, "entries");
    check->same_atoms[i] = same_atoms(model, other->info.M, other->Phi, check->dots);
    tl_result_free(other);
    return error;
}

static tlnmf_error put(tlnmf_ctx *ctx, const floor_check *check, tlnmf_record *model)
{
    /* docs/howto/eps.md explains them; C per entry and share of the energy */
    const double slight = 0.01, most = 0.9;
    const int64_t count = FLOORS;
    bool matters = false;
    for (int i = 0; i < FLOORS; i++)
        matters = matters || !(check->above[i] < slight && check->same_atoms[i] > most);
    TRY(tlnmf_record_set_array(ctx, model, "eps_check.eps", check->eps, 1, &count));
    TRY(tlnmf_record_set_array(ctx, model, "eps_check.above_per_entry", check->above, 1, &count));
    TRY(tlnmf_record_set_array(ctx, model, "eps_check.same_atoms", check->same_atoms, 1, &count));
    if (check->continued > 0) {
        int64_t before = tlnmf_record_get_integer(model, "continued");
        TRY(tlnmf_record_set_integer(ctx, model, "continued",
                                     check->continued + tl_max(before, 0)));
    }
    return tlnmf_record_set_integer(ctx, model, "eps_check.matters", matters);
}

/* The call was interrupted, although the fit was complete. */
static tlnmf_error put_cancelled(tlnmf_ctx *ctx, tlnmf_record *model)
{
    TRY(tlnmf_record_set_integer(ctx, model, "outcome_code", TLNMF_OUTCOME_CANCELLED));
    return tl_record_refer_text(ctx, model, "outcome", tlnmf_outcome_name(TLNMF_OUTCOME_CANCELLED));
}

tlnmf_error tl_check_floor(tlnmf_ctx *ctx, const tl_search_task *how, const tl_settings *settings,
                           tlnmf_record *model)
{
    int64_t M = how->data->M;
    floor_check check = {.cancelled = tlnmf_record_get_integer(model, "outcome_code") ==
                                      TLNMF_OUTCOME_CANCELLED};
    void *block;
    tl_slot table[] = {TL_SLOT(check.dots, M * M)};
    TRY(tl_distribute_agree(ctx, how->data->frames_comm, how->starts_comm,
                            TL_ARENA(ctx, "inner products of atoms", table, &block)));
    tlnmf_error error = TLNMF_OK;
    for (int i = 0; error == TLNMF_OK && !check.cancelled && i < FLOORS; i++)
        error = compare(ctx, *how, *settings, model, i, &check);
    tl_release(&ctx->hooks, block);
    TRY(error);
    return check.cancelled ? put_cancelled(ctx, model) : put(ctx, &check, model);
}
