/* The quality of a separation, estimated without ground truth: how far its members agree, how the
 * energy is shared, and the expected SI-SDR. docs/measurements/separation.md has the data. */
#include "sound/judge/judge.h"
#include "sound/render/passes.h"
#include "sound/score/score.h"

#include <math.h>

/* Longer recordings are judged by the stretch of LISTEN seconds with the most mixed sound. */
static const double LISTEN = 60.0;
enum { CHUNK = 512 }; /* samples that are assumed to have the same sources */

/* Sums over samples of products of the members' stems. */
typedef struct rehearsal {
    tl_passes passes;
    int64_t sources, members;
    int64_t from, to; /* of the buffers: the samples of this round */
    double *gram;     /* sources x members x members: the lower triangle */
    double *overlap;  /* sources: energy of the first member's stem where others may sound */
    double *last;     /* members x capacity x channels: the input minus the other outputs */
    void *memory;
} rehearsal;

/* ---- listening ------------------------------------------------------------------------------- */

/* Whether several sources may sound at sample t. */
static bool mixed_at(const tl_schedule *schedule, int64_t t)
{
    return schedule->spans == NULL ||
           __builtin_popcountll(tl_schedule_within(schedule, t, t + 1, schedule->release)) > 1;
}

/* The stretch with the most mixed sound. */
static void choose_stretch(const tl_schedule *schedule, int64_t length, double rate, int64_t *first,
                           int64_t *last)
{
    int64_t most = -1, wide = (int64_t)(LISTEN * rate), step = (int64_t)(0.1 * LISTEN * rate);
    *first = 0;
    *last = length;
    for (int64_t from = 0; length > wide && from + wide <= length; from += step) {
        int64_t count = 0;
        for (int64_t t = from; t < from + wide; t += tl_max(1, step / 60))
            count += mixed_at(schedule, t);
        if (count > most) {
            most = count;
            *first = from;
            *last = from + wide;
        }
    }
}

/* A member's stem of a source, from sample `base` on. */
static const double *stem_of(const rehearsal *h, int64_t member, int64_t source)
{
    if (source + 1 < h->sources)
        return tl_pass_output(&h->passes, &h->passes.pass[member], source);
    return h->last + member * h->passes.capacity * h->passes.sound->channels;
}

/* Of member i. */
static void fill_last(int64_t i, int64_t last, void *arg)
{
    const rehearsal *h = arg;
    int64_t channels = h->passes.sound->channels, numbers = h->to * channels;
    double *x = h->last + i * h->passes.capacity * channels;
    (void)last;
    tl_copy(x, h->passes.in, numbers);
    for (int64_t o = 0; o + 1 < h->sources; o++) {
        const double *other = tl_pass_output(&h->passes, &h->passes.pass[i], o);
        for (int64_t t = 0; t < numbers; t++)
            x[t] -= other[t];
    }
}

/* Adds samples from .. from+count-1 of the buffers: source r of member i. */
static void add_chunk(const rehearsal *h, int64_t r, int64_t i, int64_t from, int64_t count)
{
    int64_t channels = h->passes.sound->channels, n = h->members;
    bool mixed = i == 0 && mixed_at(&h->passes.schedule, h->passes.base + from + count / 2);
    for (int64_t j = 0; j <= i; j++) {
        const double *a = stem_of(h, i, r) + from * channels,
                     *b = stem_of(h, j, r) + from * channels;
        double sum = 0.0;
        for (int64_t t = 0; t < count * channels; t++)
            sum += a[t] * b[t];
        h->gram[(r * n + i) * n + j] += sum;
        if (mixed)
            h->overlap[r] += sum;
    }
}

static void add_round(int64_t piece, int64_t last, void *arg)
{
    const rehearsal *h = arg;
    (void)last;
    for (int64_t t = h->from; t < h->to; t += CHUNK)
        add_chunk(h, piece / h->members, piece % h->members, t, tl_min(CHUNK, h->to - t));
}

static tlnmf_error listen(rehearsal *h)
{
    int64_t channels = h->passes.sound->channels, n = h->members;
    tl_slot table[] = {TL_SLOT(h->gram, h->sources * n * n), TL_SLOT(h->overlap, h->sources),
                       TL_SLOT(h->last, n * h->passes.capacity * channels)};
    TRY(TL_ARENA(h->passes.ctx, "a rehearsal", table, &h->memory));
    for (bool more = true; more;) {
        TRY(tl_passes_advance(&h->passes, &more));
        h->from = tl_max(h->passes.first, h->passes.base) - h->passes.base;
        h->to = h->passes.ready - h->passes.base;
        if (!more || h->to <= h->from)
            continue;
        tl_share(n, 1, fill_last, h);
        tl_share(h->sources * n, 1, add_round, h);
    }
    return TLNMF_OK;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* SI-SDR of one member's stem against another's, between 0 and MOST dB. */
static double agreement(const rehearsal *h, int64_t r, int64_t i, int64_t j)
{
    const double MOST = 40.0;
    const double *G = h->gram + r * h->members * h->members;
    double ii = G[i * h->members + i], jj = G[j * h->members + j],
           ij = G[tl_max(i, j) * h->members + tl_min(i, j)];
    double error = ii * jj - ij * ij; /* times 1 / jj, as is the signal */
    if (!(ij > 0.0))
        return 0.0;
    return fmin(MOST, fmax(0.0, error > 0.0 ? tl_decibels(ij * ij, error) : MOST));
}

static void fill_figures(const rehearsal *h, tl_verdict *v)
{
    int64_t n = h->members;
    double total = 0.0;
    for (int64_t r = 0; r < h->sources; r++) {
        double sum = 0.0, energy = h->gram[r * n * n];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                sum += i != j ? agreement(h, r, i, j) : 0.0;
        v->agreement[r] = n > 1 ? sum / (double)(n * (n - 1)) : NAN;
        v->share[r] = energy;
        v->overlap[r] = energy > 0.0 ? h->overlap[r] / energy : 0.0;
        total += energy;
    }
    for (int64_t r = 0; r < h->sources; r++)
        v->share[r] = total > 0.0 ? v->share[r] / total : 0.0;
}

tlnmf_error tl_verdict_listen(const tl_listener *l, const tl_separator *const *member,
                              int64_t members, tl_verdict *verdict)
{
    rehearsal h = {.sources = l->schedule->sources,
                   .members = members,
                   .passes = {.ctx = l->ctx,
                              .sound = l->sound,
                              .schedule = *l->schedule,
                              .notes = true,
                              .updater = l->updater}};
    choose_stretch(l->schedule, l->sound->length, l->rate, &h.passes.first, &h.passes.last);
    TRY(tl_passes_create(&h.passes, member, members, 1.0));
    tlnmf_error error = listen(&h);
    if (error == TLNMF_OK) {
        fill_figures(&h, verdict);
        verdict->unexplained = tl_passes_unexplained(&h.passes);
    }
    tl_passes_free(&h.passes);
    tl_release(&l->ctx->hooks, h.memory);
    return error;
}

/* ---- what to expect -------------------------------------------------------------------------- */

/* Least squares on the development mixtures of docs/measurements/separation.md, and the 10 % and 90
 * % quantiles of the residuals. */
static const double CONSTANT = -7.44, OF_AGREEMENT = 0.780, OF_SCORE = 0.362;
static const double BELOW = 5.1, ABOVE = 5.4, SCORE_MOST = 30.0;

void tl_verdict_expect(int64_t sources, double score, tl_verdict *v)
{
    for (int64_t r = 0; r < sources; r++) {
        double judged = isfinite(score) ? OF_SCORE * fmin(score, SCORE_MOST) : (double)NAN;
        v->expected[r] = CONSTANT + OF_AGREEMENT * v->agreement[r] + judged;
        v->low[r] = v->expected[r] - BELOW;
        v->high[r] = v->expected[r] + ABOVE;
    }
}

void tl_verdict_unknown(int64_t sources, tl_verdict *v)
{
    v->coverage = v->unexplained = NAN;
    for (int64_t r = 0; r < sources; r++)
        v->agreement[r] = v->share[r] = v->overlap[r] = v->expected[r] = v->low[r] = v->high[r] =
            NAN;
}

void tl_verdict_withhold(int64_t sources, uint64_t withheld, tl_verdict *v)
{
    for (int64_t r = 0; r < sources; r++)
        if (withheld >> r & 1)
            v->expected[r] = v->low[r] = v->high[r] = NAN;
}

/* Without labels a component is a note. The misfit of NMF with one component per source
 * distinguishes single notes from phrases. Least squares over the logarithm of the misfit and the
 * number of sources beyond two, on the blind development stems of docs/measurements/separation.md;
 * the 10 % and 90 % quantiles of the residuals; limited to the range of the data. */
static const double BLIND = -4.7, OF_MISFIT = -6.7, OF_SOURCES = -10.1;
static const double BLIND_BELOW = 8.6, BLIND_ABOVE = 7.4, BLIND_LEAST = -6.0, BLIND_MOST = 22.0;

void tl_verdict_expect_blind(int64_t sources, double misfit, tl_verdict *v)
{
    double x = BLIND + OF_SOURCES * (double)tl_max(0, sources - 2);
    if (misfit > 0.0) /* else it is not known, and the estimate stays low */
        x += OF_MISFIT * log(misfit);
    for (int64_t r = 0; r < sources; r++) {
        v->expected[r] = fmin(BLIND_MOST, fmax(BLIND_LEAST, x));
        v->low[r] = v->expected[r] - BLIND_BELOW;
        v->high[r] = v->expected[r] + BLIND_ABOVE;
    }
}
