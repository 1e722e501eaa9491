/* The summary of a separation, as JSON and as text. */
#include "cli/stems/stems.h"

#include <math.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A rate is a real number in records, and an integer in sound files. */
static json_t *rate_json(const tlnmf_record *record)
{
    return json_integer((json_int_t)tlnmf_record_get_real(record, "rate"));
}

json_t *cli_stems_summary(const cli_stems *stems, const tlnmf_record *model)
{
    json_t *object = cli_summary(stems->call);
    cli_put_values(object, model, "power"); /* of the model, like eps, also with `apply` */
    json_object_set_new(object, "labels",
                        cli_asked.labels ? cli_text(cli_asked.labels) : json_null());
    json_object_set_new(object, "repeat", cli_repeat(stems->call));
    return object;
}

static json_t *separation_json(const tlnmf_record *model)
{
    json_t *names = json_array(), *object = json_object();
    const char *name;
    for (size_t k = 0; (name = tlnmf_record_get_text_at(model, "names", k)) != NULL; k++)
        json_array_append_new(names, cli_text(name));
    json_object_set_new(object, "names", names);
    cli_put_values(object, model,
                   "per_source method transform window taper beta frame hop shifts eps mean_power "
                   "remixes candidates learn_frames band C");
    json_object_set_new(object, "rate", rate_json(model));
    json_object_set_new(object, "remix_si_sdr", cli_real(tlnmf_record_get_real(model, "score")));
    json_object_set_new(object, "iterations",
                        json_integer((json_int_t)tlnmf_record_get_integer(model, "J")));
    return object;
}

/* The candidates, one list per column; null if a score is not known. */
static json_t *candidates_json(const tlnmf_record *model)
{
    json_t *what = json_array(), *score = json_array(), *weight = json_array(), *why = json_array();
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    const double *scores = tlnmf_record_get_array(model, "candidate.score", NULL, shape);
    const double *weights = tlnmf_record_get_array(model, "candidate.weight", NULL, shape);
    const char *text;
    for (size_t i = 0; scores != NULL && weights != NULL && i < (size_t)shape[0] &&
                       (text = tlnmf_record_get_text_at(model, "candidate.what", i)) != NULL;
         i++) {
        json_array_append_new(what, cli_text(text));
        json_array_append_new(score, cli_real(scores[i]));
        json_array_append_new(weight, cli_real(weights[i]));
        json_array_append_new(why, cli_text(tlnmf_record_get_text_at(model, "candidate.why", i)));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "what", what, "score", score, "weight", weight, "why",
                     why);
}

static json_t *sound_json(const cli_stems *stems)
{
    const tlnmf_record *sound = tlnmf_sound_record(stems->sound);
    json_t *object = json_object();
    json_object_set_new(object, "file", cli_text(stems->path));
    json_object_set_new(object, "frames",
                        json_integer((json_int_t)tlnmf_record_get_integer(sound, "length")));
    cli_put_values(object, sound, "channels");
    json_object_set_new(object, "rate", rate_json(sound));
    if (stems->recording != NULL)
        json_object_set_new(object, "resampled_from",
                            rate_json(tlnmf_sound_record(stems->recording)));
    return object;
}

/* The path of a stem; "" if the name is too long, which has been reported. */
static const char *stem_path(const cli_outputs *o, int64_t i, char path[CLI_PATH])
{
    const char *name = tlnmf_record_get_text_at(o->names, "names", (size_t)i);
    return cli_stems_path(o->stems, name, o->stems->format, path) != NULL ? path : "";
}

void cli_stems_describe(const cli_outputs *o, const tlnmf_record *model, json_t *summary)
{
    json_t *files = json_array();
    char path[CLI_PATH];
    for (int64_t i = 0; i < o->count; i++)
        json_array_append_new(files, cli_text(stem_path(o, i, path)));
    json_object_set_new(summary, "sound", sound_json(o->stems));
    json_object_set_new(summary, "separation", separation_json(model));
    json_object_set_new(summary, "candidate", candidates_json(model));
    bool own = o->stems->model_path == NULL; /* else the verdict is about another recording */
    json_object_set_new(summary, "verdict", own ? cli_quality_json(model) : json_null());
    json_object_set_new(summary, "stems", files);
    json_object_set_new(summary, "gain", json_real(o->gain));
    json_object_set_new(summary, "clipped", json_integer((json_int_t)o->clipped));
}

/* ---- text ------------------------------------------------------------------------------------ */

static int64_t member_count(const tlnmf_record *model)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    tlnmf_record_get_array(model, "members", NULL, shape);
    return shape[0];
}

/* "learnt from the DCT, tukey window, .."; of a blend, the member with the largest weight */
static void print_transform(const tlnmf_record *model)
{
    bool fixed = strcmp(tlnmf_record_get_text(model, "method"), "nmf") == 0;
    int64_t shifts = tlnmf_record_get_integer(model, "shifts");
    char transform[16];
    snprintf(transform, sizeof transform, "%s", tlnmf_record_get_text(model, "transform"));
    for (char *letter = transform; *letter != '\0'; letter++)
        if (*letter >= 'a' && *letter <= 'z')
            *letter = (char)(*letter - 'a' + 'A');
    fputs("  transform     ", stdout);
    if (member_count(model) > 1)
        printf("blend of %lld, mainly ", (long long)member_count(model));
    printf("%s%s, %s window, frames of %lld samples every %lld, %lld shift%s\n",
           fixed ? "" : "learnt from the ", transform, tlnmf_record_get_text(model, "window"),
           (long long)tlnmf_record_get_integer(model, "frame"),
           (long long)tlnmf_record_get_integer(model, "hop"), (long long)shifts,
           cli_plural(shifts));
}

/* One line per stem: its file, and its expected quality. */
static void print_stems(const cli_outputs *o, const tlnmf_record *model, bool own)
{
    enum { SHOWN = 5 };
    int64_t sources = tlnmf_record_get_integer(model, "sources");
    int64_t shown = cli_asked.verbose != NULL || o->count <= SHOWN ? o->count : SHOWN;
    bool by_source = tlnmf_settings_get_integer(o->stems->settings, "components") != 1;
    for (int64_t i = 0; i < shown; i++) {
        char path[CLI_PATH];
        fputs("  ", stdout);
        cli_put(stdout, stem_path(o, i, path));
        if (own && by_source && i < sources) {
            fputs(": ", stdout);
            cli_quality_print_stem(model, i, cli_asked.labels != NULL);
        }
        putchar('\n');
    }
    if (shown < o->count)
        printf("  and %lld more; -v lists them\n", (long long)(o->count - shown));
}

static void print_learning(const tlnmf_record *model)
{
    double score = tlnmf_record_get_real(model, "score");
    int64_t remixes = tlnmf_record_get_integer(model, "remixes");
    int64_t learnt = tlnmf_record_get_integer(model, "learn_frames");
    int64_t each = tlnmf_record_get_integer(model, "per_source");
    if (each > 0)
        printf("  components    %lld per source\n", (long long)each);
    if (isfinite(score))
        printf("  chosen of     %lld candidates: SI-SDR %.1f dB on %lld remix%s of the recording's "
               "own parts\n",
               (long long)tlnmf_record_get_integer(model, "candidates"), score, (long long)remixes,
               remixes == 1 ? "" : "es");
    if (learnt > 0)
        printf("  learnt from   %lld frames\n", (long long)learnt);
}

void cli_stems_print(const cli_outputs *o, const tlnmf_record *model, const tlnmf_record *report,
                     const char *page)
{
    const tlnmf_record *sound = tlnmf_sound_record(o->stems->sound);
    double rate = tlnmf_record_get_real(sound, "rate");
    bool own = o->stems->model_path == NULL; /* else the verdict is about another recording */
    cli_put(stdout, o->stems->path);
    printf(": separated into %lld stem%s (%.3g s, %lld channel%s, %.0f Hz)\n", (long long)o->count,
           cli_plural(o->count), tlnmf_record_get_real(sound, "length") / rate,
           (long long)o->channels, cli_plural(o->channels), rate);
    if (o->stems->recording != NULL)
        printf("  resampled     from %.0f Hz: stems have %.0f Hz, the rate of the model\n",
               tlnmf_record_get_real(tlnmf_sound_record(o->stems->recording), "rate"), rate);
    print_stems(o, model, own);
    if (own)
        cli_quality_print(model, cli_asked.labels != NULL);
    else
        cli_unexplained_print(model, report);
    print_transform(model);
    if (cli_asked.verbose != NULL)
        print_learning(model);
    if (o->gain != 1.0)
        printf("  gain          %.4f on all stems, so that none is clipped\n", o->gain);
    if (page != NULL) {
        fputs("  page          ", stdout);
        cli_put(stdout, page);
        putchar('\n');
    }
}
