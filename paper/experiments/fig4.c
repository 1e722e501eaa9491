/* Figure 4: C against J at S = 100, TL-NMF and JD+NMF from the same start. */
#include "paper/experiments/reproduce.h"

#include <math.h>

enum { FIG4_S = 100 };
enum { AT_J, C_TL, C_JD }; /* columns of the tables */
enum { PANEL = 435 };      /* width of a panel with its margin */

/* The values of J: all of the first ten, then every fifth. */
static void list_J(const rep *r, rep_set set, rep_table *t)
{
    int64_t last = r->quick ? 6 : set == REP_GCM ? 100 : 50;
    for (int64_t J = 1; J <= last; J += J < 10 && !r->quick ? 1 : 5)
        t->at[AT_J][t->rows++] = (double)J;
}

/* C after J outer iterations, from the trace of one run. */
static int trace_tl(const rep *r, const rep_objects *own, rep_search search, rep_table *t)
{
    tlnmf_record *model;
    search.trace = true;
    search.J = (int64_t)t->at[AT_J][t->rows - 1];
    REP_TRY(rep_fit(r, own->data, &search, own->start, &model));
    int64_t length[TLNMF_MAX_DIMENSIONS];
    const double *C = tlnmf_record_get_array(model, "trace.C", NULL, length);
    for (int64_t i = 0; i < t->rows; i++) {
        int64_t J = (int64_t)t->at[AT_J][i];
        t->at[C_TL][i] = C != NULL && J <= length[0] ? C[J - 1] : NAN;
    }
    tlnmf_record_free(model);
    return EXIT_DONE;
}

/* C after J steps of JD and then J J_nmf updates from the start's W and H, for each J. */
static int trace_jd(const rep *r, const rep_objects *own, rep_search search, rep_table *t)
{
    search.method = "jd";
    for (int64_t i = 0; i < t->rows; i++) {
        tlnmf_record *model;
        search.J = (int64_t)t->at[AT_J][i];
        REP_TRY(rep_fit(r, own->data, &search, own->start, &model));
        t->at[C_JD][i] = tlnmf_record_get_real(model, "C");
        tlnmf_record_free(model);
    }
    return EXIT_DONE;
}

/* Finds the start from which TL-NMF ends with the smallest C, and traces both methods from it. */
static int run_curve(rep *r, const rep_cell *cell, rep_objects *own, json_t *out)
{
    rep_search search = cell->search;
    rep_table t = {0};
    list_J(r, search.set, &t);
    REP_TRY(rep_find(r, &search, own));
    int64_t p = tlnmf_record_get_integer(own->model, "best_start");
    REP_TRY(rep_draw_start(r, own->data, &search, p, &own->start));
    search.starts = 1;
    REP_TRY(trace_tl(r, own, search, &t));
    REP_TRY(trace_jd(r, own, search, &t));
    json_object_set_new(out, "start", json_integer(p));
    json_object_set_new(out, "C", json_real(tlnmf_record_get_real(own->model, "C")));
    json_object_set_new(out, "J", rep_numbers(t.at[AT_J], t.rows));
    json_object_set_new(out, "C_tl", rep_numbers(t.at[C_TL], t.rows));
    json_object_set_new(out, "C_jd", rep_numbers(t.at[C_JD], t.rows));
    return EXIT_DONE;
}

static rep_cell curve_cell(const rep *r, rep_set set)
{
    rep_cell cell = {.run = run_curve,
                     .search = {.set = set, .solver = REP_PAPER, .S = FIG4_S, .method = "tl"},
                     .cost = (set == REP_GCM ? 2.5 : 23.0) * (r->quick ? 0.1 : 1.0)};
    snprintf(cell.name, sizeof cell.name, "curve-%s-S%d", rep_protocol_of(r, set).name, FIG4_S);
    return cell;
}

static void plan(rep *r)
{
    for (int set = 0; set < REP_SETS; set++)
        if (rep_uses_set(r, (rep_set)set))
            rep_add(r, curve_cell(r, (rep_set)set));
}

/* ---- report ---------------------------------------------------------------------------------- */

static void draw(FILE *out, const void *of)
{
    const rep_table *both = of;
    double left = 75.0;
    for (int set = 0; set < REP_SETS; set++) {
        const rep_table *t = &both[set];
        if (t->rows == 0)
            continue;
        const plot_series series[] = {
            {"TL-NMF", "black", PLOT_LINE, t->rows, t->at[AT_J], t->at[C_TL]},
            {"JD+NMF", "red", PLOT_DASHED, t->rows, t->at[AT_J], t->at[C_JD]}};
        bool gcm = set == REP_GCM; /* the ranges are those of the paper's figure */
        plot_draw(out, &(plot_panel){.left = left,
                                     .top = 35.0,
                                     .width = 320.0,
                                     .height = 270.0,
                                     .title = gcm ? "GCM data, S = 100" : "Music notes, S = 100",
                                     .x_label = "J (outer iterations)",
                                     .y_label = "C",
                                     .x_high = t->at[AT_J][t->rows - 1],
                                     .y_low = gcm ? 1830.0 : -408000.0,
                                     .y_high = gcm ? 1890.0 : -380000.0,
                                     .legend = PLOT_UPPER_RIGHT,
                                     .series_count = 2,
                                     .series = series});
        left += PANEL;
    }
}

/* The first J from which C stays within 1e-3 of its whole decrease from its last value. */
static double settled(const rep_table *t, int column)
{
    const double *C = t->at[column];
    int64_t last = t->rows - 1, i = last;
    if (i < 0)
        return NAN;
    while (i > 0 && fabs(C[i - 1] - C[last]) <= 1e-3 * fabs(C[0] - C[last]))
        i--;
    return t->at[AT_J][i];
}

static void add_claims(rep *r, rep_set set, const rep_table *t)
{
    const char *name = rep_protocol_of(r, set).name;
    const json_t *cell = rep_result(r, curve_cell(r, set).name);
    bool gcm = set == REP_GCM && !r->quick;
    double C = rep_number(cell, "C"), p = rep_number(cell, "start");
    rep_claim(r, gcm ? 1835.6147326586315 : NAN, C,
              rep_equals(rep_is_close(C, 1835.6147326586315, 1e-9)), gcm ? "within 1e-9" : "",
              "%s: smallest C of the starts, S=100", name);
    rep_claim(r, gcm ? 72.0 : NAN, p, rep_equals(p == 72.0), gcm ? "the same start" : "",
              "%s: number of that start, from 0", name);
    double tl = settled(t, C_TL), jd = settled(t, C_JD);
    rep_claim(r, NAN, tl, REP_SATISFIED, "", "%s: J at which TL-NMF has settled to 1e-3", name);
    rep_claim(r, NAN, jd, rep_satisfies(jd < tl), gcm ? "JD+NMF settles earlier" : "",
              "%s: J at which JD+NMF has settled to 1e-3", name);
}

static int report_set(rep *r, rep_set set, rep_table *t)
{
    const json_t *cell = rep_result(r, curve_cell(r, set).name);
    t->header = "J,C_tl,C_jd";
    t->rows = rep_values(json_object_get(cell, "J"), t->at[AT_J], REP_MOST_ROWS);
    rep_values(json_object_get(cell, "C_tl"), t->at[C_TL], REP_MOST_ROWS);
    rep_values(json_object_get(cell, "C_jd"), t->at[C_JD], REP_MOST_ROWS);
    add_claims(r, set, t);
    char file[32];
    snprintf(file, sizeof file, "fig4-%s.csv", rep_protocol_of(r, set).name);
    return rep_table_write(r, file, t);
}

static int report(rep *r)
{
    rep_table both[REP_SETS] = {{0}};
    double width = -10.0;
    for (int set = 0; set < REP_SETS; set++)
        if (rep_uses_set(r, (rep_set)set)) {
            REP_TRY(report_set(r, (rep_set)set, &both[set]));
            width += PANEL;
        }
    return rep_figure_write(r, &(rep_figure){"fig4.svg", "Figure 4", width, 360.0, draw}, both);
}

const rep_experiment rep_fig4 = {"fig4", plan, report};
