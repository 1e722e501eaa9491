/* Dictionaries: columns of W from the frames in which a source is alone, or flat ones. */
#include "base/rng.h"
#include "separate/study.h"

#include <math.h>

/* PER_SOURCE columns from the solos of a source, fewer if there are many sources: COLUMNS at most.
 * Updates: of a dictionary on its solos, of H and the flat columns beside it, of flat dictionaries.
 * The figures in docs/separation.md are with these. */
enum { PER_SOURCE = 16, COLUMNS = 128, LEAST = 4, ON_SOLOS = 60, BESIDE = 40, FLAT = 60 };
static const double EXEMPLAR = 0.9; /* of a column at the start; the rest is flat */
static const double FLOOR = 1e-3; /* the flat part of a column afterwards: it may meet new notes */
static const double COMPRESS = 10.0; /* eps: exemplars differ by log(1 + V / (10 eps)) */

tlnmf_error tl_dictionary_new(tlnmf_ctx *ctx, int64_t rows, int64_t N, int64_t K, tl_dictionary *d)
{
    *d = (tl_dictionary){.rows = rows, .N = N, .K = K, .base = K, .hooks = ctx->hooks};
    tl_slot table[] = {TL_SLOT(d->W, rows * K), TL_SLOT(d->H, K * N), TL_SLOT(d->owner, K),
                       TL_SLOT(d->shift, K), TL_SLOT(d->free, K)};
    TRY(tl_check_size(ctx, "the columns of a dictionary", K));
    return TL_ARENA(ctx, "a dictionary", table, &d->memory);
}

void tl_dictionary_free(tl_dictionary *d)
{
    if (d->memory != NULL)
        tl_release(&d->hooks, d->memory);
    d->memory = NULL;
}

double tl_study_share(const tl_study *s, const tl_dictionary *d, int64_t i)
{
    int64_t count = 0;
    for (int64_t k = 0; k < d->K; k++)
        count += s->scene->active[i] >> d->owner[k] & 1 ? 1 : 0;
    return (s->power[i] + s->eps) / (double)tl_max(1, count);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Updates of H, and of the columns that `free` names if it is not NULL. */
static tlnmf_error update(const tl_study *s, int updates, bool only_free, tl_dictionary *d)
{
    tl_factors f;
    tl_slot table[TL_FACTORS_SLOTS];
    void *memory;
    tl_factors_slots(&f, d->rows, d->N, d->K, d->K, table);
    f.eps = s->eps;
    f.updater = s->opt->updater;
    TRY(TL_ARENA(s->ctx, "the updates", table, &memory));
    tlnmf_error error = tl_factors_run(s->ctx, &f,
                                       &(tl_updates){.V = s->V,
                                                     .W = d->W,
                                                     .H = d->H,
                                                     .moves_W = true,
                                                     .free = only_free ? d->free : NULL,
                                                     .count = updates},
                                       s->watch);
    tl_release(&s->ctx->hooks, memory);
    return error;
}

tlnmf_error tl_dictionary_join(const tl_study *s, int updates, tl_dictionary *d)
{
    return update(s, updates, false, d);
}

/* ---- flat columns ---------------------------------------------------------------------------- */

/* Nearly flat columns, and H that is zero where a source is silent. The seed tells them apart. */
static void draw(const tl_study *s, tl_dictionary *d)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, s->opt->seed, 0);
    double level = s->mean_power * (double)d->rows / (double)d->K;
    for (int64_t k = 0; k < d->K; k++) {
        double sum = 0.0;
        for (int64_t m = 0; m < d->rows; m++)
            sum += d->W[m * d->K + k] = 1.0 + 0.2 * tl_rng_uniform(&rng);
        for (int64_t m = 0; m < d->rows; m++)
            d->W[m * d->K + k] /= sum;
        for (int64_t i = 0; i < d->N; i++) {
            double h = (1.0 + 0.1 * tl_rng_uniform(&rng)) * level;
            d->H[k * d->N + i] = s->scene->active[i] >> d->owner[k] & 1 ? h : 0.0;
        }
    }
}

tlnmf_error tl_dictionary_flat(const tl_study *s, int64_t per_source, tl_dictionary *out)
{
    TRY(tl_dictionary_new(s->ctx, s->rows, s->N, s->opt->sources * per_source, out));
    for (int64_t k = 0; k < out->K; k++)
        out->owner[k] = k / per_source;
    draw(s, out);
    tlnmf_error error = update(s, FLAT, false, out);
    if (error != TLNMF_OK)
        tl_dictionary_free(out);
    return error;
}

/* ---- columns from solos ---------------------------------------------------------------------- */

/* The solo frames of one source, and what is learnt from them. */
typedef struct solos {
    const tl_study *s;
    int64_t rows, count, K; /* frames; columns */
    int64_t *frame;         /* count: numbers in the study */
    int64_t *chosen;        /* K: exemplars, numbers among the frames */
    double *V, *L;          /* rows x count: power; its logarithm, columns of norm 1 */
    double *distance;       /* count: from the exemplars so far */
    double *W, *H;          /* rows x K, K x count */
    tl_factors factors;
    void *memory;
} solos;

static int64_t count_solos(const tl_study *s, int64_t source)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->N; i++)
        count += tl_study_solo(s, i) == source;
    return count;
}

/* How many columns a source has. */
static int64_t columns_of(const tl_study *s, int64_t source, int64_t hidden)
{
    int64_t most = tl_min(PER_SOURCE, tl_max(LEAST, COLUMNS / s->opt->sources));
    return s->alone[source] ? tl_min(most, count_solos(s, source)) : hidden;
}

static tlnmf_error solos_create(const tl_study *s, int64_t source, int64_t K, solos *o)
{
    int64_t rows = s->rows, count = count_solos(s, source);
    *o = (solos){.s = s, .rows = rows, .count = count, .K = K};
    tl_slot table[7 + TL_FACTORS_SLOTS] = {TL_SLOT(o->frame, count),    TL_SLOT(o->chosen, K),
                                           TL_SLOT(o->V, rows * count), TL_SLOT(o->L, rows * count),
                                           TL_SLOT(o->distance, count), TL_SLOT(o->W, rows * K),
                                           TL_SLOT(o->H, K * count)};
    tl_factors_slots(&o->factors, rows, count, K, K, table + 7);
    o->factors.eps = s->eps;
    o->factors.updater = s->opt->updater;
    TRY(TL_ARENA(s->ctx, "the solos of a source", table, &o->memory));
    for (int64_t i = 0, n = 0; i < s->N; i++)
        if (tl_study_solo(s, i) == source)
            o->frame[n++] = i;
    for (int64_t m = 0; m < rows; m++)
        for (int64_t n = 0; n < count; n++)
            o->V[m * count + n] = s->V[m * s->N + o->frame[n]];
    return TLNMF_OK;
}

/* L: log(1 + V / 10 eps), each column of norm 1. */
static void compress(const solos *o)
{
    double scale = 1.0 / (COMPRESS * o->s->eps);
    for (int64_t i = 0; i < o->rows * o->count; i++)
        o->L[i] = log1p(o->V[i] * scale);
    for (int64_t n = 0; n < o->count; n++) {
        double sum = 0.0;
        for (int64_t m = 0; m < o->rows; m++)
            sum += o->L[m * o->count + n] * o->L[m * o->count + n];
        for (int64_t m = 0; sum > 0.0 && m < o->rows; m++)
            o->L[m * o->count + n] /= sqrt(sum);
    }
}

/* Distances become those to the nearest exemplar, frame `a` being one: 1 - cosine. */
static void approach(const solos *o, int64_t a)
{
    for (int64_t n = 0; n < o->count; n++) {
        double cosine = 0.0;
        for (int64_t m = 0; m < o->rows; m++)
            cosine += o->L[m * o->count + n] * o->L[m * o->count + a];
        o->distance[n] = fmin(o->distance[n], 1.0 - cosine);
    }
}

/* Frames far from each other, beginning with the loudest; loud ones come first. */
static void choose_exemplars(const solos *o)
{
    const double *power = o->s->power;
    int64_t best = 0;
    for (int64_t n = 0; n < o->count; n++) {
        o->distance[n] = INFINITY;
        if (power[o->frame[n]] > power[o->frame[best]])
            best = n;
    }
    double loudest = fmax(power[o->frame[best]], o->s->eps);
    compress(o);
    for (int64_t k = 0; k < o->K; k++) {
        double most = -INFINITY;
        o->chosen[k] = best;
        approach(o, best);
        for (int64_t n = 0; n < o->count; n++) {
            double d = o->distance[n] * sqrt(power[o->frame[n]] / loudest);
            if (d > most) {
                most = d;
                best = n;
            }
        }
    }
}

/* Exemplars as the start, then updates on the solo frames alone. */
static tlnmf_error learn_solos(const solos *o)
{
    const tl_study *s = o->s;
    int64_t K = o->K, count = o->count;
    choose_exemplars(o);
    for (int64_t k = 0; k < K; k++) {
        double sum = 0.0;
        for (int64_t m = 0; m < o->rows; m++)
            sum += o->W[m * K + k] = o->V[m * count + o->chosen[k]] + 0.1 * s->eps;
        for (int64_t m = 0; m < o->rows; m++)
            o->W[m * K + k] = EXEMPLAR * o->W[m * K + k] / sum + (1.0 - EXEMPLAR) / (double)o->rows;
        for (int64_t n = 0; n < count; n++)
            o->H[k * count + n] = (s->power[o->frame[n]] + s->eps) / (double)K;
    }
    TRY(tl_factors_run(
        s->ctx, &o->factors,
        &(tl_updates){.V = o->V, .W = o->W, .H = o->H, .moves_W = true, .count = ON_SOLOS},
        s->watch));
    for (int64_t i = 0; i < o->rows * K; i++)
        o->W[i] = (1.0 - FLOOR) * o->W[i] + FLOOR / (double)o->rows;
    return TLNMF_OK;
}

tlnmf_error tl_dictionary_spread(const tl_study *s, int64_t K, tl_dictionary *out)
{
    solos o;
    TRY(tl_dictionary_new(s->ctx, s->rows, s->N, K, out));
    tlnmf_error error = solos_create(s, 0, K, &o);
    if (error != TLNMF_OK) {
        tl_dictionary_free(out);
        return error;
    }
    error = learn_solos(&o);
    tl_copy(out->W, o.W, s->rows * K);
    tl_copy(out->H, o.H, K * s->N); /* all frames are solos of the one source */
    tl_release(&s->ctx->hooks, o.memory);
    if (error != TLNMF_OK)
        tl_dictionary_free(out);
    return error;
}

/* The columns of one source, from column `first` of the dictionary on. */
static tlnmf_error fill_source(const tl_study *s, int64_t source, int64_t first, int64_t K,
                               tl_dictionary *d)
{
    solos o;
    TRY(solos_create(s, source, K, &o));
    tlnmf_error error = learn_solos(&o);
    for (int64_t m = 0; m < s->rows; m++)
        tl_copy(d->W + m * d->K + first, o.W + m * K, K);
    tl_release(&s->ctx->hooks, o.memory);
    return error;
}

/* The sources of a dictionary, each by itself. */
typedef struct sources {
    const tl_study *s;
    int64_t hidden;
    tl_dictionary *d;
    tlnmf_ctx ctx[TL_SOURCES_MAX]; /* with messages of their own */
    tlnmf_error error[TL_SOURCES_MAX];
} sources;

static void fill_one(int64_t r, int64_t last, void *arg)
{
    sources *f = arg;
    tl_study study = *f->s;
    int64_t first = 0;
    (void)last;
    for (int64_t q = 0; q < r; q++)
        first += columns_of(f->s, q, f->hidden);
    f->ctx[r] = *f->s->ctx;
    study.ctx = &f->ctx[r];
    f->error[r] = !f->s->alone[r]
                      ? TLNMF_OK
                      : fill_source(&study, r, first, columns_of(f->s, r, f->hidden), f->d);
}

static tlnmf_error fill_sources(const tl_study *s, int64_t hidden, tl_dictionary *d)
{
    enum { AT_ONCE = 2 }; /* for memory; the products of each are shared out, too */
    sources f = {.s = s, .hidden = hidden, .d = d};
    tl_share_among(AT_ONCE, s->opt->sources, fill_one, &f);
    for (int64_t r = 0; r < s->opt->sources; r++)
        if (f.error[r] != TLNMF_OK) {
            memcpy(s->ctx->message, f.ctx[r].message, sizeof s->ctx->message);
            return f.error[r];
        }
    return update(s, BESIDE, true, d);
}

tlnmf_error tl_dictionary_solos(const tl_study *s, int64_t hidden, tl_dictionary *out)
{
    int64_t K = 0, at = 0;
    for (int64_t r = 0; r < s->opt->sources; r++)
        K += columns_of(s, r, hidden);
    TRY(tl_dictionary_new(s->ctx, s->rows, s->N, K, out));
    for (int64_t r = 0; r < s->opt->sources; r++)
        for (int64_t k = 0; k < columns_of(s, r, hidden); k++, at++) {
            out->owner[at] = r;
            out->free[at] = !s->alone[r];
        }
    draw(s, out);
    tlnmf_error error = fill_sources(s, hidden, out);
    if (error != TLNMF_OK)
        tl_dictionary_free(out);
    return error;
}

/* ---- how well it fits ------------------------------------------------------------------------ */

tlnmf_error tl_dictionary_misfit(const tl_study *s, const tl_dictionary *d, double *misfit)
{
    tl_factors f;
    tl_slot table[TL_FACTORS_SLOTS];
    void *memory;
    tl_factors_slots(&f, d->rows, d->N, d->K, 0, table);
    f.eps = s->eps;
    TRY(TL_ARENA(s->ctx, "a misfit", table, &memory));
    tl_factors_weigh(&f, d->W, d->H);
    for (int64_t i = 0; i < d->N; i++) {
        double sum = 0.0;
        for (int64_t m = 0; m < d->rows; m++) {
            double q = (s->V[m * d->N + i] + s->eps) * f.U[m * d->N + i];
            sum += q - log(q) - 1.0;
        }
        misfit[i] = sum / (double)d->rows;
    }
    tl_release(&s->ctx->hooks, memory);
    return TLNMF_OK;
}
