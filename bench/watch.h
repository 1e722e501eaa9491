/* An engine with a watch: where the time of a fit goes, operation by operation. */
#ifndef TLNMF_BENCH_WATCH_H
#define TLNMF_BENCH_WATCH_H

#include "engine/engine.h"

/* The same engine with a watch, which begins anew; one at a time, for fits of one start. flops_of()
 * counts operations of products. */
const tl_engine_ops *with_watch(const tl_engine_ops *ops, double (*flops_of)(const tl_engine *e));

/* Prints the time in each operation, what a fit of `seconds` has spent outside the engine, how much
 * of all was the host's, copies and computing, and the rate of products over the latter. */
void print_spent(double seconds);

#endif
