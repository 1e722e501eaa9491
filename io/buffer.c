/* Bytes that grow, for files that are put together in memory. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

void io_buffer_add(io_buffer *buffer, const void *bytes, size_t size)
{
    if (size > buffer->capacity - buffer->size && !buffer->failed) {
        size_t capacity = buffer->size + size + buffer->capacity + 256;
        unsigned char *larger = realloc(buffer->bytes, capacity);
        buffer->failed = !larger;
        if (larger) {
            buffer->bytes = larger;
            buffer->capacity = capacity;
        }
    }
    if (buffer->failed || size == 0)
        return;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

bool io_buffer_publish(io_buffer *buffer, bool ok, const char *path, io_error *err)
{
    if (ok)
        ok = buffer->failed ? io_no_memory(err, path)
                            : io_publish(path, buffer->bytes, buffer->size, err);
    free(buffer->bytes);
    *buffer = (io_buffer){0};
    return ok;
}
