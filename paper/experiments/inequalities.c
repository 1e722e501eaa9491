/* The paper's inequalities on GCM data, whose true covariances are known: Q_S, its largest value,
 * the bound of Theorem 4, Remark 6, Lemma 1, and the two cases in which TL-NMF and JD+NMF coincide.
 */
#include "paper/experiments/reproduce.h"

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
static double lemma1(const tlnmf_record *sample, double eps, const double *Phi)
{
    double L = M * N;
    for (int n = 0; n < N; n++) {
        double D[M][M];
        rep_covariance(sample, Phi, n, D);
        for (int m = 0; m < M; m++)
            L += log(D[m][m] + eps);
    }
    return L;
}

/* The transforms at which Q is computed. The ascent starts from the first three. */
enum { BAR, TL, JD, PAPER_JD, TRANSFORMS, CLIMBED = PAPER_JD };

/* The largest Q that an ascent finds: from random starts, from the truth, from both solutions. */
static int climb_all(rep *r, const rep_search *search, rep_objects *own,
                     const double (*from)[SQUARE], double *most)
{
    const double eps = rep_protocol_of(r, REP_GCM).eps;
    const int64_t steps = r->quick ? 50 : 2000;
    *most = -INFINITY;
    for (int64_t p = 0; p < search->starts + CLIMBED; p++) {
        double Phi[SQUARE], Q;
        if (p < search->starts) {
            tlnmf_record_free(own->start);
            REP_TRY(rep_draw_start(r, own->data, search, p, &own->start));
            memcpy(Phi, tlnmf_record_get_array(own->start, "Phi", NULL, NULL), sizeof Phi);
        } else {
            memcpy(Phi, from[p - search->starts], sizeof Phi);
        }
        REP_TRY(rep_check(
            r, tlnmf_theory_climb(r->call->ctx, own->data, own->truth, eps, steps, Phi, &Q)));
        *most = fmax(*most, Q);
        if (cli_progress_poll())
            return EXIT_INTERRUPTED;
    }
    return EXIT_DONE;
}

static int run_theory(rep *r, const rep_cell *cell, rep_objects *own, json_t *out)
{
    static const char *const keys[TRANSFORMS] = {"Q_bar", "Q_tl", "Q_jd", "Q_paper_jd"};
    const rep_search infinite = {.set = REP_GCM, .S = REP_INFINITE};
    const double eps = rep_protocol_of(r, REP_GCM).eps;
    int64_t S = cell->search.S;
    const json_t *fast = rep_search_result(r, REP_GCM, S, REP_FAST);
    const json_t *paper = rep_search_result(r, REP_GCM, S, REP_PAPER);
    double Phi[TRANSFORMS][SQUARE], most, Q;
    REP_TRY(rep_gcm(r, S, &own->sample));
    REP_TRY(rep_data(r, &cell->search, &own->data));
    REP_TRY(rep_data(r, &infinite, &own->truth));
    REP_TRY(rep_check(r, tlnmf_transform_matrix(r->call->ctx, "dct", M, Phi[BAR])));
    rep_values(json_object_get(fast, "Phi_tl"), Phi[TL], SQUARE);
    rep_values(json_object_get(fast, "Phi_jd"), Phi[JD], SQUARE);
    rep_values(json_object_get(paper, "Phi_jd"), Phi[PAPER_JD], SQUARE);
    for (int i = 0; i < TRANSFORMS; i++) {
        REP_TRY(rep_check(r, tlnmf_theory_Q(r->call->ctx, own->data, own->truth, Phi[i], eps, &Q)));
        json_object_set_new(out, keys[i], json_real(Q));
    }
    REP_TRY(climb_all(r, &cell->search, own, Phi, &most));
    json_object_set_new(out, "Q_most", json_real(most));
    double L = lemma1(own->sample, eps, Phi[TL]);
    json_object_set_new(out, "lemma1", json_real(L - rep_number(fast, "L_tl")));
    return EXIT_DONE;
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
        rep_add(r, rep_search_cell(r, REP_GCM, p.S[i], REP_FAST));
        rep_add(r, rep_search_cell(r, REP_GCM, p.S[i], REP_PAPER));
        rep_add(r, theory_cell(r, p.S[i]));
    }
    /* K = min(M, N): W H can be any V. */
    rep_add(r, (rep_cell){.name = "theory-full-rank",
                          .run = rep_run_search,
                          .search = {.S = 10, .K = M, .starts = r->quick ? 2 : 10},
                          .cost = 1.0});
    rep_add(r, (rep_cell){.name = "theory-infinite",
                          .run = rep_run_search,
                          .search = {.S = REP_INFINITE, .J = 2000, .starts = r->quick ? 2 : 20},
                          .cost = 1.0});
}

/* ---- report ---------------------------------------------------------------------------------- */

/* Columns of theory.csv. */
enum { AT_S, Q_BAR, Q_TL, Q_JD, Q_MOST, BOUND, ASYMPTOTE, I_TL, I_JD };

/* The authors' Q at the Phi of JD+NMF. */
static const double published[REP_MOST_S] = {1110.0, 70.87, 5.583, 0.5547, 0.1023};

static void draw(FILE *out, const void *of)
{
    const rep_curves *curves = of;
    const rep_table *t = curves->tables;
    const double *S = t->at[AT_S], *all_S = rep_published_S;
    const plot_series series[] = {
        {"Q at Phibar", "#006400", PLOT_CROSSES, t->rows, S, t->at[Q_BAR]},
        {"Q of TL-NMF", "#1f4e9c", PLOT_DOTS, t->rows, S, t->at[Q_TL]},
        {"Q of JD+NMF", "red", PLOT_CIRCLES, t->rows, S, t->at[Q_JD]},
        {"largest Q found", "black", PLOT_LINE, t->rows, S, t->at[Q_MOST]},
        {"Theorem 4, 95 %", "#b8860b", PLOT_LINE, t->rows, S, t->at[BOUND]},
        {"Remark 6", "#006400", PLOT_DASHED, t->rows, S, t->at[ASYMPTOTE]},
        {"I of TL-NMF", "#999", PLOT_DASHED, t->rows, S, t->at[I_TL]},
        {"I of JD+NMF", "#999", PLOT_LINE, t->rows, S, t->at[I_JD]},
        {"JD+NMF, published", "#f4a3a3", PLOT_LINE, REP_MOST_S, all_S, published},
    };
    plot_panel panel = rep_panel_over_S("GCM data: Q and its bounds", "Q, I (divergence)");
    panel.left = 75.0;
    panel.top = 35.0;
    panel.width = 530.0;
    panel.height = 375.0;
    panel.y_low = 1e-3;
    panel.y_high = 1e5;
    panel.series_count = sizeof series / sizeof *series - (curves->with_published ? 0 : 1);
    panel.series = series;
    plot_draw(out, &panel);
}

static void claim_S(rep *r, int64_t S, rep_table *t)
{
    const json_t *search = rep_search_result(r, REP_GCM, S, REP_FAST);
    const json_t *cell = rep_result(r, theory_cell(r, S).name);
    const int64_t i = rep_table_add(t, cell);
    const double bound = tlnmf_theory_bound(M, N, S, t_of_confidence());
    const double asymptote = tlnmf_theory_asymptote(M, N, S);
    const double tl = rep_number(search, "I_tl"), jd = rep_number(search, "I_jd");
    const double Q_bar = t->at[Q_BAR][i], most = t->at[Q_MOST][i];
    const double paper = rep_number(cell, "Q_paper_jd"), lemma = rep_number(cell, "lemma1");
    const double their_Q = published[rep_place_of((double)S)];
    const long long s = (long long)S;
    t->at[AT_S][i] = (double)S;
    t->at[BOUND][i] = bound;
    t->at[ASYMPTOTE][i] = asymptote;
    t->at[I_TL][i] = tl;
    t->at[I_JD][i] = jd;
    rep_claim(r, their_Q, paper, rep_equals(rep_is_close(paper, their_Q, 1e-3)),
              S > 1 ? rep_full(r, "within 1e-3") : "", "S=%lld: Q at Phi of JD+NMF, paper mode", s);
    rep_claim(r, NAN, t->at[Q_JD][i], REP_SATISFIED, "", "S=%lld: Q at Phi of JD+NMF, fast mode",
              s);
    rep_claim(r, NAN, t->at[Q_TL][i], REP_SATISFIED, "", "S=%lld: Q at Phi of TL-NMF", s);
    rep_claim(r, asymptote, Q_bar, rep_satisfies(rep_is_close(Q_bar, asymptote, 0.15)),
              "Remark 6, within 15 %", "S=%lld: Q at Phibar", s);
    rep_claim(r, NAN, most, rep_satisfies(tl <= jd && jd <= most),
              "I(TL) <= I(JD+NMF) <= max Q (Theorem 2, Proposition 2)", "S=%lld: largest Q found",
              s);
    if (isfinite(bound))
        rep_claim(r, bound, most, rep_satisfies(most < bound), "below the bound of Theorem 4",
                  "S=%lld: largest Q found, bound at 95 %%", s);
    rep_claim(r, 0.0, lemma, rep_satisfies(fabs(lemma) < 1e-4), "Lemma 1, to 1e-4",
              "S=%lld: L by covariances - L", s);
    rep_claim(r, NAN, rep_number(search, "distance_tl"), REP_SATISFIED, "",
              "S=%lld: distance of TL-NMF's Phi to Phibar", s);
}

/* The chain of inequalities on every search of the run. It may fail in paper mode, which may miss a
 * minimum. */
static void claim_chains(rep *r)
{
    double failed[REP_SOLVERS] = {0.0, 0.0};
    for (int i = 0; i < r->cell_count; i++)
        if (json_is_false(json_object_get(r->cells[i].result, "chain")))
            failed[r->cells[i].search.solver] += 1.0;
    rep_claim(r, 0.0, failed[REP_FAST], rep_satisfies(failed[REP_FAST] == 0.0),
              rep_full(r, "Theorem 2 on every search"),
              "searches of fast mode whose chain of inequalities fails");
    rep_claim(r, NAN, failed[REP_PAPER], rep_unclaimed(failed[REP_PAPER] == 0.0), "",
              "searches of paper mode whose chain of inequalities fails");
}

/* If W H can be any V, or if the covariances are exact, both problems have the same solution. */
static void claim_coincidence(rep *r)
{
    const json_t *full = rep_result(r, "theory-full-rank");
    const json_t *exact = rep_result(r, "theory-infinite");
    static const char one[] = "both problems have one solution", is_bar[] = "Phi is Phibar";
    const struct {
        double ours, most;
        const char *claim, *what;
    } all[] = {
        {rep_number(full, "I_tl"), 1e-3, one, "K = min(M,N), S=10: I(TL-NMF)"},
        {rep_number(full, "I_jd"), 1e-3, one, "K = min(M,N), S=10: I(JD+NMF)"},
        {rep_number(full, "C_tl") - rep_number(full, "L_jd"), 1e-3, one,
         "K = min(M,N), S=10: C(TL-NMF) - min L"},
        {rep_number(exact, "I_tl"), 1e-5, one, "S infinite: I(TL-NMF)"},
        {rep_number(exact, "I_jd"), 1e-5, one, "S infinite: I(JD+NMF)"},
        {rep_number(exact, "distance_tl"), 1e-4, is_bar,
         "S infinite: distance of TL-NMF's Phi to Phibar"},
        {rep_number(exact, "distance_jd"), 1e-4, is_bar,
         "S infinite: distance of JD+NMF's Phi to Phibar"},
    };
    double least_S = ceil(9.0 * pow(sqrt(M) + t_of_confidence(), 2.0)); /* (18) */
    rep_claim(r, NAN, least_S, REP_SATISFIED, "", "smallest S to which Theorem 4 applies at 95 %%");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rep_claim(r, 0.0, all[i].ours, rep_satisfies(fabs(all[i].ours) < all[i].most),
                  rep_full(r, all[i].claim), "%s", all[i].what);
}

static int report(rep *r)
{
    rep_protocol p = rep_protocol_of(r, REP_GCM);
    rep_table t = {.header = "S,Q_bar,Q_tl,Q_jd,Q_most,bound,asymptote,I_tl,I_jd"};
    for (int i = 0; i < REP_MOST_S && p.S[i] > 0; i++)
        claim_S(r, p.S[i], &t);
    claim_coincidence(r);
    claim_chains(r);
    REP_TRY(rep_table_write(r, "theory.csv", &t));
    return rep_figure_write(
        r, &(rep_figure){"theory.svg", "Theorem 4 and Remark 6", 775.0, 470.0, draw},
        &(rep_curves){&t, !r->quick});
}

const rep_experiment rep_theory = {"theory", plan, report};
