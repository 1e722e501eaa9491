/* The likelihood of frames with their activations integrated out.
 *
 * p(frame) = integral of prod_m N(..; 0, v_m + eps) over h, v = W h, under the prior h_k ~
 * exponential of mean mu_k. With g = log h it is an expectation over draws of g from an even
 * mixture of the prior and of a normal distribution around the mode, by importance sampling. */
#include "api/marginal.h"
#include "base/monitor.h"

#include <math.h>

/* Scratch of one frame. */
typedef struct frame_work {
    const double *y; /* M: V + eps */
    double S;
    double *v, *r, *A;            /* M: W h + eps; M; K x M */
    double *g, *trial, *step, *F; /* K; K; K; K x K */
    double *weight;               /* DRAWS: logarithms */
    double J;                     /* -log of likelihood and prior at g, up to a constant */
} frame_work;

static frame_work lay_out(const tl_marginal *m, const double *y, double S, double *x)
{
    int64_t M = m->M, K = m->K;
    frame_work f = {.y = y, .S = S, .v = x};
    f.r = f.v + M;
    f.A = f.r + M;
    f.g = f.A + K * M;
    f.trial = f.g + K;
    f.step = f.trial + K;
    f.F = f.step + K;
    f.weight = f.F + K * K;
    return f;
}

int64_t tl_marginal_scratch(const tl_marginal *m)
{
    return m->M * (m->K + 2) + m->K * (m->K + 3) + TL_MARGINAL_DRAWS;
}

/* ---- the likelihood -------------------------------------------------------------------------- */

/* v = W exp(g) + eps (M). */
TL_HOT static void power_at(const tl_marginal *m, const double *g, double *v)
{
    int64_t M = m->M;
    for (int64_t i = 0; i < M; i++)
        v[i] = m->eps;
    for (int64_t k = 0; k < m->K; k++) {
        const double *w = m->W + k * M;
        double h = exp(g[k]);
        for (int64_t i = 0; i < M; i++)
            v[i] += w[i] * h;
    }
}

TL_HOT static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double sum_of_logs(int64_t n, const double *v)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += log(v[i]);
    return sum;
}

/* sum of y / v + log v: C of the frame at v. */
static double C_at(int64_t M, const double *y, const double *v)
{
    double sum = 0.0;
    for (int64_t i = 0; i < M; i++)
        sum += y[i] / v[i];
    return sum + sum_of_logs(M, v);
}

/* The log density of g = log h under the prior. */
static double log_prior(const tl_marginal *m, const double *g)
{
    double sum = 0.0;
    for (int64_t k = 0; k < m->K; k++)
        sum += g[k] - m->log_mu[k] - exp(g[k] - m->log_mu[k]);
    return sum;
}

/* ---- the mode -------------------------------------------------------------------------------- */

/* J at g. Leaves W h + eps in f->v. */
static double objective(const tl_marginal *m, const frame_work *f, const double *g)
{
    power_at(m, g, f->v);
    return 0.5 * f->S * C_at(m->M, f->y, f->v) - log_prior(m, g);
}

/* Multiplicative updates from equal activations; the components start within reach of their
 * prior. */
static void start(const tl_marginal *m, frame_work *f)
{
    enum { UPDATES = 30 };
    const double least = log(1e-3);
    int64_t M = m->M, K = m->K;
    double sum = 0.0;
    for (int64_t i = 0; i < M; i++)
        sum += f->y[i];
    for (int64_t k = 0; k < K; k++)
        f->g[k] = log(sum / (double)M);
    for (int j = 0; j < UPDATES; j++) {
        power_at(m, f->g, f->v);
        for (int64_t i = 0; i < M; i++) {
            f->v[i] = 1.0 / f->v[i];
            f->r[i] = f->y[i] * f->v[i] * f->v[i];
        }
        for (int64_t k = 0; k < K; k++) {
            double up = dot(M, m->W + k * M, f->r), down = dot(M, m->W + k * M, f->v);
            f->g[k] += up > 0.0 && down > 0.0 ? 0.5 * log(up / down) : 0.0;
        }
    }
    for (int64_t k = 0; k < K; k++)
        f->g[k] = fmax(f->g[k], m->log_mu[k] + least);
}

/* At g: F = (S/2) A'A + diag(h / mu), A_mk = w_mk h_k / v_m, and the gradient of J in f->step.
 * f->v is W h + eps. */
static void curvature(const tl_marginal *m, frame_work *f)
{
    int64_t M = m->M, K = m->K;
    for (int64_t i = 0; i < M; i++) {
        f->r[i] = 1.0 - f->y[i] / f->v[i];
        f->v[i] = 1.0 / f->v[i];
    }
    for (int64_t k = 0; k < K; k++) {
        double h = exp(f->g[k]), share = exp(f->g[k] - m->log_mu[k]);
        double *a = f->A + k * M;
        const double *w = m->W + k * M;
        for (int64_t i = 0; i < M; i++)
            a[i] = w[i] * h * f->v[i];
        for (int64_t l = 0; l <= k; l++)
            f->F[k * K + l] = 0.5 * f->S * dot(M, a, f->A + l * M);
        f->F[k * K + k] += share;
        f->step[k] = 0.5 * f->S * dot(M, a, f->r) + share - 1.0;
    }
}

/* The lower triangle of F becomes its Cholesky factor L, F + ridge I = L L'. */
static void factor(int64_t K, double ridge, double *F)
{
    for (int64_t k = 0; k < K; k++)
        for (int64_t l = 0; l <= k; l++) {
            double sum = F[k * K + l] - dot(l, F + k * K, F + l * K);
            F[k * K + l] = l < k ? sum / F[l * K + l] : sqrt(fmax(sum + ridge, ridge));
        }
}

/* x becomes the solution of L' z = x. */
static void solve_upper(int64_t K, const double *L, double *x)
{
    for (int64_t k = K - 1; k >= 0; k--) {
        x[k] /= L[k * K + k];
        for (int64_t l = 0; l < k; l++)
            x[l] -= L[k * K + l] * x[k];
    }
}

static void solve_lower(int64_t K, const double *L, double *x)
{
    for (int64_t k = 0; k < K; k++)
        x[k] = (x[k] - dot(k, L + k * K, x)) / L[k * K + k];
}

/* One damped Newton step. Returns how much J fell. */
static double descend(const tl_marginal *m, frame_work *f)
{
    enum { TRIALS = 12 };
    const double most = 2.0, ridge = 1e-6; /* of log h; against exactly dependent components */
    int64_t K = m->K;
    curvature(m, f);
    factor(K, ridge, f->F);
    solve_lower(K, f->F, f->step);
    solve_upper(K, f->F, f->step);
    double t = 1.0;
    for (int i = 0; i < TRIALS; i++, t /= 3.0) {
        for (int64_t k = 0; k < K; k++)
            f->trial[k] = f->g[k] - t * fmin(fmax(f->step[k], -most), most);
        double J = objective(m, f, f->trial), fell = f->J - J;
        if (fell >= 0.0) {
            tl_copy(f->g, f->trial, K);
            f->J = J;
            return fell;
        }
    }
    return 0.0;
}

/* g becomes the mode, F the Cholesky factor of its curvature. */
static void find_mode(const tl_marginal *m, frame_work *f)
{
    enum { STEPS = 60 };
    const double enough = 1e-7;                /* of the logarithm of a likelihood */
    bool large = m->K * m->K * m->M > 1 << 20; /* a step takes about a millisecond */
    start(m, f);
    f->J = objective(m, f, f->g);
    for (int i = 0; i < STEPS && descend(m, f) >= enough; i++)
        if (large && tl_poll(m->monitor))
            break;
    power_at(m, f->g, f->v);
    curvature(m, f);
    factor(m->K, 1e-9, f->F);
}

/* ---- the integral ---------------------------------------------------------------------------- */

/* log(exp a + exp b) */
static double log_add(double a, double b)
{
    double top = fmax(a, b);
    return top + log1p(exp(fmin(a, b) - top));
}

/* The normal distribution is wider than the curvature says, because posteriors have tails. */
static const double wide = 1.3;

/* The log density of the normal distribution at distance x from the mode, |x|^2 = square. */
static double log_normal(const tl_marginal *m, const frame_work *f, double square)
{
    const double log_2_pi = 1.8378770664093454836;
    double sum = -0.5 * square;
    for (int64_t k = 0; k < m->K; k++)
        sum += log(f->F[k * m->K + k] / wide) - 0.5 * log_2_pi;
    return sum;
}

/* Draws g* + wide L^-T z around the mode. */
static void draw_near(const tl_marginal *m, const frame_work *f, double base)
{
    const double far = 50.0; /* h = exp(50) mu has a prior density of 0 */
    int64_t K = m->K;
    for (int64_t q = 0; q < TL_MARGINAL_HALF; q++) {
        const double *z = m->normal + q * K;
        tl_copy(f->trial, z, K);
        solve_upper(K, f->F, f->trial);
        for (int64_t k = 0; k < K; k++)
            f->trial[k] = fmin(f->g[k] + wide * f->trial[k], m->log_mu[k] + far);
        power_at(m, f->trial, f->v);
        double prior = log_prior(m, f->trial);
        double mixture = log_add(prior, base - 0.5 * dot(K, z, z));
        f->weight[q] = prior - mixture - 0.5 * f->S * C_at(m->M, f->y, f->v);
    }
}

/* Draws from the prior, whose v are those of every frame. */
static void draw_prior(const tl_marginal *m, const frame_work *f, double base)
{
    int64_t M = m->M, K = m->K;
    for (int64_t q = 0; q < TL_MARGINAL_HALF; q++) {
        const double *g = m->prior + q * K;
        double square = 0.0;
        for (int64_t k = 0; k < K; k++)
            f->trial[k] = (g[k] - f->g[k]) / wide;
        for (int64_t k = 0; k < K; k++) { /* L' (g - g*) / wide */
            double sum = 0.0;
            for (int64_t l = k; l < K; l++)
                sum += f->F[l * K + k] * f->trial[l];
            square += sum * sum;
        }
        double C = dot(M, f->y, m->inverse + q * M) + m->logs[q];
        double mixture = log_add(m->density[q], base - 0.5 * square);
        f->weight[TL_MARGINAL_HALF + q] = m->density[q] - mixture - 0.5 * f->S * C;
    }
}

double tl_marginal_frame(const tl_marginal *m, const double *y, double S, double *scratch)
{
    frame_work f = lay_out(m, y, S, scratch);
    if (m->silent) {
        for (int64_t i = 0; i < m->M; i++)
            f.v[i] = m->eps;
        return C_at(m->M, y, f.v);
    }
    find_mode(m, &f);
    double base = log_normal(m, &f, 0.0), top = -INFINITY, sum = 0.0;
    draw_near(m, &f, base);
    draw_prior(m, &f, base);
    for (int q = 0; q < TL_MARGINAL_DRAWS; q++)
        top = fmax(top, f.weight[q]);
    for (int q = 0; q < TL_MARGINAL_DRAWS; q++)
        sum += exp(f.weight[q] - top);
    return -2.0 / S * (top + log(sum / TL_MARGINAL_HALF)); /* the mixture is half of each */
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The means of the prior; a component that the fit does not use keeps a trace of it. */
static void set_prior(tl_marginal *m, const tl_model_point *model, int64_t frames)
{
    double all = 0.0;
    for (int64_t k = 0; k < m->K; k++) {
        m->log_mu[k] = 0.0;
        for (int64_t n = 0; n < frames; n++)
            m->log_mu[k] += model->H[k * frames + n] / (double)frames;
        all += m->log_mu[k] / (double)m->K;
    }
    m->silent = !(all > 0.0);
    for (int64_t k = 0; k < m->K; k++)
        m->log_mu[k] = log(fmax(m->log_mu[k], 1e-6 * all));
}

static void set_draws(tl_marginal *m)
{
    int64_t M = m->M, K = m->K;
    for (int64_t q = 0; q < TL_MARGINAL_HALF; q++) {
        double *g = m->prior + q * K, *v = m->inverse + q * M;
        for (int64_t k = 0; k < K; k++) {
            double u = tl_sobol(q, k);
            m->normal[q * K + k] = tl_normal_quantile(u);
            g[k] = log(-log(u)) + m->log_mu[k];
        }
        power_at(m, g, v);
        m->logs[q] = sum_of_logs(M, v);
        m->density[q] = log_prior(m, g);
        for (int64_t i = 0; i < M; i++)
            v[i] = 1.0 / v[i];
    }
}

tlnmf_error tl_marginal_create(tlnmf_ctx *ctx, int64_t M, const tl_model_point *model,
                               int64_t frames, tl_marginal *m)
{
    enum { HALF = TL_MARGINAL_HALF };
    int64_t K = model->K;
    *m = (tl_marginal){
        .M = M, .K = K, .eps = model->eps, .monitor = ctx->monitor, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(m->W, K * M),          TL_SLOT(m->log_mu, K),
                       TL_SLOT(m->normal, HALF * K),  TL_SLOT(m->prior, HALF * K),
                       TL_SLOT(m->inverse, HALF * M), TL_SLOT(m->logs, HALF),
                       TL_SLOT(m->density, HALF)};
    TRY(TL_ARENA(ctx, "draws of activations", table, &m->memory));
    for (int64_t i = 0; i < M; i++)
        for (int64_t k = 0; k < K; k++)
            m->W[k * M + i] = model->W[i * K + k];
    set_prior(m, model, frames);
    if (!m->silent)
        set_draws(m);
    return TLNMF_OK;
}

void tl_marginal_free(tl_marginal *m)
{
    tl_release(&m->hooks, m->memory);
    m->memory = NULL;
}
