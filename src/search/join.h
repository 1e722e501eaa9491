/* The states that machines have saved of one search, as one state: tlnmf_join_states. */
#ifndef TLNMF_SEARCH_JOIN_H
#define TLNMF_SEARCH_JOIN_H

#include "base/sums.h"

/* By all machines that share frames or starts: an error on those that go on from another state than
 * the first one. They would compute what it does not expect. */
tlnmf_error tl_join_agree(tlnmf_ctx *ctx, tl_sums *frames, tl_sums *starts,
                          const tlnmf_record *state_or_null);

#endif
