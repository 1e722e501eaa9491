/* Covariances in arrays of rank 3: which axis counts the frames, where symmetry fails. */
#include "cli/arrays/arrays.h"

#include <math.h>

/* The slices of an array along one axis: entry (i, j) of slice n. */
typedef struct slices {
    const double *x;
    int64_t N, M, step_n, step_i, step_j;
} slices;

/* False: they are not square. */
static bool cut(const cli_array *a, int axis, slices *s)
{
    const int64_t steps[3] = {a->shape[1] * a->shape[2], a->shape[2], 1};
    int row = axis == 0 ? 1 : 0, column = axis == 2 ? 1 : 2;
    *s = (slices){a->x, a->shape[axis], a->shape[row], steps[axis], steps[row], steps[column]};
    return a->rank == 3 && a->shape[row] == a->shape[column];
}

static double entry(const slices *s, int64_t n, int64_t i, int64_t j)
{
    return s->x[n * s->step_n + i * s->step_i + j * s->step_j];
}

/* The entry of slice n that differs most from its mirror image. */
static void find_worst(const slices *s, int64_t n, cli_asymmetry *worst)
{
    *worst = (cli_asymmetry){.n = n};
    for (int64_t i = 0; i < s->M; i++)
        for (int64_t j = 0; j <= i; j++) {
            double off = fabs(entry(s, n, i, j) - entry(s, n, j, i));
            worst->most = fmax(worst->most, fmax(fabs(entry(s, n, i, j)), fabs(entry(s, n, j, i))));
            if (off > worst->off || isnan(off)) {
                worst->i = j;
                worst->j = i;
                worst->off = off;
            }
        }
}

/* Whether all slices are symmetric to this share of their largest entries; else the first that is
 * not. */
static bool are_symmetric(const slices *s, double share, cli_asymmetry *first)
{
    for (int64_t n = 0; n < s->N; n++) {
        find_worst(s, n, first);
        if (!(first->off <= share * first->most))
            return false;
    }
    return true;
}

int cli_covariance_axis(const cli_array *a)
{
    const double rounding = 1e-10; /* as the library accepts */
    static const int axes[] = {0, 2, 1};
    cli_asymmetry first;
    slices s;
    for (int i = 0; i < 3; i++) /* a single number is symmetric, and no sign of anything */
        if (cut(a, axes[i], &s) && (i == 0 || s.M > 1) && are_symmetric(&s, rounding, &first))
            return axes[i];
    return -1;
}

int cli_covariance_axis_nearly(const cli_array *a, cli_asymmetry *first)
{
    const double share = 0.02; /* of the largest entry; data are off by as much as they are large */
    cli_asymmetry unused;
    slices s;
    for (int axis = 0; axis < 3; axis += 2)
        if (cut(a, axis, &s) && s.M > 1 && are_symmetric(&s, share, &unused)) {
            are_symmetric(&s, 0.0, first);
            return axis;
        }
    return -1;
}

bool cli_find_asymmetry(const cli_array *a, cli_asymmetry *first)
{
    slices s;
    return cut(a, 0, &s) && !are_symmetric(&s, 0.0, first);
}

int cli_frames_first(cli_call *call, const char *spec, int axis, tlnmf_record *record, cli_array *a)
{
    slices s;
    double *y;
    if (axis <= 0 || !cut(a, axis, &s))
        return EXIT_DONE;
    int64_t shape[3] = {s.N, s.M, s.M};
    tlnmf_error error = tlnmf_new_array(call->ctx, record, "covariances", 3, shape, &y);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, spec);
    for (int64_t n = 0; n < s.N; n++)
        for (int64_t i = 0; i < s.M; i++)
            for (int64_t j = 0; j < s.M; j++)
                y[(n * s.M + i) * s.M + j] = entry(&s, n, i, j);
    *a = (cli_array){.rank = 3, .shape = {s.N, s.M, s.M}, .x = y};
    return EXIT_DONE;
}
