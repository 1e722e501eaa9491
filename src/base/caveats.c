/* Warnings that a result keeps. */
#include "base/caveats.h"

#include <stdarg.h>
#include <stdio.h>

void tl_caveats_add(tl_caveats *caveats, uint64_t sources, const char *format, ...)
{
    va_list args;
    caveats->sources |= sources;
    if (caveats->count == TL_CAVEATS_MAX)
        return;
    va_start(args, format);
    vsnprintf(caveats->text[caveats->count++], TL_MESSAGE, format, args);
    va_end(args);
}

void tl_caveats_warn(const tlnmf_ctx *ctx, tl_caveats *caveats, const char *format, ...)
{
    char text[TL_MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tl_log(ctx, TLNMF_LOG_WARNING, "%s", text);
    if (caveats != NULL)
        tl_caveats_add(caveats, 0, "%s", text);
}

tlnmf_error tl_caveats_put(tlnmf_ctx *ctx, const tl_caveats *caveats, tlnmf_record *record)
{
    const char *texts[TL_CAVEATS_MAX];
    for (int64_t i = 0; i < caveats->count; i++)
        texts[i] = caveats->text[i];
    if (caveats->count == 0)
        return TLNMF_OK;
    return tlnmf_record_set_texts(ctx, record, "caveats", texts, (size_t)caveats->count);
}
