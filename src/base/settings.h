/* The options of a call as plain fields, and enumerations for choices. */
#ifndef TLNMF_BASE_SETTINGS_H
#define TLNMF_BASE_SETTINGS_H

#include "base/base.h"

/* The tasks that have options. Each is a bit, since a row of src/base/options.def may serve
 * several. */
typedef enum tl_task {
    TL_TASK_FIT = 1,
    TL_TASK_JD = 2,
    TL_TASK_APPLY = 4,
    TL_TASK_FRAMES = 8,
    TL_TASK_LEARN = 16,
    TL_TASK_SEPARATE = 32,
    TL_TASK_SCORE = 64,
    TL_TASK_GCM = 128,
    TL_TASK_REPORT = 256
} tl_task;

/* The words of choices, in the order of the table. */
typedef enum tl_method {
    TL_METHOD_TL = 0,  /* minimise C over Phi, W, H                        */
    TL_METHOD_JD = 1,  /* minimise L over Phi, then I over W, H (JD+NMF)   */
    TL_METHOD_NMF = 2, /* minimise I over W, H at a fixed transform */
    TL_METHOD_AUTO = 3 /* JD+NMF, then TL-NMF if that could lower C */
} tl_method;

typedef enum tl_algorithm {
    TL_ALGORITHM_FAST = 0, /* Jacobi sweeps, then L-BFGS */
    TL_ALGORITHM_PAPER = 1 /* the algorithms exactly as in the paper */
} tl_algorithm;

typedef enum tl_precision {
    TL_PRECISION_DOUBLE = 0,
    TL_PRECISION_MIXED = 1 /* matrix products in single precision, at the end in double */
} tl_precision;

typedef enum tl_where {
    TL_DEVICE_CPU = 0,
    TL_DEVICE_GPU = 1,
    TL_DEVICE_AUTO = 2 /* the GPU if it is there, large enough, and faster */
} tl_where;

typedef enum tl_transform {
    TL_TRANSFORM_AUTO = 0, /* random, or DCT-II for method nmf */
    TL_TRANSFORM_RANDOM = 1,
    TL_TRANSFORM_DCT = 2,
    TL_TRANSFORM_DFT = 3, /* real: cosine and sine rows in pairs */
    TL_TRANSFORM_IDENTITY = 4
} tl_transform;

typedef enum tl_stream {
    TL_STREAM_OWN = 0,  /* xoshiro256++, one stream per start */
    TL_STREAM_NUMPY = 1 /* numpy.random.RandomState, all starts from one stream */
} tl_stream;

typedef enum tl_window {
    TL_WINDOW_AUTO = 0, /* Tukey; a separation may also try the sine window */
    TL_WINDOW_TUKEY = 1,
    TL_WINDOW_SINE = 2,
    TL_WINDOW_HANN = 3,
    TL_WINDOW_RECTANGULAR = 4,
    TL_WINDOW_KAISER = 5
} tl_window;

typedef enum tl_basis {
    TL_BASIS_AUTO = 0, /* the one that separates remixes of the recording best */
    TL_BASIS_DCT = 1,
    TL_BASIS_DFT = 2,
    TL_BASIS_STFT = 3 /* the DFT with one power for cosine and sine */
} tl_basis;

typedef enum tl_unlabelled_policy {
    TL_UNLABELLED_ANY = 0,
    TL_UNLABELLED_SILENT = 1
} tl_unlabelled_policy;

/* Each task reads the fields of its options; src/base/options.def explains them. */
typedef struct tlnmf_settings {
    int32_t task; /* a tl_task */
    /* fit, jd, apply */
    int64_t k, J, J_tl, J_nmf, starts, hops, halvings, handover, threads, rank_reduce;
    uint64_t seed;
    double eps, eps_rel, gamma, tol, grad_tol, max_seconds;
    int32_t method, solver, transform, stream;
    int32_t exchange, certify, continuation, trace, trace_all;
    int32_t precision, whiten, device, eps_check;
    int32_t keep_X, keep_V;
    /* frames, separate */
    int64_t frame, hop, shifts;
    int32_t window;
    double taper, beta;
    /* separate, stems */
    int64_t per_source, learn_frames, iterations;
    double release, learn_below;
    int32_t basis, components, residual, keep_H, unlabelled;
    /* score */
    int64_t filter;
    int32_t permute, images;
    int64_t framewise, framewise_hop;
    /* gcm */
    int64_t gcm_S, gcm_M, gcm_N, gcm_K;
    uint64_t seed_truth, seed_data;
    /* report */
    int64_t page_atoms;
    double page_rate;
    int32_t no_sound;
    tl_hooks hooks;
} tl_settings;

/* The defaults of a task. */
void tl_settings_defaults(tl_task task, tl_settings *settings);
const char *tl_task_name(int task);
/* TLNMF_ERR_ARGUMENT unless the settings are for one of the tasks, and in a progress function. */
tlnmf_error tl_settings_need(tlnmf_ctx *ctx, const tl_settings *settings, int tasks);
/* The word of a choice, e.g. "jd"; "" if there is no such choice. */
enum { TL_WORD = 32 };
const char *tl_option_word(tl_task task, const char *option, int32_t choice, char word[TL_WORD]);
/* A number with a decimal point in every locale: the shortest of %.15g, %.16g, .. that reads back
 * as x, or the one with `most` digits. */
void tl_format_real(double x, int most, char text[TL_WORD]);
/* The choice of a word, or -1. */
int32_t tl_option_choice(tl_task task, const char *option, const char *word);

#endif
