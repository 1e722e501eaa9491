/* The STFT of the frames to learn from, and dictionaries: columns of W from the frames in which a
 * source is alone, or flat ones. */
#include "sound/learn/dictionary.h"
#include "base/rng.h"
#include "sound/model/factors.h"
#include "sound/render/frame_block.h"

#include <math.h>

/* PER_SOURCE columns from the solos of a source, fewer if there are many sources: COLUMNS at
 * most. Then the numbers of updates: of a dictionary on its solos, of H and of flat columns next
 * to it, of flat dictionaries. The figures in docs/measurements/separation.md were measured with
 * these values. */
enum { PER_SOURCE = 16, COLUMNS = 128, LEAST = 4, ON_SOLOS = 60, BESIDE = 40, FLAT = 60 };
static const double EXEMPLAR = 0.9;  /* its weight in an initial column; the rest is flat */
static const double FLOOR = 1e-3;    /* the flat part of a learnt column, for new notes */
static const double COMPRESS = 10.0; /* eps: exemplars differ by log(1 + V / (10 eps)) */

/* ---- studies --------------------------------------------------------------------------------- */

int64_t tl_study_solo(const tl_study *s, int64_t i)
{
    uint64_t active = s->scene->active[i];
    return __builtin_popcountll(active) == 1 ? __builtin_ctzll(active) : -1;
}

bool tl_study_touches(const tl_study *s, int64_t i, int64_t start, int64_t end)
{
    return tl_frame_touches(&s->frames, s->scene->n[i], start, end);
}

static void find_solos(tl_study *s)
{
    for (int64_t i = 0; i < s->N; i++) {
        int64_t solo = tl_study_solo(s, i);
        if (solo >= 0)
            s->solos[solo]++;
        s->mixed[i] = __builtin_popcountll(s->scene->active[i]) > 1;
        s->mixed_count += s->mixed[i];
    }
    int64_t all = tl_frames_count(&s->frames, s->scene->sound->length);
    double seconds = (double)s->frames.hop / s->opt->rate * (double)all / (double)s->N;
    for (int64_t r = 0; r < s->opt->sources; r++)
        s->alone[r] = (double)s->solos[r] * seconds > TL_SOLO_MS / 1000.0;
}

/* V, the power of each frame, and the floor. */
static tlnmf_error analyse(tl_study *s)
{
    tl_framing framing;
    tl_frame_block block = {.memory = NULL};
    TRY(tl_framing_create(s->ctx, &s->frames, &framing));
    tlnmf_error error =
        tl_frame_block_create(s->ctx, &framing, s->scene->sound->channels, 0, true, &block);
    if (error == TLNMF_OK)
        tl_frame_block_analyse_scene(&block, s->scene, s->rows, s->V, NULL);
    tl_frame_block_free(&block);
    tl_framing_free(&framing);
    TRY(error);
    double sum = 0.0;
    for (int64_t m = 0; m < s->rows; m++)
        for (int64_t i = 0; i < s->N; i++)
            s->power[i] += s->V[m * s->N + i];
    for (int64_t i = 0; i < s->N; i++)
        sum += s->power[i];
    s->mean_power = sum / ((double)s->rows * (double)s->N);
    return tl_learn_floor(s->ctx, s->opt, s->mean_power, &s->eps);
}

tlnmf_error tl_study_create(tlnmf_ctx *ctx, const tl_scene *scene, const tl_learn_options *opt,
                            tl_window window, tl_study *s)
{
    int64_t rows = scene->layout.M / 2 + 1, N = scene->frames;
    *s = (tl_study){.ctx = ctx,
                    .opt = opt,
                    .scene = scene,
                    .frames = scene->layout,
                    .rows = rows,
                    .N = N,
                    .hooks = ctx->hooks};
    s->frames.window = (int32_t)window;
    tl_slot table[] = {TL_SLOT(s->V, rows * N), TL_SLOT(s->power, N), TL_SLOT(s->mixed, N)};
    TRY(tl_check_size(ctx, "the frames to learn from", N));
    TRY(TL_ARENA(ctx, "the frames to learn from", table, &s->memory));
    TRY(analyse(s));
    find_solos(s);
    return TLNMF_OK;
}

void tl_study_free(tl_study *s)
{
    tl_release(&s->hooks, s->memory);
    s->memory = NULL;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

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

tlnmf_error tl_dictionary_update(const tl_study *s, int updates, bool only_free, tl_dictionary *d)
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
                                                     .count = updates});
    tl_release(&s->ctx->hooks, memory);
    return error;
}

/* ---- flat columns ---------------------------------------------------------------------------- */

/* Nearly flat columns, which differ by random numbers, and H that is zero where a source is silent.
 */
static void draw(const tl_study *s, tl_dictionary *d)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, s->opt->set.seed, 0);
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
    return tl_dictionary_update(s, FLAT, false, out);
}

/* ---- columns from solos ---------------------------------------------------------------------- */

/* The solo frames of one source, and the columns learnt from them. */
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

int64_t tl_dictionary_columns_most(int64_t sources)
{
    return tl_min(PER_SOURCE, tl_max(LEAST, COLUMNS / sources));
}

/* How many columns a source has. */
static int64_t columns_of(const tl_study *s, int64_t source, int64_t hidden)
{
    int64_t most = tl_dictionary_columns_most(s->opt->sources);
    return s->alone[source] ? tl_min(most, s->solos[source]) : hidden;
}

static tlnmf_error solos_create(const tl_study *s, int64_t source, int64_t K, solos *o)
{
    int64_t rows = s->rows, count = s->solos[source];
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

/* Updates the distances (1 - cosine) to the nearest exemplar by a new exemplar, frame `a`. */
static void approach(const solos *o, int64_t a)
{
    for (int64_t n = 0; n < o->count; n++) {
        double cosine = 0.0;
        for (int64_t m = 0; m < o->rows; m++)
            cosine += o->L[m * o->count + n] * o->L[m * o->count + a];
        o->distance[n] = fmin(o->distance[n], 1.0 - cosine);
    }
}

/* Chooses frames far from each other, beginning with the loudest; loud frames are preferred. */
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
        &(tl_updates){.V = o->V, .W = o->W, .H = o->H, .moves_W = true, .count = ON_SOLOS}));
    for (int64_t i = 0; i < o->rows * K; i++)
        o->W[i] = (1.0 - FLOOR) * o->W[i] + FLOOR / (double)o->rows;
    return TLNMF_OK;
}

/* The columns of one source, from column `first` of the dictionary on. H_or_null receives their H
 * in the solos. */
static tlnmf_error fill_source(const tl_study *s, int64_t source, int64_t first, int64_t K,
                               tl_dictionary *d, double *H_or_null)
{
    solos o;
    TRY(solos_create(s, source, K, &o));
    tlnmf_error error = learn_solos(&o);
    for (int64_t m = 0; m < s->rows; m++)
        tl_copy(d->W + m * d->K + first, o.W + m * K, K);
    if (H_or_null != NULL)
        tl_copy(H_or_null, o.H, K * o.count);
    tl_release(&s->ctx->hooks, o.memory);
    return error;
}

tlnmf_error tl_dictionary_spread(const tl_study *s, int64_t K, tl_dictionary *out)
{
    TRY(tl_dictionary_new(s->ctx, s->rows, s->N, K, out));
    return fill_source(s, 0, 0, K, out, out->H); /* all frames are solos */
}

/* The sources of a dictionary. */
typedef struct sources {
    const tl_study *s;
    int64_t hidden;
    tl_dictionary *d;
} sources;

static tlnmf_error fill_alone(tlnmf_ctx *own, int64_t r, void *arg)
{
    const sources *f = arg;
    tl_study study = *f->s;
    int64_t first = 0;
    study.ctx = own;
    for (int64_t q = 0; q < r; q++)
        first += columns_of(&study, q, f->hidden);
    if (!study.alone[r])
        return TLNMF_OK;
    return fill_source(&study, r, first, columns_of(&study, r, f->hidden), f->d, NULL);
}

static tlnmf_error fill_sources(const tl_study *s, int64_t hidden, tl_dictionary *d)
{
    enum { AT_ONCE = 2 }; /* limits memory; threads also divide the products of each source */
    sources f = {.s = s, .hidden = hidden, .d = d};
    TRY(tl_concurrently(s->ctx, AT_ONCE, s->opt->sources, fill_alone, &f));
    return tl_dictionary_update(s, BESIDE, true, d);
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
    return fill_sources(s, hidden, out);
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
