/* The report page: what its parts share. Everything goes into one io_buffer, as HTML. */
#ifndef TLNMF_REPORT_REPORT_H
#define TLNMF_REPORT_REPORT_H

#include "io/api.h"
#include "io/internal.h"

/* ---- assets (made by report/embed.c from report/assets and report/vendor) -------------------- */

extern const char page_style[], page_library[], page_script[];
/* 'sha256-..' of the three, as a content security policy wants them. */
extern const char page_style_hash[], page_library_hash[], page_script_hash[];

/* ---- text (html.c) --------------------------------------------------------------------------- */

void page_raw(io_buffer *page, const char *html);
/* Text of anybody: markup is escaped, controls and what is not UTF-8 become U+FFFD. */
void page_text(io_buffer *page, const char *text);
/* printf of markup and numbers of ours; `%s` must be markup of ours, too. */
void page_format(io_buffer *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_base64(io_buffer *page, const void *bytes, size_t size);
/* As text inside <script type="application/json">: no byte of it can end the element. */
void page_json(io_buffer *page, const json_t *object);
/* A number as people read it, 6 digits; "none" if it is not finite. */
const char *page_number(double x, char text[32]);

/* ---- fewer numbers (reduce.c) ---------------------------------------------------------------- */

/* Typed arrays for the script: {"type": "f32", "shape": [..], "data": base64}; NULL when out of
 * memory. */
json_t *page_array(const char *type, const void *bytes, size_t size, int rank,
                   const int64_t *shape);
json_t *page_doubles(const double *x, int rank, const int64_t *shape);
json_t *page_floats(const double *x, int rank, const int64_t *shape);

/* A picture of a matrix in dB: the largest value of each cell of a grid, in steps of a byte. */
typedef struct page_image {
    int64_t rows, columns; /* of the grid */
    int64_t M, N;          /* of the matrix */
    const int64_t *order;  /* row i of the picture's full version is row order[i] */
    double *cell;          /* rows x columns: power */
} page_image;

enum { PAGE_ROWS = 320, PAGE_COLUMNS = 720 }; /* of a picture: about what a screen shows */
/* Value (m, n) of a matrix that need not be stored. */
typedef void page_row(int64_t m, double *row, const void *user);
bool page_image_make(page_image *image, page_row *row, const void *user);
/* 0 is `top` - 102 dB or less, 255 is `top`. */
json_t *page_image_json(const page_image *image, double top);

/* ---- the model (model.c) --------------------------------------------------------------------- */

/* What the page shows, wherever it comes from. Arrays that are not there are NULL. */
typedef struct page_model {
    tlnmf_ctx *ctx;
    const tlnmf_record *record, *about; /* about: never NULL */
    json_t *summary;
    int64_t M, N, K; /* rows of the spectrogram, frames, components; 0: none */
    double rate;     /* Hz; 0: not known */
    double hop;      /* seconds from one frame to the next; 0: frames are counted */
    double first;    /* seconds of frame 0 */
    int64_t stride;  /* V holds every stride-th frame of H */
    const double *Phi, *W, *H, *V;
    const double *energy; /* of the rows; NULL: not known */
    double *owned[8];     /* arrays that were made for the page */
    int owned_count;
    int64_t *owner;      /* K numbers: the source of each component; NULL: none */
    double *frequency;   /* M numbers in Hz; NULL: not known */
    tlnmf_record *atoms; /* NULL: none */
    int64_t sources;
    bool separated;
    json_t *notes; /* texts: what is missing, and why */
} page_model;

tlnmf_error page_model_read(page_model *m, const tlnmf_settings *settings);
void page_model_free(page_model *m);
void page_note(page_model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Zeroed memory that goes with the model; NULL when out of memory or too many. */
double *page_own(page_model *m, int64_t count);
/* The name of a source, "" past the last. */
const char *page_source(const page_model *m, int64_t source);
/* V of a recording at the model's transform (spectrum.c); none is no error. */
tlnmf_error page_spectrum(page_model *m);

/* ---- sound (sound.c) ------------------------------------------------------------------------- */

enum { PAGE_TRACKS = 65, PAGE_BUCKETS = 1200 };

typedef struct page_track {
    const char *name, *path; /* of the caller */
    bool readable;
    io_sound_info info;
    signed char low[PAGE_BUCKETS], high[PAGE_BUCKETS]; /* of 127 */
    double peak, energy;
    io_buffer packed; /* empty: not in the page */
    io_packing packing;
} page_track;

typedef struct page_sound {
    int count; /* track 0 is the recording, the others are stems */
    page_track *track;
    int64_t length; /* of the longest, in samples */
    int rate;
    bool has_sound; /* at least one stem is in the page */
} page_sound;

tlnmf_error page_sound_read(page_sound *sound, page_model *m, bool no_sound);
void page_sound_free(page_sound *sound);
json_t *page_sound_json(const page_sound *sound);

/* ---- words (words.c, numbers.c) -------------------------------------------------------------- */

void page_headline(io_buffer *page, const page_model *m, const page_sound *sound);
void page_scores(io_buffer *page, const page_model *m);
void page_numbers(io_buffer *page, const page_model *m);
/* A number of the summary, by "separation.C" or "C"; NaN if there is none. */
double page_value(const page_model *m, const char *name);
const char *page_word(const page_model *m, const char *name); /* or NULL */

/* ---- the page (data.c, page.c) --------------------------------------------------------------- */

/* What the script draws. NULL when out of memory. */
json_t *page_data(const page_model *m, const page_sound *sound);
void page_write(io_buffer *page, const page_model *m, const page_sound *sound, const json_t *data);
/* The parts that all pages share: up to <main>, and from </main> on. */
void page_begin(io_buffer *page, const char *title);
void page_end(io_buffer *page, const json_t *data);

#endif
