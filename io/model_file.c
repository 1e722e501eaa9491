/* Model files: named arrays and one summary, as HDF5, .npz or .mat. */
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_SIZE = 64, SIZES = 24 }; /* of a name in a record, with its end; of named sizes */

/* ---- names -------------------------------------------------------------------------------- */

size_t io_result_index(const char *name)
{
    size_t count = tlnmf_result_count(), i = 0;

    if (strncmp(name, "other.", 6) == 0)
        name += 6;
    while (i < count && strcmp(tlnmf_result_name(i), name) != 0)
        i++;
    return i;
}

/* MATLAB allows no dots in names: trace.C is trace_C, every other dot is two underscores. */
static void flat_name(const char *name, char flat[2 * NAME_SIZE])
{
    bool trace = strncmp(name, "trace.", 6) == 0;

    for (; *name; name++) {
        *flat++ = *name == '.' ? '_' : *name;
        if (*name == '.' && !trace)
            *flat++ = '_';
    }
    *flat = '\0';
}

/* The name in a record of an array in a file; "" if it is not part of a model. */
static void record_name(io_format format, const char *from, char name[NAME_SIZE])
{
    static const char *const folders[][2] = {{"/trace/", "trace."}, {"/arrays/", ""}, {"/", ""}};
    char text[2 * NAME_SIZE] = "";
    char *at = text;

    name[0] = '\0';
    if (strlen(from) >= sizeof text - 8)
        return;
    if (format == IO_FORMAT_HDF5) {
        size_t i = 0;
        while (i < 2 && strncmp(from, folders[i][0], strlen(folders[i][0])) != 0)
            i++;
        snprintf(text, sizeof text, "%s%s", folders[i][1], from + strlen(folders[i][0]));
        if (strchr(text, '/'))
            return;
    } else if (strncmp(from, "trace_", 6) == 0) {
        snprintf(text, sizeof text, "trace.%s", from + 6);
    } else {
        for (; *from; from++) {
            bool dot = from[0] == '_' && from[1] == '_';
            *at++ = dot ? '.' : *from;
            from += dot;
        }
    }
    if (strlen(text) < NAME_SIZE)
        memcpy(name, text, strlen(text) + 1);
}

/* ---- checks ------------------------------------------------------------------------------- */

/* A model that is read or written: the name of its file, and the errors to return. */
typedef struct subject {
    tlnmf_ctx *ctx;
    const char *name;
    const tlnmf_record *record;
    tlnmf_error missing, shape, infinite;
} subject;

/* Finds a matrix, whose numbers must be finite; *x is NULL if it is missing. */
static bool get_matrix(const subject *s, const char *name, const double **x, int64_t *rows,
                       int64_t *cols)
{
    int64_t dim[TLNMF_MAX_DIMENSIONS];
    int32_t ndim;

    *x = tlnmf_record_get_array(s->record, name, &ndim, dim);
    if (!*x)
        return true;
    if (ndim != 2 || dim[0] < 1 || dim[1] < 1)
        return io_fail(s->ctx, s->shape, "%s: %s is not a matrix", s->name, name);
    *rows = dim[0];
    *cols = dim[1];
    for (int64_t i = 0; i < dim[0] * dim[1]; i++)
        if (!isfinite((*x)[i]))
            return io_fail(s->ctx, s->infinite, "%s: %s[%lld, %lld] is not finite", s->name, name,
                           (long long)(i / dim[1]), (long long)(i % dim[1]));
    return true;
}

/* Checks Phi, W and H, and sets M, N and K; N stays if there is no W. A separation of members has
 * no Phi, and its M and K stay. */
static bool check_factors(const subject *s, bool without_H, int64_t sizes[3])
{
    const double *Phi, *W, *H = NULL;
    int64_t M = 0, K = 0, N = 0, rows = 0, cols = 0;

    if (!get_matrix(s, "Phi", &Phi, &M, &cols))
        return false;
    if (!Phi)
        return tlnmf_record_get_array(s->record, "members", NULL, NULL) ||
               io_fail(s->ctx, s->missing, "%s: not a model: it has no Phi", s->name);
    if (cols != M)
        return io_fail(s->ctx, s->shape, "%s: Phi is %lld x %lld, not square", s->name,
                       (long long)M, (long long)cols);
    if (!get_matrix(s, "W", &W, &rows, &K))
        return false;
    if (W && rows != M)
        return io_fail(s->ctx, s->shape, "%s: W has %lld rows, Phi has %lld", s->name,
                       (long long)rows, (long long)M);
    if (!without_H && !get_matrix(s, "H", &H, &rows, &N))
        return false;
    if (H && !W)
        return io_fail(s->ctx, s->missing, "%s: it has H, but no W", s->name);
    if (H && rows != K)
        return io_fail(s->ctx, s->shape, "%s: H has %lld rows, W has %lld columns", s->name,
                       (long long)rows, (long long)K);
    sizes[0] = M;
    sizes[1] = W ? N : sizes[1];
    sizes[2] = K;
    return true;
}

static const char *const size_names[] = {"M", "N", "K"};

/* Sizes that a file does not declare (-1) are those of the record, else 0. */
static void complete_sizes(const tlnmf_record *record, int64_t sizes[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t known = tlnmf_record_get_integer(record, size_names[i]);
        sizes[i] = sizes[i] >= 0 ? sizes[i] : known > 0 ? known : 0;
    }
}

/* The shape of an array in a model, as in the table of results: "M,K"; "" if it is not known. */
static const char *known_shape(const char *name)
{
    size_t i = io_result_index(name);
    const char *where = tlnmf_result_where(i);

    if (strncmp(name, "trace.", 6) == 0)
        return "rows";
    if (strncmp(name, "other.trace.", 12) == 0)
        return "other rows"; /* the other method has its own number of iterations */
    return where && (strstr(where, "model") || strstr(where, "separation")) ? tlnmf_result_shape(i)
                                                                            : "";
}

/* One size of an array: its name in the table ("M", "rows", "11"), and the array that has it. */
typedef struct named_size {
    const char *name, *array;
    size_t length; /* of the name */
    int64_t size;
} named_size;

/* Numbers stand for themselves; other names mean the same size in all arrays. */
static bool check_size(const subject *s, named_size known[], int *count, named_size new)
{
    char *end;
    long long number = strtoll(new.name, &end, 10);

    if (end != new.name)
        return number == new.size ||
               io_fail(s->ctx, s->shape, "%s: %s has a size of %lld, not %lld", s->name, new.array,
                       (long long)new.size, number);
    for (int i = 0; i < *count; i++) {
        const named_size *old = &known[i];
        if (old->length != new.length || strncmp(old->name, new.name, new.length) != 0)
            continue;
        return old->size == new.size ||
               io_fail(s->ctx, s->shape, "%s: %s has %.*s = %lld, but %s has %.*s = %lld", s->name,
                       new.array, (int)new.length, new.name, (long long)new.size, old->array,
                       (int)old->length, old->name, (long long)old->size);
    }
    if (*count < SIZES)
        known[(*count)++] = new;
    return true;
}

/* Checks the arrays of the table of results against each other: what reads them relies on it. */
static bool check_shapes(const subject *s, bool without_H)
{
    named_size known[SIZES];
    int64_t dim[TLNMF_MAX_DIMENSIONS];
    int32_t ndim;
    int count = 0;

    for (size_t i = 0; i < tlnmf_record_count(s->record); i++) {
        const char *name = tlnmf_record_name(s->record, i), *at = known_shape(name);
        if (*at == '\0' || !tlnmf_record_get_array(s->record, name, &ndim, dim) ||
            (without_H && strcmp(name, "H") == 0))
            continue;
        for (int d = 0; d < ndim || *at != '\0'; d++) {
            size_t length = strcspn(at, ",");
            if (d == ndim || *at == '\0')
                return io_fail(s->ctx, s->shape, "%s: %s must have the shape (%s)", s->name, name,
                               known_shape(name));
            if (!check_size(s, known, &count, (named_size){at, name, length, dim[d]}))
                return false;
            at += length + (at[length] == ',');
        }
    }
    return true;
}

tlnmf_error io_check_shapes(tlnmf_ctx *ctx, const char *file, const tlnmf_record *model)
{
    subject s = {ctx, file, model, TLNMF_ERR_ARGUMENT, TLNMF_ERR_SHAPE, TLNMF_ERR_DATA};

    return io_end(ctx, check_shapes(&s, false));
}

/* ---- writing ------------------------------------------------------------------------------ */

bool io_model_next(const io_model *model, size_t *index, const char **name, io_array *array)
{
    static const char *const first[] = {"Phi", "W", "H"}; /* then the others */
    enum { FIRST = sizeof first / sizeof *first };
    int64_t dim[TLNMF_MAX_DIMENSIONS];
    int32_t ndim;

    while (*index < FIRST + tlnmf_record_count(model->record)) {
        size_t i = (*index)++;
        *name = i < FIRST ? first[i] : tlnmf_record_name(model->record, i - FIRST);
        bool again = false, in_pieces = i == FIRST - 1 && model->H;
        for (size_t k = 0; i >= FIRST && k < FIRST; k++)
            again = again || strcmp(*name, first[k]) == 0;
        *array = (io_array){.x = tlnmf_record_get_array(model->record, *name, &ndim, dim)};
        if (in_pieces)
            *array = (io_array){2, {model->K, model->N}, model->H->all};
        if (again || (!array->x && !in_pieces))
            continue;
        for (int d = 0; !in_pieces && d < ndim; d++)
            array->dim[array->ndim++] = dim[d];
        return true;
    }
    return false;
}

void io_model_put_flat(const io_model *model,
                       void (*put)(void *file, const char *name, const io_array *array), void *file)
{
    const char *name;
    json_t *value;
    io_array array;

    for (size_t i = 0; io_model_next(model, &i, &name, &array);) {
        char flat[2 * NAME_SIZE];
        flat_name(name, flat);
        put(file, flat, &array);
    }
    json_object_foreach(model->summary, name, value)
    {
        double x = json_number_value(value);
        size_t plain = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
        array = (io_array){.x = &x};
        if (json_is_number(value) && name[plain] == '\0' && plain > 0)
            put(file, name, &array);
    }
}

/* Names without extension, such as /dev/stdout or a pipe, and `-` are HDF5. */
static bool is_hdf5_name(const char *path)
{
    return io_format_of_name(path, strlen(path)) == IO_FORMAT_HDF5 || io_has_no_extension(path);
}

static bool write_file(tlnmf_ctx *ctx, const char *path, io_model *m)
{
    bool hdf5 = is_hdf5_name(path);
    io_format format = io_format_of_name(path, strlen(path));

    if (!hdf5 && format != IO_FORMAT_NPZ && format != IO_FORMAT_MAT)
        return io_fail(ctx, TLNMF_ERR_OUTPUT, "%s: models are written as .h5, .mat or .npz", path);
    m->text = json_dumps(m->summary, JSON_INDENT(2) | (hdf5 ? 0 : JSON_ENSURE_ASCII));
    if (!m->text)
        return io_no_memory(ctx, path);
    bool ok = hdf5                      ? io_hdf5_model_write(ctx, path, m)
              : format == IO_FORMAT_NPZ ? io_npz_model_write(ctx, path, m)
                                        : io_mat_model_write(ctx, path, m);
    free(m->text);
    return ok;
}

static bool write_model(tlnmf_ctx *ctx, const char *path, io_model *m)
{
    subject s = {ctx, path, m->record, TLNMF_ERR_ARGUMENT, TLNMF_ERR_SHAPE, TLNMF_ERR_OUTPUT};
    int64_t sizes[] = {-1, -1, -1}, whole = m->N;

    complete_sizes(m->record, sizes);
    if (!check_factors(&s, m->H != NULL, sizes) || !check_shapes(&s, m->H != NULL) ||
        !io_summary_from(ctx, m->record, &m->summary))
        return false;
    m->M = sizes[0];
    m->N = m->H ? whole : sizes[1];
    m->K = sizes[2];
    bool ok = write_file(ctx, path, m);
    json_decref(m->summary);
    return ok;
}

tlnmf_error tlnmf_io_write_model(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model)
{
    io_model m = {.record = model};

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    return io_end(ctx, write_model(ctx, path, &m));
}

/* Only an HDF5 file that is not in memory takes an H in pieces. */
static bool takes_pieces(const char *path)
{
    struct stat st;

    return is_hdf5_name(path) && strcmp(path, "-") != 0 &&
           (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

/* Calls the caller's function. The cause that it gives to tlnmf_fail becomes the fault. */
static void call_next(io_pieces *pieces, double *x, int64_t count)
{
    char before[TLNMF_MESSAGE_SIZE];
    tlnmf_ctx *ctx = pieces->ctx;
    tlnmf_error error = tlnmf_last_error(ctx);

    snprintf(before, sizeof before, "%s", tlnmf_message(ctx));
    tlnmf_fail(ctx, TLNMF_OK, "");
    int status = pieces->next(x, count, pieces->user);
    if (status != 0) {
        const char *cause = tlnmf_message(ctx);
        if (cause[0] != '\0')
            snprintf(pieces->cause, sizeof pieces->cause, "%s", cause);
        else
            snprintf(pieces->cause, sizeof pieces->cause, "the callback returned %d", status);
        pieces->fault = pieces->cause;
        pieces->error = TLNMF_ERR_CALLBACK;
    }
    tlnmf_fail(ctx, error, before);
}

bool io_pieces_next(io_pieces *pieces, double *x, int64_t count)
{
    call_next(pieces, x, count);
    for (int64_t i = 0; !pieces->fault && i < count; i++)
        if (!isfinite(x[i])) {
            pieces->fault = "it is not finite";
            pieces->error = TLNMF_ERR_OUTPUT;
        }
    return !pieces->fault;
}

/* Collects H for a file that is written at once. */
static bool collect(tlnmf_ctx *ctx, const char *path, io_pieces *pieces, int64_t K, int64_t N)
{
    for (int64_t row = 0; row < K; row++)
        if (!io_pieces_next(pieces, pieces->room + row * N, N))
            return io_fail(ctx, pieces->error, "%s: cannot write H: %s", path, pieces->fault);
    pieces->all = pieces->room;
    return true;
}

tlnmf_error tlnmf_io_write_model_from(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                      int64_t N, tlnmf_io_next_fn next, void *user)
{
    io_pieces pieces = {.next = next, .user = user, .ctx = ctx};
    io_model m = {.record = model, .N = N, .H = &pieces};
    int64_t shape[TLNMF_MAX_DIMENSIONS];

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    IO_NEED(ctx, next);
    if (tlnmf_record_get_array(model, "Phi", NULL, NULL) == NULL ||
        tlnmf_record_get_array(model, "W", NULL, shape) == NULL)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "%s: H in pieces needs a model with Phi and W",
                         path);
    if (shape[1] < 1 || N < 1 || N > INT64_MAX / 16 / shape[1])
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "%s: H cannot have the shape (%lld, %lld)", path,
                         (long long)shape[1], (long long)N);
    bool in_pieces = takes_pieces(path);
    pieces.room = io_allocate(in_pieces ? IO_PIECE : shape[1] * N, sizeof *pieces.room);
    if (pieces.room == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory for H", path);
    bool ok = (in_pieces || collect(ctx, path, &pieces, shape[1], N)) && write_model(ctx, path, &m);
    free(pieces.room);
    return io_end(ctx, ok);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* MATLAB has no arrays of one dimension: restores those that the table of results lists as such. */
static bool fix_rank(tlnmf_ctx *ctx, tlnmf_record *model, const char *name)
{
    size_t i = io_result_index(name);
    int64_t dim[TLNMF_MAX_DIMENSIONS];
    int32_t ndim;
    const double *x = tlnmf_record_get_array(model, name, &ndim, dim);

    if (i == tlnmf_result_count() || strchr(tlnmf_result_shape(i), ',') || ndim != 2 ||
        (dim[0] != 1 && dim[1] != 1))
        return true;
    int64_t count = dim[0] * dim[1];
    double *copy = malloc(((size_t)count + 1) * sizeof *copy);
    if (!copy)
        return io_no_memory(ctx, name);
    memcpy(copy, x, (size_t)count * sizeof *copy);
    bool ok = tlnmf_record_set_array(ctx, model, name, copy, 1, &count) == TLNMF_OK;
    free(copy);
    return ok;
}

/* Whether an array is part of the model. It is if the table of results lists it as an array. An
 * unknown array is if the file has a summary, so that we wrote it, and the summary does not hold
 * it. */
static bool is_wanted(const io_entry *entry, const char *name, const json_t *summary)
{
    size_t i = io_result_index(name);

    if (i < tlnmf_result_count())
        return tlnmf_result_type(i) == TLNMF_TYPE_ARRAY;
    return entry->numeric && name[0] != '\0' && summary && !json_object_get(summary, name);
}

/* Reads the arrays in the order of the table of results, then the others. */
static bool read_arrays(tlnmf_ctx *ctx, io_file *file, io_listing *listing, const json_t *summary,
                        tlnmf_record *model)
{
    size_t results = tlnmf_result_count();

    for (size_t turn = 0; turn <= results; turn++)
        for (size_t i = 0; i < listing->count; i++) {
            char name[NAME_SIZE];
            io_target to = {model, name};
            record_name(file->source.format, listing->entry[i].name, name);
            if ((turn < results && strcmp(name, tlnmf_result_name(turn)) != 0) ||
                tlnmf_record_type(model, name) == TLNMF_TYPE_ARRAY ||
                !is_wanted(&listing->entry[i], name, summary))
                continue;
            tlnmf_record_remove(model, name); /* a value of the summary */
            if (!file->calls->read(ctx, file, listing->entry[i].name, NULL, &to) ||
                (file->source.format == IO_FORMAT_MAT && !fix_rank(ctx, model, name)))
                return false;
        }
    return true;
}

/* Checks the sizes that the file declares against its arrays, and stores them in the record. */
static bool set_sizes(tlnmf_ctx *ctx, const io_file *file, const int64_t declared[3],
                      tlnmf_record *model)
{
    subject s = {ctx, file->source.name, model, TLNMF_ERR_INPUT, TLNMF_ERR_INPUT, TLNMF_ERR_INPUT};
    bool has_H = tlnmf_record_get_array(model, "H", NULL, NULL) != NULL;
    bool has_Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL) != NULL;
    int64_t sizes[] = {declared[0], declared[1], declared[2]};

    complete_sizes(model, sizes);
    if (!check_factors(&s, false, sizes) || !check_shapes(&s, false))
        return false;
    if (sizes[0] < 1)
        return io_fail(ctx, TLNMF_ERR_INPUT, "%s: the model has no valid sizes", s.name);
    /* If frames are missing, only N shows it: Phi and W do not depend on them. */
    if (has_Phi && sizes[2] > 0 && declared[1] >= 0 && declared[1] != sizes[1])
        return has_H ? io_fail(ctx, TLNMF_ERR_INPUT, "%s: H has %lld columns, N is %lld", s.name,
                               (long long)sizes[1], (long long)declared[1])
                     : io_fail(ctx, TLNMF_ERR_INPUT, "%s: N is %lld, but there is no H", s.name,
                               (long long)declared[1]);
    for (int i = 0; i < 3; i++)
        if (tlnmf_record_set_integer(ctx, model, size_names[i], sizes[i]) != TLNMF_OK)
            return false;
    return true;
}

static bool read_model(tlnmf_ctx *ctx, io_file *file, tlnmf_record *model)
{
    io_listing listing = {0};
    int64_t declared[3] = {-1, -1, -1};
    char *text = NULL, *again = NULL;
    json_t *summary = NULL;
    const char *what = file->hdf5 >= 0 ? "/summary" : "its summary";

    bool ok = (file->hdf5 < 0 || io_hdf5_check_model(ctx, file, declared)) &&
              file->calls->text(ctx, file, &text) && file->calls->list(ctx, file, &listing);
    if (ok && text)
        ok = io_summary_parse(ctx, file->source.name, what, text, &summary) &&
             io_summary_to(ctx, summary, model);
    if (ok && file->hdf5 >= 0 && !summary) /* its attributes show that we wrote it */
        ok = (summary = json_object()) != NULL || io_no_memory(ctx, file->source.name);
    ok = ok && read_arrays(ctx, file, &listing, summary, model) &&
         set_sizes(ctx, file, declared, model);
    if (ok && json_object_size(summary) > 0) {
        again = json_dumps(summary, JSON_INDENT(2));
        ok = again ? tlnmf_record_set_text(ctx, model, "summary", again) == TLNMF_OK
                   : io_no_memory(ctx, file->source.name);
    }
    json_decref(summary);
    io_listing_free(&listing);
    free(again);
    free(text);
    return ok;
}

tlnmf_error tlnmf_io_read_model(tlnmf_ctx *ctx, const char *path, tlnmf_record **model)
{
    io_file file;

    IO_NEED_OUT(ctx, model, path);
    if (!io_file_open(ctx, path, &file))
        return io_end(ctx, false);
    bool ok =
        file.calls->text
            ? tlnmf_record_create(ctx, model) == TLNMF_OK && read_model(ctx, &file, *model)
            : io_fail(ctx, TLNMF_ERR_INPUT, "%s: not a model, which is an .h5, .mat or .npz file",
                      file.source.name);
    io_file_close(&file);
    return io_end_record(ctx, ok, model);
}
