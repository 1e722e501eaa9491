/* The mixed engine: the cpu engine with products and sweeps in single precision where a solver asks
 * for it. Sums, C, L and I are always in double, and so is the end of a run. */
#include "engine/cpu.h"

typedef struct mixed {
    tl_cpu cpu; /* first */
    tl_single single;
    tl_rounded rows;
    bool rough;
    void *block; /* of `rows` */
} mixed;

/* The longest inner dimension of a product: Phi R, (10), or a panel of the gradient. */
static int64_t inner(const tlnmf_data *data)
{
    return tl_max(tl_max(data->M, data->N), tl_gradient_scratch(data) / data->M);
}

static size_t bytes(const tl_engine_spec *spec)
{
    const tlnmf_data *data = spec->model->data;
    tl_rounded rows;
    tl_slot table[TL_ROUNDED_SLOTS];
    tl_rounded_slots(&rows, data, spec->threads, table);
    return tl_cpu_bytes(spec) + sizeof(mixed) + TL_ARENA_BYTES(table) +
           tl_single_bytes(data->M, inner(data));
}

static void destroy(tl_engine *e)
{
    mixed *self = (mixed *)e;
    tl_hooks hooks = self->cpu.hooks;
    tl_release(&hooks, self->single.block);
    tl_release(&hooks, self->block);
    tl_cpu_close(&self->cpu);
    tl_release(&hooks, self);
}

static tlnmf_error prepare(tlnmf_ctx *ctx, const tl_engine_spec *spec, mixed *self)
{
    const tlnmf_data *data = spec->model->data;
    tl_slot table[TL_ROUNDED_SLOTS];
    TRY(tl_cpu_open(ctx, spec, &self->cpu));
    self->cpu.is.ops = &tl_engine_mixed;
    tl_rounded_slots(&self->rows, data, spec->threads, table);
    TRY(TL_ARENA(ctx, "sweeps in single precision", table, &self->block));
    return tl_single_create(ctx, data->M, inner(data), &self->single);
}

static tlnmf_error create(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    mixed *self;
    void *block;
    tl_slot table[] = {TL_SLOT(self, 1)};
    *out = NULL;
    TRY(TL_ARENA(ctx, "an engine", table, &block));
    self->cpu.hooks = ctx->hooks;
    tlnmf_error error = prepare(ctx, spec, self);
    if (error == TLNMF_OK)
        *out = &self->cpu.is;
    else
        destroy(&self->cpu.is);
    return error;
}

static void set_precision(mixed *self, bool rough)
{
    self->rough = rough;
    self->cpu.in = self->cpu.skew.arithmetic = rough ? &self->single.arithmetic : &tl_double;
}

static bool precision(tl_engine *e, bool rough)
{
    mixed *self = (mixed *)e;
    bool back = self->rough && !rough;
    set_precision(self, rough);
    if (back)
        tl_cpu_project(e, TL_PHI);
    return rough;
}

static double sweep(tl_engine *e, unsigned of, double floor, double least)
{
    mixed *self = (mixed *)e;
    tl_sweep s = tl_cpu_sweep_begin(&self->cpu, of, floor, least);
    double gain = self->rough ? tl_sweep_single(&s, &self->rows) : tl_sweep_double(&s);
    tl_cpu_sweep_end(&self->cpu);
    return gain;
}

static void state(tl_engine *e, tl_bytes *b)
{
    int64_t rough = ((mixed *)e)->rough;
    tl_bytes_integer(b, &rough);
    if (b->mode == TL_BYTES_READ && !b->bad)
        set_precision((mixed *)e, rough != 0);
    tl_cpu_state(e, b);
}

const tl_engine_ops tl_engine_mixed = {
    .name = "cpu mixed",
    .create = create,
    .bytes = bytes,
    .free = destroy,
    .precision = precision,
    .sweep = sweep,
    .state = state,
    TL_CPU_SHARED_OPS,
};
