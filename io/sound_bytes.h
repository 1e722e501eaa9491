/* Virtual files for libsndfile, for reading and writing sound. */
#ifndef TLNMF_IO_SOUND_BYTES_H
#define TLNMF_IO_SOUND_BYTES_H

#include "files.h"

#include <sndfile.h>

/* A file by its descriptor, or bytes in memory when fd < 0. */
typedef struct io_sound_bytes {
    int fd;
    unsigned char *bytes;
    int64_t size, capacity, at; /* of the bytes in memory */
    int why;                    /* errno of the first write that failed, or 0 */
} io_sound_bytes;

/* Opens it with libsndfile; NULL on failure. */
SNDFILE *io_sound_bytes_open(io_sound_bytes *bytes, int mode, SF_INFO *info);

#endif
