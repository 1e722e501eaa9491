/* Names that follow from the name of the sound: folders and label tracks of many files. */
#include "cli/stems/stems.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char MARK[] = "{name}";

bool cli_is_pattern(const char *text)
{
    return text != NULL && strstr(text, MARK) != NULL;
}

/* The name of a file without its folder and extension, as a part of `path`. */
static const char *bare(const char *path, int *length)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    *length = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
    if (strcmp(path, "-") != 0)
        return name;
    *length = 5; /* of the next word */
    return "sound";
}

const char *cli_fill_pattern(const cli_command *command, const char *pattern, const char *path,
                             char out[CLI_PATH])
{
    int length;
    const char *name = bare(path, &length), *mark;
    size_t at = 0;
    for (; (mark = strstr(pattern, MARK)) != NULL && at < CLI_PATH; pattern = mark + strlen(MARK))
        at += (size_t)snprintf(out + at, CLI_PATH - at, "%.*s%.*s", (int)(mark - pattern), pattern,
                               length, name);
    if (at < CLI_PATH)
        at += (size_t)snprintf(out + at, CLI_PATH - at, "%s", pattern);
    if (at < CLI_PATH)
        return out;
    cli_fail(command, EXIT_OUTPUT, "%s: the name is too long", pattern);
    return NULL;
}

int cli_make_parents(const cli_command *command, const char *path)
{
    char part[CLI_PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (slash[1] != '\0' && mkdir(part, 0777) != 0 && errno != EEXIST)
            return cli_fail(command, EXIT_OUTPUT, "%s: %s", part, strerror(errno));
        *slash = '/';
    }
    return EXIT_DONE;
}

/* ---- formats --------------------------------------------------------------------------------- */

/* Text for a shell: as it is, or in quotes. */
static const char *quoted(const char *text, char out[CLI_PATH])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./+,=@:";
    if (text[0] != '-' && text[strspn(text, plain)] == '\0')
        return text;
    size_t at = 0;
    out[at++] = '\'';
    for (; *text != '\0' && at + 6 < CLI_PATH; text++)
        if (*text == '\'')
            at += (size_t)snprintf(out + at, CLI_PATH - at, "'\\''");
        else
            out[at++] = *text;
    snprintf(out + at, CLI_PATH - at, "'");
    return out;
}

void cli_hint_format(const cli_command *command, const char *path)
{
    static const char *const foreign[] = {"m4a", "m4b", "aac", "mp4", "mov", "3gp",  "amr",
                                          "wma", "wmv", "avi", "mka", "mkv", "webm", "ac3",
                                          "dts", "ape", "wv",  "tta", "mpc", "ra"};
    const char *dot = strrchr(path, '.');
    char in[CLI_PATH], out[CLI_PATH], wav[CLI_PATH];
    for (size_t i = 0; dot != NULL && i < sizeof foreign / sizeof *foreign; i++) {
        if (strcasecmp(dot + 1, foreign[i]) != 0)
            continue;
        snprintf(wav, sizeof wav, "%.*s.wav", (int)(dot - path), path);
        cli_say(command, "ffmpeg can convert it: ffmpeg -i %s %s", quoted(path, in),
                quoted(wav, out));
        return;
    }
}
