/* What every module may use: the context, errors, memory, time. Includes nothing above it. */
#ifndef TLNMF_BASE_BASE_H
#define TLNMF_BASE_BASE_H

#include "tlnmf/tlnmf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* The allocator of a context. Objects keep a copy, so that they may outlive the context. */
typedef struct tl_hooks {
    tlnmf_allocate allocate;
    tlnmf_release release;
    void *user;
} tl_hooks;

/* Checkpoints of a call: how often, who keeps them, and the one to go on from. */
typedef struct tl_keeping {
    double seconds;
    tlnmf_save save; /* NULL: none */
    void *user;
    const tlnmf_record *resume; /* NULL: from the beginning */
} tl_keeping;

enum { TL_MESSAGE = 512 };

struct tlnmf_ctx {
    tl_hooks hooks;
    tlnmf_log log;
    void *log_user;
    tlnmf_callback callback;
    void *callback_user;
    tl_keeping keeping;
    int32_t threads; /* the default of the option; 0: as many as OpenMP would use */
    /* The machines that share out starts, and those that share out frames; NULL: one machine. */
    tlnmf_sums *starts, *frames;
    char message[TL_MESSAGE];
};

/* Stores the message and returns `error`, so that a caller can write `return tl_fail(...)`. */
tlnmf_error tl_fail(tlnmf_ctx *ctx, tlnmf_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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
void tl_note_null(tlnmf_ctx *ctx_or_null, const char *argument);

void tl_log(const tlnmf_ctx *ctx, tlnmf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- memory ---------------------------------------------------------------------------------- */

/* 64-byte aligned; NULL on failure. */
void *tl_allocate(const tl_hooks *hooks, size_t bytes);
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

/* Allocates one block for a whole table. Every array is 64-byte aligned and zeroed; a count of 0
 * gives NULL. On failure no pointer is written. `what` names the object in the message. */
tlnmf_error tl_arena_create(tlnmf_ctx *ctx, const char *what, const tl_slot *table, size_t rows,
                            void **block);

/* The same, not cleared: for large scratch that is written before it is read. */
tlnmf_error tl_arena_create_scratch(tlnmf_ctx *ctx, const char *what, const tl_slot *table,
                                    size_t rows, void **block);

/* The size of that block in bytes; SIZE_MAX if it would not fit the address space. */
size_t tl_arena_bytes(const tl_slot *table, size_t rows);

#define TL_ARENA_BYTES(table) tl_arena_bytes((table), sizeof(table) / sizeof *(table))
#define TL_ARENA(ctx, what, table, block) \
    tl_arena_create((ctx), (what), (table), sizeof(table) / sizeof *(table), (block))
#define TL_SCRATCH(ctx, what, table, block) \
    tl_arena_create_scratch((ctx), (what), (table), sizeof(table) / sizeof *(table), (block))

/* ---- time ------------------------------------------------------------------------------------ */

double tl_wall_seconds(void);
double tl_cpu_seconds(void); /* of the process, all threads */

/* ---- threads --------------------------------------------------------------------------------- */

/* Runs work(arg) where tl_share() has `threads` threads, the caller's among them, and BLAS one.
 * Inside such work it has those that are there already, or one if it may not have as many. The
 * caller's OpenMP settings do not change. Returns what `work` returns. */
tlnmf_error tl_with_threads(int threads, tlnmf_error (*work)(void *arg), void *arg);
/* The range of the option threads: a plain bound, above the cores of most machines. */
enum { TL_THREADS_MOST = 1024 };
/* The number of threads that settings ask for; 0: those of the call that this one is inside, or as
 * many as OpenMP would use. */
int tl_thread_count(int64_t wanted);

/* Calls piece(first, last, arg) for the pieces of 0 .. count - 1, each `grain` long but the last,
 * on all threads that have nothing else to do. The pieces do not depend on the number of threads,
 * so that bits do not, as long as pieces write to different places. Inside a piece it may be called
 * again: threads without a piece of the first join the second. */
typedef void (*tl_piece)(int64_t first, int64_t last, void *arg);
void tl_share(int64_t count, int64_t grain, tl_piece piece, void *arg);
/* The same for pieces of one, on at most so many threads at a time: for memory. */
void tl_share_among(int64_t threads, int64_t count, tl_piece piece, void *arg);
/* Pieces of one, while the caller does work(arg) of its own before it takes pieces, too: for calls
 * that must come from its thread, such as reading and writing. */
void tl_share_beside(int64_t count, tl_piece piece, void (*work)(void *arg), void *arg);
/* The sum of part(first, last, arg) over pieces of a multiple of `grain`, added in their order. */
typedef double (*tl_part_sum)(int64_t first, int64_t last, void *arg);
double tl_share_sum(int64_t count, int64_t grain, tl_part_sum part, void *arg);
/* Raises *x to `value`, for pieces that wait for it. */
void tl_announce(atomic_llong *x, int64_t value);
/* Waits, inside a piece, until another piece that runs has raised *x to `least`. */
void tl_wait_for(atomic_llong *x, int64_t least);
/* The threads that the call has, and the number of this one among them, from 0 on. */
int tl_threads_here(void);
int tl_thread_index(void);

/* ---- hot loops ------------------------------------------------------------------------------- */

/* Marks a function that is compiled once per instruction set; the loader chooses. One binary is
 * then fast on every machine without -march. Sanitizer builds do without: their code already runs
 * before the loader has chosen. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(TL_NO_CLONES)
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
