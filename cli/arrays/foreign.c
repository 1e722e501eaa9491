/* Files that are not read, and the command that converts them. */
#include "cli/arrays/arrays.h"

#include <string.h>
#include <strings.h>

/* Endings, and what to do. */
static const struct {
    const char *ends[5], *advice;
} kinds[] = {
    {{".xlsx", ".xls", ".ods", NULL}, "save the sheet as .csv"},
    {{".parquet", ".feather", NULL},
     "python3 -c \"import pandas; pandas.read_parquet('IN').to_csv('out.csv')\" (or read_feather)"},
    {{".pkl", ".pickle", NULL},
     "python3 -c \"import numpy; numpy.save('out.npy', numpy.load('IN', allow_pickle=True))\", if "
     "you "
     "trust the file"},
    {{".edf", ".bdf", ".fif", ".vhdr", NULL},
     "python3 -c \"import mne, numpy; numpy.save('out.npy', mne.io.read_raw('IN').get_data())\""},
    {{".set", NULL},
     "python3 -c \"import mne, numpy; numpy.save('out.npy', "
     "mne.read_epochs_eeglab('IN').get_data())\""},
    {{".rds", ".rdata", NULL}, "in R: write.csv(readRDS('IN'), 'out.csv')"},
    {{".jld", ".jld2", NULL},
     "in Julia: using NPZ, JLD2; npzwrite(\"out.npy\", load(\"IN\", \"Y\"))"},
    {{".wav", ".flac", ".ogg", ".mp3", NULL}, "sound is for `tlnmf separate`"},
};

/* What the file itself turned out to be: words of the message, part of the name, what to do. */
static const struct {
    const char *word, *part, *advice;
} contents[] = {
    {"UTF-16", "", "iconv -f UTF-16 -t UTF-8 IN > out.csv"},
    {"complex", ".npz",
     "python3 -c \"import numpy; Y = numpy.load('IN')['Y']; numpy.save('out.npy', "
     "numpy.stack([Y.real, Y.imag]))\", two realisations"},
    {"complex", ".npy",
     "python3 -c \"import numpy; Y = numpy.load('IN'); numpy.save('out.npy', numpy.stack([Y.real, "
     "Y.imag]))\", two realisations"},
    {"complex", ".mat",
     "in MATLAB: load IN; Y = permute(cat(3, real(Y), imag(Y)), [3 1 2]); save out.mat Y, two "
     "realisations"},
    {"complex", "",
     "python3 -c \"import h5py, numpy; Y = h5py.File('IN')['Y'][()]; numpy.save('out.npy', "
     "numpy.stack([Y.real, Y.imag]))\", two realisations"},
};

const char *cli_conversion(const char *spec, const char *message)
{
    size_t length = strlen(spec);
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (strstr(message, contents[i].word) != NULL && strstr(spec, contents[i].part) != NULL)
            return contents[i].advice;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int e = 0; kinds[i].ends[e] != NULL; e++) {
            size_t n = strlen(kinds[i].ends[e]);
            if (length > n && strcasecmp(spec + length - n, kinds[i].ends[e]) == 0)
                return kinds[i].advice;
        }
    return NULL;
}
