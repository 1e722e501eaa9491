/* The caller's allocator: all blocks are allocated and freed with it. Whichever allocation fails,
 * the call returns TLNMF_ERR_MEMORY and nothing leaks. */
#include "meter.h"
#include "unit/api/small.h"

#define NEXT(call)             \
    do {                       \
        if (error == TLNMF_OK) \
            error = (call);    \
    } while (0)

static int ignore(const tlnmf_record *progress, void *user)
{
    (void)progress;
    ++*(int *)user;
    return 0;
}

/* Packs the first record, and unpacks the second from its bytes. */
static tlnmf_error through_bytes(tlnmf_ctx *ctx, const tlnmf_record *record, tlnmf_record **out)
{
    size_t size = 0;
    tlnmf_error error = tlnmf_record_pack(ctx, record, NULL, &size);
    void *bytes = malloc(size);
    assert_non_null(bytes);
    NEXT(tlnmf_record_pack(ctx, record, bytes, &size));
    NEXT(tlnmf_record_unpack(ctx, bytes, size, out));
    free(bytes);
    return error;
}

/* From data to a model, through bytes, and back to numbers and atoms. */
static tlnmf_error live_fit(tlnmf_ctx *ctx)
{
    static const int64_t shape[3] = {S, M, N};
    double Y[S * M * N], bytes;
    int calls = 0;
    for (int i = 0; i < S * M * N; i++)
        Y[i] = sin(1.7 * i * i);
    tlnmf_settings *settings = NULL, *copy = NULL;
    tlnmf_data *data = NULL;
    tlnmf_record *start = NULL, *model = NULL, *again = NULL, *values = NULL, *atoms = NULL;
    tlnmf_ctx_set_progress(ctx, ignore, &calls);
    tlnmf_error error = tlnmf_settings_create(ctx, "fit", &settings);
    NEXT(tlnmf_settings_set_text(ctx, settings, "k", "2"));
    NEXT(tlnmf_settings_set_text(ctx, settings, "J", "4"));
    NEXT(tlnmf_settings_set_text(ctx, settings, "trace", "1"));
    NEXT(tlnmf_settings_set_text(ctx, settings, "exchange", "1"));
    NEXT(tlnmf_settings_set_text(ctx, settings, "threads", "1"));
    NEXT(tlnmf_settings_copy(ctx, settings, &copy));
    NEXT(tlnmf_data_from_realisations(ctx, Y, shape, &data));
    NEXT(tlnmf_memory(ctx, data, copy, &bytes));
    NEXT(tlnmf_draw_start(ctx, data, copy, 0, &start));
    NEXT(tlnmf_fit(ctx, data, copy, start, &model));
    NEXT(through_bytes(ctx, model, &again));
    NEXT(tlnmf_evaluate(ctx, data, again, &values));
    NEXT(tlnmf_atoms(ctx, again, 1.0, 2, &atoms));
    if (error == TLNMF_OK) {
        assert_true(calls > 4);
        assert_close(tlnmf_record_get_real(values, "C"), tlnmf_record_get_real(model, "C"), 1e-11);
    } else {
        assert_null(atoms); /* a failed create leaves NULL */
    }
    tlnmf_record_free(atoms);
    tlnmf_record_free(values);
    tlnmf_record_free(again);
    tlnmf_record_free(model);
    tlnmf_record_free(start);
    tlnmf_data_free(data);
    tlnmf_settings_free(copy);
    tlnmf_settings_free(settings);
    return error;
}

/* From a sound to stems and events. */
static tlnmf_error live_sound(tlnmf_ctx *ctx)
{
    static double x[LENGTH * CHANNELS], out[2 * LENGTH * CHANNELS];
    fill_sound(x);
    tlnmf_sound *sound = NULL;
    tlnmf_settings *learn = NULL, *take_apart = NULL, *scoring = NULL;
    tlnmf_record *model = NULL, *report = NULL, *events = NULL, *scores = NULL;
    tlnmf_error error = tlnmf_sound_from_array(ctx, x, LENGTH, CHANNELS, RATE, &sound);
    NEXT(tlnmf_sound_add_label(ctx, sound, "low", 0.0, 1.0));
    NEXT(tlnmf_sound_add_label(ctx, sound, "high", 1.0, 2.0));
    NEXT(tlnmf_settings_create(ctx, "learn", &learn));
    NEXT(tlnmf_settings_set_integer(ctx, learn, "frame", FRAME));
    NEXT(tlnmf_settings_set_integer(ctx, learn, "per-source", 1));
    NEXT(tlnmf_settings_set_integer(ctx, learn, "iterations", 1));
    NEXT(tlnmf_settings_set_integer(ctx, learn, "threads", 1));
    NEXT(tlnmf_settings_set_text(ctx, learn, "method", "nmf"));
    NEXT(tlnmf_settings_set_text(ctx, learn, "transform", "dct"));
    NEXT(tlnmf_settings_set_text(ctx, learn, "window", "sine"));
    NEXT(tlnmf_learn_sources(ctx, sound, learn, &model));
    NEXT(tlnmf_settings_create(ctx, "separate", &take_apart));
    NEXT(tlnmf_settings_set_integer(ctx, take_apart, "keep-h", 1));
    NEXT(tlnmf_settings_set_integer(ctx, take_apart, "threads", 1));
    NEXT(tlnmf_separate_array(ctx, model, sound, take_apart, out, &report));
    NEXT(tlnmf_activations(ctx, model, sound, report, &events));
    NEXT(tlnmf_settings_create(ctx, "score", &scoring));
    NEXT(tlnmf_settings_set_integer(ctx, scoring, "filter", 2));
    NEXT(tlnmf_score(ctx, x, out, (int64_t[]){2, LENGTH / 2, 1}, scoring, &scores));
    if (error != TLNMF_OK)
        assert_null(scores);
    tlnmf_record_free(scores);
    tlnmf_settings_free(scoring);
    tlnmf_record_free(events);
    tlnmf_record_free(report);
    tlnmf_settings_free(take_apart);
    tlnmf_record_free(model);
    tlnmf_settings_free(learn);
    tlnmf_sound_free(sound);
    return error;
}

/* Runs `live` once without a failure, then with each allocation failing in turn. */
static void fail_each(tlnmf_error (*live)(tlnmf_ctx *ctx), int64_t least)
{
    int64_t calls = 0;
    for (int64_t n = 0; n <= calls; n++) {
        meter m = {.fail_at = n}; /* 0: none fails */
        tlnmf_ctx *ctx;
        tlnmf_error error = tlnmf_ctx_create_with(metered_allocate, metered_release, &m, &ctx);
        assert_true((ctx == NULL) == (error != TLNMF_OK));
        NEXT(live(ctx));
        if (n == 0) {
            assert_ok(ctx, error);
            calls = m.calls;
            assert_true(calls > least);
        } else {
            assert_int_equal(error, TLNMF_ERR_MEMORY);
            assert_true(ctx == NULL || strstr(tlnmf_message(ctx), "no memory for ") != NULL);
            assert_true(ctx == NULL || tlnmf_last_error(ctx) == error);
        }
        tlnmf_ctx_free(ctx);
        assert_int_equal(m.alive, 0);
    }
}

static void every_allocation_of_a_fit_may_fail(void **state)
{
    (void)state;
    fail_each(live_fit, 50);
}

static void every_allocation_of_a_separation_may_fail(void **state)
{
    (void)state;
    fail_each(live_sound, 30);
}

/* Objects may outlive the context that made them. */
static void objects_outlive_their_context(void **state)
{
    (void)state;
    meter m = {0};
    tlnmf_ctx *first = new_ctx_with(metered_allocate, metered_release, &m);
    tlnmf_data *data = small_data(first);
    tlnmf_settings *settings = new_settings(first, "fit", "k=2 J=3 threads=1");
    tlnmf_record *model, *values;
    tlnmf_ctx_free(first);
    tlnmf_ctx *second = new_ctx_with(metered_allocate, metered_release, &m);
    assert_ok(second, tlnmf_fit(second, data, settings, NULL, &model));
    tlnmf_ctx_free(second);
    tlnmf_ctx *third = new_ctx();
    assert_ok(third, tlnmf_evaluate(third, data, model, &values));
    tlnmf_record_free(values);
    tlnmf_ctx_free(third);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    assert_int_equal(m.alive, 0);
}

/* Data keep the allocator of the context that created them, whichever context changes them. */
static void weights_use_the_allocator_of_their_data(void **state)
{
    (void)state;
    meter m = {0}, other = {0};
    double weight[N], mask[M * N];
    for (int n = 0; n < N; n++)
        weight[n] = 1.0 + n;
    for (int i = 0; i < M * N; i++)
        mask[i] = i % 5 != 0;
    tlnmf_ctx *first = new_ctx_with(metered_allocate, metered_release, &m),
              *second = new_ctx_with(metered_allocate, metered_release, &other);
    tlnmf_data *data = small_data(first);
    int64_t before = other.alive;
    assert_ok(second, tlnmf_data_set_weights(second, data, weight));
    assert_ok(second, tlnmf_data_set_mask(second, data, mask));
    assert_int_equal(other.alive, before);
    mask[1] = 1e-300;
    assert_int_equal(tlnmf_data_set_mask(second, data, mask), TLNMF_ERR_DATA);
    tlnmf_data_free(data);
    tlnmf_ctx_free(second);
    tlnmf_ctx_free(first);
    assert_int_equal(m.alive, 0);
    assert_int_equal(other.alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_fit_may_fail),
        cmocka_unit_test(every_allocation_of_a_separation_may_fail),
        cmocka_unit_test(objects_outlive_their_context),
        cmocka_unit_test(weights_use_the_allocator_of_their_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
