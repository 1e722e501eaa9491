/* Models as .npz and .mat files: the same arrays as in HDF5, and the summary as one text. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a model consists of ------------------------------------------------------------- */

enum { MOST_PARTS = 3 + IO_COEFFICIENTS + IO_TRACE_COLUMNS };

static const char *part_name(int part, char name[32])
{
    static const char *const factors[] = {"Phi", "W", "H"};

    if (part < 3)
        snprintf(name, 32, "%s", factors[part]);
    else if (part < 3 + IO_COEFFICIENTS)
        snprintf(name, 32, "%s", io_coefficient_paths[part - 3] + 1);
    else
        snprintf(name, 32, "trace_%s",
                 io_trace_paths[part - 3 - IO_COEFFICIENTS] + sizeof "/trace/" - 1);
    return name;
}

/* Part number `part` as an array; x is NULL if the model does not have it. */
static io_array part_of(const io_model *m, int part)
{
    if (part == 0)
        return (io_array){.ndim = 2, .dim = {m->M, m->M}, .x = m->Phi};
    if (part == 1)
        return (io_array){.ndim = 2, .dim = {m->M, m->K}, .x = m->W};
    if (part == 2)
        return (io_array){.ndim = 2, .dim = {m->K, m->N}, .x = m->H};
    if (part < 3 + IO_COEFFICIENTS)
        return m->coefficient[part - 3];
    return (io_array){
        .ndim = 1, .dim = {m->trace_length}, .x = m->trace[part - 3 - IO_COEFFICIENTS]};
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The arrays, then the numbers of the summary one by one, for people without a JSON reader. */
static bool put_parts(io_parts_out *out, const io_model *m)
{
    const char *key;
    json_t *value;
    bool ok = true;

    for (int part = 0; ok && part < MOST_PARTS; part++) {
        char name[32];
        io_array array = part_of(m, part);
        if (array.x)
            ok = out->put(out, part_name(part, name), &array);
    }
    for (int64_t i = 0; ok && i < m->extras; i++) {
        const io_extra *extra = &m->extra[i];
        char name[IO_EXTRA_NAME];
        io_array column = {.ndim = 1, .dim = {extra->dim[0]}, .x = extra->x};
        if (strncmp(extra->name, "path.", sizeof "path." - 1) != 0 || extra->ndim != 1)
            continue;
        snprintf(name, sizeof name, "path_%s", extra->name + sizeof "path." - 1);
        ok = out->put(out, name, &column);
    }
    json_object_foreach(m->summary, key, value)
    {
        double x = json_number_value(value);
        io_array scalar = {.ndim = 2, .dim = {1, 1}, .x = &x};
        size_t plain = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
        if (ok && json_is_number(value) && key[plain] == '\0' && strlen(key) > 0)
            ok = out->put(out, key, &scalar);
    }
    return ok;
}

bool io_model_write_parts(const char *path, const io_model *m, io_parts_out *out, io_error *err)
{
    char *summary = m->summary ? json_dumps(m->summary, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;
    bool ok =
        (!m->summary || summary) && put_parts(out, m) && (!summary || out->put_text(out, summary));

    free(summary);
    return out->finish(out, ok, path, err);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool has_part(const io_listing *listing, const char *name)
{
    for (size_t i = 0; i < listing->count; i++)
        if (strcmp(listing->entry[i].name, name) == 0)
            return true;
    return false;
}

static bool read_part(const io_parts_in *in, const io_source *source, const char *name,
                      io_array *array, io_error *err)
{
    *array = (io_array){0};
    if (!has_part(&in->listing, name))
        return true;
    return in->read(source, name, NULL, array, err);
}

static bool read_matrix(const io_parts_in *in, const io_source *source, int part, io_array *out,
                        io_error *err)
{
    char name[32];

    if (!read_part(in, source, part_name(part, name), out, err))
        return false;
    if (!out->x)
        return true;
    if (out->ndim != 2 || out->dim[0] == 0 || out->dim[1] == 0)
        return io_fail(err, IO_BAD_INPUT, "%s: %s is not a matrix", source->name, name);
    for (int64_t i = 0; i < out->dim[0] * out->dim[1]; i++)
        if (!isfinite(out->x[i]))
            return io_fail(err, IO_BAD_INPUT, "%s: %s[%lld, %lld] is not finite", source->name,
                           name, (long long)(i / out->dim[1]), (long long)(i % out->dim[1]));
    return true;
}

static bool read_factors(const io_parts_in *in, const io_source *source, io_model *m, io_error *err)
{
    io_array Phi = {0}, W = {0}, H = {0};
    bool ok = read_matrix(in, source, 0, &Phi, err) && read_matrix(in, source, 1, &W, err) &&
              read_matrix(in, source, 2, &H, err);

    m->Phi = Phi.x;
    m->W = W.x;
    m->H = H.x;
    if (!ok)
        return false;
    if (!Phi.x)
        return io_fail(err, IO_BAD_INPUT, "%s: not a model: there is no Phi in it", source->name);
    m->M = Phi.dim[0];
    m->K = W.x ? W.dim[1] : 0;
    m->N = H.x ? H.dim[1] : 0;
    if (Phi.dim[1] != m->M || (W.x && W.dim[0] != m->M) || (H.x && (!W.x || H.dim[0] != m->K)))
        return io_fail(err, IO_BAD_INPUT, "%s: the sizes of Phi, W and H do not go together",
                       source->name);
    return true;
}

static bool read_rest(const io_parts_in *in, const io_source *source, io_model *m, io_error *err)
{
    char name[32];

    for (int i = 0; i < IO_COEFFICIENTS; i++)
        if (!read_part(in, source, part_name(3 + i, name), &m->coefficient[i], err))
            return false;
    for (int c = 0; c < IO_TRACE_COLUMNS; c++) {
        io_array column;
        if (!read_part(in, source, part_name(3 + IO_COEFFICIENTS + c, name), &column, err))
            return false;
        m->trace[c] = column.x;
        int64_t length = io_count(column.ndim, column.dim); /* MATLAB has no arrays of rank 1 */
        if (c == 0 && column.x)
            m->trace_length = length;
        else if (column.x && length != m->trace_length)
            return io_fail(err, IO_BAD_INPUT, "%s: %s is not as long as the trace", source->name,
                           name);
    }
    return true;
}

/* The iterations of all starts: path_C is path.C of the record. */
static bool read_paths(const io_parts_in *in, const io_source *source, io_model *m, io_error *err)
{
    static const char *const columns[] = {"start", "stage", "iteration", "C", "L", "I", "seconds"};
    enum { COLUMNS = sizeof columns / sizeof *columns };

    m->extra = calloc(COLUMNS, sizeof *m->extra);
    if (!m->extra)
        return io_no_memory(err, source->name);
    for (int c = 0; c < COLUMNS; c++) {
        char name[32];
        io_array column;
        io_extra *extra = &m->extra[m->extras];
        snprintf(name, sizeof name, "path_%s", columns[c]);
        if (!read_part(in, source, name, &column, err))
            return false;
        if (!column.x)
            continue;
        snprintf(extra->name, sizeof extra->name, "path.%s", columns[c]);
        extra->ndim = 1;
        extra->dim[0] = io_count(column.ndim, column.dim);
        extra->x = column.x;
        m->extras++;
    }
    return true;
}

static bool read_summary(const char *text, const io_source *source, io_model *m, io_error *err)
{
    json_error_t why;

    m->summary = text ? json_loads(text, 0, &why) : json_object();
    if (json_is_object(m->summary))
        return true;
    return text ? io_fail(err, IO_BAD_INPUT, "%s: its summary is not a JSON object", source->name)
                : io_no_memory(err, source->name);
}

bool io_model_read_parts(const io_source *source, io_parts_in *in, io_model *m, io_error *err)
{
    char *text = NULL;
    bool ok = in->list(source, &in->listing, err) && read_factors(in, source, m, err) &&
              read_rest(in, source, m, err) && read_paths(in, source, m, err) &&
              in->text(source, &text, err) && read_summary(text, source, m, err);

    free(text);
    io_listing_free(&in->listing);
    return ok;
}
