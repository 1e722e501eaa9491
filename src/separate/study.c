/* One representation of a recording: the STFT of the frames to learn from, and who is alone when.
 */
#include "separate/study.h"

/* Seconds of solo that are enough for a dictionary. */
static const double SOLO = 0.4;

/* V through a block that is used for this alone. */
static tlnmf_error analyse(tl_study *s, const tl_framing *framing)
{
    tl_block block;
    TRY(tl_block_create(s->ctx, framing, s->scene->sound->channels, 0, true, &block));
    for (int64_t first = 0; first < s->N; first += block.capacity) {
        int64_t count = tl_min(block.capacity, s->N - first);
        tl_block_begin(&block, count);
        tl_block_take(&block, s->scene, first);
        tl_block_analyse(&block, s->rows);
        for (int64_t m = 0; m < s->rows; m++)
            tl_copy(s->V + m * s->N + first, block.V + m * count, count);
    }
    tl_block_free(&block);
    return TLNMF_OK;
}

static tlnmf_error set_floor(tl_study *s)
{
    double sum = 0.0;
    for (int64_t m = 0; m < s->rows; m++)
        for (int64_t i = 0; i < s->N; i++)
            s->power[i] += s->V[m * s->N + i];
    for (int64_t i = 0; i < s->N; i++)
        sum += s->power[i];
    s->mean_power = sum / ((double)s->rows * (double)s->N);
    s->eps = s->opt->eps_rel * s->mean_power;
    if (!(s->eps >= 1e-290 && s->eps <= 1e290)) /* so that 1 / eps is finite */
        return tl_fail(s->ctx, TLNMF_ERR_DATA,
                       "eps-rel = %g of a mean power of %g is no usable floor", s->opt->eps_rel,
                       s->mean_power);
    return TLNMF_OK;
}

int64_t tl_study_solo(const tl_study *s, int64_t i)
{
    uint64_t active = s->scene->active[i];
    return __builtin_popcountll(active) == 1 ? __builtin_ctzll(active) : -1;
}

bool tl_study_touches(const tl_study *s, int64_t i, int64_t start, int64_t end)
{
    int64_t first = tl_frame_first(&s->frames, s->scene->n[i]);
    return start < first + s->frames.M && first - s->frames.hop + 1 < end;
}

static void find_solos(tl_study *s)
{
    int64_t count[TL_SOURCES_MAX] = {0};
    for (int64_t i = 0; i < s->N; i++) {
        int64_t solo = tl_study_solo(s, i);
        if (solo >= 0)
            count[solo]++;
        s->mixed[i] = __builtin_popcountll(s->scene->active[i]) > 1;
        s->mixed_count += s->mixed[i];
    }
    int64_t all = tl_frames_count(&s->frames, s->scene->sound->length);
    double seconds = (double)s->frames.hop / s->opt->rate * (double)all / (double)s->N;
    for (int64_t r = 0; r < s->opt->sources; r++)
        s->alone[r] = (double)count[r] * seconds > SOLO;
}

tlnmf_error tl_study_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_separate_options *opt,
                            tl_window window, tl_study *s)
{
    int64_t rows = scene->layout.M / 2 + 1, N = scene->frames;
    *s = (tl_study){.ctx = ctx,
                    .opt = opt,
                    .scene = scene,
                    .frames = scene->layout,
                    .rows = rows,
                    .N = N,
                    .hooks = ctx->hooks};
    s->frames.window = (int32_t)window;
    tl_slot table[] = {TL_SLOT(s->V, rows * N), TL_SLOT(s->power, N), TL_SLOT(s->mixed, N)};
    tl_framing framing;
    TRY(tl_check_size(ctx, "the frames to learn from", N));
    TRY(TL_ARENA(ctx, "the frames to learn from", table, &s->memory));
    tlnmf_error error = tl_framing_create(ctx, &s->frames, &framing);
    if (error == TLNMF_OK) {
        error = analyse(s, &framing);
        tl_framing_free(&framing);
    }
    if (error == TLNMF_OK)
        error = set_floor(s);
    if (error != TLNMF_OK)
        tl_study_free(s);
    else
        find_solos(s);
    return error;
}

void tl_study_free(tl_study *s)
{
    tl_release(&s->hooks, s->memory);
    s->memory = NULL;
}
