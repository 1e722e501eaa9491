/* The options of a separation: defaults, ranges, and the memory they lead to. */
#include "separate/study.h"

#include <math.h>

void tl_separate_init(tl_separate_options *options)
{
    *options = (tl_separate_options){.learn_frames = 600,
                                     .J = 10,
                                     .starts = 8,
                                     .seed = 1,
                                     .eps_rel = 1e-2,
                                     .method = TL_METHOD_AUTO,
                                     .basis = TL_BASIS_AUTO,
                                     .any_window = 1,
                                     .any_length = 1,
                                     .any_J = 1};
    tl_frames_init(&options->frames);
}

tlnmf_error tl_separate_check(tlnmf_ctx *ctx, const tl_separate_options *opt, bool guided)
{
    const struct {
        const char *name;
        int64_t value, low, high;
    } ranges[] = {{"k", opt->sources, 1, TL_SOURCES_MAX},
                  {"per-source", opt->per_source, 0, TL_PER_SOURCE_MAX},
                  {"release", opt->release, 0, (int64_t)1 << 40},
                  {"learn-frames", opt->learn_frames, 1, 1000000},
                  {"band", opt->band, 0, (int64_t)1 << 20},
                  {"J", opt->J, 1, 1000000},
                  {"starts", opt->starts, 1, 1000000},
                  {"threads", opt->threads, 0, TL_THREADS_MOST},
                  {"method", opt->method, TL_METHOD_TL, TL_METHOD_AUTO},
                  {"basis", opt->basis, TL_BASIS_AUTO, TL_BASIS_STFT}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].value < ranges[i].low || ranges[i].value > ranges[i].high)
            return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %lld is outside [%lld, %lld]",
                           ranges[i].name, (long long)ranges[i].value, (long long)ranges[i].low,
                           (long long)ranges[i].high);
    if (!(opt->eps_rel >= 1e-30 && opt->eps_rel <= 1e6))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "eps-rel = %g is outside [1e-30, 1e+06]",
                       opt->eps_rel);
    if (!guided && opt->per_source > 1)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "per-source = %lld: without labels nothing says which components belong "
                       "together",
                       (long long)opt->per_source);
    return tl_frames_check(ctx, &opt->frames);
}

bool tl_separate_is_open(const tl_separate_options *opt)
{
    return opt->method == TL_METHOD_AUTO && opt->per_source == 0 &&
           (opt->basis == TL_BASIS_AUTO || opt->basis == TL_BASIS_STFT);
}

/* Numbers that a block of frames of M samples and its lane take. */
static double lane_numbers(const tl_separate_options *opt, double M, double K, double outputs,
                           double channels)
{
    const tl_frames *f = &opt->frames;
    double threads = tl_thread_count(opt->threads);
    double per_frame = (double)f->shifts * channels, columns = fmax(TL_BLOCK_COLUMNS, per_frame);
    double capacity = columns / per_frame, hop = M * (double)f->hop / (double)f->M;
    double samples = 32.0 * hop + 2.0 * (M + 2.0 * hop);
    return 4.0 * M * columns + 6.0 * M * capacity + 5.0 * K * capacity +
           (8.0 + 48.0 * threads) * M + (outputs + 2.0) * samples * channels;
}

/* Candidates of fixed and of learnt transforms, one after another. */
static double choice_numbers(const tl_separate_options *opt, double N, double channels)
{
    const tl_frames *f = &opt->frames;
    double longer = opt->any_length && opt->method == TL_METHOD_AUTO ? 2.0 : 1.0;
    double M = longer * (double)f->M, per_frame = (double)f->shifts * channels;
    double frames = fmin(N, (double)opt->learn_frames);
    double band = opt->band > 0 ? (double)opt->band : fmin(M, 400.0);
    double K = (double)opt->sources * (opt->per_source > 0 ? (double)opt->per_source : 3.0);
    double scene = frames * (M + (double)f->hop) * channels;
    double factors = 4.0 * (M * frames + (M + frames) * K);
    double transforms = (4.0 + 2.0 * longer) * M * M;
    double learning =
        opt->method == TL_METHOD_NMF
            ? 0.0
            : band * frames * (per_frame + 6.0 * fmin(per_frame, band)) + 14.0 * band * band;
    return scene + factors + transforms + learning + K * N + lane_numbers(opt, M, K, K, channels);
}

/* Dictionaries from solos at frames of twice and four times the length. */
static double pool_numbers(const tl_separate_options *opt, double N, double channels)
{
    const tl_frames *f = &opt->frames;
    double M = (double)f->M * (opt->any_length ? 4.0 : 1.0), rows = 0.5 * M + 1.0;
    double frames = fmin(N, (double)opt->learn_frames), sources = (double)opt->sources;
    double K = sources * fmin(16.0, fmax(4.0, 128.0 / sources)), wide = 31.0 * K;
    double scenes = 2.0 * frames * (M + (double)f->hop * M / (double)f->M) * channels;
    double studies = 10.0 * rows * frames + wide * (2.0 * rows + 6.0 * frames);
    double others = (double)tl_min(tl_thread_count(opt->threads), TL_CANDIDATES_AT_ONCE) - 1.0;
    double candidates =
        12.0 * rows * 4.0 * K + others * (4.0 * rows * frames + 8.0 * K * (rows + frames));
    return scenes + studies + candidates +
           TL_CANDIDATES_AT_ONCE * lane_numbers(opt, M, 4.0 * K, sources, channels);
}

tl_updates tl_separate_largest(const tl_separate_options *opt, int64_t length)
{
    int64_t N = tl_min(tl_frames_count(&opt->frames, length), opt->learn_frames);
    if (!tl_separate_is_open(opt)) { /* choose.c */
        int64_t longer = opt->any_length && opt->method == TL_METHOD_AUTO ? 2 : 1;
        return (tl_updates){.rows = longer * opt->frames.M,
                            .N = N,
                            .K = tl_max(1, opt->sources) * tl_max(opt->per_source, 3),
                            .moves_W = true};
    }
    int64_t M = opt->frames.M * (opt->any_length ? 4 : 1), sources = tl_max(1, opt->sources);
    int64_t columns = sources * tl_min(16, tl_max(4, 128 / sources));
    return (tl_updates){.rows = M / 2 + 1, .N = N, .K = TL_SHIFTS * columns};
}

double tl_separate_memory(const tl_separate_options *opt, int64_t length, int64_t channels)
{
    const tl_frames *f = &opt->frames;
    if (f->M < 1 || f->hop < 1 || f->shifts < 1 || channels < 1)
        return 0.0;
    double N = (double)tl_frames_count(f, length);
    double numbers = choice_numbers(opt, N, (double)channels);
    if (tl_separate_is_open(opt))
        numbers = fmax(numbers, pool_numbers(opt, N, (double)channels));
    return 8.0 * numbers;
}
