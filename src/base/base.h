/* For every module: the context, errors, memory, time, threads. */
#ifndef TLNMF_BASE_BASE_H
#define TLNMF_BASE_BASE_H

#include "tlnmf/tlnmf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* The allocator of a context. Objects keep a copy, so that they may outlive the context. */
typedef struct tl_hooks {
    tlnmf_allocate_fn allocate;
    tlnmf_release_fn release;
    void *user;
} tl_hooks;

/* Checkpoints of a call: the interval, the function that saves them, the state to resume from. */
typedef struct tl_keeping {
    double seconds;
    double iterate_after; /* seconds after which a unit also saves its iterate */
    tlnmf_save_fn save;   /* NULL: none */
    void *user;
    const tlnmf_record *resume; /* NULL: from the beginning */
} tl_keeping;

typedef struct tl_monitor tl_monitor;

enum { TL_MESSAGE = TLNMF_MESSAGE_SIZE };

struct tlnmf_ctx {
    tl_hooks hooks;
    tlnmf_log_fn log;
    void *log_user;
    tl_monitor *monitor; /* of this context and its copies (monitor.h) */
    tl_keeping keeping;
    int32_t threads; /* the default of the option; 0: as many as OpenMP would use */
    /* The communicators that distribute starts and frames; NULL: one process. */
    tlnmf_comm *starts_comm, *frames_comm;
    int32_t gpu;       /* number of the GPU, modulo the number of GPUs */
    tlnmf_error error; /* of the last call that failed */
    char message[TL_MESSAGE];
};

/* Stores the message and returns `error`, so that a caller can write `return tl_fail(...)`. */
tlnmf_error tl_fail(tlnmf_ctx *ctx, tlnmf_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the message of a copy of the context. */
tlnmf_error tl_fail_as(tlnmf_ctx *ctx, tlnmf_error error, const tlnmf_ctx *copy);

/* Returns the error from the calling function, if there is one. */
#define TRY(call)                        \
    do {                                 \
        tlnmf_error try_error_ = (call); \
        if (try_error_ != TLNMF_OK)      \
            return try_error_;           \
    } while (0)

/* Returns TLNMF_ERR_ARGUMENT from a public function if the argument is NULL; the message names
 * it. */
#define TL_NEED(ctx, argument)              \
    do {                                    \
        if ((argument) == NULL) {           \
            tl_note_null((ctx), #argument); \
            return TLNMF_ERR_ARGUMENT;      \
        }                                   \
    } while (0)
/* The same for the context and `out`, the address of a result, which becomes NULL. */
#define TL_NEED_OUT(ctx, out) \
    do {                      \
        TL_NEED(ctx, out);    \
        *(out) = NULL;        \
        TL_NEED(ctx, ctx);    \
    } while (0)
void tl_note_null(tlnmf_ctx *ctx_or_null, const char *argument);

void tl_log(const tlnmf_ctx *ctx, tlnmf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- memory ---------------------------------------------------------------------------------- */

/* 64-byte aligned; NULL on failure. */
void *tl_allocate(const tl_hooks *hooks, size_t bytes);
/* The same, filled with zeros. With the default allocator, large blocks are not touched. */
void *tl_allocate_zeros(const tl_hooks *hooks, size_t bytes);
void *tl_default_allocate(size_t bytes, void *user);
void tl_release(const tl_hooks *hooks, void *block);

/* One row of a size table: `count` elements of `size` bytes, their address stored at `slot`. */
typedef struct tl_slot {
    void *slot; /* address of the pointer to fill in */
    int64_t count;
    size_t size;
} tl_slot;

#define TL_SLOT(pointer, count)                \
    {                                          \
        &(pointer), (count), sizeof *(pointer) \
    }

/* Allocates one block for a whole table. Every array is 64-byte aligned, and zeroed if `clear`; a
 * count of 0 gives NULL. On failure no pointer is written. `what` names the object in the
 * message. TL_SCRATCH is for large arrays that are written before they are read. */
tlnmf_error tl_arena_create(tlnmf_ctx *ctx, const char *what, const tl_slot *table, size_t rows,
                            bool clear, void **block);

/* The size of that block in bytes; SIZE_MAX if it would not fit the address space. */
size_t tl_arena_bytes(const tl_slot *table, size_t rows);

#define TL_ARENA_BYTES(table) tl_arena_bytes((table), sizeof(table) / sizeof *(table))
#define TL_ARENA(ctx, what, table, block) \
    tl_arena_create((ctx), (what), (table), sizeof(table) / sizeof *(table), true, (block))
#define TL_SCRATCH(ctx, what, table, block) \
    tl_arena_create((ctx), (what), (table), sizeof(table) / sizeof *(table), false, (block))

/* ---- time ------------------------------------------------------------------------------------ */

double tl_wall_seconds(void);
double tl_cpu_seconds(void); /* of the process, all threads */

/* ---- threads --------------------------------------------------------------------------------- */

/* Runs work(arg). Inside, tl_share() uses `threads` threads, the caller's included, and BLAS uses
 * one. A nested call uses the existing threads, or one thread if it asks for fewer than there are.
 * The caller's OpenMP settings do not change. Returns the error of `work`. */
tlnmf_error tl_with_threads(int threads, tlnmf_error (*work)(void *arg), void *arg);
/* The largest value of the option threads, chosen above the cores of most machines. */
enum { TL_THREADS_MOST = 1024 };
/* The number of threads that settings ask for; 0: those of the enclosing call, or the number that
 * OpenMP would use. */
int tl_thread_count(int64_t wanted);

/* Calls piece(first, last, arg) for the pieces of 0 .. count - 1 on all idle threads. Every piece
 * but the last has the length `grain`. The pieces do not depend on the number of threads, so
 * neither do the bits, as long as pieces write to different places. Calls may be nested: idle
 * threads join the inner one. */
typedef void (*tl_piece)(int64_t first, int64_t last, void *arg);
void tl_share(int64_t count, int64_t grain, tl_piece piece, void *arg);
/* The same for pieces of length 1 on at most `threads` threads, which bounds the memory. */
void tl_share_among(int64_t threads, int64_t count, tl_piece piece, void *arg);
/* The same for pieces of length 1. The caller's thread first runs work(arg), such as reading and
 * writing, and then also takes pieces. */
void tl_share_beside(int64_t count, tl_piece piece, void (*work)(void *arg), void *arg);
/* Calls work(own, i, arg) for i < count on at most `at_once` threads. `own` is a copy of the
 * context with a message of its own. Returns the error of the first call that failed, with its
 * message. */
typedef tlnmf_error (*tl_concurrent_fn)(tlnmf_ctx *own, int64_t i, void *arg);
tlnmf_error tl_concurrently(tlnmf_ctx *ctx, int64_t at_once, int64_t count, tl_concurrent_fn work,
                            void *arg);
/* Arguments of elementwise work, for pieces that need no more. */
typedef struct tl_elements {
    const double *x, *y;
    double a, b, *out;
    int64_t M; /* of M x M matrices, whose pieces are rows */
} tl_elements;
/* The sum of part(first, last, arg) over pieces of a multiple of `grain`, added in their order. */
typedef double (*tl_part_sum)(int64_t first, int64_t last, void *arg);
double tl_share_sum(int64_t count, int64_t grain, tl_part_sum part, void *arg);
/* Raises *x to `value`, for pieces that wait for it. */
void tl_announce(atomic_int *x, int value);
/* Waits, inside a piece, until another piece that runs has raised *x to `least`. */
void tl_wait_for(atomic_int *x, int least);
/* The number of threads of the call, and the index of this one, from 0. */
int tl_threads_here(void);
int tl_thread_index(void);
/* Scratch of the calling thread, allocated when first used in a call and freed at the end of the
 * call. NULL outside of tl_with_threads() or if there is no memory. Functions of a library that
 * use it must not call each other. */
enum { TL_THREAD_SCRATCH = 192 * 1024 };
void *tl_thread_scratch(void);

/* ---- hot loops ------------------------------------------------------------------------------- */

/* Marks a function that is compiled once per instruction set; the loader chooses. One binary is
 * then fast on every machine without -march. Sanitizer builds do without: their code already runs
 * before the loader has chosen. The loader of musl cannot choose. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(TL_NO_CLONES)
#define TL_HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TL_HOT
#endif

static inline void tl_copy(double *to, const double *from, int64_t count)
{
    if (count > 0) /* memcpy takes no NULL, not even for 0 bytes */
        memcpy(to, from, (size_t)count * sizeof *to);
}

static inline int64_t tl_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tl_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
