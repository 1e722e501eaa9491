/* Public functions: models as records, in and out. */
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

/* The matrix of a name, NULL if there is none. The writer only reads it. */
static tlnmf_error get_matrix(tlnmf_ctx *ctx, const tlnmf_record *record, const char *name,
                              int64_t rows, int64_t *columns, double **x)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;

    *columns = 0;
    *x = (double *)(uintptr_t)tlnmf_get_array(record, name, &rank, shape);
    if (*x == NULL)
        return TLNMF_OK;
    if (rank != 2 || shape[0] < 1 || shape[1] < 1)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "the model: %s is not a matrix", name);
    if (shape[0] != rows)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "the model: %s has %lld rows, not %lld", name,
                         (long long)shape[0], (long long)rows);
    *columns = shape[1];
    return TLNMF_OK;
}

static tlnmf_error get_matrices(tlnmf_ctx *ctx, const tlnmf_record *record, io_model *m)
{
    int64_t shape[TLNMF_MAX_RANK], N = tlnmf_get_integer(record, "N"), columns;

    if (tlnmf_get_array(record, "Phi", NULL, shape) == NULL) {
        if (tlnmf_get_array(record, "members", NULL, NULL) == NULL)
            return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "the model has no Phi");
        m->M = tlnmf_get_integer(record, "M");
        m->K = tlnmf_get_integer(record, "K");
        return TLNMF_OK;
    }
    m->M = shape[0];
    IO_TRY(get_matrix(ctx, record, "Phi", m->M, &columns, &m->Phi));
    if (columns != m->M)
        return io_refuse(ctx, TLNMF_ERR_SHAPE, "the model: Phi is %lld x %lld, not square",
                         (long long)m->M, (long long)columns);
    IO_TRY(get_matrix(ctx, record, "W", m->M, &m->K, &m->W));
    if (m->W != NULL)
        return get_matrix(ctx, record, "H", m->K, &m->N, &m->H);
    if (tlnmf_get_array(record, "H", NULL, NULL) != NULL)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "the model has H, but no W");
    m->N = N > 0 ? N : 0;
    return TLNMF_OK;
}

/* The name of a column in a record: trace.C for /trace/C. */
static const char *column_name(int column, char name[32])
{
    snprintf(name, 32, "trace.%s", io_trace_paths[column] + sizeof "/trace/" - 1);
    return name;
}

static bool has_trace(const tlnmf_record *record)
{
    char name[32];

    for (int c = 0; c < IO_TRACE_COLUMNS; c++)
        if (tlnmf_record_type(record, column_name(c, name)) == TLNMF_ARRAY)
            return true;
    return false;
}

static tlnmf_error get_trace(tlnmf_ctx *ctx, const tlnmf_record *record, io_model *m)
{
    char name[32];

    if (!has_trace(record))
        return TLNMF_OK;
    for (int c = 0; c < IO_TRACE_COLUMNS; c++) {
        const double *x;
        int64_t length;
        column_name(c, name);
        if (c >= IO_TRACE_NEEDED && tlnmf_record_type(record, name) != TLNMF_ARRAY)
            continue;
        IO_TRY(io_need_column(ctx, record, name, &x, &length));
        m->trace[c] = (double *)(uintptr_t)x; /* the writer only reads it */
        if (c > 0 && length != m->trace_length)
            return io_refuse(ctx, TLNMF_ERR_SHAPE, "the model: %s is not as long as the trace",
                             name);
        m->trace_length = length;
    }
    return TLNMF_OK;
}

static void get_coefficients(const tlnmf_record *record, io_model *m)
{
    for (int i = 0; i < IO_COEFFICIENTS; i++) {
        int64_t shape[TLNMF_MAX_RANK];
        int32_t rank;
        const double *x = tlnmf_get_array(record, io_coefficient_paths[i] + 1, &rank, shape);
        m->coefficient[i] = (io_array){.ndim = rank, .x = (double *)(uintptr_t)x}; /* only read */
        for (int d = 0; x != NULL && d < rank; d++)
            m->coefficient[i].dim[d] = shape[d];
    }
}

static bool is_coefficient(const char *name)
{
    for (int i = 0; i < IO_COEFFICIENTS; i++)
        if (strcmp(name, io_coefficient_paths[i] + 1) == 0)
            return true;
    return false;
}

/* Arrays with a place of their own in the file, or that belong to other records. H has none in a
 * model of members, which is without Phi and W. */
static bool has_place(const char *name, const io_model *m)
{
    return strcmp(name, "Phi") == 0 || strcmp(name, "W") == 0 ||
           (strcmp(name, "H") == 0 && m->Phi != NULL) || strncmp(name, "trace.", 6) == 0 ||
           strncmp(name, "other.", 6) == 0 || strcmp(name, "energy") == 0 || is_coefficient(name);
}

/* All other arrays; m->extra is to be freed, what it refers to is not. */
static tlnmf_error get_extras(tlnmf_ctx *ctx, const tlnmf_record *record, io_model *m)
{
    size_t count = tlnmf_record_count(record);
    m->extra = calloc(count + 1, sizeof *m->extra);
    if (m->extra == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "out of memory for the arrays of a model");
    for (size_t i = 0; i < count; i++) {
        const char *name = tlnmf_record_name(record, i);
        if (tlnmf_record_type(record, name) != TLNMF_ARRAY || has_place(name, m))
            continue;
        io_extra *extra = &m->extra[m->extras];
        int64_t shape[TLNMF_MAX_RANK];
        int32_t rank;
        const double *x = tlnmf_get_array(record, name, &rank, shape);
        if (rank < 1 || strlen(name) >= sizeof extra->name)
            continue;
        snprintf(extra->name, sizeof extra->name, "%s", name);
        extra->x = (double *)(uintptr_t)x; /* the writer only reads it */
        extra->ndim = rank;
        for (int d = 0; d < rank; d++)
            extra->dim[d] = shape[d];
        m->extras++;
    }
    return TLNMF_OK;
}

/* Everything but H, and the H of the record; m->summary and m->extra are to be freed. */
static tlnmf_error get_model(tlnmf_ctx *ctx, const tlnmf_record *model, io_model *m)
{
    IO_TRY(get_matrices(ctx, model, m));
    IO_TRY(get_trace(ctx, model, m));
    get_coefficients(model, m);
    IO_TRY(io_summary_from(ctx, model, &m->summary));
    return get_extras(ctx, model, m);
}

static tlnmf_error write_model(tlnmf_ctx *ctx, const char *path, io_model *m, tlnmf_error error)
{
    io_error err;
    bool ok = error == TLNMF_OK && io_model_write(path, m, &err);

    json_decref(m->summary);
    free(m->extra);
    IO_TRY(error);
    return io_answer(ctx, ok, &err);
}

tlnmf_error tlnmf_io_write_model(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model)
{
    io_model m = {0};

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    return write_model(ctx, path, &m, get_model(ctx, model, &m));
}

/* ---- an H that comes in pieces --------------------------------------------------------------- */

/* All of H, for a file that wants it at once. */
static tlnmf_error collect(tlnmf_ctx *ctx, const char *path, io_model *m, double *all)
{
    for (int64_t row = 0; row < m->K; row++)
        if (m->H_pieces->next(all + row * m->N, m->N, m->H_pieces->user) != 0)
            return io_refuse(ctx, TLNMF_ERR_OUTPUT, "%s: cannot write H: it could not be collected",
                             path);
    m->H = all;
    m->H_pieces = NULL;
    return TLNMF_OK;
}

tlnmf_error tlnmf_io_write_model_from(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                      int64_t N, tlnmf_io_next *next, void *user)
{
    io_pieces pieces = {.next = next, .user = user};
    io_model m = {.H_pieces = &pieces};
    int64_t shape[TLNMF_MAX_RANK];

    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    IO_NEED(ctx, next);
    if (tlnmf_get_array(model, "W", NULL, shape) == NULL)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "the model has H, but no W");
    if (N < 1 || N > INT64_MAX / 16 / shape[1])
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "N = %lld", (long long)N);
    tlnmf_error error = get_model(ctx, model, &m);
    m.H = NULL;
    m.N = N;
    bool in_pieces = io_model_takes_pieces(path);
    double *room = malloc((size_t)(in_pieces ? IO_PIECE : m.K * N + 1) * sizeof *room);
    pieces.room = room;
    if (error == TLNMF_OK && room == NULL)
        error = io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory for H", path);
    if (error == TLNMF_OK && !in_pieces)
        error = collect(ctx, path, &m, room);
    error = write_model(ctx, path, &m, error);
    free(room);
    return error;
}

/* ---- reading --------------------------------------------------------------------------------- */

static tlnmf_error put_sizes(tlnmf_ctx *ctx, const io_model *m, tlnmf_record *model)
{
    IO_TRY(tlnmf_set_integer(ctx, model, "M", m->M));
    IO_TRY(tlnmf_set_integer(ctx, model, "N", m->N));
    return tlnmf_set_integer(ctx, model, "K", m->K);
}

static tlnmf_error put_arrays(tlnmf_ctx *ctx, const io_model *m, tlnmf_record *model)
{
    const int64_t Phi[] = {m->M, m->M}, W[] = {m->M, m->K}, H[] = {m->K, m->N};
    char name[32];

    for (int64_t i = 0; i < m->extras; i++)
        IO_TRY(tlnmf_set_array(ctx, model, m->extra[i].name, m->extra[i].x, m->extra[i].ndim,
                               m->extra[i].dim));
    if (m->Phi != NULL)
        IO_TRY(tlnmf_set_array(ctx, model, "Phi", m->Phi, 2, Phi));
    if (m->W != NULL)
        IO_TRY(tlnmf_set_array(ctx, model, "W", m->W, 2, W));
    if (m->H != NULL)
        IO_TRY(tlnmf_set_array(ctx, model, "H", m->H, 2, H));
    for (int i = 0; i < IO_COEFFICIENTS; i++)
        if (m->coefficient[i].x != NULL && m->coefficient[i].ndim <= TLNMF_MAX_RANK)
            IO_TRY(tlnmf_set_array(ctx, model, io_coefficient_paths[i] + 1, m->coefficient[i].x,
                                   m->coefficient[i].ndim, m->coefficient[i].dim));
    for (int c = 0; c < IO_TRACE_COLUMNS; c++)
        if (m->trace[c] != NULL)
            IO_TRY(tlnmf_set_array(ctx, model, column_name(c, name), m->trace[c], 1,
                                   &m->trace_length));
    return TLNMF_OK;
}

/* A file without a summary has an empty one here, which is none. */
static tlnmf_error put_summary(tlnmf_ctx *ctx, const io_model *m, tlnmf_record *model)
{
    if (json_object_size(m->summary) == 0)
        return TLNMF_OK;
    char *text = json_dumps(m->summary, JSON_INDENT(2));
    if (text == NULL)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "out of memory for the summary");
    tlnmf_error error = tlnmf_set_text(ctx, model, "summary", text);
    free(text);
    return error;
}

/* The summary comes first: what the file itself holds wins over members with these names. */
static tlnmf_error put_model(tlnmf_ctx *ctx, const io_model *m, tlnmf_record *model)
{
    IO_TRY(io_summary_to(ctx, m->summary, model));
    IO_TRY(put_sizes(ctx, m, model));
    IO_TRY(put_arrays(ctx, m, model));
    return put_summary(ctx, m, model);
}

tlnmf_error tlnmf_io_read_model(tlnmf_ctx *ctx, const char *path, tlnmf_record **model)
{
    io_model m;
    io_error err;

    IO_NEED(ctx, model);
    *model = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_TRY(io_answer(ctx, io_model_read(path, &m, &err), &err));
    tlnmf_error error = tlnmf_record_create(ctx, model);
    if (error == TLNMF_OK)
        error = io_keep_if(put_model(ctx, &m, *model), model);
    io_model_free(&m);
    return error;
}
