/* The options of a separation: defaults, ranges, and the memory they lead to. */
#include "sound/learn/learn_options.h"
#include "sound/learn/course.h"
#include "sound/learn/learn.h"
#include "sound/learn/notes.h"
#include "sound/render/passes.h"

#include <math.h>

tlnmf_error tl_learn_floor(tlnmf_ctx *ctx, const tl_learn_options *opt, double mean_power,
                           double *eps)
{
    bool unknown = mean_power == 0.0 && tl_poll(ctx->monitor); /* stopped before the first frame */
    *eps = opt->set.eps_rel * (unknown ? 1.0 : mean_power);
    if (!(*eps >= 1e-290 && *eps <= 1e290)) /* so that 1 / eps is finite */
        return tl_fail(ctx, TLNMF_ERR_DATA,
                       "eps-rel = %g times the mean power, %g, is not a usable floor",
                       opt->set.eps_rel, mean_power);
    return TLNMF_OK;
}

bool tl_learn_may_use_solos(const tl_learn_options *opt)
{
    return opt->set.method == TL_METHOD_AUTO && opt->set.per_source == 0 &&
           (opt->set.basis == TL_BASIS_AUTO || opt->set.basis == TL_BASIS_STFT);
}

/* The most columns of a dictionary from solos. */
static int64_t count_columns(int64_t sources)
{
    return sources * tl_dictionary_columns_most(sources);
}

/* The numbers of a pass with frames of M samples, its block of frames included. */
static double pass_numbers(const tl_learn_options *opt, double M, double K, double outputs,
                           double channels)
{
    const tl_frames *f = &opt->frames;
    double threads = tl_thread_count(opt->set.threads);
    double per_frame = (double)f->shifts * channels, columns = fmax(TL_BLOCK_COLUMNS, per_frame);
    double capacity = columns / per_frame, hop = M * (double)f->hop / (double)f->M;
    double samples = TL_ROUND * hop + 2.0 * (M + 2.0 * hop);
    return 4.0 * M * columns + 6.0 * M * capacity + 5.0 * K * capacity +
           (8.0 + 48.0 * threads) * M + (outputs + 2.0) * samples * channels;
}

/* Candidates of fixed and of learnt transforms, learnt sequentially (candidates.c). */
static double choice_numbers(const tl_learn_options *opt, double N, double channels)
{
    const tl_frames *f = &opt->frames;
    double longer = opt->any_length && opt->set.method == TL_METHOD_AUTO ? 2.0 : 1.0;
    double M = longer * (double)f->M, per_frame = (double)f->shifts * channels;
    double frames = fmin(N, (double)opt->set.learn_frames);
    double band = opt->band > 0 ? (double)opt->band : fmin(M, TL_BAND_MOST);
    double K = (double)opt->sources *
               (double)(opt->set.per_source > 0 ? opt->set.per_source : TL_PER_SOURCE_TRIED);
    double scene = frames * (M + (double)f->hop) * channels;
    double factors = 4.0 * (M * frames + (M + frames) * K);
    double transforms = (4.0 + 2.0 * longer) * M * M;
    double learning =
        opt->set.method == TL_METHOD_NMF
            ? 0.0
            : band * frames * (per_frame + 6.0 * fmin(per_frame, band)) + 14.0 * band * band;
    return scene + factors + transforms + learning + K * N + pass_numbers(opt, M, K, K, channels);
}

/* Dictionaries from solos at frames of twice and four times the length. */
static double guided_numbers(const tl_learn_options *opt, double N, double channels)
{
    const tl_frames *f = &opt->frames;
    double M = (double)f->M * (opt->any_length ? 4.0 : 1.0), rows = 0.5 * M + 1.0;
    double frames = fmin(N, (double)opt->set.learn_frames), sources = (double)opt->sources;
    double K = (double)count_columns(tl_max(1, opt->sources)), wide = TL_SHIFTS * K;
    double scenes = 2.0 * frames * (M + (double)f->hop * M / (double)f->M) * channels;
    double studies = 10.0 * rows * frames + wide * (2.0 * rows + 6.0 * frames);
    double others = (double)tl_min(tl_thread_count(opt->set.threads), TL_CANDIDATES_AT_ONCE) - 1.0;
    double candidates =
        12.0 * rows * 4.0 * K + others * (4.0 * rows * frames + 8.0 * K * (rows + frames));
    return scenes + studies + candidates +
           TL_CANDIDATES_AT_ONCE * pass_numbers(opt, M, 4.0 * K, sources, channels);
}

tl_updates tl_learn_largest_updates(const tl_learn_options *opt, int64_t length)
{
    int64_t N = tl_min(tl_frames_count(&opt->frames, length), opt->set.learn_frames);
    if (!tl_learn_may_use_solos(opt)) { /* candidates.c */
        int64_t longer = opt->any_length && opt->set.method == TL_METHOD_AUTO ? 2 : 1;
        return (tl_updates){.rows = longer * opt->frames.M,
                            .N = N,
                            .K = tl_max(1, opt->sources) *
                                 tl_max(opt->set.per_source, TL_PER_SOURCE_TRIED),
                            .moves_W = true};
    }
    return (tl_updates){.rows = opt->frames.M * (opt->any_length ? 4 : 1) / 2 + 1,
                        .N = N,
                        .K = TL_SHIFTS * count_columns(tl_max(1, opt->sources))};
}

double tl_learn_memory(const tl_learn_options *opt, int64_t length, int64_t channels)
{
    double N = (double)tl_frames_count(&opt->frames, length);
    double numbers = choice_numbers(opt, N, (double)channels);
    if (tl_learn_may_use_solos(opt))
        numbers = fmax(numbers, guided_numbers(opt, N, (double)channels));
    return 8.0 * numbers;
}
