/* The option eps-check: whether a third or three times the floor would give another result. */
#include "api.h"
#include "base/record.h"
#include "linalg/linalg.h"
#include "search/share.h"

#include <math.h>

static const double factors[TL_FLOORS] = {1.0 / 3.0, 3.0};

/* Share of the energy in rows of Phi that the other Phi has, too: their inner product is above 0.9
 * in size. `dots` is M x M scratch. */
static double same_atoms(const tl_result *kept, const tl_result *other, double *dots)
{
    const double alike = 0.9; /* an angle of 26 degrees; a plain choice */
    int64_t M = kept->info.M;
    double found = 0.0, total = 0.0;
    tl_gemm(TL_PLAIN, TL_TRANSPOSED, M, M, M, 1.0, kept->Phi, M, other->Phi, M, 0.0, dots, M);
    for (int64_t a = 0; a < M; a++) {
        double best = 0.0;
        for (int64_t b = 0; b < M; b++)
            best = fmax(best, fabs(dots[a * M + b]));
        total += kept->energy[a];
        found += best > alike ? kept->energy[a] : 0.0;
    }
    return found / total;
}

/* Fits with floor number i: how much higher C is there at the kept eps, and how many atoms are the
 * same. */
static tlnmf_error compare(tlnmf_ctx *ctx, const tl_search_task *how, const tl_settings *settings,
                           const tl_result *kept, int i, double *dots, tl_floor_check *check)
{
    tl_settings opt = *settings;
    tl_result *other;
    tl_point_values values = {0};
    opt.eps = check->eps[i] = factors[i] * kept->info.eps;
    TRY(tl_fit_as(ctx, &opt, how, &other));
    const tl_model_point point = {other->Phi, other->W, other->H, kept->info.K, kept->info.eps};
    check->done = other->info.outcome != TLNMF_CANCELLED;
    tlnmf_error error = tl_evaluate(ctx, how->data, &point, &values, NULL);
    check->above[i] = (values.C - kept->info.C) / kept->info.entries;
    check->same_atoms[i] = same_atoms(kept, other, dots);
    tl_result_free(other);
    return error;
}

tlnmf_error tl_check_floor(tlnmf_ctx *ctx, const tl_search_task *how, const tl_settings *settings,
                           const tl_result *kept, tl_floor_check *check)
{
    double *dots;
    void *block;
    tl_search_task plain = *how;
    plain.keeping = NULL; /* checkpoints are of the fit itself */
    tl_slot table[] = {TL_SLOT(dots, kept->info.M * kept->info.M)};
    TRY(tl_share_error(ctx, how->data->sums, how->machines,
                       TL_ARENA(ctx, "inner products of atoms", table, &block)));
    tlnmf_error error = TLNMF_OK;
    check->done = kept->info.outcome != TLNMF_CANCELLED;
    for (int i = 0; error == TLNMF_OK && check->done && i < TL_FLOORS; i++)
        error = compare(ctx, &plain, settings, kept, i, dots, check);
    tl_release(&ctx->hooks, block);
    return error;
}

tlnmf_error tl_put_floor_check(tlnmf_ctx *ctx, const tl_floor_check *check, tlnmf_record *model)
{
    /* docs/choosing.md gives them; C per entry and share of the energy */
    const double slight = 0.01, most = 0.9;
    const int64_t count = TL_FLOORS;
    bool matters = false;
    if (!check->done)
        return TLNMF_OK;
    for (int i = 0; i < TL_FLOORS; i++)
        matters = matters || !(check->above[i] < slight && check->same_atoms[i] > most);
    TRY(tlnmf_set_array(ctx, model, "eps_check.eps", check->eps, 1, &count));
    TRY(tlnmf_set_array(ctx, model, "eps_check.above_per_entry", check->above, 1, &count));
    TRY(tlnmf_set_array(ctx, model, "eps_check.same_atoms", check->same_atoms, 1, &count));
    return tlnmf_set_integer(ctx, model, "eps_check.matters", matters);
}
