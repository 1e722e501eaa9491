/* ZIP archives with stored or deflated members. Sizes that exceed the file are refused. */
#include "zip.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Sizes of the fixed parts, and the signatures they begin with. */
enum { END_SIZE = 22, END64_SIZE = 56, LOCATOR_SIZE = 20, CENTRAL_SIZE = 46, LOCAL_SIZE = 30 };
#define END_MARK     0x06054b50u
#define END64_MARK   0x06064b50u
#define LOCATOR_MARK 0x07064b50u
#define CENTRAL_MARK 0x02014b50u
#define LOCAL_MARK   0x04034b50u
#define IN_ZIP64     0xffffffffu

static bool damaged(tlnmf_ctx *ctx, const io_source *source, const char *what)
{
    return io_fail(ctx, TLNMF_ERR_INPUT, "%s: a damaged .npz file: %s", source->name, what);
}

static uint64_t number(const unsigned char *b, int size)
{
    uint64_t x = 0;
    for (int i = size - 1; i >= 0; i--)
        x = x << 8 | b[i];
    return x;
}

static bool read_at(FILE *f, int64_t offset, void *bytes, size_t size)
{
    return offset >= 0 && fseeko(f, (off_t)offset, SEEK_SET) == 0 &&
           fread(bytes, 1, size, f) == size;
}

/* ---- the directory ------------------------------------------------------------------------ */

typedef struct directory {
    int64_t offset, size, count;
} directory;

/* ZIP64 keeps large numbers in a separate record before the end record at `end`. */
static bool read_end64(const io_zip *zip, int64_t end, directory *d)
{
    unsigned char b[END64_SIZE];
    if (!read_at(zip->stream, end - LOCATOR_SIZE, b, LOCATOR_SIZE) || number(b, 4) != LOCATOR_MARK)
        return true; /* not a ZIP64 file */
    uint64_t at = number(b + 8, 8);
    if (at > INT64_MAX || !read_at(zip->stream, (int64_t)at, b, END64_SIZE) ||
        number(b, 4) != END64_MARK || number(b + 40, 8) > INT64_MAX ||
        number(b + 48, 8) > INT64_MAX || number(b + 32, 8) > INT64_MAX)
        return false;
    *d = (directory){(int64_t)number(b + 48, 8), (int64_t)number(b + 40, 8),
                     (int64_t)number(b + 32, 8)};
    return true;
}

/* Only a comment of at most 65535 bytes may follow the end record. */
static bool find_directory(tlnmf_ctx *ctx, const io_zip *zip, directory *d)
{
    enum { MOST = END_SIZE + 65535 };
    int64_t size = zip->source->size;
    size_t length = size < MOST ? (size_t)size : MOST;
    unsigned char *tail = malloc(length + 1);
    if (!tail)
        return io_no_memory(ctx, zip->source->name);
    bool read = read_at(zip->stream, size - (int64_t)length, tail, length), found = false;
    for (size_t back = END_SIZE; read && back <= length && !found; back++) {
        const unsigned char *b = tail + length - back;
        found = number(b, 4) == END_MARK;
        if (found) {
            *d = (directory){(int64_t)number(b + 16, 4), (int64_t)number(b + 12, 4),
                             (int64_t)number(b + 10, 2)};
            found = read_end64(zip, size - (int64_t)back, d);
            break;
        }
    }
    free(tail);
    if (!found)
        return damaged(ctx, zip->source, "no directory at its end");
    bool fits =
        d->offset <= size && d->size <= size - d->offset && d->count <= d->size / CENTRAL_SIZE;
    return fits || damaged(ctx, zip->source, "its directory lies outside it");
}

/* Sizes that do not fit 32 bits stand in the extra field number 1, in this order. */
static bool read_extra(const unsigned char *b, size_t length, io_zip_member *m)
{
    int64_t *const wide[] = {&m->size, &m->packed, &m->offset};
    for (size_t at = 0; at + 4 <= length;) {
        size_t size = (size_t)number(b + at + 2, 2), used = at + 4;
        if (number(b + at, 2) == 1)
            for (int i = 0; i < 3; i++)
                if (*wide[i] == (int64_t)IN_ZIP64) {
                    if (used + 8 > at + 4 + size || used + 8 > length ||
                        number(b + used, 8) > INT64_MAX)
                        return false;
                    *wide[i] = (int64_t)number(b + used, 8);
                    used += 8;
                }
        at += 4 + size;
    }
    return true;
}

/* One entry; returns its length, 0 if it is damaged. */
static size_t read_entry(const unsigned char *b, size_t left, io_zip_member *m)
{
    if (left < CENTRAL_SIZE || number(b, 4) != CENTRAL_MARK)
        return 0;
    size_t name = (size_t)number(b + 28, 2), extra = (size_t)number(b + 30, 2);
    size_t length = CENTRAL_SIZE + name + extra + (size_t)number(b + 32, 2);
    if (length > left)
        return 0;
    *m = (io_zip_member){.method = (int)number(b + 10, 2),
                         .crc = (uint32_t)number(b + 16, 4),
                         .packed = (int64_t)number(b + 20, 4),
                         .size = (int64_t)number(b + 24, 4),
                         .offset = (int64_t)number(b + 42, 4)};
    if ((number(b + 8, 2) & 1) != 0)
        m->method = -1; /* encrypted */
    if (!read_extra(b + CENTRAL_SIZE + name, extra, m))
        return 0;
    m->name = strndup((const char *)b + CENTRAL_SIZE, name);
    return length;
}

static bool read_members(tlnmf_ctx *ctx, io_zip *zip, const directory *d,
                         const unsigned char *bytes)
{
    size_t at = 0;
    for (int64_t i = 0; i < d->count; i++) {
        io_zip_member *m = &zip->member[zip->count];
        size_t length = read_entry(bytes + at, (size_t)d->size - at, m);
        if (length == 0)
            return damaged(ctx, zip->source, "its directory cannot be read");
        if (!m->name)
            return io_no_memory(ctx, zip->source->name);
        zip->count++;
        at += length;
    }
    return true;
}

bool io_zip_open(tlnmf_ctx *ctx, const io_source *source, io_zip *zip)
{
    directory d = {0};
    *zip = (io_zip){.source = source, .stream = io_source_stream(ctx, source)};
    if (!zip->stream || !find_directory(ctx, zip, &d))
        return false;
    unsigned char *bytes = io_allocate(d.size, 1);
    zip->member = calloc((size_t)d.count + 1, sizeof *zip->member);
    bool ok = bytes && zip->member;
    if (!ok)
        io_no_memory(ctx, source->name);
    else if (!read_at(zip->stream, d.offset, bytes, (size_t)d.size))
        ok = damaged(ctx, source, "it ends early");
    ok = ok && read_members(ctx, zip, &d, bytes);
    free(bytes);
    return ok;
}

void io_zip_close(io_zip *zip)
{
    for (size_t i = 0; i < zip->count; i++)
        free(zip->member[i].name);
    free(zip->member);
    if (zip->stream)
        fclose(zip->stream);
    *zip = (io_zip){0};
}

/* ---- members ------------------------------------------------------------------------------ */

bool io_inflate(const unsigned char *in, size_t in_size, int window, unsigned char *out,
                uint64_t size)
{
    unsigned char piece[1 << 13];
    z_stream z = {0};
    size_t used = 0;
    uint64_t total = 0;
    int state = inflateInit2(&z, window);
    while (state == Z_OK && total <= size) { /* zlib counts in 32 bits */
        size_t more = in_size - used;
        uint64_t room = out ? size - total : sizeof piece;
        uInt give = more > UINT_MAX ? UINT_MAX : (uInt)more;
        uInt take = room > UINT_MAX ? UINT_MAX : (uInt)room;
        z.next_in = (Bytef *)(uintptr_t)(in + used);
        z.avail_in = give;
        /* cppcheck-suppress legacyUninitvar; inflate() fills it */
        z.next_out = out ? out + total : piece;
        z.avail_out = take;
        state = inflate(&z, Z_NO_FLUSH);
        used += give - z.avail_in;
        total += take - z.avail_out;
        if (state == Z_OK && z.avail_in == give && z.avail_out == take)
            state = Z_BUF_ERROR; /* no progress */
    }
    inflateEnd(&z);
    return state == Z_STREAM_END && total == size;
}

/* Deflate shrinks data by 1032 at most, so a larger ratio is refused at once. */
static bool check_claim(tlnmf_ctx *ctx, const io_zip *zip, const io_zip_member *m)
{
    const io_source *source = zip->source;
    if (m->method != 0 && m->method != 8)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s is %s; use np.savez or np.savez_compressed",
                       source->name, m->name,
                       m->method < 0 ? "encrypted" : "compressed with an unsupported method");
    if (m->packed < 0 || m->packed > source->size || m->size < 0 ||
        (m->method == 0 ? m->size != m->packed : m->size / 1032 > m->packed))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s claims %lld bytes, the file holds %lld of it",
                       source->name, m->name, (long long)m->size, (long long)m->packed);
    return true;
}

static bool read_packed(const io_zip *zip, const io_zip_member *m, unsigned char *bytes)
{
    unsigned char local[LOCAL_SIZE];
    if (!read_at(zip->stream, m->offset, local, LOCAL_SIZE) || number(local, 4) != LOCAL_MARK)
        return false;
    int64_t at =
        m->offset + LOCAL_SIZE + (int64_t)number(local + 26, 2) + (int64_t)number(local + 28, 2);
    return read_at(zip->stream, at, bytes, (size_t)m->packed);
}

static uint32_t checksum(const unsigned char *bytes, size_t size)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, size);
}

bool io_zip_extract(tlnmf_ctx *ctx, const io_zip *zip, const io_zip_member *m,
                    unsigned char **bytes)
{
    const io_source *source = zip->source;
    *bytes = NULL;
    if (!check_claim(ctx, zip, m))
        return false;
    unsigned char *packed = io_allocate(m->packed, 1);
    /* cppcheck-suppress uninitdata; read_packed() fills it */
    unsigned char *plain = m->method == 0 ? packed : io_allocate(m->size, 1);
    bool ok = packed && plain;
    if (!ok)
        io_no_memory(ctx, source->name);
    else if (!read_packed(zip, m, packed) ||
             (plain != packed &&
              !io_inflate(packed, (size_t)m->packed, -MAX_WBITS, plain, (uint64_t)m->size)) ||
             checksum(plain, (size_t)m->size) != m->crc)
        ok = io_fail(ctx, TLNMF_ERR_INPUT, "%s: a damaged .npz file: %s cannot be unpacked",
                     source->name, m->name);
    if (packed != plain)
        free(packed);
    if (ok)
        *bytes = plain;
    else
        free(plain);
    return ok;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The fields that the local header and the directory share: version, flags, method, time (1980, the
 * earliest), checksum, sizes. */
static void put_common(io_buffer *buffer, const char *name, uint32_t crc, size_t size)
{
    io_buffer_add_number(buffer, 20, 2);
    io_buffer_add_number(buffer, 0, 2);
    io_buffer_add_number(buffer, 0, 2);
    io_buffer_add_number(buffer, 0, 2);
    io_buffer_add_number(buffer, 0x21, 2);
    io_buffer_add_number(buffer, crc, 4);
    io_buffer_add_number(buffer, size, 4);
    io_buffer_add_number(buffer, size, 4);
    io_buffer_add_number(buffer, strlen(name), 2);
    io_buffer_add_number(buffer, 0, 2);
}

void io_zip_add(io_zip_out *zip, const char *name, const void *bytes, size_t size)
{
    size_t offset = zip->file.size;
    uint32_t crc = checksum(bytes, size);
    if (size >= IN_ZIP64 || offset + size >= IN_ZIP64) /* 4 GB: larger than any model */
        zip->file.failed = true;
    io_buffer_add_number(&zip->file, LOCAL_MARK, 4);
    put_common(&zip->file, name, crc, size);
    io_buffer_add(&zip->file, name, strlen(name));
    io_buffer_add(&zip->file, bytes, size);
    io_buffer_add_number(&zip->directory, CENTRAL_MARK, 4);
    io_buffer_add_number(&zip->directory, 20, 2);
    put_common(&zip->directory, name, crc, size);
    io_buffer_add_number(&zip->directory, 0, 2); /* comment */
    io_buffer_add_number(&zip->directory, 0, 2); /* disk */
    io_buffer_add_number(&zip->directory, 0, 2);
    io_buffer_add_number(&zip->directory, (uint64_t)0644 << 16, 4); /* rw-r--r-- */
    io_buffer_add_number(&zip->directory, offset, 4);
    io_buffer_add(&zip->directory, name, strlen(name));
    zip->count++;
}

bool io_zip_finish(tlnmf_ctx *ctx, io_zip_out *zip, const char *path)
{
    size_t offset = zip->file.size, size = zip->directory.size;
    io_buffer_add(&zip->file, zip->directory.bytes, size);
    io_buffer_add_number(&zip->file, END_MARK, 4);
    io_buffer_add_number(&zip->file, 0, 4);
    io_buffer_add_number(&zip->file, (uint64_t)zip->count, 2);
    io_buffer_add_number(&zip->file, (uint64_t)zip->count, 2);
    io_buffer_add_number(&zip->file, size, 4);
    io_buffer_add_number(&zip->file, offset, 4);
    io_buffer_add_number(&zip->file, 0, 2);
    zip->file.failed = zip->file.failed || zip->directory.failed;
    free(zip->directory.bytes);
    return io_buffer_publish(ctx, &zip->file, true, path);
}
