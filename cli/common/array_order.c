/* The order of the axes of an array: by name, or by which slices are symmetric. */
#include "cli/common/arrays.h"

#include <math.h>
#include <string.h>

/* The role of an axis: a letter of (S, M, N). */
typedef enum role { REALISATIONS, LENGTH, FRAMES, NO_ROLE } role;

static const struct {
    const char *name;
    role role;
} known[] = {{"trials", REALISATIONS}, {"epochs", REALISATIONS}, {"realisations", REALISATIONS},
             {"channels", LENGTH},     {"sensors", LENGTH},      {"length", LENGTH},
             {"time", FRAMES},         {"times", FRAMES},        {"frames", FRAMES}};

static role role_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0)
            return known[i].role;
    return NO_ROLE;
}

/* Which axis has which role, -1 for none. */
static int read_axes(const cli_call *call, const char *text, int axis[3], int *count)
{
    *count = 0;
    for (const char *at = text; at != NULL; (*count)++) {
        size_t length = strcspn(at, ",");
        role r = role_of(at, length);
        if (r == NO_ROLE || *count == 3)
            return cli_fail(call->command, EXIT_USAGE,
                            "axes = %s: give 2 or 3 of these names, with commas: trials, epochs or "
                            "realisations; channels, sensors or length; time, times or frames",
                            text);
        if (axis[r] >= 0)
            return cli_fail(call->command, EXIT_USAGE, "axes = %s: two axes cannot both be the %s",
                            text,
                            r == REALISATIONS ? "realisations"
                            : r == LENGTH     ? "length of a frame"
                                              : "frames");
        axis[r] = *count;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    if (axis[LENGTH] >= 0 && axis[FRAMES] >= 0)
        return EXIT_DONE;
    return cli_fail(call->command, EXIT_USAGE, "axes = %s: missing %s", text,
                    axis[LENGTH] < 0 ? "channels, sensors or length" : "time, times or frames");
}

int cli_check_axes(const cli_call *call, const char *axes)
{
    int axis[3] = {-1, -1, -1}, count;
    return axes == NULL ? EXIT_DONE : read_axes(call, axes, axis, &count);
}

/* Writes y (S, M, N), or with `joined` (1, M, S N), from x, whose axes have these roles. */
static void permute(const cli_array *x, const int axis[3], bool joined, double *y)
{
    int64_t stride[3] = {0, 0, 0}, size[3], step = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        for (int r = 0; r < 3; r++)
            stride[r] = axis[r] == d ? step : stride[r];
        step *= x->shape[d];
    }
    for (int r = 0; r < 3; r++)
        size[r] = axis[r] < 0 ? 1 : x->shape[axis[r]];
    for (int64_t s = 0; s < size[0]; s++)
        for (int64_t m = 0; m < size[1]; m++)
            for (int64_t n = 0; n < size[2]; n++)
                y[joined ? (m * size[0] + s) * size[2] + n : (s * size[1] + m) * size[2] + n] =
                    x->x[s * stride[0] + m * stride[1] + n * stride[2]];
}

int cli_arrange(cli_call *call, const cli_input *input, tlnmf_record *record, cli_array *a)
{
    int axis[3] = {-1, -1, -1}, count = a->rank;
    double *y;
    if (input->axes == NULL && !input->per_trial)
        return EXIT_DONE;
    if (input->axes == NULL)
        for (int d = 0; d < a->rank; d++)
            axis[3 - a->rank + d] = d;
    else
        TRY(read_axes(call, input->axes, axis, &count));
    if (count != a->rank)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: the array has %d axes, but --axes %s names %d", input->spec,
                        (int)a->rank, input->axes, count);
    if (input->per_trial && axis[REALISATIONS] < 0)
        return cli_fail(call->command, EXIT_USAGE, "--per-trial: %s has no trials", input->spec);
    int64_t S = axis[0] < 0 ? 1 : a->shape[axis[0]], M = a->shape[axis[1]], N = a->shape[axis[2]];
    int64_t shape[3] = {input->per_trial ? 1 : S, M, input->per_trial ? S * N : N};
    tlnmf_error error = tlnmf_record_new_array(call->ctx, record, "arranged", 3, shape, &y);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, input->spec);
    permute(a, axis, input->per_trial, y);
    *a = (cli_array){.rank = 3, .shape = {shape[0], shape[1], shape[2]}, .x = y};
    if (input->per_trial)
        cli_say(call->command,
                "%s: %lld trials of %lld frames become %lld frames of length %lld, one realisation "
                "each",
                input->spec, (long long)S, (long long)N, (long long)shape[2], (long long)M);
    else
        cli_say(call->command,
                "%s: axes %s: %lld frames of length %lld, %lld realisation%s of each", input->spec,
                input->axes, (long long)N, (long long)M, (long long)S, S == 1 ? "" : "s");
    return EXIT_DONE;
}

static const double ROUNDING = 1e-6; /* accepted asymmetry of covariances, as in the library */

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

/* Whether all slices are symmetric up to this fraction of their largest entries. `first` receives
 * the first slice that is not. */
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
    static const int axes[] = {0, 2, 1};
    cli_asymmetry first;
    slices s;
    for (int i = 0; i < 3; i++) /* any 1 x 1 slice is symmetric: that shows nothing */
        if (cut(a, axes[i], &s) && (i == 0 || s.M > 1) && are_symmetric(&s, ROUNDING, &first))
            return axes[i];
    return -1;
}

bool cli_near_covariances(const cli_array *a, bool expected, cli_asymmetry *first)
{
    const double share = 0.02; /* slices of data differ by about the largest entry */
    static const int axes[] = {0, 2};
    cli_asymmetry unused;
    slices s;
    for (int i = 0; i < 2; i++) {
        if (!cut(a, axes[i], &s) || s.M < 2 || are_symmetric(&s, ROUNDING, first))
            continue;
        first->axis = axes[i];
        if (are_symmetric(&s, share, &unused) || (expected && i == 0))
            return true;
    }
    return false;
}

int cli_frames_first(cli_call *call, const char *spec, int axis, tlnmf_record *record, cli_array *a)
{
    slices s;
    double *y;
    if (axis <= 0 || !cut(a, axis, &s))
        return EXIT_DONE;
    int64_t shape[3] = {s.N, s.M, s.M};
    tlnmf_error error = tlnmf_record_new_array(call->ctx, record, "covariances", 3, shape, &y);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, spec);
    for (int64_t n = 0; n < s.N; n++)
        for (int64_t i = 0; i < s.M; i++)
            for (int64_t j = 0; j < s.M; j++)
                y[(n * s.M + i) * s.M + j] = entry(&s, n, i, j);
    *a = (cli_array){.rank = 3, .shape = {s.N, s.M, s.M}, .x = y};
    return EXIT_DONE;
}
