/* Separations that bench/gpu.c times. */
#ifndef TLNMF_BENCH_SOUND_H
#define TLNMF_BENCH_SOUND_H

#include <stdint.h>

/* Learns a recording of so many seconds and takes it apart, with the option device; prints a row.
 */
void time_separation(const char *device, int64_t seconds);

#endif
