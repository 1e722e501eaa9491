/* Records: sets of named integers, reals, texts, lists of texts and arrays. */
#include "base/record.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { NAME_SIZE = 64 };

typedef struct entry {
    char name[NAME_SIZE];
    tlnmf_type type;
    bool owned; /* the record releases `begins` or `x` */
    int64_t integer;
    double real;
    const char *text; /* TLNMF_TYPE_TEXTS: `count` consecutive strings, each with its NUL */
    size_t count, text_bytes;
    const size_t *begins; /* of owned texts: where each string begins; the block holds `text` too */
    const double *x;
    int32_t dimensions;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
} entry;

struct tlnmf_record {
    tl_hooks hooks;
    entry *entry;
    size_t count, capacity;
    void *block[TL_RECORD_BLOCKS];
    int blocks;
};

tlnmf_error tlnmf_record_create(tlnmf_ctx *ctx, tlnmf_record **out)
{
    TL_NEED_OUT(ctx, out);
    tlnmf_record *record = tl_allocate(&ctx->hooks, sizeof *record);
    if (record == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for a record");
    *record = (tlnmf_record){.hooks = ctx->hooks};
    *out = record;
    return TLNMF_OK;
}

static void clear(tlnmf_record *record, entry *e)
{
    if (e->owned) {
        tl_release(&record->hooks, (void *)(uintptr_t)e->begins);
        tl_release(&record->hooks, (void *)(uintptr_t)e->x);
    }
    e->text = NULL;
    e->begins = NULL;
    e->x = NULL;
    e->owned = false;
    e->type = TLNMF_TYPE_NONE;
}

void tlnmf_record_free(tlnmf_record *record)
{
    if (record == NULL)
        return;
    for (size_t i = 0; i < record->count; i++)
        clear(record, &record->entry[i]);
    for (int i = 0; i < record->blocks; i++)
        tl_release(&record->hooks, record->block[i]);
    tl_hooks hooks = record->hooks;
    tl_release(&hooks, record->entry);
    tl_release(&hooks, record);
}

tlnmf_error tl_record_keep_if(tlnmf_error error, tlnmf_record **record)
{
    if (error != TLNMF_OK) {
        tlnmf_record_free(*record);
        *record = NULL;
    }
    return error;
}

/* ---- reading --------------------------------------------------------------------------------- */

static entry *find(const tlnmf_record *record, const char *name)
{
    if (record == NULL || name == NULL)
        return NULL;
    for (size_t i = 0; i < record->count; i++)
        if (strcmp(record->entry[i].name, name) == 0)
            return &record->entry[i];
    return NULL;
}

static const entry *find_typed(const tlnmf_record *record, const char *name, tlnmf_type type)
{
    const entry *e = find(record, name);
    return e != NULL && e->type == type ? e : NULL;
}

size_t tlnmf_record_count(const tlnmf_record *record)
{
    return record == NULL ? 0 : record->count;
}

const char *tlnmf_record_name(const tlnmf_record *record, size_t index)
{
    return record != NULL && index < record->count ? record->entry[index].name : NULL;
}

tlnmf_type tlnmf_record_type(const tlnmf_record *record, const char *name)
{
    const entry *e = find(record, name);
    return e == NULL ? TLNMF_TYPE_NONE : e->type;
}

int tlnmf_record_has(const tlnmf_record *record, const char *name)
{
    return find(record, name) != NULL;
}

int64_t tlnmf_record_get_integer(const tlnmf_record *record, const char *name)
{
    const entry *e = find_typed(record, name, TLNMF_TYPE_INTEGER);
    return e == NULL ? TLNMF_NO_INTEGER : e->integer;
}

double tlnmf_record_get_real(const tlnmf_record *record, const char *name)
{
    const entry *e = find(record, name);
    if (e != NULL && e->type == TLNMF_TYPE_INTEGER)
        return (double)e->integer;
    return e != NULL && e->type == TLNMF_TYPE_REAL ? e->real : (double)NAN;
}

const char *tlnmf_record_get_text(const tlnmf_record *record, const char *name)
{
    const entry *e = find_typed(record, name, TLNMF_TYPE_TEXT);
    return e == NULL ? NULL : e->text;
}

const char *tlnmf_record_get_text_at(const tlnmf_record *record, const char *name, size_t index)
{
    const entry *e = find_typed(record, name, TLNMF_TYPE_TEXTS);
    return e == NULL || index >= e->count ? NULL : e->text + e->begins[index];
}

tl_texts tl_record_texts(const tlnmf_record *record, const char *name)
{
    const entry *e = find(record, name);
    return (tl_texts){e->text, e->text_bytes, e->count, e->type == TLNMF_TYPE_TEXTS};
}

const double *tlnmf_record_get_array(const tlnmf_record *record, const char *name,
                                     int32_t *dimensions, int64_t *shape)
{
    const entry *e = find_typed(record, name, TLNMF_TYPE_ARRAY);
    if (dimensions != NULL)
        *dimensions = e == NULL ? 0 : e->dimensions;
    for (int i = 0; shape != NULL && i < TLNMF_MAX_DIMENSIONS; i++)
        shape[i] = e != NULL && i < e->dimensions ? e->shape[i] : 1;
    return e == NULL ? NULL : e->x;
}

static void describe_shape(int32_t dimensions, const int64_t *shape, char *text, size_t size)
{
    int length = snprintf(text, size, "(");
    for (int32_t i = 0; i < dimensions && length < (int)size; i++)
        length += snprintf(text + length, size - (size_t)length, "%s%lld", i == 0 ? "" : ", ",
                           (long long)shape[i]);
    if (length < (int)size)
        snprintf(text + length, size - (size_t)length, ")");
}

tlnmf_error tl_record_expect(tlnmf_ctx *ctx, const tlnmf_record *record, const char *what,
                             const char *name, int32_t dimensions, const int64_t *shape,
                             const double **x)
{
    int32_t found_dimensions;
    int64_t found[TLNMF_MAX_DIMENSIONS];
    *x = tlnmf_record_get_array(record, name, &found_dimensions, found);
    if (*x == NULL && tlnmf_record_type(record, name) != TLNMF_TYPE_NONE)
        return tl_fail(ctx, TLNMF_ERR_ARGUMENT, "%s: %s is not an array", what, name);
    if (*x == NULL || (found_dimensions == dimensions &&
                       memcmp(found, shape, (size_t)dimensions * sizeof *shape) == 0))
        return TLNMF_OK;
    char is[64], should[64];
    describe_shape(found_dimensions, found, is, sizeof is);
    describe_shape(dimensions, shape, should, sizeof should);
    return tl_fail(ctx, TLNMF_ERR_SHAPE, "%s: %s has the shape %s, not %s", what, name, is, should);
}

void tlnmf_record_remove(tlnmf_record *record, const char *name)
{
    entry *e = find(record, name);
    if (e == NULL)
        return;
    clear(record, e);
    size_t after = record->count - (size_t)(e - record->entry) - 1;
    memmove(e, e + 1, after * sizeof *e);
    record->count--;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-.";
    size_t length = strlen(name);
    return length > 0 && length < NAME_SIZE && strspn(name, letters) == length;
}

static tlnmf_error grow(tlnmf_ctx *ctx, tlnmf_record *record)
{
    if (record->count < record->capacity)
        return TLNMF_OK;
    size_t capacity = record->capacity == 0 ? 32 : 2 * record->capacity;
    entry *larger = tl_allocate(&record->hooks, capacity * sizeof *larger);
    if (larger == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for a record of %zu values", capacity);
    if (record->count > 0)
        memcpy(larger, record->entry, record->count * sizeof *larger);
    tl_release(&record->hooks, record->entry);
    record->entry = larger;
    record->capacity = capacity;
    return TLNMF_OK;
}

/* Finds or creates the entry of a name and clears its old value. */
static tlnmf_error claim(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, tlnmf_type type,
                         entry **out)
{
    *out = NULL;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, record);
    TL_NEED(ctx, name);
    entry *e = find(record, name);
    if (e == NULL) {
        if (!is_name(name)) {
            tl_fail(ctx, TLNMF_ERR_ARGUMENT,
                    "\"%.80s\" is not a valid name: use 1 to %d letters, digits or _ - .", name,
                    NAME_SIZE - 1);
            return TLNMF_ERR_ARGUMENT;
        }
        TRY(grow(ctx, record));
        e = &record->entry[record->count++];
        *e = (entry){.type = TLNMF_TYPE_NONE};
        memcpy(e->name, name, strlen(name) + 1);
    }
    clear(record, e);
    e->type = type;
    *out = e;
    return TLNMF_OK;
}

tlnmf_error tlnmf_record_set_integer(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                     int64_t value)
{
    entry *e;
    TRY(claim(ctx, record, name, TLNMF_TYPE_INTEGER, &e));
    e->integer = value;
    return TLNMF_OK;
}

tlnmf_error tlnmf_record_set_real(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                  double value)
{
    entry *e;
    TRY(claim(ctx, record, name, TLNMF_TYPE_REAL, &e));
    e->real = value;
    return TLNMF_OK;
}

tlnmf_error tl_record_refer_text(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                 const char *text)
{
    entry *e;
    TRY(claim(ctx, record, name, TLNMF_TYPE_TEXT, &e));
    e->text = text;
    e->text_bytes = strlen(text) + 1;
    e->count = 1;
    return TLNMF_OK;
}

/* Makes a copy that the record owns; zeros if `bytes` is NULL. It is never NULL: a `size` of 0
 * allocates one byte. */
static tlnmf_error copy_bytes(tlnmf_ctx *ctx, const tlnmf_record *record, const char *name,
                              const void *bytes, size_t size, void **out)
{
    size_t least = size > 0 ? size : 1;
    *out = bytes != NULL ? tl_allocate(&record->hooks, least)
                         : tl_allocate_zeros(&record->hooks, least);
    if (*out == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for %s (%zu bytes)", name, size);
    if (bytes != NULL && size > 0)
        memcpy(*out, bytes, size);
    return TLNMF_OK;
}

/* Copies the strings behind a table of where they begin. */
static tlnmf_error copy_texts(tlnmf_ctx *ctx, const tlnmf_record *record, const char *name,
                              tl_texts texts, size_t **begins)
{
    size_t table, size, at = 0;
    void *block;
    if (__builtin_mul_overflow(texts.count, sizeof **begins, &table) ||
        __builtin_add_overflow(table, texts.size, &size))
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%s would not fit the address space", name);
    TRY(copy_bytes(ctx, record, name, NULL, size, &block));
    *begins = block;
    if (block == NULL) /* no texts */
        return TLNMF_OK;
    if (texts.size > 0)
        memcpy(*begins + texts.count, texts.bytes, texts.size);
    for (size_t i = 0; i < texts.count; i++) {
        (*begins)[i] = at;
        at += strlen(texts.bytes + at) + 1;
    }
    return TLNMF_OK;
}

tlnmf_error tl_record_put_texts(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                tl_texts texts)
{
    size_t *begins = NULL;
    entry *e;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, record);
    TRY(copy_texts(ctx, record, name == NULL ? "a text" : name, texts, &begins));
    tlnmf_error error =
        claim(ctx, record, name, texts.list ? TLNMF_TYPE_TEXTS : TLNMF_TYPE_TEXT, &e);
    if (error != TLNMF_OK) {
        tl_release(&record->hooks, begins);
        return error;
    }
    e->begins = begins;
    e->text = (const char *)(begins + texts.count);
    e->text_bytes = texts.size;
    e->count = texts.count;
    e->owned = true;
    return TLNMF_OK;
}

tlnmf_error tlnmf_record_set_text(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                  const char *text)
{
    TL_NEED(ctx, text);
    return tl_record_put_texts(ctx, record, name, (tl_texts){text, strlen(text) + 1, 1, false});
}

tlnmf_error tlnmf_record_set_texts(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                   const char *const *texts, size_t count)
{
    size_t size = 0, at = 0;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, record);
    for (size_t i = 0; i < count; i++) {
        TL_NEED(ctx, texts);
        TL_NEED(ctx, texts[i]);
        size += strlen(texts[i]) + 1;
    }
    void *bytes;
    TRY(copy_bytes(ctx, record, "a list of texts", NULL, size, &bytes));
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]) + 1;
        memcpy((char *)bytes + at, texts[i], length);
        at += length;
    }
    tlnmf_error error =
        tl_record_put_texts(ctx, record, name, (tl_texts){bytes, size, count, true});
    tl_release(&record->hooks, bytes);
    return error;
}

tlnmf_error tl_count_elements(tlnmf_ctx *ctx, const char *name, int32_t dimensions,
                              const int64_t *shape, size_t *count)
{
    size_t bytes, most = 1; /* without the dimensions that are 0: all partial products are valid */
    *count = 1;
    if (dimensions < 1 || dimensions > TLNMF_MAX_DIMENSIONS)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "%s: has %d dimensions, outside [1, %d]", name,
                       (int)dimensions, TLNMF_MAX_DIMENSIONS);
    TL_NEED(ctx, shape);
    for (int32_t i = 0; i < dimensions; i++)
        if (shape[i] < 0)
            return tl_fail(ctx, TLNMF_ERR_SHAPE, "%s: %lld is not a valid dimension", name,
                           (long long)shape[i]);
        else if (shape[i] == 0)
            *count = 0;
        else if (__builtin_mul_overflow(most, shape[i], &most))
            most = SIZE_MAX;
    if (__builtin_mul_overflow(most, sizeof(double), &bytes) || bytes > PTRDIFF_MAX)
        return tl_fail(ctx, TLNMF_ERR_TOO_LARGE, "%s would not fit the address space", name);
    *count *= most;
    return TLNMF_OK;
}

tlnmf_error tl_record_refer_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                  const double *x, int32_t dimensions, const int64_t *shape)
{
    entry *e;
    size_t count;
    TRY(tl_count_elements(ctx, name, dimensions, shape, &count));
    TRY(claim(ctx, record, name, TLNMF_TYPE_ARRAY, &e));
    assert(e != NULL); /* for static analysers, which do not see that this cannot happen */
    e->x = x;
    e->dimensions = dimensions;
    memcpy(e->shape, shape, (size_t)dimensions * sizeof *shape);
    return TLNMF_OK;
}

/* Adds a copy of x, or zeros if x is NULL. */
static tlnmf_error put_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                             const double *x, int32_t dimensions, const int64_t *shape,
                             double **copy)
{
    size_t count;
    void *block;
    TRY(tl_count_elements(ctx, name, dimensions, shape, &count));
    TRY(copy_bytes(ctx, record, name, x, count * sizeof *x, &block));
    tlnmf_error error = tl_record_refer_array(ctx, record, name, block, dimensions, shape);
    if (error != TLNMF_OK) {
        tl_release(&record->hooks, block);
        return error;
    }
    find(record, name)->owned = true;
    *copy = block;
    return TLNMF_OK;
}

tlnmf_error tl_record_new_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                int32_t dimensions, const int64_t *shape, double **x)
{
    return put_array(ctx, record, name, NULL, dimensions, shape, x);
}

tlnmf_error tl_record_table(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, int64_t rows,
                            int64_t columns, double **x)
{
    entry *e = find(record, name), old = e != NULL ? *e : (entry){0};
    if (old.x == NULL)
        return tl_record_new_array(ctx, record, name, 2, (int64_t[]){rows, columns}, x);
    if (old.dimensions != 2 || old.shape[1] != columns)
        return tl_fail(ctx, TLNMF_ERR_DATA, "%s has rows of a different length", name);
    *x = (double *)(uintptr_t)old.x;
    if (old.shape[0] == rows)
        return TLNMF_OK;
    e->owned = false; /* the old rows are still needed */
    tlnmf_error error = tl_record_new_array(ctx, record, name, 2, (int64_t[]){rows, columns}, x);
    if (error == TLNMF_OK)
        tl_copy(*x, old.x, tl_min(rows, old.shape[0]) * columns);
    else
        *e = old;
    if (error == TLNMF_OK && old.owned)
        tl_release(&record->hooks, (void *)(uintptr_t)old.x);
    return error;
}

tlnmf_error tlnmf_record_set_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                   const double *x, int32_t dimensions, const int64_t *shape)
{
    double *copy;
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, record);
    TL_NEED(ctx, name);
    TL_NEED(ctx, x);
    return put_array(ctx, record, name, x, dimensions, shape, &copy);
}

tlnmf_error tlnmf_record_new_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                   int32_t dimensions, const int64_t *shape, double **x)
{
    TL_NEED_OUT(ctx, x);
    TL_NEED(ctx, record);
    TL_NEED(ctx, name);
    return put_array(ctx, record, name, NULL, dimensions, shape, x);
}

tlnmf_error tl_record_copy(tlnmf_ctx *ctx, const tlnmf_record *from, const char *name,
                           tlnmf_record *to)
{
    const entry *e = find(from, name);
    switch (e->type) {
    case TLNMF_TYPE_ARRAY:
        return tlnmf_record_set_array(ctx, to, name, e->x, e->dimensions, e->shape);
    case TLNMF_TYPE_INTEGER:
        return tlnmf_record_set_integer(ctx, to, name, e->integer);
    case TLNMF_TYPE_REAL:
        return tlnmf_record_set_real(ctx, to, name, e->real);
    default:
        return tl_record_put_texts(ctx, to, name, tl_record_texts(from, name));
    }
}

void tl_record_own(tlnmf_record *record, void *block)
{
    if (block != NULL)
        record->block[record->blocks++] = block;
}
