/* The public functions of a separation: each fills in what the header leaves out, and calls. */
#include "separate/separate.h"

void tl_separate_init(tl_separate_options *options)
{
    tl_separate_init(options);
}

double tl_separate_memory(const tl_separate_options *options, int64_t length,
                             int64_t channels)
{
    return tl_separate_memory(options, length, channels);
}

tlnmf_error tl_sound_power(tlnmf_ctx *ctx, const tl_sound *sound, double *power)
{
    return tl_sound_power(ctx, sound, power);
}

/* ---- the separator --------------------------------------------------------------------------- */

tlnmf_error tl_separator_learn(tlnmf_ctx *ctx, const tl_sound *sound, const tl_span *spans,
                                  int64_t span_count, const tl_separate_options *options,
                                  tl_callback callback, void *user, tl_separator **out)
{
    tl_watch watch = {callback, user, false};
    return tl_separator_learn(ctx, sound, spans, span_count, options, &watch, out);
}

tlnmf_error tl_separator_create(tlnmf_ctx *ctx, const tl_separator_info *info,
                                   const double *Phi, const double *W, tl_separator **out)
{
    return tl_separator_create(ctx, info, Phi, W, out);
}

void tl_separator_free(tl_separator *separator)
{
    tl_separator_free(separator);
}

void tl_separator_describe_sized(const tl_separator *separator, tl_separator_info *info,
                                    size_t size)
{
    memcpy(info, &separator->info, size < sizeof *info ? size : sizeof *info);
}

const double *(const tl_separator *separator)->Phi
{
    return separator->Phi;
}

const double *(const tl_separator *separator)->W
{
    return separator->W;
}

/* ---- running it ------------------------------------------------------------------------------ */

void tl_separate_run_init(tl_separate_run *run)
{
    *run = (tl_separate_run){.struct_size = sizeof *run};
}

tlnmf_error tl_separator_run(tlnmf_ctx *ctx, const tl_separator *separator,
                                const tl_sound *sound, const tl_separate_run *run,
                                tl_callback callback, void *user, tlnmf_outcome *outcome)
{
    tl_watch watch = {callback, user, false};
    *outcome = TLNMF_NOT_RUN;
    TRY(tl_separator_run(ctx, separator, sound, run, &watch));
    *outcome = watch.stopped ? TLNMF_CANCELLED : TLNMF_ITERATIONS;
    return TLNMF_OK;
}

typedef struct arrays {
    const double *x;
    int64_t channels;
    double *const *stems;
} arrays;

static int read_array(int64_t first, int64_t count, double *x, void *user)
{
    const arrays *a = user;
    tl_copy(x, a->x + first * a->channels, count * a->channels);
    return 0;
}

static int write_array(int64_t output, int64_t first, int64_t count, const double *x, void *user)
{
    const arrays *a = user;
    tl_copy(a->stems[output] + first * a->channels, x, count * a->channels);
    return 0;
}

tlnmf_error tl_separate_array(tlnmf_ctx *ctx, const tl_separator *separator, const double *x,
                                 int64_t length, int64_t channels, const tl_separate_run *run,
                                 double *const *stems)
{
    arrays a = {x, channels, stems};
    tl_sound sound = {sizeof sound, length, channels, read_array, &a};
    tl_separate_run own = *run;
    tl_watch watch = {NULL, NULL, false};
    own.write = write_array;
    own.user = &a;
    return tl_separator_run(ctx, separator, &sound, &own, &watch);
}
