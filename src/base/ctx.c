/* The context: hooks and the last message. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tlnmf_version(void)
{
    return TLNMF_VERSION;
}

const char *tlnmf_error_name(tlnmf_error error)
{
    static const char *const names[] = {"ok",     "option",    "shape",  "data",
                                        "memory", "too large", "numeric"};
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

static void *default_allocate(size_t bytes, void *user)
{
    (void)user;
    return malloc(bytes);
}

static void default_release(void *block, void *user)
{
    (void)user;
    free(block);
}

void tl_hooks_init(tl_hooks *hooks)
{
    *hooks = (tl_hooks){.struct_size = sizeof *hooks};
}

tlnmf_error tlnmf_ctx_create(const tl_hooks *given, tlnmf_ctx **out)
{
    *out = NULL;
    tl_hooks hooks;
    tl_hooks_init(&hooks);
    if (given != NULL) {
        if (given->struct_size != sizeof hooks)
            return TLNMF_ERR_OPTION;
        hooks = *given;
    }
    if ((hooks.allocate == NULL) != (hooks.release == NULL))
        return TLNMF_ERR_OPTION;
    if (hooks.allocate == NULL) {
        hooks.allocate = default_allocate;
        hooks.release = default_release;
    }
    tlnmf_ctx *ctx = hooks.allocate(sizeof *ctx, hooks.user);
    if (ctx == NULL)
        return TLNMF_ERR_MEMORY;
    ctx->hooks = hooks;
    ctx->message[0] = '\0';
    *out = ctx;
    return TLNMF_OK;
}

void tlnmf_ctx_free(tlnmf_ctx *ctx)
{
    if (ctx != NULL)
        ctx->hooks.release(ctx, ctx->hooks.user);
}

const char *tlnmf_message(const tlnmf_ctx *ctx)
{
    return ctx->message;
}

tlnmf_error tl_fail(tlnmf_ctx *ctx, tlnmf_error error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->message, sizeof ctx->message, format, args);
    va_end(args);
    return error;
}

void tl_log(const tlnmf_ctx *ctx, tlnmf_log_level level, const char *format, ...)
{
    if (ctx->hooks.log == NULL)
        return;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ctx->hooks.log(level, text, ctx->hooks.user);
}
