/* What of an HDF5 file is believed: nothing outside the file, no shape far beyond its bytes. */
#include "h5.h"

#include <string.h>

/* ---- nothing outside the file ---------------------------------------------------------------- */

/* Called by HDF5 before it follows an external link. */
static herr_t refuse_link(const char *file, const char *group, const char *child_file,
                          const char *child, unsigned *flags, hid_t fapl, void *user)
{
    (void)file, (void)group, (void)child_file, (void)child, (void)flags, (void)fapl;
    *(bool *)user = true;
    return -1;
}

/* Properties of an access that follows links within the file only; negative on failure. */
static hid_t inside_only(hid_t class, bool *refused)
{
    hid_t list = H5Pcreate(class);

    *refused = false;
    if (list >= 0 && H5Pset_elink_cb(list, refuse_link, refused) >= 0)
        return list;
    if (list >= 0)
        H5Pclose(list);
    return H5I_INVALID_HID;
}

bool io_h5_has(hid_t file, const char *path)
{
    bool refused;
    hid_t access = inside_only(H5P_LINK_ACCESS, &refused);
    bool has = access >= 0 && (H5Lexists(file, path, access) > 0 || refused);

    if (access >= 0)
        H5Pclose(access);
    return has;
}

/* Whether the numbers of a dataset lie in other files. */
static io_h5_place place_of(hid_t dataset)
{
    hid_t list = H5Dget_create_plist(dataset);
    io_h5_place place = list < 0                                  ? IO_H5_DAMAGED
                        : H5Pget_layout(list) == H5D_VIRTUAL      ? IO_H5_VIRTUAL
                        : H5Pget_layout(list) == H5D_LAYOUT_ERROR ? IO_H5_DAMAGED
                        : H5Pget_external_count(list) != 0        ? IO_H5_EXTERNAL
                                                                  : IO_H5_INSIDE;

    if (list >= 0)
        H5Pclose(list);
    return place;
}

hid_t io_h5_open_inside(hid_t file, const char *path, io_h5_place *place)
{
    bool refused;
    hid_t access = inside_only(H5P_DATASET_ACCESS, &refused);
    hid_t dataset = access >= 0 ? H5Dopen2(file, path, access) : H5I_INVALID_HID;

    if (access >= 0)
        H5Pclose(access);
    *place = refused ? IO_H5_LINK : dataset < 0 ? IO_H5_DAMAGED : place_of(dataset);
    if (*place == IO_H5_INSIDE)
        return dataset;
    if (dataset >= 0)
        H5Dclose(dataset);
    return H5I_INVALID_HID;
}

const char *io_h5_place_name(io_h5_place place)
{
    return place == IO_H5_LINK       ? "a link to another file"
           : place == IO_H5_EXTERNAL ? "stored in other files"
           : place == IO_H5_VIRTUAL  ? "a virtual dataset"
                                     : "damaged";
}

/* ---- a whole file ---------------------------------------------------------------------------- */

typedef struct inspection {
    const char *name;
    int64_t left;
    io_error *err;
} inspection;

static herr_t inspect_link(hid_t root, const char *path, const H5L_info_t *info, void *user)
{
    inspection *i = user;

    (void)root;
    if (info->type != H5L_TYPE_EXTERNAL && --i->left > 0)
        return 0;
    io_fail(i->err, IO_BAD_INPUT,
            i->left > 0 ? "%s: %s is a link to another file, which is not read"
                        : "%s: a damaged HDF5 file, at %s it has no end",
            i->name, path);
    return -1;
}

static herr_t inspect_object(hid_t root, const char *path, const H5O_info_t *info, void *user)
{
    inspection *i = user;
    io_h5_place place = IO_H5_INSIDE;

    if (--i->left <= 0)
        return -1;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    hid_t dataset = io_h5_open_inside(root, path, &place);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (place == IO_H5_INSIDE || place == IO_H5_DAMAGED)
        return 0;
    io_fail(i->err, IO_BAD_INPUT, "%s: %s is %s, which are not read", i->name, path,
            io_h5_place_name(place));
    return -1;
}

bool io_h5_all_inside(const char *path, const char *name, io_error *err)
{
    enum { MOST_OBJECTS = 1000000 };
    inspection i = {.name = name, .left = MOST_OBJECTS, .err = err};

    if (H5Fis_hdf5(path) <= 0)
        return true;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    io_set_error(err, IO_BAD_INPUT, "%s: a damaged HDF5 file", name);
    bool ok = file >= 0 && H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, inspect_link, &i) >= 0 &&
              H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, inspect_object, &i) >= 0;
    if (file >= 0)
        H5Fclose(file);
    return ok;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

bool io_is_believable(int64_t count, int64_t stored)
{
    const int64_t small = INT64_C(64) << 20; /* bytes that any machine has */
    const int64_t ratio = 200; /* deflate reaches 1032, but not on numbers somebody measured */

    if (count <= small / (int64_t)sizeof(double))
        return true;
    return stored > 0 && count / stored < ratio / (int64_t)sizeof(double);
}

/* The number of elements of a chunk, which is read whole; 0 if there are none. */
static int64_t chunk_count(hid_t dataset)
{
    hid_t list = H5Dget_create_plist(dataset);
    hsize_t dim[H5S_MAX_RANK];
    int64_t shape[H5S_MAX_RANK], count = 0;
    int ndim =
        list >= 0 && H5Pget_layout(list) == H5D_CHUNKED ? H5Pget_chunk(list, H5S_MAX_RANK, dim) : 0;

    for (int d = 0; d < ndim; d++)
        shape[d] = dim[d] <= INT64_MAX ? (int64_t)dim[d] : -1;
    if (ndim > 0)
        count = io_count(ndim, shape);
    if (list >= 0)
        H5Pclose(list);
    return count < 0 ? INT64_MAX : count;
}

bool io_h5_is_believable(hid_t dataset, int64_t count)
{
    hsize_t stored = H5Dget_storage_size(dataset);
    int64_t bytes = stored <= INT64_MAX ? (int64_t)stored : INT64_MAX;

    return io_is_believable(count, bytes) && io_is_believable(chunk_count(dataset), bytes);
}
