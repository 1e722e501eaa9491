/* The expected quality of the stems, and how much of the sound the model explains. */
#include "cli/stems/stems.h"

#include <math.h>

static double at(const tlnmf_record *model, const char *name, int64_t k)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x = tlnmf_record_get_array(model, name, NULL, shape);
    return x == NULL || k >= shape[0] ? NAN : x[k];
}

/* Describes an SI-SDR in words. */
static const char *words_for(double decibels)
{
    static const struct {
        double least;
        const char *words;
    } scale[] = {{20.0, "very good: the others are hardly heard"},
                 {12.0, "good: the others are faint"},
                 {6.0, "fair: the others are heard"},
                 {0.0, "poor: the others are nearly as loud"},
                 {-INFINITY, "bad: hardly separated"}};
    for (size_t i = 0; i < sizeof scale / sizeof *scale; i++)
        if (decibels >= scale[i].least)
            return scale[i].words;
    return "not known";
}

/* Whether some stem has an estimate. */
static bool is_known(const tlnmf_record *model)
{
    bool known = false;
    for (int64_t k = 0; k < tlnmf_record_get_integer(model, "sources"); k++)
        known = known || isfinite(at(model, "expected_sdr", k));
    return known;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *stem_json(const tlnmf_record *model, int64_t k, const char *name)
{
    static const char *const figures[][2] = {
        {"expected_si_sdr", "expected_sdr"}, {"low", "expected_low"}, {"high", "expected_high"},
        {"agreement", "agreement"},          {"share", "share"},      {"overlap", "overlap"}};
    json_t *object = json_object();
    json_object_set_new(object, "name", cli_text(name));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        json_object_set_new(object, figures[i][0], cli_real(at(model, figures[i][1], k)));
    json_object_set_new(object, "words", json_string(words_for(at(model, "expected_sdr", k))));
    return object;
}

json_t *cli_quality_json(const tlnmf_record *model)
{
    json_t *object = json_object(), *stems = json_array();
    const char *name;
    cli_put_values(object, model, "sources reason coverage unlabelled_energy");
    json_object_set_new(object, "unlabelled_seconds", /* of the recording, not of the run */
                        cli_real(tlnmf_record_get_real(model, "unlabelled_seconds")));
    for (int64_t k = 0; (name = tlnmf_record_get_text_at(model, "names", (size_t)k)) != NULL; k++)
        json_array_append_new(stems, stem_json(model, k, name));
    json_object_set_new(object, "stems", stems);
    json_t *caveats = json_array();
    for (size_t i = 0; (name = tlnmf_record_get_text_at(model, "caveats", i)) != NULL; i++)
        json_array_append_new(caveats, cli_text(name));
    json_object_set_new(object, "caveats", caveats);
    return object;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Why there is no estimate. */
static const char *why_not(const tlnmf_record *model, int64_t k)
{
    bool compared = isfinite(at(model, "agreement", k)); /* else there is only one candidate */
    if (!compared || tlnmf_record_get_text_at(model, "caveats", 0) == NULL)
        return " with --method, --per-source, --transform dct|dft, or --window with --frame or "
               "--hop";
    if (cli_asked.quiet == NULL)
        return ", see the warnings";
    return cli_asked.no_report == NULL ? ", see the page" : ", see caveats in summary.json";
}

void cli_quality_print_stem(const tlnmf_record *model, int64_t k, bool guided)
{
    double expected = at(model, "expected_sdr", k);
    if (!isfinite(expected))
        printf("quality not estimated%s", why_not(model, k));
    else
        printf("about %.0f dB SI-SDR (%.0f to %.0f), %s", expected, at(model, "expected_low", k),
               at(model, "expected_high", k), words_for(expected));
    if (cli_asked.verbose == NULL)
        return;
    printf("; %.0f %% of the energy", 100.0 * at(model, "share", k));
    if (guided)
        printf(", overlap %.0f %%", 100.0 * at(model, "overlap", k));
}

void cli_quality_print(const tlnmf_record *model, bool guided)
{
    const char *reason = tlnmf_record_get_text(model, "reason");
    double coverage = tlnmf_record_get_real(model, "coverage");
    if (!guided && reason != NULL) {
        printf("  sources       %lld: ", (long long)tlnmf_record_get_integer(model, "sources"));
        cli_put_wrapped(stdout, reason, 20, 16);
    }
    if (is_known(model) && !guided)
        puts("  how sure      8 of 10 stems in tests without labels were in the range. For single\n"
             "                notes it is often far too low, for speech and noise it may be far "
             "too\n"
             "                high");
    else if (is_known(model))
        puts(
            "  how sure      8 of 10 stems of instruments in tests were in the range. For speech\n"
            "                and noise it may be far too high. It cannot detect notes assigned to\n"
            "                the wrong player, such as octaves, or labels that are missing while\n"
            "                another source sounds");
    if (guided && coverage < 0.995)
        printf(
            "  not covered   %.0f %% of the labelled time in the mixture has notes that were never "
            "heard alone\n",
            100.0 * (1.0 - coverage));
    if (!guided)
        puts(
            "  no labels     this separates notes, not players; --labels FILE says who plays when");
}

/* The model does not fit if more than MUCH of the power is unexplained, and more than TIMES the
 * unexplained part of the recording it was learnt from (docs/measurements/separation.md). */
static const double MUCH = 0.35, TIMES = 2.0;

void cli_unexplained_describe(const cli_stems *stems, const tlnmf_record *model,
                              const tlnmf_record *report, json_t *summary)
{
    double now = tlnmf_record_get_real(report, "unexplained"),
           then = tlnmf_record_get_real(model, "unexplained");
    bool other = stems->model_path != NULL;
    json_object_set_new(summary, "unexplained", cli_real(now));
    if (!other)
        return;
    json_object_set_new(summary, "unexplained_learnt", cli_real(then));
    bool wrong = now > MUCH && !(now <= TIMES * then);
    json_object_set_new(summary, "fits", json_boolean(!wrong));
    if (wrong)
        cli_warn(stems->call->command,
                 "%s: the model does not explain %.0f %% of it: the recording has other sources or "
                 "other notes than the model; put solo takes before the recording, label them, "
                 "and use separate",
                 stems->path, 100.0 * now);
}

void cli_unexplained_print(const tlnmf_record *model, const tlnmf_record *report)
{
    double now = tlnmf_record_get_real(report, "unexplained"),
           then = tlnmf_record_get_real(model, "unexplained");
    printf("  not explained %.1f %% of the power", 100.0 * now);
    if (isfinite(then))
        printf(" (%.1f %% of the recording it was learnt from)", 100.0 * then);
    putchar('\n');
}
