/* The equations as plain loops. */
#include "reference/naive_kernels.h"

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

void tl_naive_power_of(int64_t S, int64_t M, int64_t N, const double *X, double *V)
{
    for (int64_t i = 0; i < M * N; i++) {
        double sum = 0.0;
        for (int64_t s = 0; s < S; s++)
            sum += X[s * M * N + i] * X[s * M * N + i];
        V[i] = sum / (double)S;
    }
}

void tl_naive_weights(int64_t M, int64_t N, int64_t K, const double *W, const double *H, double eps,
                      double *U)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            U[m * N + n] = 1.0 / (vhat_at(m, n, N, K, W, H) + eps);
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
    double x[M];
    for (int64_t i = 0; i < M * M; i++)
        G[i] = 0.0;
    for (int64_t s = 0; s < S; s++)
        for (int64_t n = 0; n < N; n++) {
            for (int64_t a = 0; a < M; a++)
                x[a] = x_at(s, a, n, M, N, Y, Phi);
            for (int64_t a = 0; a < M; a++)
                for (int64_t b = 0; b < M; b++)
                    G[a * M + b] += 2.0 / (double)S * U[a * N + n] * x[a] * x[b];
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

/* (7), (8) for one entry: (num / den)^gamma. */
static double ratio_of(double num, double den, double gamma)
{
    return den > 0.0 ? pow(num / den, gamma) : 1.0;
}

/* The weight of an entry over W H + eps. */
static double u_at(const tl_naive_nmf *f, int64_t m, int64_t n)
{
    double vhat = vhat_at(m, n, f->N, f->K, f->W, f->H) + f->eps;
    return (f->B != NULL ? f->B[m * f->N + n] : 1.0) / vhat;
}

void tl_naive_update_H(const tl_naive_nmf *f)
{
    int64_t M = f->M, N = f->N, K = f->K;
    for (int64_t n = 0; n < N; n++) {
        double ratio[K];
        for (int64_t k = 0; k < K; k++) {
            double num = 0.0, den = 0.0;
            for (int64_t m = 0; m < M; m++) {
                double vhat = vhat_at(m, n, N, K, f->W, f->H) + f->eps, u = u_at(f, m, n);
                num += f->W[m * K + k] * (f->V[m * N + n] + f->eps) * u / vhat;
                den += f->W[m * K + k] * u;
            }
            ratio[k] = ratio_of(num, den, f->gamma);
        }
        for (int64_t k = 0; k < K; k++)
            f->H[k * N + n] *= ratio[k];
    }
}

static void update_W(const tl_naive_nmf *f)
{
    int64_t M = f->M, N = f->N, K = f->K;
    for (int64_t m = 0; m < M; m++) {
        double ratio[K];
        for (int64_t k = 0; k < K; k++) {
            double num = 0.0, den = 0.0;
            for (int64_t n = 0; n < N; n++) {
                double vhat = vhat_at(m, n, N, K, f->W, f->H) + f->eps, u = u_at(f, m, n);
                num += (f->V[m * N + n] + f->eps) * u / vhat * f->H[k * N + n];
                den += f->H[k * N + n] * u;
            }
            ratio[k] = ratio_of(num, den, f->gamma);
        }
        for (int64_t k = 0; k < K; k++)
            f->W[m * K + k] *= ratio[k];
    }
}

void tl_naive_normalise(int64_t M, int64_t N, int64_t K, double *W, double *H)
{
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

void tl_naive_update(const tl_naive_nmf *f)
{
    tl_naive_update_H(f);
    update_W(f);
    tl_naive_normalise(f->M, f->N, f->K, f->W, f->H);
}

/* From the angle itself: sum U V is const + p/2 cos 2t + D sin 2t. */
double tl_naive_angle(const tl_naive_pair *r, double *gain)
{
    double p = 0.0, D = 0.0;
    for (int64_t t = 0; t < r->T; t++) {
        double d = r->ua[t] - r->ub[t];
        p += d * (r->xa[t] * r->xa[t] - r->xb[t] * r->xb[t]);
        D += d * r->xa[t] * r->xb[t];
    }
    *gain = 0.5 * p + sqrt(0.25 * p * p + D * D);
    return 0.5 * atan2(-D, -0.5 * p);
}

void tl_naive_turn(int64_t count, double angle, double *a, double *b)
{
    for (int64_t i = 0; i < count; i++) {
        double x = a[i], y = b[i];
        a[i] = cos(angle) * x + sin(angle) * y;
        b[i] = cos(angle) * y - sin(angle) * x;
    }
}

void tl_naive_sweep(int64_t M, int64_t T, const double *U, double *X, double *Phi)
{
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = a + 1; b < M; b++) {
            double gain, *xa = X + a * T, *xb = X + b * T;
            double angle = tl_naive_angle(&(tl_naive_pair){T, xa, xb, U + a * T, U + b * T}, &gain);
            tl_naive_turn(T, angle, xa, xb);
            tl_naive_turn(M, angle, Phi + a * M, Phi + b * M);
        }
}

void tl_naive_multiply(int64_t M, const double *A, const double *B, double *C)
{
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b < M; b++) {
            double sum = 0.0;
            for (int64_t i = 0; i < M; i++)
                sum += A[a * M + i] * B[i * M + b];
            C[a * M + b] = sum;
        }
}

double tl_naive_row_sum(int64_t M, const double *A)
{
    double worst = 0.0;
    for (int64_t a = 0; a < M; a++) {
        double sum = 0.0;
        for (int64_t b = 0; b < M; b++)
            sum += fabs(A[a * M + b]);
        worst = fmax(worst, sum);
    }
    return worst;
}

void tl_naive_exp(int64_t M, const double *E, double *out, double *scratch)
{
    enum { TERMS = 20 };
    double norm = tl_naive_row_sum(M, E), scale = 1.0;
    int squarings = 0;
    for (; norm * scale > 0.5; squarings++)
        scale *= 0.5;
    for (int64_t i = 0; i < M * M; i++)
        out[i] = i % (M + 1) == 0 ? 1.0 : 0.0;
    for (int term = TERMS; term > 0; term--) { /* out <- I + (E / term) out */
        tl_naive_multiply(M, E, out, scratch);
        for (int64_t i = 0; i < M * M; i++)
            out[i] = scale / term * scratch[i] + (i % (M + 1) == 0 ? 1.0 : 0.0);
    }
    for (; squarings > 0; squarings--) {
        tl_naive_multiply(M, out, out, scratch);
        for (int64_t i = 0; i < M * M; i++)
            out[i] = scratch[i];
    }
}

/* Inverts A by Gauss-Jordan elimination without pivoting, which is safe for A = I + E. */
static void invert(int64_t M, double *A)
{
    for (int64_t i = 0; i < M; i++) {
        double pivot = A[i * M + i];
        A[i * M + i] = 1.0;
        for (int64_t b = 0; b < M; b++)
            A[i * M + b] /= pivot;
        for (int64_t a = 0; a < M; a++) {
            double factor = A[a * M + i];
            if (a == i)
                continue;
            A[a * M + i] = 0.0;
            for (int64_t b = 0; b < M; b++)
                A[a * M + b] -= factor * A[i * M + b];
        }
    }
}

/* Newton's iteration until it has converged. */
void tl_naive_polar(int64_t M, const double *E, double *out, double *scratch)
{
    double change = 1.0;
    for (int64_t i = 0; i < M * M; i++)
        out[i] = E[i] + (i % (M + 1) == 0 ? 1.0 : 0.0);
    while (change > 1e-9) {
        for (int64_t i = 0; i < M * M; i++)
            scratch[i] = out[i];
        invert(M, scratch);
        change = 0.0;
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < M; b++) {
                double now = 0.5 * (out[a * M + b] + scratch[b * M + a]);
                change = fmax(change, fabs(now - out[a * M + b]));
                out[a * M + b] = now;
            }
    }
}

/* The column of A (S x M) with the largest sum of squares, which goes to *square. */
static int64_t longest_column(int64_t S, int64_t M, const double *A, double *square)
{
    int64_t best = 0;
    *square = -1.0;
    for (int64_t m = 0; m < M; m++) {
        double sum = 0.0;
        for (int64_t s = 0; s < S; s++)
            sum += A[s * M + m] * A[s * M + m];
        if (sum > *square) {
            *square = sum;
            best = m;
        }
    }
    return best;
}

void tl_naive_compress(int64_t S, int64_t M, int64_t N, int64_t n, const double *Y, double *rows,
                       double *scratch)
{
    double *A = scratch, *q = scratch + S * M;
    for (int64_t i = 0; i < S * M; i++)
        A[i] = Y[i * N + n] / sqrt((double)S);
    for (int64_t i = 0; i < (S < M ? S : M); i++) {
        double square;
        int64_t pivot = longest_column(S, M, A, &square);
        for (int64_t s = 0; s < S; s++)
            q[s] = square > 0.0 ? A[s * M + pivot] / sqrt(square) : 0.0;
        for (int64_t m = 0; m < M; m++) {
            double r = 0.0;
            for (int64_t s = 0; s < S; s++)
                r += q[s] * A[s * M + m];
            for (int64_t s = 0; s < S; s++)
                A[s * M + m] -= r * q[s];
            rows[i * M + m] = r;
        }
    }
}
