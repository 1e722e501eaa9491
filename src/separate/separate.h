/* From sound to sources: what to learn from, what to learn, how to judge it, how to take sound
 * apart with it. docs/separation.md tells the whole story. */
#ifndef TLNMF_SEPARATE_SEPARATE_H
#define TLNMF_SEPARATE_SEPARATE_H

#include "data/frames.h"
#include "linalg/linalg.h"
#include "model/kernels.h"

struct tl_separator {
    tl_separator_info info;
    int64_t M, K;
    double *Phi, *W;
    tl_hooks hooks;
    void *block;
};

/* ---- sound and spans (scene.c) --------------------------------------------------------------- */

/* Reads what there is of samples first .. first+length-1; the rest of the stretch is zero. */
tlnmf_error tl_sound_read(tlnmf_ctx *ctx, const tl_sound *sound, tl_stretch *stretch);
tlnmf_error tl_sound_check(tlnmf_ctx *ctx, const tl_sound *sound);
tlnmf_error tl_spans_check(tlnmf_ctx *ctx, const tl_span *spans, int64_t count, int64_t sources);

/* The sources, a bit each, that may sound in frame n: all of them without spans. */
uint64_t tl_active_in(const tl_frames *frames, const tl_span *spans, int64_t count, int64_t release,
                      int64_t sources, int64_t n);

/* The frames to learn from, with their samples. */
typedef struct tl_scene {
    const tl_sound *sound;
    const tl_span *spans;
    int64_t span_count;
    tl_frames frames;
    int64_t L;        /* how many frames */
    int64_t *n;       /* which */
    uint64_t *active; /* the sources that may sound in each */
    double *samples;  /* hop + M - 1 frames of all channels each */
    double power;     /* mean square of those samples */
    tl_hooks hooks;
    void *block;
} tl_scene;

tlnmf_error tl_scene_create(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                            int64_t span_count, const tl_separate_options *opt,
                            const tl_frames *frames, tl_scene *scene);
void tl_scene_free(tl_scene *scene);
tl_stretch tl_scene_stretch(const tl_scene *scene, int64_t i); /* frame i's samples */

/* ---- a block of frames (engine.c) ------------------------------------------------------------ */

/* Room for up to `most` frames at a time; Phi, W, eps and `paired` may change between blocks. */
typedef struct tl_engine {
    const tl_framing *framing;
    int64_t M, K, channels, most;
    int64_t each; /* columns a frame: shifts times channels */
    const double *Phi, *W;
    double eps;
    bool paired;    /* cosine and sine rows of the DFT share their power: STFT */
    double *Y, *X;  /* M x (most each): frames and their coefficients */
    double *V, *H;  /* M x most, K x most */
    double *Vhat;   /* M x most: W H + eps */
    double *mask;   /* M x most */
    double *H_part; /* K x most: one output's rows of H */
    double *Z;      /* M x (most each): one output's frames */
    tl_mu mu;
    tl_hooks hooks;
    void *block;
} tl_engine;

tlnmf_error tl_engine_create(tlnmf_ctx *ctx, const tl_framing *framing, int64_t K, int64_t channels,
                             tl_engine *engine);
void tl_engine_free(tl_engine *engine);

/* Frame n of a stretch to place i of a block of `count`; then the first
 * `rows` rows of X and V of all `count`. */
void tl_engine_put(tl_engine *engine, const tl_stretch *x, int64_t n, int64_t i, int64_t count);
void tl_engine_transform(tl_engine *engine, int64_t rows, int64_t count);
/* H with Phi and W as they are, from `active` sources (a bit each) per frame: (7). */
void tl_engine_fit_H(tl_engine *engine, int64_t count, int64_t per_source, const uint64_t *active);

/* Which components make an output: first .. first+members-1, or those of the sources in a set. */
typedef struct tl_part {
    uint64_t sources;   /* a bit each; used if `members` is 0 */
    int64_t per_source; /* components of each of them */
    int64_t first, members;
    double floor_share; /* of the floor where H is all zero: 1 / outputs */
    bool no_floor;      /* the floor belongs to the residual: (23) */
} tl_part;

/* The part's share of every coefficient, (23), back to frames, left in Z. False if it is all zero.
 * tl_engine_weigh must have been called after H was fitted. */
void tl_engine_weigh(tl_engine *engine, int64_t count);
bool tl_engine_part(tl_engine *engine, int64_t count, const tl_part *part);
void tl_engine_add(const tl_engine *engine, int64_t n, int64_t i, int64_t count, tl_stretch *y);

/* ---- remixes (remix.c) ----------------------------------------------------------------------- */

/* Two stretches of the recording in which no source sounds in both: their sum is a mixture whose
 * parts are known. */
enum { TL_REMIXES = 4 };
typedef struct tl_remix {
    int64_t count, channels;
    struct {
        uint64_t sources[2];
        int64_t length;
        double *x[2];
    } pair[TL_REMIXES];
    double *mix, *part; /* as long as the longest */
    tl_hooks hooks;
    void *block;
} tl_remix;

tlnmf_error tl_remix_create(tlnmf_ctx *ctx, const tl_scene *scene, int64_t sources,
                            tl_remix *remix);
void tl_remix_free(tl_remix *remix);
/* Mean SI-SDR of the parts that the engine, with its Phi and W, gets out of the mixtures. */
double tl_remix_judge(const tl_remix *remix, tl_engine *engine, int64_t per_source);

/* ---- the object (separator.c) ---------------------------------------------------------------- */

tlnmf_error tl_separator_new(tlnmf_ctx *ctx, int64_t M, int64_t K, tl_separator **out);

#endif
