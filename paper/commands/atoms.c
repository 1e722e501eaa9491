/* Figure 3 and Table II: the strongest atoms of the music notes, W and H, frequencies, angles. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>

enum { CASES = 4, M = REP_NOTES_M, N = REP_NOTES_N, K = REP_NOTES_K };
enum { W_SIZE = M * K, H_SIZE = K * N };

/* In the paper's order: above S = 1, below S = 100; TL-NMF left, JD+NMF right. */
static const struct {
    int64_t S;
    const char *key, *name;
} cases[CASES] = {
    {1, "tl", "TL-NMF"}, {1, "jd", "JD+NMF"}, {100, "tl", "TL-NMF"}, {100, "jd", "JD+NMF"}};

static const double published_frequency[2][REP_ATOMS] = {
    {440.10, 466.35, 466.11, 439.74, 932.32, 932.39, 879.94, 879.99},
    {466.12, 439.72, 879.97, 879.99, 879.97, 932.46, 932.28, 932.31}};
static const double published_error[2][REP_ATOMS] = {
    {0.03, 0.03, 0.04, 0.04, 0.03, 0.04, 0.04, 0.03},
    {0.19, 0.37, 0.51, 0.45, 0.44, 0.42, 0.40, 0.39}};

typedef struct atoms {
    double frequency[REP_ATOMS], error[REP_ATOMS];
    double rows[REP_ATOMS][M], W[W_SIZE], H[H_SIZE];
} atoms;

static void plan(rep *r)
{
    for (int i = 0; i < CASES; i++) {
        rep_cell cell = rep_search_cell(r, REP_NOTES, cases[i].S, REP_FAST);
        rep_add(r, &cell);
    }
}

static void collect(const rep *r, int i, atoms *a)
{
    const json_t *cell = rep_search_result(r, REP_NOTES, cases[i].S, REP_FAST);
    const json_t *object = json_object_get(cell, cases[i].key);
    rep_array(object, "frequency", a->frequency, REP_ATOMS);
    rep_array(object, "error", a->error, REP_ATOMS);
    rep_array(object, "W", a->W, W_SIZE);
    rep_array(object, "H", a->H, H_SIZE);
    const json_t *rows = json_object_get(object, "rows");
    for (size_t row = 0; row < REP_ATOMS; row++)
        rep_values(json_array_get(rows, row), a->rows[row], M);
}

static atoms *collect_all(const rep *r)
{
    atoms *all = calloc(CASES, sizeof *all);
    for (int i = 0; all != NULL && i < CASES; i++)
        collect(r, i, &all[i]);
    return all;
}

/* ---- Figure 3 -------------------------------------------------------------------------------- */

/* A picture, and the numbers 0, 1, .. for the horizontal axes of rows (M) and frames (N < M). */
typedef struct page {
    FILE *out;
    double numbers[M];
} page;

static void draw_atoms(const page *p, const atoms *a, double left, double top)
{
    for (int i = 0; i < REP_ATOMS; i++) {
        char title[48];
        snprintf(title, sizeof title, "%.2f Hz, error %.2f", a->frequency[i], a->error[i]);
        const plot_series series = {NULL, "#1f4e9c", PLOT_LINE, M, p->numbers, a->rows[i]};
        plot_draw(p->out, &(plot_panel){.left = left + 235.0 * (i & 1),
                                        .top = top + 72.0 * (i >> 1),
                                        .width = 220.0,
                                        .height = 46.0,
                                        .title = title,
                                        .bare = true,
                                        .y_low = -0.2,
                                        .y_high = 0.2,
                                        .legend = PLOT_NO_LEGEND,
                                        .series_count = 1,
                                        .series = &series});
    }
}

static void draw_factors(const page *p, const atoms *a, double left, double top)
{
    static const char *const colours[K] = {"#b22222", "#1f4e9c"};
    for (int k = 0; k < K; k++) {
        double W[M], H[N];
        for (int m = 0; m < M; m++)
            W[m] = a->W[m * K + k];
        for (int n = 0; n < N; n++)
            H[n] = a->H[k * N + n];
        char title[2][32];
        snprintf(title[0], sizeof title[0], "W, column %d", k + 1);
        snprintf(title[1], sizeof title[1], "H, row %d", k + 1);
        const plot_series series[] = {{NULL, colours[k], PLOT_LINE, M, p->numbers, W},
                                      {NULL, colours[k], PLOT_LINE, N, p->numbers, H}};
        for (int i = 0; i < 2; i++)
            plot_draw(p->out,
                      &(plot_panel){.left = left + 45.0 + 235.0 * i,
                                    .top = top + 118.0 * k,
                                    .width = 172.0,
                                    .height = 62.0,
                                    .title = title[i],
                                    .x_label = k == 1 ? (i == 0 ? "row of Phi, strongest first"
                                                                : "frame (20 ms)")
                                                      : NULL,
                                    .x_high = i == 0 ? 20.0 : N - 1.0,
                                    .legend = PLOT_NO_LEGEND,
                                    .series_count = 1,
                                    .series = &series[i]});
    }
}

static void draw(FILE *out, const void *of)
{
    const atoms *all = of;
    page p = {.out = out};
    for (int m = 0; m < M; m++)
        p.numbers[m] = m;
    plot_begin(out, 1010.0, 1240.0);
    for (int i = 0; i < CASES; i++) {
        double left = 20.0 + 505.0 * (i & 1), top = 55.0 + 610.0 * (i >> 1);
        char title[48];
        snprintf(title, sizeof title, "%s, S = %lld", cases[i].name, (long long)cases[i].S);
        plot_text(out, left + 230.0, top - 32.0, "middle", 16.0, title);
        draw_atoms(&p, &all[i], left, top);
        draw_factors(&p, &all[i], left, top + 310.0);
    }
    plot_end(out);
}

static int write_atoms(rep *r, const atoms *all)
{
    enum { COLUMNS = 1 + CASES * REP_ATOMS };
    double *values = malloc(sizeof(double) * M * COLUMNS);
    if (values == NULL)
        return rep_no_memory(r);
    char header[1024];
    int used = snprintf(header, sizeof header, "m");
    for (int i = 0; i < CASES; i++)
        for (int a = 1; a <= REP_ATOMS; a++)
            used += snprintf(header + used, sizeof header - (size_t)used, ",%s_S%lld_%d",
                             cases[i].key, (long long)cases[i].S, a);
    for (int64_t m = 0; m < M; m++) {
        values[m * COLUMNS] = (double)m;
        for (int j = 0; j < CASES * REP_ATOMS; j++)
            values[m * COLUMNS + 1 + j] = all[j / REP_ATOMS].rows[j % REP_ATOMS][m];
    }
    int code = rep_csv(r, "fig3-atoms.csv", header, M, COLUMNS, values);
    free(values);
    return code;
}

/* The columns of W, or the rows of H as columns, of all cases. */
static int write_factor(rep *r, const atoms *all, bool is_W)
{
    enum { COLUMNS = 1 + CASES * K };
    int64_t length = is_W ? M : N;
    double *values = malloc(sizeof(double) * (size_t)length * COLUMNS);
    if (values == NULL)
        return rep_no_memory(r);
    for (int64_t i = 0; i < length; i++) {
        values[i * COLUMNS] = (double)i;
        for (int64_t c = 0; c < CASES; c++)
            for (int64_t k = 0; k < K; k++)
                values[i * COLUMNS + 1 + c * K + k] =
                    is_W ? all[c].W[i * K + k] : all[c].H[k * N + i];
    }
    char header[128];
    snprintf(header, sizeof header,
             "%s,tl_S1_1,tl_S1_2,jd_S1_1,jd_S1_2,tl_S100_1,tl_S100_2,jd_S100_1,jd_S100_2",
             is_W ? "row" : "frame");
    int code = rep_csv(r, is_W ? "fig3-W.csv" : "fig3-H.csv", header, length, COLUMNS, values);
    free(values);
    return code;
}

static int report_fig3(rep *r)
{
    atoms *all = collect_all(r);
    if (all == NULL)
        return rep_no_memory(r);
    int code = write_atoms(r, all);
    if (code == EXIT_DONE)
        code = write_factor(r, all, true);
    if (code == EXIT_DONE)
        code = write_factor(r, all, false);
    if (code == EXIT_DONE)
        code = rep_file(r, "fig3.svg", draw, all);
    free(all);
    return code;
}

/* ---- Table II, and the angles ---------------------------------------------------------------- */

/* NaN, if one of them is. */
static double largest(const double *x)
{
    double most = x[0];
    for (int i = 1; i < REP_ATOMS; i++)
        most = x[i] <= most ? most : x[i];
    return most;
}

/* How far the eight frequencies are from 440, 466.16, 880 and 932.32, two atoms each; infinite if
 * there are not two of each. */
static double frequency_error(const atoms *a)
{
    static const double notes[] = {440.0, 466.16, 880.0, 932.32};
    int count[4] = {0};
    double worst = 0.0;
    for (int i = 0; i < REP_ATOMS; i++) {
        int best = 0;
        for (int j = 1; j < 4; j++)
            if (fabs(a->frequency[i] - notes[j]) < fabs(a->frequency[i] - notes[best]))
                best = j;
        count[best]++;
        worst = fabs(a->frequency[i] - notes[best]) <= worst ? worst
                                                             : fabs(a->frequency[i] - notes[best]);
    }
    for (int j = 0; j < 4; j++)
        worst = count[j] == 2 ? worst : INFINITY;
    return worst;
}

static void atom_rows(rep *r, const atoms *all)
{
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < REP_ATOMS; i++) {
            rep_row_add(r, "table2", published_frequency[c][i], all[c].frequency[i], true, "",
                        "S=1, %s, atom %d: frequency in Hz", cases[c].name, i + 1);
            rep_row_add(r, "table2", published_error[c][i], all[c].error[i], true, "",
                        "S=1, %s, atom %d: error", cases[c].name, i + 1);
        }
    double off = frequency_error(&all[0]), worst = largest(all[0].error), least = INFINITY;
    for (int i = 0; i < REP_ATOMS; i++)
        least = all[1].error[i] >= least ? least : all[1].error[i];
    bool full = !r->quick;
    rep_row_add(r, "table2", 0.35, off, off <= 0.6,
                full ? "two atoms a frequency, within 0.6 Hz" : "",
                "S=1, TL-NMF: farthest of 440, 466.16, 880, 932.32 Hz");
    rep_row_add(r, "table2", 0.04, worst, worst <= 0.05, full ? "at most 0.05" : "",
                "S=1, TL-NMF: largest error");
    rep_row_add(r, "table2", 0.19, least, least > 0.15, full ? "above 0.15" : "",
                "S=1, JD+NMF: smallest error");
    for (int c = 2; c < CASES; c++)
        rep_row_add(r, "table2", NAN, largest(all[c].error), largest(all[c].error) <= 0.06,
                    full ? "at most 0.06: as good as TL-NMF at S=1" : "",
                    "S=100, %s: largest error", cases[c].name);
}

/* The distances between spans of eight atoms: the norm of the vector of principal angles. */
static int angle_rows(rep *r, const atoms *all)
{
    static const struct {
        int a, b;
        double published;
    } pairs[] = {{0, 2, 0.0049}, {1, 2, 0.0081}, {1, 3, 0.0087}, {2, 3, 0.00025}, {0, 1, NAN}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        double angle[REP_ATOMS], sum = 0.0;
        int a = pairs[i].a, b = pairs[i].b;
        int code = rep_check(r, tlnmf_principal_angles(r->call->ctx, REP_ATOMS, M, all[a].rows[0],
                                                       all[b].rows[0], angle));
        if (code != EXIT_DONE)
            return code;
        for (int j = 0; j < REP_ATOMS; j++)
            sum += angle[j] * angle[j];
        bool same = pairs[i].published < 0.006;
        rep_row_add(r, "table2", pairs[i].published, sqrt(sum),
                    sqrt(sum) <= 1.2 * pairs[i].published,
                    r->quick || !same ? "" : "not above 1.2 of the published",
                    "angle %s S=%lld to %s S=%lld, rad", cases[a].name, (long long)cases[a].S,
                    cases[b].name, (long long)cases[b].S);
    }
    return EXIT_DONE;
}

static int write_table(rep *r, const atoms *all)
{
    enum { COLUMNS = 1 + 2 * CASES };
    double values[REP_ATOMS * COLUMNS];
    for (int64_t i = 0; i < REP_ATOMS; i++) {
        values[i * COLUMNS] = (double)(i + 1);
        for (int64_t c = 0; c < CASES; c++) {
            values[i * COLUMNS + 1 + 2 * c] = all[c].frequency[i];
            values[i * COLUMNS + 2 + 2 * c] = all[c].error[i];
        }
    }
    return rep_csv(r, "table2.csv",
                   "atom,tl_S1_hz,tl_S1_error,jd_S1_hz,jd_S1_error,tl_S100_hz,tl_S100_error,"
                   "jd_S100_hz,jd_S100_error",
                   REP_ATOMS, COLUMNS, values);
}

static int report_table2(rep *r)
{
    atoms *all = collect_all(r);
    if (all == NULL)
        return rep_no_memory(r);
    atom_rows(r, all);
    int code = angle_rows(r, all);
    if (code == EXIT_DONE)
        code = write_table(r, all);
    free(all);
    return code;
}

const rep_experiment rep_fig3 = {"fig3", plan, report_fig3};
const rep_experiment rep_table2 = {"table2", plan, report_table2};
