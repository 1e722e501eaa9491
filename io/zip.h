/* ZIP archives as far as .npz files need them: stored and deflated members, ZIP64. */
#ifndef TLNMF_IO_ZIP_H
#define TLNMF_IO_ZIP_H

#include "files.h"

typedef struct io_zip_member {
    char *name;
    int method; /* 0 stored, 8 deflated */
    uint32_t crc;
    int64_t packed, size, offset; /* bytes in the file, bytes of the member, of its local header */
} io_zip_member;

typedef struct io_zip {
    const io_source *source;
    FILE *stream;
    size_t count;
    io_zip_member *member;
} io_zip;

/* Reads the directory. Call io_zip_close() afterwards, even if this fails. */
bool io_zip_open(tlnmf_ctx *ctx, const io_source *source, io_zip *zip);
void io_zip_close(io_zip *zip);
/* The bytes of a member, checked against its checksum; free(*bytes) when done. */
bool io_zip_extract(tlnmf_ctx *ctx, const io_zip *zip, const io_zip_member *member,
                    unsigned char **bytes);

/* An archive under construction: members are stored, without times, so that the same members give
 * the same bytes. */
typedef struct io_zip_out {
    io_buffer file, directory;
    int count;
} io_zip_out;
void io_zip_add(io_zip_out *zip, const char *name, const void *bytes, size_t size);
/* Publishes the archive and frees everything. */
bool io_zip_finish(tlnmf_ctx *ctx, io_zip_out *zip, const char *path);

#endif
