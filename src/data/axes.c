/* Whether the last axis of an array looks like trials, and the first one does not. */
#include "data/data.h"

#include <math.h>

/* x_sn: the logarithm of the power of frame n in realisation s. If the axes are in order,
 * realisations differ by chance alone; if the last axis counts trials, frames do. */
typedef struct powers {
    const double *Y; /* M x N of one realisation */
    int64_t M, N;
    double level;   /* the mean power of a frame */
    double *x;      /* N, of this realisation */
    double *frames; /* N: sums over the realisations */
} powers;

static void measure_frames(int64_t first, int64_t last, void *arg)
{
    const powers *p = arg;
    for (int64_t n = first; n < last; n++)
        p->x[n] = 0.0;
    for (int64_t m = 0; m < p->M; m++)
        for (int64_t n = first; n < last; n++)
            p->x[n] += p->Y[m * p->N + n] * p->Y[m * p->N + n];
    for (int64_t n = first; n < last; n++) {
        p->x[n] = log(p->x[n] / p->level);
        p->frames[n] += p->x[n];
    }
}

/* Sums of squares: between and within realisations, and of neighbouring frames. */
typedef struct spread {
    double between, within, lagged, total;
} spread;

static void add_realisation(const powers *p, spread *sums)
{
    double mean = 0.0;
    for (int64_t n = 0; n < p->N; n++)
        mean += p->x[n] / (double)p->N;
    for (int64_t n = 0; n < p->N; n++) {
        double off = p->x[n] - mean;
        sums->within += off * off;
        sums->lagged += n + 1 < p->N ? off * (p->x[n + 1] - mean) : 0.0;
    }
    sums->between += mean * mean;
    sums->total += mean;
}

/* An analysis of variance: the realisations differ, the frames do not, and neighbouring frames are
 * not correlated, as those of a signal are. */
static bool looks_like_trials(const powers *p, const spread *sums, double S)
{
    const double many = 5.0, few = 3.0; /* standard deviations of chance */
    double N = (double)p->N, mean = sums->total / S, frames = 0.0;
    for (int64_t n = 0; n < p->N; n++) {
        double off = p->frames[n] / S - mean;
        frames += S * off * off;
    }
    double noise = (sums->within - frames) / ((S - 1.0) * (N - 1.0));
    double of_S = N * (sums->between - S * mean * mean) / (S - 1.0);
    double of_N = frames / (N - 1.0), correlation = sums->lagged / sums->within;
    return of_S > noise * (1.0 + many * sqrt(2.0 / (S - 1.0))) &&
           of_N < noise * (1.0 + few * sqrt(2.0 / (N - 1.0))) &&
           fabs(correlation) < few / sqrt(S * N) + 1.0 / N;
}

typedef struct axes_task {
    powers p;
    const double *Y;
    int64_t S;
    bool found;
} axes_task;

static tlnmf_error check_axes(void *arg)
{
    enum { NUMBERS = 8192 }; /* of a piece: 10 us or more */
    axes_task *t = arg;
    powers *p = &t->p;
    spread sums = {0};
    for (int64_t s = 0; s < t->S; s++) {
        p->Y = t->Y + s * p->M * p->N;
        tl_share(p->N, tl_max(64, NUMBERS / p->M), measure_frames, p);
        add_realisation(p, &sums);
    }
    t->found = isfinite(sums.within) && looks_like_trials(p, &sums, (double)t->S);
    return TLNMF_OK;
}

tlnmf_error tl_data_note_axes(tlnmf_ctx *ctx, tlnmf_data *data, const double *Y,
                              const int64_t shape[3])
{
    const int64_t fewest = 8; /* frames */
    axes_task t = {.p = {.M = shape[1], .N = shape[2]}, .Y = Y, .S = shape[0]};
    void *block;
    data->trials_last = false;
    t.p.level = data->mean_power * (double)t.p.M;
    if (t.S < 3 || t.p.M < 2 || t.p.N < fewest || data->frames_comm != NULL || !(t.p.level > 0.0))
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(t.p.x, t.p.N), TL_SLOT(t.p.frames, t.p.N)};
    TRY(TL_ARENA(ctx, "the powers of the frames", table, &block));
    tl_with_threads(tl_thread_count(ctx->threads), check_axes, &t);
    tl_release(&ctx->hooks, block);
    data->trials_last = t.found;
    return TLNMF_OK;
}
