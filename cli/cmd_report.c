/* tlnmf report: the page of a model, or of a folder of stems. */
#include "cli/common/arrays.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    const char *data, *sound, *labels, *title;
} arg;

/* The paths of files that the model names. */
static struct {
    char data[CLI_PATH], weights[CLI_PATH], mask[CLI_PATH], labels[CLI_PATH];
} found;

static const cli_option options[] = {
    {"data", "FILE",
     "the array that the model was fitted to, for |Phi Y|^2 [the file named in the model, in the "
     "model's folder]",
     &arg.data, GROUP_INPUT, CLI_FILE_IN},
    {"sound", "FILE",
     "the recording that was separated [the file named in the model, in the model's folder]",
     &arg.sound, GROUP_INPUT, CLI_FILE_IN},
    {"labels", "FILE", "its label track [the file named in the model, in the model's folder]",
     &arg.labels, GROUP_INPUT, CLI_FILE_IN},
    {"title", "TEXT", "heading of the page [the name of the model]", &arg.title, GROUP_OUTPUT, 0},
    {"o", "PAGE",
     "file of the page; - is standard output [MODEL with the extension .html, or DIR/report.html]",
     &cli_asked.output, GROUP_OUTPUT, 0},
    {0},
};

typedef struct page_job {
    cli_call *call;
    char model_path[CLI_PATH], output[CLI_PATH];
    tlnmf_record *model, *about;
    json_t *summary;
} page_job;

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The file of this name in the folder of the model. The folder of the name is dropped. */
static const char *next_to_model(const page_job *j, const char *name, char path[CLI_PATH])
{
    const char *dataset = strstr(name, ":/"), *end = strrchr(j->model_path, '/');
    const char *slash = NULL;
    for (const char *at = name; *at != '\0' && at != dataset; at++)
        slash = *at == '/' ? at : slash;
    int folder = end == NULL ? 0 : (int)(end - j->model_path) + 1;
    int size =
        snprintf(path, CLI_PATH, "%.*s%s", folder, j->model_path, slash == NULL ? name : slash + 1);
    return size < CLI_PATH ? path : name;
}

static int check_names(page_job *j)
{
    const char *operand = j->call->operands[0], *given = cli_asked.output;
    bool folder = is_folder(operand);
    int size = snprintf(j->model_path, CLI_PATH, "%s%s", operand, folder ? "/model.h5" : "");
    char page[CLI_PATH];
    if (size >= CLI_PATH || cli_page_path(j->model_path, page) == NULL)
        return cli_fail(j->call->command, EXIT_USAGE, "%s: the name is too long", operand);
    if (given == NULL && folder)
        given = next_to_model(j, "report.html", page);
    snprintf(j->output, CLI_PATH, "%s", given != NULL ? given : page);
    TRY(cli_file_add(j->call, CLI_READS, "the model", j->model_path));
    return cli_file_add(j->call, CLI_WRITES, "-o", j->output);
}

/* ---- the files that belong to the model ------------------------------------------------------ */

static const char *text_of(const page_job *j, const char *group, const char *name)
{
    const json_t *at = group == NULL ? j->summary : json_object_get(j->summary, group);
    return json_string_value(json_object_get(at, name));
}

/* Whether the model may name this file: a relative path without "..". A stranger's model must not
 * choose which files of this user a page shows. */
static bool is_harmless(const char *name)
{
    bool up = name[0] == '/' || strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0;
    size_t length = strlen(name);
    return name[0] != '\0' && !up && strstr(name, "/../") == NULL &&
           (length < 3 || strcmp(name + length - 3, "/..") != 0);
}

/* The file of this name next to the model, as far as it is a plain file: no link, FIFO or device.
 * NULL if there is none. A name of an array may end with ":DATASET". */
static const char *found_next_to_model(const page_job *j, const char *name, char path[CLI_PATH])
{
    char file[CLI_PATH];
    struct stat status;
    if (next_to_model(j, name, path) != path)
        return NULL;
    if (strcmp(path, "-") == 0) /* standard input, which the model may not name either */
        return NULL;
    bool plain = lstat(cli_file_of(path, file), &status) == 0 && S_ISREG(status.st_mode);
    return plain ? path : NULL;
}

/* The file that the user names or, without one, the file that the model names. NULL if there is
 * none, or only one that the model may not name. */
static const char *choose_file(const page_job *j, const char *given, const char *named,
                               char path[CLI_PATH])
{
    if (given != NULL || named == NULL)
        return given;
    return is_harmless(named) ? found_next_to_model(j, named, path) : NULL;
}

/* The page must not replace a file that the model names. */
static int add_files(const page_job *j)
{
    static const char *const names[][2] = {{"sound", "file"},
                                           {"data", "file"},
                                           {NULL, "labels"},
                                           {"given", "weights"},
                                           {"given", "mask"}};
    const json_t *stems = json_object_get(j->summary, "stems");
    char path[CLI_PATH];
    TRY(cli_file_add(j->call, CLI_READS, "the summary", next_to_model(j, "summary.json", path)));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *named = text_of(j, names[i][0], names[i][1]);
        if (named == NULL || strcmp(named, "-") == 0)
            continue;
        TRY(cli_file_add(j->call, CLI_READS, names[i][1], named));
        TRY(cli_file_add(j->call, CLI_READS, names[i][1], next_to_model(j, named, path)));
    }
    for (size_t i = 0; i < json_array_size(stems); i++) {
        const char *stem = json_string_value(json_array_get(stems, i));
        if (stem != NULL)
            TRY(cli_file_add(j->call, CLI_READS, "a stem", next_to_model(j, stem, path)));
    }
    return EXIT_DONE;
}

/* Adds the recording and the stems. The page says which of them are missing: an empty path. */
static tlnmf_error add_sound(page_job *j)
{
    enum { MOST = 65 }; /* sources, and the residual */
    tlnmf_ctx *ctx = j->call->ctx;
    const json_t *stems = json_object_get(j->summary, "stems");
    const char *recording = text_of(j, "sound", "file"), *name[MOST];
    char(*path)[CLI_PATH] = malloc((MOST + 1) * sizeof *path);
    size_t count = 0;
    bool has_sound = recording != NULL || arg.sound != NULL || json_array_size(stems) > 0;
    tlnmf_error error = path == NULL ? tlnmf_fail(ctx, TLNMF_ERR_MEMORY, "no memory") : TLNMF_OK;
    if (json_array_size(stems) > MOST)
        cli_warn(j->call->command, "the page shows only the first %d of %d stems", MOST,
                 (int)json_array_size(stems));
    for (; path != NULL && count < MOST && count < json_array_size(stems); count++) {
        const char *stem = json_string_value(json_array_get(stems, count));
        name[count] = found_next_to_model(j, stem == NULL ? "" : stem, path[count]);
        name[count] = name[count] == NULL ? "" : name[count];
    }
    if (error == TLNMF_OK && has_sound) {
        recording = choose_file(j, arg.sound, recording, path[MOST]);
        error = tlnmf_record_set_text(ctx, j->about, "recording", recording ? recording : "");
    }
    if (error == TLNMF_OK && count > 0)
        error = tlnmf_record_set_texts(ctx, j->about, "stems", name, count);
    free(path);
    return error;
}

/* Adds the labels, unless they cannot be read. */
static void add_labels(page_job *j)
{
    const char *labels = choose_file(j, arg.labels, text_of(j, NULL, "labels"), found.labels);
    tlnmf_record *track = NULL;
    if (labels == NULL)
        return;
    tlnmf_error error = tlnmf_io_read_labels(j->call->ctx, labels, &track);
    if (error == TLNMF_OK)
        error = cli_page_add_labels(j->call, track, j->about);
    if (error != TLNMF_OK)
        cli_warn(j->call->command, "%s", tlnmf_message(j->call->ctx));
    tlnmf_record_free(track);
}

/* Records in the page why it has no V, and warns unless `quiet`. */
static int without(page_job *j, bool quiet, const char *file, const char *why)
{
    char text[CLI_PATH + 128];
    snprintf(text, sizeof text, "%s: %s", file, why);
    if (!quiet)
        cli_warn(j->call->command, "%s; the page omits |Phi Y|^2", text);
    return cli_check(j->call, tlnmf_record_set_text(j->call->ctx, j->about, "without", text), NULL);
}

/* Reads the data with the options of the fit. Weights and mask lie next to the model. */
static int read_as_given(page_job *j, const char *file, tlnmf_data **data)
{
    const json_t *S = json_object_get(json_object_get(j->summary, "data"), "S");
    for (const cli_option *row = cli_shared_options; row->name != NULL; row++)
        if (row->use & CLI_FOR_ARRAYS)
            *row->value = text_of(j, "given", row->name);
    cli_input input = cli_asked.input;
    input.spec = file;
    input.weights = choose_file(j, NULL, input.weights, found.weights);
    input.mask = choose_file(j, NULL, input.mask, found.mask);
    input.expects_data = true;
    if (input.kind == NULL)
        input.kind = json_is_integer(S) ? "data" : json_is_null(S) ? "covariances" : "auto";
    if (cli_check_reading(j->call, &input) != EXIT_DONE)
        return EXIT_INPUT;
    TRY(cli_read_data(j->call, &input, data));
    return cli_read_weights(j->call, &input, *data);
}

/* The data of a fit: the file of --data, or the file that the model names. */
static int add_data(page_job *j)
{
    static const char *const files[] = {"weights", "mask"};
    const char *named = text_of(j, "data", "file");
    const char *file = choose_file(j, arg.data, named, found.data);
    tlnmf_data *data = NULL;
    bool shown = false;
    if (file == NULL && named == NULL)
        return EXIT_DONE;
    if (tlnmf_record_get_array(j->model, "unmixing", NULL, NULL) != NULL)
        return without(j, arg.data == NULL, file == NULL ? named : file,
                       "the model is for whitened data (--whiten)");
    if (file == NULL)
        return without(j, true, named, "not in the model's folder; use --data FILE");
    for (int i = 0; i < 2; i++) {
        const char *needed = text_of(j, "given", files[i]);
        char why[64];
        snprintf(why, sizeof why, "the file of --%s is not in the model's folder", files[i]);
        if (needed != NULL && choose_file(j, NULL, needed, found.weights) == NULL)
            return without(j, false, needed, why);
    }
    int code = read_as_given(j, file, &data);
    tlnmf_error error = TLNMF_OK;
    if (code == EXIT_DONE)
        error = cli_page_add_V(j->call, j->model, data, j->about, &shown);
    tlnmf_data_free(data);
    if (code == EXIT_DONE && (error != TLNMF_OK || !shown))
        code = without(j, false, file, "the model was not fitted to these data");
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static tlnmf_error describe(page_job *j)
{
    tlnmf_ctx *ctx = j->call->ctx;
    TRY(tlnmf_record_create(ctx, &j->about));
    TRY(tlnmf_record_set_text(ctx, j->about, "title",
                              arg.title != NULL ? arg.title : j->call->operands[0]));
    return add_sound(j);
}

static int write_page(page_job *j)
{
    cli_call *call = j->call;
    TRY(add_files(j));
    TRY(cli_check(call, describe(j), NULL));
    add_labels(j);
    TRY(add_data(j));
    cli_guard_begin();
    tlnmf_error error =
        tlnmf_io_write_report(call->ctx, j->output, j->model, j->about, call->settings);
    cli_guard_end();
    if (error == TLNMF_ERR_ARGUMENT) /* arrays are missing: the file is at fault */
        error = TLNMF_ERR_INPUT;
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, error == TLNMF_ERR_OUTPUT ? NULL : j->model_path);
    if (strcmp(j->output, "-") != 0) {
        cli_put(stdout, j->output);
        putchar('\n');
    }
    return EXIT_DONE;
}

static int run(cli_call *call)
{
    page_job j = {.call = call};
    TRY(cli_check_operands(call, 1, "a model or a folder"));
    TRY(check_names(&j));
    cli_catch_interrupt();
    TRY(cli_read(call, "model", j.model_path, &j.model));
    const char *text = tlnmf_record_get_text(j.model, "summary");
    j.summary = json_loads(text == NULL ? "{}" : text, 0, NULL);
    int code = write_page(&j);
    json_decref(j.summary);
    tlnmf_record_free(j.about);
    tlnmf_record_free(j.model);
    return code;
}

const cli_command cli_report = {
    .name = "report",
    .usage = "report MODEL|DIR [-o PAGE] [options]",
    .purpose = "one HTML page that shows a model, or a separation with its stems",
    .task = "report",
    .options = options,
    .shared = " force q v ",
    .examples = "  tlnmf report model.h5\n"
                "  tlnmf report stems -o page.html\n"
                "  tlnmf report model.h5 --data data.npy --rate 5000 -o page.html\n",
    .notes = "The page is one file, opens in any browser without a network, and can be sent to "
             "others.",
    .run = run,
};
