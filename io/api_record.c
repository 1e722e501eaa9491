/* Public functions: packed records as files, such as checkpoints. */
#include "api.h"
#include "internal.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

tlnmf_error tlnmf_io_write_record(tlnmf_ctx *ctx, const char *path, const tlnmf_record *record)
{
    io_error err;
    size_t size = 0;

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, record);
    IO_TRY(tlnmf_record_pack(ctx, record, NULL, &size));
    unsigned char *bytes = malloc(size);
    if (bytes == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory for %zu bytes", path, size);
    tlnmf_error error = tlnmf_record_pack(ctx, record, bytes, &size);
    if (error == TLNMF_OK)
        error = io_answer(ctx, io_publish(path, bytes, size, &err), &err);
    free(bytes);
    return error;
}

tlnmf_error tlnmf_io_read_record(tlnmf_ctx *ctx, const char *path, tlnmf_record **out)
{
    io_error err;
    unsigned char *bytes;
    size_t size;

    IO_NEED(ctx, out);
    *out = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_TRY(io_answer(ctx, io_slurp(path, &bytes, &size, &err), &err));
    tlnmf_error error = tlnmf_record_unpack(ctx, bytes, size, out);
    free(bytes);
    if (error == TLNMF_ERR_DATA)
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: no record, or damaged or cut short", path);
    return error;
}

void tlnmf_io_remove(const char *path)
{
    struct stat status;

    if (path == NULL)
        return;
    if (lstat(path, &status) == 0 && (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)))
        unlink(path); /* never a device, which root could remove */
    io_remove_stale_of(path);
}
