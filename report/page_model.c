/* The arrays that the page shows, for every kind of model. */
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

static tlnmf_error no_memory(const page_model *m)
{
    return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
}

const char *page_source(const page_model *m, int64_t source)
{
    const char *name =
        source < 0 ? NULL : tlnmf_record_get_text_at(m->record, "names", (size_t)source);
    return name == NULL ? "" : name;
}

/* A matrix of the record; NULL if it is missing or has another shape (0: any). */
static const double *matrix(const tlnmf_record *record, const char *name, int64_t *rows,
                            int64_t *columns)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    int32_t rank;
    const double *x = tlnmf_record_get_array(record, name, &rank, shape);
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
        return no_memory(m);
    for (int64_t k = 0; k < m->K; k++) {
        int64_t owner = columns != NULL ? (int64_t)columns[2 * k] : k * m->sources / m->K;
        m->owner[k] = owner >= 0 && owner < m->sources ? owner : 0;
    }
    return TLNMF_OK;
}

/* ---- frequencies of the rows, V of a recording ----------------------------------------------- */

/* Takes arrays of the record, which the model then owns. */
static void take(page_model *m, tlnmf_record *out)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    const double *f = tlnmf_record_get_array(out, "frequency", NULL, shape);
    for (int64_t r = 0; r < m->M && r < shape[0]; r++)
        m->frequency[r] = f[r] * (m->rate > 0.0 ? m->rate : 1.0);
    if (m->Phi == NULL)
        m->Phi = tlnmf_record_get_array(out, "Phi", NULL, NULL);
    if (m->V == NULL)
        m->V = tlnmf_record_get_array(out, "V", NULL, NULL);
    m->spectrum = out;
}

/* The frames of the recording that a picture has columns for. */
static void choose_frames(page_model *m, int64_t length, int64_t frame, int64_t hop)
{
    if (m->N == 0)
        m->N = (length + frame) / hop;
    int64_t middle = hop / 2; /* V is of the middle shift */
    m->first -= (double)middle / m->rate;
    m->stride = (m->N + PAGE_COLUMNS - 1) / PAGE_COLUMNS;
}

tlnmf_error page_recording_open(const page_model *m, const char *path, page_recording *r)
{
    *r = (page_recording){0};
    tlnmf_error error = tlnmf_io_open_sound(m->ctx, path, &r->file);
    if (error != TLNMF_OK)
        return error;
    double rate = tlnmf_record_get_real(m->record, "rate");
    r->sound = r->file;
    if (!m->separated || !(rate > 0.0) ||
        rate == tlnmf_record_get_real(tlnmf_sound_record(r->file), "rate"))
        return TLNMF_OK;
    return tlnmf_sound_resample(m->ctx, r->file, rate, &r->sound);
}

void page_recording_close(page_recording *r)
{
    if (r->sound != r->file)
        tlnmf_sound_free(r->sound);
    tlnmf_sound_free(r->file);
    *r = (page_recording){0};
}

/* Without a recording that can be used the page has no V. */
static void open_recording(page_model *m, const char *path, page_recording *r)
{
    int64_t frame = tlnmf_record_get_integer(m->record, "frame"),
            hop = tlnmf_record_get_integer(m->record, "hop");
    tlnmf_error error = page_recording_open(m, path, r); /* page_sound_read() says why it failed */
    if (error == TLNMF_OK && frame >= 2 && hop >= 1)
        choose_frames(m, tlnmf_record_get_integer(tlnmf_sound_record(r->sound), "length"), frame,
                      hop);
    else
        page_recording_close(r);
}

/* Finds the frequencies of the rows, and V if there is a recording. */
static tlnmf_error find_spectrum(page_model *m)
{
    const char *recording = tlnmf_record_get_text(m->about, "recording");
    page_recording from = {0};
    tlnmf_record *out;
    m->frequency = calloc((size_t)m->M, sizeof *m->frequency);
    if (m->frequency == NULL)
        return no_memory(m);
    if (m->Phi == NULL && !m->separated)
        return TLNMF_OK;
    if (m->separated && m->V == NULL && recording != NULL && recording[0] != '\0')
        open_recording(m, recording, &from);
    int64_t columns = from.sound == NULL ? 1 : (m->N - 1) / m->stride + 1;
    tlnmf_error error = tlnmf_spectrogram(m->ctx, m->record, from.sound, m->stride, columns, &out);
    if (error == TLNMF_ERR_INPUT) {
        page_note(m, "The spectrogram is missing: %s", tlnmf_message(m->ctx));
        error = tlnmf_spectrogram(m->ctx, m->record, NULL, 1, 1, &out);
    }
    page_recording_close(&from);
    if (error == TLNMF_OK)
        take(m, out);
    return error;
}

/* ---- energy of the rows, atoms --------------------------------------------------------------- */

/* Sums of V over the frames, else of W H. */
static tlnmf_error find_energy(page_model *m)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS], frames = m->V != NULL ? (m->N - 1) / m->stride + 1 : m->N;
    m->energy = tlnmf_record_get_array(m->record, "energy", NULL, shape);
    if (m->energy != NULL && shape[0] == m->M)
        return TLNMF_OK;
    double *energy = m->own_energy = calloc((size_t)m->M, sizeof *energy);
    if (energy == NULL)
        return no_memory(m);
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

/* tlnmf_atoms takes Phi and the energy in one record. */
static tlnmf_error find_atoms(page_model *m, int64_t most)
{
    int64_t shape[] = {m->M, m->M};
    tlnmf_record *both = NULL;
    if (m->Phi == NULL)
        return TLNMF_OK;
    tlnmf_error error = tlnmf_record_create(m->ctx, &both);
    if (error == TLNMF_OK)
        error = tlnmf_record_set_array(m->ctx, both, "Phi", m->Phi, 2, shape);
    if (error == TLNMF_OK)
        error = tlnmf_record_set_array(m->ctx, both, "energy", m->energy, 1, shape);
    if (error == TLNMF_OK)
        error = tlnmf_atoms(m->ctx, both, m->rate > 0.0 ? m->rate : 1.0, most < m->M ? most : m->M,
                            &m->atoms);
    tlnmf_record_free(both);
    return error;
}

static bool is_identity(const page_model *m)
{
    for (int64_t i = 0; m->Phi != NULL && i < m->M * m->M; i++)
        if (m->Phi[i] != (i % (m->M + 1) == 0 ? 1.0 : 0.0))
            return false;
    return m->Phi != NULL;
}

/* Chooses what the rows are called. With the identity they are those of the data, such as a
 * spectrogram. Rows of data that are not sound have no frequency unless cosines explain most of the
 * energy of the atoms. Atoms of less than one period, such as a constant or a ramp, do not count:
 * offsets and drifts are such atoms. Nor do short atoms that were learnt: the three parameters of a
 * cosine fit any few numbers. */
static void choose_unit(page_model *m)
{
    const double most = 0.25; /* mean error; the notes of the paper have 0.04, channels 0.5 */
    const int64_t shortest = 10;
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    const double *error = tlnmf_record_get_array(m->atoms, "error", NULL, shape);
    const double *energy = tlnmf_record_get_array(m->atoms, "energy", NULL, NULL);
    const double *frequency = tlnmf_record_get_array(m->atoms, "frequency", NULL, NULL);
    double period = (m->rate > 0.0 ? m->rate : 1.0) / (double)m->M;
    double sum = 0.0, weight = 0.0;
    for (int64_t i = 0; error != NULL && energy != NULL && i < shape[0]; i++) {
        if (frequency != NULL && frequency[i] < period)
            continue;
        sum += error[i] * energy[i];
        weight += energy[i];
    }
    const char *method = page_word(m, "method");
    bool learnt = method == NULL || strcmp(method, "nmf") != 0;
    bool fitted = m->atoms == NULL ||
                  ((m->M >= shortest || !learnt) && weight > 0.0 && !(sum > most * weight));
    m->unit = is_identity(m) ? "row" : m->rate > 0.0 ? "Hz" : fitted ? "cycles per sample" : "";
    for (int64_t r = 0; strcmp(m->unit, "row") == 0 && r < m->M; r++)
        m->frequency[r] = (double)r;
}

/* ---- the arrays ------------------------------------------------------------------------------ */

/* A model with members: H belongs to the first. */
static void read_member(page_model *m)
{
    m->W = matrix(m->record, "member.0.W", &m->M, &m->K);
    m->H = matrix(m->record, "H", &m->K, &m->N);
    if (m->W == NULL)
        m->K = 0;
    if (m->H == NULL)
        m->N = 0;
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
    known = tlnmf_record_get_real(m->record, "rate");
    m->rate = asked > 0.0 ? asked : known > 0.0 ? known : 0.0;
    if (!m->separated)
        return;
    double frame = tlnmf_record_get_real(m->record, "frame"),
           hop = tlnmf_record_get_real(m->record, "hop");
    if (m->rate > 0.0 && hop > 0.0 && frame > 0.0) {
        m->hop = hop / m->rate;
        m->first = (hop - frame / 2.0) / m->rate;
    }
}

static tlnmf_error read_summary(page_model *m)
{
    const char *text = tlnmf_record_get_text(m->record, "summary");
    m->summary = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (m->summary != NULL && json_is_object(m->summary))
        return TLNMF_OK;
    json_decref(m->summary);
    m->summary = NULL;
    return io_end(m->ctx, io_summary_from(m->ctx, m->record, &m->summary));
}

/* A page shows finite numbers only. */
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
    m->separated = tlnmf_record_get_array(m->record, "members", NULL, NULL) != NULL ||
                   tlnmf_record_get_text_at(m->record, "names", 0) != NULL;
    IO_TRY(io_check_shapes(m->ctx, "the model", m->record));
    IO_TRY(read_summary(m));
    if (tlnmf_record_get_array(m->record, "Phi", NULL, NULL) == NULL)
        read_member(m);
    else
        read_plain(m);
    if (m->M == 0)
        return io_refuse(m->ctx, TLNMF_ERR_ARGUMENT, "the model has neither Phi nor W");
    read_rate(m, settings);
    IO_TRY(check_finite(m));
    IO_TRY(read_owners(m));
    IO_TRY(find_spectrum(m));
    IO_TRY(find_energy(m));
    IO_TRY(find_atoms(m, tlnmf_settings_get_integer(settings, "atoms")));
    choose_unit(m);
    return TLNMF_OK;
}

void page_model_free(page_model *m)
{
    free(m->frequency);
    free(m->own_energy);
    free(m->owner);
    json_decref(m->summary);
    json_decref(m->notes);
    tlnmf_record_free(m->atoms);
    tlnmf_record_free(m->spectrum);
}
