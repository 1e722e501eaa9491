/* HDF5 files are built in memory, or in a temporary file where memory does not hold them, and
 * published like all others: all or nothing, and with the same bytes each time, which is why no
 * object keeps its time of birth. */
#include "h5.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IN_MEMORY "/dev/null/tlnmf-output" /* a name that no file can have */

static void stick(io_h5_out *out, bool ok, const char *culprit)
{
    if (!ok && !out->culprit)
        out->culprit = culprit;
}

static void close_id(hid_t id, herr_t (*close)(hid_t))
{
    if (id >= 0)
        close(id);
}

/* A file that is there is ours, and locked by io_claim_temporary: HDF5's own lock would meet it. */
static bool choose_driver(hid_t fapl, bool in_memory)
{
    if (in_memory)
        return H5Pset_fapl_core(fapl, 1 << 20, 0) >= 0;
    return H5Pset_file_locking(fapl, false, true) >= 0;
}

static void begin(io_h5_out *out, const char *path, bool in_memory)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);

    *out = (io_h5_out){.file = H5I_INVALID_HID,
                       .dcpl = H5Pcreate(H5P_DATASET_CREATE),
                       .gcpl = H5Pcreate(H5P_GROUP_CREATE)};
    bool ok = H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) >= 0 && choose_driver(fapl, in_memory) &&
              H5Pset_obj_track_times(fcpl, false) >= 0 &&
              H5Pset_obj_track_times(out->dcpl, false) >= 0 &&
              H5Pset_obj_track_times(out->gcpl, false) >= 0;
    if (ok)
        out->file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
    stick(out, out->file >= 0, "/");
    close_id(fapl, H5Pclose);
    close_id(fcpl, H5Pclose);
}

void io_h5_begin(io_h5_out *out)
{
    begin(out, IN_MEMORY, true);
}

void io_h5_begin_file(io_h5_out *out, const char *path)
{
    begin(out, path, false);
}

void io_h5_group(io_h5_out *out, const char *path)
{
    if (out->culprit)
        return;
    hid_t group = H5Gcreate2(out->file, path, H5P_DEFAULT, out->gcpl, H5P_DEFAULT);
    stick(out, group >= 0, path);
    close_id(group, H5Gclose);
}

void io_h5_put(io_h5_out *out, const char *path, hid_t stored, hid_t native, int ndim,
               const int64_t *dim, const void *data)
{
    hsize_t size[IO_MAX_DIM];
    hid_t dataset = H5I_INVALID_HID;

    if (out->culprit)
        return;
    for (int d = 0; d < ndim; d++)
        size[d] = (hsize_t)dim[d];
    hid_t space = ndim > 0 ? H5Screate_simple(ndim, size, NULL) : H5Screate(H5S_SCALAR);
    if (space >= 0)
        dataset = H5Dcreate2(out->file, path, stored, space, H5P_DEFAULT, out->dcpl, H5P_DEFAULT);
    stick(out, dataset >= 0 && H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0,
          path);
    close_id(dataset, H5Dclose);
    close_id(space, H5Sclose);
}

/* The next numbers of a piece, which are all finite. */
static bool get_piece(io_pieces *pieces, double *x, int64_t count)
{
    if (pieces->next(x, count, pieces->user) != 0) {
        pieces->fault = "it could not be collected";
        return false;
    }
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i])) {
            pieces->fault = "it is not finite";
            return false;
        }
    return true;
}

/* Some columns of a row. */
static bool put_piece(hid_t dataset, hid_t space, int64_t row, int64_t column, int64_t count,
                      const double *x)
{
    const hsize_t start[2] = {(hsize_t)row, (hsize_t)column}, size[2] = {1, (hsize_t)count};
    hid_t here = H5Screate_simple(2, size, NULL);
    bool ok = here >= 0 &&
              H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
              H5Dwrite(dataset, H5T_NATIVE_DOUBLE, here, space, H5P_DEFAULT, x) >= 0;

    close_id(here, H5Sclose);
    return ok;
}

void io_h5_put_pieces(io_h5_out *out, const char *path, int64_t rows, int64_t cols,
                      io_pieces *pieces)
{
    const hsize_t size[2] = {(hsize_t)rows, (hsize_t)cols};
    hid_t dataset = H5I_INVALID_HID, space;

    if (out->culprit)
        return;
    space = H5Screate_simple(2, size, NULL);
    if (space >= 0)
        dataset =
            H5Dcreate2(out->file, path, H5T_IEEE_F64LE, space, H5P_DEFAULT, out->dcpl, H5P_DEFAULT);
    bool ok = dataset >= 0;
    for (int64_t row = 0; ok && row < rows; row++)
        for (int64_t at = 0, n; ok && at < cols; at += n) {
            n = cols - at < IO_PIECE ? cols - at : IO_PIECE;
            ok = get_piece(pieces, pieces->room, n) &&
                 put_piece(dataset, space, row, at, n, pieces->room);
        }
    stick(out, ok, path);
    close_id(dataset, H5Dclose);
    close_id(space, H5Sclose);
}

/* UTF-8 of fixed length: every reader knows it. HDF5 has no strings of length 0. */
static hid_t text_type(const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 && H5Tset_size(type, *text ? strlen(text) : 1) >= 0 &&
        H5Tset_cset(type, H5T_CSET_UTF8) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0)
        return type;
    close_id(type, H5Tclose);
    return H5I_INVALID_HID;
}

void io_h5_put_text(io_h5_out *out, const char *path, const char *text)
{
    hid_t type = text_type(text);

    stick(out, type >= 0, path);
    io_h5_put(out, path, type, type, 0, NULL, text);
    close_id(type, H5Tclose);
}

void io_h5_attribute(io_h5_out *out, const char *object, const char *name, hid_t stored,
                     hid_t native, const void *value)
{
    hid_t attribute = H5I_INVALID_HID;

    if (out->culprit)
        return;
    hid_t space = H5Screate(H5S_SCALAR);
    if (space >= 0)
        attribute = H5Acreate_by_name(out->file, object, name, stored, space, H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT);
    stick(out, attribute >= 0 && H5Awrite(attribute, native, value) >= 0, name);
    close_id(attribute, H5Aclose);
    close_id(space, H5Sclose);
}

void io_h5_attribute_text(io_h5_out *out, const char *object, const char *name, const char *text)
{
    hid_t type = text_type(text);

    stick(out, type >= 0, name);
    io_h5_attribute(out, object, name, type, type, text);
    close_id(type, H5Tclose);
}

static bool publish_image(hid_t file, const char *path, io_error *err)
{
    ssize_t size = H5Fflush(file, H5F_SCOPE_LOCAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    void *bytes = size > 0 ? malloc((size_t)size) : NULL;

    if (!bytes || H5Fget_file_image(file, bytes, (size_t)size) != size) {
        free(bytes);
        return io_no_memory(err, path);
    }
    bool ok = io_publish(path, bytes, (size_t)size, err);
    free(bytes);
    return ok;
}

static bool refuse(const io_h5_out *out, const char *path, io_error *err)
{
    return io_fail(err, IO_NO_OUTPUT, "%s: cannot write: HDF5 refuses %s", path, out->culprit);
}

bool io_h5_finish(io_h5_out *out, const char *path, io_error *err)
{
    bool ok = out->culprit ? refuse(out, path, err) : publish_image(out->file, path, err);

    close_id(out->file, H5Fclose);
    close_id(out->dcpl, H5Pclose);
    close_id(out->gcpl, H5Pclose);
    return ok;
}

bool io_h5_finish_file(io_h5_out *out, const char *path, io_error *err)
{
    if (out->file >= 0)
        stick(out, H5Fclose(out->file) >= 0, "to close it");
    close_id(out->dcpl, H5Pclose);
    close_id(out->gcpl, H5Pclose);
    return !out->culprit || refuse(out, path, err);
}

/* The groups above `member`: /a and /a/b for /a/b/Y. */
static void make_groups(io_h5_out *out, char *member)
{
    for (char *slash = strchr(member + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        io_h5_group(out, member);
        *slash = '/';
    }
}

bool io_hdf5_write(const char *path, const char *member, const io_array *array, io_error *err)
{
    char *name = strdup(member);
    io_h5_out out;
    bool ok;

    if (!name)
        return io_no_memory(err, path);
    H5E_BEGIN_TRY
    {
        io_h5_begin(&out);
        make_groups(&out, name);
        io_h5_put(&out, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, array->ndim, array->dim, array->x);
        ok = io_h5_finish(&out, path, err);
    }
    H5E_END_TRY
    free(name);
    return ok;
}
