/* Learning one candidate: what a recipe says, fitted to the frames of a scene. */
#ifndef TLNMF_SEPARATE_LEARN_H
#define TLNMF_SEPARATE_LEARN_H

#include "separate/separate.h"

/* One way to separate: what is fitted, and to which frames. */
typedef struct tl_recipe {
    bool longer; /* frames and hop of twice the length that the options ask for */
    tl_window window;
    tl_basis basis;     /* the fixed transform, or where learning starts */
    tl_method method;   /* NMF: the transform stays; TL, JD: it is learnt */
    int64_t per_source; /* components of a source */
    int64_t J;          /* iterations of learning; not used by NMF */
} tl_recipe;

/* What became of a recipe. Who has it frees its model. */
typedef struct tl_candidate {
    tl_recipe recipe;
    tl_separator *model; /* info: all but score, remixes, candidates and outcome */
    double score;        /* mean SI-SDR on remixes in dB; NaN as long as it is not judged */
} tl_candidate;

/* Learns candidates of one frame length, one after another. What depends on window and transform
 * alone is kept from one candidate to the next. */
typedef struct tl_learner {
    tlnmf_ctx *ctx;
    const tl_separate_options *opt;
    tl_watch *watch;
    const tl_scene *scene;
    int64_t M, frames, channels; /* frames: how many there are to learn from */
    /* the window and transform at work */
    tl_window window;
    tl_basis basis;
    tl_framing framing;
    bool analysed; /* V, mean_power and eps are those of Phi0 */
    double *Phi0;  /* M x M: the transform before learning */
    double *V;     /* M x frames: the power of the coefficients */
    double mean_power, eps;
    /* the fit at work */
    double *V_turned;          /* frames x M: V', for the updates */
    double *U;                 /* M x frames: 1 / (W H + eps), for the objective */
    double *H;                 /* K x frames: of the candidate */
    double *W_start, *H_start; /* M x K, K x frames: of the random start at work */
    tl_mu mu;
    tl_hooks hooks;
    void *memory;
} tl_learner;

/* For recipes of up to `per_source` components a source. The scene must outlive the learner. */
tlnmf_error tl_learner_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_separate_options *opt,
                              int64_t per_source, tl_watch *watch, tl_learner *l);
void tl_learner_free(tl_learner *l);

/* Fits the recipe to the frames of the scene, whose length recipe->longer must agree with. A caller
 * who has said stop gets the candidate early: learning ends, and no further start is tried. */
tlnmf_error tl_learn(tl_learner *l, const tl_recipe *recipe, tl_candidate *out);

#endif
