/* Sizes of arrays, memory for them, ranges of an axis, and the way from column-major to C order. */
#include "internal.h"

#include <stdlib.h>
#include <unistd.h>

int64_t io_count(int ndim, const int64_t *dim)
{
    int64_t count = 1;

    /* A zero anywhere makes the array empty, however large the rest. */
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

    return pages > 0 && size > 0 ? (double)pages * (double)size : (double)(SIZE_MAX / 2);
}

double *io_array_new(const io_place *place, const char *name, int ndim, const int64_t *dim,
                     io_error *err)
{
    int64_t count = io_count(ndim, dim);
    double have = physical_memory(), need = 8 * (double)count;

    if (need > have) {
        io_fail(err, IO_NO_MEMORY, "%s: %lld numbers need %.1f GB, this machine has %.1f GB", name,
                (long long)count, need * 1e-9, have * 1e-9);
        return NULL;
    }
    if (place)
        return place->make(place->user, name, ndim, dim, err);
    double *x = malloc(count > 0 ? (size_t)count * sizeof *x : sizeof *x);
    if (!x)
        io_fail(err, IO_NO_MEMORY, "%s: out of memory for %lld numbers", name, (long long)count);
    return x;
}

void io_array_drop(const io_place *place, double *x)
{
    if (!place)
        free(x);
}

bool io_slice_fit(io_slice *slice, const char *name, int ndim, const int64_t *dim, int64_t *dim_out,
                  io_error *err)
{
    slice->ndim = ndim;
    for (int d = 0; d < ndim; d++)
        slice->dim[d] = dim_out[d] = dim[d];
    int axis = slice->axis < 0 ? slice->axis + ndim : slice->axis;
    if (axis < 0 || axis >= ndim)
        return io_fail(err, IO_BAD_INPUT, "%s: it has %d axes, none of number %d", name, ndim,
                       slice->axis);
    if (slice->first < 0 || slice->count < 0 || slice->first > dim[axis] ||
        slice->count > dim[axis] - slice->first)
        return io_fail(err, IO_BAD_INPUT, "%s: %lld indices from %lld on of an axis of %lld", name,
                       (long long)slice->count, (long long)slice->first, (long long)dim[axis]);
    slice->axis = axis;
    dim_out[axis] = slice->count;
    return true;
}

io_runs io_slice_runs(const io_slice *slice, bool fortran)
{
    int64_t before = 1, after = 1; /* products of the other dimensions */

    for (int d = 0; d < slice->ndim; d++)
        if (slice->dim[d] == 0) /* the products of the others may leave the range */
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
