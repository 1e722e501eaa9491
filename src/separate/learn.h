/* The candidates of a separation: one window, transform, method and number of components each. */
#ifndef TLNMF_SEPARATE_LEARN_H
#define TLNMF_SEPARATE_LEARN_H

#include "separate/separate.h"

enum { TL_MOST_PER_SOURCE = 3 };

/* One way to separate: what is fitted, and on which frames. */
typedef struct tl_recipe {
    tl_window window;
    tl_basis basis;
    tl_method method;
    int64_t per_source;
    int64_t J; /* iterations of learning; 0: as many as the options say */
} tl_recipe;

/* What all candidates share: how they are judged, and the best of them. */
typedef struct tl_choice {
    tlnmf_ctx *ctx;
    const tl_separate_options *opt;
    tl_callback callback;
    void *user;
    bool stopped;
    tl_remix remix;
    tl_separator *best;
    double best_merit, last_score;
    int64_t candidates, planned;
} tl_choice;

/* Candidates of one frame length. */
typedef struct tl_learner {
    tlnmf_ctx *ctx;
    const tl_separate_options *opt;
    tl_choice *choice;
    tl_scene scene;
    int64_t M, L, C; /* L: frames to learn from; C: channels */
    /* the window and transform at work, and what follows from them */
    bool analysed;
    tl_window window;
    tl_basis basis;
    tl_framing framing;
    double mean_power, eps;
    double *Phi0, *Phi, *V, *V_turned; /* M x M, M x M, M x L, L x M */
    double *W, *H, *W_try, *H_try;
    tl_mu mu;
    tl_hooks hooks;
    void *block;
} tl_learner;

/* With a scene of these frames. */
tlnmf_error tl_learner_create(tl_choice *choice, const tl_sound *sound, const tl_span *spans,
                              int64_t span_count, const tl_frames *frames, tl_learner *l);
void tl_learner_free(tl_learner *l);

/* Fits one candidate, judges it, and keeps it if it is the best. Nothing, once there is something
 * to keep and the caller has had enough. */
tlnmf_error tl_try(tl_learner *l, tl_recipe r);

#endif
