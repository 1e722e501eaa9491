/* Loads the library of the GPU's engine. */
#include "engine/device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

static const char LIBRARY[] = "libtlnmf_cuda.so";

/* Smallest number of operations, for one product of all starts, for which auto uses the GPU.
 * Below it, opening the GPU takes longer than the fit (docs/measurements/gpu.md). */
static const double WORTH_A_GPU = 1e9;

static const tl_device_library *refuse(char why[TL_DEVICE_TEXT], const char *reason)
{
    snprintf(why, TL_DEVICE_TEXT, "%s", reason != NULL ? reason : "it cannot be loaded");
    return NULL;
}

const tl_device_library *tl_device_load(char why[TL_DEVICE_TEXT])
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return refuse(why, dlerror());
    tl_device_entry entry;
    void *symbol = dlsym(handle, TL_DEVICE_ENTRY);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to functions */
    const tl_device_library *library = symbol != NULL ? entry() : NULL;
    dlclose(handle); /* RTLD_NODELETE: the code stays */
    if (library == NULL)
        return refuse(why, "libtlnmf_cuda.so is not the CUDA library of tlnmf");
    if (strcmp(library->version, tlnmf_version()) != 0) {
        snprintf(why, TL_DEVICE_TEXT, "libtlnmf_cuda.so is of version %s, not %s", library->version,
                 tlnmf_version());
        return NULL;
    }
    return library;
}

/* Finds a device with enough memory for one engine. False, with the reason, if there is none. */
static bool find(const tlnmf_ctx *ctx, const tl_engine_spec *spec, bool mixed, tl_device *device,
                 char why[TL_DEVICE_TEXT])
{
    const tl_device_library *library = tl_device_load(why);
    if (library == NULL || !library->find(ctx->gpu, device, why))
        return false;
    double needed = library->bytes(spec, mixed);
    if (needed <= library->most_of_it * device->free)
        return true;
    snprintf(why, TL_DEVICE_TEXT, TL_DEVICE_NEEDS, 1e-9 * needed, 1e-9 * device->free,
             1e-9 * device->memory);
    return false;
}

static bool is_worth_it(const tl_engine_spec *spec, double starts)
{
    const tlnmf_data *data = spec->model->data;
    double M = (double)data->M, T = (double)tl_max(data->M, data->T);
    return 2.0 * M * M * T * starts >= WORTH_A_GPU;
}

/* If there is no device: an error if the settings require one, else a message in the log. */
static tlnmf_error without(tlnmf_ctx *ctx, bool asked, const char *why)
{
    if (asked)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "device gpu: %s", why);
    tl_log(ctx, TLNMF_LOG_WARNING, "device auto: using the cpu: %s", why);
    return TLNMF_OK;
}

tlnmf_error tl_device_choose(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_settings *opt)
{
    bool asked = opt->device == TL_DEVICE_GPU;
    char why[TL_DEVICE_TEXT];
    tl_device device;
    if (opt->device == TL_DEVICE_CPU)
        return TLNMF_OK;
    opt->device = TL_DEVICE_CPU;
    if (!asked && spec->frames_comm != NULL) /* processes might decide differently */
        return without(ctx, asked, "frames are distributed; --device gpu gives each process a GPU");
    if (!asked && !is_worth_it(spec, (double)tl_max(opt->starts, 1)))
        return TLNMF_OK;
    if (!find(ctx, spec, opt->precision == TL_PRECISION_MIXED, &device, why))
        return without(ctx, asked, why);
    tl_log(ctx, TLNMF_LOG_INFO, "device gpu: %s", device.name);
    opt->device = TL_DEVICE_GPU;
    return TLNMF_OK;
}

int tl_device_workers(const tlnmf_ctx *ctx, const tl_engine_spec *spec, const tl_settings *opt,
                      int workers)
{
    char why[TL_DEVICE_TEXT];
    tl_device device;
    const tl_device_library *library =
        workers > 1 && opt->device == TL_DEVICE_GPU ? tl_device_load(why) : NULL;
    if (library == NULL || !library->find(ctx->gpu, &device, why))
        return workers;
    double room = library->most_of_it * device.free /
                  library->bytes(spec, opt->precision == TL_PRECISION_MIXED);
    return room < (double)workers ? (int)fmax(room, 1.0) : workers;
}

tlnmf_error tl_device_updater(tlnmf_ctx *ctx, int32_t device, const tl_updates *largest,
                              int64_t frames, tl_updater **out)
{
    bool asked = device == TL_DEVICE_GPU;
    char why[TL_DEVICE_TEXT];
    tl_device found;
    *out = NULL;
    double N = (double)tl_max(largest->N, frames);
    double work = 2.0 * (double)largest->rows * N * (double)largest->K;
    if (device == TL_DEVICE_CPU || (!asked && work < WORTH_A_GPU))
        return TLNMF_OK;
    const tl_device_library *library = tl_device_load(why);
    if (library == NULL || !library->find(ctx->gpu, &found, why))
        return without(ctx, asked, why);
    const tl_updater_ops *ops = library->updates;
    double needed = ops->at_once * ops->bytes(largest);
    if (needed > found.free) {
        snprintf(why, TL_DEVICE_TEXT, "a separation" TL_DEVICE_HAS "%s", 1e-9 * needed,
                 1e-9 * found.free, 1e-9 * found.memory,
                 asked ? "; run it without --device gpu" : "");
        return without(ctx, asked, why);
    }
    tl_log(ctx, TLNMF_LOG_INFO, "device gpu: %s", found.name);
    return ops->open(ctx, out);
}

void tl_device_updater_close(tl_updater *updater)
{
    if (updater != NULL)
        updater->ops->close(updater);
}
