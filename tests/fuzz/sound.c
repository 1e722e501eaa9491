/* Sound files: whatever the header claims, reading gives finite samples or a message. */
#include "fuzz.h"
#include "tests/unit/io/whole_sound.h"

#include <math.h>

/* libsndfile 1.2 leaks memory of libvorbis when it refuses a damaged Ogg stream: sf_open and
 * sf_close alone leak 5,784 bytes for each of corpus/sound/ogg_refused.1 and .2. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:vorbis_info_init\nleak:ogg_stream_init\n";
}

static void check_blocks(const char *path)
{
    enum { ROOM = 4096 };
    static double x[ROOM];
    tlnmf_sound *sound;

    if (tlnmf_io_open_sound(fuzz_context(), path, &sound) != TLNMF_OK)
        return;
    io_sound_info info = io_sound_info_of(sound);
    int64_t count = ROOM / info.channels < info.frames ? ROOM / info.channels : info.frames;
    int64_t starts[] = {info.frames - count, 0, (info.frames - count) / 2};
    for (int i = 0; i < 3; i++)
        if (tlnmf_sound_read(fuzz_context(), sound, starts[i], count, x) == TLNMF_OK)
            for (int64_t k = 0; k < count * info.channels; k++)
                FUZZ_CHECK(isfinite(x[k]));
    FUZZ_CHECK(tlnmf_sound_read(fuzz_context(), sound, info.frames, 1, x) == TLNMF_ERR_SHAPE);
    tlnmf_sound_free(sound);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    whole_sound sound;

    if (size > 16384) /* a few bytes can encode hours of silence */
        return 0;
    fuzz_put("sound.fuzz", bytes, size);
    if (read_whole(fuzz_context(), "sound.fuzz", &sound)) {
        FUZZ_CHECK(sound.info.frames > 0 && sound.info.channels > 0 && sound.info.channels <= 1024);
        FUZZ_CHECK(sound.info.rate > 0);
        for (int64_t i = 0; i < sound.info.frames * sound.info.channels; i++)
            FUZZ_CHECK(isfinite(sound.x[i]));
        free(sound.x);
    } else {
        FUZZ_CHECK(tlnmf_message(fuzz_context())[0] != '\0' && !sound.x);
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
