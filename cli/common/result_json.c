/* The result of fit and jd as one JSON object, and the model file. */
#include "cli/common/arrays.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- parts of the object --------------------------------------------------------------------- */

static json_t *options_json(const cli_call *call)
{
    const char *task = call->command->task, *name;
    json_t *object = json_object();
    for (size_t i = 0; (name = tlnmf_option_name(task, i)) != NULL; i++)
        json_object_set_new(object, name, cli_option_json(call->settings, task, name));
    return object;
}

json_t *cli_data_json(const char *input, const tlnmf_record *data, int64_t columns)
{
    int64_t S = tlnmf_record_get_integer(data, "S");
    json_t *object = json_object();
    json_object_set_new(object, "file", cli_text(input));
    cli_put_scalars(object, data);
    json_object_set_new(object, "columns", json_integer((json_int_t)columns));
    /* null: covariances */
    json_object_set_new(object, "S", S > 0 ? json_integer((json_int_t)S) : json_null());
    if (tlnmf_record_get_integer(data, "missing") <= 0)
        json_object_del(object, "missing");
    return object;
}

json_t *cli_given_json(const cli_call *call)
{
    const cli_option *const tables[] = {call->command->options, cli_shared_options};
    json_t *object = json_object();
    for (int t = 0; t < 2; t++)
        for (const cli_option *row = tables[t]; row != NULL && row->name != NULL; row++)
            if ((row->use & CLI_RECORDED) && *row->value != NULL)
                json_object_set_new(object, row->name, cli_text(*row->value));
    if (call->transform_file != NULL)
        json_object_set_new(object, "init-phi", cli_text(call->transform_file));
    return object;
}

static json_t *trace_json(const tlnmf_record *model)
{
    static const char *const stages[] = {"tl", "jd", "nmf"}; /* as trace.stage numbers them */
    const double *stage = tlnmf_record_get_array(model, "trace.stage", NULL, NULL);
    json_t *rows =
               cli_rows(model, "trace.", "stage# iteration# start# C L I step gradient seconds"),
           *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        json_object_set_new(row, "stage", json_string(stages[(int)stage[i]]));
    }
    return rows;
}

static json_t *atoms_json(const tlnmf_record *atoms)
{
    json_t *rows = cli_rows(atoms, "", "row# energy frequency cents amplitude phase error"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        json_object_set_new(row, "note", json_string(tlnmf_record_get_text_at(atoms, "note", i)));
    }
    return rows;
}

static json_t *eps_check_json(const tlnmf_record *model)
{
    json_t *rows = cli_rows(model, "eps_check.", "eps above_per_entry same_atoms"), *row;
    double eps = tlnmf_record_get_real(model, "eps");
    size_t i;
    json_array_foreach(rows, i, row)
    {
        double tried = json_number_value(json_object_get(row, "eps"));
        json_object_set_new(row, "times", cli_real(tried / eps));
    }
    return rows;
}

/* ---- the object ------------------------------------------------------------------------------ */

/* Adds the values that the library's table of results marks for the summary. */
static void put_values(json_t *object, const tlnmf_record *model)
{
    for (size_t i = 0; i < tlnmf_result_count(); i++) {
        const char *name = tlnmf_result_name(i);
        if (strstr(tlnmf_result_where(i), "summary") == NULL || !tlnmf_record_has(model, name))
            continue;
        cli_put_values(object, model, name);
    }
}

static json_t *summary_json(const cli_call *call, const cli_result *r)
{
    json_t *object = cli_summary(call);
    cli_put_values(object, r->model, "method");
    put_values(object, r->model);
    json_object_set_new(object, "eps_from", json_string(cli_eps_from(call, r)));
    if (tlnmf_record_get_integer(r->model, "K") > 0)
        json_object_set_new(object, "k",
                            json_integer((json_int_t)tlnmf_record_get_integer(r->model, "K")));
    if (r->rank_table != NULL)
        json_object_update(object, r->rank_table);
    json_object_set_new(object, "seed",
                        cli_option_json(call->settings, call->command->task, "seed"));
    if (tlnmf_record_get_integer(r->model, "chain") >= 0) /* both methods ran */
        cli_put_values(object, r->model, "C_tl I_tl C_jd L_jd I_jd chain");
    if (r->atoms != NULL)
        json_object_set_new(object, "atoms", atoms_json(r->atoms));
    json_object_set_new(object, "options", options_json(call));
    json_object_set_new(object, "data",
                        cli_data_json(r->input, tlnmf_data_record(r->data),
                                      tlnmf_record_get_integer(r->model, "columns")));
    if (tlnmf_record_get_array(r->model, "trace.stage", NULL, NULL) != NULL)
        json_object_set_new(object, "trace_stages", json_string("0 tl, 1 jd, 2 nmf"));
    if (tlnmf_record_type(r->model, "eps_check.matters") != TLNMF_TYPE_NONE)
        json_object_set_new(object, "eps_check", eps_check_json(r->model));
    json_object_set_new(object, "given", cli_given_json(call));
    if (r->output != NULL)
        json_object_set_new(object, "model", cli_text(r->output));
    if (r->page != NULL)
        json_object_set_new(object, "page", cli_text(r->page));
    json_object_set_new(object, "repeat", cli_repeat(call));
    return object;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* With SOURCE_DATE_EPOCH, sets the seconds in the model to 0 and removes them from the trace. */
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
        if (tlnmf_record_type(model, name) == TLNMF_TYPE_REAL)
            error = tlnmf_record_set_real(call->ctx, model, name, 0.0);
    }
    return error;
}

/* Writes the model, then its page. */
static tlnmf_error write_files(const cli_call *call, const cli_result *r, const json_t *summary,
                               cli_pieces *pieces)
{
    if (r->output == NULL && r->page == NULL)
        return TLNMF_OK;
    TRY(cli_put_summary(call, r->model, summary));
    tlnmf_error error = TLNMF_OK;
    cli_guard_begin();
    if (r->output != NULL)
        error = cli_write_model(call, r->output, r->model, pieces);
    if (error == TLNMF_OK && r->page != NULL)
        error = cli_page_of_fit(call, r);
    cli_guard_end();
    return error;
}

static int exit_for(const tlnmf_record *model)
{
    int64_t outcome = tlnmf_record_get_integer(model, "outcome_code");
    if (outcome == TLNMF_OUTCOME_CANCELLED)
        return EXIT_INTERRUPTED;
    bool converged = outcome == TLNMF_OUTCOME_CONVERGED || outcome == TLNMF_OUTCOME_STATIONARY;
    return cli_asked.strict != NULL && !converged ? EXIT_NOT_CONVERGED : EXIT_DONE;
}

/* Writes and prints the result, on the first process. */
static int finish(const cli_call *call, const cli_result *given, cli_pieces *pieces)
{
    cli_result r = *given;
    char partial[CLI_PATH];
    cli_progress_clear();
    tlnmf_error error = drop_times(call, r.model);
    bool cancelled = exit_for(r.model) == EXIT_INTERRUPTED;
    const char *place = r.output != NULL ? r.output : r.page;
    int lock = place != NULL ? cli_lock_folder(place) : -1;
    bool taken = r.output != NULL && cli_is_taken(call, r.output);
    /* The model of a cancelled run replaces no file. */
    if (r.output != NULL && (cancelled || taken)) {
        r.output = cli_partial_path(r.output, partial);
        if (r.output == NULL)
            error = tlnmf_fail(call->ctx, TLNMF_ERR_OUTPUT, "no free name for the partial model");
    }
    if (r.page != NULL && (taken || cli_is_taken(call, r.page))) {
        cli_warn(call->command, "%s: the file appeared or changed during the run; there is no page",
                 r.page);
        r.page = NULL;
    }
    json_t *summary = summary_json(call, &r);
    bool to_stdout = r.output != NULL && strcmp(r.output, "-") == 0;
    if (error == TLNMF_OK)
        error = write_files(call, &r, summary, pieces);
    if (lock >= 0)
        close(lock);
    if (error != TLNMF_OK) {
        json_object_del(summary, "model"); /* the result is still printed */
        r.output = r.page = NULL;
    }
    if (cli_asked.json == NULL)
        cli_print_result(to_stdout ? stderr : stdout, call, &r);
    else if (tlnmf_record_get_array(r.model, "trace.stage", NULL, NULL) != NULL)
        json_object_set_new(summary, "trace", trace_json(r.model));
    if (cli_asked.json != NULL)
        cli_print_json(summary);
    json_decref(summary);
    if (error == TLNMF_OK && taken && !cancelled)
        return cli_fail(
            call->command, EXIT_OUTPUT,
            "%s: the file appeared or changed during the run; the model is in %s instead",
            given->output, r.output);
    return error == TLNMF_OK ? exit_for(r.model) : cli_fail_library(call, error, NULL);
}

int cli_finish(const cli_call *call, const cli_result *r)
{
    cli_pieces *pieces = NULL;
    int code = r->output != NULL ? cli_pieces_begin(call, r->model, &pieces) : EXIT_DONE;
    code = cli_agree(code);
    if (code != EXIT_DONE) {
        free(pieces);
        return code;
    }
    code = cli_is_first() ? finish(call, r, pieces) : exit_for(r->model);
    cli_pieces_end(pieces);
    return code;
}
