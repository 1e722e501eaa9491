/* tlnmf simulate: the paper's data sets. */
#include "cli/cli.h"
#include "tlnmf/paper.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *w, *h, *seed, *theta, *signal;
} arg;

/* -s, -m, -n and so on are those of the library's task "gcm". */
static const cli_option options[] = {
    {"truth-w", "FILE", "gcm: write the true W here", &arg.w},
    {"truth-h", "FILE", "gcm: write the true H here", &arg.h},
    {"seed", "INT", "notes: seed of the phases [1]", &arg.seed},
    {"theta", "A,B,..", "notes: two phases for each realisation, instead of random ones",
     &arg.theta},
    {"signal", "FILE", "notes: write the sound here, one channel for each realisation",
     &arg.signal},
};

static int check_error(const cli_call *call, tlnmf_error error)
{
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* An array of the sample to a file, if one is named. */
static int write_array(const cli_call *call, const char *spec, const tlnmf_record *sample,
                       const char *name)
{
    int32_t rank;
    int64_t shape[TLNMF_MAX_RANK];
    if (spec == NULL)
        return EXIT_DONE;
    const double *x = tlnmf_get_array(sample, name, &rank, shape);
    return check_error(call, tlnmf_io_write_array(call->ctx, spec, x, rank, shape));
}

/* ---- gcm ------------------------------------------------------------------------------------- */

static int simulate_gcm(cli_call *call)
{
    tlnmf_record *sample;
    int code = check_error(call, tlnmf_simulate_gcm(call->ctx, call->settings, &sample));
    if (code == EXIT_DONE)
        code = write_array(call, arg.w, sample, "W");
    if (code == EXIT_DONE)
        code = write_array(call, arg.h, sample, "H");
    if (code == EXIT_DONE) /* last: when it is there, all of it is */
        code = write_array(call, cli_common_values.output, sample, "Y");
    tlnmf_record_free(sample);
    return code;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* "a,b,c,d" to exactly `count` numbers. */
static int parse_phases(const cli_call *call, const char *text, int64_t count, double *theta)
{
    const char *at = text;
    for (int64_t i = 0; i < count; i++) {
        char *end;
        theta[i] = strtod(at, &end);
        bool last = i + 1 == count;
        if (end == at || *end != (last ? '\0' : ',') || !(theta[i] > -1e9 && theta[i] < 1e9))
            return cli_fail(call->command, EXIT_USAGE,
                            "theta = %s: %lld numbers with commas are needed", text,
                            (long long)count);
        at = end + 1;
    }
    return EXIT_DONE;
}

/* The seed goes through the option of task "fit", which checks it. */
static int draw_phases(const cli_call *call, int64_t count, double *theta)
{
    tlnmf_ctx *ctx = call->ctx;
    char text[64];
    tlnmf_error error = TLNMF_OK;
    if (arg.seed != NULL)
        error = tlnmf_settings_set_text(ctx, call->also, "seed", arg.seed);
    if (error != TLNMF_OK)
        return check_error(call, error);
    uint64_t seed =
        strtoull(tlnmf_settings_get_text(call->also, "seed", text, sizeof text), NULL, 10);
    bool numpy =
        strcmp(tlnmf_settings_get_text(call->settings, "stream", text, sizeof text), "numpy") == 0;
    return check_error(call,
                       tlnmf_random_phases(ctx, seed, numpy ? TLNMF_STREAM_NUMPY : TLNMF_STREAM_OWN,
                                           count, theta));
}

/* A sound of `length` samples; the notes stay below 0.75, so that nothing is clipped. */
static tlnmf_error write_sound(tlnmf_ctx *ctx, const tlnmf_sound *sound, const double *x,
                               int64_t length)
{
    tlnmf_io_writer *writer;
    tlnmf_error error = tlnmf_io_writer_create(ctx, arg.signal, sound, &writer);
    if (error != TLNMF_OK)
        return error;
    error = tlnmf_io_writer_append(ctx, writer, x, length);
    if (error == TLNMF_OK)
        return tlnmf_io_writer_commit(ctx, writer);
    tlnmf_io_writer_abort(writer);
    return error;
}

/* The signals of all realisations as channels, interleaved as sound files want them. */
static int write_signal(const cli_call *call, const tlnmf_record *sample)
{
    int64_t shape[TLNMF_MAX_RANK];
    const double *signal = tlnmf_get_array(sample, "signal", NULL, shape);
    const int64_t S = shape[0], length = shape[1];
    tlnmf_sound *sound = NULL;
    if (arg.signal == NULL)
        return EXIT_DONE;
    double *x = malloc((size_t)(S * length) * sizeof *x);
    if (x == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory for the sound");
    for (int64_t s = 0; s < S; s++)
        for (int64_t t = 0; t < length; t++)
            x[t * S + s] = signal[s * length + t];
    tlnmf_error error =
        tlnmf_sound_from_array(call->ctx, x, length, S, tlnmf_get_real(sample, "rate"), &sound);
    if (error == TLNMF_OK)
        error = write_sound(call->ctx, sound, x, length);
    tlnmf_sound_free(sound);
    free(x);
    return check_error(call, error);
}

static int make_notes(const cli_call *call, const double *theta, int64_t S)
{
    tlnmf_record *sample;
    int code = check_error(call, tlnmf_simulate_notes(call->ctx, theta, S, &sample));
    if (code == EXIT_DONE)
        code = write_array(call, cli_common_values.output, sample, "Y");
    if (code == EXIT_DONE)
        code = write_signal(call, sample);
    tlnmf_record_free(sample);
    return code;
}

static int simulate_notes(const cli_call *call)
{
    const int64_t most = arg.signal == NULL ? 1000000 : 64; /* channels of a sound file */
    int64_t S = tlnmf_settings_get_integer(call->settings, "s");
    if (S > most)
        return cli_fail(call->command, EXIT_USAGE, "s = %lld is outside [1, %lld]", (long long)S,
                        (long long)most);
    double *theta = malloc((size_t)(2 * S) * sizeof *theta);
    if (theta == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory for %lld realisations",
                        (long long)S);
    int code = arg.theta == NULL ? draw_phases(call, 2 * S, theta)
                                 : parse_phases(call, arg.theta, 2 * S, theta);
    if (code == EXIT_DONE)
        code = make_notes(call, theta, S);
    free(theta);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* An option that only the other data set has; or NULL. */
static const char *misplaced(const cli_call *call, bool is_gcm)
{
    static const char *const of_gcm[] = {"m", "n", "kbar", "seed-truth", "seed-data"};
    const struct {
        const char *name, *value;
        bool of_gcm;
    } own[] = {{"truth-w", arg.w, true},
               {"truth-h", arg.h, true},
               {"seed", arg.seed, false},
               {"theta", arg.theta, false},
               {"signal", arg.signal, false}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].value != NULL && own[i].of_gcm != is_gcm)
            return own[i].name;
    for (size_t i = 0; !is_gcm && i < sizeof of_gcm / sizeof *of_gcm; i++)
        if (cli_given(call, of_gcm[i]))
            return of_gcm[i];
    return NULL;
}

/* Before anything is made: the outputs are named, different, and can be written. */
static int check(const cli_call *call, bool is_gcm)
{
    const char *outputs[] = {cli_common_values.output, arg.w, arg.h, arg.signal};
    enum { OUTPUTS = sizeof outputs / sizeof *outputs };
    const char *stray = misplaced(call, is_gcm);
    if (stray != NULL)
        return cli_fail(call->command, EXIT_USAGE, "%s%s goes with %s only",
                        strlen(stray) == 1 ? "-" : "--", stray, is_gcm ? "notes" : "gcm");
    if (cli_common_values.output == NULL && arg.signal == NULL)
        return cli_fail(call->command, EXIT_USAGE, "-o FILE is needed");
    for (int i = 0; i < OUTPUTS; i++) {
        int code = cli_check_output(call->command, outputs[i]);
        if (code != EXIT_DONE)
            return code;
        for (int j = 0; j < i; j++)
            if (outputs[i] != NULL && outputs[j] != NULL && strcmp(outputs[i], outputs[j]) == 0)
                return cli_fail(call->command, EXIT_USAGE, "%s is named for two outputs",
                                outputs[i]);
    }
    return EXIT_DONE;
}

static int simulate(cli_call *call)
{
    const char *what = call->operand_count == 1 ? call->operands[0] : "";
    bool is_gcm = strcmp(what, "gcm") == 0;
    if (!is_gcm && strcmp(what, "notes") != 0)
        return cli_fail(call->command, EXIT_USAGE, "which data? gcm or notes");
    int code = check(call, is_gcm);
    if (code != EXIT_DONE)
        return code;
    return is_gcm ? simulate_gcm(call) : simulate_notes(call);
}

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_simulate, argc, argv, &code))
        code = simulate(&call);
    cli_end(&call);
    return code;
}

const cli_command cli_simulate = {
    .name = "simulate",
    .usage = "simulate gcm|notes -o FILE [options]",
    .purpose = "make the paper's data: the Gaussian composite model, or two music notes",
    .task = "gcm",
    .also = "fit",
    .only = " s m n kbar seed-truth seed-data stream seed ",
    .common = " o force ",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .examples = "  tlnmf simulate gcm -s 100 --seed-truth 2020 --seed-data 100 --stream numpy -o "
                "gcm100.npy\n"
                "  tlnmf simulate notes -s 1 --seed 7 -o notes.npy --signal notes.wav\n"
                "  tlnmf simulate notes --theta 4.566139588724956,5.105464657836703 -o notes.npy\n",
    .notes = "-m, -n, --kbar, --seed-truth and --seed-data are for gcm only.",
    .run = run,
};
