/* Shapes of arrays: memory, ranges of an axis, conversion from column-major to C order. */
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

int64_t io_count(int ndim, const int64_t *dim)
{
    int64_t count = 1;

    /* An array with a zero dimension is empty, even if the other dimensions overflow. */
    for (int d = 0; d < ndim; d++)
        if (dim[d] == 0)
            return 0;
    for (int d = 0; d < ndim; d++) {
        if (dim[d] <= 0 || count > INT64_MAX / dim[d])
            return -1;
        count *= dim[d];
    }
    return count;
}

static double physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    double most = (double)(SIZE_MAX / 2); /* 32-bit programs address less than the machine has */

    return pages > 0 && size > 0 ? fmin((double)pages * (double)size, most) : most;
}

void *io_allocate(int64_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - size
               ? NULL
               : malloc(bytes + size);
}

double *io_array_new(tlnmf_ctx *ctx, const io_target *to, const char *file, int ndim,
                     const int64_t *dim)
{
    int64_t count = io_count(ndim, dim);
    double have = physical_memory(), need = 8 * (double)count, *x = NULL;
    tlnmf_error error = TLNMF_OK;

    if (need > have)
        io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: %lld numbers need %.1f GB, this machine has %.1f GB",
                  file, (long long)count, need * 1e-9, have * 1e-9);
    else
        error = tlnmf_record_new_array(ctx, to->record, to->name, ndim, dim, &x);
    if (error == TLNMF_ERR_TOO_LARGE) /* one dimension is 0 */
        io_refuse(ctx, TLNMF_ERR_INPUT, "%s: the array is empty", file);
    else if (error != TLNMF_OK)
        io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory for %lld numbers", file,
                  (long long)count);
    return x;
}

bool io_slice_fit(tlnmf_ctx *ctx, io_slice *slice, const char *name, int ndim, const int64_t *dim,
                  int64_t *dim_out)
{
    slice->ndim = ndim;
    for (int d = 0; d < ndim; d++)
        slice->dim[d] = dim_out[d] = dim[d];
    int axis = slice->axis < 0 ? slice->axis + ndim : slice->axis;
    if (axis < 0 || axis >= ndim)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: axis %d does not exist, the array has %d", name,
                       slice->axis, ndim);
    if (slice->first < 0 || slice->count < 0 || slice->first > dim[axis] ||
        slice->count > dim[axis] - slice->first)
        return io_fail(ctx, TLNMF_ERR_INPUT,
                       "%s: %lld indices from %lld are outside an axis of length %lld", name,
                       (long long)slice->count, (long long)slice->first, (long long)dim[axis]);
    slice->axis = axis;
    dim_out[axis] = slice->count;
    return true;
}

io_runs io_slice_runs(const io_slice *slice, bool fortran)
{
    int64_t before = 1, after = 1; /* products of the other dimensions */

    for (int d = 0; d < slice->ndim; d++)
        if (slice->dim[d] == 0) /* the products of the others may overflow */
            return (io_runs){0};
    for (int d = 0; d < slice->axis; d++)
        before *= slice->dim[d];
    for (int d = slice->axis + 1; d < slice->ndim; d++)
        after *= slice->dim[d];
    int64_t inner = fortran ? before : after;
    return (io_runs){.runs = fortran ? after : before,
                     .length = inner * slice->count,
                     .stride = inner * slice->dim[slice->axis],
                     .offset = inner * slice->first};
}

void io_walk_start(io_walk *walk, int ndim, const int64_t *dim)
{
    int64_t stride = 1;

    *walk = (io_walk){.ndim = ndim};
    for (int d = ndim - 1; d >= 0; d--) {
        walk->dim[d] = dim[d];
        walk->stride[d] = stride;
        stride *= dim[d];
    }
}

int64_t io_walk_next(io_walk *walk)
{
    int64_t offset = walk->offset;

    for (int d = 0; d < walk->ndim; d++) {
        walk->offset += walk->stride[d];
        if (++walk->at[d] < walk->dim[d])
            break;
        walk->offset -= walk->dim[d] * walk->stride[d];
        walk->at[d] = 0;
    }
    return offset;
}
