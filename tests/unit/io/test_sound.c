/* Reading sound: whole files and blocks, in many formats; damaged, empty and absurd files. */
#include "unit/io/test_io.h"
#include "unit/io/whole_sound.h"

#include <math.h>
#include <sndfile.h>

enum { FRAMES = 3000 };

static double wave(int64_t frame, int channel)
{
    return 0.5 * sin(0.03 * (double)frame + channel) + 0.25 * cos(0.11 * (double)frame);
}

static int bitrate_mode = SF_BITRATE_MODE_CONSTANT; /* of MP3 files */

/* Written with libsndfile itself, independently of our own writer. */
static void make(const char *path, int format, int64_t frames, int channels, int rate)
{
    SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
    double *x = calloc((size_t)(frames * channels) + 1, sizeof *x);
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);

    assert_non_null(x);
    if (!file)
        fail_msg("%s: %s", path, sf_strerror(NULL));
    if ((format & SF_FORMAT_TYPEMASK) == SF_FORMAT_MPEG)
        sf_command(file, SFC_SET_BITRATE_MODE, &bitrate_mode, sizeof bitrate_mode);
    for (int64_t i = 0; i < frames * channels; i++)
        x[i] = wave(i / channels, (int)(i % channels));
    assert_int_equal(sf_writef_double(file, x, frames), frames);
    sf_close(file);
    free(x);
}

static void refuse(const char *path, const char *text)
{
    whole_sound sound;

    assert_false(read_whole(test_context(), path, &sound));
    assert_null(sound.x);
    assert_string_equal(tlnmf_message(test_context()), text);
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_INPUT);
}

/* ---- formats ------------------------------------------------------------------------------ */

static const struct {
    const char *path;
    int format;
    double tolerance;
} formats[] = {
    {"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 0x1p-14},
    {"b.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0x1p-24},
    {"c.wav", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 0},
    {"d.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 0x1p-6},
    {"e.wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, 0x1p-22},
    {"f.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, 0.05},
    {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_24, 0x1p-22},
    {"a.au", SF_FORMAT_AU | SF_FORMAT_PCM_16, 0x1p-14},
    {"a.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_32, 0x1p-29},
    {"a.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 0x1p-14},
    {"a.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_16, 0x1p-14},
    {"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 0x1p-22},
    {"a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.2},
    {"a.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 0.2},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static bool is_there(int format)
{
    SF_INFO info = {.samplerate = 44100, .channels = 2, .format = format};

    return sf_format_check(&info); /* libsndfile may have been built without MP3 */
}

static void test_formats(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        whole_sound sound;
        if (!is_there(formats[i].format))
            continue;
        make(formats[i].path, formats[i].format, FRAMES, 2, 44100);
        if (!read_whole(test_context(), formats[i].path, &sound))
            fail_msg("%s", tlnmf_message(test_context()));
        assert_int_equal(sound.info.frames, FRAMES);
        assert_int_equal(sound.info.channels, 2);
        assert_int_equal(sound.info.rate, 44100);
        assert_int_equal(sound.info.format & SF_FORMAT_SUBMASK,
                         formats[i].format & SF_FORMAT_SUBMASK);
        for (int64_t k = 0; sound.x && k < 2 * FRAMES; k++)
            if (!(fabs(sound.x[k] - wave(k / 2, (int)(k % 2))) <= formats[i].tolerance))
                fail_msg("%s: sample %d is %g, not %g", formats[i].path, (int)k, sound.x[k],
                         wave(k / 2, (int)(k % 2)));
        free(sound.x);
    }
}

static void test_standard_input(void **state)
{
    int saved = dup(STDIN_FILENO);

    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        if (!is_there(formats[i].format))
            continue;
        whole_sound piped, named;
        make(formats[i].path, formats[i].format, FRAMES, 2, 44100);
        int fd = open(formats[i].path, O_RDONLY);
        assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) >= 0);
        assert_true(read_whole(test_context(), "-", &piped));
        close(fd);
        assert_true(read_whole(test_context(), formats[i].path, &named));
        assert_int_equal(piped.info.frames, named.info.frames);
        assert_memory_equal(piped.x, named.x, 2 * FRAMES * sizeof *piped.x);
        free(piped.x);
        free(named.x);
    }
    put_file("none", "", 0);
    int fd = open("none", O_RDONLY);
    assert_true(dup2(fd, STDIN_FILENO) >= 0);
    refuse("-", "standard input: empty file");
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(fd);
}

/* Any block, in any order, is a part of the whole. */
static void test_blocks(void **state)
{
    static const int64_t first[] = {0, 100, 2999, 0, 1500, 1600, 17},
                         count[] = {100, 900, 1, 3000, 100, 0, 64};
    static double x[2 * FRAMES];

    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].tolerance > 0.1 || !is_there(formats[i].format))
            continue; /* lossy: a seek may change the last digits */
        whole_sound whole;
        tlnmf_sound *sound;
        make(formats[i].path, formats[i].format, FRAMES, 2, 44100);
        assert_true(read_whole(test_context(), formats[i].path, &whole));
        assert_int_equal(tlnmf_io_open_sound(test_context(), formats[i].path, &sound), TLNMF_OK);
        assert_int_equal(io_sound_info_of(sound).frames, FRAMES);
        for (size_t k = 0; k < sizeof first / sizeof *first; k++) {
            assert_int_equal(tlnmf_sound_read(test_context(), sound, first[k], count[k], x),
                             TLNMF_OK);
            assert_memory_equal(x, whole.x + 2 * first[k], (size_t)count[k] * 2 * sizeof *x);
        }
        assert_int_equal(tlnmf_sound_read(test_context(), sound, 2990, 11, x), TLNMF_ERR_SHAPE);
        assert_int_equal(tlnmf_sound_read(test_context(), sound, -1, 1, x), TLNMF_ERR_SHAPE);
        tlnmf_sound_free(sound);
        free(whole.x);
    }
}

static void test_odd_but_fine(void **state)
{
    static const struct {
        int64_t frames;
        int channels, rate;
    } odd[] = {{1, 1, 1}, {5, 1, 10000000}, {3, 64, 8000}, {2, 1024, 48000}, {200000, 1, 44100}};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        whole_sound sound;
        make("odd.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, odd[i].frames, odd[i].channels,
             odd[i].rate);
        if (!read_whole(test_context(), "odd.wav", &sound))
            fail_msg("%s", tlnmf_message(test_context()));
        assert_int_equal(sound.info.frames, odd[i].frames);
        assert_int_equal(sound.info.channels, odd[i].channels);
        assert_int_equal(sound.info.rate, odd[i].rate);
        free(sound.x);
    }
}

/* ---- errors ------------------------------------------------------------------------------- */

static void test_not_sound(void **state)
{
    (void)state;
    put_file("empty.wav", "", 0);
    put_file("text.wav", "Once upon a time there was a file.\n", 35);
    put_file("zeros.wav", (unsigned char[64]){0}, 64);
    assert_int_equal(mkdir("folder.wav", 0777), 0);
    refuse("empty.wav", "empty.wav: empty file");
    refuse("text.wav", "text.wav: unsupported audio format");
    refuse("zeros.wav", "zeros.wav: unsupported audio format");
    refuse("missing.wav", "missing.wav: No such file or directory");
    refuse("folder.wav", "folder.wav: Is a directory");
    make("none.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 0, 1, 8000);
    refuse("none.wav", "none.wav: holds no samples");
}

static void test_not_finite(void **state)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    tlnmf_sound *sound;
    double x[200];

    (void)state;
    for (int i = 0; i < 3; i++) {
        SF_INFO sf = {.samplerate = 8000, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
        SNDFILE *file = sf_open("song.wav", SFM_WRITE, &sf);
        for (int k = 0; k < 200; k++)
            x[k] = 0.1;
        x[25] = bad[i];
        assert_int_equal(sf_writef_double(file, x, 100), 100);
        sf_close(file);
        refuse("song.wav", "song.wav: sample 12, channel 1 is not finite");
    }
    assert_int_equal(tlnmf_io_open_sound(test_context(), "song.wav", &sound), TLNMF_OK);
    assert_int_equal(tlnmf_sound_read(test_context(), sound, 0, 12, x), TLNMF_OK);
    assert_int_equal(tlnmf_sound_read(test_context(), sound, 10, 50, x), TLNMF_ERR_INPUT);
    assert_string_equal(tlnmf_message(test_context()),
                        "song.wav: sample 12, channel 1 is not finite");
    tlnmf_sound_free(sound);
}

static void test_cut_short(void **state)
{
    (void)state;
    make("long.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1000, 1, 8000);
    assert_int_equal(truncate("long.wav", 1044), 0);
    refuse("long.wav", "long.wav: truncated: its header announces 2036 bytes, the file has 1036");
    for (int i = 0; i < FORMATS; i++) { /* truncated files are refused */
        whole_sound sound;
        struct stat st;
        if (!is_there(formats[i].format) || strstr(formats[i].path, ".ogg"))
            continue; /* the header of an Ogg stream does not say how long it is */
        make(formats[i].path, formats[i].format, FRAMES, 2, 44100);
        assert_int_equal(stat(formats[i].path, &st), 0);
        for (int part = 1; part < 8; part++) {
            assert_int_equal(truncate(formats[i].path, st.st_size * (8 - part) / 8), 0);
            if (read_whole(test_context(), formats[i].path, &sound))
                fail_msg("%s: read although %d eighths are missing", formats[i].path, part);
            assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_INPUT);
        }
    }
}

/* An MP3 file without an Info header, and with 16 KiB of tags that the estimate of its length
 * includes. */
static void test_estimated_length(void **state)
{
    enum { TAG = 10 + (127 << 7), ZEROS = 4000 };
    static unsigned char tag[TAG] = {'I', 'D', '3', 3, 0, 0, 0, 0, 127, 0};
    const int format = SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III;
    whole_sound sound;
    size_t size;

    (void)state;
    if (!is_there(format))
        return;
    make("plain.mp3", format, 50 * FRAMES, 1, 44100);
    unsigned char *bytes = get_file("plain.mp3", &size);
    unsigned char *tagged = calloc(TAG + size, 1);
    assert_non_null(tagged);
    memcpy(tagged, tag, TAG);
    memcpy(tagged + TAG, bytes, size);
    put_file("tagged.mp3", tagged, TAG + size - size / 4);
    assert_false(read_whole(test_context(), "tagged.mp3", &sound)); /* the header has the length */
    assert_non_null(strstr(tlnmf_message(test_context()), "tagged.mp3: ends at frame "));
    for (size_t at = TAG; at < TAG + 64; at++)
        if (memcmp(tagged + at, "Info", 4) == 0 || memcmp(tagged + at, "Xing", 4) == 0)
            memset(tagged + at, 0, 4);
    put_file("tagged.mp3", tagged, TAG + size);
    if (!read_whole(test_context(), "tagged.mp3", &sound))
        fail_msg("%s", tlnmf_message(test_context()));
    assert_in_range(sound.info.frames, 50 * FRAMES, 50 * FRAMES + 3 * 1152); /* encoder delay */
    free(sound.x);
    memset(tagged + TAG + size / 2, 0, ZEROS);
    put_file("damaged.mp3", tagged, TAG + size);
    assert_false(read_whole(test_context(), "damaged.mp3", &sound));
    assert_non_null(strstr(tlnmf_message(test_context()), "damaged.mp3: ends at frame "));
    free(tagged);
    free(bytes);
}

/* libsndfile reads only a part of such a file. */
static void test_estimate_too_low(void **state)
{
    const int format = SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III;
    size_t size;

    (void)state;
    if (!is_there(format))
        return;
    bitrate_mode = SF_BITRATE_MODE_VARIABLE;
    make("variable.mp3", format, 20 * FRAMES, 1, 44100);
    bitrate_mode = SF_BITRATE_MODE_CONSTANT;
    unsigned char *bytes = get_file("variable.mp3", &size);
    for (size_t at = 0; at < 64; at++)
        if (memcmp(bytes + at, "Info", 4) == 0 || memcmp(bytes + at, "Xing", 4) == 0)
            memset(bytes + at, 0, 4);
    put_file("variable.mp3", bytes, size);
    free(bytes);
    refuse("variable.mp3",
           "variable.mp3: MP3 of variable bit rate without a length header: its end "
           "cannot be read. Convert it to WAV");
}

/* A stream whose writer could not seek back to store the length. */
static void test_stream(void **state)
{
    whole_sound sound;
    size_t size;

    (void)state;
    make("pipe.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1000, 1, 8000);
    unsigned char *bytes = get_file("pipe.wav", &size);
    assert_memory_equal(bytes + 36, "data", 4);
    memset(bytes + 4, 0xff, 4);
    memset(bytes + 40, 0xff, 4);
    put_file("pipe.wav", bytes, size);
    free(bytes);
    if (!read_whole(test_context(), "pipe.wav", &sound))
        fail_msg("%s", tlnmf_message(test_context()));
    assert_int_equal(sound.info.frames, 1000);
    free(sound.x);
}

/* FLAC's header has 36 bits for the number of samples; this one claims 550 GB of doubles. */
static void test_absurd_claim(void **state)
{
    whole_sound sound;
    size_t size;

    (void)state;
    make("a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1000, 1, 8000);
    unsigned char *bytes = get_file("a.flac", &size);
    bytes[21] |= 0x0f;
    memset(bytes + 22, 0xff, 4);
    put_file("a.flac", bytes, size);
    free(bytes);
    assert_false(read_whole(test_context(), "a.flac", &sound));
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_INPUT);
    assert_non_null(
        strstr(tlnmf_message(test_context()), "a.flac: ends at frame 1000 of 68719476735"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),          cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_blocks),           cmocka_unit_test(test_odd_but_fine),
        cmocka_unit_test(test_not_sound),        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_cut_short),        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_absurd_claim),     cmocka_unit_test(test_estimated_length),
        cmocka_unit_test(test_estimate_too_low),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
