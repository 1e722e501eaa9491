/* The paper's bounds on Q_S for Gaussian data (Theorem 4, Remark 6). */
#include "paper/paper.h"
#include "tlnmf/paper.h"

#include <math.h>

double tl_digamma(double x)
{
    double sum = 0.0;
    int shift = x < 12.0 ? (int)ceil(12.0 - x) : 0; /* psi(x) = psi(x + 1) - 1 / x */
    for (int i = 0; i < shift; i++)
        sum -= 1.0 / (x + i);
    x += shift;
    double y = 1.0 / (x * x); /* Abramowitz and Stegun 6.3.18 */
    double tail =
        y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
    return sum + log(x) - 0.5 / x - tail;
}

double tlnmf_theory_bound(int64_t M, int64_t N, int64_t S, double t)
{
    double h = 3.0 * (sqrt((double)M) + t) / sqrt((double)S);
    return h < 1.0 ? (double)M * (double)N * h * h / (1.0 - h) : INFINITY;
}

double tlnmf_theory_probability(int64_t N, double t)
{
    return pow(fmax(0.0, 1.0 - 2.0 * exp(-0.5 * t * t)), (double)N);
}

double tlnmf_theory_asymptote(int64_t M, int64_t N, int64_t S)
{
    double s = (double)S;
    return (double)M * (double)N * (log(s) - tl_digamma(0.5 * s) - log(2.0));
}
