/* Finished blocks of stems in checkpoints: a list of numbers of H for each lane. */
#include "separate/blocks.h"
#include "search/identity.h"
#include "separate/store.h"

#include <math.h>

/* A lane's way through its list; each lane has its own, so that lanes need no lock. */
typedef struct reader {
    size_t at;   /* bytes that are taken */
    bool put;    /* something was added since the last checkpoint */
    bool closed; /* there was no memory: what comes later is not kept */
} reader;

struct tl_blocks {
    tl_blocks_of of;
    reader reader[TL_MEMBERS_MAX];
    tl_store store;
};

/* ---- what they are of ------------------------------------------------------------------------ */

static uint64_t hash_member(uint64_t h, const tl_separator *s)
{
    const tl_frames *f = &s->info.frames;
    const double numbers[] = {(double)f->M,      (double)f->hop, (double)f->shifts,
                              (double)f->window, f->taper,       f->beta,
                              s->info.eps,       (double)s->K,   (double)s->info.basis};
    h = tl_identity_hash(h, numbers, sizeof numbers / sizeof *numbers);
    if (s->Phi != NULL)
        h = tl_identity_hash(h, s->Phi, s->M * s->M);
    h = tl_identity_hash(h, s->W, s->rows * s->K);
    h = tl_identity_hash(h, s->owner, s->K);
    h = tl_identity_hash(h, s->gate, s->K);
    return tl_identity_hash(h, s->open, s->opens * (int64_t)(sizeof *s->open / 8));
}

/* It reads the whole sound: not before there is something to save. */
static tlnmf_error identify(tl_blocks *b)
{
    const tl_blend *blend = b->of.blend;
    const tl_separate_run *run = b->of.run;
    uint64_t model = TL_IDENTITY_SEED;
    TRY(tl_store_identify(&b->store, b->of.sound, run->spans, run->span_count, b->of.settings));
    for (int64_t i = 0; i < blend->members; i++)
        model = hash_member(tl_identity_hash(model, &blend->weight[i], 1), blend->member[i]);
    return tlnmf_set_integer(b->store.ctx, b->store.identity, "model", (int64_t)model);
}

static bool is_H(const tl_item *item)
{
    for (size_t i = 0; i < item->size; i += sizeof(double)) {
        double x;
        memcpy(&x, item->bytes + i, sizeof x);
        if (!(x >= 0.0 && isfinite(x)))
            return false;
    }
    return true;
}

static tlnmf_error load(tl_blocks *b)
{
    if (b->store.keeping.resume == NULL)
        return TLNMF_OK;
    TRY(identify(b));
    TRY(tl_store_load(&b->store));
    for (int i = 0; i < TL_MEMBERS_MAX; i++)
        if (!is_H(&b->store.item[i]))
            return tl_store_damaged(&b->store);
    return TLNMF_OK;
}

tlnmf_error tl_blocks_create(tlnmf_ctx *ctx, const tl_blocks_of *of, tl_blocks **out)
{
    void *memory;
    tl_blocks *b;
    *out = NULL;
    if (ctx->keeping.save == NULL && ctx->keeping.resume == NULL)
        return TLNMF_OK;
    tl_slot table[] = {TL_SLOT(b, 1)};
    TRY(TL_ARENA(ctx, "what is kept of the blocks", table, &memory));
    b->of = *of;
    tl_store_init(ctx, "stems", &b->store);
    tlnmf_error error = load(b);
    if (error != TLNMF_OK)
        tl_blocks_free(b);
    else
        *out = b;
    return error;
}

void tl_blocks_free(tl_blocks *b)
{
    if (b == NULL)
        return;
    tl_hooks hooks = b->store.hooks;
    tl_store_free(&b->store);
    tl_release(&hooks, b);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static size_t bytes_of(int64_t numbers, const bool *may_sound)
{
    size_t count = 0;
    for (int64_t i = 0; i < numbers; i++)
        count += may_sound[i];
    return count * sizeof(double);
}

bool tl_blocks_take(tl_blocks *b, int64_t lane, int64_t numbers, const bool *may_sound, double *H)
{
    if (b == NULL)
        return false;
    tl_item *item = &b->store.item[lane];
    reader *r = &b->reader[lane];
    size_t needed = bytes_of(numbers, may_sound);
    if (item->size - r->at < needed) { /* the rest, if there is one, is no whole block */
        item->size = r->at;
        return false;
    }
    for (int64_t i = 0; i < numbers; i++) {
        H[i] = 0.0;
        if (!may_sound[i])
            continue;
        memcpy(&H[i], item->bytes + r->at, sizeof H[i]);
        r->at += sizeof H[i];
    }
    return true;
}

void tl_blocks_put(tl_blocks *b, int64_t lane, int64_t numbers, const bool *may_sound,
                   const double *H)
{
    if (b == NULL || b->store.keeping.save == NULL || b->reader[lane].closed)
        return;
    reader *r = &b->reader[lane];
    size_t size = bytes_of(numbers, may_sound);
    unsigned char *to = tl_store_extend(&b->store, lane, size);
    r->closed = to == NULL;
    if (r->closed)
        return;
    r->put = true;
    r->at += size;
    for (int64_t i = 0; i < numbers; i++)
        if (may_sound[i]) {
            memcpy(to, &H[i], sizeof H[i]);
            to += sizeof H[i];
        }
}

/* ---- saving ---------------------------------------------------------------------------------- */

void tl_blocks_save(tl_blocks *b, bool at_once)
{
    if (b == NULL || b->store.keeping.save == NULL)
        return;
    tl_store *store = &b->store;
    for (int i = 0; i < TL_MEMBERS_MAX; i++) {
        store->changed = store->changed || b->reader[i].put;
        b->reader[i].put = false;
    }
    if (!at_once && !tl_store_is_time(store))
        return;
    if (store->identity == NULL && identify(b) != TLNMF_OK) {
        tl_log(store->ctx, TLNMF_LOG_WARNING, "no checkpoint: %s", tlnmf_message(store->ctx));
        store->keeping.save = NULL;
    }
    tl_store_save(store);
}
