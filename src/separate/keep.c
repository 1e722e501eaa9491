/* Finished candidates in checkpoints: their bytes, and how they are taken again. */
#include "separate/keep.h"
#include "base/bytes.h"
#include "separate/store.h"

#include <math.h>
#include <pthread.h>

enum { MOST = TL_STORE_ITEMS - 1, NOTES = MOST };

struct tl_keep {
    tl_store store;
    pthread_mutex_t lock; /* of the items, and of saving */
};

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The numbers of a candidate. Those of a model are 0 if it has been dropped. */
typedef struct head {
    double score, C;
    int64_t M, K, opens, spectral;
    tl_separator_info info;
} head;

static void pass_arrays(tl_bytes *b, tl_separator *s)
{
    if (s->Phi != NULL)
        tl_bytes_doubles(b, s->Phi, s->M * s->M);
    tl_bytes_doubles(b, s->W, s->rows * s->K);
    tl_bytes_pass(b, s->owner, (size_t)s->K * sizeof *s->owner);
    tl_bytes_pass(b, s->gate, (size_t)s->K * sizeof *s->gate);
    tl_bytes_pass(b, s->open, (size_t)s->opens * sizeof *s->open);
}

static void pass_notes(tl_bytes *b, tl_notes *notes)
{
    tl_bytes_doubles(b, &notes->heard, 1);
    tl_bytes_doubles(b, &notes->sounding, 1);
    tl_bytes_pass(b, notes->note, (size_t)notes->count * sizeof *notes->note);
}

/* ---- putting --------------------------------------------------------------------------------- */

/* Under the lock. */
static void put(tl_keep *k, int64_t number, const tl_separator *model, double score)
{
    tl_separator of = *model; /* whose arrays are only read */
    head h;
    memset(&h, 0, sizeof h); /* the gaps between its fields, too */
    h.score = score;
    h.C = model->info.C;
    h.M = of.M;
    h.K = of.K;
    h.opens = of.opens;
    h.spectral = of.Phi == NULL;
    memcpy(&h.info, &model->info, sizeof h.info);
    tl_bytes count = {.mode = TL_BYTES_COUNT};
    tl_bytes_pass(&count, &h, sizeof h);
    pass_arrays(&count, &of);
    tl_bytes b = {.mode = TL_BYTES_WRITE,
                  .at = tl_store_renew(&k->store, number, count.size),
                  .capacity = count.size};
    if (b.at == NULL)
        return;
    tl_bytes_pass(&b, &h, sizeof h);
    pass_arrays(&b, &of);
    if (tl_store_is_time(&k->store))
        tl_store_save(&k->store);
}

void tl_keep_put(tl_keep *k, int64_t number, const tl_separator *model, double score)
{
    if (k == NULL || number >= MOST)
        return;
    pthread_mutex_lock(&k->lock);
    if (k->store.keeping.save != NULL)
        put(k, number, model, score);
    pthread_mutex_unlock(&k->lock);
}

void tl_keep_drop(tl_keep *k, int64_t number)
{
    if (k == NULL || number < 0 || number >= MOST || k->store.item[number].size <= sizeof(head))
        return;
    tl_item *item = &k->store.item[number];
    head h;
    memcpy(&h, item->bytes, sizeof h);
    h.M = h.K = h.opens = 0;
    memcpy(item->bytes, &h, sizeof h); /* which is at most as long */
    item->size = sizeof h;
}

void tl_keep_put_notes(tl_keep *k, const tl_notes *notes)
{
    if (k == NULL)
        return;
    tl_notes of = *notes;
    tl_bytes count = {.mode = TL_BYTES_COUNT};
    pass_notes(&count, &of);
    pthread_mutex_lock(&k->lock);
    tl_bytes b = {.mode = TL_BYTES_WRITE,
                  .at = tl_store_renew(&k->store, NOTES, count.size),
                  .capacity = count.size};
    if (b.at != NULL)
        pass_notes(&b, &of);
    pthread_mutex_unlock(&k->lock);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Whether a model of these sizes fills so many bytes: checked before anything is allocated. */
static bool is_possible(const head *h, size_t bytes)
{
    const int64_t long_frame = 1 << 24, many = 1 << 20;
    if (h->M < 1 || h->M > long_frame || h->K < 1 || h->K > many || h->opens < 0 ||
        h->opens > many || h->M != h->info.frames.M)
        return false;
    int64_t rows = h->spectral ? h->M / 2 + 1 : h->M;
    double Phi = h->spectral ? 0.0 : (double)h->M * (double)h->M;
    double numbers = Phi + ((double)rows + 2.0) * (double)h->K;
    return (double)bytes == sizeof *h + 8.0 * numbers + (double)h->opens * sizeof(tl_span);
}

static bool is_model(const tl_separator *s)
{
    for (int64_t i = 0; s->Phi != NULL && i < s->M * s->M; i++)
        if (!isfinite(s->Phi[i]))
            return false;
    for (int64_t i = 0; i < s->rows * s->K; i++)
        if (!(s->W[i] >= 0.0 && isfinite(s->W[i])))
            return false;
    for (int64_t k = 0; k < s->K; k++)
        if (s->owner[k] < 0 || s->owner[k] >= s->info.sources)
            return false;
    return s->info.basis >= TL_BASIS_DCT && s->info.basis <= TL_BASIS_STFT &&
           s->info.eps >= 1e-300 && s->info.eps <= 1e300;
}

static tlnmf_error read_model(const tl_store *store, const head *h, tl_bytes *b, tl_separator **out)
{
    tlnmf_ctx *ctx = store->ctx;
    if (tl_separator_check_sources(ctx, &h->info, 0) != TLNMF_OK ||
        tl_frames_check(ctx, &h->info.frames) != TLNMF_OK)
        return tl_store_damaged(store);
    TRY(tl_separator_new(
        ctx,
        &(tl_separator_shape){.M = h->M, .K = h->K, .opens = h->opens, .spectral = h->spectral},
        out));
    (*out)->info = h->info;
    pass_arrays(b, *out);
    if (!b->bad && is_model(*out))
        return TLNMF_OK;
    tl_separator_free(*out);
    *out = NULL;
    return tl_store_damaged(store);
}

tlnmf_error tl_keep_take(tl_keep *k, int64_t number, tl_kept *out, bool *found)
{
    *out = (tl_kept){NULL, NAN, NAN};
    *found = k != NULL && number < MOST && k->store.item[number].bytes != NULL;
    if (!*found)
        return TLNMF_OK;
    const tl_item *kept = &k->store.item[number];
    tl_bytes b = {.mode = TL_BYTES_READ, .at = kept->bytes, .capacity = kept->size};
    head h;
    tl_bytes_pass(&b, &h, sizeof h);
    if (b.bad || !(h.M == 0 ? kept->size == sizeof h : is_possible(&h, kept->size)))
        return tl_store_damaged(&k->store);
    out->score = h.score;
    out->C = h.C;
    return h.M == 0 ? TLNMF_OK : read_model(&k->store, &h, &b, &out->model);
}

tlnmf_error tl_keep_take_notes(tl_keep *k, tl_notes *notes, bool *found)
{
    *found = k != NULL && k->store.item[NOTES].bytes != NULL;
    if (!*found)
        return TLNMF_OK;
    const tl_item *kept = &k->store.item[NOTES];
    size_t rest = kept->size >= 16 ? kept->size - 16 : 1;
    if (rest % sizeof *notes->note != 0)
        return tl_store_damaged(&k->store);
    int64_t count = (int64_t)(rest / sizeof *notes->note);
    tl_slot table[] = {TL_SLOT(notes->note, count)};
    TRY(TL_ARENA(k->store.ctx, "the notes", table, &notes->memory));
    notes->hooks = k->store.hooks;
    notes->count = count;
    tl_bytes b = {.mode = TL_BYTES_READ, .at = kept->bytes, .capacity = kept->size};
    pass_notes(&b, notes);
    for (int64_t i = 0; i < count; i++) {
        const tl_note *note = &notes->note[i];
        if (note->source < 0 || note->source >= TL_SOURCES_MAX || note->shift < -TL_SEMITONES ||
            note->shift > TL_SEMITONES)
            return tl_store_damaged(&k->store);
    }
    return TLNMF_OK;
}

/* ---- create and free ------------------------------------------------------------------------- */

tlnmf_error tl_keep_create(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *settings,
                           tl_keep **out)
{
    void *memory;
    tl_keep *k;
    *out = NULL;
    if (ctx->keeping.save == NULL && ctx->keeping.resume == NULL)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(k, 1)};
    TRY(TL_ARENA(ctx, "what is kept of candidates", table, &memory));
    tl_store_init(ctx, "candidates", &k->store);
    pthread_mutex_init(&k->lock, NULL);
    /* Now: other threads save, but this one alone may read the sound. */
    tlnmf_error error =
        tl_store_identify(&k->store, &sound->sound, sound->span, sound->span_count, settings);
    if (error == TLNMF_OK)
        error = tl_store_load(&k->store);
    if (error != TLNMF_OK)
        tl_keep_free(k);
    else
        *out = k;
    return error;
}

void tl_keep_save(tl_keep *k)
{
    if (k != NULL)
        tl_store_save(&k->store);
}

void tl_keep_free(tl_keep *k)
{
    if (k == NULL)
        return;
    tl_hooks hooks = k->store.hooks;
    tl_store_free(&k->store);
    pthread_mutex_destroy(&k->lock);
    tl_release(&hooks, k);
}
