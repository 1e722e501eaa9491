/* The summary of a model: values of a record as a JSON object, and back. */
#include "files.h"

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

    for (size_t i = 0; list && (text = tlnmf_record_get_text_at(record, name, i)) != NULL; i++)
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
    case TLNMF_TYPE_INTEGER:
        return json_integer((json_int_t)tlnmf_record_get_integer(record, name));
    case TLNMF_TYPE_REAL:
        return isfinite(tlnmf_record_get_real(record, name))
                   ? json_real(tlnmf_record_get_real(record, name))
                   : json_null();
    case TLNMF_TYPE_TEXT:
        return io_json_text(tlnmf_record_get_text(record, name));
    default:
        return texts_json(record, name);
    }
}

/* Finds or makes the object for a name; *rest is the key in it. The key keeps its dots if a value
 * already has the name of the object. NULL when out of memory. */
static json_t *descend(json_t *object, const char *name, const char **rest)
{
    const char *dot;
    bool top = true;

    for (*rest = name; (dot = strchr(*rest, '.')) != NULL; *rest = dot + 1, top = false) {
        char key[NAME_SIZE];
        snprintf(key, sizeof key, "%.*s", (int)(dot - *rest), *rest);
        if (top && (strcmp(key, "options") == 0 || strcmp(key, "separation") == 0 ||
                    strcmp(key, "record") == 0))
            return object; /* reading would rename members of these */
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

/* Adds the values whose names have this number of dots. *more: some names have more. */
static bool add_values(json_t *object, const tlnmf_record *record, int dots, bool *more)
{
    *more = false;
    for (size_t i = 0; i < tlnmf_record_count(record); i++) {
        const char *name = tlnmf_record_name(record, i), *key;
        *more = *more || count_dots(name) > dots;
        if (tlnmf_record_type(record, name) == TLNMF_TYPE_ARRAY || count_dots(name) != dots)
            continue;
        json_t *inside = descend(object, name, &key);
        if (!inside || json_object_set_new(inside, key, value_json(record, name)) != 0)
            return false;
    }
    return true;
}

/* Values with fewer dots come first, so that no object takes the place of a value. */
static json_t *object_from(const tlnmf_record *record)
{
    json_t *object = json_object();
    bool ok = object != NULL, more = true;

    for (int dots = 0; ok && more; dots++)
        ok = add_values(object, record, dots, &more);
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

bool io_summary_parse(tlnmf_ctx *ctx, const char *file, const char *what, const char *text,
                      json_t **out)
{
    json_error_t why;

    *out = json_loads(text, 0, &why);
    if (!*out && !why.text[0]) /* jansson has no message when out of memory */
        return io_no_memory(ctx, file);
    if (!*out)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s is not JSON: %s", file, what, why.text);
    if (json_is_object(*out))
        return true;
    json_decref(*out);
    *out = NULL;
    return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s is not a JSON object", file, what);
}

/* Adds the values that the summary lacks to its member `record`. The sizes of a model with Phi are
 * those of its arrays. */
static bool add_missing(tlnmf_ctx *ctx, const tlnmf_record *record, json_t *summary)
{
    json_t *rest = json_object_get(summary, "record");
    bool has_Phi = tlnmf_record_get_array(record, "Phi", NULL, NULL) != NULL;
    tlnmf_record *told = NULL;
    bool ok = tlnmf_record_create(ctx, &told) == TLNMF_OK && io_summary_to(ctx, summary, told);

    for (size_t i = 0; ok && i < tlnmf_record_count(record); i++) {
        const char *name = tlnmf_record_name(record, i);
        if (tlnmf_record_type(record, name) == TLNMF_TYPE_ARRAY ||
            tlnmf_record_type(told, name) != TLNMF_TYPE_NONE || strcmp(name, "summary") == 0 ||
            (has_Phi &&
             (strcmp(name, "M") == 0 || strcmp(name, "N") == 0 || strcmp(name, "K") == 0)))
            continue;
        if (!json_is_object(rest)) {
            rest = json_object();
            ok = json_object_set_new(summary, "record", rest) == 0;
        }
        ok = ok && json_object_set_new(rest, name, value_json(record, name)) == 0;
        if (!ok)
            io_no_memory(ctx, "the summary");
    }
    tlnmf_record_free(told);
    return ok;
}

bool io_summary_from(tlnmf_ctx *ctx, const tlnmf_record *record, json_t **out)
{
    const char *text = tlnmf_record_get_text(record, "summary");

    if (text == NULL) {
        *out = object_from(record);
        return *out || io_no_memory(ctx, "the summary");
    }
    if (!io_summary_parse(ctx, "the model", "its summary", text, out))
        return tlnmf_last_error(ctx) == TLNMF_ERR_MEMORY
                   ? false
                   : io_fail(ctx, TLNMF_ERR_DATA, "%s", tlnmf_message(ctx));
    if (add_missing(ctx, record, *out))
        return true;
    json_decref(*out);
    *out = NULL;
    return false;
}

/* ---- to a record ----------------------------------------------------------------------------- */

/* The record that receives values. */
typedef struct target {
    tlnmf_ctx *ctx;
    tlnmf_record *record;
    int left; /* values that may follow: a damaged file must not make a record of millions */
} target;

enum { MOST_VALUES = 1000 }; /* chosen arbitrarily, far more than our summaries have */

static bool is_name(const char *name)
{
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789_-.");

    return length > 0 && length < NAME_SIZE && name[length] == '\0';
}

static bool is_list_of_texts(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)))
            return false;
    return json_is_array(value);
}

static bool put_texts(const target *to, const char *name, const json_t *list)
{
    size_t count = json_array_size(list);
    const char **text = calloc(count + 1, sizeof *text);

    if (text == NULL)
        return io_no_memory(to->ctx, name);
    for (size_t i = 0; i < count; i++)
        text[i] = json_string_value(json_array_get(list, i));
    bool ok = tlnmf_record_set_texts(to->ctx, to->record, name, text, count) == TLNMF_OK;
    free(text);
    return ok;
}

/* A number, a text or a list of texts; other values are skipped. The table of results says which
 * integers and nulls of the JSON text are reals. */
static bool put_value(target *to, const char *name, const json_t *value)
{
    if (!is_name(name) || to->left <= 0)
        return true;
    size_t index = io_result_index(name);
    bool real = index < tlnmf_result_count() && tlnmf_result_type(index) == TLNMF_TYPE_REAL;
    tlnmf_error error = TLNMF_OK;
    to->left--;
    if (json_is_real(value) || (real && json_is_integer(value)))
        error = tlnmf_record_set_real(to->ctx, to->record, name, json_number_value(value));
    else if (real && json_is_null(value))
        error = tlnmf_record_set_real(to->ctx, to->record, name, (double)NAN);
    else if (json_is_integer(value) || json_is_boolean(value))
        error = tlnmf_record_set_integer(to->ctx, to->record, name,
                                         json_is_integer(value) ? (int64_t)json_integer_value(value)
                                                                : json_is_true(value));
    else if (json_is_string(value))
        error = tlnmf_record_set_text(to->ctx, to->record, name, json_string_value(value));
    else if (is_list_of_texts(value))
        return put_texts(to, name, value);
    return error == TLNMF_OK;
}

/* The members of an object; their names are `prefix` and their keys. */
static bool put_members(target *to, const char *prefix, const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) /* only read */
    {
        char name[NAME_SIZE + 1]; /* one more for the dot of a prefix */
        bool is_object = json_is_object(value), top = is_object && prefix[0] == '\0';
        if (top && (strcmp(key, "separation") == 0 || strcmp(key, "record") == 0))
            continue;
        const char *part = top && strcmp(key, "options") == 0 ? "option" : key;
        int length = snprintf(name, sizeof name, "%s%s%s", prefix, part, is_object ? "." : "");
        if (length < NAME_SIZE &&
            !(is_object ? put_members(to, name, value) : put_value(to, name, value)))
            return false;
    }
    return true;
}

/* The member `separation`, which `tlnmf separate` writes. */
static bool put_separation(target *to, const json_t *separation)
{
    static const char *const names[][2] = {{"remix_si_sdr", "score"}, {"iterations", "J"}};
    const json_t *sources = json_object_get(separation, "names");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)separation, key, value) /* only read */
    {
        const char *name = key;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcmp(key, names[i][0]) == 0)
                name = names[i][1];
        if (!put_value(to, name, value))
            return false;
    }
    return !is_list_of_texts(sources) ||
           tlnmf_record_set_integer(to->ctx, to->record, "sources",
                                    (int64_t)json_array_size(sources)) == TLNMF_OK;
}

bool io_summary_to(tlnmf_ctx *ctx, const json_t *summary, tlnmf_record *record)
{
    target to = {ctx, record, MOST_VALUES};
    const json_t *separation = json_object_get(summary, "separation"), *value;
    json_t *rest = json_object_get(summary, "record");
    const char *key;

    if (!put_members(&to, "", summary) ||
        (json_is_object(separation) && !put_separation(&to, separation)))
        return false;
    json_object_foreach(rest, key, value) if (!put_value(&to, key, value)) return false;
    return true;
}
