/* exp(aE) and the orthogonal polar factor of I + aE for a skew-symmetric E.
 *
 * exp: Taylor polynomials of degree 8 and 12 in the factored forms of Bader, Blanes and Casas
 * (Mathematics 7, 2019, 1174). They take 3 and 4 matrix products; the first costs half, since E^2 =
 * -E E'. Longer steps are halved before and squared after. All steps a share E^2.
 *
 * Polar factor: Newton's iteration with scaling (Higham 1986; Byers and Xu 2008) until the singular
 * values are close together, then Newton-Schulz of order 3, which needs products only. */
#include "base/monitor.h"
#include "linalg/linalg.h"
#include "linalg/taylor.h"

#include <math.h>

void tl_skew_slots(tl_skew *skew, int64_t M, tl_slot slots[TL_SKEW_SLOTS])
{
    skew->M = M;
    skew->arithmetic = &tl_double;
    skew->monitor = NULL;
    slots[0] = (tl_slot){&skew->E2, M * M, sizeof(double)};
    slots[1] = (tl_slot){&skew->lu_work, M * TL_LU_BLOCK, sizeof(double)};
    slots[2] = (tl_slot){&skew->pivot, M, sizeof(int)};
}

/* Elementwise work on M x M matrices is divided by rows, in pieces of this many numbers. */
enum { PIECE = 16384, TILE = 16 };

static int64_t rows_of_a_piece(int64_t M)
{
    return tl_max(TILE, PIECE / M / TILE * TILE);
}

/* The upper triangle of rows first .. last - 1, tile by tile: whole columns would miss the cache.
 */
static void complete_rows(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    int64_t M = e->M;
    double *E = e->out;
    for (int64_t b0 = first; b0 < last; b0 += TILE)
        for (int64_t a0 = b0; a0 < M; a0 += TILE)
            for (int64_t b = b0; b < tl_min(b0 + TILE, last); b++)
                for (int64_t a = tl_max(a0, b + 1); a < tl_min(a0 + TILE, M); a++)
                    E[b * M + a] = -E[a * M + b];
    for (int64_t m = first; m < last; m++)
        E[m * M + m] = 0.0;
}

void tl_skew_complete(int64_t M, double *E)
{
    tl_share(M, rows_of_a_piece(M), complete_rows, &(tl_elements){.out = E, .M = M});
}

static void unpack_rows(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    for (int64_t a = first; a < last; a++)
        tl_copy(e->out + a * e->M, e->x + a * (a - 1) / 2, a);
}

void tl_skew_unpack(int64_t M, const double *triangle, double *E)
{
    tl_share(M, rows_of_a_piece(M), unpack_rows, &(tl_elements){.x = triangle, .out = E, .M = M});
    tl_skew_complete(M, E);
}

enum { MOST_PIECES = 128 };

typedef struct measuring {
    int64_t M, grain;
    const double *A;
    double worst[MOST_PIECES];
} measuring;

TL_HOT static void measure_rows(int64_t first, int64_t last, void *arg)
{
    measuring *m = arg;
    double worst = 0.0;
    for (int64_t a = first; a < last; a++) {
        const double *row = m->A + a * m->M;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int64_t b = 0; b < m->M; b++)
            sum += fabs(row[b]);
        worst = fmax(worst, sum);
    }
    m->worst[first / m->grain] = worst;
}

/* Largest row sum of |A|. */
static double norm1(int64_t M, const double *A)
{
    measuring m = {.M = M, .A = A, .grain = rows_of_a_piece(M)};
    m.grain = tl_max(m.grain, (M + MOST_PIECES - 1) / MOST_PIECES);
    tl_share(M, m.grain, measure_rows, &m);
    double worst = 0.0;
    for (int64_t i = 0; i * m.grain < M; i++)
        worst = fmax(worst, m.worst[i]);
    return worst;
}

static void multiply(const tl_skew *skew, double alpha, const double *A, const double *B,
                     double beta, double *C)
{
    int64_t M = skew->M;
    tl_multiply(skew->arithmetic,
                &(tl_product){TL_PLAIN, TL_PLAIN, M, M, M, alpha, A, M, B, M, beta, C, M});
}

/* C = alpha A A' */
static void gram(const tl_skew *skew, double alpha, const double *A, double *C)
{
    skew->arithmetic->gram(skew->arithmetic, skew->M, alpha, A, C);
}

void tl_skew_prepare(tl_skew *skew, const double *E)
{
    skew->E = E;
    gram(skew, -1.0, E, skew->E2);
    skew->norm = fmin(norm1(skew->M, E), sqrt(norm1(skew->M, skew->E2)));
}

/* out = c[0] I + c[1] aE + c[2] (aE)^2 + d B; B may be NULL, or `out` itself. */
typedef struct blending {
    const tl_skew *skew;
    double c0, c1, c2, d;
    const double *B;
    double *out;
} blending;

TL_HOT static void blend_rows(int64_t first, int64_t last, void *arg)
{
    const blending *b = arg;
    int64_t M = b->skew->M;
    const double *E = b->skew->E, *E2 = b->skew->E2, *B = b->B, c1 = b->c1, c2 = b->c2, d = b->d;
    double *out = b->out;
    if (B == NULL)
        for (int64_t i = first * M; i < last * M; i++)
            out[i] = c1 * E[i] + c2 * E2[i];
    else
        for (int64_t i = first * M; i < last * M; i++)
            out[i] = c1 * E[i] + c2 * E2[i] + d * B[i];
    for (int64_t m = first; m < last; m++)
        out[m * M + m] += b->c0;
}

static void blend(const tl_skew *skew, double a, const double c[3], double d, const double *B,
                  double *out)
{
    tl_share(skew->M, rows_of_a_piece(skew->M), blend_rows,
             &(blending){skew, c[0], c[1] * a, c[2] * a * a, d, B, out});
}

/* out = a x + b out, elementwise. */
TL_HOT static void add_rows(int64_t first, int64_t last, void *arg)
{
    const tl_elements *e = arg;
    const double *x = e->x, a = e->a, b = e->b;
    double *out = e->out;
    for (int64_t i = first * e->M; i < last * e->M; i++)
        out[i] = b == 0.0 ? a * x[i] : a * x[i] + b * out[i];
}

static void add(int64_t M, double a, const double *x, double b, double *out)
{
    tl_share(M, rows_of_a_piece(M), add_rows,
             &(tl_elements){.x = x, .a = a, .b = b, .out = out, .M = M});
}

static void taylor8(tl_skew *skew, double a, tl_lent lent, double *out)
{
    const tl_taylor8 t = tl_taylor8_coefficients();
    double *A4 = lent.b, *s = lent.a;
    blend(skew, a, (double[]){0.0, t.x1, t.x2}, 0.0, NULL, s);
    multiply(skew, a * a, skew->E2, s, 0.0, A4);
    blend(skew, a, (double[]){t.x4, t.x5, t.x6}, t.x7, A4, s);
    blend(skew, a, (double[]){0.0, 0.0, t.x3}, 1.0, A4, A4);
    blend(skew, a, (double[]){1.0, 1.0, t.y2}, 0.0, NULL, out);
    multiply(skew, 1.0, A4, s, 1.0, out);
}

/* `out` holds E^3 until B1 is written. */
static void taylor12(tl_skew *skew, double a, tl_lent lent, double *out)
{
    const tl_taylor12 t = tl_taylor12_coefficients();
    double a3 = a * a * a, *A6 = lent.b, *s = lent.a;
    multiply(skew, 1.0, skew->E2, skew->E, 0.0, out);
    blend(skew, a, t.B4, t.B4[3] * a3, out, s);
    blend(skew, a, t.B3, t.B3[3] * a3, out, A6);
    multiply(skew, 1.0, s, s, 1.0, A6);
    blend(skew, a, t.B2, t.B2[3] * a3, out, s);
    add(skew->M, 1.0, A6, 1.0, s);
    blend(skew, a, t.B1, t.B1[3] * a3, out, out);
    multiply(skew, 1.0, s, A6, 1.0, out);
}

/* R = I - Q Q'. */
static void defect(tl_skew *skew, const double *Q, double *R)
{
    int64_t M = skew->M;
    gram(skew, -1.0, Q, R);
    for (int64_t m = 0; m < M; m++)
        R[m * M + m] += 1.0;
}

/* Q <- (I + R/2 + 3/8 R^2) Q, the first terms of (I - R)^(-1/2) Q, until R is at rounding level. */
bool tl_orthogonalise(tl_skew *skew, tl_lent lent, double *Q)
{
    enum { MOST = 50 };
    int64_t M = skew->M;
    double *R = lent.b, *series = skew->E2;
    double size = 1.0;
    for (int i = 0; i < MOST && size > 1e-5 && !tl_poll(skew->monitor);
         i++) { /* 1e-5 cubed is below rounding */
        defect(skew, Q, R);
        size = norm1(M, R);
        gram(skew, 0.375, R, series);
        add(M, 0.5, R, 1.0, series);
        multiply(skew, 1.0, series, Q, 0.0, lent.a);
        add(M, 1.0, lent.a, 1.0, Q);
    }
    return size <= 1e-5;
}

bool tl_polar_by_products(tl_skew *skew, tl_lent lent, double *A)
{
    const tl_arithmetic *before = skew->arithmetic;
    skew->arithmetic = &tl_double;
    gram(skew, 1.0, A, lent.b);
    double bound = sqrt(norm1(skew->M, lent.b)); /* no singular value is larger */
    bool done = bound > 0.0 && isfinite(bound);
    if (done) {
        add(skew->M, 1.0 / bound, A, 0.0, A);
        done = tl_orthogonalise(skew, lent, A);
    }
    skew->arithmetic = before;
    return done;
}

void tl_skew_exp(tl_skew *skew, double a, tl_lent lent, double *out)
{
    tl_taylor_plan plan = tl_taylor_plan_of(a, skew->norm);
    if (plan.is_short)
        taylor8(skew, plan.a, lent, out);
    else
        taylor12(skew, plan.a, lent, out);
    for (int i = 0; i < plan.doublings; i++) {
        multiply(skew, 1.0, out, out, 0.0, lent.a);
        add(skew->M, 1.0, lent.a, 0.0, out);
    }
}

void tl_skew_polar(tl_skew *skew, double a, tl_lent lent, double *Q)
{
    int64_t M = skew->M;
    add(M, a, skew->E, 0.0, Q);
    for (int64_t m = 0; m < M; m++)
        Q[m * M + m] += 1.0;
    /* The singular values lie in [1, ratio]. A scaled Newton step at least halves log(ratio). */
    double ratio = hypot(1.0, a * skew->norm);
    for (int i = 0; i < 100 && ratio > 1.2; i++) {
        double change; /* cannot fail: the singular values are far from 0 */
        tl_polar_step(M, 1.0 / sqrt(ratio), Q, lent.a, skew->lu_work, skew->pivot, &change);
        ratio = 0.5 * (sqrt(ratio) + 1.0 / sqrt(ratio));
    }
    /* Scale the squared singular values to [2 / (1 + ratio^2), 2 ratio^2 / (1 + ratio^2)], centred
     * at 1. */
    double scale = sqrt(2.0 / (1.0 + ratio * ratio));
    add(M, scale, Q, 0.0, Q);
    tl_orthogonalise(skew, lent, Q);
}

void tl_skew_turn(tl_skew *skew, tl_retraction how, double a, const double *Phi, tl_lent lent,
                  double *Q, double *out)
{
    int64_t M = skew->M;
    if (how == TL_EXP)
        tl_skew_exp(skew, a, lent, Q);
    else
        tl_skew_polar(skew, a, lent, Q);
    /* Phi + (Q - I) Phi: only the change is rounded, so that in single precision Phi stays nearly
     * orthogonal even after many steps. */
    for (int64_t m = 0; m < M; m++)
        Q[m * M + m] -= 1.0;
    add(M, 1.0, Phi, 0.0, out);
    multiply(skew, 1.0, Q, Phi, 1.0, out);
}
