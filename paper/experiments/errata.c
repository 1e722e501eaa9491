/* Errata: differences between the paper as printed and its results, each shown by a computation. */
#include "paper/experiments/reproduce.h"

#include <math.h>
#include <string.h>

enum { M = REP_GCM_M, N = REP_GCM_N, K = REP_GCM_K };

/* I(TL-NMF) on GCM as published. */
static const double I_S10 = 21.627583, I_S100 = 2.2326012;

/* Fits the GCM sample of a cell. */
static int fit_sample(const rep *r, const rep_search *search, rep_objects *own)
{
    REP_TRY(rep_gcm(r, search->S, &own->sample));
    return rep_find(r, search, own);
}

/* ---- TL-NMF's Hessian lacks a term ----------------------------------------------------------- */

/* Gamma_ab = 2 sum_n V_bn / (W H + eps)_an */
static void fill_gamma(const rep_objects *own, double Gamma[M][M])
{
    const double *Phi = tlnmf_record_get_array(own->model, "Phi", NULL, NULL);
    const double *W = tlnmf_record_get_array(own->model, "W", NULL, NULL);
    const double *H = tlnmf_record_get_array(own->model, "H", NULL, NULL);
    const double eps = tlnmf_record_get_real(own->model, "eps");
    for (int n = 0; n < N; n++) {
        double D[M][M];
        rep_covariance(own->sample, Phi, n, D);
        for (int a = 0; a < M; a++) {
            double Vhat = eps;
            for (int k = 0; k < K; k++)
                Vhat += W[a * K + k] * H[k * N + n];
            for (int b = 0; b < M; b++)
                Gamma[a][b] += 2.0 * D[b][b] / Vhat;
        }
    }
}

/* C with rows a and b of Phi rotated by t. Replaces the model's Phi. */
static tlnmf_error rotated_C(tlnmf_ctx *ctx, const rep_objects *own, const double Phi[M * M], int a,
                             int b, double t, double *C)
{
    double rotated[M * M];
    tlnmf_record *values = NULL;
    memcpy(rotated, Phi, sizeof rotated);
    for (int i = 0; i < M; i++) {
        rotated[a * M + i] = cos(t) * Phi[a * M + i] + sin(t) * Phi[b * M + i];
        rotated[b * M + i] = cos(t) * Phi[b * M + i] - sin(t) * Phi[a * M + i];
    }
    tlnmf_error error =
        tlnmf_record_set_array(ctx, own->model, "Phi", rotated, 2, (int64_t[]){M, M});
    if (error == TLNMF_OK)
        error = tlnmf_evaluate(ctx, own->data, own->model, &values);
    if (error == TLNMF_OK)
        *C = tlnmf_record_get_real(values, "C");
    tlnmf_record_free(values);
    return error;
}

/* The second derivative of C along each e_ab by central differences. Changes the model's Phi. */
static int fill_curvature(const rep *r, const rep_objects *own, double D[M][M])
{
    const double h = 1e-3;
    double Phi[M * M], C[3];
    memcpy(Phi, tlnmf_record_get_array(own->model, "Phi", NULL, NULL), sizeof Phi);
    for (int a = 0; a < M; a++)
        for (int b = 0; b < a; b++) {
            for (int i = 0; i < 3; i++)
                REP_TRY(rep_check(r, rotated_C(r->call->ctx, own, Phi, a, b, h * (i - 1), &C[i])));
            D[a][b] = (C[0] - 2.0 * C[1] + C[2]) / (h * h);
        }
    return EXIT_DONE;
}

/* Compares the curvature with the paper's diagonal, Gamma_ab + Gamma_ba, and with the exact one,
 * from which Gamma_aa + Gamma_bb is subtracted (13). */
static int run_hessian(rep *r, const rep_cell *cell, rep_objects *own, json_t *out)
{
    double Gamma[M][M] = {{0.0}}, D[M][M], paper = 0.0, exact = 0.0, size = 0.0;
    REP_TRY(fit_sample(r, &cell->search, own));
    fill_gamma(own, Gamma);
    REP_TRY(fill_curvature(r, own, D));
    for (int a = 0; a < M; a++)
        for (int b = 0; b < a; b++) {
            double truth = D[a][b], printed = Gamma[a][b] + Gamma[b][a];
            double full = printed - Gamma[a][a] - Gamma[b][b];
            paper += (printed - truth) * (printed - truth);
            exact += (full - truth) * (full - truth);
            size += truth * truth;
        }
    json_object_set_new(out, "error_printed", json_real(sqrt(paper / size)));
    json_object_set_new(out, "error_exact", json_real(sqrt(exact / size)));
    return EXIT_DONE;
}

/* ---- JD's gradient does not vanish ----------------------------------------------------------- */

/* |G|_F and |Ganti|_F of L, G as the paper defines it: (1/N) sum_n [Phi Sigma_n Phi']_ab / [..]_aa
 * - delta_ab. */
static int run_stop(rep *r, const rep_cell *cell, rep_objects *own, json_t *out)
{
    double G[M][M] = {{0.0}}, D[M][M], full = 0.0, anti = 0.0;
    REP_TRY(fit_sample(r, &cell->search, own));
    const double *Phi = tlnmf_record_get_array(own->model, "Phi", NULL, NULL);
    const double eps = tlnmf_record_get_real(own->model, "eps");
    for (int n = 0; n < N; n++) {
        rep_covariance(own->sample, Phi, n, D);
        for (int a = 0; a < M; a++)
            for (int b = 0; b < M; b++)
                G[a][b] += a == b ? 0.0 : D[a][b] / (D[a][a] + eps) / N;
    }
    for (int a = 0; a < M; a++)
        for (int b = 0; b < M; b++) {
            full += G[a][b] * G[a][b];
            anti += 0.25 * (G[a][b] - G[b][a]) * (G[a][b] - G[b][a]);
        }
    json_object_set_new(out, "G", json_real(sqrt(full)));
    json_object_set_new(out, "G_anti", json_real(sqrt(anti)));
    return EXIT_DONE;
}

/* ---- the experiment -------------------------------------------------------------------------- */

static void plan(rep *r)
{
    double speed = r->quick ? 0.05 : 1.0;
    rep_search run = {.set = REP_GCM, .solver = REP_PAPER, .S = 100, .method = "tl", .starts = 1};
    rep_add(r, rep_search_cell(r, REP_GCM, 10, REP_PAPER));
    rep_add(r, rep_search_cell(r, REP_GCM, 100, REP_PAPER));
    rep_add(r, (rep_cell){.name = "errata-handover",
                          .run = rep_run_search,
                          .search = {.solver = REP_PAPER, .S = 10, .whole_handover = true},
                          .cost = 7.0 * speed});
    rep_add(r, rep_updates_cell(4.0 * speed));
    rep_add(r,
            (rep_cell){.name = "errata-hessian", .run = run_hessian, .search = run, .cost = 0.1});
    run.method = "jd";
    rep_add(r, (rep_cell){.name = "errata-stop", .run = run_stop, .search = run, .cost = 0.1});
}

static void claim_updates(rep *r)
{
    const json_t *cell = rep_result(r, "errata-updates");
    double rises = rep_number(cell, "increases_printed"), none = rep_number(cell, "increases");
    rep_claim(r, NAN, rises, rep_satisfies(rises > 0.0), rep_full(r, "I is not monotone"),
              "Algorithm 3 as printed: increases of I in %d updates", r->quick ? 20 : 1000);
    rep_claim(r, NAN, none, rep_satisfies(none == 0.0), "I never increases",
              "Algorithm 3 with V + eps: increases of I");
    rep_claim(r, NAN, rep_number(cell, "I_printed"), REP_SATISFIED, "",
              "Algorithm 3 as printed: I at the end");
    rep_claim(r, NAN, rep_number(cell, "I"), REP_SATISFIED, "",
              "Algorithm 3 with V + eps: I at the end");
}

static void claim_ends(rep *r)
{
    const json_t *hessian = rep_result(r, "errata-hessian"), *stop = rep_result(r, "errata-stop");
    double printed = rep_number(hessian, "error_printed");
    double exact = rep_number(hessian, "error_exact");
    double G = rep_number(stop, "G"), anti = rep_number(stop, "G_anti");
    rep_claim(r, NAN, printed, rep_satisfies(printed > 0.1), rep_full(r, "is not the Hessian's"),
              "TL-NMF's diagonal as printed: relative error");
    rep_claim(r, NAN, exact, rep_satisfies(exact < 1e-3), "is the Hessian's",
              "TL-NMF's diagonal with its missing term: relative error");
    rep_claim(r, NAN, G, rep_satisfies(G > 1e-3), rep_full(r, "does not vanish at the end"),
              "JD's gradient G at the end: norm");
    rep_claim(r, NAN, anti, rep_satisfies(anti < 1e-6), rep_full(r, "vanishes at the end"),
              "antisymmetric part of G: norm");
}

static void claim_protocol(rep *r)
{
    double few = rep_number(rep_search_result(r, REP_GCM, 10, REP_PAPER), "I_tl");
    double many = rep_number(rep_search_result(r, REP_GCM, 100, REP_PAPER), "I_tl");
    double whole = rep_number(rep_result(r, "errata-handover"), "I_tl");
    double nested = fmax(fabs(few / I_S10 - 1.0), fabs(many / I_S100 - 1.0));
    rep_claim(r, NAN, nested, rep_satisfies(nested < 1e-6),
              rep_full(r, "not drawn anew for each S"),
              "I(TL-NMF), S=10 and S=100 from one stream: difference from the published");
    rep_claim(r, I_S10, few, rep_equals(rep_is_close(few, I_S10, 1e-6)),
              rep_full(r, "is the published"), "GCM S=10, exchange after 1000 updates: I(TL-NMF)");
    rep_claim(r, I_S10, whole, rep_satisfies(!rep_is_close(whole, I_S10, 1e-6)),
              rep_full(r, "is not the published"),
              "GCM S=10, exchange after all J J_nmf updates: I(TL-NMF)");
}

static int report(rep *r)
{
    claim_updates(r);
    claim_ends(r);
    claim_protocol(r);
    return EXIT_DONE;
}

const rep_experiment rep_errata = {"errata", plan, report};
