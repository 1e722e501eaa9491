/* Candidates of a separation that are finished, kept in checkpoints. A run that goes on from one
 * takes them in place of learning them again, and ends in the same bits. All functions but create
 * take NULL: then nothing is kept. Threads may put at the same time. */
#ifndef TLNMF_SEPARATE_KEEP_H
#define TLNMF_SEPARATE_KEEP_H

#include "separate/sound.h"
#include "separate/study.h"

/* NULL if the context neither saves nor resumes. An error if the state to go on from is of another
 * sound, other labels, options or another version; the message names the field. */
tlnmf_error tl_keep_create(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *settings,
                           tl_keep **out);
void tl_keep_free(tl_keep *k);

/* What is kept of a candidate. */
typedef struct tl_kept {
    tl_separator *model; /* NULL: a later one was better, and this is no longer needed */
    double score, C;
} tl_kept;

/* *found: candidate `number` was finished before; its model belongs to the caller. */
tlnmf_error tl_keep_take(tl_keep *k, int64_t number, tl_kept *out, bool *found);
/* The candidate is finished. Saves what there is if it is time to. What cannot be kept is said in
 * the log. */
void tl_keep_put(tl_keep *k, int64_t number, const tl_separator *model, double score);
/* The model of a candidate is no longer needed. */
void tl_keep_drop(tl_keep *k, int64_t number);

/* The notes that the first candidate with a dictionary decides on. */
tlnmf_error tl_keep_take_notes(tl_keep *k, tl_notes *notes, bool *found);
void tl_keep_put_notes(tl_keep *k, const tl_notes *notes);

/* The run was cancelled: saves what is finished. */
void tl_keep_save(tl_keep *k);

#endif
