/* A sound file through framing: three bytes that select frame, hop and window, then a WAV file. The
 * frames of an accepted sound reconstruct it. */
#include "tlnmf/io.h"

#include "fuzz.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 3, MOST = 4096 };

/* Frames of one channel, and back. */
static void there_and_back(tlnmf_ctx *ctx, const tlnmf_settings *settings, const double *x,
                           int64_t length)
{
    int64_t N, size = tlnmf_settings_get_integer(settings, "frame") *
                      tlnmf_settings_get_integer(settings, "shifts");
    FUZZ_CHECK(tlnmf_frames_count(ctx, settings, length, &N) == TLNMF_OK && N > 0);
    double *Y = malloc((size_t)(size * N) * sizeof *Y), *back = malloc(MOST * sizeof *back);
    double largest = 0.0;
    FUZZ_CHECK(Y != NULL && back != NULL);
    FUZZ_CHECK(tlnmf_frames_analyse(ctx, settings, x, length, Y) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_frames_synthesise(ctx, settings, Y, length, back) == TLNMF_OK);
    for (int64_t t = 0; t < length; t++)
        largest = fmax(largest, fabs(x[t]));
    for (int64_t t = 0; t < length; t++)
        FUZZ_CHECK(fabs(back[t] - x[t]) <= 1e-9 * largest);
    free(back);
    free(Y);
}

static void frame(tlnmf_ctx *ctx, const uint8_t head[HEAD], const tlnmf_sound *sound)
{
    static const char *const windows[] = {"tukey", "sine", "hann", "rectangular"};
    static double x[MOST];
    const tlnmf_record *about = tlnmf_sound_record(sound);
    int64_t length = tlnmf_record_get_integer(about, "length"),
            channels = tlnmf_record_get_integer(about, "channels");
    tlnmf_settings *settings;
    if (length * channels > MOST || tlnmf_sound_read(ctx, sound, 0, length, x) != TLNMF_OK)
        return;
    for (int64_t t = 0; t < length; t++) /* the first channel; 1e100 so that squares are finite */
        x[t] = fabs(x[t * channels]) < 1e100 ? x[t * channels] : 0.0;
    FUZZ_CHECK(tlnmf_settings_create(ctx, "frames", &settings) == TLNMF_OK);
    tlnmf_settings_set_integer(ctx, settings, "frame", 1 + head[0]);
    tlnmf_settings_set_integer(ctx, settings, "hop", 1 + head[1]);
    tlnmf_settings_set_integer(ctx, settings, "shifts", 1 + head[2] / 4 % 5);
    tlnmf_settings_set_text(ctx, settings, "window", windows[head[2] % 4]);
    int64_t N;
    if (tlnmf_frames_count(ctx, settings, length, &N) == TLNMF_OK)
        there_and_back(ctx, settings, x, length);
    else
        FUZZ_CHECK(tlnmf_message(ctx)[0] != '\0');
    tlnmf_settings_free(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_ctx *ctx;
    tlnmf_sound *sound;
    if (size < HEAD || size > 4 * MOST)
        return 0;
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    fuzz_put("x.wav", bytes + HEAD, size - HEAD);
    if (tlnmf_io_open_sound(ctx, "x.wav", &sound) == TLNMF_OK)
        frame(ctx, bytes, sound);
    else
        FUZZ_CHECK(tlnmf_message(ctx)[0] != '\0');
    tlnmf_sound_free(sound);
    unlink("x.wav");
    tlnmf_ctx_free(ctx);
    return 0;
}

/* 200 samples of 16 bits, one channel, 8 kHz. */
bool fuzz_seed(int number, const char *path)
{
    enum { SAMPLES = 200, BYTES = 2 * SAMPLES };
    static const uint8_t heads[][HEAD] = {{63, 31, 0}, {39, 19, 5}, {9, 4, 2}};
    static const uint8_t wav[] = {'R', 'I', 'F',  'F',  0xb4, 1,   0,    0,    'W', 'A', 'V',
                                  'E', 'f', 'm',  't',  ' ',  16,  0,    0,    0,   1,   0,
                                  1,   0,   0x40, 0x1f, 0,    0,   0x80, 0x3e, 0,   0,   2,
                                  0,   16,  0,    'd',  'a',  't', 'a',  0x90, 1,   0,   0};
    uint8_t file[HEAD + sizeof wav + BYTES];
    if (number == sizeof heads / sizeof *heads)
        return false;
    memcpy(file, heads[number], HEAD);
    memcpy(file + HEAD, wav, sizeof wav);
    for (int t = 0; t < SAMPLES; t++) {
        int16_t x = (int16_t)(9000.0 * sin(0.1 * t * (number + 1)));
        memcpy(file + HEAD + sizeof wav + 2 * t, &x, 2);
    }
    fuzz_put(path, file, sizeof file);
    return true;
}
