/* fit -k A:B: comparing the scores, and what is said of them. */
#include "cli/arrays/rank.h"

#include <math.h>
#include <string.h>

/* Folds share their realisations' luck, so that differences between two K are compared fold by
 * fold. */
void rank_compare(rank_table *t)
{
    int folds = t->complete;
    t->best = t->sparing = NULL;
    for (int64_t i = 0; folds > 0 && i < t->count; i++) {
        rank_line *l = &t->line[i];
        l->mean = 0.0;
        for (int f = 0; f < folds; f++)
            l->mean += l->score[f] / folds;
        if (t->best == NULL || l->mean < t->best->mean)
            t->best = l;
    }
    for (int64_t i = 0; folds > 0 && i < t->count; i++) {
        rank_line *l = &t->line[i];
        double gap = l->mean - t->best->mean, sum = 0.0;
        for (int f = 0; f < folds; f++) {
            double off = l->score[f] - t->best->score[f] - gap;
            sum += off * off;
        }
        l->error = folds > 1 ? sqrt(sum / (folds - 1) / folds) : NAN;
        if (t->sparing == NULL && (gap <= l->error || l == t->best))
            t->sparing = l;
    }
}

json_t *rank_json(const rank_table *t)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < t->count; i++) {
        const rank_line *l = &t->line[i];
        bool scored = t->best != NULL;
        json_t *row = json_object();
        json_object_set_new(row, "k", json_integer((json_int_t)l->K));
        json_object_set_new(row, "heldout_C_per_entry", cli_real(scored ? l->mean : NAN));
        json_object_set_new(row, "above_best", cli_real(scored ? l->mean - t->best->mean : NAN));
        json_object_set_new(row, "standard_error", cli_real(scored ? l->error : NAN));
        json_object_set_new(row, "best", json_boolean(l == t->best));
        json_object_set_new(row, "one_standard_error", json_boolean(l == t->sparing));
        json_object_set_new(row, "folds_done", json_integer(l->folds));
        json_object_set_new(row, "cut_short", json_boolean(l->cut));
        json_array_append_new(array, row);
    }
    return array;
}

static void print_head(FILE *out, const rank_table *t)
{
    if (t->kind == RANK_ENTRIES)
        fprintf(out, "components by held-out entries of V (%d folds)\n", t->folds);
    else
        fprintf(out, "components by held-out %s (%d folds of %lld)\n",
                t->kind == RANK_NEIGHBOURS ? "neighbours" : "realisations", t->folds,
                (long long)t->S);
    if (t->interrupted || t->timed_out)
        fprintf(out, "incomplete: %s after %d of %d folds\n",
                t->interrupted ? "interrupted" : "the time was over", t->complete, t->folds);
    fputs("    k   C per entry   above the best   standard error\n", out);
}

static void print_line(FILE *out, const rank_table *t, const rank_line *l, bool decides)
{
    char error[16] = "-";
    if (isfinite(l->error))
        snprintf(error, sizeof error, "%.6f", l->error);
    if (t->best == NULL) {
        fprintf(out, "  %3lld  %s\n", (long long)l->K, l->folds > 0 ? "scored once" : "not done");
        return;
    }
    fprintf(out, "  %3lld  %12.6f  %15.6f  %15s%s%s%s\n", (long long)l->K, l->mean,
            l->mean - t->best->mean, error,
            l != t->best ? ""
            : decides    ? "  best: kept"
                         : "  best",
            l == t->sparing && t->sparing != t->best ? "  the fewest within a standard error" : "",
            l->cut ? "  cut short" : "");
}

/* What Phi has seen of the entries that were kept aside. */
static const char *about_entries(const rank_table *t)
{
    int64_t S = tlnmf_get_integer(tlnmf_data_record(t->data), "S");
    char method[64] = "";
    tlnmf_settings_get_text(t->call->settings, "method", method, sizeof method);
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
static void print_reason(FILE *out, const rank_table *t)
{
    static const char *const things[] = {"realisations", "neighbouring frames", "entries"};
    fprintf(out, "The best k is the one whose fit predicts %s that it has not seen.\n",
            things[t->kind]);
    if (t->best == &t->line[t->count - 1] && t->count > 1)
        fputs("It is the largest that was tried: try more.\n", out);
    if (t->kind == RANK_ENTRIES)
        fputs(about_entries(t), out);
    else if (t->kind == RANK_NEIGHBOURS)
        fprintf(out,
                "Every %lld frames count as realisations of one, as if nothing changed within "
                "them: where much\ndoes, fewer components are suggested than there are "
                "(docs/choosing.md).\n",
                (long long)t->S);
    else if (t->S < 100)
        fprintf(out,
                "With %lld realisations these support as many components, and the truth may have "
                "more.\n",
                (long long)t->S);
    else
        fprintf(out, "There are %lld.\n", (long long)t->S);
}

void rank_print(FILE *out, const rank_table *t, bool decides)
{
    bool cut = false;
    print_head(out, t);
    for (int64_t i = 0; i < t->count; i++) {
        print_line(out, t, &t->line[i], decides);
        cut = cut || t->line[i].cut;
    }
    if (t->best != NULL)
        print_reason(out, t);
    if (cut)
        fputs("The scores of fits that were cut short are not to be relied on.\n", out);
    if (t->interrupted)
        fputs("The table is incomplete: it suggests nothing yet.\n", out);
    else if (t->timed_out)
        fputs("The table is incomplete, so that the suggestion is provisional: try more "
              "--max-seconds.\n",
              out);
    fputc('\n', out);
}
