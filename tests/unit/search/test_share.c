/* Starts distributed over processes: any number of processes gives the same bits as one, also after
 * resuming a killed run; an error on one process is reported by all. */
#include "processes.h"

#include <pthread.h>

enum { S = 2, M = 8, N = 20, STARTS = 5 };

/* A state as bytes; NULL if the process was killed before it saved one. */
typedef struct saved {
    void *bytes;
    size_t size;
} saved;

/* The input and the result of one process. */
typedef struct part {
    const double *Y;
    tlnmf_ctx *ctx;             /* of the process */
    const char *const *options; /* pairs of a name and a value; ends with NULL */
    int64_t stop_after;         /* iterations until the progress function stops the run; 0: never */
    int64_t allocations;        /* until allocations fail; 0: no limit */
    tlnmf_sum_fn sum;           /* NULL: sum_over_processes() */
    int64_t save_at;            /* number of the state to keep; 0: none; -1: the last */
    const saved *resume;        /* states to resume from */
    int resume_count;
    tlnmf_error error;
    char message[512];
    void *packed; /* the model as bytes, without its times */
    size_t size;
    int64_t seen;  /* starts that the progress function has seen, as bits */
    int64_t saves; /* states so far */
    saved state;
} part;

static int save(const tlnmf_record *state, void *user)
{
    part *p = user;
    p->saves++;
    if (p->save_at != -1 && p->saves != p->save_at)
        return 0;
    tlnmf_ctx *own = new_ctx(); /* the fit is using its own */
    free(p->state.bytes);
    assert_ok(own, tlnmf_record_pack(own, state, NULL, &p->state.size));
    p->state.bytes = malloc(p->state.size);
    assert_ok(own, tlnmf_record_pack(own, state, p->state.bytes, &p->state.size));
    tlnmf_ctx_free(own);
    return 0;
}

/* Merges all states into one; NULL if there are none. */
static tlnmf_error join(tlnmf_ctx *ctx, const part *p, tlnmf_record **all)
{
    tlnmf_error error = TLNMF_OK;
    *all = NULL;
    for (int i = 0; error == TLNMF_OK && i < p->resume_count; i++) {
        tlnmf_record *state;
        if (p->resume[i].bytes == NULL)
            continue;
        if (*all == NULL)
            assert_ok(ctx, tlnmf_record_create(ctx, all));
        assert_ok(ctx, tlnmf_record_unpack(ctx, p->resume[i].bytes, p->resume[i].size, &state));
        error = tlnmf_join_states(ctx, *all, state);
        tlnmf_record_free(state);
    }
    return error;
}

static int watch(const tlnmf_record *progress, void *user)
{
    part *p = user;
    if (tlnmf_record_get_integer(progress, "complete") == 1)
        p->seen |= (int64_t)1 << tlnmf_record_get_integer(progress, "start");
    return p->stop_after > 0 && tlnmf_record_get_integer(progress, "complete") == 1 &&
           tlnmf_record_get_integer(progress, "iteration") >= p->stop_after;
}

static void drop_times(tlnmf_ctx *ctx, tlnmf_record *model)
{
    for (size_t i = 0; i < tlnmf_record_count(model); i++) {
        const char *name = tlnmf_record_name(model, i), *end = strstr(name, "seconds");
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        int32_t rank;
        double *zeros;
        if (end == NULL || strcmp(end, "seconds") != 0 || strncmp(name, "option.", 7) == 0)
            continue;
        if (tlnmf_record_type(model, name) == TLNMF_TYPE_REAL)
            tlnmf_record_set_real(ctx, model, name, 0.0);
        else if (tlnmf_record_get_array(model, name, &rank, shape) != NULL)
            tlnmf_record_new_array(ctx, model, name, rank, shape, &zeros);
    }
}

static tlnmf_error fit(tlnmf_ctx *ctx, part *p)
{
    const int64_t shape[3] = {S, M, N};
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    tlnmf_record *model = NULL, *state = NULL;
    tlnmf_error error = tlnmf_data_from_realisations(ctx, p->Y, shape, &data);
    if (error == TLNMF_OK)
        error = tlnmf_settings_create(ctx, "fit", &settings);
    for (const char *const *o = p->options; error == TLNMF_OK && *o != NULL; o += 2)
        error = tlnmf_settings_set_text(ctx, settings, o[0], o[1]);
    tlnmf_ctx_set_progress(ctx, watch, p);
    if (error == TLNMF_OK && p->resume_count > 0)
        error = join(ctx, p, &state);
    tlnmf_ctx_set_resume(ctx, state);
    if (p->save_at != 0)
        tlnmf_ctx_set_checkpoint(ctx, 0.0, save, p);
    if (error == TLNMF_OK)
        error = tlnmf_fit(ctx, data, settings, NULL, &model);
    if (error == TLNMF_OK) {
        drop_times(ctx, model);
        tlnmf_record_pack(ctx, model, NULL, &p->size);
        p->packed = malloc(p->size);
        error = tlnmf_record_pack(ctx, model, p->packed, &p->size);
    }
    tlnmf_record_free(state);
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

static void fit_on(process *m)
{
    part *p = m->arg;
    tlnmf_ctx *ctx;
    tlnmf_comm *sums = NULL;
    if (p->allocations > 0)
        tlnmf_ctx_create_with(limited, release, p, &ctx);
    else
        tlnmf_ctx_create(&ctx);
    p->ctx = ctx;
    tlnmf_fail(ctx, TLNMF_ERR_INPUT, "an earlier failure"); /* must not be named as a cause */
    p->error =
        tlnmf_comm_create(ctx, m->all->size, m->rank, p->sum != NULL ? p->sum : sum_over_processes,
                          broadcast_to_processes, m, &sums);
    tlnmf_ctx_distribute_starts(ctx, sums);
    if (p->error == TLNMF_OK)
        p->error = fit(ctx, p);
    snprintf(p->message, sizeof p->message, "%s", tlnmf_message(ctx));
    tlnmf_comm_free(sums);
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
    void *args[MAX_PROCESSES];
    for (int r = 0; r < size; r++)
        args[r] = &parts[r];
    run_processes(size, order, fit_on, args);
}

static void free_parts(int size, part *parts)
{
    for (int r = 0; r < size; r++) {
        free(parts[r].packed);
        free(parts[r].state.bytes);
    }
}

static const char *const methods[][14] = {
    {"k", "2", "starts", "5", "threads", "2", "method", "tl", "trace", "1", NULL},
    {"k", "2", "starts", "5", "threads", "1", "method", "tl", "hops", "0", "J", "30", NULL},
    {"k", "2", "starts", "5", "threads", "1", "method", "auto", "trace", "1", NULL},
    {"k", "2", "starts", "5", "threads", "1", "method", "jd", "solver", "paper", "J", "40"},
    {"k", "2", "starts", "5", "threads", "1", "exchange", "1", "trace", "1", NULL},
    {"k", "3", "starts", "5", "threads", "1", "method", "nmf", NULL},
    {"k", "2", "starts", "auto", "threads", "1", "hops", "0", NULL},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* The fit on one process. */
static part fit_alone(const double *Y, const char *const *options)
{
    part one = {.Y = Y, .options = options};
    tlnmf_ctx *ctx = new_ctx();
    assert_ok(ctx, fit(ctx, &one));
    tlnmf_ctx_free(ctx);
    return one;
}

/* Also with more processes than starts. */
static void results_do_not_depend_on_the_number_of_processes(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 7};
    double *Y = new_Y();
    for (int i = 0; i < METHODS; i++) {
        const char *options[14];
        memcpy(options, methods[i], sizeof methods[i]);
        part one = fit_alone(Y, options);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            part parts[MAX_PROCESSES];
            int64_t seen = 0;
            for (int r = 0; r < sizes[k]; r++)
                parts[r] = (part){.Y = Y, .options = options};
            run_parts(sizes[k], (sum_order)(k % SUM_ORDERS), parts);
            for (int r = 0; r < sizes[k]; r++) {
                if (parts[r].error != TLNMF_OK)
                    fail_msg("method %d, process %d of %d: %s", i, r, sizes[k], parts[r].message);
                assert_int_equal(parts[r].size, one.size);
                assert_memory_equal(parts[r].packed, one.packed, one.size);
                seen |= parts[r].seen;
            }
            assert_int_equal(seen, one.seen);
            if (sizes[k] == STARTS && i == 0) /* process p runs start p; process 0 polishes */
                assert_int_equal(parts[3].seen, 1 << 3);
            free_parts(sizes[k], parts);
        }
        free(one.packed);
    }
    free(Y);
}

/* `size` processes resume from these states and reach the bits of `one`. */
static void assert_resumes(const part *one, int size, const saved *states, int count)
{
    part parts[MAX_PROCESSES];
    for (int r = 0; r < size; r++)
        parts[r] =
            (part){.Y = one->Y, .options = one->options, .resume = states, .resume_count = count};
    run_parts(size, FORWARDS, parts);
    for (int r = 0; r < size; r++) {
        if (parts[r].error != TLNMF_OK)
            fail_msg("process %d of %d: %s", r, size, parts[r].message);
        assert_int_equal(parts[r].size, one->size);
        assert_memory_equal(parts[r].packed, one->packed, one->size);
    }
    free_parts(size, parts);
}

/* Three processes are killed, each after saving some state or none. Other numbers of processes
 * resume the run. If they are killed as well, their states are added to the old ones. */
static void killed_runs_resume(void **state)
{
    (void)state;
    enum { BEFORE = 3, TRIALS = 2 };
    static const int after[TRIALS] = {1, 5};
    double *Y = new_Y();
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 9, 0);
    for (int i = 0; i < METHODS; i++) {
        const char *options[14];
        memcpy(options, methods[i], sizeof methods[i]);
        part one = fit_alone(Y, options), parts[BEFORE], again[BEFORE];
        int64_t saves[BEFORE];
        for (int r = 0; r < BEFORE; r++)
            parts[r] = (part){.Y = Y, .options = options, .save_at = -1};
        run_parts(BEFORE, FORWARDS, parts);
        for (int r = 0; r < BEFORE; r++)
            saves[r] = parts[r].saves;
        assert_true(saves[0] > 0);
        free_parts(BEFORE, parts);
        for (int t = 0; t < TRIALS; t++) {
            saved states[2 * BEFORE] = {0};
            for (int r = 0; r < BEFORE; r++)
                parts[r] = (part){.Y = Y, .options = options, .save_at = pick(&rng, 0, saves[r])};
            run_parts(BEFORE, BACKWARDS, parts);
            for (int r = 0; r < BEFORE; r++)
                states[r] = parts[r].state;
            assert_resumes(&one, after[t], states, BEFORE);
            for (int r = 0; r < 2; r++)
                again[r] = (part){.Y = Y,
                                  .options = options,
                                  .resume = states,
                                  .resume_count = BEFORE,
                                  .save_at = pick(&rng, 0, saves[r] / 2)};
            run_parts(2, FORWARDS, again);
            for (int r = 0; r < 2; r++)
                states[BEFORE + r] = again[r].state;
            assert_resumes(&one, 2 + t, states, 2 * BEFORE);
            free_parts(2, again);
            free_parts(BEFORE, parts);
        }
        free(one.packed);
    }
    free(Y);
}

/* One process is stopped: all save a state, from which other processes resume. */
static void stopped_runs_resume(void **state)
{
    (void)state;
    static const char *const options[] = {"k",        "2", "starts", "6", "threads", "1",
                                          "exchange", "1", "hops",   "0", NULL};
    double *Y = new_Y();
    part one = fit_alone(Y, options);
    for (int64_t after = 2; after < 30; after += 9) {
        part parts[3];
        saved states[3];
        for (int r = 0; r < 3; r++)
            parts[r] =
                (part){.Y = Y, .options = options, .save_at = -1, .stop_after = r == 1 ? after : 0};
        run_parts(3, FORWARDS, parts);
        for (int r = 0; r < 3; r++) {
            states[r] = parts[r].state; /* NULL if it has finished nothing */
        }
        assert_resumes(&one, 2, states, 3);
        assert_resumes(&one, 1, states, 3);
        free_parts(3, parts);
    }
    free(one.packed);
    free(Y);
}

/* States of different fits cannot be merged, and processes cannot resume from different states. */
static void states_must_fit(void **state)
{
    (void)state;
    static const char *const options[] = {"k", "2", "starts", "4", "seed", "1", NULL};
    static const char *const other[] = {"k", "2", "starts", "4", "seed", "2", NULL};
    double *Y = new_Y();
    part parts[2], apart[2];
    saved states[2];
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record *all, *nothing;
    for (int r = 0; r < 2; r++)
        parts[r] = (part){.Y = Y, .options = r == 0 ? options : other, .save_at = 1};
    for (int r = 0; r < 2; r++) {
        assert_ok(ctx, fit(ctx, &parts[r]));
        states[r] = parts[r].state;
    }
    apart[0] = (part){.resume = states, .resume_count = 2};
    assert_int_equal(join(ctx, &apart[0], &all), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "the checkpoint has seed=2, but this run has seed=1");
    tlnmf_record *made; /* rows of another length */
    assert_ok(ctx, tlnmf_record_unpack(ctx, states[0].bytes, states[0].size, &made));
    assert_ok(ctx, tlnmf_record_set_array(ctx, made, "fit.0.units", (double[50]){1.0}, 2,
                                          (int64_t[]){2, 25}));
    assert_ok(ctx, tlnmf_join_states(ctx, all, made));
    tlnmf_record_free(made);
    part bad = {.Y = Y, .options = options};
    size_t size = 0;
    assert_ok(ctx, tlnmf_record_set_array(ctx, all, "fit.0.units", (double[50]){1.0}, 2,
                                          (int64_t[]){2, 25}));
    assert_ok(ctx, tlnmf_record_pack(ctx, all, NULL, &size));
    saved damaged = {malloc(size), size};
    assert_ok(ctx, tlnmf_record_pack(ctx, all, damaged.bytes, &damaged.size));
    bad.resume = &damaged;
    bad.resume_count = 1;
    assert_int_equal(fit(ctx, &bad), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "fit.0.units has rows of a different length");
    tlnmf_ctx_set_resume(ctx, NULL);
    free(damaged.bytes);
    assert_ok(ctx, tlnmf_record_create(ctx, &nothing));
    assert_int_equal(tlnmf_join_states(ctx, all, nothing), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(ctx), "this is not a checkpoint");
    assert_int_equal(tlnmf_join_states(ctx, NULL, nothing), TLNMF_ERR_ARGUMENT);
    for (int r = 0; r < 2; r++)
        apart[r] = (part){.Y = Y, .options = options, .resume = states, .resume_count = r};
    run_parts(2, FORWARDS, apart);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(apart[r].error, TLNMF_ERR_DATA);
        assert_string_equal(apart[r].message,
                            "process 1: the processes resume from different checkpoints: all "
                            "must see the same files");
    }
    tlnmf_record_free(nothing);
    tlnmf_record_free(all);
    tlnmf_ctx_free(ctx);
    free_parts(2, apart);
    free_parts(2, parts);
    free(Y);
}

/* The progress function of one process stops the run: all processes stop, with the same result. */
static void a_stop_on_one_process_stops_all(void **state)
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
        assert_int_equal(tlnmf_record_get_integer(model, "outcome_code"), TLNMF_OUTCOME_CANCELLED);
        tlnmf_record_free(model);
        tlnmf_ctx_free(ctx);
        assert_memory_equal(parts[r].packed, parts[0].packed, parts[0].size);
    }
    free_parts(3, parts);
    free(Y);
}

/* If an allocation fails on one process, the fit ends on all. Many allocations are tried in turn.
 * If only saving a state fails, the state is skipped. */
static void an_error_on_one_process_fails_all(void **state)
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
    int64_t first =
        1000000 - before.allocations + 2; /* with the communicator: the first of the fit */
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(counting);
    for (int64_t allocations = first; failed; allocations += 1 + allocations / 8) {
        part parts[3];
        for (int r = 0; r < 3; r++)
            parts[r] = (part){.Y = Y,
                              .options = options,
                              .save_at = INT64_MAX, /* states are saved, but not kept */
                              .allocations = r == 2 ? allocations : 0};
        run_parts(3, BACKWARDS, parts);
        failed = parts[0].error != TLNMF_OK;
        for (int r = 0; r < 3; r++) {
            assert_int_equal(parts[r].error, failed ? TLNMF_ERR_MEMORY : TLNMF_OK);
            assert_string_equal(parts[r].message, parts[0].message);
        }
        if (failed)
            assert_non_null(strstr(parts[1].message, "process 2: no memory"));
        free_parts(3, parts);
        enough = allocations;
    }
    assert_true(enough > first + 3); /* several allocations were tried */
    free(Y);
}

static int fails(double *x, int64_t count, void *user)
{
    (void)x, (void)count, (void)user;
    return 1;
}

/* Names a cause. */
static int is_cut_off(double *x, int64_t count, void *user)
{
    process *m = user;
    (void)x, (void)count;
    return (int)tlnmf_fail(((part *)m->arg)->ctx, TLNMF_ERR_CALLBACK, "the network is down");
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
        assert_string_equal(parts[r].message, "a sum or broadcast over 2 processes failed");
    }
    free(Y);
}

static void a_sum_names_its_cause(void **state)
{
    (void)state;
    static const char *const options[] = {"k", "2", NULL};
    double *Y = new_Y();
    part parts[2];
    for (int r = 0; r < 2; r++)
        parts[r] = (part){.Y = Y, .options = options, .sum = is_cut_off};
    run_parts(2, FORWARDS, parts);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(parts[r].error, TLNMF_ERR_CALLBACK);
        assert_string_equal(parts[r].message,
                            "a sum or broadcast over 2 processes failed: the network is down");
    }
    free(Y);
}

static void ranks_are_checked(void **state)
{
    (void)state;
    static const int32_t wrong[][2] = {{0, 0}, {2, 2}, {3, -1}, {-1, 0}};
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_comm *sums;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(tlnmf_comm_create(ctx, wrong[i][0], wrong[i][1], fails,
                                           broadcast_to_processes, NULL, &sums),
                         TLNMF_ERR_ARGUMENT);
        assert_null(sums);
    }
    assert_non_null(strstr(tlnmf_message(ctx), "rank 0 of -1 processes"));
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_the_number_of_processes),
        cmocka_unit_test(killed_runs_resume),
        cmocka_unit_test(stopped_runs_resume),
        cmocka_unit_test(states_must_fit),
        cmocka_unit_test(a_stop_on_one_process_stops_all),
        cmocka_unit_test(an_error_on_one_process_fails_all),
        cmocka_unit_test(a_sum_that_fails_is_an_error),
        cmocka_unit_test(a_sum_names_its_cause),
        cmocka_unit_test(ranks_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
