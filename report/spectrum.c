/* Frequencies of the rows of a model, and V of a recording at the model's transform. */
#include "report/report.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586;

/* CMPLX of C11, which clang does not have with glibc's header. */
static double complex complex_of(double real, double imaginary)
{
    double complex z;
    memcpy(&z, (double[]){real, imaginary}, sizeof z);
    return z;
}

/* Without C's rules for infinities, which cost a call each. */
static double complex times(double complex a, double complex b)
{
    return complex_of(creal(a) * creal(b) - cimag(a) * cimag(b),
                      creal(a) * cimag(b) + cimag(a) * creal(b));
}

static double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* ---- a Fourier transform of any length ------------------------------------------------------- */

/* y[k] = sum of x[j stride] exp(-2 pi i j k / n), k < n; by the smallest factor of n. `root` has
 * the n0-th roots of 1, n0 being the whole length, and n divides n0. */
static void fourier(int64_t n, const double complex *x, int64_t stride, double complex *y,
                    const double complex *root, double complex *scratch)
{
    int64_t p = 2;
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    while (n % p != 0)
        p = p * p > n ? n : p + 1;
    int64_t q = n / p;
    for (int64_t r = 0; r < p; r++)
        fourier(q, x + r * stride, stride * p, y + r * q, root, scratch);
    for (int64_t k = 0; k < q; k++) { /* y[r q + k]: term r of the outputs k, k + q, .. */
        for (int64_t s = 0; s < p; s++)
            scratch[s] = y[k];
        for (int64_t r = 1; r < p; r++)
            for (int64_t s = 0, at = r * k; s < p; s++) { /* at = r (k + s q) modulo n */
                scratch[s] += times(y[r * q + k], root[at * stride]);
                at += r * q;
                at -= at >= n ? n : 0;
            }
        for (int64_t s = 0; s < p; s++)
            y[s * q + k] = scratch[s];
    }
}

typedef struct transform {
    int64_t n;
    double complex *root, *in, *out, *scratch;
} transform;

static bool transform_make(transform *t, int64_t n)
{
    t->n = n;
    t->root = malloc(4 * (size_t)n * sizeof *t->root);
    if (t->root == NULL)
        return false;
    t->in = t->root + n;
    t->out = t->in + n;
    t->scratch = t->out + n;
    for (int64_t j = 0; j < n; j++)
        t->root[j] = cexp(-I * two_pi * (double)j / (double)n);
    return true;
}

static void transform_run(const transform *t)
{
    fourier(t->n, t->in, 1, t->out, t->root, t->scratch);
}

/* ---- frequencies ----------------------------------------------------------------------------- */

/* Where the spectrum of each row of Phi is largest, on a grid at least four times as fine as 1/M.
 */
static bool frequencies_of_rows(page_model *m)
{
    int64_t n = 4;
    transform t;
    while (n < 4 * m->M)
        n *= 2;
    if (!transform_make(&t, n))
        return false;
    for (int64_t r = 0; r < m->M; r++) {
        double largest = -1.0;
        for (int64_t j = 0; j < n; j++)
            t.in[j] = j < m->M ? m->Phi[r * m->M + j] : 0.0;
        transform_run(&t);
        for (int64_t k = 0; k <= n / 2; k++)
            if (cabs(t.out[k]) > largest) {
                largest = cabs(t.out[k]);
                m->frequency[r] = (double)k / (double)n * (m->rate > 0.0 ? m->rate : 1.0);
            }
    }
    free(t.root);
    return true;
}

/* ---- the transform of a separation ----------------------------------------------------------- */

static bool is_stft(const page_model *m)
{
    return m->separated && m->Phi == NULL && m->M != tlnmf_get_integer(m->record, "frame");
}

/* Phi = Q times the first rows of the fixed transform, then its other rows. */
static tlnmf_error make_Phi(page_model *m)
{
    int64_t shape[TLNMF_MAX_RANK], M = m->M;
    const double *Q = tlnmf_get_array(m->record, "member.0.Q", NULL, shape);
    const char *fixed = tlnmf_get_text(m->record, "transform");
    double *Phi = page_own(m, M * M);
    bool dct = fixed != NULL && strcmp(fixed, "dct") == 0;
    int64_t band = Q == NULL ? 0 : shape[0];
    if (Phi == NULL)
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    IO_TRY(tlnmf_transform_matrix(m->ctx, dct ? "dct" : "dft", M, Phi));
    double *rows = calloc((size_t)(band * M) + 1, sizeof *rows);
    if (rows == NULL)
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    for (int64_t a = 0; a < band && band <= M; a++)
        for (int64_t b = 0; b < band; b++)
            for (int64_t j = 0; j < M; j++)
                rows[a * M + j] += Q[a * band + b] * Phi[b * M + j];
    for (int64_t i = 0; i < band * M && band <= M; i++)
        Phi[i] = rows[i];
    free(rows);
    m->Phi = Phi;
    return TLNMF_OK;
}

/* ---- V --------------------------------------------------------------------------------------- */

/* What it takes to cut frames: of one shift, the middle one. */
typedef struct cutter {
    const tlnmf_sound *sound;
    int64_t frame, hop, offset, length, channels, columns;
    int64_t first, count; /* the samples in `ahead`; at most AHEAD frames of them */
    double *window, *x;   /* frame; frame * channels */
    double *ahead;
} cutter;

enum { AHEAD = 16 }; /* a plain choice */

static tlnmf_error make_window(page_model *m, cutter *c)
{
    static const char *const names[] = {"frame", "hop", "taper", "beta"};
    tlnmf_settings *settings;
    char text[64];
    IO_TRY(tlnmf_settings_create(m->ctx, "frames", &settings));
    tlnmf_error error = TLNMF_OK;
    for (int i = 0; error == TLNMF_OK && i < 4; i++) {
        snprintf(text, sizeof text, "%.17g", tlnmf_get_real(m->record, names[i]));
        error = tlnmf_settings_set_text(m->ctx, settings, names[i], text);
    }
    const char *window = tlnmf_get_text(m->record, "window");
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_text(m->ctx, settings, "window", window ? window : "sine");
    if (error == TLNMF_OK)
        error = tlnmf_frames_window(m->ctx, settings, c->window);
    tlnmf_settings_free(settings);
    return error;
}

/* Samples from .. to - 1, at most a frame, in `ahead`: frames overlap, and seeking takes long. */
static tlnmf_error read_ahead(page_model *m, cutter *c, int64_t from, int64_t to)
{
    if (from >= c->first && to <= c->first + c->count)
        return TLNMF_OK;
    int64_t most = AHEAD * c->frame, left = c->length - from;
    c->first = from;
    c->count = 0;
    IO_TRY(tlnmf_sound_read(m->ctx, c->sound, from, left < most ? left : most, c->ahead));
    c->count = left < most ? left : most;
    return TLNMF_OK;
}

/* Frame n, windowed, interleaved; zero outside of the sound. */
static tlnmf_error cut(page_model *m, cutter *c, int64_t n)
{
    int64_t first = (n + 1) * c->hop - c->frame - c->offset;
    int64_t from = first < 0 ? 0 : first, to = first + c->frame;
    to = to > c->length ? c->length : to;
    for (int64_t i = 0; i < c->frame * c->channels; i++)
        c->x[i] = 0.0;
    if (to > from) {
        IO_TRY(read_ahead(m, c, from, to));
        memcpy(c->x + (from - first) * c->channels, c->ahead + (from - c->first) * c->channels,
               (size_t)((to - from) * c->channels) * sizeof *c->x);
    }
    for (int64_t i = 0; i < c->frame * c->channels; i++)
        c->x[i] *= c->window[i / c->channels];
    return TLNMF_OK;
}

/* |F|^2 / frame of two channels at a time: one is the real part, the other the imaginary one. */
static void power_of_stft(const cutter *c, const transform *t, int64_t rows, int64_t column,
                          double *V)
{
    int64_t M = c->frame;
    for (int64_t a = 0; a < c->channels; a += 2) {
        bool pair = a + 1 < c->channels;
        for (int64_t j = 0; j < M; j++)
            t->in[j] =
                complex_of(c->x[j * c->channels + a], pair ? c->x[j * c->channels + a + 1] : 0.0);
        transform_run(t);
        for (int64_t r = 0; r < rows; r++) {
            double complex p = t->out[r], q = conj(t->out[(M - r) % M]);
            double power = (square(p + q) + square(p - q)) / 4.0;
            V[r * c->columns + column] += power / (double)(M * c->channels);
        }
    }
}

static void power_of_rows(const page_model *m, const cutter *c, int64_t column, double *V)
{
    for (int64_t r = 0; r < m->M; r++)
        for (int64_t a = 0; a < c->channels; a++) {
            double sum = 0.0;
            for (int64_t j = 0; j < m->M; j++)
                sum += m->Phi[r * m->M + j] * c->x[j * c->channels + a];
            V[r * c->columns + column] += sum * sum / (double)c->channels;
        }
}

/* How many columns: as many as a picture has, or as a second of work can fill. */
static int64_t columns_of(const page_model *m, const cutter *c)
{
    const double work = 1e9; /* products, about a second */
    double each = (double)m->M * (double)m->M * (double)c->channels;
    int64_t most = is_stft(m) ? PAGE_COLUMNS : (int64_t)fmin(PAGE_COLUMNS, fmax(work / each, 16.0));
    return m->N < most ? m->N : most;
}

static tlnmf_error fill_V(page_model *m, cutter *c)
{
    transform t = {0};
    double *V = page_own(m, m->M * c->columns);
    tlnmf_error error = TLNMF_OK;
    bool stft = is_stft(m);
    if (V == NULL || (stft && !transform_make(&t, c->frame)))
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    error = make_window(m, c);
    for (int64_t i = 0; error == TLNMF_OK && i < c->columns; i++) {
        error = cut(m, c, i * m->stride);
        if (error == TLNMF_OK && stft)
            power_of_stft(c, &t, m->M, i, V);
        else if (error == TLNMF_OK)
            power_of_rows(m, c, i, V);
    }
    free(t.root);
    if (error == TLNMF_OK)
        m->V = V;
    return error;
}

/* A recording that cannot be read is no reason to have no page. */
static tlnmf_error spectrum_of_sound(page_model *m, const char *path)
{
    tlnmf_sound *sound;
    if (tlnmf_io_open_sound(m->ctx, path, &sound) != TLNMF_OK)
        return TLNMF_OK; /* page_sound_read() says so */
    const tlnmf_record *about = tlnmf_sound_record(sound);
    cutter c = {.sound = sound,
                .frame = tlnmf_get_integer(m->record, "frame"),
                .hop = tlnmf_get_integer(m->record, "hop"),
                .length = tlnmf_get_integer(about, "length"),
                .channels = tlnmf_get_integer(about, "channels")};
    c.offset = c.hop / 2;
    tlnmf_error error = TLNMF_OK;
    if (tlnmf_get_real(about, "rate") != m->rate || c.frame < 2 || c.hop < 1)
        page_note(m, "%s: it has another rate than the model", path);
    else {
        if (m->N == 0)
            m->N = (c.length + c.frame) / c.hop;
        m->first -= (double)c.offset / m->rate;
        c.columns = columns_of(m, &c);
        m->stride = (m->N + c.columns - 1) / c.columns;
        c.columns = (m->N - 1) / m->stride + 1;
        c.window = calloc((size_t)(c.frame * ((AHEAD + 1) * c.channels + 1)), sizeof *c.window);
        c.x = c.window + c.frame;
        c.ahead = c.x + c.frame * c.channels;
        error = c.window == NULL ? io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page")
                                 : fill_V(m, &c);
        free(c.window);
        if (error == TLNMF_ERR_INPUT) {
            page_note(m, "The spectrogram is missing: %s", tlnmf_message(m->ctx));
            error = TLNMF_OK;
        }
    }
    tlnmf_sound_free(sound);
    return error;
}

tlnmf_error page_spectrum(page_model *m)
{
    const char *recording = tlnmf_get_text(m->about, "recording");
    if (m->separated && m->Phi == NULL && !is_stft(m))
        IO_TRY(make_Phi(m));
    m->frequency = page_own(m, m->M);
    if (m->frequency == NULL)
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    for (int64_t r = 0; is_stft(m) && r < m->M; r++)
        m->frequency[r] = (double)r * m->rate / tlnmf_get_real(m->record, "frame");
    if (m->Phi != NULL && !frequencies_of_rows(m))
        return io_refuse(m->ctx, TLNMF_ERR_MEMORY, "out of memory for a page");
    return m->separated && m->V == NULL && recording != NULL ? spectrum_of_sound(m, recording)
                                                             : TLNMF_OK;
}
