/* SI-SDR, docs/spec.md (S4): the one place where it is computed. */
#include "sound/score/score.h"

#include <math.h>

/* <x, x>, <x, y>, <y, y> of the reference x and the estimate y, both scaled. */
typedef struct products {
    double xx, xy, yy;
} products;

static products multiply(const tl_si_sdr_pair *p)
{
    products sum = {0.0, 0.0, 0.0};
    for (int64_t t = 0; t < p->samples; t++)
        for (int64_t i = t * p->channels + p->first; i < t * p->channels + p->last; i++) {
            double x = p->reference_scale * p->reference[i];
            double y = p->estimate_scale * p->estimate[i];
            sum.xx += x * x;
            sum.xy += x * y;
            sum.yy += y * y;
        }
    return sum;
}

/* |y - a x|^2, sample by sample: a difference of energies would lose small values. */
static double rest_of(const tl_si_sdr_pair *p, double a)
{
    double sum = 0.0;
    for (int64_t t = 0; t < p->samples; t++)
        for (int64_t i = t * p->channels + p->first; i < t * p->channels + p->last; i++) {
            double x = p->reference_scale * p->reference[i];
            double rest = p->estimate_scale * p->estimate[i] - a * x;
            sum += rest * rest;
        }
    return sum;
}

double tl_decibels(double a, double b)
{
    return b > 0.0 ? 10.0 * log10(a / b) : INFINITY;
}

double tl_si_sdr(const tl_si_sdr_pair *pair)
{
    products sum = multiply(pair);
    double a = sum.xx > 0.0 ? sum.xy / sum.xx : 0.0;
    return tl_decibels(a * a * sum.xx, rest_of(pair, a));
}

/* The rest is <y, y> - |a x|^2, from a single pass. Up to 60 dB it is above 1e-6 of <y, y>, far
 * more than the rounding of the sums. The two tiny numbers keep the ratio positive and finite. */
double tl_si_sdr_bounded(const tl_si_sdr_pair *pair)
{
    products sum = multiply(pair);
    if (!(sum.xx > 0.0 && sum.yy > 0.0))
        return sum.xx > 0.0 ? TL_SI_SDR_LEAST : TL_SI_SDR_MOST;
    double target = sum.xy * sum.xy / sum.xx, rest = sum.yy - target;
    double ratio = target / fmax(rest, 1e-30 * sum.yy) + 1e-300;
    return fmin(TL_SI_SDR_MOST, fmax(TL_SI_SDR_LEAST, 10.0 * log10(ratio)));
}
