/* Jacobi sweeps (14), in both precisions. */
#include "engine/jacobi.h"
#include "engine/rotation.h"

#include <stdatomic.h>

#include <math.h>

/* Rows are processed in blocks. Both blocks of a pair stay in cache while all their pairs are
 * rotated. A block offers up to BLOCK disjoint pairs at a time, whose latencies overlap. */
enum { BLOCK = TL_SWEEP_BLOCK };

/* sum U V is about N per row. A gain below this fraction of it is not worth a rotation: the angle
 * would be mostly rounding. */
static const double TRIFLE = 1e-8;

/* Up to BLOCK disjoint pairs of rows (a, b) and their angles. */
typedef struct pair_group {
    int64_t count, a[BLOCK], b[BLOCK];
    double sums[2][BLOCK]; /* p and D of (14) */
    double c[BLOCK], s[BLOCK];
} pair_group;

static inline __attribute__((always_inline)) double solve_angles(pair_group *g, double least)
{
    double total = 0.0;
    for (int64_t i = 0; i < g->count; i++)
        total += tl_rotation(g->sums[0][i], g->sums[1][i], least, &g->c[i], &g->s[i]);
    return total;
}

/* A sweep in one precision. */
typedef struct sweeping sweeping;

/* The two blocks of rows at hand, which begin with rows a0 and b0, and the weights of these rows.
 */
typedef struct blocks {
    const sweeping *in;
    int64_t lane; /* of the scratch */
    int64_t a0, b0;
    const double *Ua, *Ub; /* in double: rows are `stride` apart */
} blocks;

struct sweeping {
    const tl_sweep *sweep;
    double least;  /* least gain for which a pair is rotated */
    int64_t count; /* of blocks */
    /* The sums of the group's pairs; rotates them by their angles; lays out the weights of the rows
     * from a0 on, or from b0 on. */
    void (*sum)(const blocks *at, pair_group *g);
    void (*turn)(const blocks *at, const pair_group *g);
    void (*spread)(blocks *at, bool is_b);
    double *X;              /* in double */
    int64_t stride;         /* from a row of X to the next */
    const tl_rounded *rows; /* in single */
};

TL_HOT static void sum_double(const blocks *at, pair_group *g)
{
    int64_t T = at->in->sweep->data->T, stride = at->in->stride;
    const double *X = at->in->X;
    for (int64_t i = 0; i < g->count; i++)
        pair_sums_double(T, X + g->a[i] * stride, X + g->b[i] * stride,
                         at->Ua + (g->a[i] - at->a0) * stride, at->Ub + (g->b[i] - at->b0) * stride,
                         &g->sums[0][i], &g->sums[1][i]);
}

TL_HOT static void turn_group_double(const blocks *at, const pair_group *g)
{
    const tl_sweep *sweep = at->in->sweep;
    int64_t M = sweep->data->M, T = sweep->data->T, stride = at->in->stride;
    double *X = at->in->X, *Phi = sweep->Phi;
    for (int64_t i = 0; i < g->count; i++) {
        if (g->s[i] == 0.0)
            continue;
        turn_double(T, g->c[i], g->s[i], X + g->a[i] * stride, X + g->b[i] * stride);
        turn_double(M, g->c[i], g->s[i], Phi + g->a[i] * M, Phi + g->b[i] * M);
    }
}

TL_HOT static void sum_single(const blocks *at, pair_group *g)
{
    const tl_rounded *rows = at->in->rows;
    int64_t T = rows->X_stride;
    const float *Ua = rows->U + at->lane * 2 * BLOCK * T,
                *Ub = at->b0 == at->a0 ? Ua : Ua + BLOCK * T;
    for (int64_t i = 0; i < g->count; i++)
        pair_sums_single(T, rows->X + g->a[i] * T, rows->X + g->b[i] * T,
                         Ua + (g->a[i] - at->a0) * T, Ub + (g->b[i] - at->b0) * T, &g->sums[0][i],
                         &g->sums[1][i]);
}

TL_HOT static void turn_group_single(const blocks *at, const pair_group *g)
{
    const tl_rounded *rows = at->in->rows;
    int64_t M = rows->Phi_stride, T = rows->X_stride;
    for (int64_t i = 0; i < g->count; i++) {
        if (g->s[i] == 0.0)
            continue;
        float c = (float)g->c[i], s = (float)g->s[i];
        turn_single(T, c, s, rows->X + g->a[i] * T, rows->X + g->b[i] * T);
        turn_single(M, c, s, rows->Phi + g->a[i] * M, rows->Phi + g->b[i] * M);
    }
}

/* Pairs with one row in each block: each row occurs once per round. */
static void pair_between(const blocks *at, int64_t round, pair_group *g)
{
    int64_t rows = tl_min(BLOCK, at->in->sweep->data->M - at->b0); /* fewer in the last block */
    for (int64_t i = 0; i < BLOCK; i++) {
        int64_t j = (i + round) % BLOCK;
        if (j >= rows)
            continue;
        g->a[g->count] = at->a0 + i;
        g->b[g->count++] = at->b0 + j;
    }
}

/* Pairs inside one block, b0 = a0: the circle method of a round-robin tournament. */
static void pair_within(const blocks *at, int64_t round, pair_group *g)
{
    int64_t a0 = at->a0, rows = tl_min(BLOCK, at->in->sweep->data->M - a0);
    for (int64_t i = 0; i < BLOCK / 2; i++) {
        int64_t j = i == 0 ? BLOCK - 1 : (round + BLOCK - 1 - i) % (BLOCK - 1);
        int64_t k = (round + i) % (BLOCK - 1);
        if (j >= rows || k >= rows)
            continue;
        g->a[g->count] = a0 + tl_min(j, k);
        g->b[g->count++] = a0 + tl_max(j, k);
    }
}

/* The pairs of a round, of BLOCK - 1 rounds within a block and BLOCK between two. */
static void pair_rows(const blocks *at, int64_t round, pair_group *g)
{
    g->count = 0;
    if (at->b0 > at->a0)
        pair_between(at, round, g);
    else if (round < BLOCK - 1)
        pair_within(at, round, g);
}

/* All pairs of two blocks, or of one with itself, in rounds. */
static double turn_blocks(const blocks *at)
{
    double gain = 0.0;
    for (int64_t round = 0; round < BLOCK; round++) {
        pair_group g;
        pair_rows(at, round, &g);
        at->in->sum(at, &g);
        gain += solve_angles(&g, at->in->least);
        at->in->turn(at, &g);
    }
    return gain;
}

/* ---- several processes ---------------------------------------------------------------------- */

/* Processes that share the columns sum p and D of many pairs at once: all disjoint pairs whose
 * rows fit into a cache of this many bytes. Blocks a and b are paired in step a + b, after all
 * their earlier pairs. The order is that of one process. */
enum { CACHE = 1 << 20, MOST_TOGETHER = 64 };

/* The same number on all processes. */
static int64_t blocks_together(const tlnmf_data *data, const tl_comm *frames_comm)
{
    int64_t columns = data->all / frames_comm->size * tl_max(1, tl_min(data->S, data->M)) + 1;
    int64_t bytes = (int64_t)sizeof(double) * 2 * BLOCK * 2; /* of X and U, of two blocks */
    return tl_max(1, tl_min(MOST_TOGETHER, CACHE / bytes / columns));
}

/* Some pairs of blocks, round by round, with one sum in each. */
static double turn_together(const sweeping *in, int64_t count, const blocks *at)
{
    double sums[MOST_TOGETHER * 2 * BLOCK + 1], gain = 0.0;
    pair_group g;
    for (int64_t round = 0; round < BLOCK; round++) {
        for (int64_t i = 0; i < count; i++) {
            memset(g.sums, 0, sizeof g.sums);
            pair_rows(&at[i], round, &g);
            in->sum(&at[i], &g);
            memcpy(sums + i * 2 * BLOCK, g.sums, sizeof g.sums);
        }
        tl_comm_polled(in->sweep->frames_comm, sums, count * 2 * BLOCK);
        for (int64_t i = 0; i < count; i++) {
            pair_rows(&at[i], round, &g);
            memcpy(g.sums, sums + i * 2 * BLOCK, sizeof g.sums);
            gain += solve_angles(&g, in->least);
            in->turn(&at[i], &g);
        }
    }
    return gain;
}

/* Not inlined: only the multi-process path needs these stack arrays. */
__attribute__((noinline)) static double turn_shared(const sweeping *in)
{
    int64_t most = blocks_together(in->sweep->data, in->sweep->frames_comm);
    double gain = 0.0;
    for (int64_t step = 0; step <= 2 * (in->count - 1); step++)
        for (int64_t a = tl_max(0, step - in->count + 1), count;
             2 * a <= step && !tl_poll(in->sweep->monitor); a += count) {
            blocks at[MOST_TOGETHER];
            for (count = 0; count < most && 2 * (a + count) <= step; count++) {
                at[count] = (blocks){.in = in, .lane = count};
                at[count].a0 = at[count].b0 = (a + count) * BLOCK;
                in->spread(&at[count], false);
                at[count].b0 = (step - a - count) * BLOCK;
                if (at[count].b0 > at[count].a0)
                    in->spread(&at[count], true);
            }
            gain += turn_together(in, count, at);
        }
    return gain;
}

/* ---- all pairs ------------------------------------------------------------------------------- */

/* 8192 rows, 12 KiB of the stack; sweeps of longer frames run on one thread. */
enum { MOST_BLOCKS = 1024 };

/* Block a meets itself and then all later blocks in turn, on one thread; block a + 1 follows a step
 * behind on another. Every block meets the others in the same order as on one thread, so the result
 * does not depend on the number of threads. */
typedef struct procession {
    const sweeping *in;
    atomic_int next;             /* the next block that has not begun */
    atomic_int met[MOST_BLOCKS]; /* block a is done with the blocks before this one */
    double gain[MOST_BLOCKS];
} procession;

static int64_t lanes_of(const tlnmf_data *data, const tl_comm *frames_comm, int64_t threads)
{
    if (frames_comm != NULL)
        return blocks_together(data, frames_comm);
    return tl_max(1, tl_min(threads, (data->M + BLOCK - 1) / BLOCK));
}

/* Every thread has a lane of the scratch; if there are fewer blocks than threads, every block has.
 */
static int64_t lane_of(const sweeping *in, int64_t a)
{
    return in->sweep->threads > in->count ? a : tl_thread_index();
}

static double meet_all(const sweeping *in, procession *p, int64_t a)
{
    blocks at = {
        .in = in, .lane = p != NULL ? lane_of(in, a) : 0, .a0 = a * BLOCK, .b0 = a * BLOCK};
    double gain = 0.0;
    in->spread(&at, false);
    for (int64_t b = a; b < in->count; b++) {
        at.b0 = b * BLOCK;
        if (b > a)
            in->spread(&at, true);
        if (p != NULL && a > 0)
            tl_wait_for(&p->met[a - 1], (int)b + 1);
        if (!tl_poll(in->sweep->monitor))
            gain += turn_blocks(&at);
        if (p != NULL)
            tl_announce(&p->met[a], (int)b + 1);
    }
    return gain;
}

/* Blocks are taken in their order, whichever piece comes first. */
static void meet_next(int64_t first, int64_t last, void *arg)
{
    procession *p = arg;
    for (int64_t i = first; i < last; i++) {
        int64_t a = atomic_fetch_add(&p->next, 1);
        p->gain[a] = meet_all(p->in, p, a);
    }
}

/* Not inlined, so that one thread needs no stack for a procession. */
__attribute__((noinline)) static double turn_by_many(const sweeping *in)
{
    procession p = {.in = in};
    double gain = 0.0;
    tl_share(in->count, 1, meet_next, &p);
    for (int64_t a = 0; a < in->count; a++)
        gain += p.gain[a];
    return gain;
}

static double turn_all(sweeping *in)
{
    const tl_sweep *sweep = in->sweep;
    double gain = 0.0;
    in->least = fmax(sweep->least, TRIFLE * sweep->frames);
    in->count = (sweep->data->M + BLOCK - 1) / BLOCK;
    if (sweep->frames_comm != NULL)
        return turn_shared(in);
    bool alone = in->count > MOST_BLOCKS || tl_threads_here() == 1 ||
                 tl_threads_here() > tl_max(sweep->threads, 1);
    if (!alone)
        return turn_by_many(in);
    for (int64_t a = 0; a < in->count; a++)
        gain += meet_all(in, NULL, a);
    return gain;
}

/* ---- in double ------------------------------------------------------------------------------- */

/* The most numbers of a small X, 4 MiB. A larger one is not copied to the scratch. */
enum { MOST_COPIED = 1 << 19 };

static int64_t whole_lines(int64_t T)
{
    enum { LINE = 8 };
    return (T + LINE - 1) / LINE * LINE;
}

/* The distance from a row of X to the next. If T is not a multiple of 8, vectors would cross cache
 * lines, so the rows of a small X are copied to whole lines of the scratch. */
static int64_t stride_of(const tlnmf_data *data)
{
    int64_t whole = whole_lines(data->T);
    return data->M * whole <= MOST_COPIED ? whole : data->T;
}

/* If frames have any number of columns, some may be dropped later. T is then no longer a multiple
 * of 8, or X becomes small. The scratch for that must not exceed the size computed before. */
static int64_t copy_size(const tlnmf_data *data)
{
    if (data->one_each)
        return stride_of(data) > data->T ? data->M * stride_of(data) : 0;
    return tl_min(data->M * whole_lines(data->T), MOST_COPIED);
}

int64_t tl_sweep_scratch(const tlnmf_data *data, const tl_comm *frames_comm, int64_t threads)
{
    int64_t stride = stride_of(data);
    if (frames_comm == NULL && tl_rows_are_long(data))
        return tl_max(tl_long_rows_scratch(), data->one_each ? 0 : (int64_t)2 * BLOCK * data->T);
    if (data->one_each && stride == data->T)
        return 0;
    return lanes_of(data, frames_comm, threads) * 2 * BLOCK * stride + copy_size(data);
}

/* The weights of a block's rows, one for each column, written to `out`. If every frame has one
 * column and rows are not apart: U itself. */
static const double *lay_out_weights(const tl_sweep *sweep, int64_t row, int64_t stride,
                                     double *out)
{
    const tlnmf_data *data = sweep->data;
    int64_t M = data->M, N = data->N;
    if (data->one_each && stride == data->T)
        return sweep->U + row * N;
    for (int64_t m = row; m < tl_min(row + BLOCK, M); m++) {
        double *to = out + (m - row) * stride;
        if (data->one_each)
            tl_copy(to, sweep->U + m * N, N);
        else
            for (int64_t n = 0; n < N; n++)
                for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                    to[t] = sweep->U[m * N + n];
    }
    return out;
}

static void spread_double(blocks *at, bool is_b)
{
    const sweeping *in = at->in;
    int64_t stride = in->stride, M = in->sweep->data->M;
    double *lanes = in->sweep->scratch + (in->X == in->sweep->scratch ? M * stride : 0);
    const double *U = lay_out_weights(in->sweep, is_b ? at->b0 : at->a0, stride,
                                      lanes + (2 * at->lane + (is_b ? 1 : 0)) * BLOCK * stride);
    at->Ub = U;
    if (!is_b)
        at->Ua = U;
}

enum { COPIED = 8 }; /* rows of a piece */

/* Rows of X that are copied to whole cache lines. */
static void align_rows(int64_t first, int64_t last, void *arg)
{
    const sweeping *in = arg;
    int64_t T = in->sweep->data->T;
    for (int64_t m = first; m < last; m++)
        tl_copy(in->X + m * in->stride, in->sweep->X + m * T, T);
}

static void unalign_rows(int64_t first, int64_t last, void *arg)
{
    const sweeping *in = arg;
    int64_t T = in->sweep->data->T;
    for (int64_t m = first; m < last; m++)
        tl_copy(in->sweep->X + m * T, in->X + m * in->stride, T);
}

double tl_sweep_double(const tl_sweep *sweep)
{
    int64_t M = sweep->data->M;
    if (sweep->frames_comm == NULL && tl_rows_are_long(sweep->data))
        return tl_sweep_long_rows(sweep, fmax(sweep->least, TRIFLE * sweep->frames));
    sweeping in = {.sweep = sweep,
                   .sum = sum_double,
                   .turn = turn_group_double,
                   .spread = spread_double,
                   .X = sweep->X,
                   .stride = stride_of(sweep->data)};
    if (in.stride == sweep->data->T)
        return turn_all(&in);
    in.X = sweep->scratch;
    tl_share(M, COPIED, align_rows, &in);
    double gain = turn_all(&in);
    tl_share(M, COPIED, unalign_rows, &in);
    return gain;
}

/* ---- in single ------------------------------------------------------------------------------- */

static int64_t padded(int64_t length)
{
    enum { VECTOR = 16 }; /* floats in the longest vector register */
    return (length + VECTOR - 1) / VECTOR * VECTOR;
}

void tl_rounded_slots(tl_rounded *rows, const tlnmf_data *data, const tl_comm *frames_comm,
                      int64_t threads, tl_slot slots[TL_ROUNDED_SLOTS])
{
    rows->X_stride = padded(data->T);
    rows->Phi_stride = padded(data->M);
    const tl_slot parts[] = {
        TL_SLOT(rows->X, data->M * rows->X_stride), TL_SLOT(rows->Phi, data->M * rows->Phi_stride),
        TL_SLOT(rows->U, lanes_of(data, frames_comm, threads) * 2 * BLOCK * rows->X_stride)};
    memcpy(slots, parts, sizeof parts);
}

TL_HOT static void round_weights(const tl_sweep *sweep, int64_t row, int64_t stride, float *out)
{
    const tlnmf_data *data = sweep->data;
    int64_t N = data->N;
    for (int64_t m = row; m < tl_min(row + BLOCK, data->M); m++, out += stride) {
        const double *u = sweep->U + m * N;
        if (data->one_each) {
            for (int64_t n = 0; n < N; n++)
                out[n] = (float)u[n];
            continue;
        }
        for (int64_t n = 0; n < N; n++)
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                out[t] = (float)u[n];
    }
}

static void spread_single(blocks *at, bool is_b)
{
    const tl_rounded *rows = at->in->rows;
    int64_t stride = rows->X_stride;
    round_weights(at->in->sweep, is_b ? at->b0 : at->a0, stride,
                  rows->U + (2 * at->lane + (is_b ? 1 : 0)) * BLOCK * stride);
}

/* Rows that are converted to single precision or back. */
typedef struct copying {
    int64_t length, stride;
    double *x;
    float *rounded;
} copying;

static void round_rows(int64_t first, int64_t last, void *arg)
{
    const copying *c = arg;
    for (int64_t m = first; m < last; m++)
        for (int64_t i = 0; i < c->length; i++)
            c->rounded[m * c->stride + i] = (float)c->x[m * c->length + i];
}

static void return_rows(int64_t first, int64_t last, void *arg)
{
    const copying *c = arg;
    for (int64_t m = first; m < last; m++)
        for (int64_t i = 0; i < c->length; i++)
            c->x[m * c->length + i] = (double)c->rounded[m * c->stride + i];
}

double tl_sweep_single(const tl_sweep *sweep, const tl_rounded *rows)
{
    int64_t M = sweep->data->M, T = sweep->data->T;
    copying X = {T, rows->X_stride, sweep->X, rows->X};
    copying Phi = {M, rows->Phi_stride, sweep->Phi, rows->Phi};
    tl_share(M, COPIED, round_rows, &X); /* padding stays zero */
    tl_share(M, COPIED, round_rows, &Phi);
    double gain = turn_all(&(sweeping){.sweep = sweep,
                                       .sum = sum_single,
                                       .turn = turn_group_single,
                                       .spread = spread_single,
                                       .rows = rows});
    tl_share(M, COPIED, return_rows, &X);
    tl_share(M, COPIED, return_rows, &Phi);
    return gain;
}
