/* Functions of all engines. */
#include "engine/device.h"

const tl_engine_ops *tl_engine_of(const tl_settings *opt)
{
    bool mixed = opt != NULL && opt->precision == TL_PRECISION_MIXED;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library =
        opt != NULL && opt->device == TL_DEVICE_GPU ? tl_device_load(why) : NULL;
    if (library != NULL)
        return mixed ? library->mixed : library->engine;
    return mixed ? &tl_engine_mixed : &tl_engine_cpu;
}

tlnmf_error tl_engine_error(tlnmf_ctx *ctx, const tl_engine *e, const char *what)
{
    if (e->fault == TLNMF_OK)
        return TLNMF_OK;
    return tl_fail(ctx, e->fault, "%s: the engine %s: %s", what, e->ops->name, e->why);
}

typedef struct arrays {
    const double *Phi, *W, *H;
} arrays;

static tlnmf_error copy_arrays(const tl_point *point, void *user)
{
    const arrays *from = user;
    if (from->Phi != NULL)
        tl_copy(point->Phi, from->Phi, point->M * point->M);
    if (from->W != NULL)
        tl_copy(point->W, from->W, point->M * point->K);
    if (from->H != NULL)
        tl_copy(point->H, from->H, point->K * point->N);
    return TLNMF_OK;
}

void tl_engine_load(tl_engine *e, const double *Phi, const double *W, const double *H)
{
    arrays from = {Phi, W, H};
    unsigned parts = (Phi != NULL ? TL_PHI : 0) | (W != NULL ? TL_W : 0) | (H != NULL ? TL_H : 0);
    (void)tl_engine_fill(e, parts, copy_arrays, &from); /* cannot fail */
}
