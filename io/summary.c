/* The summary of a model: values of a record as a JSON object, and back. */
#include "summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 }; /* of a name in a record, with its end */

/* ---- from a record --------------------------------------------------------------------------- */

static json_t *texts_json(const tlnmf_record *record, const char *name)
{
    json_t *list = json_array();
    const char *text;

    for (size_t i = 0; list && (text = tlnmf_get_text_at(record, name, i)) != NULL; i++)
        if (json_array_append_new(list, io_json_text(text)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* NULL when out of memory. */
static json_t *value_json(const tlnmf_record *record, const char *name)
{
    switch (tlnmf_record_type(record, name)) {
    case TLNMF_INTEGER:
        return json_integer((json_int_t)tlnmf_get_integer(record, name));
    case TLNMF_REAL:
        return isfinite(tlnmf_get_real(record, name)) ? json_real(tlnmf_get_real(record, name))
                                                      : json_null();
    case TLNMF_TEXT:
        return io_json_text(tlnmf_get_text(record, name));
    default:
        return texts_json(record, name);
    }
}

/* The object that a name belongs into, made if need be; *rest is its key there. Where a value
 * has the name of an object already, the key keeps its dots. NULL when out of memory. */
static json_t *descend(json_t *object, const char *name, const char **rest)
{
    const char *dot;
    bool top = true;

    for (*rest = name; (dot = strchr(*rest, '.')) != NULL; *rest = dot + 1, top = false) {
        char key[NAME_SIZE];
        snprintf(key, sizeof key, "%.*s", (int)(dot - *rest), *rest);
        if (top && (strcmp(key, "options") == 0 || strcmp(key, "separation") == 0))
            return object; /* members of these get other names */
        if (top && strcmp(key, "option") == 0)
            snprintf(key, sizeof key, "options");
        json_t *member = json_object_get(object, key);
        if (member && !json_is_object(member))
            return object;
        if (!member) {
            member = json_object();
            if (json_object_set_new(object, key, member) != 0)
                return NULL;
        }
        object = member;
    }
    return object;
}

static int count_dots(const char *name)
{
    int dots = 0;

    for (; *name; name++)
        dots += *name == '.';
    return dots;
}

/* All values whose names have this number of dots. */
static bool add_values(json_t *object, const tlnmf_record *record, int dots)
{
    for (size_t i = 0; i < tlnmf_record_count(record); i++) {
        const char *name = tlnmf_record_name(record, i), *key;
        if (tlnmf_record_type(record, name) == TLNMF_ARRAY || count_dots(name) != dots)
            continue;
        json_t *inside = descend(object, name, &key);
        if (!inside || json_object_set_new(inside, key, value_json(record, name)) != 0)
            return false;
    }
    return true;
}

/* Values with fewer dots come first, so that no object is in the place of one. */
static json_t *object_from(const tlnmf_record *record)
{
    json_t *object = json_object();
    bool ok = object != NULL;
    int most = 0;

    for (size_t i = 0; i < tlnmf_record_count(record); i++) {
        int dots = count_dots(tlnmf_record_name(record, i));
        most = dots > most ? dots : most;
    }
    for (int dots = 0; ok && dots <= most; dots++)
        ok = add_values(object, record, dots);
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static tlnmf_error parse(tlnmf_ctx *ctx, const char *text, json_t **out)
{
    json_error_t why;

    *out = json_loads(text, 0, &why);
    if (!*out && !why.text[0]) /* jansson says nothing when it is out of memory */
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "out of memory for the summary");
    if (!*out)
        return io_refuse(ctx, TLNMF_ERR_DATA, "the summary is not JSON: %s", why.text);
    if (json_is_object(*out))
        return TLNMF_OK;
    json_decref(*out);
    *out = NULL;
    return io_refuse(ctx, TLNMF_ERR_DATA, "the summary is not a JSON object");
}

tlnmf_error io_summary_from(tlnmf_ctx *ctx, const tlnmf_record *record, json_t **out)
{
    const char *text = tlnmf_get_text(record, "summary");

    if (text != NULL)
        return parse(ctx, text, out);
    *out = object_from(record);
    return *out ? TLNMF_OK : io_refuse(ctx, TLNMF_ERR_MEMORY, "out of memory for the summary");
}

/* ---- to a record ----------------------------------------------------------------------------- */

/* Where values go. */
typedef struct target {
    tlnmf_ctx *ctx;
    tlnmf_record *record;
    int left; /* how many more values: a damaged file must not make a record of millions */
} target;

enum { MOST_VALUES = 1000 }; /* a plain bound, far above what our summaries have */

static bool is_name(const char *name)
{
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789_-.");

    return length > 0 && name[length] == '\0';
}

static bool is_list_of_texts(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)))
            return false;
    return json_is_array(value);
}

static tlnmf_error put_texts(const target *to, const char *name, const json_t *list)
{
    size_t count = json_array_size(list);
    const char **text = calloc(count + 1, sizeof *text);

    if (text == NULL)
        return io_refuse(to->ctx, TLNMF_ERR_MEMORY, "out of memory for %s", name);
    for (size_t i = 0; i < count; i++)
        text[i] = json_string_value(json_array_get(list, i));
    tlnmf_error error = tlnmf_set_texts(to->ctx, to->record, name, text, count);
    free(text);
    return error;
}

/* A number, a text or a list of texts; anything else is left out. */
static tlnmf_error put_value(target *to, const char *name, const json_t *value)
{
    if (!is_name(name) || to->left <= 0)
        return TLNMF_OK;
    to->left--;
    if (json_is_integer(value))
        return tlnmf_set_integer(to->ctx, to->record, name, (int64_t)json_integer_value(value));
    if (json_is_boolean(value))
        return tlnmf_set_integer(to->ctx, to->record, name, json_is_true(value));
    if (json_is_real(value))
        return tlnmf_set_real(to->ctx, to->record, name, json_real_value(value));
    if (json_is_string(value))
        return tlnmf_set_text(to->ctx, to->record, name, json_string_value(value));
    return is_list_of_texts(value) ? put_texts(to, name, value) : TLNMF_OK;
}

/* The members of an object under `prefix` and their keys. */
static tlnmf_error put_members(target *to, const char *prefix, const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) /* which is only read */
    {
        char name[NAME_SIZE + 1]; /* one more for the dot of a prefix */
        bool is_object = json_is_object(value), top = is_object && prefix[0] == '\0';
        if (top && strcmp(key, "separation") == 0)
            continue;
        const char *part = top && strcmp(key, "options") == 0 ? "option" : key;
        int length = snprintf(name, sizeof name, "%s%s%s", prefix, part, is_object ? "." : "");
        if (length >= NAME_SIZE)
            continue;
        IO_TRY(is_object ? put_members(to, name, value) : put_value(to, name, value));
    }
    return TLNMF_OK;
}

/* What `tlnmf separate` says about its model. */
static tlnmf_error put_separation(target *to, const json_t *separation)
{
    static const char *const names[][2] = {{"remix_si_sdr", "score"}, {"iterations", "J"}};
    const json_t *sources = json_object_get(separation, "names");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)separation, key, value) /* which is only read */
    {
        const char *name = key;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcmp(key, names[i][0]) == 0)
                name = names[i][1];
        if (strlen(name) < NAME_SIZE)
            IO_TRY(put_value(to, name, value));
    }
    if (tlnmf_record_type(to->record, "rate") == TLNMF_INTEGER) /* a real everywhere else */
        IO_TRY(tlnmf_set_real(to->ctx, to->record, "rate", tlnmf_get_real(to->record, "rate")));
    return is_list_of_texts(sources) ? tlnmf_set_integer(to->ctx, to->record, "sources",
                                                         (int64_t)json_array_size(sources))
                                     : TLNMF_OK;
}

tlnmf_error io_summary_to(tlnmf_ctx *ctx, const json_t *summary, tlnmf_record *record)
{
    target to = {ctx, record, MOST_VALUES};
    const json_t *separation = json_object_get(summary, "separation");

    IO_TRY(put_members(&to, "", summary));
    return json_is_object(separation) ? put_separation(&to, separation) : TLNMF_OK;
}
