/* tlnmf report: the page of a model, or of a folder of stems. */
#include "cli/pages/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    const char *data, *title;
} arg;

static const cli_option options[] = {
    {"data", "FILE",
     "the array that the model was fitted to, for |Phi Y|^2 [the file that the model names]",
     &arg.data},
    {"title", "TEXT", "the heading of the page [the name of the model]", &arg.title},
};

typedef struct job {
    cli_call *call;
    char model_path[CLI_PATH], output[CLI_PATH];
    tlnmf_record *model, *about;
    json_t *summary;
} job;

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The file in the folder of the model that has the last part of this name. */
static const char *beside(const job *j, const char *name, char path[CLI_PATH])
{
    const char *slash = strrchr(name, '/'), *end = strrchr(j->model_path, '/');
    int folder = end == NULL ? 0 : (int)(end - j->model_path) + 1;
    int size =
        snprintf(path, CLI_PATH, "%.*s%s", folder, j->model_path, slash == NULL ? name : slash + 1);
    return size < CLI_PATH ? path : name;
}

static int check_names(job *j)
{
    const char *operand = j->call->operands[0], *given = cli_common_values.output;
    bool folder = is_folder(operand);
    int size = snprintf(j->model_path, CLI_PATH, "%s%s", operand, folder ? "/model.h5" : "");
    char page[CLI_PATH];
    if (size >= CLI_PATH || cli_page_path(j->model_path, page) == NULL)
        return cli_fail(j->call->command, EXIT_USAGE, "%s: the name is too long", operand);
    if (given == NULL && folder)
        given = beside(j, "report.html", page);
    snprintf(j->output, CLI_PATH, "%s", given != NULL ? given : page);
    int code = cli_check_input(j->call->command, j->model_path, j->output);
    return code == EXIT_DONE ? cli_check_output(j->call->command, j->output) : code;
}

/* ---- what belongs to the model --------------------------------------------------------------- */

static const char *text_of(const job *j, const char *group, const char *name)
{
    const json_t *at = group == NULL ? j->summary : json_object_get(j->summary, group);
    return json_string_value(json_object_get(at, name));
}

/* The recording where it was, the stems where the model is. */
static tlnmf_error add_sound(job *j)
{
    enum { MOST = 65 }; /* sources, and the residual */
    tlnmf_ctx *ctx = j->call->ctx;
    const json_t *stems = json_object_get(j->summary, "stems");
    const char *recording = text_of(j, "sound", "file"), *name[MOST];
    char(*path)[CLI_PATH] = malloc(MOST * sizeof *path);
    size_t count = 0;
    tlnmf_error error = path == NULL ? tlnmf_fail(ctx, TLNMF_ERR_MEMORY, "no memory") : TLNMF_OK;
    if (json_array_size(stems) > MOST)
        cli_warn(j->call->command, "the page has at most %d of the %d stems", MOST,
                 (int)json_array_size(stems));
    for (; path != NULL && count < MOST && count < json_array_size(stems); count++) {
        const char *stem = json_string_value(json_array_get(stems, count));
        name[count] = beside(j, stem == NULL ? "" : stem, path[count]);
    }
    if (error == TLNMF_OK && recording != NULL)
        error = tlnmf_set_text(ctx, j->about, "recording", recording);
    if (error == TLNMF_OK && count > 0)
        error = tlnmf_set_texts(ctx, j->about, "stems", name, count);
    free(path);
    return error;
}

/* Labels that cannot be read any more are left out. */
static tlnmf_error add_labels(job *j)
{
    tlnmf_ctx *ctx = j->call->ctx;
    const char *labels = text_of(j, NULL, "labels");
    tlnmf_record *track;
    if (labels == NULL)
        return TLNMF_OK;
    if (tlnmf_io_read_labels(ctx, labels, &track) != TLNMF_OK) {
        cli_warn(j->call->command, "%s", tlnmf_message(ctx));
        return TLNMF_OK;
    }
    tlnmf_error error = cli_page_add_labels(j->call, track, j->about);
    tlnmf_record_free(track);
    return error;
}

/* Whether a file is there, or the one that `file:member` names. */
static bool is_there(const char *spec)
{
    char path[CLI_PATH];
    const char *colon = strrchr(spec, ':');
    if (access(spec, R_OK) == 0)
        return true;
    int size =
        colon == NULL ? CLI_PATH : snprintf(path, CLI_PATH, "%.*s", (int)(colon - spec), spec);
    return size < CLI_PATH && access(path, R_OK) == 0;
}

/* Why the page shows no V: in the page, and as a warning unless `quiet`. */
static int without(job *j, bool quiet, const char *file, const char *why)
{
    char text[CLI_PATH + 128];
    snprintf(text, sizeof text, "%s: %s", file, why);
    if (!quiet)
        cli_warn(j->call->command, "%s; |Phi Y|^2 is left out", text);
    tlnmf_error error = tlnmf_set_text(j->call->ctx, j->about, "without", text);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(j->call, error, NULL);
}

static int64_t count_of(const job *j, const char *name)
{
    const char *text = text_of(j, "given", name);
    return text == NULL ? 0 : strtoll(text, NULL, 10);
}

/* Reads the data as the fit did: with the options that it was given. */
static int read_as_given(job *j, const char *file, tlnmf_data **data)
{
    const json_t *S = json_object_get(json_object_get(j->summary, "data"), "S");
    const char *kind = text_of(j, "given", "input");
    cli_input input = {.spec = file,
                       .kind = kind != NULL         ? kind
                               : json_is_integer(S) ? "data"
                               : json_is_null(S)    ? "covariances"
                                                    : "auto",
                       .axes = text_of(j, "given", "axes"),
                       .per_trial = text_of(j, "given", "per-trial") != NULL,
                       .header = text_of(j, "given", "header"),
                       .index = text_of(j, "given", "index"),
                       .missing = text_of(j, "given", "missing") != NULL,
                       .block = count_of(j, "block"),
                       .moving = count_of(j, "moving"),
                       .weights = text_of(j, "given", "weights"),
                       .mask = text_of(j, "given", "mask"),
                       .expects_data = true};
    int code = cli_read_data(j->call, &input, data);
    if (code == EXIT_DONE)
        code = cli_read_weights(j->call, &input, *data);
    return code;
}

/* The data of a fit: those of --data, else those that the model names, if they are still there. */
static int add_data(job *j)
{
    static const char *const files[] = {"weights", "mask"};
    const char *file = arg.data != NULL ? arg.data : text_of(j, "data", "file");
    tlnmf_data *data;
    bool shown = false;
    if (file == NULL)
        return EXIT_DONE;
    if (tlnmf_get_array(j->model, "unmixing", NULL, NULL) != NULL)
        return without(j, arg.data == NULL, file, "the model is one of whitened data (--whiten)");
    if (arg.data == NULL && !is_there(file))
        return without(j, true, file, "cannot be read any more");
    for (int i = 0; i < 2; i++) {
        const char *needed = text_of(j, "given", files[i]);
        char why[64];
        snprintf(why, sizeof why, "cannot be read any more, and is the file of --%s", files[i]);
        if (needed != NULL && !is_there(needed))
            return without(j, false, needed, why);
    }
    int code = read_as_given(j, file, &data);
    tlnmf_error error = TLNMF_OK;
    if (code == EXIT_DONE)
        error = cli_page_add_V(j->call, j->model, data, j->about, &shown);
    tlnmf_data_free(data);
    if (code == EXIT_DONE && (error != TLNMF_OK || !shown))
        code = without(j, false, file, "not what the model was fitted to");
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_page(job *j)
{
    cli_call *call = j->call;
    tlnmf_error error = tlnmf_record_create(call->ctx, &j->about);
    if (error == TLNMF_OK)
        error = tlnmf_set_text(call->ctx, j->about, "title",
                               arg.title != NULL ? arg.title : call->operands[0]);
    if (error == TLNMF_OK)
        error = add_sound(j);
    if (error == TLNMF_OK)
        error = add_labels(j);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    int code = add_data(j);
    if (code != EXIT_DONE)
        return code;
    cli_guard_begin();
    error = tlnmf_io_write_report(call->ctx, j->output, j->model, j->about, call->settings);
    cli_guard_end();
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, error == TLNMF_ERR_OUTPUT ? NULL : j->model_path);
    if (strcmp(j->output, "-") != 0) {
        cli_put(stdout, j->output);
        putchar('\n');
    }
    return EXIT_DONE;
}

static int report(cli_call *call)
{
    job j = {.call = call};
    if (call->operand_count != 1)
        return cli_fail(call->command, EXIT_USAGE, "one model or folder is needed");
    int code = check_names(&j);
    if (code != EXIT_DONE)
        return code;
    cli_catch_interrupt();
    code = cli_read(call, "model", j.model_path, &j.model);
    if (code == EXIT_DONE) {
        const char *text = tlnmf_get_text(j.model, "summary");
        j.summary = json_loads(text == NULL ? "{}" : text, 0, NULL);
        code = write_page(&j);
    }
    json_decref(j.summary);
    tlnmf_record_free(j.about);
    tlnmf_record_free(j.model);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_report, argc, argv, &code))
        code = report(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_report = {
    .name = "report",
    .usage = "report MODEL|DIR [-o PAGE] [options]",
    .purpose = "one HTML page that shows a model, or a separation with its stems",
    .task = "report",
    .common = " o force q v ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .examples = "  tlnmf report model.h5\n"
                "  tlnmf report stems -o page.html\n"
                "  tlnmf report model.h5 --data data.npy --rate 5000 -o page.html\n",
    .notes = "The page is one file, opens in any browser without a network, and can be sent to "
             "others. It goes to -o PAGE [MODEL with .html for its extension; DIR/report.html].",
    .run = run,
};
