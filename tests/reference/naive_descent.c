/* Descents by plain loops. Coordinates are the lower triangle of E, row by row, then the entries of
 * sqrt W, then those of sqrt H / unit. */
#include "reference/naive_engine.h"

#include <math.h>

static bool over_L(const tl_naive *self)
{
    return self->over == TL_PHI;
}

static unsigned objective(const tl_naive *self)
{
    return over_L(self) ? TL_L : TL_C;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a' D b, or a' D^-1 b. */
static double metric_dot(const tl_naive *self, bool inverse, const double *a, const double *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < self->size; i++)
        sum += inverse ? a[i] * b[i] / self->metric[i] : a[i] * b[i] * self->metric[i];
    return sum;
}

/* dC/dVhat_mn at the weights in U. */
static double slope_at(const tl_naive *self, const tl_naive_point *p, int64_t i)
{
    double u = self->U[i], weight = tl_naive_weight(self, i);
    return weight > 0.0 ? u - (p->V[i] + self->is.eps) * u * u / weight : 0.0;
}

/* ---- gradient and metric --------------------------------------------------------------------- */

static void gradient_at(tl_naive *self, const tl_naive_point *p, double *out)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    tl_naive_weigh(self, objective(self), self->is.eps, p);
    if (self->over & TL_PHI) {
        tl_naive_G(self, p);
        for (int64_t a = 0; a < M; a++)
            for (int64_t b = 0; b < a; b++)
                *out++ = self->G[a * M + b] - self->G[b * M + a];
    }
    for (int64_t i = 0; self->over & TL_W && i < M * K; i++) {
        double sum = 0.0;
        for (int64_t n = 0; n < N; n++)
            sum += slope_at(self, p, i / K * N + n) * p->H[i % K * N + n];
        *out++ = 2.0 * p->P[i] * sum;
    }
    for (int64_t i = 0; self->over & TL_H && i < K * N; i++) {
        double sum = 0.0;
        for (int64_t m = 0; m < M; m++)
            sum += p->W[m * K + i / N] * slope_at(self, p, m * N + i % N);
        *out++ = 2.0 * self->unit * p->Q[i] * sum;
    }
}

static double positive(double x)
{
    return x > 0.0 ? x : 1.0;
}

/* B (x / B)^power: a power of 1 / (W H + eps) and a factor keeps one weight B. */
static double weighted_power(const tl_naive *self, int64_t i, double x, double power)
{
    double weight = tl_naive_weight(self, i);
    return weight > 0.0 ? weight * pow(x / weight, power) : 0.0;
}

/* sum_n U_mn^power H_kn^power, and sum_m W_mk^power U_mn^power; i counts entries of W, of H. */
static double sum_for_W(const tl_naive *self, int64_t i, double power)
{
    int64_t N = self->is.N, K = self->is.K;
    double sum = 0.0;
    for (int64_t n = 0; n < N; n++)
        sum += weighted_power(self, i / K * N + n,
                              self->U[i / K * N + n] * self->at.H[i % K * N + n], power);
    return sum;
}

static double sum_for_H(const tl_naive *self, int64_t i, double power)
{
    int64_t N = self->is.N, K = self->is.K;
    double sum = 0.0;
    for (int64_t m = 0; m < self->is.M; m++)
        sum += weighted_power(self, m * N + i % N,
                              self->at.W[m * K + i / N] * self->U[m * N + i % N], power);
    return sum;
}

/* (13) with a floor for Phi; for W the larger of the expected Hessian, 4 W sum U^2 H^2, and 0.3 of
 * the metric of multiplicative updates, 4 sum U H; the same for H, in units of unit^2. */
static void renew_metric(tl_naive *self)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K;
    double *out = self->metric, unit2 = self->unit * self->unit;
    const double *Gamma = self->Gamma;
    tl_naive_weigh(self, objective(self), self->is.eps, &self->at);
    tl_naive_gamma(M, N, self->U, self->at.V, self->Gamma);
    for (int64_t a = 0; self->over & TL_PHI && a < M; a++)
        for (int64_t b = 0; b < a; b++) {
            double cross = Gamma[a * M + b] + Gamma[b * M + a];
            *out++ = positive(fmax(cross - Gamma[a * M + a] - Gamma[b * M + b], 0.1 * cross));
        }
    for (int64_t i = 0; self->over & TL_W && i < M * K; i++)
        *out++ = positive(
            fmax(4.0 * self->at.W[i] * sum_for_W(self, i, 2.0), 1.2 * sum_for_W(self, i, 1.0)));
    for (int64_t i = 0; self->over & TL_H && i < K * N; i++)
        *out++ = positive(unit2 * fmax(4.0 * self->at.H[i] * sum_for_H(self, i, 2.0),
                                       1.2 * sum_for_H(self, i, 1.0)));
}

double tl_naive_norm(tl_engine *e, bool renew)
{
    tl_naive *self = (tl_naive *)e;
    if (renew)
        renew_metric(self);
    return sqrt(metric_dot(self, true, self->gradient, self->gradient) /
                ((double)e->M * e->frames));
}

double tl_naive_begin(tl_engine *e, unsigned over)
{
    tl_naive *self = (tl_naive *)e;
    int64_t M = e->M, N = e->N, K = e->K;
    self->over = over;
    self->size = (over & TL_PHI ? M * (M - 1) / 2 : 0) + (over & TL_W ? M * K : 0) +
                 (over & TL_H ? K * N : 0);
    self->pairs = 0;
    self->unit = 0.0;
    for (int64_t i = 0; i < M * K; i++)
        self->at.P[i] = sqrt(self->at.W[i]);
    for (int64_t i = 0; i < K * N; i++) {
        self->at.Q[i] = sqrt(self->at.H[i]);
        self->unit = fmax(self->unit, self->at.Q[i]);
    }
    self->unit = positive(self->unit);
    gradient_at(self, &self->at, self->gradient);
    return tl_naive_value(self, objective(self), &self->at);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The two loops (Nocedal and Wright, Algorithm 7.4). */
static void lbfgs(tl_naive *self)
{
    int64_t n = self->size;
    double alpha[TL_NAIVE_PAIRS] = {0.0}, rho[TL_NAIVE_PAIRS] = {0.0}, *q = self->direction;
    tl_copy(q, self->gradient, n);
    for (int i = 0; i < self->pairs; i++) {
        rho[i] = 1.0 / dot(n, self->s[i], self->y[i]);
        alpha[i] = rho[i] * dot(n, self->s[i], q);
        for (int64_t j = 0; j < n; j++)
            q[j] -= alpha[i] * self->y[i][j];
    }
    for (int64_t j = 0; j < n; j++)
        q[j] /= self->metric[j];
    for (int i = self->pairs - 1; i >= 0; i--) {
        double beta = rho[i] * dot(n, self->y[i], q);
        for (int64_t j = 0; j < n; j++)
            q[j] += (alpha[i] - beta) * self->s[i][j];
    }
    for (int64_t j = 0; j < n; j++)
        q[j] = -q[j];
}

/* Unpacks E from the direction. Returns the bound on its norm that all engines use: min(|E|, sqrt
 * |E^2|) in row sums. */
static double unpack(tl_naive *self)
{
    int64_t M = self->is.M, i = 0;
    for (int64_t a = 0; a < M; a++)
        for (int64_t b = 0; b <= a; b++) {
            self->E[a * M + b] = a == b ? 0.0 : self->direction[i++];
            self->E[b * M + a] = -self->E[a * M + b];
        }
    tl_naive_multiply(M, self->E, self->E, self->A);
    return fmin(tl_naive_row_sum(M, self->E), sqrt(tl_naive_row_sum(M, self->A)));
}

tl_aim tl_naive_aim(tl_engine *e, tl_direction how)
{
    tl_naive *self = (tl_naive *)e;
    tl_aim aim = {.first = 1.0};
    if (how == TL_GRADIENT)
        self->pairs = 0;
    lbfgs(self);
    if (self->over & TL_PHI)
        aim.first = fmin(1.0, 1.0 / unpack(self));
    aim.pairs = self->pairs;
    aim.slope = dot(self->size, self->direction, self->gradient);
    aim.norm = sqrt(metric_dot(self, false, self->direction, self->direction));
    return aim;
}

double tl_naive_try(tl_engine *e, double a)
{
    tl_naive *self = (tl_naive *)e;
    int64_t M = e->M, N = e->N, K = e->K;
    const double *d = self->direction;
    tl_naive_copy(self, &self->at, &self->step);
    if (self->over & TL_PHI) {
        for (int64_t i = 0; i < M * M; i++)
            self->A[i] = a * self->E[i];
        tl_naive_exp(M, self->A, self->Q, self->B);
        tl_naive_multiply(M, self->Q, self->at.Phi, self->step.Phi);
        tl_naive_follow(self, &self->step);
        d += M * (M - 1) / 2;
    }
    for (int64_t i = 0; self->over & TL_W && i < M * K; i++) {
        self->step.P[i] += a * *d++;
        self->step.W[i] = pow(self->step.P[i], 2.0);
    }
    for (int64_t i = 0; self->over & TL_H && i < K * N; i++) {
        self->step.Q[i] += a * self->unit * *d++;
        self->step.H[i] = pow(self->step.Q[i], 2.0);
    }
    return tl_naive_value(self, objective(self), &self->step);
}

/* Stores the pair of the step a, unless its curvature is not positive. */
static void learn(tl_naive *self, double a)
{
    int64_t n = self->size;
    int last = self->pairs < TL_NAIVE_PAIRS ? self->pairs : TL_NAIVE_PAIRS - 1;
    double *s = self->s[last], *y = self->y[last];
    for (int64_t i = 0; i < n; i++) {
        s[i] = a * self->direction[i];
        y[i] = self->new_gradient[i] - self->gradient[i];
    }
    double size = sqrt(metric_dot(self, false, s, s) * metric_dot(self, true, y, y));
    if (!(dot(n, s, y) > 1e-14 * size))
        return;
    for (int i = last; i > 0; i--) {
        self->s[i] = self->s[i - 1];
        self->y[i] = self->y[i - 1];
    }
    self->s[0] = s;
    self->y[0] = y;
    self->pairs = last + 1;
}

void tl_naive_take(tl_engine *e, double a)
{
    tl_naive *self = (tl_naive *)e;
    gradient_at(self, &self->step, self->new_gradient);
    learn(self, a);
    tl_copy(self->gradient, self->new_gradient, self->size);
    tl_naive_copy(self, &self->step, &self->at);
}

/* ---- entries close to zero ------------------------------------------------------------------- */

/* Enlarges entries of W (or H) whose half Newton step, times `part`, is more than ten times their
 * value. */
static int64_t revive_entries(tl_naive *self, bool is_W, double part)
{
    int64_t M = self->is.M, N = self->is.N, K = self->is.K, revived = 0;
    const tl_naive_point *at = &self->at;
    for (int64_t i = 0; i < (is_W ? M * K : K * N); i++) {
        double x = is_W ? at->W[i] : at->H[i], slope = 0.0;
        double curvature = is_W ? sum_for_W(self, i, 2.0) : sum_for_H(self, i, 2.0);
        for (int64_t j = 0; j < (is_W ? N : M); j++)
            slope += is_W ? slope_at(self, at, i / K * N + j) * at->H[i % K * N + j]
                          : at->W[j * K + i / N] * slope_at(self, at, j * N + i % N);
        double better = curvature > 0.0 ? -0.5 * part * slope / curvature : 0.0;
        if (x > 0.0 && better > 10.0 * x) {
            (is_W ? self->step.W : self->step.H)[i] = better;
            revived++;
        }
    }
    return revived;
}

bool tl_naive_revive(tl_engine *e, double least)
{
    tl_naive *self = (tl_naive *)e;
    double C = tl_naive_value(self, TL_C, &self->at);
    if (over_L(self))
        return false;
    tl_naive_weigh(self, TL_C, e->eps, &self->at);
    for (int factor = 0; factor < 2; factor++) {
        double part = 1.0;
        if (!(self->over & (factor == 0 ? TL_W : TL_H)))
            continue;
        for (int i = 0; i < 5; i++, part *= 0.25) {
            tl_naive_copy(self, &self->at, &self->step);
            if (revive_entries(self, factor == 0, part) == 0)
                break;
            double now = tl_naive_value(self, TL_C, &self->step);
            if (now < C && !(fabs(C - now) < least)) {
                tl_naive_copy(self, &self->step, &self->at);
                return true;
            }
        }
    }
    return false;
}
