/* The report page. Its HTML is built in one io_buffer. */
#ifndef TLNMF_REPORT_REPORT_H
#define TLNMF_REPORT_REPORT_H

#include "io/files.h"
#include "io/program.h"

/* ---- assets (made by cmake/embed_assets.c from report/assets and report/vendor)
 * -------------------- */

extern const char page_style[], page_library[], page_script[];
/* 'sha256-..' of the three, for the content security policy. */
extern const char page_style_hash[], page_library_hash[], page_script_hash[];

/* ---- text (html.c) --------------------------------------------------------------------------- */

void page_raw(io_buffer *page, const char *html);
/* Untrusted text: escapes markup and replaces controls and invalid UTF-8 by U+FFFD. */
void page_text(io_buffer *page, const char *text);
/* printf for markup and numbers; a text for `%s` must be trusted markup. */
void page_format(io_buffer *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_base64(io_buffer *page, const void *bytes, size_t size);
/* For <script type="application/json">: escaped so that it cannot end the element. */
void page_json(io_buffer *page, const json_t *object);
/* Six digits, or "none" if the number is not finite. */
const char *page_number(double x, char text[32]);

/* ---- arrays for the script (reduce.c) -------------------------------------------------------- */

/* Typed arrays for the script: {"type": "f32", "shape": [..], "data": base64}; NULL when out of
 * memory. */
json_t *page_array(const char *type, const void *bytes, size_t size, int rank,
                   const int64_t *shape);
json_t *page_doubles(const double *x, int rank, const int64_t *shape);
json_t *page_floats(const double *x, int rank, const int64_t *shape); /* as 32-bit floats */

/* A picture of a matrix in dB: the largest value of each cell of a grid, in steps of a byte. */
typedef struct page_image {
    int64_t rows, columns; /* of the grid */
    int64_t M, N;          /* of the matrix */
    const int64_t *order;  /* row order[i] of the matrix is row i before the reduction */
    double *cell;          /* rows x columns: power */
} page_image;

enum { PAGE_ROWS = 320, PAGE_COLUMNS = 720 }; /* of a picture: about the resolution of a screen */
/* Computes row m of a matrix that need not be stored. */
typedef void page_row(int64_t m, double *row, const void *user);
bool page_image_make(page_image *image, page_row *row, const void *user);
/* 0 is `top` - 102 dB or less, 255 is `top`. */
json_t *page_image_json(const page_image *image, double top);

/* ---- the model (page_model.c) ---------------------------------------------------------------- */

/* The contents of the page. Missing arrays are NULL. */
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
    double *own_energy;   /* if it was computed for the page */
    int64_t *owner;       /* K numbers: the source of each component; NULL: none */
    double *frequency;    /* M numbers in Hz; NULL: not known */
    const char *unit;     /* of the frequencies: "Hz", "cycles per sample"; "row": the transform is
                             the identity; "": cosines do not fit the atoms */
    tlnmf_record *atoms;  /* NULL: none */
    tlnmf_record *spectrum; /* frequency, Phi and V of tlnmf_spectrogram; NULL: none */
    int64_t sources;
    bool separated;
    json_t *notes; /* texts: missing parts, with reasons */
} page_model;

tlnmf_error page_model_read(page_model *m, const tlnmf_settings *settings);
void page_model_free(page_model *m);
void page_note(page_model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A recording at the rate of its stems: `apply --resample` separates at the model's rate. */
typedef struct page_recording {
    tlnmf_sound *file, *sound; /* the file; what to read: the file, or the file resampled */
} page_recording;

/* Call page_recording_close() in either case. */
tlnmf_error page_recording_open(const page_model *m, const char *path, page_recording *r);
void page_recording_close(page_recording *r);
/* The name of a source; "" after the last. */
const char *page_source(const page_model *m, int64_t source);

/* ---- sound (page_sound.c) -------------------------------------------------------------------- */

enum { PAGE_TRACKS = 65, PAGE_BUCKETS = 1200 };

typedef struct page_track {
    const char *name, *path; /* owned by the caller */
    bool readable;
    page_recording source; /* resampled if it is the recording; stems are read as they are */
    io_sound_info info;
    signed char low[PAGE_BUCKETS], high[PAGE_BUCKETS]; /* of 127 */
    double peak, energy;
    io_buffer packed; /* empty: not in the page */
} page_track;

typedef struct page_sound {
    int count; /* track 0 is the recording, the others are stems */
    page_track *track;
    int64_t length; /* of the longest, in samples */
    int rate;
    io_packing packing;
} page_sound;

tlnmf_error page_sound_read(page_sound *sound, page_model *m, bool no_sound);
void page_sound_free(page_sound *sound);
json_t *page_sound_json(const page_sound *sound);

/* ---- words (words.c, numbers.c) -------------------------------------------------------------- */

void page_headline(io_buffer *page, const page_model *m, const page_sound *sound);
void page_scores(io_buffer *page, const page_model *m);
void page_numbers(io_buffer *page, const page_model *m);
/* A number of the summary, such as "C" or "separation.C"; NaN if it is missing. */
double page_value(const page_model *m, const char *name);
const char *page_word(const page_model *m, const char *name); /* or NULL */
/* The heading: of `about`, or what was done, such as "TL-NMF with 3 components". */
const char *page_title(const page_model *m, char text[64]);

/* ---- the data (page_data.c) ------------------------------------------------------------------ */

/* The data that the script draws; NULL when out of memory. */
json_t *page_data(const page_model *m, const page_sound *sound);

#endif
