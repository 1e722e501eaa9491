/* tlnmf apply: what has been learnt, on another recording. */
#include "cli/stems/stems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *labels;
    cli_stem_words stems;
} arg;

static const cli_option options[] = {
    {"labels", "FILE", "when each of the model's sources sounds in this recording", &arg.labels},
    CLI_STEM_OPTIONS(arg.stems),
};

/* A model of `separate`, as its summary describes it. */
typedef struct learnt {
    tlnmf_separator *separator;
    char **name;
    int64_t sources;
    int rate;
    double power; /* of the sound that it was learnt from */
} learnt;

static int64_t whole(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static int place_of(const json_t *object, const char *key, const char *const *words, int count)
{
    const char *word = json_string_value(json_object_get(object, key));
    for (int i = 0; word != NULL && i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

static void describe(const json_t *s, tlnmf_separator_info *info)
{
    static const char *const windows[] = {"tukey", "sine", "hann", "rectangular", "kaiser"};
    static const char *const bases[] = {"auto", "dct", "dft", "stft"};
    static const char *const methods[] = {"tl", "jd", "nmf"};
    *info = (tlnmf_separator_info){.score = NAN, .C = NAN};
    tlnmf_frames_init(&info->frames);
    info->frames.M = whole(s, "frame");
    info->frames.hop = whole(s, "hop");
    info->frames.shifts = whole(s, "shifts");
    info->frames.window = place_of(s, "window", windows, 5);
    info->frames.taper = number(s, "taper");
    info->frames.beta = number(s, "beta");
    info->sources = (int64_t)json_array_size(json_object_get(s, "names"));
    info->per_source = whole(s, "per_source");
    info->basis = place_of(s, "transform", bases, 4);
    int method = place_of(s, "method", methods, 3);
    info->method = method < 0 ? TLNMF_METHOD_NMF : method;
    info->eps = number(s, "eps");
    info->mean_power = number(s, "mean_power");
}

static bool copy_names(const json_t *s, learnt *l)
{
    const json_t *names = json_object_get(s, "names");
    l->name = calloc((size_t)l->sources, sizeof *l->name);
    for (int64_t k = 0; l->name != NULL && k < l->sources; k++) {
        const char *name = json_string_value(json_array_get(names, (size_t)k));
        l->name[k] = strdup(name != NULL ? name : "?");
        if (l->name[k] == NULL)
            return false;
    }
    return l->name != NULL;
}

static int make_separator(cli_call *call, const char *path, const io_model *model, learnt *l)
{
    const json_t *s = json_object_get(model->summary, "separation");
    tlnmf_separator_info info;
    if (!json_is_object(s))
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: this model is not one of `tlnmf separate`: it does not say how its "
                        "frames were made",
                        path);
    describe(s, &info);
    int64_t rate = whole(s, "rate");
    if (info.frames.M != model->M || info.sources < 1 || info.per_source < 1 ||
        info.per_source > model->K || info.sources > model->K / info.per_source ||
        info.sources * info.per_source != model->K || rate < 1 || rate > INT32_MAX)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: its arrays are not those that its summary describes", path);
    l->sources = info.sources;
    l->rate = (int)rate;
    l->power = number(model->summary, "power");
    if (!copy_names(s, l))
        return cli_fail(call->command, EXIT_INTERNAL, "no memory for the sources' names");
    tlnmf_error error =
        tlnmf_separator_create(call->ctx, &info, model->Phi, model->W, &l->separator);
    if (error == TLNMF_ERR_OPTION) /* here it is the file's, not the caller's */
        return cli_fail(call->command, EXIT_INPUT, "%s: %s", path, tlnmf_message(call->ctx));
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, path);
}

static int read_model(cli_call *call, const char *path, learnt *l)
{
    io_model model;
    io_error err;
    if (!io_model_read(path, &model, &err))
        return cli_fail_io(call->command, &err);
    int code = make_separator(call, path, &model, l);
    io_model_free(&model);
    return code;
}

/* The floor follows the level of this recording. */
static int scale_floor(cli_call *call, cli_sound *sound, const learnt *l, cli_stems *stems)
{
    double power;
    tlnmf_separator_info info;
    tlnmf_separator_describe(l->separator, &info);
    tlnmf_error error = tlnmf_sound_power(call->ctx, &sound->sound, &power);
    if (error != TLNMF_OK)
        return sound->err.fault != IO_NONE ? cli_fail_io(call->command, &sound->err)
                                           : cli_fail_library(call, error, sound->path);
    double eps = l->power > 0.0 ? info.eps * power / l->power : info.eps;
    stems->eps = eps >= 1e-290 && eps <= 1e290 ? eps : info.eps; /* silence stays silent anyway */
    return EXIT_DONE;
}

static int check_rate(const cli_call *call, const cli_sound *sound, const learnt *l)
{
    if (sound->info.rate == l->rate)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_INPUT,
                    "%s: its rate is %d Hz, the model was learnt at %d Hz: resample it first",
                    sound->path, sound->info.rate, l->rate);
}

static json_t *about(const cli_call *call, const char *model, double power)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    json_object_set_new(object, "command", json_string(call->command->name));
    json_object_set_new(object, "blas", json_string(tlnmf_blas()));
    json_object_set_new(object, "learnt_model", cli_text(model));
    json_object_set_new(object, "power", json_real(power)); /* the model's: it goes with its eps */
    json_object_set_new(object, "labels", arg.labels ? cli_text(arg.labels) : json_null());
    return object;
}

static int apply_to(cli_call *call, const char *model, cli_sound *sound, const learnt *l,
                    cli_stems *stems)
{
    cli_cast cast = {0};
    int code = check_rate(call, sound, l);
    if (code == EXIT_DONE && arg.labels != NULL)
        code = cli_cast_read(call->command, arg.labels, sound, l->sources, l->name, &cast);
    else
        cast = (cli_cast){.sources = l->sources, .name = l->name};
    if (code == EXIT_DONE)
        code = cli_stems_check(call->command, stems, sound);
    cli_catch_interrupt();
    if (code == EXIT_DONE)
        code = scale_floor(call, sound, l, stems);
    if (code == EXIT_DONE)
        code =
            cli_stems_make(call, l->separator, sound, &cast, stems, about(call, model, l->power));
    cli_stems_end(stems, code);
    if (cast.name != l->name)
        cli_cast_free(&cast);
    return code;
}

static int apply(cli_call *call)
{
    learnt l = {0};
    cli_sound sound = {0};
    cli_stems stems = {0};
    int code = read_model(call, call->operands[0], &l);
    if (code == EXIT_DONE)
        code = cli_sound_open(call->command, call->operands[1], &sound);
    if (code == EXIT_DONE && !cli_stems_read(call->command, &arg.stems, sound.info.rate, &stems))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = apply_to(call, call->operands[0], &sound, &l, &stems);
    cli_sound_close(&sound);
    tlnmf_separator_free(l.separator);
    for (int64_t k = 0; l.name != NULL && k < l.sources; k++)
        free(l.name[k]);
    free(l.name);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_apply, options, sizeof options / sizeof *options, argc, argv, &code))
        code = call.operand_count == 2
                   ? apply(&call)
                   : cli_fail(&cli_apply, EXIT_USAGE, "a model and a sound file are needed");
    cli_end(&call);
    return code;
}

const cli_command cli_apply = {
    .name = "apply",
    .usage = "apply MODEL SOUND -o DIR [options]",
    .purpose = "take another recording apart with a model of `separate`; H alone is fitted",
    .takes = " threads json q v ",
    .examples = "  tlnmf separate take1.wav --labels take1.txt -o stems1\n"
                "  tlnmf apply stems1/model.h5 take2.wav -o stems2\n",
    .run = run,
};
