/* The engine: the seam between the algorithms and their arithmetic.
 *
 * An engine keeps the arrays of one start wherever it likes (memory of the host, a GPU): a point
 * (Phi, W, H), what follows from it (X, V, weights), gradients, directions, the pairs of L-BFGS.
 * Its operations are whole phases of the algorithms, so that a GPU pays few launches and a cluster
 * few sums. Solvers are written once, in terms of these operations, and see host memory only
 * through fill, store, inspect and gradient. There are many because each kind of solver (the
 * paper's, descents, Newton's) and checkpoints need a few of their own. Numbers in (..) are
 * equations of docs/spec.md.
 *
 * `precision` is optional. `slope` serves the paper's solvers only; begin, norm and revive serve
 * descents (tl_engine_spec.moves), cg Newton's steps. Operations on the host cannot fail once the
 * engine is created; on a device they may, and leave it in tl_engine.fault. `fill` passes on the
 * error of its function. Where words leave a choice (the order of pairs in a sweep, the metric,
 * bounds of norms), the naive engine is the definition: tests hold all others to it. */
#ifndef TLNMF_ENGINE_ENGINE_H
#define TLNMF_ENGINE_ENGINE_H

#include "base/bytes.h"
#include "base/sums.h"
#include "linalg/linalg.h"
#include "model/model.h"

typedef struct tl_engine_ops tl_engine_ops;

/* What all engines have in common; an engine's own struct begins with it. */
typedef struct tl_engine {
    const tl_engine_ops *ops;
    int64_t M, N, K;   /* frame length, local frames, rank (0: no W and H) */
    double frames;     /* number of frames on all machines */
    double mean_power; /* mean of the squared data */
    double eps;        /* the floor; a solver may change it between operations */
    /* Why an operation failed: a lost device, no memory there. The engine sets it; further
     * operations may then do nothing, the run ends and the search returns the error. */
    tlnmf_error fault;
    const char *why;
    /* May be NULL. Asked now and then inside a long operation, by any of its threads. True: the run
     * is about to end, and the operation may leave out what it has not done yet. */
    bool (*hurries)(void *user);
    void *hurries_user;
} tl_engine;

/* What an engine is created for. */
typedef struct tl_engine_spec {
    const tl_model *model;
    unsigned moves;  /* parts that descents may move: TL_PHI | TL_W | TL_H; 0: no descents */
    bool newton;     /* descents may use conjugate gradients */
    tl_sums *sums;   /* NULL: one machine */
    int64_t threads; /* of the call that will use it: for how many there is scratch; 0: one */
    /* Frames that are on a device at a time, in engines whose columns run through it in panels; 0:
     * as many as its memory allows. */
    int64_t panel;
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
    TL_NEWTON,   /* the point that conjugate gradients reached; the step is 1 */
} tl_direction;

typedef struct tl_aim {
    double slope; /* derivative of the objective along the direction */
    double value; /* quasi-Newton on C: C at the point */
    double norm;  /* quasi-Newton on L: as tl_engine_gradient(); Newton: |step| in the metric */
    double first; /* L-BFGS: first trial step: 1, or less if that turned a plane by over a radian */
    int pairs;    /* L-BFGS: number of pairs that the direction is made from */
} tl_aim;

/* What can be seen at a point. */
typedef struct tl_inspection {
    double *energy;       /* M: receives energy[m] = sum_n V_mn; or NULL */
    double orthogonality; /* the largest entry of |Phi Phi' - I| */
    double below_floor;   /* share of the entries of V that count and are below the floor */
} tl_inspection;

/* One iteration of conjugate gradients on the quadratic model at the point, in the metric of the
 * descent (Steihaug). */
typedef struct tl_cg {
    double fall;  /* change of the model by this iteration: negative */
    double rr;    /* r' D^-1 r of the residual r */
    bool at_edge; /* reached the edge of the region: the last iteration */
} tl_cg;

/* The operations of an engine. */
struct tl_engine_ops {
    const char *name;
    int at_once; /* starts that should run at a time; 0: one for each thread */

    tlnmf_error (*create)(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out);
    size_t (*bytes)(const tl_engine_spec *spec); /* bytes that create() will allocate */
    void (*free)(tl_engine *e);

    /* ---- the point ---- */

    /* Calls fill() with the current Phi, W, H in host memory. What fill() writes to the parts named
     * in `parts` becomes the point, and X and V follow. If fill() fails, its error is returned and
     * the point is undefined. */
    tlnmf_error (*fill)(tl_engine *e, unsigned parts, tl_fill fill, void *user);
    /* Copies the point to host memory; NULL skips a part. */
    void (*store)(const tl_engine *e, double *Phi, double *W, double *H);
    /* Restores constraints that rounding has violated. TL_PHI: Phi orthogonal, X and V recomputed.
     * TL_W: columns of W that sum to 1, (9). */
    void (*project)(tl_engine *e, unsigned parts);
    /* True if V, W and H are finite. If not NULL, `found` receives what else can be seen. */
    bool (*inspect)(tl_engine *e, tl_inspection *found);
    /* May be NULL. rough = true: products and sweeps may be rounded from now on. rough = false:
     * they are exact again, and the point is projected. Returns whether the engine now rounds. */
    bool (*precision)(tl_engine *e, bool rough);

    /* ---- at the point ---- */

    tl_values (*values)(tl_engine *e, unsigned which); /* C, L, I */
    /* (10) of C or of L. Returns ||Ganti||_F / 2N. Ganti (M x M, host memory) may be NULL. */
    double (*gradient)(tl_engine *e, unsigned of, double *Ganti);

    /* ---- phases ---- */

    /* `count` updates (7)-(9) of W and H, or (7) of H alone. */
    void (*update)(tl_engine *e, unsigned parts, int64_t count);
    /* (14) for all pairs of rows, at the weights of C, or of L with this floor. Pairs that would
     * gain less than `least` are skipped, and so may be those after `hurries` has said true.
     * Returns by how much sum U V fell. An engine that has not all columns at a time may choose
     * angles by some of them; it keeps what lowers the sum over all (on L: L at that floor), and
     * returns by how much, or 0. */
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
    /* sqrt(g' D^-1 g / MN), where D is the metric, recomputed first if `renew`. */
    double (*norm)(tl_engine *e, bool renew);
    /* Enlarges entries of W and H that came close to 0 but should grow, if that lowers C by more
     * than `least`. True: a new descent must begin. False: the point is unchanged. */
    bool (*revive)(tl_engine *e, double least);
    /* begins = true: prepares conjugate gradients. begins = false: one iteration within the trust
     * region of this radius. */
    tl_cg (*cg)(tl_engine *e, bool begins, double radius);

    /* ---- checkpoints ---- */

    /* May be NULL. Passes what the engine needs to go on from here to the last bit. Called only
     * where a solver may be interrupted: no direction is being tried. Bytes that were read and make
     * no sense leave `bad` set and the point undefined. */
    void (*state)(tl_engine *e, tl_bytes *b);
    /* May be NULL. Shows the engine memory of the host that a solver has just changed by chance (a
     * random stream). A tape writes it down, and overwrites it when it replays. */
    void (*note)(tl_engine *e, void *x, size_t size);
};

extern const tl_engine_ops tl_engine_cpu;   /* double precision */
extern const tl_engine_ops tl_engine_mixed; /* products and sweeps in single, where asked to */
extern const tl_engine_ops tl_engine_naive; /* plain loops, for tests and benchmarks alone */

/* The engine that settings ask for (device.h has seen to it that it is there); NULL: that of calls
 * without settings. Nothing else above this seam names an engine. */
const tl_engine_ops *tl_engine_of(const tl_settings *opt);

/* The fault of an engine as error and message; TLNMF_OK if it has none. `what` was running. */
tlnmf_error tl_engine_error(tlnmf_ctx *ctx, const tl_engine *e, const char *what);

/* Refuses what no engine here can do: other groups than the orthogonal one, tied rows. */
tlnmf_error tl_engine_check(tlnmf_ctx *ctx, const tl_model *model);

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

static inline double tl_engine_norm(tl_engine *e, bool renew)
{
    return e->ops->norm(e, renew);
}

static inline bool tl_engine_revive(tl_engine *e, double least)
{
    return e->ops->revive(e, least);
}

static inline void tl_engine_note(tl_engine *e, void *x, size_t size)
{
    if (e->ops->note != NULL)
        e->ops->note(e, x, size);
}

static inline tl_cg tl_engine_cg(tl_engine *e, bool begins, double radius)
{
    return e->ops->cg(e, begins, radius);
}

#endif
