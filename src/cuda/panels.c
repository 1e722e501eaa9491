/* Columns that run through the device in panels, for data beyond its memory.
 *
 * A panel is some neighbouring frames. R (and B) lie in the host's memory and come to one of two
 * buffers on a stream of their own, while the panel in the other one is computed; X, V and U of a
 * panel are computed from Phi, W and H whenever it comes. Sums over columns add up in the order of
 * the panels. Sweeps need all columns of two rows at a time: see tl_cuda_sweep_sample(). */
#include "cuda/cuda.h"

#include <math.h>

/* ---- sizes ----------------------------------------------------------------------------------- */

int64_t tl_cuda_widest(const tlnmf_data *data, int64_t frames)
{
    int64_t widest = 0;
    if (data->one_each)
        return tl_min(frames, data->N);
    for (int64_t n = 0; n < data->N; n += frames)
        widest = tl_max(widest, data->offset[tl_min(n + frames, data->N)] - data->offset[n]);
    return widest;
}

static int64_t columns_of(const tlnmf_data *data, int64_t n)
{
    return data->offset[n + 1] - data->offset[n];
}

/* Frames spread evenly, as many as fit the arrays of a panel and `most` columns; none if even one
 * does not. */
static void choose_sample(tl_cuda_sample *s, const tlnmf_data *data, int64_t panels, int64_t most)
{
    for (s->every = panels; s->every <= data->N; s->every++) {
        s->frames = s->columns = 0;
        for (int64_t n = 0; n < data->N; n += s->every, s->frames++)
            s->columns += columns_of(data, n);
        if (s->columns <= most)
            return;
    }
    s->frames = s->columns = 0;
}

/* ---- open and close -------------------------------------------------------------------------- */

/* Lets the device read memory of the host by itself. Where that is refused (a limit on locked
 * memory), copies take longer and do not overlap with computing. */
static bool pin(const double *x, int64_t count)
{
    bool done = x != NULL && count > 0 &&
                cudaHostRegister((void *)(uintptr_t)x, (size_t)count * sizeof *x,
                                 cudaHostRegisterDefault) == cudaSuccess;
    cudaGetLastError(); /* a refusal is no failure */
    return done;
}

/* The sample's columns as tl_field has them, and where each is in its panel. */
typedef struct places {
    int64_t *offset;
    int *frame, *column_in, *frame_in;
} places;

static void find_places(const tl_cuda_panels *x, const tlnmf_data *data, places *at)
{
    int64_t t = 0;
    for (int64_t i = 0; i < x->sample.frames; i++) {
        int64_t n = i * x->sample.every, first = n / x->frames * x->frames;
        at->offset[i] = t;
        at->frame_in[i] = (int)(n - first);
        for (int64_t j = data->offset[n]; j < data->offset[n + 1]; j++, t++) {
            at->frame[t] = (int)i;
            at->column_in[t] = (int)(j - data->offset[first]);
        }
    }
    at->offset[x->sample.frames] = t;
}

static tlnmf_error send_sample(tlnmf_ctx *ctx, const tlnmf_data *data, tl_cuda_panels *x)
{
    const tl_cuda_sample *s = &x->sample;
    places at;
    void *block;
    tl_slot table[] = {TL_SLOT(at.offset, s->frames + 1), TL_SLOT(at.frame, s->columns),
                       TL_SLOT(at.column_in, s->columns), TL_SLOT(at.frame_in, s->frames)};
    TRY(TL_ARENA(ctx, "the frames of sweeps", table, &block));
    find_places(x, data, &at);
    const tl_cuda_sent sent[] = {
        {s->offset, at.offset, (size_t)(s->frames + 1) * sizeof *at.offset},
        {s->frame, at.frame, (size_t)s->columns * sizeof *at.frame},
        {s->column_in, at.column_in, (size_t)s->columns * sizeof *at.column_in},
        {s->frame_in, at.frame_in, (size_t)s->frames * sizeof *at.frame_in}};
    tlnmf_error error = tl_cuda_send_all(ctx, sizeof sent / sizeof *sent, sent);
    tl_release(&ctx->hooks, block);
    return error;
}

tlnmf_error tl_cuda_open_panels(tlnmf_ctx *ctx, const tlnmf_data *data, int64_t most, tl_cuda *self)
{
    tl_cuda_panels *x = &self->panels;
    x->data = data;
    cudaError_t error = cudaStreamCreateWithFlags(&x->stream, cudaStreamNonBlocking);
    for (int i = 0; i < TL_CUDA_BUFFERS && error == cudaSuccess; i++) {
        x->held[i] = -1;
        error = cudaEventCreateWithFlags(&x->arrived[i], cudaEventDisableTiming);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&x->left[i], cudaEventDisableTiming);
    }
    if (error != cudaSuccess)
        return tl_fail(ctx, TLNMF_ERR_NUMERIC, "device gpu: %s", cudaGetErrorString(error));
    x->pinned_R = pin(data->R, data->M * data->T);
    x->pinned_B = pin(data->B, data->M * data->N);
    choose_sample(&x->sample, data, x->count, most);
    return send_sample(ctx, data, x);
}

void tl_cuda_close_panels(tl_cuda *self)
{
    tl_cuda_panels *x = &self->panels;
    if (x->stream != NULL) {
        /* nothing is on its way any more, nor to engines of other threads that read the same R */
        cudaDeviceSynchronize();
        cudaStreamDestroy(x->stream);
    }
    for (int i = 0; i < TL_CUDA_BUFFERS; i++) {
        if (x->arrived[i] != NULL)
            cudaEventDestroy(x->arrived[i]);
        if (x->left[i] != NULL)
            cudaEventDestroy(x->left[i]);
    }
    if (x->pinned_R)
        cudaHostUnregister(x->data->R);
    if (x->pinned_B)
        cudaHostUnregister((void *)(uintptr_t)x->data->B);
}

/* ---- panels that come ------------------------------------------------------------------------ */

/* Columns first .. end - 1 of an array of the host with `columns` of them. */
static void send_columns(tl_cuda *self, double *to, const double *from, int64_t columns,
                         int64_t first, int64_t end)
{
    size_t width = (size_t)(end - first) * sizeof *to;
    if (width > 0 && self->is.M > 0)
        tl_cuda_check(self,
                      cudaMemcpy2DAsync(to, width, from + first, (size_t)columns * sizeof *to,
                                        width, (size_t)self->is.M, cudaMemcpyHostToDevice,
                                        self->panels.stream),
                      "a copy to the GPU");
}

/* Sends a panel to a buffer once nothing that was asked for needs what is there. */
static void send_panel(tl_cuda *self, int64_t p, int buffer)
{
    tl_cuda_panels *x = &self->panels;
    const tlnmf_data *data = x->data;
    int64_t first = p * x->frames, end = tl_min(first + x->frames, data->N);
    tl_cuda_check(self, cudaStreamWaitEvent(x->stream, x->left[buffer], 0), "the GPU");
    send_columns(self, x->R[buffer], data->R, data->T, data->offset[first], data->offset[end]);
    if (data->B != NULL)
        send_columns(self, x->B[buffer], data->B, data->N, first, end);
    tl_cuda_check(self, cudaEventRecord(x->arrived[buffer], x->stream), "the GPU");
    x->held[buffer] = p;
}

/* The buffer that has the panel, or will have it. */
static int buffer_of(tl_cuda *self, int64_t p)
{
    tl_cuda_panels *x = &self->panels;
    for (int i = 0; i < TL_CUDA_BUFFERS; i++)
        if (x->held[i] == p)
            return i;
    send_panel(self, p, 1 - x->now);
    return 1 - x->now;
}

static void bring(tl_cuda *self, int64_t p)
{
    tl_cuda_panels *x = &self->panels;
    const int64_t *offset = x->data->offset;
    int64_t first = p * x->frames, end = tl_min(first + x->frames, x->data->N);
    tl_cuda_check(self, cudaEventRecord(x->left[x->now], self->gpu.stream), "the GPU");
    x->now = buffer_of(self, p);
    buffer_of(self, (p + 1) % x->count); /* the next one comes meanwhile */
    tl_cuda_check(self, cudaStreamWaitEvent(self->gpu.stream, x->arrived[x->now], 0), "the GPU");
    x->first = first;
    self->R = x->R[x->now];
    self->f.N = end - first;
    self->f.T = offset[end] - offset[first];
    self->f.offset = self->offset + p * (x->frames + 1);
    self->f.frame = self->frame + offset[first];
    self->f.B = x->data->B != NULL ? x->B[x->now] : NULL;
    self->U_is = TL_CUDA_U_NOTHING;
    tl_cuda_times_R(self, x->at_new ? self->Phi_new : self->Phi);
    tl_gpu_power(&self->gpu, &self->f, self->X, self->V);
}

bool tl_cuda_bring(tl_cuda *self, int64_t p)
{
    bool is_there = p < self->panels.count;
    if (is_there && self->panels.data != NULL)
        bring(self, p);
    return is_there;
}

double *tl_cuda_sums_of(tl_cuda *self, int64_t p, double *total)
{
    return p == 0 ? total : self->part;
}

void tl_cuda_add_sums(tl_cuda *self, int64_t p, int64_t count, double *total)
{
    if (p > 0)
        tl_gpu_add(&self->gpu, count, 1.0, self->part, total);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Takes the sample's columns of X to UX, and of U, out of the panel that is there. `s0`, `t0`:
 * frames and columns so far. */
static void pick(tl_cuda *self, int64_t *s0, int64_t *t0)
{
    const tl_cuda_panels *x = &self->panels;
    const tl_cuda_sample *s = &x->sample;
    int64_t M = self->is.M, frames = 0, columns = 0;
    for (int64_t n = *s0 * s->every; n < x->first + self->f.N; n += s->every, frames++)
        columns += columns_of(x->data, n);
    if (frames > 0)
        tl_gpu_pick(&self->gpu, &(tl_gpu_matrix){self->U, M, self->f.N, self->f.N},
                    s->frame_in + *s0, &(tl_gpu_matrix){s->U + *s0, M, frames, s->frames});
    if (columns > 0)
        tl_gpu_pick(&self->gpu, &(tl_gpu_matrix){self->X, M, self->f.T, self->f.T},
                    s->column_in + *t0, &(tl_gpu_matrix){self->UX + *t0, M, columns, s->columns});
    *s0 += frames;
    *t0 += columns;
}

/* What a sweep lowers, over all columns: sum U (V + floor) at the weights of C, L at the floor. */
static double measure(tl_cuda *self, unsigned of, double floor, bool picks)
{
    double *total = self->seen_there + TL_SEEN_SUMS;
    int64_t frames = 0, columns = 0;
    for (int64_t p = 0; tl_cuda_bring(self, p); p++) {
        tl_cuda_weights(self, of, floor);
        tl_field f = *tl_cuda_field(self);
        f.eps = floor;
        tl_gpu_sums(&self->gpu, &f, of == TL_C ? 1 : 4, NULL, self->V, self->U,
                    tl_cuda_sums_of(self, p, total));
        tl_cuda_add_sums(self, p, 4, total);
        if (picks)
            pick(self, &frames, &columns);
    }
    return tl_cuda_wait(self) ? self->seen[TL_SEEN_SUMS + (of == TL_C ? 0 : 2)] : NAN;
}

/* Rotates by the sample's columns alone. What fits these may not fit the others: Phi stays as it
 * was unless the sum over all columns falls. */
double tl_cuda_sweep_sample(tl_cuda *self, unsigned of, double floor, double least)
{
    const tl_cuda_sample *s = &self->panels.sample;
    if (s->columns == 0)
        return 0.0;
    double before = measure(self, of, floor, true), share = (double)s->frames / self->is.frames;
    tl_field f = {.M = self->is.M,
                  .N = s->frames,
                  .T = s->columns,
                  .offset = s->offset,
                  .frame = s->frame,
                  .one_each = self->f.one_each};
    tl_cuda_copy(self, self->Phi_new, self->Phi, self->is.M * self->is.M);
    tl_cuda_rotate(
        self, &f,
        &(tl_gpu_sweep){.U = s->U, .X = self->UX, .Phi = self->Phi_new, .least = share * least});
    self->panels.at_new = true;
    double after = measure(self, of, floor, false);
    self->panels.at_new = false;
    if (isnan(after))
        return NAN;
    if (!(after < before))
        return 0.0;
    tl_cuda_swap(&self->Phi, &self->Phi_new);
    return before - after;
}
