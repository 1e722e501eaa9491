/* Model files: by their extension; HDF5 with Phi, W, H, a trace and a summary. */
#include "model.h"
#include "h5.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char FORMAT[] = "tlnmf-model";
enum { FORMAT_VERSION = 1 };

const char *const io_trace_paths[IO_TRACE_COLUMNS] = {
    "/trace/stage", "/trace/iteration", "/trace/C",        "/trace/L",    "/trace/I",
    "/trace/step",  "/trace/seconds",   "/trace/gradient", "/trace/start"};
const char *const io_coefficient_paths[IO_COEFFICIENTS] = {"/X", "/V", "/unmixing", "/mixing"};

/* Stage, iteration and start are integers in the file. */
static bool is_integer(int column)
{
    return column < 2 || column == IO_TRACE_COLUMNS - 1;
}

static bool check_finite(const char *name, const char *letter, const double *x, int64_t rows,
                         int64_t cols, io_fault fault, io_error *err)
{
    for (int64_t i = 0; i < rows * cols; i++)
        if (!isfinite(x[i]))
            return io_fail(err, fault, "%s: %s[%lld, %lld] is not finite", name, letter,
                           (long long)(i / cols), (long long)(i % cols));
    return true;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void put_matrix(io_h5_out *out, const char *path, const double *x, int64_t rows,
                       int64_t cols)
{
    int64_t dim[2] = {rows, cols};

    io_h5_put(out, path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, dim, x);
}

static void put_integer(io_h5_out *out, const char *object, const char *name, int64_t value)
{
    io_h5_attribute(out, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

static void put_trace(io_h5_out *out, const io_model *model)
{
    io_h5_group(out, "/trace");
    for (int c = 0; c < IO_TRACE_COLUMNS; c++)
        if (model->trace[c])
            io_h5_put(out, io_trace_paths[c], is_integer(c) ? H5T_STD_I64LE : H5T_IEEE_F64LE,
                      H5T_NATIVE_DOUBLE, 1, &model->trace_length, model->trace[c]);
    if (model->trace[IO_TRACE_COLUMNS - 1]) /* files of 0.1 stay as they were when written again */
        io_h5_attribute_text(out, io_trace_paths[0], "codes", IO_STAGE_CODES);
}

static void put_extras(io_h5_out *out, const io_model *model)
{
    io_h5_group(out, "/arrays");
    for (int64_t i = 0; i < model->extras; i++) {
        const io_extra *extra = &model->extra[i];
        char path[IO_EXTRA_NAME + 16];
        snprintf(path, sizeof path, "/arrays/%s", extra->name);
        io_h5_put(out, path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, extra->ndim, extra->dim, extra->x);
    }
}

static bool is_reserved(const char *key)
{
    static const char *const ours[] = {"format", "format_version", "M", "N", "K"};

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (strcmp(key, ours[i]) == 0)
            return true;
    return false;
}

/* The scalars of a JSON object. Long texts stay in /summary alone: HDF5 attributes end at 64 kB. */
static void put_scalars(io_h5_out *out, const char *object, json_t *from)
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
            io_h5_attribute(out, object, key, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &x);
        } else if (json_is_boolean(value)) {
            int8_t flag = json_is_true(value);
            io_h5_attribute(out, object, key, H5T_STD_I8LE, H5T_NATIVE_INT8, &flag);
        } else if (json_is_string(value) && json_string_length(value) < 32768) {
            io_h5_attribute_text(out, object, key, json_string_value(value));
        }
    }
}

static void put_summary(io_h5_out *out, json_t *summary, const char *text)
{
    static const char *const members[] = {"options", "data"};

    io_h5_put_text(out, "/summary", text);
    put_scalars(out, "/", summary);
    for (int i = 0; i < 2; i++) {
        json_t *member = json_object_get(summary, members[i]);
        char path[16];
        if (!json_is_object(member))
            continue;
        snprintf(path, sizeof path, "/%s", members[i]);
        io_h5_group(out, path);
        put_scalars(out, path, member);
    }
}

static void put_model(io_h5_out *out, const io_model *model, const char *summary)
{
    io_h5_attribute_text(out, "/", "format", FORMAT);
    put_integer(out, "/", "format_version", FORMAT_VERSION);
    put_integer(out, "/", "M", model->M);
    put_integer(out, "/", "N", model->N);
    put_integer(out, "/", "K", model->K);
    if (model->Phi)
        put_matrix(out, "/Phi", model->Phi, model->M, model->M);
    if (model->W)
        put_matrix(out, "/W", model->W, model->M, model->K);
    if (model->H)
        put_matrix(out, "/H", model->H, model->K, model->N);
    else if (model->H_pieces)
        io_h5_put_pieces(out, "/H", model->K, model->N, model->H_pieces);
    for (int i = 0; i < IO_COEFFICIENTS; i++)
        if (model->coefficient[i].x)
            io_h5_put(out, io_coefficient_paths[i], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                      model->coefficient[i].ndim, model->coefficient[i].dim,
                      model->coefficient[i].x);
    if (model->extras > 0)
        put_extras(out, model);
    if (model->trace_length > 0)
        put_trace(out, model);
    if (summary)
        put_summary(out, model->summary, summary);
}

static bool write_in_memory(const char *path, const io_model *m, const char *summary, io_error *err)
{
    io_h5_out out;

    io_h5_begin(&out);
    put_model(&out, m, summary);
    return io_h5_finish(&out, path, err);
}

/* In the temporary file that is published afterwards. */
static bool write_in_file(const char *path, const io_model *m, const char *summary, io_error *err)
{
    io_h5_out out;
    io_output output;

    if (!io_output_open(path, &output, err))
        return false;
    if (!io_reserve(output.fd, 8 * m->K * m->N)) {
        io_output_set_error(&output, errno, err);
        io_output_abort(&output);
        return false;
    }
    io_h5_begin_file(&out, output.temporary);
    put_model(&out, m, summary);
    if (io_h5_finish_file(&out, path, err))
        return io_output_commit(&output, err);
    io_output_abort(&output);
    return m->H_pieces->fault
               ? io_fail(err, IO_NO_OUTPUT, "%s: cannot write H: %s", path, m->H_pieces->fault)
               : false;
}

static bool write_hdf5(const char *path, const io_model *m, io_error *err)
{
    bool ok = false;

    char *summary = m->summary ? json_dumps(m->summary, JSON_INDENT(2)) : NULL;
    if (m->summary && !summary)
        return io_no_memory(err, path);
    H5E_BEGIN_TRY
    {
        ok = m->H_pieces ? write_in_file(path, m, summary, err)
                         : write_in_memory(path, m, summary, err);
    }
    H5E_END_TRY
    free(summary);
    return ok;
}

/* Names without extension, such as /dev/stdout or a pipe, and `-` are HDF5. */
static bool is_hdf5_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return io_format_of_name(path, strlen(path)) == IO_FORMAT_HDF5 ||
           !strchr(slash ? slash : path, '.');
}

bool io_model_takes_pieces(const char *path)
{
    struct stat st;

    return is_hdf5_name(path) && strcmp(path, "-") != 0 &&
           (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

bool io_model_write(const char *path, const io_model *m, io_error *err)
{
    if ((m->Phi && !check_finite(path, "Phi", m->Phi, m->M, m->M, IO_NO_OUTPUT, err)) ||
        (m->W && !check_finite(path, "W", m->W, m->M, m->K, IO_NO_OUTPUT, err)) ||
        (m->H && !check_finite(path, "H", m->H, m->K, m->N, IO_NO_OUTPUT, err)))
        return false;
    if (is_hdf5_name(path))
        return write_hdf5(path, m, err);
    io_format format = io_format_of_name(path, strlen(path));
    if (format == IO_FORMAT_NPZ)
        return io_npz_model_write(path, m, err);
    if (format == IO_FORMAT_MAT)
        return io_mat_model_write(path, m, err);
    return io_fail(err, IO_NO_OUTPUT, "%s: models are written as .h5, .mat or .npz", path);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool has_attribute(hid_t file, const char *name)
{
    return H5Aexists(file, name) > 0;
}

/* The value of an integer attribute of /; false if it is anything else. */
static bool get_integer(hid_t file, const char *name, int64_t *value)
{
    hid_t attribute = has_attribute(file, name) ? H5Aopen(file, name, H5P_DEFAULT) : -1;
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    bool ok = type >= 0 && H5Tget_class(type) == H5T_INTEGER && space >= 0 &&
              H5Sget_simple_extent_npoints(space) == 1 &&
              H5Aread(attribute, H5T_NATIVE_INT64, value) >= 0;

    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return ok;
}

bool io_h5_is_model(hid_t file)
{
    hid_t attribute = has_attribute(file, "format") ? H5Aopen(file, "format", H5P_DEFAULT) : -1;
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    char text[sizeof FORMAT] = "";
    bool ok = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
              H5Tget_size(type) == sizeof FORMAT - 1 &&
              H5Aget_storage_size(attribute) < sizeof text && H5Aread(attribute, type, text) >= 0 &&
              strcmp(text, FORMAT) == 0;

    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return ok;
}

static bool check_format(hid_t file, const char *name, io_error *err)
{
    int64_t version;

    if (!io_h5_is_model(file))
        return io_fail(err, IO_BAD_INPUT, "%s: an HDF5 file, but not a model", name);
    if (!get_integer(file, "format_version", &version) || version < 1)
        return io_fail(err, IO_BAD_INPUT, "%s: a model without a valid format version", name);
    if (version > FORMAT_VERSION)
        return io_fail(err, IO_BAD_INPUT,
                       "%s: format version %lld is newer than this program understands (%d)", name,
                       (long long)version, FORMAT_VERSION);
    return true;
}

static bool get_matrix(hid_t file, const char *name, const char *path, int64_t *rows, int64_t *cols,
                       double **x, io_error *err)
{
    io_array array;

    if (!io_h5_read(file, name, path, NULL, &array, err))
        return false;
    *x = array.x;
    if (array.ndim != 2 || array.dim[0] == 0 || array.dim[1] == 0)
        return io_fail(err, IO_BAD_INPUT, "%s: %s is not a matrix", name, path);
    *rows = array.dim[0];
    *cols = array.dim[1];
    return check_finite(name, path + 1, *x, *rows, *cols, IO_BAD_INPUT, err);
}

static bool get_matrices(hid_t file, const char *name, io_model *m, io_error *err)
{
    int64_t rows, cols;

    /* a separation of members has no Phi of its own */
    if (H5Lexists(file, "/Phi", H5P_DEFAULT) <= 0 && H5Lexists(file, "/arrays", H5P_DEFAULT) > 0) {
        if (!get_integer(file, "M", &m->M) || !get_integer(file, "K", &m->K) || m->M < 1 ||
            m->K < 0)
            return io_fail(err, IO_BAD_INPUT, "%s: a model without valid sizes", name);
        return true;
    }
    if (!get_matrix(file, name, "/Phi", &m->M, &cols, &m->Phi, err))
        return false;
    if (cols != m->M)
        return io_fail(err, IO_BAD_INPUT, "%s: Phi is %lld x %lld, not square", name,
                       (long long)m->M, (long long)cols);
    bool has_W = io_h5_has(file, "/W");
    bool has_H = io_h5_has(file, "/H");
    bool has_N = get_integer(file, "N", &m->N) && m->N >= 0;
    if (!has_N)
        m->N = 0;
    if (!has_W && !has_H)
        return true;
    if (!get_matrix(file, name, "/W", &rows, &m->K, &m->W, err))
        return false;
    if (rows != m->M)
        return io_fail(err, IO_BAD_INPUT, "%s: W has %lld rows, Phi has %lld", name,
                       (long long)rows, (long long)m->M);
    if (!has_H && has_N && m->N == 0) /* learnt, but not applied to all frames */
        return true;
    if (!get_matrix(file, name, "/H", &rows, &m->N, &m->H, err))
        return false;
    if (rows != m->K)
        return io_fail(err, IO_BAD_INPUT, "%s: H has %lld rows, W has %lld columns", name,
                       (long long)rows, (long long)m->K);
    /* Phi and W stay as they are when frames are cut off, so that only N can tell. */
    if (get_integer(file, "N", &cols) && cols != m->N)
        return io_fail(err, IO_BAD_INPUT, "%s: H has %lld columns, N is %lld", name,
                       (long long)m->N, (long long)cols);
    return true;
}

static bool get_trace(hid_t file, const char *name, io_model *m, io_error *err)
{
    if (!io_h5_has(file, "/trace"))
        return true;
    for (int c = 0; c < IO_TRACE_COLUMNS; c++) {
        const char *path = io_trace_paths[c];
        io_array array;
        if (c >= IO_TRACE_NEEDED && !io_h5_has(file, path))
            continue;
        if (!io_h5_read(file, name, path, NULL, &array, err))
            return false;
        m->trace[c] = array.x;
        if (c == 0 && array.ndim == 1) /* the first column says how long they all are */
            m->trace_length = array.dim[0];
        if (array.ndim != 1 || array.dim[0] != m->trace_length)
            return io_fail(err, IO_BAD_INPUT, "%s: %s is not as long as the trace", name, path);
    }
    return true;
}

static bool get_coefficients(hid_t file, const char *name, io_model *m, io_error *err)
{
    for (int i = 0; i < IO_COEFFICIENTS; i++)
        if (H5Lexists(file, io_coefficient_paths[i], H5P_DEFAULT) > 0 &&
            !io_h5_read(file, name, io_coefficient_paths[i], NULL, &m->coefficient[i], err))
            return false;
    return true;
}

/* The datasets of /arrays. */
static bool get_extras(hid_t file, const char *name, io_model *m, io_error *err)
{
    H5G_info_t group;

    if (H5Lexists(file, "/arrays", H5P_DEFAULT) <= 0)
        return true;
    if (H5Gget_info_by_name(file, "/arrays", &group, H5P_DEFAULT) < 0 || group.nlinks > 10000)
        return io_fail(err, IO_BAD_INPUT, "%s: /arrays is damaged", name);
    m->extra = calloc((size_t)group.nlinks + 1, sizeof *m->extra);
    if (!m->extra)
        return io_no_memory(err, name);
    for (hsize_t i = 0; i < group.nlinks; i++) {
        io_extra *extra = &m->extra[m->extras];
        char path[IO_EXTRA_NAME + 16];
        io_array array;
        ssize_t length = H5Lget_name_by_idx(file, "/arrays", H5_INDEX_NAME, H5_ITER_INC, i,
                                            extra->name, sizeof extra->name, H5P_DEFAULT);
        if (length < 1 || length >= (ssize_t)sizeof extra->name)
            return io_fail(err, IO_BAD_INPUT, "%s: an array with an unusable name", name);
        snprintf(path, sizeof path, "/arrays/%s", extra->name);
        if (!io_h5_read(file, name, path, NULL, &array, err))
            return false;
        extra->x = array.x;
        m->extras++;
        if (array.ndim < 1 || array.ndim > 4)
            return io_fail(err, IO_BAD_INPUT, "%s: %s has %d dimensions", name, path,
                           (int)array.ndim);
        extra->ndim = (int)array.ndim;
        for (int d = 0; d < extra->ndim; d++)
            extra->dim[d] = array.dim[d];
    }
    return true;
}

/* The text of /summary, NUL at its end; NULL with `err` filled in. */
static char *get_text(hid_t file, const char *name, io_error *err)
{
    io_h5_place place;
    hid_t dataset = io_h5_open_inside(file, "/summary", &place);
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    char *text = NULL;

    /* One string of fixed length, all of it in the file: so its size can be trusted. */
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
        H5Dget_storage_size(dataset) == size) {
        text = calloc(size + 1, 1);
        if (!text)
            io_no_memory(err, name);
        else if (!io_h5_fill(dataset, name, "/summary", type, text, err)) {
            free(text);
            text = NULL;
        }
    } else {
        io_fail(err, IO_BAD_INPUT, "%s: /summary is not a text", name);
    }
    if (type >= 0)
        H5Tclose(type);
    if (dataset >= 0)
        H5Dclose(dataset);
    return text;
}

json_t *io_h5_summary(hid_t file, const char *name, io_error *err)
{
    json_error_t why;

    if (!io_h5_has(file, "/summary")) {
        json_t *empty = json_object();
        if (!empty)
            io_no_memory(err, name);
        return empty;
    }
    char *text = get_text(file, name, err);
    if (!text)
        return NULL;
    json_t *summary = json_loads(text, 0, &why);
    free(text);
    if (!summary && !why.text[0]) /* jansson says nothing when it is out of memory */
        io_no_memory(err, name);
    else if (!summary)
        io_fail(err, IO_BAD_INPUT, "%s: /summary is not JSON: %s", name, why.text);
    else if (!json_is_object(summary)) {
        io_fail(err, IO_BAD_INPUT, "%s: /summary is not a JSON object", name);
        json_decref(summary);
        summary = NULL;
    }
    return summary;
}

static bool get_model(hid_t file, const char *name, io_model *out, io_error *err)
{
    if (!check_format(file, name, err) || !get_matrices(file, name, out, err) ||
        !get_coefficients(file, name, out, err) || !get_trace(file, name, out, err) ||
        !get_extras(file, name, out, err))
        return false;
    out->summary = io_h5_summary(file, name, err);
    return out->summary != NULL;
}

static bool read_hdf5(const io_source *source, io_model *out, io_error *err)
{
    bool ok = false;

    H5E_BEGIN_TRY
    {
        hid_t file = io_h5_open(source, err);
        ok = file >= 0 && get_model(file, source->name, out, err);
        if (file >= 0)
            H5Fclose(file);
    }
    H5E_END_TRY
    return ok;
}

bool io_model_read(const char *path, io_model *out, io_error *err)
{
    io_source source;
    bool ok = false;

    *out = (io_model){0};
    if (!io_source_open(path, &source, err))
        return false;
    if (source.format == IO_FORMAT_HDF5)
        ok = read_hdf5(&source, out, err);
    else if (source.format == IO_FORMAT_NPZ)
        ok = io_npz_model_read(&source, out, err);
    else if (source.format == IO_FORMAT_MAT)
        ok = io_mat_model_read(&source, out, err);
    else
        io_fail(err, IO_BAD_INPUT, "%s: not a model, which is an .h5, .mat or .npz file",
                source.name);
    io_source_close(&source);
    if (!ok)
        io_model_free(out);
    return ok;
}

void io_model_free(io_model *model)
{
    if (!model)
        return;
    free(model->Phi);
    free(model->W);
    free(model->H);
    for (int64_t i = 0; i < model->extras; i++)
        free(model->extra[i].x);
    free(model->extra);
    for (int c = 0; c < IO_TRACE_COLUMNS; c++)
        free(model->trace[c]);
    for (int i = 0; i < IO_COEFFICIENTS; i++)
        free(model->coefficient[i].x);
    json_decref(model->summary);
    *model = (io_model){0};
}
