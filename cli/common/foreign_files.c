/* Reads files in a separate process, and suggests conversions for unsupported formats. */
#include "cli/common/arrays.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of the running program on Linux. On other systems files are read in this process. */
static const char program[] = "/proc/self/exe";

/* The folder of a separation was given instead of its model. */
static void advise_folder(const cli_call *call, const char *spec)
{
    char model[CLI_PATH];
    int length = snprintf(model, sizeof model, "%s/model.h5", spec);
    if (length < (int)sizeof model && access(model, F_OK) == 0)
        cli_say(call->command, "use %s", model);
}

int cli_read(const cli_call *call, const char *kind, const char *spec, tlnmf_record **out)
{
    tlnmf_error error = tlnmf_io_read_apart(call->ctx, program, kind, spec, out);
    if (error == TLNMF_OK) {
        int code = strcmp(kind, "model") == 0 ? cli_check_model(call, spec, *out) : EXIT_DONE;
        if (code == EXIT_DONE)
            return EXIT_DONE;
        tlnmf_record_free(*out);
        *out = NULL;
        return code;
    }
    if (cli_interrupted() && !cli_read_late())
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted while reading");
    int code = cli_fail_library(call, error, NULL);
    if (strcmp(kind, "model") == 0)
        advise_folder(call, spec);
    return code;
}

bool cli_is_readable(const cli_call *call, const char *spec)
{
    tlnmf_record *array;
    tlnmf_error error = tlnmf_io_read_apart(call->ctx, program, "array", spec, &array);
    tlnmf_record_free(array);
    return error == TLNMF_OK;
}

/* Extensions of unsupported formats, and how to convert them. " IN " is a word of a shell command:
 * the file. */
static const struct {
    const char *extensions, *advice;
} formats[] = {
    {" .xlsx .xls .ods ", "save the sheet as .csv first"},
    {" .parquet .feather ",
     "convert it first, in Python: pandas.read_parquet('IN').to_csv('out.csv')"},
    {" .pkl .pickle ",
     "convert it first, in Python: numpy.load('IN', allow_pickle=True), if you trust it"},
    {" .edf .bdf .fif .vhdr .set ",
     "convert it first, in Python: numpy.save('out.npy', mne.io.read_raw('IN').get_data())"},
    {" .rds .rdata ", "convert it first, in R: write.csv(readRDS('IN'), 'out.csv')"},
    {" .jld .jld2 ", "convert it first, in Julia: npzwrite(\"out.npy\", load(\"IN\", \"Y\"))"},
    {" .wav .flac .ogg .mp3 ", "use `tlnmf separate` for sound"},
    {" .npy .npz .h5 .hdf5 .mat .csv .tsv ", "use `tlnmf fit` for arrays"},
    {" .m4a .m4b .aac .mp4 .mov .3gp .amr .wma .wmv .avi .mka .mkv .webm .ac3 .dts .ape .wv .tta "
     ".mpc .ra ",
     "convert it first: ffmpeg -i IN out.wav"},
};

static void say_advice(const cli_call *call, const char *advice, const char *spec)
{
    const char *in = strstr(advice, " IN ");
    char *text = NULL;
    size_t size = 0;
    FILE *out = in == NULL ? NULL : open_memstream(&text, &size);
    if (out != NULL) {
        fprintf(out, "%.*s", (int)(in + 1 - advice), advice);
        cli_put_word(out, spec);
        fputs(in + 3, out);
        if (fclose(out) == 0)
            advice = text;
    }
    cli_say(call->command, "%s", advice);
    free(text);
}

void cli_advise(const cli_call *call, const char *spec)
{
    bool for_sound = cli_find_option(call->command, "gain") != NULL, both = call->command->both;
    char extension[16];
    cli_extension(spec, extension);
    for (size_t i = 0; access(spec, F_OK) == 0 && i < sizeof formats / sizeof *formats; i++)
        if (cli_has_word(formats[i].extensions, extension) &&
            !(for_sound && cli_has_word(formats[i].extensions, ".wav")) &&
            !((!for_sound || both) && cli_has_word(formats[i].extensions, ".npy")))
            say_advice(call, formats[i].advice, spec);
}
