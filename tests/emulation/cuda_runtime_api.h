/* The part of CUDA's runtime that cuda/ uses, on the host. Memory is allocated on the host and
 * filled with NaN; streams execute everything immediately. EMULATED_MEMORY: the bytes of the
 * device. */
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
    cudaHostAllocMapped = 2,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4,
    CUDART_VERSION = 13000,
    EMULATED_MAJOR = 8, /* no clusters */
    EMULATED_SHARED = 100000
};

struct cudaDeviceProp {
    char name[64];
    int major, minor;
};

/* Large blocks, which an engine clears, are zeros, so that unused scratch costs no time. */
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

/* The size of a block that was just allocated. */
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

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return stream != NULL ? cudaSuccess : 1;
}

static inline cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

static inline const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error";
}

/* There are two devices. */
enum { EMULATED_DEVICES = 2 };
static inline cudaError_t cudaSetDevice(int device)
{
    return device >= 0 && device < EMULATED_DEVICES ? cudaSuccess : cudaErrorNoDevice;
}

static inline cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == cudaDevAttrMultiProcessorCount            ? 2
             : attribute == cudaDevAttrComputeCapabilityMajor       ? EMULATED_MAJOR
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? EMULATED_SHARED
                                                                    : 0;
    return *value > 0 ? cudaSetDevice(device) : 1;
}

static inline cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceCount(int *count)
{
    *count = EMULATED_DEVICES;
    return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, device == 0 ? "an emulated GPU" : "another emulated GPU");
    properties->major = EMULATED_MAJOR;
    return cudaSetDevice(device);
}

#endif
