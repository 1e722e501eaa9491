/* The data of the paper's experiments: GCM, its true covariances, and the music notes. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t NOTES_PHASES = 7; /* seed of the phases that are drawn */

/* The phases of the first ten realisations of the authors' notes: with them their S = 1 and S = 10
 * can be made again. Their other phases are not known, and are drawn here. */
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
    rep_settings s = rep_settings_new(r, "gcm");
    rep_set_integer(&s, "s", S);
    rep_set_integer(&s, "m", REP_GCM_M);
    rep_set_integer(&s, "n", REP_GCM_N);
    rep_set_integer(&s, "kbar", REP_GCM_K);
    rep_set_integer(&s, "seed-truth", 2020);
    rep_set_integer(&s, "seed-data", 100);
    rep_set_text(&s, "stream", "numpy");
    *sample = NULL;
    if (s.error == TLNMF_OK)
        s.error = tlnmf_simulate_gcm(s.ctx, s.settings, sample);
    tlnmf_settings_free(s.settings);
    return rep_check(r, s.error);
}

/* Sigma_n = Phibar' Diag(Wbar Hbar_n) Phibar, for all n. */
static void true_covariances(const tlnmf_record *sample, double *Sigma)
{
    enum { M = REP_GCM_M, N = REP_GCM_N, K = REP_GCM_K };
    const double *Phibar = tlnmf_get_array(sample, "Phi", NULL, NULL);
    const double *W = tlnmf_get_array(sample, "W", NULL, NULL);
    const double *H = tlnmf_get_array(sample, "H", NULL, NULL);
    memset(Sigma, 0, sizeof(double) * N * M * M);
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
    double Sigma[REP_GCM_N * REP_GCM_M * REP_GCM_M];
    tlnmf_record *sample;
    int code = rep_gcm(r, S == REP_INFINITE ? 1 : S, &sample);
    if (code == EXIT_DONE && S == REP_INFINITE) {
        true_covariances(sample, Sigma);
        code = rep_check(
            r, tlnmf_data_from_covariances(r->call->ctx, Sigma,
                                           (int64_t[]){REP_GCM_N, REP_GCM_M, REP_GCM_M}, out));
    } else if (code == EXIT_DONE) {
        code = rep_check(
            r, tlnmf_data_from_realisations(r->call->ctx, tlnmf_get_array(sample, "Y", NULL, NULL),
                                            (int64_t[]){S, REP_GCM_M, REP_GCM_N}, out));
    }
    tlnmf_record_free(sample);
    return code;
}

/* ---- music notes ----------------------------------------------------------------------------- */

int rep_notes(const rep *r, tlnmf_record **sample)
{
    return rep_check(r, tlnmf_simulate_notes(r->call->ctx, known_phases, 1, sample));
}

/* cos, sin of theta and 2 theta of both notes: the frames are linear in these eight numbers. */
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

/* What each of the eight numbers multiplies, TRIG x 200 x 151: Fourier coefficients of the frames
 * over eight phases of one note. The other note's phase is constant and so without effect. */
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
            const double *Y = tlnmf_get_array(sample, "Y", NULL, NULL);
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

/* Eight realisations with the covariances of S: 5000 of them would take a gigabyte. */
static tlnmf_error many_notes(tlnmf_ctx *ctx, int64_t S, const double *theta, double *Y,
                              tlnmf_data **out)
{
    double F[TRIG][TRIG], *basis = Y + BASIS_SIZE;
    tlnmf_error error = note_basis(ctx, basis);
    if (error != TLNMF_OK)
        return error;
    factor_phases(S, theta, F);
    for (int64_t e = 0; e < BASIS_SIZE; e++) {
        int64_t j = e / NOTE_SIZE;
        Y[e] = 0.0;
        for (int64_t i = j; i < TRIG; i++)
            Y[e] += sqrt(TRIG) * F[i][j] * basis[i * NOTE_SIZE + e % NOTE_SIZE];
    }
    return tlnmf_data_from_realisations(ctx, Y, (int64_t[]){TRIG, REP_NOTES_M, REP_NOTES_N}, out);
}

/* More realisations than there are known phases: the others are drawn. */
static int drawn_notes(const rep *r, int64_t S, tlnmf_data **out)
{
    double *theta = malloc((size_t)(2 * S) * sizeof *theta);
    double *Y = malloc((size_t)2 * BASIS_SIZE * sizeof *Y); /* and the basis */
    int code;
    if (theta != NULL && Y != NULL) {
        memcpy(theta, known_phases, sizeof known_phases);
        code = rep_check(r, tlnmf_random_phases(r->call->ctx, NOTES_PHASES, TLNMF_STREAM_NUMPY,
                                                2 * S - KNOWN_PHASES, theta + KNOWN_PHASES));
        if (code == EXIT_DONE)
            code = rep_check(r, many_notes(r->call->ctx, S, theta, Y, out));
    } else {
        code = rep_no_memory(r);
    }
    free(theta);
    free(Y);
    return code;
}

/* The notes with the authors' phases, or the local averages of one realisation. */
static int known_notes(const rep *r, const rep_search *search, tlnmf_data **out)
{
    const int64_t shape[] = {search->S, REP_NOTES_M, REP_NOTES_N};
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_record *sample;
    tlnmf_error error = tlnmf_simulate_notes(ctx, known_phases, search->S, &sample);
    if (error == TLNMF_OK) {
        const double *Y = tlnmf_get_array(sample, "Y", NULL, NULL);
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
