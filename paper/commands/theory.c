/* The paper's inequalities on GCM, where the truth is known: Q_S, its largest value, the bound of
 * Theorem 4, Remark 6, Lemma 1, and the two cases in which TL-NMF and JD+NMF coincide. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <string.h>

enum { M = REP_GCM_M, N = REP_GCM_N, SQUARE = M * M };
static const double CONFIDENCE = 0.95;

/* (1 - 2 exp(-t^2 / 2))^N = CONFIDENCE */
static double t_of_confidence(void)
{
    return sqrt(-2.0 * log(0.5 * (1.0 - pow(CONFIDENCE, 1.0 / N))));
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Lemma 1 by plain loops over covariances: MN + sum_n log det Diag(Phi (Sigma_n + eps I) Phi'). */
static int lemma1(const rep *r, int64_t S, const double *Phi, double *L)
{
    tlnmf_record *sample;
    double eps = rep_protocol_of(r, REP_GCM).eps;
    int code = rep_gcm(r, S, &sample);
    if (code != EXIT_DONE)
        return code;
    const double *Y = tlnmf_get_array(sample, "Y", NULL, NULL);
    *L = M * N;
    for (int n = 0; n < N; n++) {
        double Sigma[M][M] = {{0.0}};
        for (int64_t s = 0; s < S; s++)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < M; j++)
                    Sigma[i][j] += Y[(s * M + i) * N + n] * Y[(s * M + j) * N + n] / (double)S;
        for (int m = 0; m < M; m++) {
            double v = eps;
            for (int i = 0; i < M; i++)
                for (int j = 0; j < M; j++)
                    v += Phi[m * M + i] * Sigma[i][j] * Phi[m * M + j];
            *L += log(v);
        }
    }
    tlnmf_record_free(sample);
    return EXIT_DONE;
}

/* What the cell works on: realisations, their true covariances, and transforms of interest. */
enum { OWN = 3, TRANSFORMS = 4 }; /* the first three also serve as starts of the ascent */
static const char *const transform_names[TRANSFORMS] = {"bar", "tl", "jd", "paper_jd"};

typedef struct setting {
    rep_search search; /* fast mode's */
    tlnmf_data *data, *truth;
    double eps, Phi[TRANSFORMS][SQUARE];
} setting;

/* Phi of start number p of the search. */
static int random_transform(const rep *r, const setting *at, int64_t p, double Phi[SQUARE])
{
    tlnmf_record *start;
    int code = rep_draw_start(r, at->data, &at->search, p, &start);
    if (code == EXIT_DONE)
        memcpy(Phi, tlnmf_get_array(start, "Phi", NULL, NULL), SQUARE * sizeof *Phi);
    tlnmf_record_free(start);
    return code;
}

/* The largest Q that an ascent finds: from random starts, from the truth, from both solutions. */
static int climb_all(rep *r, const setting *at, double *most)
{
    const int64_t starts = at->search.starts, steps = r->quick ? 50 : 2000;
    *most = -INFINITY;
    for (int64_t p = 0; p < starts + OWN; p++) {
        double Phi[SQUARE], Q;
        int code = EXIT_DONE;
        if (p < starts)
            code = random_transform(r, at, p, Phi);
        else
            memcpy(Phi, at->Phi[p - starts], sizeof Phi);
        if (code == EXIT_DONE)
            code = rep_check(
                r, tlnmf_theory_climb(r->call->ctx, at->data, at->truth, at->eps, steps, Phi, &Q));
        if (code != EXIT_DONE)
            return code;
        *most = fmax(*most, Q);
        if (rep_stops(r))
            return EXIT_INTERRUPTED;
    }
    return EXIT_DONE;
}

/* Q at each of the transforms, and its distance from Phibar. */
static int put_transforms(const rep *r, const setting *at, json_t *out)
{
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_error error = TLNMF_OK;
    for (int i = 0; error == TLNMF_OK && i < TRANSFORMS; i++) {
        char key[32];
        double Q = NAN, distance = NAN;
        error = tlnmf_theory_Q(ctx, at->data, at->truth, at->Phi[i], at->eps, &Q);
        if (error == TLNMF_OK)
            error = tlnmf_transform_distance(ctx, M, at->Phi[i], at->Phi[0], &distance);
        snprintf(key, sizeof key, "Q_%s", transform_names[i]);
        json_object_set_new(out, key, json_real(Q));
        snprintf(key, sizeof key, "distance_%s", transform_names[i]);
        json_object_set_new(out, key, json_real(distance));
    }
    return rep_check(r, error);
}

static int measure(rep *r, setting *at, json_t *out)
{
    int64_t S = at->search.S;
    const json_t *fast = rep_search_result(r, REP_GCM, S, REP_FAST);
    const json_t *paper = rep_search_result(r, REP_GCM, S, REP_PAPER);
    double L = NAN, most = NAN;
    rep_array(fast, "Phi_tl", at->Phi[1], SQUARE);
    rep_array(fast, "Phi_jd", at->Phi[2], SQUARE);
    rep_array(paper, "Phi_jd", at->Phi[3], SQUARE);
    int code = rep_check(r, tlnmf_transform_matrix(r->call->ctx, "dct", M, at->Phi[0]));
    if (code == EXIT_DONE)
        code = put_transforms(r, at, out);
    if (code == EXIT_DONE)
        code = lemma1(r, S, at->Phi[1], &L);
    if (code == EXIT_DONE)
        code = climb_all(r, at, &most);
    if (code == EXIT_DONE) {
        json_object_set_new(out, "lemma1", json_real(L - rep_number(fast, "L_tl")));
        json_object_set_new(out, "Q_most", json_real(most));
    }
    return code;
}

static int run_theory(rep *r, const rep_cell *cell, json_t *out)
{
    const rep_search infinite = {.set = REP_GCM, .S = REP_INFINITE};
    setting at = {.search = cell->search, .eps = rep_protocol_of(r, REP_GCM).eps};
    int code = rep_data(r, &cell->search, &at.data);
    if (code == EXIT_DONE)
        code = rep_data(r, &infinite, &at.truth);
    if (code == EXIT_DONE)
        code = measure(r, &at, out);
    tlnmf_data_free(at.truth);
    tlnmf_data_free(at.data);
    return code;
}

static rep_cell theory_cell(const rep *r, int64_t S)
{
    rep_cell cell = {.run = run_theory,
                     .stage = 1,
                     .search = {.set = REP_GCM, .S = S, .starts = r->quick ? 2 : 400},
                     .cost = r->quick ? 0.1 : 3.0};
    snprintf(cell.name, sizeof cell.name, "theory-gcm-S%lld", (long long)S);
    return cell;
}

static void plan(rep *r)
{
    rep_protocol p = rep_protocol_of(r, REP_GCM);
    for (int i = 0; i < REP_MOST_S && p.S[i] > 0; i++) {
        rep_cell fast = rep_search_cell(r, REP_GCM, p.S[i], REP_FAST);
        rep_cell paper = rep_search_cell(r, REP_GCM, p.S[i], REP_PAPER);
        rep_cell cell = theory_cell(r, p.S[i]);
        rep_add(r, &fast);
        rep_add(r, &paper);
        rep_add(r, &cell);
    }
    /* K = min(M, N): W H can be any V. */
    rep_add(r, &(rep_cell){.name = "theory-full-rank",
                           .run = rep_run_distances,
                           .search = {.S = 10, .K = M, .starts = r->quick ? 2 : 10},
                           .cost = 1.0});
    rep_add(r, &(rep_cell){.name = "theory-infinite",
                           .run = rep_run_distances,
                           .search = {.S = REP_INFINITE, .J = 2000, .starts = r->quick ? 2 : 20},
                           .cost = 1.0});
}

/* ---- report ---------------------------------------------------------------------------------- */

/* Columns of theory.csv. */
enum { AT_S, Q_BAR, Q_TL, Q_JD, Q_MOST, BOUND, ASYMPTOTE, I_TL, I_JD, COLUMNS };

typedef struct table {
    int64_t count;
    double at[REP_MOST_S][COLUMNS];
} table;

/* Q at the Phi of JD+NMF as the authors have it. */
static const double published_S[] = {1, 10, 100, 1000, 5000};
static const double published[] = {1110.0, 70.87, 5.583, 0.5547, 0.1023};
enum { PUBLISHED = sizeof published / sizeof *published };

/* NaN for another S. */
static double published_Q(int64_t S)
{
    for (int i = 0; i < PUBLISHED; i++)
        if (published_S[i] == (double)S)
            return published[i];
    return NAN;
}

static void draw(FILE *out, const void *of)
{
    const table *t = of;
    static const struct {
        const char *label, *colour;
        plot_style style;
    } look[COLUMNS] = {
        [Q_BAR] = {"Q at Phibar", "#006400", PLOT_CROSSES},
        [Q_TL] = {"Q of TL-NMF", "#1f4e9c", PLOT_DOTS},
        [Q_JD] = {"Q of JD+NMF", "red", PLOT_CIRCLES},
        [Q_MOST] = {"largest Q found", "black", PLOT_LINE},
        [BOUND] = {"Theorem 4, 95 %", "#b8860b", PLOT_LINE},
        [ASYMPTOTE] = {"Remark 6", "#006400", PLOT_DASHED},
        [I_TL] = {"I of TL-NMF", "#999", PLOT_DASHED},
        [I_JD] = {"I of JD+NMF", "#999", PLOT_LINE},
    };
    double column[COLUMNS][REP_MOST_S];
    plot_series series[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) {
        for (int64_t i = 0; i < t->count; i++)
            column[j][i] = t->at[i][j];
        if (j > 0)
            series[j - 1] = (plot_series){look[j].label, look[j].colour, look[j].style,
                                          t->count,      column[0],      column[j]};
    }
    series[COLUMNS - 1] = (plot_series){
        "Q of JD+NMF, published", "#f4a3a3", PLOT_LINE, PUBLISHED, published_S, published};
    plot_begin(out, 640.0, 470.0);
    plot_panel panel = rep_panel_over_S("GCM data: Q and its bounds", "Q, I (divergence)");
    panel.left = 75.0;
    panel.top = 35.0;
    panel.width = 530.0;
    panel.height = 375.0;
    panel.y_low = 1e-3;
    panel.y_high = 1e5;
    panel.series_count = COLUMNS;
    panel.series = series;
    plot_draw(out, &panel);
    plot_end(out);
}

static void collect(const rep *r, int64_t S, double row[COLUMNS])
{
    const json_t *search = rep_search_result(r, REP_GCM, S, REP_FAST);
    const json_t *cell = rep_result(r, theory_cell(r, S).name);
    row[AT_S] = (double)S;
    row[Q_BAR] = rep_number(cell, "Q_bar");
    row[Q_TL] = rep_number(cell, "Q_tl");
    row[Q_JD] = rep_number(cell, "Q_jd");
    row[Q_MOST] = rep_number(cell, "Q_most");
    row[BOUND] = tlnmf_theory_bound(M, N, S, t_of_confidence());
    row[ASYMPTOTE] = tlnmf_theory_asymptote(M, N, S);
    row[I_TL] = rep_number(search, "I_tl");
    row[I_JD] = rep_number(search, "I_jd");
}

static void rows_of_S(rep *r, int64_t S, const double row[COLUMNS])
{
    const json_t *cell = rep_result(r, theory_cell(r, S).name);
    double paper = rep_number(cell, "Q_paper_jd"), most = row[Q_MOST];
    double lemma = rep_number(cell, "lemma1");
    long long s = (long long)S;
    rep_row_add(r, "theory", published_Q(S), paper, rep_is_close(paper, published_Q(S), 1e-3),
                !r->quick && S > 1 ? "within 1e-3" : "", "S=%lld: Q at Phi of JD+NMF, paper mode",
                s);
    rep_row_add(r, "theory", NAN, row[Q_JD], true, "", "S=%lld: Q at Phi of JD+NMF, fast mode", s);
    rep_row_add(r, "theory", NAN, row[Q_TL], true, "", "S=%lld: Q at Phi of TL-NMF", s);
    rep_row_add(r, "theory", row[ASYMPTOTE], row[Q_BAR],
                rep_is_close(row[Q_BAR], row[ASYMPTOTE], 0.15), "Remark 6, within 15 %",
                "S=%lld: Q at Phibar", s);
    rep_row_add(r, "theory", NAN, most, row[I_TL] <= row[I_JD] && row[I_JD] <= most,
                "I(TL) <= I(JD+NMF) <= max Q (Theorem 2, Proposition 2)", "S=%lld: largest Q found",
                s);
    if (isfinite(row[BOUND]))
        rep_row_add(r, "theory", row[BOUND], most, most < row[BOUND],
                    "below the bound of Theorem 4", "S=%lld: largest Q found, bound at 95 %%", s);
    rep_row_add(r, "theory", 0.0, lemma, fabs(lemma) < 1e-4, "Lemma 1, to 1e-4",
                "S=%lld: L by covariances - L", s);
    rep_row_add(r, "theory", NAN, rep_number(cell, "distance_tl"), true, "",
                "S=%lld: distance of TL-NMF's Phi to Phibar", s);
}

/* The chain of inequalities on every search of the run. It may fail in paper mode, which may miss a
 * minimum. */
static void chain_rows(rep *r)
{
    double failed[2] = {0.0, 0.0};
    for (int i = 0; i < r->cell_count; i++) {
        const json_t *chain = json_object_get(r->cells[i].result, "chain");
        bool is_paper = strstr(r->cells[i].name, "-paper") != NULL ||
                        strcmp(r->cells[i].name, "errata-handover") == 0;
        failed[is_paper] += json_is_false(chain) ? 1.0 : 0.0;
    }
    rep_row_add(r, "theory", 0.0, failed[0], failed[0] == 0.0,
                r->quick ? "" : "Theorem 2 on every search",
                "searches of fast mode whose chain of inequalities fails");
    rep_row_add(r, "theory", NAN, failed[1], true, "",
                "searches of paper mode whose chain of inequalities fails");
}

/* Where W H can be any V, and where the covariances are exact, both problems have one solution. */
static void coincidence_rows(rep *r)
{
    const json_t *full = rep_result(r, "theory-full-rank");
    const json_t *exact = rep_result(r, "theory-infinite");
    const struct {
        double ours, most;
        const char *claim, *what;
    } all[] = {
        {rep_number(full, "I_tl"), 1e-3, "both problems are one", "K = min(M,N), S=10: I(TL-NMF)"},
        {rep_number(full, "I_jd"), 1e-3, "both problems are one", "K = min(M,N), S=10: I(JD+NMF)"},
        {rep_number(full, "C_tl") - rep_number(full, "L_jd"), 1e-3, "both problems are one",
         "K = min(M,N), S=10: C(TL-NMF) - min L"},
        {rep_number(exact, "I_tl"), 1e-5, "both problems are one", "S infinite: I(TL-NMF)"},
        {rep_number(exact, "I_jd"), 1e-5, "both problems are one", "S infinite: I(JD+NMF)"},
        {rep_number(exact, "distance_tl"), 1e-4, "Phi is Phibar",
         "S infinite: distance of TL-NMF's Phi to Phibar"},
        {rep_number(exact, "distance_jd"), 1e-4, "Phi is Phibar",
         "S infinite: distance of JD+NMF's Phi to Phibar"},
    };
    double least_S = ceil(9.0 * pow(sqrt(M) + t_of_confidence(), 2.0)); /* (18) */
    rep_row_add(r, "theory", NAN, least_S, true, "", "S from which Theorem 4 applies at 95 %%");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rep_row_add(r, "theory", 0.0, all[i].ours, fabs(all[i].ours) < all[i].most,
                    r->quick ? "" : all[i].claim, "%s", all[i].what);
}

static int report(rep *r)
{
    rep_protocol p = rep_protocol_of(r, REP_GCM);
    table t = {0};
    for (int i = 0; i < REP_MOST_S && p.S[i] > 0; i++, t.count++) {
        collect(r, p.S[i], t.at[i]);
        rows_of_S(r, p.S[i], t.at[i]);
    }
    coincidence_rows(r);
    chain_rows(r);
    int code = rep_csv(r, "theory.csv", "S,Q_bar,Q_tl,Q_jd,Q_most,bound,asymptote,I_tl,I_jd",
                       t.count, COLUMNS, t.at[0]);
    return code == EXIT_DONE ? rep_file(r, "theory.svg", draw, &t) : code;
}

const rep_experiment rep_theory = {"theory", plan, report};
