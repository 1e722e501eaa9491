/* The paper's inequalities on GCM, where the truth is known: Q_S, its largest value, the bound of
 * Theorem 4, Remark 6, Lemma 1, and the two cases in which both problems are one. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M = 10, N = 50, SQUARE = M * M };
static const double CONFIDENCE = 0.95;

/* (1 - 2 exp(-t^2 / 2))^N = CONFIDENCE */
static double t_of_confidence(void)
{
    return sqrt(-2.0 * log(0.5 * (1.0 - pow(CONFIDENCE, 1.0 / N))));
}

static rep_cell theory_cell(const rep *r, int64_t S);

/* ---- cells ----------------------------------------------------------------------------------- */

/* Lemma 1 by plain loops over covariances: MN + sum_n log det Diag(Phi (Sigma_n + eps I) Phi'). */
static int lemma1(rep *r, int64_t S, const double *Phi, double *L)
{
    double *Y = malloc(sizeof(double) * (size_t)(S * M * N)), eps = rep_protocol_of(r, REP_GCM).eps;
    if (Y == NULL)
        return rep_no_memory(r);
    tlnmf_error error =
        tlnmf_simulate_gcm(r->call->ctx, S, M, N, 5, 2020, 100, TLNMF_STREAM_NUMPY, Y, NULL, NULL);
    *L = M * N;
    for (int n = 0; error == TLNMF_OK && n < N; n++) {
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
    free(Y);
    return error == TLNMF_OK ? EXIT_DONE : rep_fail(r, error);
}

/* The largest Q that an ascent finds: from random starts, from the truth, from both solutions. */
static int climb_all(rep *r, const tlnmf_data *data, const tlnmf_data *truth, int64_t S,
                     double given[][SQUARE], int given_count, double *most)
{
    tlnmf_settings opt = rep_settings(r, REP_GCM, TLNMF_SOLVER_FAST, S);
    tlnmf_ctx *ctx = r->call->ctx;
    int64_t starts = r->quick ? 2 : 400;
    opt.starts = starts;
    *most = -INFINITY;
    for (int64_t p = 0; p < starts + given_count; p++) {
        double Phi[SQUARE], W[M * 5], H[5 * N], Q;
        tlnmf_error error = tlnmf_draw_start(ctx, data, &opt, p < starts ? p : 0, Phi, W, H);
        for (int i = 0; p >= starts && i < SQUARE; i++)
            Phi[i] = given[p - starts][i];
        if (error == TLNMF_OK)
            error = tlnmf_theory_climb(ctx, data, truth, opt.eps, r->quick ? 50 : 2000, Phi, &Q);
        if (error != TLNMF_OK)
            return rep_fail(r, error);
        *most = fmax(*most, Q);
        if (rep_progress(NULL, r))
            return EXIT_INTERRUPTED;
    }
    return EXIT_DONE;
}

static int measure(rep *r, const rep_cell *cell, const tlnmf_data *data, const tlnmf_data *truth,
                   json_t *out)
{
    enum { OWN = 3, ALL = 4 }; /* those of fast mode, and JD's of paper mode */
    static const char *const names[ALL] = {"bar", "tl", "jd", "paper_jd"};
    const json_t *search =
        rep_result(r, rep_search_cell(r, REP_GCM, cell->S, TLNMF_SOLVER_FAST).name);
    const json_t *paper =
        rep_result(r, rep_search_cell(r, REP_GCM, cell->S, TLNMF_SOLVER_PAPER).name);
    tlnmf_ctx *ctx = r->call->ctx;
    double Phi[ALL][SQUARE], Q = NAN, distance = NAN, L = NAN, most = NAN;
    double eps = rep_protocol_of(r, REP_GCM).eps;
    tlnmf_error error = tlnmf_transform_matrix(ctx, TLNMF_TRANSFORM_DCT, M, Phi[0]);
    rep_array(search, "Phi_tl", Phi[1], SQUARE);
    rep_array(search, "Phi_jd", Phi[2], SQUARE);
    rep_array(paper, "Phi_jd", Phi[3], SQUARE);
    for (int i = 0; error == TLNMF_OK && i < ALL; i++) {
        char key[32];
        error = tlnmf_theory_Q(ctx, data, truth, Phi[i], eps, &Q);
        if (error == TLNMF_OK)
            error = tlnmf_transform_distance(ctx, M, Phi[i], Phi[0], &distance);
        snprintf(key, sizeof key, "Q_%s", names[i]);
        json_object_set_new(out, key, json_real(Q));
        snprintf(key, sizeof key, "distance_%s", names[i]);
        json_object_set_new(out, key, json_real(distance));
    }
    if (error != TLNMF_OK)
        return rep_fail(r, error);
    int code = lemma1(r, cell->S, Phi[1], &L);
    if (code == EXIT_DONE)
        code = climb_all(r, data, truth, cell->S, Phi, OWN, &most);
    if (code == EXIT_DONE) {
        json_object_set_new(out, "lemma1", json_real(L - rep_number(search, "L_tl")));
        json_object_set_new(out, "Q_most", json_real(most));
    }
    return code;
}

static int run_theory(rep *r, const rep_cell *cell, json_t *out)
{
    tlnmf_data *data, *truth = NULL;
    int code = rep_data(r, REP_GCM, cell->S, &data);
    if (code == EXIT_DONE)
        code = rep_truth(r, &truth);
    if (code == EXIT_DONE)
        code = measure(r, cell, data, truth, out);
    tlnmf_data_free(truth);
    tlnmf_data_free(data);
    return code;
}

/* K = min(M, N), S = 10: W H can be any V. */
static int run_full_rank(rep *r, const rep_cell *cell, json_t *out)
{
    (void)cell;
    tlnmf_settings opt = rep_settings(r, REP_GCM, TLNMF_SOLVER_FAST, 10);
    opt.k = M;
    opt.starts = r->quick ? 2 : 10;
    tlnmf_data *data;
    int code = rep_data(r, REP_GCM, 10, &data);
    return code == EXIT_DONE ? rep_search_gcm(r, data, &opt, out) : code;
}

/* The true covariances: S is infinite. */
static int run_infinite(rep *r, const rep_cell *cell, json_t *out)
{
    (void)cell;
    tlnmf_settings opt = rep_settings(r, REP_GCM, TLNMF_SOLVER_FAST, 10);
    opt.starts = r->quick ? 2 : 20;
    opt.J = 2000;
    tlnmf_data *data = NULL;
    int code = rep_truth(r, &data);
    return code == EXIT_DONE ? rep_search_gcm(r, data, &opt, out) : code;
}

static rep_cell theory_cell(const rep *r, int64_t S)
{
    rep_cell cell = {.run = run_theory, .S = S, .cost = r->quick ? 0.1 : 3.0};
    snprintf(cell.name, sizeof cell.name, "theory-gcm-S%lld", (long long)S);
    return cell;
}

static void plan(rep *r)
{
    rep_protocol p = rep_protocol_of(r, REP_GCM);
    for (int i = 0; i < REP_MOST_S && p.S[i] > 0; i++) {
        rep_cell search = rep_search_cell(r, REP_GCM, p.S[i], TLNMF_SOLVER_FAST);
        rep_cell paper = rep_search_cell(r, REP_GCM, p.S[i], TLNMF_SOLVER_PAPER);
        rep_cell cell = theory_cell(r, p.S[i]);
        rep_add(r, &search);
        rep_add(r, &paper);
        rep_add(r, &cell);
    }
    rep_add(r, &(rep_cell){.name = "theory-full-rank", .run = run_full_rank, .cost = 1.0});
    rep_add(r, &(rep_cell){.name = "theory-infinite", .run = run_infinite, .cost = 1.0});
}

/* ---- report ---------------------------------------------------------------------------------- */

enum { COLUMNS = 9 };
typedef struct table {
    int64_t count;
    double at[REP_MOST_S][COLUMNS]; /* S, Q_bar, Q_tl, Q_jd, Q_most, bound, asymptote, I_tl, I_jd */
} table;

static void draw(FILE *out, const void *of)
{
    const table *t = of;
    static const struct {
        const char *label, *colour;
        plot_style style;
    } look[COLUMNS] = {
        {NULL, NULL, PLOT_LINE},
        {"Q at Phibar", "#006400", PLOT_CROSSES},
        {"Q of TL-NMF", "#1f4e9c", PLOT_DOTS},
        {"Q of JD+NMF", "red", PLOT_CIRCLES},
        {"largest Q found", "black", PLOT_LINE},
        {"Theorem 4, 95 %", "#b8860b", PLOT_LINE},
        {"Remark 6", "#006400", PLOT_DASHED},
        {"I of TL-NMF", "#999", PLOT_DASHED},
        {"I of JD+NMF", "#999", PLOT_LINE},
    };
    double column[COLUMNS][REP_MOST_S];
    plot_series series[COLUMNS - 1];
    for (int j = 0; j < COLUMNS; j++) {
        for (int64_t i = 0; i < t->count; i++)
            column[j][i] = t->at[i][j];
        if (j > 0)
            series[j - 1] = (plot_series){look[j].label, look[j].colour, look[j].style,
                                          t->count,      column[0],      column[j]};
    }
    plot_begin(out, 640.0, 470.0);
    plot_draw(out, &(plot_panel){.left = 75.0,
                                 .top = 35.0,
                                 .width = 530.0,
                                 .height = 375.0,
                                 .title = "GCM data: Q and its bounds",
                                 .x_label = "S (realisations)",
                                 .y_label = "Q, I (divergence)",
                                 .x_log = true,
                                 .y_log = true,
                                 .x_low = 0.7,
                                 .x_high = 7000.0,
                                 .y_low = 1e-3,
                                 .y_high = 1e5,
                                 .legend = PLOT_LOWER_LEFT,
                                 .series_count = COLUMNS - 1,
                                 .series = series});
    plot_end(out);
}

static void rows_of_S(rep *r, int64_t S, double row[COLUMNS])
{
    static const double published_Q[][2] = {
        {1, 1110.0}, {10, 70.87}, {100, 5.583}, {1000, 0.5547}, {5000, 0.1023}};
    const json_t *search = rep_result(r, rep_search_cell(r, REP_GCM, S, TLNMF_SOLVER_FAST).name);
    const json_t *cell = rep_result(r, theory_cell(r, S).name);
    double t = t_of_confidence(), Q_jd = rep_number(cell, "Q_jd"),
           Q_paper = rep_number(cell, "Q_paper_jd"), most = rep_number(cell, "Q_most");
    double I_tl = rep_number(search, "I_tl"), I_jd = rep_number(search, "I_jd"), published = NAN;
    double bound = tlnmf_theory_bound(M, N, S, t), guess = tlnmf_theory_asymptote(M, N, S);
    long long s = (long long)S;
    for (size_t i = 0; i < sizeof published_Q / sizeof *published_Q; i++)
        published = published_Q[i][0] == (double)S ? published_Q[i][1] : published;
    bool full = !r->quick;
    rep_row_add(r, "theory", published, Q_paper, rep_is_close(Q_paper, published, 1e-3),
                full && S > 1 ? "within 1e-3" : "", "S=%lld: Q at Phi of JD+NMF, paper mode", s);
    rep_row_add(r, "theory", NAN, Q_jd, true, "", "S=%lld: Q at Phi of JD+NMF, fast mode", s);
    rep_row_add(r, "theory", NAN, rep_number(cell, "Q_tl"), true, "", "S=%lld: Q at Phi of TL-NMF",
                s);
    rep_row_add(r, "theory", guess, rep_number(cell, "Q_bar"),
                rep_is_close(rep_number(cell, "Q_bar"), guess, 0.15), "Remark 6, within 15 %",
                "S=%lld: Q at Phibar", s);
    rep_row_add(r, "theory", NAN, most, I_tl <= I_jd && I_jd <= most,
                "I(TL) <= I(JD+NMF) <= max Q (Theorem 2, Proposition 2)", "S=%lld: largest Q found",
                s);
    if (isfinite(bound))
        rep_row_add(r, "theory", bound, most, most < bound, "below the bound of Theorem 4",
                    "S=%lld: largest Q found, bound at 95 %%", s);
    rep_row_add(r, "theory", 0.0, rep_number(cell, "lemma1"),
                fabs(rep_number(cell, "lemma1")) < 1e-4, "Lemma 1, to 1e-4",
                "S=%lld: L by covariances - L", s);
    rep_row_add(r, "theory", NAN, rep_number(cell, "distance_tl"), true, "",
                "S=%lld: distance of TL-NMF's Phi to Phibar", s);
    const double values[COLUMNS] = {(double)S,
                                    rep_number(cell, "Q_bar"),
                                    rep_number(cell, "Q_tl"),
                                    Q_jd,
                                    most,
                                    bound,
                                    guess,
                                    I_tl,
                                    I_jd};
    for (int j = 0; j < COLUMNS; j++)
        row[j] = values[j];
}

/* The chain of inequalities, on every search there is: those of paper mode may fail, since they may
 * miss their minima. */
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

static void coincidence_rows(rep *r)
{
    const json_t *full = rep_result(r, "theory-full-rank");
    const json_t *exact = rep_result(r, "theory-infinite");
    double excess = rep_number(full, "C_tl") - rep_number(full, "L_jd");
    double least_S = ceil(9.0 * pow(sqrt(M) + t_of_confidence(), 2.0));
    const char *claim = r->quick ? "" : "both problems are one";
    rep_row_add(r, "theory", NAN, least_S, true, "", "S from which Theorem 4 applies at 95 %%");
    rep_row_add(r, "theory", 0.0, rep_number(full, "I_tl"), rep_number(full, "I_tl") < 1e-3, claim,
                "K = min(M,N), S=10: I(TL-NMF)");
    rep_row_add(r, "theory", 0.0, rep_number(full, "I_jd"), rep_number(full, "I_jd") < 1e-3, claim,
                "K = min(M,N), S=10: I(JD+NMF)");
    rep_row_add(r, "theory", 0.0, excess, fabs(excess) < 1e-3, claim,
                "K = min(M,N), S=10: C(TL-NMF) - min L");
    rep_row_add(r, "theory", 0.0, rep_number(exact, "I_tl"), rep_number(exact, "I_tl") < 1e-5,
                claim, "S infinite: I(TL-NMF)");
    rep_row_add(r, "theory", 0.0, rep_number(exact, "I_jd"), rep_number(exact, "I_jd") < 1e-5,
                claim, "S infinite: I(JD+NMF)");
    rep_row_add(r, "theory", 0.0, rep_number(exact, "distance_tl"),
                rep_number(exact, "distance_tl") < 1e-4, r->quick ? "" : "Phi is Phibar",
                "S infinite: distance of TL-NMF's Phi to Phibar");
    rep_row_add(r, "theory", 0.0, rep_number(exact, "distance_jd"),
                rep_number(exact, "distance_jd") < 1e-4, r->quick ? "" : "Phi is Phibar",
                "S infinite: distance of JD+NMF's Phi to Phibar");
}

static int report(rep *r)
{
    rep_protocol p = rep_protocol_of(r, REP_GCM);
    table t = {0};
    for (int i = 0; i < REP_MOST_S && p.S[i] > 0; i++, t.count++)
        rows_of_S(r, p.S[i], t.at[i]);
    coincidence_rows(r);
    chain_rows(r);
    int code = rep_csv(r, "theory.csv", "S,Q_bar,Q_tl,Q_jd,Q_most,bound,asymptote,I_tl,I_jd",
                       t.count, COLUMNS, t.at[0]);
    return code == EXIT_DONE ? rep_file(r, "theory.svg", draw, &t) : code;
}

const rep_experiment rep_theory = {"theory", "Q_S, its bounds, and where both problems are one",
                                   plan, report};
