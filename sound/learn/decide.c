/* Which notes are new, and whose: the decision for each piece of a label. */
#include "model/kernels.h"
#include "sound/learn/notes.h"
#include "sound/model/factors.h"

#include <math.h>
#include <stdlib.h>

/* Labels longer than LONG seconds are divided into pieces of at most PIECE seconds. A piece is
 * considered if less than HEARD of it is solo. It holds a new note if the columns of the solos
 * misfit by more than MISFIT, and transpositions reduce the misfit below GAIN of that. Then shifts
 * that hold more than SHARE of the source's H are proposed. */
static const double PIECE = 0.5, LONG = 0.75, HEARD = 0.3, MISFIT = 0.1, GAIN = 0.8, SHARE = 0.2;
/* Proposed shifts are at most NEAR semitones. Each of the CHOICES largest shifts of up to
 * TL_SEMITONES that hold more than SOME of H competes with them, and wins if it reduces the misfit
 * below BETTER of the old one. Each trial takes UPDATES of H; there are SWEEPS over all pieces.
 * docs/measurements/constants.md names the mixtures on which these were set. */
static const double SOME = 0.05, BETTER = 0.55;
enum { NEAR = 9, CHOICES = 4, UPDATES = 20, SWEEPS = 2 };
/* A piece whose source has less than MISSING of its usual power is decided again, together with the
 * pieces of other sources at the same time. A new decision must weigh less than CLEARLY of the old
 * one. */
static const double MISSING = 0.6, CLEARLY = 0.9;
/* Of the labels of a source that share a frame, the first CROWD are considered: more are not
 * notes. */
enum { CROWD = 16 };
/* A source whose columns resemble each other by more than ALIKE (mean cosine of the amplitudes) has
 * played one note in its solos. If this holds for all sources, each source is a note, and nothing
 * is transposed: a transposed source would be another one. */
static const double ALIKE = 0.6;

/* A piece of a label; `shifts` has a bit for each proposed shift. */
typedef struct piece {
    tl_note note;
    uint64_t shifts;
    bool odd;               /* transpositions explain it, but the solos do not */
    bool labelled;          /* a label says that its source sounds there */
    double held[TL_SHIFTS]; /* the fraction of the source's H that each shift holds */
} piece;

/* A piece (the first) and its rivals; `span` is the time in which they sound. */
enum { CONTEST = 16 };
typedef struct contest {
    piece *piece[CONTEST];
    uint64_t best[CONTEST]; /* the best shifts of each piece */
    double least;           /* their weight */
    int count;
    tl_note span;
} contest;

typedef struct hearing {
    const tl_study *s;
    const tl_dictionary *d, *near, *wide; /* near: with shifts of up to NEAR; wide: with all */
    bool single;            /* each source has played one note alone: sources are notes */
    double *before, *after; /* N: misfit with the solos' columns, and with all transpositions */
    bool *sounding;         /* N: mixed, and not nearly silent */
    double usual[TL_SOURCES_MAX]; /* mean power of a source's solo frames; 0: it is never alone */
    const tl_span **order;        /* scratch: the labels, sorted */
    bool *again;                  /* the label occurred before: a chord */
    uint8_t *crowd;               /* N x sources: how many pieces of a source touch the frame */
    piece *piece;
    int64_t pieces;
    double heard, time; /* samples of pieces that are not new; of all */
    /* for trials: a part of the frames and of the columns */
    int64_t *frame, *column;
    uint64_t *admitted; /* of these frames x sources: the shifts of the pieces there */
    double *V, *W, *H;
    tl_factors factors;
    tlnmf_error error; /* of a device that computes */
    void *memory;
} hearing;

/* ---- sources that are notes ------------------------------------------------------------------ */

/* The cosine of the amplitudes of two columns. */
static double cosine(const tl_dictionary *d, int64_t a, int64_t b)
{
    double ab = 0.0, aa = 0.0, bb = 0.0;
    for (int64_t m = 0; m < d->rows; m++) {
        double x = d->W[m * d->K + a], y = d->W[m * d->K + b];
        ab += sqrt(x * y);
        aa += x;
        bb += y;
    }
    return ab / sqrt(aa * bb);
}

static void find_single(hearing *h)
{
    const tl_dictionary *d = h->d;
    bool all = true;
    for (int64_t r = 0; r < h->s->opt->sources; r++) {
        double sum = 0.0, count = 0.0;
        for (int64_t a = 0; a < d->K; a++)
            for (int64_t b = 0; b < a; b++)
                if (d->owner[a] == r && d->owner[b] == r) {
                    sum += cosine(d, a, b);
                    count += 1.0;
                }
        all = all && (!h->s->alone[r] || (count > 0.0 && sum > ALIKE * count));
    }
    h->single = all;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Finds the mixed frames whose power exceeds 1 % of the median (-20 dB, chosen arbitrarily).
 * `scratch` has N entries. */
static void find_sounding(const hearing *h, double *scratch)
{
    const tl_study *s = h->s;
    int64_t count = 0;
    for (int64_t i = 0; i < s->N; i++)
        if (s->power[i] > 0.0)
            scratch[count++] = s->power[i];
    qsort(scratch, (size_t)count, sizeof *scratch, by_size);
    double median = count > 0 ? scratch[count / 2] : 0.0;
    for (int64_t i = 0; i < s->N; i++)
        h->sounding[i] = s->mixed[i] && s->power[i] > 1e-2 * median;
}

/* The first frame that does not end before sample `start`. */
static int64_t first_frame(const tl_study *s, int64_t start)
{
    int64_t first = 0, last = s->N;
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (tl_study_touches(s, middle, start, INT64_MAX))
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* The part of a source's H that each shift of a dictionary holds in a piece. */
static void measure(const hearing *h, const tl_dictionary *d, const piece *p,
                    double held[TL_SHIFTS])
{
    const tl_study *s = h->s;
    double total = 0.0;
    memset(held, 0, TL_SHIFTS * sizeof *held);
    for (int64_t i = first_frame(s, p->note.start);
         i < s->N && tl_study_touches(s, i, p->note.start, p->note.end); i++)
        if (h->sounding[i])
            for (int64_t k = 0; k < d->K; k++)
                if (d->owner[k] == p->note.source)
                    held[d->shift[k] + TL_SEMITONES] += d->H[k * s->N + i];
    for (int j = 0; j < TL_SHIFTS; j++)
        total += held[j];
    for (int j = 0; j < TL_SHIFTS && total > 0.0; j++)
        held[j] /= total;
}

/* Whether a piece is one of the first CROWD of its source in all of its frames; counts it. */
static bool has_room(const hearing *h, tl_note note)
{
    const tl_study *s = h->s;
    int64_t from = first_frame(s, note.start), sources = s->opt->sources;
    for (int64_t i = from; i < s->N && tl_study_touches(s, i, note.start, note.end); i++)
        if (h->crowd[i * sources + note.source] >= CROWD)
            return false;
    for (int64_t i = from; i < s->N && tl_study_touches(s, i, note.start, note.end); i++)
        h->crowd[i * sources + note.source]++;
    return true;
}

/* Proposes shifts for a piece, and keeps it if it is to be considered. */
static void propose(hearing *h, tl_note note, bool labelled)
{
    const tl_study *s = h->s;
    piece *p = &h->piece[h->pieces];
    int64_t own = 0, solo = 0, sounding = 0; /* frames */
    double before = 0.0, after = 0.0, length = (double)(note.end - note.start);
    double near[TL_SHIFTS];
    if (!has_room(h, note))
        return;
    for (int64_t i = first_frame(s, note.start);
         i < s->N && tl_study_touches(s, i, note.start, note.end); i++) {
        own++;
        solo += tl_study_solo(s, i) >= 0;
        if (!h->sounding[i])
            continue;
        sounding++;
        before += h->before[i];
        after += h->after[i];
    }
    if (sounding == 0)
        return;
    *p = (piece){.note = note, .labelled = labelled};
    h->time += length;
    h->heard += length;
    if (h->single || !((double)solo < HEARD * (double)own))
        return;
    before /= (double)sounding;
    after /= (double)sounding;
    measure(h, h->near, p, near);
    measure(h, h->wide, p, p->held);
    p->odd = before > MISFIT && after < GAIN * before;
    for (int j = 0; p->odd && j < TL_SHIFTS; j++)
        if (j != TL_SEMITONES && near[j] > SHARE)
            p->shifts |= (uint64_t)1 << j;
    h->pieces++;
}

/* How many pieces a label is cut into. */
static int64_t pieces_of(const tl_study *s, tl_span span)
{
    double seconds = (double)(span.end - span.start) / s->opt->rate;
    return seconds > LONG ? (int64_t)ceil(seconds / PIECE) : 1;
}

static void propose_all(hearing *h)
{
    const tl_schedule *schedule = &h->s->scene->schedule;
    tl_schedule_repeats(schedule, h->order, h->again);
    for (int64_t i = 0; i < schedule->count && !tl_poll(h->s->ctx->monitor); i++) {
        tl_span span = schedule->spans[i];
        int64_t count = pieces_of(h->s, span), length = span.end - span.start;
        for (int64_t p = 0; !h->again[i] && h->s->alone[span.source] && p < count; p++)
            propose(h,
                    (tl_note){.source = span.source,
                              .start = span.start + length * p / count,
                              .end = span.start + length * (p + 1) / count},
                    span.anyone == 0);
    }
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* The mixed frames of a piece and of its release, in h->frame. */
static int64_t collect_frames(const hearing *h, tl_note span)
{
    int64_t count = 0;
    for (int64_t i = 0; i < h->s->N; i++)
        if (h->s->mixed[i] && tl_study_touches(h->s, i, span.start, span.end + h->s->opt->release))
            h->frame[count++] = i;
    return count;
}

/* Fills h->admitted for the collected frames at the current shifts. */
static void admit_shifts(const hearing *h, int64_t frames)
{
    int64_t sources = h->s->opt->sources;
    for (int64_t j = 0; j < frames * sources; j++)
        h->admitted[j] = 0;
    for (int64_t q = 0; q < h->pieces; q++) {
        const piece *p = &h->piece[q];
        for (int64_t n = 0; p->shifts != 0 && n < frames; n++)
            if (tl_study_touches(h->s, h->frame[n], p->note.start,
                                 p->note.end + h->s->opt->release))
                h->admitted[n * sources + p->note.source] |= p->shifts;
    }
}

/* Whether column k of the wide dictionary may sound in the n-th of the collected frames. */
static bool may_sound(const hearing *h, int64_t k, int64_t n)
{
    int64_t owner = h->wide->owner[k];
    if (!(h->s->scene->active[h->frame[n]] >> owner & 1))
        return false;
    return k < h->wide->base ||
           h->admitted[n * h->s->opt->sources + owner] >> (h->wide->shift[k] + TL_SEMITONES) & 1;
}

/* The base and the columns that may sound in some of the frames, in h->column. */
static int64_t collect_columns(const hearing *h, int64_t frames)
{
    int64_t count = 0;
    for (int64_t k = 0; k < h->wide->K; k++) {
        bool any = k < h->wide->base;
        for (int64_t n = 0; n < frames && !any; n++)
            any = may_sound(h, k, n);
        if (any)
            h->column[count++] = k;
    }
    return count;
}

/* The summed misfit of the mixed frames from span.start to the end of the release, with the current
 * shifts; infinite after an error. */
static double try_shifts(hearing *h, tl_note span)
{
    if (h->error != TLNMF_OK)
        return INFINITY;
    const tl_study *s = h->s;
    int64_t N = collect_frames(h, span), rows = s->rows;
    admit_shifts(h, N);
    int64_t K = collect_columns(h, N);
    for (int64_t m = 0; m < rows; m++) {
        for (int64_t n = 0; n < N; n++)
            h->V[m * N + n] = s->V[m * s->N + h->frame[n]];
        for (int64_t k = 0; k < K; k++)
            h->W[m * K + k] = h->wide->W[m * h->wide->K + h->column[k]];
    }
    for (int64_t n = 0; n < N; n++) {
        double share = tl_study_share(s, h->d, h->frame[n]);
        for (int64_t k = 0; k < K; k++) {
            bool base = h->column[k] < h->wide->base;
            double old = base ? h->d->H[h->column[k] * s->N + h->frame[n]] : 0.0;
            /* updates cannot raise zeros: all columns that may sound start above zero, at
             * arbitrary values */
            h->H[k * N + n] = !may_sound(h, h->column[k], n) ? 0.0
                              : base                         ? fmax(old, 0.05 * share)
                                                             : 0.2 * share;
        }
    }
    h->factors.N = N;
    h->factors.K = K;
    h->error = tl_factors_run(
        s->ctx, &h->factors,
        &(tl_updates){.V = h->V, .W = h->W, .H = h->H, .count = UPDATES, .U = h->factors.U});
    if (h->error != TLNMF_OK)
        return INFINITY;
    return tl_divergence(rows * N, h->V, s->eps, h->factors.U);
}

/* The shift that holds the c-th most of H, c = 0, 1, ..; 0: none holds more than SOME. */
static uint64_t choice(const piece *p, int c)
{
    int next = TL_SHIFTS;
    for (int j = 0; j < TL_SHIFTS; j++) {
        int above = 0;
        for (int i = 0; i < TL_SHIFTS; i++)
            above += i != TL_SEMITONES &&
                     (p->held[i] > p->held[j] || (i < j && p->held[i] == p->held[j]));
        if (j != TL_SEMITONES && p->held[j] > SOME && above == c)
            next = j;
    }
    return next < TL_SHIFTS ? (uint64_t)1 << next : 0;
}

/* Gives a piece the shifts that explain it best. */
static bool settle_piece(hearing *h, piece *p)
{
    uint64_t kept = p->shifts, best = kept, shift;
    double least = try_shifts(h, p->note);
    for (int c = 0; c < CHOICES && h->error == TLNMF_OK && (shift = choice(p, c)) != 0; c++) {
        p->shifts = shift;
        if (p->shifts == kept)
            continue;
        double now = try_shifts(h, p->note);
        if (now < BETTER * least) {
            best = p->shifts;
            least = now;
        }
    }
    p->shifts = best;
    return best != kept;
}

static void settle(hearing *h)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        bool changed = false;
        for (int64_t q = 0; q < h->pieces && h->error == TLNMF_OK && !tl_poll(h->s->ctx->monitor);
             q++)
            changed = (h->piece[q].odd && settle_piece(h, &h->piece[q])) || changed;
        if (!changed)
            break;
    }
}

/* ---- labelled notes that are missing --------------------------------------------------------- */

static void find_usual(hearing *h)
{
    const tl_study *s = h->s;
    double count[TL_SOURCES_MAX] = {0.0};
    for (int64_t i = 0; i < s->N; i++) {
        int64_t r = tl_study_solo(s, i);
        if (r < 0)
            continue;
        h->usual[r] += s->power[i];
        count[r] += 1.0;
    }
    for (int64_t r = 0; r < s->opt->sources; r++)
        h->usual[r] /= fmax(1.0, count[r]);
}

/* The level of a piece's source in the last trial, relative to its usual level. */
static double level_of(const hearing *h, const piece *p)
{
    int64_t N = h->factors.N, K = h->factors.K;
    double sum = 0.0, count = 0.0, usual = h->usual[p->note.source];
    for (int64_t n = 0; n < N; n++) {
        if (!tl_study_touches(h->s, h->frame[n], p->note.start, p->note.end))
            continue;
        count += 1.0;
        for (int64_t k = 0; k < K; k++)
            if (h->wide->owner[h->column[k]] == p->note.source)
                sum += h->H[k * N + n];
    }
    return p->labelled && count * usual > 0.0 ? sum / (count * usual) : 1.0;
}

/* With the pieces of other sources at the same time. */
static contest create_contest(hearing *h, piece *p)
{
    contest c = {.piece = {p}, .count = 1, .span = p->note};
    for (int64_t i = 0; i < h->pieces && c.count < CONTEST; i++) {
        piece *q = &h->piece[i];
        if (q->note.source == p->note.source || q->note.start >= p->note.end ||
            p->note.start >= q->note.end)
            continue;
        c.piece[c.count++] = q;
        c.span.start = tl_min(c.span.start, q->note.start);
        c.span.end = tl_max(c.span.end, q->note.end);
    }
    for (int i = 0; i < c.count; i++)
        c.best[i] = c.piece[i]->shifts;
    return c;
}

/* The misfit with the current shifts, divided by the root of the least level: of two decisions that
 * explain the frames equally well, the one in which labelled notes are heard weighs less. */
static double weigh(hearing *h, const contest *c)
{
    double misfit = try_shifts(h, c->span), least = 1.0;
    for (int i = 0; i < c->count; i++)
        least = fmin(least, level_of(h, c->piece[i]));
    return misfit / sqrt(fmax(least, 1e-6));
}

/* The current shifts become the best ones if they are clearly better. */
static void compete(hearing *h, contest *c)
{
    double now = weigh(h, c);
    if (!(now < CLEARLY * c->least))
        return;
    c->least = now;
    for (int i = 0; i < c->count; i++)
        c->best[i] = c->piece[i]->shifts;
}

static void take_best(const contest *c)
{
    for (int i = 0; i < c->count; i++)
        c->piece[i]->shifts = c->best[i];
}

/* Decides again on a piece whose source is hardly heard. Tries each of its shifts, with the current
 * shifts of its rivals and without any. If that changes the piece, tries the shifts of each rival.
 */
static void restore_piece(hearing *h, piece *p)
{
    contest c = create_contest(h, p);
    uint64_t shift, own = p->shifts, rivals = 0;
    c.least = weigh(h, &c);
    if (!(level_of(h, p) < MISSING))
        return;
    for (int i = 1; i < c.count; i++)
        rivals |= c.best[i];
    for (int clear = 0; clear < (rivals != 0 ? 2 : 1); clear++) {
        for (int i = 1; clear && i < c.count; i++)
            c.piece[i]->shifts = 0;
        p->shifts = own;
        if (clear)
            compete(h, &c);
        for (int j = 0; j < CHOICES && (shift = choice(p, j)) != 0; j++)
            if (shift != own) {
                p->shifts = shift;
                compete(h, &c);
            }
    }
    take_best(&c);
    if (p->shifts == own)
        return;
    for (int i = 1; i < c.count; i++) {
        for (int j = 0; j < CHOICES && (shift = choice(c.piece[i], j)) != 0; j++) {
            c.piece[i]->shifts = shift;
            if (shift != c.best[i])
                compete(h, &c);
        }
        take_best(&c);
    }
}

static void restore(hearing *h)
{
    find_usual(h);
    for (int64_t q = 0; q < h->pieces && h->error == TLNMF_OK && !tl_poll(h->s->ctx->monitor); q++)
        if (h->piece[q].odd && h->piece[q].labelled)
            restore_piece(h, &h->piece[q]);
}

/* ---- the call -------------------------------------------------------------------------------- */

static tlnmf_error create_hearing(hearing *h, double **scratch)
{
    const tl_study *s = h->s;
    const tl_schedule *schedule = &s->scene->schedule;
    int64_t pieces = 0, rows = s->rows, N = s->mixed_count, K = h->wide->K;
    for (int64_t i = 0; i < schedule->count; i++)
        pieces += pieces_of(s, schedule->spans[i]);
    pieces = tl_min(pieces, CROWD * s->N * s->opt->sources); /* each touches a frame */
    tl_slot table[14 + TL_FACTORS_SLOTS] = {TL_SLOT(h->before, s->N),
                                            TL_SLOT(h->after, s->N),
                                            TL_SLOT(h->sounding, s->N),
                                            TL_SLOT(h->order, schedule->count),
                                            TL_SLOT(h->again, schedule->count),
                                            TL_SLOT(h->crowd, s->N * s->opt->sources),
                                            TL_SLOT(h->piece, pieces + 1),
                                            TL_SLOT(h->frame, N),
                                            TL_SLOT(h->column, K),
                                            TL_SLOT(h->admitted, N * s->opt->sources),
                                            TL_SLOT(h->V, rows * N),
                                            TL_SLOT(h->W, rows * K),
                                            TL_SLOT(h->H, K * N),
                                            TL_SLOT(*scratch, s->N)};
    tl_factors_slots(&h->factors, rows, N, K, 0, table + 14);
    h->factors.eps = s->eps;
    h->factors.updater = s->opt->updater;
    return TL_ARENA(s->ctx, "what was heard", table, &h->memory);
}

/* The pieces' shifts as notes. */
static tlnmf_error fill_notes(const hearing *h, tl_notes *notes)
{
    int64_t count = 0;
    for (int64_t q = 0; q < h->pieces; q++)
        count += __builtin_popcountll(h->piece[q].shifts);
    tl_slot table[] = {TL_SLOT(notes->note, count)};
    TRY(TL_ARENA(h->s->ctx, "the notes", table, &notes->memory));
    notes->sounding = h->time;
    notes->heard = h->heard;
    for (int64_t q = 0; q < h->pieces; q++) {
        const piece *p = &h->piece[q];
        if (p->shifts != 0)
            notes->heard -= (double)(p->note.end - p->note.start);
        for (int j = 0; j < TL_SHIFTS; j++)
            if (p->shifts >> j & 1) {
                notes->note[notes->count] = p->note;
                notes->note[notes->count++].shift = j - TL_SEMITONES;
            }
    }
    return TLNMF_OK;
}

static tlnmf_error hear(hearing *h, tl_notes *notes)
{
    double *scratch;
    TRY(create_hearing(h, &scratch));
    TRY(tl_dictionary_misfit(h->s, h->d, h->before));
    TRY(tl_dictionary_misfit(h->s, h->near, h->after));
    find_sounding(h, scratch);
    find_single(h);
    propose_all(h);
    settle(h);
    restore(h);
    TRY(h->error);
    return fill_notes(h, notes);
}

/* The dictionary with shifts of up to NEAR, and with all. */
typedef struct listening {
    const tl_study *s;
    const tl_dictionary *d;
    tl_dictionary heard[2];
} listening;

static tlnmf_error listen_to(tlnmf_ctx *own, int64_t i, void *arg)
{
    listening *l = arg;
    tl_study study = *l->s;
    study.ctx = own;
    return tl_notes_listen(&study, l->d, i == 0 ? NEAR : TL_SEMITONES, &l->heard[i]);
}

tlnmf_error tl_notes_decide(const tl_study *s, const tl_dictionary *d, tl_notes *notes)
{
    listening l = {.s = s, .d = d};
    hearing h = {.s = s, .d = d, .near = &l.heard[0], .wide = &l.heard[1]};
    *notes = (tl_notes){.hooks = s->ctx->hooks};
    if (s->mixed_count == 0)
        return TLNMF_OK;
    tlnmf_error error = tl_concurrently(s->ctx, 2, 2, listen_to, &l);
    if (error == TLNMF_OK)
        error = hear(&h, notes);
    tl_release(&s->ctx->hooks, h.memory);
    for (int i = 0; i < 2; i++)
        tl_dictionary_free(&l.heard[i]);
    return error;
}

void tl_notes_free(tl_notes *notes)
{
    tl_release(&notes->hooks, notes->memory);
    notes->memory = NULL;
    notes->count = 0;
}
