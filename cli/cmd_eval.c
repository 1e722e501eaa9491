/* tlnmf eval: how good a separation is. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *ref[CLI_LIST + 1], *est[CLI_LIST + 1], *fixed, *framewise, *hop;
} arg;

static const cli_option options[] = {
    {"ref", "FILE...", "the true sources", arg.ref},
    {"est", "FILE...", "the estimates, one for each reference, in any order", arg.est},
    {"no-permutation", NULL, "the first estimate is that of the first reference, and so on",
     &arg.fixed},
    {"framewise", "LENGTH",
     "also score windows of this length (samples, or a time such as 1s) and give their medians",
     &arg.framewise},
    {"framewise-hop", "LENGTH", "from one window to the next [half a window]", &arg.hop},
};

/* All that is read and found. */
typedef struct evaluation {
    int64_t n;        /* references, and as many estimates */
    int64_t shape[3]; /* sources, samples, channels */
    double rate;
    double *x; /* references, then estimates, each of `shape` */
    bool images;
    tlnmf_record *scores;
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
        return cli_fail(
            &cli_eval, EXIT_USAGE,
            "%d reference%s and %d estimate%s: there must be one estimate per reference", refs,
            refs == 1 ? "" : "s", ests, ests == 1 ? "" : "s");
    ev->n = refs;
    for (int64_t i = 0; i < 2 * ev->n; i++)
        pipes += strcmp(name_of(ev, i), "-") == 0;
    if (pipes > 1)
        return cli_fail(&cli_eval, EXIT_USAGE, "standard input can be read once only");
    return EXIT_DONE;
}

/* The first reference says what the files are like, and makes the buffer for them all. */
static int begin(const tlnmf_record *sound, evaluation *ev)
{
    size_t size;
    ev->shape[0] = ev->n;
    ev->shape[1] = tlnmf_get_integer(sound, "length");
    ev->shape[2] = tlnmf_get_integer(sound, "channels");
    ev->rate = tlnmf_get_real(sound, "rate");
    if (!__builtin_mul_overflow(2 * (size_t)ev->n * sizeof *ev->x, (size_t)ev->shape[1], &size) &&
        !__builtin_mul_overflow(size, (size_t)ev->shape[2], &size))
        ev->x = malloc(size);
    return ev->x != NULL ? EXIT_DONE : cli_fail(&cli_eval, EXIT_INTERNAL, "no memory");
}

/* Every file must be like the first reference. */
static int check_alike(const evaluation *ev, int64_t i, const tlnmf_record *sound)
{
    const char *first = name_of(ev, 0), *other = name_of(ev, i);
    int64_t length = tlnmf_get_integer(sound, "length");
    int64_t channels = tlnmf_get_integer(sound, "channels");
    double rate = tlnmf_get_real(sound, "rate");
    if (rate != ev->rate)
        return cli_fail(&cli_eval, EXIT_INPUT, "%s: its rate is %.0f Hz, that of %s is %.0f Hz",
                        other, rate, first, ev->rate);
    if (channels != ev->shape[2])
        return cli_fail(&cli_eval, EXIT_INPUT, "%s: channels: %lld, but %lld in %s", other,
                        (long long)channels, (long long)ev->shape[2], first);
    if (length != ev->shape[1])
        return cli_fail(&cli_eval, EXIT_INPUT,
                        "%s: it has %lld frames, %s has %lld: cut them to the same length", other,
                        (long long)length, first, (long long)ev->shape[1]);
    return EXIT_DONE;
}

static int read_file(const cli_call *call, evaluation *ev, int64_t i)
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

static int set_window(const cli_call *call, const evaluation *ev, const char *name,
                      const char *text)
{
    double length = text == NULL ? 0.0 : cli_samples(text, ev->rate);
    if (text != NULL && !(length >= 1.0 && length <= 1e9))
        return cli_fail(call->command, EXIT_USAGE,
                        "%s = %s is neither a number of samples nor a time such as 1s", name, text);
    tlnmf_error error =
        tlnmf_settings_set_integer(call->ctx, call->settings, name, (int64_t)length);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

static int evaluate(const cli_call *call, evaluation *ev)
{
    const double *estimates = ev->x + ev->n * ev->shape[1] * ev->shape[2];
    int code = set_window(call, ev, "framewise", arg.framewise);
    if (code == EXIT_DONE)
        code = set_window(call, ev, "framewise-hop", arg.hop);
    if (code != EXIT_DONE)
        return code;
    ev->images = tlnmf_settings_get_integer(call->settings, "images") != 0;
    tlnmf_error error =
        tlnmf_settings_set_integer(call->ctx, call->settings, "permute", arg.fixed == NULL);
    if (error == TLNMF_OK)
        error = tlnmf_score(call->ctx, ev->x, estimates, ev->shape, call->settings, &ev->scores);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* In the order of the table; ISR comes with images alone. */
static const char *const figures[] = {"sdr", "sir", "sar", "si_sdr", "isr"};
static const char *const headings[] = {"SDR", "SIR", "SAR", "SI-SDR", "ISR"};

static int figure_count(const evaluation *ev)
{
    return ev->images ? 5 : 4;
}

static double mean_of(const evaluation *ev, int figure)
{
    char name[16];
    snprintf(name, sizeof name, "mean_%s", figures[figure]);
    return tlnmf_get_real(ev->scores, name);
}

/* Of a reference and a channel; the channel after the last is all of them together. */
static double score_of(const evaluation *ev, const char *name, int64_t r, int64_t channel)
{
    return tlnmf_get_array(ev->scores, name, NULL, NULL)[r * (ev->shape[2] + 1) + channel];
}

static const char *state_of(const evaluation *ev, int64_t r, int64_t channel)
{
    static const char *const states[] = {"scored", "silent reference", "silent estimate"};
    return states[(int)score_of(ev, "state", r, channel)];
}

static int64_t match_of(const evaluation *ev, int64_t r)
{
    return (int64_t)tlnmf_get_array(ev->scores, "match", NULL, NULL)[r];
}

/* ---- window by window ------------------------------------------------------------------------ */

static int64_t windows_of(const evaluation *ev)
{
    int64_t shape[TLNMF_MAX_RANK] = {0};
    return tlnmf_get_array(ev->scores, "frame_sdr", NULL, shape) != NULL ? shape[0] : 0;
}

static const double *windowed(const evaluation *ev, const char *kind, int figure)
{
    char name[24];
    snprintf(name, sizeof name, "%s_%s", kind, figures[figure]);
    return tlnmf_get_array(ev->scores, name, NULL, NULL);
}

static double median_of(const evaluation *ev, int figure, int64_t r)
{
    return windowed(ev, "median", figure)[r];
}

/* Of one reference: the median, and the figures of all windows. */
static json_t *windows_json(const evaluation *ev, int64_t r)
{
    json_t *object = json_object(), *medians = json_object();
    for (int f = 0; f < figure_count(ev); f++) {
        json_t *each = json_array();
        json_object_set_new(medians, figures[f], cli_real(median_of(ev, f, r)));
        for (int64_t w = 0; w < windows_of(ev); w++)
            json_array_append_new(each, cli_real(windowed(ev, "frame", f)[w * ev->n + r]));
        json_object_set_new(object, figures[f], each);
    }
    json_object_set_new(object, "median", medians);
    return object;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_scores(json_t *object, const evaluation *ev, int64_t r, int64_t channel)
{
    json_object_set_new(object, "state", json_string(state_of(ev, r, channel)));
    for (int f = 0; f < figure_count(ev); f++)
        json_object_set_new(object, figures[f], cli_real(score_of(ev, figures[f], r, channel)));
}

static json_t *source_json(const evaluation *ev, int64_t r)
{
    json_t *source = json_object(), *each = json_array();
    json_object_set_new(source, "reference", cli_text(name_of(ev, r)));
    json_object_set_new(source, "estimate", cli_text(name_of(ev, ev->n + match_of(ev, r))));
    put_scores(source, ev, r, ev->shape[2]);
    for (int64_t c = 0; c < ev->shape[2]; c++) {
        json_t *channel = json_object();
        put_scores(channel, ev, r, c);
        json_array_append_new(each, channel);
    }
    json_object_set_new(source, "channels", each);
    if (windows_of(ev) > 0)
        json_object_set_new(source, "framewise", windows_json(ev, r));
    return source;
}

static json_t *result_json(const cli_call *call, const evaluation *ev)
{
    json_t *object = json_object(), *sources = json_array(), *permutation = json_array(),
           *means = json_object();
    for (int64_t r = 0; r < ev->n; r++) {
        json_array_append_new(sources, source_json(ev, r));
        json_array_append_new(permutation, json_integer((json_int_t)match_of(ev, r)));
    }
    for (int f = 0; f < figure_count(ev); f++)
        json_object_set_new(means, figures[f], cli_real(mean_of(ev, f)));
    json_object_set_new(object, "sources", sources);
    json_object_set_new(object, "mean", means);
    json_object_set_new(object, "permutation", permutation);
    json_object_set_new(object, "permuted", json_boolean(arg.fixed == NULL));
    json_object_set_new(object, "filter", cli_option_json(call->settings, "score", "filter"));
    json_object_set_new(object, "images", json_boolean(ev->images));
    if (windows_of(ev) > 0)
        json_object_set_new(object, "window",
                            cli_option_json(call->settings, "score", "framewise"));
    json_object_set_new(object, "frames", json_integer((json_int_t)ev->shape[1]));
    json_object_set_new(object, "channels", json_integer((json_int_t)ev->shape[2]));
    json_object_set_new(object, "rate", json_integer((json_int_t)ev->rate));
    json_object_set_new(object, "version", json_string(tlnmf_version()));
    return object;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_figures(const evaluation *ev, double (*figure)(const evaluation *, int, int64_t),
                          int64_t r)
{
    for (int f = 0; f < figure_count(ev); f++)
        printf(" %8.2f", figure(ev, f, r));
    putchar('\n');
}

static void print_scores(const evaluation *ev, int64_t r, int64_t channel)
{
    if (score_of(ev, "state", r, channel) != 0.0) {
        printf("   %s\n", state_of(ev, r, channel));
        return;
    }
    for (int f = 0; f < figure_count(ev); f++)
        printf(" %8.2f", score_of(ev, figures[f], r, channel));
    putchar('\n');
}

static double mean_figure(const evaluation *ev, int f, int64_t r)
{
    (void)r;
    return mean_of(ev, f);
}

static void print_rows(const evaluation *ev, const int wide[2])
{
    int64_t channels = ev->shape[2];
    for (int64_t r = 0; r < ev->n; r++) {
        printf("%-*s  %-*s ", wide[0], name_of(ev, r), wide[1],
               name_of(ev, ev->n + match_of(ev, r)));
        print_scores(ev, r, channels);
        for (int64_t c = 0; channels > 1 && c < channels; c++) {
            char text[32];
            snprintf(text, sizeof text, "channel %lld", (long long)c);
            printf("  %-*s ", wide[0] + wide[1], text);
            print_scores(ev, r, c);
        }
        if (windows_of(ev) > 0) {
            char text[48];
            snprintf(text, sizeof text, "median of %lld windows", (long long)windows_of(ev));
            printf("  %-*s ", wide[0] + wide[1], text);
            print_figures(ev, median_of, r);
        }
    }
}

static void print_table(const evaluation *ev)
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
    if (ev->n > 1 && !isnan(mean_of(ev, 0))) {
        printf("%-*s ", wide[0] + 2 + wide[1], "mean");
        print_figures(ev, mean_figure, 0);
    }
}

static int print(const cli_call *call, const evaluation *ev)
{
    if (cli_common_values.json == NULL) {
        print_table(ev);
        return EXIT_DONE;
    }
    json_t *object = result_json(call, ev);
    bool printed = object != NULL && cli_print_json(object);
    json_decref(object);
    return printed ? EXIT_DONE
                   : cli_fail(&cli_eval, EXIT_OUTPUT, "standard output cannot be written");
}

static int work(const cli_call *call)
{
    evaluation ev = {0};
    int code = check_arguments(call, &ev);
    for (int64_t i = 0; code == EXIT_DONE && i < 2 * ev.n; i++)
        code = read_file(call, &ev, i);
    if (code == EXIT_DONE)
        code = evaluate(call, &ev);
    if (code == EXIT_DONE)
        code = print(call, &ev);
    free(ev.x);
    tlnmf_record_free(ev.scores);
    return code;
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_eval, argc, argv, &code))
        code = work(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_eval = {
    .name = "eval",
    .usage = "eval --ref FILE... --est FILE... [options]",
    .purpose = "score a separation: SDR, SIR, SAR (BSS Eval 3) and SI-SDR, best permutation",
    .task = "score",
    .without = " permute ", /* which is on; --no-permutation turns it off */
    .common = " json ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .examples =
        "  tlnmf eval --ref piano.wav flute.wav --est stems/1.wav stems/2.wav\n"
        "  tlnmf eval --images --framewise 1s --ref a.wav b.wav --est stems/a.wav stems/b.wav\n"
        "  tlnmf eval --ref piano.wav --est stems/piano.wav --json\n",
    .run = run,
};
