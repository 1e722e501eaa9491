#include "solve/lbfgs.h"

#include <math.h>

void tl_lbfgs_slots(tl_lbfgs *lbfgs, int64_t size, tl_slot slots[TL_LBFGS_SLOTS])
{
    enum { FEW = 5, LARGE = 1 << 18 }; /* more pairs pay, but not at the price of their memory */
    lbfgs->size = size;
    lbfgs->memory = size < LARGE ? TL_LBFGS_MOST : FEW;
    slots[0] = (tl_slot){&lbfgs->s, lbfgs->memory * size, sizeof(float)};
    slots[1] = (tl_slot){&lbfgs->y, lbfgs->memory * size, sizeof(float)};
    tl_lbfgs_forget(lbfgs);
}

void tl_lbfgs_forget(tl_lbfgs *lbfgs)
{
    lbfgs->count = lbfgs->next = 0;
}

TL_HOT static double dot(int64_t n, const float *restrict a, const double *restrict b)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

TL_HOT static void add(int64_t n, double c, const float *restrict a, double *restrict b)
{
    for (int64_t i = 0; i < n; i++)
        b[i] += c * (double)a[i];
}

void tl_lbfgs_step(tl_lbfgs *lbfgs, double step, const double *direction)
{
    float *s = lbfgs->s + lbfgs->next * lbfgs->size;
    for (int64_t i = 0; i < lbfgs->size; i++)
        s[i] = (float)(step * direction[i]);
}

void tl_lbfgs_learn(tl_lbfgs *lbfgs, const double *before, const double *gradient,
                    const double *metric)
{
    int64_t n = lbfgs->size;
    const float *s = lbfgs->s + lbfgs->next * n;
    float *y = lbfgs->y + lbfgs->next * n;
    double ss = 0.0, yy = 0.0, sy = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double change = gradient[i] - before[i], d = (double)s[i];
        y[i] = (float)change;
        ss += d * d * metric[i];
        yy += change * change / metric[i];
        sy += d * (double)y[i];
    }
    if (!(sy > 1e-14 * sqrt(ss * yy)))
        return;
    lbfgs->rho[lbfgs->next] = 1.0 / sy;
    lbfgs->next = (lbfgs->next + 1) % lbfgs->memory;
    if (lbfgs->count < lbfgs->memory)
        lbfgs->count++;
}

/* The place of the pair learnt `age` steps ago, 0 being the latest. */
static int place(const tl_lbfgs *lbfgs, int age)
{
    return (lbfgs->next - 1 - age + 2 * lbfgs->memory) % lbfgs->memory;
}

double tl_lbfgs_direction(const tl_lbfgs *lbfgs, const double *gradient, const double *metric,
                          double *direction)
{
    int64_t n = lbfgs->size;
    double alpha[TL_LBFGS_MOST];
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
    double slope = 0.0;
    for (int64_t i = 0; i < n; i++)
        slope += gradient[i] * direction[i];
    return slope;
}
