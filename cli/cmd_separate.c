/* tlnmf separate: a recording in, its sources out. */
#include "cli/stems/stems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *k, *method, *labels, *per_source, *frame, *hop, *window, *taper, *beta, *shifts,
        *rate;
    const char *transform, *learn, *iterations, *starts;
    cli_stem_words stems;
} arg;

static const cli_option options[] = {
    {"k", "INT", "how many sources, where no labels name them", &arg.k},
    {"labels", "FILE", "an Audacity label track: when each source sounds; stems are named after it",
     &arg.labels},
    {"per-source", "INT", "components a source [1 to 3, whichever separates best]",
     &arg.per_source},
    {"method", "NAME",
     "tl or jd: learn the transform; nmf: keep it; auto: whichever separates best [auto]",
     &arg.method},
    {"transform", "NAME", "stft, dct or dft: where learning starts, or what is kept [the best]",
     &arg.transform},
    {"frame", "LENGTH", "of a frame, in samples or like 40ms [40ms, or 80ms if it is better]",
     &arg.frame},
    {"hop", "LENGTH", "from one frame to the next [half a frame]", &arg.hop},
    {"shifts", "INT", "displaced frames that share H [8]", &arg.shifts},
    {"window", "NAME", "tukey, sine, hann, rectangular or kaiser [tukey, or sine if it is better]",
     &arg.window},
    {"taper", "REAL", "of the Tukey window: the part that is not flat [0.1]", &arg.taper},
    {"beta", "REAL", "of the Kaiser window [8]", &arg.beta},
    {"rate", "HZ", "learn the transform below half of this only [where the energy is]", &arg.rate},
    {"learn-columns", "INT", "learn from at most so many frames [600]", &arg.learn},
    {"iterations", "INT",
     "of learning the transform [10, or half or twice as many if that is better]", &arg.iterations},
    {"starts", "INT", "random starts without labels [8]", &arg.starts},
    CLI_STEM_OPTIONS(arg.stems),
};

/* ---- numbers ----------------------------------------------------------------------------------
 */

/* "40ms" or "882" to samples. */
static bool samples(const char *name, const char *text, int rate, int64_t *value)
{
    char *end;
    double x = strtod(text, &end);
    if (end != text && strcmp(end, "ms") == 0)
        x = floor(x * 1e-3 * rate + 0.5);
    else if (end == text || *end != '\0' || x != floor(x))
        x = NAN;
    if (!(x >= 1.0 && x <= 1e9)) {
        cli_fail(&cli_separate, EXIT_USAGE,
                 "%s = %s is no number of samples, or like 40ms, that comes to at least one at %d "
                 "Hz",
                 name, text, rate);
        return false;
    }
    *value = (int64_t)x;
    return true;
}

/* The place of a word among `count`, or -1 with a message. */
static int choice(const char *name, const char *text, const char *const *words, int count)
{
    char all[128] = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i == 0 ? "" : "|", words[i]);
    }
    cli_fail(&cli_separate, EXIT_USAGE, "%s = %s is not one of %s", name, text, all);
    return -1;
}

static bool read_frames(const cli_call *call, int rate, tlnmf_separate_options *opt)
{
    static const char *const windows[] = {"tukey", "sine", "hann", "rectangular", "kaiser"};
    tlnmf_frames *f = &opt->frames;
    if (!samples("frame", arg.frame != NULL ? arg.frame : "40ms", rate, &f->M))
        return false;
    f->hop = f->M > 1 ? f->M / 2 : 1;
    opt->any_length = arg.frame == NULL && arg.hop == NULL;
    if (arg.hop != NULL && !samples("hop", arg.hop, rate, &f->hop))
        return false;
    if (arg.window != NULL) {
        f->window = choice("window", arg.window, windows, 5);
        opt->any_window = 0;
    }
    int64_t shifts = f->hop < 8 ? f->hop : 8;
    return f->window >= 0 &&
           cli_integer(call, "shifts", arg.shifts, 1, 1000000, shifts, &f->shifts) &&
           cli_number(call->command, "taper", arg.taper, 0, 1, f->taper, &f->taper) &&
           cli_number(call->command, "beta", arg.beta, 0, 100, f->beta, &f->beta);
}

static bool read_options(const cli_call *call, int rate, tlnmf_separate_options *opt)
{
    static const char *const bases[] = {"auto", "dct", "dft", "stft"};
    static const char *const methods[] = {"tl", "jd", "nmf", "auto"};
    double low_rate;
    tlnmf_separate_init(opt);
    opt->threads = call->settings.threads;
    opt->seed = call->settings.seed;
    opt->eps_rel = call->settings.eps_rel;
    if (arg.method != NULL)
        opt->method = choice("method", arg.method, methods, 4);
    if (arg.transform != NULL && opt->method >= 0)
        opt->basis = choice("transform", arg.transform, bases, 4);
    if (opt->method < 0 || opt->basis < 0 || !read_frames(call, rate, opt) ||
        !cli_integer(call, "per-source", arg.per_source, 1, TLNMF_PER_SOURCE_MAX, 0,
                     &opt->per_source) ||
        !cli_integer(call, "learn-columns", arg.learn, 1, 1000000, opt->learn_frames,
                     &opt->learn_frames) ||
        !cli_integer(call, "iterations", arg.iterations, 1, 1000000, opt->J, &opt->J) ||
        !cli_integer(call, "starts", arg.starts, 1, 1000000, opt->starts, &opt->starts) ||
        !cli_number(call->command, "rate", arg.rate, 1, 1e9, 0, &low_rate))
        return false;
    opt->any_J = arg.iterations == NULL;
    if (low_rate > 0) /* rows are in order of frequency, up to half the rate */
        opt->band = (int64_t)fmax(
            1.0, fmin((double)opt->frames.M, floor((double)opt->frames.M * low_rate / rate)));
    return true;
}

/* ---- the command ------------------------------------------------------------------------------
 */

static json_t *about(const cli_call *call, const tlnmf_separate_options *opt, double power)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    json_object_set_new(object, "command", json_string(call->command->name));
    json_object_set_new(object, "blas", json_string(tlnmf_blas()));
    json_object_set_new(object, "seed", cli_seed(opt->seed));
    json_object_set_new(object, "power", json_real(power));
    json_object_set_new(object, "labels", arg.labels ? cli_text(arg.labels) : json_null());
    json_object_set_new(object, "release", json_integer((json_int_t)opt->release));
    json_object_set_new(object, "eps_rel", json_real(opt->eps_rel));
    json_object_set_new(object, "learn_columns", json_integer((json_int_t)opt->learn_frames));
    return object;
}

static int fail_learning(const cli_call *call, tlnmf_error error, const cli_sound *sound)
{
    if (sound->err.fault != IO_NONE)
        return cli_fail_io(call->command, &sound->err);
    return cli_fail_library(call, error, error == TLNMF_ERR_OPTION ? NULL : sound->path);
}

static int learn_and_write(cli_call *call, cli_sound *sound, const cli_cast *cast,
                           tlnmf_separate_options *opt, const cli_stems *stems)
{
    tlnmf_separator *separator;
    double power;
    opt->sources = cast->sources;
    int code = cli_check_memory(
        call, tlnmf_separate_memory(opt, sound->info.frames, sound->info.channels));
    if (code != EXIT_DONE)
        return code;
    cli_catch_interrupt();
    tlnmf_error error = tlnmf_sound_power(call->ctx, &sound->sound, &power);
    if (error == TLNMF_OK)
        error = tlnmf_separator_learn(call->ctx, &sound->sound, cast->span, cast->span_count, opt,
                                      cli_sound_progress, NULL, &separator);
    if (error != TLNMF_OK)
        return fail_learning(call, error, sound);
    tlnmf_separator_info info;
    tlnmf_separator_describe(separator, &info);
    code = info.outcome == TLNMF_CANCELLED
               ? cli_fail(call->command, EXIT_INTERRUPTED, "interrupted, no stems are written")
               : cli_stems_make(call, separator, sound, cast, stems, about(call, opt, power));
    tlnmf_separator_free(separator);
    return code;
}

static int separate(cli_call *call, const char *path)
{
    cli_sound sound;
    cli_cast cast = {0};
    tlnmf_separate_options opt;
    cli_stems stems = {0};
    int64_t k = 0;
    if (!cli_integer(call, "k", arg.k, 1, TLNMF_SOURCES_MAX, 0, &k))
        return EXIT_USAGE;
    if (arg.labels == NULL && k == 0)
        return cli_fail(call->command, EXIT_USAGE,
                        "how many sources? -k INT, or --labels FILE that names them");
    int code = cli_sound_open(call->command, path, &sound);
    if (code == EXIT_DONE && !(read_options(call, sound.info.rate, &opt) &&
                               cli_stems_read(call->command, &arg.stems, sound.info.rate, &stems)))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = arg.labels == NULL
                   ? cli_cast_blind(call->command, k, &cast)
                   : cli_cast_read(call->command, arg.labels, &sound, k, NULL, &cast);
    if (code == EXIT_DONE)
        code = cli_stems_check(call->command, &stems, &sound);
    if (code == EXIT_DONE) {
        opt.release = stems.release;
        code = learn_and_write(call, &sound, &cast, &opt, &stems);
    }
    cli_stems_end(&stems, code);
    cli_cast_free(&cast);
    cli_sound_close(&sound);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_separate, options, sizeof options / sizeof *options, argc, argv,
                  &code))
        code = call.operand_count == 1
                   ? separate(&call, call.operands[0])
                   : cli_fail(&cli_separate, EXIT_USAGE, "one sound file is needed");
    cli_end(&call);
    return code;
}

const cli_command cli_separate = {
    .name = "separate",
    .usage = "separate SOUND (-k INT | --labels FILE) -o DIR [options]",
    .purpose = "take a recording apart: one sound file a source",
    .takes = " eps-rel seed threads json q v ",
    .examples =
        "  tlnmf separate duet.wav -k 2 -o stems\n"
        "  tlnmf separate duet.wav --labels duet.txt -o stems\n"
        "  tlnmf separate duet.wav --labels duet.txt --method nmf --transform stft -o fixed\n",
    .run = run,
};
