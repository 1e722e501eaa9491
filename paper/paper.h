/* Measures of results that other rooms and tests may want: no state, no data. */
#ifndef TLNMF_PAPER_PAPER_H
#define TLNMF_PAPER_PAPER_H

#include "base/base.h"

/* psi(x) = d log Gamma(x) / dx, for x > 0. */
double tl_digamma(double x);

#endif
