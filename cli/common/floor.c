/* What --eps-check found, as text and as JSON. */
#include "cli/cli.h"
#include "cli/common/summary.h"

/* One of its arrays, which have a number for each floor. */
static double at(const tlnmf_record *model, const char *name, int i)
{
    char full[64];
    snprintf(full, sizeof full, "eps_check.%s", name);
    const double *x = tlnmf_get_array(model, full, NULL, NULL);
    return x[i];
}

enum { FLOORS = 2 };

json_t *cli_eps_check_json(const tlnmf_record *model)
{
    static const char *const names[] = {"eps", "above_per_entry", "same_atoms"};
    json_t *rows = json_array();
    for (int i = 0; i < FLOORS; i++) {
        json_t *row = json_object();
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            json_object_set_new(row, names[n], cli_real(at(model, names[n], i)));
        json_object_set_new(row, "times",
                            cli_real(at(model, "eps", i) / tlnmf_get_real(model, "eps")));
        json_array_append_new(rows, row);
    }
    return rows;
}

void cli_print_eps_check(FILE *out, const tlnmf_record *model)
{
    if (tlnmf_record_type(model, "eps_check.matters") == TLNMF_NONE) {
        fputs("  eps check     none: it was interrupted\n", out);
        return;
    }
    for (int i = 0; i < FLOORS; i++)
        fprintf(out,
                "  %s     at %s eps: C here would be %.3g per entry higher, %.3g %% of the energy "
                "is in the same atoms\n",
                i == 0 ? "eps check" : "         ", i == 0 ? "1/3" : "3  ",
                at(model, "above_per_entry", i), 100.0 * at(model, "same_atoms", i));
    fprintf(out, "                %s\n",
            tlnmf_get_integer(model, "eps_check.matters") == 1
                ? "the result depends on eps: set it to the power of the noise (docs/choosing.md)"
                : "the result does not depend on eps");
}
