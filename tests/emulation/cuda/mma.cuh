/* In the place of the tensor cores: see src/cuda/mma.cuh. */
#ifndef TLNMF_TESTS_MMA_CUH
#define TLNMF_TESTS_MMA_CUH

#include "threads.hpp"

inline void multiply_tiles(double (&c)[2], double a, double b)
{
    const unsigned lane = threadIdx.x % 32, first = threadIdx.x - lane;
    double(&A)[1024] = emulator.slot, (&B)[1024] = emulator.other;
    A[threadIdx.x] = a;
    B[threadIdx.x] = b;
    emulator.wait(AT_WARP);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < 4; k++)
            c[i] += A[first + lane / 4 * 4 + k] * B[first + (2 * (lane % 4) + i) * 4 + k];
    emulator.wait(AT_WARP);
}

#endif
