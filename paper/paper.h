/* Functions of the paper's theory that tests check on their own. */
#ifndef TLNMF_PAPER_PAPER_H
#define TLNMF_PAPER_PAPER_H

#include "base/base.h"

/* psi(x) = d log Gamma(x) / dx, for x > 0. */
double tl_digamma(double x);

#endif
