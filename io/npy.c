/* NumPy's .npy files. The header is a Python dictionary literal,
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 * read by hand and believed only as far as the file has the bytes for it. */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct npy_header {
    char kind; /* 'f' float, 'i' integer, 'u' unsigned, 'b' bool */
    int size;  /* bytes of an element */
    bool big;  /* most significant byte first */
    bool fortran;
    int ndim;
    int64_t dim[IO_MAX_DIM];
    int64_t count;
} npy_header;

/* ---- the dictionary ----------------------------------------------------------------------- */

typedef struct scanner {
    const char *at, *end;
    const char *name;
    io_error *err;
} scanner;

static bool bad_header(const scanner *s, const char *what)
{
    return io_fail(s->err, IO_BAD_INPUT, "%s: bad .npy header: %s", s->name, what);
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
        return bad_header(s, "a string without end");
    s->at++;
    text[n] = '\0';
    return true;
}

static bool scan_flag(scanner *s, bool *flag)
{
    peek(s);
    for (int value = 0; value < 2; value++) {
        const char *word = value ? "True" : "False";
        size_t n = strlen(word);
        if ((size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0) {
            s->at += n;
            *flag = value;
            return true;
        }
    }
    return bad_header(s, "'fortran_order' is neither True nor False");
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

static bool scan_shape(scanner *s, npy_header *h)
{
    if (!accept(s, '('))
        return bad_header(s, "'shape' is not a tuple of integers");
    for (h->ndim = 0; !accept(s, ')'); h->ndim++) {
        if (h->ndim == IO_MAX_DIM)
            return io_fail(s->err, IO_BAD_INPUT, "%s: more than %d dimensions", s->name,
                           IO_MAX_DIM);
        if (!scan_dimension(s, &h->dim[h->ndim]))
            return false;
        if (!accept(s, ',') && peek(s) != ')')
            return bad_header(s, "'shape' is not a tuple of integers");
    }
    return true;
}

static bool host_is_big(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

static bool scan_type(scanner *s, npy_header *h)
{
    static const char *const known[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                        "i8", "u1", "u2", "u4", "u8", "b1"};
    char text[32];
    const char *code = text;

    if (peek(s) == '[' || peek(s) == '(' || peek(s) == '{')
        return io_fail(s->err, IO_BAD_INPUT, "%s: a structured dtype, not plain numbers", s->name);
    if (!scan_string(s, text, sizeof text))
        return false;
    h->big = host_is_big();
    if (*code && strchr("<>|=", *code)) {
        if (*code == '<' || *code == '>')
            h->big = *code == '>';
        code++;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(code, known[i]) == 0) {
            h->kind = code[0];
            h->size = code[1] - '0';
            return true;
        }
    if (code[0] == 'c')
        return io_fail(s->err, IO_BAD_INPUT,
                       "%s: dtype '%s' is complex numbers, which are not read: save the real and "
                       "the imaginary part as two realisations",
                       s->name, text);
    return io_fail(s->err, IO_BAD_INPUT, "%s: dtype '%s' is %s (we read f2-f8, i1-i8, u1-u8, b1)",
                   s->name, text, code[0] == 'O' ? "Python objects" : "not a type we read");
}

static bool scan_item(scanner *s, npy_header *h, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[32];
    unsigned k = 0;

    if (!scan_string(s, key, sizeof key))
        return false;
    while (k < 3 && strcmp(key, keys[k]) != 0)
        k++;
    if (k == 3)
        return io_fail(s->err, IO_BAD_INPUT, "%s: bad .npy header: unknown key '%s'", s->name, key);
    if (*seen & 1u << k)
        return io_fail(s->err, IO_BAD_INPUT, "%s: bad .npy header: '%s' twice", s->name, key);
    *seen |= 1u << k;
    if (!accept(s, ':'))
        return bad_header(s, "':' expected after a key");
    return k == 0 ? scan_type(s, h) : k == 1 ? scan_flag(s, &h->fortran) : scan_shape(s, h);
}

static bool scan_header(scanner *s, npy_header *h)
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
    if (!(seen & 1))
        return bad_header(s, "no key 'descr'");
    if (!(seen & 2))
        return bad_header(s, "no key 'fortran_order'");
    return seen & 4 || bad_header(s, "no key 'shape'");
}

/* ---- the file around it ------------------------------------------------------------------- */

static bool cannot_read(const io_source *source, FILE *f, io_error *err)
{
    return io_fail(err, IO_BAD_INPUT, "%s: %s", source->name,
                   ferror(f) ? strerror(errno) : "the file ends early");
}

/* The length of the dictionary and of what comes before it. */
static bool read_preamble(const io_source *source, int64_t *length, int64_t *prefix, io_error *err)
{
    const unsigned char *b = source->head;

    if (source->head_size < 6 || memcmp(b, "\x93NUMPY", 6) != 0)
        return io_fail_content(source, "not an .npy file", err);
    if (source->head_size < 8)
        return io_fail(err, IO_BAD_INPUT, "%s: truncated .npy header", source->name);
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return io_fail(err, IO_BAD_INPUT, "%s: .npy version %d.%d is unknown (1.0, 2.0, 3.0 are)",
                       source->name, b[6], b[7]);
    *prefix = b[6] == 1 ? 10 : 12;
    if (source->size < *prefix)
        return io_fail(err, IO_BAD_INPUT, "%s: truncated .npy header", source->name);
    *length = b[8] | b[9] << 8;
    if (b[6] > 1)
        *length |= (int64_t)b[10] << 16 | (int64_t)b[11] << 24;
    if (*length > source->size - *prefix)
        return io_fail(err, IO_BAD_INPUT,
                       "%s: truncated .npy header (%lld bytes announced, %lld there)", source->name,
                       (long long)*length, (long long)(source->size - *prefix));
    if (*length > 1 << 16)
        return io_fail(err, IO_BAD_INPUT, "%s: a header of %lld bytes, too long for plain numbers",
                       source->name, (long long)*length);
    return true;
}

/* Nothing is allocated for data that the file cannot hold. */
static bool check_size(const io_source *source, npy_header *h, int64_t bytes, io_error *err)
{
    h->count = io_count(h->ndim, h->dim);
    if (h->count < 0)
        return io_fail(err, IO_BAD_INPUT,
                       "%s: the header claims more than 9223372036854775807 elements (%d bytes "
                       "each), the file holds %lld bytes",
                       source->name, h->size, (long long)bytes);
    if (h->count > bytes / h->size)
        return io_fail(err, IO_BAD_INPUT,
                       "%s: the header claims %lld elements (%d bytes each), the file holds %lld "
                       "bytes",
                       source->name, (long long)h->count, h->size, (long long)bytes);
    return true;
}

/* Leaves the stream at the first element. */
static bool read_header(const io_source *source, FILE *f, npy_header *h, io_error *err)
{
    int64_t length = 0, prefix = 0;

    if (!read_preamble(source, &length, &prefix, err))
        return false;
    char *text = malloc((size_t)length + 1);
    if (!text)
        return io_no_memory(err, source->name);
    scanner s = {text, text + length, source->name, err};
    bool ok = fseek(f, (long)prefix, SEEK_SET) == 0 &&
              fread(text, 1, (size_t)length, f) == (size_t)length;
    ok = ok ? scan_header(&s, h) : cannot_read(source, f, err);
    free(text);
    return ok && check_size(source, h, source->size - prefix - length, err);
}

/* Half precision: 1 sign, 5 exponent, 10 fraction bits. */
static double decode_half(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double sign = bits >> 15 ? -1.0 : 1.0;

    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

/* Integers beyond 2^53 are rounded to the nearest double. */
static double decode(const unsigned char *p, const npy_header *h)
{
    uint64_t bits = 0;
    double x;

    for (int i = 0; i < h->size; i++)
        bits = bits << 8 | p[h->big ? i : h->size - 1 - i];
    if (h->kind == 'u')
        return (double)bits;
    if (h->kind == 'b')
        return bits != 0;
    if (h->size == 2 && h->kind == 'f')
        return decode_half(bits);
    if (h->kind == 'i') {
        uint64_t sign = (uint64_t)1 << (8 * h->size - 1);
        return (double)(int64_t)((bits ^ sign) - sign);
    }
    if (h->size == 4) {
        uint32_t half = (uint32_t)bits;
        float single;
        memcpy(&single, &half, sizeof single);
        return single;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The next `count` numbers of the file to x, at `at` on, or where the walk says. */
static bool read_run(FILE *f, const npy_header *h, int64_t count, double *x, int64_t at,
                     io_walk *walk)
{
    unsigned char chunk[1 << 15];
    size_t capacity = sizeof chunk / (size_t)h->size, n;

    if (h->kind == 'f' && h->size == 8 && h->big == host_is_big() && !h->fortran)
        return fread(x + at, 8, (size_t)count, f) == (size_t)count;
    for (int64_t i = 0; i < count; i += (int64_t)n) {
        n = (uint64_t)(count - i) < capacity ? (size_t)(count - i) : capacity;
        if (fread(chunk, (size_t)h->size, n, f) != n)
            return false;
        for (size_t j = 0; j < n; j++)
            x[h->fortran ? io_walk_next(walk) : at + i + (int64_t)j] =
                decode(chunk + j * (size_t)h->size, h);
    }
    return true;
}

/* The stream is at the first element; `dim` is the shape of what is read. */
static bool read_data(FILE *f, const npy_header *h, const io_runs *r, const int64_t *dim, double *x)
{
    off_t start = ftello(f);
    io_walk walk;

    if (r->length == 0 || r->runs == 0) /* strides of an empty array may leave the range */
        return true;
    io_walk_start(&walk, h->ndim, dim);
    for (int64_t i = 0; i < r->runs; i++) {
        off_t at = start + (off_t)((r->offset + i * r->stride) * h->size);
        if (fseeko(f, at, SEEK_SET) != 0 || !read_run(f, h, r->length, x, i * r->length, &walk))
            return false;
    }
    return true;
}

bool io_npy_read(const io_source *source, io_slice *slice, const io_place *place, io_array *out,
                 io_error *err)
{
    FILE *f = io_source_stream(source, err);
    npy_header h = {0};

    if (!f)
        return false;
    bool ok = read_header(source, f, &h, err);
    if (ok && h.ndim == 0)
        ok = io_fail(err, IO_BAD_INPUT, "%s: a single number, not an array", source->name);
    io_array a = {.ndim = h.ndim};
    io_runs all = {.runs = 1, .length = h.count};
    memcpy(a.dim, h.dim, sizeof h.dim);
    if (ok && slice) {
        ok = io_slice_fit(slice, source->name, h.ndim, h.dim, a.dim, err);
        all = ok ? io_slice_runs(slice, h.fortran) : all;
    }
    bool only_shape = slice && slice->count == 0;
    double *x = ok && !only_shape ? io_array_new(place, source->name, a.ndim, a.dim, err) : NULL;
    ok = ok &&
         (only_shape || (x && (read_data(f, &h, &all, a.dim, x) || cannot_read(source, f, err))));
    if (ok) {
        a.x = x;
        *out = a;
    } else {
        io_array_drop(place, x);
    }
    fclose(f);
    return ok;
}

bool io_npy_list(const io_source *source, io_listing *listing, io_error *err)
{
    FILE *f = io_source_stream(source, err);
    npy_header h = {0};
    char name[] = "";

    if (!f)
        return false;
    bool ok = read_header(source, f, &h, err);
    fclose(f);
    if (!ok)
        return false;
    io_entry entry = {.name = name, .numeric = h.ndim > 0, .ndim = h.ndim};
    memcpy(entry.dim, h.dim, sizeof h.dim);
    const char *kind = h.kind == 'f' ? "float" : h.kind == 'i' ? "int" : "uint";
    if (h.kind == 'b')
        snprintf(entry.dtype, sizeof entry.dtype, "bool");
    else
        snprintf(entry.dtype, sizeof entry.dtype, "%s%d", kind, 8 * h.size);
    return io_listing_add(listing, &entry) || io_no_memory(err, source->name);
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The bytes before the data, a multiple of 64 as NumPy makes them; at most 256. */
static size_t make_header(const io_array *array, unsigned char *bytes)
{
    char text[256];
    size_t n =
        (size_t)snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': (");

    for (int d = 0; d < array->ndim; d++)
        n += (size_t)snprintf(text + n, sizeof text - n, d ? ", %lld" : "%lld",
                              (long long)array->dim[d]);
    n += (size_t)snprintf(text + n, sizeof text - n, array->ndim == 1 ? ",), }" : "), }");
    size_t total = (10 + n + 1 + 63) / 64 * 64;
    memset(bytes, ' ', total);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (unsigned char)((total - 10) & 0xff);
    bytes[9] = (unsigned char)((total - 10) >> 8);
    memcpy(bytes + 10, text, n);
    bytes[total - 1] = '\n';
    return total;
}

bool io_npy_encode(const io_array *array, unsigned char **out, size_t *size)
{
    int64_t count = io_count(array->ndim, array->dim);
    unsigned char header[320];
    size_t start = make_header(array, header);
    bool fits = count >= 0 && (uint64_t)count < (SIZE_MAX - start) / 8;
    unsigned char *bytes = fits ? malloc(start + 8 * (size_t)count) : NULL;

    if (!bytes)
        return false;
    memcpy(bytes, header, start);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &array->x[i], 8);
        for (int b = 0; b < 8; b++)
            bytes[start + 8 * (size_t)i + (size_t)b] = (unsigned char)(bits >> 8 * b);
    }
    *out = bytes;
    *size = start + 8 * (size_t)count;
    return true;
}

bool io_npy_write(const char *path, const io_array *array, io_error *err)
{
    unsigned char *bytes;
    size_t size;

    if (!io_npy_encode(array, &bytes, &size))
        return io_no_memory(err, path);
    bool ok = io_publish(path, bytes, size, err);
    free(bytes);
    return ok;
}
