/* Beyond the paper: local averages for one realisation, and ranks below the true one. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>

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

static int run_local(rep *r, const rep_cell *cell, json_t *out)
{
    double *Y = rep_notes(r);
    tlnmf_data *data = NULL;
    tlnmf_result *result = NULL;
    if (Y == NULL)
        return rep_no_memory(r);
    tlnmf_error error = tlnmf_data_from_neighbours(r->call->ctx, Y, 1, TLNMF_NOTES_M, TLNMF_NOTES_N,
                                                   cell->kind, cell->B, &data);
    free(Y);
    if (error != TLNMF_OK)
        return rep_fail(r, error);
    tlnmf_settings opt = rep_settings(r, REP_NOTES, TLNMF_SOLVER_FAST, 1);
    opt.starts = r->quick ? 1 : 5;
    int code = rep_fit(r, data, &opt, NULL, &result);
    if (code == EXIT_DONE) {
        rep_put_search(out, result);
        code = rep_put_atoms(r, out, "tl", result);
    }
    if (code == EXIT_DONE)
        code = rep_put_atoms(r, out, "jd", tlnmf_result_other(result));
    tlnmf_result_free(result);
    tlnmf_data_free(data);
    return code;
}

static rep_cell local_cell(const rep *r, tlnmf_neighbours kind, int64_t B)
{
    if (B == 1) /* the data as they are, either way */
        kind = TLNMF_NEIGHBOURS_BLOCKS;
    rep_cell cell = {.run = run_local, .kind = kind, .B = B, .cost = r->quick ? 1.0 : 8.0};
    snprintf(cell.name, sizeof cell.name, "local-%s-B%lld", kinds[kind], (long long)B);
    return cell;
}

static int run_rank(rep *r, const rep_cell *cell, json_t *out)
{
    tlnmf_settings opt = rep_settings(r, REP_GCM, TLNMF_SOLVER_FAST, RANK_S);
    opt.k = cell->K;
    opt.starts = r->quick ? 2 : 20;
    tlnmf_data *data;
    int code = rep_data(r, REP_GCM, RANK_S, &data);
    return code == EXIT_DONE ? rep_search_gcm(r, data, &opt, out) : code;
}

static rep_cell rank_cell(const rep *r, int64_t K)
{
    rep_cell cell = {.run = run_rank, .K = K, .cost = r->quick ? 0.1 : 1.0};
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

enum { LOCAL = 6, RANK = 6 };
typedef struct tables {
    int64_t B_count, K_count;
    double local[2][MOST_B][LOCAL]; /* B, I_jd, I_tl, gap, largest error of TL-NMF, of JD+NMF */
    double rank[MOST_K][RANK];      /* K, I_jd, I_tl, gap, distance of TL-NMF, of JD+NMF */
} tables;

static double largest_error(const json_t *cell, const char *key)
{
    double error[REP_ATOMS], most = 0.0;
    rep_array(json_object_get(cell, key), "error", error, REP_ATOMS);
    for (int i = 0; i < REP_ATOMS; i++)
        most = fmax(most, error[i]);
    return most;
}

static void fill(double *row, double first, const json_t *cell, double tl, double jd)
{
    double I_jd = rep_number(cell, "I_jd"), I_tl = rep_number(cell, "I_tl");
    const double values[] = {first, I_jd, I_tl, I_jd - I_tl, tl, jd};
    for (int j = 0; j < LOCAL; j++)
        row[j] = values[j];
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
            if (kind == 1 && row[0] == 1.0)
                continue;
            rep_row_add(r, "beyond", NAN, row[3], row[3] >= 0.0, "I(TL) <= I(JD+NMF)",
                        "notes S=1, --%s %.0f: I(JD+NMF) - I(TL-NMF)", kinds[kind], row[0]);
            rep_row_add(r, "beyond", NAN, row[4], true, "",
                        "notes S=1, --%s %.0f: TL-NMF, largest error", kinds[kind], row[0]);
            rep_row_add(r, "beyond", NAN, row[5], true, "",
                        "notes S=1, --%s %.0f: JD+NMF, largest error", kinds[kind], row[0]);
        }
    for (int64_t i = 0; i < t->K_count; i++) {
        const double *row = t->rank[i];
        rep_row_add(r, "beyond", NAN, row[3], row[3] >= 0.0, "I(TL) <= I(JD+NMF)",
                    "GCM S=100, K=%.0f (Kbar=5): I(JD+NMF) - I(TL-NMF)", row[0]);
        rep_row_add(r, "beyond", NAN, row[4], true, "",
                    "GCM S=100, K=%.0f: distance of TL-NMF's Phi to Phibar", row[0]);
    }
}

/* Columns `tl` and `jd` of rows of six against the first. */
static void draw_pair(FILE *out, plot_panel panel, int64_t count, const double (*rows)[LOCAL],
                      int tl, int jd)
{
    double x[MOST_K], y[2][MOST_K];
    for (int64_t i = 0; i < count; i++) {
        x[i] = rows[i][0];
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

static void draw(FILE *out, const void *of)
{
    const tables *t = of;
    plot_begin(out, 820.0, 890.0);
    for (int kind = 0; kind < 2; kind++) {
        double top = 35.0 + 290.0 * kind;
        const char *title = kind == 0 ? "Notes S = 1, blocks of B" : "Notes S = 1, moving B";
        draw_pair(out,
                  (plot_panel){.left = 75.0,
                               .top = top,
                               .title = title,
                               .x_label = "B (frames)",
                               .y_label = "I (divergence)",
                               .y_log = true},
                  t->B_count, t->local[kind], 2, 1);
        draw_pair(out,
                  (plot_panel){.left = 485.0,
                               .top = top,
                               .title = title,
                               .x_label = "B (frames)",
                               .y_label = "largest error of an atom"},
                  t->B_count, t->local[kind], 4, 5);
    }
    draw_pair(out,
              (plot_panel){.left = 75.0,
                           .top = 615.0,
                           .title = "GCM S = 100, rank K (true: 5)",
                           .x_label = "K",
                           .y_label = "I (divergence)",
                           .y_log = true},
              t->K_count, t->rank, 2, 1);
    draw_pair(out,
              (plot_panel){.left = 485.0,
                           .top = 615.0,
                           .title = "GCM S = 100, rank K (true: 5)",
                           .x_label = "K",
                           .y_label = "distance to Phibar"},
              t->K_count, t->rank, 4, 5);
    plot_end(out);
}

static int report(rep *r)
{
    tables t;
    collect(r, &t);
    add_rows(r, &t);
    static const char header[] = "B,I_jd,I_tl,gap,error_tl,error_jd";
    int code = rep_csv(r, "beyond-block.csv", header, t.B_count, LOCAL, t.local[0][0]);
    if (code == EXIT_DONE)
        code = rep_csv(r, "beyond-moving.csv", header, t.B_count, LOCAL, t.local[1][0]);
    if (code == EXIT_DONE)
        code = rep_csv(r, "beyond-rank.csv", "K,I_jd,I_tl,gap,distance_tl,distance_jd", t.K_count,
                       RANK, t.rank[0]);
    return code == EXIT_DONE ? rep_file(r, "beyond.svg", draw, &t) : code;
}

const rep_experiment rep_beyond = {"beyond", "local averages at S=1, and ranks below the true one",
                                   plan, report};
