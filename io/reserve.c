/* Space on the disk, found before a long run: a file without a name that holds it. */
#define _GNU_SOURCE /* fallocate; NOLINT(bugprone-reserved-identifier) */
#include "api.h"
#include "internal.h"

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
    /* fallocate does not look at this one. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)bytes > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
#ifdef FALLOC_FL_KEEP_SIZE
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0)
        return true;
    /* Where it is not supported nothing is known, which is no reason to fail. */
    return errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EIO;
#else
    (void)fd;
    return true;
#endif
}

struct tlnmf_io_reservation {
    io_output output; /* its temporary is unlinked already: it goes with the process */
};

/* The temporary beside the target says whether the target can be written; its name is not needed
 * longer. */
static bool open_and_reserve(const char *path, int64_t bytes, io_output *output, io_error *err)
{
    if (!io_output_open(path, output, err))
        return false;
    if (!output->temporary)
        return true;
    unlink(output->temporary);
    free(output->temporary);
    output->temporary = NULL;
    if (io_reserve(output->fd, bytes))
        return true;
    io_output_set_error(output, errno, err);
    io_output_abort(output);
    return false;
}

tlnmf_error tlnmf_io_reserve(tlnmf_ctx *ctx, const char *path, int64_t bytes,
                             tlnmf_io_reservation **out)
{
    io_error err;

    IO_NEED(ctx, out);
    *out = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    if (bytes < 0)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "bytes = %lld", (long long)bytes);
    tlnmf_io_reservation *made = calloc(1, sizeof *made);
    if (made == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", path);
    tlnmf_error error = io_answer(ctx, open_and_reserve(path, bytes, &made->output, &err), &err);
    if (error == TLNMF_OK) {
        made->output.path = made->output.name = NULL; /* the caller's */
        *out = made;
    } else
        free(made);
    return error;
}

void tlnmf_io_release(tlnmf_io_reservation *reservation)
{
    if (reservation == NULL)
        return;
    io_output_abort(&reservation->output);
    free(reservation);
}
