/* Records as bytes and back: models in memory, checkpoints. */
#include "base/record.h"

enum { NAME_SIZE = 64 };

/* Little-endian: 8 bytes MAGIC, u64 format, u64 count; for each entry u64 type, u64 length of the
 * name, the name, and its value: integer or real 8 bytes; texts u64 count, u64 bytes, the bytes;
 * array u64 number of dimensions, as many u64, the numbers. Last a u64: FNV-1a (Fowler, Noll, Vo)
 * of all before. */
static const char MAGIC[] = "tlnmfrec";
enum { FORMAT = 1 };

/* Where bytes go. If `to` is NULL they are only counted. */
typedef struct packer {
    unsigned char *to;
    size_t size;
    uint64_t hash;
} packer;

static const uint64_t FNV_START = 0xcbf29ce484222325u, FNV_PRIME = 0x100000001b3u;

static uint64_t hash_bytes(uint64_t hash, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

static void pack_bytes(packer *p, const void *bytes, size_t size)
{
    if (p->to != NULL && size > 0) {
        memcpy(p->to + p->size, bytes, size);
        p->hash = hash_bytes(p->hash, p->to + p->size, size);
    }
    p->size += size;
}

static void pack_word(packer *p, uint64_t word)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> (8 * i));
    pack_bytes(p, bytes, sizeof bytes);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void pack_texts(packer *p, tl_texts texts)
{
    pack_word(p, texts.count);
    pack_word(p, texts.size);
    pack_bytes(p, texts.bytes, texts.size);
}

static void pack_array(packer *p, const tlnmf_record *record, const char *name)
{
    int32_t dimensions;
    int64_t shape[TLNMF_MAX_DIMENSIONS], count = 1;
    const double *x = tlnmf_record_get_array(record, name, &dimensions, shape);
    pack_word(p, (uint64_t)dimensions);
    for (int32_t i = 0; i < dimensions; i++) {
        pack_word(p, (uint64_t)shape[i]);
        count *= shape[i];
    }
    for (int64_t i = 0; i < count; i++)
        pack_word(p, bits_of(x[i]));
}

static void pack_value(packer *p, const tlnmf_record *record, const char *name)
{
    size_t length = strlen(name);
    tlnmf_type type = tlnmf_record_type(record, name);
    pack_word(p, (uint64_t)type);
    pack_word(p, length);
    pack_bytes(p, name, length);
    if (type == TLNMF_TYPE_INTEGER)
        pack_word(p, (uint64_t)tlnmf_record_get_integer(record, name));
    else if (type == TLNMF_TYPE_REAL)
        pack_word(p, bits_of(tlnmf_record_get_real(record, name)));
    else if (type == TLNMF_TYPE_ARRAY)
        pack_array(p, record, name);
    else
        pack_texts(p, tl_record_texts(record, name));
}

static void pack_all(packer *p, const tlnmf_record *record)
{
    pack_bytes(p, MAGIC, sizeof MAGIC - 1);
    pack_word(p, FORMAT);
    size_t count = tlnmf_record_count(record);
    pack_word(p, count);
    for (size_t i = 0; i < count; i++)
        pack_value(p, record, tlnmf_record_name(record, i));
    pack_word(p, p->hash);
}

tlnmf_error tlnmf_record_pack(tlnmf_ctx *ctx, const tlnmf_record *record, void *bytes, size_t *size)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, record);
    TL_NEED(ctx, size);
    packer count = {.hash = FNV_START};
    pack_all(&count, record);
    size_t capacity = *size;
    *size = count.size;
    if (bytes == NULL)
        return TLNMF_OK;
    if (capacity < count.size)
        return tl_fail(ctx, TLNMF_ERR_SHAPE, "the record takes %zu bytes, the buffer has %zu",
                       count.size, capacity);
    packer write = {.to = bytes, .hash = FNV_START};
    pack_all(&write, record);
    return TLNMF_OK;
}

/* The bytes still to read. `bad` is set by a read past the end. */
typedef struct unpacker {
    const unsigned char *at;
    size_t left;
    bool bad;
} unpacker;

static const unsigned char *unpack_bytes(unpacker *u, uint64_t size)
{
    const unsigned char *at = u->at;
    if (u->bad || size > u->left) {
        u->bad = true;
        return NULL;
    }
    u->at += size;
    u->left -= (size_t)size;
    return at;
}

static uint64_t unpack_word(unpacker *u)
{
    const unsigned char *bytes = unpack_bytes(u, 8);
    uint64_t word = 0;
    for (int i = 0; bytes != NULL && i < 8; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static double unpack_real(unpacker *u)
{
    uint64_t bits = unpack_word(u);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static tlnmf_error damaged(tlnmf_ctx *ctx)
{
    return tl_fail(ctx, TLNMF_ERR_DATA, "the bytes are not a record, or are damaged or truncated");
}

/* Whether `size` bytes hold exactly `count` strings, each with its final NUL. */
static bool are_texts(const unsigned char *bytes, uint64_t size, uint64_t count)
{
    uint64_t ends = 0;
    for (uint64_t i = 0; i < size; i++)
        ends += bytes[i] == 0;
    return ends == count && (size == 0 || bytes[size - 1] == 0);
}

static tlnmf_error unpack_texts(tlnmf_ctx *ctx, unpacker *u, tlnmf_type type, const char *name,
                                tlnmf_record *record)
{
    uint64_t count = unpack_word(u), size = unpack_word(u);
    const unsigned char *bytes = unpack_bytes(u, size);
    if (bytes == NULL || (type == TLNMF_TYPE_TEXT && count != 1) || !are_texts(bytes, size, count))
        return damaged(ctx);
    return tl_record_put_texts(
        ctx, record, name,
        (tl_texts){(const char *)bytes, (size_t)size, (size_t)count, type == TLNMF_TYPE_TEXTS});
}

static tlnmf_error unpack_array(tlnmf_ctx *ctx, unpacker *u, const char *name, tlnmf_record *record)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    uint64_t dimensions = unpack_word(u);
    size_t count;
    double *x;
    if (dimensions < 1 || dimensions > TLNMF_MAX_DIMENSIONS)
        return damaged(ctx);
    for (uint64_t i = 0; i < dimensions; i++)
        shape[i] = (int64_t)unpack_word(u);
    if (u->bad || tl_count_elements(ctx, name, (int32_t)dimensions, shape, &count) != TLNMF_OK ||
        count > u->left / 8)
        return damaged(ctx);
    TRY(tl_record_new_array(ctx, record, name, (int32_t)dimensions, shape, &x));
    for (size_t i = 0; i < count; i++)
        x[i] = unpack_real(u);
    return TLNMF_OK;
}

static tlnmf_error unpack_entry(tlnmf_ctx *ctx, unpacker *u, tlnmf_record *record)
{
    char name[NAME_SIZE] = "";
    uint64_t type = unpack_word(u), length = unpack_word(u);
    const unsigned char *letters = unpack_bytes(u, length);
    if (letters == NULL || length == 0 || length >= NAME_SIZE)
        return damaged(ctx);
    memcpy(name, letters, (size_t)length);
    if (strlen(name) != length || tlnmf_record_type(record, name) != TLNMF_TYPE_NONE)
        return damaged(ctx);
    switch (type) {
    case TLNMF_TYPE_INTEGER:
        return tlnmf_record_set_integer(ctx, record, name, (int64_t)unpack_word(u));
    case TLNMF_TYPE_REAL:
        return tlnmf_record_set_real(ctx, record, name, unpack_real(u));
    case TLNMF_TYPE_TEXT:
    case TLNMF_TYPE_TEXTS:
        return unpack_texts(ctx, u, (tlnmf_type)type, name, record);
    case TLNMF_TYPE_ARRAY:
        return unpack_array(ctx, u, name, record);
    default:
        return damaged(ctx);
    }
}

tlnmf_error tlnmf_record_unpack(tlnmf_ctx *ctx, const void *bytes, size_t size, tlnmf_record **out)
{
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, bytes);
    if (size < 32 || memcmp(bytes, MAGIC, sizeof MAGIC - 1) != 0)
        return damaged(ctx);
    unpacker sum = {.at = (const unsigned char *)bytes + size - 8, .left = 8};
    if (unpack_word(&sum) != hash_bytes(FNV_START, bytes, size - 8))
        return damaged(ctx);
    unpacker u = {.at = (const unsigned char *)bytes + 8, .left = size - 16};
    uint64_t format = unpack_word(&u), count = unpack_word(&u);
    if (format != FORMAT)
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "the record has format %llu, but this library reads format %d",
                       (unsigned long long)format, FORMAT);
    tlnmf_record *record;
    TRY(tlnmf_record_create(ctx, &record));
    tlnmf_error error = TLNMF_OK;
    for (uint64_t i = 0; i < count && error == TLNMF_OK; i++)
        error = unpack_entry(ctx, &u, record);
    if (error == TLNMF_ERR_ARGUMENT || /* an invalid name */
        (error == TLNMF_OK && (u.bad || u.left != 0)))
        error = damaged(ctx);
    *out = record;
    return tl_record_keep_if(error, out);
}
