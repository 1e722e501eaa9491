/* Figure 4: C against J at S = 100, TL-NMF and JD+NMF from the same start. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_J = 40, FIG4_S = 100 };

/* The values of J to look at: all of the first ten, then fewer. */
static int64_t list_J(const rep *r, rep_set set, double J[MOST_J])
{
    int64_t last = r->quick ? 6 : set == REP_GCM ? 100 : 50, count = 0;
    for (int64_t j = 1; j <= last && count < MOST_J; j += j < 10 && !r->quick ? 1 : 5)
        J[count++] = (double)j;
    return count;
}

static rep_cell start_cell(const rep *r, rep_set set);
static rep_cell curve_cell(const rep *r, rep_set set);

static tlnmf_settings settings_of(const rep *r, rep_set set)
{
    tlnmf_settings opt = rep_settings(r, set, TLNMF_SOLVER_PAPER, FIG4_S);
    opt.exchange = 0;
    opt.handover = 0;
    return opt;
}

/* Which of the starts ends with the least C. */
static int run_start(rep *r, const rep_cell *cell, json_t *out)
{
    tlnmf_data *data;
    tlnmf_result *result = NULL;
    tlnmf_settings opt = settings_of(r, cell->set);
    int code = rep_data(r, cell->set, FIG4_S, &data);
    if (code == EXIT_DONE)
        code = rep_fit(r, data, &opt, NULL, &result);
    if (code == EXIT_DONE) {
        tlnmf_info info;
        tlnmf_result_describe(result, &info);
        json_object_set_new(out, "start", json_integer((json_int_t)info.best_start));
        json_object_set_new(out, "C", json_real(info.C));
    }
    tlnmf_result_free(result);
    tlnmf_data_free(data);
    return code;
}

/* C after J outer iterations, from the trace of one run. */
static int trace_tl(rep *r, const tlnmf_data *data, const tlnmf_settings *opt,
                    const tlnmf_start *start, int64_t count, const double *J, double *C)
{
    tlnmf_settings traced = *opt;
    tlnmf_result *result;
    traced.trace = 1;
    traced.J = (int64_t)J[count - 1];
    int code = rep_fit(r, data, &traced, start, &result);
    if (code != EXIT_DONE)
        return code;
    int64_t length;
    const tlnmf_trace_row *row = tlnmf_result_trace(result, &length);
    for (int64_t i = 0; i < count; i++)
        C[i] = (int64_t)J[i] <= length ? row[(int64_t)J[i] - 1].C : NAN;
    tlnmf_result_free(result);
    return EXIT_DONE;
}

/* C of J steps of JD and then J J_nmf updates from the start's W and H, for each J. */
static int trace_jd(rep *r, const tlnmf_data *data, const tlnmf_settings *opt,
                    const tlnmf_start *start, int64_t count, const double *J, double *C)
{
    tlnmf_settings jd = *opt;
    jd.method = TLNMF_METHOD_JD;
    int code = EXIT_DONE;
    for (int64_t i = 0; i < count && code == EXIT_DONE; i++) {
        tlnmf_result *result;
        jd.J = (int64_t)J[i];
        code = rep_fit(r, data, &jd, start, &result);
        if (code != EXIT_DONE)
            break;
        tlnmf_info info;
        tlnmf_result_describe(result, &info);
        C[i] = info.C;
        tlnmf_result_free(result);
    }
    return code;
}

static int run_curve_from(rep *r, const rep_cell *cell, const tlnmf_data *data, double *Phi,
                          json_t *out)
{
    rep_protocol p = rep_protocol_of(r, cell->set);
    tlnmf_settings opt = settings_of(r, cell->set);
    const json_t *chosen = rep_result(r, start_cell(r, cell->set).name);
    double *W = Phi + p.M * p.M, *H = W + p.M * p.K;
    double J[MOST_J], C_tl[MOST_J], C_jd[MOST_J];
    int64_t count = list_J(r, cell->set, J);
    tlnmf_error error =
        tlnmf_draw_start(r->call->ctx, data, &opt,
                         (int64_t)json_integer_value(json_object_get(chosen, "start")), Phi, W, H);
    if (error != TLNMF_OK)
        return rep_fail(r, error);
    tlnmf_start start;
    tlnmf_start_init(&start);
    start.Phi = Phi;
    start.W = W;
    start.H = H;
    opt.starts = 1;
    int code = trace_tl(r, data, &opt, &start, count, J, C_tl);
    if (code == EXIT_DONE)
        code = trace_jd(r, data, &opt, &start, count, J, C_jd);
    if (code == EXIT_DONE) {
        json_object_set_new(out, "J", rep_numbers(J, count));
        json_object_set_new(out, "C_tl", rep_numbers(C_tl, count));
        json_object_set_new(out, "C_jd", rep_numbers(C_jd, count));
    }
    return code;
}

static int run_curve(rep *r, const rep_cell *cell, json_t *out)
{
    rep_protocol p = rep_protocol_of(r, cell->set);
    tlnmf_data *data;
    double *start = malloc(sizeof(double) * (size_t)(p.M * p.M + p.M * p.K + p.K * p.N));
    if (start == NULL)
        return rep_no_memory(r);
    int code = rep_data(r, cell->set, FIG4_S, &data);
    if (code == EXIT_DONE)
        code = run_curve_from(r, cell, data, start, out);
    tlnmf_data_free(data);
    free(start);
    return code;
}

static rep_cell start_cell(const rep *r, rep_set set)
{
    rep_cell cell = {.run = run_start, .set = set, .cost = set == REP_GCM ? 2.0 : 8.0};
    snprintf(cell.name, sizeof cell.name, "start-%s-S100", rep_protocol_of(r, set).name);
    cell.cost *= r->quick ? 0.05 : 1.0;
    return cell;
}

static rep_cell curve_cell(const rep *r, rep_set set)
{
    rep_cell cell = {.run = run_curve, .set = set, .cost = set == REP_GCM ? 0.5 : 15.0};
    snprintf(cell.name, sizeof cell.name, "curve-%s-S100", rep_protocol_of(r, set).name);
    cell.cost *= r->quick ? 0.1 : 1.0;
    return cell;
}

static void plan(rep *r)
{
    for (int set = 0; set < REP_SETS; set++) {
        if (!r->uses_set[set])
            continue;
        rep_cell start = start_cell(r, (rep_set)set), curve = curve_cell(r, (rep_set)set);
        rep_add(r, &start);
        rep_add(r, &curve);
    }
}

/* ---- report ---------------------------------------------------------------------------------- */

typedef struct curve {
    int64_t count;
    double J[MOST_J], C_tl[MOST_J], C_jd[MOST_J];
} curve;

static void draw(FILE *out, const void *of)
{
    const curve *both = of;
    plot_begin(out, 860.0, 360.0);
    for (int set = 0; set < REP_SETS; set++) {
        const curve *c = &both[set];
        if (c->count == 0)
            continue;
        const plot_series series[] = {{"TL-NMF", "black", PLOT_LINE, c->count, c->J, c->C_tl},
                                      {"JD+NMF", "red", PLOT_DASHED, c->count, c->J, c->C_jd}};
        bool gcm = set == REP_GCM; /* the ranges are those of the paper's figure */
        plot_draw(out, &(plot_panel){.left = gcm ? 75.0 : 510.0,
                                     .top = 35.0,
                                     .width = 320.0,
                                     .height = 270.0,
                                     .title = gcm ? "GCM data, S = 100" : "Music notes, S = 100",
                                     .x_label = "J (outer iterations)",
                                     .y_label = "C",
                                     .x_high = c->J[c->count - 1],
                                     .y_low = gcm ? 1830.0 : -408000.0,
                                     .y_high = gcm ? 1890.0 : -380000.0,
                                     .legend = PLOT_UPPER_RIGHT,
                                     .series_count = 2,
                                     .series = series});
    }
    plot_end(out);
}

/* The first of these J from which on C stays within a thousandth of its whole fall of its end. */
static double settled(const curve *c, const double *C)
{
    int64_t i = c->count - 1;
    if (i < 0)
        return NAN;
    while (i > 0 && fabs(C[i - 1] - C[c->count - 1]) <= 1e-3 * fabs(C[0] - C[c->count - 1]))
        i--;
    return c->J[i];
}

static int report_set(rep *r, rep_set set, curve *c)
{
    const char *name = rep_protocol_of(r, set).name;
    const json_t *start = rep_result(r, start_cell(r, set).name);
    const json_t *cell = rep_result(r, curve_cell(r, set).name);
    c->count = rep_array(cell, "J", c->J, MOST_J);
    rep_array(cell, "C_tl", c->C_tl, MOST_J);
    rep_array(cell, "C_jd", c->C_jd, MOST_J);
    bool gcm = set == REP_GCM && !r->quick;
    double C = rep_number(start, "C");
    rep_row_add(r, "fig4", gcm ? 1835.6147326586315 : NAN, C,
                rep_is_close(C, 1835.6147326586315, 1e-9), gcm ? "within 1e-9" : "",
                "%s: least C of the starts, S=100", name);
    rep_row_add(r, "fig4", gcm ? 72.0 : NAN, rep_number(start, "start"),
                rep_number(start, "start") == 72.0, gcm ? "the same start" : "",
                "%s: which start that is, from 0", name);
    double tl = settled(c, c->C_tl), jd = settled(c, c->C_jd);
    rep_row_add(r, "fig4", NAN, tl, true, "", "%s: J where TL-NMF has settled to 1e-3", name);
    rep_row_add(r, "fig4", NAN, jd, jd < tl, gcm ? "JD+NMF settles earlier" : "",
                "%s: J where JD+NMF has", name);
    double values[3 * MOST_J];
    for (int64_t i = 0; i < c->count; i++) {
        values[3 * i] = c->J[i];
        values[3 * i + 1] = c->C_tl[i];
        values[3 * i + 2] = c->C_jd[i];
    }
    char file[32];
    snprintf(file, sizeof file, "fig4-%s.csv", name);
    return rep_csv(r, file, "J,C_tl,C_jd", c->count, 3, values);
}

static int report(rep *r)
{
    curve both[REP_SETS] = {{0}};
    int code = EXIT_DONE;
    for (int set = 0; set < REP_SETS && code == EXIT_DONE; set++)
        if (r->uses_set[set])
            code = report_set(r, (rep_set)set, &both[set]);
    return code == EXIT_DONE ? rep_file(r, "fig4.svg", draw, both) : code;
}

const rep_experiment rep_fig4 = {"fig4", "C against J at S=100, both methods from one start", plan,
                                 report};
