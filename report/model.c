/* What the page shows of a model: its arrays, whichever kind of model it is. */
#include "io/summary.h"
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void page_note(page_model *m, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_array_append_new(m->notes, io_json_text(text));
}

double *page_own(page_model *m, int64_t count)
{
    if (m->owned_count == (int)(sizeof m->owned / sizeof *m->owned))
        return NULL;
    double *x = calloc((size_t)(count > 0 ? count : 1), sizeof *x);
    if (x != NULL)
        m->owned[m->owned_count++] = x;
    return x;
}

const char *page_source(const page_model *m, int64_t source)
{
    const char *name = source < 0 ? NULL : tlnmf_get_text_at(m->record, "names", (size_t)source);
    return name == NULL ? "" : name;
}

/* A matrix of the record; NULL if there is none, or none of this shape (0: any). */
static const double *matrix(const tlnmf_record *record, const char *name, int64_t *rows,
                            int64_t *columns)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;
    const double *x = tlnmf_get_array(record, name, &rank, shape);
    if (x == NULL || rank != 2 || (*rows != 0 && shape[0] != *rows) ||
        (*columns != 0 && shape[1] != *columns) || shape[0] < 1 || shape[1] < 1)
        return NULL;
    *rows = shape[0];
    *columns = shape[1];
    return x;
}

/* ---- which component belongs to which source ------------------------------------------------- */

static tlnmf_error read_owners(page_model *m)
{
    int64_t rows = m->K, two = 2;
    const double *columns = matrix(m->record, "member.0.columns", &rows, &two);
    while (page_source(m, m->sources)[0] != '\0')
        m->sources++;
    if (m->sources == 0 || m->K == 0)
        return TLNMF_OK;
    m->owner = calloc((size_t)m->K, sizeof *m->owner);
    if (m->owner == NULL)
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    for (int64_t k = 0; k < m->K; k++) {
        int64_t owner = columns != NULL ? (int64_t)columns[2 * k] : k * m->sources / m->K;
        m->owner[k] = owner >= 0 && owner < m->sources ? owner : 0;
    }
    return TLNMF_OK;
}

/* ---- energy and frequencies of the rows ------------------------------------------------------ */

/* Sums of V over the frames, else of W H. */
static tlnmf_error find_energy(page_model *m)
{
    int64_t shape[TLNMF_MAX_RANK], frames = m->V != NULL ? (m->N - 1) / m->stride + 1 : m->N;
    m->energy = tlnmf_get_array(m->record, "energy", NULL, shape);
    if (m->energy != NULL && shape[0] == m->M)
        return TLNMF_OK;
    double *energy = page_own(m, m->M);
    if (energy == NULL)
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    for (int64_t r = 0; r < m->M; r++) {
        for (int64_t n = 0; m->V != NULL && n < frames; n++)
            energy[r] += m->V[r * frames + n];
        for (int64_t k = 0; m->V == NULL && m->W != NULL && k < m->K; k++) {
            double sum = m->H == NULL ? 1.0 : 0.0;
            for (int64_t n = 0; m->H != NULL && n < m->N; n++)
                sum += m->H[k * m->N + n];
            energy[r] += m->W[r * m->K + k] * sum;
        }
    }
    m->energy = energy;
    return TLNMF_OK;
}

/* tlnmf_atoms wants Phi and the energy in one record. */
static tlnmf_error find_atoms(page_model *m, int64_t most)
{
    int64_t shape[] = {m->M, m->M};
    tlnmf_record *both = NULL;
    if (m->Phi == NULL)
        return TLNMF_OK;
    tlnmf_error error = tlnmf_record_create(m->ctx, &both);
    if (error == TLNMF_OK)
        error = tlnmf_set_array(m->ctx, both, "Phi", m->Phi, 2, shape);
    if (error == TLNMF_OK)
        error = tlnmf_set_array(m->ctx, both, "energy", m->energy, 1, shape);
    if (error == TLNMF_OK)
        error = tlnmf_atoms(m->ctx, both, m->rate > 0.0 ? m->rate : 1.0, most < m->M ? most : m->M,
                            &m->atoms);
    tlnmf_record_free(both);
    return error;
}

/* ---- the arrays ------------------------------------------------------------------------------ */

/* A model with members: the first is the one that H belongs to. */
static void read_member(page_model *m)
{
    int64_t none = 0;
    m->W = matrix(m->record, "member.0.W", &m->M, &m->K);
    m->H = matrix(m->record, "H", &m->K, &m->N);
    if (m->W == NULL)
        m->K = 0;
    if (m->H == NULL)
        m->N = none;
}

static void read_plain(page_model *m)
{
    int64_t M = 0, K = 0, N = 0;
    m->Phi = matrix(m->record, "Phi", &M, &M);
    m->W = matrix(m->record, "W", &M, &K);
    if (m->W != NULL)
        m->H = matrix(m->record, "H", &K, &N);
    m->V = matrix(m->about, "V", &M, &N);
    if (m->V == NULL)
        m->V = matrix(m->record, "V", &M, &N);
    m->M = M;
    m->K = m->W != NULL ? K : 0;
    m->N = N;
}

static void read_rate(page_model *m, const tlnmf_settings *settings)
{
    double asked = tlnmf_settings_get_real(settings, "rate"), known;
    known = tlnmf_get_real(m->record, "rate");
    m->rate = asked > 0.0 ? asked : known > 0.0 ? known : 0.0;
    if (!m->separated)
        return;
    double frame = tlnmf_get_real(m->record, "frame"), hop = tlnmf_get_real(m->record, "hop");
    if (m->rate > 0.0 && hop > 0.0 && frame > 0.0) {
        m->hop = hop / m->rate;
        m->first = (hop - frame / 2.0) / m->rate;
    }
}

static tlnmf_error read_summary(page_model *m)
{
    const char *text = tlnmf_get_text(m->record, "summary");
    m->summary = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (m->summary != NULL && json_is_object(m->summary))
        return TLNMF_OK;
    json_decref(m->summary);
    m->summary = NULL;
    return io_summary_from(m->ctx, m->record, &m->summary);
}

/* Pages show finite numbers only: a model that has others cannot be drawn. */
static tlnmf_error check_finite(page_model *m)
{
    const struct {
        const char *name;
        const double *x;
        int64_t count;
    } arrays[] = {{"Phi", m->Phi, m->M * m->M},
                  {"W", m->W, m->M * m->K},
                  {"H", m->H, m->K * m->N},
                  {"V", m->V, m->stride > 1 ? 0 : m->M * m->N}};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        for (int64_t i = 0; arrays[a].x != NULL && i < arrays[a].count; i++)
            if (!isfinite(arrays[a].x[i]))
                return io_refuse(m->ctx, TLNMF_ERR_DATA, "the model: %s is not finite",
                                 arrays[a].name);
    return TLNMF_OK;
}

tlnmf_error page_model_read(page_model *m, const tlnmf_settings *settings)
{
    m->notes = json_array();
    m->stride = 1;
    m->separated = tlnmf_get_array(m->record, "members", NULL, NULL) != NULL ||
                   tlnmf_get_text_at(m->record, "names", 0) != NULL;
    IO_TRY(read_summary(m));
    if (tlnmf_get_array(m->record, "Phi", NULL, NULL) == NULL)
        read_member(m);
    else
        read_plain(m);
    if (m->M == 0)
        return io_refuse(m->ctx, TLNMF_ERR_ARGUMENT, "the model has neither Phi nor W");
    read_rate(m, settings);
    IO_TRY(check_finite(m));
    IO_TRY(read_owners(m));
    IO_TRY(page_spectrum(m));
    IO_TRY(find_energy(m));
    return find_atoms(m, tlnmf_settings_get_integer(settings, "atoms"));
}

void page_model_free(page_model *m)
{
    for (int i = 0; i < m->owned_count; i++)
        free(m->owned[i]);
    free(m->owner);
    json_decref(m->summary);
    json_decref(m->notes);
    tlnmf_record_free(m->atoms);
}
