/* The context: allocator, hooks, and the last message. */
#include "base/monitor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *tlnmf_version(void)
{
    return TLNMF_VERSION;
}

const char *tlnmf_error_name(tlnmf_error error)
{
    static const char *const names[] = {"ok",       "option",    "shape",   "data",
                                        "memory",   "too large", "numeric", "callback",
                                        "argument", "input",     "output"};
    size_t i = (size_t)error;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

const char *tlnmf_outcome_name(tlnmf_outcome outcome)
{
    static const char *const names[] = {"not run",     "converged", "stationary", "iterations",
                                        "line search", "cancelled", "time"};
    size_t i = (size_t)outcome;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

static void default_release(void *block, void *user)
{
    (void)user;
    free(block);
}

tlnmf_error tlnmf_ctx_create_with(tlnmf_allocate_fn allocate, tlnmf_release_fn release, void *user,
                                  tlnmf_ctx **out)
{
    if (out == NULL)
        return TLNMF_ERR_ARGUMENT;
    *out = NULL;
    if (allocate == NULL || release == NULL)
        return TLNMF_ERR_ARGUMENT;
    tlnmf_ctx *ctx = allocate(sizeof *ctx, user);
    if (ctx == NULL)
        return TLNMF_ERR_MEMORY;
    *ctx = (tlnmf_ctx){.hooks = {allocate, release, user}, .keeping = {.iterate_after = 600.0}};
    tlnmf_error error = tl_monitor_create(ctx);
    if (error != TLNMF_OK) {
        release(ctx, user);
        return error;
    }
    *out = ctx;
    return TLNMF_OK;
}

tlnmf_error tlnmf_ctx_create(tlnmf_ctx **out)
{
    return tlnmf_ctx_create_with(tl_default_allocate, default_release, NULL, out);
}

void tlnmf_ctx_free(tlnmf_ctx *ctx)
{
    if (ctx == NULL)
        return;
    tl_monitor_free(ctx);
    ctx->hooks.release(ctx, ctx->hooks.user);
}

void tlnmf_ctx_set_log(tlnmf_ctx *ctx, tlnmf_log_fn log, void *user)
{
    if (ctx == NULL)
        return;
    ctx->log = log;
    ctx->log_user = user;
}

tlnmf_error tlnmf_ctx_set_threads(tlnmf_ctx *ctx, int32_t threads)
{
    TL_NEED(ctx, ctx);
    if (threads < 0 || threads > TL_THREADS_MOST)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "threads = %d is outside [0, %d]", (int)threads,
                       TL_THREADS_MOST);
    ctx->threads = threads;
    return TLNMF_OK;
}

void tlnmf_ctx_set_progress(tlnmf_ctx *ctx, tlnmf_progress_fn callback, void *user)
{
    if (ctx == NULL)
        return;
    ctx->monitor->report = callback;
    ctx->monitor->user = user;
}

void tlnmf_ctx_set_checkpoint(tlnmf_ctx *ctx, double seconds, tlnmf_save_fn save, void *user)
{
    if (ctx == NULL)
        return;
    ctx->keeping.seconds = seconds > 0.0 ? seconds : 0.0;
    ctx->keeping.save = save;
    ctx->keeping.user = user;
}

void tlnmf_ctx_set_iterate_after(tlnmf_ctx *ctx, double seconds)
{
    if (ctx != NULL)
        ctx->keeping.iterate_after = seconds > 0.0 ? seconds : 0.0;
}

void tlnmf_ctx_set_resume(tlnmf_ctx *ctx, const tlnmf_record *state)
{
    if (ctx != NULL)
        ctx->keeping.resume = state;
}

void tlnmf_ctx_distribute_starts(tlnmf_ctx *ctx, tlnmf_comm *comm)
{
    if (ctx != NULL)
        ctx->starts_comm = comm;
}

void tlnmf_ctx_distribute_frames(tlnmf_ctx *ctx, tlnmf_comm *comm)
{
    if (ctx != NULL)
        ctx->frames_comm = comm;
}

void tlnmf_ctx_set_gpu(tlnmf_ctx *ctx, int32_t number)
{
    if (ctx != NULL)
        ctx->gpu = number > 0 ? number : 0;
}

int tlnmf_stop_flag(const tlnmf_record *progress, void *user)
{
    const int32_t *flag = user; /* another thread or a signal handler sets it */
    (void)progress;
    return flag != NULL && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

const char *tlnmf_message(const tlnmf_ctx *ctx)
{
    return ctx == NULL ? "" : ctx->message;
}

tlnmf_error tlnmf_last_error(const tlnmf_ctx *ctx)
{
    return ctx == NULL ? TLNMF_ERR_ARGUMENT : ctx->error;
}

tlnmf_error tlnmf_fail(tlnmf_ctx *ctx, tlnmf_error error, const char *text)
{
    TL_NEED(ctx, text);
    if (ctx != NULL) {
        size_t length = strnlen(text, sizeof ctx->message - 1);
        memmove(ctx->message, text, length); /* `text` may be the message itself */
        ctx->message[length] = '\0';
        ctx->error = error;
    }
    if (ctx != NULL && ctx->monitor != NULL)
        memcpy(ctx->monitor->cause, ctx->message, sizeof ctx->message);
    return error;
}

void tl_cause_forget(tlnmf_ctx *ctx)
{
    if (ctx->monitor != NULL)
        ctx->monitor->cause[0] = '\0';
}

const char *tl_cause_or(const tlnmf_ctx *ctx, const char *fallback)
{
    bool given = ctx->monitor != NULL && ctx->monitor->cause[0] != '\0';
    return given ? ctx->monitor->cause : fallback;
}

tlnmf_error tl_fail(tlnmf_ctx *ctx, tlnmf_error error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    ctx->error = error;
    return error;
}

tlnmf_error tl_fail_as(tlnmf_ctx *ctx, tlnmf_error error, const tlnmf_ctx *copy)
{
    return tl_fail(ctx, error, "%s", copy->message);
}

void tl_note_null(tlnmf_ctx *ctx, const char *argument)
{
    if (ctx != NULL)
        tl_fail(ctx, TLNMF_ERR_ARGUMENT, "%s is NULL", argument);
}

void tl_log(const tlnmf_ctx *ctx, tlnmf_log_level level, const char *format, ...)
{
    if (ctx->log == NULL)
        return;
    char text[TL_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ctx->log(level, text, ctx->log_user);
}
