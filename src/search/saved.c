/* Parts of a search as bytes, written and read by the same functions. */
#include "search/saved.h"
#include "base/record.h"

#include <stdio.h>

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

void tl_block_put(tlnmf_ctx *ctx, tlnmf_record *record, const char *name, const tl_block *b,
                  tlnmf_error *error)
{
    int64_t words = (int64_t)(b->size / 8);
    if (*error == TLNMF_OK && b->bytes != NULL && words > 0)
        *error = tl_record_refer_array(ctx, record, name, (const double *)(const void *)b->bytes, 1,
                                       &words);
}

tl_bytes tl_block_find(const tlnmf_record *record, const char *name)
{
    int64_t shape[TLNMF_MAX_RANK];
    int32_t rank;
    const double *x = tlnmf_get_array(record, name, &rank, shape);
    tl_bytes b = {.mode = TL_BYTES_READ};
    if (x != NULL && rank == 1) {
        b.at = (unsigned char *)x; /* only read */
        b.capacity = (size_t)shape[0] * 8;
    }
    return b;
}

const char *tl_block_name(const char *what, int64_t number, char name[TL_BLOCK_NAME])
{
    snprintf(name, TL_BLOCK_NAME, "%s.%lld", what, (long long)number);
    return name;
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

void tl_pass_point(const tl_pool *pool, const tl_shelf *shelf, int64_t place, tl_bytes *b)
{
    int64_t M = pool->data->M, N = pool->data->N, K = pool->plan.K;
    const tl_columns frames = tl_frames_of(pool);
    tl_bytes_doubles(b, shelf->Phi + place * M * M, M * M);
    tl_bytes_doubles(b, shelf->W + place * M * K, M * K);
    tl_columns_pass(&frames, b, shelf->H + place * K * N, K);
}

tlnmf_error tl_put_seconds(const tl_pool *pool, double wall, double cpu, tlnmf_record *record)
{
    double nmf = 0.0, transform = 0.0;
    for (int i = 0; i < pool->plan.workers; i++) {
        nmf += pool->worker[i].nmf_seconds;
        transform += pool->worker[i].transform_seconds;
    }
    TRY(tlnmf_set_real(pool->ctx, record, "nmf_seconds", nmf));
    TRY(tlnmf_set_real(pool->ctx, record, "transform_seconds", transform));
    TRY(tlnmf_set_real(pool->ctx, record, "wall_seconds", wall));
    return tlnmf_set_real(pool->ctx, record, "cpu_seconds", cpu);
}

bool tl_get_seconds(tl_pool *pool, const tlnmf_record *record, double *wall, double *cpu)
{
    double part = pool->machines == NULL || pool->machines->rank == 0 ? 1.0 : 0.0;
    tl_worker *w = &pool->worker[0]; /* the number of workers may be another one now */
    *wall = tlnmf_get_real(record, "wall_seconds");
    *cpu = part * tlnmf_get_real(record, "cpu_seconds");
    w->nmf_seconds = part * tlnmf_get_real(record, "nmf_seconds");
    w->transform_seconds = part * tlnmf_get_real(record, "transform_seconds");
    return *wall >= 0.0 && *cpu >= 0.0 && w->nmf_seconds >= 0.0 && w->transform_seconds >= 0.0;
}
