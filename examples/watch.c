/* Progress, cancelling, a model as bytes, and a custom allocator, as a program with a user
 * interface or a memory limit needs them. */
#include <tlnmf/paper.h>
#include <tlnmf/tlnmf.h>

#include <stdio.h>
#include <stdlib.h>

/* Counts the memory that the library holds. */
typedef struct budget {
    size_t blocks;
} budget;

static void *take(size_t bytes, void *user)
{
    void *block = malloc(bytes);
    ((budget *)user)->blocks += block != NULL;
    return block;
}

static void give(void *block, void *user)
{
    ((budget *)user)->blocks--;
    free(block);
}

/* Prints every tenth iteration and stops the run at the fiftieth. */
static int watch(const tlnmf_record *progress, void *user)
{
    long long iteration = (long long)tlnmf_record_get_integer(progress, "iteration");
    (void)user;
    if (tlnmf_record_get_integer(progress, "complete") == 0)
        return 0; /* called inside an iteration */
    if (iteration % 10 == 0)
        printf("iteration %3lld of %lld: C = %.4f\n", iteration,
               (long long)tlnmf_record_get_integer(progress, "iterations"),
               tlnmf_record_get_real(progress, "C"));
    return iteration >= 50;
}

static tlnmf_error make_data(tlnmf_ctx *ctx, tlnmf_data **data)
{
    tlnmf_settings *settings = NULL;
    tlnmf_record *sample = NULL;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    *data = NULL;
    tlnmf_error error = tlnmf_settings_create(ctx, "gcm", &settings);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_all(ctx, settings, "m=12 n=40 kbar=3 seed-truth=1 seed-data=2");
    if (error == TLNMF_OK)
        error = tlnmf_simulate_gcm(ctx, settings, &sample);
    if (error == TLNMF_OK) {
        const double *Y = tlnmf_record_get_array(sample, "Y", NULL, shape);
        error = tlnmf_data_from_realisations(ctx, Y, shape, data);
    }
    tlnmf_record_free(sample);
    tlnmf_settings_free(settings);
    return error;
}

/* Converts the model to bytes, which can be stored or sent, and back. */
static tlnmf_error keep(tlnmf_ctx *ctx, const tlnmf_record *model)
{
    size_t size = 0;
    tlnmf_record *again = NULL;
    tlnmf_error error = tlnmf_record_pack(ctx, model, NULL, &size);
    void *bytes = malloc(size);
    if (bytes == NULL)
        return TLNMF_ERR_MEMORY;
    if (error == TLNMF_OK)
        error = tlnmf_record_pack(ctx, model, bytes, &size);
    if (error == TLNMF_OK)
        error = tlnmf_record_unpack(ctx, bytes, size, &again);
    if (error == TLNMF_OK)
        printf("%zu values in %zu bytes\n", tlnmf_record_count(again), size);
    tlnmf_record_free(again);
    free(bytes);
    return error;
}

int main(void)
{
    budget used = {0};
    tlnmf_ctx *ctx = NULL;
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    tlnmf_record *model = NULL;
    if (tlnmf_ctx_create_with(take, give, &used, &ctx) != TLNMF_OK)
        return 1;
    tlnmf_ctx_set_progress(ctx, watch, NULL);
    tlnmf_error error = make_data(ctx, &data);
    if (error == TLNMF_OK)
        error = tlnmf_settings_create(ctx, "fit", &settings);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_all(ctx, settings, "k=3 method=tl J=1000 threads=1");
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, settings, NULL, &model);
    if (error == TLNMF_OK) {
        printf("stopped by: %s; the last C is %.4f\n", tlnmf_record_get_text(model, "outcome"),
               tlnmf_record_get_real(model, "C"));
        error = keep(ctx, model);
    }
    if (error != TLNMF_OK)
        fprintf(stderr, "%s\n", tlnmf_message(ctx));
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    printf("blocks still held: %zu\n", used.blocks);
    return error != TLNMF_OK || used.blocks != 0;
}
