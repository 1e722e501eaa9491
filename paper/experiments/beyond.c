/* Beyond the paper: local averages for one realisation, and ranks below the true one. */
#include "paper/experiments/reproduce.h"

#include <math.h>

/* Two tables over B, the number of frames that are averaged, by kind, and one over the rank K. */
enum { BLOCK, MOVING, RANKS, TABLES };
static const char *const kinds[] = {"block", "moving"};

/* Columns of all tables: B or K, the divergences, and the error of each method (the largest error
 * of an atom, or the distance of Phi to Phibar). */
enum { FIRST, I_JD, I_TL, I_GAP, ERROR_TL, ERROR_JD };

/* ---- cells ----------------------------------------------------------------------------------- */

static int64_t row_count(const rep *r, int table)
{
    if (table == RANKS)
        return r->quick ? 2 : 8;
    return r->quick ? 1 : 6;
}

/* B or K of a row. */
static int64_t first_of(const rep *r, int table, int64_t row)
{
    static const int64_t B[] = {1, 2, 3, 5, 8, 12};
    if (table == RANKS)
        return row + 1;
    return r->quick ? 4 : B[row];
}

static rep_cell cell_of(const rep *r, int table, int64_t row)
{
    int64_t first = first_of(r, table, row);
    rep_cell cell = {.run = rep_run_search};
    if (table == RANKS) {
        cell.search =
            (rep_search){.set = REP_GCM, .S = 100, .K = first, .starts = r->quick ? 2 : 20};
        cell.cost = r->quick ? 0.1 : 1.0;
        snprintf(cell.name, sizeof cell.name, "rank-gcm-K%lld", (long long)first);
        return cell;
    }
    int kind = first == 1 ? BLOCK : table; /* both kinds leave the data unchanged at B = 1 */
    cell.search = (rep_search){.set = REP_NOTES,
                               .S = 1,
                               .B = first,
                               .kind = (tlnmf_neighbours)kind,
                               .starts = r->quick ? 1 : 5};
    cell.cost = r->quick ? 1.0 : 8.0;
    snprintf(cell.name, sizeof cell.name, "local-%s-B%lld", kinds[kind], (long long)first);
    return cell;
}

static void plan(rep *r)
{
    for (int table = 0; table < TABLES; table++)
        for (int64_t row = 0; row < row_count(r, table); row++)
            rep_add(r, cell_of(r, table, row));
}

/* ---- report ---------------------------------------------------------------------------------- */

static double largest_error(const json_t *cell, const char *key)
{
    double error[REP_ATOMS], most = 0.0;
    rep_values(json_object_get(json_object_get(cell, key), "error"), error, REP_ATOMS);
    for (int i = 0; i < REP_ATOMS; i++)
        most = fmax(most, error[i]);
    return most;
}

static void collect(const rep *r, int table, rep_table *t)
{
    for (int64_t row = 0; row < row_count(r, table); row++) {
        const json_t *cell = rep_result(r, cell_of(r, table, row).name);
        rep_table_add(t, cell);
        t->at[FIRST][row] = (double)first_of(r, table, row);
        t->at[I_GAP][row] = t->at[I_JD][row] - t->at[I_TL][row];
        if (table != RANKS) {
            t->at[ERROR_TL][row] = largest_error(cell, "tl");
            t->at[ERROR_JD][row] = largest_error(cell, "jd");
        }
    }
}

static void claim_local(rep *r, int kind, const rep_table *t)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double B = t->at[FIRST][i], gap = t->at[I_GAP][i];
        if (kind == MOVING && B == 1.0)
            continue;
        rep_claim(r, NAN, gap, rep_satisfies(gap >= 0.0), "I(TL) <= I(JD+NMF)",
                  "notes S=1, --%s %.0f: I(JD+NMF) - I(TL-NMF)", kinds[kind], B);
        rep_claim(r, NAN, t->at[ERROR_TL][i], REP_SATISFIED, "",
                  "notes S=1, --%s %.0f: TL-NMF, largest error", kinds[kind], B);
        rep_claim(r, NAN, t->at[ERROR_JD][i], REP_SATISFIED, "",
                  "notes S=1, --%s %.0f: JD+NMF, largest error", kinds[kind], B);
    }
}

static void claim_ranks(rep *r, const rep_table *t)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double K = t->at[FIRST][i], gap = t->at[I_GAP][i];
        rep_claim(r, NAN, gap, rep_satisfies(gap >= 0.0), "I(TL) <= I(JD+NMF)",
                  "GCM S=100, K=%.0f (Kbar=5): I(JD+NMF) - I(TL-NMF)", K);
        rep_claim(r, NAN, t->at[ERROR_TL][i], REP_SATISFIED, "",
                  "GCM S=100, K=%.0f: distance of TL-NMF's Phi to Phibar", K);
    }
}

/* Columns `tl` and `jd` against the first. */
static void draw_pair(FILE *out, plot_panel panel, const rep_table *t, int tl, int jd)
{
    const double *x = t->at[FIRST], *of_tl = t->at[tl], *of_jd = t->at[jd];
    const plot_series series[] = {{"TL-NMF", "#006400", PLOT_LINE, t->rows, x, of_tl},
                                  {NULL, "#006400", PLOT_CROSSES, t->rows, x, of_tl},
                                  {"JD+NMF", "red", PLOT_DASHED, t->rows, x, of_jd},
                                  {NULL, "red", PLOT_CIRCLES, t->rows, x, of_jd}};
    panel.series_count = 4;
    panel.series = series;
    panel.width = 300.0;
    panel.height = 210.0;
    panel.legend = PLOT_UPPER_RIGHT;
    plot_draw(out, &panel);
}

/* Two panels per table: the divergences, and the errors. */
static void draw(FILE *out, const void *of)
{
    static const struct {
        const char *title, *x_label, *error_label;
    } text[TABLES] = {
        {"Notes S = 1, blocks of B", "B (frames)", "largest error of an atom"},
        {"Notes S = 1, moving B", "B (frames)", "largest error of an atom"},
        {"GCM S = 100, rank K (true: 5)", "K", "distance to Phibar"},
    };
    const rep_table *t = of;
    for (int i = 0; i < TABLES; i++) {
        plot_panel panel = {.left = 75.0,
                            .top = 35.0 + 290.0 * i,
                            .title = text[i].title,
                            .x_label = text[i].x_label,
                            .y_label = "I (divergence)",
                            .y_log = true};
        draw_pair(out, panel, &t[i], I_TL, I_JD);
        panel.left = 485.0;
        panel.y_label = text[i].error_label;
        panel.y_log = false;
        draw_pair(out, panel, &t[i], ERROR_TL, ERROR_JD);
    }
}

static int report(rep *r)
{
    static const char *const names[] = {"beyond-block.csv", "beyond-moving.csv", "beyond-rank.csv"};
    rep_table t[TABLES] = {{.header = "B,I_jd,I_tl,I_gap,error_tl,error_jd"},
                           {.header = "B,I_jd,I_tl,I_gap,error_tl,error_jd"},
                           {.header = "K,I_jd,I_tl,I_gap,distance_tl,distance_jd"}};
    for (int i = 0; i < TABLES; i++) {
        collect(r, i, &t[i]);
        REP_TRY(rep_table_write(r, names[i], &t[i]));
    }
    claim_local(r, BLOCK, &t[BLOCK]);
    claim_local(r, MOVING, &t[MOVING]);
    claim_ranks(r, &t[RANKS]);
    const rep_figure figure = {"beyond.svg", "Beyond the paper: fewer realisations, other ranks",
                               820.0, 890.0, draw};
    return rep_figure_write(r, &figure, t);
}

const rep_experiment rep_beyond = {"beyond", plan, report};
