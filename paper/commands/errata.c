/* Where the paper, as printed, and its results part: each shown by a computation of its own. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double EPS_GCM = 1e-8, EPS_NOTES = 5e-7;

/* ---- Algorithm 3 lacks eps in its numerator -------------------------------------------------- */

enum { NM = TLNMF_NOTES_M, NN = TLNMF_NOTES_N, NK = 2 };

typedef struct factors {
    double V[NM * NN], W[NM * NK], H[NK * NN];
    double num[NM * NK + NK * NN], den[NM * NK + NK * NN]; /* of H, then of W */
} factors;

static double model_at(const factors *f, int m, int n)
{
    double Vhat = EPS_NOTES;
    for (int k = 0; k < NK; k++)
        Vhat += f->W[m * NK + k] * f->H[k * NN + n];
    return Vhat;
}

/* (7) or (8) in plain loops, with V + `shift` in the numerator: eps, or 0 as printed. */
static void update_one(factors *f, bool is_H, double shift)
{
    memset(f->num, 0, sizeof f->num);
    memset(f->den, 0, sizeof f->den);
    for (int m = 0; m < NM; m++)
        for (int n = 0; n < NN; n++) {
            double Vhat = model_at(f, m, n);
            for (int k = 0; k < NK; k++) {
                int at = is_H ? k * NN + n : m * NK + k;
                double other = is_H ? f->W[m * NK + k] : f->H[k * NN + n];
                f->num[at] += other * (f->V[m * NN + n] + shift) / (Vhat * Vhat);
                f->den[at] += other / Vhat;
            }
        }
    double *x = is_H ? f->H : f->W;
    for (int i = 0; i < (is_H ? NK * NN : NM * NK); i++)
        x[i] *= f->den[i] > 0.0 ? f->num[i] / f->den[i] : 0.0;
}

/* (9) */
static void normalise(factors *f)
{
    for (int k = 0; k < NK; k++) {
        double sum = 0.0;
        for (int m = 0; m < NM; m++)
            sum += f->W[m * NK + k];
        for (int m = 0; m < NM; m++)
            f->W[m * NK + k] /= sum;
        for (int n = 0; n < NN; n++)
            f->H[k * NN + n] *= sum;
    }
}

/* (4) */
static double divergence(const factors *f)
{
    double I = 0.0;
    for (int m = 0; m < NM; m++)
        for (int n = 0; n < NN; n++) {
            double x = (f->V[m * NN + n] + EPS_NOTES) / model_at(f, m, n);
            I += x - log(x) - 1.0;
        }
    return I;
}

/* The power of Phi on the notes at S = 1. */
static void power(const double *Phi, const double *Y, double *V)
{
    for (int m = 0; m < NM; m++)
        for (int n = 0; n < NN; n++) {
            double x = 0.0;
            for (int i = 0; i < NM; i++)
                x += Phi[m * NM + i] * Y[i * NN + n];
            V[m * NN + n] = x * x;
        }
}

/* How often I rises by more than rounding, and where it ends. */
static int follow(rep *r, factors *f, double shift, int *increases, double *I)
{
    int updates = r->quick ? 20 : 1000;
    double before = INFINITY;
    *increases = 0;
    for (int u = 0; u < updates; u++) {
        update_one(f, true, shift);
        update_one(f, false, shift);
        normalise(f);
        *I = divergence(f);
        *increases += *I > before * (1.0 + 1e-12);
        before = *I;
        if (rep_progress(NULL, r))
            return EXIT_INTERRUPTED;
    }
    return EXIT_DONE;
}

/* Both kinds of updates from the first start's W and H, at the Phi that JD ends at from there. */
static int follow_both(rep *r, const tlnmf_data *data, const double *Y, double *Phi, factors *f,
                       json_t *out)
{
    static const char *const keys[2][2] = {{"increases_printed", "I_printed"}, {"increases", "I"}};
    tlnmf_settings opt = rep_settings(r, REP_NOTES, TLNMF_SOLVER_PAPER, 1);
    tlnmf_result *jd;
    opt.exchange = 0;
    opt.handover = 0;
    opt.starts = 1;
    opt.method = TLNMF_METHOD_JD;
    int code = rep_fit(r, data, &opt, NULL, &jd);
    if (code != EXIT_DONE)
        return code;
    power(tlnmf_result_Phi(jd), Y, f->V);
    tlnmf_result_free(jd);
    for (int i = 0; i < 2 && code == EXIT_DONE; i++) {
        int increases = 0;
        double I = NAN;
        tlnmf_error error = tlnmf_draw_start(r->call->ctx, data, &opt, 0, Phi, f->W, f->H);
        code = error == TLNMF_OK ? follow(r, f, i == 0 ? 0.0 : EPS_NOTES, &increases, &I)
                                 : rep_fail(r, error);
        if (code != EXIT_DONE)
            return code;
        json_object_set_new(out, keys[i][0], json_integer(increases));
        json_object_set_new(out, keys[i][1], json_real(I));
    }
    return code;
}

static int run_updates(rep *r, const rep_cell *cell, json_t *out)
{
    tlnmf_data *data = NULL;
    factors *f = malloc(sizeof *f);
    double *Phi = malloc(sizeof(double) * NM * NM), *Y = rep_notes(r);
    (void)cell;
    int code = EXIT_DONE;
    if (f != NULL && Phi != NULL && Y != NULL) {
        code = rep_data(r, REP_NOTES, 1, &data);
        if (code == EXIT_DONE)
            code = follow_both(r, data, Y, Phi, f, out);
    } else {
        code = rep_no_memory(r);
    }
    tlnmf_data_free(data);
    free(Y);
    free(Phi);
    free(f);
    return code;
}

/* ---- GCM: the TL Hessian, JD's stop ---------------------------------------------------------- */

enum { M = 10, N = 50, K = 5, SQUARE = M * M };

/* C with rows a and b of Phi turned by t. */
static tlnmf_error turned(tlnmf_ctx *ctx, const tlnmf_data *data, const double *Phi,
                          const double *W, const double *H, int a, int b, double t, double *C)
{
    double Q[SQUARE], L, I;
    memcpy(Q, Phi, sizeof Q);
    for (int i = 0; i < M; i++) {
        Q[a * M + i] = cos(t) * Phi[a * M + i] + sin(t) * Phi[b * M + i];
        Q[b * M + i] = cos(t) * Phi[b * M + i] - sin(t) * Phi[a * M + i];
    }
    return tlnmf_evaluate(ctx, data, Q, W, H, K, EPS_GCM, C, &L, &I, NULL);
}

/* Gamma_ab = 2 sum_n V_bn / (W H + eps)_an, with V from the data themselves. */
static int gamma_of(rep *r, int64_t S, const double *Phi, const double *W, const double *H,
                    double Gamma[M][M])
{
    double *Y = malloc(sizeof(double) * (size_t)(S * M * N)), V[M][N] = {{0.0}};
    if (Y == NULL)
        return rep_no_memory(r);
    tlnmf_error error =
        tlnmf_simulate_gcm(r->call->ctx, S, M, N, K, 2020, 100, TLNMF_STREAM_NUMPY, Y, NULL, NULL);
    for (int64_t s = 0; error == TLNMF_OK && s < S; s++)
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                double x = 0.0;
                for (int i = 0; i < M; i++)
                    x += Phi[m * M + i] * Y[(s * M + i) * N + n];
                V[m][n] += x * x / (double)S;
            }
    free(Y);
    for (int a = 0; a < M; a++)
        for (int n = 0; n < N; n++) {
            double Vhat = EPS_GCM;
            for (int k = 0; k < K; k++)
                Vhat += W[a * K + k] * H[k * N + n];
            for (int b = 0; b < M; b++)
                Gamma[a][b] += 2.0 * V[b][n] / Vhat;
        }
    return error == TLNMF_OK ? EXIT_DONE : rep_fail(r, error);
}

/* The second derivative of C along each e_ab by differences, beside the paper's diagonal
 * Gamma_ab + Gamma_ba and the exact one, which takes off Gamma_aa + Gamma_bb (13). */
static int compare_diagonals(rep *r, const tlnmf_data *data, int64_t S, const tlnmf_result *tl,
                             json_t *out)
{
    const double *Phi = tlnmf_result_Phi(tl), *W = tlnmf_result_W(tl), *H = tlnmf_result_H(tl);
    const double h = 1e-3;
    double Gamma[M][M] = {{0.0}}, paper = 0.0, exact = 0.0, size = 0.0;
    int code = gamma_of(r, S, Phi, W, H, Gamma);
    for (int a = 0; a < M && code == EXIT_DONE; a++)
        for (int b = 0; b < a && code == EXIT_DONE; b++) {
            double C[3];
            for (int i = 0; i < 3 && code == EXIT_DONE; i++) {
                tlnmf_error error = turned(r->call->ctx, data, Phi, W, H, a, b, h * (i - 1), &C[i]);
                code = error == TLNMF_OK ? EXIT_DONE : rep_fail(r, error);
            }
            double truth = (C[0] - 2.0 * C[1] + C[2]) / (h * h);
            double printed = Gamma[a][b] + Gamma[b][a];
            double full = printed - Gamma[a][a] - Gamma[b][b];
            paper += (printed - truth) * (printed - truth);
            exact += (full - truth) * (full - truth);
            size += truth * truth;
        }
    json_object_set_new(out, "error_printed", json_real(sqrt(paper / size)));
    json_object_set_new(out, "error_exact", json_real(sqrt(exact / size)));
    return code;
}

/* |G|_F and |Ganti|_F of L at JD's end, G as the paper defines it: (1/N) sum_n
 * [Phi Sigma_n Phi']_ab / [..]_aa - delta_ab. W H = V makes C's gradient that of L. */
static int measure_stop(rep *r, int64_t S, const tlnmf_result *jd, json_t *out)
{
    const double *Phi = tlnmf_result_Phi(jd);
    double *Y = malloc(sizeof(double) * (size_t)(S * M * N)), G[M][M] = {{0.0}};
    if (Y == NULL)
        return rep_no_memory(r);
    tlnmf_error error =
        tlnmf_simulate_gcm(r->call->ctx, S, M, N, K, 2020, 100, TLNMF_STREAM_NUMPY, Y, NULL, NULL);
    for (int n = 0; error == TLNMF_OK && n < N; n++) {
        double D[M][M] = {{0.0}};
        for (int64_t s = 0; s < S; s++) {
            double x[M] = {0.0};
            for (int a = 0; a < M; a++)
                for (int i = 0; i < M; i++)
                    x[a] += Phi[a * M + i] * Y[(s * M + i) * N + n];
            for (int a = 0; a < M; a++)
                for (int b = 0; b < M; b++)
                    D[a][b] += x[a] * x[b] / (double)S;
        }
        for (int a = 0; a < M; a++)
            for (int b = 0; b < M; b++)
                G[a][b] += a == b ? 0.0 : D[a][b] / (D[a][a] + EPS_GCM) / N;
    }
    free(Y);
    double full = 0.0, anti = 0.0;
    for (int a = 0; a < M; a++)
        for (int b = 0; b < M; b++) {
            full += G[a][b] * G[a][b];
            anti += 0.25 * (G[a][b] - G[b][a]) * (G[a][b] - G[b][a]);
        }
    json_object_set_new(out, "G", json_real(sqrt(full)));
    json_object_set_new(out, "G_anti", json_real(sqrt(anti)));
    return error == TLNMF_OK ? EXIT_DONE : rep_fail(r, error);
}

/* TL-NMF's Hessian or JD's stop, by the method, at the end of a run from the first start. */
static int run_at_end(rep *r, const rep_cell *cell, json_t *out)
{
    const int64_t S = 100;
    bool is_jd = cell->B == TLNMF_METHOD_JD;
    tlnmf_data *data;
    tlnmf_result *result = NULL;
    int code = rep_data(r, REP_GCM, S, &data);
    if (code == EXIT_DONE) {
        tlnmf_settings opt = rep_settings(r, REP_GCM, TLNMF_SOLVER_PAPER, S);
        opt.exchange = 0;
        opt.handover = 0;
        opt.starts = 1;
        opt.method = (int32_t)cell->B;
        code = rep_fit(r, data, &opt, NULL, &result);
    }
    if (code == EXIT_DONE)
        code = is_jd ? measure_stop(r, S, result, out) : compare_diagonals(r, data, S, result, out);
    tlnmf_result_free(result);
    tlnmf_data_free(data);
    return code;
}

/* The exchange with all J J_nmf updates of Algorithm 2 before TL-NMF starts from JD's results. */
static int run_handover(rep *r, const rep_cell *cell, json_t *out)
{
    (void)cell;
    tlnmf_settings opt = rep_settings(r, REP_GCM, TLNMF_SOLVER_PAPER, 10);
    opt.handover = 0;
    tlnmf_data *data;
    int code = rep_data(r, REP_GCM, 10, &data);
    return code == EXIT_DONE ? rep_search_gcm(r, data, &opt, out) : code;
}

static void plan(rep *r)
{
    double speed = r->quick ? 0.05 : 1.0;
    for (int64_t S = 10; S <= 100; S *= 10) {
        rep_cell search = rep_search_cell(r, REP_GCM, S, TLNMF_SOLVER_PAPER);
        rep_add(r, &search);
    }
    rep_add(r, &(rep_cell){.name = "errata-handover", .run = run_handover, .cost = 7.0 * speed});
    rep_add(r, &(rep_cell){.name = "errata-updates", .run = run_updates, .cost = 4.0 * speed});
    rep_add(r, &(rep_cell){
                   .name = "errata-hessian", .run = run_at_end, .cost = 0.1, .B = TLNMF_METHOD_TL});
    rep_add(r, &(rep_cell){
                   .name = "errata-stop", .run = run_at_end, .cost = 0.1, .B = TLNMF_METHOD_JD});
}

static int report(rep *r)
{
    const json_t *updates = rep_result(r, "errata-updates");
    const json_t *hessian = rep_result(r, "errata-hessian"), *stop = rep_result(r, "errata-stop");
    const json_t *all = rep_result(r, "errata-handover");
    const json_t *few = rep_result(r, rep_search_cell(r, REP_GCM, 10, TLNMF_SOLVER_PAPER).name);
    const json_t *many = rep_result(r, rep_search_cell(r, REP_GCM, 100, TLNMF_SOLVER_PAPER).name);
    double rises = rep_number(updates, "increases_printed"),
           none = rep_number(updates, "increases");
    bool full = !r->quick;
    rep_row_add(r, "errata", NAN, rises, rises > 0.0, full ? "I is not monotone" : "",
                "Algorithm 3 as printed: increases of I in %d updates", r->quick ? 20 : 1000);
    rep_row_add(r, "errata", NAN, none, none == 0.0, "I never rises",
                "Algorithm 3 with V + eps: increases of I");
    rep_row_add(r, "errata", NAN, rep_number(updates, "I_printed"), true, "",
                "Algorithm 3 as printed: I at the end");
    rep_row_add(r, "errata", NAN, rep_number(updates, "I"), true, "",
                "Algorithm 3 with V + eps: I at the end");
    rep_row_add(r, "errata", NAN, rep_number(hessian, "error_printed"),
                rep_number(hessian, "error_printed") > 0.1, full ? "is not the Hessian's" : "",
                "TL-NMF's diagonal as printed: relative error");
    rep_row_add(r, "errata", NAN, rep_number(hessian, "error_exact"),
                rep_number(hessian, "error_exact") < 1e-3, "is the Hessian's",
                "TL-NMF's diagonal with its missing term: relative error");
    rep_row_add(r, "errata", NAN, rep_number(stop, "G"), rep_number(stop, "G") > 1e-3,
                full ? "does not vanish at the end" : "", "JD's gradient G at its end: norm");
    rep_row_add(r, "errata", NAN, rep_number(stop, "G_anti"), rep_number(stop, "G_anti") < 1e-6,
                full ? "vanishes at the end" : "", "its antisymmetric part: norm");
    double nested = fmax(fabs(rep_number(few, "I_tl") / 21.627583 - 1.0),
                         fabs(rep_number(many, "I_tl") / 2.2326012 - 1.0));
    rep_row_add(r, "errata", NAN, nested, nested < 1e-6, full ? "not drawn anew for each S" : "",
                "I(TL-NMF) published for S=10, S=100 against those of one stream");
    rep_row_add(r, "errata", 21.627583, rep_number(few, "I_tl"),
                rep_is_close(rep_number(few, "I_tl"), 21.627583, 1e-6),
                full ? "is the published" : "", "GCM S=10, exchange after 1000 updates: I(TL-NMF)");
    rep_row_add(r, "errata", 21.627583, rep_number(all, "I_tl"),
                !rep_is_close(rep_number(all, "I_tl"), 21.627583, 1e-6),
                full ? "is not the published" : "",
                "GCM S=10, exchange after all J J_nmf updates: I(TL-NMF)");
    return EXIT_DONE;
}

const rep_experiment rep_errata = {"errata", "where the paper as printed and its results part",
                                   plan, report};
