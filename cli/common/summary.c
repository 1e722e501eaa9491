/* What a fit has come to: one JSON object, or a page of text; and the model file. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reproducible outputs carry no times. */
static double seconds(double value)
{
    return getenv("SOURCE_DATE_EPOCH") != NULL ? 0.0 : value;
}

json_t *cli_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* File names need not be UTF-8: what is not becomes '?'. */
json_t *cli_text(const char *text)
{
    json_t *string = json_string(text);
    if (string != NULL)
        return string;
    char plain[4096];
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < sizeof plain; n++)
        plain[n] = (unsigned char)text[n] < 128 ? text[n] : '?';
    plain[n] = '\0';
    return json_string(plain);
}

/* JSON's integers are 63 bits here; a larger seed is a string. */
json_t *cli_seed(uint64_t seed)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    return seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_string(text);
}

static json_t *options_json(const cli_call *call)
{
    json_t *object = json_object();
    char text[64];
    for (size_t i = 0; i < tlnmf_option_count(); i++) {
        const tlnmf_option_info *option = tlnmf_option_at(i);
        const char *value = tlnmf_settings_get(&call->settings, option->name, text, sizeof text);
        json_t *item;
        if (option->type == TLNMF_OPTION_CHOICE)
            item = json_string(value);
        else if (option->type == TLNMF_OPTION_SEED)
            item = cli_seed(call->settings.seed);
        else if (option->type == TLNMF_OPTION_REAL)
            item = json_real(strtod(value, NULL));
        else if (option->type == TLNMF_OPTION_FLAG)
            item = json_boolean(strtod(value, NULL) != 0.0);
        else
            item = json_integer((json_int_t)strtod(value, NULL));
        json_object_set_new(object, option->name, item);
    }
    return object;
}

static json_t *data_json(const cli_result *r)
{
    tlnmf_data_info info;
    tlnmf_info result;
    tlnmf_data_describe(r->data, &info);
    tlnmf_result_describe(r->result, &result);
    json_t *object = json_pack("{s:o, s:I, s:I, s:I, s:f}", "file", cli_text(r->input), "M",
                               (json_int_t)info.M, "N", (json_int_t)info.N, "columns",
                               (json_int_t)result.columns, "mean_power", info.mean_power);
    if (info.S > 0)
        json_object_set_new(object, "S", json_integer((json_int_t)info.S));
    else
        json_object_set_new(object, "S", json_null()); /* covariances */
    return object;
}

/* What was not drawn or made but given, and as what the array was read. */
static json_t *given_json(const cli_result *r)
{
    const char *const parts[][2] = {{"input", r->kind},      {"init-phi", r->init_phi},
                                    {"init-w", r->init_w},   {"init-h", r->init_h},
                                    {"weights", r->weights}, {"block", r->block},
                                    {"moving", r->moving}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i][1] != NULL)
            json_object_set_new(object, parts[i][0], cli_text(parts[i][1]));
    return object;
}

static json_t *trace_json(const cli_result *r)
{
    static const char *const stages[] = {"tl", "jd", "nmf"};
    int64_t length;
    const tlnmf_trace_row *row = tlnmf_result_trace(r->result, &length);
    json_t *array = json_array();
    for (int64_t i = 0; i < length; i++) {
        json_t *object = json_object();
        json_object_set_new(object, "stage", json_string(stages[row[i].stage]));
        json_object_set_new(object, "iteration", json_integer((json_int_t)row[i].iteration));
        json_object_set_new(object, "C", cli_real(row[i].C));
        json_object_set_new(object, "L", cli_real(row[i].L));
        json_object_set_new(object, "I", cli_real(row[i].I));
        json_object_set_new(object, "step", cli_real(row[i].step));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *atoms_json(const cli_result *r)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < r->atom_count; i++) {
        const tlnmf_atom *a = &r->atoms[i];
        json_array_append_new(array, json_pack("{s:I, s:f, s:f, s:s, s:f, s:f, s:f, s:f}", "row",
                                               (json_int_t)a->row, "energy", a->energy, "frequency",
                                               a->frequency, "note", a->note, "cents", a->cents,
                                               "amplitude", a->amplitude, "phase", a->phase,
                                               "error", a->error));
    }
    return array;
}

static json_t *exchange_json(const tlnmf_info *info)
{
    json_t *object = json_object();
    json_object_set_new(object, "C_tl", cli_real(info->C_tl));
    json_object_set_new(object, "I_tl", cli_real(info->I_tl));
    json_object_set_new(object, "C_jd", cli_real(info->C_jd));
    json_object_set_new(object, "L_jd", cli_real(info->L_jd));
    json_object_set_new(object, "I_jd", cli_real(info->I_jd));
    json_object_set_new(object, "chain_holds", json_boolean(info->chain == 1));
    return object;
}

static const char *certificate_words(const tlnmf_info *info)
{
    return isnan(info->certificate)
               ? "not looked for: --certify or --exchange find a least L to compare with"
               : "C is at most this far above the least possible, if the least L found is the "
                 "least "
                 "there is";
}

static void add_values(json_t *object, const tlnmf_info *info)
{
    json_object_set_new(object, "C", cli_real(info->C));
    json_object_set_new(object, "L", cli_real(info->L));
    json_object_set_new(object, "I", cli_real(info->I));
    json_object_set_new(object, "certificate", cli_real(info->certificate));
    json_object_set_new(object, "certificate_means", json_string(certificate_words(info)));
    json_object_set_new(object, "outcome",
                        json_string(tlnmf_outcome_name((tlnmf_outcome)info->outcome)));
    json_object_set_new(object, "iterations", json_integer((json_int_t)info->iterations));
    json_object_set_new(object, "eps", json_real(info->eps));
    json_object_set_new(object, "orthogonality", json_real(info->orthogonality));
    json_object_set_new(object, "gradient_norm", cli_real(info->gradient_norm));
    json_object_set_new(object, "starts", json_integer((json_int_t)info->starts));
    json_object_set_new(object, "best_start", json_integer((json_int_t)info->best_start));
    json_object_set_new(object, "cpu_seconds", json_real(seconds(info->cpu_seconds)));
    json_object_set_new(object, "wall_seconds", json_real(seconds(info->wall_seconds)));
    json_object_set_new(object, "nmf_seconds", json_real(seconds(info->nmf_seconds)));
    json_object_set_new(object, "transform_seconds", json_real(seconds(info->transform_seconds)));
}

static const char *const method_names[] = {"tl", "jd", "nmf"};

json_t *cli_summary(const cli_call *call, const cli_result *r)
{
    tlnmf_info info;
    tlnmf_result_describe(r->result, &info);
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    json_object_set_new(object, "command", json_string(call->command->name));
    json_object_set_new(object, "method", json_string(method_names[info.method]));
    add_values(object, &info);
    json_object_set_new(object, "seed", cli_seed(call->settings.seed));
    json_object_set_new(object, "blas", json_string(tlnmf_blas()));
    if (info.chain >= 0)
        json_object_set_new(object, "exchange", exchange_json(&info));
    if (r->atom_count > 0)
        json_object_set_new(object, "atoms", atoms_json(r));
    json_object_set_new(object, "options", options_json(call));
    json_object_set_new(object, "data", data_json(r));
    json_object_set_new(object, "given", given_json(r));
    if (r->model != NULL)
        json_object_set_new(object, "model", cli_text(r->model));
    return object;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_atoms(FILE *out, const cli_result *r)
{
    fprintf(out, "\nstrongest atoms (rows of Phi as sinusoids)\n"
                 "  row   frequency   note     cents   error   share of energy\n");
    double total = 0.0;
    tlnmf_info info;
    tlnmf_result_describe(r->result, &info);
    for (int64_t m = 0; m < info.M; m++)
        total += tlnmf_result_energy(r->result)[m];
    for (int64_t i = 0; i < r->atom_count; i++) {
        const tlnmf_atom *a = &r->atoms[i];
        fprintf(out, "  %3lld  %8.2f Hz   %-5s  %+6.1f   %5.3f   %5.1f %%\n", (long long)a->row,
                a->frequency, a->note, a->cents, a->error,
                total > 0.0 ? 100.0 * a->energy / total : 0.0);
    }
    fputc('\n', out);
}

static void print_exchange(FILE *out, const tlnmf_info *info)
{
    fprintf(out, "  TL-NMF        C %.10g   I %.6g\n  JD+NMF        C %.10g   I %.6g\n", info->C_tl,
            info->I_tl, info->C_jd, info->I_jd);
    if (info->chain == 0)
        fputs("                the order of theory (TL-NMF has the lesser C and I, JD the lesser "
              "L) does not\n"
              "                hold: a search has not found its minimum, try more starts\n",
              out);
}

/* What --method auto chose, and why. */
static void print_choice(FILE *out, const tlnmf_info *info)
{
    if (info->method == TLNMF_METHOD_JD)
        fprintf(out, "  method        JD+NMF: TL-NMF could lower C by %.3g at most\n", info->I);
    else
        fprintf(out, "  method        TL-NMF: JD+NMF left I = %.6g to gain from\n", info->I_jd);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *stop_words(tlnmf_outcome outcome)
{
    switch (outcome) {
    case TLNMF_CONVERGED:
        return "converged: the objective no longer changes";
    case TLNMF_STATIONARY:
        return "converged: the gradient vanishes";
    case TLNMF_ITERATIONS:
        return "all iterations done";
    case TLNMF_LINE_SEARCH:
        return "no step improves any more";
    default:
        return tlnmf_outcome_name(outcome);
    }
}

void cli_print_summary(FILE *out, const cli_call *call, const cli_result *r)
{
    tlnmf_info info;
    tlnmf_data_info data;
    tlnmf_result_describe(r->result, &info);
    tlnmf_data_describe(r->data, &data);
    fprintf(out, "%s: %lld frame%s of length %lld", r->input, (long long)data.N, plural(data.N),
            (long long)data.M);
    if (data.S > 0)
        fprintf(out, ", %lld realisation%s", (long long)data.S, plural(data.S));
    else
        fputs(", given as covariances", out);
    fprintf(out, " (%lld compressed column%s)\n", (long long)info.columns, plural(info.columns));
    if (r->atom_count > 0)
        print_atoms(out, r);
    if (info.K > 0)
        fprintf(out, "  C             %.12g\n  L             %.12g\n  I             %.10g\n",
                info.C, info.L, info.I);
    else
        fprintf(out, "  L             %.12g\n", info.L);
    if (call->settings.method == TLNMF_METHOD_AUTO)
        print_choice(out, &info);
    if (info.chain >= 0)
        print_exchange(out, &info);
    if (isfinite(info.certificate))
        fprintf(out, "  certificate   C is within %.6g of the least, if %.12g is the least L\n",
                info.certificate, info.C - info.certificate);
    fprintf(out, "  eps           %.6g (%.3g of the mean power)\n", info.eps,
            info.eps / data.mean_power);
    fprintf(out, "  stopped       %s (iteration %lld)", stop_words((tlnmf_outcome)info.outcome),
            (long long)info.iterations);
    if (info.best_start >= info.starts) /* --method auto */
        fputs(", from where JD+NMF ended", out);
    else if (info.starts > 1)
        fprintf(out, ", start %lld, the best of %lld", (long long)info.best_start + 1,
                (long long)info.starts);
    fprintf(out, "\n  gradient      %.3g   orthogonality %.2g\n", info.gradient_norm,
            info.orthogonality);
    fprintf(out, "  time          %.3g s (%.3g s CPU)\n", seconds(info.wall_seconds),
            seconds(info.cpu_seconds));
    if (r->model != NULL)
        fprintf(out, "  model         %s\n", r->model);
}

/* ---- files ----------------------------------------------------------------------------------- */

bool cli_print_json(const json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    bool printed = text != NULL && puts(text) != EOF && fflush(stdout) == 0;
    free(text);
    return printed;
}

/* The public trace row and the file's have the same members by design; copied one by one so that
 * neither room depends on the other's layout. */
static io_trace_row *copy_trace(const tlnmf_result *result, int64_t *length)
{
    const tlnmf_trace_row *from = tlnmf_result_trace(result, length);
    io_trace_row *to = *length == 0 ? NULL : malloc((size_t)*length * sizeof *to);
    for (int64_t i = 0; to != NULL && i < *length; i++)
        to[i] = (io_trace_row){from[i].stage, from[i].iteration, from[i].C,
                               from[i].L,     from[i].I,         from[i].step};
    return to;
}

static bool write_model(const cli_result *r, json_t *summary, io_error *err)
{
    tlnmf_info info;
    tlnmf_result_describe(r->result, &info);
    io_model model = {.M = info.M, .N = info.N, .K = info.K, .summary = summary};
    model.Phi = (double *)(uintptr_t)tlnmf_result_Phi(r->result); /* only read by the writer */
    model.W = (double *)(uintptr_t)tlnmf_result_W(r->result);
    model.H = (double *)(uintptr_t)tlnmf_result_H(r->result);
    model.trace = copy_trace(r->result, &model.trace_length);
    if (model.trace_length > 0 && model.trace == NULL)
        return io_fail(err, IO_NO_MEMORY, "no memory for the trace");
    bool written = io_model_write(r->model, &model, err);
    free(model.trace);
    return written;
}

static int exit_for(const tlnmf_info *info, bool strict)
{
    if (info->outcome == TLNMF_CANCELLED)
        return EXIT_INTERRUPTED;
    bool converged = info->outcome == TLNMF_CONVERGED || info->outcome == TLNMF_STATIONARY;
    return strict && !converged ? EXIT_NOT_CONVERGED : EXIT_DONE;
}

int cli_finish(const cli_call *call, const cli_result *given, bool strict)
{
    cli_result r = *given;
    tlnmf_info info;
    tlnmf_result_describe(r.result, &info);
    cli_progress_clear();
    json_t *summary = cli_summary(call, &r);
    io_error err = {.fault = IO_NONE};
    bool to_stdout = r.model != NULL && strcmp(r.model, "-") == 0;
    if (r.model != NULL && !write_model(&r, summary, &err)) {
        json_object_del(summary, "model"); /* the result is told all the same */
        r.model = NULL;
    }
    bool printed = true;
    if (cli_common_values.json != NULL) {
        if (r.with_trace)
            json_object_set_new(summary, "trace", trace_json(&r));
        printed = cli_print_json(summary);
    } else {
        cli_print_summary(to_stdout ? stderr : stdout, call, &r);
        printed = fflush(stdout) == 0;
    }
    json_decref(summary);
    if (!printed && err.fault == IO_NONE)
        io_fail(&err, IO_NO_OUTPUT, "standard output cannot be written");
    if (err.fault != IO_NONE)
        return cli_fail_io(call->command, &err);
    return exit_for(&info, strict);
}
