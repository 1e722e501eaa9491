/* The data of the paper's experiments: GCM, its true covariances, and the music notes. */
#include "paper/experiments/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The phases of the first ten realisations of the authors' notes, which reproduce their data for
 * S = 1 and S = 10. The other phases are not known and are drawn here. */
static const uint64_t PHASES_SEED = 7;
enum { KNOWN_PHASES = 20 };
static const double known_phases[KNOWN_PHASES] = {
    4.566139588724956,  5.105464657836703,    0.2449613913090589, 5.153115826666694,
    3.4203100177108436, 0.027070506989782122, 1.196935609829323,  2.850363993678152,
    5.46327257289301,   5.476779534871654,    0.4373918919838481, 5.512620373054259,
    5.46113699868618,   2.463911211959506,    4.475390176713075,  0.3057042255931498,
    2.0970839871027898, 5.167942064571887,    4.424665146296706,  5.442874783303953};

/* ---- GCM ------------------------------------------------------------------------------------- */

int rep_gcm(const rep *r, int64_t S, tlnmf_record **sample)
{
    tlnmf_settings *settings;
    char options[128];
    snprintf(options, sizeof options,
             "s=%lld m=%d n=%d kbar=%d seed-truth=2020 seed-data=100 stream=numpy", (long long)S,
             REP_GCM_M, REP_GCM_N, REP_GCM_K);
    int code = rep_settings(r, "gcm", options, &settings);
    *sample = NULL;
    if (code == EXIT_DONE)
        code = rep_check(r, tlnmf_simulate_gcm(r->call->ctx, settings, sample));
    tlnmf_settings_free(settings);
    return code;
}

void rep_covariance(const tlnmf_record *sample, const double *Phi, int n,
                    double D[REP_GCM_M][REP_GCM_M])
{
    enum { M = REP_GCM_M, N = REP_GCM_N };
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *Y = tlnmf_record_get_array(sample, "Y", NULL, shape);
    const int64_t S = shape[0];
    memset(D, 0, M * sizeof *D);
    for (int64_t s = 0; s < S; s++) {
        double x[M] = {0.0};
        for (int a = 0; a < M; a++)
            for (int i = 0; i < M; i++)
                x[a] += Phi[a * M + i] * Y[(s * M + i) * N + n];
        for (int a = 0; a < M; a++)
            for (int b = 0; b < M; b++)
                D[a][b] += x[a] * x[b] / (double)S;
    }
}

/* Adds Sigma_n = Phibar' Diag(Wbar Hbar_n) Phibar, for all n. */
static void true_covariances(const tlnmf_record *sample, double *Sigma)
{
    enum { M = REP_GCM_M, N = REP_GCM_N, K = REP_GCM_K };
    const double *Phibar = tlnmf_record_get_array(sample, "Phi", NULL, NULL);
    const double *W = tlnmf_record_get_array(sample, "W", NULL, NULL);
    const double *H = tlnmf_record_get_array(sample, "H", NULL, NULL);
    for (int n = 0; n < N; n++)
        for (int m = 0; m < M; m++) {
            double v = 0.0;
            for (int k = 0; k < K; k++)
                v += W[m * K + k] * H[k * N + n];
            for (int i = 0; i < M; i++)
                for (int j = 0; j < M; j++)
                    Sigma[(n * M + i) * M + j] += v * Phibar[m * M + i] * Phibar[m * M + j];
        }
}

static int gcm_data(const rep *r, int64_t S, tlnmf_data **out)
{
    enum { M = REP_GCM_M, N = REP_GCM_N };
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_record *sample;
    tlnmf_error error;
    REP_TRY(rep_gcm(r, S == REP_INFINITE ? 1 : S, &sample));
    if (S == REP_INFINITE) {
        const int64_t shape[] = {N, M, M};
        double *Sigma;
        error = tlnmf_record_new_array(ctx, sample, "Sigma", 3, shape, &Sigma);
        if (error == TLNMF_OK) {
            true_covariances(sample, Sigma);
            error = tlnmf_data_from_covariances(ctx, Sigma, shape, out);
        }
    } else {
        const double *Y = tlnmf_record_get_array(sample, "Y", NULL, NULL);
        error = tlnmf_data_from_realisations(ctx, Y, (int64_t[]){S, M, N}, out);
    }
    tlnmf_record_free(sample);
    return rep_check(r, error);
}

/* ---- music notes ----------------------------------------------------------------------------- */

int rep_notes(const rep *r, tlnmf_record **sample)
{
    return rep_check(r, tlnmf_simulate_notes(r->call->ctx, known_phases, 1, sample));
}

/* cos and sin of theta and 2 theta of both notes. The frames are linear in these eight numbers. */
enum { TRIG = 8, NOTE_SIZE = REP_NOTES_M * REP_NOTES_N, BASIS_SIZE = TRIG * NOTE_SIZE };

static void trig(const double theta[2], double c[TRIG])
{
    for (int64_t i = 0; i < 2; i++) {
        c[4 * i] = cos(theta[i]);
        c[4 * i + 1] = sin(theta[i]);
        c[4 * i + 2] = cos(2.0 * theta[i]);
        c[4 * i + 3] = sin(2.0 * theta[i]);
    }
}

/* The factors of the eight numbers, TRIG x 200 x 151: Fourier coefficients of the frames over eight
 * phases of one note. The phase of the other note is constant and has no effect. */
static tlnmf_error note_basis(tlnmf_ctx *ctx, double *basis)
{
    for (int64_t i = 0; i < BASIS_SIZE; i++)
        basis[i] = 0.0;
    for (int64_t note = 0; note < 2; note++)
        for (int j = 0; j < TRIG; j++) {
            double theta[2] = {0.0, 0.0}, c[TRIG];
            tlnmf_record *sample;
            theta[note] = 6.283185307179586 * j / TRIG;
            tlnmf_error error = tlnmf_simulate_notes(ctx, theta, 1, &sample);
            if (error != TLNMF_OK)
                return error;
            const double *Y = tlnmf_record_get_array(sample, "Y", NULL, NULL);
            trig(theta, c);
            for (int64_t i = 4 * note; i < 4 * note + 4; i++)
                for (int64_t e = 0; e < NOTE_SIZE; e++)
                    basis[i * NOTE_SIZE + e] += 0.25 * c[i] * Y[e];
            tlnmf_record_free(sample);
        }
    return TLNMF_OK;
}

/* F with F F' = (1/S) sum_s c_s c_s', lower triangular (Cholesky). */
static void factor_phases(int64_t S, const double *theta, double F[TRIG][TRIG])
{
    memset(F, 0, TRIG * sizeof *F);
    for (int64_t s = 0; s < S; s++) {
        double c[TRIG];
        trig(theta + 2 * s, c);
        for (int i = 0; i < TRIG; i++)
            for (int j = 0; j <= i; j++)
                F[i][j] += c[i] * c[j] / (double)S;
    }
    for (int j = 0; j < TRIG; j++)
        for (int i = j; i < TRIG; i++) {
            for (int k = 0; k < j; k++)
                F[i][j] -= F[i][k] * F[j][k];
            F[i][j] = i == j ? sqrt(fmax(F[j][j], 0.0)) : F[j][j] > 0.0 ? F[i][j] / F[j][j] : 0.0;
        }
}

/* Eight realisations Y with the covariances of S realisations, which would take a gigabyte at
 * S = 5000. There are more of them than known phases; the other phases are drawn. */
static tlnmf_error fill_drawn(tlnmf_ctx *ctx, int64_t S, double *theta, double *basis, double *Y)
{
    double F[TRIG][TRIG];
    memcpy(theta, known_phases, sizeof known_phases);
    tlnmf_error error = tlnmf_random_phases(ctx, PHASES_SEED, TLNMF_STREAM_NUMPY,
                                            2 * S - KNOWN_PHASES, theta + KNOWN_PHASES);
    if (error == TLNMF_OK)
        error = note_basis(ctx, basis);
    if (error != TLNMF_OK)
        return error;
    factor_phases(S, theta, F);
    for (int64_t e = 0; e < BASIS_SIZE; e++) {
        int64_t j = e / NOTE_SIZE;
        Y[e] = 0.0;
        for (int64_t i = j; i < TRIG; i++)
            Y[e] += sqrt(TRIG) * F[i][j] * basis[i * NOTE_SIZE + e % NOTE_SIZE];
    }
    return TLNMF_OK;
}

static int drawn_notes(const rep *r, int64_t S, tlnmf_data **out)
{
    const int64_t shape[] = {TRIG, REP_NOTES_M, REP_NOTES_N};
    tlnmf_ctx *ctx = r->call->ctx;
    double *theta = malloc((size_t)(2 * (S + BASIS_SIZE)) * sizeof *theta);
    if (theta == NULL)
        return rep_no_memory(r);
    double *basis = theta + 2 * S, *Y = basis + BASIS_SIZE;
    tlnmf_error error = fill_drawn(ctx, S, theta, basis, Y);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, Y, shape, out);
    free(theta);
    return rep_check(r, error);
}

/* The notes with the authors' phases, or the local averages of one realisation. */
static int known_notes(const rep *r, const rep_search *search, tlnmf_data **out)
{
    const int64_t shape[] = {search->S, REP_NOTES_M, REP_NOTES_N};
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_record *sample;
    tlnmf_error error = tlnmf_simulate_notes(ctx, known_phases, search->S, &sample);
    if (error == TLNMF_OK) {
        const double *Y = tlnmf_record_get_array(sample, "Y", NULL, NULL);
        error = search->B == 0
                    ? tlnmf_data_from_realisations(ctx, Y, shape, out)
                    : tlnmf_data_from_neighbours(ctx, Y, shape, search->kind, search->B, out);
    }
    tlnmf_record_free(sample);
    return rep_check(r, error);
}

int rep_data(const rep *r, const rep_search *search, tlnmf_data **out)
{
    *out = NULL;
    if (search->set == REP_GCM)
        return gcm_data(r, search->S, out);
    return 2 * search->S <= KNOWN_PHASES ? known_notes(r, search, out)
                                         : drawn_notes(r, search->S, out);
}
