/* tlnmf: transform-learning nonnegative matrix factorisation and joint diagonalisation.
 *
 * Given S real matrices Y_s (M x N, frames in columns) the library looks for an orthogonal Phi (M x
 * M) and nonnegative W (M x K), H (K x N) such that the power V = (1/S) sum_s |Phi Y_s|^2 is close
 * to W H. The mathematics, with the equation numbers that comments quote, is in docs/spec.md.
 *
 * Conventions
 *   - Matrices are arrays of double in C order (the last index runs fastest): Y[s][m][n],
 * Phi[a][m].
 *   - A call returns a tlnmf_error; tlnmf_message() then says what was wrong, naming the culprit.
 *   - Why a run stopped is a tlnmf_outcome and not an error.
 *   - Who creates frees. The library copies what it keeps. A failed create leaves *out == NULL.
 *   - No global state: a context holds allocator, log hook and last message. Use one context per
 *     thread; data objects are read-only after creation and may be shared.
 *   - Structs that may grow: those that you fill in begin with struct_size, which their _init
 * function sets; those that you receive are filled in as far as your version knows them. */
#ifndef TLNMF_TLNMF_H
#define TLNMF_TLNMF_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TLNMF_API __attribute__((visibility("default")))
#else
#define TLNMF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TLNMF_VERSION_MAJOR 0
#define TLNMF_VERSION_MINOR 1
#define TLNMF_VERSION_PATCH 0
#define TLNMF_VERSION       "0.1.0"

TLNMF_API const char *tlnmf_version(void); /* of the library that is running */
TLNMF_API const char *tlnmf_blas(void);    /* the BLAS it runs on, as far as that tells */

/* ---- errors and outcomes: the numbers are pinned ------------------------------------------- */

typedef enum tlnmf_error {
    TLNMF_OK = 0,
    TLNMF_ERR_OPTION = 1,    /* an option is out of its range or contradicts another */
    TLNMF_ERR_SHAPE = 2,     /* arrays whose shapes do not fit together */
    TLNMF_ERR_DATA = 3,      /* values that cannot be used: NaN, all zeros, not orthogonal, .. */
    TLNMF_ERR_MEMORY = 4,    /* the allocator returned NULL */
    TLNMF_ERR_TOO_LARGE = 5, /* a size that BLAS or the address space cannot hold */
    TLNMF_ERR_NUMERIC = 6,   /* LAPACK failed */
    TLNMF_ERR_CALLBACK = 7,  /* a callback that reads or writes sound returned nonzero */
} tlnmf_error;

typedef enum tlnmf_outcome {
    TLNMF_NOT_RUN = 0,
    TLNMF_CONVERGED = 1,   /* the objective changed by less than tol */
    TLNMF_STATIONARY = 2,  /* the gradient fell below grad_tol */
    TLNMF_ITERATIONS = 3,  /* all iterations asked for were done */
    TLNMF_LINE_SEARCH = 4, /* no step along the direction improved the objective */
    TLNMF_CANCELLED = 5,   /* the progress callback said so */
    TLNMF_TIME = 6,        /* max_seconds passed */
} tlnmf_outcome;

TLNMF_API const char *tlnmf_error_name(tlnmf_error error);
TLNMF_API const char *tlnmf_outcome_name(tlnmf_outcome outcome);

/* ---- the context ----------------------------------------------------------------------------- */

typedef struct tlnmf_ctx tlnmf_ctx;

typedef enum tlnmf_log_level { TLNMF_LOG_WARNING = 1, TLNMF_LOG_INFO = 2 } tlnmf_log_level;

/* Any of the functions may be NULL: malloc and free, and silence. With `threads` above 1 the
 * allocator is called from several threads at once; the log hook never is. */
typedef struct tlnmf_hooks {
    size_t struct_size;
    void *(*allocate)(size_t bytes, void *user);
    void (*release)(void *block, void *user);
    void (*log)(tlnmf_log_level level, const char *message, void *user);
    void *user;
} tlnmf_hooks;

TLNMF_API void tlnmf_hooks_init(tlnmf_hooks *hooks);
TLNMF_API tlnmf_error tlnmf_ctx_create(const tlnmf_hooks *hooks_or_null, tlnmf_ctx **out);
TLNMF_API void tlnmf_ctx_free(tlnmf_ctx *ctx);
TLNMF_API const char *tlnmf_message(const tlnmf_ctx *ctx); /* of the last call that failed */

/* ---- settings: one table of options ---------------------------------------------------------- */

typedef enum tlnmf_method {
    TLNMF_METHOD_TL = 0,   /* minimise C over Phi, W, H                        */
    TLNMF_METHOD_JD = 1,   /* minimise L over Phi, then I over W, H (JD+NMF)   */
    TLNMF_METHOD_NMF = 2,  /* minimise I over W, H for a transform that stays  */
    TLNMF_METHOD_AUTO = 3, /* JD+NMF; then TL-NMF, if that could gain something */
} tlnmf_method;

typedef enum tlnmf_solver {
    TLNMF_SOLVER_FAST = 0,  /* Jacobi sweeps, then L-BFGS */
    TLNMF_SOLVER_PAPER = 1, /* the paper's algorithms to the letter */
} tlnmf_solver;

typedef enum tlnmf_precision {
    TLNMF_PRECISION_DOUBLE = 0,
    TLNMF_PRECISION_MIXED = 1, /* matrix products in single on the way, in double at the end */
} tlnmf_precision;

typedef enum tlnmf_transform {
    TLNMF_TRANSFORM_AUTO = 0, /* random to learn from, DCT-II to keep (method nmf) */
    TLNMF_TRANSFORM_RANDOM = 1,
    TLNMF_TRANSFORM_DCT = 2,
    TLNMF_TRANSFORM_DFT = 3, /* real: cosine and sine rows in pairs */
    TLNMF_TRANSFORM_IDENTITY = 4,
} tlnmf_transform;

typedef enum tlnmf_stream {
    TLNMF_STREAM_OWN = 0,   /* xoshiro256++, one stream per start */
    TLNMF_STREAM_NUMPY = 1, /* numpy.random.RandomState, all starts from one stream */
} tlnmf_stream;

/* Set the defaults with tlnmf_settings_init; the meaning, range and default of every field are in
 * src/options.def, at run time in tlnmf_option_at(). */
typedef struct tlnmf_settings {
    size_t struct_size;
    int64_t k, J, J_tl, J_nmf, starts, hops, halvings, handover, threads;
    uint64_t seed;
    double eps, eps_rel, gamma, tol, grad_tol, max_seconds;
    int32_t method, solver, transform, stream;
    int32_t exchange, certify, continuation, trace;
    int32_t precision, newton;
} tlnmf_settings;

typedef enum tlnmf_option_type {
    TLNMF_OPTION_INT = 0,    /* int64_t  */
    TLNMF_OPTION_SEED = 1,   /* uint64_t */
    TLNMF_OPTION_REAL = 2,   /* double   */
    TLNMF_OPTION_FLAG = 3,   /* int32_t, 0 or 1 */
    TLNMF_OPTION_CHOICE = 4, /* int32_t, one of `choices` in their order */
} tlnmf_option_type;

typedef struct tlnmf_option_info {
    const char *name;  /* as in tlnmf_settings_set, and after -- on the command line */
    const char *field; /* of tlnmf_settings */
    tlnmf_option_type type;
    double low, high;    /* the range, ends included */
    double fallback;     /* the default */
    const char *choices; /* "fast|paper" or "" */
    const char *help;
} tlnmf_option_info;

TLNMF_API void tlnmf_settings_init(tlnmf_settings *settings);
TLNMF_API size_t tlnmf_option_count(void);
TLNMF_API const tlnmf_option_info *tlnmf_option_at(size_t index);
TLNMF_API tlnmf_error tlnmf_settings_set(tlnmf_ctx *ctx, tlnmf_settings *settings, const char *name,
                                         const char *value);
/* The value of an option as text, which tlnmf_settings_set reads back if it is in range (the
 * default of eps, 0, means that it is not set and is not); NULL for an unknown name. */
TLNMF_API const char *tlnmf_settings_get(const tlnmf_settings *settings, const char *name,
                                         char *buffer, size_t size);
TLNMF_API tlnmf_error tlnmf_settings_check(tlnmf_ctx *ctx, const tlnmf_settings *settings);

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct tlnmf_data tlnmf_data;

/* Y[S][M][N]. Only the covariances Sigma_n = (1/S) sum_s y_ns y_ns' matter, so the S columns of a
 * frame are replaced, exactly, by rank(Sigma_n) columns. */
TLNMF_API tlnmf_error tlnmf_data_from_realisations(tlnmf_ctx *ctx, const double *Y, int64_t S,
                                                   int64_t M, int64_t N, tlnmf_data **out);
/* Sigma[N][M][M], symmetric and positive semidefinite. */
TLNMF_API tlnmf_error tlnmf_data_from_covariances(tlnmf_ctx *ctx, const double *Sigma, int64_t N,
                                                  int64_t M, tlnmf_data **out);
/* Neighbouring frames as realisations of one another (spec (15), (16)), for data that change slowly
 * from frame to frame. BLOCKS: each B frames become one, of S B realisations. MOVING: a frame for
 * each, of the B frames around it. At the ends there are fewer. */
typedef enum tlnmf_neighbours {
    TLNMF_NEIGHBOURS_BLOCKS = 0,
    TLNMF_NEIGHBOURS_MOVING = 1,
} tlnmf_neighbours;

TLNMF_API tlnmf_error tlnmf_data_from_neighbours(tlnmf_ctx *ctx, const double *Y, int64_t S,
                                                 int64_t M, int64_t N, tlnmf_neighbours kind,
                                                 int64_t B, tlnmf_data **out);
/* Weights of the N frames in joint diagonalisation, not negative and not all 0; only their ratios
 * matter; NULL: none. For tlnmf_diagonalise with solver fast; to be set before the data are
 * shared. */
TLNMF_API tlnmf_error tlnmf_data_set_weights(tlnmf_ctx *ctx, tlnmf_data *data,
                                             const double *weights);
TLNMF_API void tlnmf_data_free(tlnmf_data *data);

typedef struct tlnmf_data_info {
    int64_t M, N, S;   /* S = 0: given as covariances */
    int64_t columns;   /* after compression; at most N min(S, M) */
    double mean_power; /* mean of Y^2 */
} tlnmf_data_info;

TLNMF_API void tlnmf_data_describe_sized(const tlnmf_data *data, tlnmf_data_info *info,
                                         size_t size);
#define tlnmf_data_describe(data, info) tlnmf_data_describe_sized(data, info, sizeof *(info))

/* ---- fitting --------------------------------------------------------------------------------- */

/* Where to start; NULL members are drawn or made as the settings say. */
typedef struct tlnmf_start {
    size_t struct_size;
    const double *Phi; /* M x M, orthogonal to 1e-8 (then made orthogonal to rounding) */
    const double *W;   /* M x K, nonnegative, no zero column; normalised to columns of sum 1 */
    const double *H;   /* K x N, nonnegative; an entry at zero stays there */
} tlnmf_start;

TLNMF_API void tlnmf_start_init(tlnmf_start *start);
/* Start number p (from 0) of a search with these settings: Phi (M x M), W (M x K), H (K x N). */
TLNMF_API tlnmf_error tlnmf_draw_start(tlnmf_ctx *ctx, const tlnmf_data *data,
                                       const tlnmf_settings *settings, int64_t p, double *Phi,
                                       double *W, double *H);

typedef enum tlnmf_stage {
    TLNMF_STAGE_TL = 0,     /* outer iterations of TL-NMF: C and the step; L, I if traced */
    TLNMF_STAGE_JD = 1,     /* transform steps of JD: L and the step */
    TLNMF_STAGE_NMF = 2,    /* paper: J_nmf updates at a Phi that stays; fast: one step; C, L, I */
    TLNMF_STAGE_CHOOSE = 3, /* candidates that a separation has compared */
    TLNMF_STAGE_STEMS = 4,  /* frames that have been separated */
} tlnmf_stage;

/* What a run has come to; C, L, I are NaN where the stage does not have them. */
typedef struct tlnmf_progress {
    size_t struct_size;
    int32_t stage;
    int32_t complete; /* 1: an iteration is done; 0: asked from inside one */
    int64_t start, starts, iteration, iterations;
    double C, L, I, step;
} tlnmf_progress;

/* Return nonzero to stop: the fit then returns TLNMF_OK, what it has reached, and the outcome
 * TLNMF_CANCELLED. With several threads it is called by one at a time. */
typedef int (*tlnmf_callback)(const tlnmf_progress *progress, void *user);

typedef struct tlnmf_result tlnmf_result;

TLNMF_API tlnmf_error tlnmf_fit(tlnmf_ctx *ctx, const tlnmf_data *data,
                                const tlnmf_settings *settings, const tlnmf_start *start_or_null,
                                tlnmf_callback callback_or_null, void *user, tlnmf_result **out);
/* Joint diagonalisation alone: minimises L over Phi; the result has no W and H. */
TLNMF_API tlnmf_error tlnmf_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data,
                                        const tlnmf_settings *settings,
                                        const tlnmf_start *start_or_null,
                                        tlnmf_callback callback_or_null, void *user,
                                        tlnmf_result **out);
/* The most that tlnmf_fit with these settings takes up, beside the data and the rows of a trace (48
 * bytes an iteration, as they come); k = 0: tlnmf_diagonalise. It grows with the starts that run at
 * a time, of which there are `threads` at most. */
TLNMF_API tlnmf_error tlnmf_memory(tlnmf_ctx *ctx, const tlnmf_data *data,
                                   const tlnmf_settings *settings, double *bytes);
TLNMF_API void tlnmf_result_free(tlnmf_result *result);

/* ---- results --------------------------------------------------------------------------------- */

typedef struct tlnmf_info {
    int32_t outcome;
    int32_t method;  /* never AUTO: the one that the result is of */
    int64_t M, N, K; /* K = 0 for tlnmf_diagonalise */
    int64_t columns; /* of the data that this eps can see */
    double eps;
    double C, L, I; /* spec (2)-(4); C and I are NaN for tlnmf_diagonalise */
    /* C - C* is at most this, where C* is the least C there is, if the least L that the run has
     * found is the least there is. NaN when the run did not look for it (see `certify`). */
    double certificate;
    double gradient_norm;       /* Frobenius norm of Ganti / 2N, of L for JD, of C otherwise */
    double orthogonality;       /* largest entry of |Phi Phi' - I| */
    int64_t iterations;         /* outer ones of the start that was kept; JD: transform steps */
    int64_t starts, best_start; /* from 0; `starts` itself: from JD+NMF's end */
    double cpu_seconds, wall_seconds;
    double nmf_seconds, transform_seconds; /* wall time of all starts by stage */
    /* With `exchange` or where auto chose TL-NMF: what both searches reached. Theory says I_tl <=
     * I_jd (Theorem 2 of the paper) and C_tl <= C_jd; chain = 0 says that a search has not found
     * its minimum. -1: not known. */
    double C_tl, I_tl, C_jd, L_jd, I_jd;
    int32_t chain;
} tlnmf_info;

typedef struct tlnmf_trace_row {
    int64_t stage, iteration;
    double C, L, I, step;
} tlnmf_trace_row;

TLNMF_API void tlnmf_result_describe_sized(const tlnmf_result *result, tlnmf_info *info,
                                           size_t size);
#define tlnmf_result_describe(result, info) \
    tlnmf_result_describe_sized(result, info, sizeof *(info))
TLNMF_API const double *tlnmf_result_Phi(const tlnmf_result *result);    /* M x M */
TLNMF_API const double *tlnmf_result_W(const tlnmf_result *result);      /* M x K, NULL if K = 0 */
TLNMF_API const double *tlnmf_result_H(const tlnmf_result *result);      /* K x N, NULL if K = 0 */
TLNMF_API const double *tlnmf_result_energy(const tlnmf_result *result); /* sum_n V_mn, M of them */
/* With `exchange`: what the other of TL-NMF and JD+NMF has reached; else NULL. It belongs to the
 * result and ends with it. */
TLNMF_API const tlnmf_result *tlnmf_result_other(const tlnmf_result *result);
TLNMF_API const tlnmf_trace_row *tlnmf_result_trace(const tlnmf_result *result, int64_t *length);

/* C, L, I of any point, and the gradient Ganti of C over Phi if asked for (M x M, may be NULL). */
TLNMF_API tlnmf_error tlnmf_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const double *Phi,
                                     const double *W, const double *H, int64_t K, double eps,
                                     double *C, double *L, double *I, double *Ganti_or_null);

/* ---- atoms ----------------------------------------------------------------------------------- */

/* A row of Phi fitted by amplitude cos(2 pi frequency m / rate + phase), m = 0 .. M-1. */
typedef struct tlnmf_atom {
    int64_t row;
    double energy;                      /* sum_n V_mn */
    double frequency, amplitude, phase; /* in Hz if the rate is */
    double error;                       /* || row - fit ||^2; the row has norm 1 */
    char note[8];                       /* nearest equal-tempered note, A4 = 440 Hz; "" below C-1 */
    double cents;                       /* from that note, -50 to 50 */
} tlnmf_atom;

/* The `count` rows of the largest energy, strongest first. */
TLNMF_API tlnmf_error tlnmf_result_atoms(tlnmf_ctx *ctx, const tlnmf_result *result, double rate,
                                         tlnmf_atom *atoms, int64_t count);

/* ---- against the truth ----------------------------------------------------------------------- */

/* Q(Phi) = D_eps(V | Vbar), spec (17): V is the power of Phi on the data, Vbar that on `truth`,
 * data of the same M and N whose covariances are the true ones. */
TLNMF_API tlnmf_error tlnmf_theory_Q(tlnmf_ctx *ctx, const tlnmf_data *data,
                                     const tlnmf_data *truth, const double *Phi, double eps,
                                     double *Q);
/* Climbs on Q from Phi, which is replaced by where that ends: Q there is a lower bound of the
 * largest Q. At most `iterations` steps. */
TLNMF_API tlnmf_error tlnmf_theory_climb(tlnmf_ctx *ctx, const tlnmf_data *data,
                                         const tlnmf_data *truth, double eps, int64_t iterations,
                                         double *Phi, double *Q);
/* Theorem 4, spec (18): the largest Q is below this with at least that probability; infinite for an
 * S that it does not apply to. */
TLNMF_API double tlnmf_theory_bound(int64_t M, int64_t N, int64_t S, double t);
TLNMF_API double tlnmf_theory_probability(int64_t N, double t);
/* Remark 6, spec (19): about Q(Phibar) for S Gaussian realisations. */
TLNMF_API double tlnmf_theory_asymptote(int64_t M, int64_t N, int64_t S);

/* |Phi - P Phibar|_F for the order and signs P of the rows of Phibar that make it least, (20). */
TLNMF_API tlnmf_error tlnmf_transform_distance(tlnmf_ctx *ctx, int64_t M, const double *Phi,
                                               const double *Phibar, double *distance);
/* The principal angles between the spans of A's and B's rows (count x M, orthonormal), in radians,
 * the smallest first, (21). */
TLNMF_API tlnmf_error tlnmf_principal_angles(tlnmf_ctx *ctx, int64_t count, int64_t M,
                                             const double *A, const double *B, double *angles);

/* ---- the paper's data, and fixed transforms -------------------------------------------------- */

/* Gaussian composite model: Y = Phibar' (randn .* sqrt(Wbar Hbar)), Phibar the DCT-II. Wbar (M x
 * K), Hbar (K x N) may be NULL if not wanted. */
TLNMF_API tlnmf_error tlnmf_simulate_gcm(tlnmf_ctx *ctx, int64_t S, int64_t M, int64_t N, int64_t K,
                                         uint64_t seed_truth, uint64_t seed_data,
                                         tlnmf_stream stream, double *Y, double *Wbar,
                                         double *Hbar);

enum {
    TLNMF_NOTES_RATE = 5000,
    TLNMF_NOTES_LENGTH = 15000,
    TLNMF_NOTES_M = 200,
    TLNMF_NOTES_N = 151
};

/* Two notes, 440 and 466.16 Hz, alone and together. theta holds 2 phases per realisation. Y is
 * S x 200 x 151 (may be NULL); signal is S x 15000 (may be NULL). */
TLNMF_API tlnmf_error tlnmf_simulate_notes(tlnmf_ctx *ctx, int64_t S, const double *theta,
                                           double *Y, double *signal);
/* Phases uniform in [0, 2 pi), in the order theta[s][note]. */
TLNMF_API tlnmf_error tlnmf_random_phases(tlnmf_ctx *ctx, uint64_t seed, tlnmf_stream stream,
                                          int64_t count, double *theta);

/* DCT, DFT or identity as a matrix, M x M. */
TLNMF_API tlnmf_error tlnmf_transform_matrix(tlnmf_ctx *ctx, tlnmf_transform kind, int64_t M,
                                             double *Phi);

/* ---- frames of a signal ---------------------------------------------------------------------- */

typedef enum tlnmf_window {
    TLNMF_WINDOW_TUKEY = 0,
    TLNMF_WINDOW_SINE = 1,
    TLNMF_WINDOW_HANN = 2,
    TLNMF_WINDOW_RECTANGULAR = 3,
    TLNMF_WINDOW_KAISER = 4,
} tlnmf_window;

TLNMF_API const char *tlnmf_window_name(tlnmf_window window);

/* Frames of M samples every `hop` samples, and those frames displaced by s hop / shifts, which are
 * realisations that share H. */
typedef struct tlnmf_frames {
    size_t struct_size;
    int64_t M, hop, shifts;
    int32_t window;
    double taper; /* Tukey: the part of the frame that is not flat */
    double beta;  /* Kaiser */
} tlnmf_frames;

TLNMF_API void tlnmf_frames_init(tlnmf_frames *frames); /* all but M and hop */
/* Whether they give a signal back, with a message that names window and hop if they do not. */
TLNMF_API tlnmf_error tlnmf_frames_check(tlnmf_ctx *ctx, const tlnmf_frames *frames);
/* How many frames N a signal of so many samples has, with zeros before and after it. */
TLNMF_API int64_t tlnmf_frames_count(const tlnmf_frames *frames, int64_t length);
TLNMF_API tlnmf_error tlnmf_frames_window(tlnmf_ctx *ctx, const tlnmf_frames *frames, double *w);
/* Y[shifts][M][N], as tlnmf_data_from_realisations takes it. */
TLNMF_API tlnmf_error tlnmf_frames_analyse(tlnmf_ctx *ctx, const tlnmf_frames *frames,
                                           const double *x, int64_t length, double *Y);
/* The signal back, by weighted overlap-add over frames and shifts, exact to rounding. */
TLNMF_API tlnmf_error tlnmf_frames_synthesise(tlnmf_ctx *ctx, const tlnmf_frames *frames,
                                              const double *Y, int64_t length, double *x);

/* ---- separation of a recording --------------------------------------------------------------- */

/* Sound that is asked for piece by piece, so that it need not be in memory. x holds `count` frames
 * of all channels, x[frame * channels + channel]. A function that returns nonzero ends the call,
 * which then returns TLNMF_ERR_DATA with the message that the sound could not be read or written.
 */
typedef struct tlnmf_sound {
    size_t struct_size;
    int64_t length, channels;
    int (*read)(int64_t first, int64_t count, double *x, void *user);
    void *user;
} tlnmf_sound;

/* Source number `source` sounds from sample `start` to before sample `end`. */
typedef struct tlnmf_span {
    int64_t start, end, source;
} tlnmf_span;

typedef enum tlnmf_basis {
    TLNMF_BASIS_AUTO = 0, /* whatever separates the recording's own parts best */
    TLNMF_BASIS_DCT = 1,
    TLNMF_BASIS_DFT = 2,
    TLNMF_BASIS_STFT = 3, /* the DFT with one power for cosine and sine */
} tlnmf_basis;

enum { TLNMF_SOURCES_MAX = 64, TLNMF_PER_SOURCE_MAX = 16 };

/* Set the defaults with tlnmf_separate_init; M, hop and sources must be given. */
typedef struct tlnmf_separate_options {
    size_t struct_size;
    tlnmf_frames frames;
    int64_t sources;
    int64_t per_source;   /* components a source; 0: 1 to 3, whichever separates best */
    int64_t release;      /* samples that a source may go on sounding after its span */
    int64_t learn_frames; /* learn from at most this many frames */
    int64_t band;         /* rows of the transform that are learnt; 0: those that hold the energy */
    int64_t J;            /* outer iterations of learning */
    int64_t starts;       /* random starts where there are no spans */
    int64_t threads;      /* 0: all there are */
    uint64_t seed;
    double eps_rel;     /* the floor as a fraction of the mean power of the frames */
    int32_t method;     /* TL, JD, NMF, or AUTO: learnt or not, whichever separates best */
    int32_t basis;      /* where learning starts, or what is kept */
    int32_t any_window; /* 1: frames.window may be replaced by the sine window */
    int32_t any_length; /* 1: frames and hop may be twice as long */
    int32_t any_J;      /* 1: half or twice the iterations, if that separates better */
} tlnmf_separate_options;

TLNMF_API void tlnmf_separate_init(tlnmf_separate_options *options);

/* What has been learnt: Phi, W and what goes with them. */
typedef struct tlnmf_separator tlnmf_separator;

typedef struct tlnmf_separator_info {
    tlnmf_frames frames;
    int64_t sources, per_source;
    int32_t method;        /* TL, JD or NMF */
    int32_t basis;         /* never AUTO */
    double eps;            /* the floor */
    double mean_power;     /* of the windowed frames that it was learnt from */
    double score;          /* SI-SDR in dB on remixed parts of the recording; NaN: there are none */
    double C;              /* of the frames learnt from */
    int64_t learn_frames;  /* how many frames were learnt from */
    int64_t band, remixes; /* rows learnt; how many pairs of parts the score is of */
    int64_t candidates;    /* what was compared */
    int64_t J;             /* iterations of learning; 0: the transform is fixed */
    int32_t outcome;       /* CANCELLED or NOT_RUN */
} tlnmf_separator_info;

/* Learns Phi and W from sound. Without spans (NULL, 0) the sources are found blindly. The progress
 * counts candidates (TLNMF_STAGE_CHOOSE) and the iterations of each. */
TLNMF_API tlnmf_error tlnmf_separator_learn(tlnmf_ctx *ctx, const tlnmf_sound *sound,
                                            const tlnmf_span *spans, int64_t span_count,
                                            const tlnmf_separate_options *options,
                                            tlnmf_callback callback_or_null, void *user,
                                            tlnmf_separator **out);
/* From a Phi (M x M) and W (M x sources per_source) learnt before; frames, sources, per_source,
 * basis, eps, mean_power are taken from `info`. */
TLNMF_API tlnmf_error tlnmf_separator_create(tlnmf_ctx *ctx, const tlnmf_separator_info *info,
                                             const double *Phi, const double *W,
                                             tlnmf_separator **out);
TLNMF_API void tlnmf_separator_free(tlnmf_separator *separator);
TLNMF_API void tlnmf_separator_describe_sized(const tlnmf_separator *separator,
                                              tlnmf_separator_info *info, size_t size);
#define tlnmf_separator_describe(separator, info) \
    tlnmf_separator_describe_sized(separator, info, sizeof *(info))
TLNMF_API const double *tlnmf_separator_Phi(const tlnmf_separator *separator); /* M x M */
TLNMF_API const double *tlnmf_separator_W(const tlnmf_separator *separator);   /* M x K */

/* How to take a sound apart. Outputs are numbered: the sources, or all components with
 * `components`; then the residual if there is one. They sum to the sound. */
typedef struct tlnmf_separate_run {
    size_t struct_size;
    const tlnmf_span *spans; /* NULL: every source may sound at any time */
    int64_t span_count, release;
    double eps;         /* 0: the separator's */
    int32_t components; /* 1: an output a component */
    int32_t residual;   /* 1: what no source explains is an output of its own */
    int64_t threads;
    /* Receives each output once, from its first frame to its last; NULL if only H is wanted. */
    int (*write)(int64_t output, int64_t first, int64_t count, const double *x, void *user);
    void *user;
    double *H; /* K x N, N = tlnmf_frames_count(..); NULL if not wanted */
} tlnmf_separate_run;

TLNMF_API void tlnmf_separate_run_init(tlnmf_separate_run *run);
/* Block by block; the memory does not depend on the length (but for H). H is fitted with Phi and W
 * as they are; sources are zero in H outside their spans. The callback counts frames
 * (TLNMF_STAGE_STEMS); stopped by it, the call returns TLNMF_OK and *outcome is CANCELLED. */
TLNMF_API tlnmf_error tlnmf_separator_run(tlnmf_ctx *ctx, const tlnmf_separator *separator,
                                          const tlnmf_sound *sound, const tlnmf_separate_run *run,
                                          tlnmf_callback callback_or_null, void *user,
                                          tlnmf_outcome *outcome);
/* The same for arrays: x and stems[output] have length * channels numbers each. */
TLNMF_API tlnmf_error tlnmf_separate_array(tlnmf_ctx *ctx, const tlnmf_separator *separator,
                                           const double *x, int64_t length, int64_t channels,
                                           const tlnmf_separate_run *run, double *const *stems);
/* Mean of the squared samples of a sound. */
TLNMF_API tlnmf_error tlnmf_sound_power(tlnmf_ctx *ctx, const tlnmf_sound *sound, double *power);
/* Bytes that learning and separating will take, about. */
TLNMF_API double tlnmf_separate_memory(const tlnmf_separate_options *options, int64_t length,
                                       int64_t channels);

#ifdef __cplusplus
}
#endif
#endif
