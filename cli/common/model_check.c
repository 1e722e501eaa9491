/* Checks the numbers of a model before a command uses it, so that a message names the model's file
 * and the field. */
#include "cli/common/arrays.h"

#include <math.h>

/* Arrays of a model with the numbers that their sizes repeat; NULL: none. */
static const struct {
    const char *name, *rows, *columns;
    bool positive; /* not negative */
} arrays[] = {
    {"Phi", "M", "M", false},
    {"unmixing", NULL, NULL, false},
    {"W", "M", "K", true},
    {"H", "K", "N", true},
};

static int check_size(const cli_call *call, const char *path, const tlnmf_record *model,
                      const char *array, const char *name, int64_t size)
{
    double given = name == NULL ? (double)size : tlnmf_record_get_real(model, name);
    if (name == NULL || !tlnmf_record_has(model, name) || given == (double)size)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_INPUT, "%s: %s = %g, but %s has a dimension of %lld", path,
                    name, given, array, (long long)size);
}

static int check_array(const cli_call *call, const char *path, const tlnmf_record *model, int i)
{
    const char *name = arrays[i].name;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    const double *x = tlnmf_record_get_array(model, name, &rank, shape);
    if (x == NULL)
        return EXIT_DONE;
    if (rank != 2 || shape[0] < 1 || shape[1] < 1)
        return cli_fail(call->command, EXIT_INPUT, "%s: %s is not a matrix", path, name);
    for (int64_t j = 0; j < shape[0] * shape[1]; j++)
        if (!isfinite(x[j]) || (arrays[i].positive && x[j] < 0.0))
            return cli_fail(call->command, EXIT_INPUT, "%s: %s[%lld, %lld] = %g, must be %s", path,
                            name, (long long)(j / shape[1]), (long long)(j % shape[1]), x[j],
                            arrays[i].positive ? "finite and not negative" : "finite");
    TRY(check_size(call, path, model, name, arrays[i].rows, shape[0]));
    return check_size(call, path, model, name, arrays[i].columns, shape[1]);
}

int cli_check_model(const cli_call *call, const char *path, const tlnmf_record *model)
{
    static const struct {
        const char *name;
        double least, most;
    } numbers[] = {{"eps", 1e-304, 1e304}, {"rate", 1e-3, 1e9}, {"M", 1, 1e9},
                   {"N", 0, 1e15},         {"K", 0, 1e9},       {"J", 0, 1e18}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double x = tlnmf_record_get_real(model, numbers[i].name);
        if (tlnmf_record_has(model, numbers[i].name) &&
            !(x >= numbers[i].least && x <= numbers[i].most))
            return cli_fail(call->command, EXIT_INPUT, "%s: %s = %g is outside [%g, %g]", path,
                            numbers[i].name, x, numbers[i].least, numbers[i].most);
    }
    bool separation = tlnmf_record_has(model, "frame"); /* then the library checks the arrays */
    for (int i = 0; !separation && i < (int)(sizeof arrays / sizeof *arrays); i++)
        TRY(check_array(call, path, model, i));
    return EXIT_DONE;
}
