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

const char *cli_conversion(const char *spec)
{
    size_t length = strlen(spec);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int e = 0; kinds[i].ends[e] != NULL; e++) {
            size_t n = strlen(kinds[i].ends[e]);
            if (length > n && strcasecmp(spec + length - n, kinds[i].ends[e]) == 0)
                return kinds[i].advice;
        }
    return NULL;
}
