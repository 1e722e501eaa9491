/* ZIP archives, as far as .npz files are ones: stored and deflated members, ZIP64. */
#ifndef TLNMF_IO_ZIP_H
#define TLNMF_IO_ZIP_H

#include "internal.h"

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

/* Reads the directory; io_zip_close() frees what there is in either case. */
bool io_zip_open(const io_source *source, io_zip *zip, io_error *err);
void io_zip_close(io_zip *zip);
/* The bytes of a member, checked against its checksum; free(*bytes) when done. */
bool io_zip_extract(const io_zip *zip, const io_zip_member *member, unsigned char **bytes,
                    io_error *err);

/* An archive under construction: members are stored, without times, so that the same members give
 * the same bytes. */
typedef struct io_zip_out {
    io_buffer file, directory;
    int count;
} io_zip_out;
void io_zip_add(io_zip_out *zip, const char *name, const void *bytes, size_t size);
/* Publishes the archive and frees everything. */
bool io_zip_finish(io_zip_out *zip, const char *path, io_error *err);

#endif
