/* fit -k A:B and -k auto: compares numbers of components on held-out data. */
#include "cli/common/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- options --------------------------------------------------------------------------------- */

int cli_rank_read(cli_call *call, const char *text, cli_rank *rank)
{
    const int64_t most = 1000; /* chosen arbitrarily: every k needs several fits */
    char *end;
    *rank = (cli_rank){0};
    if (text == NULL)
        return EXIT_DONE;
    call->given[call->given_count++] = "k";
    rank->automatic = strcmp(text, "auto") == 0;
    rank->low = rank->automatic ? 1 : strtoll(text, &end, 10);
    rank->compares = rank->automatic || end == text || *end != '\0';
    if (!rank->compares)
        return cli_check(call, tlnmf_settings_set_text(call->ctx, call->settings, "k", text), NULL);
    if (rank->automatic)
        return EXIT_DONE;
    bool range = end > text && *end == ':' && end[1] != '\0';
    rank->high = range ? strtoll(end + 1, &end, 10) : 0;
    if (range && *end == '\0' && rank->low >= 1 && rank->high >= rank->low && rank->high <= most)
        return EXIT_DONE;
    return cli_fail(
        call->command, EXIT_USAGE,
        "k = %s is not an integer from 1 to 10000, A:B with 1 <= A <= B <= %lld, or auto", text,
        (long long)most);
}

/* ---- the comparison -------------------------------------------------------------------------- */

tlnmf_error cli_limit_seconds(const cli_call *call, double share, tlnmf_settings **out)
{
    double limit = tlnmf_settings_get_real(call->settings, "max-seconds");
    double left = call->began + limit - cli_now();
    tlnmf_error error = tlnmf_settings_copy(call->ctx, call->settings, out);
    if (error == TLNMF_OK && limit > 0.0)
        error = tlnmf_settings_set_real(call->ctx, *out, "max-seconds", fmax(share * left, 1e-3));
    return error;
}

/* Uses half of the time that is left; the fit with the best k has the rest. */
static tlnmf_error compare(cli_call *call, const tlnmf_data *data, const cli_rank *rank,
                           const tlnmf_record *start, tlnmf_record **ranks)
{
    const int64_t range[2] = {rank->low, rank->high};
    tlnmf_settings *half;
    tlnmf_error error = cli_limit_seconds(call, 0.5, &half);
    if (error == TLNMF_OK)
        error = tlnmf_compare_ranks(call->ctx, data, half, rank->automatic ? NULL : range, start,
                                    ranks);
    tlnmf_settings_free(half);
    return error;
}

/* Prints the tables of an interrupted run as JSON; nothing else is printed. */
static int end_early(const cli_call *call, const cli_rank *rank)
{
    json_object_set_new(rank->table, "command", json_string(call->command->name));
    json_object_set_new(rank->table, "outcome", json_string("cancelled"));
    if (cli_asked.json != NULL && cli_is_first())
        cli_print_json(rank->table);
    return EXIT_INTERRUPTED;
}

/* Prints the tables, and sets k to the best. */
static int choose(cli_call *call, const tlnmf_record *ranks, cli_rank *rank, FILE *out)
{
    cli_progress_clear();
    rank->table = cli_rank_json(ranks);
    if (out != NULL)
        cli_rank_print(out, ranks);
    if (tlnmf_record_get_integer(ranks, "outcome_code") == TLNMF_OUTCOME_CANCELLED ||
        tlnmf_record_get_integer(ranks, "other.outcome_code") == TLNMF_OUTCOME_CANCELLED)
        return end_early(call, rank);
    if (tlnmf_record_get_integer(ranks, "k") < 1)
        return cli_fail(call->command, EXIT_INTERNAL,
                        "no k has a score; use a larger --max-seconds");
    return cli_check(call,
                     tlnmf_settings_set_integer(call->ctx, call->settings, "k",
                                                tlnmf_record_get_integer(ranks, "k")),
                     NULL);
}

int cli_rank_choose(cli_call *call, const cli_input *input, const tlnmf_data *data,
                    const tlnmf_record *start, cli_rank *rank, FILE *out)
{
    tlnmf_record *ranks = NULL;
    if (input->mask != NULL)
        return cli_fail(call->command, EXIT_USAGE, "-k A:B and --mask are mutually exclusive");
    double wall = cli_now(), cpu = (double)clock();
    tlnmf_error error = compare(call, data, rank, start, &ranks);
    rank->wall = cli_now() - wall;
    rank->cpu = ((double)clock() - cpu) / CLOCKS_PER_SEC;
    bool about_data = cli_asked.resume == NULL; /* else it may be the checkpoint */
    int code = error == TLNMF_OK ? choose(call, ranks, rank, out)
                                 : cli_fail_library(call, error, about_data ? input->spec : NULL);
    tlnmf_record_free(ranks);
    return code;
}
