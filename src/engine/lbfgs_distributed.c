/* L-BFGS from inner products: the lists of products, and the two loops. */
#include "engine/lbfgs.h"

#include <math.h>

/* ---- vectors --------------------------------------------------------------------------------- */

static inline double get(tl_stored a, int64_t i)
{
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): one of them is set
    return a.single != NULL ? (double)a.single[i] : a.x[i];
}

static double dot(const tl_products_of *of, tl_stored a, tl_stored b)
{
    double sum = 0.0;
    for (int64_t i = of->first; i < of->last; i++)
        sum += get(a, i) * get(b, i);
    return sum;
}

static double inverse_dot(const tl_products_of *of, tl_stored a, tl_stored b)
{
    double sum = 0.0;
    for (int64_t i = of->first; i < of->last; i++)
        sum += get(a, i) * get(b, i) / of->metric[i];
    return sum;
}

static double metric_dot(const tl_products_of *of, tl_stored a)
{
    double sum = 0.0;
    for (int64_t i = of->first; i < of->last; i++)
        sum += get(a, i) * get(a, i) * of->metric[i];
    return sum;
}

/* ---- lists of products ----------------------------------------------------------------------- */

typedef enum kind { SY, YY, SG, YG, GG, SS } kind;

/* One product: its kind, and which vectors. */
typedef struct product_entry {
    kind kind;
    int i, j;
} product_entry;

/* The pairs held and the one that is pending: their places. */
static int places(const tl_products *p, const tl_lbfgs *lbfgs, int out[TL_LBFGS_MOST])
{
    int count = 0, held = lbfgs->count;
    if (p->pending)
        out[count++] = lbfgs->next;
    if (p->pending && held == lbfgs->memory) /* replaces the oldest */
        held--;
    for (int age = 0; age < held; age++)
        out[count++] = tl_lbfgs_place(lbfgs, age);
    return count;
}

static int list(const tl_products *p, const tl_lbfgs *lbfgs, tl_packing which,
                product_entry out[TL_PRODUCTS_MOST])
{
    int place[TL_LBFGS_MOST], pairs = places(p, lbfgs, place), count = 0, k = lbfgs->next;
    out[count++] = (product_entry){GG, 0, 0};
    for (int a = 0; a < pairs; a++)
        out[count++] = (product_entry){YG, place[a], 0};
    if (which == TL_PACK_METRIC) {
        for (int a = 0; a < pairs; a++)
            for (int b = 0; b <= a; b++)
                out[count++] = (product_entry){YY, place[a], place[b]};
        return count;
    }
    for (int a = 0; a < pairs; a++)
        out[count++] = (product_entry){SG, place[a], 0};
    if (!p->pending)
        return count;
    out[count++] = (product_entry){SS, k, k};
    for (int a = 0; a < pairs; a++) {
        out[count++] = (product_entry){YY, place[a], k};
        out[count++] = (product_entry){SY, place[a], k};
        if (place[a] != k)
            out[count++] = (product_entry){SY, k, place[a]};
    }
    return count;
}

static double product(const tl_products_of *of, product_entry e)
{
    const tl_stored g = {of->gradient, NULL};
    switch (e.kind) {
    case SY:
        return dot(of, tl_lbfgs_vector(of->lbfgs, true, e.i),
                   tl_lbfgs_vector(of->lbfgs, false, e.j));
    case YY:
        return inverse_dot(of, tl_lbfgs_vector(of->lbfgs, false, e.i),
                           tl_lbfgs_vector(of->lbfgs, false, e.j));
    case SG:
        return dot(of, tl_lbfgs_vector(of->lbfgs, true, e.i), g);
    case YG:
        return inverse_dot(of, tl_lbfgs_vector(of->lbfgs, false, e.i), g);
    case GG:
        return inverse_dot(of, g, g);
    default:
        return metric_dot(of, tl_lbfgs_vector(of->lbfgs, true, e.i));
    }
}

int tl_products_pack(const tl_products *p, const tl_products_of *of, tl_packing which, double *out)
{
    product_entry entries[TL_PRODUCTS_MOST];
    int count = list(p, of->lbfgs, which, entries);
    for (int n = 0; n < count; n++)
        out[n] = product(of, entries[n]);
    return count;
}

void tl_products_set(tl_products *p, const tl_lbfgs *lbfgs, tl_packing which, const double *rest)
{
    product_entry entries[TL_PRODUCTS_MOST];
    int count = list(p, lbfgs, which, entries);
    for (int n = 0; n < count; n++) {
        int i = entries[n].i, j = entries[n].j;
        double x = p->of_H[which][n] + rest[n];
        switch (entries[n].kind) {
        case SY:
            p->SY[i][j] = x;
            break;
        case YY:
            p->YY[i][j] = p->YY[j][i] = x;
            break;
        case SG:
            p->Sg[i] = x;
            break;
        case YG:
            p->Yg[i] = x;
            break;
        case GG:
            p->gg = x;
            break;
        default:
            p->ss = x;
        }
    }
}

/* ---- the direction --------------------------------------------------------------------------- */

/* direction = -D^-1 (g + sum alpha_i y_i) + sum c_i s_i */
static void combine(const tl_lbfgs *lbfgs, const double *alpha, const double *c,
                    const double *gradient, const double *metric, double *direction)
{
    for (int64_t t = 0; t < lbfgs->size; t++)
        direction[t] = -gradient[t];
    for (int age = 0; age < lbfgs->count; age++) {
        tl_stored y = tl_lbfgs_vector(lbfgs, false, tl_lbfgs_place(lbfgs, age));
        for (int64_t t = 0; t < lbfgs->size; t++)
            direction[t] -= alpha[age] * get(y, t);
    }
    for (int64_t t = 0; t < lbfgs->size; t++)
        direction[t] /= metric[t];
    for (int age = 0; age < lbfgs->count; age++) {
        tl_stored s = tl_lbfgs_vector(lbfgs, true, tl_lbfgs_place(lbfgs, age));
        for (int64_t t = 0; t < lbfgs->size; t++)
            direction[t] += c[age] * get(s, t);
    }
}

double tl_products_direction(const tl_products *p, const tl_lbfgs *lbfgs, const double *gradient,
                             const double *metric, double *direction)
{
    const int count = lbfgs->count;
    double alpha[TL_LBFGS_MOST] = {0.0}, c[TL_LBFGS_MOST] = {0.0}, slope = -p->gg;
    for (int age = 0; age < count; age++) { /* q = -g - sum alpha y: alpha = s' q / s' y */
        int i = tl_lbfgs_place(lbfgs, age);
        double sq = -p->Sg[i];
        for (int newer = 0; newer < age; newer++)
            sq -= alpha[newer] * p->SY[i][tl_lbfgs_place(lbfgs, newer)];
        alpha[age] = sq / p->SY[i][i];
    }
    for (int age = count - 1; age >= 0; age--) { /* r = D^-1 q + sum c s: beta = y' r / s' y */
        int i = tl_lbfgs_place(lbfgs, age);
        double yr = -p->Yg[i];
        for (int a = 0; a < count; a++)
            yr -= alpha[a] * p->YY[i][tl_lbfgs_place(lbfgs, a)];
        for (int older = count - 1; older > age; older--)
            yr += c[older] * p->SY[tl_lbfgs_place(lbfgs, older)][i];
        c[age] = alpha[age] - yr / p->SY[i][i];
    }
    combine(lbfgs, alpha, c, gradient, metric, direction);
    for (int age = 0; age < count; age++) {
        int i = tl_lbfgs_place(lbfgs, age);
        slope += c[age] * p->Sg[i] - alpha[age] * p->Yg[i];
    }
    return slope;
}
