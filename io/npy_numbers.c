/* Reads the numbers of .npy files: conversion to double, column-major order, threads. */
#include "npy.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Half precision: 1 sign, 5 exponent, 10 fraction bits. */
static double decode_half(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double sign = bits >> 15 ? -1.0 : 1.0;

    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

#define SWAP(type, swap)                                                \
    for (int64_t i = 0; i < count; i++) {                               \
        type number;                                                    \
        memcpy(&number, p + i * (int64_t)sizeof number, sizeof number); \
        number = swap(number);                                          \
        memcpy(p + i * (int64_t)sizeof number, &number, sizeof number); \
    }                                                                   \
    break

static void swap_bytes(unsigned char *p, int64_t count, int size)
{
    switch (size) {
    case 2:
        SWAP(uint16_t, __builtin_bswap16);
    case 4:
        SWAP(uint32_t, __builtin_bswap32);
    case 8:
        SWAP(uint64_t, __builtin_bswap64);
    default:
        break;
    }
}

/* Integers beyond 2^53 are rounded to the nearest double. */
#define CONVERT(type, value)                                            \
    for (int64_t i = 0; i < count; i++) {                               \
        type number;                                                    \
        memcpy(&number, p + i * (int64_t)sizeof number, sizeof number); \
        x[i] = (value);                                                 \
    }                                                                   \
    break

/* Converts numbers as they are in the file, which may be overwritten. */
static void decode(const io_npy_header *h, int64_t count, unsigned char *p, double *x)
{
    if (h->big != HOST_IS_BIG)
        swap_bytes(p, count, h->size);
    switch (h->kind << 4 | h->size) {
    case 'f' << 4 | 2:
        CONVERT(uint16_t, decode_half(number));
    case 'f' << 4 | 4:
        CONVERT(float, (double)number);
    case 'f' << 4 | 8:
        CONVERT(double, number);
    case 'i' << 4 | 1:
        CONVERT(int8_t, (double)number);
    case 'i' << 4 | 2:
        CONVERT(int16_t, (double)number);
    case 'i' << 4 | 4:
        CONVERT(int32_t, (double)number);
    case 'i' << 4 | 8:
        CONVERT(int64_t, (double)number);
    case 'u' << 4 | 1:
        CONVERT(uint8_t, (double)number);
    case 'u' << 4 | 2:
        CONVERT(uint16_t, (double)number);
    case 'u' << 4 | 4:
        CONVERT(uint32_t, (double)number);
    case 'u' << 4 | 8:
        CONVERT(uint64_t, (double)number);
    default: /* 'b' */
        CONVERT(uint8_t, number != 0);
    }
}

/* Numbers on their way from the file to x. Threads take PIECE units of work at a time. A unit is
 * NUMBERS numbers of an array in C order, or a tile of one in column-major order. */
typedef struct reading {
    io_npy_numbers in;
    int64_t count;
    /* Column-major order: the index of the last axis is the column, all others are the row. */
    int64_t rows, columns, stride[IO_MAX_DIM];
    int64_t tile_rows, tile_columns;
    int64_t units;
    atomic_llong done; /* units */
    pthread_t caller;  /* the thread that polls */
    atomic_int why;    /* it failed: errno, or one of the following */
} reading;

enum { PIECE = 8, NUMBERS = 1 << 15, ENDS_EARLY = -1, STOPPED = -2 };

static bool read_bytes(reading *r, int64_t from, int64_t size, void *to)
{
    if (r->in.source->bytes) {
        memcpy(to, r->in.source->bytes + from, (size_t)size);
        return true;
    }
    while (size > 0) {
        ssize_t n = pread(r->in.fd, to, (size_t)size, (off_t)from);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            atomic_store(&r->why, n < 0 ? errno : ENDS_EARLY);
            return false;
        }
        from += n;
        size -= n;
        to = (unsigned char *)to + n;
    }
    return true;
}

/* Reads numbers `at` .. at + count - 1 of the range, in the order of the file. */
static bool fetch(reading *r, int64_t at, int64_t count, unsigned char *to)
{
    const io_runs *runs = &r->in.runs;
    int64_t size = r->in.h->size;

    for (int64_t n; count > 0; at += n, count -= n, to += n * size) {
        int64_t run = at / runs->length, inside = at % runs->length;
        n = count < runs->length - inside ? count : runs->length - inside;
        int64_t from = r->in.start + (runs->offset + run * runs->stride + inside) * size;
        if (!read_bytes(r, from, n * size, to))
            return false;
    }
    return true;
}

/* The place in C order of the first number of a row. */
static int64_t place_of_row(const reading *r, int64_t row)
{
    int64_t place = 0;

    for (int d = 0; d < IO_MAX_DIM && row > 0; d++) {
        place += row % r->in.dim[d] * r->stride[d];
        row /= r->in.dim[d];
    }
    return place;
}

/* Writes a tile, whose columns are `pitch` apart, to x. A cache line of a column has 8 rows. */
static void transpose(const reading *r, const double *tile, int64_t pitch, const int64_t at[2],
                      const int64_t size[2])
{
    enum { LINE = 8 };
    double *row[LINE];

    for (int64_t i = 0; i < size[0]; i += LINE) {
        int64_t rows = size[0] - i < LINE ? size[0] - i : LINE;
        for (int64_t k = 0; k < rows; k++)
            row[k] = r->in.x + place_of_row(r, at[0] + i + k) + at[1];
        for (int64_t j = 0; j < size[1]; j++)
            for (int64_t k = 0; k < rows; k++)
                row[k][j] = tile[j * pitch + i + k];
    }
}

static void read_tile(reading *r, int64_t unit, unsigned char *room)
{
    int64_t down = (r->rows + r->tile_rows - 1) / r->tile_rows;
    int64_t at[2] = {unit % down * r->tile_rows, unit / down * r->tile_columns}, size[2];
    int64_t pitch = r->tile_rows + 8; /* not a power of 2, for the cache */
    double *tile = (double *)(void *)(room + r->tile_rows * 8);

    size[0] = r->rows - at[0] < r->tile_rows ? r->rows - at[0] : r->tile_rows;
    size[1] = r->columns - at[1] < r->tile_columns ? r->columns - at[1] : r->tile_columns;
    for (int64_t j = 0; j < size[1]; j++) {
        if (!fetch(r, (at[1] + j) * r->rows + at[0], size[0], room))
            return;
        decode(r->in.h, size[0], room, tile + j * pitch);
    }
    transpose(r, tile, pitch, at, size);
}

static void read_plain(reading *r, int64_t unit, unsigned char *room)
{
    const io_npy_header *h = r->in.h;
    int64_t at = unit * NUMBERS, n = r->count - at < NUMBERS ? r->count - at : NUMBERS;
    bool is_double = h->kind == 'f' && h->size == 8 && h->big == HOST_IS_BIG;
    unsigned char *to = is_double ? (unsigned char *)(r->in.x + at) : room;

    if (fetch(r, at, n, to) && !is_double)
        decode(h, n, room, r->in.x + at);
}

static void read_piece(int64_t piece, void *arg)
{
    reading *r = arg;
    int64_t end = (piece + 1) * PIECE < r->units ? (piece + 1) * PIECE : r->units;
    int64_t tile = r->tile_rows + (r->tile_rows + 8) * r->tile_columns, total = r->count;
    unsigned char *room =
        malloc((size_t)(r->in.h->fortran ? tile * 8 : (int64_t)NUMBERS * r->in.h->size));

    if (!room)
        atomic_store(&r->why, ENOMEM);
    for (int64_t unit = piece * PIECE; unit < end && !atomic_load(&r->why); unit++) {
        (r->in.h->fortran ? read_tile : read_plain)(r, unit, room);
        double part = (double)(atomic_fetch_add(&r->done, 1) + 1) / (double)r->units;
        if (pthread_equal(r->caller, pthread_self()) &&
            tlnmf_poll(r->in.ctx, "read", part * (double)total * r->in.h->size,
                       (double)total * r->in.h->size) != 0)
            atomic_store(&r->why, STOPPED);
    }
    free(room);
}

/* Cuts the array into units. */
static void cut(reading *r)
{
    enum { COLUMNS = 64, TILE = 2 * NUMBERS }; /* 512 bytes of a row of the result */
    int last = r->in.h->ndim - 1;

    r->units = (r->count + NUMBERS - 1) / NUMBERS;
    if (!r->in.h->fortran)
        return;
    r->stride[last] = 1;
    for (int d = last; d > 0; d--)
        r->stride[d - 1] = r->stride[d] * r->in.dim[d];
    while (last > 0 && r->in.dim[last] == 1)
        last--;
    r->columns = r->in.dim[last];
    r->rows = r->count / r->columns;
    r->tile_columns = r->rows < TILE / COLUMNS ? TILE / r->rows : COLUMNS;
    if (r->tile_columns > r->columns)
        r->tile_columns = r->columns;
    r->tile_rows = r->rows < TILE / r->tile_columns ? r->rows : TILE / r->tile_columns;
    r->units = (r->rows + r->tile_rows - 1) / r->tile_rows *
               ((r->columns + r->tile_columns - 1) / r->tile_columns);
}

bool io_npy_read_numbers(const io_npy_numbers *in)
{
    reading all = {.in = *in, .caller = pthread_self()}, *r = &all;
    const char *name = in->source->name;

    if (r->in.runs.length == 0 || r->in.runs.runs == 0) /* strides of an empty array may overflow */
        return true;
    r->count = r->in.runs.runs * r->in.runs.length;
    cut(r);
    if (tlnmf_parallel(r->in.ctx, (r->units + PIECE - 1) / PIECE, read_piece, r) != TLNMF_OK)
        return false;
    int why = atomic_load(&r->why);
    if (why == STOPPED)
        return io_stopped(r->in.ctx, name);
    if (why == ENOMEM)
        return io_no_memory(r->in.ctx, name);
    return why == 0 || io_fail(r->in.ctx, TLNMF_ERR_INPUT, "%s: %s", name,
                               why == ENDS_EARLY ? "the file ends early" : strerror(why));
}
