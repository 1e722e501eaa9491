/* Learning one candidate: a recipe fitted to the frames of a scene. */
#ifndef TLNMF_SOUND_LEARN_H
#define TLNMF_SOUND_LEARN_H

#include "model/kernels.h"
#include "sound/learn/learn_options.h"
#include "sound/model/separator.h"
#include "sound/signal/scene.h"

/* The band of rows that is learnt has at most so many rows: its cost grows with their square. */
enum { TL_BAND_MOST = 400 };

/* One way to separate: the model, and the frames it is fitted to. */
typedef struct tl_recipe {
    bool longer; /* frames and hop of twice the length that the options ask for */
    tl_window window;
    tl_basis basis;     /* the fixed transform, or where learning starts */
    tl_method method;   /* NMF: the transform stays; TL, JD: it is learnt */
    int64_t per_source; /* components per source */
    int64_t J;          /* iterations of learning; not used by NMF */
} tl_recipe;

/* A learnt recipe. Its owner frees the model. */
typedef struct tl_candidate {
    tl_recipe recipe;
    tl_separator *model; /* info: all but score, remixes, candidates and outcome */
    double score;        /* mean SI-SDR on remixes in dB; NaN until it is judged */
} tl_candidate;

/* Learns candidates of one frame length sequentially. Arrays that depend only on window and
 * transform are kept from one candidate to the next. */
typedef struct tl_learner {
    tlnmf_ctx *ctx;
    const tl_learn_options *opt;
    const tl_scene *scene;
    int64_t M, frames, channels; /* frames: number of frames to learn from */
    /* the current window and transform */
    tl_window window;
    tl_basis basis;
    tl_framing framing;
    bool analysed; /* V, mean_power and eps are those of Phi0 */
    double *Phi0;  /* M x M: the transform before learning */
    double *V;     /* M x frames: the power of the coefficients */
    double mean_power, eps;
    /* the current fit */
    double *V_turned;          /* frames x M: V', for the updates */
    double *U;                 /* M x frames: 1 / (W H + eps), for the objective */
    double *H;                 /* K x frames: of the candidate */
    double *W_start, *H_start; /* M x K, K x frames: of the current random start */
    tl_mu mu;
    tl_hooks hooks;
    void *memory;
} tl_learner;

/* For recipes of up to `per_source` components per source. The scene must outlive the learner. */
tlnmf_error tl_learner_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_learn_options *opt,
                              int64_t per_source, tl_learner *l);
void tl_learner_free(tl_learner *l);

/* Fits the recipe to the frames of the scene; recipe->longer must match their length. After a
 * stop, learning ends early and no further start is tried. */
tlnmf_error tl_learn(tl_learner *l, const tl_recipe *recipe, tl_candidate *out);

#endif
