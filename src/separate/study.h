/* One representation of a recording, and what is learnt from it: dictionaries from solos, notes
 * that were never heard alone. docs/separation.md describes the method. */
#ifndef TLNMF_SEPARATE_STUDY_H
#define TLNMF_SEPARATE_STUDY_H

#include "separate/separate.h"

/* ---- frames and their power (study.c) -------------------------------------------------------- */

/* The STFT of the frames of a scene. */
typedef struct tl_study {
    tlnmf_ctx *ctx;
    const tl_separate_options *opt;
    tl_watch *watch; /* asked between updates; NULL: nobody */
    const tl_scene *scene;
    tl_frames frames; /* with the window of this study */
    int64_t rows, N;  /* N: frames that are learnt from */
    double *V;        /* rows x N */
    double *power;    /* N: of each frame, the sum of its column of V */
    double mean_power, eps;
    bool alone[TL_SOURCES_MAX]; /* sources that sound alone for long enough to learn from */
    bool *mixed;                /* N: several sources may sound */
    int64_t mixed_count;
    tl_hooks hooks;
    void *memory;
} tl_study;

tlnmf_error tl_study_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_separate_options *opt,
                            tl_window window, tl_study *study);
void tl_study_free(tl_study *study);
/* The one source that may sound in frame i, or -1. */
int64_t tl_study_solo(const tl_study *study, int64_t i);
/* Whether frame i of the study touches samples start .. end-1. */
bool tl_study_touches(const tl_study *study, int64_t i, int64_t start, int64_t end);

/* ---- dictionaries (dictionary.c) ------------------------------------------------------------- */

/* Columns of W with their owners, and H in the frames of a study. */
typedef struct tl_dictionary {
    int64_t rows, N, K;
    int64_t base;   /* the first columns, which are not transposed */
    double *W, *H;  /* rows x K, K x N */
    int64_t *owner; /* K: source */
    int64_t *shift; /* K: semitones by which a column is transposed; 0: not */
    bool *free;     /* K: learnt from mixed frames, for its source is never alone */
    tl_hooks hooks;
    void *memory;
} tl_dictionary;

tlnmf_error tl_dictionary_new(tlnmf_ctx *ctx, int64_t rows, int64_t N, int64_t K, tl_dictionary *d);
void tl_dictionary_free(tl_dictionary *d);

/* Flat columns, `per_source` for each source, updated on all frames. */
tlnmf_error tl_dictionary_flat(const tl_study *study, int64_t per_source, tl_dictionary *out);
/* K columns of one source from exemplars among all frames, updated on all frames. */
tlnmf_error tl_dictionary_spread(const tl_study *study, int64_t K, tl_dictionary *out);
/* Columns from the frames in which a source is alone, which stay; `hidden` flat ones for a source
 * that is never alone. */
tlnmf_error tl_dictionary_solos(const tl_study *study, int64_t hidden, tl_dictionary *out);
/* A few updates of all columns on all frames. */
tlnmf_error tl_dictionary_join(const tl_study *study, int updates, tl_dictionary *d);
/* The mean of q - log q - 1, q = (V + eps) / (W H + eps), of each frame. */
tlnmf_error tl_dictionary_misfit(const tl_study *study, const tl_dictionary *d, double *misfit);
/* The share of each column in (power + eps) of frame i if all that may sound share it. */
double tl_study_share(const tl_study *study, const tl_dictionary *d, int64_t i);

/* ---- notes (notes.c) ------------------------------------------------------------------------- */

enum { TL_SEMITONES = 15, TL_SHIFTS = 2 * TL_SEMITONES + 1 }; /* up and down */

/* A source plays something that is a transposed column of its own from start to end. */
typedef struct tl_note {
    int64_t source, shift, start, end;
} tl_note;

typedef struct tl_notes {
    int64_t count;
    tl_note *note;
    double heard, sounding; /* samples of mixed pieces that were heard alone; of all mixed pieces */
    tl_hooks hooks;
    void *memory;
} tl_notes;

/* The dictionary with all transpositions by up to `range` semitones, and H of the mixed frames: who
 * would play what. */
tlnmf_error tl_notes_listen(const tl_study *study, const tl_dictionary *d, int64_t range,
                            tl_dictionary *wide);
/* Decides which notes are new, from a dictionary of solos (decide.c). */
tlnmf_error tl_notes_decide(const tl_study *study, const tl_dictionary *d, tl_notes *notes);
void tl_notes_free(tl_notes *notes);
/* The dictionary with transposed columns for these notes, H fitted and a few joint updates done. */
tlnmf_error tl_notes_apply(const tl_study *study, const tl_dictionary *d, const tl_notes *notes,
                           tl_dictionary *out);
/* A separator from a dictionary; notes may be NULL. */
tlnmf_error tl_study_separator(const tl_study *study, const tl_dictionary *d, const tl_notes *notes,
                               tl_separator **out);

/* ---- what to expect (verdict.c) ---------------------------------------------------------------
 */

/* Has the members take the recording apart: agreement, share and overlap. */
tlnmf_error tl_verdict_listen(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                              const tl_separate_options *opt, const tl_separator *const *member,
                              int64_t members, tl_verdict *verdict);
/* Nothing is known: a run that was stopped. */
void tl_verdict_unknown(int64_t sources, tl_verdict *verdict);
/* The SI-SDR to expect, from these and the score on remixes (NaN: there are none). */
void tl_verdict_expect(int64_t sources, double score, tl_verdict *verdict);
/* The same of a blind separation, from the misfit of as many sounds as there are sources. */
void tl_verdict_expect_blind(int64_t sources, double misfit, tl_verdict *verdict);

/* ---- without labels (blind.c) ---------------------------------------------------------------- */

enum { TL_LOOK_MOST = 6 };

/* How many sounds explain a recording, and how many sources that may be. */
typedef struct tl_look {
    /* With each number of components: the mean of q - log q - 1; NaN: not tried. */
    double misfit[TL_LOOK_MOST + 1];
    int64_t sounds, sources;
    bool sure;
} tl_look;

tlnmf_error tl_look_at(tlnmf_ctx *ctx, const tl_sound *sound, const tl_separate_options *options,
                       tl_look *look);

/* ---- candidates (pool.c) --------------------------------------------------------------------- */

/* Candidates that are learnt or judged at a time. */
enum { TL_CANDIDATES_AT_ONCE = 6 };

/* tl_blend_learn where there are spans and the options leave the recipe open. */
tlnmf_error tl_pool_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                          const tl_separate_options *options, tl_watch *watch, tl_blend **out);

#endif
