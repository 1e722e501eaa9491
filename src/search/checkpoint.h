/* Checkpoints of a search: finished batches and starts, and the state inside the starts that run.
 *
 * A search that goes on from a checkpoint runs through the same calls: batches that were finished
 * get their results from it, finished starts are skipped, and a start that was running is replayed
 * on its tape (engine/tape.h). Every start saves itself where its solver may be interrupted, so
 * that no thread waits for another; a start of which nothing is saved begins again. All of these
 * end in the same bits. Machines that share out starts save each its own state, whenever it likes;
 * join.h makes one of them. */
#ifndef TLNMF_SEARCH_CHECKPOINT_H
#define TLNMF_SEARCH_CHECKPOINT_H

#include "search/pool.h"

/* Wraps the engines of the pool's workers in tapes, and checks the state to go on from against the
 * task: an error names the first field that differs. Sets pool->checkpoint, which the pool frees;
 * leaves it NULL if the task neither saves nor resumes. */
tlnmf_error tl_checkpoint_create(tl_pool *pool, const tl_search_task *task);
void tl_checkpoint_free(tl_checkpoint *c);

/* All of these take NULL: then nothing is saved. */

/* A batch begins; all searches begin the same batches in the same order. *finished: it was finished
 * before, and its outputs are there. */
tlnmf_error tl_checkpoint_begin(tl_checkpoint *c, const tl_batch *batch, bool *finished);
/* The starts of this machine are over; those of others may still run. */
void tl_checkpoint_wait(tl_checkpoint *c);
/* The batch is over, on all machines. If it was cancelled, this is the last that is saved. Of the
 * last batch nothing is kept: no checkpoint follows. */
tlnmf_error tl_checkpoint_end(tl_checkpoint *c, bool is_last);

/* Whether start number p of the batch was finished before. */
bool tl_checkpoint_has(const tl_checkpoint *c, int64_t p);
/* A worker begins start number p, with this run; and ends it. */
tlnmf_error tl_checkpoint_start(tl_checkpoint *c, int worker, int64_t p, tl_run *run);
void tl_checkpoint_leave(tl_checkpoint *c, int worker);
/* Under the monitor's lock: before the best result changes; after start number p has changed it. */
void tl_checkpoint_before(tl_checkpoint *c);
void tl_checkpoint_after(tl_checkpoint *c, int64_t p);

/* Seconds that the search had run before it was resumed. */
double tl_checkpoint_wall(const tl_checkpoint *c);
double tl_checkpoint_cpu(const tl_checkpoint *c);

#endif
