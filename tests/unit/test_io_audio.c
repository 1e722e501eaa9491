#include "test_io.h"

#include <math.h>
#include <sndfile.h>

enum { FRAMES = 1000, CHANNELS = 2, RATE = 8000 };

static double sound[FRAMES * CHANNELS];

static void make_sound(void)
{
    for (int i = 0; i < FRAMES; i++) {
        sound[CHANNELS * i] = 0.7 * sin(0.05 * i);
        sound[CHANNELS * i + 1] = 0.3 * cos(0.09 * i);
    }
    sound[10] = 1.5;
}

static void write_sound(const char *path)
{
    io_error err;

    if (!io_audio_write(path, sound, FRAMES, CHANNELS, RATE, NULL, &err))
        fail_msg("%s", err.text);
}

/* Reads back with libsndfile; the loud sample is clipped where the format has no room for it. */
static void check(const char *path, int format, double tolerance, double loudest)
{
    static double got[FRAMES * CHANNELS];
    SF_INFO info = {0};

    write_sound(path);
    SNDFILE *file = sf_open(path, SFM_READ, &info);
    assert_non_null(file);
    assert_int_equal(info.format, format);
    assert_int_equal(info.frames, FRAMES);
    assert_int_equal(info.channels, CHANNELS);
    assert_int_equal(info.samplerate, RATE);
    assert_int_equal(sf_readf_double(file, got, FRAMES), FRAMES);
    sf_close(file);
    for (int i = 0; i < FRAMES * CHANNELS; i++)
        assert_true(fabs(got[i] - fmin(sound[i], loudest)) <= tolerance);
}

static void test_formats(void **state)
{
    (void)state;
    make_sound();
    check("x.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0x1p-24, 2);
    check("x.FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 0x1p-23, 1);
}

static void test_same_bytes(void **state)
{
    (void)state;
    make_sound();
    write_sound("a.wav");
    write_sound("a.flac");
    sleep(2); /* a time stamp would have moved */
    write_sound("b.wav");
    write_sound("b.flac");
    assert_same_files("a.wav", "b.wav");
    assert_same_files("a.flac", "b.flac");
}

static void refuse(const char *path, int64_t frames, int channels, int rate, const char *text)
{
    io_error err;

    assert_false(io_audio_write(path, sound, frames, channels, rate, NULL, &err));
    assert_int_equal(err.fault, IO_NO_OUTPUT);
    assert_string_equal(err.text, text);
}

static void test_errors(void **state)
{
    (void)state;
    make_sound();
    refuse("x.ogg", 1, 1, RATE, "x.ogg: sound is written as .wav, .flac or .w64");
    refuse("x.wav", 0, 1, RATE, "x.wav: no samples to write");
    refuse("x.wav", 1, 0, RATE, "x.wav: no samples to write");
    refuse("no/x.wav", 1, 1, RATE,
           "no/x.wav: cannot write: No such file or directory (directory no does not exist)");
    assert_int_equal(symlink("/dev/full", "full.wav"), 0);
    refuse("full.wav", 1, 1, RATE, "full.wav: cannot write: No space left on device");
    io_error err;
    assert_false(io_audio_write("x.flac", sound, 1, 1, -5, NULL, &err));
    assert_true(strncmp(err.text, "x.flac: cannot write: ", 22) == 0);
    sound[25] = NAN;
    refuse("song.wav", FRAMES, CHANNELS, RATE, "song.wav: frame 12, channel 1 is not finite");
    sound[25] = 1e300; /* infinite once it is a float */
    refuse("song.flac", FRAMES, CHANNELS, RATE, "song.flac: frame 12, channel 1 is not finite");
    assert_int_equal(access("song.wav", F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
