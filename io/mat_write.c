/* Models as .mat files of version 5, which MATLAB, Octave, scipy, Julia and R read: variables Phi,
 * W, H, .., and the text summary. */
#include "files.h"

#include <stdlib.h>
#include <string.h>

/* Types of elements and classes of arrays, as the format numbers them. */
enum { INT8 = 1, UINT16 = 4, INT32 = 5, UINT32 = 6, DOUBLE = 9, MATRIX = 14 };
enum { CLASS_CHAR = 4, CLASS_DOUBLE = 6 };

/* Elements are padded to a multiple of 8 bytes. */
static uint64_t padded(uint64_t size)
{
    return (size + 7) / 8 * 8;
}

static void put_element(io_buffer *buffer, int type, const void *bytes, size_t size)
{
    static const unsigned char zeros[8];

    io_buffer_add_number(buffer, (uint64_t)type, 4);
    io_buffer_add_number(buffer, size, 4);
    io_buffer_add(buffer, bytes, size);
    io_buffer_add(buffer, zeros, (size_t)(padded(size) - size));
}

/* A variable without its data, which have `data` bytes. MATLAB needs at least two dimensions. */
static void put_variable(io_buffer *buffer, const char *name, int class, int ndim,
                         const int64_t *dim, uint64_t data)
{
    io_buffer sizes = {0}, flags = {0};

    for (int d = 0; d < ndim; d++)
        io_buffer_add_number(&sizes, (uint64_t)dim[d], 4);
    io_buffer_add_number(&flags, (uint64_t) class, 8);
    uint64_t total = 8 + 8 + 8 + padded(sizes.size) + 8 + padded(strlen(name)) + 8 + padded(data);
    buffer->failed = buffer->failed || sizes.failed || flags.failed || total > INT32_MAX;
    io_buffer_add_number(buffer, MATRIX, 4);
    io_buffer_add_number(buffer, total, 4);
    put_element(buffer, UINT32, flags.bytes, flags.size);
    put_element(buffer, INT32, sizes.bytes, sizes.size);
    put_element(buffer, INT8, name, strlen(name));
    free(sizes.bytes);
    free(flags.bytes);
}

static void put(void *file, const char *name, const io_array *array)
{
    io_buffer *buffer = file;
    int64_t dim[IO_MAX_DIM] = {1, 1};
    int64_t count = io_count(array->ndim, array->dim);

    for (int d = 0; d < array->ndim; d++)
        dim[d] = array->dim[d];
    put_variable(buffer, name, CLASS_DOUBLE, array->ndim < 2 ? 2 : array->ndim, dim,
                 8 * (uint64_t)count);
    io_buffer_add_number(buffer, DOUBLE, 4);
    io_buffer_add_number(buffer, 8 * (uint64_t)count, 4);
    io_walk walk; /* columns first */
    io_walk_start(&walk, array->ndim, array->dim);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &array->x[io_walk_next(&walk)], 8);
        io_buffer_add_number(buffer, bits, 8);
    }
}

static void put_text(io_buffer *buffer, const char *text)
{
    const int64_t dim[] = {1, (int64_t)strlen(text)};
    io_buffer wide = {0};

    for (const char *c = text; *c; c++)
        io_buffer_add_number(&wide, (unsigned char)*c, 2);
    buffer->failed = buffer->failed || wide.failed;
    put_variable(buffer, "summary", CLASS_CHAR, 2, dim, wide.size);
    put_element(buffer, UINT16, wide.bytes, wide.size);
    free(wide.bytes);
}

bool io_mat_model_write(tlnmf_ctx *ctx, const char *path, const io_model *model)
{
    static const char words[] = "MATLAB 5.0 MAT-file, a model of tlnmf";
    io_buffer buffer = {0};
    char text[124];

    memset(text, ' ', sizeof text);
    memcpy(text, words, sizeof words - 1);
    memset(text + 116, 0, 8);
    io_buffer_add(&buffer, text, sizeof text);
    io_buffer_add(&buffer, "\x00\x01IM", 4); /* version 1.0, little endian */
    io_model_put_flat(model, put, &buffer);
    put_text(&buffer, model->text);
    return io_buffer_publish(ctx, &buffer, true, path);
}
