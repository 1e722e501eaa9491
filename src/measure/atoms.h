/* Rows of Phi as sinusoids. */
#ifndef TLNMF_MEASURE_ATOMS_H
#define TLNMF_MEASURE_ATOMS_H

#include "base/base.h"

/* A row of Phi fitted by amplitude cos(2 pi frequency m / rate + phase), m = 0 .. M-1. */
typedef struct tl_atom {
    int64_t row;
    double energy;                      /* sum_n V_mn */
    double frequency, amplitude, phase; /* in Hz if the rate is */
    double error;                       /* || row - fit ||^2; the row has norm 1 */
    double key, cents; /* MIDI number of the nearest note, NaN below C-1; distance from it */
    char note[8];      /* its name, A4 = 440 Hz; "" below C-1 */
} tl_atom;

/* The `count` rows of the largest energy, strongest first. Phi is M x M, energy has M entries. */
tlnmf_error tl_find_atoms(tlnmf_ctx *ctx, int64_t M, const double *Phi, const double *energy,
                          double rate, tl_atom *atoms, int64_t count);

#endif
