/* tlnmf simulate: the paper's data sets. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *s, *m, *n, *kbar, *seed_truth, *seed_data, *seed, *theta, *signal, *w, *h;
} arg;

static const cli_option options[] = {
    {"s", "INT", "realisations [1]", &arg.s},
    {"m", "INT", "gcm: frame length [10]", &arg.m},
    {"n", "INT", "gcm: frames [50]", &arg.n},
    {"kbar", "INT", "gcm: rank of the truth [5]", &arg.kbar},
    {"seed-truth", "INT", "gcm: seed of Wbar and Hbar [2020]", &arg.seed_truth},
    {"seed-data", "INT", "gcm: seed of the realisations [100]", &arg.seed_data},
    {"truth-w", "FILE", "gcm: write Wbar here", &arg.w},
    {"truth-h", "FILE", "gcm: write Hbar here", &arg.h},
    {"seed", "INT", "notes: seed of the phases [1]", &arg.seed},
    {"theta", "A,B,..", "notes: two phases a realisation, instead of drawing them", &arg.theta},
    {"signal", "FILE", "notes: write the sound, one channel a realisation", &arg.signal},
};

static int write_array(cli_call *call, const char *path, io_array array)
{
    io_error err;
    if (path == NULL || io_array_write(path, &array, &err))
        return EXIT_DONE;
    return cli_fail_io(call->command, &err);
}

/* ---- gcm ------------------------------------------------------------------------------------- */

typedef struct gcm_sizes {
    int64_t S, M, N, K, seed_truth, seed_data;
} gcm_sizes;

static bool gcm_arguments(const cli_call *call, gcm_sizes *z)
{
    const int64_t most = 1000000000, seeds = INT64_MAX;
    return cli_integer(call, "s", arg.s, 1, most, 1, &z->S) &&
           cli_integer(call, "m", arg.m, 1, most, 10, &z->M) &&
           cli_integer(call, "n", arg.n, 1, most, 50, &z->N) &&
           cli_integer(call, "kbar", arg.kbar, 1, most, 5, &z->K) &&
           cli_integer(call, "seed-truth", arg.seed_truth, 0, seeds, 2020, &z->seed_truth) &&
           cli_integer(call, "seed-data", arg.seed_data, 0, seeds, 100, &z->seed_data);
}

/* Room for count doubles, NULL where that does not fit. */
static double *doubles(int64_t a, int64_t b, int64_t c)
{
    int64_t count;
    if (__builtin_mul_overflow(a, b, &count) || __builtin_mul_overflow(count, c, &count) ||
        count > (int64_t)(SIZE_MAX / sizeof(double) / 2))
        return NULL;
    return malloc((size_t)count * sizeof(double));
}

static int simulate_gcm(cli_call *call, const char *output)
{
    gcm_sizes z;
    if (!gcm_arguments(call, &z))
        return EXIT_USAGE;
    double *Y = doubles(z.S, z.M, z.N), *W = doubles(z.M, z.K, 1), *H = doubles(z.K, z.N, 1);
    int code;
    if (Y == NULL || W == NULL || H == NULL) {
        code = cli_fail(call->command, EXIT_INTERNAL, "no memory for %lld x %lld x %lld numbers",
                        (long long)z.S, (long long)z.M, (long long)z.N);
    } else {
        tlnmf_error error =
            tlnmf_simulate_gcm(call->ctx, z.S, z.M, z.N, z.K, (uint64_t)z.seed_truth,
                               (uint64_t)z.seed_data, (tlnmf_stream)call->settings.stream, Y, W, H);
        code = error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
    }
    if (code == EXIT_DONE)
        code = write_array(call, arg.w, (io_array){2, {z.M, z.K}, W});
    if (code == EXIT_DONE)
        code = write_array(call, arg.h, (io_array){2, {z.K, z.N}, H});
    if (code == EXIT_DONE) /* last: when it is there, all of it is */
        code = write_array(call, output, (io_array){3, {z.S, z.M, z.N}, Y});
    free(Y);
    free(W);
    free(H);
    return code;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* "a,b,c,d" to exactly `count` numbers. */
static bool parse_phases(const cli_call *call, const char *text, int64_t count, double *theta)
{
    const char *at = text;
    for (int64_t i = 0; i < count; i++) {
        char *end;
        theta[i] = strtod(at, &end);
        bool last = i + 1 == count;
        if (end == at || *end != (last ? '\0' : ',') || !(theta[i] > -1e9 && theta[i] < 1e9)) {
            cli_fail(call->command, EXIT_USAGE, "theta = %s: %lld numbers with commas are needed",
                     text, (long long)count);
            return false;
        }
        at = end + 1;
    }
    return true;
}

static int draw_phases(cli_call *call, int64_t count, double *theta)
{
    tlnmf_error error = TLNMF_OK;
    if (arg.seed != NULL)
        error = tlnmf_settings_set(call->ctx, &call->settings, "seed", arg.seed);
    if (error == TLNMF_OK)
        error = tlnmf_random_phases(call->ctx, call->settings.seed,
                                    (tlnmf_stream)call->settings.stream, count, theta);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* Channels interleaved, as sound files want them. */
static int write_signal(cli_call *call, const double *signal, int64_t S)
{
    if (arg.signal == NULL)
        return EXIT_DONE;
    double *frames = doubles(S, TLNMF_NOTES_LENGTH, 1);
    if (frames == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory for the sound");
    for (int64_t s = 0; s < S; s++)
        for (int64_t t = 0; t < TLNMF_NOTES_LENGTH; t++)
            frames[t * S + s] = signal[s * TLNMF_NOTES_LENGTH + t];
    io_error err;
    bool written = io_audio_write(arg.signal, frames, TLNMF_NOTES_LENGTH, (int)S, TLNMF_NOTES_RATE,
                                  NULL, &err); /* the notes stay below 0.75: nothing is clipped */
    free(frames);
    return written ? EXIT_DONE : cli_fail_io(call->command, &err);
}

static int simulate_notes(cli_call *call, const char *output)
{
    int64_t S;
    if (!cli_integer(call, "s", arg.s, 1, arg.signal == NULL ? 1000000 : 64, 1, &S))
        return EXIT_USAGE;
    double *Y = doubles(S, TLNMF_NOTES_M, TLNMF_NOTES_N), *theta = doubles(S, 2, 1);
    double *signal = doubles(S, TLNMF_NOTES_LENGTH, 1);
    int code = EXIT_DONE;
    if (Y == NULL || theta == NULL || signal == NULL)
        code =
            cli_fail(call->command, EXIT_INTERNAL, "no memory for %lld realisations", (long long)S);
    else if (arg.theta == NULL)
        code = draw_phases(call, 2 * S, theta);
    else if (!parse_phases(call, arg.theta, 2 * S, theta))
        code = EXIT_USAGE;
    if (code == EXIT_DONE) {
        tlnmf_error error = tlnmf_simulate_notes(call->ctx, S, theta, Y, signal);
        code = error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
    }
    if (code == EXIT_DONE)
        code = write_array(call, output, (io_array){3, {S, TLNMF_NOTES_M, TLNMF_NOTES_N}, Y});
    if (code == EXIT_DONE)
        code = write_signal(call, signal, S);
    free(Y);
    free(theta);
    free(signal);
    return code;
}

/* An option that only the other data set has. */
static const char *misplaced(bool is_gcm)
{
    const struct {
        const char *name, *value;
        bool of_gcm;
    } own[] = {
        {"m", arg.m, true},          {"n", arg.n, true},
        {"kbar", arg.kbar, true},    {"seed-truth", arg.seed_truth, true},
        {"truth-w", arg.w, true},    {"seed-data", arg.seed_data, true},
        {"truth-h", arg.h, true},    {"seed", arg.seed, false},
        {"theta", arg.theta, false}, {"signal", arg.signal, false},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].value != NULL && own[i].of_gcm != is_gcm)
            return own[i].name;
    return NULL;
}

/* Before anything is made: the outputs are there, different, and can be written. */
static int check(const cli_call *call, bool is_gcm)
{
    const char *outputs[] = {cli_common_values.output, arg.w, arg.h, arg.signal};
    enum { OUTPUTS = sizeof outputs / sizeof *outputs };
    const char *stray = misplaced(is_gcm);
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

static int run(int argc, char **argv)
{
    cli_call call;
    int code = EXIT_DONE;
    memset(&arg, 0, sizeof arg);
    if (cli_begin(&call, &cli_simulate, options, sizeof options / sizeof *options, argc, argv,
                  &code)) {
        bool one = call.operand_count == 1;
        bool is_gcm = one && strcmp(call.operands[0], "gcm") == 0;
        if (!is_gcm && !(one && strcmp(call.operands[0], "notes") == 0))
            code = cli_fail(&cli_simulate, EXIT_USAGE, "which data? gcm or notes");
        else
            code = check(&call, is_gcm);
        if (code == EXIT_DONE)
            code = is_gcm ? simulate_gcm(&call, cli_common_values.output)
                          : simulate_notes(&call, cli_common_values.output);
    }
    cli_end(&call);
    return code;
}

const cli_command cli_simulate = {
    .name = "simulate",
    .usage = "simulate gcm|notes -o FILE [options]",
    .purpose = "make the paper's data: the Gaussian composite model, or two music notes",
    .takes = " stream o ",
    .examples = "  tlnmf simulate gcm --s 100 --seed-truth 2020 --seed-data 100 --stream numpy -o "
                "gcm100.npy\n"
                "  tlnmf simulate notes --s 1 --seed 7 -o notes.npy --signal notes.wav\n"
                "  tlnmf simulate notes --theta 4.566139588724956,5.105464657836703 -o notes.npy\n",
    .run = run,
};
