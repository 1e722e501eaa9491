/* Which notes are new, and whose: the decision for each piece of a label. */
#include "separate/study.h"

#include <math.h>
#include <stdlib.h>

/* Labels longer than LONG seconds are looked at in pieces of at most PIECE; pieces of which less
 * than HEARD is solo are considered. A piece holds something new if the solos misfit by more than
 * MISFIT and transpositions make that less than GAIN of it; then a shift is proposed that holds
 * more than SHARE of the source's H. */
static const double PIECE = 0.5, LONG = 0.75, HEARD = 0.3, MISFIT = 0.1, GAIN = 0.8, SHARE = 0.2;
/* Proposals are of at most NEAR semitones. They are compared with one of the CHOICES shifts that
 * hold more than SOME of H among those of up to TL_SEMITONES. Another one wins if the misfit
 * becomes less than BETTER of what it was. UPDATES of H for each, and SWEEPS through all pieces.
 * On which mixtures these were set: docs/separation.md, "With labels"; ALIKE: docs/benchmarks.md.
 */
static const double SOME = 0.05, BETTER = 0.55;
enum { NEAR = 9, CHOICES = 4, UPDATES = 20, SWEEPS = 2 };
/* A piece whose source has less than MISSING of its usual power is decided once more, together with
 * those of other sources at the same time; another decision must weigh less than CLEARLY of it. */
static const double MISSING = 0.6, CLEARLY = 0.9;
/* A source whose columns resemble each other by more than ALIKE (mean cosine of the amplitudes) has
 * played one note in its solos. If all have, their names are taken for those of notes, which are
 * not transposed: transposed, one would be another. */
static const double ALIKE = 0.6;

/* A piece of a label that is considered; `shifts` has a bit for each that is proposed. */
typedef struct piece {
    tl_note note;
    uint64_t shifts;
    bool odd;               /* the solos do not explain it, transpositions do */
    bool labelled;          /* its source sounds there; without a label it only may */
    double held[TL_SHIFTS]; /* the part of the source's H, of all shifts */
} piece;

/* A piece, the first, and its rivals; `span` is when they sound. */
enum { CONTEST = 16 };
typedef struct contest {
    piece *piece[CONTEST];
    uint64_t best[CONTEST]; /* shifts of each, and what they weigh */
    double least;
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
    piece *piece;
    int64_t pieces;
    double heard, time; /* samples of pieces that are not new; of all */
    /* for trials: a part of the frames and of the columns */
    int64_t *frame, *column;
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

/* Mixed frames above a hundredth of the median power (a plain choice: 20 dB below it). `scratch` is
 * N. */
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

/* What the frames of a piece say. */
typedef struct summary {
    int64_t own, solo, sounding;
    double before, after;
} summary;

/* The part of a source's H that each shift of a dictionary holds in a piece. */
static void measure(const hearing *h, const tl_dictionary *d, const piece *p,
                    double held[TL_SHIFTS])
{
    const tl_study *s = h->s;
    double total = 0.0;
    memset(held, 0, TL_SHIFTS * sizeof *held);
    for (int64_t i = 0; i < s->N; i++)
        if (h->sounding[i] && tl_study_touches(s, i, p->note.start, p->note.end))
            for (int64_t k = 0; k < d->K; k++)
                if (d->owner[k] == p->note.source)
                    held[d->shift[k] + TL_SEMITONES] += d->H[k * s->N + i];
    for (int j = 0; j < TL_SHIFTS; j++)
        total += held[j];
    for (int j = 0; j < TL_SHIFTS && total > 0.0; j++)
        held[j] /= total;
}

static summary summarise(const hearing *h, const piece *p)
{
    const tl_study *s = h->s;
    summary sum = {0};
    for (int64_t i = 0; i < s->N; i++) {
        if (!tl_study_touches(s, i, p->note.start, p->note.end))
            continue;
        sum.own++;
        sum.solo += tl_study_solo(s, i) >= 0;
        if (!h->sounding[i])
            continue;
        sum.sounding++;
        sum.before += h->before[i];
        sum.after += h->after[i];
    }
    return sum;
}

/* Proposes shifts for a piece, and keeps it if it is to be considered. */
static void propose(hearing *h, tl_note note, bool labelled)
{
    piece *p = &h->piece[h->pieces];
    double length = (double)(note.end - note.start);
    *p = (piece){.note = note, .labelled = labelled};
    summary sum = summarise(h, p);
    if (sum.sounding == 0)
        return;
    h->time += length;
    h->heard += length;
    if (h->single || !((double)sum.solo < HEARD * (double)sum.own))
        return;
    double before = sum.before / (double)sum.sounding, after = sum.after / (double)sum.sounding;
    double near[TL_SHIFTS];
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

static bool is_same(const tl_span *a, const tl_span *b)
{
    return a->start == b->start && a->end == b->end && a->source == b->source;
}

static void propose_all(hearing *h)
{
    const tl_schedule *schedule = &h->s->scene->schedule;
    for (int64_t i = 0; i < schedule->count; i++) {
        tl_span span = schedule->spans[i];
        int64_t count = pieces_of(h->s, span), length = span.end - span.start;
        bool again = false; /* the same label a second time: a chord */
        for (int64_t j = 0; j < i; j++)
            again = again || is_same(&schedule->spans[j], &span);
        for (int64_t p = 0; !again && h->s->alone[span.source] && p < count; p++)
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

/* Whether column k of the wide dictionary may sound in frame i, as the pieces have it. */
static bool may_sound(const hearing *h, int64_t k, int64_t i)
{
    if (!(h->s->scene->active[i] >> h->wide->owner[k] & 1))
        return false;
    if (k < h->wide->base)
        return true;
    for (int64_t q = 0; q < h->pieces; q++) {
        const piece *p = &h->piece[q];
        if (p->note.source == h->wide->owner[k] &&
            p->shifts >> (h->wide->shift[k] + TL_SEMITONES) & 1 &&
            tl_study_touches(h->s, i, p->note.start, p->note.end + h->s->opt->release))
            return true;
    }
    return false;
}

/* The base and the columns that may sound in some of the frames, in h->column. */
static int64_t collect_columns(const hearing *h, int64_t frames)
{
    int64_t count = 0;
    for (int64_t k = 0; k < h->wide->K; k++) {
        bool any = k < h->wide->base;
        for (int64_t n = 0; n < frames && !any; n++)
            any = may_sound(h, k, h->frame[n]);
        if (any)
            h->column[count++] = k;
    }
    return count;
}

/* The misfit of the mixed frames from span.start to span.end, and of the release, with the shifts
 * as they are, summed; infinite after an error. */
static double try_shifts(hearing *h, tl_note span)
{
    if (h->error != TLNMF_OK)
        return INFINITY;
    const tl_study *s = h->s;
    int64_t N = collect_frames(h, span), K = collect_columns(h, N), rows = s->rows;
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
            /* updates cannot raise zeros: all that may sound begin above, at plain choices */
            h->H[k * N + n] = !may_sound(h, h->column[k], h->frame[n]) ? 0.0
                              : base                                   ? fmax(old, 0.05 * share)
                                                                       : 0.2 * share;
        }
    }
    h->factors.N = N;
    h->factors.K = K;
    h->error = tl_factors_run(
        s->ctx, &h->factors,
        &(tl_updates){.V = h->V, .W = h->W, .H = h->H, .count = UPDATES, .U = h->factors.U}, NULL);
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

/* The shifts of a piece become those that explain it best. */
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
        for (int64_t q = 0;
             q < h->pieces && h->error == TLNMF_OK && !tl_watch_poll(h->s->watch, TL_STAGE_NMF);
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

/* The level of a piece's source there, as it was tried last, beside the usual one. */
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

/* Another source's piece at the same time. */
static bool is_rival(const piece *p, const piece *q)
{
    return q->note.source != p->note.source && q->note.start < p->note.end &&
           p->note.start < q->note.end;
}

static contest create_contest(hearing *h, piece *p)
{
    contest c = {.piece = {p}, .count = 1, .span = p->note};
    for (int64_t i = 0; i < h->pieces && c.count < CONTEST; i++) {
        piece *q = &h->piece[i];
        if (!is_rival(p, q))
            continue;
        c.piece[c.count++] = q;
        c.span.start = tl_min(c.span.start, q->note.start);
        c.span.end = tl_max(c.span.end, q->note.end);
    }
    for (int i = 0; i < c.count; i++)
        c.best[i] = c.piece[i]->shifts;
    return c;
}

/* The misfit with the shifts as they are, over the root of the least level: explained as well,
 * notes that are labelled are heard. */
static double weigh(hearing *h, const contest *c)
{
    double misfit = try_shifts(h, c->span), least = 1.0;
    for (int i = 0; i < c->count; i++)
        least = fmin(least, level_of(h, c->piece[i]));
    return misfit / sqrt(fmax(least, 1e-6));
}

/* The shifts as they are become the best ones if they are better by enough. */
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

/* A piece whose source is hardly heard: each of its shifts, with those of its rivals as they are
 * and without any; then each rival's, if that changed something. */
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
    for (int64_t q = 0;
         q < h->pieces && h->error == TLNMF_OK && !tl_watch_poll(h->s->watch, TL_STAGE_NMF); q++)
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
    tl_slot table[10 + TL_FACTORS_SLOTS] = {
        TL_SLOT(h->before, s->N),      TL_SLOT(h->after, s->N), TL_SLOT(h->sounding, s->N),
        TL_SLOT(h->piece, pieces + 1), TL_SLOT(h->frame, N),    TL_SLOT(h->column, K),
        TL_SLOT(h->V, rows * N),       TL_SLOT(h->W, rows * K), TL_SLOT(h->H, K * N),
        TL_SLOT(*scratch, s->N)};
    tl_factors_slots(&h->factors, rows, N, K, 0, table + 10);
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

/* With shifts of up to NEAR and with all, at the same time. */
typedef struct listening {
    const tl_study *s;
    const tl_dictionary *d;
    tl_dictionary heard[2];
    tlnmf_ctx ctx[2]; /* with messages of their own */
    tlnmf_error error[2];
} listening;

static void listen_to(int64_t i, int64_t last, void *arg)
{
    listening *l = arg;
    tl_study study = *l->s;
    (void)last;
    l->ctx[i] = *l->s->ctx;
    study.ctx = &l->ctx[i];
    l->error[i] = tl_notes_listen(&study, l->d, i == 0 ? NEAR : TL_SEMITONES, &l->heard[i]);
}

tlnmf_error tl_notes_decide(const tl_study *s, const tl_dictionary *d, tl_notes *notes)
{
    listening l = {.s = s, .d = d};
    hearing h = {.s = s, .d = d, .near = &l.heard[0], .wide = &l.heard[1]};
    *notes = (tl_notes){.hooks = s->ctx->hooks};
    if (s->mixed_count == 0)
        return TLNMF_OK;
    tl_share(2, 1, listen_to, &l);
    tlnmf_error error = l.error[0] != TLNMF_OK ? l.error[0] : l.error[1];
    if (error == TLNMF_OK)
        error = hear(&h, notes);
    else
        memcpy(s->ctx->message, l.ctx[l.error[0] == TLNMF_OK].message, sizeof s->ctx->message);
    tl_release(&s->ctx->hooks, h.memory);
    for (int i = 0; i < 2; i++)
        tl_dictionary_free(&l.heard[i]);
    return error;
}

void tl_notes_free(tl_notes *notes)
{
    if (notes->memory != NULL)
        tl_release(&notes->hooks, notes->memory);
    notes->memory = NULL;
    notes->count = 0;
}
