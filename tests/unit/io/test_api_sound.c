/* tlnmf/io.h: sound files as sounds, writers, label tracks, events as labels and MIDI. */
#include "unit/io/test_api.h"
#include "unit/io/whole_sound.h"

#include <math.h>
#include <pthread.h>

enum { LENGTH = 5000, CHANNELS = 2, RATE = 8000 };

static double wave[LENGTH * CHANNELS];

static void make_wave(void)
{
    for (int t = 0; t < LENGTH; t++)
        for (int c = 0; c < CHANNELS; c++)
            wave[t * CHANNELS + c] = 0.7 * sin(0.05 * t * (1 + c));
}

/* Written with libsndfile itself. */
static void make_file(const char *path, int format)
{
    SF_INFO info = {.samplerate = RATE, .channels = CHANNELS, .format = format};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);

    assert_non_null(file);
    make_wave();
    assert_int_equal(sf_writef_double(file, wave, LENGTH), LENGTH);
    sf_close(file);
}

static tlnmf_sound *open_sound(tlnmf_ctx *ctx, const char *path)
{
    tlnmf_sound *sound;

    assert_ok(ctx, tlnmf_io_open_sound(ctx, path, &sound));
    return sound;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void test_open(void **state)
{
    static const char path[] = "na\xefve.wav";
    static double x[LENGTH * CHANNELS];
    tlnmf_ctx *ctx = new_context();
    whole_sound want;

    (void)state;
    make_file(path, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
    assert_true(read_whole(ctx, path, &want));
    tlnmf_sound *sound = open_sound(ctx, path);
    const tlnmf_record *record = tlnmf_sound_record(sound);
    assert_int_equal(tlnmf_record_get_integer(record, "length"), LENGTH);
    assert_int_equal(tlnmf_record_get_integer(record, "channels"), CHANNELS);
    assert_true(tlnmf_record_get_real(record, "rate") == RATE);
    assert_string_equal(tlnmf_record_get_text(record, "file"), path);
    assert_ok(ctx, tlnmf_sound_read(ctx, sound, 0, LENGTH, x));
    assert_memory_equal(x, want.x, sizeof x);
    assert_ok(ctx, tlnmf_sound_read(ctx, sound, 4990, 10, x));
    assert_memory_equal(x, want.x + 4990 * CHANNELS, 10 * CHANNELS * sizeof *x);
    assert_ok(ctx, tlnmf_sound_read(ctx, sound, LENGTH, 0, x));
    assert_error(ctx, tlnmf_sound_read(ctx, sound, 4990, 11, x), TLNMF_ERR_SHAPE,
                 "cannot read 11 samples from sample 4990: the sound has 5000");
    assert_int_equal(tlnmf_sound_read(ctx, sound, -1, 1, x), TLNMF_ERR_SHAPE);
    assert_int_equal(tlnmf_sound_read(ctx, sound, INT64_MAX, INT64_MAX, x), TLNMF_ERR_SHAPE);
    tlnmf_ctx_free(ctx); /* the sound outlives the context */
    ctx = new_context();
    assert_ok(ctx, tlnmf_sound_read(ctx, sound, 0, 1, x));
    tlnmf_sound_free(sound);
    free(want.x);
    tlnmf_ctx_free(ctx);
}

static void test_open_errors(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_sound *sound;

    (void)state;
    put_file("text.wav", "Once upon a time", 16);
    assert_error(ctx, tlnmf_io_open_sound(ctx, "text.wav", &sound), TLNMF_ERR_INPUT,
                 "text.wav: unsupported audio format");
    assert_null(sound);
    assert_error(ctx, tlnmf_io_open_sound(ctx, "none.wav", &sound), TLNMF_ERR_INPUT,
                 "none.wav: No such file or directory");
    tlnmf_ctx_free(ctx);
}

/* Whichever call reads the file, the message names it. */
static void test_failing_read(void **state)
{
    static const char text[] = "song.wav: sample 12, channel 1 is not finite";
    static double x[LENGTH * CHANNELS];
    SF_INFO info = {.samplerate = RATE, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    tlnmf_ctx *ctx = new_context();
    tlnmf_settings *settings;
    tlnmf_record *model;
    double power;

    (void)state;
    make_wave();
    wave[25] = NAN;
    SNDFILE *file = sf_open("song.wav", SFM_WRITE, &info);
    assert_int_equal(sf_writef_double(file, wave, LENGTH), LENGTH);
    sf_close(file);
    tlnmf_sound *sound = open_sound(ctx, "song.wav");
    assert_error(ctx, tlnmf_sound_read(ctx, sound, 0, 100, x), TLNMF_ERR_INPUT, text);
    assert_ok(ctx, tlnmf_sound_read(ctx, sound, 13, 100, x));
    assert_error(ctx, tlnmf_sound_power(ctx, sound, &power), TLNMF_ERR_INPUT, text);
    assert_ok(ctx, tlnmf_settings_create(ctx, "learn", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "k", 2));
    assert_error(ctx, tlnmf_learn_sources(ctx, sound, settings, &model), TLNMF_ERR_INPUT, text);
    assert_null(model);
    assert_error(ctx, tlnmf_sound_read(ctx, sound, -1, 100, x), TLNMF_ERR_SHAPE,
                 "cannot read 100 samples from sample -1: the sound has 5000");
    tlnmf_settings_free(settings);
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
}

/* A sound may be read by several threads. */
typedef struct listener {
    tlnmf_sound *sound;
    int64_t step; /* each thread reads in a different order */
    bool good;
} listener;

static void *listen(void *user)
{
    enum { COUNT = 64 };
    double x[COUNT * CHANNELS];
    listener *l = user;
    tlnmf_ctx *ctx;

    l->good = tlnmf_ctx_create(&ctx) == TLNMF_OK;
    for (int64_t i = 0; l->good && i < 20000; i++) {
        int64_t first = i * l->step % (LENGTH - COUNT);
        l->good = tlnmf_sound_read(ctx, l->sound, first, COUNT, x) == TLNMF_OK;
        for (int64_t k = 0; l->good && k < COUNT * CHANNELS; k++)
            l->good = fabs(x[k] - wave[first * CHANNELS + k]) < 1e-6;
    }
    tlnmf_ctx_free(ctx);
    return NULL;
}

static void test_threads(void **state)
{
    enum { THREADS = 4 };
    tlnmf_ctx *ctx = new_context();
    pthread_t thread[THREADS];
    listener listeners[THREADS];

    (void)state;
    make_file("x.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    tlnmf_sound *sound = open_sound(ctx, "x.wav");
    for (int i = 0; i < THREADS; i++) {
        listeners[i] = (listener){.sound = sound, .step = 997 + 210 * i};
        assert_int_equal(pthread_create(&thread[i], NULL, listen, &listeners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_true(listeners[i].good);
    }
    tlnmf_sound_free(sound);
    tlnmf_ctx_free(ctx);
}

/* ---- sounds of other libraries --------------------------------------------------------------- */

typedef struct owner {
    int closed;
    tlnmf_error error;
} owner;

static int fail_to_read(int64_t first, int64_t count, double *x, void *user)
{
    (void)first, (void)count, (void)x, (void)user;
    return 7;
}

static void close_owner(void *user)
{
    ((owner *)user)->closed++;
}

static tlnmf_error why_owner(char *text, size_t size, void *user)
{
    snprintf(text, size, "the owner knows");
    return ((owner *)user)->error;
}

static void test_owner(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_sound *sound;
    owner o = {0, TLNMF_ERR_INPUT};
    double x[4];

    (void)state;
    assert_ok(ctx, tlnmf_sound_create(ctx, 4, 1, 8000, fail_to_read, &o, &sound));
    assert_int_not_equal(tlnmf_sound_read(ctx, sound, 0, 4, x), TLNMF_OK);
    tlnmf_sound_own(sound, close_owner, NULL, &o);
    assert_int_not_equal(tlnmf_sound_read(ctx, sound, 0, 4, x), TLNMF_OK);
    tlnmf_sound_own(sound, close_owner, why_owner, &o);
    assert_error(ctx, tlnmf_sound_read(ctx, sound, 0, 4, x), TLNMF_ERR_INPUT, "the owner knows");
    o.error = TLNMF_OK;
    assert_int_not_equal(tlnmf_sound_read(ctx, sound, 0, 4, x), TLNMF_OK);
    assert_string_not_equal(tlnmf_message(ctx), "the owner knows");
    assert_int_equal(o.closed, 0);
    tlnmf_sound_free(sound);
    assert_int_equal(o.closed, 1);
    make_wave();
    assert_ok(ctx, tlnmf_sound_from_array(ctx, wave, 4, 1, 8000, &sound));
    tlnmf_sound_own(sound, close_owner, NULL, &o);
    assert_ok(ctx, tlnmf_sound_read(ctx, sound, 0, 4, x));
    assert_ok(ctx, tlnmf_record_set_text(ctx, tlnmf_sound_notes(sound), "by", "me"));
    assert_string_equal(tlnmf_record_get_text(tlnmf_sound_record(sound), "by"), "me");
    tlnmf_sound_free(sound);
    assert_int_equal(o.closed, 2);
    assert_null(tlnmf_sound_notes(NULL));
    tlnmf_sound_own(NULL, NULL, NULL, NULL);
    tlnmf_ctx_free(ctx);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_like(tlnmf_ctx *ctx, const char *path, const tlnmf_sound *like, int64_t *clipped,
                       double *step)
{
    tlnmf_io_writer *writer;

    assert_ok(ctx, tlnmf_io_writer_create(ctx, path, like, &writer));
    for (int64_t done = 0, n = 1; done < LENGTH; done += n, n *= 2) {
        n = done + n > LENGTH ? LENGTH - done : n;
        assert_ok(ctx, tlnmf_io_writer_append(ctx, writer, wave + done * CHANNELS, n));
    }
    *clipped = tlnmf_record_get_integer(tlnmf_io_writer_record(writer), "clipped");
    *step = tlnmf_record_get_real(tlnmf_io_writer_record(writer), "step");
    assert_ok(ctx, tlnmf_io_writer_commit(ctx, writer));
}

static void test_formats(void **state)
{
    static const struct {
        const char *path;
        int like, want; /* like = 0: a sound that is not from a file */
        double step;
    } cases[] = {
        {"y.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 0x1p-15},
        {"y.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 0x1p-15},
        {"y.wav", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, SF_FORMAT_WAV | SF_FORMAT_PCM_24, 0x1p-23},
        {"y.wav", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 0},
        {"y.w64", SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_W64 | SF_FORMAT_FLOAT, 0},
        {"y.flac", SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 0x1p-23},
        {"y.wav", 0, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0},
        {"y.flac", 0, SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 0x1p-23},
    };
    tlnmf_ctx *ctx = new_context();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tlnmf_sound *like;
        whole_sound back;
        int64_t clipped;
        double step;
        make_wave();
        if (cases[i].like == 0) {
            assert_ok(ctx, tlnmf_sound_from_array(ctx, wave, LENGTH, CHANNELS, RATE, &like));
        } else {
            make_file("x.snd", cases[i].like);
            like = open_sound(ctx, "x.snd");
        }
        write_like(ctx, cases[i].path, like, &clipped, &step);
        assert_int_equal(clipped, 0);
        assert_true(step == cases[i].step);
        assert_true(read_whole(ctx, cases[i].path, &back));
        assert_int_equal(back.info.format, cases[i].want);
        assert_int_equal(back.info.frames, LENGTH);
        assert_int_equal(back.info.channels, CHANNELS);
        assert_int_equal(back.info.rate, RATE);
        for (int k = 0; back.x && k < LENGTH * CHANNELS; k++)
            assert_true(fabs(back.x[k] - wave[k]) <= fmax(step / 2, 0x1p-25));
        free(back.x);
        tlnmf_sound_free(like);
    }
    tlnmf_ctx_free(ctx);
}

static void test_clipping(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_io_writer *writer;

    (void)state;
    remove_files(0);
    make_file("x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16);
    tlnmf_sound *like = open_sound(ctx, "x.wav");
    assert_ok(ctx, tlnmf_io_writer_create(ctx, "y.wav", like, &writer));
    assert_int_equal(
        access(tlnmf_record_get_text(tlnmf_io_writer_record(writer), "temporary"), F_OK), 0);
    assert_ok(ctx, tlnmf_io_writer_append(ctx, writer, (double[]){0.5, 1, -1, 1.5}, 2));
    assert_int_equal(tlnmf_record_get_integer(tlnmf_io_writer_record(writer), "clipped"), 2);
    assert_ok(ctx, tlnmf_io_writer_append(ctx, writer, (double[]){-2, 0}, 1));
    assert_int_equal(tlnmf_record_get_integer(tlnmf_io_writer_record(writer), "clipped"), 3);
    assert_error(ctx, tlnmf_io_writer_append(ctx, writer, (double[]){0, NAN}, 1), TLNMF_ERR_OUTPUT,
                 "y.wav: sample 3, channel 1 is not finite");
    assert_error(ctx, tlnmf_io_writer_append(ctx, writer, wave, -1), TLNMF_ERR_ARGUMENT,
                 "count = -1 must not be negative");
    tlnmf_io_writer_abort(writer);
    assert_int_equal(access("y.wav", F_OK), -1);
    tlnmf_sound_free(like);
    tlnmf_ctx_free(ctx);
}

/* A later append does not make up for one that failed. */
static void test_commit_after_failed_append(void **state)
{
    tlnmf_ctx *ctx = new_context();

    (void)state;
    remove_files(0);
    make_file("x.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    tlnmf_sound *like = open_sound(ctx, "x.wav");
    for (int i = 0; i < 3; i++) {
        const double bad[CHANNELS] = {i == 1 ? NAN : 0.0};
        tlnmf_io_writer *writer;
        assert_ok(ctx, tlnmf_io_writer_create(ctx, "y.wav", like, &writer));
        assert_ok(ctx, tlnmf_io_writer_append(ctx, writer, wave, 500));
        assert_int_not_equal(
            tlnmf_io_writer_append(ctx, writer, i == 0 ? NULL : bad, i == 2 ? -1 : 1), TLNMF_OK);
        assert_ok(ctx, tlnmf_io_writer_append(ctx, writer, wave, 1));
        assert_error(ctx, tlnmf_io_writer_commit(ctx, writer), TLNMF_ERR_OUTPUT,
                     "y.wav: not written, because not all samples could be appended");
        assert_int_equal(count_files(), 1);
    }
    tlnmf_sound_free(like);
    tlnmf_ctx_free(ctx);
}

static void test_writer_errors(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_sound *like, *odd;
    tlnmf_io_writer *writer;

    (void)state;
    remove_files(0);
    make_wave();
    assert_ok(ctx, tlnmf_sound_from_array(ctx, wave, LENGTH, 1, RATE, &like));
    assert_ok(ctx, tlnmf_sound_from_array(ctx, wave, LENGTH, 1, 44100.5, &odd));
    assert_error(ctx, tlnmf_io_writer_create(ctx, "x.mp3", like, &writer), TLNMF_ERR_OUTPUT,
                 "x.mp3: sound is written as .wav, .flac or .w64");
    assert_null(writer);
    assert_error(ctx, tlnmf_io_writer_create(ctx, "no/x.wav", like, &writer), TLNMF_ERR_OUTPUT,
                 "no/x.wav: cannot write: No such file or directory (directory no does not exist)");
    assert_error(ctx, tlnmf_io_writer_create(ctx, "x.wav", odd, &writer), TLNMF_ERR_OUTPUT,
                 "x.wav: cannot write: the rate is 44100.5 Hz, sound files need an integer rate");
    assert_int_equal(symlink("/dev/full", "full.wav"), 0);
    assert_ok(ctx, tlnmf_io_writer_create(ctx, "full.wav", like, &writer));
    assert_string_equal(tlnmf_record_get_text(tlnmf_io_writer_record(writer), "temporary"), "");
    assert_ok(ctx, tlnmf_io_writer_append(ctx, writer, wave, 10));
    assert_error(ctx, tlnmf_io_writer_commit(ctx, writer), TLNMF_ERR_OUTPUT,
                 "full.wav: cannot write: No space left on device");
    assert_int_equal(count_files(), 1);
    tlnmf_sound_free(like);
    tlnmf_sound_free(odd);
    tlnmf_ctx_free(ctx);
}

/* ---- labels and events ----------------------------------------------------------------------- */

static void test_read_labels(void **state)
{
    static const char text[] = "0,5\t1\tpiano\n\n1\t2.5\tfl\xc3\xbcte\n";
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *track;
    tlnmf_sound *sound;
    int64_t shape[TLNMF_MAX_DIMENSIONS];

    (void)state;
    put_file("\xff.txt", text, sizeof text - 1);
    assert_ok(ctx, tlnmf_io_read_labels(ctx, "\xff.txt", &track));
    const double *start = tlnmf_record_get_array(track, "start", NULL, shape);
    const double *end = tlnmf_record_get_array(track, "end", NULL, NULL);
    assert_int_equal(shape[0], 2);
    assert_true(start[0] == 0.5 && start[1] == 1.0 && end[0] == 1.0 && end[1] == 2.5);
    assert_string_equal(tlnmf_record_get_text_at(track, "name", 0), "piano");
    assert_string_equal(tlnmf_record_get_text_at(track, "name", 1), "fl\xc3\xbcte");
    assert_ok(ctx, tlnmf_sound_from_array(ctx, wave, LENGTH, 1, 2000, &sound));
    assert_ok(ctx, tlnmf_sound_add_labels(ctx, sound, track));
    assert_int_equal(tlnmf_record_get_integer(tlnmf_sound_record(sound), "labels"), 2);
    tlnmf_sound_free(sound);
    tlnmf_record_free(track);
    put_file("bad.txt", "1\tx\ty\n", 6);
    assert_error(ctx, tlnmf_io_read_labels(ctx, "bad.txt", &track), TLNMF_ERR_INPUT,
                 "bad.txt: line 1: not a time in seconds: x");
    assert_null(track);
    tlnmf_ctx_free(ctx);
}

enum { EVENTS = 4 };
static const double sources[EVENTS] = {0, 0, 1, 1}, begins[EVENTS] = {0, 1, 0.5, 2},
                    ends[EVENTS] = {0.5, 2, 1, 2.25}, levels[EVENTS] = {4, 1, 9, 0},
                    keys[EVENTS] = {69, 69, 60, 60};

static tlnmf_record *make_events(tlnmf_ctx *ctx)
{
    static const struct {
        const char *name;
        const double *x;
    } columns[] = {
        {"source", sources}, {"begin", begins}, {"end", ends}, {"level", levels}, {"key", keys}};
    tlnmf_record *events;

    assert_ok(ctx, tlnmf_record_create(ctx, &events));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        assert_ok(ctx, tlnmf_record_set_array(ctx, events, columns[i].name, columns[i].x, 1,
                                              (int64_t[]){EVENTS}));
    return events;
}

static tlnmf_record *make_cast(tlnmf_ctx *ctx)
{
    static const char *const names[] = {"low", "high", "never"};
    tlnmf_record *model;

    assert_ok(ctx, tlnmf_record_create(ctx, &model));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, model, "names", names, 3));
    return model;
}

static void test_events(void **state)
{
    static const char want[] = "0.000000\t0.500000\tlow\n1.000000\t2.000000\tlow\n"
                               "0.500000\t1.000000\thigh\n2.000000\t2.250000\thigh\n";
    static const unsigned char low[] = {0,    0xff, 3,    3,  'l', 'o',  'w',  0,    0x90, 69, 127,
                                        0x87, 0x40, 0x80, 69, 64,  0x87, 0x40, 0x90, 69,   63};
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *events = make_events(ctx), *cast = make_cast(ctx);
    size_t size;

    (void)state;
    assert_ok(ctx, tlnmf_io_write_labels(ctx, "x.txt", cast, events));
    unsigned char *bytes = get_file("x.txt", &size);
    assert_int_equal(size, sizeof want - 1);
    assert_memory_equal(bytes, want, size);
    free(bytes);
    assert_ok(ctx, tlnmf_io_write_midi(ctx, "x.mid", cast, events));
    bytes = get_file("x.mid", &size);
    assert_memory_equal(bytes + 41, low, sizeof low); /* after the header and the tempo */
    free(bytes);
    tlnmf_record_free(events);
    tlnmf_record_free(cast);
    tlnmf_ctx_free(ctx);
}

static void test_event_errors(void **state)
{
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *events = make_events(ctx), *cast = make_cast(ctx), *empty;

    (void)state;
    remove_files(0);
    assert_ok(ctx, tlnmf_record_create(ctx, &empty));
    assert_error(ctx, tlnmf_io_write_labels(ctx, "x.txt", cast, empty), TLNMF_ERR_ARGUMENT,
                 "there is no array source");
    assert_error(ctx, tlnmf_io_write_midi(ctx, "x.mid", empty, events), TLNMF_ERR_DATA,
                 "event 0 belongs to source 0, but the model has 0 sources");
    assert_ok(ctx,
              tlnmf_record_set_array(ctx, events, "level", levels, 1, (int64_t[]){EVENTS - 1}));
    assert_error(ctx, tlnmf_io_write_midi(ctx, "x.mid", cast, events), TLNMF_ERR_SHAPE,
                 "the events: level has 3 numbers, but source has 4");
    tlnmf_record_free(events);
    events = make_events(ctx);
    assert_ok(ctx, tlnmf_record_set_array(ctx, events, "key", (double[]){1, 2, NAN, 4}, 1,
                                          (int64_t[]){EVENTS}));
    assert_error(ctx, tlnmf_io_write_midi(ctx, "x.mid", cast, events), TLNMF_ERR_OUTPUT,
                 "x.mid: event 2: nan is not a MIDI key (0 to 127)");
    assert_ok(ctx, tlnmf_record_set_array(ctx, events, "source", (double[]){0, NAN, 0, 0}, 1,
                                          (int64_t[]){EVENTS}));
    assert_int_equal(tlnmf_io_write_labels(ctx, "x.txt", cast, events), TLNMF_ERR_DATA);
    assert_int_equal(count_files(), 0);
    tlnmf_record_free(empty);
    tlnmf_record_free(events);
    tlnmf_record_free(cast);
    tlnmf_ctx_free(ctx);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static tlnmf_error open_and_write(tlnmf_ctx *ctx)
{
    tlnmf_sound *sound = NULL;
    tlnmf_io_writer *writer = NULL;
    tlnmf_error error = tlnmf_io_open_sound(ctx, "x.wav", &sound);

    assert_true((sound == NULL) == (error != TLNMF_OK));
    if (error == TLNMF_OK)
        error = tlnmf_io_writer_create(ctx, "y.wav", sound, &writer);
    assert_true((writer == NULL) == (error != TLNMF_OK));
    if (error == TLNMF_OK)
        error = tlnmf_io_writer_append(ctx, writer, wave, 10);
    tlnmf_io_writer_abort(writer);
    tlnmf_sound_free(sound);
    return error;
}

static tlnmf_error read_track(tlnmf_ctx *ctx)
{
    tlnmf_record *track;
    tlnmf_error error = tlnmf_io_read_labels(ctx, "x.txt", &track);

    assert_true((track == NULL) == (error != TLNMF_OK));
    tlnmf_record_free(track);
    return error;
}

static void test_no_memory(void **state)
{
    (void)state;
    make_file("x.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16);
    put_file("x.txt", "1\t2\tpiano\n2\t3\tflute\n", 20);
    exhaust_context(open_and_write);
    exhaust_context(read_track);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),          cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_failing_read),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_owner),         cmocka_unit_test(test_formats),
        cmocka_unit_test(test_clipping),      cmocka_unit_test(test_commit_after_failed_append),
        cmocka_unit_test(test_writer_errors), cmocka_unit_test(test_read_labels),
        cmocka_unit_test(test_events),        cmocka_unit_test(test_event_errors),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
