/* SDR, SIR, SAR, SI-SDR. The numbers in the tables were computed in numpy from the definitions: the
 * projections by least squares (numpy.linalg.lstsq) on a matrix whose columns are the delayed
 * references, the permutation by trying all. */
#include "support.h"

#include "sound/score/score.h"
#include "tlnmf/sound.h"

enum { MOST = 4 };

typedef struct problem {
    int64_t n, frames;
    int channels;
    double *reference[MOST], *estimate[MOST];
} problem;

/* Numbers from -1 to 1 in steps of 1/1000, the same in any language. */
static double next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)((*state >> 33) % 2001) - 1000.0) / 1000.0;
}

/* Reference i: such numbers, smoothed. Estimate i is of source i + 1, blurred by one sample, with
 * some of source i + 2 and noise; all modulo n. */
static void fill(problem *p, int channel, uint64_t seed)
{
    static const double taps[] = {0.125, 0.25, 0.5, 1.0};
    for (int64_t i = 0; i < p->n; i++) {
        uint64_t state = seed + (uint64_t)i;
        double last[4] = {0.0};
        for (int64_t t = 0; t < p->frames + 3; t++) {
            for (int k = 0; k < 3; k++)
                last[k] = last[k + 1];
            last[3] = next_number(&state);
            if (t >= 3)
                p->reference[i][(t - 3) * p->channels + channel] =
                    taps[0] * last[0] + taps[1] * last[1] + taps[2] * last[2] + taps[3] * last[3];
        }
    }
    for (int64_t i = 0; i < p->n; i++) {
        uint64_t state = seed + 100 + (uint64_t)i;
        const double *own = p->reference[(i + 1) % p->n], *other = p->reference[(i + 2) % p->n];
        for (int64_t t = 0; t < p->frames; t++) {
            int64_t at = t * p->channels + channel;
            p->estimate[i][at] = own[at] + (t > 0 ? 0.5 * own[at - p->channels] : 0.0) +
                                 (p->n > 1 ? 0.3 * other[at] : 0.0) + 0.1 * next_number(&state);
        }
    }
}

static problem new_problem(int64_t n, int64_t frames, int channels, const uint64_t *seeds)
{
    problem p = {.n = n, .frames = frames, .channels = channels};
    for (int64_t i = 0; i < n; i++) {
        p.reference[i] = new_doubles(frames * channels);
        p.estimate[i] = new_doubles(frames * channels);
    }
    for (int c = 0; c < channels; c++)
        fill(&p, c, seeds[c]);
    return p;
}

static void free_problem(problem *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        free(p->reference[i]);
        free(p->estimate[i]);
    }
}

static tlnmf_error evaluate(tlnmf_ctx *ctx, const problem *p, int64_t filter, bool permute,
                            int64_t *match, tl_score *scores)
{
    const double *reference[MOST], *estimate[MOST];
    for (int64_t i = 0; i < p->n; i++) {
        reference[i] = p->reference[i];
        estimate[i] = p->estimate[i];
    }
    tl_score_signals in = {p->n, p->frames, p->channels, reference, estimate};
    const tl_score_rules rules = {.filter = filter, .permute = permute};
    return tl_score_evaluate(ctx, &in, &rules, match, scores);
}

static void same_score(const tl_score *got, const double want[4])
{
    assert_int_equal(got->state, TL_SCORED);
    assert_near(got->sdr, want[0], 1e-9);
    if (isinf(want[1]))
        assert_true(isinf(got->sir) && got->sir > 0.0);
    else
        assert_near(got->sir, want[1], 1e-9);
    assert_near(got->sar, want[2], 1e-9);
    assert_near(got->si_sdr, want[3], 1e-9);
}

/* ---- against numpy --------------------------------------------------------------------------- */

static void scores_match_the_definitions(void **state)
{
    static const struct {
        int64_t n, frames, filter;
        uint64_t seed;
        int64_t match[3];
        double score[3][4];
    } table[] = {
        {1, 200, 4, 5, {0}, {{22.3122036292602, INFINITY, 22.3122036292602, 8.3997405040120}}},
        {2,
         300,
         8,
         1,
         {1, 0},
         {{12.6794806113230, 13.0958280935571, 23.2771332638413, 7.6707679319128},
          {12.6597988863533, 13.0114413315173, 23.9631026860987, 7.3959395496926}}},
        {3,
         500,
         16,
         2,
         {2, 0, 1},
         {{13.0018296674849, 13.3341348840038, 24.5264021062991, 8.0324154226567},
          {12.7653684721278, 13.0716274328240, 24.6435453729887, 7.3140558002149},
          {12.2753382175494, 12.5640527084468, 24.4262685593046, 7.3816867500271}}},
        {3,
         40,
         1,
         3,
         {2, 0, 1},
         {{8.2388218942834, 11.8818714763223, 10.9697714649105, 8.2388218942834},
          {10.6502350274114, 19.4752532530304, 11.3091120406928, 10.6502350274114},
          {6.1585100151390, 8.9835418564038, 9.8791478918820, 6.1585100151390}}},
    };
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        problem p = new_problem(table[i].n, table[i].frames, 1, &table[i].seed);
        int64_t match[MOST];
        tl_score scores[2 * MOST];
        assert_ok(ctx, evaluate(ctx, &p, table[i].filter, true, match, scores));
        for (int64_t r = 0; r < p.n; r++) {
            assert_int_equal(match[r], table[i].match[r]);
            same_score(&scores[2 * r], table[i].score[r]);
            same_score(&scores[2 * r + 1], table[i].score[r]);
        }
        free_problem(&p);
    }
    tlnmf_ctx_free(ctx);
}

/* Images: projections on all channels of the references; the level matters. */
static void image_scores_match_the_definitions(void **state)
{
    static const double want[2][4] = {
        {4.7758235983003, 5.6610007517329, 15.2947674166957, 25.2496063354807},
        {3.9730152246500, 5.6279978629690, 11.8398838623202, 25.1501915069033}};
    static const uint64_t seeds[] = {1, 7};
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    problem p = new_problem(2, 60, 2, seeds);
    int64_t match[2];
    tl_score scores[3 * 2];
    const double *reference[] = {p.reference[0], p.reference[1]},
                 *estimate[] = {p.estimate[0], p.estimate[1]};
    const tl_score_signals in = {2, 60, 2, reference, estimate};
    const tl_score_rules rules = {.filter = 3, .permute = true, .images = true};
    assert_ok(ctx, tl_score_evaluate(ctx, &in, &rules, match, scores));
    for (int r = 0; r < 2; r++) {
        const tl_score *got = &scores[3 * r + 2];
        assert_int_equal(match[r], 1 - r);
        assert_near(got->sdr, want[r][0], 1e-9);
        assert_near(got->isr, want[r][1], 1e-9);
        assert_near(got->sir, want[r][2], 1e-9);
        assert_near(got->sar, want[r][3], 1e-9);
    }
    free_problem(&p);
    tlnmf_ctx_free(ctx);
}

/* Two windows of 30 samples that begin 25 samples apart, each scored separately. */
static void windows_are_scored_separately(void **state)
{
    static const double want[2][2][4] = {
        {{13.9593838320087, 14.4194401199663, 24.0913230229785, 7.7422584429472},
         {11.5662772667243, 11.8945143321489, 23.2173855474453, 7.9520903920901}},
        {{13.9847858908336, 15.8511532500227, 18.6639243960422, 10.0411884611873},
         {10.7280778419211, 10.9549065420941, 23.9971521705672, 7.0379287687800}}};
    static const uint64_t seed = 1;
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    static const char *const names[] = {"frame_sdr", "frame_sir", "frame_sar", "frame_si_sdr"};
    problem p = new_problem(2, 60, 1, &seed);
    double reference[2 * 60], estimate[2 * 60];
    for (int i = 0; i < 2; i++) {
        memcpy(reference + 60 * i, p.reference[i], 60 * sizeof(double));
        memcpy(estimate + 60 * i, p.estimate[i], 60 * sizeof(double));
    }
    tl_settings settings = defaults_of(TL_TASK_SCORE);
    tlnmf_record *scores;
    settings.filter = 3;
    settings.permute = 1;
    settings.framewise_hop = 25;
    for (settings.framewise = 30; settings.framewise <= 90; settings.framewise += 30) {
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        assert_ok(ctx,
                  tlnmf_score(ctx, reference, estimate, (int64_t[]){2, 60, 1}, &settings, &scores));
        for (int c = 0; c < 4; c++) {
            const double *got = tlnmf_record_get_array(scores, names[c], NULL, shape);
            assert_int_equal(shape[0], settings.framewise == 30 ? 2 : 1);
            for (int64_t i = 0; shape[0] == 2 && i < 4; i++)
                assert_near(got[i], want[i / 2][i % 2][c], 1e-9);
        }
        tlnmf_record_free(scores);
    }
    settings.framewise = 0;
    assert_int_equal(
        tlnmf_score(ctx, reference, estimate, (int64_t[]){2, 60, 1}, &settings, &scores),
        TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "framewise-hop requires framewise");
    settings.framewise_hop = 0;
    assert_int_equal(tlnmf_score(ctx, reference, estimate, (int64_t[]){2, (int64_t)1 << 62, 7},
                                 &settings, &scores),
                     TLNMF_ERR_TOO_LARGE);
    free_problem(&p);
    tlnmf_ctx_free(ctx);
}

/* Each channel is scored separately; for all channels, energies are summed. */
static void channels_and_all_of_them(void **state)
{
    static const double all[2][4] = {
        {12.4935524095805, 12.8894311003589, 23.3099357048583, 7.2478888616769},
        {12.8374539846772, 13.1981427410354, 24.0261972916132, 7.7399255660962}};
    static const uint64_t seeds[] = {1, 7};
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    problem stereo = new_problem(2, 300, 2, seeds);
    int64_t match[MOST];
    tl_score scores[3 * MOST], mono[2 * MOST];
    assert_ok(ctx, evaluate(ctx, &stereo, 8, true, match, scores));
    for (int c = 0; c < 2; c++) {
        problem alone = new_problem(2, 300, 1, &seeds[c]);
        assert_ok(ctx, evaluate(ctx, &alone, 8, true, match, mono));
        for (int r = 0; r < 2; r++) {
            const tl_score *m = &mono[2 * r];
            same_score(&scores[3 * r + c], (double[4]){m->sdr, m->sir, m->sar, m->si_sdr});
        }
        free_problem(&alone);
    }
    for (int r = 0; r < 2; r++)
        same_score(&scores[3 * r + 2], all[r]);
    for (int figure = 0; figure < 4; figure++)
        assert_near(tl_score_mean(2, 3, scores + 2, figure),
                    0.5 * (all[0][figure] + all[1][figure]), 1e-9);
    free_problem(&stereo);
    tlnmf_ctx_free(ctx);
}

/* Many blocks of the transforms, and the default filter: a filtered reference counts as target. */
static void a_filtered_reference_is_no_error(void **state)
{
    static const uint64_t seed = 11;
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    problem p = new_problem(2, 40000, 1, &seed);
    int64_t match[MOST];
    tl_score scores[2 * MOST];
    for (int64_t t = 0; t < p.frames; t++)
        for (int i = 0; i < 2; i++)
            p.estimate[i][t] = p.reference[i][t] - (t >= 400 ? 0.7 * p.reference[i][t - 400] : 0.0);
    for (int i = 0; i < 2; i++) /* the echo beyond the last sample is cut off */
        memset(p.reference[i] + p.frames - 400, 0, 400 * sizeof(double));
    for (int64_t t = p.frames - 400; t < p.frames; t++)
        for (int i = 0; i < 2; i++)
            p.estimate[i][t] = -0.7 * p.reference[i][t - 400];
    assert_ok(ctx, evaluate(ctx, &p, 512, true, match, scores));
    for (int r = 0; r < 2; r++) {
        assert_int_equal(match[r], r);
        assert_true(scores[2 * r].sdr > 200.0 && scores[2 * r].sir > 200.0 &&
                    scores[2 * r].sar > 200.0);
        assert_true(scores[2 * r].si_sdr < 10.0); /* SI-SDR allows only a gain */
    }
    assert_ok(ctx, evaluate(ctx, &p, 400, true, match, scores)); /* one tap too few */
    assert_true(scores[0].sdr < 10.0);
    free_problem(&p);
    tlnmf_ctx_free(ctx);
}

/* ---- properties ------------------------------------------------------------------------------ */

static void loudness_does_not_matter(void **state)
{
    static const uint64_t seed = 2;
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    problem p = new_problem(3, 500, 1, &seed);
    int64_t match[MOST];
    tl_score want[2 * MOST], got[2 * MOST];
    assert_ok(ctx, evaluate(ctx, &p, 16, true, match, want));
    for (int64_t t = 0; t < p.frames; t++) {
        p.reference[0][t] *= 1e300;
        p.reference[1][t] *= 1e-300;
        p.estimate[0][t] *= -1e-290;
        p.estimate[2][t] *= 1e250;
    }
    assert_ok(ctx, evaluate(ctx, &p, 16, true, match, got));
    for (int i = 0; i < 6; i++)
        same_score(&got[i], (double[4]){want[i].sdr, want[i].sir, want[i].sar, want[i].si_sdr});
    free_problem(&p);
    tlnmf_ctx_free(ctx);
}

static void no_permutation_keeps_the_order(void **state)
{
    static const uint64_t seed = 1;
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    problem p = new_problem(2, 300, 1, &seed);
    int64_t match[MOST];
    tl_score scores[2 * MOST];
    assert_ok(ctx, evaluate(ctx, &p, 8, false, match, scores));
    assert_int_equal(match[0], 0);
    assert_int_equal(match[1], 1);
    assert_true(scores[0].sir < 0.0 && scores[2].sir < 0.0);
    free_problem(&p);
    tlnmf_ctx_free(ctx);
}

static void silence_is_reported(void **state)
{
    static const uint64_t seeds[] = {2, 4};
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    problem p = new_problem(3, 500, 2, seeds);
    int64_t match[MOST];
    tl_score scores[3 * MOST];
    memset(p.reference[1], 0, 1000 * sizeof(double));
    memset(p.estimate[2], 0, 1000 * sizeof(double)); /* the estimate of reference 0 */
    assert_ok(ctx, evaluate(ctx, &p, 16, true, match, scores));
    assert_int_equal(match[1], 2); /* a silent estimate for a silent reference */
    for (int c = 0; c < 3; c++) {
        assert_int_equal(scores[3 + c].state, TL_SILENT_REFERENCE);
        assert_true(isnan(scores[3 + c].sdr));
        assert_int_equal(scores[c].state, TL_SCORED);
        assert_true(isfinite(scores[c].sdr) && isfinite(scores[c].sir) && isfinite(scores[c].sar));
    }
    assert_near(tl_score_mean(3, 3, scores + 2, 0), 0.5 * (scores[2].sdr + scores[8].sdr), 1e-12);
    assert_ok(ctx, evaluate(ctx, &p, 16, false, match, scores));
    for (int c = 0; c < 3; c++)
        assert_int_equal(scores[6 + c].state, TL_SILENT_ESTIMATE);
    for (int64_t t = 0; t < 500; t++) /* one channel only */
        p.reference[0][2 * t + 1] = 0.0;
    assert_ok(ctx, evaluate(ctx, &p, 16, true, match, scores));
    assert_int_equal(scores[0].state, TL_SCORED);
    assert_int_equal(scores[1].state, TL_SILENT_REFERENCE);
    assert_int_equal(scores[2].state, TL_SCORED);
    assert_true(isfinite(scores[2].sdr));
    for (int i = 0; i < 3; i++)
        memset(p.reference[i], 0, 1000 * sizeof(double));
    assert_ok(ctx, evaluate(ctx, &p, 16, true, match, scores));
    for (int i = 0; i < 9; i++)
        assert_int_equal(scores[i].state, TL_SILENT_REFERENCE);
    assert_true(isnan(tl_score_mean(3, 3, scores, 0)));
    free_problem(&p);
    tlnmf_ctx_free(ctx);
}

/* References that are equal, or so simple that their Gram matrix has rank 2 or 1. */
static void singular_references(void **state)
{
    static const uint64_t seed = 9;
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    problem p = new_problem(3, 2000, 1, &seed), pair = p;
    int64_t match[MOST];
    tl_score with_twin[2 * MOST], without[2 * MOST];
    pair.n = 2;
    assert_ok(ctx, evaluate(ctx, &pair, 32, false, match, without));
    memcpy(p.reference[2], p.reference[0], 2000 * sizeof(double));
    assert_ok(ctx, evaluate(ctx, &p, 32, false, match, with_twin));
    for (int i = 0; i < 4; i++) { /* the duplicate explains nothing more */
        const tl_score *w = &without[i];
        same_score(&with_twin[i], (double[4]){w->sdr, w->sir, w->sar, w->si_sdr});
    }
    for (int64_t t = 0; t < 2000; t++) {
        p.reference[0][t] = sin(0.1 * (double)t);
        p.reference[1][t] = 1.0;
        p.estimate[0][t] = 0.5 * p.reference[0][t] + 0.01 * p.reference[2][t];
    }
    assert_ok(ctx, evaluate(ctx, &p, 512, false, match, with_twin));
    for (int r = 0; r < 3; r++)
        assert_true(isfinite(with_twin[2 * r].sdr) && isfinite(with_twin[2 * r].sar));
    assert_true(with_twin[0].sdr > 30.0 && with_twin[0].sdr < 60.0);
    free_problem(&p);
    tlnmf_ctx_free(ctx);
}

/* A NaN must not become a perfect score. */
static void samples_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    static const struct {
        double x;
        bool is_estimate;
        const char *message;
    } cases[] = {
        {NAN, true, "estimate 1, sample 5, channel 1 is not finite"},
        {NAN, false, "reference 1, sample 5, channel 1 is not finite"},
        {-INFINITY, true, "estimate 1, sample 5, channel 1 is not finite"},
        {1e200, true, "estimate 1, sample 5, channel 1 is too large to square: scale it"},
        {-1e200, false, "reference 1, sample 5, channel 1 is too large to square: scale it"}};
    enum { LENGTH = 40, CHANNELS = 2, COUNT = 2 * LENGTH * CHANNELS };
    const int64_t shape[3] = {2, LENGTH, CHANNELS}, bad = (LENGTH + 5) * CHANNELS + 1;
    tlnmf_ctx *ctx = new_ctx();
    uint64_t seed = 3;
    double reference[COUNT], estimate[COUNT];
    for (int i = 0; i < COUNT; i++)
        reference[i] = estimate[i] = next_number(&seed);
    tl_settings settings = defaults_of(TL_TASK_SCORE);
    settings.filter = 4;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tlnmf_record *scores;
        double *x = cases[i].is_estimate ? &estimate[bad] : &reference[bad], was = *x;
        *x = cases[i].x;
        for (settings.images = 0; settings.images < 2; settings.images++) {
            assert_int_equal(tlnmf_score(ctx, reference, estimate, shape, &settings, &scores),
                             TLNMF_ERR_DATA);
            assert_string_equal(tlnmf_message(ctx), cases[i].message);
            assert_null(scores);
        }
        *x = was;
    }
    tlnmf_ctx_free(ctx);
}

static void one_sample_is_enough(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    double x = 0.25;
    problem p = {.n = 1, .frames = 1, .channels = 1, .reference = {&x}, .estimate = {&x}};
    int64_t match[1];
    tl_score scores[2];
    assert_ok(ctx, evaluate(ctx, &p, 512, true, match, scores));
    assert_true(scores[0].sdr > 200.0);
    assert_true(isinf(scores[0].si_sdr) && scores[0].si_sdr > 0.0);
    tlnmf_ctx_free(ctx);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The allocation number `left` fails. */
static void *count_down(size_t bytes, void *user)
{
    int64_t *left = user;
    return (*left)-- == 0 ? NULL : malloc(bytes);
}

static void release(void *block, void *user)
{
    (void)user;
    free(block);
}

static void no_memory(void **state)
{
    static const uint64_t seed = 9;
    (void)state;
    problem p = new_problem(2, 100, 1, &seed);
    memcpy(p.reference[1], p.reference[0], 100 * sizeof(double)); /* also with pivoting */
    tlnmf_error error = TLNMF_ERR_MEMORY;
    int64_t n = 0;
    for (; error == TLNMF_ERR_MEMORY; n++) {
        int64_t left = -1, match[MOST];
        tl_score scores[2 * MOST];
        tlnmf_ctx *ctx = new_ctx_with(count_down, release, &left);
        left = n;
        error = evaluate(ctx, &p, 4, true, match, scores);
        left = -1;
        tlnmf_ctx_free(ctx);
    }
    assert_int_equal(error, TLNMF_OK);
    assert_true(n > 8);
    free_problem(&p);
}

/* Stops in the given stage, after some of it is done. */
typedef struct stopper {
    const char *stage;
    double after, last; /* fractions */
    int reports;
    bool backwards;
} stopper;

static int stop_there(const tlnmf_record *progress, void *user)
{
    stopper *s = user;
    double done = tlnmf_record_get_real(progress, "done");
    if (strcmp(tlnmf_record_get_text(progress, "stage"), s->stage) != 0 || isnan(done))
        return 0;
    s->reports++;
    s->backwards = s->backwards || done < s->last;
    s->last = done;
    return done > s->after;
}

/* Whether the table of results explains this stage of the progress. */
static bool is_explained(const char *stage)
{
    for (size_t i = 0; tlnmf_result_name(i) != NULL; i++)
        if (strcmp(tlnmf_result_name(i), "stage") == 0)
            return strstr(tlnmf_result_help(i), stage) != NULL;
    return false;
}

static void scoring_reports_and_stops(void **state)
{
    (void)state;
    enum { LENGTH = 400000 };
    static const uint64_t seed = 9;
    static const struct {
        const char *stage, *option;
        double after;
    } cases[] = {{"score", "framewise=0", 0.3},
                 {"score", "framewise=0", 0.7},
                 {"score windows", "framewise=1000", 0.02}};
    problem p = new_problem(1, LENGTH, 1, &seed);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tlnmf_ctx *ctx = new_ctx();
        tlnmf_settings *settings;
        tlnmf_record *scores = NULL;
        stopper s = {.stage = cases[i].stage, .after = cases[i].after};
        tlnmf_ctx_set_progress(ctx, stop_there, &s);
        ctx->monitor->every = 0.0; /* every poll reports, however fast the machine is */
        assert_ok(ctx, tlnmf_settings_create(ctx, "score", &settings));
        assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, cases[i].option));
        tlnmf_error error = tlnmf_score(ctx, p.reference[0], p.estimate[0],
                                        (int64_t[]){1, LENGTH, 1}, settings, &scores);
        assert_int_equal(error, TLNMF_ERR_CALLBACK);
        assert_string_equal(tlnmf_message(ctx), "stopped while the scores were being computed");
        assert_null(scores);
        assert_true(s.reports > 1 && !s.backwards && s.last < 1.0);
        assert_true(is_explained(cases[i].stage));
        tlnmf_settings_free(settings);
        tlnmf_ctx_free(ctx);
    }
    free_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_match_the_definitions),
        cmocka_unit_test(image_scores_match_the_definitions),
        cmocka_unit_test(windows_are_scored_separately),
        cmocka_unit_test(channels_and_all_of_them),
        cmocka_unit_test(a_filtered_reference_is_no_error),
        cmocka_unit_test(loudness_does_not_matter),
        cmocka_unit_test(no_permutation_keeps_the_order),
        cmocka_unit_test(silence_is_reported),
        cmocka_unit_test(singular_references),
        cmocka_unit_test(samples_that_are_not_finite_are_refused),
        cmocka_unit_test(one_sample_is_enough),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(scoring_reports_and_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
