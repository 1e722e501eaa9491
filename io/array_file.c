/* Reads and writes arrays: specs, lists of the arrays in a file, ranges. */
#include "files.h"
#include "program.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures ----------------------------------------------------------------------------- */

tlnmf_error io_refuse(tlnmf_ctx *ctx, tlnmf_error error, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length >= (int)sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    return tlnmf_fail(ctx, error, text);
}

tlnmf_error io_end_record(const tlnmf_ctx *ctx, bool ok, tlnmf_record **record)
{
    if (!ok) {
        tlnmf_record_free(*record);
        *record = NULL;
    }
    return io_end(ctx, ok);
}

/* ---- lists of arrays ----------------------------------------------------------------------- */

bool io_listing_add(io_listing *listing, const io_entry *entry)
{
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? 2 * listing->capacity : 8;
        io_entry *larger = realloc(listing->entry, capacity * sizeof *larger);
        if (!larger)
            return false;
        listing->entry = larger;
        listing->capacity = capacity;
    }
    char *name = strdup(entry->name);
    if (!name)
        return false;
    listing->entry[listing->count] = *entry;
    listing->entry[listing->count++].name = name;
    return true;
}

void io_listing_free(io_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->entry[i].name);
    free(listing->entry);
    *listing = (io_listing){0};
}

/* "it has /A, /B and 3 more": the first few, cut at `size`. */
static void tell(const io_listing *listing, char *text, size_t size)
{
    enum { FEW = 6 };
    size_t used = (size_t)snprintf(text, size, "it has %s", listing->count ? "" : "none");

    for (size_t i = 0; i < listing->count && i < FEW && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.60s", i ? ", " : "",
                                 listing->entry[i].name[0] ? listing->entry[i].name
                                                           : "one without a name");
    if (listing->count > FEW && used < size)
        snprintf(text + used, size - used, " and %zu more", listing->count - FEW);
}

/* The only numeric entry; NULL with an error that names the entries if there is not exactly one. */
static const char *only_entry(tlnmf_ctx *ctx, const io_listing *listing, const char *name)
{
    const char *only = NULL, *complex_one = NULL, *structure = NULL;
    size_t found = 0;
    char have[400];

    for (size_t i = 0; i < listing->count; i++) {
        if (listing->entry[i].numeric && found++ == 0)
            only = listing->entry[i].name;
        if (!complex_one && strcmp(listing->entry[i].dtype, "complex") == 0)
            complex_one = listing->entry[i].name;
        if (strcmp(listing->entry[i].dtype, "struct") == 0)
            structure = listing->entry[i].name;
    }
    if (found == 1)
        return only;
    tell(listing, have, sizeof have);
    if (found == 0 && complex_one)
        io_fail(ctx, TLNMF_ERR_INPUT, IO_COMPLEX, name, complex_one);
    else if (found == 0 && structure)
        io_fail(ctx, TLNMF_ERR_INPUT, IO_STRUCT, name, structure, structure);
    else if (found == 0)
        io_fail(ctx, TLNMF_ERR_INPUT, "%s: no array of real numbers (%s)", name, have);
    else
        io_fail(ctx, TLNMF_ERR_INPUT, "%s: contains several arrays; name one, as in %s:%s (%s)",
                name, name, only, have);
    return NULL;
}

/* ---- open files --------------------------------------------------------------------------- */

bool io_file_open(tlnmf_ctx *ctx, const char *path, io_file *out)
{
    static const io_format_calls *const calls[] = {[IO_FORMAT_NPY] = &io_npy_calls,
                                                   [IO_FORMAT_HDF5] = &io_hdf5_calls,
                                                   [IO_FORMAT_MAT] = &io_mat_calls,
                                                   [IO_FORMAT_NPZ] = &io_npz_calls,
                                                   [IO_FORMAT_TEXT] = &io_csv_calls};

    *out = (io_file){.hdf5 = -1};
    if (!io_source_open(ctx, path, &out->source))
        return false;
    out->calls = calls[out->source.format];
    if (!out->calls->open || out->calls->open(ctx, out))
        return true;
    io_source_close(&out->source);
    return false;
}

void io_file_close(io_file *file)
{
    if (file->calls->close)
        file->calls->close(file);
    io_source_close(&file->source);
}

bool io_file_lacks(tlnmf_ctx *ctx, io_file *file, const char *member)
{
    io_listing listing = {0};
    char have[400];

    if (file->calls->list(ctx, file, &listing)) {
        tell(&listing, have, sizeof have);
        io_refuse(ctx, TLNMF_ERR_INPUT, "%s: no %s %s (%s)", file->source.name, file->calls->member,
                  member, have);
    }
    io_listing_free(&listing);
    return false;
}

/* Reads the range of a file that can only be read whole. */
static bool read_and_cut(tlnmf_ctx *ctx, io_file *file, const char *member, io_slice *slice,
                         const io_target *to)
{
    tlnmf_record *whole = NULL;
    io_target all = {NULL, to->name};
    int64_t dim[IO_MAX_DIM], part[IO_MAX_DIM];
    int32_t ndim;
    double *x = NULL;

    if (tlnmf_record_create(ctx, &whole) != TLNMF_OK)
        return false;
    all.record = whole;
    bool ok = file->calls->read(ctx, file, member, NULL, &all);
    const double *from = tlnmf_record_get_array(whole, all.name, &ndim, dim);
    ok = ok && io_slice_fit(ctx, slice, file->source.name, ndim, dim, part);
    if (ok && slice->count > 0) {
        io_runs r = io_slice_runs(slice, false);
        x = io_array_new(ctx, to, file->source.name, ndim, part);
        ok = x != NULL;
        for (int64_t i = 0; ok && i < r.runs; i++)
            memcpy(x + i * r.length, from + r.offset + i * r.stride, (size_t)r.length * sizeof *x);
    }
    static const char *const texts[] = {"note", "missing"};
    for (int i = 0; ok && i < 2; i++) {
        const char *text = tlnmf_record_get_text(whole, texts[i]);
        ok = !text || tlnmf_record_set_text(ctx, to->record, texts[i], text) == TLNMF_OK;
    }
    tlnmf_record_free(whole);
    return ok;
}

/* `member` is the name of the array; NULL: the only one. For a text table it is options such as
 * "no-header". */
static bool read_member(tlnmf_ctx *ctx, io_file *file, const char *member, io_slice *slice,
                        const io_target *to)
{
    io_format format = file->source.format;
    io_listing listing = {0};

    if (member && format == IO_FORMAT_NPY && io_table_words_valid(member))
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: not a text table, :%s does not apply to it",
                       file->source.name, member);
    bool ok = member || !file->calls->member || file->calls->list(ctx, file, &listing);
    if (ok && !member && file->calls->member) {
        member = only_entry(ctx, &listing, file->source.name);
        ok = member != NULL;
    }
    if (ok && slice && format != IO_FORMAT_NPY && format != IO_FORMAT_HDF5)
        ok = read_and_cut(ctx, file, member, slice, to);
    else
        ok = ok && file->calls->read(ctx, file, member, slice, to);
    io_listing_free(&listing);
    return ok;
}

/* ---- specs -------------------------------------------------------------------------------- */

/* The colon counts only after the name of a file that can have members, or before words on a table,
 * as in `data.csv:no-header`. The first such colon counts: names of members may have colons. */
size_t tlnmf_io_file_length(const char *spec)
{
    for (const char *colon = strchr(spec, ':'); colon; colon = strchr(colon + 1, ':')) {
        size_t length = (size_t)(colon - spec);
        io_format format = io_format_of_name(spec, length);
        if (format == IO_FORMAT_HDF5 || format == IO_FORMAT_MAT || format == IO_FORMAT_NPZ ||
            (colon[1] && io_table_words_valid(colon + 1)))
            return length;
    }
    return strlen(spec);
}

char *io_split_spec(tlnmf_ctx *ctx, const char *spec, const char **member)
{
    size_t length = tlnmf_io_file_length(spec);
    *member = spec[length] && spec[length + 1] ? spec + length + 1 : NULL;
    char *path = strndup(spec, length);
    if (!path)
        io_no_memory(ctx, spec);
    return path;
}

/* ---- the calls ---------------------------------------------------------------------------- */

static tlnmf_error read_array(tlnmf_ctx *ctx, const char *spec, io_slice *slice, tlnmf_record **out)
{
    const char *member;
    io_file file;

    IO_NEED_OUT(ctx, out, spec);
    IO_TRY(tlnmf_record_create(ctx, out));
    char *path = io_split_spec(ctx, spec, &member);
    bool ok = path && io_file_open(ctx, path, &file);
    if (ok) {
        io_target to = {*out, "array"};
        ok = read_member(ctx, &file, member, slice, &to);
        io_file_close(&file);
    }
    free(path);
    return io_end_record(ctx, ok, out);
}

tlnmf_error tlnmf_io_read_array(tlnmf_ctx *ctx, const char *spec, tlnmf_record **out)
{
    return read_array(ctx, spec, NULL, out);
}

tlnmf_error tlnmf_io_read_slice(tlnmf_ctx *ctx, const char *spec, int32_t axis, int64_t first,
                                int64_t count, tlnmf_record **out)
{
    io_slice slice = {.axis = axis, .first = first, .count = count};
    double *shape;

    IO_TRY(read_array(ctx, spec, &slice, out));
    const int64_t dimensions = slice.ndim;
    bool ok = tlnmf_record_new_array(ctx, *out, "shape", 1, &dimensions, &shape) == TLNMF_OK;
    for (int d = 0; ok && d < slice.ndim; d++)
        shape[d] = (double)slice.dim[d];
    return io_end_record(ctx, ok, out);
}

tlnmf_error tlnmf_io_write_array(tlnmf_ctx *ctx, const char *spec, const double *x,
                                 int32_t dimensions, const int64_t *shape)
{
    io_array array = {.ndim = dimensions, .x = x};
    io_buffer file = {0};
    const char *member;
    bool ok;

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, spec);
    IO_NEED(ctx, x);
    IO_NEED(ctx, shape);
    if (dimensions < 1 || dimensions > IO_MAX_DIM)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "%s: has %d dimensions, outside [1, %d]", spec,
                         (int)dimensions, IO_MAX_DIM);
    int64_t count = io_count(dimensions, shape);
    if (count < 0 || count > INT64_MAX / (int64_t)sizeof *x)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "%s: this shape is impossible", spec);
    for (int d = 0; d < dimensions; d++)
        array.dim[d] = shape[d];
    char *path = io_split_spec(ctx, spec, &member);
    if (!path)
        return TLNMF_ERR_MEMORY;
    io_format format = io_format_of_name(path, strlen(path));
    if (format == IO_FORMAT_HDF5)
        ok = io_hdf5_write(ctx, path, member ? member : "/Y", &array);
    else if (format == IO_FORMAT_NPY || io_has_no_extension(path)) {
        io_npy_encode(&file, &array);
        ok = io_buffer_publish(ctx, &file, true, path);
    } else
        ok = io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: arrays are written as .npy or .h5", path);
    free(path);
    return io_end(ctx, ok);
}
