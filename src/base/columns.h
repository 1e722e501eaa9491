/* Bytes of arrays whose columns are on several machines: one of them writes all, each reads its
 * own. */
#ifndef TLNMF_BASE_COLUMNS_H
#define TLNMF_BASE_COLUMNS_H

#include "base/bytes.h"
#include "base/sums.h"

/* Columns first .. first + own - 1 of `all` are here. */
typedef struct tl_columns {
    tl_sums *sums; /* NULL: all are */
    int64_t own, first, all;
} tl_columns;

/* Whether this machine writes: the others only send. */
static inline bool tl_columns_writes(const tl_columns *c)
{
    return c->sums == NULL || c->sums->rank == 0;
}

/* `rows` rows of x, which has the columns of this machine; the bytes are those of the whole array.
 * All machines count and write together; a machine that does not write has b->at == NULL. */
void tl_columns_pass(const tl_columns *c, tl_bytes *b, double *x, int64_t rows);
/* The same in single precision. */
void tl_columns_pass_single(const tl_columns *c, tl_bytes *b, float *x, int64_t rows);

#endif
