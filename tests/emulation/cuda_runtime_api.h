/* CUDA's runtime on the host, as far as src/cuda uses it: memory is the host's, and begins as NaN;
 * a stream does everything at once, but for copies of columns, which come as late as they may.
 * EMULATED_MEMORY: how many bytes the device has. EMULATED_UNPINNED: memory of the host cannot be
 * registered. */
#ifndef TLNMF_TESTS_CUDA_RUNTIME_API_H
#define TLNMF_TESTS_CUDA_RUNTIME_API_H

#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
typedef void *cudaStream_t;
enum {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNoDevice = 100,
    cudaStreamNonBlocking = 1,
    cudaEventDisableTiming = 2,
    cudaHostRegisterDefault = 0,
    cudaHostAllocMapped = 2,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    CUDART_VERSION = 13000,
    EMULATED_MAJOR = 8, /* no clusters */
    EMULATED_SHARED = 100000
};

struct cudaDeviceProp {
    char name[64];
    int major, minor;
};

/* Large blocks, which an engine clears, begin as zeros, so that scratch that is not used costs
 * nothing. */
static inline int emulated_is_large(size_t size)
{
    return size > (size_t)1 << 24;
}

static inline cudaError_t cudaMalloc(void **p, size_t size)
{
    *p = calloc(1, size);
    if (*p == NULL)
        return cudaErrorMemoryAllocation;
    if (!emulated_is_large(size))
        memset(*p, 0xff, size);
    return cudaSuccess;
}

static inline cudaError_t cudaFree(void *p)
{
    free(p);
    return cudaSuccess;
}

static inline cudaError_t cudaHostAlloc(void **p, size_t size, int flags)
{
    return flags == cudaHostAllocMapped ? cudaMalloc(p, size) : 1;
}

static inline cudaError_t cudaHostGetDevicePointer(void **there, void *here, int flags)
{
    *there = here;
    return flags;
}

static inline cudaError_t cudaFreeHost(void *p)
{
    return cudaFree(p);
}

static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t size, cudaStream_t stream)
{
    (void)stream;
    memset(p, value, size);
    return cudaSuccess;
}

/* Of a block that was just made. */
static inline cudaError_t cudaMemset(void *p, int value, size_t size)
{
    return emulated_is_large(size) && value == 0 ? cudaSuccess
                                                 : cudaMemsetAsync(p, value, size, NULL);
}

static inline cudaError_t cudaMemGetInfo(size_t *left, size_t *all)
{
    const char *bytes = getenv("EMULATED_MEMORY");
    *left = *all = bytes != NULL ? strtoull(bytes, NULL, 10) : (size_t)64 << 30;
    return cudaSuccess;
}

static inline cudaError_t cudaHostRegister(void *p, size_t size, unsigned flags)
{
    return p != NULL && size > 0 && getenv("EMULATED_UNPINNED") == NULL ? (int)flags
                                                                        : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaHostUnregister(void *p)
{
    return p != NULL && getenv("EMULATED_UNPINNED") == NULL ? cudaSuccess : 1;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    (void)kind;
    memcpy(to, from, size);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int kind,
                                          cudaStream_t stream)
{
    (void)kind;
    (void)stream;
    memcpy(to, from, size);
    return cudaSuccess;
}

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, int flags)
{
    *stream = stream;
    return flags == cudaStreamNonBlocking ? cudaSuccess : 1;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

/* ---- copies that are late -------------------------------------------------------------------- */

typedef struct emulated_event {
    long copies; /* that were asked for before, on the stream that it was recorded on */
} * cudaEvent_t;

/* Copies on one stream; what they will overwrite is NaN from the beginning. One file alone has
 * them. */
enum { EMULATED_COPIES = 8 };
struct emulated_copy {
    char *to;
    const char *from;
    size_t to_apart, from_apart, width, height;
};
static __thread struct {
    struct emulated_copy copy[EMULATED_COPIES];
    long asked, done;
    cudaStream_t stream;
} emulated_queue __attribute__((unused));

/* The parameters are CUDA's: more than seven. */
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_apart, const void *from,
                                            size_t from_apart, size_t width, size_t height,
                                            int kind, cudaStream_t stream)
{
    struct emulated_copy copy = {(char *)to, (const char *)from, to_apart, from_apart, width,
                                 height};
    if (emulated_queue.asked - emulated_queue.done == EMULATED_COPIES)
        return 1;
    for (size_t i = 0; i < height; i++)
        memset((char *)to + i * to_apart, 0xff, width);
    emulated_queue.copy[emulated_queue.asked++ % EMULATED_COPIES] = copy;
    emulated_queue.stream = stream;
    return kind == cudaMemcpyHostToDevice ? cudaSuccess : 1;
}

static inline void emulated_run(long until)
{
    for (; emulated_queue.done < until; emulated_queue.done++) {
        const struct emulated_copy *c = &emulated_queue.copy[emulated_queue.done % EMULATED_COPIES];
        for (size_t i = 0; i < c->height; i++)
            memcpy(c->to + i * c->to_apart, c->from + i * c->from_apart, c->width);
    }
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = (cudaEvent_t)calloc(1, sizeof **event);
    return *event == NULL                    ? cudaErrorMemoryAllocation
           : flags == cudaEventDisableTiming ? cudaSuccess
                                             : 1;
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->copies = stream == emulated_queue.stream ? emulated_queue.asked : 0;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                              unsigned flags)
{
    (void)stream;
    emulated_run(event->copies);
    return (int)flags;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream == emulated_queue.stream && stream != NULL)
        emulated_run(emulated_queue.asked);
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceSynchronize(void)
{
    return cudaStreamSynchronize(emulated_queue.stream);
}

static inline cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

static inline const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error";
}

static inline cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == cudaDevAttrMultiProcessorCount            ? 2
             : attribute == cudaDevAttrComputeCapabilityMajor       ? EMULATED_MAJOR
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? EMULATED_SHARED
                                                                    : 0;
    return *value > 0 ? cudaSuccess : device + 1;
}

static inline cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "an emulated GPU");
    properties->major = EMULATED_MAJOR;
    return device;
}

#endif
