/* The data that the script of a page draws: arrays at the resolution of a screen, names, labels. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pictures -------------------------------------------------------------------------------- */

static void row_of_V(int64_t r, double *row, const void *user)
{
    const page_model *m = user;
    int64_t frames = (m->N - 1) / m->stride + 1;
    memcpy(row, m->V + r * frames, (size_t)frames * sizeof *row);
}

static void row_of_WH(int64_t r, double *row, const void *user)
{
    const page_model *m = user;
    int64_t frames = (m->N - 1) / m->stride + 1;
    memset(row, 0, (size_t)frames * sizeof *row);
    for (int64_t k = 0; k < m->K; k++) {
        double w = m->W[r * m->K + k];
        const double *h = m->H + k * m->N;
        for (int64_t n = 0; n < frames && w > 0.0; n++)
            row[n] += w * h[n * m->stride];
    }
}

typedef struct key {
    double value;
    int64_t row;
} key;

static int by_value(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Rows from the lowest frequency up, or from the weakest to the strongest. */
static int64_t *order_of(const page_model *m, bool by_energy)
{
    key *keys = malloc((size_t)m->M * sizeof *keys);
    int64_t *order = calloc((size_t)m->M, sizeof *order);
    for (int64_t r = 0; keys != NULL && order != NULL && r < m->M; r++)
        keys[r] = (key){by_energy ? m->energy[r] : m->frequency[r], r};
    if (keys != NULL && order != NULL) {
        qsort(keys, (size_t)m->M, sizeof *keys, by_value);
        for (int64_t r = 0; r < m->M; r++)
            order[r] = keys[r].row;
    }
    free(keys);
    return order;
}

/* For each row of the picture, the first row of Phi that it shows. */
static json_t *rows_json(const page_model *m, const page_image *image, const int64_t *order)
{
    json_t *rows = json_array();
    for (int64_t i = 0, last = -1; i < m->M; i++) {
        if (i * image->rows / m->M == last)
            continue;
        last = i * image->rows / m->M;
        json_array_append_new(rows,
                              json_pack("[I, f]", (json_int_t)order[i], m->frequency[order[i]]));
    }
    return rows;
}

static double largest(const page_image *image)
{
    double most = 0.0;
    for (int64_t i = 0; image->cell != NULL && i < image->rows * image->columns; i++)
        most = fmax(most, image->cell[i]);
    return most;
}

static json_t *pictures(const page_model *m, bool by_energy)
{
    int64_t *order = order_of(m, by_energy), frames = (m->N - 1) / m->stride + 1;
    page_image V = {.M = m->M, .N = frames, .order = order}, WH = V;
    json_t *object = json_object();
    bool ok = order != NULL && object != NULL;
    if (ok && m->V != NULL)
        ok = page_image_make(&V, row_of_V, m);
    if (ok && m->W != NULL && m->H != NULL)
        ok = page_image_make(&WH, row_of_WH, m);
    double top = fmax(largest(&V), largest(&WH));
    if (ok && top > 0.0) {
        const page_image *any = V.cell != NULL ? &V : &WH;
        json_object_set_new(object, "top", json_real(10.0 * log10(top)));
        json_object_set_new(object, "rows", rows_json(m, any, order));
        if (V.cell != NULL)
            json_object_set_new(object, "V", page_image_json(&V, top));
        if (WH.cell != NULL)
            json_object_set_new(object, "WH", page_image_json(&WH, top));
    }
    free(V.cell);
    free(WH.cell);
    free(order);
    return object;
}

/* ---- W, H, atoms, trace ---------------------------------------------------------------------- */

/* All numbers if the page stays small (0.3 MB as doubles, 0.8 MB as floats, in base64); otherwise
 * the largest of neighbouring columns. */
static json_t *factor(const double *x, int64_t rows, int64_t columns)
{
    const int64_t exact = 25000, whole = 150000, most = whole / (rows > 0 ? rows : 1) + 1;
    int64_t shape[] = {rows, columns}, count = rows * columns;
    if (count <= exact)
        return page_doubles(x, 2, shape);
    if (count <= whole)
        return page_floats(x, 2, shape);
    double *fewer = calloc((size_t)(rows * most), sizeof *fewer);
    for (int64_t i = 0; fewer != NULL && i < count; i++) {
        double *cell = fewer + i / columns * most + i % columns * most / columns;
        *cell = fmax(*cell, x[i]);
    }
    shape[1] = most;
    json_t *array = fewer == NULL ? NULL : page_floats(fewer, 2, shape);
    free(fewer);
    return array;
}

/* The rows for curves of W: from the lowest frequency up, or without frequencies from the strongest
 * down. NULL: no memory. */
static int64_t *order_of_W(const page_model *m)
{
    bool by_energy = m->unit[0] == '\0';
    int64_t *order = order_of(m, by_energy);
    for (int64_t r = 0; order != NULL && by_energy && r < m->M / 2; r++) {
        int64_t row = order[r];
        order[r] = order[m->M - 1 - r];
        order[m->M - 1 - r] = row;
    }
    return order;
}

/* K x M: one component per row, in this order. */
static json_t *spectra(const page_model *m, const int64_t *order)
{
    double *x = calloc((size_t)(m->M * m->K), sizeof *x);
    for (int64_t k = 0; x != NULL && k < m->K; k++)
        for (int64_t r = 0; r < m->M; r++)
            x[k * m->M + r] = m->W[order[r] * m->K + k];
    json_t *array = x == NULL ? NULL : factor(x, m->K, m->M);
    free(x);
    return array;
}

/* The abscissas of W: frequencies, or ranks by energy. */
static json_t *frequencies(const page_model *m, const int64_t *order)
{
    double *x = calloc((size_t)m->M, sizeof *x);
    for (int64_t r = 0; x != NULL && r < m->M; r++)
        x[r] = m->unit[0] != '\0' ? m->frequency[order[r]] : (double)(r + 1);
    json_t *array = x == NULL ? NULL : factor(x, 1, m->M);
    free(x);
    return array;
}

/* The curves of the strongest atoms, up to 600 kB. */
static json_t *curves(const page_model *m, const double *row, int64_t count)
{
    const int64_t most = 300000 / m->M;
    int64_t shape[] = {count < most ? count : most, m->M};
    short *x = calloc((size_t)(shape[0] * m->M) + 1, sizeof *x);
    double *scale = calloc((size_t)shape[0] + 1, sizeof *scale);
    json_t *array = NULL;
    for (int64_t i = 0; x != NULL && scale != NULL && i < shape[0]; i++) {
        const double *atom = m->Phi + (int64_t)row[i] * m->M;
        for (int64_t j = 0; j < m->M; j++)
            scale[i] = fmax(scale[i], fabs(atom[j]));
        for (int64_t j = 0; j < m->M; j++)
            x[i * m->M + j] = (short)lrint(32767.0 * atom[j] / (scale[i] > 0.0 ? scale[i] : 1.0));
    }
    if (x != NULL && scale != NULL)
        array = json_pack("{s:o, s:o}", "curve",
                          page_array("i16", x, (size_t)(shape[0] * m->M) * sizeof *x, 2, shape),
                          "scale", page_doubles(scale, 1, shape));
    free(x);
    free(scale);
    return array;
}

static json_t *atoms(const page_model *m)
{
    static const char *const columns[] = {"row",   "energy", "frequency", "amplitude",
                                          "phase", "error",  "key",       "cents"};
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *row = tlnmf_record_get_array(m->atoms, "row", NULL, shape);
    json_t *object = curves(m, row, shape[0]);
    for (size_t c = 0; object != NULL && c < sizeof columns / sizeof *columns; c++)
        json_object_set_new(
            object, columns[c],
            page_doubles(tlnmf_record_get_array(m->atoms, columns[c], NULL, NULL), 1, shape));
    return object;
}

/* A column of the trace; NULL if it is missing or not `rows` long. */
static const double *trace_column(const tlnmf_record *record, const char *column, int64_t rows)
{
    char name[64];
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    snprintf(name, sizeof name, "trace.%s", column);
    const double *x = tlnmf_record_get_array(record, name, NULL, shape);
    return x != NULL && shape[0] == rows ? x : NULL;
}

/* The rows of a trace: those of the result or, with `all`, those of every start, if they were
 * traced. At most `most` rows, at equal distances, and always the last one. */
static json_t *trace(const tlnmf_record *record, bool all)
{
    static const char *const columns[] = {"stage", "iteration", "start",    "C",      "L",
                                          "I",     "step",      "gradient", "seconds"};
    const int64_t most = 4000; /* more points than a screen has columns */
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0}, rows = 0;
    const double *stage = tlnmf_record_get_array(record, "trace.stage", NULL, shape);
    const double *start = trace_column(record, "start", shape[0]);
    const char *method = tlnmf_record_get_text(record, "method");
    double best = tlnmf_record_get_real(record, "best_start");
    bool is_tl = method != NULL && strcmp(method, "tl") == 0; /* its stage is 0 */
    json_t *object = json_object();
    if (stage == NULL || shape[0] < 1 || (all && start == NULL))
        return object;
    int64_t *row = malloc((size_t)shape[0] * sizeof *row);
    for (int64_t i = 0; row != NULL && i < shape[0]; i++)
        if (all || start == NULL || !isfinite(best) ||
            (start[i] == best && (stage[i] == 0.0) == is_tl))
            row[rows++] = i;
    int64_t step = (rows + most - 1) / most, count = rows > 0 ? (rows - 1) / step + 1 : 0;
    double *fewer = count > 0 ? malloc((size_t)count * sizeof *fewer) : NULL;
    for (size_t c = 0; fewer != NULL && c < sizeof columns / sizeof *columns; c++) {
        const double *x = trace_column(record, columns[c], shape[0]);
        for (int64_t i = 0; x != NULL && i < count; i++)
            fewer[i] = x[row[rows - 1 - (count - 1 - i) * step]];
        if (x != NULL)
            json_object_set_new(object, columns[c], page_doubles(fewer, 1, &count));
    }
    free(fewer);
    free(row);
    return object;
}

/* ---- labels and events ----------------------------------------------------------------------- */

static json_t *text_at(const tlnmf_record *record, const char *name, int64_t i)
{
    const char *text = tlnmf_record_get_text_at(record, name, (size_t)i);
    return io_json_text(text == NULL ? "" : text);
}

static json_t *labels(const page_model *m)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0}, ends[TLNMF_MAX_DIMENSIONS] = {0};
    const double *start = tlnmf_record_get_array(m->about, "start", NULL, shape);
    const double *end = tlnmf_record_get_array(m->about, "end", NULL, ends);
    json_t *list = json_array();
    for (int64_t i = 0; start != NULL && end != NULL && i < shape[0] && i < ends[0]; i++)
        json_array_append_new(
            list, json_pack("[f, f, o]", start[i], end[i], text_at(m->about, "name", i)));
    return list;
}

static json_t *names(const page_model *m)
{
    json_t *list = json_array();
    for (int64_t k = 0; k < m->sources; k++)
        json_array_append_new(list, text_at(m->record, "names", k));
    return list;
}

static json_t *owners(const page_model *m)
{
    json_t *list = json_array();
    for (int64_t k = 0; k < m->K; k++)
        json_array_append_new(list, json_integer(m->owner != NULL ? m->owner[k] : k));
    return list;
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* weight, frame, hop, transform and score of each member of a separation. */
static json_t *members(const page_model *m)
{
    static const int shown[] = {0, 1, 2, 7, 10};
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x = tlnmf_record_get_array(m->record, "members", NULL, shape);
    json_t *list = json_array();
    for (int64_t i = 0; x != NULL && i < shape[0] && shape[1] == 11; i++) {
        json_t *row = json_array();
        for (size_t c = 0; c < sizeof shown / sizeof *shown; c++)
            json_array_append_new(row, number(x[i * 11 + shown[c]]));
        json_array_append_new(list, row);
    }
    return list;
}

/* The candidates of a separation: text, score, weight and reason. */
static json_t *candidates(const page_model *m)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0}, weights[TLNMF_MAX_DIMENSIONS] = {0};
    const double *score = tlnmf_record_get_array(m->record, "candidate.score", NULL, shape);
    const double *weight = tlnmf_record_get_array(m->record, "candidate.weight", NULL, weights);
    json_t *list = json_array();
    for (int64_t i = 0; score && weight && i < shape[0] && i < weights[0]; i++) {
        json_t *what = text_at(m->record, "candidate.what", i);
        json_t *why = text_at(m->record, "candidate.why", i);
        json_array_append_new(
            list, json_pack("[o, o, o, o]", what, number(score[i]), number(weight[i]), why));
    }
    return list;
}

json_t *page_data(const page_model *m, const page_sound *sound)
{
    json_t *data = json_pack(
        "{s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "M",
        (json_int_t)m->M, "N", (json_int_t)m->N, "K", (json_int_t)m->K, "unit", m->unit, "rate",
        m->rate, "hop", m->hop, "first", m->first, "sources", names(m), "owners", owners(m),
        "sound", page_sound_json(sound), "labels", labels(m), "trace", trace(m->record, false),
        "starts", trace(m->record, true), "members", members(m), "candidates", candidates(m));
    if (data == NULL)
        return NULL;
    if (m->N > 0 && (m->V != NULL || m->H != NULL)) {
        json_object_set_new(data, "byFrequency", pictures(m, false));
        json_object_set_new(data, "byEnergy", pictures(m, true));
    }
    int64_t *order = m->W != NULL ? order_of_W(m) : NULL;
    if (order != NULL) {
        json_object_set_new(data, "W", spectra(m, order));
        json_object_set_new(data, "frequencies", frequencies(m, order));
    }
    free(order);
    if (m->H != NULL)
        json_object_set_new(data, "H", factor(m->H, m->K, m->N));
    if (m->atoms != NULL)
        json_object_set_new(data, "atoms", atoms(m));
    return data;
}
