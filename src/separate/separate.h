/* From sound to sources: frames to learn from, candidates, how they are judged, and how sound is
 * taken apart with the one that is kept. docs/separation.md describes the method.
 *
 * Samples are read and written, and progress is reported, on the thread of the call. Other threads
 * learn and judge candidates; they do none of this. */
#ifndef TLNMF_SEPARATE_SEPARATE_H
#define TLNMF_SEPARATE_SEPARATE_H

#include "linalg/dft.h"
#include "linalg/linalg.h"
#include "model/kernels.h"
#include "separate/types.h"

/* ---- the separator (separator.c) ------------------------------------------------------------- */

/* What has been learnt. info.outcome is one of three:
 *   TLNMF_ITERATIONS   learnt, and all candidates were tried;
 *   TLNMF_CANCELLED    learnt, and the best of what was tried before the callback said stop;
 *   TLNMF_NOT_RUN      made from a Phi and W that were learnt before. */
struct tl_separator {
    tl_separator_info info;
    int64_t M, K;
    int64_t rows;   /* of V and W: M, or M / 2 + 1 where there is no Phi */
    double *Phi;    /* M x M; NULL: the DFT, cosine and sine of a frequency being one row of V */
    double *W;      /* rows x K */
    int64_t *owner; /* K: the source of each column of W */
    int64_t *gate;  /* K: the gate of a column that is for certain notes alone; -1: none */
    tl_span *open;  /* when gates are open; `source` is the number of the gate */
    int64_t opens;
    tl_hooks hooks;
    void *memory;
};

typedef struct tl_separator_shape {
    int64_t M, K, opens;
    bool spectral; /* no Phi */
} tl_separator_shape;

/* With Phi and W to be filled in; columns belong to no gate, and to source 0. */
tlnmf_error tl_separator_new(tlnmf_ctx *ctx, const tl_separator_shape *shape, tl_separator **out);
/* The numbers of sources and of components per source, which is at least `least`. */
tlnmf_error tl_separator_check_sources(tlnmf_ctx *ctx, const tl_separator_info *info, int least);
/* With copies of Phi and W, which are checked. */
tlnmf_error tl_separator_create(tlnmf_ctx *ctx, const tl_separator_info *info, const double *Phi,
                                const double *W, tl_separator **out);
void tl_separator_free(tl_separator *separator);

/* ---- options (options.c) --------------------------------------------------------------------- */

void tl_separate_init(tl_separate_options *options);
tlnmf_error tl_separate_check(tlnmf_ctx *ctx, const tl_separate_options *options, bool guided);
/* Whether they leave enough open for dictionaries from solos (pool.c): those are of fixed
 * transforms, and have as many columns as they need. */
bool tl_separate_is_open(const tl_separate_options *options);
/* An upper bound on the bytes that learning and running take; 0 while M, hop, shifts or channels
 * are not set. */
double tl_separate_memory(const tl_separate_options *options, int64_t length, int64_t channels);
/* The sizes of the largest run of updates while learning. */
tl_updates tl_separate_largest(const tl_separate_options *options, int64_t length);

/* ---- progress and threads (watch.c) ---------------------------------------------------------- */

/* Candidates that were compared, those that were refused included (trials.c). */
enum { TL_TRIALS_MAX = 32 };
typedef struct tl_trial {
    char what[120];       /* its transform, window, frames and components */
    double score, weight; /* SI-SDR in dB on remixes, NaN: not judged; part of the stems */
    const char *why;      /* it was kept or refused */
} tl_trial;
typedef struct tl_trials {
    int64_t count;
    tl_trial trial[TL_TRIALS_MAX];
} tl_trials;

/* Passes progress on to the caller's callback and remembers whether it said stop. */
typedef struct tl_watch {
    tl_callback callback; /* may be NULL */
    void *user;
    atomic_bool stopped;
    tl_keep *keep;     /* finished candidates (keep.h); NULL: nobody keeps them */
    tl_trials *trials; /* receives what is compared; NULL: nobody wants to know */
} tl_watch;

/* The next trial to fill in; one that is not kept where nobody wants to know, or there are too
 * many. */
tl_trial *tl_trials_next(tl_watch *watch, tl_trial *spare);
/* candidate.what, .score, .weight and .why of a model. */
tlnmf_error tl_trials_to_record(tlnmf_ctx *ctx, const tl_trials *trials, tlnmf_record *model);

/* A tl_callback whose user pointer is the tl_watch. */
int tl_watch_relay(const tl_progress *progress, void *watch);
/* Reports that `done` of `planned` are done; C is NaN where there is none. */
void tl_watch_report(tl_watch *watch, tl_stage stage, int64_t done, int64_t planned, double C);

/* Asks from inside the work whether to stop; NULL: nobody can say so. Only the thread of the call
 * asks the caller, the others look what it was told. */
bool tl_watch_poll(tl_watch *watch_or_null, tl_stage stage);

/* Runs work(job) on this thread and `threads` - 1 others (0: all). */
tlnmf_error tl_separate_on_threads(int64_t threads, tlnmf_error (*work)(void *job), void *job);

/* ---- samples (samples.c) --------------------------------------------------------------------- */

tlnmf_error tl_sound_check(tlnmf_ctx *ctx, const tl_sound *sound);
/* Reads samples first .. first+length-1 of the stretch as far as the sound has them; the others are
 * zero. TLNMF_ERR_CALLBACK if the callback fails, TLNMF_ERR_DATA for a sample that is not finite.
 */
tlnmf_error tl_sound_read(tlnmf_ctx *ctx, const tl_sound *sound, tl_stretch *stretch);
/* energy[h], h < hops: the sum of squares of samples h hop .. (h + 1) hop - 1, all channels. */
tlnmf_error tl_sound_energies(tlnmf_ctx *ctx, const tl_sound *sound, int64_t hop, int64_t hops,
                              double *energy);
/* The mean square of all samples. */
tlnmf_error tl_sound_power(tlnmf_ctx *ctx, const tl_sound *sound, double *power);

/* ---- who sounds when (scene.c) --------------------------------------------------------------- */

/* A source may sound in its spans and for `release` samples after each of them. */
typedef struct tl_schedule {
    const tl_span *spans; /* NULL: blind, every source may sound at any time */
    int64_t count, release, sources;
} tl_schedule;

tlnmf_error tl_schedule_check(tlnmf_ctx *ctx, const tl_schedule *schedule);
/* The sources, one bit each, that may sound in frame n at any of its shifts. */
uint64_t tl_schedule_active(const tl_schedule *schedule, const tl_frames *layout, int64_t n);

/* ---- labels with frequencies (ranges.c) -------------------------------------------------------
 */

/* Which sources may not have which rows of a block of frames. */
typedef struct tl_ranges {
    int64_t rows;
    uint64_t *barred; /* rows x frames, one bit a source */
    tl_hooks hooks;
    void *memory; /* NULL: no label has frequencies */
} tl_ranges;

bool tl_schedule_has_ranges(const tl_schedule *schedule);
/* For blocks of up to `capacity` frames. */
tlnmf_error tl_ranges_create(tlnmf_ctx *ctx, int64_t rows, int64_t capacity, tl_ranges *ranges);
void tl_ranges_free(tl_ranges *ranges);
/* Of frames n[0] .. n[count-1]. */
void tl_ranges_fill(const tl_ranges *ranges, const tl_schedule *schedule, const tl_frames *f,
                    int64_t count, const int64_t *n);

/* ---- the frames to learn from (scene.c) -------------------------------------------------------
 */

/* The frames to learn from, with their samples. */
typedef struct tl_scene {
    const tl_sound *sound;
    tl_schedule schedule;
    tl_frames layout; /* length, hop, shifts, window */
    int64_t frames;   /* how many there are */
    int64_t *n;       /* frames: their numbers in the recording, ascending */
    uint64_t *active; /* frames: the sources that may sound in each */
    double *samples;  /* frames x (M + hop - 1) x channels: each frame at all shifts */
    tl_hooks hooks;
    void *memory;
} tl_scene;

/* At most `most` frames. A silent sound is an error: there is nothing to learn from. */
tlnmf_error tl_scene_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                            const tl_frames *layout, int64_t most, tl_scene *scene);
void tl_scene_free(tl_scene *scene);
tl_stretch tl_scene_stretch(const tl_scene *scene, int64_t i); /* the samples of frame i */

/* ---- updates (factors.c) --------------------------------------------------------------------- */

/* The multiplicative updates (7)-(9) by matrix products, for W with many columns of which some
 * stay. Frames in which H is zero keep their zeros. */
typedef struct tl_factors {
    int64_t rows, N, K; /* of the V at work; at most what the buffers were made for */
    double eps;
    double *U;               /* rows x 2 N: (V + eps) U^2 beside U; or rows x N: 1 / (W H + eps) */
    double *sums;            /* 2 K x N, or 2 rows x K: numerators, each above its denominators */
    double *W_free, *H_free; /* the columns of W that are updated, and their rows of H */
    tl_updater *updater;     /* computes instead; NULL: the cpu does */
} tl_factors;

enum { TL_FACTORS_SLOTS = 4 };
/* For K columns, of which at most `free` are updated at a time. */
void tl_factors_slots(tl_factors *f, int64_t rows, int64_t N, int64_t K, int64_t free,
                      tl_slot slots[TL_FACTORS_SLOTS]);
/* U at W, H, rows x N. */
void tl_factors_weigh(const tl_factors *f, const double *W, const double *H);
/* A run of updates, of the sizes and with the floor of `f`. `watch` may end it; NULL: nobody. */
tlnmf_error tl_factors_run(tlnmf_ctx *ctx, const tl_factors *f, const tl_updates *u,
                           tl_watch *watch);

/* ---- a block of frames (block.c) ------------------------------------------------------------- */

/* About as many columns a block, enough for products to run at full speed in little memory. */
enum { TL_BLOCK_COLUMNS = 512 };

/* Works on `count` frames at a time: begin, cut or take, analyse; then fit, and for each output
 * part and add. Columns are grouped by frame; a frame has one for each shift and channel. */
typedef struct tl_block {
    const tl_framing *framing;
    int64_t M, K, rows, channels;
    int64_t per_frame;       /* columns of a frame: shifts times channels */
    int64_t capacity, count; /* frames that fit, frames there are */
    /* set by the user of the block, and free to change between blocks */
    const double *Phi, *W; /* M x M or NULL for the DFT without a matrix; rows x K */
    const int64_t *owner;  /* K: the source of each column */
    double eps;
    bool paired; /* cosine and sine rows of the DFT share their power: (25) */
    tl_ranges ranges;
    double *Y, *X;   /* M x (count per_frame): frames and their coefficients Phi Y */
    double *V;       /* rows x count */
    double *H;       /* K x count */
    int64_t updates; /* of H, this time */
    double *Vhat;    /* rows x count: W H + eps */
    double *H_part;  /* K x count: rows of H of one output, the others 0 */
    double *mask;    /* rows x count: of one output, (23) */
    double *X_part;  /* M x (count per_frame): coefficients of one output; with Phi alone */
    double *Y_part;  /* M x (count per_frame): frames of one output, in the place of Y */
    tl_factors factors;
    tl_dft_plan dft;
    tl_spectrum *there; /* X is on a device; NULL: here */
    tlnmf_ctx *ctx;     /* of the device's errors */
    tlnmf_error error;  /* of the device; what follows does nothing */
    tl_hooks hooks;
    void *memory;
} tl_block;

/* K = 0: for analysis only. `spectral`: without Phi, M / 2 + 1 rows. */
tlnmf_error tl_block_create(tlnmf_ctx *ctx, const tl_framing *framing, int64_t channels, int64_t K,
                            bool spectral, tl_block *block);
/* With all that the separator says; `framing` must be that of its frames. */
tlnmf_error tl_block_create_for(tlnmf_ctx *ctx, const tl_separator *separator,
                                const tl_framing *framing, int64_t channels, tl_block *block);
/* Leaves updates, and transforms where there is no Phi, to a device; NULL: to the cpu. Messages of
 * block->error go to ctx. */
tlnmf_error tl_block_use(tlnmf_ctx *ctx, tl_updater *updater_or_null, tl_block *block);
void tl_block_free(tl_block *block);

void tl_block_begin(tl_block *block, int64_t count);
/* Frames n .. of the stretch become all frames of the block. */
void tl_block_cut(tl_block *block, const tl_stretch *x, int64_t n);
/* The same with the frames of a scene from `first` on. */
void tl_block_take(tl_block *block, const tl_scene *scene, int64_t first);
/* The first `rows` rows of X and V. */
void tl_block_analyse(tl_block *block, int64_t rows);
/* H with Phi and W as they are, (7), from a start in which the columns that may sound in a frame
 * share its power; then Vhat. may_sound is K x count. */
void tl_block_fit(tl_block *block, const bool *may_sound);
/* Vhat at an H that is known. */
void tl_block_weigh(tl_block *block);
/* Takes the rows that block->ranges bars away from the sources: call it after the fit. */
void tl_block_bar(tl_block *block);

/* The components that make up an output, and what the output gets of the floor: (23). */
typedef struct tl_part {
    uint64_t sources;   /* all components of these sources, one bit each .. */
    int64_t component;  /* .. or this one alone, if it is not negative */
    bool no_floor;      /* the floor belongs to the residual */
    double floor_share; /* in frames where all of H is 0; elsewhere the output's share of H */
} tl_part;

/* The part's frames, in Y_part. False if they are all zero, or a device failed; then there are
 * none. */
bool tl_block_part(tl_block *block, const tl_part *part);
/* Adds the frames of Y_part to y, as frames n ..: overlap-add, (24) without its denominator. */
void tl_block_add(tl_block *block, int64_t n, tl_stretch *y);

/* ---- several separators over one recording (lanes.c) ------------------------------------------
 */

/* Which columns may sound in which frames. */
typedef struct tl_guide {
    tl_schedule schedule;
    bool notes; /* gates open as the separator says; else columns with gates are silent */
} tl_guide;

/* may_sound (K x count) of frames n[0] .. n[count-1]. */
void tl_guide_fill(const tl_guide *guide, const tl_separator *separator, int64_t count,
                   const int64_t *n, bool *may_sound);

/* One separator on its way through the recording. */
typedef struct tl_lane {
    const tl_separator *separator;
    tl_framing framing;
    tl_block block;
    int64_t N, n;         /* frames there are, frames that are done */
    int64_t done;         /* samples before this are complete */
    double *sums;         /* (outputs - 1) x capacity x channels: outputs from `base` on */
    bool *may_sound;      /* K x block capacity */
    int64_t *number;      /* block capacity: frame numbers */
    double *H;            /* K x N, or NULL: where H goes */
    double power, excess; /* sums over the frames so far: of V, and of V above W H + eps */
    tlnmf_ctx ctx;        /* with a message of its own */
    tlnmf_error error;
} tl_lane;

/* Takes a sound apart in several ways at once, a round of samples at a time. */
typedef struct tl_lanes {
    tlnmf_ctx *ctx;
    const tl_sound *sound;
    tl_guide guide;
    int64_t first, last; /* the samples of the sound that are of interest */
    int64_t count, outputs, capacity, round;
    int32_t components, residual;
    tl_updater *updater; /* where H is fitted; NULL: here */
    tl_blocks *blocks;   /* H of blocks that are finished (blocks.h), or NULL */
    bool silent;         /* only H is wanted */
    int64_t base;        /* the first sample in the buffers */
    int64_t ready;       /* samples before this are complete in all lanes */
    int64_t target;      /* ready at the end of the round */
    double *in;          /* capacity x channels: the sound from `base` on */
    double *next;        /* the same from `target` on, which is read while the lanes work */
    bool fetched;        /* `next` is what the next round begins with */
    tlnmf_error failed;  /* of reading ahead */
    /* What else the caller's thread does meanwhile, or NULL. False: it failed, nothing is read. */
    bool (*beside)(void *arg);
    void *beside_arg;
    tl_lane *lane;
    tl_hooks hooks;
    void *memory, *buffers;
} tl_lanes;

/* What is to be taken apart, and how; the other fields of `lanes` are filled in by create. */
tlnmf_error tl_lanes_create(tl_lanes *lanes, const tl_separator *const *separator, int64_t count,
                            double eps_scale);
void tl_lanes_free(tl_lanes *lanes);
/* Works until more samples are ready: base .. ready-1, in `in` and in each lane's sums. False at
 * the end. */
tlnmf_error tl_lanes_advance(tl_lanes *lanes, bool *more);
/* The part of the power so far that lies above the model, mean of the lanes. */
double tl_lanes_unexplained(const tl_lanes *lanes);
/* Output `output` of a lane, all but the last one, from sample `base` on. */
const double *tl_lanes_output(const tl_lanes *lanes, int64_t lane, int64_t output);

/* ---- several separators as one (blend.c) ----------------------------------------------------- */

enum { TL_MEMBERS_MAX = 16 };

/* Each stem is the weighted mean of what the members make of it. */
struct tl_blend {
    tl_separator_info info; /* frames, basis, method: of the first member */
    int64_t members;
    tl_separator *member[TL_MEMBERS_MAX];
    double weight[TL_MEMBERS_MAX]; /* sum to 1, the largest first */
    tl_verdict verdict;
    tl_hooks hooks;
};

void tl_blend_free(tl_blend *blend);

/* ---- remixes (remix.c) ----------------------------------------------------------------------- */

enum { TL_REMIXES = 4 }; /* at most; docs/separation.md */

/* Pairs of passages of the recording in which no source sounds in both: their sum is a mixture
 * whose two parts are known. */
typedef struct tl_remix {
    int64_t count, channels, longest; /* longest: length of a pair */
    struct {
        uint64_t sources[2]; /* that sound in each passage, one bit each */
        int64_t start[2];    /* where they are in the recording */
        int64_t length;      /* samples */
        int64_t trim;        /* samples in which a foreign source may ring on */
        double *x[2];        /* length x channels: the passages */
    } pair[TL_REMIXES];
    tl_updater *updater; /* set by the user: where H is fitted; NULL: here */
    tl_hooks hooks;
    void *memory;
} tl_remix;

/* No pairs (count = 0) where the schedule is blind or no two passages fit. Passages are of at least
 * `shortest` samples and at most `longest`. */
tlnmf_error tl_remix_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_schedule *schedule,
                            int64_t shortest, int64_t longest, tl_remix *remix);
void tl_remix_free(tl_remix *remix);
/* The mean SI-SDR in dB of what the separator makes of the parts; NaN without pairs. */
tlnmf_error tl_remix_judge(tlnmf_ctx *ctx, const tl_remix *remix, const tl_separator *separator,
                           double *score);

/* ---- the two calls (choose.c, run.c) --------------------------------------------------------- */

/* Tries candidates and returns the best, or several; outcome as described above. No spans: blind.
 */
tlnmf_error tl_blend_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                           int64_t span_count, const tl_separate_options *options, tl_watch *watch,
                           tl_blend **out);
/* Takes sound apart, block by block. Stopped early if watch->stopped. TLNMF_ERR_CALLBACK if reading
 * or writing fails. */
tlnmf_error tl_blend_run(tlnmf_ctx *ctx, const tl_blend *blend, const tl_sound *sound,
                         const tl_separate_run *run, tl_watch *watch);
/* The same with a blend of one. */
tlnmf_error tl_separator_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                               int64_t span_count, const tl_separate_options *options,
                               tl_watch *watch, tl_separator **out);
tlnmf_error tl_separator_run(tlnmf_ctx *ctx, const tl_separator *separator, const tl_sound *sound,
                             const tl_separate_run *run, tl_watch *watch);

#endif
