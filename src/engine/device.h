/* Engines that come as libraries of their own, loaded when they are asked for: the GPU's. */
#ifndef TLNMF_ENGINE_DEVICE_H
#define TLNMF_ENGINE_DEVICE_H

#include "engine/engine.h"
#include "engine/updates.h"

enum { TL_DEVICE_TEXT = 256 };

typedef struct tl_device {
    char name[TL_DEVICE_TEXT];
    double memory, free; /* bytes */
} tl_device;

/* What such a library offers. */
typedef struct tl_device_library {
    const char
        *version; /* tlnmf_version() of its sources: structs are shared, so it must be ours */
    const tl_engine_ops *engine, *mixed; /* by precision */
    /* The same for data beyond the device's memory: columns run through it in panels. */
    const tl_engine_ops *panels, *panels_mixed;
    /* The device that engines will use. False, with the reason, if there is none. */
    bool (*find)(tl_device *device, char why[TL_DEVICE_TEXT]);
    /* Bytes on the device of one engine, or of one mixed engine; of one with panels, if spec->panel
     * says how large they are. */
    double (*bytes)(const tl_engine_spec *spec, bool mixed);
    /* The share of the free memory that an engine may take: cuBLAS needs some. */
    double most_of_it;
    /* Frames of the largest panels for which `free` bytes are enough; 0: none. */
    int64_t (*fitting_panel)(const tl_engine_spec *spec, bool mixed, double free);
    /* Floating-point operations of the products that an engine has asked for so far. */
    double (*flops)(const tl_engine *e);
    const tl_updater_ops *updates;
} tl_device_library;

/* The one name that the library exports, and its type. */
#define TL_DEVICE_ENTRY "tlnmf_device_library"
typedef const tl_device_library *(*tl_device_entry)(void);

/* Decides what settings with device gpu or auto run on: opt->device becomes TL_DEVICE_CPU or
 * TL_DEVICE_GPU. Where memory is too little, gpu becomes TL_DEVICE_PANELS with a warning, and is
 * refused where not even panels fit; auto falls back to the cpu with a message, and without one
 * where the GPU would be slower. */
tlnmf_error tl_device_choose(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_settings *opt);

/* Decides in the same way where updates run: `largest` has the sizes of the largest run, and with
 * `frames` frames in all (0: its own) a product tells whether it is worth it. *out is NULL for the
 * cpu; else the caller closes it. */
tlnmf_error tl_device_updater(tlnmf_ctx *ctx, int32_t device, const tl_updates *largest,
                              int64_t frames, tl_updater **out);
/* Takes NULL. */
void tl_device_updater_close(tl_updater *updater);

/* Loads the library of the GPU's engine. NULL, with the reason, if there is none. It stays loaded
 * until the process ends. */
const tl_device_library *tl_device_load(char why[TL_DEVICE_TEXT]);

#endif
