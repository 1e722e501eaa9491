/* tlnmf eval: scores a separation against the true sources. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *ref[CLI_LIST + 1], *est[CLI_LIST + 1], *fixed, *framewise, *hop;
} arg;

static const cli_option options[] = {
    {"ref", "FILE...", "the true sources", arg.ref, GROUP_INPUT, CLI_FILE_IN},
    {"est", "FILE...", "the estimates, one per reference, in any order", arg.est, GROUP_INPUT,
     CLI_FILE_IN},
    {"no-permutation", NULL, "compare the estimates with the references in the order given",
     &arg.fixed, GROUP_SCORES, 0},
    {"framewise", "LENGTH",
     "also score windows of this length (samples, or a time such as 1s) and give their medians",
     &arg.framewise, GROUP_SCORES, 0},
    {"framewise-hop", "LENGTH", "distance between windows [half a window]", &arg.hop, GROUP_SCORES,
     0},
    {0},
};

/* The sounds and their scores. */
typedef struct scoring {
    int64_t n;        /* number of references, and of estimates */
    int64_t shape[3]; /* sources, samples, channels */
    double rate;
    double *x; /* references, then estimates, each of `shape` */
    bool images;
    tlnmf_record *scores;
} scoring;

static const char *name_of(const scoring *ev, int64_t i)
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

static int check_arguments(const cli_call *call, scoring *ev)
{
    int refs = count(arg.ref), ests = count(arg.est);
    if (call->operand_count > 0)
        return cli_fail(&cli_eval, EXIT_USAGE, "%s: operands are not accepted; use --ref or --est",
                        call->operands[0]);
    if (refs == 0 || ests == 0)
        return cli_fail(&cli_eval, EXIT_USAGE, "missing required option %s FILE...",
                        refs == 0 ? "--ref" : "--est");
    if (refs != ests)
        return cli_fail(
            &cli_eval, EXIT_USAGE,
            "%d reference%s and %d estimate%s: there must be one estimate per reference", refs,
            refs == 1 ? "" : "s", ests, ests == 1 ? "" : "s");
    ev->n = refs;
    return EXIT_DONE;
}

/* The first reference defines length, channels and rate, and the size of the buffer. */
static int begin(const tlnmf_record *sound, scoring *ev)
{
    size_t size;
    ev->shape[0] = ev->n;
    ev->shape[1] = tlnmf_record_get_integer(sound, "length");
    ev->shape[2] = tlnmf_record_get_integer(sound, "channels");
    ev->rate = tlnmf_record_get_real(sound, "rate");
    if (!__builtin_mul_overflow(2 * (size_t)ev->n * sizeof *ev->x, ev->shape[1], &size) &&
        !__builtin_mul_overflow(size, ev->shape[2], &size))
        ev->x = malloc(size);
    return ev->x != NULL ? EXIT_DONE : cli_fail(&cli_eval, EXIT_INTERNAL, "no memory");
}

/* Checks that a file has the rate, channels and length of the first reference. */
static int check_alike(const scoring *ev, int64_t i, const tlnmf_record *sound)
{
    const char *first = name_of(ev, 0), *other = name_of(ev, i);
    int64_t length = tlnmf_record_get_integer(sound, "length");
    int64_t channels = tlnmf_record_get_integer(sound, "channels");
    double rate = tlnmf_record_get_real(sound, "rate");
    if (rate != ev->rate)
        return cli_fail(&cli_eval, EXIT_INPUT, "%s: the rate is %.0f Hz, but %s has %.0f Hz", other,
                        rate, first, ev->rate);
    if (channels != ev->shape[2])
        return cli_fail(&cli_eval, EXIT_INPUT, "%s: %lld channel%s, but %lld in %s", other,
                        (long long)channels, cli_plural(channels), (long long)ev->shape[2], first);
    if (length != ev->shape[1])
        return cli_fail(&cli_eval, EXIT_INPUT,
                        "%s: %lld samples, but %s has %lld; cut them to the same length", other,
                        (long long)length, first, (long long)ev->shape[1]);
    return EXIT_DONE;
}

static int read_file(const cli_call *call, scoring *ev, int64_t i)
{
    tlnmf_sound *sound;
    tlnmf_error error = tlnmf_io_open_sound(call->ctx, name_of(ev, i), &sound);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    const tlnmf_record *about = tlnmf_sound_record(sound);
    int code = i == 0 ? begin(about, ev) : check_alike(ev, i, about);
    if (code == EXIT_DONE)
        error = tlnmf_sound_read(call->ctx, sound, 0, ev->shape[1],
                                 ev->x + i * ev->shape[1] * ev->shape[2]);
    tlnmf_sound_free(sound);
    return error == TLNMF_OK ? code : cli_fail_library(call, error, NULL);
}

static int evaluate(const cli_call *call, scoring *ev)
{
    const double *estimates = ev->x + ev->n * ev->shape[1] * ev->shape[2];
    TRY(cli_set_length(call, "framewise", arg.framewise, ev->rate));
    TRY(cli_set_length(call, "framewise-hop", arg.hop, ev->rate));
    ev->images = tlnmf_settings_get_integer(call->settings, "images") != 0;
    tlnmf_error error =
        tlnmf_settings_set_integer(call->ctx, call->settings, "permute", arg.fixed == NULL);
    if (error == TLNMF_OK)
        error = tlnmf_score(call->ctx, ev->x, estimates, ev->shape, call->settings, &ev->scores);
    return cli_check(call, error, NULL);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* In the order of the table. ISR is for images only. */
static const char *const figures[] = {"sdr", "sir", "sar", "si_sdr", "isr"};
static const char *const headings[] = {"SDR", "SIR", "SAR", "SI-SDR", "ISR"};

static int figure_count(const scoring *ev)
{
    return ev->images ? 5 : 4;
}

/* A score. The kind is "mean_", "median_", "frame_", or "" for a reference and a channel. */
static double score_of(const scoring *ev, const char *kind, const char *figure, int64_t i)
{
    char name[24];
    snprintf(name, sizeof name, "%s%s", kind, figure);
    const double *x = tlnmf_record_get_array(ev->scores, name, NULL, NULL);
    return x != NULL ? x[i] : tlnmf_record_get_real(ev->scores, name);
}

/* The index of the score of a reference and a channel; the channel after the last means all. */
static int64_t place_of(const scoring *ev, int64_t r, int64_t channel)
{
    return r * (ev->shape[2] + 1) + channel;
}

static const char *state_at(const scoring *ev, int64_t place)
{
    static const char *const states[] = {"scored", "silent reference", "silent estimate"};
    return states[(int)score_of(ev, "", "state", place)];
}

static int64_t match_of(const scoring *ev, int64_t r)
{
    return (int64_t)score_of(ev, "", "match", r);
}

static int64_t windows_of(const scoring *ev)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    return tlnmf_record_get_array(ev->scores, "frame_sdr", NULL, shape) != NULL ? shape[0] : 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *scores_json(const scoring *ev, const char *kind, int64_t i)
{
    json_t *object = json_object();
    if (kind[0] == '\0')
        json_object_set_new(object, "state", json_string(state_at(ev, i)));
    for (int f = 0; f < figure_count(ev); f++)
        json_object_set_new(object, figures[f], cli_real(score_of(ev, kind, figures[f], i)));
    return object;
}

/* The scores of one reference: the median, and the values of all windows. */
static json_t *windows_json(const scoring *ev, int64_t r)
{
    json_t *object = json_object();
    for (int f = 0; f < figure_count(ev); f++) {
        json_t *each = json_array();
        for (int64_t w = 0; w < windows_of(ev); w++)
            json_array_append_new(each,
                                  cli_real(score_of(ev, "frame_", figures[f], w * ev->n + r)));
        json_object_set_new(object, figures[f], each);
    }
    json_object_set_new(object, "median", scores_json(ev, "median_", r));
    return object;
}

static json_t *source_json(const scoring *ev, int64_t r)
{
    json_t *source = scores_json(ev, "", place_of(ev, r, ev->shape[2])), *each = json_array();
    json_object_set_new(source, "reference", cli_text(name_of(ev, r)));
    json_object_set_new(source, "estimate", cli_text(name_of(ev, ev->n + match_of(ev, r))));
    for (int64_t c = 0; c < ev->shape[2]; c++)
        json_array_append_new(each, scores_json(ev, "", place_of(ev, r, c)));
    json_object_set_new(source, "channels", each);
    if (windows_of(ev) > 0)
        json_object_set_new(source, "framewise", windows_json(ev, r));
    return source;
}

static json_t *result_json(const cli_call *call, const scoring *ev)
{
    json_t *sources = json_array(), *permutation = json_array();
    for (int64_t r = 0; r < ev->n; r++) {
        json_array_append_new(sources, source_json(ev, r));
        json_array_append_new(permutation, json_integer((json_int_t)match_of(ev, r)));
    }
    json_t *object = json_pack(
        "{s: o, s: o, s: I, s: o, s: b, s: o, s: b, s: I, s: I, s: I, s: s}", "sources", sources,
        "mean", scores_json(ev, "mean_", 0), "scored",
        (json_int_t)tlnmf_record_get_integer(ev->scores, "scored"), "permutation", permutation,
        "permuted", arg.fixed == NULL, "filter", cli_option_json(call->settings, "score", "filter"),
        "images", ev->images, "frames", (json_int_t)ev->shape[1], "channels",
        (json_int_t)ev->shape[2], "rate", (json_int_t)ev->rate, "version", tlnmf_version());
    if (windows_of(ev) > 0)
        json_object_set_new(object, "window",
                            cli_option_json(call->settings, "score", "framewise"));
    return object;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_scores(const scoring *ev, const char *kind, int64_t i)
{
    if (kind[0] == '\0' && score_of(ev, "", "state", i) != 0.0) {
        printf("   %s\n", state_at(ev, i));
        return;
    }
    for (int f = 0; f < figure_count(ev); f++)
        printf(" %8.2f", score_of(ev, kind, figures[f], i));
    putchar('\n');
}

static void print_rows(const scoring *ev, const int wide[2])
{
    int64_t channels = ev->shape[2];
    for (int64_t r = 0; r < ev->n; r++) {
        printf("%-*s  %-*s ", wide[0], name_of(ev, r), wide[1],
               name_of(ev, ev->n + match_of(ev, r)));
        print_scores(ev, "", place_of(ev, r, channels));
        for (int64_t c = 0; channels > 1 && c < channels; c++) {
            char text[32];
            snprintf(text, sizeof text, "channel %lld", (long long)c);
            printf("  %-*s ", wide[0] + wide[1], text);
            print_scores(ev, "", place_of(ev, r, c));
        }
        if (windows_of(ev) > 0) {
            char text[48];
            snprintf(text, sizeof text, "median of %lld window%s", (long long)windows_of(ev),
                     cli_plural(windows_of(ev)));
            printf("  %-*s ", wide[0] + wide[1], text);
            print_scores(ev, "median_", r);
        }
    }
}

static void print_table(const scoring *ev)
{
    int wide[2] = {9, 8}; /* the words of the heading */
    for (int64_t i = 0; i < 2 * ev->n; i++) {
        int length = (int)strlen(name_of(ev, i)), *width = &wide[i < ev->n ? 0 : 1];
        *width = length > *width ? length : *width;
    }
    if (windows_of(ev) > 0 && wide[0] + wide[1] < 24) /* "median of 1000 windows" */
        wide[1] = 24 - wide[0];
    printf("%-*s  %-*s ", wide[0], "reference", wide[1], "estimate");
    for (int f = 0; f < figure_count(ev); f++)
        printf(" %8s", headings[f]);
    puts("  (dB)");
    print_rows(ev, wide);
    int64_t scored = tlnmf_record_get_integer(ev->scores, "scored");
    if (ev->n > 1 && scored > 0) {
        char text[64] = "mean";
        if (scored < ev->n)
            snprintf(text, sizeof text, "mean of %lld of %lld", (long long)scored,
                     (long long)ev->n);
        printf("%-*s ", wide[0] + 2 + wide[1], text);
        print_scores(ev, "mean_", 0);
    }
}

static void print(const cli_call *call, const scoring *ev)
{
    if (cli_asked.json == NULL) {
        print_table(ev);
        return;
    }
    json_t *object = result_json(call, ev);
    cli_print_json(object);
    json_decref(object);
}

static int run(cli_call *call)
{
    scoring ev = {0};
    int code = check_arguments(call, &ev);
    for (int64_t i = 0; code == EXIT_DONE && i < 2 * ev.n; i++)
        code = read_file(call, &ev, i);
    if (code == EXIT_DONE)
        code = evaluate(call, &ev);
    if (code == EXIT_DONE)
        print(call, &ev);
    free(ev.x);
    tlnmf_record_free(ev.scores);
    return code;
}

const cli_command cli_eval = {
    .name = "eval",
    .usage = "eval --ref FILE... --est FILE... [options]",
    .purpose = "score a separation: SDR, SIR, SAR (BSS Eval 3) and SI-SDR, best permutation",
    .task = "score",
    .without = " permute ", /* which is on; --no-permutation turns it off */
    .options = options,
    .shared = " json ",
    .examples =
        "  tlnmf eval --ref piano.wav flute.wav --est stems/1.wav stems/2.wav\n"
        "  tlnmf eval --images --framewise 1s --ref a.wav b.wav --est stems/a.wav stems/b.wav\n"
        "  tlnmf eval --ref piano.wav --est stems/piano.wav --json\n",
    .run = run,
};
