#include "model/naive.h"

#include <math.h>
#include <stddef.h>

/* Entry (m, n) of Phi Y_s. */
static double x_at(int64_t s, int64_t m, int64_t n, int64_t M, int64_t N, const double *Y,
                   const double *Phi)
{
    double x = 0.0;
    for (int64_t i = 0; i < M; i++)
        x += Phi[m * M + i] * Y[(s * M + i) * N + n];
    return x;
}

static double vhat_at(int64_t m, int64_t n, int64_t N, int64_t K, const double *W, const double *H)
{
    double v = 0.0;
    for (int64_t k = 0; k < K; k++)
        v += W[m * K + k] * H[k * N + n];
    return v;
}

void tl_naive_power(int64_t S, int64_t M, int64_t N, const double *Y, const double *Phi, double *V)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            double sum = 0.0;
            for (int64_t s = 0; s < S; s++)
                sum += pow(x_at(s, m, n, M, N, Y, Phi), 2.0);
            V[m * N + n] = sum / (double)S;
        }
}

double tl_naive_C(int64_t M, int64_t N, int64_t K, const double *V, const double *W,
                  const double *H, double eps)
{
    double C = 0.0;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            double vhat = vhat_at(m, n, N, K, W, H) + eps;
            C += (V[m * N + n] + eps) / vhat + log(vhat);
        }
    return C;
}

double tl_naive_L(int64_t M, int64_t N, const double *V, double eps)
{
    double L = (double)(M * N);
    for (int64_t i = 0; i < M * N; i++)
        L += log(V[i] + eps);
    return L;
}

double tl_naive_I(int64_t M, int64_t N, int64_t K, const double *V, const double *W,
                  const double *H, double eps)
{
    double I = 0.0;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            double x = (V[m * N + n] + eps) / (vhat_at(m, n, N, K, W, H) + eps);
            I += x - log(x) - 1.0;
        }
    return I;
}

void tl_naive_gradient(int64_t S, int64_t M, int64_t N, const double *Y, const double *Phi,
                       const double *U, double *G)
{
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < M; b++) {
            double sum = 0.0;
            for (int64_t s = 0; s < S; s++)
                for (int64_t n = 0; n < N; n++)
                    sum += U[a * N + n] * x_at(s, a, n, M, N, Y, Phi) * x_at(s, b, n, M, N, Y, Phi);
            G[a * M + b] = 2.0 * sum / (double)S;
        }
}

void tl_naive_gamma(int64_t M, int64_t N, const double *U, const double *V, double *Gamma)
{
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < M; b++) {
            double sum = 0.0;
            for (int64_t n = 0; n < N; n++)
                sum += U[a * N + n] * V[b * N + n];
            Gamma[a * M + b] = 2.0 * sum;
        }
}

void tl_naive_mu(int64_t M, int64_t N, int64_t K, double gamma, const double *V, double eps,
                 double *W, double *H)
{
    for (int64_t n = 0; n < N; n++) {
        double ratio[K];
        for (int64_t k = 0; k < K; k++) {
            double num = 0.0, den = 0.0;
            for (int64_t m = 0; m < M; m++) {
                double vhat = vhat_at(m, n, N, K, W, H) + eps;
                num += W[m * K + k] * (V[m * N + n] + eps) / (vhat * vhat);
                den += W[m * K + k] / vhat;
            }
            ratio[k] = den > 0.0 ? num / den : 1.0;
        }
        for (int64_t k = 0; k < K; k++)
            H[k * N + n] *= pow(ratio[k], gamma);
    }
    for (int64_t m = 0; m < M; m++) {
        double ratio[K];
        for (int64_t k = 0; k < K; k++) {
            double num = 0.0, den = 0.0;
            for (int64_t n = 0; n < N; n++) {
                double vhat = vhat_at(m, n, N, K, W, H) + eps;
                num += (V[m * N + n] + eps) / (vhat * vhat) * H[k * N + n];
                den += H[k * N + n] / vhat;
            }
            ratio[k] = den > 0.0 ? num / den : 1.0;
        }
        for (int64_t k = 0; k < K; k++)
            W[m * K + k] *= pow(ratio[k], gamma);
    }
    for (int64_t k = 0; k < K; k++) {
        double c = 0.0;
        for (int64_t m = 0; m < M; m++)
            c += W[m * K + k];
        for (int64_t m = 0; c > 0.0 && m < M; m++)
            W[m * K + k] /= c;
        for (int64_t n = 0; c > 0.0 && n < N; n++)
            H[k * N + n] *= c;
    }
}
