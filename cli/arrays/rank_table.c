/* fit -k A:B: what is said of the comparison, as text and as JSON. */
#include "cli/arrays/arrays.h"

#include <math.h>
#include <string.h>

/* One of the two tables of a record, "" or "other.". */
typedef struct table {
    const tlnmf_record *ranks;
    const char *prefix;
    int64_t count, best, sparing; /* indices; -1: none */
} table;

static const char *name_of(const table *t, const char *name, char text[64])
{
    snprintf(text, 64, "%s%s", t->prefix, name);
    return text;
}

static int64_t integer(const table *t, const char *name)
{
    char text[64];
    return tlnmf_get_integer(t->ranks, name_of(t, name, text));
}

static const char *words(const table *t, const char *name)
{
    char text[64];
    return tlnmf_get_text(t->ranks, name_of(t, name, text));
}

static double at(const table *t, const char *name, int64_t i)
{
    char text[64];
    const double *x = tlnmf_get_array(t->ranks, name_of(t, name, text), NULL, NULL);
    return x[i];
}

static bool is(const table *t, const char *kind)
{
    return strcmp(words(t, "rank_by"), kind) == 0;
}

/* False: there is no such table. */
static bool open_table(const tlnmf_record *ranks, const char *prefix, table *t)
{
    char text[64];
    int64_t shape[TLNMF_MAX_RANK];
    *t = (table){ranks, prefix, 0, -1, -1};
    if (tlnmf_get_array(ranks, name_of(t, "rank.k", text), NULL, shape) == NULL)
        return false;
    t->count = shape[0];
    for (int64_t i = 0; i < t->count; i++) {
        if ((int64_t)at(t, "rank.k", i) == integer(t, "k"))
            t->best = i;
        if ((int64_t)at(t, "rank.k", i) == integer(t, "k_sparing"))
            t->sparing = i;
    }
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *rows(const table *t)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < t->count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "k", json_integer((json_int_t)at(t, "rank.k", i)));
        json_object_set_new(row, "heldout_C_per_entry", cli_real(at(t, "rank.C_per_entry", i)));
        json_object_set_new(row, "above_best", cli_real(at(t, "rank.above_best", i)));
        json_object_set_new(row, "standard_error", cli_real(at(t, "rank.standard_error", i)));
        json_object_set_new(row, "best", json_boolean(i == t->best));
        json_object_set_new(row, "one_standard_error", json_boolean(i == t->sparing));
        json_object_set_new(row, "folds_done",
                            json_integer((json_int_t)at(t, "rank.folds_done", i)));
        json_object_set_new(row, "cut_short", json_boolean(at(t, "rank.cut_short", i) != 0.0));
        json_array_append_new(array, row);
    }
    return array;
}

json_t *cli_rank_json(const tlnmf_record *ranks)
{
    table decides, other;
    json_t *object = json_object();
    open_table(ranks, "", &decides);
    bool two = open_table(ranks, "other.", &other);
    bool complete = integer(&decides, "outcome_code") == TLNMF_CONVERGED &&
                    (!two || integer(&other, "outcome_code") == TLNMF_CONVERGED);
    json_object_set_new(object, "rank_by", json_string(words(&decides, "rank_by")));
    json_object_set_new(object, "rank_folds", json_integer(integer(&decides, "rank_folds")));
    json_object_set_new(object, "rank_folds_wanted",
                        json_integer(integer(&decides, "rank_folds_wanted")));
    json_object_set_new(object, "rank_complete", json_boolean(complete));
    json_object_set_new(object, "rank_table", rows(&decides));
    if (two) {
        json_object_set_new(object, "rank_other_by", json_string(words(&other, "rank_by")));
        json_object_set_new(object, "rank_other_table", rows(&other));
    }
    return object;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_head(FILE *out, const table *t)
{
    int64_t outcome = integer(t, "outcome_code"), folds = integer(t, "rank_folds_wanted");
    if (is(t, "entries"))
        fprintf(out, "components by held-out entries of V (%lld folds)\n", (long long)folds);
    else
        fprintf(out, "components by held-out %s (%lld folds of %lld)\n", words(t, "rank_by"),
                (long long)folds, (long long)integer(t, "rank_realisations"));
    if (outcome != TLNMF_CONVERGED)
        fprintf(out, "incomplete: %s after %lld of %lld folds\n",
                outcome == TLNMF_CANCELLED ? "interrupted" : "the time was over",
                (long long)integer(t, "rank_folds"), (long long)folds);
    fputs("    k   C per entry   above the best   standard error\n", out);
}

static void print_line(FILE *out, const table *t, int64_t i, bool decides)
{
    long long k = (long long)at(t, "rank.k", i);
    double error = at(t, "rank.standard_error", i);
    char text[16] = "-";
    if (isfinite(error))
        snprintf(text, sizeof text, "%.6f", error);
    if (t->best < 0) {
        fprintf(out, "  %3lld  %s\n", k,
                at(t, "rank.folds_done", i) > 0.0 ? "scored once" : "not done");
        return;
    }
    fprintf(out, "  %3lld  %12.6f  %15.6f  %15s%s%s%s\n", k, at(t, "rank.C_per_entry", i),
            at(t, "rank.above_best", i), text,
            i != t->best ? ""
            : decides    ? "  best: kept"
                         : "  best",
            i == t->sparing && i != t->best ? "  the fewest within a standard error" : "",
            at(t, "rank.cut_short", i) != 0.0 ? "  cut short" : "");
}

/* What Phi has seen of the entries that were kept aside. */
static const char *about_entries(const cli_call *call, const tlnmf_data *data)
{
    int64_t S = tlnmf_get_integer(tlnmf_data_record(data), "S");
    char method[64] = "";
    tlnmf_settings_get_text(call->settings, "method", method, sizeof method);
    if (strcmp(method, "nmf") == 0)
        return "Phi is kept as it was given: W and H alone are learnt, without them "
               "(docs/choosing.md).\n";
    if (S == 0)
        return "Phi has seen them. Where few realisations are behind the covariances it fits their "
               "noise, too:\nthis is what can be predicted, and may not be how many components "
               "there are (docs/choosing.md).\n";
    if (S > 1)
        return "Phi has seen them, and fits the noise of few realisations, too. With --moving "
               "frames share\nthem, so that none is new: this is what can be predicted, and may "
               "not be how many\ncomponents there are (docs/choosing.md).\n";
    return "Phi has seen them, and with one realisation it fits their noise, too: this is what can "
           "be\npredicted, and rarely how many components there are (docs/choosing.md).\n";
}

/* What the suggestion rests on, and what it cannot tell. */
static void print_reason(FILE *out, const cli_call *call, const tlnmf_data *data, const table *t)
{
    long long S = (long long)integer(t, "rank_realisations");
    fprintf(out, "The best k is the one whose fit predicts %s that it has not seen.\n",
            is(t, "neighbours") ? "neighbouring frames" : words(t, "rank_by"));
    if (t->best == t->count - 1 && t->count > 1)
        fputs("It is the largest that was tried: try more.\n", out);
    if (is(t, "entries"))
        fputs(about_entries(call, data), out);
    else if (is(t, "neighbours"))
        fprintf(out,
                "Every %lld frames count as realisations of one, as if nothing changed within "
                "them: where much\ndoes, fewer components are suggested than there are "
                "(docs/choosing.md).\n",
                S);
    else if (S < 100)
        fprintf(out,
                "With %lld realisations these support as many components, and the truth may have "
                "more.\n",
                S);
    else
        fprintf(out, "There are %lld.\n", S);
}

static void print_table(FILE *out, const cli_call *call, const tlnmf_data *data, const table *t,
                        bool decides)
{
    int64_t outcome = integer(t, "outcome_code");
    bool cut = false;
    print_head(out, t);
    for (int64_t i = 0; i < t->count; i++) {
        print_line(out, t, i, decides);
        cut = cut || at(t, "rank.cut_short", i) != 0.0;
    }
    if (t->best >= 0)
        print_reason(out, call, data, t);
    if (cut)
        fputs("The scores of fits that were cut short are not to be relied on.\n", out);
    if (outcome == TLNMF_CANCELLED)
        fputs("The table is incomplete: it suggests nothing yet.\n", out);
    else if (outcome == TLNMF_TIME)
        fputs("The table is incomplete, so that the suggestion is provisional: try more "
              "--max-seconds.\n",
              out);
    fputc('\n', out);
}

void cli_rank_print(FILE *out, const cli_call *call, const tlnmf_data *data,
                    const tlnmf_record *ranks)
{
    table decides, other;
    open_table(ranks, "", &decides);
    bool two = open_table(ranks, "other.", &other), neighbours = is(&decides, "neighbours");
    if (two && !neighbours) /* neighbours come first */
        print_table(out, call, data, &other, false);
    print_table(out, call, data, &decides, true);
    if (two && neighbours)
        print_table(out, call, data, &other, false);
}
