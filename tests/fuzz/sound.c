/* Sound files: whatever they claim, reading ends with finite samples or with a message. */
#include "io/io.h"

#include "fuzz.h"

#include <math.h>
#include <sndfile.h>

/* libsndfile forgets to free what libvorbis holds when it refuses a damaged Ogg stream. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:vorbis_info_init\nleak:ogg_stream_init\n";
}

static void check_blocks(const char *path)
{
    enum { ROOM = 4096 };
    static double x[ROOM];
    io_audio_reader *reader;
    io_audio_info info;
    io_error err;

    if (!io_audio_open(path, &reader, &info, &err))
        return;
    int64_t count = ROOM / info.channels < info.frames ? ROOM / info.channels : info.frames;
    int64_t starts[] = {info.frames - count, 0, (info.frames - count) / 2};
    for (int i = 0; i < 3; i++)
        if (io_audio_read_at(reader, starts[i], count, x, &err))
            for (int64_t k = 0; k < count * info.channels; k++)
                FUZZ_CHECK(isfinite(x[k]));
    FUZZ_CHECK(!io_audio_read_at(reader, info.frames, 1, x, &err));
    io_audio_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    io_audio audio;
    io_error err = {0};

    if (size > 16384) /* a few bytes can stand for hours of silence */
        return 0;
    fuzz_put("sound.fuzz", bytes, size);
    if (io_audio_read("sound.fuzz", &audio, &err)) {
        FUZZ_CHECK(audio.frames > 0 && audio.channels > 0 && audio.channels <= 1024);
        FUZZ_CHECK(audio.rate > 0);
        for (int64_t i = 0; i < audio.frames * audio.channels; i++)
            FUZZ_CHECK(isfinite(audio.x[i]));
        io_audio_free(&audio);
    } else {
        FUZZ_CHECK(err.text[0] != '\0' && !audio.x);
    }
    check_blocks("sound.fuzz");
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    static const int formats[] = {
        SF_FORMAT_WAV | SF_FORMAT_PCM_16,   SF_FORMAT_WAV | SF_FORMAT_FLOAT,
        SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM,
        SF_FORMAT_AIFF | SF_FORMAT_PCM_16,  SF_FORMAT_AU | SF_FORMAT_DOUBLE,
        SF_FORMAT_W64 | SF_FORMAT_PCM_16,   SF_FORMAT_RF64 | SF_FORMAT_PCM_16,
        SF_FORMAT_FLAC | SF_FORMAT_PCM_16,  SF_FORMAT_CAF | SF_FORMAT_PCM_16,
        SF_FORMAT_OGG | SF_FORMAT_VORBIS,
    };
    enum { FRAMES = 400 };
    short x[2 * FRAMES];

    if (number == sizeof formats / sizeof *formats)
        return false;
    SF_INFO info = {.samplerate = 8000, .channels = 2, .format = formats[number]};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    FUZZ_CHECK(file != NULL);
    for (int i = 0; i < 2 * FRAMES; i++)
        x[i] = (short)(9000 * sin(0.05 * i * (1 + i % 2)));
    sf_writef_short(file, x, FRAMES);
    sf_close(file);
    return true;
}
