/* Finds chunks of an HDF5 dataset that hold fewer bytes than their shape needs, for which HDF5
 * returns uninitialised memory. Compressed chunks are inflated once to count their bytes. */
#include "h5.h"

#include <stdlib.h>
#include <zlib.h>

enum { FLETCHER32_BYTES = 4 };

/* How a chunk is stored: its numbers, compressed or not, with a checksum before or after that. */
typedef struct recipe {
    uint64_t bytes;       /* of the numbers */
    int deflate, checked; /* places of the filters in the pipeline, or -1 */
    bool known;           /* whether all filters are */
} recipe;

static recipe recipe_of(hid_t list, uint64_t bytes)
{
    recipe r = {.bytes = bytes, .deflate = -1, .checked = -1, .known = true};
    unsigned options = 0;
    int count = H5Pget_nfilters(list);
    for (int i = 0; i < count; i++) {
        unsigned flags, config;
        size_t none = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(list, (unsigned)i, &flags, &none, NULL, 0, NULL, &config);
        int *place = filter == H5Z_FILTER_DEFLATE      ? &r.deflate
                     : filter == H5Z_FILTER_FLETCHER32 ? &r.checked
                                                       : NULL;
        if (place != NULL && *place < 0)
            *place = i;
        else
            r.known = r.known && filter == H5Z_FILTER_SHUFFLE;
    }
    /* Chunks at the edge may be stored without filters. */
    if (count < 0 || (H5Pget_chunk_opts(list, &options) >= 0 &&
                      (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0))
        r.known = false;
    return r;
}

/* Checks the chunk that begins at this element. HDF5 fills chunks that are not stored. */
static bool is_whole(hid_t dataset, const recipe *r, const hsize_t *first)
{
    unsigned skipped = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t stored = 0;
    if (H5Dget_chunk_info_by_coord(dataset, first, &skipped, &address, &stored) < 0)
        return false;
    if (address == HADDR_UNDEF || stored == 0)
        return true;
    bool packed = r->deflate >= 0 && (skipped >> r->deflate & 1) == 0;
    bool checked = r->checked >= 0 && (skipped >> r->checked & 1) == 0;
    uint64_t bytes =
        r->bytes + (checked && !(packed && r->checked > r->deflate) ? FLETCHER32_BYTES : 0);
    if (!packed)
        return stored == bytes;
    unsigned char *raw = stored < INT64_MAX ? io_allocate((int64_t)stored, 1) : NULL;
    bool whole = raw != NULL && H5Dread_chunk(dataset, H5P_DEFAULT, first, &skipped, raw) >= 0 &&
                 io_inflate(raw, (size_t)stored, MAX_WBITS, NULL, bytes);
    free(raw);
    return whole;
}

/* All chunks that the range of elements touches, in the order of their places. */
static bool all_whole(hid_t dataset, const recipe *r, const io_h5_range *range,
                      const hsize_t *chunk)
{
    hsize_t begin[IO_MAX_DIM] = {0}, first[IO_MAX_DIM] = {0};
    for (int d = 0; d < range->ndim; d++) {
        if (range->count[d] == 0)
            return true;
        begin[d] = first[d] = range->first[d] / chunk[d] * chunk[d];
    }
    for (;;) {
        if (!is_whole(dataset, r, first))
            return false;
        int d = range->ndim - 1;
        for (; d >= 0; d--) {
            first[d] += chunk[d];
            if (first[d] < range->first[d] + range->count[d])
                break;
            first[d] = begin[d];
        }
        if (d < 0)
            return true;
    }
}

bool io_h5_chunks_are_whole(hid_t dataset, const io_h5_range *range)
{
    hid_t list = H5Dget_create_plist(dataset), type = H5Dget_type(dataset);
    hsize_t chunk[H5S_MAX_RANK];
    bool whole = true;
    if (list >= 0 && type >= 0 && H5Pget_layout(list) == H5D_CHUNKED) {
        uint64_t bytes = H5Tget_size(type);
        whole = H5Pget_chunk(list, H5S_MAX_RANK, chunk) == range->ndim;
        for (int d = 0; whole && d < range->ndim; d++) {
            whole = chunk[d] > 0 && bytes <= UINT64_MAX / chunk[d];
            bytes *= chunk[d];
        }
        recipe r = recipe_of(list, bytes);
        whole = whole && (!r.known || all_whole(dataset, &r, range, chunk));
    }
    io_h5_close(type);
    io_h5_close(list);
    return whole;
}
