/* fit --init MODEL and --keep: going on from a model, or keeping parts of it. */
#include "cli/arrays/arrays.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- before any data are read ---------------------------------------------------------------- */

/* Options of a fit that mean something where Phi and W are kept and H alone is fitted. */
static bool is_for_activations(const char *name)
{
    static const char *const names[] = {"k", "J", "tol", "grad-tol", "max-seconds", "threads"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int check_keep(const cli_call *call, const cli_init *init)
{
    const cli_command *command = call->command;
    char method[64];
    bool factors = strcmp(init->keep, "phi,w") == 0;
    tlnmf_settings_get_text(call->settings, "method", method, sizeof method);
    if (factors && init->path == NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--keep phi,w needs --init: the model to keep them of");
    if (init->path == NULL && init->phi == NULL && !cli_given(call, "transform"))
        return cli_fail(command, EXIT_USAGE,
                        "--keep phi needs one of --init, --init-phi and --transform");
    if (cli_given(call, "method") && strcmp(method, "nmf") != 0)
        return cli_fail(command, EXIT_USAGE, "--keep %s contradicts --method %s, which learns Phi",
                        init->keep, method);
    for (int i = 0; factors && i < call->given_count; i++)
        if (!is_for_activations(call->given[i]))
            return cli_fail(command, EXIT_USAGE,
                            "--keep phi,w fits H alone: --%s means nothing there", call->given[i]);
    return EXIT_DONE;
}

static tlnmf_error set_unless_given(cli_call *call, const char *name, const char *value)
{
    return cli_given(call, name) ? TLNMF_OK
                                 : tlnmf_settings_set_text(call->ctx, call->settings, name, value);
}

/* K, eps and the method are the model's unless they are given. */
static tlnmf_error take_settings(cli_call *call, cli_init *init)
{
    const tlnmf_record *model = init->model;
    double eps = tlnmf_get_real(model, "eps");
    const char *method = tlnmf_get_text(model, "method");
    int64_t K = tlnmf_get_integer(model, "K");
    tlnmf_error error = TLNMF_OK;
    if (K > 0 && !cli_given(call, "k"))
        error = tlnmf_settings_set_integer(call->ctx, call->settings, "k", K);
    if (error == TLNMF_OK && isfinite(eps) && !cli_given(call, "eps") &&
        !cli_given(call, "eps-rel"))
        error = tlnmf_settings_set_real(call->ctx, call->settings, "eps", eps);
    if (error == TLNMF_OK && method != NULL && K > 0)
        error = set_unless_given(call, "method", method);
    return error;
}

int cli_init_read(cli_call *call, cli_init *init)
{
    bool twice = init->phi != NULL || init->w != NULL || init->h != NULL || call->transform_file ||
                 cli_given(call, "transform");
    tlnmf_error error = TLNMF_OK;
    if (init->path != NULL && twice)
        return cli_fail(call->command, EXIT_USAGE,
                        "--init has Phi, W and H: --init-phi, --init-w, --init-h and --transform "
                        "say the same thing twice");
    int code = init->keep == NULL ? EXIT_DONE : check_keep(call, init);
    if (code != EXIT_DONE)
        return code;
    if (init->path != NULL)
        code = cli_read(call, "model", init->path, &init->model);
    if (code != EXIT_DONE)
        return code;
    if (tlnmf_get_array(init->model, "unmixing", NULL, NULL) != NULL)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: its Phi is for whitened data (jd --whiten), which fit does not make",
                        init->path);
    if (error == TLNMF_OK && init->model != NULL)
        error = take_settings(call, init);
    if (error == TLNMF_OK && init->keep != NULL)
        error = tlnmf_settings_set_text(call->ctx, call->settings, "method", "nmf");
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* Whether the file has this array, in any of the formats of models. */
static int has_array(const cli_call *call, const char *file, const char *name, bool *has)
{
    tlnmf_record *about;
    size_t i;
    json_t *array;
    int code = cli_read(call, "describe", file, &about);
    if (code != EXIT_DONE)
        return code;
    json_t *object = json_loads(tlnmf_get_text(about, "json"), 0, NULL);
    json_array_foreach(json_object_get(object, "arrays"), i, array)
    {
        const char *is = json_string_value(json_object_get(array, "name"));
        *has = *has || (is != NULL && strcmp(is + (is[0] == '/'), name) == 0);
    }
    json_decref(object);
    tlnmf_record_free(about);
    return EXIT_DONE;
}

int cli_check_phi(const cli_call *call, const char *spec)
{
    char file[CLI_PATH];
    const char *colon = spec == NULL ? NULL : strrchr(spec, ':');
    bool whitened = false;
    if (colon == NULL || access(spec, F_OK) == 0 || colon - spec >= CLI_PATH ||
        strcmp(colon + 1 + (colon[1] == '/'), "Phi") != 0)
        return EXIT_DONE;
    snprintf(file, sizeof file, "%.*s", (int)(colon - spec), spec);
    int code = has_array(call, file, "unmixing", &whitened);
    if (code == EXIT_DONE && whitened)
        code =
            cli_fail(call->command, EXIT_INPUT,
                     "%s: this Phi is for whitened data (jd --whiten), which these are not", spec);
    return code;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Puts an array of the model into the start if it has the shape; says in *fits whether it has. */
static tlnmf_error take(cli_call *call, const cli_init *init, const char *name, int64_t rows,
                        int64_t columns, tlnmf_record *start, bool *fits)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;
    const double *x = tlnmf_get_array(init->model, name, &rank, shape);
    *fits = x != NULL && rank == 2 && shape[0] == rows && shape[1] == columns;
    return *fits ? tlnmf_set_array(call->ctx, start, name, x, rank, shape) : TLNMF_OK;
}

int cli_init_start(cli_call *call, const cli_init *init, const tlnmf_data *data,
                   tlnmf_record *start)
{
    const tlnmf_record *sizes = tlnmf_data_record(data);
    int64_t M = tlnmf_get_integer(sizes, "M"), N = tlnmf_get_integer(sizes, "N");
    int64_t K = tlnmf_settings_get_integer(call->settings, "k");
    bool Phi, W = false, H = false;
    if (init->model == NULL)
        return EXIT_DONE;
    tlnmf_error error = take(call, init, "Phi", M, M, start, &Phi);
    if (error == TLNMF_OK && !Phi)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: its frames have length %lld, those of the data %lld", init->path,
                        (long long)tlnmf_get_integer(init->model, "M"), (long long)M);
    if (error == TLNMF_OK)
        error = take(call, init, "W", M, K, start, &W);
    if (error == TLNMF_OK && W)
        error = take(call, init, "H", K, N, start, &H);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    const char *lack = tlnmf_get_array(init->model, "W", NULL, NULL) == NULL
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
    static const char *const shared[] = {"J", "tol", "grad-tol", "max-seconds", "threads"};
    int64_t K = tlnmf_get_integer(init->model, "K");
    char text[64];
    tlnmf_error error = TLNMF_OK;
    if (tlnmf_settings_get_integer(call->settings, "k") != K)
        return cli_fail(call->command, EXIT_USAGE, "--keep phi,w: k is the model's, %lld",
                        (long long)K);
    if (call->also == NULL)
        error = tlnmf_settings_create(call->ctx, "apply", &call->also);
    for (size_t i = 0; error == TLNMF_OK && i < sizeof shared / sizeof *shared; i++)
        if (cli_given(call, shared[i]) &&
            tlnmf_settings_get_text(call->settings, shared[i], text, sizeof text) != NULL)
            error = tlnmf_settings_set_text(call->ctx, call->also, shared[i], text);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    return cli_apply_arrays(call, init->model, init->path, input, output);
}
