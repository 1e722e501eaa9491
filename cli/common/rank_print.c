/* fit -k A:B: the result of the comparison as text and as JSON. */
#include "cli/common/arrays.h"

#include <math.h>
#include <string.h>

/* One of the two tables of a record, "" or "other.". */
typedef struct score_table {
    const tlnmf_record *ranks;
    const char *prefix;
    int64_t count;         /* number of k */
    int64_t best, sparing; /* indices of the best k and of the least k within a standard error; -1:
                              none */
} score_table;

static const char *name_of(const score_table *t, const char *name, char text[64])
{
    snprintf(text, 64, "%s%s", t->prefix, name);
    return text;
}

static int64_t integer(const score_table *t, const char *name)
{
    char text[64];
    return tlnmf_record_get_integer(t->ranks, name_of(t, name, text));
}

static const char *words(const score_table *t, const char *name)
{
    char text[64];
    return tlnmf_record_get_text(t->ranks, name_of(t, name, text));
}

static double at(const score_table *t, const char *name, int64_t i)
{
    char text[64];
    const double *x = tlnmf_record_get_array(t->ranks, name_of(t, name, text), NULL, NULL);
    return x[i];
}

static bool is(const score_table *t, const char *kind)
{
    return strcmp(words(t, "rank_by"), kind) == 0;
}

/* False if the record has no such table. */
static bool open_table(const tlnmf_record *ranks, const char *prefix, score_table *t)
{
    char text[64];
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    *t = (score_table){ranks, prefix, 0, -1, -1};
    if (tlnmf_record_get_array(ranks, name_of(t, "rank.k", text), NULL, shape) == NULL)
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

static json_t *rows(const score_table *t)
{
    char prefix[64];
    json_t *row, *array = cli_rows(t->ranks, name_of(t, "rank.", prefix),
                                   "k# C_per_entry above_best standard_error folds_done#");
    size_t i;
    json_array_foreach(array, i, row)
    {
        json_object_set(row, "heldout_C_per_entry", json_object_get(row, "C_per_entry"));
        json_object_del(row, "C_per_entry");
        json_object_set_new(row, "best", json_boolean((int64_t)i == t->best));
        json_object_set_new(row, "one_standard_error", json_boolean((int64_t)i == t->sparing));
        json_object_set_new(row, "cut_short",
                            json_boolean(at(t, "rank.cut_short", (int64_t)i) != 0.0));
    }
    return array;
}

json_t *cli_rank_json(const tlnmf_record *ranks)
{
    score_table decides, other;
    json_t *object = json_object();
    open_table(ranks, "", &decides);
    bool two = open_table(ranks, "other.", &other);
    bool complete = integer(&decides, "outcome_code") == TLNMF_OUTCOME_CONVERGED &&
                    (!two || integer(&other, "outcome_code") == TLNMF_OUTCOME_CONVERGED);
    json_object_set_new(object, "rank_by", json_string(words(&decides, "rank_by")));
    json_object_set_new(object, "rank_limits", json_string(words(&decides, "rank_limits")));
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

static void print_head(FILE *out, const score_table *t, bool decides)
{
    int64_t folds = integer(t, "rank_folds_wanted");
    bool entries = is(t, "entries");
    fprintf(out, "components by held-out %s (%lld folds",
            entries ? "entries of V" : words(t, "rank_by"), (long long)folds);
    if (!entries && !is(t, "frames"))
        fprintf(out, is(t, "realisations") ? ", %lld realisations" : ", blocks of %lld frames",
                (long long)integer(t, "rank_realisations"));
    fputs(")", out);
    if (t->best >= 0)
        fprintf(out, ": k = %lld has the best score%s", (long long)at(t, "rank.k", t->best),
                decides ? " and is used" : "");
    if (t->sparing >= 0 && t->sparing != t->best)
        fprintf(out, "; k = %lld is within one standard error",
                (long long)at(t, "rank.k", t->sparing));
}

static void print_line(FILE *out, const score_table *t, int64_t i, bool decides)
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
            i == t->sparing && i != t->best ? "  the smallest k within one standard error" : "",
            at(t, "rank.cut_short", i) != 0.0 ? "  cut short" : "");
}

/* A remark: a line below the table, or a sentence after the one line of a summary. */
static void print_remark(FILE *out, bool details, const char *text)
{
    fprintf(out, details ? "  %s.\n" : " %s.", text);
}

/* The limits of the choice. */
static void print_caveats(FILE *out, const score_table *t, bool details)
{
    if (words(t, "rank_limits")[0] != '\0')
        print_remark(out, details, words(t, "rank_limits"));
    if (t->best >= 0 && t->best == t->count - 1 && t->count > 1)
        print_remark(out, details, "The best k is the largest that was tried: try more");
}

static bool is_complete(const score_table *t)
{
    return integer(t, "outcome_code") == TLNMF_OUTCOME_CONVERGED;
}

/* Prints whether the comparison is complete. */
static void print_state(FILE *out, const score_table *t, bool details)
{
    int64_t outcome = integer(t, "outcome_code");
    bool cut = false;
    for (int64_t i = 0; i < t->count; i++)
        cut = cut || at(t, "rank.cut_short", i) != 0.0;
    char text[128];
    snprintf(text, sizeof text, "Incomplete: %s after %lld of %lld folds; %s",
             outcome == TLNMF_OUTCOME_CANCELLED ? "interrupted" : "the time limit was reached",
             (long long)integer(t, "rank_folds"), (long long)integer(t, "rank_folds_wanted"),
             outcome == TLNMF_OUTCOME_CANCELLED ? "no k is suggested"
                                                : "the choice is provisional");
    if (cut && (details || is_complete(t)))
        print_remark(out, details, "Scores of fits that were cut short are not reliable");
    if (!is_complete(t))
        print_remark(out, details, text);
}

static void print_table(FILE *out, const score_table *t, bool decides)
{
    bool details = cli_asked.verbose != NULL || t->best < 0;
    print_head(out, t, decides);
    fputs(details ? "\n    k   C per entry   above the best   standard error\n" : ".", out);
    for (int64_t i = 0; details && i < t->count; i++)
        print_line(out, t, i, decides);
    if (details || is_complete(t))
        print_caveats(out, t, details);
    print_state(out, t, details);
    if (!details)
        fputc('\n', out);
}

void cli_rank_print(FILE *out, const tlnmf_record *ranks)
{
    score_table decides, other;
    open_table(ranks, "", &decides);
    print_table(out, &decides, true);
    if (open_table(ranks, "other.", &other) && (cli_asked.verbose != NULL || decides.best < 0))
        print_table(out, &other, false);
}
