/* Figure 3 and Table II: the strongest atoms of the music notes, W and H, frequencies, angles. */
#include "paper/experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>

enum { CASES = 4, M = REP_NOTES_M, N = REP_NOTES_N, K = REP_NOTES_K };

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

/* Columns of the CSV files. Column 0 counts the rows; then each case has its columns in turn. */
typedef struct fig3_results {
    double atom[1 + CASES * REP_ATOMS][M];
    double W[1 + CASES * K][M], H[1 + CASES * K][N];
    double fit[1 + 2 * CASES][REP_ATOMS];
} fig3_results;
enum { FREQUENCY = 1, ERROR = 2 }; /* columns of the first case in `fit` */

static void plan(rep *r)
{
    for (int i = 0; i < CASES; i++)
        rep_add(r, rep_search_cell(r, REP_NOTES, cases[i].S, REP_FAST));
}

static void collect_case(const rep *r, int c, fig3_results *x)
{
    const json_t *cell = rep_search_result(r, REP_NOTES, cases[c].S, REP_FAST);
    const json_t *object = json_object_get(cell, cases[c].key);
    const json_t *rows = json_object_get(object, "rows");
    rep_values(json_object_get(object, "frequency"), x->fit[FREQUENCY + 2 * c], REP_ATOMS);
    rep_values(json_object_get(object, "error"), x->fit[ERROR + 2 * c], REP_ATOMS);
    rep_values(json_object_get(object, "W"), x->W[1 + c * K], (int64_t)K * M);
    rep_values(json_object_get(object, "H"), x->H[1 + c * K], (int64_t)K * N);
    for (int i = 0; i < REP_ATOMS; i++)
        rep_values(json_array_get(rows, (size_t)i), x->atom[1 + c * REP_ATOMS + i], M);
}

static fig3_results *collect(const rep *r)
{
    fig3_results *x = malloc(sizeof *x);
    if (x == NULL)
        return NULL;
    for (int m = 0; m < M; m++)
        x->atom[0][m] = x->W[0][m] = m;
    for (int n = 0; n < N; n++)
        x->H[0][n] = n;
    for (int i = 0; i < REP_ATOMS; i++)
        x->fit[0][i] = i + 1;
    for (int c = 0; c < CASES; c++)
        collect_case(r, c, x);
    return x;
}

/* ---- Figure 3 -------------------------------------------------------------------------------- */

static void draw_atoms(FILE *out, const fig3_results *x, int c, double left, double top)
{
    for (int i = 0; i < REP_ATOMS; i++) {
        const plot_series series = {NULL, "#1f4e9c",  PLOT_LINE,
                                    M,    x->atom[0], x->atom[1 + c * REP_ATOMS + i]};
        char title[48];
        snprintf(title, sizeof title, "%.2f Hz, error %.2f", x->fit[FREQUENCY + 2 * c][i],
                 x->fit[ERROR + 2 * c][i]);
        plot_draw(out, &(plot_panel){.left = left + 235.0 * (i & 1),
                                     .top = top + 72.0 * (i >> 1),
                                     .width = 220.0,
                                     .height = 46.0,
                                     .title = title,
                                     .bare = true,
                                     .y_low = -0.2,
                                     .y_high = 0.2,
                                     .series_count = 1,
                                     .series = &series});
    }
}

/* The first rows of W, by descending energy of the atoms, or all of H. */
static void draw_factor(FILE *out, const fig3_results *x, int column, bool is_W, double left,
                        double top)
{
    int k = (column - 1) % K;
    const plot_series series = {
        NULL,         k == 0 ? "#b22222" : "#1f4e9c", PLOT_LINE,
        is_W ? M : N, is_W ? x->W[0] : x->H[0],       is_W ? x->W[column] : x->H[column]};
    char title[32];
    snprintf(title, sizeof title, is_W ? "W, column %d" : "H, row %d", k + 1);
    const char *x_label = is_W ? "row of Phi, strongest first" : "frame (20 ms)";
    plot_draw(out, &(plot_panel){.left = left + 45.0,
                                 .top = top + 118.0 * k,
                                 .width = 172.0,
                                 .height = 62.0,
                                 .title = title,
                                 .x_label = k == K - 1 ? x_label : NULL,
                                 .x_high = is_W ? 20.0 : N - 1.0,
                                 .series_count = 1,
                                 .series = &series});
}

static void draw(FILE *out, const void *of)
{
    const fig3_results *x = of;
    for (int c = 0; c < CASES; c++) {
        double left = 20.0 + 505.0 * (c & 1), top = 55.0 + 610.0 * (c >> 1);
        char title[48];
        snprintf(title, sizeof title, "%s, S = %lld", cases[c].name, (long long)cases[c].S);
        plot_text(out, left + 230.0, top - 32.0, "middle", 16.0, title);
        draw_atoms(out, x, c, left, top);
        for (int column = 1 + c * K; column < 1 + (c + 1) * K; column++) {
            draw_factor(out, x, column, true, left, top + 310.0);
            draw_factor(out, x, column, false, left + 235.0, top + 310.0);
        }
    }
}

/* A file with `each` columns per case after the column of numbers. */
static int write_columns(rep *r, const char *name, const char *first, int each, int64_t rows,
                         const double *values)
{
    char header[1024];
    int used = snprintf(header, sizeof header, "%s", first);
    for (int c = 0; c < CASES; c++)
        for (int i = 1; i <= each; i++)
            used += snprintf(header + used, sizeof header - (size_t)used, ",%s_S%lld_%d",
                             cases[c].key, (long long)cases[c].S, i);
    return rep_csv(r, name, header, rows, rows, values);
}

static int report_fig3(rep *r)
{
    fig3_results *x = collect(r);
    if (x == NULL)
        return rep_no_memory(r);
    int code = write_columns(r, "fig3-atoms.csv", "m", REP_ATOMS, M, x->atom[0]);
    if (code == EXIT_DONE)
        code = write_columns(r, "fig3-W.csv", "row", K, M, x->W[0]);
    if (code == EXIT_DONE)
        code = write_columns(r, "fig3-H.csv", "frame", K, N, x->H[0]);
    if (code == EXIT_DONE)
        code = rep_figure_write(r, &(rep_figure){"fig3.svg", "Figure 3", 1010.0, 1240.0, draw}, x);
    free(x);
    return code;
}

/* ---- Table II, and the angles ---------------------------------------------------------------- */

/* The largest error, or the smallest with sign = -1; NaN if one of them is NaN. */
static double extreme(const double error[REP_ATOMS], double sign)
{
    double most = error[0];
    for (int i = 1; i < REP_ATOMS; i++)
        most = sign * error[i] <= sign * most ? most : error[i];
    return most;
}

/* The largest distance of the eight frequencies to 440, 466.16, 880 and 932.32; infinite unless
 * each of these has two atoms. */
static double frequency_error(const double frequency[REP_ATOMS])
{
    static const double truth[] = {440.0, 466.16, 880.0, 932.32};
    int count[4] = {0};
    double worst = 0.0;
    for (int i = 0; i < REP_ATOMS; i++) {
        int best = 0;
        for (int j = 1; j < 4; j++)
            if (fabs(frequency[i] - truth[j]) < fabs(frequency[i] - truth[best]))
                best = j;
        double error = fabs(frequency[i] - truth[best]);
        count[best]++;
        worst = error <= worst ? worst : error;
    }
    for (int j = 0; j < 4; j++)
        worst = count[j] == 2 ? worst : INFINITY;
    return worst;
}

static void claim_atoms(rep *r, const fig3_results *x)
{
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < REP_ATOMS; i++) {
            rep_claim(r, published_frequency[c][i], x->fit[FREQUENCY + 2 * c][i], REP_SATISFIED, "",
                      "S=1, %s, atom %d: frequency in Hz", cases[c].name, i + 1);
            rep_claim(r, published_error[c][i], x->fit[ERROR + 2 * c][i], REP_SATISFIED, "",
                      "S=1, %s, atom %d: error", cases[c].name, i + 1);
        }
    double off = frequency_error(x->fit[FREQUENCY]), worst = extreme(x->fit[ERROR], 1.0);
    double least = extreme(x->fit[ERROR + 2], -1.0);
    rep_claim(r, 0.35, off, rep_satisfies(off <= 0.6),
              rep_full(r, "two atoms per frequency, within 0.6 Hz"),
              "S=1, TL-NMF: largest distance to 440, 466.16, 880, 932.32 Hz");
    rep_claim(r, 0.04, worst, rep_satisfies(worst <= 0.05), rep_full(r, "at most 0.05"),
              "S=1, TL-NMF: largest error");
    rep_claim(r, 0.19, least, rep_satisfies(least > 0.15), rep_full(r, "above 0.15"),
              "S=1, JD+NMF: smallest error");
    for (int c = 2; c < CASES; c++) {
        double error = extreme(x->fit[ERROR + 2 * c], 1.0);
        rep_claim(r, NAN, error, rep_satisfies(error <= 0.06),
                  rep_full(r, "at most 0.06: as good as TL-NMF at S=1"), "S=100, %s: largest error",
                  cases[c].name);
    }
}

/* The distances between spans of eight atoms: the norm of the vector of principal angles. */
static int claim_angles(rep *r, const fig3_results *x)
{
    static const struct {
        int a, b;
        double published;
    } pairs[] = {{0, 2, 0.0049}, {1, 2, 0.0081}, {1, 3, 0.0087}, {2, 3, 0.00025}, {0, 1, NAN}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        double angle[REP_ATOMS], sum = 0.0;
        int a = pairs[i].a, b = pairs[i].b;
        int code = rep_check(r, tlnmf_principal_angles(r->call->ctx, REP_ATOMS, M,
                                                       x->atom[1 + a * REP_ATOMS],
                                                       x->atom[1 + b * REP_ATOMS], angle));
        if (code != EXIT_DONE)
            return code;
        for (int j = 0; j < REP_ATOMS; j++)
            sum += angle[j] * angle[j];
        bool same = pairs[i].published < 0.006;
        rep_claim(r, pairs[i].published, sqrt(sum),
                  rep_satisfies(sqrt(sum) <= 1.2 * pairs[i].published),
                  same ? rep_full(r, "at most 1.2 times the published") : "",
                  "angle %s S=%lld to %s S=%lld, rad", cases[a].name, (long long)cases[a].S,
                  cases[b].name, (long long)cases[b].S);
    }
    return EXIT_DONE;
}

static int report_table2(rep *r)
{
    fig3_results *x = collect(r);
    if (x == NULL)
        return rep_no_memory(r);
    claim_atoms(r, x);
    int code = claim_angles(r, x);
    if (code == EXIT_DONE)
        code = rep_csv(r, "table2.csv",
                       "atom,tl_S1_hz,tl_S1_error,jd_S1_hz,jd_S1_error,tl_S100_hz,tl_S100_error,"
                       "jd_S100_hz,jd_S100_error",
                       REP_ATOMS, REP_ATOMS, x->fit[0]);
    free(x);
    return code;
}

const rep_experiment rep_fig3 = {"fig3", plan, report_fig3};
const rep_experiment rep_table2 = {"table2", plan, report_table2};
