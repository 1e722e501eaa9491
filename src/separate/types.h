/* What a separation is asked for and what it reports, as plain fields. */
#ifndef TLNMF_SEPARATE_TYPES_H
#define TLNMF_SEPARATE_TYPES_H

#include "base/progress.h"
#include "data/frames.h"
#include "engine/updates.h"

/* Sound that is asked for piece by piece: `count` samples of all channels from `first` on. */
typedef struct tl_sound {
    int64_t length, channels;
    int (*read)(int64_t first, int64_t count, double *x, void *user);
    void *user;
} tl_sound;

/* Source number `source` sounds from sample `start` to before sample `end`. */
typedef struct tl_span {
    int64_t start, end, source;
    double low, high; /* frequencies that it holds, as parts of the rate; high = 0: all of them */
    int64_t anyone;   /* 1: no label says so, but it may, as others may */
} tl_span;

enum { TL_SOURCES_MAX = 64, TL_PER_SOURCE_MAX = 16 };

typedef struct tl_separate_options {
    tl_frames frames;
    int64_t sources;
    int64_t per_source;   /* components a source; 0: 1 to 3, whichever separates best */
    double rate;          /* samples per second */
    int64_t release;      /* samples that a source may go on sounding after its span */
    int64_t learn_frames; /* learn from at most this many frames */
    int64_t band;         /* rows of the transform that are learnt; 0: those that hold the energy */
    int64_t J;            /* outer iterations of learning */
    int64_t starts;       /* random starts where there are no spans */
    int64_t threads;      /* 0: all there are */
    uint64_t seed;
    double eps_rel;      /* the floor as a fraction of the mean power of the frames */
    int32_t method;      /* TL, JD, NMF, or AUTO: learnt or not, whichever separates best */
    int32_t basis;       /* where learning starts, or what is kept */
    int32_t any_window;  /* 1: frames.window may be replaced by the sine window */
    int32_t any_length;  /* 1: frames and hop may be twice as long */
    int32_t any_J;       /* 1: half or twice the iterations, if that separates better */
    int32_t device;      /* a tl_where: of learnt candidates */
    tl_updater *updater; /* where updates run; NULL: here */
} tl_separate_options;

typedef struct tl_separator_info {
    tl_frames frames;
    int64_t sources, per_source;
    int32_t method;        /* TL, JD or NMF */
    int32_t basis;         /* never AUTO */
    double eps;            /* the floor */
    double mean_power;     /* of the windowed frames that it was learnt from */
    double score;          /* SI-SDR in dB on remixed parts of the recording; NaN: there are none */
    double C;              /* of the frames learnt from */
    int64_t learn_frames;  /* how many frames were learnt from */
    int64_t band, remixes; /* rows learnt; how many pairs of parts the score is of */
    int64_t candidates;    /* what was compared */
    int64_t J;             /* iterations of learning; 0: the transform is fixed */
    int32_t outcome;
} tl_separator_info;

/* What can be said about the stems without knowing the truth. */
typedef struct tl_verdict {
    double agreement[TL_SOURCES_MAX]; /* mean SI-SDR in dB of the members' stems to each other */
    double share[TL_SOURCES_MAX];     /* of the energy of all stems */
    double overlap[TL_SOURCES_MAX];   /* part of the stem's energy where others may sound */
    double unexplained;               /* part of the recording's power that lies above the model */
    double coverage; /* part of the labelled time in the mixture whose notes were heard alone */
    double expected[TL_SOURCES_MAX], low[TL_SOURCES_MAX], high[TL_SOURCES_MAX]; /* SI-SDR, dB */
} tl_verdict;

/* How to take a sound apart. Outputs are numbered: the sources, or all components with
 * `components`; then the residual if there is one. They sum to the sound. */
typedef struct tl_separate_run {
    const tl_span *spans; /* NULL: every source may sound at any time */
    int64_t span_count, release;
    double eps;         /* 0: the separator's; with several members, that of the first */
    int32_t notes;      /* 1: this is the recording that was learnt from, whose gates are known */
    int32_t components; /* 1: an output a component */
    int32_t residual;   /* 1: what no source explains is an output of its own */
    int64_t threads;
    tl_updater *updater; /* where H is fitted; NULL: here */
    /* Receives each output once, from its first frame to its last; NULL if only H is wanted. */
    int (*write)(int64_t output, int64_t first, int64_t count, const double *x, void *user);
    void *user;
    double *unexplained;          /* receives the part of the power above the model; or NULL */
    double *H;                    /* K x N, N = tl_frames_count(..); NULL if not wanted */
    struct tl_envelope *envelope; /* receives every output; NULL if not wanted */
    struct tl_blocks *blocks;     /* H of finished blocks (blocks.h); NULL: nobody keeps it */
} tl_separate_run;

typedef struct tl_separator tl_separator;
typedef struct tl_blend tl_blend;
typedef struct tl_keep tl_keep;
typedef struct tl_blocks tl_blocks;

#endif
