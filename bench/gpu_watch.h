/* An engine that measures the time of each of its operations. */
#ifndef TLNMF_BENCH_GPU_WATCH_H
#define TLNMF_BENCH_GPU_WATCH_H

#include "engine/engine.h"

/* Wraps an engine and sets all times to 0. Only one engine can be wrapped, for fits of one start.
 * flops_of() counts operations of products. */
const tl_engine_ops *with_watch(const tl_engine_ops *ops, double (*flops_of)(const tl_engine *e));

/* Prints the time of each operation, the time of a fit of `seconds` outside the engine, the shares
 * of host, copies and computing, and the rate of products while computing. */
void print_spent(double seconds);

#endif
