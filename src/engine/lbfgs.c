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
    tl_lbfgs_begin(lbfgs, size, 0, NULL);
}

void tl_lbfgs_begin(tl_lbfgs *lbfgs, int64_t size, int64_t everywhere, tl_sums *sums)
{
    lbfgs->size = size;
    lbfgs->everywhere = everywhere;
    lbfgs->sums = sums;
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

TL_HOT static double local_dot(int64_t n, vector a, const double *restrict b)
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

static double dot(const tl_lbfgs *lbfgs, vector a, const double *b)
{
    int64_t first = tl_sums_skips(lbfgs->sums, lbfgs->everywhere);
    vector from = {a.x != NULL ? a.x + first : NULL, a.x != NULL ? NULL : a.single + first};
    return tl_sums_of(lbfgs->sums, local_dot(lbfgs->size - first, from, b + first));
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

void tl_lbfgs_learn(tl_lbfgs *lbfgs, const double *before, const double *gradient,
                    const double *metric)
{
    vector s = step_at(lbfgs, lbfgs->next), y = change_at(lbfgs, lbfgs->next);
    int64_t first = tl_sums_skips(lbfgs->sums, lbfgs->everywhere);
    double ss = 0.0, yy = 0.0, sy = 0.0;
    for (int64_t i = 0; i < first; i++)
        set(y, i, gradient[i] - before[i]);
    for (int64_t i = first; i < lbfgs->size; i++) {
        double change = gradient[i] - before[i], d = get(s, i);
        set(y, i, change);
        ss += d * d * metric[i];
        yy += change * change / metric[i];
        sy += d * get(y, i); /* as stored */
    }
    double sums[] = {ss, yy, sy};
    tl_sums_add(lbfgs->sums, sums, 3);
    if (!(sums[2] > 1e-14 * sqrt(sums[0] * sums[1])))
        return;
    lbfgs->rho[lbfgs->next] = 1.0 / sums[2];
    lbfgs->next = (lbfgs->next + 1) % lbfgs->memory;
    if (lbfgs->count < lbfgs->memory)
        lbfgs->count++;
}

/* The index of the pair learnt `age` steps ago; 0 is the latest. */
static int place(const tl_lbfgs *lbfgs, int age)
{
    return (lbfgs->next - 1 - age + 2 * lbfgs->memory) % lbfgs->memory;
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
        int i = place(lbfgs, age);
        alpha[age] = lbfgs->rho[i] * dot(lbfgs, step_at(lbfgs, i), direction);
        add(n, -alpha[age], change_at(lbfgs, i), direction);
    }
    for (int64_t i = 0; i < n; i++)
        direction[i] /= metric[i];
    for (int age = count - 1; age >= 0; age--) {
        int i = place(lbfgs, age);
        double beta = lbfgs->rho[i] * dot(lbfgs, change_at(lbfgs, i), direction);
        add(n, alpha[age] - beta, step_at(lbfgs, i), direction);
    }
    double slope = 0.0;
    for (int64_t i = tl_sums_skips(lbfgs->sums, lbfgs->everywhere); i < n; i++)
        slope += gradient[i] * direction[i];
    return tl_sums_of(lbfgs->sums, slope);
}
