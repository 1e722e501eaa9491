/* The stems of a separation, with its model and summary, in one directory. */
#include "cli/stems/stems.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096, OUTPUTS_MAX = TLNMF_SOURCES_MAX * TLNMF_PER_SOURCE_MAX + 1 };

bool cli_stems_read(const cli_command *command, const cli_stem_words *words, int rate,
                    cli_stems *stems)
{
    double release;
    *stems = (cli_stems){.directory = cli_common_values.output,
                         .format = words->format != NULL ? words->format : "wav",
                         .gain = words->gain,
                         .activations = words->activations,
                         .keep = words->keep,
                         .components = words->components != NULL,
                         .force = words->force != NULL};
    if (!cli_number(command, "release", words->release, 0, 1e6, 0.2, &release))
        return false;
    stems->release = (int64_t)floor(release * rate + 0.5);
    return true;
}

/* ---- the directory ----------------------------------------------------------------------------
 */

static bool is_empty(DIR *directory)
{
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

static bool is_word(const char *word, const char *words)
{
    char whole[32];
    int length = snprintf(whole, sizeof whole, "|%s|", word);
    return length < (int)sizeof whole && strchr(word, '|') == NULL && strstr(words, whole) != NULL;
}

static int check_words(const cli_command *command, const cli_stems *stems)
{
    const struct {
        const char *name, *value, *words;
    } options[] = {{"format", stems->format, "|wav|flac|w64|"},
                   {"gain", stems->gain, "|none|safe|"},
                   {"keep", stems->keep, "|residual|"},
                   {"activations", stems->activations, "|labels|midi|"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].value != NULL && !is_word(options[i].value, options[i].words))
            return cli_fail(command, EXIT_USAGE, "%s = %s is not one of %.*s", options[i].name,
                            options[i].value, (int)strlen(options[i].words) - 2,
                            options[i].words + 1);
    return EXIT_DONE;
}

/* Whether the format can have stems like the sound: FLAC has eight channels at most. */
static int check_format(const cli_command *command, const cli_stems *stems, const cli_sound *sound)
{
    char name[32];
    io_error err;
    snprintf(name, sizeof name, "stem.%s", stems->format);
    return io_audio_format_like(name, sound->info.format, sound->info.frames, sound->info.channels,
                                &err) != 0
               ? EXIT_DONE
               : cli_fail_io(command, &err);
}

int cli_stems_check(const cli_command *command, cli_stems *stems, const cli_sound *sound)
{
    int code = check_words(command, stems);
    if (code == EXIT_DONE)
        code = check_format(command, stems, sound);
    if (code != EXIT_DONE)
        return code;
    if (stems->directory == NULL || stems->directory[0] == '\0')
        return cli_fail(command, EXIT_USAGE, "-o DIR is needed: where do the stems go?");
    stems->residual = stems->keep != NULL;
    stems->created = mkdir(stems->directory, 0777) == 0;
    if (stems->created)
        return EXIT_DONE;
    if (errno != EEXIST)
        return cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->directory, strerror(errno));
    DIR *directory = opendir(stems->directory);
    if (directory == NULL)
        return cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->directory, strerror(errno));
    bool empty = is_empty(directory);
    closedir(directory);
    if (access(stems->directory, W_OK | X_OK) != 0)
        return cli_fail(command, EXIT_OUTPUT, "%s: %s", stems->directory, strerror(errno));
    if (!empty && !stems->force)
        return cli_fail(command, EXIT_OUTPUT,
                        "%s: there are files in it already; --force writes beside and over them",
                        stems->directory);
    return EXIT_DONE;
}

void cli_stems_end(const cli_stems *stems, int code)
{
    if (code != EXIT_DONE && stems->created)
        rmdir(stems->directory); /* which does nothing if there is something in it */
}

/* ---- writing ----------------------------------------------------------------------------------
 */

typedef struct outputs {
    const cli_command *command;
    const cli_sound *sound;
    int64_t count;
    char *stem[OUTPUTS_MAX]; /* names of files without extension */
    io_audio_writer *writer[OUTPUTS_MAX];
    int64_t committed; /* of them */
    double step;       /* of the samples' format; 0: floating point */
    double gain;       /* 1, or what keeps all stems within full scale */
    double peak;
    bool measures; /* only the peak is wanted */
    double *owed;  /* by how much rounding has moved the outputs of this block so far */
    double *copy;
    int64_t room;
    io_error err;
} outputs;

static bool make_room(outputs *o, int64_t samples)
{
    if (samples <= o->room)
        return true;
    free(o->owed);
    free(o->copy);
    o->owed = calloc((size_t)samples, sizeof *o->owed);
    o->copy = calloc((size_t)samples, sizeof *o->copy);
    o->room = samples;
    return o->owed != NULL && o->copy != NULL;
}

/* Rounded to the format's steps one after the other, the last of them taking what the others'
 * rounding has left: so the files sum to the input as closely as one rounding. */
static void round_output(outputs *o, int64_t output, int64_t samples, const double *x)
{
    bool last = output + 1 == o->count;
    if (output == 0)
        memset(o->owed, 0, (size_t)samples * sizeof *o->owed);
    for (int64_t i = 0; i < samples; i++) {
        double y = o->gain * x[i] + (last ? o->owed[i] : 0.0);
        o->copy[i] = o->step > 0.0 ? o->step * floor(y / o->step + 0.5) : y;
        o->owed[i] += y - o->copy[i];
    }
}

static int write_output(int64_t output, int64_t first, int64_t count, const double *x, void *user)
{
    (void)first;
    outputs *o = user;
    int64_t samples = count * o->sound->info.channels;
    if (o->measures) {
        for (int64_t i = 0; i < samples; i++)
            o->peak = fmax(o->peak, fabs(x[i]));
        return 0;
    }
    if (!make_room(o, samples)) {
        io_set_error(&o->err, IO_NO_MEMORY, "no memory for a block of the stems");
        return 1;
    }
    round_output(o, output, samples, x);
    return io_audio_append(o->writer[output], o->copy, count, &o->err) ? 0 : 1;
}

static void outputs_free(outputs *o)
{
    for (int64_t i = 0; i < o->count; i++) {
        io_audio_abort(o->writer[i]);
        free(o->stem[i]);
    }
    free(o->owed);
    free(o->copy);
}

static const char *path_of(const cli_stems *stems, const char *name, const char *extension,
                           char path[PATH])
{
    size_t length = strlen(stems->directory);
    const char *slash = length > 0 && stems->directory[length - 1] == '/' ? "" : "/";
    int size = snprintf(path, PATH, "%s%s%s%s%s", stems->directory, slash, name,
                        extension[0] != '\0' ? "." : "", extension);
    return size < PATH ? path : NULL;
}

/* Names of all outputs, safe as names of files. */
static bool name_outputs(outputs *o, const tlnmf_separator_info *info, const cli_cast *cast,
                         const cli_stems *stems)
{
    int64_t P = stems->components ? info->per_source : 1, plain = cast->sources * P;
    char **names = calloc(OUTPUTS_MAX, sizeof *names);
    bool done = names != NULL;
    if (!done)
        io_set_error(&o->err, IO_NO_MEMORY, "no memory for the stems' names");
    o->count = plain + (stems->residual ? 1 : 0);
    for (int64_t i = 0; done && i < o->count; i++) {
        const char *source = i < plain ? cast->name[i / P] : "residual";
        size_t size = strlen(source) + 32;
        names[i] = malloc(size);
        done = names[i] != NULL;
        if (done && stems->components && i < plain)
            snprintf(names[i], size, "%s %lld", source, (long long)(i % P) + 1);
        else if (done)
            snprintf(names[i], size, "%s", source);
    }
    done = done && io_safe_stems((const char *const *)names, o->count, o->stem, &o->err);
    for (int64_t i = 0; names != NULL && i < OUTPUTS_MAX; i++)
        free(names[i]);
    free(names);
    return done;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool open_writers(outputs *o, const cli_stems *stems)
{
    char path[PATH];
    io_audio_info info = o->sound->info;
    for (int64_t i = 0; i < o->count; i++) {
        if (path_of(stems, o->stem[i], stems->format, path) == NULL)
            return io_fail(&o->err, IO_NO_OUTPUT, "%s: the name is too long", stems->directory);
        if (is_same_file(path, o->sound->path))
            return io_fail(&o->err, IO_NO_OUTPUT, "%s: this is the recording itself", path);
        info.format =
            io_audio_format_like(path, o->sound->info.format, info.frames, info.channels, &o->err);
        if (info.format == 0 || !io_audio_create(path, &info, &o->writer[i], &o->err))
            return false;
    }
    o->step = io_audio_step(info.format);
    return true;
}

static bool commit(outputs *o, int64_t *clipped)
{
    for (int64_t i = 0; i < o->count; i++) {
        io_audio_writer *writer = o->writer[i];
        *clipped += io_audio_clipped(writer);
        o->writer[i] = NULL; /* the commit ends it either way */
        if (!io_audio_commit(writer, &o->err))
            return false;
        o->committed = i + 1;
    }
    return true;
}

/* Stems without what goes with them are not a result: a full disk leaves nothing behind. */
static void take_back(const outputs *o, const cli_stems *stems)
{
    char path[PATH];
    for (int64_t i = 0; i < o->committed; i++)
        if (path_of(stems, o->stem[i], stems->format, path) != NULL)
            unlink(path);
    static const char *const rest[][2] = {
        {"activations", "txt"}, {"activations", "mid"}, {"model", "h5"}};
    for (size_t i = 0; stems->created && i < sizeof rest / sizeof *rest; i++)
        if (path_of(stems, rest[i][0], rest[i][1], path) != NULL)
            unlink(path);
}

/* ---- the run ----------------------------------------------------------------------------------
 */

static int fail_run(const cli_call *call, tlnmf_error error, const outputs *o,
                    const cli_sound *sound)
{
    if (o->err.fault != IO_NONE)
        return cli_fail_io(call->command, &o->err);
    if (sound->err.fault != IO_NONE)
        return cli_fail_io(call->command, &sound->err);
    return cli_fail_library(call, error, sound->path);
}

static int run_once(cli_call *call, const tlnmf_separator *separator, cli_sound *sound,
                    const cli_cast *cast, const cli_stems *stems, outputs *o, double *H)
{
    tlnmf_separate_run run;
    tlnmf_outcome outcome;
    tlnmf_separate_run_init(&run);
    run.spans = cast->span;
    run.span_count = cast->span_count;
    run.release = stems->release;
    run.eps = stems->eps;
    run.components = stems->components;
    run.residual = stems->residual;
    run.threads = call->settings.threads;
    run.write = write_output;
    run.user = o;
    run.H = H;
    tlnmf_error error = tlnmf_separator_run(call->ctx, separator, &sound->sound, &run,
                                            cli_sound_progress, NULL, &outcome);
    if (error != TLNMF_OK)
        return fail_run(call, error, o, sound);
    if (outcome == TLNMF_CANCELLED)
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted, no stems are written");
    return EXIT_DONE;
}

/* With --gain safe the peak is found first. */
static int run_all(cli_call *call, const tlnmf_separator *separator, cli_sound *sound,
                   const cli_cast *cast, const cli_stems *stems, outputs *o, double *H)
{
    o->gain = 1.0;
    if (!open_writers(o, stems))
        return cli_fail_io(call->command, &o->err);
    if (stems->gain != NULL && strcmp(stems->gain, "safe") == 0) {
        o->measures = true;
        int code = run_once(call, separator, sound, cast, stems, o, NULL);
        if (code != EXIT_DONE)
            return code;
        o->measures = false;
        /* The last stem takes what the others' rounding has left: half a step of each. */
        double most = 1.0 - o->step * (1.0 + 0.5 * (double)o->count);
        o->gain = o->peak > most && most > 0.0 ? most / o->peak : 1.0;
    }
    return run_once(call, separator, sound, cast, stems, o, H);
}

/* ---- model and summary ------------------------------------------------------------------------
 */

static json_t *separation_json(const tlnmf_separator *separator, const cli_sound *sound,
                               const cli_cast *cast)
{
    static const char *const methods[] = {"tl", "jd", "nmf"}, *const bases[] = {"", "dct", "dft",
                                                                                "stft"};
    tlnmf_separator_info s;
    tlnmf_separator_describe(separator, &s);
    json_t *names = json_array(), *object = json_object();
    for (int64_t k = 0; k < cast->sources; k++)
        json_array_append_new(names, cli_text(cast->name[k]));
    json_object_set_new(object, "names", names);
    json_object_set_new(object, "per_source", json_integer((json_int_t)s.per_source));
    json_object_set_new(object, "method", json_string(methods[s.method]));
    json_object_set_new(object, "transform", json_string(bases[s.basis]));
    json_object_set_new(object, "window",
                        json_string(tlnmf_window_name((tlnmf_window)s.frames.window)));
    json_object_set_new(object, "taper", json_real(s.frames.taper));
    json_object_set_new(object, "beta", json_real(s.frames.beta));
    json_object_set_new(object, "frame", json_integer((json_int_t)s.frames.M));
    json_object_set_new(object, "hop", json_integer((json_int_t)s.frames.hop));
    json_object_set_new(object, "shifts", json_integer((json_int_t)s.frames.shifts));
    json_object_set_new(object, "rate", json_integer(sound->info.rate));
    json_object_set_new(object, "eps", json_real(s.eps));
    json_object_set_new(object, "mean_power", json_real(s.mean_power));
    json_object_set_new(object, "remix_si_sdr", cli_real(s.score));
    json_object_set_new(object, "remixes", json_integer((json_int_t)s.remixes));
    json_object_set_new(object, "candidates", json_integer((json_int_t)s.candidates));
    json_object_set_new(object, "learn_frames", json_integer((json_int_t)s.learn_frames));
    json_object_set_new(object, "band", json_integer((json_int_t)s.band));
    json_object_set_new(object, "iterations", json_integer((json_int_t)s.J));
    json_object_set_new(object, "C", cli_real(s.C));
    return object;
}

static json_t *sound_json(const cli_sound *sound)
{
    return json_pack("{s:o, s:I, s:i, s:i}", "file", cli_text(sound->path), "frames",
                     (json_int_t)sound->info.frames, "channels", sound->info.channels, "rate",
                     sound->info.rate);
}

static bool write_model(const tlnmf_separator *separator, const char *path, double *H, int64_t N,
                        json_t *summary, io_error *err)
{
    tlnmf_separator_info info;
    tlnmf_separator_describe(separator, &info);
    io_model model = {.M = info.frames.M,
                      .N = N,
                      .K = info.sources * info.per_source,
                      .Phi = (double *)(uintptr_t)tlnmf_separator_Phi(separator), /* only read */
                      .W = (double *)(uintptr_t)tlnmf_separator_W(separator),
                      .H = H,
                      .summary = summary};
    return io_model_write(path, &model, err);
}

static bool write_json(const char *path, const json_t *summary, io_error *err)
{
    char *text = json_dumps(summary, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    if (text == NULL)
        return io_fail(err, IO_NO_MEMORY, "%s: out of memory", path);
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the end, which is not written */
    bool done = io_publish(path, text, length + 1, err);
    free(text);
    return done;
}

static void print_summary(const outputs *o, const cli_stems *stems,
                          const tlnmf_separator *separator, const cli_sound *sound)
{
    static const char *const bases[] = {"", "DCT", "DFT", "STFT"};
    tlnmf_separator_info s;
    tlnmf_separator_describe(separator, &s);
    printf("%s: %.3g s, %d channel%s, %d Hz\n", sound->path,
           (double)sound->info.frames / sound->info.rate, sound->info.channels,
           sound->info.channels == 1 ? "" : "s", sound->info.rate);
    printf("  transform     %s%s, %s window, frames of %lld samples every %lld, %lld shift%s\n",
           s.method == TLNMF_METHOD_NMF ? "" : "learnt from the ", bases[s.basis],
           tlnmf_window_name((tlnmf_window)s.frames.window), (long long)s.frames.M,
           (long long)s.frames.hop, (long long)s.frames.shifts, s.frames.shifts == 1 ? "" : "s");
    printf("  components    %lld a source\n", (long long)s.per_source);
    if (isfinite(s.score))
        printf("  chosen of     %lld candidates: SI-SDR %.1f dB on %lld remix%s of the recording's "
               "own parts\n",
               (long long)s.candidates, s.score, (long long)s.remixes, s.remixes == 1 ? "" : "es");
    if (s.learn_frames > 0)
        printf("  learnt from   %lld frames\n", (long long)s.learn_frames);
    if (o->gain != 1.0)
        printf("  gain          %.4f on all stems, so that none is clipped\n", o->gain);
    for (int64_t i = 0; i < o->count; i++) {
        char path[PATH];
        const char *name = path_of(stems, o->stem[i], stems->format, path);
        printf("%s%s\n", i == 0 ? "  stems         " : "                ", name ? name : "");
    }
}

/* What is said of the stems. */
static void add_stems(json_t *summary, const outputs *o, const cli_stems *stems, int64_t clipped)
{
    json_t *files = json_array();
    char path[PATH];
    for (int64_t i = 0; i < o->count; i++)
        json_array_append_new(files, cli_text(path_of(stems, o->stem[i], stems->format, path)));
    json_object_set_new(summary, "stems", files);
    json_object_set_new(summary, "gain", json_real(o->gain));
    json_object_set_new(summary, "clipped", json_integer((json_int_t)clipped));
}

/* Everything that goes into the directory, the summary last: when it is there, all of it is. */
static int publish(cli_call *call, const tlnmf_separator *separator, const cli_sound *sound,
                   const cli_cast *cast, const cli_stems *stems, outputs *o, double *H, int64_t N,
                   json_t *summary)
{
    char path[PATH];
    int64_t clipped = 0;
    cli_progress_clear();
    if (!commit(o, &clipped))
        return cli_fail_io(call->command, &o->err);
    if (clipped > 0)
        cli_warn(call->command,
                 "%lld samples of the stems were clipped: --gain safe scales them all instead",
                 (long long)clipped);
    json_object_set_new(summary, "sound", sound_json(sound));
    json_object_set_new(summary, "separation", separation_json(separator, sound, cast));
    add_stems(summary, o, stems, clipped);
    if (stems->activations != NULL) {
        if (!cli_activations_write(separator, cast, stems, H, N, sound->info.rate,
                                   sound->info.frames, path, sizeof path, &o->err))
            return cli_fail_io(call->command, &o->err);
        json_object_set_new(summary, "activations", cli_text(path));
    }
    if (path_of(stems, "model", "h5", path) == NULL ||
        !write_model(separator, path, H, N, summary, &o->err) ||
        path_of(stems, "summary", "json", path) == NULL || !write_json(path, summary, &o->err))
        return cli_fail_io(call->command, &o->err);
    if (cli_common_values.json == NULL)
        print_summary(o, stems, separator, sound);
    bool printed = cli_common_values.json != NULL ? cli_print_json(summary) : fflush(stdout) == 0;
    return printed ? EXIT_DONE
                   : cli_fail(call->command, EXIT_OUTPUT, "standard output cannot be written");
}

int cli_stems_make(cli_call *call, const tlnmf_separator *separator, cli_sound *sound,
                   const cli_cast *cast, const cli_stems *stems, json_t *about)
{
    tlnmf_separator_info info;
    tlnmf_separator_describe(separator, &info);
    int64_t N = tlnmf_frames_count(&info.frames, sound->info.frames);
    int64_t K = info.sources * info.per_source;
    outputs *o = calloc(1, sizeof *o);
    double *H = calloc((size_t)(K * N), sizeof *H);
    int code = EXIT_DONE;
    if (o == NULL || H == NULL) {
        code = cli_fail(call->command, EXIT_INTERNAL, "no memory for %lld frames", (long long)N);
    } else {
        o->command = call->command;
        o->sound = sound;
        if (!name_outputs(o, &info, cast, stems))
            code = cli_fail_io(call->command, &o->err);
        if (code == EXIT_DONE)
            code = run_all(call, separator, sound, cast, stems, o, H);
        if (code == EXIT_DONE)
            code = publish(call, separator, sound, cast, stems, o, H, N, about);
        if (code != EXIT_DONE)
            take_back(o, stems);
        outputs_free(o);
    }
    json_decref(about);
    free(o);
    free(H);
    return code;
}
