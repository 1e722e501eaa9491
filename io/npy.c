/* NumPy's .npy files. The header is a Python dictionary literal,
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * Its claims are checked against the size of the file. */
#include "npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the dictionary ----------------------------------------------------------------------- */

typedef struct scanner {
    const char *at, *end;
    const char *name;
    tlnmf_ctx *ctx;
} scanner;

static bool bad_header(const scanner *s, const char *what)
{
    return io_fail(s->ctx, TLNMF_ERR_INPUT, "%s: bad .npy header: %s", s->name, what);
}

static char peek(scanner *s)
{
    while (s->at < s->end && isspace((unsigned char)*s->at))
        s->at++;
    return s->at < s->end ? *s->at : '\0';
}

static bool accept(scanner *s, char c)
{
    if (peek(s) != c)
        return false;
    s->at++;
    return true;
}

static bool scan_string(scanner *s, char *text, size_t capacity)
{
    char quote = peek(s);
    size_t n = 0;

    if (quote != '\'' && quote != '"')
        return bad_header(s, "a string was expected");
    for (s->at++; s->at < s->end && *s->at != quote; s->at++) {
        if (n + 1 == capacity || !isprint((unsigned char)*s->at))
            return bad_header(s, "a string that is too long or not text");
        text[n++] = *s->at;
    }
    if (s->at == s->end)
        return bad_header(s, "unterminated string");
    s->at++;
    text[n] = '\0';
    return true;
}

static bool scan_flag(scanner *s, bool *flag)
{
    *flag = peek(s) == 'T';
    const char *word = *flag ? "True" : "False";
    size_t n = strlen(word);

    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return bad_header(s, "'fortran_order' is neither True nor False");
    s->at += n;
    return true;
}

static bool scan_dimension(scanner *s, int64_t *dim)
{
    char c = peek(s);

    if (c == '-')
        return bad_header(s, "a negative dimension");
    if (!isdigit((unsigned char)c))
        return bad_header(s, "'shape' is not a tuple of integers");
    for (*dim = 0; s->at < s->end && isdigit((unsigned char)*s->at); s->at++) {
        int digit = *s->at - '0';
        if (*dim > (INT64_MAX - digit) / 10)
            return bad_header(s, "a dimension beyond 9223372036854775807");
        *dim = 10 * *dim + digit;
    }
    return true;
}

static bool scan_shape(scanner *s, io_npy_header *h)
{
    if (!accept(s, '('))
        return bad_header(s, "'shape' is not a tuple of integers");
    for (h->ndim = 0; !accept(s, ')'); h->ndim++) {
        if (h->ndim == IO_LIST_DIM)
            return io_fail(s->ctx, TLNMF_ERR_INPUT, "%s: more than %d dimensions", s->name,
                           IO_LIST_DIM);
        if (!scan_dimension(s, &h->dim[h->ndim]))
            return false;
        if (!accept(s, ',') && peek(s) != ')')
            return bad_header(s, "'shape' is not a tuple of integers");
    }
    return true;
}

static bool scan_type(scanner *s, io_npy_header *h)
{
    static const char *const known[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                        "i8", "u1", "u2", "u4", "u8", "b1"};
    char text[32];
    const char *code = text;

    if (peek(s) == '[' || peek(s) == '(' || peek(s) == '{')
        return io_fail(s->ctx, TLNMF_ERR_INPUT, "%s: a structured dtype, not plain numbers",
                       s->name);
    if (!scan_string(s, text, sizeof text))
        return false;
    h->big = HOST_IS_BIG;
    if (*code && strchr("<>|=", *code)) {
        if (*code == '<' || *code == '>')
            h->big = *code == '>';
        code++;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(code, known[i]) == 0) {
            h->kind = known[i][0];
            h->size = known[i][1] - '0';
            return true;
        }
    if (strcmp(code, "c8") == 0 || strcmp(code, "c16") == 0 || strcmp(code, "c32") == 0) {
        h->kind = 'c'; /* listed, but not read */
        h->size = (int)strtol(code + 1, NULL, 10);
        return true;
    }
    return io_fail(s->ctx, TLNMF_ERR_INPUT,
                   "%s: dtype '%s' is %s (supported: f2-f8, i1-i8, u1-u8, b1)", s->name, text,
                   code[0] == 'O' ? "Python objects" : "not supported");
}

static bool scan_item(scanner *s, io_npy_header *h, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[32];
    unsigned k = 0;

    if (!scan_string(s, key, sizeof key))
        return false;
    while (k < 3 && strcmp(key, keys[k]) != 0)
        k++;
    if (k == 3)
        return io_fail(s->ctx, TLNMF_ERR_INPUT, "%s: bad .npy header: unknown key '%s'", s->name,
                       key);
    if (*seen & 1u << k)
        return io_fail(s->ctx, TLNMF_ERR_INPUT, "%s: bad .npy header: '%s' twice", s->name, key);
    *seen |= 1u << k;
    if (!accept(s, ':'))
        return bad_header(s, "':' expected after a key");
    return k == 0 ? scan_type(s, h) : k == 1 ? scan_flag(s, &h->fortran) : scan_shape(s, h);
}

static bool scan_header(scanner *s, io_npy_header *h)
{
    unsigned seen = 0;

    if (!accept(s, '{'))
        return bad_header(s, "not a dictionary");
    while (!accept(s, '}')) {
        if (!scan_item(s, h, &seen))
            return false;
        if (!accept(s, ',') && peek(s) != '}')
            return bad_header(s, "',' or '}' expected after a value");
    }
    peek(s);
    if (s->at != s->end)
        return bad_header(s, "text after the dictionary");
    return seen == 7 || bad_header(s, !(seen & 1)   ? "no key 'descr'"
                                      : !(seen & 2) ? "no key 'fortran_order'"
                                                    : "no key 'shape'");
}

/* ---- the file around it ------------------------------------------------------------------- */

static bool cannot_read(tlnmf_ctx *ctx, const io_source *source, FILE *f)
{
    return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s", source->name,
                   ferror(f) ? strerror(errno) : "the file ends early");
}

/* The length of the dictionary, and of the prefix before it. */
static bool read_preamble(tlnmf_ctx *ctx, const io_source *source, int64_t *length, int64_t *prefix)
{
    const unsigned char *b = source->head;

    if (source->head_size < 6 || memcmp(b, "\x93NUMPY", 6) != 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: not an .npy file", source->name);
    if (source->head_size < 8)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: truncated .npy header", source->name);
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return io_fail(ctx, TLNMF_ERR_INPUT,
                       "%s: .npy version %d.%d is not supported (1.0, 2.0 and 3.0 are)",
                       source->name, b[6], b[7]);
    *prefix = b[6] == 1 ? 10 : 12;
    if (source->size < *prefix)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: truncated .npy header", source->name);
    *length = b[8] | b[9] << 8;
    if (b[6] > 1)
        *length |= (int64_t)b[10] << 16 | (int64_t)b[11] << 24;
    if (*length > source->size - *prefix)
        return io_fail(ctx, TLNMF_ERR_INPUT,
                       "%s: truncated .npy header (%lld bytes announced, %lld present)",
                       source->name, (long long)*length, (long long)(source->size - *prefix));
    if (*length > 1 << 16)
        return io_fail(ctx, TLNMF_ERR_INPUT,
                       "%s: bad .npy header: %lld bytes are too many for an array of numbers",
                       source->name, (long long)*length);
    return true;
}

/* Refuses claims that exceed the file before anything is allocated. */
static bool check_size(tlnmf_ctx *ctx, const io_source *source, io_npy_header *h, int64_t bytes)
{
    h->count = io_count(h->ndim, h->dim);
    if (h->count >= 0 && h->count <= bytes / h->size)
        return true;
    return io_fail(ctx, TLNMF_ERR_INPUT,
                   "%s: the header claims %s%lld elements (%d bytes each), the file holds %lld "
                   "bytes",
                   source->name, h->count < 0 ? "more than " : "",
                   h->count < 0 ? INT64_MAX : (long long)h->count, h->size, (long long)bytes);
}

/* Leaves the stream at the first element. */
static bool read_header(tlnmf_ctx *ctx, const io_source *source, FILE *f, io_npy_header *h)
{
    int64_t length = 0, prefix = 0;

    if (!read_preamble(ctx, source, &length, &prefix))
        return false;
    char *text = malloc((size_t)length + 1);
    if (!text)
        return io_no_memory(ctx, source->name);
    scanner s = {text, text + length, source->name, ctx};
    bool ok = fseeko(f, (off_t)prefix, SEEK_SET) == 0 &&
              fread(text, 1, (size_t)length, f) == (size_t)length;
    ok = ok ? scan_header(&s, h) : cannot_read(ctx, source, f);
    free(text);
    return ok && check_size(ctx, source, h, source->size - prefix - length);
}

static bool read_npy(tlnmf_ctx *ctx, io_file *file, const char *member, io_slice *slice,
                     const io_target *to)
{
    const io_source *source = &file->source;
    FILE *f = io_source_stream(ctx, source);
    io_npy_header h = {0};
    int64_t dim[IO_MAX_DIM];

    (void)member;
    if (!f)
        return false;
    bool ok = read_header(ctx, source, f, &h), only_shape = slice && slice->count == 0;
    if (ok && h.kind == 'c')
        ok = io_fail(ctx, TLNMF_ERR_INPUT, IO_COMPLEX, source->name, "the array");
    if (ok && h.ndim == 0)
        ok = io_fail(ctx, TLNMF_ERR_INPUT, "%s: a single number, not an array", source->name);
    if (ok && h.ndim > IO_MAX_DIM)
        ok = io_fail(ctx, TLNMF_ERR_INPUT, "%s: %d dimensions, at most %d are read", source->name,
                     h.ndim, IO_MAX_DIM);
    io_runs all = {.runs = 1, .length = h.count};
    memcpy(dim, h.dim, sizeof dim);
    if (ok && slice) {
        ok = io_slice_fit(ctx, slice, source->name, h.ndim, h.dim, dim);
        all = ok ? io_slice_runs(slice, h.fortran) : all;
    }
    if (ok && !only_shape) {
        double *x = io_array_new(ctx, to, source->name, h.ndim, dim);
        io_npy_numbers in = {.ctx = ctx,
                             .source = source,
                             .h = &h,
                             .start = (int64_t)ftello(f),
                             .runs = all,
                             .dim = dim,
                             .x = x};
        in.fd = source->bytes ? -1 : fileno(f);
        ok = x && io_goes_on(ctx, source->name, 0, 0) && io_npy_read_numbers(&in);
    }
    fclose(f);
    return ok;
}

bool io_npy_list_bytes(tlnmf_ctx *ctx, const io_source *source, io_entry *entry)
{
    FILE *f = io_source_stream(ctx, source);
    io_npy_header h = {0};

    if (!f)
        return false;
    bool ok = read_header(ctx, source, f, &h);
    fclose(f);
    if (h.kind == 'c')
        snprintf(entry->dtype, sizeof entry->dtype, "complex");
    if (!ok)
        return false;
    entry->ndim = h.ndim;
    memcpy(entry->dim, h.dim, sizeof h.dim);
    if (h.kind == 'c')
        return true;
    entry->numeric = h.ndim > 0;
    const char *kind = h.kind == 'f' ? "float" : h.kind == 'i' ? "int" : "uint";
    if (h.kind == 'b')
        snprintf(entry->dtype, sizeof entry->dtype, "bool");
    else
        snprintf(entry->dtype, sizeof entry->dtype, "%s%d", kind, 8 * h.size);
    return true;
}

static bool list_npy(tlnmf_ctx *ctx, io_file *file, io_listing *listing)
{
    io_entry entry = {.name = (char[]){""}};

    return io_npy_list_bytes(ctx, &file->source, &entry) &&
           (io_listing_add(listing, &entry) || io_no_memory(ctx, file->source.name));
}

const io_format_calls io_npy_calls = {.name = "npy", .list = list_npy, .read = read_npy};

/* ---- writing ------------------------------------------------------------------------------ */

/* The header is padded to a multiple of 64 bytes, as NumPy does. */
void io_npy_encode(io_buffer *file, const io_array *array)
{
    char text[256];
    size_t n =
        (size_t)snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': (");

    for (int d = 0; d < array->ndim; d++)
        n += (size_t)snprintf(text + n, sizeof text - n, d ? ", %lld" : "%lld",
                              (long long)array->dim[d]);
    n += (size_t)snprintf(text + n, sizeof text - n, array->ndim == 1 ? ",), }" : "), }");
    size_t length = (10 + n + 1 + 63) / 64 * 64 - 10;
    io_buffer_add(file, "\x93NUMPY\x01\x00", 8);
    io_buffer_add_number(file, length, 2);
    io_buffer_add(file, text, n);
    for (; n < length - 1; n++)
        io_buffer_add(file, " ", 1);
    io_buffer_add(file, "\n", 1);
    io_buffer_add_doubles(file, array->x, io_count(array->ndim, array->dim));
}
