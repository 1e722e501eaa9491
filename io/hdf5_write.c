/* Writes arrays and models as HDF5 files.
 *
 * A file is built in memory, or in a temporary file if memory need not hold all of it, and
 * published like all others. The same data give the same bytes, so objects have no time stamps.
 *
 * A model has the datasets /Phi /W /H /X /V /unmixing /mixing, /trace/.., and all others in
 * /arrays. Its summary is JSON text in /summary. For readers without JSON, the scalars of the
 * summary are attributes of /, and those of its members `options` and `data` are attributes of
 * /options and /data. The attributes format, format_version, M, N and K of / take precedence over
 * members of the summary with these names. */
#include "h5.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IN_MEMORY "/dev/null/tlnmf-output" /* a name that no file can have */

/* A file under construction. The first failure sticks and finish() reports it, so the calls in
 * between need no checks. */
typedef struct h5_out {
    hid_t file, dcpl, gcpl;
    char culprit[128]; /* "" if nothing failed */
    io_h5_errors errors;
} h5_out;

static void stick(h5_out *out, bool ok, const char *culprit)
{
    if (!ok && out->culprit[0] == '\0')
        snprintf(out->culprit, sizeof out->culprit, "%s", culprit);
}

/* `path` names our temporary file, which is locked: HDF5's own lock would conflict with that. NULL:
 * builds the file in memory. */
static void begin(h5_out *out, const char *path)
{
    io_h5_errors errors = io_h5_silence();
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);

    *out = (h5_out){.file = H5I_INVALID_HID,
                    .dcpl = H5Pcreate(H5P_DATASET_CREATE),
                    .gcpl = H5Pcreate(H5P_GROUP_CREATE),
                    .errors = errors};
    bool ok =
        H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) >= 0 &&
        (path ? H5Pset_file_locking(fapl, false, true) : H5Pset_fapl_core(fapl, 1 << 20, 0)) >= 0 &&
        H5Pset_obj_track_times(fcpl, false) >= 0 && H5Pset_obj_track_times(out->dcpl, false) >= 0 &&
        H5Pset_obj_track_times(out->gcpl, false) >= 0;
    if (ok)
        out->file = H5Fcreate(path ? path : IN_MEMORY, H5F_ACC_TRUNC, fcpl, fapl);
    stick(out, out->file >= 0, "/");
    io_h5_close(fapl);
    io_h5_close(fcpl);
}

static void put_group(h5_out *out, const char *path)
{
    if (out->culprit[0] != '\0')
        return;
    hid_t group = H5Gcreate2(out->file, path, H5P_DEFAULT, out->gcpl, H5P_DEFAULT);
    stick(out, group >= 0, path);
    io_h5_close(group);
}

static void put(h5_out *out, const char *path, hid_t stored, hid_t native, int ndim,
                const int64_t *dim, const void *data)
{
    hsize_t size[IO_MAX_DIM];
    hid_t dataset = H5I_INVALID_HID;

    if (out->culprit[0] != '\0')
        return;
    for (int d = 0; d < ndim; d++)
        size[d] = (hsize_t)dim[d];
    hid_t space = ndim > 0 ? H5Screate_simple(ndim, size, NULL) : H5Screate(H5S_SCALAR);
    if (space >= 0)
        dataset = H5Dcreate2(out->file, path, stored, space, H5P_DEFAULT, out->dcpl, H5P_DEFAULT);
    stick(out, dataset >= 0 && H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0,
          path);
    io_h5_close(dataset);
    io_h5_close(space);
}

/* Writes some columns of a row. */
static bool put_piece(hid_t dataset, hid_t space, int64_t row, int64_t column, int64_t count,
                      const double *x)
{
    const hsize_t start[2] = {(hsize_t)row, (hsize_t)column}, size[2] = {1, (hsize_t)count};
    hid_t here = H5Screate_simple(2, size, NULL);
    bool ok = here >= 0 &&
              H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
              H5Dwrite(dataset, H5T_NATIVE_DOUBLE, here, space, H5P_DEFAULT, x) >= 0;

    io_h5_close(here);
    return ok;
}

static void put_pieces(h5_out *out, const char *path, int64_t rows, int64_t cols, io_pieces *pieces)
{
    const hsize_t size[2] = {(hsize_t)rows, (hsize_t)cols};
    hid_t dataset = H5I_INVALID_HID, space;

    if (out->culprit[0] != '\0')
        return;
    space = H5Screate_simple(2, size, NULL);
    if (space >= 0)
        dataset =
            H5Dcreate2(out->file, path, H5T_IEEE_F64LE, space, H5P_DEFAULT, out->dcpl, H5P_DEFAULT);
    bool ok = dataset >= 0;
    for (int64_t row = 0; ok && row < rows; row++)
        for (int64_t at = 0, n; ok && at < cols; at += n) {
            n = cols - at < IO_PIECE ? cols - at : IO_PIECE;
            ok = io_pieces_next(pieces, pieces->room, n) &&
                 put_piece(dataset, space, row, at, n, pieces->room);
        }
    stick(out, ok, path);
    io_h5_close(dataset);
    io_h5_close(space);
}

/* UTF-8 of fixed length, which every reader supports. HDF5 has no strings of length 0. */
static hid_t text_type(const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 && H5Tset_size(type, *text ? strlen(text) : 1) >= 0 &&
        H5Tset_cset(type, H5T_CSET_UTF8) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0)
        return type;
    io_h5_close(type);
    return H5I_INVALID_HID;
}

static void put_text(h5_out *out, const char *path, const char *text)
{
    hid_t type = text_type(text);

    stick(out, type >= 0, path);
    put(out, path, type, type, 0, NULL, text);
    io_h5_close(type);
}

static void put_attribute(h5_out *out, const char *object, const char *name, hid_t stored,
                          hid_t native, const void *value)
{
    hid_t attribute = H5I_INVALID_HID;

    if (out->culprit[0] != '\0')
        return;
    hid_t space = H5Screate(H5S_SCALAR);
    if (space >= 0)
        attribute = H5Acreate_by_name(out->file, object, name, stored, space, H5P_DEFAULT,
                                      H5P_DEFAULT, H5P_DEFAULT);
    stick(out, attribute >= 0 && H5Awrite(attribute, native, value) >= 0, name);
    io_h5_close(attribute);
    io_h5_close(space);
}

static void put_attribute_text(h5_out *out, const char *object, const char *name, const char *text)
{
    hid_t type = text_type(text);

    stick(out, type >= 0, name);
    put_attribute(out, object, name, type, type, text);
    io_h5_close(type);
}

static bool publish_image(tlnmf_ctx *ctx, hid_t file, const char *path)
{
    ssize_t size = H5Fflush(file, H5F_SCOPE_LOCAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    void *bytes = size > 0 ? malloc((size_t)size) : NULL;

    if (!bytes || H5Fget_file_image(file, bytes, (size_t)size) != size) {
        free(bytes);
        return io_no_memory(ctx, path);
    }
    bool ok = io_publish(ctx, path, bytes, (size_t)size);
    free(bytes);
    return ok;
}

/* Publishes a file in memory under `path`, or closes the temporary file. */
static bool finish(tlnmf_ctx *ctx, h5_out *out, const char *path, bool in_memory)
{
    bool ok = out->culprit[0] == '\0' && (!in_memory || publish_image(ctx, out->file, path));

    if (out->file >= 0 && H5Fclose(out->file) < 0 && !in_memory)
        stick(out, false, "to close it");
    io_h5_close(out->dcpl);
    io_h5_close(out->gcpl);
    io_h5_restore(&out->errors);
    return out->culprit[0] != '\0'
               ? io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: cannot write: HDF5 refuses %s", path,
                         out->culprit)
               : ok;
}

/* ---- arrays -------------------------------------------------------------------------------- */

/* The groups above `member`: /a and /a/b for /a/b/Y. */
static void make_groups(h5_out *out, char *member)
{
    for (char *slash = strchr(member + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        put_group(out, member);
        *slash = '/';
    }
}

bool io_hdf5_write(tlnmf_ctx *ctx, const char *path, const char *member, const io_array *array)
{
    char *name = strdup(member);
    h5_out out;

    if (!name)
        return io_no_memory(ctx, path);
    begin(&out, NULL);
    make_groups(&out, name);
    put(&out, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, array->ndim, array->dim, array->x);
    bool ok = finish(ctx, &out, path, true);
    free(name);
    return ok;
}

/* ---- models: the summary ------------------------------------------------------------------- */

static void put_integer(h5_out *out, const char *object, const char *name, int64_t value)
{
    put_attribute(out, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

static bool is_reserved(const char *key)
{
    static const char *const ours[] = {"format", "format_version", "M", "N", "K"};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (strcmp(key, ours[i]) == 0)
            return true;
    return false;
}

/* The scalars of a JSON object. Long texts are in /summary only: HDF5 attributes have at most 64
 * kB. */
static void put_scalars(h5_out *out, const char *object, json_t *from)
{
    const char *key;
    json_t *value;

    json_object_foreach(from, key, value)
    {
        if (!*key || (strcmp(object, "/") == 0 && is_reserved(key)))
            continue;
        if (json_is_integer(value)) {
            put_integer(out, object, key, json_integer_value(value));
        } else if (json_is_real(value)) {
            double x = json_real_value(value);
            put_attribute(out, object, key, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &x);
        } else if (json_is_boolean(value)) {
            int8_t flag = json_is_true(value);
            put_attribute(out, object, key, H5T_STD_I8LE, H5T_NATIVE_INT8, &flag);
        } else if (json_is_string(value) && json_string_length(value) < 32768) {
            put_attribute_text(out, object, key, json_string_value(value));
        }
    }
}

static void put_summary(h5_out *out, json_t *summary, const char *text)
{
    static const char *const members[] = {"options", "data"};

    put_text(out, "/summary", text);
    put_scalars(out, "/", summary);
    for (int i = 0; i < 2; i++) {
        json_t *member = json_object_get(summary, members[i]);
        char path[16];
        if (!json_is_object(member))
            continue;
        snprintf(path, sizeof path, "/%s", members[i]);
        put_group(out, path);
        put_scalars(out, path, member);
    }
}

/* ---- models: the arrays -------------------------------------------------------------------- */

/* The groups of arrays. */
typedef enum group { ROOT, ARRAYS, TRACE } group;

static group group_of(const io_model *model, const char *name)
{
    static const char *const at_root[] = {"Phi", "W", "H", "X", "V", "unmixing", "mixing"};

    if (strncmp(name, "trace.", 6) == 0)
        return TRACE;
    for (size_t i = 0; i < sizeof at_root / sizeof *at_root; i++)
        if (strcmp(name, at_root[i]) == 0) /* a separation of members has H, but no W */
            return i == 2 && !tlnmf_record_get_array(model->record, "W", NULL, NULL) ? ARRAYS
                                                                                     : ROOT;
    return ARRAYS;
}

/* Stages, iterations and starts are integers in the file. */
static bool is_integer(const char *path)
{
    return strcmp(path, "/trace/stage") == 0 || strcmp(path, "/trace/iteration") == 0 ||
           strcmp(path, "/trace/start") == 0;
}

static void put_arrays(h5_out *out, const io_model *model, group wanted)
{
    static const char *const folder[] = {"", "/arrays", "/trace"};
    const char *name;
    io_array array;
    bool first = wanted != ROOT;

    for (size_t i = 0; io_model_next(model, &i, &name, &array);) {
        char path[128];
        if (group_of(model, name) != wanted)
            continue;
        if (first)
            put_group(out, folder[wanted]);
        first = false;
        snprintf(path, sizeof path, "%s/%s", folder[wanted], wanted == TRACE ? name + 6 : name);
        if (array.x)
            put(out, path, is_integer(path) ? H5T_STD_I64LE : H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                array.ndim, array.dim, array.x);
        else if (model->H != NULL)
            put_pieces(out, path, model->K, model->N, model->H);
    }
}

/* ---- models: the file ---------------------------------------------------------------------- */

static void put_model(h5_out *out, const io_model *model)
{
    put_attribute_text(out, "/", "format", IO_H5_FORMAT);
    put_integer(out, "/", "format_version", IO_H5_VERSION);
    put_integer(out, "/", "M", model->M);
    put_integer(out, "/", "N", model->N);
    put_integer(out, "/", "K", model->K);
    for (group g = ROOT; g <= TRACE; g++)
        put_arrays(out, model, g);
    if (tlnmf_record_get_array(model->record, "trace.start", NULL, NULL) && /* 0.1 had none */
        tlnmf_record_get_array(model->record, "trace.stage", NULL, NULL))
        put_attribute_text(out, "/trace/stage", "codes", "0 tl, 1 jd, 2 nmf");
    if (json_object_size(model->summary) > 0)
        put_summary(out, model->summary, model->text);
}

/* Writes into the temporary file that is published afterwards, so that memory need not hold H. */
static bool write_in_file(tlnmf_ctx *ctx, const char *path, const io_model *m)
{
    h5_out out;
    io_output output;

    if (!io_output_open(ctx, path, &output))
        return false;
    if (!io_reserve(output.fd, 8 * m->K * m->N)) {
        io_output_set_error(ctx, &output, errno);
        io_output_abort(&output);
        return false;
    }
    begin(&out, output.temporary);
    put_model(&out, m);
    if (finish(ctx, &out, path, false))
        return io_output_commit(ctx, &output);
    io_output_abort(&output);
    return m->H->fault ? io_fail(ctx, m->H->error, "%s: cannot write H: %s", path, m->H->fault)
                       : false;
}

bool io_hdf5_model_write(tlnmf_ctx *ctx, const char *path, const io_model *m)
{
    h5_out out;

    if (m->H && !m->H->all)
        return write_in_file(ctx, path, m);
    begin(&out, NULL);
    put_model(&out, m);
    return finish(ctx, &out, path, true);
}
