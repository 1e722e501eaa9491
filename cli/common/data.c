/* Arrays from files to what the library takes, with checks of their shapes. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

/* "(10, 50)" */
static const char *shape_text(const io_array *array, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < array->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i == 0 ? "" : ", ",
                                 (long long)array->dim[i]);
    if (used < size)
        snprintf(text + used, size - used, array->ndim == 1 ? ",)" : ")");
    return text;
}

/* Whether all slices of (N, M, M) are symmetric: then they are covariances, not data with M = N. */
static bool is_symmetric(const io_array *a)
{
    int64_t M = a->dim[2];
    for (int64_t n = 0; n < a->dim[0]; n++)
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < i; j++) {
                double x = a->x[(n * M + i) * M + j], y = a->x[(n * M + j) * M + i];
                if (!(fabs(x - y) <= 1e-9 * (fabs(x) + fabs(y))))
                    return false;
            }
    return true;
}

static bool means_covariances(const io_array *a, const char *kind)
{
    if (strcmp(kind, "auto") != 0)
        return strcmp(kind, "covariances") == 0;
    return a->ndim == 3 && a->dim[1] == a->dim[2] && is_symmetric(a);
}

/* A stack of square slices that was not taken for covariances may be one that is a little off. */
static void say_if_square(const cli_call *call, const char *spec, const io_array *a,
                          const char *kind)
{
    if (strcmp(kind, "auto") == 0 && a->ndim == 3 && a->dim[1] == a->dim[2] &&
        cli_common_values.quiet == NULL)
        fprintf(
            stderr,
            "tlnmf %s: warning: %s: the slices are not symmetric, taken as data (S, M, N); --input "
            "covariances says otherwise\n",
            call->command->name, spec);
}

static int make_data(cli_call *call, const char *spec, const char *kind, const io_array *a,
                     tlnmf_data **out)
{
    char shape[128];
    if (a->ndim != 2 && a->ndim != 3)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: shape %s: an array (M, N) or (S, M, N) is needed", spec,
                        shape_text(a, shape, sizeof shape));
    bool covariances = means_covariances(a, kind);
    if (covariances && (a->ndim != 3 || a->dim[1] != a->dim[2]))
        return cli_fail(call->command, EXIT_INPUT, "%s: shape %s: covariances are (N, M, M)", spec,
                        shape_text(a, shape, sizeof shape));
    if (covariances && call->block + call->moving > 0)
        return cli_fail(call->command, EXIT_USAGE, "--%s is for data, %s has covariances",
                        call->block > 0 ? "block" : "moving", spec);
    if (!covariances)
        say_if_square(call, spec, a, kind);
    tlnmf_error error;
    int64_t S = a->ndim == 3 ? a->dim[0] : 1, M = a->dim[a->ndim - 2], N = a->dim[a->ndim - 1];
    if (covariances)
        error = tlnmf_data_from_covariances(call->ctx, a->x, a->dim[0], a->dim[1], out);
    else if (call->block + call->moving > 0)
        error = tlnmf_data_from_neighbours(call->ctx, a->x, S, M, N,
                                           call->block > 0 ? TLNMF_NEIGHBOURS_BLOCKS
                                                           : TLNMF_NEIGHBOURS_MOVING,
                                           call->block + call->moving, out);
    else
        error = tlnmf_data_from_realisations(call->ctx, a->x, S, M, N, out);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, spec);
}

int cli_read_data(cli_call *call, const char *spec, const char *kind, tlnmf_data **out)
{
    io_error err;
    io_array array;
    *out = NULL;
    if (!io_array_read(spec, &array, &err))
        return cli_fail_io(call->command, &err);
    int code = make_data(call, spec, kind, &array, out);
    io_array_free(&array);
    return code;
}

int cli_read_matrix(cli_call *call, const char *spec, const char *name, int64_t rows,
                    int64_t columns, io_array *out)
{
    io_error err;
    *out = (io_array){0};
    if (spec == NULL)
        return EXIT_DONE;
    if (!io_array_read(spec, out, &err))
        return cli_fail_io(call->command, &err);
    if (out->ndim == 2 && out->dim[0] == rows && out->dim[1] == columns)
        return EXIT_DONE;
    char shape[128];
    return cli_fail(call->command, EXIT_INPUT, "%s: shape %s, but %s must be (%lld, %lld)", spec,
                    shape_text(out, shape, sizeof shape), name, (long long)rows,
                    (long long)columns);
}
