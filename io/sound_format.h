/* What reading and writing sound share: bytes that libsndfile reads from or writes to. */
#ifndef TLNMF_IO_SOUND_FORMAT_H
#define TLNMF_IO_SOUND_FORMAT_H

#include "internal.h"

#include <sndfile.h>

/* A file by its descriptor, or bytes in memory when fd < 0. */
typedef struct io_sound_bytes {
    int fd;
    unsigned char *bytes;
    int64_t size, capacity, at; /* of the bytes in memory */
    int why;                    /* errno of the first write that failed, or 0 */
} io_sound_bytes;

/* Calls of libsndfile on an io_sound_bytes. */
SNDFILE *io_sound_bytes_open(io_sound_bytes *bytes, int mode, SF_INFO *info);

#endif
