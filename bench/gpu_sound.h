/* Separations that bench/gpu.c times. */
#ifndef TLNMF_BENCH_GPU_SOUND_H
#define TLNMF_BENCH_GPU_SOUND_H

#include <stdint.h>

/* Learns and separates a recording of some seconds on a device, and prints a row. */
void time_separation(const char *device, int64_t seconds);

#endif
