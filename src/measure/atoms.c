/* Rows of Phi as sinusoids (the paper's Table II): amplitude, phase, frequency by least squares. */
#include "measure/atoms.h"
#include "base/record.h"

#include <math.h>
#include <stdio.h>

static const double TWO_PI = 6.283185307179586476925287;

/* The best p cos(w m) + q sin(w m) for one w, and how much of the row's energy it explains. */
typedef struct sinusoid {
    double w, p, q, explained;
} sinusoid;

/* Cosine and sine turn by w from sample to sample and are computed anew every EXACT samples, which
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

static void name_note(tl_atom *atom)
{
    static const char *const names[12] = {"C",  "C#", "D",  "D#", "E",  "F",
                                          "F#", "G",  "G#", "A",  "A#", "B"};
    double midi = 69.0 + 12.0 * log2(atom->frequency / 440.0);
    atom->note[0] = '\0';
    atom->key = NAN;
    if (!(midi >= 0.0 && midi < 1000.0))
        return;
    unsigned nearest = (unsigned)floor(midi + 0.5) % 1000u;
    atom->key = nearest;
    atom->cents = 100.0 * (midi - nearest);
    snprintf(atom->note, sizeof atom->note, "%s%d", names[nearest % 12], (int)(nearest / 12) - 1);
}

static tl_atom describe(int64_t M, const double *phi, int64_t row, double energy, double rate)
{
    sinusoid fit = fit_row(M, phi);
    tl_atom atom = {.row = row,
                    .energy = energy,
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

tlnmf_error tl_find_atoms(tlnmf_ctx *ctx, int64_t M, const double *Phi, const double *energy,
                          double rate, tl_atom *atoms, int64_t count)
{
    if (!(rate > 0.0 && isfinite(rate)))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "rate = %g must be positive", rate);
    if (count < 0 || count > M)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%lld atoms asked for, there are %lld",
                       (long long)count, (long long)M);
    double last = INFINITY;
    int64_t last_row = -1;
    for (int64_t i = 0; i < count; i++) { /* by descending energy, then by ascending row */
        int64_t next = -1;
        for (int64_t row = 0; row < M; row++) {
            double e = energy[row];
            bool after = e < last || (e == last && row > last_row);
            if (after && (next < 0 || e > energy[next]))
                next = row;
        }
        atoms[i] = describe(M, Phi + next * M, next, energy[next], rate);
        last = energy[next];
        last_row = next;
    }
    return TLNMF_OK;
}

/* ---- as a record ----------------------------------------------------------------------------- */

static double value_of(const tl_atom *atom, int column)
{
    const double values[] = {(double)atom->row, atom->energy, atom->frequency, atom->amplitude,
                             atom->phase,       atom->error,  atom->key,       atom->cents};
    return values[column];
}

static tlnmf_error put_atoms(tlnmf_ctx *ctx, const tl_atom *atom, const char **notes, int64_t count,
                             tlnmf_record *out)
{
    static const char *const columns[] = {"row",   "energy", "frequency", "amplitude",
                                          "phase", "error",  "key",       "cents"};
    double *x;
    for (int c = 0; c < (int)(sizeof columns / sizeof *columns); c++) {
        TRY(tl_record_new_array(ctx, out, columns[c], 1, &count, &x));
        for (int64_t i = 0; i < count; i++)
            x[i] = value_of(&atom[i], c);
    }
    for (int64_t i = 0; i < count; i++)
        notes[i] = atom[i].note;
    return tlnmf_set_texts(ctx, out, "note", notes, (size_t)count);
}

tlnmf_error tlnmf_atoms(tlnmf_ctx *ctx, const tlnmf_record *model, double rate, int64_t count,
                        tlnmf_record **atoms)
{
    const double *Phi, *energy;
    int64_t shape[TLNMF_MAX_RANK];
    TL_NEED(ctx, atoms);
    *atoms = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, model);
    tlnmf_get_array(model, "Phi", NULL, shape);
    int64_t M = shape[0];
    TRY(tl_record_expect(ctx, model, "the model", "Phi", 2, (int64_t[]){M, M}, &Phi));
    TRY(tl_record_expect(ctx, model, "the model", "energy", 1, &M, &energy));
    if (Phi == NULL || energy == NULL)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "the model has no %s",
                       Phi == NULL ? "Phi" : "energy of its rows");
    if (count < 0 || count > M)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%lld atoms asked for, there are %lld",
                       (long long)count, (long long)M);
    tl_atom *atom;
    const char **notes;
    void *block;
    tl_slot table[] = {TL_SLOT(atom, count), TL_SLOT(notes, count)};
    TRY(TL_ARENA(ctx, "the atoms", table, &block));
    tlnmf_error error = tl_find_atoms(ctx, M, Phi, energy, rate, atom, count);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, atoms);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(put_atoms(ctx, atom, notes, count, *atoms), atoms);
    tl_release(&ctx->hooks, block);
    return error;
}
