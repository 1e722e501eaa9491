/* The assignment problem by shortest augmenting paths (Jonker and Volgenant, 1987). */
#include "linalg/linalg.h"

#include <math.h>

/* Potentials u, v with u_i + v_j <= cost_ij, equal on the assigned pairs. Column 0 is virtual:
 * every path begins there. */
typedef struct hungarian {
    int64_t n;
    const double *cost;
    double *u, *v, *least; /* n + 1 */
    int64_t *row_of, *way; /* n + 1: the row (from 1) at a column, the column before it */
    unsigned char *done;
} hungarian;

/* Updates the distances of all open columns, seen from the row of column j0. Returns the
 * nearest. */
static int64_t nearest(hungarian *h, int64_t j0, double *delta)
{
    int64_t n = h->n, i0 = h->row_of[j0], next = 0;
    *delta = INFINITY;
    for (int64_t j = 1; j <= n; j++) {
        if (h->done[j])
            continue;
        double reduced = h->cost[(i0 - 1) * n + j - 1] - h->u[i0] - h->v[j];
        if (reduced < h->least[j]) {
            h->least[j] = reduced;
            h->way[j] = j0;
        }
        if (h->least[j] < *delta) {
            *delta = h->least[j];
            next = j;
        }
    }
    return next;
}

static void shift_potentials(hungarian *h, double delta)
{
    for (int64_t j = 0; j <= h->n; j++)
        if (h->done[j]) {
            h->u[h->row_of[j]] += delta;
            h->v[j] -= delta;
        } else {
            h->least[j] -= delta;
        }
}

/* Assigns one more row: finds the shortest path to a free column and shifts the pairs along it. */
static void assign_row(hungarian *h, int64_t i)
{
    int64_t j0 = 0;
    h->row_of[0] = i;
    for (int64_t j = 0; j <= h->n; j++) {
        h->least[j] = INFINITY;
        h->done[j] = 0;
    }
    do {
        double delta;
        h->done[j0] = 1;
        int64_t next = nearest(h, j0, &delta);
        shift_potentials(h, delta);
        j0 = next;
    } while (h->row_of[j0] != 0);
    while (j0 != 0) {
        int64_t before = h->way[j0];
        h->row_of[j0] = h->row_of[before];
        j0 = before;
    }
}

tlnmf_error tl_assign(tlnmf_ctx *ctx, int64_t n, const double *cost, int64_t *column_of_row)
{
    for (int64_t i = 0; i < n * n; i++)
        if (!isfinite(cost[i]))
            return tl_fail(ctx, TLNMF_ERR_DATA, "cost of row %lld, column %lld is not finite",
                           (long long)(i / n), (long long)(i % n));
    hungarian h = {.n = n, .cost = cost};
    void *block;
    tl_slot table[] = {TL_SLOT(h.u, n + 1),      TL_SLOT(h.v, n + 1),   TL_SLOT(h.least, n + 1),
                       TL_SLOT(h.row_of, n + 1), TL_SLOT(h.way, n + 1), TL_SLOT(h.done, n + 1)};
    TRY(TL_ARENA(ctx, "an assignment", table, &block));
    for (int64_t i = 1; i <= n; i++)
        assign_row(&h, i);
    for (int64_t j = 1; j <= n; j++)
        column_of_row[h.row_of[j] - 1] = j - 1;
    tl_release(&ctx->hooks, block);
    return TLNMF_OK;
}
