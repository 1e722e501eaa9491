/* Taylor polynomials of exp in factored form: the coefficients, and which of them to use. */
#ifndef TLNMF_LINALG_TAYLOR_H
#define TLNMF_LINALG_TAYLOR_H

#include <math.h>
#include <stdbool.h>

/* Of degree 8: A4 = A2 (x1 A + x2 A2), T8 = I + A + y2 A2 + (x3 A2 + A4) B,
 * B = x4 I + x5 A + x6 A2 + x7 A4. */
typedef struct tl_taylor8 {
    double x1, x2, x3, x4, x5, x6, x7, y2;
} tl_taylor8;

static inline tl_taylor8 tl_taylor8_coefficients(void)
{
    const double r = sqrt(177.0), x3 = 2.0 / 3.0;
    return (tl_taylor8){.x1 = x3 * (1.0 + r) / 88.0,
                        .x2 = x3 * (1.0 + r) / 352.0,
                        .x3 = x3,
                        .x4 = (-271.0 + 29.0 * r) / (315.0 * x3),
                        .x5 = 11.0 * (-1.0 + r) / (1260.0 * x3),
                        .x6 = 11.0 * (-9.0 + r) / (5040.0 * x3),
                        .x7 = (89.0 - r) / (5040.0 * x3 * x3),
                        .y2 = (857.0 - 58.0 * r) / 630.0};
}

/* Of degree 12: A6 = B3 + B4^2; T12 = B1 + (B2 + A6) A6. Each B is a cubic in A, whose coefficients
 * begin with that of I. */
typedef struct tl_taylor12 {
    double B1[4], B2[4], B3[4], B4[4];
} tl_taylor12;

static inline tl_taylor12 tl_taylor12_coefficients(void)
{
    return (tl_taylor12){
        {-0.01860232051462055322, -0.00500702322573317730, -0.57342012296052226390,
         -0.13339969394389205970},
        {4.6, 0.99287510353848683614, -0.13244556105279963884, 0.0017299},
        {0.21169311829980944294, 0.15822438471572672537, 0.16563516943672741501,
         0.01078627793157924250},
        {0.0, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359}};
}

/* exp(aE) is a polynomial at a, squared `doublings` times. */
typedef struct tl_taylor_plan {
    double a;
    int doublings;
    bool is_short; /* degree 8 is enough */
} tl_taylor_plan;

/* `norm` is that of E. */
static inline tl_taylor_plan tl_taylor_plan_of(double a, double norm)
{
    /* Up to these norms the first omitted term, norm^(d+1) / (d+1)!, is below 2^-53. */
    const double norm8 = 0.069, norm12 = 0.33;
    tl_taylor_plan plan = {.a = a};
    norm *= fabs(a);
    for (; norm > norm12 && plan.doublings < 1000; plan.doublings++, plan.a *= 0.5)
        norm *= 0.5;
    plan.is_short = norm <= norm8;
    return plan;
}

#endif
