/* Rows of Phi as sinusoids (the paper's Table II): amplitude, phase, frequency by least squares. */
#include "search/search.h"

#include <math.h>
#include <stdio.h>

static const double TWO_PI = 6.283185307179586476925287;

/* The best p cos(w m) + q sin(w m) for one w, and how much of the row's energy it explains. */
typedef struct sinusoid {
    double w, p, q, explained;
} sinusoid;

static sinusoid fit_at(int64_t M, const double *row, double w)
{
    double cc = 0.0, ss = 0.0, cs = 0.0, rc = 0.0, rs = 0.0;
    for (int64_t m = 0; m < M; m++) {
        double c = cos(w * (double)m), s = sin(w * (double)m);
        cc += c * c;
        ss += s * s;
        cs += c * s;
        rc += row[m] * c;
        rs += row[m] * s;
    }
    double det = cc * ss - cs * cs;
    sinusoid fit = {.w = w};
    if (det > 1e-9 * cc * cc) {
        fit.p = (ss * rc - cs * rs) / det;
        fit.q = (cc * rs - cs * rc) / det;
    } else { /* at 0 and half the rate the sine vanishes */
        fit.p = rc / cc;
    }
    fit.explained = fit.p * rc + fit.q * rs;
    return fit;
}

/* Golden section between lo and hi, where the explained energy has one maximum. */
static sinusoid refine(int64_t M, const double *row, double lo, double hi)
{
    const double golden = 0.6180339887498949;
    sinusoid a = fit_at(M, row, hi - golden * (hi - lo)),
             b = fit_at(M, row, lo + golden * (hi - lo));
    for (int i = 0; i < 60; i++) {
        if (a.explained >= b.explained) {
            hi = b.w;
            b = a;
            a = fit_at(M, row, hi - golden * (hi - lo));
        } else {
            lo = a.w;
            a = b;
            b = fit_at(M, row, lo + golden * (hi - lo));
        }
    }
    return a.explained >= b.explained ? a : b;
}

/* A grid of an eighth of the frequency resolution cannot miss the highest lobe. */
static sinusoid fit_row(int64_t M, const double *row)
{
    int64_t steps = 4 * M;
    double h = 0.5 * TWO_PI / (double)steps;
    sinusoid best = {.explained = -1.0};
    for (int64_t i = 0; i <= steps; i++) {
        sinusoid fit = fit_at(M, row, h * (double)i);
        if (fit.explained > best.explained)
            best = fit;
    }
    sinusoid fine = refine(M, row, fmax(best.w - h, 0.0), fmin(best.w + h, 0.5 * TWO_PI));
    return fine.explained > best.explained ? fine : best;
}

static void name_note(tl_atom *atom)
{
    static const char *const names[12] = {"C",  "C#", "D",  "D#", "E",  "F",
                                          "F#", "G",  "G#", "A",  "A#", "B"};
    double midi = 69.0 + 12.0 * log2(atom->frequency / 440.0);
    atom->note[0] = '\0';
    if (!(midi >= 0.0 && midi < 1000.0))
        return;
    unsigned nearest = (unsigned)floor(midi + 0.5) % 1000u;
    atom->cents = 100.0 * (midi - nearest);
    snprintf(atom->note, sizeof atom->note, "%s%d", names[nearest % 12], (int)(nearest / 12) - 1);
}

static tl_atom describe(const tl_result *result, int64_t row, double rate)
{
    int64_t M = result->info.M;
    const double *phi = result->Phi + row * M;
    sinusoid fit = fit_row(M, phi);
    tl_atom atom = {.row = row,
                    .energy = result->energy[row],
                    .frequency = fit.w * rate / TWO_PI,
                    .amplitude = hypot(fit.p, fit.q),
                    .phase = atan2(-fit.q, fit.p)};
    for (int64_t m = 0; m < M; m++) {
        double error = phi[m] - atom.amplitude * cos(fit.w * (double)m + atom.phase);
        atom.error += error * error;
    }
    name_note(&atom);
    return atom;
}

tlnmf_error tl_result_atoms(tlnmf_ctx *ctx, const tl_result *result, double rate, tl_atom *atoms,
                               int64_t count)
{
    int64_t M = result->info.M;
    if (!(rate > 0.0 && isfinite(rate)))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "rate = %g must be positive", rate);
    if (count < 0 || count > M)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%lld atoms asked for, there are %lld",
                       (long long)count, (long long)M);
    double last = INFINITY;
    int64_t last_row = -1;
    for (int64_t i = 0; i < count; i++) { /* the next in the order (energy falling, row rising) */
        int64_t next = -1;
        for (int64_t row = 0; row < M; row++) {
            double e = result->energy[row];
            bool after = e < last || (e == last && row > last_row);
            if (after && (next < 0 || e > result->energy[next]))
                next = row;
        }
        atoms[i] = describe(result, next, rate);
        last = result->energy[next];
        last_row = next;
    }
    return TLNMF_OK;
}
