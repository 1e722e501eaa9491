/* Active sources over time, and the frames to learn from, compared with plain loops over samples.
 */
#include "sound/signal/scene.h"
#include "unit/sound/duet.h"

static void active_sources_match_the_samples(void **state)
{
    static const tl_span spans[] = {{.start = 10, .end = 30, .source = 0},
                                    {.start = 25, .end = 90, .source = 2},
                                    {.start = 130, .end = 131, .source = 1},
                                    {.start = 190, .end = 400, .source = 0}};
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 1);
    for (int round = 0; round < 50; round++) {
        tl_frames f = default_frames();
        f.M = pick(&rng, 2, 40);
        f.hop = pick(&rng, 1, f.M);
        tl_schedule schedule;
        assert_ok(ctx, tl_schedule_create(ctx, spans, 4, round % 3 == 0 ? 0 : pick(&rng, 1, 50), 3,
                                          &schedule));
        for (int64_t n = 0; n < tl_frames_count(&f, 200); n++) {
            uint64_t expected = 0; /* samples that frame n holds at any shift of less than a hop */
            for (int64_t t = (n + 1) * f.hop - f.M - f.hop + 1; t < (n + 1) * f.hop; t++)
                for (int i = 0; i < 4; i++)
                    if (t >= spans[i].start && t < spans[i].end + schedule.release)
                        expected |= (uint64_t)1 << spans[i].source;
            assert_int_equal(tl_schedule_active(&schedule, &f, n), expected);
        }
        tl_schedule_free(&schedule);
    }
    tlnmf_ctx_free(ctx);
    tl_frames f = default_frames();
    assert_int_equal(tl_schedule_active(&(tl_schedule){.sources = 3}, &f, 0), 7);
    assert_int_equal(tl_schedule_active(&(tl_schedule){.sources = 64}, &f, 0), ~(uint64_t)0);
}

/* Sources over time and rows that are barred, with many spans that overlap, against plain loops. */
static void spans_are_found_like_in_plain_loops(void **state)
{
    enum { SPANS = 40, ROWS = 9, COUNT = 5, LONG = 300 };
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 7, 1);
    for (int round = 0; round < 100; round++) {
        tl_span spans[SPANS];
        int64_t count = pick(&rng, 1, SPANS), release = pick(&rng, 0, 9);
        for (int64_t i = 0; i < count; i++) {
            int64_t start = pick(&rng, 0, LONG), low = pick(&rng, 0, 4);
            spans[i] = (tl_span){.start = start,
                                 .end = start + pick(&rng, 1, round % 2 == 0 ? 9 : LONG),
                                 .source = pick(&rng, 0, 3),
                                 .low = 0.1 * (double)low,
                                 .high = round % 3 == 0 ? 0.0 : 0.1 * (double)(low + 1)};
        }
        tl_schedule schedule;
        assert_ok(ctx, tl_schedule_create(ctx, spans, count, release, 4, &schedule));
        tl_frames f = default_frames();
        f.M = pick(&rng, 2, 40);
        f.hop = pick(&rng, 1, f.M);
        uint64_t barred[ROWS * COUNT];
        int64_t n = pick(&rng, 0, LONG / f.hop);
        tl_schedule_bar(&schedule, &f, ROWS, COUNT, n, barred);
        for (int64_t j = 0; j < ROWS * COUNT; j++) {
            uint64_t sounding = 0, open = 0;
            int64_t row = j / COUNT;
            double at = 0.5 * (double)row / (ROWS - 1);
            for (int64_t i = 0; i < count; i++) {
                if (!tl_frame_touches(&f, n + j % COUNT, spans[i].start, spans[i].end + release))
                    continue;
                sounding |= (uint64_t)1 << spans[i].source;
                if (spans[i].high == 0.0 || (at >= spans[i].low && at <= spans[i].high))
                    open |= (uint64_t)1 << spans[i].source;
            }
            assert_int_equal(barred[j], open == 0 ? 0 : sounding & ~open);
            assert_int_equal(tl_schedule_active(&schedule, &f, n + j % COUNT), sounding);
        }
        tl_schedule_free(&schedule);
    }
    tlnmf_ctx_free(ctx);
}

/* A query visits few spans, however many labels of a source overlap. */
static void labels_that_overlap_become_one_span(void **state)
{
    enum { MANY = 100000 };
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    tl_span *spans = calloc(MANY, sizeof *spans);
    assert_non_null(spans);
    for (int64_t i = 0; i < MANY; i++)
        spans[i] = (tl_span){.start = i % 1000, .end = i + 5000, .source = i % 3};
    tl_schedule schedule;
    assert_ok(ctx, tl_schedule_create(ctx, spans, MANY, 0, 3, &schedule));
    assert_int_equal(schedule.index.count, 3);
    for (int64_t i = 0; i < MANY; i++) /* none overlap */
        spans[i] = (tl_span){.start = 2 * (MANY - i), .end = 2 * (MANY - i) + 1, .source = i % 3};
    tl_schedule_free(&schedule);
    assert_ok(ctx, tl_schedule_create(ctx, spans, MANY, 0, 3, &schedule));
    assert_int_equal(schedule.index.count, MANY);
    for (int64_t i = 0; i < MANY; i++)
        assert_int_equal(tl_schedule_within(&schedule, spans[i].start, spans[i].end, 0),
                         (uint64_t)1 << i % 3);
    assert_int_equal(tl_schedule_within(&schedule, 0, 2, 0), 0);
    tl_schedule_free(&schedule);
    free(spans);
    tlnmf_ctx_free(ctx);
}

/* In each time slot, the frame whose hops have the most energy is selected. */
static void the_loudest_frame_of_each_slot_is_selected(void **state)
{
    (void)state;
    enum { LONG = 997, CHANNELS = 2, MOST = 13 };
    tlnmf_ctx *ctx = new_ctx();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 2, 1);
    double *x = new_normals(&rng, LONG * CHANNELS);
    arrays a = {.x = x, .channels = CHANNELS};
    tl_sound sound = {LONG, CHANNELS, read_array, &a};
    tl_schedule blind = {.sources = 2};
    tl_frames f = default_frames();
    f.M = 30;
    f.hop = 10;
    int64_t N = tl_frames_count(&f, LONG);
    tl_scene scene;
    assert_ok(ctx, tl_scene_create(ctx, &sound, &blind, &f, MOST, &scene));
    assert_int_equal(scene.frames, MOST);
    for (int64_t i = 0; i < MOST; i++) {
        double most = -1.0;
        int64_t best = -1;
        for (int64_t n = i * N / MOST; n < (i + 1) * N / MOST; n++) {
            double energy = 0.0;
            for (int64_t t = (n + 1) * f.hop - f.M; t < (n + 1) * f.hop; t++)
                for (int c = 0; t >= 0 && t < LONG && c < CHANNELS; c++)
                    energy += x[t * CHANNELS + c] * x[t * CHANNELS + c];
            if (energy > most) {
                most = energy;
                best = n;
            }
        }
        assert_int_equal(scene.n[i], best);
        tl_stretch stretch = tl_scene_stretch(&scene, i);
        assert_int_equal(stretch.first, (best + 1) * f.hop - f.M - f.hop + 1);
        for (int64_t t = 0; t < stretch.length; t++)
            for (int c = 0; c < CHANNELS; c++) {
                int64_t at = stretch.first + t;
                double expected = at >= 0 && at < LONG ? x[at * CHANNELS + c] : 0.0;
                assert_true(stretch.x[t * CHANNELS + c] == expected);
            }
    }
    tl_scene_free(&scene);
    assert_ok(ctx, tl_scene_create(ctx, &sound, &blind, &f, 10000, &scene));
    assert_int_equal(scene.frames, N); /* all frames */
    for (int64_t n = 0; n < N; n++)
        assert_int_equal(scene.n[n], n);
    tl_scene_free(&scene);
    free(x);
    tlnmf_ctx_free(ctx);
}

static void power_is_the_mean_square(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    static const int64_t lengths[] = {1, 4095, 4096, 4097, 50001};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 3, 1);
    double *x = new_normals(&rng, 3 * 50001);
    for (int i = 0; i < 5; i++) {
        arrays a = {.x = x, .channels = 3};
        tl_sound sound = {lengths[i], 3, read_array, &a};
        long double sum = 0.0L;
        double power;
        for (int64_t t = 0; t < 3 * lengths[i]; t++)
            sum += (long double)x[t] * x[t];
        assert_ok(ctx, tl_sound_power(ctx, &sound, &power));
        assert_close(power, (double)(sum / (3 * lengths[i])), 1e-13);
    }
    free(x);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(active_sources_match_the_samples),
        cmocka_unit_test(spans_are_found_like_in_plain_loops),
        cmocka_unit_test(labels_that_overlap_become_one_span),
        cmocka_unit_test(the_loudest_frame_of_each_slot_is_selected),
        cmocka_unit_test(power_is_the_mean_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
