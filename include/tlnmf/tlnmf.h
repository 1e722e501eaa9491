/* tlnmf: transform-learning nonnegative matrix factorisation and joint diagonalisation.
 *
 * Given S real matrices Y_s (M x N, frames in columns), the library learns an orthogonal Phi
 * (M x M) and nonnegative W (M x K), H (K x N) such that the power V = (1/S) sum_s |Phi Y_s|^2 is
 * close to W H. docs/spec.md has the mathematics, docs/tutorials/c.md has complete programs.
 *
 * This header is the core: simple calls, contexts, records, settings, data, fits, models. Sound is
 * in tlnmf/sound.h, the paper's data sets and theory are in tlnmf/paper.h. Files are in tlnmf/io.h,
 * which belongs to a second library, libtlnmf_io.
 *
 * Rules that hold for every function
 *   Layout      No struct of this header has a public layout. Options are set by name and results
 *               are read by name; both tables can be listed at run time. A new option or result
 *               changes no layout and no function.
 *   Arrays      Arrays are double, in C order (the last index runs fastest): Y[s][m][n], Phi[a][m].
 *               Sizes and shapes are int64_t.
 *   NULL        A parameter whose name ends in _or_null may be NULL, and so may `user`, which is
 *               passed to your functions unchanged. If any other pointer is NULL, the call returns
 *               TLNMF_ERR_ARGUMENT.
 *   Numbers     Numbers in brackets, (15) or (S1), are equations of docs/spec.md.
 *   Errors      A call that can fail returns a tlnmf_error. tlnmf_message(ctx) then says what is
 *               wrong. The reason why a run stopped is an outcome, not an error.
 *   Ownership   The caller frees every object it creates. The library copies its inputs, unless a
 *               function says that it refers to the caller's memory. If creating an object fails,
 *               *out is NULL. The value that a getter returns belongs to its object and is valid
 *               until the object is changed or freed. Every _free function accepts NULL.
 *   Threads     There is no global state. Use a context in one thread at a time. Several threads
 *               may share data, models, settings and sounds as long as no thread changes or frees
 *               them. A fit may use several threads: see the option `threads`.
 *   Callbacks   Allocator, log and progress functions may be called from any thread that works for
 *               a call, but never after the call has returned. Only one thread at a time calls a
 *               log or progress function; several may call the allocator concurrently. A callback
 *               may use the same context only for tlnmf_poll, tlnmf_fail and, if it reads or
 *               writes samples, tlnmf/io.h. Other calls in a progress function are errors.
 *   ABI         TLNMF_ABI is the number in the names of the shared libraries (libtlnmf.so.0,
 *               libtlnmf_io.so.0). It does not follow the version: every incompatible change raises
 *               it. As long as it is the same, functions, options and results are only added, and
 *               numbers of enumerations do not change. */
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

/* The version, written here only: the build and the bindings read these numbers. */
#define TLNMF_VERSION_MAJOR  0
#define TLNMF_VERSION_MINOR  3
#define TLNMF_VERSION_PATCH  0

/* The number of the ABI, written here only. Every incompatible change raises it. */
#define TLNMF_ABI            0

/* The version as a text, "MAJOR.MINOR.PATCH". */
#define TLNMF_TEXT_(a, b, c) #a "." #b "." #c
#define TLNMF_JOIN_(a, b, c) TLNMF_TEXT_(a, b, c)
#define TLNMF_VERSION        TLNMF_JOIN_(TLNMF_VERSION_MAJOR, TLNMF_VERSION_MINOR, TLNMF_VERSION_PATCH)

/* The version of the library at run time. */
TLNMF_API const char *tlnmf_version(void);
/* The name of the BLAS library, if it is known. */
TLNMF_API const char *tlnmf_blas(void);

/* ---- errors and outcomes --------------------------------------------------------------------- */

typedef enum tlnmf_error {
    TLNMF_OK = 0,
    TLNMF_ERR_OPTION = 1,    /* an option is unknown, out of range, or contradicts another */
    TLNMF_ERR_SHAPE = 2,     /* the shapes of arrays do not match */
    TLNMF_ERR_DATA = 3,      /* unusable values: NaN, all zeros, not orthogonal, .. */
    TLNMF_ERR_MEMORY = 4,    /* the allocator returned NULL */
    TLNMF_ERR_TOO_LARGE = 5, /* a size that BLAS or the address space cannot hold */
    TLNMF_ERR_NUMERIC = 6,   /* LAPACK failed, or a run ended in NaN */
    TLNMF_ERR_CALLBACK = 7,  /* a callback of the caller failed or asked to stop */
    TLNMF_ERR_ARGUMENT = 8,  /* NULL instead of an object, or a value of the wrong type */
    TLNMF_ERR_INPUT = 9,     /* libtlnmf_io: a file cannot be read */
    TLNMF_ERR_OUTPUT = 10    /* libtlnmf_io: a file cannot be written */
} tlnmf_error;

/* Why a run stopped. Records hold it as the text `outcome` and as this number, `outcome_code`. */
typedef enum tlnmf_outcome {
    TLNMF_OUTCOME_NOT_RUN = 0,
    TLNMF_OUTCOME_CONVERGED = 1,   /* the objective changed by less than tol */
    TLNMF_OUTCOME_STATIONARY = 2,  /* the gradient fell below grad-tol */
    TLNMF_OUTCOME_ITERATIONS = 3,  /* the largest number of iterations was reached */
    TLNMF_OUTCOME_LINE_SEARCH = 4, /* no step along the direction improved the objective */
    TLNMF_OUTCOME_CANCELLED = 5,   /* the progress function returned nonzero */
    TLNMF_OUTCOME_TIME = 6         /* the time limit max-seconds passed */
} tlnmf_outcome;

/* The names of these numbers, such as "shape" and "converged". */
TLNMF_API const char *tlnmf_error_name(tlnmf_error error);
TLNMF_API const char *tlnmf_outcome_name(tlnmf_outcome outcome);

/* ---- simple calls ---------------------------------------------------------------------------- */

/* A set of named values, in which calls report their results. Free it with tlnmf_record_free. See
 * "records" below. */
typedef struct tlnmf_record tlnmf_record;

/* One call for a whole job, with arrays in and a record out. `options_or_null` is an options string
 * such as "k=2 method=tl seed=3" (see tlnmf_settings_set_all). Y has the shape {S, M, N}. On
 * failure *out is NULL, and `message_or_null` receives the message, at most TLNMF_MESSAGE_SIZE
 * bytes; on success it receives "".
 *
 *     const int64_t shape[] = {1, 20, 100};
 *     char message[TLNMF_MESSAGE_SIZE];
 *     tlnmf_record *model;
 *     if (tlnmf_simple_fit(Y, shape, "k=2", message, &model) != TLNMF_OK)
 *         return fprintf(stderr, "%s\n", message), 1;
 *     const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
 */

enum { TLNMF_MESSAGE_SIZE = 512 };

/* Learns Phi, W and H. The option k is required. See tlnmf_fit. */
TLNMF_API tlnmf_error tlnmf_simple_fit(const double *Y, const int64_t shape[3],
                                       const char *options_or_null, char *message_or_null,
                                       tlnmf_record **model);
/* Learns Phi alone, by joint diagonalisation. See tlnmf_diagonalise. */
TLNMF_API tlnmf_error tlnmf_simple_diagonalise(const double *Y, const int64_t shape[3],
                                               const char *options_or_null, char *message_or_null,
                                               tlnmf_record **model);
/* Fits H to new data with the Phi and W of a model. See tlnmf_apply. */
TLNMF_API tlnmf_error tlnmf_simple_apply(const tlnmf_record *model, const double *Y,
                                         const int64_t shape[3], const char *options_or_null,
                                         char *message_or_null, tlnmf_record **applied);

/* ---- contexts -------------------------------------------------------------------------------- */

/* A context holds the allocator, the log and progress functions, and the last message. */
typedef struct tlnmf_ctx tlnmf_ctx;

typedef void *(*tlnmf_allocate_fn)(size_t bytes, void *user);
typedef void (*tlnmf_release_fn)(void *block, void *user);

typedef enum tlnmf_log_level { TLNMF_LOG_WARNING = 1, TLNMF_LOG_INFO = 2 } tlnmf_log_level;
typedef void (*tlnmf_log_fn)(tlnmf_log_level level, const char *message, void *user);

/* The progress function. It is called after each iteration, and about every 5 to 100 ms in between.
 * Return nonzero to stop the call. A fit or a comparison then returns TLNMF_OK with the best point
 * so far and the outcome TLNMF_OUTCOME_CANCELLED. So does a separation; the
 * samples after the point where it stopped are not written. A call that has no partial result,
 * such as new data or scores, returns TLNMF_ERR_CALLBACK. `progress` holds stage, complete (1: an
 * iteration is done, 0: inside one), start, starts, iteration, iterations, C, L, I, step, score,
 * done (the fraction of the stage), k, fold, folds (0 outside tlnmf_compare_ranks), seconds and
 * seconds_left; a real is NaN if the stage lacks it. The record is valid during the call only. */
typedef int (*tlnmf_progress_fn)(const tlnmf_record *progress, void *user);

/* Creates a context that allocates with malloc and free. */
TLNMF_API tlnmf_error tlnmf_ctx_create(tlnmf_ctx **out);
/* The same with another allocator. Objects keep the allocator of the context that created them, and
 * may outlive that context. */
TLNMF_API tlnmf_error tlnmf_ctx_create_with(tlnmf_allocate_fn allocate, tlnmf_release_fn release,
                                            void *user, tlnmf_ctx **out);
TLNMF_API void tlnmf_ctx_free(tlnmf_ctx *ctx);
/* The function that receives warnings and information; NULL, the default, drops them. */
TLNMF_API void tlnmf_ctx_set_log(tlnmf_ctx *ctx, tlnmf_log_fn log_or_null, void *user);
/* The default of the option `threads` of settings made with this context, and the number of threads
 * that prepare new data: 0 to 1024. 0, the default, means the number that OpenMP would use:
 * OMP_NUM_THREADS, or else one per core that the process may use. The library does not know of
 * control groups: see tlnmf_io_cores. */
TLNMF_API tlnmf_error tlnmf_ctx_set_threads(tlnmf_ctx *ctx, int32_t threads);
/* The progress function of later calls; NULL removes it. */
TLNMF_API void tlnmf_ctx_set_progress(tlnmf_ctx *ctx, tlnmf_progress_fn callback_or_null,
                                      void *user);
/* A ready-made progress function: stops the run when the int32_t that `user` points to is not 0.
 * The library reads it atomically. A signal handler or another thread may set it; the write must
 * also be atomic: an _Atomic int32_t, or __atomic_store_n of gcc and clang. With this function,
 * bindings run no code of their language on the library's threads. */
TLNMF_API int tlnmf_stop_flag(const tlnmf_record *progress, void *user);
/* The message of the last failed call with this context; "" if no call has failed. */
TLNMF_API const char *tlnmf_message(const tlnmf_ctx *ctx);
/* The error of that call; TLNMF_OK if no call has failed. */
TLNMF_API tlnmf_error tlnmf_last_error(const tlnmf_ctx *ctx);
/* For libraries built on this one: copies the message and returns `error`, so that a function can
 * end with `return tlnmf_fail(..)`. In a function that reads or writes samples or numbers, sums
 * or broadcasts for a call, it names the cause of a failure: the message ends with it. */
TLNMF_API tlnmf_error tlnmf_fail(tlnmf_ctx *ctx_or_null, tlnmf_error error, const char *text);
/* For libraries built on this one: reports that `done` of `total` units of work are done (total 0:
 * not known) to the progress function, every few milliseconds at most. Returns nonzero if the
 * function asks to stop. `stage` must be a string literal. During a call of this library, for
 * example in a read function, it reports nothing, because that call reports its own progress. */
TLNMF_API int tlnmf_poll(tlnmf_ctx *ctx_or_null, const char *stage, double done, double total);
/* For libraries built on this one: calls piece(i, user) for i < count on the threads of the context
 * (tlnmf_ctx_set_threads), in any order, and returns when all have returned. */
typedef void (*tlnmf_piece_fn)(int64_t i, void *user);
TLNMF_API tlnmf_error tlnmf_parallel(tlnmf_ctx *ctx, int64_t count, tlnmf_piece_fn piece,
                                     void *user);

/* ---- several processes ----------------------------------------------------------------------- */

/* Several processes, or threads with a context each, can work on one problem. You provide two
 * functions: a sum and a broadcast over all of them. Every process makes the same calls in the same
 * order with the same settings, and gets the same results. If one of your functions returns
 * nonzero, the call returns TLNMF_ERR_CALLBACK. "Process" below means such a process or thread.
 *
 * Threads     Only the thread that calls the library calls these functions.
 * Errors      A call that fails on one process fails on all, with the same error and message.
 * Ownership   The object refers to `user`. It must outlive its use by a context, and serves one
 *             context at a time. */
typedef struct tlnmf_comm tlnmf_comm;

/* Replaces x by the sum over all processes. The result must have the same bits on all processes:
 * sum on one process, then broadcast. */
typedef int (*tlnmf_sum_fn)(double *x, int64_t count, void *user);
/* Replaces x by the x of process `root`. */
typedef int (*tlnmf_broadcast_fn)(double *x, int64_t count, int32_t root, void *user);

/* `size` processes; this one has the number `rank`, from 0. */
TLNMF_API tlnmf_error tlnmf_comm_create(tlnmf_ctx *ctx, int32_t size, int32_t rank,
                                        tlnmf_sum_fn sum, tlnmf_broadcast_fn broadcast, void *user,
                                        tlnmf_comm **out);
TLNMF_API void tlnmf_comm_free(tlnmf_comm *comm);
/* For your own steps between calls, such as reading a file: if any process has an error, all return
 * the error and the message of the first such process. */
TLNMF_API tlnmf_error tlnmf_comm_agree(tlnmf_ctx *ctx, tlnmf_comm *comm, tlnmf_error error);
/* Distributes the starts of fits and diagonalisations: start p runs on process p % size. All
 * processes hold all data. The result has the same bits as on one process. */
TLNMF_API void tlnmf_ctx_distribute_starts(tlnmf_ctx *ctx, tlnmf_comm *comm_or_null);
/* Distributes the frames of data that are created with this context from now on. Each process
 * passes its own frames, which follow those of the processes before it; it may have none. Calls
 * with such data fit the frames of all processes. Phi, W and all values are the same on every
 * process. H, in models and in starts, has the frames of this process only. The object must outlive
 * the data. Starts and frames may be distributed together: then processes that work on different
 * starts hold the same frames. */
TLNMF_API void tlnmf_ctx_distribute_frames(tlnmf_ctx *ctx, tlnmf_comm *comm_or_null);
/* Calls with device gpu use GPU `number` modulo the number of GPUs; 0 is the default. Processes of
 * one node pass their rank on that node, so that each gets a GPU in turn. */
TLNMF_API void tlnmf_ctx_set_gpu(tlnmf_ctx *ctx, int32_t number);

/* ---- records --------------------------------------------------------------------------------- */

/* A record is a set of named integers, reals, texts, lists of texts, and arrays with their shapes.
 * Fits, evaluations, scores and files return records; starts and models are passed as records. The
 * model of a fit holds at least Phi and eps, and W if there are components. A start is a
 * record with any of Phi, W and H. It may be a whole model: a fit reads only these three. A call
 * that takes a start refuses names that are not in the table of results below. Names with a dot
 * form groups: `trace.C`, `option.seed`, `other.Phi`. */

typedef enum tlnmf_type {
    TLNMF_TYPE_NONE = 0, /* no value of this name */
    TLNMF_TYPE_INTEGER = 1,
    TLNMF_TYPE_REAL = 2,
    TLNMF_TYPE_TEXT = 3,
    TLNMF_TYPE_TEXTS = 4,
    TLNMF_TYPE_ARRAY = 5
} tlnmf_type;

enum { TLNMF_MAX_DIMENSIONS = 4 };

/* What tlnmf_record_get_integer returns if there is no such integer. */
#define TLNMF_NO_INTEGER INT64_MIN

/* Creates an empty record. */
TLNMF_API tlnmf_error tlnmf_record_create(tlnmf_ctx *ctx, tlnmf_record **out);
TLNMF_API void tlnmf_record_free(tlnmf_record *record);

TLNMF_API size_t tlnmf_record_count(const tlnmf_record *record);
/* The name of value number `index`; NULL past the end. */
TLNMF_API const char *tlnmf_record_name(const tlnmf_record *record, size_t index);
/* TLNMF_TYPE_NONE if there is no value of this name. */
TLNMF_API tlnmf_type tlnmf_record_type(const tlnmf_record *record, const char *name);
/* 1 if there is a value of this name, else 0. A real that is there may be NaN. */
TLNMF_API int tlnmf_record_has(const tlnmf_record *record, const char *name);

/* TLNMF_NO_INTEGER if there is no such integer. */
TLNMF_API int64_t tlnmf_record_get_integer(const tlnmf_record *record, const char *name);
/* A real, or an integer converted to one; NaN if there is no such number. */
TLNMF_API double tlnmf_record_get_real(const tlnmf_record *record, const char *name);
/* NULL if there is no such text. */
TLNMF_API const char *tlnmf_record_get_text(const tlnmf_record *record, const char *name);
/* Text number `index` of a list; NULL past the end, or if there is no such list. */
TLNMF_API const char *tlnmf_record_get_text_at(const tlnmf_record *record, const char *name,
                                               size_t index);
/* The array, its number of dimensions and its shape; NULL and 0 dimensions if there is no such
 * array. `shape` receives TLNMF_MAX_DIMENSIONS numbers; unused ones are 1. */
TLNMF_API const double *tlnmf_record_get_array(const tlnmf_record *record, const char *name,
                                               int32_t *dimensions_or_null, int64_t *shape_or_null);

/* Setting a name again replaces its value. A name has 1 to 63 letters, digits or _ - . */
TLNMF_API tlnmf_error tlnmf_record_set_integer(tlnmf_ctx *ctx, tlnmf_record *record,
                                               const char *name, int64_t value);
TLNMF_API tlnmf_error tlnmf_record_set_real(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                            double value);
TLNMF_API tlnmf_error tlnmf_record_set_text(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                            const char *text);
TLNMF_API tlnmf_error tlnmf_record_set_texts(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                             const char *const *texts, size_t count);
/* Copies the array. */
TLNMF_API tlnmf_error tlnmf_record_set_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                             const double *x, int32_t dimensions,
                                             const int64_t *shape);
/* Adds an array of zeros that the record owns, and sets *x to it for you to fill in. This saves a
 * copy. */
TLNMF_API tlnmf_error tlnmf_record_new_array(tlnmf_ctx *ctx, tlnmf_record *record, const char *name,
                                             int32_t dimensions, const int64_t *shape, double **x);
/* Removes a value, if it exists. The indices of later names decrease by one. */
TLNMF_API void tlnmf_record_remove(tlnmf_record *record, const char *name);

/* Converts a record to bytes, which are the same on every machine and have a checksum. On entry
 * *size is the capacity of `bytes_or_null`; on return it is the size of the packed record. Nothing
 * is written if `bytes_or_null` is NULL (TLNMF_OK) or too small (TLNMF_ERR_SHAPE). */
TLNMF_API tlnmf_error tlnmf_record_pack(tlnmf_ctx *ctx, const tlnmf_record *record,
                                        void *bytes_or_null, size_t *size);
/* Converts the bytes back. TLNMF_ERR_DATA if they are damaged, incomplete or of another format. */
TLNMF_API tlnmf_error tlnmf_record_unpack(tlnmf_ctx *ctx, const void *bytes, size_t size,
                                          tlnmf_record **out);

/* The table of names that the library uses in records. index counts from 0; past the end the texts
 * are NULL. `where` lists the records that hold the value: "model", "progress", "data" and so on.
 */
TLNMF_API size_t tlnmf_result_count(void);
TLNMF_API const char *tlnmf_result_name(size_t index);
TLNMF_API tlnmf_type tlnmf_result_type(size_t index);
TLNMF_API const char *tlnmf_result_shape(size_t index); /* of an array: "M,K"; else "" */
TLNMF_API const char *tlnmf_result_where(size_t index);
TLNMF_API const char *tlnmf_result_help(size_t index);

/* ---- settings -------------------------------------------------------------------------------- */

/* The options of one task, by name. The tasks are "fit", "jd", "apply" (this header), "frames",
 * "learn", "separate", "score" (tlnmf/sound.h), "gcm" (tlnmf/paper.h), "report" (tlnmf/io.h). A
 * new object holds the defaults. */
typedef struct tlnmf_settings tlnmf_settings;

TLNMF_API tlnmf_error tlnmf_settings_create(tlnmf_ctx *ctx, const char *task, tlnmf_settings **out);
TLNMF_API tlnmf_error tlnmf_settings_copy(tlnmf_ctx *ctx, const tlnmf_settings *settings,
                                          tlnmf_settings **out);
TLNMF_API void tlnmf_settings_free(tlnmf_settings *settings);

/* A text sets an option of any type. An integer also sets a real, and a choice by its number. A
 * flag is 0 or 1, as text also "false" or "true". Numbers in texts have a decimal point in every
 * locale. Each value is checked against the option's range. For an unknown name the message
 * suggests the nearest one. */
TLNMF_API tlnmf_error tlnmf_settings_set_text(tlnmf_ctx *ctx, tlnmf_settings *settings,
                                              const char *name, const char *value);
TLNMF_API tlnmf_error tlnmf_settings_set_integer(tlnmf_ctx *ctx, tlnmf_settings *settings,
                                                 const char *name, int64_t value);
TLNMF_API tlnmf_error tlnmf_settings_set_real(tlnmf_ctx *ctx, tlnmf_settings *settings,
                                              const char *name, double value);
/* Sets several options at once: "k=2 method=tl trace". Options are separated by white space; a flag
 * without a value is set to 1. On failure no option changes. */
TLNMF_API tlnmf_error tlnmf_settings_set_all(tlnmf_ctx *ctx, tlnmf_settings *settings,
                                             const char *text);
/* The value as a text that tlnmf_settings_set_text accepts; "" if the option is not set and has no
 * default. NULL if the name is unknown or the buffer is too small (64 bytes are enough). */
TLNMF_API const char *tlnmf_settings_get_text(const tlnmf_settings *settings, const char *name,
                                              char *buffer, size_t size);
/* An integer, a seed, a flag or the number of a choice; TLNMF_NO_INTEGER if there is no such
 * option, if it is a real, or if the seed is above 2^63 - 1. */
TLNMF_API int64_t tlnmf_settings_get_integer(const tlnmf_settings *settings, const char *name);
/* Any value as a real; NaN if there is no such option. No option can be NaN. */
TLNMF_API double tlnmf_settings_get_real(const tlnmf_settings *settings, const char *name);
/* Checks that required options are set and that the options fit together. Every call that takes
 * settings does this. */
TLNMF_API tlnmf_error tlnmf_settings_check(tlnmf_ctx *ctx, const tlnmf_settings *settings);

typedef enum tlnmf_option_kind {
    TLNMF_OPTION_UNKNOWN = 0,
    TLNMF_OPTION_INTEGER = 1,
    TLNMF_OPTION_SEED = 2, /* 0 to 2^64 - 1; above 2^63 - 1 it is set and read as text */
    TLNMF_OPTION_REAL = 3,
    TLNMF_OPTION_FLAG = 4,
    TLNMF_OPTION_CHOICE = 5 /* a word, one of the choices */
} tlnmf_option_kind;

/* The table of options. index counts from 0. NULL past the end, or if the task or name is
 * unknown. */
TLNMF_API const char *tlnmf_task_name(size_t index);
TLNMF_API const char *tlnmf_option_name(const char *task, size_t index);
TLNMF_API tlnmf_option_kind tlnmf_option_kind_of(const char *task, const char *name);
TLNMF_API const char *tlnmf_option_help(const char *task, const char *name);
/* The choices, such as "fast|paper". For an integer option, the word for its lowest value, such as
 * "auto", or "" if it has none. */
TLNMF_API const char *tlnmf_option_choices(const char *task, const char *name);
/* The default, as tlnmf_settings_get_text returns it for new settings. */
TLNMF_API const char *tlnmf_option_default(const char *task, const char *name, char *buffer,
                                           size_t size);
/* The range, bounds included. */
TLNMF_API tlnmf_error tlnmf_option_range(const char *task, const char *name, double *low,
                                         double *high);
/* The name that `word` was probably meant to be: a name that begins with it or differs in a few
 * letters, or our name for a common name elsewhere (n_components: k). NULL if there is none. */
TLNMF_API const char *tlnmf_nearest(const char *word, const char *const *names, size_t count);

/* ---- data ------------------------------------------------------------------------------------ */

/* Data in the form that solvers use. C and L depend on the data only through the covariances
 * Sigma_n = (1/S) sum_s y_ns y_ns'. The S columns of a frame are therefore replaced by
 * rank(Sigma_n) columns, without loss. */
typedef struct tlnmf_data tlnmf_data;

/* Y has the shape {S, M, N}. tlnmf_ctx_set_threads sets the number of threads. Memory: at most the
 * bytes of Y if S = 1, three times as many if S > 1, plus 128 N + 512 M + 8192 bytes. */
TLNMF_API tlnmf_error tlnmf_data_from_realisations(tlnmf_ctx *ctx, const double *Y,
                                                   const int64_t shape[3], tlnmf_data **out);
/* Sigma has the shape {N, M, M}: symmetric and positive semidefinite. */
TLNMF_API tlnmf_error tlnmf_data_from_covariances(tlnmf_ctx *ctx, const double *Sigma,
                                                  const int64_t shape[3], tlnmf_data **out);

typedef enum tlnmf_neighbours {
    TLNMF_NEIGHBOURS_BLOCKS = 0, /* B consecutive frames become one frame of S B realisations */
    TLNMF_NEIGHBOURS_MOVING = 1  /* each frame becomes the B frames around it, fewer at the ends */
} tlnmf_neighbours;

/* Treats neighbouring frames as realisations of the same frame, (15) and (16), for data that change
 * slowly. */
TLNMF_API tlnmf_error tlnmf_data_from_neighbours(tlnmf_ctx *ctx, const double *Y,
                                                 const int64_t shape[3], tlnmf_neighbours kind,
                                                 int64_t B, tlnmf_data **out);
/* Y {S, M, N} may contain NaN. A frame of a realisation that contains a NaN is missing. The
 * covariance of a frame is the mean over the realisations that have it, and its weight is their
 * number, which gives the likelihood of the observed data. A frame that all realisations miss has
 * weight 0 and H = 0. The data record holds the number `missing`. */
TLNMF_API tlnmf_error tlnmf_data_from_incomplete(tlnmf_ctx *ctx, const double *Y,
                                                 const int64_t shape[3], tlnmf_data **out);
/* Weights of the N frames in C, L and I: 0 or at least 1e-150 of the mean, not all 0. Only their
 * ratios matter. NULL removes them. Frames of weight 0 are ignored, and their H is 0. Set weights
 * before threads share the data. */
TLNMF_API tlnmf_error tlnmf_data_set_weights(tlnmf_ctx *ctx, tlnmf_data *data,
                                             const double *weights_or_null);
/* Weights of the M x N entries of V, for tlnmf_fit with method nmf and for tlnmf_apply: 0 ignores
 * an entry, 1 uses it. NULL removes them. Times the weights of frames (of mean 1) they must be 0 or
 * at least 1e-150, and not all 0; for a fit, in no row all 0. */
TLNMF_API tlnmf_error tlnmf_data_set_mask(tlnmf_ctx *ctx, tlnmf_data *data,
                                          const double *mask_or_null);
/* Gives data the array Y {S, M, N} that they were created from, so that tlnmf_compare_ranks can
 * hold out realisations. The data refer to Y: it must stay valid until the data are freed or this
 * function is called again. If Y is NULL, the data no longer refer to an array. The shape may be
 * NULL only if Y is NULL. */
TLNMF_API tlnmf_error tlnmf_data_set_realisations(tlnmf_ctx *ctx, tlnmf_data *data,
                                                  const double *Y_or_null,
                                                  const int64_t shape_or_null[3]);
/* For data that are square roots of powers. Each power is the mean of `dof` independent squares;
 * |STFT|^2 has 2. tlnmf_likelihood, tlnmf_compare_ranks and tlnmf_apply then count S dof
 * realisations. C does not depend on it. */
TLNMF_API tlnmf_error tlnmf_data_set_dof(tlnmf_ctx *ctx, tlnmf_data *data, int64_t dof);
/* Prepares square roots of powers with gaps for tlnmf_data_from_realisations. Y {S, M, N} holds the
 * roots; NaN marks a missing power. mask {M, N} holds the weights of the entries of V, 1 to use
 * all. A missing power becomes the mean of the realisations that have it, or the mean power if none
 * has it. Its mask is multiplied by the share of the realisations that have it: pass the mask to
 * tlnmf_data_set_mask. *missing receives the number of missing powers. If it is NULL, only powers
 * with a mask of 0 may be missing; all other NaN stay. */
TLNMF_API tlnmf_error tlnmf_fill_missing_powers(tlnmf_ctx *ctx, double *Y, const int64_t shape[3],
                                                double *mask, int64_t *missing_or_null);
/* Holds M, N, S (0 if given as covariances), columns, mean_power, mean_share, missing, and dof if
 * tlnmf_data_set_dof was called; `missing` then counts the entries of V with a mask below 1. */
TLNMF_API const tlnmf_record *tlnmf_data_record(const tlnmf_data *data);
TLNMF_API void tlnmf_data_free(tlnmf_data *data);

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Receives a checkpoint as a record: the results of finished units (starts of a fit or
 * diagonalisation, folds of a comparison, candidates of a separation), and a text that identifies
 * the call (version, data, options, start). A call that resumes from it skips these units and ends
 * with the same bits. The record is valid during the call only: pack it. Return nonzero to stop
 * saving. Called by threads of the call, one at a time. */
typedef int (*tlnmf_save_fn)(const tlnmf_record *state, void *user);

/* tlnmf_fit, tlnmf_diagonalise, tlnmf_compare_ranks and tlnmf_learn_sources with this context save
 * finished units every `seconds` seconds (0: after each) and when they are stopped; less often if
 * saving would take more than 1 % of the time. If frames are distributed, process 0 saves. */
TLNMF_API void tlnmf_ctx_set_checkpoint(tlnmf_ctx *ctx, double seconds, tlnmf_save_fn save_or_null,
                                        void *user);
/* A start that has run longer than this also saves its iterate (Phi, W, H) from time to time, and a
 * resumed call continues from it: then its last bits may differ, and the model says so (continued).
 * The default is ten minutes. */
TLNMF_API void tlnmf_ctx_set_iterate_after(tlnmf_ctx *ctx, double seconds);
/* Later calls with this context resume from this state, which must outlive them; NULL: start anew.
 * TLNMF_ERR_DATA if it is damaged or belongs to other data, options, start or version; the message
 * names the first option that differs. threads, J, starts and max-seconds may differ: units that
 * they affect run again. */
TLNMF_API void tlnmf_ctx_set_resume(tlnmf_ctx *ctx, const tlnmf_record *state_or_null);
/* Processes that distribute starts save a state each. Adds the units of such a state to `all`, a
 * record that is empty before the first. The result resumes the call on any number of processes;
 * all of them must join the same states. TLNMF_ERR_DATA if the state is of another call. If the
 * state is NULL and `all` is empty, `all` becomes a checkpoint without finished units. */
TLNMF_API tlnmf_error tlnmf_join_states(tlnmf_ctx *ctx, tlnmf_record *all,
                                        const tlnmf_record *state_or_null);

/* ---- fitting --------------------------------------------------------------------------------- */

/* Learns Phi, W and H. Settings of task "fit". The start may hold Phi (M x M, orthogonal to 1e-5),
 * W (M x K, no zero column) and H (K x N; zeros stay zero); missing ones are drawn as the settings
 * say. docs/tables.md and the table of results (tlnmf_result_name, tlnmf_result_help) explain the
 * values of the model. */
TLNMF_API tlnmf_error tlnmf_fit(tlnmf_ctx *ctx, const tlnmf_data *data,
                                const tlnmf_settings *settings, const tlnmf_record *start_or_null,
                                tlnmf_record **model);
/* Joint diagonalisation alone: minimises L over Phi. Settings of task "jd". Only Phi of the start
 * is read. The model has K = 0 and neither W nor H. With the option whiten, Phi applies to the
 * whitened data, eps-rel is relative to 1, and the model also has unmixing and mixing. */
TLNMF_API tlnmf_error tlnmf_diagonalise(tlnmf_ctx *ctx, const tlnmf_data *data,
                                        const tlnmf_settings *settings,
                                        const tlnmf_record *start_or_null, tlnmf_record **model);
/* Chooses the number of components by cross-validation. Fits every k from range[0] to range[1]
 * (NULL: from 1 to 8, or fewer for small data) to part of the data, and scores it by C per entry of
 * the held-out part, which is the negative log-likelihood up to a constant and a factor. The first
 * rule that applies decides what is held out; 1 to 3 require tlnmf_data_set_realisations:
 *   1. of neighbours: frames, if they are blocks without weights, otherwise entries of V;
 *   2. frames, as in tlnmf_likelihood, if at least 40 have a weight, and S dof >= 4 or method nmf;
 *   3. realisations, if there are several;
 *   4. entries of V. For one realisation of at least 40 frames without weights, neighbouring frames
 *      decide instead if their best k is above the smallest, unless the method is nmf.
 * Settings of task "fit": k is not read, and max-seconds limits the whole comparison;
 * if it passes before the first fold is complete, k is 0 and the outcome is TLNMF_OUTCOME_TIME.
 * The start may hold Phi. `ranks` holds the best k; docs/howto/components.md says how reliable it
 * is. Checkpoints keep finished scores. If the progress function stops the comparison, the outcome
 * is TLNMF_OUTCOME_CANCELLED. The stage of its progress is "ranks". */
TLNMF_API tlnmf_error tlnmf_compare_ranks(tlnmf_ctx *ctx, const tlnmf_data *data,
                                          const tlnmf_settings *settings,
                                          const int64_t *range_or_null,
                                          const tlnmf_record *start_or_null, tlnmf_record **ranks);
/* Fits H to new data with the Phi, W and eps of a model. Settings of task "apply". `applied` holds
 * H, C, L, I, the outcome, own_data, fits, and on request X and V. Weights, masks and a Phi that is
 * orthogonal to 1e-5 count as in a fit. If the model was fitted to the same data (it has H, and its
 * C is that of these data with their weights and mask), the call returns the fitted H unchanged. */
TLNMF_API tlnmf_error tlnmf_apply(tlnmf_ctx *ctx, const tlnmf_record *model, const tlnmf_data *data,
                                  const tlnmf_settings *settings, tlnmf_record **applied);
/* The log-likelihood of new data under a model. log_likelihood[n] is (1/S) log p, where p is the
 * probability density of frame n:
 *   p = E_h prod_m (2 pi v_m)^(-S/2) exp(-S (V_mn + eps) / (2 v_m)),  v = W h + eps.
 * S is the number of realisations of the frame. E_h is the mean over activations h_k that are
 * exponentially distributed; their mean is the mean of row k of the model's H. Because h is not
 * fitted to the frame, more components score higher only if they predict better. Compare only
 * models of the same eps. A frame does not depend on the others. Its value is NaN if no realisation
 * has the frame or its weight is 0. A likelihood that leaves the range of double is
 * TLNMF_ERR_NUMERIC. Settings of task "apply", of which threads and max-seconds are used. The data
 * must have realisations and no mask. There is no partial result: if the progress function or
 * max-seconds stops the call, the error is TLNMF_ERR_CALLBACK. */
TLNMF_API tlnmf_error tlnmf_likelihood(tlnmf_ctx *ctx, const tlnmf_record *model,
                                       const tlnmf_data *data, const tlnmf_settings *settings,
                                       tlnmf_record **likelihood);
/* Fits H to single frames as they arrive. Creating an applier copies the model and checks it once;
 * a frame then allocates nothing, except for about 200 bytes of the OpenMP runtime at the first
 * frame in each thread. Settings of task "apply", of which J, tol and grad-tol are used. It
 * computes in the calling thread; use an applier in one thread at a time. */
typedef struct tlnmf_applier tlnmf_applier;

TLNMF_API tlnmf_error tlnmf_applier_create(tlnmf_ctx *ctx, const tlnmf_record *model,
                                           const tlnmf_settings *settings, tlnmf_applier **out);
/* h receives the K activations of the frame y (M numbers), the same as from tlnmf_apply with this
 * frame alone. In tlnmf_apply with several frames all stop together, so h differs: with the default
 * tolerances usually by less than 2e-5 of the largest entry, more if the frame has several minima.
 * If |y|^2 <= 1e-16 eps, h = 0. x_or_null receives the M coefficients Phi y, whose squares are V.
 */
TLNMF_API tlnmf_error tlnmf_applier_frame(tlnmf_ctx *ctx, tlnmf_applier *applier, const double *y,
                                          double *h, double *x_or_null);
TLNMF_API void tlnmf_applier_free(tlnmf_applier *applier);
/* Computes C, L, I at any point (a record with Phi, W, H, eps), and the gradient of C over Phi. */
TLNMF_API tlnmf_error tlnmf_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data,
                                     const tlnmf_record *point, tlnmf_record **values);
/* Draws start number p (from 0) of a fit with these settings: Phi, W, H. */
TLNMF_API tlnmf_error tlnmf_draw_start(tlnmf_ctx *ctx, const tlnmf_data *data,
                                       const tlnmf_settings *settings, int64_t p,
                                       tlnmf_record **start);
/* The number of starts that the program and Python use if the option `starts`, whose default is 1,
 * is not given: 0 (auto) for a fit of at most 500 unknowns (M M + (M + N) K; method nmf: (M + N) K)
 * with solver fast, without hops, exchange or a start; else 1. The fixed Phi of method nmf does not
 * count as a start. */
TLNMF_API int64_t tlnmf_usual_starts(const tlnmf_data *data, const tlnmf_settings *settings,
                                     const tlnmf_record *start_or_null);
/* Upper bound on the bytes that tlnmf_fit or tlnmf_diagonalise (by the settings' task) will hold at
 * one time, in addition to the data and a trace. A trace needs at most 72 R (threads + 4) bytes,
 * with trace-all 72 R (threads + 8 starts + 8), where R = J (1 + j-tl) + 1 and starts = 50 for
 * auto. This memory is allocated at the beginning, but rows that the fit does not reach are never
 * written. */
TLNMF_API tlnmf_error tlnmf_memory(tlnmf_ctx *ctx, const tlnmf_data *data,
                                   const tlnmf_settings *settings, double *bytes);

/* Describes the GPU that the option device would use. `device` holds available. If it is 1, there
 * are also name, memory and memory_free (bytes); if it is 0, there is reason. */
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
