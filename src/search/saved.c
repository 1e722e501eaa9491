/* Parts of a search as bytes, written and read by the same functions. */
#include "search/saved.h"

#include <math.h>

bool tl_block_resize(const tl_hooks *hooks, tl_block *b, size_t size)
{
    size_t words = (size + 7) / 8 * 8;
    if (words > b->capacity || b->bytes == NULL) {
        tl_release(hooks, b->bytes);
        b->bytes = tl_allocate(hooks, words + 8);
        b->capacity = b->bytes != NULL ? words : 0;
    }
    b->size = b->bytes != NULL ? words : 0;
    if (b->bytes == NULL)
        return false;
    memset(b->bytes + words - (words > 0 ? 8 : 0), 0, 8);
    return true;
}

tl_columns tl_frames_of(const tl_pool *pool)
{
    const tlnmf_data *data = pool->data;
    return (tl_columns){data->sums, data->N, data->first, data->all};
}

void tl_pass_trace(tl_trace_row *rows, int64_t *length, int64_t capacity, tl_bytes *b)
{
    int64_t count = *length;
    tl_bytes_integer(b, &count);
    if (count < 0 || count > capacity)
        b->bad = true;
    if (!b->bad)
        tl_bytes_pass(b, rows, (size_t)count * sizeof *rows);
    if (!b->bad)
        *length = count;
}

static bool all_finite(const double *x, int64_t count, double least)
{
    for (int64_t i = 0; i < count; i++)
        if (!(x[i] >= least && isfinite(x[i])))
            return false;
    return true;
}

/* Whether a search could have kept this result: its checksum says only that nobody changed it by
 * accident. */
static bool is_plausible(const tl_result *r)
{
    const tl_info *info = &r->info;
    if (info->best_start < 0)
        return true;
    return (info->K == 0 || isfinite(info->C)) &&
           all_finite(r->Phi, info->M * info->M, -INFINITY) &&
           all_finite(r->W, info->M * info->K, 0.0) && all_finite(r->H, info->K * info->N, 0.0);
}

void tl_pass_result(const tl_pool *pool, tl_result *r, tl_bytes *b)
{
    int64_t M = pool->data->M, K = r->info.K;
    tl_info info = r->info;
    const tl_columns frames = tl_frames_of(pool);
    tl_bytes_pass(b, &info, sizeof info);
    info.N = frames.own; /* frames may be on other machines now */
    info.first = frames.first;
    if (info.M != M || info.all != frames.all || info.K != K || info.best_start < -1 ||
        info.best_start > 2 * pool->plan.P)
        b->bad = true;
    if (!b->bad)
        r->info = info;
    tl_bytes_doubles(b, r->Phi, M * M);
    tl_bytes_doubles(b, r->W, M * K);
    tl_columns_pass(&frames, b, r->H, K);
    tl_pass_trace(r->trace, &r->trace_length, r->trace_capacity, b);
    if (b->mode == TL_BYTES_READ && !b->bad) /* each machine has its own frames of H */
        b->bad = tl_sums_of(frames.sums, !is_plausible(r)) > 0.0;
}

void tl_pass_shelf(const tl_pool *pool, const tl_shelf *shelf, int64_t count, tl_bytes *b)
{
    int64_t M = pool->data->M, K = pool->plan.K;
    const tl_columns frames = tl_frames_of(pool);
    tl_bytes_doubles(b, shelf->Phi, count * M * M);
    tl_bytes_doubles(b, shelf->W, count * M * K);
    tl_columns_pass(&frames, b, shelf->H, count * K);
}

void tl_pass_seconds(tl_pool *pool, tl_bytes *b)
{
    double nmf = 0.0, transform = 0.0;
    for (int i = 0; i < pool->plan.workers; i++) {
        nmf += pool->worker[i].nmf_seconds;
        transform += pool->worker[i].transform_seconds;
    }
    tl_bytes_doubles(b, &nmf, 1);
    tl_bytes_doubles(b, &transform, 1);
    for (int i = 0; b->mode == TL_BYTES_READ && i < pool->plan.workers; i++) {
        pool->worker[i].nmf_seconds = i == 0 ? nmf : 0.0;
        pool->worker[i].transform_seconds = i == 0 ? transform : 0.0;
    }
}
