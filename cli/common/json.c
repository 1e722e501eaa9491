/* Values as JSON, in the forms that all commands use. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double cli_seconds(double value)
{
    return getenv("SOURCE_DATE_EPOCH") != NULL ? 0.0 : value;
}

json_t *cli_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* File names need not be UTF-8: what is not becomes '?'. */
json_t *cli_text(const char *text)
{
    json_t *string = json_string(text);
    if (string != NULL)
        return string;
    char plain[CLI_PATH];
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < sizeof plain; n++)
        plain[n] = (unsigned char)text[n] < 128 ? text[n] : '?';
    plain[n] = '\0';
    return json_string(plain);
}

/* JSON's integers are 63 bits here; a larger seed is a string. */
json_t *cli_seed(uint64_t seed)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    return seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_string(text);
}

json_t *cli_option_json(const tlnmf_settings *settings, const char *task, const char *name)
{
    char text[64];
    if (tlnmf_settings_get_text(settings, name, text, sizeof text) == NULL)
        return NULL;
    switch (tlnmf_option_kind_of(task, name)) {
    case TLNMF_OPTION_CHOICE:
        return json_string(text);
    case TLNMF_OPTION_SEED:
        return cli_seed(strtoull(text, NULL, 10));
    case TLNMF_OPTION_REAL:
        return json_real(tlnmf_settings_get_real(settings, name));
    case TLNMF_OPTION_FLAG:
        return json_boolean(tlnmf_settings_get_integer(settings, name) != 0);
    default:
        return json_integer((json_int_t)tlnmf_settings_get_integer(settings, name));
    }
}

char *cli_json_text(const json_t *object)
{
    return cli_plain_json(json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17)));
}

bool cli_print_json(const json_t *object)
{
    char *text = cli_json_text(object);
    bool printed = text != NULL && puts(text) != EOF && fflush(stdout) == 0;
    free(text);
    return printed;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* A word as it is, or between quotes where a shell would read it otherwise. */
static void put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./:,=@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
    fputc('\'', out);
}

/* How many words from this one on say only how the run is shown or kept, not what it computes: the
 * same run, resumed or with fewer messages, leaves the same model. */
static int words_aside(const char *word)
{
    static const char *const flags[] = {"-q", "-v", "--json", "--explain", "--force", "--resume"};
    static const char *const valued[] = {"--checkpoint", "--every"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++) {
        size_t length = strlen(valued[i]);
        if (strncmp(word, valued[i], length) == 0 && (word[length] == '=' || word[length] == '\0'))
            return word[length] == '=' ? 1 : 2;
    }
    return 0;
}

json_t *cli_repeat(const cli_call *call)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fprintf(out, "tlnmf %s", call->command->name);
    for (int i = 1; i < call->argc; i++) {
        int aside = words_aside(call->argv[i]);
        if (aside > 0) {
            i += aside - 1;
            continue;
        }
        fputc(' ', out);
        put_word(out, call->argv[i]);
    }
    json_t *value = fclose(out) == 0 ? cli_text(text) : NULL;
    free(text);
    return value;
}
