/* An engine with a watch: where the time of a fit goes, operation by operation. */
#ifndef TLNMF_BENCH_WATCH_H
#define TLNMF_BENCH_WATCH_H

#include "engine/engine.h"

/* The same engine with a watch, which begins anew; one at a time, for fits of one start. */
const tl_engine_ops *with_watch(const tl_engine_ops *ops);

/* Prints the time in each operation, and what a fit of `seconds` has spent outside the engine. */
void print_spent(double seconds);

#endif
