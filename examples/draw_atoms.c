/* Learns the transform of the paper's music notes and draws it: the eight strongest atoms, the
 * columns of W over frequency and the rows of H over time, as an SVG picture on standard output. It
 * made the picture in the README:  build/examples/draw_atoms > docs/notes.svg */
#include <tlnmf/tlnmf.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = TLNMF_NOTES_M, N = TLNMF_NOTES_N, K = 2, ATOMS = 8 };

static const char *const colours[2] = {"#1b6ca8", "#c8553d"};

/* y of `count` points in a box, scaled to [low, high]. */
static void curve(const double *y, int count, double low, double high, double left, double top,
                  double width, double height, const char *colour)
{
    printf("<polyline fill='none' stroke='%s' stroke-width='1.2' points='", colour);
    for (int i = 0; i < count; i++)
        printf("%.1f,%.1f ", left + width * i / (count - 1),
               top + height * (1.0 - (y[i] - low) / (high - low)));
    printf("'/>\n");
}

static void label(double x, double y, const char *anchor, const char *text)
{
    printf("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n", x, y, anchor, text);
}

static void box(double left, double top, double width, double height)
{
    printf("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='#bbb'/>\n", left,
           top, width, height);
}

/* Which note an atom belongs to: 0 for A (440 and 880 Hz), 1 for A#. */
static int note_of(const tlnmf_atom *atom)
{
    return atom->note[1] == '#';
}

static void draw_atoms(const tlnmf_result *result, const tlnmf_atom *atoms)
{
    label(20, 24, "start", "Eight strongest atoms (rows of &#934;), 40 ms each");
    for (int i = 0; i < ATOMS; i++) {
        int row = i / 4, column = i % 4;
        double left = 20 + 225 * column, top = 34 + 110 * row;
        char text[64];
        box(left, top, 210, 80);
        curve(tlnmf_result_Phi(result) + atoms[i].row * M, M, -0.13, 0.13, left, top, 210, 80,
              colours[note_of(&atoms[i])]);
        snprintf(text, sizeof text, "%.2f Hz, %s %+.1f cents", atoms[i].frequency, atoms[i].note,
                 atoms[i].cents);
        label(left + 105, top + 95, "middle", text);
    }
}

/* Component k is the note whose atoms weigh most in W_k. */
static int note_of_component(const tlnmf_result *result, const tlnmf_atom *atoms, int k)
{
    double weight[2] = {0.0, 0.0};
    for (int i = 0; i < ATOMS; i++)
        weight[note_of(&atoms[i])] += tlnmf_result_W(result)[atoms[i].row * K + k];
    return weight[1] > weight[0];
}

static void draw_factors(const tlnmf_result *result, const tlnmf_atom *atoms)
{
    const double *W = tlnmf_result_W(result), *H = tlnmf_result_H(result);
    double top = 0.0, left = 20, width = 430;
    label(left, 274, "start", "W: weight of the eight atoms in each component");
    box(left, 284, width, 100);
    for (int k = 0; k < K; k++) {
        const char *colour = colours[note_of_component(result, atoms, k)];
        for (int i = 0; i < ATOMS; i++) {
            double height = 90 * W[atoms[i].row * K + k] / 0.5;
            printf("<rect x='%.1f' y='%.1f' width='18' height='%.1f' fill='%s'/>\n",
                   left + 14 + 52.0 * i + 20 * k, 384 - height, height, colour);
        }
    }
    for (int i = 0; i < K * N; i++)
        top = fmax(top, H[i]);
    left = 480;
    label(left, 274, "start", "H: activation over 3 seconds");
    box(left, 284, width - 25, 100);
    for (int k = 0; k < K; k++)
        curve(H + (ptrdiff_t)k * N, N, 0.0, 1.05 * top, left, 284, width - 25, 100,
              colours[note_of_component(result, atoms, k)]);
    label(left, 400, "start", "A alone");
    label(left + 202, 400, "middle", "A# alone");
    label(left + 405, 400, "end", "both");
}

int main(void)
{
    static double Y[M * N];
    double theta[2];
    tlnmf_ctx *ctx = NULL;
    tlnmf_data *data = NULL;
    tlnmf_result *result = NULL;
    tlnmf_atom atoms[ATOMS];
    tlnmf_settings settings;
    tlnmf_settings_init(&settings);
    settings.k = K;
    settings.eps = 5e-7;
    settings.method = TLNMF_METHOD_TL;
    settings.transform = TLNMF_TRANSFORM_DCT;
    if (tlnmf_ctx_create(NULL, &ctx) != TLNMF_OK)
        return 1;
    tlnmf_error error = tlnmf_random_phases(ctx, 7, TLNMF_STREAM_OWN, 2, theta);
    if (error == TLNMF_OK)
        error = tlnmf_simulate_notes(ctx, 1, theta, Y, NULL);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, Y, 1, M, N, &data);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, &settings, NULL, NULL, NULL, &result);
    if (error == TLNMF_OK)
        error = tlnmf_result_atoms(ctx, result, TLNMF_NOTES_RATE, atoms, ATOMS);
    if (error == TLNMF_OK) {
        printf("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 920 410' "
               "font-family='sans-serif' "
               "font-size='13' fill='#333'>\n<rect width='920' height='410' fill='white'/>\n");
        draw_atoms(result, atoms);
        draw_factors(result, atoms);
        printf("</svg>\n");
    } else {
        fprintf(stderr, "%s\n", tlnmf_message(ctx));
    }
    tlnmf_result_free(result);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    return error != TLNMF_OK;
}
