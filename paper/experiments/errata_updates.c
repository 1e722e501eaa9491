/* Errata: Algorithm 3 as printed lacks eps in its numerator, so I may increase. */
#include "paper/experiments/reproduce.h"

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

/* Stores how often I increases by more than rounding, and its last value. */
static int follow(rep *r, factors *f, double shift, const char *const keys[2], json_t *out)
{
    double I = INFINITY;
    int increases = 0;
    for (int updates = r->quick ? 20 : 1000; updates > 0; updates--) {
        double before = I;
        update_one(f, true, shift);
        update_one(f, false, shift);
        normalise(f);
        I = divergence(f);
        increases += I > before * (1.0 + 1e-12);
        if (cli_progress_poll())
            return EXIT_INTERRUPTED;
    }
    json_object_set_new(out, keys[0], json_integer(increases));
    json_object_set_new(out, keys[1], json_real(I));
    return EXIT_DONE;
}

/* Both kinds of updates, from the W and H of the start. */
static int follow_both(rep *r, const rep_objects *own, factors *f, json_t *out)
{
    static const char *const keys[2][2] = {{"increases_printed", "I_printed"}, {"increases", "I"}};
    power(tlnmf_record_get_array(own->model, "Phi", NULL, NULL),
          tlnmf_record_get_array(own->sample, "Y", NULL, NULL), f->V);
    for (int i = 0; i < 2; i++) {
        memcpy(f->W, tlnmf_record_get_array(own->start, "W", NULL, NULL), sizeof f->W);
        memcpy(f->H, tlnmf_record_get_array(own->start, "H", NULL, NULL), sizeof f->H);
        REP_TRY(follow(r, f, i == 0 ? 0.0 : EPS, keys[i], out));
    }
    return EXIT_DONE;
}

/* From the first start's W and H, at the Phi that JD finds from there. */
static int run(rep *r, const rep_cell *cell, rep_objects *own, json_t *out)
{
    REP_TRY(rep_find(r, &cell->search, own));
    REP_TRY(rep_notes(r, &own->sample));
    REP_TRY(rep_draw_start(r, own->data, &cell->search, 0, &own->start));
    factors *f = malloc(sizeof *f);
    int code = f == NULL ? rep_no_memory(r) : follow_both(r, own, f, out);
    free(f);
    return code;
}

rep_cell rep_updates_cell(double cost)
{
    return (rep_cell){
        .name = "errata-updates",
        .run = run,
        .cost = cost,
        .search = {.set = REP_NOTES, .solver = REP_PAPER, .S = 1, .method = "jd", .starts = 1}};
}
