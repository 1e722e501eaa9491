/* One representation of a recording, and dictionaries learnt from it. */
#ifndef TLNMF_SOUND_DICTIONARY_H
#define TLNMF_SOUND_DICTIONARY_H

#include "linalg/linalg.h"
#include "sound/learn/learn_options.h"
#include "sound/signal/scene.h"

/* The STFT of the frames of a scene. */
typedef struct tl_study {
    tlnmf_ctx *ctx;
    const tl_learn_options *opt;
    const tl_scene *scene;
    tl_frames frames; /* with the window of this study */
    int64_t rows, N;  /* N: frames that are learnt from */
    double *V;        /* rows x N */
    double *power;    /* N: the power of each frame, the sum of its column of V */
    double mean_power, eps;
    int64_t solos[TL_SOURCES_MAX]; /* frames in which a source is alone */
    bool alone[TL_SOURCES_MAX];    /* whether these are enough to learn from */
    bool *mixed;                   /* N: several sources may sound */
    int64_t mixed_count;
    tl_hooks hooks;
    void *memory;
} tl_study;

/* The caller frees the study also on failure. */
tlnmf_error tl_study_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_learn_options *opt,
                            tl_window window, tl_study *study);
void tl_study_free(tl_study *study);
/* The one source that may sound in frame i, or -1. */
int64_t tl_study_solo(const tl_study *study, int64_t i);
/* Whether frame i of the study holds one of the samples start .. end-1. */
bool tl_study_touches(const tl_study *study, int64_t i, int64_t start, int64_t end);

/* Columns of W with their owners, and H in the frames of a study. */
typedef struct tl_dictionary {
    int64_t rows, N, K;
    int64_t base;   /* the first columns, which are not transposed */
    double *W, *H;  /* rows x K, K x N */
    int64_t *owner; /* K: source */
    int64_t *shift; /* K: semitones by which a column is transposed; 0: not */
    bool *free;     /* K: learnt from mixed frames, because its source is never alone */
    tl_hooks hooks;
    void *memory;
} tl_dictionary;

tlnmf_error tl_dictionary_new(tlnmf_ctx *ctx, int64_t rows, int64_t N, int64_t K, tl_dictionary *d);
void tl_dictionary_free(tl_dictionary *d);

/* The caller frees a dictionary also on failure. */

/* Flat columns, `per_source` for each source, updated on all frames. */
tlnmf_error tl_dictionary_flat(const tl_study *study, int64_t per_source, tl_dictionary *out);
/* K columns of one source from exemplars among all frames, updated on all frames. */
tlnmf_error tl_dictionary_spread(const tl_study *study, int64_t K, tl_dictionary *out);
/* Columns from the frames in which a source is alone, which stay; `hidden` flat ones for a source
 * that is never alone. */
tlnmf_error tl_dictionary_solos(const tl_study *study, int64_t hidden, tl_dictionary *out);
/* The most columns that tl_dictionary_solos learns from the solos of a source. */
int64_t tl_dictionary_columns_most(int64_t sources);
/* Updates of H and of all columns, or of the free ones, on all frames. */
tlnmf_error tl_dictionary_update(const tl_study *study, int updates, bool only_free,
                                 tl_dictionary *d);
/* The mean of q - log q - 1, q = (V + eps) / (W H + eps), of each frame. */
tlnmf_error tl_dictionary_misfit(const tl_study *study, const tl_dictionary *d, double *misfit);
/* The share of each column in (power + eps) of frame i, if all columns that may sound get equal
 * shares. */
double tl_study_share(const tl_study *study, const tl_dictionary *d, int64_t i);

#endif
