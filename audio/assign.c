/* The best permutation without trying them all: Kuhn and Munkres, in the form with potentials. */
#include "audio/audio.h"

#include "base/base.h"

#include <math.h>

/* Rows and columns count from 1; row 0 is "none", column 0 is where a new row starts. */
typedef struct matching {
    int64_t n;
    const double *score;
    double *u, *v, *slack;  /* potentials of rows and columns; the least reduced cost of a column */
    int64_t *row_of, *from; /* the row of a column; the column before it on the path */
    bool *reached;
} matching;

static double cost(const matching *m, int64_t row, int64_t column)
{
    const double most = 1e4; /* dB: beyond any ratio of doubles */
    double score = m->score[(row - 1) * m->n + column - 1];
    return isnan(score) ? most : -fmin(fmax(score, -most), most);
}

/* Brings column `at` into the tree and returns the nearest column outside it. */
static int64_t extend_tree(matching *m, int64_t at)
{
    int64_t nearest = 0;
    double least = INFINITY;
    m->reached[at] = true;
    for (int64_t j = 1; j <= m->n; j++) {
        if (m->reached[j])
            continue;
        double reduced = cost(m, m->row_of[at], j) - m->u[m->row_of[at]] - m->v[j];
        if (reduced < m->slack[j]) {
            m->slack[j] = reduced;
            m->from[j] = at;
        }
        if (m->slack[j] < least) {
            least = m->slack[j];
            nearest = j;
        }
    }
    for (int64_t j = 0; j <= m->n; j++)
        if (m->reached[j]) {
            m->u[m->row_of[j]] += least;
            m->v[j] -= least;
        } else {
            m->slack[j] -= least;
        }
    return nearest;
}

static void add_row(matching *m, int64_t row)
{
    for (int64_t j = 0; j <= m->n; j++) {
        m->slack[j] = INFINITY;
        m->reached[j] = false;
    }
    m->row_of[0] = row;
    int64_t at = 0;
    do
        at = extend_tree(m, at);
    while (m->row_of[at] != 0);
    while (at != 0) { /* along the path every row moves on by one column */
        m->row_of[at] = m->row_of[m->from[at]];
        at = m->from[at];
    }
}

tlnmf_error audio_assign(tlnmf_ctx *ctx, int64_t n, const double *score, int64_t *column)
{
    matching m = {.n = n, .score = score};
    tl_slot table[] = {TL_SLOT(m.u, n + 1),      TL_SLOT(m.v, n + 1),    TL_SLOT(m.slack, n + 1),
                       TL_SLOT(m.row_of, n + 1), TL_SLOT(m.from, n + 1), TL_SLOT(m.reached, n + 1)};
    void *block;
    TRY(TL_ARENA(ctx, "an assignment", table, &block));
    for (int64_t row = 1; row <= n; row++)
        add_row(&m, row);
    for (int64_t j = 1; j <= n; j++)
        column[m.row_of[j] - 1] = j - 1;
    tl_release(&ctx->hooks, block);
    return TLNMF_OK;
}
