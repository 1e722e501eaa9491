/* SI-SDR, compared with its definition in long double; its limits; both ways of computing it. */
#include "support.h"

#include "sound/score/score.h"

enum { SAMPLES = 1000, CHANNELS = 3 };

/* 10 log10(|a r|^2 / |e - a r|^2), a = <e, r> / <r, r>, over channels first .. last-1. */
static double by_definition(const tl_si_sdr_pair *p)
{
    long double rr = 0.0L, er = 0.0L, target = 0.0L, rest = 0.0L;
    for (int64_t t = 0; t < p->samples; t++)
        for (int64_t c = p->first; c < p->last; c++) {
            long double r = p->reference[t * p->channels + c], e = p->estimate[t * p->channels + c];
            rr += r * r;
            er += e * r;
        }
    long double a = er / rr;
    for (int64_t t = 0; t < p->samples; t++)
        for (int64_t c = p->first; c < p->last; c++) {
            long double r = p->reference[t * p->channels + c], e = p->estimate[t * p->channels + c];
            target += a * r * (a * r);
            rest += (e - a * r) * (e - a * r);
        }
    return (double)(10.0L * log10l(target / rest));
}

/* A reference, and an estimate that is `gain` times it plus `noise` times something else. */
static tl_si_sdr_pair new_pair(double gain, double noise)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 1);
    double *reference = new_normals(&rng, SAMPLES * CHANNELS);
    double *estimate = new_normals(&rng, SAMPLES * CHANNELS);
    for (int i = 0; i < SAMPLES * CHANNELS; i++)
        estimate[i] = gain * reference[i] + noise * estimate[i];
    return (tl_si_sdr_pair){.reference = reference,
                            .estimate = estimate,
                            .reference_scale = 1.0,
                            .estimate_scale = 1.0,
                            .samples = SAMPLES,
                            .channels = CHANNELS,
                            .last = CHANNELS};
}

static void free_pair(const tl_si_sdr_pair *p)
{
    free((double *)(uintptr_t)p->reference);
    free((double *)(uintptr_t)p->estimate);
}

static void both_ways_match_the_definition(void **state)
{
    static const struct {
        double gain, noise;
    } table[] = {{1.0, 1.0}, {-3.0, 0.1}, {0.5, 1e-2}, {1.0, 1.5e-3}, {0.3, 1.0}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int c = 0; c < CHANNELS; c++) {
            tl_si_sdr_pair p = new_pair(table[i].gain, table[i].noise);
            assert_near(tl_si_sdr(&p), by_definition(&p), 1e-11);
            assert_near(tl_si_sdr_bounded(&p), by_definition(&p), 1e-8);
            p.first = c; /* one channel alone */
            p.last = c + 1;
            assert_near(tl_si_sdr(&p), by_definition(&p), 1e-11);
            assert_near(tl_si_sdr_bounded(&p), by_definition(&p), 1e-8);
            free_pair(&p);
        }
}

/* If the difference of energies loses all digits, the sum of squares is still exact. */
static void reports_are_exact_at_any_level(void **state)
{
    (void)state;
    tl_si_sdr_pair p = new_pair(1.0, 1e-9);
    assert_true(by_definition(&p) > 170.0);
    assert_near(tl_si_sdr(&p), by_definition(&p), 1e-5);
    assert_true(tl_si_sdr_bounded(&p) == TL_SI_SDR_MOST);
    tl_si_sdr_pair same = p;
    same.estimate = same.reference;
    assert_true(isinf(tl_si_sdr(&same)) && tl_si_sdr(&same) > 0.0);
    free_pair(&p);
}

static void comparisons_are_bounded(void **state)
{
    (void)state;
    double x[4] = {1.0, 1.0, -1.0, -1.0}, across[4] = {1.0, -1.0, 1.0, -1.0}, none[4] = {0.0};
    tl_si_sdr_pair p = {x, x, 1.0, 1.0, 4, 1, 0, 1};
    assert_true(tl_si_sdr_bounded(&p) == TL_SI_SDR_MOST);
    p.estimate = across; /* orthogonal to the reference */
    assert_true(tl_si_sdr_bounded(&p) == TL_SI_SDR_LEAST);
    p.estimate = none;
    assert_true(tl_si_sdr_bounded(&p) == TL_SI_SDR_LEAST);
    p.reference = none;
    assert_true(tl_si_sdr_bounded(&p) == TL_SI_SDR_MOST);
}

static void scales_do_not_matter(void **state)
{
    (void)state;
    tl_si_sdr_pair p = new_pair(0.7, 0.2);
    double exact = tl_si_sdr(&p), bounded = tl_si_sdr_bounded(&p);
    p.reference_scale = 0x1p-20;
    p.estimate_scale = 0x1p30;
    assert_true(tl_si_sdr(&p) == exact);
    assert_true(tl_si_sdr_bounded(&p) == bounded);
    free_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_match_the_definition),
        cmocka_unit_test(reports_are_exact_at_any_level),
        cmocka_unit_test(comparisons_are_bounded),
        cmocka_unit_test(scales_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
