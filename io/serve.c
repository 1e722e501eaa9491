/* The reading end: reads a foreign file under limits and hands over a packed record. */
#include "apart.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The size of the file that a spec names, or -1 if it is not a regular one. */
static int64_t size_of(const char *spec)
{
    struct stat st;
    const char *colon = strrchr(spec, ':');
    char *path = strdup(spec);
    bool ok = path && stat(path, &st) == 0;

    if (!ok && path && colon) {
        path[colon - spec] = '\0';
        ok = stat(path, &st) == 0;
    }
    free(path);
    return ok && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
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

static bool hand_over(tlnmf_ctx *ctx, const tlnmf_record *record)
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

static bool hand_over_error(tlnmf_ctx *ctx, tlnmf_error error, tlnmf_record **record)
{
    return tlnmf_record_create(ctx, record) == TLNMF_OK &&
           tlnmf_set_integer(ctx, *record, "error", (int64_t)error) == TLNMF_OK &&
           tlnmf_set_text(ctx, *record, "message", tlnmf_message(ctx)) == TLNMF_OK &&
           hand_over(ctx, *record);
}

int tlnmf_io_serve(const char *what, const char *spec)
{
    enum { BROKEN = 2 };
    tlnmf_ctx *ctx;
    tlnmf_record *record = NULL;

    if (what == NULL || spec == NULL)
        return IO_APART_READ; /* of nothing, as the asker will find */
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return BROKEN;
    io_confine(size_of(spec));
    tlnmf_error error = io_read_kind(ctx, what, spec, &record);
    int code = BROKEN;
    if (error == TLNMF_OK && hand_over(ctx, record))
        code = IO_APART_READ;
    else {
        tlnmf_record_free(record);
        record = NULL;
        if (hand_over_error(ctx, error == TLNMF_OK ? TLNMF_ERR_MEMORY : error, &record))
            code = IO_APART_FAILED;
    }
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
    return code;
}
