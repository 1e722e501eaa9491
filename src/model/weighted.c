/* Objectives and updates where entries of V have weights. */
#include "model/weighted.h"

#include <math.h>

void tl_weighted_apply(int64_t count, const double *B, double *U)
{
    for (int64_t i = 0; i < count; i++)
        U[i] *= B[i];
}

double tl_weighted_logs(int64_t count, const double *B, const double *U)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        if (B[i] > 0.0)
            sum -= B[i] * log(U[i] / B[i]);
    return sum;
}

double tl_weighted_L(int64_t count, const double *B, const double *V, double eps)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        if (B[i] > 0.0)
            sum += B[i] * (1.0 + log(V[i] + eps));
    return sum;
}

double tl_weighted_I(int64_t count, const double *B, const double *V, double eps, const double *U)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (!(B[i] > 0.0))
            continue;
        double x = (V[i] + eps) * (U[i] / B[i]);
        sum += B[i] * (x - 1.0 - log(x));
    }
    return sum;
}

void tl_weighted_pull(int64_t count, const double *B, const double *V, double eps, double *U)
{
    for (int64_t i = 0; i < count; i++)
        U[i] = B[i] > 0.0 ? (V[i] + eps) * U[i] * (U[i] / B[i]) : 0.0;
}

void tl_weighted_once(int64_t count, const double *B, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = B[i] > 0.0 ? x[i] / B[i] : 0.0;
}
