/* Refuses everything in an HDF5 file that refers to other files. */
#include "h5.h"

io_h5_errors io_h5_silence(void)
{
    io_h5_errors errors = {0};

    errors.silenced = H5Eget_auto2(H5E_DEFAULT, &errors.print, &errors.user) >= 0;
    if (errors.silenced)
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return errors;
}

void io_h5_restore(const io_h5_errors *errors)
{
    if (errors->silenced)
        H5Eset_auto2(H5E_DEFAULT, errors->print, errors->user);
}

/* ---- a dataset ------------------------------------------------------------------------------- */

/* Called by HDF5 before it follows an external link. */
static herr_t refuse_link(const char *file, const char *group, const char *child_file,
                          const char *child, unsigned *flags, hid_t fapl, void *user)
{
    (void)file, (void)group, (void)child_file, (void)child, (void)flags, (void)fapl;
    *(bool *)user = true;
    return -1;
}

hid_t io_h5_open_inside(hid_t file, const char *path, const char **outside)
{
    bool refused = false;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    bool safe = access >= 0 && H5Pset_elink_cb(access, refuse_link, &refused) >= 0;
    hid_t dataset = safe ? H5Dopen2(file, path, access) : H5I_INVALID_HID;
    hid_t list = dataset >= 0 ? H5Dget_create_plist(dataset) : H5I_INVALID_HID;

    *outside = refused                                           ? "an external link"
               : list >= 0 && H5Pget_layout(list) == H5D_VIRTUAL ? "virtual"
               : list >= 0 && H5Pget_external_count(list) != 0   ? "external"
                                                                 : NULL;
    bool damaged = list < 0 || H5Pget_layout(list) == H5D_LAYOUT_ERROR;
    io_h5_close(access);
    io_h5_close(list);
    if (!*outside && !damaged)
        return dataset;
    io_h5_close(dataset);
    return H5I_INVALID_HID;
}

bool io_h5_fail_outside(tlnmf_ctx *ctx, const char *name, const char *path, const char *outside)
{
    return io_fail(ctx, TLNMF_ERR_INPUT, "%s: %s is %s; only data in the file itself are read",
                   name, path, outside);
}

/* ---- a whole file ---------------------------------------------------------------------------- */

typedef struct inspection {
    const char *name;
    int64_t left; /* links to visit: the groups of a damaged file may be endless */
    bool refused; /* the message is set */
    tlnmf_ctx *ctx;
} inspection;

static herr_t inspect(hid_t root, const char *path, const H5L_info_t *info, void *user)
{
    inspection *i = user;
    const char *outside = "an external link";

    if (--i->left <= 0)
        return -1;
    if (info->type != H5L_TYPE_EXTERNAL)
        io_h5_close(io_h5_open_inside(root, path, &outside));
    i->refused = outside && !io_h5_fail_outside(i->ctx, i->name, path, outside);
    return i->refused ? -1 : 0;
}

bool io_h5_refers_inside(tlnmf_ctx *ctx, hid_t file, const char *name)
{
    enum { MOST_LINKS = 1000000 };
    inspection i = {.name = name, .left = MOST_LINKS, .ctx = ctx};

    if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, inspect, &i) >= 0)
        return true;
    return i.refused ? false : io_fail(ctx, TLNMF_ERR_INPUT, "%s: a damaged HDF5 file", name);
}

bool io_h5_all_inside(tlnmf_ctx *ctx, const char *path, const char *name)
{
    if (H5Fis_hdf5(path) <= 0)
        return true;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: a damaged HDF5 file", name);
    bool ok = io_h5_refers_inside(ctx, file, name);
    H5Fclose(file);
    return ok;
}
