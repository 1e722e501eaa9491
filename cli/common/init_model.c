/* fit --init MODEL and --keep: starts from a model, or keeps parts of it. */
#include "cli/common/arrays.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- before any data are read ---------------------------------------------------------------- */

/* Options that apply if only H is fitted, in addition to k. */
static const char for_H[] = " J tol grad-tol max-seconds threads ";

static int check_keep(const cli_call *call, const cli_init *init)
{
    const cli_command *command = call->command;
    char method[64];
    bool factors = strcmp(init->keep, "phi,w") == 0;
    tlnmf_settings_get_text(call->settings, "method", method, sizeof method);
    if (factors && init->path == NULL)
        return cli_fail(command, EXIT_USAGE, "--keep phi,w requires --init");
    if (init->path == NULL && init->phi == NULL && !cli_given(call, "transform"))
        return cli_fail(command, EXIT_USAGE,
                        "--keep phi requires --init, --init-phi or --transform");
    if (cli_given(call, "method") && strcmp(method, "nmf") != 0)
        return cli_fail(command, EXIT_USAGE, "--keep %s contradicts --method %s, which learns Phi",
                        init->keep, method);
    for (int i = 0; factors && i < call->given_count; i++)
        if (strcmp(call->given[i], "k") != 0 && !cli_has_word(for_H, call->given[i]))
            return cli_fail(command, EXIT_USAGE,
                            "--keep phi,w fits H only: it cannot be combined with --%s",
                            call->given[i]);
    return EXIT_DONE;
}

/* K, eps and the method are the model's unless they are given. */
static tlnmf_error take_settings(cli_call *call, const cli_init *init)
{
    const tlnmf_record *model = init->model;
    double eps = tlnmf_record_get_real(model, "eps");
    const char *method = tlnmf_record_get_text(model, "method");
    int64_t K = tlnmf_record_get_integer(model, "K");
    if (K > 0 && !cli_given(call, "k"))
        TRY(tlnmf_settings_set_integer(call->ctx, call->settings, "k", K));
    if (isfinite(eps) && !cli_given(call, "eps") && !cli_given(call, "eps-rel"))
        TRY(tlnmf_settings_set_real(call->ctx, call->settings, "eps", eps));
    if (init->keep != NULL)
        method = "nmf";
    return method == NULL || (K <= 0 && init->keep == NULL) || cli_given(call, "method")
               ? TLNMF_OK
               : tlnmf_settings_set_text(call->ctx, call->settings, "method", method);
}

int cli_init_read(cli_call *call, cli_init *init)
{
    bool twice = init->phi != NULL || init->w != NULL || init->h != NULL || call->transform_file ||
                 cli_given(call, "transform");
    if (init->path != NULL && twice)
        return cli_fail(call->command, EXIT_USAGE,
                        "--init is mutually exclusive with --init-phi, --init-w, --init-h and "
                        "--transform");
    if (init->keep != NULL)
        TRY(check_keep(call, init));
    if (init->path != NULL)
        TRY(cli_read(call, "model", init->path, &init->model));
    if (tlnmf_record_get_array(init->model, "unmixing", NULL, NULL) != NULL)
        return cli_fail(
            call->command, EXIT_INPUT,
            "%s: its Phi is for whitened data (jd --whiten), which fit does not support",
            init->path);
    return take_settings(call, init) == TLNMF_OK ? EXIT_DONE
                                                 : cli_fail(call->command, EXIT_INPUT, "%s: %s",
                                                            init->path, tlnmf_message(call->ctx));
}

int cli_check_phi(const cli_call *call, const char *spec)
{
    char other[CLI_PATH];
    const char *colon = spec == NULL ? NULL : strrchr(spec, ':');
    if (colon == NULL || access(spec, F_OK) == 0 ||
        strcmp(colon + 1 + (colon[1] == '/'), "Phi") != 0)
        return EXIT_DONE;
    int size = snprintf(other, sizeof other, "%.*sunmixing", (int)strlen(spec) - 3, spec);
    if (size >= CLI_PATH || !cli_is_readable(call, other))
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_INPUT,
                    "%s: this Phi is for whitened data (jd --whiten); these data are not whitened",
                    spec);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Puts an array of the model into the start if it has this shape. *fits: whether it has. */
static tlnmf_error take(cli_call *call, const cli_init *init, const char *name, int64_t rows,
                        int64_t columns, tlnmf_record *start, bool *fits)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    const double *x = tlnmf_record_get_array(init->model, name, &rank, shape);
    *fits = x != NULL && rank == 2 && shape[0] == rows && shape[1] == columns;
    return *fits ? tlnmf_record_set_array(call->ctx, start, name, x, rank, shape) : TLNMF_OK;
}

int cli_init_start(cli_call *call, const cli_init *init, const tlnmf_data *data,
                   tlnmf_record *start)
{
    const tlnmf_record *sizes = tlnmf_data_record(data);
    int64_t M = tlnmf_record_get_integer(sizes, "M"), N = tlnmf_record_get_integer(sizes, "N");
    int64_t K = tlnmf_settings_get_integer(call->settings, "k");
    bool Phi, W = false, H = false;
    if (init->model == NULL)
        return EXIT_DONE;
    tlnmf_error error = take(call, init, "Phi", M, M, start, &Phi);
    if (error == TLNMF_OK && !Phi)
        return cli_fail(
            call->command, EXIT_INPUT,
            "%s: the model has frames of length %lld, the data have frames of length %lld",
            init->path, (long long)tlnmf_record_get_integer(init->model, "M"), (long long)M);
    if (error == TLNMF_OK)
        error = take(call, init, "W", M, K, start, &W);
    if (error == TLNMF_OK && W)
        error = take(call, init, "H", K, N, start, &H);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    const char *lack = tlnmf_record_get_array(init->model, "W", NULL, NULL) == NULL
                           ? "; it has no W and H"
                           : "; W and H have another K";
    const char *others = W && H ? "W and H" : W ? "W; H has another number of frames" : NULL;
    cli_say(call->command, "%s: %s%s%s", init->path,
            init->keep != NULL ? "keeps Phi" : "starts from Phi",
            others == NULL       ? lack
            : init->keep == NULL ? ", "
                                 : ", starts from ",
            others == NULL ? "" : others);
    return EXIT_DONE;
}

/* ---- keeping Phi and W ----------------------------------------------------------------------- */

int cli_init_apply(cli_call *call, const cli_init *init, const cli_input *input, const char *output)
{
    int64_t K = tlnmf_record_get_integer(init->model, "K");
    char text[64];
    tlnmf_error error = TLNMF_OK;
    if (tlnmf_settings_get_integer(call->settings, "k") != K)
        return cli_fail(call->command, EXIT_USAGE, "--keep phi,w: k must be %lld, as in the model",
                        (long long)K);
    if (call->also == NULL)
        error = tlnmf_settings_create(call->ctx, "apply", &call->also);
    for (int i = 0; error == TLNMF_OK && i < call->given_count; i++)
        if (cli_has_word(for_H, call->given[i]) &&
            tlnmf_settings_get_text(call->settings, call->given[i], text, sizeof text) != NULL)
            error = tlnmf_settings_set_text(call->ctx, call->also, call->given[i], text);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    return cli_apply_arrays(call, init->model, init->path, input, output);
}
