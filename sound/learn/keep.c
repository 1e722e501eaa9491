/* Finished candidates in checkpoints: the array "learn.N" has the info of candidate N, the arrays
 * "learn.N.W", .. its model. */
#include "sound/learn/keep.h"
#include "base/monitor.h"
#include "base/record.h"
#include "linalg/linalg.h"
#include "sound/model/separation_model.h"

#include <stdio.h>

enum { NAME = 32, WORD = sizeof(double), INFO = sizeof(tl_separator_info) / WORD };

static const char *name_of(int64_t number, const char *what, char name[NAME])
{
    snprintf(name, NAME, "learn.%lld%s", (long long)number, what);
    return name;
}

/* The model comes first: a candidate is finished if "learn.N" is there. */
static tlnmf_error put(tl_units *u, int64_t number, const tl_separator *model, double score)
{
    char name[NAME];
    double *x;
    tl_separator_info info = model->info;
    info.score = score;
    TRY(tl_separator_to_record(&u->ctx, model, name_of(number, "", name), u->record));
    if (info.method != TL_METHOD_NMF) /* Q does not give the same bits */
        TRY(tlnmf_record_set_array(&u->ctx, u->record, name_of(number, ".Phi", name), model->Phi, 2,
                                   (int64_t[]){model->M, model->M}));
    TRY(tl_record_new_array(&u->ctx, u->record, name_of(number, "", name), 1, (int64_t[]){INFO},
                            &x));
    memcpy(x, &info, sizeof info);
    return TLNMF_OK;
}

void tl_keep_put(tl_units *u, int64_t number, const tl_separator *model, double score)
{
    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    if (put(u, number, model, score) == TLNMF_OK)
        u->changed = true;
    else
        tl_log(&u->ctx, TLNMF_LOG_WARNING, "no checkpoint: %s", tlnmf_message(&u->ctx));
    pthread_mutex_unlock(&u->lock);
    tl_units_save(u, false);
}

void tl_keep_drop(tl_units *u, int64_t number)
{
    char name[NAME];
    if (u != NULL)
        tl_units_drop(u, name_of(number, "", name));
}

/* ---- taking ---------------------------------------------------------------------------------- */

static tlnmf_error take_model(tl_units *u, int64_t number, const tl_separator_info *info,
                              tl_separator **out)
{
    char name[NAME];
    const double *Phi;
    int64_t M = info->frames.M;
    TRY(tl_separator_check_sources(&u->ctx, info, 0));
    TRY(tl_separator_from_record(&u->ctx, u->record, name_of(number, "", name), info, out));
    (*out)->info = *info;
    TRY(tl_record_expect(&u->ctx, u->record, "the checkpoint", name_of(number, ".Phi", name), 2,
                         (int64_t[]){M, M}, &Phi));
    if (Phi == NULL || (*out)->Phi == NULL)
        return TLNMF_OK;
    tl_copy((*out)->Phi, Phi, M * M);
    return tl_check_orthogonal(&u->ctx, "Phi", M, Phi);
}

tlnmf_error tl_keep_take(tl_units *u, int64_t number, tl_separator_info *info, tl_separator **model,
                         bool *found)
{
    char name[NAME];
    int64_t shape[TLNMF_MAX_DIMENSIONS] = {0};
    const double *x = NULL;
    if (u != NULL)
        x = tlnmf_record_get_array(u->record, name_of(number, "", name), NULL, shape);
    *model = NULL;
    *found = x != NULL && shape[0] == INFO;
    if (!*found)
        return TLNMF_OK;
    memcpy(info, x, sizeof *info);
    if (!tlnmf_record_has(u->record, name_of(number, ".W", name)))
        return TLNMF_OK;
    tlnmf_error error = take_model(u, number, info, model);
    if (error == TLNMF_OK)
        return TLNMF_OK;
    tl_separator_free(*model);
    *model = NULL;
    return error == TLNMF_ERR_MEMORY
               ? error
               : tl_fail(&u->ctx, TLNMF_ERR_DATA, "the checkpoint is damaged");
}

/* ---- identity -------------------------------------------------------------------------------- */

/* All samples, in pieces, until a stop. */
static tlnmf_error hash_sound(tlnmf_ctx *ctx, const tl_sound *sound, uint64_t *h)
{
    const int64_t each = 8192;
    tl_stretch piece = {.channels = sound->channels};
    void *memory;
    tl_slot table[] = {TL_SLOT(piece.x, each * sound->channels)};
    TRY(TL_ARENA(ctx, "a piece of sound", table, &memory));
    tlnmf_error error = TLNMF_OK;
    for (; error == TLNMF_OK && piece.first < sound->length && !tl_poll(ctx->monitor);
         piece.first += each) {
        piece.length = tl_min(each, sound->length - piece.first);
        error = tl_sound_read(ctx, sound, &piece);
        if (error == TLNMF_OK)
            *h = tl_hash(*h, piece.x, piece.length * sound->channels);
    }
    tl_release(&ctx->hooks, memory);
    return error;
}

tlnmf_error tl_keep_create(tlnmf_ctx *ctx, const tlnmf_sound *sound, const tl_settings *settings,
                           tl_units **out)
{
    char words[128];
    uint64_t h = TL_HASH_SEED;
    TRY(tl_units_create(ctx, NULL, NULL, out));
    if (*out == NULL)
        return TLNMF_OK;
    for (int64_t i = 0; i < sound->span_count; i++) {
        tl_span span = sound->span[i];
        span.line = 0; /* it changes nothing that is learnt */
        h = tl_hash(h, &span, sizeof span / WORD);
    }
    snprintf(words, sizeof words, "length=%lld channels=%lld", (long long)sound->sound.length,
             (long long)sound->sound.channels);
    tlnmf_error error = hash_sound(ctx, &sound->sound, &h);
    bool stopped = tl_poll(ctx->monitor); /* the hash may be incomplete */
    if (error == TLNMF_OK && !stopped)
        error = tl_units_begin(ctx, *out, "learn", settings, words, h);
    if (error != TLNMF_OK || stopped) {
        tl_units_free(*out);
        *out = NULL;
    }
    return error;
}
