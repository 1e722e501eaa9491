/* Rows of Phi as sinusoids (the paper's Table II): amplitude, phase, frequency by least squares. */
#include "base/record.h"
#include "linalg/linalg.h"

#include <math.h>
#include <stdio.h>

static const double TWO_PI = 6.283185307179586476925287;

/* The best p cos(w m) + q sin(w m) for one w, and how much of the row's energy it explains. */
typedef struct sinusoid {
    double w, p, q, explained;
} sinusoid;

/* Cosine and sine are rotated by w per sample and recomputed every EXACT samples, which
 * keeps them within a few units of rounding at a fraction of the calls. */
static sinusoid fit_at(int64_t M, const double *row, double w)
{
    enum { EXACT = 16 };
    double cc = 0.0, ss = 0.0, cs = 0.0, rc = 0.0, rs = 0.0;
    double c = 1.0, s = 0.0, turn_c = cos(w), turn_s = sin(w);
    for (int64_t m = 0; m < M; m++) {
        if (m % EXACT == 0) {
            c = cos(w * (double)m);
            s = sin(w * (double)m);
        }
        cc += c * c;
        ss += s * s;
        cs += c * s;
        rc += row[m] * c;
        rs += row[m] * s;
        double turned = c * turn_c - s * turn_s;
        s = s * turn_c + c * turn_s;
        c = turned;
    }
    double det = cc * ss - cs * cs;
    sinusoid fit = {.w = w};
    if (det > 1e-9 * cc * cc) {
        fit.p = (ss * rc - cs * rs) / det;
        fit.q = (cc * rs - cs * rc) / det;
    } else { /* at frequency 0 and at half the rate the sine vanishes */
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

/* The grid spacing is an eighth of the frequency resolution: it cannot miss the highest lobe. */
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

enum { ROW, ENERGY, FREQUENCY, AMPLITUDE, PHASE, ERROR, KEY, CENTS, COLUMNS, NOTE_SIZE = 8 };

/* The nearest note, A4 = 440 Hz: its MIDI number (NaN below C-1), the distance from it in cents,
 * and its name ("" below C-1). */
static void name_note(double frequency, double *key, double *cents, char note[NOTE_SIZE])
{
    static const char *const names[12] = {"C",  "C#", "D",  "D#", "E",  "F",
                                          "F#", "G",  "G#", "A",  "A#", "B"};
    double midi = 69.0 + 12.0 * log2(frequency / 440.0);
    *key = NAN;
    if (!(midi >= 0.0 && midi < 1000.0))
        return;
    unsigned nearest = (unsigned)floor(midi + 0.5) % 1000u;
    *key = nearest;
    *cents = 100.0 * (midi - nearest);
    snprintf(note, NOTE_SIZE, "%s%d", names[nearest % 12], (int)(nearest / 12) - 1);
}

/* Fits amplitude cos(2 pi frequency m / rate + phase), m = 0 .. M-1, to a row of Phi. The error is
 * || row - fit ||^2; the row has norm 1. Writes entry i of the columns that follow from the fit. */
static void describe(int64_t M, const double *row, double rate, double *const x[COLUMNS], int64_t i,
                     char note[NOTE_SIZE])
{
    sinusoid fit = fit_row(M, row);
    double amplitude = hypot(fit.p, fit.q), phase = atan2(-fit.q, fit.p);
    x[FREQUENCY][i] = fit.w * rate / TWO_PI;
    x[AMPLITUDE][i] = amplitude;
    x[PHASE][i] = phase;
    for (int64_t m = 0; m < M; m++) {
        double error = row[m] - amplitude * cos(fit.w * (double)m + phase);
        x[ERROR][i] += error * error;
    }
    name_note(x[FREQUENCY][i], &x[KEY][i], &x[CENTS][i], note);
}

/* The row after `last` by descending energy, then by ascending number; last = -1: the first. */
static int64_t next_row(int64_t M, const double *energy, int64_t last)
{
    int64_t next = -1;
    double limit = last < 0 ? (double)INFINITY : energy[last];
    for (int64_t row = 0; row < M; row++) {
        double e = energy[row];
        bool after = e < limit || (e == limit && row > last);
        if (after && (next < 0 || e > energy[next]))
            next = row;
    }
    return next;
}

static tlnmf_error put_atoms(tlnmf_ctx *ctx, const tlnmf_record *model, int64_t M, double rate,
                             int64_t count, tlnmf_record *out)
{
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
    const double *energy = tlnmf_record_get_array(model, "energy", NULL, NULL);
    static const char *const names[COLUMNS] = {"row",   "energy", "frequency", "amplitude",
                                               "phase", "error",  "key",       "cents"};
    double *x[COLUMNS];
    char(*note)[NOTE_SIZE];
    const char **notes;
    void *block;
    for (int c = 0; c < COLUMNS; c++)
        TRY(tl_record_new_array(ctx, out, names[c], 1, &count, &x[c]));
    tl_slot table[] = {TL_SLOT(note, count), TL_SLOT(notes, count)};
    TRY(TL_ARENA(ctx, "the atoms", table, &block));
    for (int64_t i = 0, row = -1; i < count; i++) {
        row = next_row(M, energy, row);
        x[ROW][i] = (double)row;
        x[ENERGY][i] = energy[row];
        describe(M, Phi + row * M, rate, x, i, note[i]);
        notes[i] = note[i];
    }
    tlnmf_error error = tlnmf_record_set_texts(ctx, out, "note", notes, (size_t)count);
    tl_release(&ctx->hooks, block);
    return error;
}

tlnmf_error tlnmf_atoms(tlnmf_ctx *ctx, const tlnmf_record *model, double rate, int64_t count,
                        tlnmf_record **atoms)
{
    const double *Phi, *energy;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    TL_NEED_OUT(ctx, atoms);
    TL_NEED(ctx, model);
    tlnmf_record_get_array(model, "Phi", NULL, shape);
    int64_t M = shape[0];
    TRY(tl_record_expect(ctx, model, "the model", "Phi", 2, (int64_t[]){M, M}, &Phi));
    TRY(tl_record_expect(ctx, model, "the model", "energy", 1, &M, &energy));
    if (Phi == NULL || energy == NULL)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the model has no %s",
                       Phi == NULL ? "Phi" : "energy of its rows");
    TRY(tl_check_finite(ctx, "the model's Phi", M, M, Phi));
    if (!(rate > 0.0 && isfinite(rate)))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "rate = %g must be positive", rate);
    for (int64_t row = 0; row < M; row++)
        if (!isfinite(energy[row]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "the model: energy[%lld] = %g is not finite",
                           (long long)row, energy[row]);
    if (count < 0 || count > M)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "count = %lld is outside [0, %lld], the number of atoms", (long long)count,
                       (long long)M);
    TRY(tlnmf_record_create(ctx, atoms));
    return tl_record_keep_if(put_atoms(ctx, model, M, rate, count, *atoms), atoms);
}
