/* What `separate` and `apply` share: the sound, who sounds when, the stems and what goes with
 * them. */
#ifndef TLNMF_CLI_STEMS_H
#define TLNMF_CLI_STEMS_H

#include "cli/cli.h"

/* ---- sound, labels, names (sound.c) -----------------------------------------------------------
 */

typedef struct cli_sound {
    const char *path;
    io_audio_reader *reader;
    io_audio_info info;
    tlnmf_sound sound; /* reads from the file */
    io_error err;      /* why reading or writing failed */
} cli_sound;

int cli_sound_open(const cli_command *command, const char *path, cli_sound *sound);
void cli_sound_close(cli_sound *sound);

/* The sources' names, and when they sound; blind separation has no spans. */
typedef struct cli_cast {
    int64_t sources;
    char **name; /* as in the label track, or "source_1", .. */
    tlnmf_span *span;
    int64_t span_count;
} cli_cast;

/* `sources` = 0: as many as the labels name. */
int cli_cast_blind(const cli_command *command, int64_t sources, cli_cast *cast);
int cli_cast_read(const cli_command *command, const char *labels, const cli_sound *sound,
                  int64_t sources, char *const *names, cli_cast *cast);
void cli_cast_free(cli_cast *cast);

/* ---- the outputs (stems.c) --------------------------------------------------------------------
 */

/* How stems are to be written. */
typedef struct cli_stems {
    const char *directory, *format, *gain, *activations, *keep;
    bool components, residual, force;
    bool created;    /* the directory was made here: it goes if nothing came of it */
    int64_t release; /* samples */
    double eps;      /* 0: that of the model */
} cli_stems;

/* The options that both commands have, as given: rows of their tables, and what they come to. */
typedef struct cli_stem_words {
    const char *release, *keep, *components, *activations, *gain, *format, *force;
} cli_stem_words;

#define CLI_STEM_OPTIONS(words)                                                                    \
    {"o", "DIR", "where the stems go: it is made if need be", &cli_common_values.output},          \
        {"release", "SECONDS", "how long a source may sound on after its label [0.2]",             \
         &(words).release},                                                                        \
        {"keep", "WHAT", "residual: what no source explains is a stem of its own", &(words).keep}, \
        {"components", NULL, "a stem for each component of a source", &(words).components},        \
        {"activations", "KIND", "labels or midi: write when the sources sound",                    \
         &(words).activations},                                                                    \
        {"gain", "KIND", "none, or safe: scale all stems alike so that none is clipped [none]",    \
         &(words).gain},                                                                           \
        {"format", "NAME", "of the stems: wav, flac or w64 [wav]", &(words).format},               \
    {                                                                                              \
        "force", NULL, "write into a directory that is not empty", &(words).force                  \
    }

/* From the words; `release` in samples at this rate. False after a message. */
bool cli_stems_read(const cli_command *command, const cli_stem_words *words, int rate,
                    cli_stems *stems);

/* -o DIR is given, there or can be made, and empty unless --force; the other words are known, and
 * the format can hold stems like the sound. */
int cli_stems_check(const cli_command *command, cli_stems *stems, const cli_sound *sound);
/* Takes an empty directory away again that was made for nothing. */
void cli_stems_end(const cli_stems *stems, int code);
/* Runs the separator over the sound, writes stems, activations, the model and summary.json, and
 * prints the summary. `about` has what the command knows already; it is released. */
int cli_stems_make(cli_call *call, const tlnmf_separator *separator, cli_sound *sound,
                   const cli_cast *cast, const cli_stems *stems, json_t *about);

/* ---- activations (activations.c) --------------------------------------------------------------
 */

/* H (K x N) as a label track or a MIDI file in the directory. */
bool cli_activations_write(const tlnmf_separator *separator, const cli_cast *cast,
                           const cli_stems *stems, const double *H, int64_t N, int rate,
                           int64_t length, char *path, size_t path_size, io_error *err);

#endif
