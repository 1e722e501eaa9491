/* Pictures of curves as SVG: panels with axes, ticks, a grid and a legend. */
#ifndef TLNMF_PAPER_PLOT_H
#define TLNMF_PAPER_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum plot_style {
    PLOT_LINE,
    PLOT_DASHED,
    PLOT_CIRCLES, /* open */
    PLOT_CROSSES,
    PLOT_DOTS,
} plot_style;

/* Points that are not finite, or not positive on a logarithmic axis, are skipped. Below the panel
 * stands how many values are not positive. */
typedef struct plot_series {
    const char *label, *colour;
    plot_style style;
    int64_t count;
    const double *x, *y;
} plot_series;

typedef enum plot_place { PLOT_BESIDE, /* right of the frame */ PLOT_UPPER_RIGHT } plot_place;

typedef struct plot_panel {
    double left, top, width, height; /* of the frame, in pixels */
    const char *title, *x_label, *y_label;
    bool x_log, y_log;
    bool bare;                           /* a frame without ticks: a small picture among many */
    double x_low, x_high, y_low, y_high; /* low = high: as the series need it */
    plot_place legend;                   /* of the series with labels */
    int series_count;
    const plot_series *series;
} plot_panel;

void plot_begin(FILE *out, double width, double height);
void plot_draw(FILE *out, const plot_panel *panel);
void plot_text(FILE *out, double x, double y, const char *anchor, double size, const char *text);
/* Text for SVG and HTML. */
void plot_escape(FILE *out, const char *text);
void plot_end(FILE *out);

#endif
