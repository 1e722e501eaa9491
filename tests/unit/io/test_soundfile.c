/* Writing sound: formats, rounding, clipping, and files that are there whole or not at all. */
#include "unit/io/test_io.h"
#include "unit/io/whole_sound.h"

#include <math.h>
#include <signal.h>
#include <sndfile.h>
#include <sys/resource.h>

enum { FRAMES = 1000, CHANNELS = 2, RATE = 8000 };

static double sound[FRAMES * CHANNELS];
static const io_sound_info shape = {FRAMES, CHANNELS, RATE, 0};

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
    int64_t clipped;

    if (!write_whole(path, sound, &shape, &clipped, &err))
        fail_msg("%s", err.text);
}

/* Reads back with libsndfile; the loud sample is clipped where the format cannot hold it. */
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
    io_error err = {0};
    int64_t clipped = 0;

    assert_false(
        write_whole(path, sound, &(io_sound_info){frames, channels, rate, 0}, &clipped, &err));
    assert_int_equal(err.fault, IO_NO_OUTPUT);
    assert_string_equal(err.text, text);
}

static void test_errors(void **state)
{
    (void)state;
    make_sound();
    refuse("x.ogg", 1, 1, RATE, "x.ogg: sound is written as .wav, .flac or .w64");
    refuse("no/x.wav", 1, 1, RATE,
           "no/x.wav: cannot write: No such file or directory (directory no does not exist)");
    assert_int_equal(symlink("/dev/full", "full.wav"), 0);
    refuse("full.wav", 1, 1, RATE, "full.wav: cannot write: No space left on device");
    refuse("x.flac", 1, 1, -5,
           "x.flac: cannot write: this format does not support 1 channels at -5 Hz");
    sound[25] = NAN;
    refuse("song.wav", FRAMES, CHANNELS, RATE, "song.wav: frame 12, channel 1 is not finite");
    sound[25] = 1e300; /* infinite once it is a float */
    refuse("song.flac", FRAMES, CHANNELS, RATE, "song.flac: frame 12, channel 1 is not finite");
    assert_int_equal(access("song.wav", F_OK), -1);
}

/* ---- which format ------------------------------------------------------------------------- */

static void test_format_choice(void **state)
{
    static const struct {
        const char *path;
        int like, want;
    } cases[] = {
        {"x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        {"x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        {"x.wav", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, SF_FORMAT_WAV | SF_FORMAT_PCM_24},
        {"x.wav", SF_FORMAT_AIFF | SF_FORMAT_PCM_32, SF_FORMAT_WAV | SF_FORMAT_PCM_32},
        {"x.wav", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, SF_FORMAT_WAV | SF_FORMAT_DOUBLE},
        {"-", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, SF_FORMAT_WAV | SF_FORMAT_FLOAT},
        {"x.WAV", SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_WAV | SF_FORMAT_FLOAT},
        {"x.wav", SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        {"x.flac", SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
        {"x.flac", SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
        {"x.flac", SF_FORMAT_WAV | SF_FORMAT_PCM_32, SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
        {"x.w64", SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_W64 | SF_FORMAT_FLOAT},
    };
    io_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(io_sound_format_like(cases[i].path, cases[i].like, 1000, 2, &err),
                         cases[i].want);
    /* 4 GiB are the end of .wav: 2^29 stereo frames of 32 bits. */
    assert_int_equal(io_sound_format_like("x.wav", SF_FORMAT_FLOAT, (1 << 29) - 1024, 2, &err),
                     SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    assert_int_equal(io_sound_format_like("x.wav", SF_FORMAT_FLOAT, 1 << 29, 2, &err),
                     SF_FORMAT_RF64 | SF_FORMAT_FLOAT);
    assert_int_equal(io_sound_format_like("x.mp3", SF_FORMAT_FLOAT, 1, 2, &err), 0);
    assert_string_equal(err.text, "x.mp3: sound is written as .wav, .flac or .w64");
    assert_true(io_sound_step(SF_FORMAT_WAV | SF_FORMAT_PCM_16) == 0x1p-15);
    assert_true(io_sound_step(SF_FORMAT_FLAC | SF_FORMAT_PCM_24) == 0x1p-23);
    assert_true(io_sound_step(SF_FORMAT_WAV | SF_FORMAT_FLOAT) == 0);
}

/* ---- block by block ----------------------------------------------------------------------- */

static io_sound_writer *start(const char *path, int format, int channels)
{
    io_sound_info info = {1000, channels, RATE, format};
    io_sound_writer *writer;
    io_error err;

    if (!io_sound_create(path, &info, &writer, &err))
        fail_msg("%s", err.text);
    return writer;
}

static const int written[] = {
    SF_FORMAT_WAV | SF_FORMAT_PCM_16,  SF_FORMAT_WAV | SF_FORMAT_PCM_24,
    SF_FORMAT_WAV | SF_FORMAT_PCM_32,  SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    SF_FORMAT_WAV | SF_FORMAT_DOUBLE,  SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
    SF_FORMAT_FLAC | SF_FORMAT_PCM_24, SF_FORMAT_W64 | SF_FORMAT_PCM_16,
    SF_FORMAT_RF64 | SF_FORMAT_FLOAT,
};

/* What was read is written again without the loss of a bit, in blocks of any size. */
static void test_exact(void **state)
{
    (void)state;
    make_sound();
    sound[10] = 0.999;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        whole_sound first = {.x = NULL}, second = {.x = NULL};
        io_error err;
        for (int pass = 0; pass < 2; pass++) {
            const double *x = pass ? first.x : sound;
            io_sound_writer *writer = start(pass ? "2.snd" : "1.snd", written[i], CHANNELS);
            for (int64_t done = 0, n = 1; done < FRAMES; done += n, n = 2 * n + pass) {
                n = done + n > FRAMES ? FRAMES - done : n;
                assert_true(io_sound_append(writer, x + done * CHANNELS, n, &err));
            }
            assert_int_equal(io_sound_clipped(writer), 0);
            assert_true(io_sound_commit(writer, &err));
            if (!read_whole(pass ? "2.snd" : "1.snd", pass ? &second : &first, &err))
                fail_msg("%s", err.text);
        }
        assert_int_equal(second.info.format, written[i]);
        assert_memory_equal(first.x, second.x, sizeof sound);
        double half_step = fmax(io_sound_step(written[i]) / 2, 0x1p-25);
        for (int k = 0; k < FRAMES * CHANNELS; k++)
            assert_true(fabs(first.x[k] - sound[k]) <= half_step);
        free(first.x);
        free(second.x);
    }
}

/* Long blocks of any number of channels, of whole numbers and not. */
static void test_many_channels(void **state)
{
    (void)state;
    enum { LONG = 5000 };
    double *x = calloc(LONG * 7, sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < LONG * 7; i++)
        x[i] = (double)(i % 1999 - 999) / 1024.0;
    for (int channels = 1; channels <= 7; channels++)
        for (size_t i = 0; i < 4; i++) {
            whole_sound read = {.x = NULL};
            io_error err;
            io_sound_writer *writer = start("many.snd", written[i], channels);
            if (!io_sound_append(writer, x, LONG, &err) || !io_sound_commit(writer, &err) ||
                !read_whole("many.snd", &read, &err))
                fail_msg("%d channels: %s", channels, err.text);
            assert_int_equal(read.info.frames, LONG);
            assert_memory_equal(read.x, x, sizeof *x * (size_t)(LONG * channels));
            free(read.x);
        }
    free(x);
}

static void test_clipping_is_counted(void **state)
{
    static const double x[] = {0.5, 1, -1, 1.5, -1.5, 1 - 0x1p-15, -1 - 0x1p-17, 1e300};
    static const double want[] = {0.5, 1 - 0x1p-15, -1, 1 - 0x1p-15, -1, 1 - 0x1p-15, -1};
    whole_sound back;
    io_error err;
    int64_t clipped = -1;

    (void)state;
    io_sound_writer *writer = start("x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1);
    assert_true(io_sound_append(writer, x, 7, &err));
    assert_int_equal(io_sound_clipped(writer), 3); /* 1, 1.5, -1.5 */
    assert_false(io_sound_append(writer, x + 7, 1, &err));
    assert_string_equal(err.text, "x.wav: frame 7, channel 0 is not finite");
    assert_true(io_sound_commit(writer, &err));
    assert_true(read_whole("x.wav", &back, &err));
    assert_memory_equal(back.x, want, sizeof want);
    free(back.x);
    assert_true(write_whole("x.flac", x, &(io_sound_info){7, 1, RATE, 0}, &clipped, &err));
    assert_int_equal(clipped, 4); /* 24 bits see that -1 - 2^-17 is too much */
}

/* Until the commit nothing has the final name; after an abort nothing is left at all. */
static void test_all_or_nothing(void **state)
{
    io_error err;

    (void)state;
    remove_files(0);
    make_sound();
    put_file("x.wav", "old", 3);
    io_sound_writer *writer = start("x.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, CHANNELS);
    assert_true(io_sound_append(writer, sound, FRAMES, &err));
    size_t size;
    unsigned char *bytes = get_file("x.wav", &size);
    assert_int_equal(size, 3);
    free(bytes);
    assert_int_equal(count_files(), 2);
    io_sound_abort(writer);
    assert_int_equal(count_files(), 1);
    writer = start("y.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, CHANNELS);
    assert_int_equal(access("y.wav", F_OK), -1);
    assert_true(io_sound_append(writer, sound, FRAMES, &err));
    assert_true(io_sound_commit(writer, &err));
    assert_int_equal(count_files(), 2);
    io_sound_abort(NULL);
}

/* Half of it fits under the limit. The error comes when the file is opened; where the length was
 * not announced, from the append or from the commit. The temporary is gone. In a child, where a
 * limit cannot hurt the test itself. */
static void test_no_room(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {4000, 4000};
        io_error err = {0};
        remove_files(0);
        make_sound();
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        io_sound_info info = {FRAMES, CHANNELS, RATE, SF_FORMAT_WAV | SF_FORMAT_FLOAT};
        io_sound_writer *writer;
        bool opened = io_sound_create("x.wav", &info, &writer, &err);
        if (opened || strcmp(err.text, "x.wav: cannot write: File too large") != 0)
            _exit(4);
        info.frames = 0;
        bool ok = io_sound_create("x.wav", &info, &writer, &err) &&
                  io_sound_append(writer, sound, FRAMES, &err);
        if (ok)
            ok = io_sound_commit(writer, &err);
        else
            io_sound_abort(writer);
        _exit(ok                                                             ? 1
              : strcmp(err.text, "x.wav: cannot write: File too large") != 0 ? 2
              : count_files() != 0                                           ? 3
                                                                             : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_create_errors(void **state)
{
    static const struct {
        const char *path;
        io_sound_info info;
        const char *text;
    } cases[] = {
        {"no/x.wav",
         {1, 1, RATE, SF_FORMAT_WAV | SF_FORMAT_FLOAT},
         "no/x.wav: cannot write: No such file or directory (directory no does not exist)"},
        {"x.flac",
         {1, 9, RATE, SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
         "x.flac: cannot write: this format does not support 9 channels at 8000 Hz"},
        {"x.wav",
         {1, 0, RATE, SF_FORMAT_WAV | SF_FORMAT_FLOAT},
         "x.wav: cannot write: this format does not support 0 channels at 8000 Hz"},
    };

    (void)state;
    remove_files(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        io_sound_writer *writer;
        io_error err = {0};
        assert_false(io_sound_create(cases[i].path, &cases[i].info, &writer, &err));
        assert_null(writer);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.fault, IO_NO_OUTPUT);
    }
    assert_int_equal(count_files(), 0);
}

/* Standard output cannot seek: the sound is put together in memory first. */
static void test_standard_output(void **state)
{
    whole_sound back;
    io_error err;
    int64_t clipped;

    (void)state;
    make_sound();
    int saved = dup(STDOUT_FILENO), fd = open("out.wav", O_WRONLY | O_CREAT | O_APPEND, 0600);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    bool ok = write_whole("-", sound, &shape, &clipped, &err);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_true(ok);
    assert_true(read_whole("out.wav", &back, &err));
    assert_int_equal(back.info.frames, FRAMES);
    free(back.x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_format_choice),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_many_channels),
        cmocka_unit_test(test_clipping_is_counted),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_create_errors),
        cmocka_unit_test(test_standard_output),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
