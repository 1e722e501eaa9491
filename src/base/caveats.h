/* Warnings that a result keeps: what may be wrong with the data or the labels that it comes from.
 */
#ifndef TLNMF_BASE_CAVEATS_H
#define TLNMF_BASE_CAVEATS_H

#include "base/base.h"

enum { TL_CAVEATS_MAX = 12 };

typedef struct tl_caveats {
    int64_t count;
    uint64_t
        sources; /* of a separation, one bit each: sources whose expected quality is withheld */
    char text[TL_CAVEATS_MAX][TL_MESSAGE];
} tl_caveats;

/* Adds a text about these sources. If there is no room for it, only the sources are noted. */
void tl_caveats_add(tl_caveats *caveats, uint64_t sources, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Logs a warning and adds it to the caveats. */
void tl_caveats_warn(const tlnmf_ctx *ctx, tl_caveats *caveats_or_null, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the name "caveats" of a record, if there are any. */
tlnmf_error tl_caveats_put(tlnmf_ctx *ctx, const tl_caveats *caveats, tlnmf_record *record);

#endif
