/* Blends of several members: new notes, the sum of the stems, threads, models as records. */
#include "meter.h"
#include "sound/learn/notes.h"
#include "tlnmf/sound.h"
#include "unit/sound/duet.h"

#include <pthread.h>

/* A low and a high instrument of decaying partials. Each plays two notes alone; then they play
 * together, and the low one a note that it never played alone. */
enum { PITCHES = 7, SECOND = 8000, SAMPLES = 5 * SECOND };

typedef struct event {
    const char *name;
    int source, key;
    double start, end;
} event;

typedef struct band {
    const event *score; /* PITCHES */
    double mix[SAMPLES], truth[2][SAMPLES], stem[2][SAMPLES];
} band;

static const event SCORE[PITCHES] = {{"low", 0, 48, 0.0, 0.6},  {"low", 0, 52, 0.6, 1.2},
                                     {"high", 1, 76, 1.5, 2.1}, {"high", 1, 81, 2.1, 2.7},
                                     {"low", 0, 55, 3.0, 3.7},  {"high", 1, 76, 3.0, 3.7},
                                     {"low", 0, 48, 3.7, 4.4}};
/* The same, but both play new notes together, and the low instrument plays the higher one. */
static const event CROSSING[PITCHES] = {{"low", 0, 63, 0.0, 0.6},  {"low", 0, 64, 0.6, 1.2},
                                        {"high", 1, 76, 1.5, 2.1}, {"high", 1, 78, 2.1, 2.7},
                                        {"low", 0, 77, 3.0, 3.7},  {"high", 1, 69, 3.0, 3.7},
                                        {"low", 0, 63, 3.7, 4.4}};

static void play(double *x, int key, int source, double start, double end)
{
    const double pi = acos(-1.0), f = 440.0 * pow(2.0, (key - 69) / 12.0);
    for (int h = 1; h <= 8 && f * h < 0.45 * SECOND; h++)
        for (int t = (int)(start * SECOND); t < (int)(end * SECOND); t++) {
            double s = (double)t / SECOND - start, left = end - (double)t / SECOND;
            double edge = fmin(1.0, fmin(s, left) / 0.01);
            double level = source == 0 ? pow(0.6, h) : 1.0 / (h * h * h);
            x[t] += edge * level * exp(-s * 1.5) * cos(2.0 * pi * f * h * s + 0.7 * h);
        }
}

static band *new_band(const event *score)
{
    band *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->score = score;
    for (int i = 0; i < PITCHES; i++)
        play(b->truth[score[i].source], score[i].key, score[i].source, score[i].start,
             score[i].end);
    for (int t = 0; t < SAMPLES; t++)
        b->mix[t] = b->truth[0][t] + b->truth[1][t];
    return b;
}

static tlnmf_sound *labelled(tlnmf_ctx *ctx, const band *b)
{
    tlnmf_sound *sound;
    assert_ok(ctx, tlnmf_sound_from_array(ctx, b->mix, SAMPLES, 1, SECOND, &sound));
    for (int i = 0; i < PITCHES; i++)
        assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, b->score[i].name, b->score[i].start,
                                             b->score[i].end));
    return sound;
}

static tlnmf_record *learn_band(tlnmf_ctx *ctx, const tlnmf_sound *sound, int64_t threads)
{
    tlnmf_settings *settings;
    tlnmf_record *model;
    assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "threads", threads));
    assert_ok(ctx, tlnmf_learn_sources(ctx, sound, settings, &model));
    tlnmf_settings_free(settings);
    return model;
}

static void run_band(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_sound *sound,
                     int64_t threads, double *stems)
{
    tlnmf_settings *settings;
    tlnmf_record *report;
    assert_ok(ctx, tlnmf_settings_create(ctx, "separate", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "threads", threads));
    assert_ok(ctx, tlnmf_separate_array(ctx, model, sound, settings, stems, &report));
    tlnmf_record_free(report);
    tlnmf_settings_free(settings);
}

/* The band, its recording and a model of it. */
typedef struct trial {
    tlnmf_ctx *ctx;
    band *b;
    tlnmf_sound *sound;
    tlnmf_record *model;
} trial;

static trial new_trial(const event *score)
{
    tlnmf_ctx *ctx = new_ctx();
    band *b = new_band(score);
    tlnmf_sound *sound = labelled(ctx, b);
    return (trial){ctx, b, sound, learn_band(ctx, sound, 1)};
}

static void free_trial(trial *t)
{
    tlnmf_record_free(t->model);
    tlnmf_sound_free(t->sound);
    free(t->b);
    tlnmf_ctx_free(t->ctx);
}

/* A note that is never played alone is found by transposing one that is. */
static void new_notes_are_found(void **state)
{
    (void)state;
    trial r = new_trial(SCORE);
    band *b = r.b;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *notes = tlnmf_record_get_array(r.model, "member.0.notes", NULL, shape);
    assert_non_null(notes);
    bool found = false;
    for (int64_t i = 0; i < shape[0]; i++) {
        int64_t gate = (int64_t)notes[3 * i], source = gate / TL_SHIFTS,
                shift = gate % TL_SHIFTS - TL_SEMITONES;
        bool own = source == 0 && (shift == 55 - 48 || shift == 55 - 52);
        found = found || (own && notes[3 * i + 1] >= 3.0 * SECOND - 1);
    }
    assert_true(found);
    run_band(r.ctx, r.model, r.sound, 1, b->stem[0]);
    assert_true(si_sdr(SAMPLES, b->truth[0], b->stem[0]) > 15.0);
    assert_true(si_sdr(SAMPLES, b->truth[1], b->stem[1]) > 15.0);
    for (int t = 0; t < SAMPLES; t++)
        assert_near(b->stem[0][t] + b->stem[1][t], b->mix[t], 1e-14);
    free_trial(&r);
}

/* Each new note is closer to a note of the other source; but if it were assigned to that source,
 * its own source would hardly sound, although it is labelled. */
static void voices_that_cross_keep_their_notes(void **state)
{
    (void)state;
    trial r = new_trial(CROSSING);
    band *b = r.b;
    run_band(r.ctx, r.model, r.sound, 1, b->stem[0]);
    for (int i = 0; i < 2; i++)
        assert_true(si_sdr(SAMPLES, b->truth[i], b->stem[i]) > 30.0);
    free_trial(&r);
}

/* Two notes a semitone apart, each a source: transposed, one equals the other, so they must not be
 * transposed. */
static void a_source_of_one_note_is_not_transposed(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    band *b = calloc(1, sizeof *b);
    tlnmf_sound *sound;
    assert_non_null(b);
    assert_ok(ctx, tlnmf_sound_from_array(ctx, b->mix, SAMPLES, 1, SECOND, &sound));
    for (int i = 0; i < 4; i++) {
        double start = i < 2 ? i : 2.0, end = start + 0.9;
        play(b->truth[i % 2], 60 + i % 2, 0, start, end);
        assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, i % 2 == 0 ? "C" : "C sharp", start, end));
    }
    /* the mixture has a part that neither note explains */
    play(b->truth[0], 67, 0, 2.0, 2.9);
    for (int t = 0; t < SAMPLES; t++)
        b->mix[t] = b->truth[0][t] + b->truth[1][t];
    tlnmf_record *model = learn_band(ctx, sound, 1);
    assert_null(tlnmf_record_get_array(model, "member.0.notes", NULL, NULL));
    /* finite numbers whose products are not */
    tlnmf_settings *settings;
    tlnmf_record *plan;
    assert_ok(ctx, tlnmf_settings_create(ctx, "separate", &settings));
    double *W = (double *)tlnmf_record_get_array(model, "member.0.W", NULL, NULL); /* ours */
    W[0] = 1e300;
    assert_int_equal(tlnmf_separate_plan(ctx, model, sound, settings, &plan), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "W = 1e+300 is outside [0, 1e+100]");
    tlnmf_settings_free(settings);
    tlnmf_record_free(model);
    tlnmf_sound_free(sound);
    free(b);
    tlnmf_ctx_free(ctx);
}

/* Stops at its fifth call, which is inside the first candidate. */
static int stop_soon(const tlnmf_record *progress, void *user)
{
    int *calls = user;
    assert_true(*calls >= 5 || tlnmf_record_get_integer(progress, "complete") == 0);
    return ++*calls >= 5;
}

static void learning_stops_inside_a_candidate(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    band *b = new_band(SCORE);
    tlnmf_sound *sound = labelled(ctx, b);
    int calls = 0;
    tlnmf_ctx_set_progress(ctx, stop_soon, &calls);
    ctx->monitor->every = 0.0;
    tlnmf_record *model = learn_band(ctx, sound, 1);
    assert_int_equal(tlnmf_record_get_integer(model, "outcome_code"), TLNMF_OUTCOME_CANCELLED);
    assert_int_equal(tlnmf_record_get_integer(model, "candidates"), 1);
    assert_true(calls <= 6); /* the candidate is reported */
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    run_band(ctx, model, sound, 1, b->stem[0]); /* it is still a valid model */
    for (int t = 0; t < SAMPLES; t++)
        assert_near(b->stem[0][t] + b->stem[1][t], b->mix[t], 1e-14);
    tlnmf_record_free(model);
    tlnmf_sound_free(sound);
    free(b);
    tlnmf_ctx_free(ctx);
}

/* What the reports say of the work done. They may come from other threads, so it is tested later.
 */
typedef struct advance {
    double first, last;
    int steps; /* how often the fraction grew */
    bool wrong;
} advance;

static int follow(const tlnmf_record *progress, void *user)
{
    advance *a = user;
    double done = tlnmf_record_get_real(progress, "done");
    a->wrong = a->wrong || !(done >= a->last && done <= 1.0) ||
               strcmp(tlnmf_record_get_text(progress, "stage"), "choose") != 0;
    a->first = isnan(a->first) ? done : a->first;
    a->steps += done > a->last;
    a->last = done;
    return 0;
}

/* The fraction done begins at 0, is always known, never decreases and grows with every step. */
static void learning_reports_what_is_done(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    band *b = new_band(SCORE);
    tlnmf_sound *sound = labelled(ctx, b);
    for (int threads = 1; threads <= 3; threads += 2) {
        advance a = {.first = NAN};
        tlnmf_ctx_set_progress(ctx, follow, &a);
        tlnmf_record_free(learn_band(ctx, sound, threads));
        assert_false(a.wrong);
        assert_true(a.first == 0.0);
        assert_true(a.steps >= 9 && a.last > 0.8);
    }
    tlnmf_sound_free(sound);
    free(b);
    tlnmf_ctx_free(ctx);
}

/* Every note is an event that begins within 50 ms of its label, at its pitch, and there are no
 * others. */
static void notes_become_events(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    band *b = new_band(SCORE);
    tlnmf_sound *sound = labelled(ctx, b);
    tlnmf_record *model = learn_band(ctx, sound, 1), *report, *events;
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, "separate", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "keep-h", 1));
    assert_ok(ctx, tlnmf_separate_array(ctx, model, sound, settings, b->stem[0], &report));
    assert_ok(ctx, tlnmf_activations(ctx, model, sound, report, &events));
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *source = tlnmf_record_get_array(events, "source", NULL, shape),
                 *begin = tlnmf_record_get_array(events, "begin", NULL, NULL),
                 *end = tlnmf_record_get_array(events, "end", NULL, NULL),
                 *key = tlnmf_record_get_array(events, "key", NULL, NULL);
    assert_int_equal(shape[0], PITCHES);
    for (int i = 0; i < PITCHES; i++) {
        int found = -1;
        for (int e = 0; e < PITCHES; e++)
            if ((int)source[e] == SCORE[i].source && fabs(begin[e] - SCORE[i].start) < 0.05)
                found = e;
        assert_true(found >= 0);
        assert_int_equal((int)key[found], SCORE[i].key);
        assert_true(fabs(end[found] - SCORE[i].end) < 0.3); /* notes decay slowly */
    }
    tlnmf_record_free(events);
    tlnmf_record_free(report);
    tlnmf_settings_free(settings);
    tlnmf_record_free(model);
    tlnmf_sound_free(sound);
    free(b);
    tlnmf_ctx_free(ctx);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    static const int64_t numbers[] = {2, 3, 8, 16};
    trial r = new_trial(SCORE);
    band *many = new_band(SCORE);
    run_band(r.ctx, r.model, r.sound, 1, r.b->stem[0]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        tlnmf_record *model = learn_band(r.ctx, r.sound, numbers[i]);
        run_band(r.ctx, model, r.sound, numbers[i], many->stem[0]);
        assert_memory_equal(r.b->stem, many->stem, sizeof many->stem);
        assert_true(tlnmf_record_get_real(model, "score") ==
                    tlnmf_record_get_real(r.model, "score"));
        tlnmf_record_free(model);
    }
    free(many);
    free_trial(&r);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct scale {
    meter m;
    pthread_mutex_t lock;
} scale;

static void *weighed_allocate(size_t bytes, void *user)
{
    scale *s = user;
    pthread_mutex_lock(&s->lock);
    void *block = metered_allocate(bytes, &s->m);
    pthread_mutex_unlock(&s->lock);
    return block;
}

static void weighed_release(void *block, void *user)
{
    scale *s = user;
    pthread_mutex_lock(&s->lock);
    metered_release(block, &s->m);
    pthread_mutex_unlock(&s->lock);
}

/* Concurrent candidates need no more memory than was estimated for the number of threads. */
static void memory_stays_within_the_estimate(void **state)
{
    (void)state;
    band *b = new_band(SCORE);
    for (int64_t threads = 1; threads <= 8; threads += 7) {
        scale s = {.lock = PTHREAD_MUTEX_INITIALIZER};
        tlnmf_ctx *ctx = new_ctx_with(weighed_allocate, weighed_release, &s);
        tlnmf_sound *sound = labelled(ctx, b);
        tlnmf_settings *settings;
        double said;
        assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
        assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "threads", threads));
        assert_ok(ctx, tlnmf_learn_sources_memory(ctx, sound, settings, &said));
        tlnmf_settings_free(settings);
        size_t before = s.m.bytes;
        tlnmf_record *model = learn_band(ctx, sound, threads);
        assert_true((double)(s.m.most - before) < said);
        tlnmf_record_free(model);
        tlnmf_sound_free(sound);
        tlnmf_ctx_free(ctx);
        assert_int_equal(s.m.alive, 0);
        pthread_mutex_destroy(&s.lock);
    }
    free(b);
}

/* Each stem has a share of the energy and a range around the expected score. */
static void a_model_has_expected_scores(void **state)
{
    (void)state;
    trial r = new_trial(SCORE);
    const band *b = r.b;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *share = tlnmf_record_get_array(r.model, "share", NULL, shape);
    assert_non_null(share);
    assert_int_equal(shape[0], 2);
    double energy[2] = {0.0, 0.0};
    for (int t = 0; t < SAMPLES; t++)
        for (int k = 0; k < 2; k++)
            energy[k] += b->truth[k][t] * b->truth[k][t];
    assert_near(share[0], energy[0] / (energy[0] + energy[1]), 0.05);
    assert_near(share[0] + share[1], 1.0, 1e-12);
    const double *low = tlnmf_record_get_array(r.model, "expected_low", NULL, NULL),
                 *high = tlnmf_record_get_array(r.model, "expected_high", NULL, NULL),
                 *expected = tlnmf_record_get_array(r.model, "expected_sdr", NULL, NULL);
    for (int k = 0; k < 2; k++)
        assert_true(low[k] < expected[k] && expected[k] < high[k]);
    free_trial(&r);
}

/* A record with one Phi and W, as version 0.1 wrote it, is a blend of one member. */
static void a_model_without_members_is_one_member(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_ctx();
    duet *d = new_duet(ctx);
    tl_learn_options opt = note_options();
    opt.set.method = TL_METHOD_NMF;
    opt.set.basis = TL_BASIS_DCT;
    opt.set.per_source = 1;
    opt.any_window = 0;
    tl_separator *separator = learn(ctx, d->mix, 1, true, &opt);
    double *stems[2] = {d->stem[0], d->stem[1]};
    separate(ctx, separator, d->mix, LENGTH, 1, guided_run(), stems);
    tlnmf_record *model;
    const tl_separator_info *info = &separator->info;
    const char *const names[] = {"a", "b"};
    double power = 0.0;
    for (int t = 0; t < LENGTH; t++)
        power += d->mix[t] * d->mix[t] / LENGTH;
    assert_ok(ctx, tlnmf_record_create(ctx, &model));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "window", "tukey"));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "transform", "dct"));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "method", "nmf"));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, model, "frame", info->frames.M));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, model, "hop", info->frames.hop));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, model, "shifts", info->frames.shifts));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, model, "sources", 2));
    assert_ok(ctx, tlnmf_record_set_integer(ctx, model, "per_source", 1));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "taper", info->frames.taper));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "beta", info->frames.beta));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "eps", info->eps));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "rate", RATE));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "power", power));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, model, "names", names, 2));
    assert_ok(ctx,
              tlnmf_record_set_array(ctx, model, "Phi", separator->Phi, 2, (int64_t[]){200, 200}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "W", separator->W, 2, (int64_t[]){200, 2}));
    tlnmf_sound *sound;
    assert_ok(ctx, tlnmf_sound_from_array(ctx, d->mix, LENGTH, 1, RATE, &sound));
    for (int i = 0; i < 4; i++)
        assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, names[NOTES[i].source],
                                             (double)NOTES[i].start / RATE,
                                             (double)NOTES[i].end / RATE));
    tlnmf_settings *settings;
    tlnmf_record *report;
    double *again = new_doubles(2 * LENGTH);
    assert_ok(ctx, tlnmf_settings_create(ctx, "separate", &settings));
    assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, "release", 0.0));
    assert_ok(ctx, tlnmf_separate_array(ctx, model, sound, settings, again, &report));
    for (int t = 0; t < LENGTH; t++) /* the floor is scaled by a power that is summed differently */
        assert_near(again[t], d->stem[0][t], 1e-9);
    free(again);
    tlnmf_record_free(report);
    tlnmf_settings_free(settings);
    tlnmf_sound_free(sound);
    tlnmf_record_free(model);
    tl_separator_free(separator);
    free(d);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_notes_are_found),
        cmocka_unit_test(voices_that_cross_keep_their_notes),
        cmocka_unit_test(a_source_of_one_note_is_not_transposed),
        cmocka_unit_test(learning_stops_inside_a_candidate),
        cmocka_unit_test(learning_reports_what_is_done),
        cmocka_unit_test(notes_become_events),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(memory_stays_within_the_estimate),
        cmocka_unit_test(a_model_has_expected_scores),
        cmocka_unit_test(a_model_without_members_is_one_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
