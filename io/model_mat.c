/* Models as .mat files of version 5, which MATLAB, Octave, scipy, Julia and R read: variables Phi,
 * W, H, .., and the text summary. Reading goes through matio; writing is a header and elements. */
#include "mat.h"
#include "model.h"

#include <hdf5.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------ */

/* Types of elements and classes of arrays, as the format numbers them. */
enum { INT8 = 1, UINT16 = 4, INT32 = 5, UINT32 = 6, DOUBLE = 9, MATRIX = 14 };
enum { CLASS_CHAR = 4, CLASS_DOUBLE = 6 };

static void put_number(io_buffer *buffer, uint64_t x, int size)
{
    unsigned char b[8];

    for (int i = 0; i < size; i++)
        b[i] = (unsigned char)(x >> 8 * i);
    io_buffer_add(buffer, b, (size_t)size);
}

/* Elements are filled up to 8 bytes. */
static uint64_t padded(uint64_t size)
{
    return (size + 7) / 8 * 8;
}

static void put_element(io_buffer *buffer, int type, const void *bytes, size_t size)
{
    static const unsigned char zeros[8];

    put_number(buffer, (uint64_t)type, 4);
    put_number(buffer, size, 4);
    io_buffer_add(buffer, bytes, size);
    io_buffer_add(buffer, zeros, (size_t)(padded(size) - size));
}

/* All of a variable but its data, which have `data` bytes; the sizes are at least a matrix. */
static void put_variable(io_buffer *buffer, const char *name, int class, int ndim,
                         const int64_t *dim, uint64_t data)
{
    io_buffer sizes = {0}, flags = {0};

    for (int d = 0; d < ndim; d++)
        put_number(&sizes, (uint64_t)dim[d], 4);
    put_number(&flags, (uint64_t) class, 8);
    uint64_t total = 8 + 8 + 8 + padded(sizes.size) + 8 + padded(strlen(name)) + 8 + padded(data);
    buffer->failed = buffer->failed || sizes.failed || flags.failed || total > INT32_MAX;
    put_number(buffer, MATRIX, 4);
    put_number(buffer, total, 4);
    put_element(buffer, UINT32, flags.bytes, flags.size);
    put_element(buffer, INT32, sizes.bytes, sizes.size);
    put_element(buffer, INT8, name, strlen(name));
    free(sizes.bytes);
    free(flags.bytes);
}

static bool put(io_parts_out *out, const char *name, const io_array *array)
{
    io_buffer *buffer = out->file;
    int64_t dim[IO_MAX_DIM] = {1, 1};
    int ndim = array->ndim < 2 ? 2 : array->ndim;
    int64_t count = io_count(array->ndim, array->dim);

    for (int d = 0; d < array->ndim; d++)
        dim[d] = array->dim[d];
    put_variable(buffer, name, CLASS_DOUBLE, ndim, dim, 8 * (uint64_t)count);
    put_number(buffer, DOUBLE, 4);
    put_number(buffer, 8 * (uint64_t)count, 4);
    io_walk walk; /* columns first */
    io_walk_start(&walk, array->ndim, array->dim);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &array->x[io_walk_next(&walk)], 8);
        put_number(buffer, bits, 8);
    }
    return !buffer->failed;
}

static bool put_text(io_parts_out *out, const char *text)
{
    io_buffer *buffer = out->file;
    size_t length = strlen(text);
    const int64_t dim[] = {1, (int64_t)length};
    static const unsigned char zeros[8];

    put_variable(buffer, "summary", CLASS_CHAR, 2, dim, 2 * length);
    put_number(buffer, UINT16, 4);
    put_number(buffer, 2 * length, 4);
    for (size_t i = 0; i < length; i++)
        put_number(buffer, (unsigned char)text[i], 2);
    io_buffer_add(buffer, zeros, (size_t)(padded(2 * length) - 2 * length));
    return !buffer->failed;
}

static bool finish(io_parts_out *out, bool ok, const char *path, io_error *err)
{
    io_buffer *buffer = out->file;

    buffer->failed = buffer->failed || !ok;
    return io_buffer_publish(buffer, true, path, err);
}

bool io_mat_model_write(const char *path, const io_model *model, io_error *err)
{
    static const char words[] = "MATLAB 5.0 MAT-file, a model of tlnmf";
    io_buffer buffer = {0};
    io_parts_out out = {put, put_text, finish, &buffer};
    char text[124];

    memset(text, ' ', sizeof text);
    memcpy(text, words, sizeof words - 1);
    memset(text + 116, 0, 8);
    io_buffer_add(&buffer, text, sizeof text);
    io_buffer_add(&buffer, "\x00\x01IM", 4); /* version 1.0, little endian */
    return io_model_write_parts(path, model, &out, err);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* One byte a character, whatever MATLAB made of it: JSON of ours is ASCII. */
static char *text_of(const matvar_t *var)
{
    size_t count = var->data_size > 0 ? var->nbytes / (size_t)var->data_size : 0;
    char *text = calloc(count + 1, 1);

    for (size_t i = 0; text && i < count; i++)
        text[i] = var->data_size == 2 ? (char)((const uint16_t *)var->data)[i]
                                      : ((const char *)var->data)[i];
    return text;
}

bool io_mat_summary(const io_source *source, char **text, io_error *err)
{
    bool ok = true;

    *text = NULL;
    H5E_BEGIN_TRY
    {
        mat_t *mat = io_mat_open(source, err);
        matvar_t *var = mat ? Mat_VarRead(mat, "summary") : NULL;
        ok = mat != NULL;
        if (var && var->class_type == MAT_C_CHAR && var->data && var->data_size <= 2) {
            *text = text_of(var);
            ok = *text || io_no_memory(err, source->name);
        }
        Mat_VarFree(var);
        if (mat)
            Mat_Close(mat);
    }
    H5E_END_TRY
    return ok;
}

bool io_mat_model_read(const io_source *source, io_model *model, io_error *err)
{
    io_parts_in in = {.list = io_mat_list, .read = io_mat_read, .text = io_mat_summary};

    return io_model_read_parts(source, &in, model, err);
}
