/* Sound files and label tracks for the library's separation. */
#include "cli/stems/stems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_sound(int64_t first, int64_t count, double *x, void *user)
{
    cli_sound *sound = user;
    return io_audio_read_at(sound->reader, first, count, x, &sound->err) ? 0 : 1;
}

int cli_sound_open(const cli_command *command, const char *path, cli_sound *sound)
{
    *sound = (cli_sound){.path = path};
    if (!io_audio_open(path, &sound->reader, &sound->info, &sound->err))
        return cli_fail_io(command, &sound->err);
    sound->sound = (tlnmf_sound){sizeof sound->sound, sound->info.frames, sound->info.channels,
                                 read_sound, sound};
    return EXIT_DONE;
}

void cli_sound_close(cli_sound *sound)
{
    io_audio_close(sound->reader);
    sound->reader = NULL;
}

/* ---- the cast ---------------------------------------------------------------------------------
 */

void cli_cast_free(cli_cast *cast)
{
    for (int64_t k = 0; cast->name != NULL && k < cast->sources; k++)
        free(cast->name[k]);
    free(cast->name);
    free(cast->span);
    *cast = (cli_cast){0};
}

static bool add_name(cli_cast *cast, const char *name)
{
    char *copy = strdup(name);
    if (copy == NULL)
        return false;
    cast->name[cast->sources++] = copy;
    return true;
}

int cli_cast_blind(const cli_command *command, int64_t sources, cli_cast *cast)
{
    *cast = (cli_cast){.name = calloc((size_t)sources, sizeof *cast->name)};
    bool done = cast->name != NULL;
    for (int64_t k = 0; done && k < sources; k++) {
        char text[32];
        snprintf(text, sizeof text, "source_%lld", (long long)k + 1);
        done = add_name(cast, text);
    }
    return done ? EXIT_DONE : cli_fail(command, EXIT_INTERNAL, "no memory for the sources' names");
}

static int64_t find(const cli_cast *cast, const char *name)
{
    for (int64_t k = 0; k < cast->sources; k++)
        if (strcmp(cast->name[k], name) == 0)
            return k;
    return -1;
}

static int64_t to_sample(double seconds, const cli_sound *sound)
{
    double t = floor(seconds * sound->info.rate + 0.5);
    return t >= (double)sound->info.frames ? sound->info.frames : (int64_t)t;
}

/* One label: its source, which may be new unless the names are given, and its samples. */
static int add_label(const cli_command *command, const char *path, const cli_sound *sound,
                     const io_label *label, bool names_given, cli_cast *cast)
{
    if (label->name[strspn(label->name, " ")] == '\0')
        return cli_fail(command, EXIT_INPUT,
                        "%s: the label at %g s has no name: which source is it?", path,
                        label->start);
    int64_t source = find(cast, label->name);
    if (source < 0 && names_given)
        return cli_fail(command, EXIT_INPUT, "%s: the model knows no source \"%s\"", path,
                        label->name);
    if (source < 0 && cast->sources == TLNMF_SOURCES_MAX)
        return cli_fail(command, EXIT_INPUT, "%s: more than %d sources are named", path,
                        TLNMF_SOURCES_MAX);
    if (source < 0) {
        source = cast->sources;
        if (!add_name(cast, label->name))
            return cli_fail(command, EXIT_INTERNAL, "no memory for the sources' names");
    }
    int64_t start = to_sample(label->start, sound), end = to_sample(label->end, sound);
    double length = (double)sound->info.frames / sound->info.rate;
    if (label->end > length + 0.05)
        cli_warn(command, "%s: the label \"%s\" ends at %g s, the sound at %g s", path, label->name,
                 label->end, length);
    if (end > start)
        cast->span[cast->span_count++] = (tlnmf_span){start, end, source};
    return EXIT_DONE;
}

static int check_heard(const cli_command *command, const char *path, const cli_cast *cast)
{
    for (int64_t k = 0; k < cast->sources; k++) {
        bool heard = false;
        for (int64_t i = 0; i < cast->span_count; i++)
            heard = heard || cast->span[i].source == k;
        if (!heard)
            return cli_fail(command, EXIT_INPUT,
                            "%s: \"%s\" never sounds: its labels have no length or lie past the "
                            "end of the sound",
                            path, cast->name[k]);
    }
    return EXIT_DONE;
}

/* The names that are given, and room for the rest. */
static bool open_cast(int64_t labels, int64_t sources, char *const *names, cli_cast *cast)
{
    *cast = (cli_cast){.name = calloc(TLNMF_SOURCES_MAX, sizeof *cast->name),
                       .span = calloc((size_t)labels, sizeof *cast->span)};
    if (cast->name == NULL || cast->span == NULL)
        return false;
    for (int64_t k = 0; names != NULL && k < sources; k++)
        if (!add_name(cast, names[k]))
            return false;
    return true;
}

static int fill_cast(const cli_command *command, const char *path, const cli_sound *sound,
                     const io_labels *labels, int64_t sources, bool names_given, cli_cast *cast)
{
    int code = EXIT_DONE;
    for (int64_t i = 0; code == EXIT_DONE && i < labels->count; i++)
        code = add_label(command, path, sound, &labels->label[i], names_given, cast);
    if (code == EXIT_DONE && !names_given)
        code = check_heard(command, path, cast);
    if (code == EXIT_DONE && cast->span_count == 0)
        code = cli_fail(command, EXIT_INPUT, "%s: none of its labels lies inside the sound", path);
    if (code == EXIT_DONE && sources > 0 && cast->sources != sources)
        code = cli_fail(command, EXIT_USAGE, "k = %lld, but %s names %lld source%s",
                        (long long)sources, path, (long long)cast->sources,
                        cast->sources == 1 ? "" : "s");
    return code;
}

int cli_cast_read(const cli_command *command, const char *path, const cli_sound *sound,
                  int64_t sources, char *const *names, cli_cast *cast)
{
    io_labels labels;
    io_error err;
    *cast = (cli_cast){0};
    if (!io_labels_read(path, &labels, &err))
        return cli_fail_io(command, &err);
    int code = open_cast(labels.count, sources, names, cast)
                   ? fill_cast(command, path, sound, &labels, sources, names != NULL, cast)
                   : cli_fail(command, EXIT_INTERNAL, "%s: no memory for the labels", path);
    io_labels_free(&labels);
    if (code != EXIT_DONE)
        cli_cast_free(cast);
    return code;
}
