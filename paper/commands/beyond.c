/* Beyond the paper: local averages for one realisation, and ranks below the true one. */
#include "paper/commands/reproduce.h"

#include <math.h>

enum { MOST_B = 6, MOST_K = 8, RANK_S = 100 };
static const char *const kinds[] = {"block", "moving"};

static int64_t list_B(const rep *r, int64_t B[MOST_B])
{
    static const int64_t full[MOST_B] = {1, 2, 3, 5, 8, 12};
    for (int64_t i = 0; i < MOST_B; i++)
        B[i] = r->quick ? 4 : full[i];
    return r->quick ? 1 : MOST_B;
}

static int64_t most_K(const rep *r)
{
    return r->quick ? 2 : MOST_K;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static rep_cell local_cell(const rep *r, tlnmf_neighbours kind, int64_t B)
{
    if (B == 1) /* the data as they are, either way */
        kind = TLNMF_NEIGHBOURS_BLOCKS;
    rep_cell cell = {
        .run = rep_run_search,
        .search = {.set = REP_NOTES, .S = 1, .B = B, .kind = kind, .starts = r->quick ? 1 : 5},
        .cost = r->quick ? 1.0 : 8.0};
    snprintf(cell.name, sizeof cell.name, "local-%s-B%lld", kinds[kind], (long long)B);
    return cell;
}

static rep_cell rank_cell(const rep *r, int64_t K)
{
    rep_cell cell = {.run = rep_run_distances,
                     .search = {.set = REP_GCM, .S = RANK_S, .K = K, .starts = r->quick ? 2 : 20},
                     .cost = r->quick ? 0.1 : 1.0};
    snprintf(cell.name, sizeof cell.name, "rank-gcm-K%lld", (long long)K);
    return cell;
}

static void plan(rep *r)
{
    int64_t B[MOST_B], count = list_B(r, B);
    for (int kind = 0; kind < 2; kind++)
        for (int64_t i = 0; i < count; i++) {
            rep_cell cell = local_cell(r, (tlnmf_neighbours)kind, B[i]);
            rep_add(r, &cell);
        }
    for (int64_t K = 1; K <= most_K(r); K++) {
        rep_cell cell = rank_cell(r, K);
        rep_add(r, &cell);
    }
}

/* ---- report ---------------------------------------------------------------------------------- */

/* Columns of both tables: B or K, the divergences, and how far each method is from the truth (the
 * largest error of an atom, or the distance of Phi to Phibar). */
enum { FIRST, I_JD, I_TL, GAP, OFF_TL, OFF_JD, COLUMNS };

typedef struct tables {
    int64_t B_count, K_count;
    double local[2][MOST_B][COLUMNS], rank[MOST_K][COLUMNS];
} tables;

static double largest_error(const json_t *cell, const char *key)
{
    double error[REP_ATOMS], most = 0.0;
    rep_array(json_object_get(cell, key), "error", error, REP_ATOMS);
    for (int i = 0; i < REP_ATOMS; i++)
        most = fmax(most, error[i]);
    return most;
}

static void fill(double row[COLUMNS], double first, const json_t *cell, double tl, double jd)
{
    row[FIRST] = first;
    row[I_JD] = rep_number(cell, "I_jd");
    row[I_TL] = rep_number(cell, "I_tl");
    row[GAP] = row[I_JD] - row[I_TL];
    row[OFF_TL] = tl;
    row[OFF_JD] = jd;
}

static void collect(rep *r, tables *t)
{
    int64_t B[MOST_B];
    t->B_count = list_B(r, B);
    t->K_count = most_K(r);
    for (int kind = 0; kind < 2; kind++)
        for (int64_t i = 0; i < t->B_count; i++) {
            const json_t *cell = rep_result(r, local_cell(r, (tlnmf_neighbours)kind, B[i]).name);
            fill(t->local[kind][i], (double)B[i], cell, largest_error(cell, "tl"),
                 largest_error(cell, "jd"));
        }
    for (int64_t K = 1; K <= t->K_count; K++) {
        const json_t *cell = rep_result(r, rank_cell(r, K).name);
        fill(t->rank[K - 1], (double)K, cell, rep_number(cell, "distance_tl"),
             rep_number(cell, "distance_jd"));
    }
}

static void add_rows(rep *r, const tables *t)
{
    for (int kind = 0; kind < 2; kind++)
        for (int64_t i = 0; i < t->B_count; i++) {
            const double *row = t->local[kind][i];
            if (kind == TLNMF_NEIGHBOURS_MOVING && row[FIRST] == 1.0)
                continue;
            rep_row_add(r, "beyond", NAN, row[GAP], row[GAP] >= 0.0, "I(TL) <= I(JD+NMF)",
                        "notes S=1, --%s %.0f: I(JD+NMF) - I(TL-NMF)", kinds[kind], row[FIRST]);
            rep_row_add(r, "beyond", NAN, row[OFF_TL], true, "",
                        "notes S=1, --%s %.0f: TL-NMF, largest error", kinds[kind], row[FIRST]);
            rep_row_add(r, "beyond", NAN, row[OFF_JD], true, "",
                        "notes S=1, --%s %.0f: JD+NMF, largest error", kinds[kind], row[FIRST]);
        }
    for (int64_t i = 0; i < t->K_count; i++) {
        const double *row = t->rank[i];
        rep_row_add(r, "beyond", NAN, row[GAP], row[GAP] >= 0.0, "I(TL) <= I(JD+NMF)",
                    "GCM S=100, K=%.0f (Kbar=5): I(JD+NMF) - I(TL-NMF)", row[FIRST]);
        rep_row_add(r, "beyond", NAN, row[OFF_TL], true, "",
                    "GCM S=100, K=%.0f: distance of TL-NMF's Phi to Phibar", row[FIRST]);
    }
}

/* Columns `tl` and `jd` against the first. */
static void draw_pair(FILE *out, plot_panel panel, int64_t count, const double (*rows)[COLUMNS],
                      int tl, int jd)
{
    double x[MOST_K], y[2][MOST_K];
    for (int64_t i = 0; i < count; i++) {
        x[i] = rows[i][FIRST];
        y[0][i] = rows[i][tl];
        y[1][i] = rows[i][jd];
    }
    const plot_series series[] = {{"TL-NMF", "#006400", PLOT_LINE, count, x, y[0]},
                                  {NULL, "#006400", PLOT_CROSSES, count, x, y[0]},
                                  {"JD+NMF", "red", PLOT_DASHED, count, x, y[1]},
                                  {NULL, "red", PLOT_CIRCLES, count, x, y[1]}};
    panel.series_count = 4;
    panel.series = series;
    panel.width = 300.0;
    panel.height = 210.0;
    panel.legend = PLOT_UPPER_RIGHT;
    plot_draw(out, &panel);
}

/* A table's two panels side by side: the divergences, and how far from the truth. */
static void draw_table(FILE *out, plot_panel panel, const char *off_label, int64_t count,
                       const double (*rows)[COLUMNS])
{
    panel.left = 75.0;
    panel.y_label = "I (divergence)";
    panel.y_log = true;
    draw_pair(out, panel, count, rows, I_TL, I_JD);
    panel.left = 485.0;
    panel.y_label = off_label;
    panel.y_log = false;
    draw_pair(out, panel, count, rows, OFF_TL, OFF_JD);
}

static void draw(FILE *out, const void *of)
{
    static const char *const titles[] = {"Notes S = 1, blocks of B", "Notes S = 1, moving B"};
    const tables *t = of;
    plot_begin(out, 820.0, 890.0);
    for (int kind = 0; kind < 2; kind++) {
        plot_panel panel = {
            .top = 35.0 + 290.0 * kind, .title = titles[kind], .x_label = "B (frames)"};
        draw_table(out, panel, "largest error of an atom", t->B_count, t->local[kind]);
    }
    plot_panel panel = {.top = 615.0, .title = "GCM S = 100, rank K (true: 5)", .x_label = "K"};
    draw_table(out, panel, "distance to Phibar", t->K_count, t->rank);
    plot_end(out);
}

static int report(rep *r)
{
    tables t;
    collect(r, &t);
    add_rows(r, &t);
    static const char header[] = "B,I_jd,I_tl,gap,error_tl,error_jd";
    int code = rep_csv(r, "beyond-block.csv", header, t.B_count, COLUMNS, t.local[0][0]);
    if (code == EXIT_DONE)
        code = rep_csv(r, "beyond-moving.csv", header, t.B_count, COLUMNS, t.local[1][0]);
    if (code == EXIT_DONE)
        code = rep_csv(r, "beyond-rank.csv", "K,I_jd,I_tl,gap,distance_tl,distance_jd", t.K_count,
                       COLUMNS, t.rank[0]);
    return code == EXIT_DONE ? rep_file(r, "beyond.svg", draw, &t) : code;
}

const rep_experiment rep_beyond = {"beyond", plan, report};
