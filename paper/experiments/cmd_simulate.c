/* tlnmf simulate: the paper's data sets. */
#include "cli/cli.h"
#include "tlnmf/paper.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *w, *h, *seed, *theta, *signal;
} arg;

/* -s, -m, -n and so on are options of the library's task "gcm". */
static const cli_option options[] = {
    {"seed", "INT", "notes: seed of the phases [1]", &arg.seed, GROUP_MODEL, 0},
    {"theta", "A,B,..", "notes: two phases per realisation, instead of random ones", &arg.theta,
     GROUP_MODEL, 0},
    {"truth-w", "FILE", "gcm: write the true W here", &arg.w, GROUP_OUTPUT, CLI_FILE_OUT},
    {"truth-h", "FILE", "gcm: write the true H here", &arg.h, GROUP_OUTPUT, CLI_FILE_OUT},
    {"signal", "FILE", "notes: write the sound here, one channel per realisation", &arg.signal,
     GROUP_OUTPUT, CLI_FILE_OUT},
    {0},
};

static int check_error(const cli_call *call, tlnmf_error error)
{
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* Writes an array of the sample to a file, if a file was given. */
static int write_array(const cli_call *call, const char *spec, const tlnmf_record *sample,
                       const char *name)
{
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    if (spec == NULL)
        return EXIT_DONE;
    const double *x = tlnmf_record_get_array(sample, name, &rank, shape);
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
    if (code == EXIT_DONE) /* last, so that it marks a complete result */
        code = write_array(call, cli_asked.output, sample, "Y");
    tlnmf_record_free(sample);
    return code;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Reads exactly `count` numbers from "a,b,c,d". */
static int parse_phases(const cli_call *call, const char *text, int64_t count, double *theta)
{
    const char *at = text;
    for (int64_t i = 0; i < count; i++) {
        char *end;
        theta[i] = strtod(at, &end);
        bool last = i + 1 == count;
        if (end == at || *end != (last ? '\0' : ',') || !(theta[i] > -1e9 && theta[i] < 1e9))
            return cli_fail(call->command, EXIT_USAGE,
                            "theta = %s is not a list of %lld numbers separated by commas", text,
                            (long long)count);
        at = end + 1;
    }
    return EXIT_DONE;
}

/* The option `seed` of the task "fit" checks the seed. */
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
    tlnmf_stream stream = (tlnmf_stream)tlnmf_settings_get_integer(call->settings, "stream");
    return check_error(call, tlnmf_random_phases(ctx, seed, stream, count, theta));
}

/* Writes the signals of all realisations as the channels of a sound file, interleaved. The notes
 * stay below 0.75, so nothing is clipped. */
static int write_signal(const cli_call *call, const tlnmf_record *sample)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *signal = tlnmf_record_get_array(sample, "signal", NULL, shape);
    const int64_t S = shape[0], length = shape[1];
    tlnmf_sound *sound = NULL;
    tlnmf_io_writer *writer = NULL;
    if (arg.signal == NULL)
        return EXIT_DONE;
    double *x = malloc((size_t)(S * length) * sizeof *x);
    if (x == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory for the sound");
    for (int64_t s = 0; s < S; s++)
        for (int64_t t = 0; t < length; t++)
            x[t * S + s] = signal[s * length + t];
    tlnmf_error error = tlnmf_sound_from_array(call->ctx, x, length, S,
                                               tlnmf_record_get_real(sample, "rate"), &sound);
    if (error == TLNMF_OK)
        error = tlnmf_io_writer_create(call->ctx, arg.signal, sound, &writer);
    if (error == TLNMF_OK)
        error = tlnmf_io_writer_append(call->ctx, writer, x, length);
    if (error == TLNMF_OK)
        error = tlnmf_io_writer_commit(call->ctx, writer);
    else
        tlnmf_io_writer_abort(writer);
    tlnmf_sound_free(sound);
    free(x);
    return check_error(call, error);
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
    tlnmf_record *sample = NULL;
    if (code == EXIT_DONE)
        code = check_error(call, tlnmf_simulate_notes(call->ctx, theta, S, &sample));
    if (code == EXIT_DONE)
        code = write_array(call, cli_asked.output, sample, "Y");
    if (code == EXIT_DONE)
        code = write_signal(call, sample);
    tlnmf_record_free(sample);
    free(theta);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The name of a given option that only the other data set has, or NULL. */
static const char *misplaced(const cli_call *call, bool is_gcm)
{
    static const char *const of_gcm[] = {"m", "n", "kbar", "seed-truth", "seed-data"};
    for (const cli_option *row = options; row->name != NULL; row++)
        if (*row->value != NULL && (strncmp(row->help, "gcm", 3) == 0) != is_gcm)
            return row->name;
    for (size_t i = 0; !is_gcm && i < sizeof of_gcm / sizeof *of_gcm; i++)
        if (cli_given(call, of_gcm[i]))
            return of_gcm[i];
    return NULL;
}

/* Checks the options, and that the output files are different and can be written. */
static int check(const cli_call *call, bool is_gcm)
{
    const char *stray = misplaced(call, is_gcm);
    if (stray != NULL)
        return cli_fail(call->command, EXIT_USAGE, "%s%s is for %s only",
                        strlen(stray) == 1 ? "-" : "--", stray, is_gcm ? "notes" : "gcm");
    if (cli_asked.output == NULL && arg.signal == NULL)
        return cli_fail(call->command, EXIT_USAGE, "missing required option -o FILE");
    int code = cli_file_add(call, CLI_WRITES, "-o", cli_asked.output);
    return code == EXIT_DONE ? cli_add_outputs(call) : code;
}

static int run(cli_call *call)
{
    const char *what = call->operand_count == 1 ? call->operands[0] : "";
    bool is_gcm = strcmp(what, "gcm") == 0;
    if (!is_gcm && strcmp(what, "notes") != 0)
        return cli_fail(call->command, EXIT_USAGE, "the operand must be gcm or notes");
    int code = check(call, is_gcm);
    if (code == EXIT_DONE)
        code = is_gcm ? simulate_gcm(call) : simulate_notes(call);
    return code;
}

const cli_command cli_simulate = {
    .name = "simulate",
    .usage = "simulate gcm|notes -o FILE [options]",
    .purpose = "make the paper's data: the Gaussian composite model, or two music notes",
    .task = "gcm",
    .also = "fit",
    .only = " s m n kbar seed-truth seed-data stream seed ",
    .options = options,
    .shared = " o force ",
    .examples = "  tlnmf simulate gcm -s 100 --seed-truth 2020 --seed-data 100 --stream numpy -o "
                "gcm100.npy\n"
                "  tlnmf simulate notes -s 1 --seed 7 -o notes.npy --signal notes.wav\n"
                "  tlnmf simulate notes --theta 4.566139588724956,5.105464657836703 -o notes.npy\n",
    .notes = "-m, -n, --kbar, --seed-truth and --seed-data are for gcm only.",
    .run = run,
};
