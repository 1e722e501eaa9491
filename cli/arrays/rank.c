/* fit -k A:B and -k auto: how many components predict data that were kept aside: realisations, or
 * where there is only one, neighbouring frames and entries of V. */
#include "cli/arrays/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Entries of V are kept aside of no fewer frames. Neighbours: NEAR frames count as realisations of
 * one, which leaves as many of those (docs/benchmarks.md). */
enum { LEAST_FRAMES = 10, NEAR = 4 };

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
    const int64_t most = 1000; /* a plain bound: every k takes fits of its own */
    const char *colon = text == NULL ? NULL : strchr(text, ':');
    int64_t one;
    *rank = (cli_rank){0};
    if (text == NULL)
        return EXIT_DONE;
    call->given[call->given_count++] = "k";
    if (strcmp(text, "auto") == 0) {
        *rank = (cli_rank){.compares = true, .low = 1, .high = 8, .automatic = true};
        return EXIT_DONE;
    }
    if (colon == NULL &&
        read_whole(text[0] == '-' ? text + 1 : text, strlen(text) - (text[0] == '-'), &one)) {
        tlnmf_error error = tlnmf_settings_set_text(call->ctx, call->settings, "k", text);
        return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
    }
    rank->compares = true;
    if (colon == NULL || !read_whole(text, (size_t)(colon - text), &rank->low) ||
        !read_whole(colon + 1, strlen(colon + 1), &rank->high) || rank->low < 1 ||
        rank->high < rank->low || rank->high > most)
        return cli_fail(call->command, EXIT_USAGE,
                        "k = %s: a number, A:B with 1 <= A <= B <= %lld, or auto", text,
                        (long long)most);
    return EXIT_DONE;
}

/* ---- before the fits ------------------------------------------------------------------------- */

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
static int read_again(rank_table *t, const cli_input *input)
{
    const tlnmf_record *sizes = tlnmf_data_record(t->data);
    int64_t size = tlnmf_get_integer(sizes, "M") * tlnmf_get_integer(sizes, "N");
    t->mask = malloc((size_t)size * sizeof *t->mask);
    if (t->mask == NULL)
        return cli_fail(t->call->command, EXIT_INTERNAL, "no memory");
    int code = cli_read_data(t->call, input, &t->masked);
    if (code == EXIT_DONE)
        code = cli_read_weights(t->call, input, t->masked);
    return code;
}

static int read_folds(rank_table *t, const cli_input *input)
{
    cli_input blocks = *input;
    if (t->kind == RANK_NEIGHBOURS)
        blocks.block = t->S;
    int code = cli_read_folds(t->call, &blocks, t->folds, t->train, t->test);
    for (int f = 0; code == EXIT_DONE && f < t->folds; f++) {
        code = cli_read_weights(t->call, input, t->train[f]);
        if (code == EXIT_DONE)
            code = cli_read_weights(t->call, input, t->test[f]);
    }
    return code;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Makes and scores one table; it is empty where the run was interrupted before. */
static int fill(rank_table *t, const cli_input *input, const cli_rank *rank)
{
    const char *quiet = cli_common_values.quiet;
    t->count = rank->high - rank->low + 1;
    t->line = calloc((size_t)t->count, sizeof *t->line);
    if (t->line == NULL)
        return cli_fail(t->call->command, EXIT_INTERNAL, "no memory");
    for (int64_t i = 0; i < t->count; i++)
        t->line[i].K = rank->low + i;
    cli_common_values.quiet = ""; /* what is said of the array was said before */
    int code = t->kind == RANK_ENTRIES ? read_again(t, input) : read_folds(t, input);
    cli_common_values.quiet = quiet;
    if (code == EXIT_DONE)
        code = rank_score(t);
    rank_compare(t);
    return code;
}

static void empty(rank_table *t)
{
    for (int f = 0; f < t->folds; f++) {
        tlnmf_data_free(t->train[f]);
        tlnmf_data_free(t->test[f]);
    }
    for (int64_t i = 0; t->line != NULL && i < t->count; i++)
        tlnmf_record_free(t->line[i].phi);
    tlnmf_data_free(t->masked);
    tlnmf_settings_free(t->settings);
    free(t->mask);
    free(t->line);
}

/* What to keep aside: returns how many tables there are. One realisation of a few frames, or at a
 * kept transform: entries. Where Phi is learnt it sees the entries, but not neighbouring frames. */
static int plan(const cli_call *call, const cli_input *input, const tlnmf_data *data,
                rank_table t[2])
{
    const tlnmf_record *sizes = tlnmf_data_record(data);
    int64_t S = tlnmf_get_integer(sizes, "S"), N = tlnmf_get_integer(sizes, "N");
    char method[64] = "";
    tlnmf_settings_get_text(call->settings, "method", method, sizeof method);
    bool several = S > 1 && input->moving == 0, blocks = several && input->block > 1;
    bool near = S == 1 && N / NEAR >= LEAST_FRAMES && strcmp(method, "nmf") != 0;
    if (input->weights != NULL) /* there is no weight of a part of a block */
        several = several && !blocks, near = false;
    rank_table *last = &t[near];
    if (near)
        t[0] = (rank_table){.kind = RANK_NEIGHBOURS, .S = NEAR, .folds = NEAR};
    if (several)
        *last = (rank_table){.kind = blocks ? RANK_NEIGHBOURS : RANK_REALISATIONS,
                             .S = S,
                             .folds = S < RANK_FOLDS ? (int)S : RANK_FOLDS};
    else
        *last = (rank_table){.kind = RANK_ENTRIES, .folds = RANK_ENTRY_FOLDS};
    return near + 1;
}

static int refuse(const cli_call *call, const cli_input *input, const tlnmf_data *data,
                  const cli_rank *rank, rank_kind kind)
{
    if (strcmp(input->spec, "-") == 0)
        return cli_fail(call->command, EXIT_USAGE,
                        "-k A:B and -k auto read the array twice: not from standard input");
    if (input->mask != NULL)
        return cli_fail(call->command, EXIT_USAGE, "-k A:B and --mask: one of them");
    if (kind == RANK_ENTRIES && tlnmf_get_integer(tlnmf_data_record(data), "N") < LEAST_FRAMES)
        return cli_fail(call->command, EXIT_INPUT,
                        "%s: -k %s keeps entries of V aside, which takes %d frames: give one k",
                        input->spec, rank->automatic ? "auto" : "A:B", LEAST_FRAMES);
    return EXIT_DONE;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static json_t *about(const rank_table *decides, const rank_table *other)
{
    static const char *const kinds[] = {"realisations", "neighbours", "entries"};
    bool stopped = decides->timed_out || decides->interrupted ||
                   (other != NULL && (other->timed_out || other->interrupted));
    json_t *object = json_object();
    json_object_set_new(object, "rank_by", json_string(kinds[decides->kind]));
    json_object_set_new(object, "rank_folds", json_integer(decides->complete));
    json_object_set_new(object, "rank_folds_wanted", json_integer(decides->folds));
    json_object_set_new(object, "rank_complete", json_boolean(!stopped));
    json_object_set_new(object, "rank_table", rank_json(decides));
    if (other != NULL) {
        json_object_set_new(object, "rank_other_by", json_string(kinds[other->kind]));
        json_object_set_new(object, "rank_other_table", rank_json(other));
    }
    return object;
}

/* The tables of a run that was interrupted; nothing else will be printed. */
static int end_early(const cli_call *call, const cli_rank *rank)
{
    json_t *object = json_deep_copy(rank->table);
    json_object_set_new(object, "command", json_string(call->command->name));
    json_object_set_new(object, "outcome", json_string("cancelled"));
    if (cli_common_values.json != NULL && cli_is_first())
        cli_print_json(object);
    json_decref(object);
    return EXIT_INTERRUPTED;
}

/* Neighbours decide if they support more than the fewest; else they may have changed too much. */
static int choose(cli_call *call, rank_table t[2], int tables, cli_rank *rank, FILE *out)
{
    int first = tables == 2 && (t[0].best == NULL || t[0].best == &t[0].line[0]);
    const rank_table *decides = &t[first], *other = tables == 2 ? &t[!first] : NULL;
    if (decides->line == NULL) { /* interrupted before it began */
        decides = &t[0];
        other = NULL;
    }
    cli_progress_clear();
    rank->table = about(decides, other);
    for (int i = 0; out != NULL && i < tables; i++)
        if (t[i].line != NULL)
            rank_print(out, &t[i], &t[i] == decides);
    if (decides->interrupted || (other != NULL && other->interrupted))
        return end_early(call, rank);
    if (decides->best == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no k has a score");
    tlnmf_error error =
        tlnmf_settings_set_integer(call->ctx, call->settings, "k", decides->best->K);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

int cli_rank_choose(cli_call *call, const cli_input *input, const tlnmf_data *data, cli_rank *rank,
                    FILE *out)
{
    rank_table t[2] = {{0}, {0}};
    double began = rank_now(), seconds = tlnmf_settings_get_real(call->settings, "max-seconds");
    bool interrupted = false;
    int tables = plan(call, input, data, t);
    int code = refuse(call, input, data, rank, t[tables - 1].kind);
    if (code == EXIT_DONE)
        code = limit(call, data, rank);
    for (int i = 0; code == EXIT_DONE && !interrupted && i < tables; i++) {
        t[i].call = call;
        t[i].data = data;
        /* half of the time is for the fit that is kept */
        double left = began + 0.5 * seconds - rank_now();
        t[i].deadline = seconds > 0.0 ? rank_now() + left / (tables - i) : INFINITY;
        code = fill(&t[i], input, rank);
        interrupted = t[i].interrupted;
    }
    if (code == EXIT_DONE)
        code = choose(call, t, tables, rank, out);
    rank->seconds = seconds > 0.0 ? fmax(began + seconds - rank_now(), 0.01 * seconds) : 0.0;
    empty(&t[0]);
    empty(&t[1]);
    return code;
}
