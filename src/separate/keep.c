/* Finished candidates in checkpoints: what is saved when, and how it is taken again. */
#include "separate/keep.h"
#include "base/bytes.h"
#include "base/record.h"
#include "search/identity.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { MOST = 64, NOTES = MOST, ITEMS, NAME = 32 };

/* Bytes of a candidate, or of the notes; whole words. */
typedef struct item {
    unsigned char *bytes; /* NULL: there is none */
    size_t size;
} item;

struct tl_keep {
    tlnmf_ctx *ctx;
    tl_hooks hooks;
    tl_keeping keeping;
    tlnmf_record *identity;
    item item[ITEMS];
    pthread_mutex_t lock; /* of the items, and of saving */
    bool changed;         /* since the last checkpoint */
    double written;
};

static const char *name_of(int i, char name[NAME])
{
    if (i == NOTES)
        return "notes";
    snprintf(name, NAME, "candidate.%d", i);
    return name;
}

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

static void forget(tl_keep *k, int64_t number)
{
    tl_release(&k->hooks, k->item[number].bytes);
    k->item[number] = (item){NULL, 0};
}

/* Memory for an item; NULL, with a warning, if there is none. */
static unsigned char *renew(tl_keep *k, int64_t number, size_t size)
{
    forget(k, number);
    unsigned char *bytes = tl_allocate(&k->hooks, size);
    if (bytes == NULL)
        tl_log(k->ctx, TLNMF_LOG_WARNING, "no memory to keep a candidate");
    else
        k->item[number] = (item){bytes, size};
    k->changed = true;
    return bytes;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static tlnmf_error fill(const tl_keep *k, tlnmf_record *record)
{
    const char *field;
    char name[NAME];
    for (size_t i = 0; (field = tlnmf_record_name(k->identity, i)) != NULL; i++) {
        const char *text = tlnmf_get_text(k->identity, field);
        TRY(text != NULL
                ? tlnmf_set_text(k->ctx, record, field, text)
                : tlnmf_set_integer(k->ctx, record, field, tlnmf_get_integer(k->identity, field)));
    }
    for (int i = 0; i < ITEMS; i++) {
        int64_t words = (int64_t)(k->item[i].size / 8);
        if (words > 0)
            TRY(tl_record_refer_array(k->ctx, record, name_of(i, name),
                                      (const double *)(const void *)k->item[i].bytes, 1, &words));
    }
    return TLNMF_OK;
}

void tl_keep_save(tl_keep *k)
{
    tlnmf_record *record = NULL;
    if (k == NULL || k->keeping.save == NULL || !k->changed)
        return;
    tlnmf_error error = tlnmf_record_create(k->ctx, &record);
    if (error == TLNMF_OK)
        error = fill(k, record);
    if (error != TLNMF_OK)
        tl_log(k->ctx, TLNMF_LOG_WARNING, "no checkpoint: %s", tlnmf_message(k->ctx));
    else if (k->keeping.save(record, k->keeping.user) != 0)
        k->keeping.save = NULL;
    tlnmf_record_free(record);
    k->changed = false;
    k->written = tl_wall_seconds();
}

static void save_in_time(tl_keep *k)
{
    if (tl_wall_seconds() >= k->written + k->keeping.seconds)
        tl_keep_save(k);
}

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
                  .at = renew(k, number, count.size),
                  .capacity = k->item[number].size};
    if (b.at == NULL)
        return;
    tl_bytes_pass(&b, &h, sizeof h);
    pass_arrays(&b, &of);
    save_in_time(k);
}

void tl_keep_put(tl_keep *k, int64_t number, const tl_separator *model, double score)
{
    if (k == NULL || number >= MOST)
        return;
    pthread_mutex_lock(&k->lock);
    if (k->keeping.save != NULL)
        put(k, number, model, score);
    pthread_mutex_unlock(&k->lock);
}

void tl_keep_drop(tl_keep *k, int64_t number)
{
    if (k == NULL || number < 0 || number >= MOST || k->item[number].size <= sizeof(head))
        return;
    head h;
    memcpy(&h, k->item[number].bytes, sizeof h);
    h.M = h.K = h.opens = 0;
    memcpy(k->item[number].bytes, &h, sizeof h); /* which is at most as long */
    k->item[number].size = sizeof h;
}

void tl_keep_put_notes(tl_keep *k, const tl_notes *notes)
{
    if (k == NULL)
        return;
    tl_notes of = *notes;
    tl_bytes count = {.mode = TL_BYTES_COUNT};
    pass_notes(&count, &of);
    pthread_mutex_lock(&k->lock);
    tl_bytes b = {
        .mode = TL_BYTES_WRITE, .at = renew(k, NOTES, count.size), .capacity = count.size};
    if (b.at != NULL)
        pass_notes(&b, &of);
    pthread_mutex_unlock(&k->lock);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static tlnmf_error damaged(tlnmf_ctx *ctx)
{
    return tl_fail(ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
}

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

static tlnmf_error read_model(tlnmf_ctx *ctx, const head *h, tl_bytes *b, tl_separator **out)
{
    if (tl_separator_check_sources(ctx, &h->info, 0) != TLNMF_OK ||
        tl_frames_check(ctx, &h->info.frames) != TLNMF_OK)
        return damaged(ctx);
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
    return damaged(ctx);
}

tlnmf_error tl_keep_take(tl_keep *k, int64_t number, tl_kept *out, bool *found)
{
    *out = (tl_kept){NULL, NAN, NAN};
    *found = k != NULL && number < MOST && k->item[number].bytes != NULL;
    if (!*found)
        return TLNMF_OK;
    const item *kept = &k->item[number];
    tl_bytes b = {.mode = TL_BYTES_READ, .at = kept->bytes, .capacity = kept->size};
    head h;
    tl_bytes_pass(&b, &h, sizeof h);
    if (b.bad || !(h.M == 0 ? kept->size == sizeof h : is_possible(&h, kept->size)))
        return damaged(k->ctx);
    out->score = h.score;
    out->C = h.C;
    return h.M == 0 ? TLNMF_OK : read_model(k->ctx, &h, &b, &out->model);
}

tlnmf_error tl_keep_take_notes(tl_keep *k, tl_notes *notes, bool *found)
{
    *found = k != NULL && k->item[NOTES].bytes != NULL;
    if (!*found)
        return TLNMF_OK;
    const item *kept = &k->item[NOTES];
    size_t rest = kept->size >= 16 ? kept->size - 16 : 1;
    if (rest % sizeof *notes->note != 0)
        return damaged(k->ctx);
    int64_t count = (int64_t)(rest / sizeof *notes->note);
    tl_slot table[] = {TL_SLOT(notes->note, count)};
    TRY(TL_ARENA(k->ctx, "the notes", table, &notes->memory));
    notes->hooks = k->hooks;
    notes->count = count;
    tl_bytes b = {.mode = TL_BYTES_READ, .at = kept->bytes, .capacity = kept->size};
    pass_notes(&b, notes);
    for (int64_t i = 0; i < count; i++) {
        const tl_note *note = &notes->note[i];
        if (note->source < 0 || note->source >= TL_SOURCES_MAX || note->shift < -TL_SEMITONES ||
            note->shift > TL_SEMITONES)
            return damaged(k->ctx);
    }
    return TLNMF_OK;
}

/* ---- what it is of --------------------------------------------------------------------------- */

/* All samples, in pieces. */
static tlnmf_error hash_sound(tlnmf_ctx *ctx, const tl_sound *sound, uint64_t *h)
{
    const int64_t each = 8192;
    tl_stretch piece = {.channels = sound->channels};
    void *memory;
    tl_slot table[] = {TL_SLOT(piece.x, each * sound->channels)};
    TRY(TL_ARENA(ctx, "a piece of sound", table, &memory));
    tlnmf_error error = TLNMF_OK;
    for (; error == TLNMF_OK && piece.first < sound->length; piece.first += each) {
        piece.length = tl_min(each, sound->length - piece.first);
        error = tl_sound_read(ctx, sound, &piece);
        if (error == TLNMF_OK)
            *h = tl_identity_hash(*h, piece.x, piece.length * sound->channels);
    }
    tl_release(&ctx->hooks, memory);
    return error;
}

static tlnmf_error put_identity(tl_keep *k, const tlnmf_sound *sound, const tl_settings *settings)
{
    tlnmf_ctx *ctx = k->ctx;
    uint64_t labels = TL_IDENTITY_SEED, samples = TL_IDENTITY_SEED;
    for (int64_t i = 0; i < sound->span_count; i++)
        labels = tl_identity_hash(labels, &sound->span[i], sizeof sound->span[i] / 8);
    TRY(hash_sound(ctx, &sound->sound, &samples));
    TRY(tlnmf_record_create(ctx, &k->identity));
    TRY(tlnmf_set_text(ctx, k->identity, "kind", "candidates"));
    TRY(tlnmf_set_integer(ctx, k->identity, "format", 1));
    TRY(tlnmf_set_text(ctx, k->identity, "version", TLNMF_VERSION));
    TRY(tl_identity_put_options(ctx, settings, k->identity));
    TRY(tlnmf_set_integer(ctx, k->identity, "labels", (int64_t)labels));
    TRY(tlnmf_set_integer(ctx, k->identity, "length", sound->sound.length));
    TRY(tlnmf_set_integer(ctx, k->identity, "channels", sound->sound.channels));
    return tlnmf_set_integer(ctx, k->identity, "data", (int64_t)samples);
}

/* Copies the items of the state to go on from. */
static tlnmf_error load(tl_keep *k)
{
    char name[NAME];
    TRY(tl_identity_compare(k->ctx, k->identity, k->keeping.resume));
    for (int i = 0; i < ITEMS; i++) {
        int64_t shape[TLNMF_MAX_RANK];
        int32_t rank;
        const double *x = tlnmf_get_array(k->keeping.resume, name_of(i, name), &rank, shape);
        if (x == NULL || rank != 1 || shape[0] == 0)
            continue;
        unsigned char *bytes = renew(k, i, (size_t)shape[0] * sizeof *x);
        if (bytes != NULL)
            memcpy(bytes, x, (size_t)shape[0] * sizeof *x);
    }
    return TLNMF_OK;
}

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
    k->ctx = ctx;
    k->hooks = ctx->hooks;
    k->keeping = ctx->keeping;
    k->written = tl_wall_seconds();
    pthread_mutex_init(&k->lock, NULL);
    tlnmf_error error = put_identity(k, sound, settings);
    if (error == TLNMF_OK && k->keeping.resume != NULL)
        error = load(k);
    if (error != TLNMF_OK)
        tl_keep_free(k);
    else
        *out = k;
    return error;
}

void tl_keep_free(tl_keep *k)
{
    if (k == NULL)
        return;
    tl_hooks hooks = k->hooks;
    for (int i = 0; i < ITEMS; i++)
        forget(k, i);
    tlnmf_record_free(k->identity);
    pthread_mutex_destroy(&k->lock);
    tl_release(&hooks, k);
}
