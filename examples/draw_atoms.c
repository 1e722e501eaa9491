/* Learns the transform of the paper's music notes and draws it: the eight strongest atoms, the
 * columns of W over frequency and the rows of H over time, as an SVG picture on standard output. It
 * made the picture in the README:  build/examples/draw_atoms > docs/notes.svg */
#include <tlnmf/paper.h>
#include <tlnmf/tlnmf.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 200, N = 151, K = 2, ATOMS = 8 };

static const char *const colours[2] = {"#1b6ca8", "#c8553d"};

/* The drawing's data: the model's arrays, and the row, frequency and note of each atom. */
typedef struct drawing {
    const double *Phi, *W, *H;
    const double *row, *frequency, *cents;
    const char *note[ATOMS];
} drawing;

typedef struct box {
    double left, top, width, height;
} box;

/* y of `count` points in a box, scaled to [low, high]. */
static void curve(box at, const double *y, int count, double low, double high, const char *colour)
{
    printf("<polyline fill='none' stroke='%s' stroke-width='1.2' points='", colour);
    for (int i = 0; i < count; i++)
        printf("%.1f,%.1f ", at.left + at.width * i / (count - 1),
               at.top + at.height * (1.0 - (y[i] - low) / (high - low)));
    printf("'/>\n");
}

static void label(double x, double y, const char *anchor, const char *text)
{
    printf("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n", x, y, anchor, text);
}

static void frame(box at)
{
    printf("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='#bbb'/>\n",
           at.left, at.top, at.width, at.height);
}

/* The row of Phi of atom i. */
static int row_of(const drawing *d, int i)
{
    return (int)d->row[i];
}

/* The note of atom i: 0 for A (440 and 880 Hz), 1 for A#. */
static int note_of(const drawing *d, int i)
{
    return d->note[i][1] == '#';
}

static void draw_atoms(const drawing *d)
{
    label(20, 24, "start", "Eight strongest atoms (rows of &#934;), 40 ms each");
    for (int i = 0; i < ATOMS; i++) {
        int row = i / 4, column = i % 4;
        box at = {20 + 225 * column, 34 + 110 * row, 210, 80};
        char text[64];
        frame(at);
        curve(at, d->Phi + (ptrdiff_t)row_of(d, i) * M, M, -0.13, 0.13, colours[note_of(d, i)]);
        snprintf(text, sizeof text, "%.2f Hz, %s %+.1f cents", d->frequency[i], d->note[i],
                 d->cents[i]);
        label(at.left + 105, at.top + 95, "middle", text);
    }
}

/* Component k belongs to the note whose atoms have the largest weight in W_k. */
static int note_of_component(const drawing *d, int k)
{
    double weight[2] = {0.0, 0.0};
    for (int i = 0; i < ATOMS; i++)
        weight[note_of(d, i)] += d->W[row_of(d, i) * K + k];
    return weight[1] > weight[0];
}

static void draw_weights(const drawing *d, box at)
{
    label(at.left, at.top - 10, "start", "W: weight of the eight atoms in each component");
    frame(at);
    for (int k = 0; k < K; k++)
        for (int i = 0; i < ATOMS; i++) {
            double height = 90 * d->W[row_of(d, i) * K + k] / 0.5;
            printf("<rect x='%.1f' y='%.1f' width='18' height='%.1f' fill='%s'/>\n",
                   at.left + 14 + 52.0 * i + 20 * k, at.top + at.height - height, height,
                   colours[note_of_component(d, k)]);
        }
}

static void draw_activations(const drawing *d, box at)
{
    double most = 0.0;
    for (int i = 0; i < K * N; i++)
        most = fmax(most, d->H[i]);
    label(at.left, at.top - 10, "start", "H: activation over 3 seconds");
    frame(at);
    for (int k = 0; k < K; k++)
        curve(at, d->H + (ptrdiff_t)k * N, N, 0.0, 1.05 * most, colours[note_of_component(d, k)]);
    label(at.left, at.top + 116, "start", "A alone");
    label(at.left + 202, at.top + 116, "middle", "A# alone");
    label(at.left + 405, at.top + 116, "end", "both");
}

static void draw(const tlnmf_record *model, const tlnmf_record *atoms)
{
    drawing d = {.Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL),
                 .W = tlnmf_record_get_array(model, "W", NULL, NULL),
                 .H = tlnmf_record_get_array(model, "H", NULL, NULL),
                 .row = tlnmf_record_get_array(atoms, "row", NULL, NULL),
                 .frequency = tlnmf_record_get_array(atoms, "frequency", NULL, NULL),
                 .cents = tlnmf_record_get_array(atoms, "cents", NULL, NULL)};
    for (size_t i = 0; i < ATOMS; i++)
        d.note[i] = tlnmf_record_get_text_at(atoms, "note", i);
    printf("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 920 410' "
           "font-family='sans-serif' "
           "font-size='13' fill='#333'>\n<rect width='920' height='410' fill='white'/>\n");
    draw_atoms(&d);
    draw_weights(&d, (box){20, 284, 430, 100});
    draw_activations(&d, (box){480, 284, 405, 100});
    printf("</svg>\n");
}

/* The notes at random phases, compressed. */
static tlnmf_error make_data(tlnmf_ctx *ctx, double *rate, tlnmf_data **data)
{
    double theta[2];
    tlnmf_record *sample = NULL;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    tlnmf_error error = tlnmf_random_phases(ctx, 7, TLNMF_STREAM_OWN, 2, theta);
    if (error == TLNMF_OK)
        error = tlnmf_simulate_notes(ctx, theta, 1, &sample);
    if (error == TLNMF_OK) {
        const double *Y = tlnmf_record_get_array(sample, "Y", NULL, shape);
        *rate = tlnmf_record_get_real(sample, "rate");
        error = tlnmf_data_from_realisations(ctx, Y, shape, data);
    }
    tlnmf_record_free(sample);
    return error;
}

static tlnmf_error make_settings(tlnmf_ctx *ctx, tlnmf_settings **settings)
{
    static const char *const pairs[][2] = {
        {"k", "2"}, {"eps", "5e-7"}, {"method", "tl"}, {"transform", "dct"}};
    tlnmf_error error = tlnmf_settings_create(ctx, "fit", settings);
    for (int i = 0; i < 4 && error == TLNMF_OK; i++)
        error = tlnmf_settings_set_text(ctx, *settings, pairs[i][0], pairs[i][1]);
    return error;
}

int main(void)
{
    double rate = 0.0;
    tlnmf_ctx *ctx = NULL;
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    tlnmf_record *model = NULL, *atoms = NULL;
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    tlnmf_error error = make_data(ctx, &rate, &data);
    if (error == TLNMF_OK)
        error = make_settings(ctx, &settings);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, settings, NULL, &model);
    if (error == TLNMF_OK)
        error = tlnmf_atoms(ctx, model, rate, ATOMS, &atoms);
    if (error == TLNMF_OK)
        draw(model, atoms);
    else
        fprintf(stderr, "%s\n", tlnmf_message(ctx));
    tlnmf_record_free(atoms);
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return error != TLNMF_OK;
}
