/* MIDI files: byte by byte, and read back by a small reader that knows only the format. */
#include "unit/io/test_io.h"

#include <math.h>

/* Two tracks at 120 beats a minute, 1920 ticks a second. */
static void test_bytes(void **state)
{
    static const io_note first[] = {{0.5, 1, 64, 90}, {0, 0.5, 60, 100}},
                         second[] = {{1, 1, 69, 1}};
    static const io_midi_track tracks[] = {{"piano", 0, 2, first}, {NULL, 9, 1, second}};
    static const unsigned char want[] = {
        'M',  'T',  'h',  'd',  0,    0,    0,    6,   0,
        1,    0,    3,    0x03, 0xc0,                       /* format 1, 3 tracks, 960 */
        'M',  'T',  'r',  'k',  0,    0,    0,    11,       /* the tempo */
        0,    0xff, 0x51, 3,    0x07, 0xa1, 0x20,           /* 500000 us */
        0,    0xff, 0x2f, 0,                                /* end */
        'M',  'T',  'r',  'k',  0,    0,    0,    31,       /* piano */
        0,    0xff, 0x03, 5,    'p',  'i',  'a',  'n', 'o', /* its name */
        0,    0x90, 60,   100,                              /* on at 0 */
        0x87, 0x40, 0x80, 60,   64,                         /* off after 960 = 7 * 128 + 64 */
        0,    0x90, 64,   90,                               /* on at once */
        0x87, 0x40, 0x80, 64,   64,                         /* off after 960 */
        0,    0xff, 0x2f, 0,                                /* end */
        'M',  'T',  'r',  'k',  0,    0,    0,    13,       /* the other */
        0x8f, 0x00, 0x99, 69,   1,                          /* on after 1920 = 15 * 128 */
        1,    0x89, 69,   64,                               /* off: the shortest note */
        0,    0xff, 0x2f, 0};
    io_error err;
    size_t size;

    (void)state;
    if (!io_midi_write("x.mid", 120, tracks, 2, &err))
        fail_msg("%s", err.text);
    unsigned char *bytes = get_file("x.mid", &size);
    assert_int_equal(size, sizeof want);
    assert_memory_equal(bytes, want, size);
    free(bytes);
}

/* ---- there and back ----------------------------------------------------------------------- */

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
static int parse(const unsigned char *bytes, size_t size, io_note *notes)
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
    for (;;) {
        seconds += tick * take_variable(&c);
        uint32_t status = take(&c, 1);
        if (status == 0xff)
            break;
        uint32_t key = take(&c, 1), value = take(&c, 1);
        assert_int_equal(status & 0x0f, 3);
        if ((status & 0xf0) == 0x90) {
            assert_int_equal(velocity[key], 0); /* never on twice */
            on[key] = seconds;
            velocity[key] = (int)value;
        } else {
            assert_int_equal(status & 0xf0, 0x80);
            assert_true(velocity[key] > 0);
            notes[count++] = (io_note){on[key], seconds, (int)key, velocity[key]};
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
    io_note notes[NOTES], got[NOTES];
    uint64_t random = 7;
    io_error err;
    size_t size;

    (void)state;
    for (int i = 0; i < NOTES; i++) { /* each key twice, a second apart */
        double start = (i < 50 ? 0 : 60) + 0.001 * (next_random(&random) % 30000);
        notes[i] = (io_note){start, start + 0.01 + 0.001 * (next_random(&random) % 20000),
                             20 + i % 50, 1 + i};
    }
    io_midi_track track = {NULL, 3, NOTES, notes};
    assert_true(io_midi_write("x.mid", 97, &track, 1, &err));
    unsigned char *bytes = get_file("x.mid", &size);
    assert_int_equal(parse(bytes, size, got), NOTES);
    free(bytes);
    for (int i = 0; i < NOTES; i++) {
        const io_note *want = &notes[got[i].velocity - 1];
        assert_int_equal(got[i].key, want->key);
        assert_true(fabs(got[i].start - want->start) < 1e-3);
        assert_true(fabs(got[i].end - want->end) < 1e-3);
    }
}

/* Notes on one key do not overlap in the file. */
static void test_overlap(void **state)
{
    const io_note notes[] = {{0, 10, 60, 1}, {1, 2, 60, 2}, {1, 3, 60, 3}, {2.5, 2.5, 60, 4}};
    const io_midi_track track = {NULL, 3, 4, notes};
    io_note got[4] = {0};
    io_error err;
    size_t size;

    (void)state;
    assert_true(io_midi_write("x.mid", 120, &track, 1, &err));
    unsigned char *bytes = get_file("x.mid", &size);
    assert_int_equal(parse(bytes, size, got), 3);
    free(bytes);
    assert_int_equal(got[0].velocity, 1);
    assert_true(got[0].end == 1);
    assert_int_equal(got[1].velocity, 3); /* of two that begin together, the longer */
    assert_true(got[1].end == 2.5);
    assert_int_equal(got[2].velocity, 4);
}

static void refuse(io_note note, int channel, double tempo, const char *text)
{
    const io_midi_track track = {NULL, channel, 1, &note};
    io_error err = {0};

    assert_false(io_midi_write("bad.mid", tempo, &track, 1, &err));
    assert_string_equal(err.text, text);
    assert_int_equal(err.fault, IO_NO_OUTPUT);
    assert_int_equal(access("bad.mid", F_OK), -1);
}

static void test_refused(void **state)
{
    (void)state;
    refuse((io_note){0, 1, 128, 1}, 0, 120, "bad.mid: a note has key 128 and velocity 1");
    refuse((io_note){0, 1, 60, 0}, 0, 120, "bad.mid: a note has key 60 and velocity 0");
    refuse((io_note){-1, 1, 60, 1}, 0, 120, "bad.mid: a note lasts from -1 to 1 s");
    refuse((io_note){2, 1, 60, 1}, 0, 120, "bad.mid: a note lasts from 2 to 1 s");
    refuse((io_note){0, 1e6, 60, 1}, 0, 120, "bad.mid: a note lasts from 0 to 1e+06 s");
    refuse((io_note){0, NAN, 60, 1}, 0, 120, "bad.mid: a note lasts from 0 to nan s");
    refuse((io_note){0, 1, 60, 1}, 16, 120, "bad.mid: MIDI has no channel 16");
    refuse((io_note){0, 1, 60, 1}, 0, 0, "bad.mid: 0 beats a minute are outside [4, 1000]");
    refuse((io_note){0, 1, 60, 1}, 0, NAN, "bad.mid: nan beats a minute are outside [4, 1000]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
