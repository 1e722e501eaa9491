/* CUDA's runtime on the host, as far as src/cuda/updates.c uses it: memory is the host's, and
 * begins as NaN; a stream does everything at once. */
#ifndef TLNMF_TESTS_CUDA_RUNTIME_API_H
#define TLNMF_TESTS_CUDA_RUNTIME_API_H

#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
typedef void *cudaStream_t;
enum {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaStreamNonBlocking = 1,
    cudaDevAttrMultiProcessorCount = 16,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2
};

static inline cudaError_t cudaMalloc(void **p, size_t size)
{
    *p = malloc(size);
    if (*p == NULL)
        return cudaErrorMemoryAllocation;
    memset(*p, 0xff, size);
    return cudaSuccess;
}

static inline cudaError_t cudaFree(void *p)
{
    free(p);
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

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
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
    *value = 2;
    return attribute == cudaDevAttrMultiProcessorCount && device == 0 ? cudaSuccess : 1;
}

#endif
