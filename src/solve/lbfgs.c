#include "solve/lbfgs.h"

#include <math.h>

void tl_lbfgs_slots(tl_lbfgs *lbfgs, int64_t size, tl_slot slots[TL_LBFGS_SLOTS])
{
    lbfgs->size = size;
    slots[0] = (tl_slot){&lbfgs->s, TL_LBFGS_MEMORY * size, sizeof(double)};
    slots[1] = (tl_slot){&lbfgs->y, TL_LBFGS_MEMORY * size, sizeof(double)};
    tl_lbfgs_forget(lbfgs);
}

void tl_lbfgs_forget(tl_lbfgs *lbfgs)
{
    lbfgs->count = lbfgs->next = 0;
}

TL_HOT static double dot(int64_t n, const double *restrict a, const double *restrict b)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

TL_HOT static void add(int64_t n, double c, const double *restrict a, double *restrict b)
{
    for (int64_t i = 0; i < n; i++)
        b[i] += c * a[i];
}

void tl_lbfgs_learn(tl_lbfgs *lbfgs, double step, const double *direction, const double *before,
                    const double *gradient, const double *metric)
{
    int64_t n = lbfgs->size;
    double *s = lbfgs->s + lbfgs->next * n, *y = lbfgs->y + lbfgs->next * n;
    double ss = 0.0, yy = 0.0;
    for (int64_t i = 0; i < n; i++) {
        s[i] = step * direction[i];
        y[i] = gradient[i] - before[i];
        ss += s[i] * s[i] * metric[i];
        yy += y[i] * y[i] / metric[i];
    }
    double curvature = dot(n, s, y);
    if (!(curvature > 1e-14 * sqrt(ss * yy)))
        return;
    lbfgs->rho[lbfgs->next] = 1.0 / curvature;
    lbfgs->next = (lbfgs->next + 1) % TL_LBFGS_MEMORY;
    if (lbfgs->count < TL_LBFGS_MEMORY)
        lbfgs->count++;
}

/* The place of the pair learnt `age` steps ago, 0 being the latest. */
static int place(const tl_lbfgs *lbfgs, int age)
{
    return (lbfgs->next - 1 - age + 2 * TL_LBFGS_MEMORY) % TL_LBFGS_MEMORY;
}

double tl_lbfgs_direction(const tl_lbfgs *lbfgs, const double *gradient, const double *metric,
                          double *direction)
{
    int64_t n = lbfgs->size;
    double alpha[TL_LBFGS_MEMORY];
    for (int64_t i = 0; i < n; i++)
        direction[i] = -gradient[i];
    for (int age = 0; age < lbfgs->count; age++) {
        int i = place(lbfgs, age);
        alpha[age] = lbfgs->rho[i] * dot(n, lbfgs->s + i * n, direction);
        add(n, -alpha[age], lbfgs->y + i * n, direction);
    }
    for (int64_t i = 0; i < n; i++)
        direction[i] /= metric[i];
    for (int age = lbfgs->count - 1; age >= 0; age--) {
        int i = place(lbfgs, age);
        double beta = lbfgs->rho[i] * dot(n, lbfgs->y + i * n, direction);
        add(n, alpha[age] - beta, lbfgs->s + i * n, direction);
    }
    return dot(n, gradient, direction);
}
