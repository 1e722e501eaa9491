/* Writing sound: formats, rounding, clipping, atomic files. */
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
    int64_t clipped;

    if (!write_whole(test_context(), path, sound, &shape, &clipped))
        fail_msg("%s", tlnmf_message(test_context()));
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
    sleep(1); /* a time stamp would have changed */
    write_sound("b.wav");
    write_sound("b.flac");
    assert_same_files("a.wav", "b.wav");
    assert_same_files("a.flac", "b.flac");
}

static void refuse(const char *path, int64_t frames, int channels, int rate, const char *text)
{
    int64_t clipped = 0;

    assert_false(write_whole(test_context(), path, sound,
                             &(io_sound_info){frames, channels, rate, 0}, &clipped));
    assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_OUTPUT);
    assert_string_equal(tlnmf_message(test_context()), text);
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
    refuse("song.wav", FRAMES, CHANNELS, RATE, "song.wav: sample 12, channel 1 is not finite");
    sound[25] = 1e300; /* infinite as a float */
    refuse("song.flac", FRAMES, CHANNELS, RATE, "song.flac: sample 12, channel 1 is not finite");
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

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            io_sound_format_like(test_context(), cases[i].path, cases[i].like, 1000, 2),
            cases[i].want);
    /* .wav is limited to 4 GiB: 2^29 stereo frames of 32 bits. */
    assert_int_equal(
        io_sound_format_like(test_context(), "x.wav", SF_FORMAT_FLOAT, (1 << 29) - 1024, 2),
        SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    assert_int_equal(io_sound_format_like(test_context(), "x.wav", SF_FORMAT_FLOAT, 1 << 29, 2),
                     SF_FORMAT_RF64 | SF_FORMAT_FLOAT);
    assert_int_equal(io_sound_format_like(test_context(), "x.mp3", SF_FORMAT_FLOAT, 1, 2), 0);
    assert_string_equal(tlnmf_message(test_context()),
                        "x.mp3: sound is written as .wav, .flac or .w64");
}

/* ---- block by block ----------------------------------------------------------------------- */

static tlnmf_io_writer *start(const char *path, int format, int channels)
{
    io_sound_info info = {1000, channels, RATE, format};
    tlnmf_io_writer *writer;

    if (!io_sound_create(test_context(), path, &info, &writer))
        fail_msg("%s", tlnmf_message(test_context()));
    return writer;
}

static bool append(tlnmf_io_writer *writer, const double *x, int64_t frames)
{
    return tlnmf_io_writer_append(test_context(), writer, x, frames) == TLNMF_OK;
}

static bool commit(tlnmf_io_writer *writer)
{
    return tlnmf_io_writer_commit(test_context(), writer) == TLNMF_OK;
}

/* The distance between two values of an integer format. */
static double step_of(int format)
{
    int samples = format & SF_FORMAT_SUBMASK;

    return samples == SF_FORMAT_PCM_16   ? 0x1p-15
           : samples == SF_FORMAT_PCM_24 ? 0x1p-23
           : samples == SF_FORMAT_PCM_32 ? 0x1p-31
                                         : 0;
}

static const int written[] = {
    SF_FORMAT_WAV | SF_FORMAT_PCM_16,  SF_FORMAT_WAV | SF_FORMAT_PCM_24,
    SF_FORMAT_WAV | SF_FORMAT_PCM_32,  SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    SF_FORMAT_WAV | SF_FORMAT_DOUBLE,  SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
    SF_FORMAT_FLAC | SF_FORMAT_PCM_24, SF_FORMAT_W64 | SF_FORMAT_PCM_16,
    SF_FORMAT_RF64 | SF_FORMAT_FLOAT,
};

/* Samples that were read are written without loss, in blocks of any size. */
static void test_exact(void **state)
{
    (void)state;
    make_sound();
    sound[10] = 0.999;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        whole_sound first = {.x = NULL}, second = {.x = NULL};
        for (int pass = 0; pass < 2; pass++) {
            const double *x = pass ? first.x : sound;
            tlnmf_io_writer *writer = start(pass ? "2.snd" : "1.snd", written[i], CHANNELS);
            for (int64_t done = 0, n = 1; done < FRAMES; done += n, n = 2 * n + pass) {
                n = done + n > FRAMES ? FRAMES - done : n;
                assert_true(append(writer, x + done * CHANNELS, n));
            }
            assert_int_equal(clipped_by(writer), 0);
            assert_true(tlnmf_record_get_real(tlnmf_io_writer_record(writer), "step") ==
                        step_of(written[i]));
            assert_true(commit(writer));
            if (!read_whole(test_context(), pass ? "2.snd" : "1.snd", pass ? &second : &first))
                fail_msg("%s", tlnmf_message(test_context()));
        }
        assert_int_equal(second.info.format, written[i]);
        assert_memory_equal(first.x, second.x, sizeof sound);
        double half_step = fmax(step_of(written[i]) / 2, 0x1p-25);
        for (int k = 0; k < FRAMES * CHANNELS; k++)
            assert_true(fabs(first.x[k] - sound[k]) <= half_step);
        free(first.x);
        free(second.x);
    }
}

/* Long blocks of any number of channels, with and without rounding. */
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
            tlnmf_io_writer *writer = start("many.snd", written[i], channels);
            if (!append(writer, x, LONG) || !commit(writer) ||
                !read_whole(test_context(), "many.snd", &read))
                fail_msg("%d channels: %s", channels, tlnmf_message(test_context()));
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
    int64_t clipped = -1;

    (void)state;
    tlnmf_io_writer *writer = start("x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1);
    assert_true(append(writer, x, 7));
    assert_int_equal(clipped_by(writer), 3); /* 1, 1.5, -1.5 */
    assert_true(commit(writer));
    writer = start("y.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1);
    assert_true(append(writer, x, 7));
    assert_false(append(writer, x + 7, 1));
    assert_string_equal(tlnmf_message(test_context()), "y.wav: sample 7, channel 0 is not finite");
    assert_false(commit(writer));
    assert_true(read_whole(test_context(), "x.wav", &back));
    assert_memory_equal(back.x, want, sizeof want);
    free(back.x);
    assert_true(
        write_whole(test_context(), "x.flac", x, &(io_sound_info){7, 1, RATE, 0}, &clipped));
    assert_int_equal(clipped, 4); /* with 24 bits, -1 - 2^-17 is also clipped */
}

/* The final name does not exist before the commit; after an abort no file remains. */
static void test_all_or_nothing(void **state)
{

    (void)state;
    remove_files(0);
    make_sound();
    put_file("x.wav", "old", 3);
    tlnmf_io_writer *writer = start("x.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, CHANNELS);
    assert_true(append(writer, sound, FRAMES));
    size_t size;
    unsigned char *bytes = get_file("x.wav", &size);
    assert_int_equal(size, 3);
    free(bytes);
    assert_int_equal(count_files(), 2);
    tlnmf_io_writer_abort(writer);
    assert_int_equal(count_files(), 1);
    writer = start("y.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, CHANNELS);
    assert_int_equal(access("y.wav", F_OK), -1);
    assert_true(append(writer, sound, FRAMES));
    assert_true(commit(writer));
    assert_int_equal(count_files(), 2);
    tlnmf_io_writer_abort(NULL);
}

/* The limit allows only half of the file. The error occurs when the file is opened or, if the
 * length was not announced, in the append or the commit. The temporary file is removed. A child
 * process writes, so that the limit does not affect the test. */
static void test_no_room(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {4000, 4000};
        remove_files(0);
        make_sound();
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        io_sound_info info = {FRAMES, CHANNELS, RATE, SF_FORMAT_WAV | SF_FORMAT_FLOAT};
        tlnmf_io_writer *writer;
        bool opened = io_sound_create(test_context(), "x.wav", &info, &writer);
        if (opened ||
            strcmp(tlnmf_message(test_context()), "x.wav: cannot write: File too large") != 0)
            _exit(4);
        info.frames = 0;
        bool ok = io_sound_create(test_context(), "x.wav", &info, &writer) &&
                  append(writer, sound, FRAMES);
        if (ok)
            ok = commit(writer);
        else
            tlnmf_io_writer_abort(writer);
        _exit(ok ? 1
              : strcmp(tlnmf_message(test_context()), "x.wav: cannot write: File too large") != 0
                  ? 2
              : count_files() != 0 ? 3
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
        tlnmf_io_writer *writer;
        assert_false(io_sound_create(test_context(), cases[i].path, &cases[i].info, &writer));
        assert_null(writer);
        assert_string_equal(tlnmf_message(test_context()), cases[i].text);
        assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_OUTPUT);
    }
    assert_int_equal(count_files(), 0);
}

/* Standard output cannot seek: the sound is first assembled in memory. */
static void test_standard_output(void **state)
{
    whole_sound back;
    int64_t clipped;

    (void)state;
    make_sound();
    int saved = dup(STDOUT_FILENO), fd = open("out.wav", O_WRONLY | O_CREAT | O_APPEND, 0600);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    bool ok = write_whole(test_context(), "-", sound, &shape, &clipped);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_true(ok);
    assert_true(read_whole(test_context(), "out.wav", &back));
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
