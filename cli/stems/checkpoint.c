/* Checkpoints of a separation: candidates, then the model, then the model and blocks of stems. */
#include "cli/stems/stems.h"

#include <stdlib.h>
#include <string.h>

enum { NAME = 96, BLOCK = 4096 /* samples read at a time */ };

/* What a checkpoint adds to the fields of the model: what it is of, and the state of the stems. */
static const char OF[] = "checkpoint.", STEMS[] = "stems.";

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
static tlnmf_error hash_sound(tlnmf_ctx *ctx, const cli_stems *stems, uint64_t *h)
{
    enum { CHANNELS = 64 }; /* 2 MiB; with more channels, fewer samples at a time */
    static double x[BLOCK * CHANNELS];
    const tlnmf_record *about = tlnmf_sound_record(stems->sound);
    int64_t length = tlnmf_get_integer(about, "length"),
            channels = tlnmf_get_integer(about, "channels");
    int64_t at_once = channels <= CHANNELS ? BLOCK : (int64_t)BLOCK * CHANNELS / channels;
    for (int64_t first = 0; first < length; first += at_once) {
        int64_t count = length - first < at_once ? length - first : at_once;
        tlnmf_error error = tlnmf_sound_read(ctx, stems->sound, first, count, x);
        if (error != TLNMF_OK)
            return error;
        *h = hash(*h, x, (size_t)(count * channels) * sizeof *x);
    }
    return TLNMF_OK;
}

/* The labels as the file has them. */
static tlnmf_error hash_labels(tlnmf_ctx *ctx, uint64_t *h)
{
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
static tlnmf_error put_identity(tlnmf_ctx *ctx, const cli_stems *stems, tlnmf_record *record)
{
    const cli_call *call = stems->call;
    const char *option;
    char name[NAME], value[64];
    uint64_t h = 0xcbf29ce484222325u;
    tlnmf_error error = hash_sound(ctx, stems, &h);
    if (error == TLNMF_OK)
        error = hash_labels(ctx, &h);
    if (error == TLNMF_OK)
        error = tlnmf_set_text(ctx, record, "checkpoint.version", tlnmf_version());
    for (size_t i = 0; error == TLNMF_OK && (option = tlnmf_option_name("separate", i)) != NULL;
         i++) {
        if (strcmp(option, "threads") == 0)
            continue;
        snprintf(name, sizeof name, "%s%s", OF, option);
        error =
            tlnmf_set_text(ctx, record, name,
                           tlnmf_settings_get_text(call->settings, option, value, sizeof value));
    }
    if (error == TLNMF_OK)
        error = tlnmf_set_integer(ctx, record, "checkpoint.sound", (int64_t)h);
    return error;
}

/* ---- take ------------------------------------------------------------------------------------ */

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

/* Copies the fields of a state whose names begin with `from`; in `to` they begin with `prefix`. */
static tlnmf_error copy_state(tlnmf_ctx *ctx, const tlnmf_record *state, const char *from,
                              const char *prefix, tlnmf_record *to)
{
    const char *name;
    tlnmf_error error = TLNMF_OK;
    for (size_t i = 0; error == TLNMF_OK && (name = tlnmf_record_name(state, i)) != NULL; i++) {
        char as[NAME];
        int32_t rank;
        int64_t shape[TLNMF_MAX_RANK];
        if (strncmp(name, from, strlen(from)) != 0)
            continue;
        snprintf(as, sizeof as, "%s%s", prefix, name + strlen(from));
        const double *x = tlnmf_get_array(state, name, &rank, shape);
        if (x != NULL)
            error = tlnmf_set_array(ctx, to, as, x, rank, shape);
        else if (tlnmf_record_type(state, name) == TLNMF_TEXT)
            error = tlnmf_set_text(ctx, to, as, tlnmf_get_text(state, name));
        else
            error = tlnmf_set_integer(ctx, to, as, tlnmf_get_integer(state, name));
    }
    return error;
}

/* The state of the stems in a checkpoint of the model, if there is one, as a record of its own. */
static tlnmf_error split(tlnmf_ctx *ctx, const tlnmf_record *all, tlnmf_record **state)
{
    *state = NULL;
    if (tlnmf_get_text(all, "stems.kind") == NULL)
        return TLNMF_OK;
    tlnmf_error error = tlnmf_record_create(ctx, state);
    return error == TLNMF_OK ? copy_state(ctx, all, STEMS, "", *state) : error;
}

/* Takes the fields of the state away from the model. */
static void strip(tlnmf_record *model)
{
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(model, i)) != NULL;)
        if (strncmp(name, STEMS, strlen(STEMS)) == 0)
            tlnmf_record_remove(model, name);
        else
            i++;
}

int cli_stems_take(cli_stems *stems, tlnmf_record **model, tlnmf_record **state)
{
    cli_call *call = stems->call;
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
        error = put_identity(call->ctx, stems, now);
    if (error == TLNMF_OK)
        error = split(call->ctx, *model, &stems->kept.state);
    strip(*model);
    code = error == TLNMF_OK ? compare(call, now, *model) : cli_fail_library(call, error, NULL);
    tlnmf_record_free(now);
    return code;
}

/* ---- keep ------------------------------------------------------------------------------------ */

/* Makes kept.all of the model: a packed copy, so that the model itself has no more fields than it
 * had. The call's own context is busy while stems are made. */
static tlnmf_error begin(cli_stems *stems, const tlnmf_record *model)
{
    cli_stem_kept *kept = &stems->kept;
    size_t size = 0;
    tlnmf_error error = kept->ctx == NULL ? tlnmf_ctx_create(&kept->ctx) : TLNMF_OK;
    if (error == TLNMF_OK)
        error = tlnmf_record_pack(kept->ctx, model, NULL, &size);
    void *bytes = error == TLNMF_OK ? malloc(size) : NULL;
    if (error == TLNMF_OK)
        error = bytes == NULL ? tlnmf_fail(kept->ctx, TLNMF_ERR_MEMORY, "no memory")
                              : tlnmf_record_pack(kept->ctx, model, bytes, &size);
    if (error == TLNMF_OK)
        error = tlnmf_record_unpack(kept->ctx, bytes, size, &kept->all);
    free(bytes);
    if (error == TLNMF_OK)
        error = put_identity(kept->ctx, stems, kept->all);
    if (error != TLNMF_OK) {
        tlnmf_record_free(kept->all);
        kept->all = NULL;
    }
    return error;
}

void cli_stems_keep(cli_stems *stems, const tlnmf_record *model)
{
    if (begin(stems, model) == TLNMF_OK)
        cli_checkpoint_write(stems->kept.all);
}

/* A tlnmf_save: blocks of stems are finished. */
static int save(const tlnmf_record *state, void *user)
{
    cli_stems *stems = user;
    cli_stem_kept *kept = &stems->kept;
    tlnmf_error error = kept->all == NULL ? begin(stems, kept->model) : TLNMF_OK;
    if (error == TLNMF_OK)
        error = copy_state(kept->ctx, state, "", STEMS, kept->all);
    if (error == TLNMF_OK)
        cli_checkpoint_write(kept->all);
    return 0; /* the next may succeed */
}

void cli_stems_watch(cli_stems *stems, const tlnmf_record *model)
{
    stems->kept.model = model;
    cli_checkpoint_watch(stems->call, save, stems, stems->kept.state);
}

void cli_stems_again(cli_stems *stems)
{
    cli_stem_kept *kept = &stems->kept;
    tlnmf_record *last = NULL;
    if (kept->all != NULL && split(kept->ctx, kept->all, &last) == TLNMF_OK && last != NULL) {
        tlnmf_record_free(kept->state);
        kept->state = last;
    } else {
        tlnmf_record_free(last);
    }
}

void cli_stems_forget(cli_stems *stems)
{
    cli_stem_kept *kept = &stems->kept;
    tlnmf_record_free(kept->state);
    tlnmf_record_free(kept->all);
    tlnmf_ctx_free(kept->ctx);
}
