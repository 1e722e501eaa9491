/* The GPU engine, a separate library that is loaded on demand. */
#ifndef TLNMF_ENGINE_DEVICE_H
#define TLNMF_ENGINE_DEVICE_H

#include "engine/engine.h"
#include "engine/updates.h"

enum { TL_DEVICE_TEXT = 256 };

typedef struct tl_device {
    char name[TL_DEVICE_TEXT];
    int number;          /* of the GPU, from 0 */
    double memory, free; /* bytes */
} tl_device;

/* The message if memory is too small, in GB: needed, free, total. */
#define TL_DEVICE_HAS " needs %.3g GB, and the GPU has %.3g GB free of %.3g GB"
#define TL_DEVICE_NEEDS                                                   \
    "a start" TL_DEVICE_HAS "; distribute the frames over several GPUs: " \
    "tlnmf-mpi --split frames --device gpu"

/* The contents of the library. */
typedef struct tl_device_library {
    const char
        *version; /* tlnmf_version() of its sources: structs are shared, so it must be ours */
    const tl_engine_ops *engine, *mixed; /* by precision */
    /* The device that engines of a context with this tlnmf_ctx.gpu use. False, with the reason, if
     * there is none. */
    bool (*find)(int32_t gpu, tl_device *device, char why[TL_DEVICE_TEXT]);
    /* Bytes on the device of one engine, or of one mixed engine. */
    double (*bytes)(const tl_engine_spec *spec, bool mixed);
    /* The share of the free memory that an engine may take: cuBLAS needs some. */
    double most_of_it;
    /* Floating-point operations of the products that an engine has asked for so far. */
    double (*flops)(const tl_engine *e);
    const tl_updater_ops *updates;
} tl_device_library;

/* The one name that the library exports, and its type. */
#define TL_DEVICE_ENTRY "tlnmf_device_library"
typedef const tl_device_library *(*tl_device_entry)(void);

/* Decides where settings with device gpu or auto run: opt->device becomes TL_DEVICE_CPU or
 * TL_DEVICE_GPU. If there is no GPU or its memory is too small, gpu is an error, and auto falls
 * back to the cpu with a message. If the GPU would be slower, auto uses the cpu without a
 * message. */
tlnmf_error tl_device_choose(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_settings *opt);

/* How many of `workers` engines of these settings the GPU has memory for, at least 1. All, on the
 * cpu. */
int tl_device_workers(const tlnmf_ctx *ctx, const tl_engine_spec *spec, const tl_settings *opt,
                      int workers);

/* Decides in the same way where updates run: `largest` has the sizes of the largest run. The
 * size of a product with `frames` frames in all (0: those of `largest`) decides whether the GPU
 * is worth using. *out is NULL for the cpu; else the caller closes it. */
tlnmf_error tl_device_updater(tlnmf_ctx *ctx, int32_t device, const tl_updates *largest,
                              int64_t frames, tl_updater **out);
/* Takes NULL. */
void tl_device_updater_close(tl_updater *updater);

/* Loads the library of the GPU's engine. NULL, with the reason, if there is none. It stays loaded
 * until the process ends. */
const tl_device_library *tl_device_load(char why[TL_DEVICE_TEXT]);

#endif
