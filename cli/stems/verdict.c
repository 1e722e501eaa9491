/* The verdict: how good the stems should be, how sure that is, and what was not covered. */
#include "cli/stems/stems.h"

#include <math.h>

static double at(const tlnmf_record *model, const char *name, int64_t k)
{
    const double *x = tlnmf_get_array(model, name, NULL, NULL);
    return x == NULL ? NAN : x[k];
}

/* What an SI-SDR sounds like. */
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

static bool is_known(const tlnmf_record *model)
{
    return isfinite(at(model, "expected_sdr", 0));
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

json_t *cli_verdict_json(const tlnmf_record *model)
{
    json_t *object = json_object(), *stems = json_array();
    const char *name, *reason = tlnmf_get_text(model, "reason");
    json_object_set_new(object, "sources",
                        json_integer((json_int_t)tlnmf_get_integer(model, "sources")));
    json_object_set_new(object, "reason", reason != NULL ? cli_text(reason) : json_null());
    json_object_set_new(object, "coverage", cli_real(tlnmf_get_real(model, "coverage")));
    json_object_set_new(object, "unlabelled_seconds",
                        cli_real(tlnmf_get_real(model, "unlabelled_seconds")));
    json_object_set_new(object, "unlabelled_energy",
                        cli_real(tlnmf_get_real(model, "unlabelled_energy")));
    for (int64_t k = 0; (name = tlnmf_get_text_at(model, "names", (size_t)k)) != NULL; k++)
        json_array_append_new(stems, stem_json(model, k, name));
    json_object_set_new(object, "stems", stems);
    return object;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_stem(const tlnmf_record *model, int64_t k, const char *name, bool guided)
{
    double expected = at(model, "expected_sdr", k), overlap = at(model, "overlap", k);
    fputs(k == 0 ? "  how good      " : "                ", stdout);
    cli_put(stdout, name);
    if (!isfinite(expected))
        printf(": not known, there is nothing to compare with");
    else
        printf(": about %.0f dB SI-SDR (%.0f to %.0f), %s", expected, at(model, "expected_low", k),
               at(model, "expected_high", k), words_for(expected));
    printf("\n                  %.0f %% of the energy", 100.0 * at(model, "share", k));
    if (guided)
        printf(", %.0f %% of that while others may sound", 100.0 * overlap);
    putchar('\n');
}

void cli_verdict_print(const tlnmf_record *model, bool guided)
{
    const char *name, *reason = tlnmf_get_text(model, "reason");
    double coverage = tlnmf_get_real(model, "coverage");
    if (!guided && reason != NULL) {
        printf("  sources       %lld: ", (long long)tlnmf_get_integer(model, "sources"));
        cli_put(stdout, reason);
        putchar('\n');
    }
    for (int64_t k = 0; (name = tlnmf_get_text_at(model, "names", (size_t)k)) != NULL; k++)
        print_stem(model, k, name, guided);
    if (is_known(model))
        puts("  how sure      the range held for 8 of 10 stems of test mixtures; an octave that is "
             "given to\n"
             "                the wrong source is not seen");
    if (guided && coverage < 0.995)
        printf(
            "  not covered   %.0f %% of the labelled time in the mixture has notes that were never "
            "heard alone\n",
            100.0 * (1.0 - coverage));
    if (!guided)
        puts(
            "  no labels     notes are told apart, not players: the notes of phrases end up in any "
            "stem;\n"
            "                --labels FILE says who sounds when");
}
