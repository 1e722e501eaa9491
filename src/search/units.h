/* Finished units of a call, and the checkpoint that holds them (docs/internals/checkpoints.md).
 *
 * A unit is a start, a fold or a candidate. A checkpoint is a record: sections, each with an
 * identity (one hash) and the results of its finished units. A resumed call skips these and runs
 * the others again, so its result has the same bits. The union of several checkpoints is a
 * checkpoint. */
#ifndef TLNMF_SEARCH_UNITS_H
#define TLNMF_SEARCH_UNITS_H

#include "base/base.h"

#include <pthread.h>

struct tlnmf_settings;

/* The checkpoint of a call and of the calls inside it. While other threads run, the record is
 * changed under the lock. */
typedef struct tl_units {
    tlnmf_ctx ctx; /* a copy: threads that add units have their own messages */
    tlnmf_record *record;
    pthread_mutex_t lock;
    bool changed;         /* since the record was saved */
    double next;          /* when to save it again */
    char section[16];     /* the first one, whose time is counted */
    double before, since; /* seconds of the runs before this one; when this one began */
} tl_units;

/* Whether a context saves or resumes: that of this process or of one that shares its frames. */
bool tl_units_wanted(const tlnmf_ctx *ctx, tlnmf_comm *frames_comm);
/* Reads the state to resume, which must be the same on all processes that distribute frames or
 * starts. *out is NULL if tl_units_wanted() is false. */
tlnmf_error tl_units_create(tlnmf_ctx *ctx, tlnmf_comm *frames_comm, tlnmf_comm *starts_comm,
                            tl_units **out);
void tl_units_free(tl_units *u);

/* Begins a section, whose values are named "SECTION.name". Its identity is one text: the version,
 * `words` ("name=value name=value"), the options that decide the result of a unit, and the hash of
 * the data and the start. TLNMF_ERR_DATA if the state to resume has another one. */
tlnmf_error tl_units_begin(tlnmf_ctx *ctx, tl_units *u, const char *section,
                           const struct tlnmf_settings *opt, const char *words, uint64_t hash);
/* Removes the values whose names begin with "PREFIX." */
void tl_units_drop(tl_units *u, const char *prefix);

/* Saves if anything has changed and it is time to, or `now`. Takes the lock. NULL: does nothing. */
void tl_units_save(tl_units *u, bool now);

/* The numbers of a start: a row of the table "SECTION.STAGE.units", and the beginning of its array
 * "SECTION.STAGE.start.P". Of two that have the same name, the union keeps the lower score. */
typedef struct tl_unit {
    double done;  /* 0: it has not begun; TL_UNIT_FINISHED; TL_UNIT_RUNNING */
    double input; /* tl_hash_number() of its input */
    double score, J;
    double bound; /* 1: a larger J could change it */
    double C, L, I, outcome, iterations;
    double trace;     /* rows of the trace */
    double continued; /* 1: from a saved iterate, in this run or an earlier one */
} tl_unit;
enum { TL_UNIT_FINISHED = 1, TL_UNIT_RUNNING = 2, TL_UNIT_NUMBERS = sizeof(tl_unit) / 8 };

/* The rows of units under a name: an array of two dimensions, with at least one row that begins
 * with a unit. NULL if there is none. A checksum only finds accidents, so every shape is checked.
 */
const double *tl_units_rows(const tlnmf_record *record, const char *name, int64_t *rows,
                            int64_t *columns);

/* The hash of Fowler, Noll and Vo, one word at a time, with a shift that brings high bits down. */
#define TL_HASH_SEED 0xcbf29ce484222325u
uint64_t tl_hash(uint64_t h, const void *x, int64_t words);
double tl_hash_number(uint64_t h); /* 53 bits of it, as a double */

#endif
