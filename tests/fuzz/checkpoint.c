/* Checkpoints: whatever a state contains, a fit that resumes from it ends with an error or a model.
 */
#include "tlnmf/tlnmf.h"

#include "fuzz.h"

#include <math.h>
#include <string.h>

enum { M = 3, N = 5, MOST = 4 };

/* The states of a small fit, packed. */
typedef struct states {
    tlnmf_ctx *ctx;
    unsigned char *bytes[MOST];
    size_t size[MOST];
    int calls;
} states;

static int save(const tlnmf_record *state, void *user)
{
    states *s = user;
    int place = s->calls++ / 3; /* a few states from all parts of the fit */
    if (place >= MOST || s->bytes[place] != NULL)
        return 0;
    FUZZ_CHECK(tlnmf_record_pack(s->ctx, state, NULL, &s->size[place]) == TLNMF_OK);
    s->bytes[place] = malloc(s->size[place]);
    FUZZ_CHECK(s->bytes[place] != NULL);
    return tlnmf_record_pack(s->ctx, state, s->bytes[place], &s->size[place]) != TLNMF_OK;
}

/* A fit of two starts with hops, which resumes from `state` and is saved by `keeper`; both may be
 * NULL. */
static void fit(tlnmf_ctx *ctx, const tlnmf_record *state, states *keeper)
{
    double Y[M * N];
    tlnmf_data *data;
    tlnmf_settings *settings;
    tlnmf_record *model;
    for (int i = 0; i < M * N; i++)
        Y[i] = sin(1.7 * i * i);
    FUZZ_CHECK(tlnmf_data_from_realisations(ctx, Y, (int64_t[]){1, M, N}, &data) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_settings_create(ctx, "fit", &settings) == TLNMF_OK);
    tlnmf_settings_set_text(ctx, settings, "method", "tl");
    tlnmf_settings_set_integer(ctx, settings, "k", 2);
    tlnmf_settings_set_integer(ctx, settings, "J", 25);
    tlnmf_settings_set_integer(ctx, settings, "starts", 2);
    tlnmf_settings_set_integer(ctx, settings, "hops", 1);
    tlnmf_settings_set_integer(ctx, settings, "threads", 1);
    tlnmf_ctx_set_iterate_after(ctx, 0.0);
    tlnmf_ctx_set_checkpoint(ctx, 0.0, keeper != NULL ? save : NULL, keeper);
    tlnmf_ctx_set_resume(ctx, state);
    tlnmf_error error = tlnmf_fit(ctx, data, settings, NULL, &model);
    FUZZ_CHECK((error == TLNMF_OK) == (model != NULL));
    FUZZ_CHECK(error == TLNMF_OK || tlnmf_message(ctx)[0] != '\0');
    FUZZ_CHECK(model == NULL || isfinite(tlnmf_record_get_real(model, "C")));
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_ctx *ctx;
    tlnmf_record *state = NULL;
    uint8_t *copy = malloc(size + 1);
    FUZZ_CHECK(copy != NULL && tlnmf_ctx_create(&ctx) == TLNMF_OK);
    memcpy(copy, bytes, size);
    fuzz_mend(copy, size);
    if (tlnmf_record_unpack(ctx, copy, size, &state) == TLNMF_OK) {
        tlnmf_record *all; /* as if two processes had saved it */
        FUZZ_CHECK(tlnmf_record_create(ctx, &all) == TLNMF_OK);
        tlnmf_error error = TLNMF_OK;
        for (int process = 0; process < 2 && error == TLNMF_OK; process++)
            error = tlnmf_join_states(ctx, all, state);
        fit(ctx, error == TLNMF_OK ? all : state, NULL);
        tlnmf_record_free(all);
    }
    tlnmf_record_free(state);
    free(copy);
    tlnmf_ctx_free(ctx);
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    states s = {0};
    tlnmf_ctx *ctx;
    if (number >= MOST)
        return false;
    FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK && tlnmf_ctx_create(&s.ctx) == TLNMF_OK);
    fit(ctx, NULL, &s);
    FUZZ_CHECK(s.bytes[number] != NULL);
    fuzz_put(path, s.bytes[number], s.size[number]);
    for (int i = 0; i < MOST; i++)
        free(s.bytes[i]);
    tlnmf_ctx_free(s.ctx);
    tlnmf_ctx_free(ctx);
    return true;
}
