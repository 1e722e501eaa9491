/* Errata at the ends of GCM runs: TL-NMF's Hessian lacks a term, JD's gradient does not vanish. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <string.h>

enum { M = REP_GCM_M, N = REP_GCM_N, K = REP_GCM_K, SQUARE = M * M };
static const double EPS = 1e-8; /* Table I */

/* Where a run ended, and what it ran on. */
typedef struct end {
    tlnmf_data *data;
    tlnmf_record *model, *sample;
    int64_t S;
} end;

typedef int (*measure)(const rep *r, const end *e, json_t *out);

static int measure_end(const rep *r, const rep_search *search, measure what, json_t *out)
{
    end e = {.S = search->S};
    int code = rep_find(r, search, &e.data, &e.model);
    if (code == EXIT_DONE)
        code = rep_gcm(r, e.S, &e.sample);
    if (code == EXIT_DONE)
        code = what(r, &e, out);
    tlnmf_record_free(e.sample);
    tlnmf_record_free(e.model);
    tlnmf_data_free(e.data);
    return code;
}

/* ---- TL-NMF's Hessian ------------------------------------------------------------------------ */

/* Gamma_ab = 2 sum_n V_bn / (W H + eps)_an, with V from the realisations themselves. */
static void fill_gamma(const end *e, double Gamma[M][M])
{
    const double *Y = tlnmf_get_array(e->sample, "Y", NULL, NULL);
    const double *Phi = tlnmf_get_array(e->model, "Phi", NULL, NULL);
    const double *W = tlnmf_get_array(e->model, "W", NULL, NULL);
    const double *H = tlnmf_get_array(e->model, "H", NULL, NULL);
    double V[M][N] = {{0.0}};
    for (int64_t s = 0; s < e->S; s++)
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                double x = 0.0;
                for (int i = 0; i < M; i++)
                    x += Phi[m * M + i] * Y[(s * M + i) * N + n];
                V[m][n] += x * x / (double)e->S;
            }
    for (int a = 0; a < M; a++)
        for (int n = 0; n < N; n++) {
            double Vhat = EPS;
            for (int k = 0; k < K; k++)
                Vhat += W[a * K + k] * H[k * N + n];
            for (int b = 0; b < M; b++)
                Gamma[a][b] += 2.0 * V[b][n] / Vhat;
        }
}

/* A point with the model's W, H and eps; Phi is for the caller to set. */
static tlnmf_error make_point(tlnmf_ctx *ctx, const tlnmf_record *model, tlnmf_record **point)
{
    const double *W = tlnmf_get_array(model, "W", NULL, NULL);
    const double *H = tlnmf_get_array(model, "H", NULL, NULL);
    tlnmf_error error = tlnmf_record_create(ctx, point);
    if (error == TLNMF_OK)
        error = tlnmf_set_array(ctx, *point, "W", W, 2, (int64_t[]){M, K});
    if (error == TLNMF_OK)
        error = tlnmf_set_array(ctx, *point, "H", H, 2, (int64_t[]){K, N});
    if (error == TLNMF_OK)
        error = tlnmf_set_real(ctx, *point, "eps", EPS);
    return error;
}

/* C with rows a and b of the model's Phi turned by t. */
static tlnmf_error turned(tlnmf_ctx *ctx, const end *e, tlnmf_record *point, int a, int b, double t,
                          double *C)
{
    const double *Phi = tlnmf_get_array(e->model, "Phi", NULL, NULL);
    double Q[SQUARE];
    tlnmf_record *values = NULL;
    memcpy(Q, Phi, sizeof Q);
    for (int i = 0; i < M; i++) {
        Q[a * M + i] = cos(t) * Phi[a * M + i] + sin(t) * Phi[b * M + i];
        Q[b * M + i] = cos(t) * Phi[b * M + i] - sin(t) * Phi[a * M + i];
    }
    tlnmf_error error = tlnmf_set_array(ctx, point, "Phi", Q, 2, (int64_t[]){M, M});
    if (error == TLNMF_OK)
        error = tlnmf_evaluate(ctx, e->data, point, &values);
    if (error == TLNMF_OK)
        *C = tlnmf_get_real(values, "C");
    tlnmf_record_free(values);
    return error;
}

/* The second derivative of C along each e_ab by central differences. */
static tlnmf_error fill_curvature(tlnmf_ctx *ctx, const end *e, double D[M][M])
{
    const double h = 1e-3;
    tlnmf_record *point = NULL;
    tlnmf_error error = make_point(ctx, e->model, &point);
    for (int a = 0; a < M; a++)
        for (int b = 0; b < a; b++) {
            double C[3] = {0.0};
            for (int i = 0; i < 3 && error == TLNMF_OK; i++)
                error = turned(ctx, e, point, a, b, h * (i - 1), &C[i]);
            D[a][b] = (C[0] - 2.0 * C[1] + C[2]) / (h * h);
        }
    tlnmf_record_free(point);
    return error;
}

/* The curvature beside the paper's diagonal, Gamma_ab + Gamma_ba, and beside the exact one, from
 * which Gamma_aa + Gamma_bb is subtracted (13). */
static int compare_diagonals(const rep *r, const end *e, json_t *out)
{
    double Gamma[M][M] = {{0.0}}, D[M][M], paper = 0.0, exact = 0.0, size = 0.0;
    int code = rep_check(r, fill_curvature(r->call->ctx, e, D));
    if (code != EXIT_DONE)
        return code;
    fill_gamma(e, Gamma);
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

static int run_hessian(rep *r, const rep_cell *cell, json_t *out)
{
    return measure_end(r, &cell->search, compare_diagonals, out);
}

/* ---- JD's stop ------------------------------------------------------------------------------- */

/* Phi Sigma_n Phi' of frame n, from the realisations. */
static void fill_covariance(const end *e, int n, double D[M][M])
{
    const double *Y = tlnmf_get_array(e->sample, "Y", NULL, NULL);
    const double *Phi = tlnmf_get_array(e->model, "Phi", NULL, NULL);
    memset(D, 0, SQUARE * sizeof(double));
    for (int64_t s = 0; s < e->S; s++) {
        double x[M] = {0.0};
        for (int a = 0; a < M; a++)
            for (int i = 0; i < M; i++)
                x[a] += Phi[a * M + i] * Y[(s * M + i) * N + n];
        for (int a = 0; a < M; a++)
            for (int b = 0; b < M; b++)
                D[a][b] += x[a] * x[b] / (double)e->S;
    }
}

/* |G|_F and |Ganti|_F of L, G as the paper defines it: (1/N) sum_n [Phi Sigma_n Phi']_ab / [..]_aa
 * - delta_ab. */
static int measure_gradient(const rep *r, const end *e, json_t *out)
{
    double G[M][M] = {{0.0}}, D[M][M], full = 0.0, anti = 0.0;
    (void)r;
    for (int n = 0; n < N; n++) {
        fill_covariance(e, n, D);
        for (int a = 0; a < M; a++)
            for (int b = 0; b < M; b++)
                G[a][b] += a == b ? 0.0 : D[a][b] / (D[a][a] + EPS) / N;
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

static int run_stop(rep *r, const rep_cell *cell, json_t *out)
{
    return measure_end(r, &cell->search, measure_gradient, out);
}

const rep_cell rep_errata_hessian = {
    .name = "errata-hessian",
    .run = run_hessian,
    .cost = 0.1,
    .search = {.set = REP_GCM, .solver = REP_PAPER, .S = 100, .method = "tl", .starts = 1},
};

const rep_cell rep_errata_stop = {
    .name = "errata-stop",
    .run = run_stop,
    .cost = 0.1,
    .search = {.set = REP_GCM, .solver = REP_PAPER, .S = 100, .method = "jd", .starts = 1},
};
