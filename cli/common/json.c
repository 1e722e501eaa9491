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

/* A file name may not be UTF-8: then bytes outside ASCII become '?'. */
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

json_t *cli_option_json(const tlnmf_settings *settings, const char *task, const char *name)
{
    char text[64];
    if (tlnmf_settings_get_text(settings, name, text, sizeof text) == NULL)
        return NULL;
    switch (tlnmf_option_kind_of(task, name)) {
    case TLNMF_OPTION_CHOICE:
        return json_string(text);
    case TLNMF_OPTION_SEED: /* JSON integers have 63 bits here; a larger seed is a string */
        return strtoull(text, NULL, 10) <= INT64_MAX
                   ? json_integer((json_int_t)strtoull(text, NULL, 10))
                   : json_string(text);
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
    return json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17) | JSON_ENSURE_ASCII);
}

tlnmf_error cli_put_summary(const cli_call *call, tlnmf_record *model, const json_t *summary)
{
    char *text = cli_json_text(summary);
    tlnmf_error error = text == NULL
                            ? tlnmf_fail(call->ctx, TLNMF_ERR_MEMORY, "no memory for the summary")
                            : tlnmf_record_set_text(call->ctx, model, "summary", text);
    free(text);
    return error;
}

void cli_print_json(const json_t *object)
{
    char *text = cli_json_text(object);
    if (text != NULL)
        puts(text); /* main() checks whether standard output could be written */
    free(text);
}

/* ---- records --------------------------------------------------------------------------------- */

static json_t *texts_of(const tlnmf_record *record, const char *name)
{
    json_t *array = json_array();
    const char *text;
    for (size_t i = 0; (text = tlnmf_record_get_text_at(record, name, i)) != NULL; i++)
        json_array_append_new(array, cli_text(text));
    return array;
}

static json_t *value_of(const tlnmf_record *record, const char *name)
{
    static const char end[] = "seconds";
    size_t length = strlen(name), tail = sizeof end - 1;
    double real = tlnmf_record_get_real(record, name);
    switch (tlnmf_record_type(record, name)) {
    case TLNMF_TYPE_INTEGER:
        return json_integer((json_int_t)tlnmf_record_get_integer(record, name));
    case TLNMF_TYPE_TEXT:
        return cli_text(tlnmf_record_get_text(record, name));
    case TLNMF_TYPE_TEXTS:
        return texts_of(record, name);
    default:
        return cli_real(length >= tail && strcmp(name + length - tail, end) == 0 ? cli_seconds(real)
                                                                                 : real);
    }
}

/* Copies the next word of a text such as "C L I"; returns the text after it, or NULL at the end. */
static const char *next_word(const char *text, char word[64])
{
    text += strspn(text, " ");
    int length = (int)strcspn(text, " ");
    snprintf(word, 64, "%.*s", length, text);
    return length > 0 ? text + length : NULL;
}

void cli_put_values(json_t *object, const tlnmf_record *record, const char *names)
{
    char name[64];
    while ((names = next_word(names, name)) != NULL)
        json_object_set_new(object, name, value_of(record, name));
}

void cli_put_scalars(json_t *object, const tlnmf_record *record)
{
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(record, i)) != NULL; i++) {
        tlnmf_type type = tlnmf_record_type(record, name);
        if (strchr(name, '.') == NULL && strcmp(name, "summary") != 0 &&
            (type == TLNMF_TYPE_REAL || type == TLNMF_TYPE_INTEGER || type == TLNMF_TYPE_TEXT))
            json_object_set_new(object, name, value_of(record, name));
    }
}

json_t *cli_rows(const tlnmf_record *record, const char *prefix, const char *columns)
{
    json_t *rows = json_array();
    char column[64], name[128];
    while ((columns = next_word(columns, column)) != NULL) {
        bool whole = column[strlen(column) - 1] == '#';
        column[strcspn(column, "#")] = '\0';
        snprintf(name, sizeof name, "%s%s", prefix, column);
        int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
        const double *x = tlnmf_record_get_array(record, name, NULL, shape);
        for (size_t i = 0; x != NULL && i < (size_t)shape[0]; i++) {
            if (i == json_array_size(rows))
                json_array_append_new(rows, json_object());
            json_object_set_new(json_array_get(rows, i), column,
                                whole ? json_integer((json_int_t)x[i]) : cli_real(x[i]));
        }
    }
    return rows;
}

json_t *cli_summary(const cli_call *call)
{
    return json_pack("{s: s, s: s, s: s}", "version", tlnmf_version(), "command",
                     call->command->name, "blas", tlnmf_blas());
}

/* ---- the command line ------------------------------------------------------------------------ */

void cli_put_word(FILE *out, const char *word)
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

/* The number of words, from this one on, that change only messages or checkpoints, not the model.
 */
static int words_aside(const char *word)
{
    if (cli_has_word(" -q -v --json --explain --force --resume ", word))
        return 1;
    if (cli_has_word(" --checkpoint --every --iterate-after ", word))
        return 2;
    return strncmp(word, "--checkpoint=", 13) == 0 || strncmp(word, "--every=", 8) == 0 ||
           strncmp(word, "--iterate-after=", 16) == 0;
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
        cli_put_word(out, call->argv[i]);
    }
    json_t *value = fclose(out) == 0 ? cli_text(text) : NULL;
    free(text);
    return value;
}
