/* tlnmf: transform-learning nonnegative matrix factorisation and joint diagonalisation.
 *
 * Given S real matrices Y_s (M x N, frames in columns), the library learns an orthogonal Phi
 * (M x M) and nonnegative W (M x K), H (K x N) such that the power V = (1/S) sum_s |Phi Y_s|^2 is
 * close to W H. docs/spec.md has the mathematics; docs/library.md has complete programs.
 *
 * This header is the core: contexts, records, settings, data, fits, models. Sound is in
 * tlnmf/sound.h, the paper's data sets and theory are in tlnmf/paper.h, files are in tlnmf/io.h (a
 * library of its own, libtlnmf_io).
 *
 * Rules that hold for every function
 *   Layout      No struct of this header has a public layout. Options are set by name, results are
 *               read by name, and both tables can be listed at run time. A new option or result
 *               changes no layout and no function.
 *   Arrays      Arrays are double, in C order (the last index runs fastest): Y[s][m][n], Phi[a][m].
 *               Sizes and shapes are int64_t. A parameter whose name ends in _or_null may be NULL,
 *               and so may `user`, which your functions receive as it is. No other may: NULL is
 *               answered by TLNMF_ERR_ARGUMENT.
 *   Numbers     Numbers in brackets, (15) or (S1), are equations of docs/spec.md.
 *   Errors      A call that can fail returns a tlnmf_error. tlnmf_message(ctx) then names the
 *               culprit. Why a run stopped is an outcome, not an error.
 *   Ownership   Who creates frees. The library copies what it keeps, unless a function says that it
 *               refers to memory of yours. A failed create leaves *out == NULL. What a getter
 *               returns belongs to its object and ends with it. Every _free function takes NULL.
 *   Threads     No global state. Use a context in one thread at a time. Data, models, settings and
 *               sounds may be shared by several threads as long as none of them changes or frees
 *               them. A fit may use several threads of its own: see the option `threads`.
 *   Callbacks   Allocator, log and progress functions may be called from any of the threads that
 *               work for a call, never after the call has returned. Log and progress functions are
 *               called by one thread at a time; the allocator may be called by several at once. A
 *               callback must not call the library with the context it is called for.
 *   Compatible  Numbers of enumerations are pinned. Functions are never removed or changed within a
 *               major version (until 1.0: within a minor version); names of options and results are
 *               only added. */
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
#define TLNMF_VERSION_MINOR 2
#define TLNMF_VERSION_PATCH 0
#define TLNMF_VERSION       "0.2.0"

TLNMF_API const char *tlnmf_version(void); /* version of the library at run time */
TLNMF_API const char *tlnmf_blas(void);    /* describes the BLAS, if it can tell */

/* ---- errors and outcomes --------------------------------------------------------------------- */

typedef enum tlnmf_error {
    TLNMF_OK = 0,
    TLNMF_ERR_OPTION = 1,    /* an option is unknown, out of range, or contradicts another */
    TLNMF_ERR_SHAPE = 2,     /* the shapes of arrays do not fit together */
    TLNMF_ERR_DATA = 3,      /* unusable values: NaN, all zeros, not orthogonal, .. */
    TLNMF_ERR_MEMORY = 4,    /* the allocator returned NULL */
    TLNMF_ERR_TOO_LARGE = 5, /* a size that BLAS or the address space cannot hold */
    TLNMF_ERR_NUMERIC = 6,   /* LAPACK failed, or a run ended in NaN */
    TLNMF_ERR_CALLBACK = 7,  /* a read or write function of yours returned nonzero */
    TLNMF_ERR_ARGUMENT = 8,  /* NULL where an object is needed; a name of the wrong type */
    TLNMF_ERR_INPUT = 9,     /* libtlnmf_io: a file cannot be read or understood */
    TLNMF_ERR_OUTPUT = 10    /* libtlnmf_io: a file cannot be written */
} tlnmf_error;

/* Why a run stopped. Records hold it as the text `outcome` and as this number, `outcome_code`. */
typedef enum tlnmf_outcome {
    TLNMF_NOT_RUN = 0,
    TLNMF_CONVERGED = 1,   /* the objective changed by less than tol */
    TLNMF_STATIONARY = 2,  /* the gradient fell below grad-tol */
    TLNMF_ITERATIONS = 3,  /* all iterations asked for were done */
    TLNMF_LINE_SEARCH = 4, /* no step along the direction improved the objective */
    TLNMF_CANCELLED = 5,   /* the progress function returned nonzero */
    TLNMF_TIME = 6         /* max-seconds passed */
} tlnmf_outcome;

TLNMF_API const char *tlnmf_error_name(tlnmf_error error);
TLNMF_API const char *tlnmf_outcome_name(tlnmf_outcome outcome);

/* ---- contexts -------------------------------------------------------------------------------- */

/* A context holds the allocator, the log and progress functions, and the last message. */
typedef struct tlnmf_ctx tlnmf_ctx;

/* A set of named values, in which calls report their results. See "records" below. */
typedef struct tlnmf_record tlnmf_record;

typedef void *(*tlnmf_allocate)(size_t bytes, void *user);
typedef void (*tlnmf_release)(void *block, void *user);

typedef enum tlnmf_log_level { TLNMF_LOG_WARNING = 1, TLNMF_LOG_INFO = 2 } tlnmf_log_level;
typedef void (*tlnmf_log)(tlnmf_log_level level, const char *message, void *user);

/* The progress function. Return nonzero to stop the run: the call then returns TLNMF_OK with what
 * it has reached, and the outcome is TLNMF_CANCELLED. `progress` holds stage, complete (1: an
 * iteration is done, 0: called from inside one), start, starts, iteration, iterations, C, L, I,
 * step and seconds; a real is NaN if the stage does not have it. It is valid during the call
 * only. */
typedef int (*tlnmf_callback)(const tlnmf_record *progress, void *user);

TLNMF_API tlnmf_error tlnmf_ctx_create(tlnmf_ctx **out); /* with malloc and free */
/* Objects remember the allocator of the context that made them, and may outlive the context. */
TLNMF_API tlnmf_error tlnmf_ctx_create_with(tlnmf_allocate allocate, tlnmf_release release,
                                            void *user, tlnmf_ctx **out);
TLNMF_API void tlnmf_ctx_free(tlnmf_ctx *ctx);
TLNMF_API void tlnmf_ctx_set_log(tlnmf_ctx *ctx, tlnmf_log log_or_null, void *user);
/* The default of the option `threads` of settings made with this context, and how many work on new
 * data; 0: as many as OpenMP would use. The program and Python set what tlnmf_io_cores says. */
TLNMF_API void tlnmf_ctx_set_threads(tlnmf_ctx *ctx, int32_t threads);
TLNMF_API void tlnmf_ctx_set_progress(tlnmf_ctx *ctx, tlnmf_callback callback_or_null, void *user);
/* A progress function to set as it is: stops the run once the int32_t that `user` points to is not
 * 0. A signal handler or another thread may set it. Bindings use it so that no code of their
 * language runs on the library's threads. */
TLNMF_API int tlnmf_stop_flag(const tlnmf_record *progress, void *user);
/* The message of the last call with this context that failed; "" if none has. */
TLNMF_API const char *tlnmf_message(const tlnmf_ctx *ctx);
/* For libraries built on this one: copies the message and returns `error`, so that a function can
 * end with `return tlnmf_fail(..)`. */
TLNMF_API tlnmf_error tlnmf_fail(tlnmf_ctx *ctx_or_null, tlnmf_error error, const char *text);

/* ---- several machines ------------------------------------------------------------------------ */

/* Several processes, or threads with a context each, can work on one problem. The library knows
 * them through two functions of yours: a sum and a broadcast over all of them. Every process calls
 * the library in the same order with the same settings, and gets the same results. A function
 * returns nonzero where it failed: the call then ends with TLNMF_ERR_CALLBACK.
 *
 * Threads     The thread that calls the library is the one that calls these functions.
 * Errors      A call that fails on one machine fails on all, with its error and its message.
 * Ownership   The object refers to `user`. It must live as long as a context has it, and serves one
 *             context at a time. */
typedef struct tlnmf_sums tlnmf_sums;

/* Replaces x by the sum over all machines. It must have the same bits on all of them: sum on one
 * machine, then broadcast. */
typedef int (*tlnmf_sum)(double *x, int64_t count, void *user);
/* Replaces x by that of machine `root`. */
typedef int (*tlnmf_broadcast)(double *x, int64_t count, int32_t root, void *user);

/* `size` machines, of which this is number `rank`, from 0. */
TLNMF_API tlnmf_error tlnmf_sums_create(tlnmf_ctx *ctx, int32_t size, int32_t rank, tlnmf_sum sum,
                                        tlnmf_broadcast broadcast, void *user, tlnmf_sums **out);
TLNMF_API void tlnmf_sums_free(tlnmf_sums *sums);
/* For steps of your own between calls, such as reading a file: if any machine has an error, all
 * return that of the first one, with its message. */
TLNMF_API tlnmf_error tlnmf_sums_agree(tlnmf_ctx *ctx, tlnmf_sums *sums, tlnmf_error error);
/* Fits and diagonalisations share out their starts: start p runs on machine p % size. All machines
 * hold all data. The result is that of one machine, bit for bit. */
TLNMF_API void tlnmf_ctx_share_starts(tlnmf_ctx *ctx, tlnmf_sums *sums_or_null);
/* Data made with this context from now on are shared out: each machine gives its own frames, which
 * follow those of the machines before it; it may have none. Calls with such data fit all frames
 * together: Phi, W and all values are the same on every machine, H is K x the machine's own frames,
 * and so is the H of a start. The object must outlive the data. Both kinds of sharing go together:
 * the machines that share starts then hold the same frames. */
TLNMF_API void tlnmf_ctx_share_frames(tlnmf_ctx *ctx, tlnmf_sums *sums_or_null);

/* ---- records --------------------------------------------------------------------------------- */

/* A record is a set of named integers, reals, texts, lists of texts, and arrays with their shapes.
 * Fits, evaluations, scores and files return records; starts and models are passed as records. A
 * model is a record that holds at least Phi and eps, and W if there are components. A start is a
 * record with any of Phi, W, H. Names with a dot form groups: `trace.C`, `option.seed`,
 * `other.Phi`. */

typedef enum tlnmf_type {
    TLNMF_NONE = 0, /* there is no such name */
    TLNMF_INTEGER = 1,
    TLNMF_REAL = 2,
    TLNMF_TEXT = 3,
    TLNMF_TEXTS = 4,
    TLNMF_ARRAY = 5
} tlnmf_type;

enum { TLNMF_MAX_RANK = 4 };

/* What tlnmf_get_integer returns if there is no such integer. */
#define TLNMF_NO_INTEGER INT64_MIN

TLNMF_API tlnmf_error tlnmf_record_create(tlnmf_ctx *ctx, tlnmf_record **out); /* empty */
TLNMF_API void tlnmf_record_free(tlnmf_record *record);

TLNMF_API size_t tlnmf_record_count(const tlnmf_record *record);
TLNMF_API const char *tlnmf_record_name(const tlnmf_record *record, size_t index); /* or NULL */
TLNMF_API tlnmf_type tlnmf_record_type(const tlnmf_record *record, const char *name);

TLNMF_API int64_t tlnmf_get_integer(const tlnmf_record *record, const char *name);
/* A real, or an integer as a real; NaN if there is neither. */
TLNMF_API double tlnmf_get_real(const tlnmf_record *record, const char *name);
TLNMF_API const char *tlnmf_get_text(const tlnmf_record *record, const char *name); /* or NULL */
/* Text number `index` of a list; NULL past its end, or if there is no such list. */
TLNMF_API const char *tlnmf_get_text_at(const tlnmf_record *record, const char *name, size_t index);
/* The array, its number of dimensions and its shape; NULL and rank 0 if there is none. `shape`
 * receives TLNMF_MAX_RANK numbers; those past the rank are 1. */
TLNMF_API const double *tlnmf_get_array(const tlnmf_record *record, const char *name,
                                        int32_t *rank_or_null, int64_t *shape_or_null);

/* Setting a name again replaces its value. Names are 1 to 63 bytes of letters, digits and _ - . */
TLNMF_API tlnmf_error tlnmf_set_integer(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                        int64_t value);
TLNMF_API tlnmf_error tlnmf_set_real(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                     double value);
TLNMF_API tlnmf_error tlnmf_set_text(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                     const char *text);
TLNMF_API tlnmf_error tlnmf_set_texts(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                      const char *const *texts, size_t count);
/* Copies the array. */
TLNMF_API tlnmf_error tlnmf_set_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                      const double *x, int32_t rank, const int64_t *shape);
/* Adds an array of zeros that belongs to the record. Fill it in through *x: this saves a copy. */
TLNMF_API tlnmf_error tlnmf_new_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                      int32_t rank, const int64_t *shape, double **x);
/* Takes a value out, if it is there. Names after it move up by one index. */
TLNMF_API void tlnmf_record_remove(tlnmf_record *record, const char *name);

/* A record as bytes and back, the same on every machine, with a checksum. On entry *size is the
 * capacity of `bytes_or_null`, on return the number of bytes of the record. If `bytes_or_null` is
 * NULL (TLNMF_OK) or too small (TLNMF_ERR_SHAPE), nothing is written. */
TLNMF_API tlnmf_error tlnmf_record_pack(tlnmf_ctx *ctx, const tlnmf_record *record,
                                        void *bytes_or_null, size_t *size);
/* TLNMF_ERR_DATA if the bytes are damaged, incomplete or of another format. */
TLNMF_API tlnmf_error tlnmf_record_unpack(tlnmf_ctx *ctx, const void *bytes, size_t size,
                                          tlnmf_record **out);

/* The table of names that the library uses in records. index counts from 0; past the end the texts
 * are NULL. `where` names the records that hold it: "model", "progress", "data", .. */
TLNMF_API size_t tlnmf_result_count(void);
TLNMF_API const char *tlnmf_result_name(size_t index);
TLNMF_API tlnmf_type tlnmf_result_type(size_t index);
TLNMF_API const char *tlnmf_result_shape(size_t index); /* of an array: "M,K"; else "" */
TLNMF_API const char *tlnmf_result_where(size_t index);
TLNMF_API const char *tlnmf_result_help(size_t index);

/* ---- settings -------------------------------------------------------------------------------- */

/* The options of one task, by name. The tasks are "fit", "jd", "apply" (this header), "frames",
 * "separate", "stems", "score" (tlnmf/sound.h), "gcm" (tlnmf/paper.h), "report" (tlnmf/io.h). A
 * new object holds the defaults. */
typedef struct tlnmf_settings tlnmf_settings;

TLNMF_API tlnmf_error tlnmf_settings_create(tlnmf_ctx *ctx, const char *task, tlnmf_settings **out);
TLNMF_API tlnmf_error tlnmf_settings_copy(tlnmf_ctx *ctx, const tlnmf_settings *settings,
                                          tlnmf_settings **out);
TLNMF_API void tlnmf_settings_free(tlnmf_settings *settings);

/* A text sets an option of any type; an integer also sets a real one. A flag is 0 or 1, as text
 * also "false" or "true". Numbers in texts have a decimal point in every locale. Each value is
 * checked against the option's range. */
TLNMF_API tlnmf_error tlnmf_settings_set_text(tlnmf_ctx *ctx, tlnmf_settings *settings,
                                              const char *name, const char *value);
TLNMF_API tlnmf_error tlnmf_settings_set_integer(tlnmf_ctx *ctx, tlnmf_settings *settings,
                                                 const char *name, int64_t value);
TLNMF_API tlnmf_error tlnmf_settings_set_real(tlnmf_ctx *ctx, tlnmf_settings *settings,
                                              const char *name, double value);
/* The value as a text that tlnmf_settings_set_text accepts; "" for an option that is not set and
 * has no default. NULL for an unknown name or a buffer that is too small (64 bytes are enough). */
TLNMF_API const char *tlnmf_settings_get_text(const tlnmf_settings *settings, const char *name,
                                              char *buffer, size_t size);
/* An integer, a seed, a flag or the number of a choice; TLNMF_NO_INTEGER if there is no such
 * option, if it is a real, or if the seed is above 2^63 - 1. */
TLNMF_API int64_t tlnmf_settings_get_integer(const tlnmf_settings *settings, const char *name);
/* Any number as a real; NaN if there is no such option. */
TLNMF_API double tlnmf_settings_get_real(const tlnmf_settings *settings, const char *name);
/* Checks that the options fit together. Calls that take settings do so, too. */
TLNMF_API tlnmf_error tlnmf_settings_check(tlnmf_ctx *ctx, const tlnmf_settings *settings);

typedef enum tlnmf_option_kind {
    TLNMF_OPTION_UNKNOWN = 0,
    TLNMF_OPTION_INTEGER = 1,
    TLNMF_OPTION_SEED = 2, /* 0 to 2^64 - 1; above 2^63 - 1 it is set and read as text */
    TLNMF_OPTION_REAL = 3,
    TLNMF_OPTION_FLAG = 4,
    TLNMF_OPTION_CHOICE = 5 /* a word, one of the choices */
} tlnmf_option_kind;

/* The table of options. index counts from 0; NULL past the end, or for an unknown task or name. */
TLNMF_API const char *tlnmf_task_name(size_t index);
TLNMF_API const char *tlnmf_option_name(const char *task, size_t index);
TLNMF_API tlnmf_option_kind tlnmf_option_kind_of(const char *task, const char *name);
TLNMF_API const char *tlnmf_option_help(const char *task, const char *name);
TLNMF_API const char *tlnmf_option_choices(const char *task, const char *name); /* "fast|paper" */
/* The value that tlnmf_settings_get_text returns for new settings. */
TLNMF_API const char *tlnmf_option_default(const char *task, const char *name, char *buffer,
                                           size_t size);
/* The range, bounds included. */
TLNMF_API tlnmf_error tlnmf_option_range(const char *task, const char *name, double *low,
                                         double *high);

/* ---- data ------------------------------------------------------------------------------------ */

/* Data in the form that solvers use. C and L depend on the data only through the covariances
 * Sigma_n = (1/S) sum_s y_ns y_ns', so the S columns of a frame are replaced, exactly, by
 * rank(Sigma_n) columns. */
typedef struct tlnmf_data tlnmf_data;

/* Y has the shape {S, M, N}. The context says how many threads work on it. */
TLNMF_API tlnmf_error tlnmf_data_from_realisations(tlnmf_ctx *ctx, const double *Y,
                                                   const int64_t shape[3], tlnmf_data **out);
/* Sigma has the shape {N, M, M}: symmetric and positive semidefinite. */
TLNMF_API tlnmf_error tlnmf_data_from_covariances(tlnmf_ctx *ctx, const double *Sigma,
                                                  const int64_t shape[3], tlnmf_data **out);

typedef enum tlnmf_neighbours {
    TLNMF_NEIGHBOURS_BLOCKS = 0, /* every B frames become one frame of S B realisations */
    TLNMF_NEIGHBOURS_MOVING = 1  /* a frame becomes the B frames around it, fewer at the ends */
} tlnmf_neighbours;

/* Treats neighbouring frames as realisations of one another, (15) and (16): for data that change
 * slowly. */
TLNMF_API tlnmf_error tlnmf_data_from_neighbours(tlnmf_ctx *ctx, const double *Y,
                                                 const int64_t shape[3], tlnmf_neighbours kind,
                                                 int64_t B, tlnmf_data **out);
/* Y {S, M, N} may hold NaN. A frame of a realisation that has a NaN counts as missing. The
 * covariance of a frame is the mean over the realisations present; its weight is their number,
 * which gives the likelihood of the observed data. A frame without any has weight 0 and H = 0. The
 * record holds `missing`. */
TLNMF_API tlnmf_error tlnmf_data_from_incomplete(tlnmf_ctx *ctx, const double *Y,
                                                 const int64_t shape[3], tlnmf_data **out);
/* Weights of the N frames in C, L and I: not negative, not all 0. Only their ratios matter. NULL
 * removes them. Frames of weight 0 do not count, and their H is 0. Set them before threads share
 * the data. */
TLNMF_API tlnmf_error tlnmf_data_set_weights(tlnmf_ctx *ctx, tlnmf_data *data,
                                             const double *weights_or_null);
/* Weights of the M x N entries of V, for tlnmf_fit with method nmf and tlnmf_apply: 0 leaves an
 * entry out, 1 counts it. Not negative, not all 0; a fit needs some of every row. NULL removes
 * them. Beside weights of frames both count. */
TLNMF_API tlnmf_error tlnmf_data_set_mask(tlnmf_ctx *ctx, tlnmf_data *data,
                                          const double *mask_or_null);
/* Tells data what they were made of, Y {S, M, N}: tlnmf_compare_ranks keeps part of it aside. The
 * data refer to Y, which must live until they are freed or told otherwise; NULL: forget it. */
TLNMF_API tlnmf_error tlnmf_data_set_realisations(tlnmf_ctx *ctx, tlnmf_data *data,
                                                  const double *Y_or_null, const int64_t shape[3]);
/* M, N, S (0: given as covariances), columns, mean_power, missing. */
TLNMF_API const tlnmf_record *tlnmf_data_record(const tlnmf_data *data);
TLNMF_API void tlnmf_data_free(tlnmf_data *data);

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Receives the state of a fit or diagonalisation as a record: finished starts, the state of running
 * ones, and what identifies the fit (version, options, data, start). A later process can resume
 * from it and end with the same bits. The record is valid during the call only: pack it. Return
 * nonzero to stop saving. Called by threads of the fit, one at a time. */
typedef int (*tlnmf_save)(const tlnmf_record *state, void *user);

/* tlnmf_fit and tlnmf_diagonalise with this context save their state about every `seconds` seconds,
 * and when the progress function stops them; less often if saving would take more than 1 % of the
 * time. 0: at every opportunity (slow). tlnmf_separate saves after a candidate is finished,
 * tlnmf_stems after a block of stems, tlnmf_compare_ranks after a fit. */
TLNMF_API void tlnmf_ctx_set_checkpoint(tlnmf_ctx *ctx, double seconds, tlnmf_save save_or_null,
                                        void *user);
/* Later fits with this context resume from this state, which must outlive them; NULL: start anew.
 * TLNMF_ERR_DATA if it is damaged or belongs to other data, options, start or version; the message
 * names the first difference. The number of threads may differ if starts run in parallel. */
TLNMF_API void tlnmf_ctx_set_resume(tlnmf_ctx *ctx, const tlnmf_record *state_or_null);
/* Machines that share out starts save a state each, independently. Adds such a state to `all`, a
 * record that is empty before the first. The result resumes the fit on any number of machines, or
 * on one; they must all join the same states in the same order. Of the starts that were running
 * only those are kept that the machine of this context will run. TLNMF_ERR_DATA, with `all` as it
 * was, if the state is of another fit than those before. */
TLNMF_API tlnmf_error tlnmf_join_states(tlnmf_ctx *ctx, tlnmf_record *all,
                                        const tlnmf_record *state);

/* ---- fitting --------------------------------------------------------------------------------- */

/* Learns Phi, W and H. Settings of task "fit". The start may hold Phi (M x M, orthogonal to 1e-8),
 * W (M x K, no zero column) and H (K x N; zeros stay zero); the rest is drawn as the settings say.
 * tlnmf_result_help() explains what the model holds. */
TLNMF_API tlnmf_error tlnmf_fit(tlnmf_ctx *ctx, const tlnmf_data *data,
                                const tlnmf_settings *settings, const tlnmf_record *start_or_null,
                                tlnmf_record **model);
/* Joint diagonalisation alone: minimises L over Phi. Settings of task "jd"; of the start only Phi
 * is read. The model has K = 0 and neither W nor H. With the option whiten Phi is that of the
 * whitened data, and the model also has unmixing and mixing; eps-rel is then relative to 1. */
TLNMF_API tlnmf_error tlnmf_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data,
                                        const tlnmf_settings *settings,
                                        const tlnmf_record *start_or_null, tlnmf_record **model);
/* How many components? Fits every k from range[0] to range[1] (NULL: from 1 to 8, or fewer for
 * small data) to part of the data and scores it by C per entry of the rest, which is up to a
 * constant and a factor the negative log-likelihood, several times over. Kept aside are
 * realisations, of data that know theirs (tlnmf_data_set_realisations); with one alone neighbouring
 * frames; else entries of V. Settings of task "fit", whose k is not read and whose max-seconds are
 * those of the whole comparison; the start may hold Phi. `ranks` holds k, the best of them;
 * docs/choosing.md says how far to trust it. Checkpoints keep scores that are there. If the
 * progress function stops it, its outcome is TLNMF_CANCELLED. The progress record holds stage, k,
 * fold, folds and seconds. */
TLNMF_API tlnmf_error tlnmf_compare_ranks(tlnmf_ctx *ctx, const tlnmf_data *data,
                                          const tlnmf_settings *settings,
                                          const int64_t *range_or_null,
                                          const tlnmf_record *start_or_null, tlnmf_record **ranks);
/* H of new data with the model's Phi, W and eps kept. Settings of task "apply". `applied` holds H,
 * C, L, I and why it stopped, own_data, fits, and X and V if asked for. Weights and masks of the
 * data count as in a fit. On the data that the model was fitted to (it has H and C, and C is that
 * of these data, with their weights and mask) H is the fit's to the last digit. */
TLNMF_API tlnmf_error tlnmf_apply(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_data *data,
                                  const tlnmf_settings *settings, tlnmf_record **applied);
/* C, L, I of any point (a record with Phi, W, H, eps), and the gradient of C over Phi. */
TLNMF_API tlnmf_error tlnmf_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data,
                                     const tlnmf_record *point, tlnmf_record **values);
/* Start number p (from 0) of a fit with these settings: Phi, W, H. */
TLNMF_API tlnmf_error tlnmf_draw_start(tlnmf_ctx *ctx, const tlnmf_data *data,
                                       const tlnmf_settings *settings, int64_t p,
                                       tlnmf_record **start);
/* Upper bound on the bytes that tlnmf_fit or tlnmf_diagonalise (by the settings' task) will
 * allocate, beside the data and the rows of a trace (72 bytes per iteration). */
TLNMF_API tlnmf_error tlnmf_memory(tlnmf_ctx *ctx, const tlnmf_data *data,
                                   const tlnmf_settings *settings, double *bytes);

/* The GPU that the option device would use. `device` holds available (1 or 0); if 1: name, memory
 * and memory_free, in bytes; if 0: reason. */
TLNMF_API tlnmf_error tlnmf_device(tlnmf_ctx *ctx, tlnmf_record **device);

/* ---- transforms and atoms -------------------------------------------------------------------- */

/* The matrix of a fixed transform, M x M: "dct", "dft" (real: cosine and sine rows in pairs) or
 * "identity". */
TLNMF_API tlnmf_error tlnmf_transform_matrix(tlnmf_ctx *ctx, const char *kind, int64_t M,
                                             double *Phi);
/* The `count` rows of the model's Phi with the largest energy, strongest first, each fitted by
 * amplitude cos(2 pi frequency m / rate + phase), m = 0 .. M-1. `atoms` holds arrays of length
 * count: row, energy, frequency, amplitude, phase, error, key, cents; and the texts note. */
TLNMF_API tlnmf_error tlnmf_atoms(tlnmf_ctx *ctx, const tlnmf_record *model, double rate,
                                  int64_t count, tlnmf_record **atoms);

#ifdef __cplusplus
}
#endif
#endif
