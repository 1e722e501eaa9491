/* fit -k A:B and -k auto: how many components predict realisations that were kept aside. */
#include "cli/arrays/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 5 };

/* One number of components. */
typedef struct line {
    int64_t K;
    double score[FOLDS]; /* C per entry of V of each fold */
    double mean, error;  /* error: standard error of the difference to the best */
} line;

typedef struct table {
    cli_call *call;
    tlnmf_data *train[FOLDS], *test[FOLDS];
    int folds;
    int64_t count, S;
    line *line;
    const line *best, *sparing; /* the least mean; the smallest K within a standard error of it */
} table;

/* ---- options --------------------------------------------------------------------------------- */

static bool read_whole(const char *text, size_t length, int64_t *value)
{
    char digits[16], *end;
    if (length == 0 || length >= sizeof digits || strspn(text, "0123456789") < length)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    *value = strtoll(digits, &end, 10);
    return true;
}

int cli_rank_read(cli_call *call, const char *text, cli_rank *rank)
{
    const char *colon = text == NULL ? NULL : strchr(text, ':');
    *rank = (cli_rank){0};
    if (text == NULL)
        return EXIT_DONE;
    call->given[call->given_count++] = "k";
    if (strcmp(text, "auto") == 0) {
        *rank = (cli_rank){.compares = true, .low = 1, .high = 8, .automatic = true};
        return EXIT_DONE;
    }
    if (colon == NULL) {
        tlnmf_error error = tlnmf_settings_set_text(call->ctx, call->settings, "k", text);
        return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
    }
    const int64_t most = 1000;
    rank->compares = true;
    if (!read_whole(text, (size_t)(colon - text), &rank->low) ||
        !read_whole(colon + 1, strlen(colon + 1), &rank->high) || rank->low < 1 ||
        rank->high < rank->low || rank->high > most)
        return cli_fail(call->command, EXIT_USAGE,
                        "k = %s: a number, A:B with 1 <= A <= B <= %lld, or auto", text,
                        (long long)most);
    return EXIT_DONE;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* C per entry of held-out realisations at a Phi, W, H that were learnt from the others: up to a
 * constant and a factor, their negative log-likelihood. */
static int score_one(table *t, int64_t K, int fold, double *score)
{
    cli_call *call = t->call;
    tlnmf_record *model = NULL, *values = NULL;
    const tlnmf_record *sizes = tlnmf_data_record(t->test[fold]);
    tlnmf_error error = tlnmf_settings_set_integer(call->ctx, call->settings, "k", K);
    if (error == TLNMF_OK)
        error = tlnmf_fit(call->ctx, t->train[fold], call->settings, NULL, &model);
    bool cancelled = tlnmf_get_integer(model, "outcome_code") == TLNMF_CANCELLED;
    if (error == TLNMF_OK)
        error = tlnmf_evaluate(call->ctx, t->test[fold], model, &values);
    if (error == TLNMF_OK)
        *score =
            tlnmf_get_real(values, "C") / (tlnmf_get_real(sizes, "M") * tlnmf_get_real(sizes, "N"));
    tlnmf_record_free(values);
    tlnmf_record_free(model);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    return cancelled ? EXIT_INTERRUPTED : EXIT_DONE;
}

/* Folds share their realisations' luck, so that differences between two K are compared fold by
 * fold. */
static void compare(table *t)
{
    t->best = t->sparing = NULL;
    for (int64_t i = 0; i < t->count; i++) {
        line *l = &t->line[i];
        l->mean = 0.0;
        for (int f = 0; f < t->folds; f++)
            l->mean += l->score[f] / t->folds;
        if (t->best == NULL || l->mean < t->best->mean)
            t->best = l;
    }
    for (int64_t i = 0; i < t->count; i++) {
        line *l = &t->line[i];
        double gap = l->mean - t->best->mean, sum = 0.0;
        for (int f = 0; f < t->folds; f++) {
            double off = l->score[f] - t->best->score[f] - gap;
            sum += off * off;
        }
        l->error = sqrt(sum / (t->folds - 1) / t->folds);
        if (t->sparing == NULL && gap <= l->error)
            t->sparing = l;
    }
}

static int score_all(table *t, const cli_rank *rank)
{
    int code = EXIT_DONE;
    for (int64_t i = 0; code == EXIT_DONE && i < t->count; i++) {
        t->line[i].K = rank->low + i;
        for (int f = 0; code == EXIT_DONE && f < t->folds; f++)
            code = score_one(t, t->line[i].K, f, &t->line[i].score[f]);
    }
    if (code == EXIT_DONE)
        compare(t);
    return code;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

static json_t *table_json(const table *t)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < t->count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "k", json_integer((json_int_t)t->line[i].K));
        json_object_set_new(row, "heldout_C_per_entry", cli_real(t->line[i].mean));
        json_object_set_new(row, "above_best", cli_real(t->line[i].mean - t->best->mean));
        json_object_set_new(row, "standard_error", cli_real(t->line[i].error));
        json_object_set_new(row, "best", json_boolean(&t->line[i] == t->best));
        json_object_set_new(row, "one_standard_error", json_boolean(&t->line[i] == t->sparing));
        json_array_append_new(array, row);
    }
    return array;
}

static void print_table(FILE *out, const table *t)
{
    fprintf(out,
            "components by held-out realisations (%d folds of %lld)\n"
            "    k   C per entry   above the best   standard error\n",
            t->folds, (long long)t->S);
    for (int64_t i = 0; i < t->count; i++)
        fprintf(out, "  %3lld  %12.6f  %15.6f  %15.6f%s%s\n", (long long)t->line[i].K,
                t->line[i].mean, t->line[i].mean - t->best->mean, t->line[i].error,
                &t->line[i] == t->best ? "  best: kept" : "",
                &t->line[i] == t->sparing && t->sparing != t->best
                    ? "  the fewest within a standard error"
                    : "");
    fputs("The best k is the one whose fit predicts realisations that it has not seen. ", out);
    if (t->best == &t->line[t->count - 1] && t->count > 1)
        fputs("It is the largest that was tried: try more. ", out);
    fprintf(out,
            t->S < 100 ? "With %lld\nrealisations these support as many components, and the "
                         "truth may have more.\n\n"
                       : "There are %lld.\n\n",
            (long long)t->S);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Folds see less than all data: the floor must be the same for all. */
static int fix_eps(cli_call *call, const tlnmf_data *data)
{
    double eps = tlnmf_settings_get_real(call->settings, "eps");
    tlnmf_error error = TLNMF_OK;
    if (!(eps > 0.0)) {
        eps = tlnmf_settings_get_real(call->settings, "eps-rel") *
              tlnmf_get_real(tlnmf_data_record(data), "mean_power");
        error = tlnmf_settings_set_real(call->ctx, call->settings, "eps", eps);
    }
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

static int limit(cli_call *call, const tlnmf_data *data, cli_rank *rank)
{
    int64_t M = tlnmf_get_integer(tlnmf_data_record(data), "M");
    int64_t N = tlnmf_get_integer(tlnmf_data_record(data), "N"), least = M < N ? M : N;
    if (rank->automatic && rank->high > least)
        rank->high = least;
    if (rank->high > least)
        cli_warn(call->command, "k beyond min(M, N) = %lld: W H can fit any V exactly",
                 (long long)least);
    return fix_eps(call, data);
}

int cli_rank_choose(cli_call *call, const cli_input *input, const tlnmf_data *data, cli_rank *rank,
                    FILE *out)
{
    table t = {.call = call, .S = tlnmf_get_integer(tlnmf_data_record(data), "S")};
    t.folds = t.S < FOLDS ? (int)t.S : FOLDS;
    if (strcmp(input->spec, "-") == 0)
        return cli_fail(call->command, EXIT_USAGE,
                        "-k A:B and -k auto read the array twice: not from standard input");
    if (t.S < 2 || input->block + input->moving > 0)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: -k %s keeps realisations aside, and there %s: give one k", input->spec,
                        rank->automatic ? "auto" : "A:B",
                        t.S == 1   ? "is only one"
                        : t.S == 0 ? "are covariances"
                                   : "are neighbours instead");
    int code = limit(call, data, rank);
    t.count = rank->high - rank->low + 1;
    t.line = calloc((size_t)t.count, sizeof *t.line);
    if (code == EXIT_DONE && t.line == NULL)
        code = cli_fail(call->command, EXIT_INTERNAL, "no memory");
    if (code == EXIT_DONE)
        code = cli_read_folds(call, input, t.folds, t.train, t.test);
    if (code == EXIT_DONE)
        code = score_all(&t, rank);
    if (code == EXIT_DONE) {
        cli_progress_clear();
        rank->table = table_json(&t);
        if (out != NULL)
            print_table(out, &t);
        if (t.best != NULL)
            tlnmf_settings_set_integer(call->ctx, call->settings, "k", t.best->K);
    }
    for (int f = 0; f < t.folds; f++) {
        tlnmf_data_free(t.train[f]);
        tlnmf_data_free(t.test[f]);
    }
    free(t.line);
    return code;
}
