/* Typed arrays for the page, in base64, at the resolution of a screen. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In base64, little-endian: the bytes of the machines that run browsers. `type` ends with the width
 * in bits, such as f64. */
static void add_base64(io_buffer *text, const char *type, const void *bytes, size_t size)
{
    size_t width = (size_t)strtoul(type + 1, NULL, 10) / 8;
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || width == 1) {
        page_base64(text, bytes, size);
        return;
    }
    unsigned char *swapped = malloc(size > 0 ? size : 1);
    text->failed = swapped == NULL;
    for (size_t i = 0; swapped != NULL && i < size; i++)
        swapped[i] = ((const unsigned char *)bytes)[i + width - 1 - 2 * (i % width)];
    if (swapped != NULL)
        page_base64(text, swapped, size);
    free(swapped);
}

json_t *page_array(const char *type, const void *bytes, size_t size, int rank, const int64_t *shape)
{
    io_buffer text = {0};
    json_t *dims = json_array(), *array = NULL;
    add_base64(&text, type, bytes, size);
    for (int d = 0; d < rank; d++)
        json_array_append_new(dims, json_integer((json_int_t)shape[d]));
    if (!text.failed)
        array = json_pack("{s:s, s:o, s:o}", "type", type, "shape", dims, "data",
                          json_stringn((const char *)text.bytes, text.size));
    else
        json_decref(dims);
    free(text.bytes);
    return array;
}

json_t *page_doubles(const double *x, int rank, const int64_t *shape)
{
    return page_array("f64", x, (size_t)io_count(rank, shape) * sizeof *x, rank, shape);
}

json_t *page_floats(const double *x, int rank, const int64_t *shape)
{
    int64_t count = io_count(rank, shape);
    float *y = malloc((size_t)(count > 0 ? count : 1) * sizeof *y);
    if (y == NULL)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        y[i] = (float)x[i];
    json_t *array = page_array("f32", y, (size_t)count * sizeof *y, rank, shape);
    free(y);
    return array;
}

bool page_image_make(page_image *image, page_row *row, const void *user)
{
    int64_t M = image->M, N = image->N;
    image->rows = M < PAGE_ROWS ? M : PAGE_ROWS;
    image->columns = N < PAGE_COLUMNS ? N : PAGE_COLUMNS;
    double *line = malloc((size_t)N * sizeof *line);
    image->cell = calloc((size_t)(image->rows * image->columns), sizeof *image->cell);
    for (int64_t i = 0; line != NULL && image->cell != NULL && i < M; i++) {
        double *cell = image->cell + i * image->rows / M * image->columns;
        row(image->order[i], line, user);
        for (int64_t n = 0; n < N; n++)
            cell[n * image->columns / N] = fmax(cell[n * image->columns / N], line[n]);
    }
    bool ok = line != NULL && image->cell != NULL;
    free(line);
    return ok;
}

json_t *page_image_json(const page_image *image, double top)
{
    const double step = 0.4; /* dB: 255 steps are the 102 dB that a picture spans */
    int64_t shape[] = {image->rows, image->columns}, count = image->rows * image->columns;
    unsigned char *bytes = malloc((size_t)count);
    if (bytes == NULL)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        double level = 255.0 + 10.0 * log10(image->cell[i] / top) / step;
        bytes[i] = (unsigned char)(level > 0.0 ? fmin(level, 255.0) + 0.5 : 0.0);
    }
    json_t *array = page_array("u8", bytes, (size_t)count, 2, shape);
    free(bytes);
    return array;
}
