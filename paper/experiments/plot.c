/* Pictures of curves as SVG: from values to pixels, ticks, marks, labels, the legend. */
#include "paper/experiments/plot.h"

#include <math.h>

/* One axis: from values to pixels. */
typedef struct axis {
    bool log;
    double low, high; /* of the value, or of its logarithm to base 10 */
    double from, to;  /* pixels */
} axis;

/* `v` is a value, or its logarithm on a logarithmic axis. */
static double pixel_of(const axis *a, double v)
{
    return a->from + (v - a->low) / (a->high - a->low) * (a->to - a->from);
}

static double scale(const axis *a, double value)
{
    return pixel_of(a, a->log ? log10(value) : value);
}

static bool is_shown(const axis *a, double value)
{
    return isfinite(value) && (!a->log || value > 0.0);
}

/* Sets the range: the caller's, or that of all points if the caller gives none. */
static void fit_axis(axis *a, const plot_panel *p, bool is_x, double low, double high)
{
    if (low == high) {
        low = INFINITY;
        high = -INFINITY;
        for (int s = 0; s < p->series_count; s++)
            for (int64_t i = 0; i < p->series[s].count; i++) {
                double v = is_x ? p->series[s].x[i] : p->series[s].y[i];
                if (!is_shown(a, v))
                    continue;
                low = fmin(low, v);
                high = fmax(high, v);
            }
        if (!(low <= high)) { /* nothing to show */
            low = 1.0;
            high = 10.0;
        }
        if (!a->log) {
            double margin = 0.05 * (high - low);
            low -= margin;
            high += margin;
        }
    }
    a->low = a->log ? log10(low) : low;
    a->high = a->log ? log10(high) : high;
    if (a->log && !is_x) { /* whole decades */
        a->low = floor(a->low);
        a->high = ceil(a->high);
    }
    if (!(a->high > a->low)) {
        a->low -= 0.5;
        a->high += 0.5;
    }
}

/* 1, 2 or 5 times a power of ten, so that about `count` of them fill the range. */
static double tick_step(double range, int count)
{
    double raw = range / count, base = pow(10.0, floor(log10(raw)));
    double ratio = raw / base;
    return base * (ratio > 5.0 ? 10.0 : ratio > 2.0 ? 5.0 : ratio > 1.0 ? 2.0 : 1.0);
}

void plot_escape(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void plot_text(FILE *out, double x, double y, const char *anchor, double size, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.1f\">", x, y, anchor,
            size);
    plot_escape(out, text);
    fputs("</text>\n", out);
}

static void tick_name(const axis *a, double v, double step, char *text, size_t size)
{
    if (!a->log)
        snprintf(text, size, "%.10g", fabs(v) < 1e-9 * step ? 0.0 : v);
    else if (v >= 0.0 && v <= 4.0)
        snprintf(text, size, "%.0f", pow(10.0, v));
    else
        snprintf(text, size, "1e%.0f", v);
}

static void draw_tick(FILE *out, const plot_panel *p, bool is_x, double pixel, const char *name)
{
    double bottom = p->top + p->height;
    if (is_x) {
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", pixel, p->top, bottom);
        plot_text(out, pixel, bottom + 15.0, "middle", 11.0, name);
    } else {
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", p->left, pixel,
                p->left + p->width);
        plot_text(out, p->left - 5.0, pixel + 4.0, "end", 11.0, name);
    }
}

static void draw_ticks(FILE *out, const plot_panel *p, const axis *a, bool is_x)
{
    double step = a->log ? fmax(1.0, floor((a->high - a->low) / 6.0))
                         : tick_step(a->high - a->low, is_x ? 5 : 6);
    int64_t first = (int64_t)ceil(a->low / step - 1e-9);
    int64_t last = (int64_t)floor(a->high / step + 1e-9);
    for (int64_t i = first; i <= last && i - first < 50; i++) {
        char name[32];
        tick_name(a, step * (double)i, step, name, sizeof name);
        draw_tick(out, p, is_x, pixel_of(a, step * (double)i), name);
    }
}

static bool is_line(const plot_series *s)
{
    return s->style == PLOT_LINE || s->style == PLOT_DASHED;
}

static const char *dashes(const plot_series *s)
{
    return s->style == PLOT_DASHED ? " stroke-dasharray=\"6 4\"" : "";
}

static void draw_mark(FILE *out, const plot_series *s, double x, double y)
{
    if (s->style == PLOT_CROSSES)
        fprintf(out, "<path d=\"M%.1f %.1fl8 8m0-8l-8 8\" stroke=\"%s\" fill=\"none\"/>\n", x - 4.0,
                y - 4.0, s->colour);
    else
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" stroke=\"%s\" fill=\"%s\"/>\n", x, y,
                s->style == PLOT_CIRCLES ? "5" : "3.2", s->colour,
                s->style == PLOT_CIRCLES ? "none" : s->colour);
}

static void draw_series(FILE *out, const axis *x, const axis *y, const plot_series *s)
{
    bool begun = false;
    for (int64_t i = 0; i < s->count; i++) {
        if (!is_shown(x, s->x[i]) || !is_shown(y, s->y[i]))
            continue;
        double at_x = scale(x, s->x[i]), at_y = scale(y, s->y[i]);
        if (!is_line(s))
            draw_mark(out, s, at_x, at_y);
        else
            fprintf(out, "%s%.1f %.1f", begun ? "L" : "<path fill=\"none\" d=\"M", at_x, at_y);
        begun = true;
    }
    if (is_line(s) && begun)
        fprintf(out, "\" stroke=\"%s\"%s/>\n", s->colour, dashes(s));
}

static void draw_legend(FILE *out, const plot_panel *p)
{
    const double line = 16.0, width = 150.0;
    int entries = 0, at = 0;
    for (int s = 0; s < p->series_count; s++)
        entries += p->series[s].label != NULL;
    if (entries == 0)
        return;
    bool beside = p->legend == PLOT_BESIDE;
    double height = line * entries + 8.0, right = p->left + p->width;
    double left = beside ? right + 8.0 : right - width - 8.0;
    double top = beside ? p->top : p->top + 8.0;
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"white\" "
            "fill-opacity=\"0.85\" stroke=\"#999\" stroke-width=\"0.5\"/>\n",
            left, top, width, height);
    for (int s = 0; s < p->series_count; s++) {
        const plot_series *of = &p->series[s];
        if (of->label == NULL)
            continue;
        double y = top + 4.0 + line * (0.5 + at++);
        if (is_line(of))
            fprintf(out, "<path d=\"M%.1f %.1fh24\" stroke=\"%s\"%s/>\n", left + 6.0, y, of->colour,
                    dashes(of));
        else
            draw_mark(out, of, left + 18.0, y);
        plot_text(out, left + 36.0, y + 4.0, "start", 11.0, of->label);
    }
}

/* The number of values that a logarithmic axis cannot show. A series without a label repeats the
 * points of another one. */
static int count_not_drawn(const plot_panel *p)
{
    int count = 0;
    for (int s = 0; s < p->series_count; s++)
        for (int64_t i = 0; p->series[s].label != NULL && i < p->series[s].count; i++)
            count +=
                (p->x_log && p->series[s].x[i] <= 0.0) || (p->y_log && p->series[s].y[i] <= 0.0);
    return count;
}

static void draw_labels(FILE *out, const plot_panel *p)
{
    double middle = p->left + 0.5 * p->width, bottom = p->top + p->height;
    int not_drawn = count_not_drawn(p);
    if (not_drawn > 0) {
        char text[48];
        snprintf(text, sizeof text, "%d value%s <= 0 %s not drawn", not_drawn,
                 not_drawn == 1 ? "" : "s", not_drawn == 1 ? "is" : "are");
        plot_text(out, p->left + p->width, bottom + 46.0, "end", 11.0, text);
    }
    if (p->title != NULL)
        plot_text(out, middle, p->top - 8.0, "middle", p->bare ? 11.0 : 13.0, p->title);
    if (p->x_label != NULL)
        plot_text(out, middle, bottom + 33.0, "middle", 12.0, p->x_label);
    if (p->y_label == NULL)
        return;
    double x = p->left - 52.0, y = p->top + 0.5 * p->height;
    fprintf(out, "<g transform=\"rotate(-90 %.1f %.1f)\">", x, y);
    plot_text(out, x, y, "middle", 12.0, p->y_label);
    fputs("</g>\n", out);
}

/* A nested SVG of the frame's size clips lines at the frame. Marks on the edge stay whole. */
static void draw_inside(FILE *out, const plot_panel *p, const axis *x, const axis *y,
                        const plot_series *s)
{
    double margin = is_line(s) ? 0.0 : 6.0;
    double left = p->left - margin, top = p->top - margin;
    double width = p->width + 2.0 * margin, height = p->height + 2.0 * margin;
    fprintf(out,
            "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "viewBox=\"%.1f %.1f %.1f %.1f\">\n",
            left, top, width, height, left, top, width, height);
    draw_series(out, x, y, s);
    fputs("</svg>\n", out);
}

void plot_draw(FILE *out, const plot_panel *p)
{
    double right = p->left + p->width, bottom = p->top + p->height;
    axis x = {.log = p->x_log, .from = p->left, .to = right};
    axis y = {.log = p->y_log, .from = bottom, .to = p->top};
    fit_axis(&x, p, true, p->x_low, p->x_high);
    fit_axis(&y, p, false, p->y_low, p->y_high);
    if (!p->bare) {
        draw_ticks(out, p, &x, true);
        draw_ticks(out, p, &y, false);
    }
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
            "stroke=\"%s\"/>\n",
            p->left, p->top, p->width, p->height, p->bare ? "#ccc" : "#444");
    for (int s = 0; s < p->series_count; s++)
        draw_inside(out, p, &x, &y, &p->series[s]);
    draw_labels(out, p);
    draw_legend(out, p);
}

void plot_begin(FILE *out, double width, double height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" stroke-width=\"1.4\">\n"
            "<style>.grid{stroke:#ddd;stroke-width:.7;fill:none} text{stroke:none}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height, width, height);
}

void plot_end(FILE *out)
{
    fputs("</svg>\n", out);
}
