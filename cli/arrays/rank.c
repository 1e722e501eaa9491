/* fit -k A:B and -k auto: how many components predict data that were kept aside: realisations, or
 * where there is only one, entries of V. */
#include "cli/arrays/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Folds over realisations are cheap to learn from nine tenths; five cost GCM at S = 100 two of ten
 * seeds (docs/benchmarks.md). Folds over entries refit W and H alone. */
enum { FOLDS = 10, SPECKLE_FOLDS = 5, LEAST_FRAMES = 10 };

/* One number of components. */
typedef struct line {
    int64_t K;
    double score[FOLDS]; /* C per entry of V of each fold */
    double mean, error;  /* error: standard error of the difference to the best */
} line;

typedef struct table {
    cli_call *call;
    tlnmf_data *train[FOLDS], *test[FOLDS];
    const tlnmf_data *data; /* all of it */
    tlnmf_data *masked;     /* the same for masks: entries are kept aside; NULL: realisations are */
    double *mask;           /* M x N */
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

/* The fold of entry i: a speckle pattern, the same in every run (splitmix64). */
static int fold_of(int64_t i, int folds)
{
    uint64_t x = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (int)((x ^ (x >> 31)) % (uint64_t)folds);
}

/* Counts the entries of a fold (or all others), and masks the rest. */
static tlnmf_error mask_fold(table *t, int fold, bool others, double *count)
{
    const tlnmf_record *sizes = tlnmf_data_record(t->data);
    int64_t size = tlnmf_get_integer(sizes, "M") * tlnmf_get_integer(sizes, "N");
    *count = 0.0;
    for (int64_t i = 0; i < size; i++) {
        t->mask[i] = (fold_of(i, t->folds) == fold) != others ? 1.0 : 0.0;
        *count += t->mask[i];
    }
    return tlnmf_data_set_mask(t->call->ctx, t->masked, t->mask);
}

/* C per entry of a fold at W and H that were learnt from the others, at a Phi learnt from all. */
static tlnmf_error score_entries(table *t, const tlnmf_settings *nmf, const tlnmf_record *phi,
                                 int fold, double *score)
{
    tlnmf_ctx *ctx = t->call->ctx;
    tlnmf_record *model = NULL, *values = NULL;
    double count;
    tlnmf_error error = mask_fold(t, fold, true, &count);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, t->masked, nmf, phi, &model);
    if (error == TLNMF_OK)
        error = mask_fold(t, fold, false, &count);
    if (error == TLNMF_OK)
        error = tlnmf_evaluate(ctx, t->masked, model, &values);
    *score = tlnmf_get_real(values, "C") / count;
    tlnmf_record_free(values);
    tlnmf_record_free(model);
    return error;
}

/* The settings of the fits at a kept Phi: what else they ask for is not NMF's. */
static tlnmf_error nmf_settings(const cli_call *call, tlnmf_settings **nmf)
{
    static const char *const off[] = {"exchange", "certify", "newton", "trace", "trace-all"};
    tlnmf_error error = tlnmf_settings_copy(call->ctx, call->settings, nmf);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_text(call->ctx, *nmf, "method", "nmf");
    for (size_t i = 0; error == TLNMF_OK && i < sizeof off / sizeof *off; i++)
        error = tlnmf_settings_set_integer(call->ctx, *nmf, off[i], 0);
    return error;
}

/* All folds of one k. */
static int score_speckles(table *t, line *l)
{
    cli_call *call = t->call;
    tlnmf_record *model = NULL, *phi = NULL;
    tlnmf_settings *nmf = NULL;
    int64_t shape[TLNMF_MAX_RANK];
    tlnmf_error error = tlnmf_settings_set_integer(call->ctx, call->settings, "k", l->K);
    if (error == TLNMF_OK)
        error = tlnmf_fit(call->ctx, t->data, call->settings, NULL, &model);
    bool cancelled = tlnmf_get_integer(model, "outcome_code") == TLNMF_CANCELLED;
    if (error == TLNMF_OK)
        error = nmf_settings(call, &nmf);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(call->ctx, &phi);
    const double *Phi = tlnmf_get_array(model, "Phi", NULL, shape);
    if (error == TLNMF_OK)
        error = tlnmf_set_array(call->ctx, phi, "Phi", Phi, 2, shape);
    for (int f = 0; error == TLNMF_OK && !cancelled && f < t->folds; f++)
        error = score_entries(t, nmf, phi, f, &l->score[f]);
    tlnmf_settings_free(nmf);
    tlnmf_record_free(phi);
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
        if (t->masked != NULL)
            code = score_speckles(t, &t->line[i]);
        for (int f = 0; code == EXIT_DONE && t->masked == NULL && f < t->folds; f++)
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
    if (t->masked != NULL)
        fprintf(out, "components by held-out entries of V (%d folds)\n", t->folds);
    else
        fprintf(out, "components by held-out realisations (%d folds of %lld)\n", t->folds,
                (long long)t->S);
    fputs("    k   C per entry   above the best   standard error\n", out);
    for (int64_t i = 0; i < t->count; i++)
        fprintf(out, "  %3lld  %12.6f  %15.6f  %15.6f%s%s\n", (long long)t->line[i].K,
                t->line[i].mean, t->line[i].mean - t->best->mean, t->line[i].error,
                &t->line[i] == t->best ? "  best: kept" : "",
                &t->line[i] == t->sparing && t->sparing != t->best
                    ? "  the fewest within a standard error"
                    : "");
    fprintf(out, "The best k is the one whose fit predicts %s that it has not seen. ",
            t->masked != NULL ? "entries" : "realisations");
    if (t->best == &t->line[t->count - 1] && t->count > 1)
        fputs("It is the largest that was tried: try more. ", out);
    if (t->masked != NULL) {
        fputs("Phi has seen\nthem, and with one realisation it fits their noise, too: this is what "
              "can be predicted, and\nrarely how many components there are (docs/choosing.md).\n\n",
              out);
        return;
    }
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

/* The data once more, for masks; what is said of them was said before. */
static int read_again(table *t, const cli_input *input, const cli_rank *rank)
{
    const tlnmf_record *sizes = tlnmf_data_record(t->data);
    int64_t size = tlnmf_get_integer(sizes, "M") * tlnmf_get_integer(sizes, "N");
    const char *quiet = cli_common_values.quiet;
    t->mask = malloc((size_t)size * sizeof *t->mask);
    if (t->mask == NULL)
        return cli_fail(t->call->command, EXIT_INTERNAL, "no memory");
    cli_common_values.quiet = "";
    int code = cli_read_data(t->call, input, &t->masked);
    if (code == EXIT_DONE)
        code = cli_read_weights(t->call, rank->weights, NULL, t->masked);
    cli_common_values.quiet = quiet;
    return code;
}

static int weigh_folds(table *t, const cli_rank *rank, int code)
{
    const char *quiet = cli_common_values.quiet;
    cli_common_values.quiet = "";
    for (int f = 0; code == EXIT_DONE && f < t->folds; f++) {
        code = cli_read_weights(t->call, rank->weights, NULL, t->train[f]);
        if (code == EXIT_DONE)
            code = cli_read_weights(t->call, rank->weights, NULL, t->test[f]);
    }
    cli_common_values.quiet = quiet;
    return code;
}

int cli_rank_choose(cli_call *call, const cli_input *input, const tlnmf_data *data, cli_rank *rank,
                    FILE *out)
{
    table t = {.call = call, .data = data, .S = tlnmf_get_integer(tlnmf_data_record(data), "S")};
    bool speckles = t.S < 2 || input->block + input->moving > 0;
    t.folds = speckles ? SPECKLE_FOLDS : t.S < FOLDS ? (int)t.S : FOLDS;
    if (strcmp(input->spec, "-") == 0)
        return cli_fail(call->command, EXIT_USAGE,
                        "-k A:B and -k auto read the array twice: not from standard input");
    if (rank->mask != NULL)
        return cli_fail(call->command, EXIT_USAGE, "-k A:B and --mask: one of them");
    if (speckles && tlnmf_get_integer(tlnmf_data_record(data), "N") < LEAST_FRAMES)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: -k %s keeps entries of V aside, which takes %d frames: give one k",
                        input->spec, rank->automatic ? "auto" : "A:B", LEAST_FRAMES);
    int code = limit(call, data, rank);
    t.count = rank->high - rank->low + 1;
    t.line = calloc((size_t)t.count, sizeof *t.line);
    if (code == EXIT_DONE && t.line == NULL)
        code = cli_fail(call->command, EXIT_INTERNAL, "no memory");
    if (code == EXIT_DONE)
        code = speckles ? read_again(&t, input, rank)
                        : cli_read_folds(call, input, t.folds, t.train, t.test);
    if (!speckles)
        code = weigh_folds(&t, rank, code);
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
    tlnmf_data_free(t.masked);
    free(t.mask);
    free(t.line);
    return code;
}
