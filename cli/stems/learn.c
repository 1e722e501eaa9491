/* Learning a model of the sources, or taking it from the checkpoint of a run that was killed. */
#include "cli/stems/stems.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME = 96, BLOCK = 4096 /* samples read at a time */ };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what a checkpoint is of ----------------------------------------------------------------- */

/* Fowler, Noll and Vo's hash of 64 bits. */
static uint64_t hash(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

/* All samples of the sound. */
static tlnmf_error hash_sound(const cli_stems *stems, uint64_t *h)
{
    enum { CHANNELS = 64 }; /* 2 MiB; with more channels, fewer samples at a time */
    static double x[BLOCK * CHANNELS];
    const tlnmf_record *about = tlnmf_sound_record(stems->sound);
    int64_t length = tlnmf_get_integer(about, "length"),
            channels = tlnmf_get_integer(about, "channels");
    int64_t at_once = channels <= CHANNELS ? BLOCK : (int64_t)BLOCK * CHANNELS / channels;
    for (int64_t first = 0; first < length; first += at_once) {
        int64_t count = length - first < at_once ? length - first : at_once;
        tlnmf_error error = tlnmf_sound_read(stems->call->ctx, stems->sound, first, count, x);
        if (error != TLNMF_OK)
            return error;
        *h = hash(*h, x, (size_t)(count * channels) * sizeof *x);
    }
    return TLNMF_OK;
}

/* The labels as the file has them. */
static tlnmf_error hash_labels(const cli_stems *stems, uint64_t *h)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    tlnmf_record *track;
    size_t size = 0;
    if (cli_stem_values.labels == NULL)
        return TLNMF_OK;
    tlnmf_error error = tlnmf_io_read_labels(ctx, cli_stem_values.labels, &track);
    if (error != TLNMF_OK)
        return error;
    const char *name;
    int64_t shape[TLNMF_MAX_RANK];
    const double *start = tlnmf_get_array(track, "start", NULL, shape),
                 *end = tlnmf_get_array(track, "end", NULL, NULL);
    *h = hash(*h, start, (size_t)shape[0] * sizeof *start);
    *h = hash(*h, end, (size_t)shape[0] * sizeof *end);
    for (; (name = tlnmf_get_text_at(track, "name", size)) != NULL; size++)
        *h = hash(*h, name, strlen(name) + 1);
    tlnmf_record_free(track);
    return TLNMF_OK;
}

/* Sets checkpoint.version, checkpoint.sound, and checkpoint.NAME of every option but threads. */
static tlnmf_error put_identity(const cli_stems *stems, tlnmf_record *record)
{
    const cli_call *call = stems->call;
    const char *option;
    char name[NAME], value[64];
    uint64_t h = 0xcbf29ce484222325u;
    tlnmf_error error = hash_sound(stems, &h);
    if (error == TLNMF_OK)
        error = hash_labels(stems, &h);
    if (error == TLNMF_OK)
        error = tlnmf_set_text(call->ctx, record, "checkpoint.version", tlnmf_version());
    for (size_t i = 0; error == TLNMF_OK && (option = tlnmf_option_name("separate", i)) != NULL;
         i++) {
        if (strcmp(option, "threads") == 0)
            continue;
        snprintf(name, sizeof name, "checkpoint.%s", option);
        error =
            tlnmf_set_text(call->ctx, record, name,
                           tlnmf_settings_get_text(call->settings, option, value, sizeof value));
    }
    if (error == TLNMF_OK)
        error = tlnmf_set_integer(call->ctx, record, "checkpoint.sound", (int64_t)h);
    return error;
}

/* ---- keep and take --------------------------------------------------------------------------- */

/* The fields of `now` are those of the checkpoint, from which they are taken away. */
static int compare(const cli_call *call, const tlnmf_record *now, tlnmf_record *model)
{
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(now, i)) != NULL; i++) {
        const char *is = tlnmf_get_text(now, name), *was = tlnmf_get_text(model, name);
        if (is == NULL && tlnmf_get_integer(now, name) != tlnmf_get_integer(model, name))
            return cli_fail(call->command, EXIT_INPUT,
                            "the checkpoint is of another sound, or other labels");
        if (is != NULL && (was == NULL || strcmp(is, was) != 0))
            return cli_fail(call->command, EXIT_INPUT,
                            "the checkpoint is of %s = %s, this run of %s", strchr(name, '.') + 1,
                            was != NULL ? was : "nothing", is);
        tlnmf_record_remove(model, name);
    }
    return EXIT_DONE;
}

/* *model stays NULL if there is no checkpoint, or one of candidates: that is *state then. */
static int take(const cli_stems *stems, tlnmf_record **model, tlnmf_record **state)
{
    const cli_call *call = stems->call;
    tlnmf_record *now = NULL;
    int code = cli_checkpoint_read(call, model);
    if (code != EXIT_DONE || *model == NULL)
        return code;
    const char *kind = tlnmf_get_text(*model, "kind");
    if (kind != NULL && strcmp(kind, "candidates") == 0) {
        *state = *model;
        *model = NULL;
        return EXIT_DONE;
    }
    tlnmf_error error = tlnmf_record_create(call->ctx, &now);
    if (error == TLNMF_OK)
        error = put_identity(stems, now);
    code = error == TLNMF_OK ? compare(call, now, *model) : cli_fail_library(call, error, NULL);
    tlnmf_record_free(now);
    return code;
}

/* A model that took long to learn is kept until the stems are there. */
static void keep(const cli_stems *stems, const tlnmf_record *model)
{
    tlnmf_ctx *ctx = stems->call->ctx;
    tlnmf_record *copy = NULL;
    size_t size = 0;
    /* A packed copy, so that the model itself has no more fields than it had. */
    if (tlnmf_record_pack(ctx, model, NULL, &size) != TLNMF_OK)
        return;
    void *bytes = malloc(size);
    if (bytes != NULL && tlnmf_record_pack(ctx, model, bytes, &size) == TLNMF_OK &&
        tlnmf_record_unpack(ctx, bytes, size, &copy) == TLNMF_OK &&
        put_identity(stems, copy) == TLNMF_OK)
        cli_checkpoint_write(copy);
    tlnmf_record_free(copy);
    free(bytes);
}

int cli_stems_learn(const cli_stems *stems, tlnmf_record **model)
{
    cli_call *call = stems->call;
    double since = now();
    tlnmf_record *state = NULL;
    *model = NULL;
    int code = take(stems, model, &state);
    if (code != EXIT_DONE || *model != NULL)
        return code;
    tlnmf_ctx_set_progress(call->ctx, cli_sound_progress, NULL);
    cli_checkpoint_watch(call, state);
    tlnmf_error error = tlnmf_separate(call->ctx, stems->sound, call->settings, model);
    tlnmf_ctx_set_checkpoint(call->ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(call->ctx, NULL);
    tlnmf_record_free(state);
    if (error != TLNMF_OK) /* the message of a file that cannot be read names it */
        return cli_fail_library(
            call, error,
            error == TLNMF_ERR_OPTION || error == TLNMF_ERR_INPUT ? NULL : stems->path);
    if (tlnmf_get_integer(*model, "outcome_code") == TLNMF_CANCELLED)
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted, no stems are written");
    if (now() - since >= cli_checkpoint_every())
        keep(stems, *model);
    return EXIT_DONE;
}
