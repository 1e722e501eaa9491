/* Loads the library of the GPU's engine: the only place that knows dlopen. */
#include "engine/device.h"

#include <dlfcn.h>
#include <stdio.h>

static const char LIBRARY[] = "libtlnmf_cuda.so";

/* Operations of one product of all starts from which on auto takes the GPU: below, opening it takes
 * longer than the fit (docs/benchmarks.md). */
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
        return refuse(why, "libtlnmf_cuda.so is not what its name says");
    if (strcmp(library->version, tlnmf_version()) != 0) {
        snprintf(why, TL_DEVICE_TEXT, "libtlnmf_cuda.so is of version %s, not %s", library->version,
                 tlnmf_version());
        return NULL;
    }
    return library;
}

static void explain_memory(const tl_device *device, const char *what, double bytes,
                           char why[TL_DEVICE_TEXT])
{
    snprintf(why, TL_DEVICE_TEXT, "%s needs %.3g GB, %.100s has %.3g GB free", what, 1e-9 * bytes,
             device->name, 1e-9 * device->free);
}

/* What a device that was found has memory for. */
typedef struct chosen {
    tl_device device;
    double needed; /* bytes of one engine with all arrays there */
    int64_t panel; /* frames of panels; 0: it needs none */
} chosen;

/* A device that has the memory for one engine, or for one with panels. False, with the reason. */
static bool find(const tl_engine_spec *spec, bool mixed, chosen *f, char why[TL_DEVICE_TEXT])
{
    const tl_device_library *library = tl_device_load(why);
    if (library == NULL || !library->find(&f->device, why))
        return false;
    f->needed = library->bytes(spec, mixed);
    f->panel = 0;
    if (f->needed <= library->most_of_it * f->device.free)
        return true;
    f->panel = library->fitting_panel(spec, mixed, f->device.free);
    tl_engine_spec least = *spec;
    least.panel = 1;
    if (f->panel == 0)
        snprintf(why, TL_DEVICE_TEXT,
                 "a start needs %.3g GB, with columns in panels %.3g GB; %.100s has %.3g GB free",
                 1e-9 * f->needed, 1e-9 * library->bytes(&least, mixed), f->device.name,
                 1e-9 * f->device.free);
    return f->panel > 0;
}

/* What is different in panels. */
static void warn_of_panels(tlnmf_ctx *ctx, const tl_engine_spec *spec, const chosen *f)
{
    long long count = (spec->model->data->N + f->panel - 1) / f->panel;
    char why[TL_DEVICE_TEXT];
    explain_memory(&f->device, "a start", f->needed, why);
    tl_log(
        ctx, TLNMF_LOG_WARNING,
        "device gpu: %s: columns run through it in %lld panels, sweeps turn rows by one frame in "
        "%lld, and starts run one at a time",
        why, count, count);
}

static bool is_worth_it(const tl_engine_spec *spec, double starts)
{
    const tlnmf_data *data = spec->model->data;
    double M = (double)data->M, T = (double)tl_max(data->M, data->T);
    return 2.0 * M * M * T * starts >= WORTH_A_GPU;
}

/* What follows where there is no device: an error if it was asked for, else a message. */
static tlnmf_error without(tlnmf_ctx *ctx, bool asked, const char *why)
{
    if (asked)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "device gpu: %s", why);
    tl_log(ctx, TLNMF_LOG_WARNING, "device auto: the cpu, since: %s", why);
    return TLNMF_OK;
}

tlnmf_error tl_device_choose(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_settings *opt)
{
    bool asked = opt->device == TL_DEVICE_GPU || opt->device == TL_DEVICE_PANELS;
    char why[TL_DEVICE_TEXT];
    chosen f;
    if (opt->device == TL_DEVICE_CPU)
        return TLNMF_OK;
    opt->device = TL_DEVICE_CPU;
    if (!asked && !is_worth_it(spec, (double)tl_max(opt->starts, 1)))
        return TLNMF_OK;
    if (!find(spec, opt->precision == TL_PRECISION_MIXED, &f, why))
        return without(ctx, asked, why);
    if (!asked && f.panel > 0) { /* sweeps by a sample are no reason to leave the cpu */
        explain_memory(&f.device, "a start", f.needed, why);
        return without(ctx, asked, why);
    }
    tl_log(ctx, TLNMF_LOG_INFO, "device gpu: %s", f.device.name);
    if (f.panel > 0)
        warn_of_panels(ctx, spec, &f);
    opt->device = f.panel > 0 ? TL_DEVICE_PANELS : TL_DEVICE_GPU;
    return TLNMF_OK;
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
    if (library == NULL || !library->find(&found, why))
        return without(ctx, asked, why);
    const tl_updater_ops *ops = library->updates;
    double needed = ops->at_once * ops->bytes(largest);
    if (needed > found.free) {
        explain_memory(&found, "a separation", needed, why);
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
