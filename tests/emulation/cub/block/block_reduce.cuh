/* Sums over the threads of a block. As with CUB, thread 0 alone has the result. */
#ifndef TLNMF_TESTS_BLOCK_REDUCE_CUH
#define TLNMF_TESTS_BLOCK_REDUCE_CUH

#include "threads.hpp"

namespace cub
{
template <class T, int COUNT> struct BlockReduce {
    struct TempStorage {
        T x[COUNT];
    };
    TempStorage &scratch;
    explicit BlockReduce(TempStorage &s) : scratch(s)
    {
    }
    template <class Op> T Reduce(T x, Op op)
    {
        scratch.x[threadIdx.x] = x;
        __syncthreads();
        if (threadIdx.x != 0)
            return (T)NAN;
        T all = scratch.x[0];
        for (int i = 1; i < COUNT; i++)
            all = op(all, scratch.x[i]);
        return all;
    }
    T Sum(T x)
    {
        return Reduce(x, [](T a, T b) { return a + b; });
    }
};
} // namespace cub

#endif
