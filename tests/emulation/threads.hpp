/* Keywords of CUDA C++ for a host compiler. The threads of a block are coroutines that run in turn, so
 * that barriers, shuffles and shared memory work as on a GPU; blocks run sequentially. Every other
 * launch runs its threads in reverse order, so that results that depend on the order are detected. */
#ifndef TLNMF_TESTS_THREADS_HPP
#define TLNMF_TESTS_THREADS_HPP

#include "cuda_runtime_api.h"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__      static thread_local
#define __syncthreads() emulator.wait(AT_BLOCK)
#define __threadfence()

struct dim3 {
    unsigned x;
    dim3(unsigned count = 1) : x(count)
    {
    }
};
inline thread_local dim3 blockIdx, threadIdx, blockDim, gridDim;

using std::max;
using std::min;

/* ---- threads --------------------------------------------------------------------------------- */

enum State { READY, AT_BLOCK, AT_WARP, DONE };

struct Thread {
    ucontext_t entry;
    jmp_buf at;
    State state;
    bool begun;
    std::unique_ptr<char[]> stack;
};

/* The threads of a block. Each OS thread has its own. */
class Emulator
{
    enum { WARP = 32, STACK = 1 << 17 };
    std::vector<std::unique_ptr<Thread>> threads;
    unsigned count = 0, now = 0;
    jmp_buf scheduler;
    std::function<void()> work;
    bool turned = false;

    static void run_all();
    __attribute__((noinline)) void leave()
    {
        if (_setjmp(threads[now]->at) == 0)
            _longjmp(scheduler, 1);
    }
    __attribute__((noinline)) void enter(unsigned i)
    {
        now = threadIdx.x = i;
        if (_setjmp(scheduler) != 0)
            return;
        if (threads[i]->begun)
            _longjmp(threads[i]->at, 1);
        threads[i]->begun = true;
        setcontext(&threads[i]->entry);
    }
    void add_thread()
    {
        auto t = std::make_unique<Thread>();
        t->begun = false;
        t->stack.reset(new char[STACK]); /* not zeroed */
        getcontext(&t->entry);
        t->entry.uc_stack.ss_sp = t->stack.get();
        t->entry.uc_stack.ss_size = STACK;
        t->entry.uc_link = nullptr;
        makecontext(&t->entry, run_all, 0);
        threads.push_back(std::move(t));
    }
    /* Releases the threads first .. end - 1 that wait at `place`, if all of them wait there or have ended. */
    bool release(unsigned first, unsigned end, State place)
    {
        bool some = false;
        for (unsigned i = first; i < end; i++) {
            State s = threads[i]->state;
            if (s != place && s != DONE)
                return false;
            some = some || s == place;
        }
        for (unsigned i = first; i < end; i++)
            if (threads[i]->state == place)
                threads[i]->state = READY;
        return some;
    }
    bool release_any()
    {
        bool some = false;
        for (unsigned i = 0; i < count; i += WARP)
            some = release(i, min(i + WARP, count), AT_WARP) || some;
        return some || release(0, count, AT_BLOCK);
    }
    void run_block()
    {
        for (unsigned i = 0; i < count; i++)
            threads[i]->state = READY;
        do
            for (unsigned i = 0; i < count; i++) {
                unsigned which = turned ? count - 1 - i : i;
                if (threads[which]->state == READY)
                    enter(which);
            }
        while (release_any());
        for (unsigned i = 0; i < count; i++)
            if (threads[i]->state != DONE) {
                fprintf(stderr, "emulation: thread %u of block %u never passes a barrier\n", i, blockIdx.x);
                abort();
            }
    }

  public:
    std::vector<double> shared;
    double slot[1024]; /* the value that a thread passes to its warp */

    void wait(State place)
    {
        threads[now]->state = place;
        leave();
    }
    void launch(unsigned blocks, unsigned size, size_t bytes, std::function<void()> kernel)
    {
        count = size;
        while (threads.size() < count)
            add_thread();
        work = std::move(kernel);
        gridDim.x = blocks;
        blockDim.x = count;
        turned = !turned;
        for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
            shared.assign(bytes / sizeof(double) + 1, NAN);
            run_block();
        }
    }
};
inline thread_local Emulator emulator;

inline void Emulator::run_all()
{
    for (;;) {
        emulator.work();
        emulator.wait(DONE);
    }
}

/* ---- functions of the device ----------------------------------------------------------------- */

inline double exchange(double x, unsigned from)
{
    emulator.slot[threadIdx.x] = x;
    emulator.wait(AT_WARP);
    double theirs = emulator.slot[from];
    emulator.wait(AT_WARP);
    return theirs;
}

inline double __shfl_xor_sync(unsigned, double x, int bit)
{
    return exchange(x, threadIdx.x ^ (unsigned)bit);
}

inline double __shfl_down_sync(unsigned, double x, int by, int width)
{
    unsigned lane = threadIdx.x % (unsigned)width;
    return exchange(x, lane + by < (unsigned)width ? threadIdx.x + by : threadIdx.x);
}

inline unsigned atomicAdd(unsigned *p, unsigned x)
{
    unsigned before = *p;
    *p += x;
    return before;
}

inline double sinpi(double x)
{
    return sin(3.14159265358979323846 * x);
}

inline double cospi(double x)
{
    return cos(3.14159265358979323846 * x);
}

inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}

/* To the nearest number with 10 bits after the point, ties away from zero. */
inline float nearest_tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + (1u << 12)) & ~((1u << 13) - 1u);
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T> T __ldcg(const T *p)
{
    return *p;
}

/* ---- launches with attributes ---------------------------------------------------------------- */

enum { cudaLaunchAttributeClusterDimension };
struct cudaLaunchAttribute {
    int id;
    struct {
        struct {
            unsigned x, y, z;
        } clusterDim;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

template <class Kernel, class... Rest>
void cudaLaunchKernelEx(const cudaLaunchConfig_t *config, Kernel kernel, Rest... rest)
{
    emulator.launch(config->gridDim.x, config->blockDim.x, config->dynamicSmemBytes,
                    [=] { kernel(rest...); });
}

template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel, int, int)
{
    return cudaSuccess;
}

#endif
