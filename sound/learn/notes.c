/* Notes that were never heard alone: columns of a source's own dictionary, transposed. */
#include "sound/learn/notes.h"
#include "sound/model/factors.h"

#include <math.h>

/* Updates of H with all transpositions; with the admitted ones; of all columns at the end. */
enum { LISTEN = 40, FIT = 40, JOIN = 10 };
/* The initial H of transposed columns, relative to that of the others. */
static const double QUIET = 0.03;

/* ---- transposed columns ---------------------------------------------------------------------- */

/* Column k of `out` becomes column j of `d` transposed by `shift` semitones: linear interpolation.
 */
static void transpose_column(const tl_dictionary *d, int64_t j, int64_t shift, tl_dictionary *out,
                             int64_t k)
{
    double ratio = exp2((double)shift / 12.0), sum = 0.0;
    for (int64_t m = 0; m < d->rows; m++) {
        double at = (double)m / ratio, x = d->W[(d->rows - 1) * d->K + j];
        int64_t low = (int64_t)at;
        if (low < d->rows - 1) {
            double t = at - (double)low;
            x = (1.0 - t) * d->W[low * d->K + j] + t * d->W[(low + 1) * d->K + j];
        }
        out->W[m * out->K + k] = x;
        sum += x;
    }
    for (int64_t m = 0; m < d->rows; m++)
        out->W[m * out->K + k] /= sum;
}

/* Whether a shift of a source is added to a dictionary: the shifts of the notes or, without
 * notes, all shifts up to `range` of sources that have solos. */
static bool admitted(const tl_study *s, const tl_notes *notes, int64_t range, int64_t source,
                     int64_t shift)
{
    if (notes == NULL)
        return s->alone[source] && shift >= -range && shift <= range;
    for (int64_t i = 0; i < notes->count; i++)
        if (notes->note[i].source == source && notes->note[i].shift == shift)
            return true;
    return false;
}

/* The dictionary and its admitted transpositions. H of the base is copied; H of the others is
 * zero. */
static tlnmf_error widen(const tl_study *s, const tl_dictionary *d, const tl_notes *notes,
                         int64_t range, tl_dictionary *out)
{
    int64_t K = d->K;
    for (int64_t shift = -TL_SEMITONES; shift <= TL_SEMITONES; shift++)
        for (int64_t k = 0; shift != 0 && k < d->K; k++)
            K += admitted(s, notes, range, d->owner[k], shift);
    TRY(tl_dictionary_new(s->ctx, d->rows, d->N, K, out));
    out->base = d->K;
    for (int64_t m = 0; m < d->rows; m++)
        tl_copy(out->W + m * K, d->W + m * d->K, d->K);
    tl_copy(out->H, d->H, d->K * d->N);
    int64_t at = d->K;
    for (int64_t k = 0; k < d->K; k++) {
        out->owner[k] = d->owner[k];
        out->free[k] = d->free[k];
    }
    for (int64_t shift = -TL_SEMITONES; shift <= TL_SEMITONES; shift++)
        for (int64_t k = 0; shift != 0 && k < d->K; k++)
            if (admitted(s, notes, range, d->owner[k], shift)) {
                out->owner[at] = d->owner[k];
                out->shift[at] = shift;
                transpose_column(d, k, shift, out, at++);
            }
    return TLNMF_OK;
}

/* ---- H in the mixed frames ------------------------------------------------------------------- */

/* Updates of H in the mixed frames alone. */
static tlnmf_error fit_mixed(const tl_study *s, int updates, tl_dictionary *d)
{
    int64_t N = s->mixed_count, K = d->K, rows = d->rows;
    double *V, *H;
    tl_factors f;
    void *memory;
    tl_slot table[2 + TL_FACTORS_SLOTS] = {TL_SLOT(V, rows * N), TL_SLOT(H, K * N)};
    tl_factors_slots(&f, rows, N, K, 0, table + 2);
    f.eps = s->eps;
    f.updater = s->opt->updater;
    TRY(TL_ARENA(s->ctx, "the mixed frames", table, &memory));
    for (int64_t i = 0, n = 0; i < s->N; i++) {
        if (!s->mixed[i])
            continue;
        for (int64_t m = 0; m < rows; m++)
            V[m * N + n] = s->V[m * s->N + i];
        for (int64_t k = 0; k < K; k++)
            H[k * N + n] = d->H[k * s->N + i];
        n++;
    }
    tlnmf_error error =
        tl_factors_run(s->ctx, &f, &(tl_updates){.V = V, .W = d->W, .H = H, .count = updates});
    for (int64_t i = 0, n = 0; i < s->N; i++)
        if (s->mixed[i]) {
            for (int64_t k = 0; k < K; k++)
                d->H[k * s->N + i] = H[k * N + n];
            n++;
        }
    tl_release(&s->ctx->hooks, memory);
    return error;
}

/* shifts[source]: the transpositions that the notes admit in mixed frame i, one bit each. NULL: all
 * at any time. */
static void find_shifts(const tl_study *s, const tl_notes *notes, int64_t i,
                        uint64_t shifts[TL_SOURCES_MAX])
{
    for (int64_t r = 0; r < TL_SOURCES_MAX; r++)
        shifts[r] = notes == NULL ? ~(uint64_t)0 : 0;
    for (int64_t j = 0; notes != NULL && j < notes->count; j++) {
        const tl_note *note = &notes->note[j];
        if (tl_study_touches(s, i, note->start, note->end + s->opt->release))
            shifts[note->source] |= (uint64_t)1 << (note->shift + TL_SEMITONES);
    }
}

/* The initial H of the mixed frames. Base columns begin at `least` of an equal share of the power,
 * or above; without notes, the base columns alone share it. */
static void start_H(const tl_study *s, const tl_notes *notes, double least, tl_dictionary *d)
{
    uint64_t shifts[TL_SOURCES_MAX];
    for (int64_t i = 0; i < s->N; i++) {
        double share = tl_study_share(s, d, i);
        if (s->mixed[i])
            find_shifts(s, notes, i, shifts);
        if (notes == NULL)
            share = share * (double)d->K / (double)d->base;
        for (int64_t k = 0; s->mixed[i] && k < d->K; k++) {
            double *h = &d->H[k * s->N + i];
            bool active = s->scene->active[i] >> d->owner[k] & 1;
            if (k < d->base)
                *h = active ? fmax(*h, least * share) : 0.0;
            else
                *h = active && shifts[d->owner[k]] >> (d->shift[k] + TL_SEMITONES) & 1
                         ? QUIET * share
                         : 0.0;
        }
    }
}

tlnmf_error tl_notes_listen(const tl_study *s, const tl_dictionary *d, int64_t range,
                            tl_dictionary *wide)
{
    TRY(widen(s, d, NULL, range, wide));
    start_H(s, NULL, 0.1, wide);
    return fit_mixed(s, LISTEN, wide);
}

tlnmf_error tl_notes_apply(const tl_study *s, const tl_dictionary *d, const tl_notes *notes,
                           tl_dictionary *out)
{
    TRY(widen(s, d, notes, 0, out));
    start_H(s, notes, 0.05, out);
    if (out->K > out->base)
        TRY(fit_mixed(s, FIT, out));
    return tl_dictionary_update(s, JOIN, false, out);
}

/* A gate for each source and shift. */
static int64_t gate_number(int64_t source, int64_t shift)
{
    return source * TL_SHIFTS + shift + TL_SEMITONES;
}

tlnmf_error tl_study_separator(const tl_study *s, const tl_dictionary *d, const tl_notes *notes,
                               tl_separator **out)
{
    tl_separator_shape shape = {
        .M = s->frames.M, .K = d->K, .opens = notes != NULL ? notes->count : 0, .spectral = true};
    TRY(tl_separator_new(s->ctx, &shape, out));
    tl_copy((*out)->W, d->W, d->rows * d->K);
    for (int64_t k = 0; k < d->K; k++) {
        (*out)->owner[k] = d->owner[k];
        (*out)->gate[k] = k < d->base ? -1 : gate_number(d->owner[k], d->shift[k]);
    }
    for (int64_t i = 0; notes != NULL && i < shape.opens; i++) {
        tl_note note = notes->note[i];
        (*out)->open[i] = (tl_span){
            .start = note.start, .end = note.end, .source = gate_number(note.source, note.shift)};
    }
    (*out)->info = (tl_separator_info){.frames = s->frames,
                                       .sources = s->opt->sources,
                                       .method = TL_METHOD_NMF,
                                       .basis = TL_BASIS_STFT,
                                       .eps = s->eps,
                                       .mean_power = s->mean_power,
                                       .score = NAN,
                                       .C = NAN,
                                       .learn_frames = s->N};
    return TLNMF_OK;
}
