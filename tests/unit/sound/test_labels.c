/* The checks of labels, on two synthetic instruments with known notes: correct labels pass, broken
 * ones are found and the messages say where. */
#include "unit/sound/duet.h"

enum { HZ = 8000, PLAYED = 14, SECONDS = 6 };

/* The notes: start and end in seconds, instrument, pitch in Hz. They do not begin on a grid. */
typedef struct played {
    double start, end;
    int instrument;
    double pitch;
} played;

static const played NOTES_PLAYED[PLAYED] = {
    {0.10, 0.47, 0, 440}, {0.47, 0.79, 0, 523}, {0.79, 1.22, 0, 440}, {1.22, 1.55, 0, 523},
    {1.55, 1.99, 1, 196}, {1.99, 2.31, 1, 247}, {2.31, 2.78, 1, 196}, {2.78, 3.11, 1, 247},
    {3.40, 3.93, 0, 523}, {3.93, 4.29, 0, 440}, {3.40, 3.77, 1, 247}, {3.77, 4.40, 1, 196},
    {4.70, 5.15, 0, 440}, {5.15, 5.60, 1, 196}};

/* Instrument 0 has all harmonics, instrument 1 odd ones that hardly decay. */
static double *play(void)
{
    const double pi = acos(-1.0);
    double *x = calloc(HZ * SECONDS, sizeof *x);
    assert_non_null(x);
    for (const played *n = NOTES_PLAYED; n < NOTES_PLAYED + PLAYED; n++)
        for (int t = 0; t < (int)((n->end - n->start) * HZ); t++) {
            double u = (double)t / HZ, left = n->end - n->start - u;
            double level = fmin(1.0, u / 0.01) * fmin(1.0, left / 0.02) * exp(-2.0 * u);
            for (int h = 1; h < 12 && h * n->pitch < 0.45 * HZ; h += n->instrument + 1)
                x[(int)(n->start * HZ) + t] += 0.1 * level * pow(h, n->instrument ? -0.3 : -1.5) *
                                               sin(2.0 * pi * h * n->pitch * u);
        }
    return x;
}

/* The labels of the notes as a track, for the tests to break. */
typedef struct track {
    double start[PLAYED], end[PLAYED], low[PLAYED], high[PLAYED], line[PLAYED];
    const char *name[PLAYED];
    int64_t count;
} track;

static track correct(void)
{
    track t = {.count = PLAYED};
    for (int i = 0; i < PLAYED; i++) {
        t.start[i] = NOTES_PLAYED[i].start;
        t.end[i] = NOTES_PLAYED[i].end;
        t.line[i] = i + 1;
        t.name[i] = NOTES_PLAYED[i].instrument ? "clarinet" : "flute";
    }
    return t;
}

static tlnmf_sound *label(tlnmf_ctx *ctx, const double *x, const track *t)
{
    tlnmf_sound *sound;
    tlnmf_record *record;
    const char *const names[] = {"start", "end", "low", "high", "line"};
    const double *const columns[] = {t->start, t->end, t->low, t->high, t->line};
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, HZ * SECONDS, 1, HZ, &sound));
    assert_ok(ctx, tlnmf_record_create(ctx, &record));
    for (int i = 0; i < 5; i++)
        assert_ok(ctx, tlnmf_record_set_array(ctx, record, names[i], columns[i], 1, &t->count));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, record, "name", t->name, (size_t)t->count));
    assert_ok(ctx, tlnmf_record_set_text(ctx, record, "file", "folder/duet.txt"));
    assert_ok(ctx, tlnmf_sound_add_labels(ctx, sound, record));
    tlnmf_record_free(record);
    return sound;
}

static tl_caveats check(const track *t)
{
    tlnmf_ctx *ctx = new_ctx();
    double *x = play();
    tlnmf_sound *sound = label(ctx, x, t);
    tl_caveats caveats = {0};
    tl_unlabelled found;
    tl_schedule schedule;
    assert_ok(ctx, tl_schedule_create(ctx, sound->span, sound->span_count, HZ / 10, sound->sources,
                                      &schedule));
    assert_ok(ctx, tl_labels_look(ctx, sound, &schedule, false, &found, &caveats));
    caveats.sources &= ((uint64_t)1 << sound->sources) - 1;
    tl_unlabelled_free(&found);
    tl_schedule_free(&schedule);
    tlnmf_sound_free(sound);
    free(x);
    tlnmf_ctx_free(ctx);
    return caveats;
}

static void expect(const tl_caveats *caveats, uint64_t sources, const char *text)
{
    bool found = false;
    assert_int_equal(caveats->sources, sources);
    for (int64_t i = 0; i < caveats->count; i++)
        found = found || strstr(caveats->text[i], text) != NULL;
    if (!found)
        fail_msg("\"%s\" instead of \"%s\"", caveats->count > 0 ? caveats->text[0] : "", text);
}

/* A label without samples does not name a source. */
static void a_label_contains_samples(void **state)
{
    (void)state;
    static const double spans[][2] = {{30.0, 40.0}, {1.0, 1.02}, {0.5, 0.5}};
    tlnmf_ctx *ctx = new_ctx();
    double *x = play();
    tlnmf_sound *sound;
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, HZ, 1, HZ, &sound));
    for (int i = 0; i < 3; i++)
        assert_int_equal(tlnmf_sound_add_label(ctx, sound, "far", spans[i][0], spans[i][1]),
                         TLNMF_ERR_DATA);
    assert_int_equal(tlnmf_sound_add_label(ctx, sound, "far", 30.0, 40.0), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "the label \"far\" from 30 to 40 s contains no sample "
                                            "of the sound, which has 1 s at 8000 Hz");
    assert_null(tlnmf_record_get_text_at(tlnmf_sound_record(sound), "names", 0));
    assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, "near", 0.9, 1.02));
    assert_string_equal(tlnmf_record_get_text_at(tlnmf_sound_record(sound), "names", 0), "near");
    assert_int_equal(tlnmf_record_get_integer(tlnmf_sound_record(sound), "labels"), 1);
    tlnmf_sound_free(sound);
    free(x);
    tlnmf_ctx_free(ctx);
}

static void correct_labels_pass(void **state)
{
    track t = correct();
    (void)state;
    tl_caveats caveats = check(&t);
    assert_string_equal(caveats.text[0], "");
    assert_int_equal(caveats.count, 0);
    assert_int_equal(caveats.sources, 0);
}

static void late_and_early_labels_are_found(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        track t = correct();
        for (int n = 0; n < PLAYED; n++) {
            t.start[n] = fmax(0.0, t.start[n] + (i == 0 ? 0.25 : -0.25));
            t.end[n] += i == 0 ? 0.25 : -0.25;
        }
        tl_caveats caveats = check(&t);
        expect(&caveats, 3, "the labels are about 0.2");
        expect(&caveats, 3,
               i == 0 ? " s late: sounds begin before them; check the first label (duet.txt line "
                        "1, 0.35 s)"
                      : " s early: sounds begin after them");
        expect(&caveats, 3, "move all labels; if they are right, ignore this warning");
    }
}

static void exchanged_names_are_found(void **state)
{
    track t = correct();
    (void)state;
    t.name[2] = "clarinet"; /* a solo of the flute */
    t.name[6] = "flute";
    tl_caveats caveats = check(&t);
    expect(&caveats, 3,
           "the labels \"clarinet\" (duet.txt line 3, 0.79 s) and \"flute\" (duet.txt line ");
    expect(&caveats, 3, "(duet.txt line 7, 2.31 s) ");
    expect(
        &caveats, 3,
        " sound alike: check the names at both times, and whether a label is missing there; if "
        "they are right, ignore this warning: the stems do not change, only their quality is not "
        "estimated");
}

/* Two labels that are each nearest to the other are one finding. */
static void a_pair_is_reported_once(void **state)
{
    track t = correct();
    (void)state;
    t.name[3] = "clarinet"; /* a solo of the flute; of the others only line 2 has this note */
    t.start[1] = 0.470025;  /* Audacity writes six digits */
    tl_caveats caveats = check(&t);
    const char *first = strstr(caveats.text[0], "\"flute\" (duet.txt line 2, 0.47 s)"),
               *second = strstr(caveats.text[0], "\"clarinet\" (duet.txt line 4, 1.22 s)");
    assert_int_equal(caveats.count, 1);
    assert_true(first != NULL && second != NULL && first < second);
}

static void missing_labels_are_found(void **state)
{
    track t = correct();
    (void)state;
    for (int i = 4; i < 6; i++) { /* two solos of the clarinet */
        t.start[i] = 2.4;
        t.end[i] = 2.6;
    }
    tl_caveats caveats = check(&t);
    expect(&caveats, 3, "of the energy have no label (first at 1.6");
    t.name[2] = "clarinet"; /* missing labels may be why names seem wrong: they come first */
    t.name[6] = "flute";
    caveats = check(&t);
    assert_true(caveats.count > 1 && strstr(caveats.text[0], "have no label") != NULL);
    assert_non_null(strstr(caveats.text[1], "sound alike"));
}

/* The end of a decay without a label is no caveat; more is one, and much more withholds. */
static void little_sound_may_have_no_label(void **state)
{
    static const struct {
        double end;
        int64_t caveats;
        uint64_t sources;
    } cut[] = {{5.44, 0, 0}, {5.36, 1, 0}, {5.16, 1, 3}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        track t = correct();
        t.end[PLAYED - 1] = cut[i].end;
        tl_caveats caveats = check(&t);
        assert_int_equal(caveats.count, cut[i].caveats);
        assert_int_equal(caveats.sources, cut[i].sources);
    }
}

static void mistyped_names_are_found(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const wrong[] = {"flutex", "Flute", "flut"};
        track t = correct();
        t.name[1] = wrong[i];
        tl_caveats caveats = check(&t);
        expect(&caveats, 3, i == 1 ? "differ only in case" : "are nearly the same");
        expect(&caveats, 3, "the names \"flute\" (duet.txt line 1, 0.1 s) and \"");
    }
    track t = correct(); /* sources that sound together are two */
    for (int i = 0; i < PLAYED; i++)
        t.name[i] = NOTES_PLAYED[i].instrument ? "brass" : "bass";
    tl_caveats caveats = check(&t);
    assert_int_equal(caveats.count, 0);
}

static void names_that_look_alike(void **state)
{
    static const struct {
        const char *a, *b;
        bool alike;
    } pairs[] = {{"flute", "flutex", true},
                 {"flute", "flte", true},
                 {"flute", "fluet", true},
                 {"flute", "fl\xc3\xbbte", true},
                 {"Flute", "flute", true},
                 {"a", "A", true},
                 {"violin 1", "violin_1", true},
                 {"xflute", "flute", true},
                 {"violin 1", "violin 2", false},
                 {"violin1", "violin12", false},
                 {"violin", "violin2", false},
                 {"voice1", "voice2", false},
                 {"birdA", "birdB", false},
                 {"voice a", "voice b", false},
                 {"a", "b", false},
                 {"vl", "vla", false},
                 {"viola", "violin", false},
                 {"flute", "oboe", false},
                 {"piano_60", "piano_61", false},
                 {"take 1 low", "take 2 low", false}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (tl_names_look_alike(pairs[i].a, pairs[i].b) != pairs[i].alike ||
            tl_names_look_alike(pairs[i].b, pairs[i].a) != pairs[i].alike)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
}

static void no_estimate_for_one_name_or_frequencies(void **state)
{
    track t = correct();
    (void)state;
    t.high[3] = 2000.0;
    tl_caveats caveats = check(&t);
    expect(&caveats, 3, "some labels have frequencies (the first: duet.txt line 4, 1.22 s)");
    t = correct();
    for (int i = 0; i < PLAYED; i++)
        t.name[i] = "all";
    caveats = check(&t);
    expect(&caveats, 1, "all labels have the name \"all\": its stem is the whole recording");
}

/* Labels {start, end} of sources 0 and 1; the sound is `play()` read at this rate. */
static tl_caveats check_solos_at(int rate, const double (*spans)[2])
{
    tlnmf_ctx *ctx = new_ctx();
    double *x = play();
    tlnmf_sound *sound;
    tl_schedule schedule;
    tl_caveats caveats = {0};
    assert_ok(ctx, tlnmf_sound_from_array(ctx, x, HZ * SECONDS, 1, rate, &sound));
    for (int i = 0; i < 2; i++)
        assert_ok(ctx, tlnmf_sound_add_label(ctx, sound, i == 0 ? "flute" : "sax", spans[i][0],
                                             spans[i][1]));
    assert_ok(ctx, tl_schedule_create(ctx, sound->span, 2, rate / 5, 2, &schedule));
    tl_check_solos(ctx, sound, &schedule, &caveats);
    tl_schedule_free(&schedule);
    tlnmf_sound_free(sound);
    free(x);
    tlnmf_ctx_free(ctx);
    return caveats;
}

static tl_caveats check_solos(const double (*spans)[2])
{
    return check_solos_at(HZ, spans);
}

/* The release of the other source does not count. If no source is alone, others are compared. */
static void sources_that_are_hardly_alone_are_found(void **state)
{
    (void)state;
    tl_caveats caveats = check_solos((const double[][2]){{0.0, 3.0}, {1.0, 3.25}});
    expect(&caveats, ~(uint64_t)0, "\"sax\" is alone for only 0.05 s, so");
    caveats = check_solos((const double[][2]){{0.0, 3.0}, {1.0, 3.0}});
    expect(&caveats, ~(uint64_t)0, "\"sax\" is never alone, so");
    caveats = check_solos((const double[][2]){{0.0, 3.0}, {1.0, 3.7}});
    assert_int_equal(caveats.sources, 0);
    caveats = check_solos((const double[][2]){{0.0, 3.0}, {0.0, 3.0}});
    assert_int_equal(caveats.sources, 0);
    assert_int_equal(caveats.count, 0);
}

/* 0.4 s after the release of the other source, at a rate that 10 ms do not divide. */
static void the_shortest_solo_is_enough(void **state)
{
    (void)state;
    tl_caveats caveats = check_solos_at(11025, (const double[][2]){{0.0, 1.0}, {0.5, 1.6}});
    assert_int_equal(caveats.sources, 0);
    assert_int_equal(caveats.count, 0);
}

static void withheld_figures_are_unknown(void **state)
{
    tl_verdict v = {.agreement = {20.0, 20.0, 20.0}};
    (void)state;
    tl_verdict_expect(3, 10.0, &v);
    tl_verdict_withhold(3, 5, &v);
    assert_true(isnan(v.expected[0]) && isnan(v.low[2]) && isnan(v.high[2]));
    assert_true(isfinite(v.expected[1]) && isfinite(v.low[1]) && isfinite(v.high[1]));
    tl_verdict_expect(3, NAN, &v); /* nothing to check on */
    assert_true(isnan(v.expected[1]) && isnan(v.low[1]) && isnan(v.high[1]));
    v.agreement[1] = NAN; /* one candidate */
    tl_verdict_expect(3, 10.0, &v);
    assert_true(isnan(v.expected[1]) && isnan(v.low[1]) && isnan(v.high[1]));
    assert_true(isfinite(v.expected[0]));
}

/* A long name is cut between characters, and more findings than fit are noted as sources only. */
static void texts_are_bounded(void **state)
{
    char name[300] = "", quoted[TL_QUOTED];
    tl_caveats caveats = {0};
    (void)state;
    for (int i = 0; i < 140; i++)
        memcpy(name + 2 * i, "\xc3\xbb", 3);
    tl_label_quote(name, quoted);
    assert_int_equal(strlen(quoted), TL_QUOTED - 2); /* an even number of bytes of the name */
    assert_string_equal(quoted + strlen(quoted) - 5, "\xc3\xbb..\"");
    for (int i = 0; i < TL_CAVEATS_MAX + 3; i++)
        tl_caveats_add(&caveats, (uint64_t)1 << i, "number %d", i);
    assert_int_equal(caveats.count, TL_CAVEATS_MAX);
    assert_true(caveats.sources == ((uint64_t)1 << (TL_CAVEATS_MAX + 3)) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_contains_samples),
        cmocka_unit_test(correct_labels_pass),
        cmocka_unit_test(late_and_early_labels_are_found),
        cmocka_unit_test(exchanged_names_are_found),
        cmocka_unit_test(a_pair_is_reported_once),
        cmocka_unit_test(missing_labels_are_found),
        cmocka_unit_test(little_sound_may_have_no_label),
        cmocka_unit_test(mistyped_names_are_found),
        cmocka_unit_test(names_that_look_alike),
        cmocka_unit_test(no_estimate_for_one_name_or_frequencies),
        cmocka_unit_test(sources_that_are_hardly_alone_are_found),
        cmocka_unit_test(the_shortest_solo_is_enough),
        cmocka_unit_test(withheld_figures_are_unknown),
        cmocka_unit_test(texts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
