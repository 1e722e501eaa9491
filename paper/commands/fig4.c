/* Figure 4: C against J at S = 100, TL-NMF and JD+NMF from the same start. */
#include "paper/commands/reproduce.h"

#include <math.h>

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

/* Which of the starts ends with the least C. */
static int run_start(rep *r, const rep_cell *cell, json_t *out)
{
    tlnmf_data *data;
    tlnmf_record *model;
    int code = rep_find(r, &cell->search, &data, &model);
    if (code == EXIT_DONE) {
        json_object_set_new(out, "start", json_integer(tlnmf_get_integer(model, "best_start")));
        json_object_set_new(out, "C", json_real(tlnmf_get_real(model, "C")));
    }
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    return code;
}

/* C against J, from one start. */
typedef struct curve {
    int64_t count;
    double J[MOST_J], C_tl[MOST_J], C_jd[MOST_J];
} curve;

/* C after J outer iterations, from the trace of one run. */
static int trace_tl(const rep *r, const tlnmf_data *data, rep_search search,
                    const tlnmf_record *start, curve *c)
{
    tlnmf_record *model;
    search.trace = true;
    search.J = (int64_t)c->J[c->count - 1];
    int code = rep_fit(r, data, &search, start, &model);
    if (code != EXIT_DONE)
        return code;
    int64_t length[TLNMF_MAX_RANK];
    const double *C = tlnmf_get_array(model, "trace.C", NULL, length);
    for (int64_t i = 0; i < c->count; i++) {
        int64_t J = (int64_t)c->J[i];
        c->C_tl[i] = C != NULL && J <= length[0] ? C[J - 1] : NAN;
    }
    tlnmf_record_free(model);
    return EXIT_DONE;
}

/* C after J steps of JD and then J J_nmf updates from the start's W and H, for each J. */
static int trace_jd(const rep *r, const tlnmf_data *data, rep_search search,
                    const tlnmf_record *start, curve *c)
{
    int code = EXIT_DONE;
    search.method = "jd";
    for (int64_t i = 0; i < c->count && code == EXIT_DONE; i++) {
        tlnmf_record *model;
        search.J = (int64_t)c->J[i];
        code = rep_fit(r, data, &search, start, &model);
        c->C_jd[i] = code == EXIT_DONE ? tlnmf_get_real(model, "C") : NAN;
        tlnmf_record_free(model);
    }
    return code;
}

static int run_curve(rep *r, const rep_cell *cell, json_t *out)
{
    const json_t *chosen = rep_result(r, start_cell(r, cell->search.set).name);
    int64_t p = (int64_t)json_integer_value(json_object_get(chosen, "start"));
    rep_search search = cell->search;
    tlnmf_record *start = NULL;
    tlnmf_data *data;
    curve c;
    c.count = list_J(r, search.set, c.J);
    int code = rep_data(r, &search, &data);
    if (code == EXIT_DONE)
        code = rep_draw_start(r, data, &search, p, &start);
    search.starts = 1;
    if (code == EXIT_DONE)
        code = trace_tl(r, data, search, start, &c);
    if (code == EXIT_DONE)
        code = trace_jd(r, data, search, start, &c);
    if (code == EXIT_DONE) {
        json_object_set_new(out, "J", rep_numbers(c.J, c.count));
        json_object_set_new(out, "C_tl", rep_numbers(c.C_tl, c.count));
        json_object_set_new(out, "C_jd", rep_numbers(c.C_jd, c.count));
    }
    tlnmf_record_free(start);
    tlnmf_data_free(data);
    return code;
}

/* "start-gcm-S100": about TL-NMF alone, with the starts of the protocol. */
static rep_cell make_cell(const rep *r, const char *what, rep_set set)
{
    rep_cell cell = {.search = {.set = set, .solver = REP_PAPER, .S = FIG4_S, .method = "tl"}};
    snprintf(cell.name, sizeof cell.name, "%s-%s-S%d", what, rep_protocol_of(r, set).name, FIG4_S);
    return cell;
}

static rep_cell start_cell(const rep *r, rep_set set)
{
    rep_cell cell = make_cell(r, "start", set);
    cell.run = run_start;
    cell.cost = (set == REP_GCM ? 2.0 : 8.0) * (r->quick ? 0.05 : 1.0);
    return cell;
}

static rep_cell curve_cell(const rep *r, rep_set set)
{
    rep_cell cell = make_cell(r, "curve", set);
    cell.run = run_curve;
    cell.stage = 1;
    cell.cost = (set == REP_GCM ? 0.5 : 15.0) * (r->quick ? 0.1 : 1.0);
    return cell;
}

static void plan(rep *r)
{
    for (int set = 0; set < REP_SETS; set++) {
        if (!r->uses_set[set])
            continue;
        rep_cell first = start_cell(r, (rep_set)set), then = curve_cell(r, (rep_set)set);
        rep_add(r, &first);
        rep_add(r, &then);
    }
}

/* ---- report ---------------------------------------------------------------------------------- */

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

/* The first J from which C stays close to its last value: within 1e-3 of its whole fall. */
static double settled(const curve *c, const double *C)
{
    int64_t i = c->count - 1;
    if (i < 0)
        return NAN;
    while (i > 0 && fabs(C[i - 1] - C[c->count - 1]) <= 1e-3 * fabs(C[0] - C[c->count - 1]))
        i--;
    return c->J[i];
}

static void add_rows(rep *r, rep_set set, const curve *c)
{
    const char *name = rep_protocol_of(r, set).name;
    const json_t *start = rep_result(r, start_cell(r, set).name);
    bool gcm = set == REP_GCM && !r->quick;
    double C = rep_number(start, "C"), p = rep_number(start, "start");
    rep_row_add(r, "fig4", gcm ? 1835.6147326586315 : NAN, C,
                rep_is_close(C, 1835.6147326586315, 1e-9), gcm ? "within 1e-9" : "",
                "%s: least C of the starts, S=100", name);
    rep_row_add(r, "fig4", gcm ? 72.0 : NAN, p, p == 72.0, gcm ? "the same start" : "",
                "%s: which start that is, from 0", name);
    double tl = settled(c, c->C_tl), jd = settled(c, c->C_jd);
    rep_row_add(r, "fig4", NAN, tl, true, "", "%s: J where TL-NMF has settled to 1e-3", name);
    rep_row_add(r, "fig4", NAN, jd, jd < tl, gcm ? "JD+NMF settles earlier" : "",
                "%s: J where JD+NMF has", name);
}

static int report_set(rep *r, rep_set set, curve *c)
{
    enum { COLUMNS = 3 };
    const json_t *cell = rep_result(r, curve_cell(r, set).name);
    c->count = rep_array(cell, "J", c->J, MOST_J);
    rep_array(cell, "C_tl", c->C_tl, MOST_J);
    rep_array(cell, "C_jd", c->C_jd, MOST_J);
    add_rows(r, set, c);
    double values[COLUMNS * MOST_J];
    for (int64_t i = 0; i < c->count; i++) {
        values[COLUMNS * i] = c->J[i];
        values[COLUMNS * i + 1] = c->C_tl[i];
        values[COLUMNS * i + 2] = c->C_jd[i];
    }
    char file[32];
    snprintf(file, sizeof file, "fig4-%s.csv", rep_protocol_of(r, set).name);
    return rep_csv(r, file, "J,C_tl,C_jd", c->count, COLUMNS, values);
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

const rep_experiment rep_fig4 = {"fig4", plan, report};
