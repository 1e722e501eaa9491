/* Items in checkpoints: what they are of, when they are saved, and how they are loaded. */
#include "separate/store.h"
#include "base/record.h"
#include "search/identity.h"
#include "separate/separate.h"

#include <math.h>
#include <stdio.h>

enum { FORMAT = 2, NAME = 32 };

/* Saving takes at most this part of the time, as in src/search/checkpoint.c. */
static const double SHARE = 0.01;

void tl_store_init(tlnmf_ctx *ctx, const char *kind, tl_store *store)
{
    *store = (tl_store){.ctx = ctx,
                        .hooks = ctx->hooks,
                        .keeping = ctx->keeping,
                        .kind = kind,
                        .written = tl_wall_seconds()};
}

void tl_store_free(tl_store *store)
{
    for (int i = 0; i < TL_STORE_ITEMS; i++)
        tl_store_forget(store, i);
    tlnmf_record_free(store->identity);
}

/* ---- items ----------------------------------------------------------------------------------- */

static const char *name_of(int i, char name[NAME])
{
    snprintf(name, NAME, "item.%d", i);
    return name;
}

void tl_store_forget(tl_store *store, int64_t number)
{
    tl_release(&store->hooks, store->item[number].bytes);
    store->item[number] = (tl_item){NULL, 0, 0};
}

/* Memory for `capacity` bytes, into which those that are there move. */
static bool enlarge(tl_store *store, tl_item *item, size_t capacity)
{
    unsigned char *bytes = tl_allocate(&store->hooks, capacity);
    if (bytes == NULL)
        return false;
    if (item->size > 0)
        memcpy(bytes, item->bytes, item->size);
    tl_release(&store->hooks, item->bytes);
    item->bytes = bytes;
    item->capacity = capacity;
    return true;
}

unsigned char *tl_store_extend(tl_store *store, int64_t number, size_t size)
{
    tl_item *item = &store->item[number];
    size_t needed = item->size + size;
    bool empty = item->bytes == NULL;
    if (needed > item->capacity &&
        !enlarge(store, item, empty ? needed : needed + item->capacity / 2))
        return NULL;
    item->size = needed;
    return item->bytes + needed - size;
}

unsigned char *tl_store_renew(tl_store *store, int64_t number, size_t size)
{
    tl_store_forget(store, number);
    store->changed = true;
    unsigned char *bytes = tl_store_extend(store, number, size);
    if (bytes == NULL)
        tl_log(store->ctx, TLNMF_LOG_WARNING, "no memory to keep %s", store->kind);
    return bytes;
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

tlnmf_error tl_store_identify(tl_store *store, const tl_sound *sound, const tl_span *spans,
                              int64_t span_count, const tl_settings *settings)
{
    tlnmf_ctx *ctx = store->ctx;
    uint64_t labels = TL_IDENTITY_SEED, samples = TL_IDENTITY_SEED;
    for (int64_t i = 0; i < span_count; i++)
        labels = tl_identity_hash(labels, &spans[i], sizeof spans[i] / 8);
    TRY(hash_sound(ctx, sound, &samples));
    TRY(tlnmf_record_create(ctx, &store->identity));
    TRY(tlnmf_set_text(ctx, store->identity, "kind", store->kind));
    TRY(tlnmf_set_integer(ctx, store->identity, "format", FORMAT));
    TRY(tlnmf_set_text(ctx, store->identity, "version", TLNMF_VERSION));
    TRY(tl_identity_put_options(ctx, settings, store->identity));
    TRY(tlnmf_set_integer(ctx, store->identity, "labels", (int64_t)labels));
    TRY(tlnmf_set_integer(ctx, store->identity, "length", sound->length));
    TRY(tlnmf_set_integer(ctx, store->identity, "channels", sound->channels));
    return tlnmf_set_integer(ctx, store->identity, "data", (int64_t)samples);
}

tlnmf_error tl_store_load(tl_store *store)
{
    const tlnmf_record *from = store->keeping.resume;
    char name[NAME];
    if (from == NULL)
        return TLNMF_OK;
    TRY(tl_identity_compare(store->ctx, store->identity, from));
    for (int i = 0; i < TL_STORE_ITEMS; i++) {
        int64_t shape[TLNMF_MAX_RANK];
        int32_t rank;
        const double *x = tlnmf_get_array(from, name_of(i, name), &rank, shape);
        if (x == NULL || rank != 1 || shape[0] == 0)
            continue;
        unsigned char *bytes = tl_store_renew(store, i, (size_t)shape[0] * sizeof *x);
        if (bytes != NULL)
            memcpy(bytes, x, (size_t)shape[0] * sizeof *x);
    }
    return TLNMF_OK;
}

tlnmf_error tl_store_damaged(const tl_store *store)
{
    return tl_fail(store->ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
}

/* ---- saving ---------------------------------------------------------------------------------- */

static tlnmf_error fill(const tl_store *store, tlnmf_record *record)
{
    char name[NAME];
    TRY(tl_identity_copy(store->ctx, store->identity, record));
    for (int i = 0; i < TL_STORE_ITEMS; i++) {
        int64_t words = (int64_t)(store->item[i].size / 8);
        if (words > 0)
            TRY(tl_record_refer_array(store->ctx, record, name_of(i, name),
                                      (const double *)(const void *)store->item[i].bytes, 1,
                                      &words));
    }
    return TLNMF_OK;
}

void tl_store_save(tl_store *store)
{
    tlnmf_record *record = NULL;
    double since = tl_wall_seconds();
    if (store->keeping.save == NULL || !store->changed)
        return;
    tlnmf_error error = tlnmf_record_create(store->ctx, &record);
    if (error == TLNMF_OK)
        error = fill(store, record);
    if (error != TLNMF_OK)
        tl_log(store->ctx, TLNMF_LOG_WARNING, "no checkpoint: %s", tlnmf_message(store->ctx));
    else if (store->keeping.save(record, store->keeping.user) != 0)
        store->keeping.save = NULL;
    tlnmf_record_free(record);
    store->changed = false;
    store->written = tl_wall_seconds();
    store->cost = store->written - since;
}

bool tl_store_is_time(const tl_store *store)
{
    double seconds = store->keeping.seconds;
    double wait = seconds > 0.0 ? fmax(seconds, store->cost / SHARE) : 0.0;
    return tl_wall_seconds() >= store->written + wait;
}
