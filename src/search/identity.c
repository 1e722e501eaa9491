/* What a checkpoint is of, and how it is compared with a run that goes on from it. */
#include "search/identity.h"
#include "base/record.h"

#include <stdio.h>

enum { FORMAT = 3 };

uint64_t tl_identity_hash(uint64_t h, const void *x, int64_t words)
{
    const unsigned char *at = x;
    for (int64_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, at + i * (int64_t)sizeof word, sizeof word);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h;
}

/* Numbers in a place that all machines agree on. */
static uint64_t hash_at(uint64_t place, const double *x)
{
    return tl_identity_hash(TL_IDENTITY_SEED ^ place * 0x9e3779b97f4a7c15u, x, 1);
}

/* The sum over columns of a hash of each number, its frame and place in it: machines that share the
 * frames out add theirs. */
static uint64_t hash_columns(const tlnmf_data *data)
{
    uint64_t sum = 0;
    for (int64_t m = 0; m < data->M; m++)
        for (int64_t n = 0; n < data->N; n++) {
            uint64_t place = ((uint64_t)(data->first + n) * (uint64_t)data->M + (uint64_t)m) << 12;
            for (int64_t t = data->offset[n]; t < data->offset[n + 1]; t++)
                sum +=
                    hash_at(place + (uint64_t)(t - data->offset[n]) + 1, &data->R[m * data->T + t]);
            if (data->B != NULL) /* weights of frames and entries */
                sum += hash_at(place, &data->B[m * data->N + n]);
        }
    return sum;
}

int64_t tl_identity_data(const tlnmf_data *data)
{
    enum { PARTS = 4, BITS = 16 }; /* a sum of as many 16-bit numbers is exact */
    uint64_t sum = hash_columns(data);
    double part[PARTS];
    for (int i = 0; i < PARTS; i++)
        part[i] = (double)(sum >> BITS * i & 0xffff);
    tl_sums_add(data->sums, part, PARTS);
    sum = 0;
    for (int i = 0; i < PARTS; i++)
        sum += (uint64_t)part[i] << BITS * i;
    return (int64_t)sum;
}

static int64_t hash_start(const tl_pool *pool)
{
    const tl_start *given = &pool->starts.given;
    int64_t M = pool->data->M, N = pool->data->N, K = pool->plan.K;
    uint64_t h = TL_IDENTITY_SEED;
    if (given->Phi != NULL)
        h = tl_identity_hash(h ^ 1, given->Phi, M * M);
    if (given->W != NULL)
        h = tl_identity_hash(h ^ 2, given->W, M * K);
    if (given->H != NULL)
        h = tl_identity_hash(h ^ 4, given->H, K * N);
    return (int64_t)h;
}

tlnmf_error tl_identity_put_options(tlnmf_ctx *ctx, const tl_settings *opt, tlnmf_record *record)
{
    const char *task = tl_task_name(opt->task), *name;
    for (size_t i = 0; (name = tlnmf_option_name(task, i)) != NULL; i++) {
        char field[TL_IDENTITY_TEXT], value[TL_IDENTITY_TEXT];
        if (strcmp(name, "threads") == 0)
            continue;
        const char *text = tlnmf_settings_get_text(opt, name, value, sizeof value);
        snprintf(field, sizeof field, "option.%s", name);
        TRY(tlnmf_set_text(ctx, record, field, text != NULL ? text : ""));
    }
    return TLNMF_OK;
}

tlnmf_error tl_identity_put(tlnmf_ctx *ctx, const tl_pool *pool, const tl_search_task *task,
                            tlnmf_record *record)
{
    TRY(tlnmf_set_text(ctx, record, "kind", "checkpoint"));
    TRY(tlnmf_set_integer(ctx, record, "format", FORMAT));
    TRY(tlnmf_set_text(ctx, record, "version", TLNMF_VERSION));
    TRY(tlnmf_set_text(ctx, record, "task", tl_task_name(task->opt->task)));
    TRY(tlnmf_set_text(ctx, record, "engine", pool->plan.engine->name));
    TRY(tl_identity_put_options(ctx, task->opt, record));
    TRY(tlnmf_set_integer(ctx, record, "M", pool->data->M));
    TRY(tlnmf_set_integer(ctx, record, "N", pool->data->all));
    TRY(tlnmf_set_integer(ctx, record, "columns", pool->columns));
    TRY(tlnmf_set_integer(ctx, record, "data", pool->identity));
    TRY(tlnmf_set_text(ctx, record, "frames", pool->data->sums != NULL ? "shared" : "here"));
    TRY(tlnmf_set_integer(ctx, record, "start", hash_start(pool)));
    if (pool->data->sums != NULL) /* a mean over machines: its last bit depends on their number */
        return TLNMF_OK;
    return tlnmf_set_real(ctx, record, "eps", task->eps); /* threads do not change bits */
}

tlnmf_error tl_identity_copy(tlnmf_ctx *ctx, const tlnmf_record *identity, tlnmf_record *record)
{
    const char *field;
    for (size_t i = 0; (field = tlnmf_record_name(identity, i)) != NULL; i++) {
        const char *text = tlnmf_get_text(identity, field);
        if (text != NULL)
            TRY(tl_record_refer_text(ctx, record, field, text));
        else if (tlnmf_record_type(identity, field) == TLNMF_REAL)
            TRY(tlnmf_set_real(ctx, record, field, tlnmf_get_real(identity, field)));
        else
            TRY(tlnmf_set_integer(ctx, record, field, tlnmf_get_integer(identity, field)));
    }
    return TLNMF_OK;
}

void tl_identity_describe(const tlnmf_record *record, const char *name, char text[TL_IDENTITY_TEXT])
{
    tlnmf_type type = tlnmf_record_type(record, name);
    if (type == TLNMF_TEXT)
        snprintf(text, TL_IDENTITY_TEXT, "%s", tlnmf_get_text(record, name));
    else if (type == TLNMF_INTEGER)
        snprintf(text, TL_IDENTITY_TEXT, "%lld", (long long)tlnmf_get_integer(record, name));
    else if (type == TLNMF_REAL)
        snprintf(text, TL_IDENTITY_TEXT, "%.17g", tlnmf_get_real(record, name));
    else
        snprintf(text, TL_IDENTITY_TEXT, "nothing");
}

tlnmf_error tl_identity_compare(tlnmf_ctx *ctx, const tlnmf_record *now, const tlnmf_record *state)
{
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(now, i)) != NULL; i++) {
        char is[TL_IDENTITY_TEXT], was[TL_IDENTITY_TEXT];
        tl_identity_describe(now, name, is);
        tl_identity_describe(state, name, was);
        if (strcmp(is, was) == 0)
            continue;
        if (strcmp(name, "data") == 0)
            return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is of other data");
        if (strcmp(name, "start") == 0)
            return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is of another given start");
        return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is of %s = %s, this run of %s", name,
                       was, is);
    }
    return TLNMF_OK;
}
