/* Limited-memory BFGS: pairs, and the two loops of a direction. */
#include "engine/lbfgs.h"

#include <math.h>

void tl_lbfgs_slots(tl_lbfgs *lbfgs, int64_t size, tl_slot slots[TL_LBFGS_SLOTS])
{
    enum { FEW = 5, LARGE = 1 << 16 };
    bool large = size >= LARGE;
    lbfgs->memory = large ? FEW : TL_LBFGS_MOST;
    int64_t fine = large ? 0 : TL_LBFGS_MOST * size, coarse = large ? FEW * size : 0;
    const tl_slot parts[] = {TL_SLOT(lbfgs->s, fine), TL_SLOT(lbfgs->y, fine),
                             TL_SLOT(lbfgs->s_single, coarse), TL_SLOT(lbfgs->y_single, coarse)};
    memcpy(slots, parts, sizeof parts);
    tl_lbfgs_begin(lbfgs, size);
}

void tl_lbfgs_begin(tl_lbfgs *lbfgs, int64_t size)
{
    lbfgs->size = size;
    tl_lbfgs_forget(lbfgs);
}

void tl_lbfgs_forget(tl_lbfgs *lbfgs)
{
    lbfgs->count = lbfgs->next = 0;
}

/* One vector of a pair, in the precision in which it is stored. */
typedef struct vector {
    double *x;
    float *single;
} vector;

static vector step_at(const tl_lbfgs *lbfgs, int place)
{
    int64_t at = place * lbfgs->size;
    return lbfgs->s != NULL ? (vector){lbfgs->s + at, NULL} : (vector){NULL, lbfgs->s_single + at};
}

static vector change_at(const tl_lbfgs *lbfgs, int place)
{
    int64_t at = place * lbfgs->size;
    return lbfgs->y != NULL ? (vector){lbfgs->y + at, NULL} : (vector){NULL, lbfgs->y_single + at};
}

TL_HOT static double dot(int64_t n, vector a, const double *restrict b)
{
    double sum = 0.0;
    if (a.x != NULL) {
        const double *restrict x = a.x;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++)
            sum += x[i] * b[i];
    } else {
        const float *restrict x = a.single;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++)
            sum += (double)x[i] * b[i];
    }
    return sum;
}

TL_HOT static void add(int64_t n, double c, vector a, double *restrict b)
{
    if (a.x != NULL)
        for (int64_t i = 0; i < n; i++)
            b[i] += c * a.x[i];
    else
        for (int64_t i = 0; i < n; i++)
            b[i] += c * (double)a.single[i];
}

static double get(vector a, int64_t i)
{
    return a.x != NULL ? a.x[i] : (double)a.single[i];
}

static void set(vector a, int64_t i, double value)
{
    if (a.x != NULL)
        a.x[i] = value;
    else
        a.single[i] = (float)value;
}

void tl_lbfgs_step(tl_lbfgs *lbfgs, double step, const double *direction)
{
    vector s = step_at(lbfgs, lbfgs->next);
    for (int64_t i = 0; i < lbfgs->size; i++)
        set(s, i, step * direction[i]);
}

void tl_lbfgs_change(tl_lbfgs *lbfgs, int64_t first, int64_t last, const double *before,
                     const double *gradient)
{
    vector y = change_at(lbfgs, lbfgs->next);
    for (int64_t i = first; i < last; i++)
        set(y, i, gradient[i] - before[i]);
}

void tl_lbfgs_learn(tl_lbfgs *lbfgs, const double *before, const double *gradient,
                    const double *metric)
{
    vector s = step_at(lbfgs, lbfgs->next), y = change_at(lbfgs, lbfgs->next);
    double ss = 0.0, yy = 0.0, sy = 0.0;
    for (int64_t i = 0; i < lbfgs->size; i++) {
        double change = gradient[i] - before[i], d = get(s, i);
        set(y, i, change);
        ss += d * d * metric[i];
        yy += change * change / metric[i];
        sy += d * get(y, i); /* as stored */
    }
    if (!tl_lbfgs_is_curved(ss, yy, sy))
        return;
    lbfgs->rho[lbfgs->next] = 1.0 / sy;
    tl_lbfgs_keep(lbfgs);
}

double tl_lbfgs_direction(const tl_lbfgs *lbfgs, const double *gradient, const double *metric,
                          double *direction)
{
    const int64_t n = lbfgs->size;
    const int count = lbfgs->count;
    double alpha[TL_LBFGS_MOST] = {0.0};
    for (int64_t i = 0; i < n; i++)
        direction[i] = -gradient[i];
    for (int age = 0; age < count; age++) {
        int i = tl_lbfgs_place(lbfgs, age);
        alpha[age] = lbfgs->rho[i] * dot(n, step_at(lbfgs, i), direction);
        add(n, -alpha[age], change_at(lbfgs, i), direction);
    }
    for (int64_t i = 0; i < n; i++)
        direction[i] /= metric[i];
    for (int age = count - 1; age >= 0; age--) {
        int i = tl_lbfgs_place(lbfgs, age);
        double beta = lbfgs->rho[i] * dot(n, change_at(lbfgs, i), direction);
        add(n, alpha[age] - beta, step_at(lbfgs, i), direction);
    }
    double slope = 0.0;
    for (int64_t i = 0; i < n; i++)
        slope += gradient[i] * direction[i];
    return slope;
}
