/* Checks that a MATLAB file of version 5 is complete: matio trusts sizes and ignores checksums. */
#include "files.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

enum {
    MATRIX = 14,     /* types of elements: an array, */
    COMPRESSED = 15, /* a deflated element */
    TAG = 8,
    HEADER = 1024,     /* flags, 32 dimensions and a name of 63 letters take less */
    NUMERIC_FIRST = 6, /* classes of arrays: double .. */
    NUMERIC_LAST = 15, /* .. uint64 */
};

/* The start of an array, after its tag. */
typedef struct header {
    unsigned char bytes[HEADER];
    size_t size;    /* of these */
    int64_t length; /* of the array, by its tag */
    bool little;
} header;

static uint32_t word(const unsigned char *at, bool little)
{
    uint32_t x = 0;

    for (int i = 0; i < 4; i++)
        x = x << 8 | at[little ? 3 - i : i];
    return x;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* A part of an array: its type, its bytes, and the place of the next part. Up to four bytes may be
 * in the tag itself. */
typedef struct part {
    uint32_t type, size;
    size_t data, next;
} part;

static bool get_part(const header *h, size_t at, part *p)
{
    if (at + TAG > h->size)
        return false;
    uint32_t first = word(h->bytes + at, h->little);
    if (first >> 16) {
        *p = (part){first & 0xffff, first >> 16, at + 4, at + TAG};
        return p->size <= 4;
    }
    uint32_t size = word(h->bytes + at + 4, h->little);
    *p = (part){first, size, at + TAG, at + TAG + ((size_t)size + 7) / 8 * 8};
    return true;
}

static int64_t size_of_type(uint32_t type)
{
    static const int sizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};

    return type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
}

/* Whether the number of stored numbers matches the shape. Arrays that are not numeric pass. */
static bool check_array(const header *h)
{
    part flags, shape, name, numbers;
    int64_t count = 1;

    if (!get_part(h, 0, &flags) || flags.size < 8 || flags.data + 8 > h->size)
        return false;
    uint32_t class = word(h->bytes + flags.data, h->little) & 0xff;
    if (class < NUMERIC_FIRST || class > NUMERIC_LAST)
        return true;
    if (!get_part(h, flags.next, &shape) || shape.size % 4 != 0 ||
        shape.data + shape.size > h->size || !get_part(h, shape.next, &name))
        return false;
    for (uint32_t d = 0; d < shape.size; d += 4) {
        int64_t n = word(h->bytes + shape.data + d, h->little);
        if (n > INT32_MAX || (n > 0 && count > INT64_MAX / 8 / n))
            return false;
        count *= n;
    }
    if (count == 0)
        return true;
    if (!get_part(h, name.next, &numbers))
        return false;
    int64_t size = size_of_type(numbers.type);
    return size > 0 && numbers.size == count * size &&
           (int64_t)numbers.data + numbers.size <= h->length;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Inflates an element to its end, so that zlib compares the checksum. The first bytes are kept. */
static bool inflate_all(FILE *f, int64_t size, unsigned char *head, size_t *head_size,
                        int64_t *length)
{
    enum { BLOCK = 1 << 12 };
    unsigned char in[BLOCK], out[BLOCK];
    z_stream z = {0};
    int64_t left = size, total = 0;
    int state = inflateInit(&z);

    *head_size = 0;
    while (state == Z_OK) {
        if (z.avail_in == 0) {
            size_t n = (size_t)(left < BLOCK ? left : BLOCK);
            if (n == 0 || fread(in, 1, n, f) != n)
                break;
            left -= (int64_t)n;
            z.next_in = in;
            z.avail_in = (uInt)n;
        }
        z.next_out = out;
        z.avail_out = BLOCK;
        state = inflate(&z, Z_NO_FLUSH);
        size_t made = BLOCK - z.avail_out, fits = TAG + HEADER - *head_size;
        /* cppcheck-suppress uninitvar; inflate() has filled it */
        memcpy(head + *head_size, out, made < fits ? made : fits);
        *head_size += made < fits ? made : fits;
        total += (int64_t)made;
    }
    inflateEnd(&z);
    *length = total;
    return state == Z_STREAM_END;
}

static bool check_compressed(FILE *f, int64_t size, bool little)
{
    unsigned char head[TAG + HEADER];
    header h = {.little = little};
    size_t have;
    int64_t length;

    if (!inflate_all(f, size, head, &have, &length) || have < TAG)
        return false;
    h.length = word(head + 4, little);
    if (h.length > length - TAG)
        return false;
    if (word(head, little) != MATRIX)
        return true;
    h.size = have - TAG;
    memcpy(h.bytes, head + TAG, h.size);
    return check_array(&h);
}

static bool check_matrix(FILE *f, int64_t size, bool little)
{
    header h = {.little = little, .length = size};

    h.size = fread(h.bytes, 1, (size_t)(size < HEADER ? size : HEADER), f);
    return check_array(&h);
}

bool io_mat5_check(tlnmf_ctx *ctx, const io_source *source, FILE *f)
{
    bool little = source->head[126] == 'I';
    int64_t at = 128; /* after the file's header */
    unsigned char tag[TAG];

    while (at < source->size) {
        if (fseeko(f, (off_t)at, SEEK_SET) != 0 || fread(tag, 1, TAG, f) != TAG)
            break;
        uint32_t type = word(tag, little);
        int64_t size = word(tag + 4, little);
        if (at + TAG + size > source->size)
            break;
        if ((type == COMPRESSED && !check_compressed(f, size, little)) ||
            (type == MATRIX && !check_matrix(f, size, little)))
            return io_fail(ctx, TLNMF_ERR_INPUT, "%s: the variable at byte %lld is damaged",
                           source->name, (long long)at);
        at += TAG + size;
    }
    return at == source->size ||
           io_fail(ctx, TLNMF_ERR_INPUT, "%s: the file ends early", source->name);
}
