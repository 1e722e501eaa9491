/* Files that are not read, and the command that converts them. */
#include "cli/arrays/arrays.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* In commands: the file's name, %s for a shell and %n plain; %m: the array in it. */
#define LOAD  "python3 -c \"import sys, numpy; Y = numpy.load(sys.argv[1])"
#define SAVE  "numpy.save('out.npy', "
#define SPLIT "Z = Y.reshape(-1, *Y.shape[-2:]); " SAVE "numpy.concatenate([Z.real, Z.imag]))\" %s"

/* Endings, and what to do. */
static const struct {
    const char *ends[5], *advice;
} kinds[] = {
    {{".xlsx", ".xls", ".ods", NULL}, "save the sheet as .csv"},
    {{".parquet", NULL},
     "python3 -c \"import sys, pandas; pandas.read_parquet(sys.argv[1]).to_csv('out.csv')\" %s"},
    {{".feather", NULL},
     "python3 -c \"import sys, pandas; pandas.read_feather(sys.argv[1]).to_csv('out.csv')\" %s"},
    {{".pkl", ".pickle", NULL},
     "if you trust the file: python3 -c \"import sys, numpy; " SAVE
     "numpy.load(sys.argv[1], allow_pickle=True))\" %s"},
    {{".edf", ".bdf", ".fif", ".vhdr", NULL},
     "python3 -c \"import sys, mne, numpy; " SAVE "mne.io.read_raw(sys.argv[1]).get_data())\" %s"},
    {{".set", NULL},
     "python3 -c \"import sys, mne, numpy; " SAVE
     "mne.read_epochs_eeglab(sys.argv[1]).get_data())\" %s"},
    {{".rds", ".rdata", NULL}, "in R: write.csv(readRDS('%n'), 'out.csv')"},
    {{".jld", ".jld2", NULL},
     "in Julia: using NPZ, JLD2; npzwrite(\"out.npy\", load(\"%n\", \"Y\"))"},
    {{".wav", ".flac", ".ogg", ".mp3", NULL}, "sound is for `tlnmf separate`"},
};

/* What the file itself turned out to be: words of the message, part of the name, what to do. */
static const struct {
    const char *word, *part, *advice;
} contents[] = {
    {"UTF-16", "", "iconv -f UTF-16 -t UTF-8 %s > out.csv"},
    {"complex", ".npz", LOAD "['%m']; " SPLIT},
    {"complex", ".npy", LOAD "; " SPLIT},
    {"complex", ".mat",
     "in MATLAB: load('%n'); Z = %m; if ndims(Z) == 2, Z = reshape(Z, [1 size(Z)]); end; "
     "Y = cat(1, real(Z), imag(Z)); save out.mat Y"},
    {"complex", "",
     "python3 -c \"import sys, h5py, numpy; Y = h5py.File(sys.argv[1])['%m'][()]; " SPLIT},
};

static const char *find(const char *name, const char *message)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (strstr(message, contents[i].word) != NULL && strstr(name, contents[i].part) != NULL)
            return contents[i].advice;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int e = 0; kinds[i].ends[e] != NULL; e++) {
            size_t n = strlen(kinds[i].ends[e]);
            if (length > n && strcasecmp(name + length - n, kinds[i].ends[e]) == 0)
                return kinds[i].advice;
        }
    return NULL;
}

/* As one word of a shell. */
static void put_quoted(FILE *out, const char *name)
{
    fputc('\'', out);
    for (const char *quote; (quote = strchr(name, '\'')) != NULL; name = quote + 1) {
        char part[PATH_SIZE];
        snprintf(part, sizeof part, "%.*s", (int)(quote - name), name);
        cli_put(out, part);
        fputs("'\\''", out);
    }
    cli_put(out, name);
    fputc('\'', out);
}

static void put_advice(FILE *out, const char *advice, const char *name, const char *member)
{
    for (const char *at = advice; *at != '\0'; at++) {
        if (*at != '%') {
            fputc(*at, out);
            continue;
        }
        at++;
        if (*at == 's')
            put_quoted(out, name);
        else
            cli_put(out, *at == 'n' ? name : member);
    }
}

void cli_advise(const cli_call *call, const char *spec, const char *message)
{
    char name[PATH_SIZE];
    const char *member = "Y", *colon = strrchr(spec, ':');
    bool piped = strcmp(spec, "-") == 0;
    snprintf(name, sizeof name, "%s", piped ? "IN" : spec);
    if (!piped && access(name, F_OK) != 0 && colon != NULL &&
        (size_t)(colon - spec) < sizeof name) {
        name[colon - spec] = '\0';
        member = colon + 1;
    }
    const char *advice = piped || access(name, F_OK) == 0 ? find(name, message) : NULL;
    if (advice == NULL)
        return;
    fprintf(stderr, "tlnmf %s: convert it first: ", call->command->name);
    put_advice(stderr, advice, name, member);
    fputc('\n', stderr);
}
