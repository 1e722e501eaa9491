/* How long a thread may wait in a loop before it sleeps. */
#ifndef TLNMF_BASE_PATIENCE_H
#define TLNMF_BASE_PATIENCE_H

#include <stdbool.h>

/* What a thread knows about its core; zeros at first. */
typedef struct tl_patience {
    int looks;
    bool crowded, checked;
    double since;       /* when the wait began */
    double tired_until; /* until then it does not wait in loops: somebody else wants the core */
    long interruptions; /* of this thread by others, when last seen */
} tl_patience;

/* A wait begins; `crowded`: there are more threads than cores. */
void tl_patience_begin(tl_patience *patience, bool crowded);
/* False when it is time to sleep. Pauses the core for a moment. */
bool tl_patience_lasts(tl_patience *patience);

#endif
