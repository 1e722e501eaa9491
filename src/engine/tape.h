/* The tape: an engine around another one that writes down what its operations return. A solver that
 * is replayed on the tape runs through the same steps without computing; where the tape ends, the
 * inner engine gets the state that it had there and computes again. So a run can go on from a
 * checkpoint though no solver knows of checkpoints. */
#ifndef TLNMF_ENGINE_TAPE_H
#define TLNMF_ENGINE_TAPE_H

#include "engine/engine.h"

/* Takes over `inner`, and frees it if this fails. */
tlnmf_error tl_tape_create(tlnmf_ctx *ctx, tl_engine *inner, tl_engine **out);

/* A run begins: the tape is empty and writes. tl_tape_off: the run is over, nothing is written. */
void tl_tape_begin(tl_engine *e);
void tl_tape_off(tl_engine *e);
/* Whether operations are replayed: nothing may end the run now, and the point is not there. */
bool tl_tape_replays(const tl_engine *e);
/* Whether the run can be saved: the engine has a state, and there was memory for the tape. */
bool tl_tape_is_whole(const tl_engine *e);

/* The tape and the state at its end; to count or write. */
void tl_tape_save(tl_engine *e, tl_bytes *b);
/* After tl_tape_begin: replays what was saved. `b` is at what tl_tape_save wrote, which must stay
 * there until reached(user) is called: then the inner engine has its state. False, with nothing
 * changed, if the bytes make no sense. */
bool tl_tape_replay(tl_engine *e, tl_bytes *b, void (*reached)(void *user), void *user);

#endif
