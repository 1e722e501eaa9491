/* What is finished of a long call, kept in checkpoints item by item: candidates (keep.c) and blocks
 * of stems (blocks.c). Callers see to it that one thread at a time uses a store. */
#ifndef TLNMF_SEPARATE_STORE_H
#define TLNMF_SEPARATE_STORE_H

#include "separate/sound.h"

enum { TL_STORE_ITEMS = 65 };

/* Bytes; whole words when they are saved. */
typedef struct tl_item {
    unsigned char *bytes; /* NULL: there are none */
    size_t size, capacity;
} tl_item;

typedef struct tl_store {
    tlnmf_ctx *ctx;
    tl_hooks hooks;
    tl_keeping keeping;
    const char *kind;       /* "candidates" or "stems": which calls go on from it */
    tlnmf_record *identity; /* what it is of */
    tl_item item[TL_STORE_ITEMS];
    bool changed;         /* since the last checkpoint */
    double written, cost; /* when the last one was, and how many seconds it took */
} tl_store;

void tl_store_init(tlnmf_ctx *ctx, const char *kind, tl_store *store);
void tl_store_free(tl_store *store);

/* Makes the identity: version, options, samples and labels of the sound. It reads the sound. */
tlnmf_error tl_store_identify(tl_store *store, const tl_sound *sound, const tl_span *spans,
                              int64_t span_count, const tl_settings *settings);
/* Takes the items of the state to go on from, if there is one. TLNMF_ERR_DATA if the state has
 * another identity; the message names the field. */
tlnmf_error tl_store_load(tl_store *store);
tlnmf_error tl_store_damaged(const tl_store *store);

/* Memory for an item of so many bytes; NULL, with a warning, if there is none. */
unsigned char *tl_store_renew(tl_store *store, int64_t number, size_t size);
/* Memory for `size` bytes more at the end of an item; NULL if there is none. Threads may call it
 * for different items at the same time; `changed` is theirs to set. */
unsigned char *tl_store_extend(tl_store *store, int64_t number, size_t size);
void tl_store_forget(tl_store *store, int64_t number);

/* A checkpoint of all items, if there is anything new. What goes wrong is said in the log. */
void tl_store_save(tl_store *store);
/* Whether the last one was long enough ago. */
bool tl_store_is_time(const tl_store *store);

#endif
