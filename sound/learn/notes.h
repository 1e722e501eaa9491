/* Notes that were never heard alone. */
#ifndef TLNMF_SOUND_NOTES_H
#define TLNMF_SOUND_NOTES_H

#include "sound/learn/dictionary.h"
#include "sound/model/separator.h"

enum { TL_SEMITONES = 15, TL_SHIFTS = 2 * TL_SEMITONES + 1 }; /* up and down */

/* From start to end, a source plays a note that is a transposed column of its dictionary. */
typedef struct tl_note {
    int64_t source, shift, start, end;
} tl_note;

typedef struct tl_notes {
    int64_t count;
    tl_note *note;
    double heard, sounding; /* samples of mixed pieces that were heard alone; of all mixed pieces */
    tl_hooks hooks;
    void *memory;
} tl_notes;

/* The dictionary with all transpositions by up to `range` semitones, and H of the mixed frames,
 * which shows which source could play which note. */
tlnmf_error tl_notes_listen(const tl_study *study, const tl_dictionary *d, int64_t range,
                            tl_dictionary *wide);
/* Decides which notes are new, from a dictionary of solos (decide.c). */
tlnmf_error tl_notes_decide(const tl_study *study, const tl_dictionary *d, tl_notes *notes);
void tl_notes_free(tl_notes *notes);
/* The dictionary with transposed columns for these notes, H fitted and a few joint updates done. */
tlnmf_error tl_notes_apply(const tl_study *study, const tl_dictionary *d, const tl_notes *notes,
                           tl_dictionary *out);
/* A separator from a dictionary; notes may be NULL. */
tlnmf_error tl_study_separator(const tl_study *study, const tl_dictionary *d, const tl_notes *notes,
                               tl_separator **out);

#endif
