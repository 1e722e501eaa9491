/* fit --eps-check: whether a third or three times the floor would give another result. */
#include "cli/arrays/arrays.h"
#include "cli/common/summary.h"

#include <math.h>

/* Share of the energy in rows of Phi that the other Phi has, too: their inner product is above 0.9
 * in size. */
static double same_atoms(const tlnmf_record *model, const tlnmf_record *other)
{
    const double alike = 0.9; /* an angle of 26 degrees; a plain choice */
    int64_t M = tlnmf_get_integer(model, "M");
    const double *Phi = tlnmf_get_array(model, "Phi", NULL, NULL);
    const double *Psi = tlnmf_get_array(other, "Phi", NULL, NULL);
    const double *energy = tlnmf_get_array(model, "energy", NULL, NULL);
    double found = 0.0, total = 0.0;
    for (int64_t a = 0; a < M; a++) {
        double best = 0.0;
        for (int64_t b = 0; b < M; b++) {
            double dot = 0.0;
            for (int64_t i = 0; i < M; i++)
                dot += Phi[a * M + i] * Psi[b * M + i];
            best = fmax(best, fabs(dot));
        }
        total += energy[a];
        found += best > alike ? energy[a] : 0.0;
    }
    return found / total;
}

/* C of the other's Phi, W, H at the model's eps. */
static tlnmf_error C_at(cli_call *call, const tlnmf_data *data, tlnmf_record *other, double eps,
                        double *C)
{
    tlnmf_record *values = NULL;
    tlnmf_error error = tlnmf_set_real(call->ctx, other, "eps", eps);
    if (error == TLNMF_OK)
        error = tlnmf_evaluate(call->ctx, data, other, &values);
    *C = tlnmf_get_real(values, "C");
    tlnmf_record_free(values);
    return error;
}

/* One neighbour: its fit, and how it differs. */
static tlnmf_error compare(cli_call *call, const tlnmf_data *data, const tlnmf_record *start,
                           const tlnmf_record *model, double factor, json_t *rows)
{
    tlnmf_settings *settings = NULL;
    tlnmf_record *other = NULL;
    double eps = tlnmf_get_real(model, "eps"), C = NAN;
    double entries = tlnmf_get_real(model, "M") * tlnmf_get_real(model, "N");
    tlnmf_error error = tlnmf_settings_copy(call->ctx, call->settings, &settings);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_real(call->ctx, settings, "eps", factor * eps);
    if (error == TLNMF_OK)
        error = tlnmf_fit(call->ctx, data, settings, start, &other);
    if (error == TLNMF_OK)
        error = C_at(call, data, other, eps, &C);
    if (error == TLNMF_OK) {
        json_t *row = json_object();
        json_object_set_new(row, "eps", cli_real(factor * eps));
        json_object_set_new(row, "times", cli_real(factor));
        json_object_set_new(row, "above_per_entry",
                            cli_real((C - tlnmf_get_real(model, "C")) / entries));
        json_object_set_new(row, "same_atoms", cli_real(same_atoms(model, other)));
        json_array_append_new(rows, row);
    }
    tlnmf_record_free(other);
    tlnmf_settings_free(settings);
    return error;
}

int cli_eps_check(cli_call *call, const tlnmf_data *data, const tlnmf_record *start,
                  const tlnmf_record *model, json_t **check)
{
    *check = json_array();
    tlnmf_error error = compare(call, data, start, model, 1.0 / 3.0, *check);
    if (error == TLNMF_OK)
        error = compare(call, data, start, model, 3.0, *check);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, "--eps-check");
}

void cli_print_eps_check(FILE *out, const json_t *check)
{
    const double slight = 0.01, most = 0.9; /* as --explain says */
    bool matters = false;
    size_t i;
    json_t *row;
    json_array_foreach(check, i, row)
    {
        double above = json_number_value(json_object_get(row, "above_per_entry"));
        double same = json_number_value(json_object_get(row, "same_atoms"));
        matters = matters || !(above < slight && same > most);
        fprintf(out,
                "  %s     at %s eps: C here would be %.3g per entry higher, %.3g %% of the energy "
                "is in the same atoms\n",
                i == 0 ? "eps check" : "         ", i == 0 ? "1/3" : "3  ", above, 100.0 * same);
    }
    fprintf(out, "                %s\n",
            matters
                ? "the result depends on eps: set it to the power of the noise (docs/choosing.md)"
                : "the result does not depend on eps");
}
