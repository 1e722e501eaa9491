/* tlnmf apply on arrays: fits H of new data with a model's Phi, W and eps, and says whether the
 * model fits the data. */
#include "cli/common/arrays.h"

#include <math.h>
#include <string.h>

/* One application of a model. */
typedef struct apply_work {
    cli_call *call;
    const tlnmf_record *model;
    const cli_input *input;
    const char *path, *output; /* of the model, of the result */
    tlnmf_data *data;
    tlnmf_record *applied;
} apply_work;

/* ---- sound or array -------------------------------------------------------------------------- */

bool cli_is_array(const char *spec, const tlnmf_record *model)
{
    static const char known[] = " .npy .npz .h5 .hdf5 .hdf .mat .csv .tsv .txt ";
    const char *slash = strrchr(spec, '/');
    char file[CLI_PATH], extension[16];
    snprintf(file, sizeof file, "%.*s", (int)tlnmf_io_file_length(spec), spec);
    if (cli_has_word(known, cli_extension(spec, extension)) ||
        cli_has_word(known, cli_extension(file, extension)))
        return true;
    /* No extension: standard input or a pipe. Only models of sounds have a rate. */
    bool plain = strchr(slash != NULL ? slash : spec, '.') == NULL;
    return plain && isnan(tlnmf_record_get_real(model, "rate"));
}

/* ---- whether the model fits ------------------------------------------------------------------ */

/* Warns of an option of the fit that is not given here: I per entry cannot be compared then. */
static bool warn_of_lack(const apply_work *w)
{
    static const char *const names[] = {"block", "moving", "per-trial", "weights", "mask"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char key[32];
        snprintf(key, sizeof key, "given.%s", names[i]);
        const char *value = tlnmf_record_get_text(w->model, key);
        if (value == NULL || *cli_find_option(w->call->command, names[i])->value != NULL)
            continue;
        cli_warn(w->call->command, "the model was fitted with --%s%s%s, but is applied without it",
                 names[i], value[0] != '\0' ? " " : "", value);
        return true;
    }
    return false;
}

/* Withdraws the verdict if the data were read in another way than those of the fit. */
static int withdraw(const apply_work *w, bool lacks)
{
    static const char *const figures[] = {"excess", "excess_error", "excess_tails",
                                          "excess_random"};
    tlnmf_ctx *ctx = w->call->ctx;
    if (!lacks || tlnmf_record_get_integer(w->applied, "own_data") == 1)
        return EXIT_DONE;
    tlnmf_error error = tlnmf_record_set_text(
        ctx, w->applied, "fits", "cannot tell: the model's own data were read with other options");
    for (size_t i = 0; i < sizeof figures / sizeof *figures && error == TLNMF_OK; i++)
        error = tlnmf_record_set_real(ctx, w->applied, figures[i], NAN);
    return cli_check(w->call, error, NULL);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static json_t *describe(const apply_work *w)
{
    const tlnmf_record *data = tlnmf_data_record(w->data), *a = w->applied;
    json_t *object = cli_summary(w->call);
    json_object_set_new(object, "learnt_model", cli_text(w->path));
    if (tlnmf_record_has(w->model, "method"))
        cli_put_values(object, w->model, "method");
    cli_put_scalars(object, a);
    json_object_set_new(object, "own_data",
                        json_boolean(tlnmf_record_get_integer(a, "own_data") == 1));
    json_object_set_new(
        object, "data",
        cli_data_json(w->input->spec, data, tlnmf_record_get_integer(data, "columns")));
    json_object_set_new(object, "given", cli_given_json(w->call));
    if (w->output != NULL)
        json_object_set_new(object, "model", cli_text(w->output));
    json_object_set_new(object, "repeat", cli_repeat(w->call));
    return object;
}

static void print(FILE *out, const apply_work *w)
{
    const tlnmf_record *data = tlnmf_data_record(w->data), *a = w->applied;
    double here = tlnmf_record_get_real(a, "I_per_entry"),
           own = tlnmf_record_get_real(a, "model_I_per_entry"),
           excess = tlnmf_record_get_real(a, "excess");
    bool own_data = tlnmf_record_get_integer(a, "own_data") == 1;
    fprintf(out, "model fits: %s%s\n", tlnmf_record_get_text(a, "fits"),
            own_data ? "; the output has the H of the model" : "");
    fprintf(out, "  I per entry   %.6g here", here);
    if (isfinite(own))
        fprintf(out, ", %.6g on the model's own data", own);
    fputc('\n', out);
    if (isfinite(excess))
        fprintf(out, "  excess        %.3g, standard error %.2g; %.3g with permuted rows of W H\n",
                excess, tlnmf_record_get_real(a, "excess_error"),
                tlnmf_record_get_real(a, "excess_random"));
    if (w->output != NULL)
        cli_print_name(out, "output", w->output, "");
    cli_print_data(out, w->input->spec, data, tlnmf_record_get_integer(data, "columns"));
    fprintf(out, "  objective     C %.12g = L %.12g + I %.10g\n", tlnmf_record_get_real(a, "C"),
            tlnmf_record_get_real(a, "L"), tlnmf_record_get_real(a, "I"));
    fprintf(out, "  eps           %.6g (the model's)\n", tlnmf_record_get_real(a, "eps"));
    if (!own_data)
        fprintf(out, "  stopped       %s (iteration %lld)\n", cli_stop_words(a),
                (long long)tlnmf_record_get_integer(a, "iterations"));
    if (cli_asked.explain != NULL) {
        fputs("\nwhat these mean\n", out);
        cli_apply_explain(out);
    }
}

static const cli_sentence sentences[] = {
    {"model fits",
     "Whether the model describes these data as well as the data that it was fitted to. Worse: the "
     "excess is at least a fifth of the excess of data simulated with permuted rows of W H. "
     "Different: at least a quarter. If the data cannot decide, the line says why."},
    {"I per entry",
     "How badly W H describes the power V, in nats per entry. Chance alone leaves about 1 / S with "
     "S realisations, so values at different S cannot be compared: the excess can."},
    {"excess",
     "How much I per entry is above its mean on data simulated from the model, minus the same "
     "difference for the model's own data. The simulated data have the same numbers of "
     "realisations. The excess is about "
     "0 for data of the same distribution. A difference counts from 2.5 standard errors on, or 3 "
     "with a single realisation. The last number is the excess of data simulated with permuted "
     "rows of W H."},
    CLI_DATA_SENTENCE,
    {"output", "The file with the new H, and Phi and W of the model: `tlnmf info` lists it."},
    {"objective", "C, L and I of the new data; see `tlnmf fit --explain`."},
    {"eps", "The floor of the model, which is also used here."},
    {"stopped",
     "Why the fit of H ended. At the iteration limit, use a larger -J. There is no verdict if "
     "the fit reached a limit."},
};

void cli_apply_explain(FILE *out)
{
    cli_put_sentences(out, sentences, sizeof sentences / sizeof *sentences);
}

static tlnmf_error copy_array(const apply_work *w, const char *name)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    const double *x = tlnmf_record_get_array(w->model, name, &rank, shape);
    return tlnmf_record_set_array(w->call->ctx, w->applied, name, x, rank, shape);
}

/* Writes a model: the new H with Phi and W of the old model. */
static tlnmf_error write(const apply_work *w, const json_t *summary)
{
    TRY(copy_array(w, "Phi"));
    TRY(copy_array(w, "W"));
    TRY(cli_put_summary(w->call, w->applied, summary));
    cli_guard_begin();
    tlnmf_error error = tlnmf_io_write_model(w->call->ctx, w->output, w->applied);
    cli_guard_end();
    return error;
}

static int finish(const apply_work *w)
{
    bool to_stdout = w->output != NULL && strcmp(w->output, "-") == 0;
    json_t *summary = describe(w);
    cli_progress_clear();
    tlnmf_error error = w->output == NULL ? TLNMF_OK : write(w, summary);
    if (error == TLNMF_OK && cli_asked.json != NULL)
        cli_print_json(summary);
    else if (error == TLNMF_OK)
        print(to_stdout ? stderr : stdout, w);
    json_decref(summary);
    if (error != TLNMF_OK)
        return cli_fail_library(w->call, error, NULL);
    return tlnmf_record_get_integer(w->applied, "outcome_code") == TLNMF_OUTCOME_CANCELLED
               ? EXIT_INTERRUPTED
               : EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The model and the data must have the same frame length. */
static int check_length(const apply_work *w)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int64_t M = tlnmf_record_get_integer(tlnmf_data_record(w->data), "M");
    const double *Phi = tlnmf_record_get_array(w->model, "Phi", NULL, shape);
    if (Phi == NULL || shape[0] == M)
        return EXIT_DONE;
    return cli_fail(w->call->command, EXIT_INPUT,
                    "%s: its frames have length %lld, but the model %s has frames of length %lld",
                    w->input->spec, (long long)M, w->path, (long long)shape[0]);
}

static int apply(apply_work *w)
{
    cli_call *call = w->call;
    TRY(cli_check_model_output(call, w->output));
    if (tlnmf_record_get_array(w->model, "W", NULL, NULL) == NULL)
        return cli_fail(call->command, EXIT_INPUT, "%s: a transform without W cannot be applied",
                        w->path);
    TRY(cli_read_data(call, w->input, &w->data));
    TRY(check_length(w));
    TRY(cli_read_weights(call, w->input, w->data));
    bool lacks = warn_of_lack(w);
    cli_catch_interrupt();
    TRY(cli_check(call, tlnmf_apply(call->ctx, w->model, w->data, call->also, &w->applied),
                  w->input->spec));
    TRY(withdraw(w, lacks));
    return finish(w);
}

int cli_apply_arrays(cli_call *call, const tlnmf_record *model, const char *path,
                     const cli_input *input, const char *output)
{
    apply_work w = {.call = call, .model = model, .path = path, .input = input, .output = output};
    int code = apply(&w);
    tlnmf_record_free(w.applied);
    tlnmf_data_free(w.data);
    return code;
}
