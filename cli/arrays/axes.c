/* The axes of an array by name, and what becomes of them: realisations, frame length, frames. */
#include "cli/arrays/arrays.h"

#include <string.h>

/* What an axis can be: a letter of (S, M, N). */
typedef enum role { REALISATIONS, LENGTH, FRAMES, NO_ROLE } role;

static const struct {
    const char *name;
    role role;
} known[] = {{"trials", REALISATIONS}, {"epochs", REALISATIONS}, {"realisations", REALISATIONS},
             {"channels", LENGTH},     {"sensors", LENGTH},      {"length", LENGTH},
             {"time", FRAMES},         {"frames", FRAMES}};

static role role_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0)
            return known[i].role;
    return NO_ROLE;
}

/* Which axis has which role, -1 for none; false with a message. */
static bool read_axes(const cli_call *call, const char *text, int axis[3], int *count)
{
    *count = 0;
    for (const char *at = text; at != NULL; (*count)++) {
        size_t length = strcspn(at, ",");
        role r = role_of(at, length);
        if (r == NO_ROLE || *count == 3) {
            cli_fail(call->command, EXIT_USAGE,
                     "axes = %s: names of 2 or 3 axes with commas: trials, epochs or realisations; "
                     "channels, sensors or length; time or frames",
                     text);
            return false;
        }
        if (axis[r] >= 0) {
            cli_fail(call->command, EXIT_USAGE, "axes = %s: two axes cannot both be the %s", text,
                     r == REALISATIONS ? "realisations"
                     : r == LENGTH     ? "length of a frame"
                                       : "frames");
            return false;
        }
        axis[r] = *count;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    if (axis[LENGTH] >= 0 && axis[FRAMES] >= 0)
        return true;
    cli_fail(call->command, EXIT_USAGE, "axes = %s: there must be %s", text,
             axis[LENGTH] < 0 ? "channels, sensors or length" : "time or frames");
    return false;
}

int cli_check_axes(const cli_call *call, const char *axes)
{
    int axis[3] = {-1, -1, -1}, count;
    return axes == NULL || read_axes(call, axes, axis, &count) ? EXIT_DONE : EXIT_USAGE;
}

/* y (S, M, N), or with `joined` (1, M, S N), from x whose axes have these roles. */
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
    else if (!read_axes(call, input->axes, axis, &count))
        return EXIT_USAGE;
    if (count != a->rank)
        return cli_fail(call->command, EXIT_INPUT, "%s: it has %d axes, and --axes %s names %d",
                        input->spec, (int)a->rank, input->axes, count);
    if (input->per_trial && axis[REALISATIONS] < 0)
        return cli_fail(call->command, EXIT_USAGE, "--per-trial: %s has no trials", input->spec);
    int64_t S = axis[0] < 0 ? 1 : a->shape[axis[0]], M = a->shape[axis[1]], N = a->shape[axis[2]];
    int64_t shape[3] = {input->per_trial ? 1 : S, M, input->per_trial ? S * N : N};
    tlnmf_error error = tlnmf_new_array(call->ctx, record, "arranged", 3, shape, &y);
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
