/* tlnmf apply on arrays: H of new data with a model's Phi, W and eps, and whether the model fits.
 */
#include "cli/arrays/arrays.h"
#include "cli/common/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One application. */
typedef struct work {
    cli_call *call;
    const tlnmf_record *model;
    const cli_input *input;
    const char *path, *output; /* of the model, of the result */
    const char *lacks;         /* an option of the model's fit that these data are read without */
    tlnmf_data *data;
    tlnmf_record *applied;
} work;

/* ---- sound or array -------------------------------------------------------------------------- */

bool cli_is_array(const char *spec, const tlnmf_record *model)
{
    static const char *const known[] = {".npy", ".npz", ".h5",  ".hdf5", ".hdf",
                                        ".mat", ".csv", ".tsv", ".txt"};
    const char *colon = strrchr(spec, ':');
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i]), whole = strlen(spec);
        size_t member = colon == NULL ? 0 : (size_t)(colon - spec);
        if ((whole > n && strcasecmp(spec + whole - n, known[i]) == 0) ||
            (member > n && strncasecmp(spec + member - n, known[i], n) == 0))
            return true;
    }
    const char *slash = strrchr(spec, '/');
    bool plain = strchr(slash != NULL ? slash : spec, '.') == NULL; /* standard input, a pipe */
    return plain && isnan(tlnmf_get_real(model, "rate"));           /* which models of sound have */
}

/* ---- whether the model fits ------------------------------------------------------------------ */

/* An option that the model was fitted with and that this is applied without: what I an entry is of
 * is another thing then. NULL: none. */
static const char *lacking(const tlnmf_record *model, const cli_input *input)
{
    const bool spread = input->block > 0 || input->moving > 0;
    const struct {
        const char *name, *key;
        bool here;
    } options[] = {{"block", "given.block", spread},
                   {"moving", "given.moving", spread},
                   {"per-trial", "given.per-trial", input->per_trial},
                   {"weights", "given.weights", input->weights != NULL},
                   {"mask", "given.mask", input->mask != NULL}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!options[i].here && tlnmf_get_text(model, options[i].key) != NULL)
            return options[i].name;
    return NULL;
}

static void warn_of_lack(const work *w)
{
    char key[32];
    if (w->lacks == NULL)
        return;
    snprintf(key, sizeof key, "given.%s", w->lacks);
    const char *value = tlnmf_get_text(w->model, key);
    cli_warn(w->call->command, "the model was fitted with --%s%s%s, and this is applied without",
             w->lacks, value[0] != '\0' ? " " : "", value);
}

static const char *verdict(const work *w)
{
    return w->lacks == NULL
               ? tlnmf_get_text(w->applied, "fits")
               : "not known: the model was fitted to data that were read in another way";
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* How the array was read, as `fit` tells it. */
static json_t *given(const cli_input *input)
{
    const char *const texts[][2] = {{"axes", input->axes},
                                    {"per-trial", input->per_trial ? "" : NULL},
                                    {"missing", input->missing ? "" : NULL},
                                    {"header", input->header},
                                    {"index", input->index},
                                    {"weights", input->weights},
                                    {"mask", input->mask}};
    const int64_t counts[] = {input->block, input->moving};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][1] != NULL)
            json_object_set_new(object, texts[i][0], cli_text(texts[i][1]));
    for (int i = 0; i < 2; i++) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)counts[i]);
        if (counts[i] > 0)
            json_object_set_new(object, i == 0 ? "block" : "moving", cli_text(text));
    }
    return object;
}

static json_t *describe(const work *w)
{
    const tlnmf_record *data = tlnmf_data_record(w->data), *a = w->applied;
    static const char *const reals[] = {"C",       "L",           "I",
                                        "entries", "I_per_entry", "model_I_per_entry"};
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    json_object_set_new(object, "command", json_string(w->call->command->name));
    json_object_set_new(object, "blas", json_string(tlnmf_blas()));
    json_object_set_new(object, "learnt_model", cli_text(w->path));
    if (tlnmf_get_text(w->model, "method") != NULL)
        json_object_set_new(object, "method", json_string(tlnmf_get_text(w->model, "method")));
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        json_object_set_new(object, reals[i], cli_real(tlnmf_get_real(a, reals[i])));
    json_object_set_new(object, "fits", json_string(verdict(w)));
    json_object_set_new(object, "own_data", json_boolean(tlnmf_get_integer(a, "own_data") == 1));
    json_object_set_new(object, "eps", cli_real(tlnmf_get_real(a, "eps")));
    json_object_set_new(object, "outcome", json_string(tlnmf_get_text(a, "outcome")));
    json_object_set_new(object, "iterations",
                        json_integer((json_int_t)tlnmf_get_integer(a, "iterations")));
    json_object_set_new(object, "data",
                        cli_data_json(w->input->spec, data, tlnmf_get_integer(data, "columns")));
    json_object_set_new(object, "given", given(w->input));
    if (w->output != NULL)
        json_object_set_new(object, "model", cli_text(w->output));
    json_object_set_new(object, "repeat", cli_repeat(w->call));
    return object;
}

static void print(FILE *out, const work *w)
{
    const tlnmf_record *data = tlnmf_data_record(w->data), *a = w->applied;
    double here = tlnmf_get_real(a, "I_per_entry"), own = tlnmf_get_real(a, "model_I_per_entry");
    cli_print_data(out, w->input->spec, data, tlnmf_get_integer(data, "columns"));
    fprintf(out, "  C             %.12g\n  L             %.12g\n  I             %.10g\n",
            tlnmf_get_real(a, "C"), tlnmf_get_real(a, "L"), tlnmf_get_real(a, "I"));
    fprintf(out, "  I per entry   %.6g here", here);
    if (isfinite(own))
        fprintf(out, ", %.6g on the model's own data", own);
    fprintf(out, "\n  model fits    %s\n",
            tlnmf_get_integer(a, "own_data") == 1 ? "these are its own data: H is that of the fit"
                                                  : verdict(w));
    fprintf(out, "  eps           %.6g (the model's)\n", tlnmf_get_real(a, "eps"));
    if (tlnmf_get_integer(a, "own_data") == 0)
        fprintf(out, "  stopped       %s (iteration %lld)\n", cli_stop_words(a),
                (long long)tlnmf_get_integer(a, "iterations"));
    if (w->output != NULL)
        fprintf(out, "  output        %s\n", w->output);
}

static tlnmf_error copy_array(const work *w, const char *name)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;
    const double *x = tlnmf_get_array(w->model, name, &rank, shape);
    return tlnmf_set_array(w->call->ctx, w->applied, name, x, rank, shape);
}

/* The file is a model as well: the new H beside the Phi and W that it goes with. */
static tlnmf_error write(const work *w, const json_t *summary)
{
    tlnmf_error error = copy_array(w, "Phi");
    char *text = cli_json_text(summary);
    if (error == TLNMF_OK)
        error = copy_array(w, "W");
    if (error == TLNMF_OK)
        error = text == NULL ? tlnmf_fail(w->call->ctx, TLNMF_ERR_MEMORY, "no memory")
                             : tlnmf_set_text(w->call->ctx, w->applied, "summary", text);
    free(text);
    cli_guard_begin();
    if (error == TLNMF_OK)
        error = tlnmf_io_write_model(w->call->ctx, w->output, w->applied);
    cli_guard_end();
    return error;
}

static int finish(const work *w)
{
    bool to_stdout = w->output != NULL && strcmp(w->output, "-") == 0;
    json_t *summary = describe(w);
    cli_progress_clear();
    tlnmf_error error = w->output == NULL ? TLNMF_OK : write(w, summary);
    bool printed = true;
    if (error == TLNMF_OK && cli_common_values.json != NULL)
        printed = cli_print_json(summary);
    else if (error == TLNMF_OK)
        print(to_stdout ? stderr : stdout, w);
    json_decref(summary);
    if (error != TLNMF_OK)
        return cli_fail_library(w->call, error, NULL);
    if (!printed)
        return cli_fail(w->call->command, EXIT_OUTPUT, "standard output cannot be written");
    return tlnmf_get_integer(w->applied, "outcome_code") == TLNMF_CANCELLED ? EXIT_INTERRUPTED
                                                                            : EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check(const work *w)
{
    const cli_command *command = w->call->command;
    if (w->output != NULL && strcmp(w->output, "-") == 0 && cli_common_values.json != NULL)
        return cli_fail(command, EXIT_USAGE,
                        "--json and the output cannot both go to standard output");
    int code = cli_check_model_name(command, w->output);
    if (code == EXIT_DONE)
        code = cli_check_input(command, w->path, w->output);
    if (code == EXIT_DONE)
        code = cli_check_input(command, w->input->spec, w->output);
    if (code == EXIT_DONE)
        code = cli_check_input(command, w->input->weights, w->output);
    if (code == EXIT_DONE)
        code = cli_check_input(command, w->input->mask, w->output);
    return code == EXIT_DONE ? cli_check_output(command, w->output) : code;
}

int cli_apply_arrays(cli_call *call, const tlnmf_record *model, const char *path,
                     const cli_input *input, const char *output)
{
    work w = {.call = call, .model = model, .path = path, .input = input, .output = output};
    int code = check(&w);
    if (code == EXIT_DONE && tlnmf_get_array(model, "W", NULL, NULL) == NULL)
        code = cli_fail(call->command, EXIT_INPUT, "%s: a transform alone: there is no W to fit",
                        w.path);
    if (code == EXIT_DONE)
        code = cli_read_data(call, input, &w.data);
    if (code == EXIT_DONE)
        code = cli_read_weights(call, input, w.data);
    if (code == EXIT_DONE) {
        w.lacks = lacking(model, input);
        warn_of_lack(&w);
        cli_catch_interrupt();
        tlnmf_ctx_set_progress(call->ctx, cli_progress, NULL);
        tlnmf_error error = tlnmf_apply(call->ctx, model, w.data, call->also, &w.applied);
        code = error == TLNMF_OK ? finish(&w) : cli_fail_library(call, error, input->spec);
    }
    tlnmf_record_free(w.applied);
    tlnmf_data_free(w.data);
    return code;
}
