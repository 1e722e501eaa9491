/* The engine: the interface between the algorithms and their arithmetic.
 *
 * An engine keeps the arrays of one start in host memory or on a GPU: a point (Phi, W, H), X, V and
 * the weights that follow from it, gradients, directions, the pairs of L-BFGS. Its operations are
 * whole phases of the algorithms, so that a GPU needs few launches and a cluster few sums. Solvers
 * are written once, in terms of these operations, and see host memory only through fill, store,
 * inspect and gradient. Numbers in (..) are equations of docs/spec.md.
 *
 * `precision` is optional. Only the paper's solvers use `slope`; only descents
 * (tl_engine_spec.moves) use begin, norm and revive. Operations on the host cannot fail once the
 * engine is created. On a device they may; the failure is then in tl_engine.fault. `fill`
 * returns the error of its function. The naive engine defines what these comments leave open
 * (the order of pairs in a sweep, the metric, bounds of norms): tests compare all other engines
 * with it. */
#ifndef TLNMF_ENGINE_ENGINE_H
#define TLNMF_ENGINE_ENGINE_H

#include "base/monitor.h"
#include "linalg/linalg.h"
#include "model/model.h"

typedef struct tl_engine_ops tl_engine_ops;

/* The part that all engines have in common; an engine's own struct begins with it. */
typedef struct tl_engine {
    const tl_engine_ops *ops;
    int64_t M, N, K;   /* frame length, local frames, rank (0: no W and H) */
    double frames;     /* number of frames on all processes */
    double mean_power; /* mean of the squared data */
    double eps;        /* the floor; a solver may change it between operations */
    /* Why an operation failed: a lost device, no memory there. The engine sets it; further
     * operations may then do nothing, the run ends and the search returns the error. */
    tlnmf_error fault;
    const char *why;
    /* May be NULL. Long operations poll it, on any of their threads. If the call must end, an
     * operation may skip the rest of its work, as long as the point stays consistent. */
    tl_monitor *monitor;
} tl_engine;

/* The numbers of coordinates of a descent: of E in exp(E) Phi, of W, of H, and of all. */
typedef struct tl_counts {
    int64_t Phi, W, H, all;
} tl_counts;

/* Those of a descent over these parts. */
static inline tl_counts tl_counts_of(unsigned parts, int64_t M, int64_t N, int64_t K)
{
    tl_counts n = {.Phi = parts & TL_PHI ? M * (M - 1) / 2 : 0,
                   .W = parts & TL_W ? M * K : 0,
                   .H = parts & TL_H ? K * N : 0};
    n.all = n.Phi + n.W + n.H;
    return n;
}

/* The purpose that an engine is created for. */
typedef struct tl_engine_spec {
    const tl_model *model;
    unsigned moves;       /* parts that descents may move: TL_PHI | TL_W | TL_H; 0: no descents */
    tl_comm *frames_comm; /* NULL: one process has all frames */
    int64_t threads;      /* of the call that will use it: for how many there is scratch; 0: one */
} tl_engine_spec;

/* A point in host memory for a tl_fill to write, with scratch that it may use during the call. An
 * engine whose arrays are elsewhere keeps both for this purpose. */
typedef struct tl_point tl_point;
struct tl_point {
    int64_t M, N, K;
    double *Phi, *W, *H; /* M x M, M x K, K x N */
    double *E, *Q;       /* scratch, M x M */
    tl_skew *skew;
    tl_lent lent;
    /* May be NULL. Makes Phi orthogonal where that is faster than on the host; false, with Phi
     * unchanged, where it is not. */
    bool (*orthogonalise)(const tl_point *point);
    void *orthogonalise_user;
};
typedef tlnmf_error (*tl_fill)(const tl_point *point, void *user);

/* Ways to choose a direction. */
typedef enum tl_direction {
    TL_QUASI_NEWTON_C, /* (11): C along exp(aE) Phi, W and H kept   */
    TL_QUASI_NEWTON_L, /* (12): L along the polar factor of (I + aE) Phi */
    TL_LBFGS,          /* L-BFGS in the metric of the descent */
    TL_GRADIENT, /* the same after L-BFGS has forgotten its pairs: the gradient in the metric */
} tl_direction;

typedef struct tl_aim {
    double slope; /* derivative of the objective along the direction */
    double value; /* quasi-Newton on C: C at the point */
    double norm;  /* quasi-Newton on L: as tl_engine_gradient() */
    double first; /* L-BFGS: first trial step: 1, or less if that would rotate a plane by over a
                     radian */
    int pairs;    /* L-BFGS: number of pairs that the direction is made from */
} tl_aim;

/* Properties of a point. */
typedef struct tl_inspection {
    double *energy;       /* M: receives energy[m] = sum_n V_mn; or NULL */
    double orthogonality; /* the largest entry of |Phi Phi' - I| */
    double below_floor;   /* fraction of the entries of V with a weight that are below the floor */
    double power_below;   /* sum of these entries */
} tl_inspection;

/* The operations of an engine. */
struct tl_engine_ops {
    const char *name;
    int at_once; /* starts that should run concurrently; 0: one per thread */

    tlnmf_error (*create)(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);
    size_t (*bytes)(const tl_engine_spec *spec); /* bytes that create() will allocate */
    void (*free)(tl_engine *e);

    /* ---- the point ---- */

    /* Calls fill() with the current Phi, W, H in host memory. The values that fill() writes to
     * the parts named in `parts` become the point; X and V are updated. If fill() fails, its
     * error is returned and the point is undefined. */
    tlnmf_error (*fill)(tl_engine *e, unsigned parts, tl_fill fill, void *user);
    /* Copies the point to host memory; NULL skips a part. */
    void (*store)(const tl_engine *e, double *Phi, double *W, double *H);
    /* Restores constraints that rounding has violated. TL_PHI: Phi orthogonal, X and V recomputed.
     * TL_W: columns of W that sum to 1, (9). */
    void (*project)(tl_engine *e, unsigned parts);
    /* True if V, W and H are finite. If not NULL, `found` receives its properties. */
    bool (*inspect)(tl_engine *e, tl_inspection *found);
    /* May be NULL. rough = true: products and sweeps may be rounded from now on. rough = false:
     * they are exact again, and the point is projected. Returns whether the engine now rounds. */
    bool (*precision)(tl_engine *e, bool rough);

    /* ---- at the point ---- */

    tl_values (*values)(tl_engine *e, unsigned which); /* C, L, I */
    /* (10) of C or of L. Returns ||Ganti||_F / 2N. Ganti (M x M, host memory) may be NULL. */
    double (*gradient)(tl_engine *e, unsigned of, double *Ganti);

    /* ---- phases ---- */

    /* `count` updates (7)-(9) of W and H, or (7) of H alone; fewer if a poll says stop. */
    void (*update)(tl_engine *e, unsigned parts, int64_t count);
    /* (14) for all pairs of rows, at the weights of C, or of L with this floor. Pairs that would
     * gain less than `least` are skipped, and so may be those after a poll has said stop.
     * Returns by how much sum U V fell. */
    double (*sweep)(tl_engine *e, unsigned of, double floor, double least);

    /* ---- a direction and steps along it ---- */

    tl_aim (*aim)(tl_engine *e, tl_direction how);
    double (*try)(tl_engine *e, double a); /* the objective at step a */
    double (*slope)(tl_engine *e);         /* TL_QUASI_NEWTON_C: the slope at the last step tried */
    /* Accepts the last step tried, which was a. In a descent it also computes the gradient there,
     * and L-BFGS stores the pair. a = 0: rejects all tries and restores the point before the
     * first. */
    void (*take)(tl_engine *e, double a);

    /* ---- a descent over some parts: of L over Phi alone, else of C ---- */

    /* Begins a descent at the point: computes the objective, which is returned, and the gradient;
     * L-BFGS has no pairs yet. The coordinates are the lower triangle of E in exp(E) Phi, then the
     * entries of sqrt W and sqrt H. */
    double (*begin)(tl_engine *e, unsigned over);
    /* The same as gradient() in a descent over Phi, from the gradient that begin() or take() has
     * computed. NULL: the engine has no faster way. */
    double (*known_gradient)(const tl_engine *e);
    /* sqrt(g' D^-1 g / MN), where D is the metric, recomputed first if `renew`. */
    double (*norm)(tl_engine *e, bool renew);
    /* Enlarges entries of W and H that came close to 0 but should grow, if that lowers C by more
     * than `least`. True: a new descent must begin. False: the point is unchanged. */
    bool (*revive)(tl_engine *e, double least);
};

extern const tl_engine_ops tl_engine_cpu;   /* double precision */
extern const tl_engine_ops tl_engine_mixed; /* products and sweeps in single, where asked to */
extern const tl_engine_ops tl_engine_naive; /* plain loops, for tests and benchmarks alone */

/* The engine that settings ask for; tl_device_choose() has checked that it is available. NULL: the
 * default engine. No other code outside src/engine names an engine. */
const tl_engine_ops *tl_engine_of(const tl_settings *opt);

/* The fault of an engine as error and message; TLNMF_OK if it has none. `what` was running. */
tlnmf_error tl_engine_error(tlnmf_ctx *ctx, const tl_engine *e, const char *what);

/* ---- the operations by name ------------------------------------------------------------------ */

static inline tlnmf_error tl_engine_fill(tl_engine *e, unsigned parts, tl_fill fill, void *user)
{
    return e->ops->fill(e, parts, fill, user);
}

/* Sets the point from arrays in host memory; a part whose array is NULL stays. */
void tl_engine_load(tl_engine *e, const double *Phi, const double *W, const double *H);

static inline void tl_engine_store(const tl_engine *e, double *Phi, double *W, double *H)
{
    e->ops->store(e, Phi, W, H);
}

static inline void tl_engine_project(tl_engine *e, unsigned parts)
{
    e->ops->project(e, parts);
}

static inline bool tl_engine_inspect(tl_engine *e, tl_inspection *found)
{
    return e->ops->inspect(e, found);
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

/* ||Ganti||_F / 2N of the objective of a descent over Phi, after begin() or take(). */
static inline double tl_engine_known_gradient(tl_engine *e, unsigned over)
{
    return e->ops->known_gradient != NULL ? e->ops->known_gradient(e)
                                          : e->ops->gradient(e, over == TL_PHI ? TL_L : TL_C, NULL);
}

static inline double tl_engine_norm(tl_engine *e, bool renew)
{
    return e->ops->norm(e, renew);
}

static inline bool tl_engine_revive(tl_engine *e, double least)
{
    return e->ops->revive(e, least);
}

#endif
