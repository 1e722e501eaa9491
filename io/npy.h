/* The two parts of the reader of .npy files: headers (npy.c) and numbers (npy_numbers.c). */
#ifndef TLNMF_IO_NPY_H
#define TLNMF_IO_NPY_H

#include "files.h"

enum { HOST_IS_BIG = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

typedef struct io_npy_header {
    char kind; /* 'f' float, 'i' integer, 'u' unsigned, 'b' bool */
    int size;  /* bytes of an element */
    bool big;  /* most significant byte first */
    bool fortran;
    int ndim;
    int64_t dim[IO_LIST_DIM];
    int64_t count;
} io_npy_header;

/* Numbers of a file that go to x, in C order. */
typedef struct io_npy_numbers {
    tlnmf_ctx *ctx;
    const io_source *source;
    const io_npy_header *h;
    int fd;        /* unless the source has bytes */
    int64_t start; /* of the first number in the source, in bytes */
    io_runs runs;
    const int64_t *dim; /* the shape of the result */
    double *x;
} io_npy_numbers;

bool io_npy_read_numbers(const io_npy_numbers *in);

#endif
