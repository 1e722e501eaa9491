/* fit -k A:B and -k auto: how many components predict data that were kept aside. */
#include "cli/arrays/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
        *rank = (cli_rank){.compares = true, .low = 1, .automatic = true};
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

/* ---- the comparison -------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int show(const tlnmf_record *p, void *user)
{
    char text[96];
    (void)user;
    snprintf(text, sizeof text, "comparing k: fold %lld of %lld, k = %lld",
             (long long)tlnmf_get_integer(p, "fold") + 1, (long long)tlnmf_get_integer(p, "folds"),
             (long long)tlnmf_get_integer(p, "k"));
    cli_progress_show(text);
    return cli_interrupted();
}

static void warn_of_size(const cli_call *call, const tlnmf_data *data, const cli_rank *rank)
{
    int64_t M = tlnmf_get_integer(tlnmf_data_record(data), "M");
    int64_t N = tlnmf_get_integer(tlnmf_data_record(data), "N"), least = M < N ? M : N;
    if (rank->high > least)
        cli_warn(call->command, "k beyond min(M, N) = %lld: W H can fit any V exactly",
                 (long long)least);
}

/* With half of the time: the fit that is kept has the rest. */
static tlnmf_error compare(cli_call *call, const tlnmf_data *data, const cli_rank *rank,
                           const tlnmf_record *start, tlnmf_record **ranks)
{
    const int64_t range[2] = {rank->low, rank->high};
    double seconds = tlnmf_settings_get_real(call->settings, "max-seconds");
    tlnmf_settings *half = NULL;
    *ranks = NULL;
    tlnmf_error error = tlnmf_settings_copy(call->ctx, call->settings, &half);
    if (error == TLNMF_OK && seconds > 0.0)
        error = tlnmf_settings_set_real(call->ctx, half, "max-seconds", fmax(0.5 * seconds, 1e-3));
    tlnmf_ctx_set_progress(call->ctx, show, NULL);
    if (error == TLNMF_OK)
        error = tlnmf_compare_ranks(call->ctx, data, half, rank->automatic ? NULL : range, start,
                                    ranks);
    tlnmf_ctx_set_progress(call->ctx, NULL, NULL);
    tlnmf_settings_free(half);
    return error;
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

/* Prints the tables, and takes the best k into the settings. */
static int choose(cli_call *call, const tlnmf_record *ranks, const tlnmf_data *data, cli_rank *rank,
                  FILE *out)
{
    cli_progress_clear();
    rank->table = cli_rank_json(ranks);
    if (out != NULL)
        cli_rank_print(out, call, data, ranks);
    if (tlnmf_get_integer(ranks, "outcome_code") == TLNMF_CANCELLED ||
        tlnmf_get_integer(ranks, "other.outcome_code") == TLNMF_CANCELLED)
        return end_early(call, rank);
    if (tlnmf_get_integer(ranks, "k") < 1)
        return cli_fail(call->command, EXIT_INTERNAL, "no k has a score");
    tlnmf_error error =
        tlnmf_settings_set_integer(call->ctx, call->settings, "k", tlnmf_get_integer(ranks, "k"));
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

int cli_rank_choose(cli_call *call, const cli_input *input, const tlnmf_data *data,
                    const tlnmf_record *start, cli_rank *rank, FILE *out)
{
    double began = now(), seconds = tlnmf_settings_get_real(call->settings, "max-seconds");
    tlnmf_record *ranks = NULL;
    if (input->mask != NULL)
        return cli_fail(call->command, EXIT_USAGE, "-k A:B and --mask: one of them");
    warn_of_size(call, data, rank);
    tlnmf_error error = compare(call, data, rank, start, &ranks);
    bool about_data = cli_common_values.resume == NULL; /* else it may be the checkpoint */
    int code = error == TLNMF_OK ? choose(call, ranks, data, rank, out)
                                 : cli_fail_library(call, error, about_data ? input->spec : NULL);
    rank->seconds = seconds > 0.0 ? fmax(began + seconds - now(), 0.01 * seconds) : 0.0;
    tlnmf_record_free(ranks);
    return code;
}
