/* What is said of a separation: in JSON, and as text. */
#include "cli/stems/stems.h"

#include <math.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *integer(const tlnmf_record *record, const char *name)
{
    return json_integer((json_int_t)tlnmf_get_integer(record, name));
}

/* A rate is a real number in records, a whole one in sound files. */
static json_t *rate_json(const tlnmf_record *record)
{
    return json_integer((json_int_t)tlnmf_get_real(record, "rate"));
}

static json_t *separation_json(const tlnmf_record *model)
{
    static const char *const texts[] = {"method", "transform", "window"};
    static const char *const sizes[] = {"frame", "hop", "shifts"};
    static const char *const counts[] = {"remixes", "candidates", "learn_frames", "band"};
    json_t *names = json_array(), *object = json_object();
    const char *name;
    for (size_t k = 0; (name = tlnmf_get_text_at(model, "names", k)) != NULL; k++)
        json_array_append_new(names, cli_text(name));
    json_object_set_new(object, "names", names);
    json_object_set_new(object, "per_source", integer(model, "per_source"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        json_object_set_new(object, texts[i], json_string(tlnmf_get_text(model, texts[i])));
    json_object_set_new(object, "taper", json_real(tlnmf_get_real(model, "taper")));
    json_object_set_new(object, "beta", json_real(tlnmf_get_real(model, "beta")));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        json_object_set_new(object, sizes[i], integer(model, sizes[i]));
    json_object_set_new(object, "rate", rate_json(model));
    json_object_set_new(object, "eps", json_real(tlnmf_get_real(model, "eps")));
    json_object_set_new(object, "mean_power", json_real(tlnmf_get_real(model, "mean_power")));
    json_object_set_new(object, "remix_si_sdr", cli_real(tlnmf_get_real(model, "score")));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_object_set_new(object, counts[i], integer(model, counts[i]));
    json_object_set_new(object, "iterations", integer(model, "J"));
    json_object_set_new(object, "C", cli_real(tlnmf_get_real(model, "C")));
    return object;
}

static json_t *sound_json(const cli_stems *stems)
{
    const tlnmf_record *sound = tlnmf_sound_record(stems->sound);
    json_t *object = json_object();
    json_object_set_new(object, "file", cli_text(stems->path));
    json_object_set_new(object, "frames", integer(sound, "length"));
    json_object_set_new(object, "channels", integer(sound, "channels"));
    json_object_set_new(object, "rate", rate_json(sound));
    if (stems->recording != NULL)
        json_object_set_new(object, "resampled_from",
                            rate_json(tlnmf_sound_record(stems->recording)));
    return object;
}

/* The path of a stem; "" for a name that is too long, which has been reported then. */
static const char *stem_path(const cli_outputs *o, int64_t i, char path[CLI_PATH])
{
    const char *name = tlnmf_get_text_at(o->names, "names", (size_t)i);
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
    bool own = o->stems->model_path == NULL; /* else the verdict is on another recording */
    json_object_set_new(summary, "verdict", own ? cli_verdict_json(model) : json_null());
    json_object_set_new(summary, "stems", files);
    json_object_set_new(summary, "gain", json_real(o->gain));
    json_object_set_new(summary, "clipped", json_integer((json_int_t)o->clipped));
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *plural(int64_t count, const char *ending)
{
    return count == 1 ? "" : ending;
}

/* "learnt from the DCT, tukey window, .." */
static void print_transform(const tlnmf_record *model)
{
    bool fixed = strcmp(tlnmf_get_text(model, "method"), "nmf") == 0;
    int64_t shifts = tlnmf_get_integer(model, "shifts");
    char transform[16];
    snprintf(transform, sizeof transform, "%s", tlnmf_get_text(model, "transform"));
    for (char *letter = transform; *letter != '\0'; letter++)
        if (*letter >= 'a' && *letter <= 'z')
            *letter = (char)(*letter - 'a' + 'A');
    printf("  transform     %s%s, %s window, frames of %lld samples every %lld, %lld shift%s\n",
           fixed ? "" : "learnt from the ", transform, tlnmf_get_text(model, "window"),
           (long long)tlnmf_get_integer(model, "frame"), (long long)tlnmf_get_integer(model, "hop"),
           (long long)shifts, plural(shifts, "s"));
}

/* The components, or how many dictionaries are blended. */
static void print_members(const tlnmf_record *model)
{
    int64_t each = tlnmf_get_integer(model, "per_source"), shape[TLNMF_MAX_RANK] = {0};
    tlnmf_get_array(model, "members", NULL, shape);
    if (each > 0)
        printf("  components    %lld a source\n", (long long)each);
    else if (shape[0] > 1)
        printf("  blended       %lld dictionaries, this transform's with the largest weight\n",
               (long long)shape[0]);
}

void cli_stems_print(const cli_outputs *o, const tlnmf_record *model, const tlnmf_record *report,
                     const char *page)
{
    const tlnmf_record *sound = tlnmf_sound_record(o->stems->sound);
    double rate = tlnmf_get_real(sound, "rate"), score = tlnmf_get_real(model, "score");
    int64_t learnt = tlnmf_get_integer(model, "learn_frames");
    int64_t remixes = tlnmf_get_integer(model, "remixes");
    cli_put(stdout, o->stems->path);
    printf(": %.3g s, %lld channel%s, %.0f Hz\n", tlnmf_get_real(sound, "length") / rate,
           (long long)o->channels, plural(o->channels, "s"), rate);
    print_transform(model);
    print_members(model);
    if (isfinite(score))
        printf("  chosen of     %lld candidates: SI-SDR %.1f dB on %lld remix%s of the recording's "
               "own parts\n",
               (long long)tlnmf_get_integer(model, "candidates"), score, (long long)remixes,
               plural(remixes, "es"));
    if (learnt > 0)
        printf("  learnt from   %lld frames\n", (long long)learnt);
    if (o->gain != 1.0)
        printf("  gain          %.4f on all stems, so that none is clipped\n", o->gain);
    if (o->stems->model_path == NULL)
        cli_verdict_print(model, cli_stem_values.labels != NULL);
    else
        cli_fit_print(model, report);
    for (int64_t i = 0; i < o->count; i++) {
        char path[CLI_PATH];
        fputs(i == 0 ? "  stems         " : "                ", stdout);
        cli_put(stdout, stem_path(o, i, path));
        putchar('\n');
    }
    if (page != NULL) {
        fputs("  page          ", stdout);
        cli_put(stdout, page);
        putchar('\n');
    }
}
