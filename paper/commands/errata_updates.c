/* Errata: Algorithm 3 as printed lacks eps in its numerator, so that I may rise. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { M = REP_NOTES_M, N = REP_NOTES_N, K = REP_NOTES_K };
static const double EPS = 5e-7; /* Table I */

typedef struct factors {
    double V[M * N], W[M * K], H[K * N];
    double num[M * K + K * N], den[M * K + K * N]; /* of H, then of W */
} factors;

static double model_at(const factors *f, int m, int n)
{
    double Vhat = EPS;
    for (int k = 0; k < K; k++)
        Vhat += f->W[m * K + k] * f->H[k * N + n];
    return Vhat;
}

/* (7) or (8) in plain loops, with V + `shift` in the numerator: eps, or 0 as printed. */
static void update_one(factors *f, bool is_H, double shift)
{
    memset(f->num, 0, sizeof f->num);
    memset(f->den, 0, sizeof f->den);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double Vhat = model_at(f, m, n);
            for (int k = 0; k < K; k++) {
                int at = is_H ? k * N + n : m * K + k;
                double other = is_H ? f->W[m * K + k] : f->H[k * N + n];
                f->num[at] += other * (f->V[m * N + n] + shift) / (Vhat * Vhat);
                f->den[at] += other / Vhat;
            }
        }
    double *x = is_H ? f->H : f->W;
    for (int i = 0; i < (is_H ? K * N : M * K); i++)
        x[i] *= f->den[i] > 0.0 ? f->num[i] / f->den[i] : 0.0;
}

/* (9) */
static void normalise(factors *f)
{
    for (int k = 0; k < K; k++) {
        double sum = 0.0;
        for (int m = 0; m < M; m++)
            sum += f->W[m * K + k];
        for (int m = 0; m < M; m++)
            f->W[m * K + k] /= sum;
        for (int n = 0; n < N; n++)
            f->H[k * N + n] *= sum;
    }
}

/* (4) */
static double divergence(const factors *f)
{
    double I = 0.0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double x = (f->V[m * N + n] + EPS) / model_at(f, m, n);
            I += x - log(x) - 1.0;
        }
    return I;
}

/* The power of Phi on the notes at S = 1. */
static void power(const double *Phi, const double *Y, double *V)
{
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double x = 0.0;
            for (int i = 0; i < M; i++)
                x += Phi[m * M + i] * Y[i * N + n];
            V[m * N + n] = x * x;
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
        if (rep_stops(r))
            return EXIT_INTERRUPTED;
    }
    return EXIT_DONE;
}

/* Both kinds of updates, from the W and H of the start. */
static int follow_both(rep *r, const tlnmf_record *start, factors *f, json_t *out)
{
    static const char *const keys[2][2] = {{"increases_printed", "I_printed"}, {"increases", "I"}};
    int code = EXIT_DONE;
    for (int i = 0; i < 2 && code == EXIT_DONE; i++) {
        int increases = 0;
        double I = NAN;
        memcpy(f->W, tlnmf_get_array(start, "W", NULL, NULL), sizeof f->W);
        memcpy(f->H, tlnmf_get_array(start, "H", NULL, NULL), sizeof f->H);
        code = follow(r, f, i == 0 ? 0.0 : EPS, &increases, &I);
        json_object_set_new(out, keys[i][0], json_integer(increases));
        json_object_set_new(out, keys[i][1], json_real(I));
    }
    return code;
}

/* From the first start's W and H, at the Phi that JD ends at from there. */
static int run(rep *r, const rep_cell *cell, json_t *out)
{
    tlnmf_data *data;
    tlnmf_record *jd, *sample = NULL, *start = NULL;
    factors *f = malloc(sizeof *f);
    int code = rep_find(r, &cell->search, &data, &jd);
    if (code == EXIT_DONE)
        code = rep_notes(r, &sample);
    if (code == EXIT_DONE)
        code = rep_draw_start(r, data, &cell->search, 0, &start);
    if (code == EXIT_DONE && f == NULL) {
        code = rep_no_memory(r);
    } else if (code == EXIT_DONE) {
        power(tlnmf_get_array(jd, "Phi", NULL, NULL), tlnmf_get_array(sample, "Y", NULL, NULL),
              f->V);
        code = follow_both(r, start, f, out);
    }
    free(f);
    tlnmf_record_free(start);
    tlnmf_record_free(sample);
    tlnmf_record_free(jd);
    tlnmf_data_free(data);
    return code;
}

const rep_cell rep_errata_updates = {
    .name = "errata-updates",
    .run = run,
    .cost = 4.0,
    .search = {.set = REP_NOTES, .solver = REP_PAPER, .S = 1, .method = "jd", .starts = 1},
};
