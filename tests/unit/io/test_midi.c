/* MIDI files: byte by byte, and read back by a minimal reader. */
#include "unit/io/test_io.h"

#include <math.h>

typedef struct note {
    double start, end;
    int key, velocity;
} note;

/* Writes notes of sources 0, 1, ..: `count` numbers of notes, one per name. The loudest note of
 * each source must have velocity 127. */
static tlnmf_error write_notes(const char *path, const char *const *names, const int64_t *count,
                               size_t sources, const note *notes)
{
    static const char *const columns[] = {"source", "begin", "end", "level", "key"};
    tlnmf_ctx *ctx = test_context();
    tlnmf_record *model, *events;
    int64_t total = 0, i = 0;
    double *x[5];

    for (size_t k = 0; k < sources; k++)
        total += count[k];
    assert_int_equal(tlnmf_record_create(ctx, &model), TLNMF_OK);
    assert_int_equal(tlnmf_record_create(ctx, &events), TLNMF_OK);
    assert_int_equal(tlnmf_record_set_texts(ctx, model, "names", names, sources), TLNMF_OK);
    for (int c = 0; c < 5; c++)
        assert_int_equal(tlnmf_record_new_array(ctx, events, columns[c], 1, &total, &x[c]),
                         TLNMF_OK);
    for (size_t k = 0; k < sources; k++)
        for (int64_t n = 0; n < count[k]; n++, i++) {
            double root = notes[i].velocity < 127 ? (notes[i].velocity + 0.5) / 127 : 1;
            const double values[] = {(double)k, notes[i].start, notes[i].end, root * root,
                                     notes[i].key};
            for (int c = 0; c < 5; c++)
                x[c][i] = values[c];
        }
    tlnmf_error error = tlnmf_io_write_midi(ctx, path, model, events);
    tlnmf_record_free(model);
    tlnmf_record_free(events);
    return error;
}

/* The notes of one source. */
static tlnmf_error write_source(const char *path, const note *notes, int64_t count)
{
    return write_notes(path, (const char *[]){"x"}, &count, 1, notes);
}

/* Two tracks at 120 beats per minute, 1920 ticks per second. */
static void test_bytes(void **state)
{
    static const note notes[] = {{0.5, 1, 64, 90}, {0, 0.5, 60, 127}, {1, 1, 69, 127}};
    static const unsigned char want[] = {
        'M',  'T',  'h',  'd',  0,    0,    0,    6,   0,
        1,    0,    3,    0x03, 0xc0,                       /* format 1, 3 tracks, 960 */
        'M',  'T',  'r',  'k',  0,    0,    0,    11,       /* the tempo */
        0,    0xff, 0x51, 3,    0x07, 0xa1, 0x20,           /* 500000 us */
        0,    0xff, 0x2f, 0,                                /* end */
        'M',  'T',  'r',  'k',  0,    0,    0,    31,       /* piano */
        0,    0xff, 0x03, 5,    'p',  'i',  'a',  'n', 'o', /* its name */
        0,    0x90, 60,   127,                              /* on at 0 */
        0x87, 0x40, 0x80, 60,   64,                         /* off after 960 = 7 * 128 + 64 */
        0,    0x90, 64,   90,                               /* on at once */
        0x87, 0x40, 0x80, 64,   64,                         /* off after 960 */
        0,    0xff, 0x2f, 0,                                /* end */
        'M',  'T',  'r',  'k',  0,    0,    0,    18,       /* the other */
        0,    0xff, 0x03, 1,    'b',                        /* its name */
        0x8f, 0x00, 0x91, 69,   127,                        /* on after 1920 = 15 * 128 */
        1,    0x81, 69,   64,                               /* off: the shortest note */
        0,    0xff, 0x2f, 0};
    size_t size;

    (void)state;
    if (write_notes("x.mid", (const char *[]){"piano", "b"}, (int64_t[]){2, 1}, 2, notes) !=
        TLNMF_OK)
        fail_msg("%s", tlnmf_message(test_context()));
    unsigned char *bytes = get_file("x.mid", &size);
    assert_int_equal(size, sizeof want);
    assert_memory_equal(bytes, want, size);
    free(bytes);
}

/* ---- round trips -------------------------------------------------------------------------- */

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static uint32_t take(cursor *c, int bytes)
{
    uint32_t value = 0;

    for (int i = 0; i < bytes; i++) {
        assert_true(c->at < c->end);
        value = value << 8 | *c->at++;
    }
    return value;
}

static uint32_t take_variable(cursor *c)
{
    uint32_t value = 0, byte;

    do {
        byte = take(c, 1);
        value = value << 7 | (byte & 0x7f);
    } while (byte & 0x80);
    return value;
}

/* The notes of the second track, in the order of their ends; returns their number. */
static int parse(const unsigned char *bytes, size_t size, note *notes)
{
    cursor c = {bytes, bytes + size};
    double on[128], seconds = 0;
    int velocity[128] = {0}, count = 0;

    assert_int_equal(take(&c, 4), 0x4d546864);
    assert_int_equal(take(&c, 4), 6);
    assert_int_equal(take(&c, 2), 1);
    assert_int_equal(take(&c, 2), 2);
    double ticks = take(&c, 2);
    assert_int_equal(take(&c, 4), 0x4d54726b);
    assert_int_equal(take(&c, 4), 11);
    assert_int_equal(take(&c, 4), 0x00ff5103);
    double tick = take(&c, 3) * 1e-6 / ticks;
    assert_int_equal(take(&c, 4), 0x00ff2f00);
    assert_int_equal(take(&c, 4), 0x4d54726b);
    uint32_t length = take(&c, 4);
    assert_int_equal(length, c.end - c.at);
    assert_int_equal(take(&c, 4), 0x00ff0301);
    assert_int_equal(take(&c, 1), 'x');
    for (;;) {
        seconds += tick * take_variable(&c);
        uint32_t status = take(&c, 1);
        if (status == 0xff)
            break;
        uint32_t key = take(&c, 1), value = take(&c, 1);
        assert_int_equal(status & 0x0f, 0);
        if ((status & 0xf0) == 0x90) {
            assert_int_equal(velocity[key], 0); /* never on twice */
            on[key] = seconds;
            velocity[key] = (int)value;
        } else {
            assert_int_equal(status & 0xf0, 0x80);
            assert_true(velocity[key] > 0);
            notes[count++] = (note){on[key], seconds, (int)key, velocity[key]};
            velocity[key] = 0;
        }
    }
    assert_int_equal(take(&c, 2), 0x2f00);
    assert_true(c.at == c.end);
    return count;
}

static void test_round_trip(void **state)
{
    enum { NOTES = 100 };
    note notes[NOTES], got[NOTES];
    uint64_t random = 7;
    size_t size;

    (void)state;
    for (int i = 0; i < NOTES; i++) { /* each key twice, a second apart */
        double start = (i < 50 ? 0 : 60) + 0.001 * (next_random(&random) % 30000);
        notes[i] = (note){start, start + 0.01 + 0.001 * (next_random(&random) % 20000), 20 + i % 50,
                          28 + i};
    }
    assert_int_equal(write_source("x.mid", notes, NOTES), TLNMF_OK);
    unsigned char *bytes = get_file("x.mid", &size);
    assert_int_equal(parse(bytes, size, got), NOTES);
    free(bytes);
    for (int i = 0; i < NOTES; i++) {
        const note *want = &notes[got[i].velocity - 28];
        assert_int_equal(got[i].key, want->key);
        assert_true(fabs(got[i].start - want->start) < 1e-3);
        assert_true(fabs(got[i].end - want->end) < 1e-3);
    }
}

/* Notes on one key do not overlap in the file. */
static void test_overlap(void **state)
{
    const note notes[] = {{0, 10, 60, 127}, {1, 2, 60, 2}, {1, 3, 60, 3}, {2.5, 2.5, 60, 4}};
    note got[4] = {0};
    size_t size;

    (void)state;
    assert_int_equal(write_source("x.mid", notes, 4), TLNMF_OK);
    unsigned char *bytes = get_file("x.mid", &size);
    assert_int_equal(parse(bytes, size, got), 3);
    free(bytes);
    assert_int_equal(got[0].velocity, 127);
    assert_true(got[0].end == 1);
    assert_int_equal(got[1].velocity, 3); /* of two notes that begin together, the longer */
    assert_true(got[1].end == 2.5);
    assert_int_equal(got[2].velocity, 4);
}

/* The channels of many sources; channel 9 is for drums. */
static void test_channels(void **state)
{
    enum { SOURCES = 17 };
    static const unsigned channels[SOURCES] = {0,  1,  2,  3,  4,  5,  6, 7, 8,
                                               10, 11, 12, 13, 14, 15, 0, 1};
    const char *names[SOURCES];
    int64_t count[SOURCES];
    note notes[SOURCES];
    size_t size;

    (void)state;
    for (int k = 0; k < SOURCES; k++) {
        names[k] = "x";
        count[k] = 1;
        notes[k] = (note){0, 1, 60, 127};
    }
    assert_int_equal(write_notes("x.mid", names, count, SOURCES, notes), TLNMF_OK);
    unsigned char *bytes = get_file("x.mid", &size);
    cursor c = {bytes + 14, bytes + size};
    for (int k = -1; k < SOURCES; k++) { /* -1: the tempo */
        assert_int_equal(take(&c, 4), 0x4d54726b);
        uint32_t length = take(&c, 4);
        if (k >= 0)
            assert_int_equal(c.at[6], 0x90 | channels[k]); /* after the name and a delta time */
        c.at += length;
    }
    assert_true(c.at == c.end);
    free(bytes);
}

static void refuse(note n, const char *text)
{
    assert_int_equal(write_source("bad.mid", &n, 1), TLNMF_ERR_OUTPUT);
    assert_string_equal(tlnmf_message(test_context()), text);
    assert_int_equal(access("bad.mid", F_OK), -1);
}

static void test_refused(void **state)
{
    (void)state;
    refuse((note){0, 1, 128, 127}, "bad.mid: event 0: 128 is not a MIDI key (0 to 127)");
    refuse((note){0, 1, -1, 127}, "bad.mid: event 0: -1 is not a MIDI key (0 to 127)");
    refuse((note){-1, 1, 60, 127}, "bad.mid: event 0 has invalid times: from -1 to 1 s");
    refuse((note){2, 1, 60, 127}, "bad.mid: event 0 has invalid times: from 2 to 1 s");
    refuse((note){0, 1e6, 60, 127}, "bad.mid: event 0 has invalid times: from 0 to 1e+06 s");
    refuse((note){0, NAN, 60, 127}, "bad.mid: event 0 has invalid times: from 0 to nan s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),   cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_overlap), cmocka_unit_test(test_channels),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
