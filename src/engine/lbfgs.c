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
    lbfgs->count = lbfgs->next = 0;
}

/* Vectors are divided into pieces of this many numbers, some 5 us. */
enum { PIECE = 4096 };

/* x += c y, then the sum of x times z; y or z may be missing. */
typedef struct step_of_loop {
    double c;
    tl_stored y, z;
    double *x;
} step_of_loop;

static bool is_there(tl_stored a)
{
    return a.x != NULL || a.single != NULL;
}

TL_HOT static void add(int64_t first, int64_t last, double c, tl_stored a, double *restrict b)
{
    if (a.x != NULL)
        for (int64_t i = first; i < last; i++)
            b[i] += c * a.x[i];
    else
        for (int64_t i = first; i < last; i++)
            b[i] += c * (double)a.single[i];
}

TL_HOT static double dot(int64_t first, int64_t last, tl_stored a, const double *restrict b)
{
    double sum = 0.0;
    if (a.x != NULL) {
        const double *restrict x = a.x;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = first; i < last; i++)
            sum += x[i] * b[i];
    } else {
        const float *restrict x = a.single;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = first; i < last; i++)
            sum += (double)x[i] * b[i];
    }
    return sum;
}

static double add_and_dot(int64_t first, int64_t last, void *arg)
{
    const step_of_loop *s = arg;
    if (is_there(s->y))
        add(first, last, s->c, s->y, s->x);
    return is_there(s->z) ? dot(first, last, s->z, s->x) : 0.0;
}

/* One step of a loop, in one pass over the coordinates. Returns the sum. */
static double loop_step(const tl_lbfgs *lbfgs, double c, tl_stored y, tl_stored z, double *x)
{
    return tl_share_sum(lbfgs->size, PIECE, add_and_dot, &(step_of_loop){c, y, z, x});
}

/* A vector of the new pair, to be written. */
typedef struct vector {
    double *x;
    float *single;
} vector;

static vector new_vector(const tl_lbfgs *lbfgs, bool is_step)
{
    int64_t at = lbfgs->next * lbfgs->size;
    if (lbfgs->s != NULL)
        return (vector){(is_step ? lbfgs->s : lbfgs->y) + at, NULL};
    return (vector){NULL, (is_step ? lbfgs->s_single : lbfgs->y_single) + at};
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
        a.single[i] = (float)value; // NOLINT(clang-analyzer-core.NullDereference): if x is NULL
}

typedef struct storing {
    vector s;
    double step;
    const double *direction;
} storing;

static void store_piece(int64_t first, int64_t last, void *arg)
{
    const storing *to = arg;
    for (int64_t i = first; i < last; i++)
        set(to->s, i, to->step * to->direction[i]);
}

void tl_lbfgs_step(tl_lbfgs *lbfgs, double step, const double *direction)
{
    tl_share(lbfgs->size, PIECE, store_piece, &(storing){new_vector(lbfgs, true), step, direction});
}

/* A pair, and the sums s' D s, y' D^-1 y, s' y, of each piece: 6 KiB on the stack. */
enum { MOST_PIECES = 256 };

typedef struct learning {
    vector s, y;
    const double *before, *gradient, *metric;
    int64_t grain;
    double sums[MOST_PIECES][3];
} learning;

TL_HOT static void learn_piece(int64_t first, int64_t last, void *arg)
{
    learning *l = arg;
    double ss = 0.0, yy = 0.0, sy = 0.0;
    for (int64_t i = first; i < last; i++) {
        double change = l->gradient[i] - l->before[i], d = get(l->s, i);
        set(l->y, i, change);
        ss += d * d * l->metric[i];
        yy += change * change / l->metric[i];
        sy += d * get(l->y, i); /* as stored */
    }
    double *sums = l->sums[first / l->grain];
    sums[0] = ss;
    sums[1] = yy;
    sums[2] = sy;
}

void tl_lbfgs_change(tl_lbfgs *lbfgs, int64_t first, int64_t last, const double *before,
                     const double *gradient)
{
    vector y = new_vector(lbfgs, false);
    for (int64_t i = first; i < last; i++)
        set(y, i, gradient[i] - before[i]);
}

void tl_lbfgs_learn(tl_lbfgs *lbfgs, const double *before, const double *gradient,
                    const double *metric)
{
    learning l = {.s = new_vector(lbfgs, true),
                  .y = new_vector(lbfgs, false),
                  .before = before,
                  .gradient = gradient,
                  .metric = metric};
    l.grain = tl_max(PIECE, (lbfgs->size + MOST_PIECES - 1) / MOST_PIECES);
    tl_share(lbfgs->size, l.grain, learn_piece, &l);
    double sums[3] = {0.0};
    for (int64_t i = 0; i * l.grain < lbfgs->size; i++)
        for (int j = 0; j < 3; j++)
            sums[j] += l.sums[i][j];
    if (!tl_lbfgs_is_curved(sums[0], sums[1], sums[2]))
        return;
    lbfgs->rho[lbfgs->next] = 1.0 / sums[2];
    tl_lbfgs_keep(lbfgs);
}

static void negate_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    for (int64_t i = first; i < last; i++)
        e->out[i] = -e->x[i];
}

TL_HOT static void divide_piece(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    const double *metric = e->y;
    double *direction = e->out;
    for (int64_t i = first; i < last; i++)
        direction[i] /= metric[i];
}

double tl_lbfgs_direction(const tl_lbfgs *lbfgs, const double *gradient, const double *metric,
                          double *direction)
{
    const tl_stored none = {NULL, NULL};
    const int count = lbfgs->count;
    double alpha[TL_LBFGS_MOST] = {0.0}, c = 0.0;
    tl_elements scale = {.x = gradient, .y = metric, .out = direction};
    tl_stored last = none;
    tl_share(lbfgs->size, PIECE, negate_piece, &scale);
    for (int age = 0; age < count; age++) {
        int i = tl_lbfgs_place(lbfgs, age);
        alpha[age] =
            lbfgs->rho[i] * loop_step(lbfgs, c, last, tl_lbfgs_vector(lbfgs, true, i), direction);
        c = -alpha[age];
        last = tl_lbfgs_vector(lbfgs, false, i);
    }
    loop_step(lbfgs, c, last, none, direction);
    tl_share(lbfgs->size, PIECE, divide_piece, &scale);
    last = none;
    for (int age = count - 1; age >= 0; age--) {
        int i = tl_lbfgs_place(lbfgs, age);
        double beta =
            lbfgs->rho[i] * loop_step(lbfgs, c, last, tl_lbfgs_vector(lbfgs, false, i), direction);
        c = alpha[age] - beta;
        last = tl_lbfgs_vector(lbfgs, true, i);
    }
    return loop_step(lbfgs, c, last, (tl_stored){gradient, NULL}, direction);
}
