/* Reserves disk space before a long run, in a file without a name. */
#define _GNU_SOURCE /* fallocate; NOLINT(bugprone-reserved-identifier) */
#include "files.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

bool io_reserve(int fd, int64_t bytes)
{
    struct rlimit limit;

    if (bytes <= 0)
        return true;
    /* fallocate ignores this limit. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)bytes > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
#ifdef FALLOC_FL_KEEP_SIZE
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0)
        return true;
    /* Other errors mean that the file system does not support it. */
    return errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EIO;
#else
    (void)fd;
    return true;
#endif
}

struct tlnmf_io_reservation {
    io_output output; /* its temporary file is unlinked, so it ends with the process */
};

/* Creating the temporary file next to the target shows whether the target can be written. Its name
 * is not needed after that. */
tlnmf_error tlnmf_io_reserve(tlnmf_ctx *ctx, const char *path, int64_t bytes,
                             tlnmf_io_reservation **out)
{
    IO_NEED_OUT(ctx, out, path);
    if (bytes < 0)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "bytes = %lld", (long long)bytes);
    tlnmf_io_reservation *made = calloc(1, sizeof *made);
    if (made == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    io_output *output = &made->output;
    bool ok = io_output_open(ctx, path, output);
    if (ok && output->temporary) {
        unlink(output->temporary);
        free(output->temporary);
        output->temporary = NULL;
        ok = io_reserve(output->fd, bytes) || io_output_failed(ctx, output, errno);
    }
    if (ok) {
        output->path = output->name = NULL; /* the caller's */
        *out = made;
    } else
        tlnmf_io_release(made);
    return io_end(ctx, ok);
}

void tlnmf_io_release(tlnmf_io_reservation *reservation)
{
    if (reservation == NULL)
        return;
    io_output_abort(&reservation->output);
    free(reservation);
}
