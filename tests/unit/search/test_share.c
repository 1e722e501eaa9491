/* Starts shared out over machines: the same bits as one machine at any number of them, and one
 * error for all. */
#include "machines.h"

#include <pthread.h>

enum { S = 2, M = 8, N = 20, STARTS = 5 };

/* What one machine is given, and what it has at the end. */
typedef struct part {
    const double *Y;
    const char *const *options; /* pairs of a name and a value; ends with NULL */
    int64_t stop_after;         /* iterations until the progress function stops the run; 0: never */
    int64_t allocations;        /* until there is no more memory; 0: no limit */
    tlnmf_sum sum;              /* NULL: that of machines.h */
    tlnmf_error error;
    char message[512];
    void *packed; /* the model as bytes, without its times */
    size_t size;
    int64_t seen; /* starts that the progress function was told of, as bits */
} part;

static int watch(const tlnmf_record *progress, void *user)
{
    part *p = user;
    p->seen |= (int64_t)1 << tlnmf_get_integer(progress, "start");
    return p->stop_after > 0 && tlnmf_get_integer(progress, "iteration") >= p->stop_after;
}

static void drop_times(tlnmf_ctx *ctx, tlnmf_record *model)
{
    for (size_t i = 0; i < tlnmf_record_count(model); i++) {
        const char *name = tlnmf_record_name(model, i), *end = strstr(name, "seconds");
        int64_t shape[TLNMF_MAX_RANK];
        int32_t rank;
        double *zeros;
        if (end == NULL || strcmp(end, "seconds") != 0 || strncmp(name, "option.", 7) == 0)
            continue;
        if (tlnmf_record_type(model, name) == TLNMF_REAL)
            tlnmf_set_real(ctx, model, name, 0.0);
        else if (tlnmf_get_array(model, name, &rank, shape) != NULL)
            tlnmf_new_array(ctx, model, name, rank, shape, &zeros);
    }
}

static tlnmf_error fit(tlnmf_ctx *ctx, part *p)
{
    const int64_t shape[3] = {S, M, N};
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    tlnmf_record *model = NULL;
    tlnmf_error error = tlnmf_data_from_realisations(ctx, p->Y, shape, &data);
    if (error == TLNMF_OK)
        error = tlnmf_settings_create(ctx, "fit", &settings);
    for (const char *const *o = p->options; error == TLNMF_OK && *o != NULL; o += 2)
        error = tlnmf_settings_set_text(ctx, settings, o[0], o[1]);
    tlnmf_ctx_set_progress(ctx, watch, p);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, settings, NULL, &model);
    if (error == TLNMF_OK) {
        drop_times(ctx, model);
        tlnmf_record_pack(ctx, model, NULL, &p->size);
        p->packed = malloc(p->size);
        error = tlnmf_record_pack(ctx, model, p->packed, &p->size);
    }
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    return error;
}

static void *limited(size_t bytes, void *user)
{
    part *p = user;
    return p->allocations-- > 0 ? malloc(bytes) : NULL;
}

static void release(void *block, void *user)
{
    (void)user;
    free(block);
}

static void fit_on(machine *m)
{
    part *p = m->arg;
    tlnmf_ctx *ctx;
    tlnmf_sums *sums = NULL;
    if (p->allocations > 0)
        tlnmf_ctx_create_with(limited, release, p, &ctx);
    else
        tlnmf_ctx_create(&ctx);
    p->error =
        tlnmf_sums_create(ctx, m->all->size, m->rank, p->sum != NULL ? p->sum : sum_over_machines,
                          send_to_machines, m, &sums);
    tlnmf_ctx_share_starts(ctx, sums);
    if (p->error == TLNMF_OK)
        p->error = fit(ctx, p);
    snprintf(p->message, sizeof p->message, "%s", tlnmf_message(ctx));
    tlnmf_sums_free(sums);
    tlnmf_ctx_free(ctx);
}

static double *new_Y(void)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 1);
    double *Y = new_normals(&rng, S * M * N);
    for (int64_t i = 0; i < S * M * N; i++)
        Y[i] *= exp(sin((double)(i % N)) * cos((double)(i / N % M)));
    return Y;
}

static void run_parts(int size, sum_order order, part *parts)
{
    void *args[MOST_MACHINES];
    for (int r = 0; r < size; r++)
        args[r] = &parts[r];
    run_machines(size, order, fit_on, args);
}

static void free_parts(int size, part *parts)
{
    for (int r = 0; r < size; r++)
        free(parts[r].packed);
}

static const char *const methods[][14] = {
    {"k", "2", "starts", "5", "threads", "2", "method", "tl", "trace", "1", NULL},
    {"k", "2", "starts", "5", "threads", "1", "method", "tl", "hops", "0", "J", "30", NULL},
    {"k", "2", "starts", "5", "threads", "1", "method", "auto", "trace", "1", NULL},
    {"k", "2", "starts", "5", "threads", "1", "method", "jd", "solver", "paper", "J", "40"},
    {"k", "2", "starts", "5", "threads", "1", "exchange", "1", "trace", "1", NULL},
    {"k", "3", "starts", "5", "threads", "1", "method", "nmf", NULL},
    {"k", "2", "starts", "1", "threads", "1", "method", "tl", "newton", "1", NULL},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* Also with more machines than starts. */
static void any_number_of_machines_gives_the_same_bits(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 7};
    double *Y = new_Y();
    for (int i = 0; i < METHODS; i++) {
        const char *options[14];
        memcpy(options, methods[i], sizeof methods[i]);
        part one = {.Y = Y, .options = options};
        tlnmf_ctx *ctx = new_ctx();
        assert_ok(ctx, fit(ctx, &one));
        tlnmf_ctx_free(ctx);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            part parts[MOST_MACHINES];
            int64_t seen = 0;
            for (int r = 0; r < sizes[k]; r++)
                parts[r] = (part){.Y = Y, .options = options};
            run_parts(sizes[k], (sum_order)(k % SUM_ORDERS), parts);
            for (int r = 0; r < sizes[k]; r++) {
                if (parts[r].error != TLNMF_OK)
                    fail_msg("method %d, machine %d of %d: %s", i, r, sizes[k], parts[r].message);
                assert_int_equal(parts[r].size, one.size);
                assert_memory_equal(parts[r].packed, one.packed, one.size);
                seen |= parts[r].seen;
            }
            assert_int_equal(seen, one.seen);
            if (sizes[k] == STARTS && i == 0) /* start p is machine p's; the first one polishes */
                assert_int_equal(parts[3].seen, 1 << 3);
            free_parts(sizes[k], parts);
        }
        free(one.packed);
    }
    free(Y);
}

/* A run that one machine's function stops ends on all, with one result. */
static void a_stop_is_everybodys(void **state)
{
    (void)state;
    static const char *const options[] = {"k", "2",    "starts", "6", "threads",
                                          "1", "hops", "0",      NULL};
    double *Y = new_Y();
    part parts[3];
    for (int r = 0; r < 3; r++)
        parts[r] = (part){.Y = Y, .options = options, .stop_after = r == 1 ? 3 : 0};
    run_parts(3, FORWARDS, parts);
    for (int r = 0; r < 3; r++) {
        tlnmf_ctx *ctx = new_ctx();
        tlnmf_record *model;
        assert_int_equal(parts[r].error, TLNMF_OK);
        assert_ok(ctx, tlnmf_record_unpack(ctx, parts[r].packed, parts[r].size, &model));
        assert_int_equal(tlnmf_get_integer(model, "outcome_code"), TLNMF_CANCELLED);
        tlnmf_record_free(model);
        tlnmf_ctx_free(ctx);
        assert_memory_equal(parts[r].packed, parts[0].packed, parts[0].size);
    }
    free_parts(3, parts);
    free(Y);
}

/* Memory that is short on one machine ends the fit on all, at every allocation in turn. */
static void an_error_is_everybodys(void **state)
{
    (void)state;
    static const char *const options[] = {"k",        "2", "starts", "3", "threads", "1",
                                          "exchange", "1", "J",      "3", NULL};
    double *Y = new_Y();
    bool failed = true;
    int64_t enough = 0;
    part before = {.Y = Y, .options = options, .allocations = 1000000};
    tlnmf_ctx *counting = new_ctx_with(limited, release, &before);
    const int64_t shape[3] = {S, M, N};
    tlnmf_data *data;
    tlnmf_settings *settings;
    assert_ok(counting, tlnmf_data_from_realisations(counting, Y, shape, &data));
    assert_ok(counting, tlnmf_settings_create(counting, "fit", &settings));
    int64_t first = 1000000 - before.allocations + 2; /* with the sums: the fit's first */
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(counting);
    for (int64_t allocations = first; failed; allocations += 1 + allocations / 8) {
        part parts[3];
        for (int r = 0; r < 3; r++)
            parts[r] = (part){.Y = Y, .options = options, .allocations = r == 2 ? allocations : 0};
        run_parts(3, BACKWARDS, parts);
        failed = parts[0].error != TLNMF_OK;
        for (int r = 0; r < 3; r++) {
            assert_int_equal(parts[r].error, failed ? TLNMF_ERR_MEMORY : TLNMF_OK);
            assert_string_equal(parts[r].message, parts[0].message);
        }
        if (failed)
            assert_non_null(strstr(parts[1].message, "machine 2: no memory"));
        free_parts(3, parts);
        enough = allocations;
    }
    assert_true(enough > first + 3); /* several places were tried */
    free(Y);
}

static int fails(double *x, int64_t count, void *user)
{
    (void)x, (void)count, (void)user;
    return 1;
}

static void a_sum_that_fails_is_an_error(void **state)
{
    (void)state;
    static const char *const options[] = {"k", "2", NULL};
    double *Y = new_Y();
    part parts[2];
    for (int r = 0; r < 2; r++)
        parts[r] = (part){.Y = Y, .options = options, .sum = fails};
    run_parts(2, FORWARDS, parts);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(parts[r].error, TLNMF_ERR_CALLBACK);
        assert_string_equal(parts[r].message, "a sum or broadcast over 2 machines failed");
    }
    free(Y);
}

static void ranks_are_checked(void **state)
{
    (void)state;
    static const int32_t wrong[][2] = {{0, 0}, {2, 2}, {3, -1}, {-1, 0}};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_sums *sums;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(
            tlnmf_sums_create(ctx, wrong[i][0], wrong[i][1], fails, send_to_machines, NULL, &sums),
            TLNMF_ERR_ARGUMENT);
        assert_null(sums);
    }
    assert_non_null(strstr(tlnmf_message(ctx), "rank 0 of -1 machines"));
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_machines_gives_the_same_bits),
        cmocka_unit_test(a_stop_is_everybodys),
        cmocka_unit_test(an_error_is_everybodys),
        cmocka_unit_test(a_sum_that_fails_is_an_error),
        cmocka_unit_test(ranks_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
