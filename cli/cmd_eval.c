/* tlnmf eval: how good a separation is. */
#include "cli/cli.h"
#include "score/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *ref[CLI_LIST + 1], *est[CLI_LIST + 1], *fixed, *filter;
} arg;

static const cli_option options[] = {
    {"ref", "FILE...", "the true sources", arg.ref},
    {"est", "FILE...", "their estimates, as many, in any order", arg.est},
    {"no-permutation", NULL, "the first estimate is that of the first reference, and so on",
     &arg.fixed},
    {"filter", "INT", "taps of the distortion that is forgiven [512]", &arg.filter},
};

/* All that is read and found. */
typedef struct evaluation {
    int64_t n;
    int64_t filter;
    io_audio sound[2 * CLI_LIST]; /* references, then estimates */
    int64_t match[CLI_LIST];
    tl_score *score; /* n x (channels + 1), the last for all channels together */
} evaluation;

static const char *name_of(const evaluation *ev, int64_t i)
{
    return i < ev->n ? arg.ref[i] : arg.est[i - ev->n];
}

/* ---- reading --------------------------------------------------------------------------------- */

static int count(const char **list)
{
    int n = 0;
    while (list[n] != NULL)
        n++;
    return n;
}

static int check_arguments(const cli_call *call, evaluation *ev)
{
    int refs = count(arg.ref), ests = count(arg.est), pipes = 0;
    if (call->operand_count > 0)
        return cli_fail(&cli_eval, EXIT_USAGE, "%s: is it one of --ref or of --est?",
                        call->operands[0]);
    if (refs == 0 || ests == 0)
        return cli_fail(&cli_eval, EXIT_USAGE, "--ref FILE... and --est FILE... are needed");
    if (refs != ests)
        return cli_fail(&cli_eval, EXIT_USAGE,
                        "%d reference%s and %d estimate%s: there must be one estimate a reference",
                        refs, refs == 1 ? "" : "s", ests, ests == 1 ? "" : "s");
    ev->n = refs;
    for (int64_t i = 0; i < 2 * ev->n; i++)
        pipes += strcmp(name_of(ev, i), "-") == 0;
    if (pipes > 1)
        return cli_fail(&cli_eval, EXIT_USAGE, "standard input can be read once only");
    return cli_integer(call, "filter", arg.filter, 1, TL_SCORE_FILTER_MAX, TL_SCORE_FILTER,
                       &ev->filter)
               ? EXIT_DONE
               : EXIT_USAGE;
}

/* Every file must be like the first reference. */
static int check_alike(const evaluation *ev, int64_t i)
{
    const io_audio *a = &ev->sound[0], *b = &ev->sound[i];
    const char *first = name_of(ev, 0), *other = name_of(ev, i);
    if (a->rate != b->rate)
        return cli_fail(&cli_eval, EXIT_INPUT, "%s: its rate is %d Hz, that of %s is %d Hz", other,
                        b->rate, first, a->rate);
    if (a->channels != b->channels)
        return cli_fail(&cli_eval, EXIT_INPUT, "%s: channels: %d, but %d in %s", other, b->channels,
                        a->channels, first);
    if (a->frames != b->frames)
        return cli_fail(&cli_eval, EXIT_INPUT,
                        "%s: it has %lld frames, %s has %lld: cut them to the same length", other,
                        (long long)b->frames, first, (long long)a->frames);
    return EXIT_DONE;
}

static int read_all(evaluation *ev)
{
    for (int64_t i = 0; i < 2 * ev->n; i++) {
        io_error err;
        if (!io_audio_read(name_of(ev, i), &ev->sound[i], &err))
            return cli_fail_io(&cli_eval, &err);
        int code = check_alike(ev, i);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

static int evaluate(const cli_call *call, evaluation *ev)
{
    const double *x[2 * CLI_LIST];
    for (int64_t i = 0; i < 2 * ev->n; i++)
        x[i] = ev->sound[i].x;
    tl_score_signals separation = {.sources = ev->n,
                                   .frames = ev->sound[0].frames,
                                   .channels = ev->sound[0].channels,
                                   .reference = x,
                                   .estimate = x + ev->n};
    size_t count = (size_t)ev->n * (size_t)(separation.channels + 1);
    ev->score = count == 0 ? NULL : calloc(count, sizeof *ev->score);
    if (ev->score == NULL) {
        cli_fail(&cli_eval, EXIT_INTERNAL, "no memory");
        return EXIT_INTERNAL;
    }
    tlnmf_error error = tl_score_evaluate(call->ctx, &separation, ev->filter, arg.fixed == NULL,
                                          ev->match, ev->score);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *const states[] = {"scored", "silent reference", "silent estimate"};

static void put_scores(json_t *object, const tl_score *score)
{
    json_object_set_new(object, "sdr", cli_real(score->sdr));
    json_object_set_new(object, "sir", cli_real(score->sir));
    json_object_set_new(object, "sar", cli_real(score->sar));
    json_object_set_new(object, "si_sdr", cli_real(score->si_sdr));
}

static json_t *source_json(const evaluation *ev, int64_t r)
{
    int channels = ev->sound[0].channels;
    const tl_score *score = ev->score + r * (channels + 1);
    json_t *source = json_object(), *each = json_array();
    json_object_set_new(source, "reference", cli_text(name_of(ev, r)));
    json_object_set_new(source, "estimate", cli_text(name_of(ev, ev->n + ev->match[r])));
    json_object_set_new(source, "state", json_string(states[score[channels].state]));
    put_scores(source, &score[channels]);
    for (int c = 0; c < channels; c++) {
        json_t *channel = json_object();
        json_object_set_new(channel, "state", json_string(states[score[c].state]));
        put_scores(channel, &score[c]);
        json_array_append_new(each, channel);
    }
    json_object_set_new(source, "channels", each);
    return source;
}

static json_t *result_json(const evaluation *ev, const tl_score *mean)
{
    const io_audio *sound = &ev->sound[0];
    json_t *object = json_object(), *sources = json_array(), *permutation = json_array(),
           *means = json_object();
    for (int64_t r = 0; r < ev->n; r++) {
        json_array_append_new(sources, source_json(ev, r));
        json_array_append_new(permutation, json_integer((json_int_t)ev->match[r]));
    }
    put_scores(means, mean);
    json_object_set_new(object, "sources", sources);
    json_object_set_new(object, "mean", means);
    json_object_set_new(object, "permutation", permutation);
    json_object_set_new(object, "permuted", json_boolean(arg.fixed == NULL));
    json_object_set_new(object, "filter", json_integer((json_int_t)ev->filter));
    json_object_set_new(object, "frames", json_integer((json_int_t)sound->frames));
    json_object_set_new(object, "channels", json_integer(sound->channels));
    json_object_set_new(object, "rate", json_integer(sound->rate));
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    return object;
}

static void print_scores(const tl_score *score)
{
    if (score->state != TL_SCORED)
        printf("   %s\n", states[score->state]);
    else
        printf(" %8.2f %8.2f %8.2f %8.2f\n", score->sdr, score->sir, score->sar, score->si_sdr);
}

static void print_table(const evaluation *ev, const tl_score *mean)
{
    int channels = ev->sound[0].channels, wide[2] = {9, 8}; /* the words of the heading */
    for (int64_t i = 0; i < 2 * ev->n; i++) {
        int length = (int)strlen(name_of(ev, i)), *width = &wide[i < ev->n ? 0 : 1];
        *width = length > *width ? length : *width;
    }
    printf("%-*s  %-*s  %8s %8s %8s %8s  (dB)\n", wide[0], "reference", wide[1], "estimate", "SDR",
           "SIR", "SAR", "SI-SDR");
    for (int64_t r = 0; r < ev->n; r++) {
        const tl_score *score = ev->score + r * (channels + 1);
        printf("%-*s  %-*s ", wide[0], name_of(ev, r), wide[1], name_of(ev, ev->n + ev->match[r]));
        print_scores(&score[channels]);
        for (int c = 0; channels > 1 && c < channels; c++) {
            char text[32];
            snprintf(text, sizeof text, "channel %d", c);
            printf("  %-*s ", wide[0] + wide[1], text);
            print_scores(&score[c]);
        }
    }
    if (ev->n > 1 && !isnan(mean->sdr)) {
        printf("%-*s ", wide[0] + 2 + wide[1], "mean");
        print_scores(mean);
    }
}

static int print(const evaluation *ev)
{
    int channels = ev->sound[0].channels;
    tl_score mean = tl_score_mean(ev->n, channels + 1, ev->score + channels);
    if (cli_common_values.json == NULL) {
        print_table(ev, &mean);
        return EXIT_DONE;
    }
    json_t *object = result_json(ev, &mean);
    bool printed = object != NULL && cli_print_json(object);
    json_decref(object);
    return printed ? EXIT_DONE
                   : cli_fail(&cli_eval, EXIT_OUTPUT, "standard output cannot be written");
}

static int work(const cli_call *call)
{
    evaluation *ev = calloc(1, sizeof *ev);
    if (ev == NULL)
        return cli_fail(&cli_eval, EXIT_INTERNAL, "no memory");
    int code = check_arguments(call, ev);
    if (code == EXIT_DONE)
        code = read_all(ev);
    if (code == EXIT_DONE)
        code = evaluate(call, ev);
    if (code == EXIT_DONE)
        code = print(ev);
    for (int64_t i = 0; i < 2 * ev->n; i++)
        io_audio_free(&ev->sound[i]);
    free(ev->score);
    free(ev);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_eval, options, sizeof options / sizeof *options, argc, argv, &code))
        code = work(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_eval = {
    .name = "eval",
    .usage = "eval --ref FILE... --est FILE... [options]",
    .purpose = "score a separation: SDR, SIR, SAR (BSS Eval 3) and SI-SDR, best permutation",
    .takes = " json ",
    .examples = "  tlnmf eval --ref piano.wav flute.wav --est stems/1.wav stems/2.wav\n"
                "  tlnmf eval --ref piano.wav --est stems/piano.wav --json\n",
    .run = run,
};
