/* Loads the library of the GPU's engine: the only place that knows dlopen. */
#include "engine/device.h"

#include <dlfcn.h>
#include <stdio.h>

static const char LIBRARY[] = "libtlnmf_cuda.so";

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
