/* The files of the stems: written together, and rounded so that they sum to the sound. */
#include "cli/stems/stems.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_outputs_fail(const cli_outputs *o, tlnmf_error error)
{
    return cli_fail(o->stems->call->command, cli_code_of(error), "%s", tlnmf_message(o->ctx));
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *temporary_of(const tlnmf_io_writer *writer)
{
    return tlnmf_record_get_text(tlnmf_io_writer_record(writer), "temporary");
}

static int open_writer(cli_outputs *o, int64_t i)
{
    char path[CLI_PATH];
    const char *name = tlnmf_record_get_text_at(o->names, "names", (size_t)i);
    int code = cli_stems_check_output(o->stems, name, o->stems->format);
    if (code != EXIT_DONE)
        return code;
    if (cli_stems_staged(o->stems, name, o->stems->format, path) == NULL)
        return EXIT_OUTPUT;
    tlnmf_error error = tlnmf_io_writer_create(o->ctx, path, o->stems->sound, &o->writer[i]);
    if (error != TLNMF_OK)
        return cli_outputs_fail(o, error);
    cli_remember_temporary(temporary_of(o->writer[i]));
    o->step = tlnmf_record_get_real(tlnmf_io_writer_record(o->writer[i]), "step");
    return EXIT_DONE;
}

int cli_outputs_open(cli_outputs *o, const cli_stems *stems, const tlnmf_record *plan)
{
    *o = (cli_outputs){.stems = stems, .gain = 1.0};
    tlnmf_error error = tlnmf_ctx_create(&o->ctx);
    if (error != TLNMF_OK)
        return cli_fail(stems->call->command, EXIT_INTERNAL, "no memory");
    error = tlnmf_io_safe_names(o->ctx, plan, &o->names);
    if (error != TLNMF_OK)
        return cli_outputs_fail(o, error);
    int64_t count = tlnmf_record_get_integer(plan, "stems");
    o->channels = tlnmf_record_get_integer(tlnmf_sound_record(stems->sound), "channels");
    o->writer = calloc((size_t)count, sizeof *o->writer);
    if (o->writer == NULL)
        return cli_fail(stems->call->command, EXIT_INTERNAL, "no memory for %lld stems",
                        (long long)count);
    o->count = count;
    int code = EXIT_DONE;
    cli_guard_begin(); /* every temporary file must be registered */
    for (int64_t i = 0; code == EXIT_DONE && i < count; i++)
        code = open_writer(o, i);
    cli_guard_end();
    return code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool grow(cli_outputs *o, int64_t samples)
{
    if (samples <= o->capacity)
        return true;
    free(o->owed);
    free(o->copy);
    o->owed = calloc((size_t)samples, sizeof *o->owed);
    o->copy = calloc((size_t)samples, sizeof *o->copy);
    o->capacity = samples;
    return o->owed != NULL && o->copy != NULL;
}

/* Rounds a stem to the steps of the format. The last stem takes the rounding errors of the others,
 * so that the files sum to the input up to one rounding. */
static void round_stem(cli_outputs *o, int64_t stem, int64_t samples, const double *x)
{
    bool last = stem + 1 == o->count;
    if (stem == 0)
        memset(o->owed, 0, (size_t)samples * sizeof *o->owed);
    for (int64_t i = 0; i < samples; i++) {
        double y = o->gain * x[i] + (last ? o->owed[i] : 0.0);
        o->copy[i] = o->step > 0.0 ? o->step * floor(y / o->step + 0.5) : y;
        o->owed[i] += y - o->copy[i];
    }
}

int cli_outputs_write(int64_t stem, int64_t first, int64_t count, const double *x, void *user)
{
    (void)first;
    cli_outputs *o = user;
    int64_t samples = count * o->channels;
    if (o->measures) {
        for (int64_t i = 0; i < samples; i++)
            o->peak = fmax(o->peak, fabs(x[i]));
        return 0;
    }
    if (!grow(o, samples)) {
        o->error = tlnmf_fail(o->ctx, TLNMF_ERR_MEMORY, "no memory for a block of the stems");
    } else {
        round_stem(o, stem, samples, x);
        o->error = tlnmf_io_writer_append(o->ctx, o->writer[stem], o->copy, count);
    }
    return o->error != TLNMF_OK;
}

/* ---- ending ---------------------------------------------------------------------------------- */

int cli_outputs_commit(cli_outputs *o)
{
    for (int64_t i = 0; i < o->count; i++) {
        tlnmf_io_writer *writer = o->writer[i];
        o->clipped += tlnmf_record_get_integer(tlnmf_io_writer_record(writer), "clipped");
        cli_forget_temporary(temporary_of(writer));
        o->writer[i] = NULL; /* the commit frees it in either case */
        tlnmf_error error = tlnmf_io_writer_commit(o->ctx, writer);
        if (error != TLNMF_OK)
            return cli_outputs_fail(o, error);
    }
    return EXIT_DONE;
}

void cli_outputs_free(cli_outputs *o)
{
    cli_guard_begin(); /* a name lives as long as its writer */
    for (int64_t i = 0; i < o->count; i++)
        if (o->writer[i] != NULL) {
            cli_forget_temporary(temporary_of(o->writer[i]));
            tlnmf_io_writer_abort(o->writer[i]);
        }
    cli_guard_end();
    free(o->writer);
    free(o->owed);
    free(o->copy);
    tlnmf_record_free(o->names);
    tlnmf_ctx_free(o->ctx);
}
