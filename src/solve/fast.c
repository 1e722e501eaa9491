/* The fast solvers: Jacobi sweeps find the basin, then a descent finds its minimum by
 * L-BFGS. */
#include "solve/solver.h"

#include <math.h>

/* ---- descents -------------------------------------------------------------------------------- */

/* The metric is recomputed every RENEW iterations: it changes slowly, and Gamma costs a product.
 * These and the constants below: docs/measurements/constants.md. */
enum { RENEW = 5, CALM = 3, HALVINGS = 30, MOST_REVIVALS = 5 };

tl_descent tl_descent_of(const tl_engine *e, const tl_settings *opt, unsigned over, int64_t last)
{
    /* The change of the objective is compared with ten nats per entry of V, its typical size. Its
     * own value would depend on the units of the data. */
    return (tl_descent){.over = over,
                        .last = last,
                        .grad_tol = opt->grad_tol,
                        .least = 10.0 * opt->tol * (double)e->M * e->frames,
                        .calm = CALM,
                        .halvings = HALVINGS,
                        .must_fall = true};
}

/* `first` is the longest step that was tried: short steps change little. */
static bool has_settled(const tl_descent *how, double first, double before, double now)
{
    return fabs(before - now) < first * (how->least + how->relative * fabs(now));
}

/* From this many rows on a sweep costs as much as 2 iterations of L-BFGS on cores and 12 on a GPU,
 * and far from the minimum every other step tried is refused (docs/measurements/constants.md). */
enum { LARGE = 1024 };

/* The longest step that a descent tries first. Where there are many rows a refusal halves it, and
 * EASY iterations without one double it. With fewer rows it is 1: there, one step in twenty is
 * refused. */
typedef struct habit {
    double longest;
    int easy; /* iterations since the last refusal or doubling */
} habit;

enum { EASY = 3 };

static void learn_habit(const tl_engine *e, habit *h, double a, bool was_refused)
{
    if (e->M < LARGE)
        return;
    h->easy = was_refused ? 0 : h->easy + 1;
    if (was_refused) {
        h->longest = fmax(a, 0.5 * h->longest);
    } else if (h->easy == EASY) {
        h->longest = fmin(1.0, 2.0 * h->longest);
        h->easy = 0;
    }
}

/* Halves the step until the objective falls enough (Armijo). Returns 0 if it never does, or if the
 * run must end before it does. */
static double backtrack(tl_engine *e, const tl_descent *how, tl_aim aim, habit *h, double *value)
{
    double a = fmin(aim.first, h->longest);
    for (int i = 0; i < how->halvings; i++, a *= 0.5) {
        double now = tl_engine_try(e, a);
        if (now <= *value + 1e-4 * a * aim.slope && (now < *value || !how->must_fall)) {
            *value = now;
            learn_habit(e, h, a, i > 0);
            return a;
        }
        if (tl_poll(e->monitor))
            break;
    }
    return 0.0;
}

/* One step of L-BFGS; if that fails, one along the gradient in the metric. False, with the point
 * unchanged, if both fail. */
static bool step(tl_engine *e, const tl_descent *how, habit *h, double *value, double *a)
{
    tl_aim aim = tl_engine_aim(e, TL_LBFGS);
    *a = aim.slope < 0.0 ? backtrack(e, how, aim, h, value) : 0.0;
    if (*a == 0.0 && aim.pairs > 0 && !tl_poll(e->monitor)) {
        aim = tl_engine_aim(e, TL_GRADIENT);
        *a = aim.slope < 0.0 ? backtrack(e, how, aim, h, value) : 0.0;
    }
    tl_engine_take(e, *a);
    return *a > 0.0;
}

static tl_stage stage_of(unsigned over)
{
    if (over == TL_PHI)
        return TL_STAGE_JD;
    return over & TL_PHI ? TL_STAGE_TL : TL_STAGE_NMF;
}

/* Adds L and I to a row of a trace. *L is NAN until it is known: it stays while Phi does. C = L +
 * I. If I is much smaller than both, rounding could make their difference negative; then I is
 * computed. */
static void add_values(tl_engine *e, const tl_descent *how, tl_trace_row *row, double *L)
{
    const double small = 1e-5; /* I has ten digits above this fraction of C and L */
    if (how->over & TL_PHI || isnan(*L))
        *L = tl_engine_values(e, TL_L).L;
    row->L = *L;
    row->I = row->C - *L;
    if (!(row->I > small * (fabs(row->C) + fabs(*L))))
        row->I = tl_engine_values(e, TL_I).I;
}

static void record(tl_engine *e, const tl_descent *how, tl_run *run, tl_trace_row row, double *L)
{
    bool traced = run->trace_capacity > 0 && !run->quiet;
    row.stage = stage_of(how->over);
    row.iteration = run->iterations;
    row.gradient = traced && how->over & TL_PHI ? tl_engine_known_gradient(e, how->over) : NAN;
    if (how->over == TL_PHI) {
        row.L = row.C;
        row.C = NAN;
    } else if (traced) {
        add_values(e, how, &row, L);
    }
    tl_run_record(run, row, how->last);
}

static double descend(tl_engine *e, const tl_descent *how, tl_run *run)
{
    double value = tl_engine_begin(e, how->over), a, L = NAN;
    tl_run_begin(run, stage_of(how->over), how->last);
    habit h = {.longest = 1.0};
    int calm = 0;
    run->outcome = TLNMF_OUTCOME_ITERATIONS;
    for (int i = 0; run->iterations < how->last; i++) {
        double norm = tl_engine_norm(e, i % RENEW == 0), before = value, first = h.longest;
        if (norm <= how->grad_tol) {
            run->outcome = TLNMF_OUTCOME_STATIONARY;
            break;
        }
        if (i == 0 && tl_run_stopped(e, run))
            break;
        if (!step(e, how, &h, &value, &a)) {
            if (!tl_run_stopped(e, run))
                run->outcome = TLNMF_OUTCOME_LINE_SEARCH;
            break;
        }
        run->iterations++;
        record(e, how, run, (tl_trace_row){.C = value, .L = NAN, .I = NAN, .step = a}, &L);
        if (tl_run_interrupted(e, run))
            break;
        calm = has_settled(how, first, before, value) ? calm + 1 : 0;
        if (calm == how->calm) {
            run->outcome = TLNMF_OUTCOME_CONVERGED;
            break;
        }
    }
    return value;
}

static bool was_stopped(const tl_run *run)
{
    return run->outcome == TLNMF_OUTCOME_CANCELLED || run->outcome == TLNMF_OUTCOME_TIME;
}

double tl_descend(tl_engine *e, const tl_descent *how, tl_run *run)
{
    double since = tl_wall_seconds(), value = descend(e, how, run);
    for (int i = 0; i < MOST_REVIVALS && run->iterations < how->last && !was_stopped(run) &&
                    tl_engine_revive(e, how->least);
         i++)
        value = descend(e, how, run);
    if (how->over & TL_W)
        tl_engine_project(e, TL_W); /* (9) */
    double spent = tl_wall_seconds() - since;
    if (how->over & TL_PHI)
        run->transform_seconds += spent;
    else
        run->nmf_seconds += spent;
    return value;
}

/* ---- sweeps, then a descent ------------------------------------------------------------------ */

/* The number of updates between sweeps decides the basin. With 1 or 2, most starts find the good
 * minimum of the music notes; with 3, fewer do (docs/measurements/constants.md). The number of
 * sweeps also decides it, but not if there are many rows. */
enum { SWEEPS = 15, FEW_SWEEPS = 3, UPDATES = 2, JD_SWEEPS = 10, NMF_UPDATES = 10 };

/* Pairs that gain less than this fraction of the last sweep's mean gain are skipped. */
static const double SKIP = 1e-2;

static double least_gain(const tl_engine *e, double last_gain)
{
    double pairs = 0.5 * (double)e->M * (double)(e->M - 1);
    return pairs > 0.0 ? SKIP * last_gain / pairs : 0.0;
}

/* A sweep (14) that ends early if the run must: false then, with the outcome set. */
static bool sweep(tl_engine *e, tl_run *run, unsigned of, double floor, double *gain)
{
    *gain = tl_engine_sweep(e, of, floor, least_gain(e, *gain));
    return !tl_run_stopped(e, run);
}

/* Sweeps on C with updates of W, H in between. False, with the outcome set, if the run must end. */
static bool sweeps_C(tl_engine *e, tl_run *run)
{
    const int64_t count = e->M < LARGE ? SWEEPS : FEW_SWEEPS;
    double gain = 0.0;
    tl_run_begin(run, TL_STAGE_TL, run->opt->J);
    for (int64_t i = 0; i < count && run->iterations < run->opt->J; i++) {
        double since = tl_wall_seconds();
        tl_engine_update(e, TL_W | TL_H, UPDATES); /* (7)-(9) */
        double between = tl_wall_seconds();
        bool whole = sweep(e, run, TL_C, e->eps, &gain);
        run->nmf_seconds += between - since;
        run->transform_seconds += tl_wall_seconds() - between;
        if (!whole)
            return false;
        run->iterations++;
        tl_values v = tl_engine_values(e, run->trace_capacity > 0 ? TL_C | TL_L | TL_I : TL_C);
        double norm = tl_traced_gradient(e, run, TL_C);
        tl_run_record(run,
                      (tl_trace_row){TL_STAGE_TL, run->iterations, v.C, v.L, v.I, NAN, norm,
                                     .start = run->start},
                      run->opt->J);
        if (tl_run_interrupted(e, run))
            return false;
    }
    return true;
}

/* The floor at which continuation begins. With a much higher one all starts end in the same few
 * minima; a much lower one has no effect (docs/measurements/constants.md). */
static double top_floor(const tl_engine *e)
{
    return 0.05 * e->mean_power;
}

/* Whether a run uses continuation: only random starts do, and only if eps is below the top
 * floor. */
static bool comes_from_above(const tl_engine *e, const tl_run *run)
{
    return run->opt->continuation && run->roams && e->eps < top_floor(e);
}

/* Continuation: lowers the floor from the top to eps by factors of 10^-0.2, with a short descent at
 * each. At a high floor the landscape is smooth; the run follows its minimum down. False, with the
 * outcome set, if the run must end. */
static bool descend_floor(tl_engine *e, unsigned over, tl_run *run)
{
    enum { EACH = 50 }; /* docs/measurements/constants.md */
    const double eps = e->eps, top = top_floor(e);
    bool go_on = true;
    for (double floor = top; floor > eps && go_on; floor *= pow(10.0, -0.2)) {
        tl_run stage = {
            .opt = run->opt, .monitor = run->monitor, .start = run->start, .quiet = true};
        e->eps = floor;
        go_on = floor < top || over == TL_PHI || sweeps_C(e, &stage);
        stage.iterations = 0;
        tl_descent how = tl_descent_of(e, run->opt, over, EACH);
        if (go_on)
            tl_descend(e, &how, &stage);
        go_on = go_on && !was_stopped(&stage);
        run->nmf_seconds += stage.nmf_seconds;
        run->transform_seconds += stage.transform_seconds;
        if (!go_on)
            run->outcome = stage.outcome;
    }
    e->eps = eps;
    return go_on;
}

/* L-BFGS. While the engine rounds, it goes as far as rounding allows; then to the end in full
 * precision. */
static void minimise(tl_engine *e, unsigned over, bool rough, tl_run *run)
{
    const double blurred = 1e-9; /* below this tolerance changes of C are lost in rounding */
    if (rough) {
        tl_settings loose = *run->opt;
        loose.tol = fmax(loose.tol, blurred);
        loose.grad_tol = fmax(loose.grad_tol, sqrt(blurred));
        tl_descent how = tl_descent_of(e, &loose, over, run->opt->J);
        tl_descend(e, &how, run);
        tl_engine_precision(e, false);
        if (was_stopped(run))
            return;
    }
    tl_descent how = tl_descent_of(e, run->opt, over, run->opt->J);
    tl_descend(e, &how, run);
}

void tl_fast_tl(tl_engine *e, tl_run *run)
{
    run->outcome = TLNMF_OUTCOME_ITERATIONS;
    bool rough = tl_engine_precision(e, true);
    if (run->continues ||
        (comes_from_above(e, run) ? descend_floor(e, TL_ALL, run) : sweeps_C(e, run)))
        minimise(e, TL_ALL, rough, run);
    tl_engine_precision(e, false);
}

/* Sweeps on L while the floor comes down to eps by factors of 10^-0.2. The weights 1/(V + floor)
 * define a tangent that lies above the logarithm, so a sweep at fixed weights lowers L at that
 * floor; L at eps may rise meanwhile. With eps from the beginning, entries of V that happen to be
 * near 0 would pin their rows: on the music notes at S = 1 the final L is then 85 higher. */
static bool sweeps_L(tl_engine *e, tl_run *run)
{
    double since = tl_wall_seconds(), gain = 0.0;
    bool go_on = true;
    tl_run_begin(run, TL_STAGE_JD, run->opt->J);
    for (int64_t i = 0; i < JD_SWEEPS && run->iterations < run->opt->J && go_on; i++) {
        double floor = e->eps * pow(10.0, 0.2 * (double)(JD_SWEEPS - 1 - i));
        go_on = sweep(e, run, TL_L, floor, &gain);
        if (!go_on)
            break;
        run->iterations++;
        double L = tl_engine_values(e, TL_L).L;
        double norm = tl_traced_gradient(e, run, TL_L);
        tl_run_record(run,
                      (tl_trace_row){TL_STAGE_JD, run->iterations, NAN, L, NAN, NAN, norm,
                                     .start = run->start},
                      run->opt->J);
        go_on = !tl_run_interrupted(e, run);
    }
    run->transform_seconds += tl_wall_seconds() - since;
    return go_on;
}

void tl_fast_jd(tl_engine *e, tl_run *run)
{
    run->outcome = TLNMF_OUTCOME_ITERATIONS;
    bool go_on = true, rough = tl_engine_precision(e, true);
    if (!run->continues && comes_from_above(e, run))
        go_on = descend_floor(e, TL_PHI, run);
    else if (!run->continues && run->roams)
        go_on = sweeps_L(e, run);
    if (go_on)
        minimise(e, TL_PHI, rough, run);
    tl_engine_precision(e, false);
}

/* A few updates, then L-BFGS, over W and H or H alone. */
static void fit_factors(tl_engine *e, unsigned parts, tl_run *run)
{
    double since = tl_wall_seconds();
    tl_run_begin(run, TL_STAGE_NMF, run->opt->J);
    if (!run->continues)
        tl_engine_update(e, parts, NMF_UPDATES);
    run->nmf_seconds += tl_wall_seconds() - since;
    minimise(e, parts, false, run);
}

void tl_fast_nmf(tl_engine *e, tl_run *run)
{
    fit_factors(e, TL_W | TL_H, run);
}

void tl_fast_activations(tl_engine *e, tl_run *run)
{
    fit_factors(e, TL_H, run);
}

const tl_solver tl_fast = {tl_fast_tl, tl_fast_jd, tl_fast_nmf};
