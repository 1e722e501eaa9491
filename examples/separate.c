/* Separates a recording with both libraries. Reads a sound file and a label track; writes a sound
 * file per source, the model, and a label track of the notes found.
 *
 *     cc separate.c $(pkg-config --cflags --libs tlnmf_io) -o separate
 *     ./separate mix.flac labels.txt out method=tl seed=3
 *
 * writes out-1.wav, out-2.wav, .. for the names in the labels, out.h5 and out.txt. The options are
 * those of the task "learn". */
#include <tlnmf/io.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

/* All objects, so that one function can free them. */
typedef struct work {
    tlnmf_ctx *ctx;
    tlnmf_sound *sound;
    tlnmf_settings *learn, *take_apart;
    tlnmf_record *track, *model, *plan, *report, *events;
    tlnmf_io_writer *writer[MOST];
    int64_t stems;
} work;

/* Shows the progress on one line. */
static int show(const tlnmf_record *progress, void *user)
{
    (void)user;
    if (strcmp(tlnmf_record_get_text(progress, "stage"), "choose") == 0)
        fprintf(stderr, "\rcandidate %lld",
                (long long)tlnmf_record_get_integer(progress, "iteration"));
    return 0;
}

static const char *name_of(const char *prefix, const char *name, const char *extension)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s%s%s%s", prefix, name[0] == '\0' ? "" : "-", name, extension);
    return path;
}

/* Creates a writer per stem. Files are named by number, since labels may have characters that file
 * names cannot have. */
static tlnmf_error open_stems(work *w, const char *prefix)
{
    tlnmf_error error = tlnmf_separate_plan(w->ctx, w->model, w->sound, w->take_apart, &w->plan);
    int64_t count = error == TLNMF_OK ? tlnmf_record_get_integer(w->plan, "stems") : 0;
    for (; w->stems < count && w->stems < MOST && error == TLNMF_OK; w->stems++) {
        char name[16];
        snprintf(name, sizeof name, "%d", (int)w->stems + 1);
        error = tlnmf_io_writer_create(w->ctx, name_of(prefix, name, ".wav"), w->sound,
                                       &w->writer[w->stems]);
    }
    return error;
}

/* Receives the stems in pieces: tlnmf_separate never has the whole recording in memory. */
static int write_stem(int64_t stem, int64_t first, int64_t count, const double *x, void *user)
{
    work *w = user;
    (void)first; /* the samples of a stem come in order */
    return stem >= w->stems ||
           tlnmf_io_writer_append(w->ctx, w->writer[stem], x, count) != TLNMF_OK;
}

/* Only this gives the files their names. */
static tlnmf_error close_stems(work *w)
{
    tlnmf_error error = TLNMF_OK;
    for (int64_t i = 0; i < w->stems && error == TLNMF_OK; i++) {
        error = tlnmf_io_writer_commit(w->ctx, w->writer[i]);
        w->writer[i] = NULL; /* commit has freed it */
    }
    return error;
}

/* Options of the command line, "name=value": the library checks both. */
static tlnmf_error set_options(work *w, int count, char **options)
{
    tlnmf_error error = tlnmf_settings_create(w->ctx, "learn", &w->learn);
    for (int i = 0; i < count && error == TLNMF_OK; i++)
        error = tlnmf_settings_set_all(w->ctx, w->learn, options[i]);
    return error;
}

static tlnmf_error learn(work *w, const char *sound, const char *labels)
{
    tlnmf_error error = tlnmf_io_open_sound(w->ctx, sound, &w->sound);
    if (error == TLNMF_OK)
        error = tlnmf_io_read_labels(w->ctx, labels, &w->track);
    if (error == TLNMF_OK)
        error = tlnmf_sound_add_labels(w->ctx, w->sound, w->track);
    if (error == TLNMF_OK)
        error = tlnmf_learn_sources(w->ctx, w->sound, w->learn, &w->model);
    return error;
}

static tlnmf_error take_apart(work *w, const char *prefix)
{
    tlnmf_error error = tlnmf_settings_create(w->ctx, "separate", &w->take_apart);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_text(w->ctx, w->take_apart, "keep-h", "true");
    if (error == TLNMF_OK)
        error = open_stems(w, prefix);
    if (error == TLNMF_OK)
        error =
            tlnmf_separate(w->ctx, w->model, w->sound, w->take_apart, write_stem, w, &w->report);
    return error == TLNMF_OK ? close_stems(w) : error;
}

static tlnmf_error write_findings(work *w, const char *prefix)
{
    tlnmf_error error = tlnmf_io_write_model(w->ctx, name_of(prefix, "", ".h5"), w->model);
    if (error == TLNMF_OK)
        error = tlnmf_activations(w->ctx, w->model, w->sound, w->report, &w->events);
    if (error == TLNMF_OK)
        error = tlnmf_io_write_labels(w->ctx, name_of(prefix, "", ".txt"), w->model, w->events);
    return error;
}

static void free_all(work *w)
{
    for (int64_t i = 0; i < w->stems; i++)
        tlnmf_io_writer_abort(w->writer[i]); /* no incomplete file remains */
    tlnmf_record_free(w->events);
    tlnmf_record_free(w->report);
    tlnmf_record_free(w->plan);
    tlnmf_record_free(w->model);
    tlnmf_record_free(w->track);
    tlnmf_settings_free(w->take_apart);
    tlnmf_settings_free(w->learn);
    tlnmf_sound_free(w->sound);
    tlnmf_ctx_free(w->ctx);
}

int main(int argc, char **argv)
{
    work w = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: %s SOUND LABELS PREFIX [OPTION=VALUE..]\n", argv[0]);
        return 2;
    }
    if (tlnmf_ctx_create(&w.ctx) != TLNMF_OK)
        return 1;
    tlnmf_ctx_set_progress(w.ctx, show, NULL);
    tlnmf_error error = set_options(&w, argc - 4, argv + 4);
    if (error == TLNMF_OK)
        error = learn(&w, argv[1], argv[2]);
    if (error == TLNMF_OK)
        error = take_apart(&w, argv[3]);
    if (error == TLNMF_OK)
        error = write_findings(&w, argv[3]);
    fprintf(stderr, "\n");
    if (error == TLNMF_OK)
        printf("%lld stems; method %s, transform %s, %lld per source; %.1f dB on remixed parts\n",
               (long long)w.stems, tlnmf_record_get_text(w.model, "method"),
               tlnmf_record_get_text(w.model, "transform"),
               (long long)tlnmf_record_get_integer(w.model, "per_source"),
               tlnmf_record_get_real(w.model, "score"));
    else
        fprintf(stderr, "%s error: %s\n", tlnmf_error_name(error), tlnmf_message(w.ctx));
    free_all(&w);
    return error != TLNMF_OK;
}
