/* The seam between the algorithms and their arithmetic.
 *
 * An engine keeps the arrays of one start wherever it likes: a point (Phi, W, H), what follows from
 * it (X, V, weights), gradients, directions, the pairs of L-BFGS. It does whole phases of the
 * algorithms on them, so that a GPU pays few launches and a cluster few sums. Solvers are written
 * once, in terms of these operations. Numbers in (..) are equations of docs/spec.md. Where words
 * leave a choice (the order of pairs in a sweep, the metric, bounds of norms), the engine of plain
 * loops, naive.c, is the definition: tests hold all others to it. */
#ifndef TLNMF_ENGINE_ENGINE_H
#define TLNMF_ENGINE_ENGINE_H

#include "engine/sums.h"
#include "linalg/linalg.h"
#include "model/model.h"

typedef struct tl_engine_ops tl_engine_ops;

/* What all engines show. */
typedef struct tl_engine {
    const tl_engine_ops *ops;
    int64_t M, N, K;   /* frame length, frames that are here, rank (0: no W and H) */
    double frames;     /* over all machines */
    double mean_power; /* of the data */
    double eps;        /* the floor; a solver may change it between operations */
} tl_engine;

/* What an engine is made for. */
typedef struct tl_engine_spec {
    const tl_model *model;
    unsigned moves; /* parts that descents move: TL_PHI | TL_W | TL_H; 0: there are no descents */
    bool newton;    /* descents may use conjugate gradients */
    tl_sums *sums;  /* NULL: one machine */
} tl_engine_spec;

/* A point on the host for whoever fills it in, with scratch lent for as long. */
typedef struct tl_point {
    int64_t M, N, K;
    double *Phi, *W, *H; /* M x M, M x K, K x N */
    double *E, *Q;       /* scratch, M x M */
    tl_skew *skew;
    tl_lent lent;
} tl_point;
typedef tlnmf_error (*tl_fill)(const tl_point *point, void *user);

/* Ways to choose a direction. */
typedef enum tl_direction {
    TL_QUASI_NEWTON_C, /* (11): C along exp(aE) Phi, W and H kept   */
    TL_QUASI_NEWTON_L, /* (12): L along the polar factor of (I + aE) Phi */
    TL_LBFGS,          /* L-BFGS in the metric of the descent */
    TL_GRADIENT,       /* the same after all its pairs were forgotten: the gradient in the metric */
    TL_NEWTON,         /* where conjugate gradients ended; the step is 1 */
} tl_direction;

typedef struct tl_aim {
    double slope; /* of the objective along the direction */
    double value; /* quasi-Newton on C: C at the point */
    double norm;  /* quasi-Newton on L: as tl_engine_gradient(); Newton: |step| in the metric */
    double
        first; /* L-BFGS: the step to try first; below 1 where 1 might turn a plane by a radian */
    int pairs; /* L-BFGS: pairs that shaped the direction */
} tl_aim;

/* Conjugate gradients on the quadratic model at the point, in the metric (Steihaug). */
typedef struct tl_cg {
    double fall;  /* of the model, by this iteration: negative */
    double rr;    /* r' D^-1 r of its residual r */
    bool at_edge; /* of the region: there is no further iteration */
} tl_cg;

/* Optional operations may be NULL. */
struct tl_engine_ops {
    const char *name;

    tlnmf_error (*create)(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);
    size_t (*bytes)(const tl_engine_spec *spec); /* that create() will allocate */
    void (*free)(tl_engine *e);

    /* ---- the point ---- */

    /* fill() gets the present Phi, W, H on the host; what it does to the parts named is taken up,
     * and X and V follow. Its error is returned, and the point then not defined. */
    tlnmf_error (*fill)(tl_engine *e, unsigned parts, tl_fill fill, void *user);
    /* The point to the host; NULL where it is not wanted. */
    void (*store)(const tl_engine *e, double *Phi, double *W, double *H);
    /* Restores what rounding has lost. TL_PHI: Phi orthogonal, X and V computed afresh from it.
     * TL_W: columns of W that sum to 1, W H unchanged (9). */
    void (*project)(tl_engine *e, unsigned parts);
    /* Whether V, W and H are finite. Where not NULL: energy[m] = sum_n V_mn, and the largest entry
     * of |Phi Phi' - I|. */
    bool (*inspect)(tl_engine *e, double *energy, double *orthogonality);
    /* Optional. rough: products and sweeps may be rounded from now on; false: exact again, the
     * point projected. Returns whether the engine rounds. */
    bool (*precision)(tl_engine *e, bool rough);

    /* ---- at the point ---- */

    tl_values (*values)(tl_engine *e, unsigned which); /* C, L, I */
    /* (10) of C or of L. Returns ||Ganti||_F / 2N; Ganti (M x M, on the host) may be NULL. */
    double (*gradient)(tl_engine *e, unsigned of, double *Ganti);

    /* ---- phases ---- */

    /* `count` updates (7)-(9) of W and H, or (7) of H alone. */
    void (*update)(tl_engine *e, unsigned parts, int64_t count);
    /* (14) on all pairs of rows at the weights of C, or of L with this floor. Pairs that gain less
     * than `least` stay. Returns by how much sum U V fell. */
    double (*sweep)(tl_engine *e, unsigned of, double floor, double least);

    /* ---- a direction and steps along it ---- */

    tl_aim (*aim)(tl_engine *e, tl_direction how);
    double (*try)(tl_engine *e, double a); /* the objective at step a */
    double (*slope)(tl_engine *e);         /* quasi-Newton on C: the slope at the step last tried */
    /* Takes the step last tried, which was a; in a descent the gradient follows, and L-BFGS learns
     * the pair. 0: takes none, and is where it was before the first try. */
    void (*take)(tl_engine *e, double a);

    /* ---- a descent over some parts: of L over Phi alone, else of C ---- */

    /* Its coordinates are the lower triangle of E in exp(E) Phi, and the entries of sqrt W, sqrt H.
     * Starts at the point, without pairs, and computes the gradient. Returns the objective. */
    double (*begin)(tl_engine *e, unsigned over);
    /* sqrt(g' D^-1 g / MN), D the metric, which is renewed first if asked for. */
    double (*norm)(tl_engine *e, bool renew);
    /* Moves entries of W and H away from 0 that have come close to it but should not, if C falls by
     * more than `least` then: a new descent must begin. False if not; the point is as it was. */
    bool (*revive)(tl_engine *e, double least);
    /* Begins conjugate gradients, or does one iteration within a region of this radius. */
    tl_cg (*cg)(tl_engine *e, bool begins, double radius);
};

extern const tl_engine_ops tl_engine_cpu;   /* double precision */
extern const tl_engine_ops tl_engine_mixed; /* products and sweeps in single, where asked to */
extern const tl_engine_ops tl_engine_naive; /* plain loops, for tests and benchmarks alone */

/* The engine that settings ask for. */
const tl_engine_ops *tl_engine_of(const tl_settings *opt);

/* ---- the operations by name ------------------------------------------------------------------ */

static inline tlnmf_error tl_engine_fill(tl_engine *e, unsigned parts, tl_fill fill, void *user)
{
    return e->ops->fill(e, parts, fill, user);
}

/* The point from arrays on the host; a part whose array is NULL stays. */
void tl_engine_load(tl_engine *e, const double *Phi, const double *W, const double *H);

static inline void tl_engine_store(const tl_engine *e, double *Phi, double *W, double *H)
{
    e->ops->store(e, Phi, W, H);
}

static inline void tl_engine_project(tl_engine *e, unsigned parts)
{
    e->ops->project(e, parts);
}

static inline bool tl_engine_inspect(tl_engine *e, double *energy, double *orthogonality)
{
    return e->ops->inspect(e, energy, orthogonality);
}

static inline bool tl_engine_precision(tl_engine *e, bool rough)
{
    return e->ops->precision != NULL && e->ops->precision(e, rough);
}

static inline tl_values tl_engine_values(tl_engine *e, unsigned which)
{
    return e->ops->values(e, which);
}

static inline double tl_engine_gradient(tl_engine *e, unsigned of, double *Ganti)
{
    return e->ops->gradient(e, of, Ganti);
}

static inline void tl_engine_update(tl_engine *e, unsigned parts, int64_t count)
{
    e->ops->update(e, parts, count);
}

static inline double tl_engine_sweep(tl_engine *e, unsigned of, double floor, double least)
{
    return e->ops->sweep(e, of, floor, least);
}

static inline tl_aim tl_engine_aim(tl_engine *e, tl_direction how)
{
    return e->ops->aim(e, how);
}

static inline double tl_engine_try(tl_engine *e, double a)
{
    return e->ops->try(e, a);
}

static inline double tl_engine_slope(tl_engine *e)
{
    return e->ops->slope(e);
}

static inline void tl_engine_take(tl_engine *e, double a)
{
    e->ops->take(e, a);
}

static inline double tl_engine_begin(tl_engine *e, unsigned over)
{
    return e->ops->begin(e, over);
}

static inline double tl_engine_norm(tl_engine *e, bool renew)
{
    return e->ops->norm(e, renew);
}

static inline bool tl_engine_revive(tl_engine *e, double least)
{
    return e->ops->revive(e, least);
}

static inline tl_cg tl_engine_cg(tl_engine *e, bool begins, double radius)
{
    return e->ops->cg(e, begins, radius);
}

#endif
