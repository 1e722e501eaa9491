/* Strong Wolfe line search: bracketing, interpolation, zoom. */
#include "solve/linesearch.h"

#include <math.h>
#include <stddef.h>

static const double C1 = 1e-4, C2 = 0.9;
enum { MOST_DOUBLINGS = 30, MOST_ZOOMS = 10 }; /* scipy's: 10 zooms are 11 trials */

/* A step with its value, and its slope where known. */
typedef struct point {
    double a, value, slope;
} point;

/* The minimum of the cubic through p (with its slope), q and r; NaN if it does not exist. */
static double cubic_minimum(point p, point q, point r)
{
    double db = q.a - p.a, dc = r.a - p.a;
    double denominator = (db * dc) * (db * dc) * (db - dc);
    double fb = q.value - p.value - p.slope * db, fc = r.value - p.value - p.slope * dc;
    double A = (dc * dc * fb - db * db * fc) / denominator;
    double B = (-dc * dc * dc * fb + db * db * db * fc) / denominator;
    double radical = B * B - 3.0 * A * p.slope;
    double a = p.a + (-B + sqrt(radical)) / (3.0 * A);
    return isfinite(a) ? a : NAN;
}

/* The minimum of the parabola through p (with its slope) and q; NaN if it does not exist. */
static double quadratic_minimum(point p, point q)
{
    double db = q.a - p.a;
    double B = (q.value - p.value - p.slope * db) / (db * db);
    double a = p.a - p.slope / (2.0 * B);
    return isfinite(a) ? a : NAN;
}

/* The next step inside the bracket: cubic, else quadratic, else the middle. `width` keeps its sign,
 * so that for low > high the margin lies outside the bracket, as in scipy. */
static double interpolate(point low, point high, point older, bool has_older)
{
    double width = high.a - low.a;
    double left = fmin(low.a, high.a), right = fmax(low.a, high.a);
    if (has_older) {
        double a = cubic_minimum(low, high, older), margin = 0.2 * width;
        if (a <= right - margin && a >= left + margin)
            return a;
    }
    double a = quadratic_minimum(low, high), margin = 0.1 * width;
    if (a <= right - margin && a >= left + margin)
        return a;
    return low.a + 0.5 * width;
}

static bool stops(const tl_line *line)
{
    return line->stops != NULL && line->stops(line->self);
}

/* Narrows [low, high], which holds an acceptable step. `low` has the least value so far. */
static bool zoom(const tl_line *line, point zero, point low, point high, double *step)
{
    point older = zero;
    for (int i = 0; i <= MOST_ZOOMS && !stops(line); i++) {
        point p = {.a = interpolate(low, high, older, i > 0)};
        p.value = line->value(line->self, p.a);
        if (!(p.value <= zero.value + C1 * p.a * zero.slope && p.value < low.value)) { /* or NaN */
            older = high;
            high = p;
            continue;
        }
        p.slope = line->slope(line->self, p.a);
        if (fabs(p.slope) <= -C2 * zero.slope) {
            *step = p.a;
            return true;
        }
        if (p.slope * (high.a - low.a) >= 0.0) {
            older = high;
            high = low;
        } else {
            older = low;
        }
        low = p;
    }
    return false;
}

bool tl_wolfe(const tl_line *line, double value0, double slope0, double *step)
{
    point zero = {0.0, value0, slope0}, before = zero, now = {.a = 1.0};
    now.value = line->value(line->self, now.a);
    for (int i = 0; i < MOST_DOUBLINGS; i++) {
        if (!(now.value <= zero.value + C1 * now.a * zero.slope) ||
            (i > 0 && now.value >= before.value))
            return zoom(line, zero, before, now, step);
        now.slope = line->slope(line->self, now.a);
        if (fabs(now.slope) <= -C2 * zero.slope) {
            *step = now.a;
            return true;
        }
        if (now.slope >= 0.0)
            return zoom(line, zero, now, before, step);
        if (stops(line))
            return false;
        before = now;
        now.a *= 2.0;
        now.value = line->value(line->self, now.a);
    }
    *step = now.a; /* still descending after 2^30: accepted, as in scipy */
    return true;
}
