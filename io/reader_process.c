/* The reader process: reads a foreign file under limits and returns a packed record. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

char *io_spec_file(const char *spec, int64_t *size)
{
    struct stat st;
    char *path = strdup(spec);

    if (path && stat(path, &st) != 0) {
        path[tlnmf_io_file_length(spec)] = '\0';
        if (stat(path, &st) != 0) {
            free(path);
            path = NULL;
        }
    }
    *size = path && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    return path;
}

tlnmf_error io_read_kind(tlnmf_ctx *ctx, const char *kind, const char *spec, tlnmf_record **out)
{
    int axis, end = 0;
    long long first, count;

    if (strcmp(kind, "array") == 0)
        return tlnmf_io_read_array(ctx, spec, out);
    /* NOLINTNEXTLINE(cert-err34-c): numbers out of range are ranges out of range */
    if (sscanf(kind, "slice %d %lld %lld%n", &axis, &first, &count, &end) == 3 && !kind[end])
        return tlnmf_io_read_slice(ctx, spec, axis, first, count, out);
    if (strcmp(kind, "model") == 0)
        return tlnmf_io_read_model(ctx, spec, out);
    if (strcmp(kind, "describe") == 0)
        return tlnmf_io_describe(ctx, spec, out);
    *out = NULL;
    return io_refuse(ctx, TLNMF_ERR_ARGUMENT,
                     "kind = %s is not array, slice AXIS FIRST COUNT, model or describe", kind);
}

static bool send_record(tlnmf_ctx *ctx, const tlnmf_record *record)
{
    size_t size = 0;

    if (tlnmf_record_pack(ctx, record, NULL, &size) != TLNMF_OK ||
        ftruncate(IO_APART_FILE, (off_t)size) != 0)
        return false;
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, IO_APART_FILE, 0);
    if (bytes == MAP_FAILED)
        return false;
    bool ok = tlnmf_record_pack(ctx, record, bytes, &size) == TLNMF_OK;
    munmap(bytes, size);
    return ok;
}

static bool send_error(tlnmf_ctx *ctx, tlnmf_error error, tlnmf_record **record)
{
    return tlnmf_record_create(ctx, record) == TLNMF_OK &&
           tlnmf_record_set_integer(ctx, *record, "error", (int64_t)error) == TLNMF_OK &&
           tlnmf_record_set_text(ctx, *record, "message", tlnmf_message(ctx)) == TLNMF_OK &&
           send_record(ctx, *record);
}

/* Sends the progress to the client. A full pipe loses some of it. */
static int tell(const tlnmf_record *progress, void *user)
{
    const double part[2] = {tlnmf_record_get_real(progress, "iteration"),
                            tlnmf_record_get_real(progress, "iterations")};

    (void)user;
    return write(IO_APART_PIPE, part, sizeof part) < 0 && errno == EPIPE;
}

int tlnmf_io_serve(const char *what, const char *spec)
{
    enum { BROKEN = 2 };
    int64_t size;
    tlnmf_ctx *ctx;
    tlnmf_record *record = NULL;

    if (what == NULL || spec == NULL)
        return IO_APART_READ; /* without a record, which the client reports */
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return BROKEN;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a pipe may never have a writer */
#endif
    fcntl(IO_APART_PIPE, F_SETFL, O_NONBLOCK);
    tlnmf_ctx_set_progress(ctx, tell, NULL);
    free(io_spec_file(spec, &size));
    io_confine(size);
    tlnmf_error error = io_read_kind(ctx, what, spec, &record);
    int code = BROKEN;
    errno = 0;
    if (error == TLNMF_OK && send_record(ctx, record))
        code = IO_APART_READ;
    else {
        bool limited = error == TLNMF_OK && errno == EFBIG;
        tlnmf_record_free(record);
        record = NULL;
        if (limited)
            error = io_refuse(ctx, TLNMF_ERR_INPUT,
                              "%s: cannot be read: its contents exceed the limit on the size of "
                              "files (ulimit -f)",
                              spec);
        if (send_error(ctx, error == TLNMF_OK ? TLNMF_ERR_MEMORY : error, &record))
            code = IO_APART_FAILED;
    }
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
    return code;
}
