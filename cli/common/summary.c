/* The result of fit and jd as one JSON object, and the model file. */
#include "cli/common/summary.h"
#include "cli/pages/pages.h"

#include <stdlib.h>
#include <string.h>

/* ---- parts of the object --------------------------------------------------------------------- */

/* How a value of a record is written. */
typedef enum form { REAL, SECONDS, INTEGER, TEXT } form;

typedef struct member {
    const char *name;
    form form;
} member;

static void put_members(json_t *object, const tlnmf_record *record, const member *members,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = members[i].name;
        double real = tlnmf_get_real(record, name);
        json_t *value = NULL;
        switch (members[i].form) {
        case REAL:
            value = cli_real(real);
            break;
        case SECONDS:
            value = cli_real(cli_seconds(real));
            break;
        case INTEGER:
            value = json_integer((json_int_t)tlnmf_get_integer(record, name));
            break;
        case TEXT:
            value = json_string(tlnmf_get_text(record, name));
            break;
        }
        json_object_set_new(object, name, value);
    }
}
#define PUT_MEMBERS(object, record, members) \
    put_members(object, record, members, sizeof(members) / sizeof *(members))

/* The settings as those of a fit: `jd` reports the options of both, so that its summaries have the
 * same members. */
static tlnmf_settings *as_fit(const cli_call *call)
{
    tlnmf_settings *fit;
    char text[64];
    const char *task = call->command->task, *name;
    if (tlnmf_settings_create(call->ctx, "fit", &fit) != TLNMF_OK)
        return NULL;
    tlnmf_error error = TLNMF_OK;
    for (size_t i = 0; error == TLNMF_OK && (name = tlnmf_option_name(task, i)) != NULL; i++)
        if (tlnmf_option_kind_of("fit", name) != TLNMF_OPTION_UNKNOWN &&
            tlnmf_settings_get_text(call->settings, name, text, sizeof text) != NULL &&
            text[0] != '\0')
            error = tlnmf_settings_set_text(call->ctx, fit, name, text);
    if (error == TLNMF_OK && strcmp(task, "jd") == 0)
        error = tlnmf_settings_set_text(call->ctx, fit, "method", "jd");
    if (error == TLNMF_OK)
        return fit;
    tlnmf_settings_free(fit);
    return NULL;
}

static json_t *options_json(const cli_call *call)
{
    tlnmf_settings *fit = as_fit(call);
    json_t *object = fit == NULL ? NULL : json_object();
    const char *name;
    for (size_t i = 0; object != NULL && (name = tlnmf_option_name("fit", i)) != NULL; i++)
        json_object_set_new(object, name, cli_option_json(fit, "fit", name));
    const char *task = call->command->task;
    for (size_t i = 0; object != NULL && (name = tlnmf_option_name(task, i)) != NULL; i++)
        if (tlnmf_option_kind_of("fit", name) == TLNMF_OPTION_UNKNOWN)
            json_object_set_new(object, name, cli_option_json(call->settings, task, name));
    tlnmf_settings_free(fit);
    return object;
}

json_t *cli_data_json(const char *input, const tlnmf_record *data, int64_t columns)
{
    static const member sizes[] = {{"M", INTEGER}, {"N", INTEGER}};
    int64_t S = tlnmf_get_integer(data, "S");
    json_t *object = json_object();
    json_object_set_new(object, "file", cli_text(input));
    PUT_MEMBERS(object, data, sizes);
    json_object_set_new(object, "columns", json_integer((json_int_t)columns));
    json_object_set_new(object, "mean_power", json_real(tlnmf_get_real(data, "mean_power")));
    /* null: covariances */
    json_object_set_new(object, "S", S > 0 ? json_integer((json_int_t)S) : json_null());
    if (tlnmf_get_integer(data, "missing") > 0)
        json_object_set_new(object, "missing",
                            json_integer((json_int_t)tlnmf_get_integer(data, "missing")));
    return object;
}

/* What was not drawn or made but given, and as what the array was read. */
static json_t *given_json(const cli_result *r)
{
    const char *const parts[][2] = {
        {"input", r->kind},      {"init-phi", r->init_phi}, {"init-w", r->init_w},
        {"init-h", r->init_h},   {"weights", r->weights},   {"block", r->block},
        {"moving", r->moving},   {"axes", r->axes},         {"per-trial", r->per_trial},
        {"init", r->init},       {"keep", r->keep},         {"mask", r->mask},
        {"missing", r->missing}, {"header", r->header},     {"index", r->index}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i][1] != NULL)
            json_object_set_new(object, parts[i][0], cli_text(parts[i][1]));
    return object;
}

static json_t *trace_json(const tlnmf_record *model)
{
    static const char *const stages[] = {"tl", "jd", "nmf"}; /* as trace.stage numbers them */
    static const char *const columns[] = {"C", "L", "I", "step", "gradient", "seconds"};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    const double *column[COLUMNS];
    int64_t shape[TLNMF_MAX_RANK];
    const double *stage = tlnmf_get_array(model, "trace.stage", NULL, shape);
    const double *iteration = tlnmf_get_array(model, "trace.iteration", NULL, NULL);
    const double *start = tlnmf_get_array(model, "trace.start", NULL, NULL);
    for (int c = 0; c < COLUMNS; c++) {
        char name[32];
        snprintf(name, sizeof name, "trace.%s", columns[c]);
        column[c] = tlnmf_get_array(model, name, NULL, NULL);
    }
    json_t *array = json_array();
    for (int64_t i = 0; stage != NULL && i < shape[0]; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "stage", json_string(stages[(int)stage[i]]));
        json_object_set_new(row, "iteration", json_integer((json_int_t)iteration[i]));
        if (start != NULL)
            json_object_set_new(row, "start", json_integer((json_int_t)start[i]));
        for (int c = 0; c < COLUMNS; c++)
            if (column[c] != NULL)
                json_object_set_new(row, columns[c], cli_real(column[c][i]));
        json_array_append_new(array, row);
    }
    return array;
}

static json_t *atoms_json(const tlnmf_record *atoms)
{
    static const char *const first[] = {"energy", "frequency"};
    static const char *const last[] = {"cents", "amplitude", "phase", "error"};
    int64_t shape[TLNMF_MAX_RANK];
    const double *row = tlnmf_get_array(atoms, "row", NULL, shape);
    json_t *array = json_array();
    for (int64_t i = 0; i < shape[0]; i++) {
        json_t *atom = json_object();
        json_object_set_new(atom, "row", json_integer((json_int_t)row[i]));
        for (int c = 0; c < 2; c++)
            json_object_set_new(atom, first[c],
                                cli_real(tlnmf_get_array(atoms, first[c], NULL, NULL)[i]));
        json_object_set_new(atom, "note", json_string(tlnmf_get_text_at(atoms, "note", (size_t)i)));
        for (int c = 0; c < 4; c++)
            json_object_set_new(atom, last[c],
                                cli_real(tlnmf_get_array(atoms, last[c], NULL, NULL)[i]));
        json_array_append_new(array, atom);
    }
    return array;
}

static json_t *exchange_json(const tlnmf_record *model)
{
    static const member values[] = {
        {"C_tl", REAL}, {"I_tl", REAL}, {"C_jd", REAL}, {"L_jd", REAL}, {"I_jd", REAL}};
    json_t *object = json_object();
    PUT_MEMBERS(object, model, values);
    json_object_set_new(object, "chain_holds",
                        json_boolean(tlnmf_get_integer(model, "chain") == 1));
    return object;
}

/* ---- the object ------------------------------------------------------------------------------ */

static void put_values(json_t *object, const tlnmf_record *model)
{
    static const member objectives[] = {
        {"C", REAL}, {"L", REAL}, {"I", REAL}, {"certificate", REAL}};
    static const member run[] = {{"outcome", TEXT},
                                 {"outcome_of", TEXT},
                                 {"nmf_iterations", INTEGER},
                                 {"iterations", INTEGER},
                                 {"eps", REAL},
                                 {"below_floor", REAL},
                                 {"entries", REAL},
                                 {"orthogonality", REAL},
                                 {"gradient_norm", REAL},
                                 {"starts", INTEGER},
                                 {"best_start", INTEGER},
                                 {"cpu_seconds", SECONDS},
                                 {"wall_seconds", SECONDS},
                                 {"nmf_seconds", SECONDS},
                                 {"transform_seconds", SECONDS}};
    PUT_MEMBERS(object, model, objectives);
    json_object_set_new(object, "certificate_means", json_string(cli_certificate_words(model)));
    PUT_MEMBERS(object, model, run);
    static const member of_machines[] = {
        {"sums", INTEGER}, {"sum_bytes", INTEGER}, {"sum_seconds", SECONDS}};
    if (tlnmf_get_integer(model, "sums") > 0) /* frames were shared out */
        PUT_MEMBERS(object, model, of_machines);
}

static json_t *summary_json(const cli_call *call, const cli_result *r)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    json_object_set_new(object, "command", json_string(call->command->name));
    json_object_set_new(object, "method", json_string(tlnmf_get_text(r->model, "method")));
    put_values(object, r->model);
    json_object_set_new(object, "eps_from", json_string(cli_eps_from(call, r)));
    if (tlnmf_get_integer(r->model, "K") > 0)
        json_object_set_new(object, "k",
                            json_integer((json_int_t)tlnmf_get_integer(r->model, "K")));
    if (r->rank_table != NULL)
        json_object_update(object, r->rank_table);
    json_object_set_new(object, "seed",
                        cli_option_json(call->settings, call->command->task, "seed"));
    json_object_set_new(object, "blas", json_string(tlnmf_blas()));
    if (tlnmf_get_integer(r->model, "chain") >= 0)
        json_object_set_new(object, "exchange", exchange_json(r->model));
    if (r->atoms != NULL)
        json_object_set_new(object, "atoms", atoms_json(r->atoms));
    json_object_set_new(object, "options", options_json(call));
    json_object_set_new(object, "data",
                        cli_data_json(r->input, tlnmf_data_record(r->data),
                                      tlnmf_get_integer(r->model, "columns")));
    if (tlnmf_get_array(r->model, "trace.stage", NULL, NULL) != NULL)
        json_object_set_new(object, "trace_stages", json_string("0 tl, 1 jd, 2 nmf"));
    if (tlnmf_record_type(r->model, "eps_check.matters") != TLNMF_NONE)
        json_object_set_new(object, "eps_check", cli_eps_check_json(r->model));
    json_object_set_new(object, "given", given_json(r));
    if (r->output != NULL)
        json_object_set_new(object, "model", cli_text(r->output));
    if (r->page != NULL)
        json_object_set_new(object, "page", cli_text(r->page));
    json_object_set_new(object, "repeat", cli_repeat(call));
    return object;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Reproducible outputs hold no times: seconds become 0, and the trace has no column of them. */
static tlnmf_error drop_times(const cli_call *call, tlnmf_record *model)
{
    static const char end[] = "seconds";
    tlnmf_error error = TLNMF_OK;
    if (getenv("SOURCE_DATE_EPOCH") == NULL)
        return TLNMF_OK;
    tlnmf_record_remove(model, "trace.seconds");
    tlnmf_record_remove(model, "other.trace.seconds");
    for (size_t i = 0; error == TLNMF_OK && i < tlnmf_record_count(model); i++) {
        const char *name = tlnmf_record_name(model, i);
        size_t length = strlen(name);
        if (length < strlen(end) || strcmp(name + length - strlen(end), end) != 0 ||
            strncmp(name, "option.", 7) == 0)
            continue;
        if (tlnmf_record_type(model, name) == TLNMF_REAL)
            error = tlnmf_set_real(call->ctx, model, name, 0.0);
    }
    return error;
}

/* The model, and its page after it. */
static tlnmf_error write_files(const cli_call *call, const cli_result *r, const json_t *summary,
                               cli_pieces *pieces)
{
    if (r->output == NULL && r->page == NULL)
        return TLNMF_OK;
    char *text = cli_json_text(summary);
    if (text == NULL)
        return tlnmf_fail(call->ctx, TLNMF_ERR_MEMORY, "no memory for the summary");
    tlnmf_error error = tlnmf_set_text(call->ctx, r->model, "summary", text);
    free(text);
    cli_guard_begin();
    if (error == TLNMF_OK && r->output != NULL)
        error = cli_write_model(call, r->output, r->model, pieces);
    if (error == TLNMF_OK && r->page != NULL)
        error = cli_page_of_fit(call, r);
    cli_guard_end();
    return error;
}

static int exit_for(const tlnmf_record *model, bool strict)
{
    int64_t outcome = tlnmf_get_integer(model, "outcome_code");
    if (outcome == TLNMF_CANCELLED)
        return EXIT_INTERRUPTED;
    bool converged = outcome == TLNMF_CONVERGED || outcome == TLNMF_STATIONARY;
    return strict && !converged ? EXIT_NOT_CONVERGED : EXIT_DONE;
}

static bool print_json(const cli_result *r, json_t *summary)
{
    if (tlnmf_get_array(r->model, "trace.stage", NULL, NULL) != NULL)
        json_object_set_new(summary, "trace", trace_json(r->model));
    return cli_print_json(summary);
}

/* On the first process. */
static int finish(const cli_call *call, const cli_result *given, bool strict, cli_pieces *pieces)
{
    cli_result r = *given;
    char partial[CLI_PATH];
    cli_progress_clear();
    tlnmf_error error = drop_times(call, r.model);
    /* What a cancelled run has reached replaces nothing. */
    if (r.output != NULL && tlnmf_get_integer(r.model, "outcome_code") == TLNMF_CANCELLED) {
        r.output = cli_partial_path(r.output, partial);
        if (r.output == NULL)
            error = tlnmf_fail(call->ctx, TLNMF_ERR_OUTPUT, "there is no name for the model");
    }
    json_t *summary = summary_json(call, &r);
    bool to_stdout = r.output != NULL && strcmp(r.output, "-") == 0;
    if (error == TLNMF_OK)
        error = write_files(call, &r, summary, pieces);
    if (error != TLNMF_OK) {
        json_object_del(summary, "model"); /* the result is told all the same */
        r.output = r.page = NULL;
    }
    if (cli_common_values.json == NULL)
        cli_print_explained(to_stdout ? stderr : stdout, call, &r);
    bool printed = cli_common_values.json == NULL ? fflush(stdout) == 0 : print_json(&r, summary);
    json_decref(summary);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    if (!printed)
        return cli_fail(call->command, EXIT_OUTPUT, "standard output cannot be written");
    return exit_for(r.model, strict);
}

int cli_finish(const cli_call *call, const cli_result *r, bool strict)
{
    cli_pieces *pieces = NULL;
    int code = r->output != NULL ? cli_pieces_begin(call, r->model, &pieces) : EXIT_DONE;
    code = cli_agree(code);
    if (code != EXIT_DONE) {
        cli_pieces_drop(pieces);
        return code;
    }
    code = cli_is_first() ? finish(call, r, strict, pieces) : exit_for(r->model, strict);
    cli_pieces_end(pieces);
    return code;
}
