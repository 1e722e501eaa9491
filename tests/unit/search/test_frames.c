/* Frames distributed over processes: fits of all methods give the result of a single process, for
 * any number of frames per process (also 0) and any order of summation. */
#include "processes.h"

enum { MOST_OPTIONS = 20 };

/* The data of a problem, and one process's part of the fit. */
typedef struct whole {
    int64_t S, M, N;
    const double *Y;
    const char *task;
    const char *const *options; /* pairs of a name and a value; ends with NULL */
} whole;

typedef struct part {
    const whole *of;
    int64_t first, count;  /* its frames */
    int64_t stop_after;    /* iterations until the progress function stops the run; 0: never */
    unsigned char **state; /* process 0: the packed state number `save_after` */
    size_t *state_size;
    int64_t save_after;
    double bytes; /* of tlnmf_memory() */
    const tlnmf_record *resume;
    tlnmf_error error;
    char message[512];
    tlnmf_ctx *ctx;
    tlnmf_record *model;
} part;

/* Packs the state number `save_after`. Only process 0 is asked to save. */
static int save_state(const tlnmf_record *state, void *user)
{
    part *p = user;
    assert_non_null(p->state);
    if (--p->save_after != 0)
        return 0;
    assert_ok(p->ctx, tlnmf_record_pack(p->ctx, state, NULL, p->state_size));
    *p->state = malloc(*p->state_size);
    assert_ok(p->ctx, tlnmf_record_pack(p->ctx, state, *p->state, p->state_size));
    return 0;
}

static int watch(const tlnmf_record *progress, void *user)
{
    const part *p = user;
    return p->stop_after > 0 && tlnmf_record_get_integer(progress, "complete") == 1 &&
           tlnmf_record_get_integer(progress, "iteration") >= p->stop_after;
}

static tlnmf_error fit(part *p)
{
    const whole *of = p->of;
    int64_t N = p->count, shape[3] = {of->S, of->M, N};
    double *Y = new_doubles(of->S * of->M * N);
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    for (int64_t i = 0; i < of->S * of->M; i++)
        tl_copy(Y + i * N, of->Y + i * of->N + p->first, N);
    tlnmf_error error = tlnmf_settings_create(p->ctx, of->task, &settings);
    for (const char *const *o = of->options; error == TLNMF_OK && *o != NULL; o += 2)
        error = tlnmf_settings_set_text(p->ctx, settings, o[0], o[1]);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(p->ctx, Y, shape, &data);
    tlnmf_ctx_set_progress(p->ctx, watch, p);
    if (p->save_after > 0)
        tlnmf_ctx_set_checkpoint(p->ctx, 0.0, save_state, p);
    tlnmf_ctx_set_resume(p->ctx, p->resume);
    if (error == TLNMF_OK)
        error = tlnmf_memory(p->ctx, data, settings, &p->bytes);
    if (error == TLNMF_OK && strcmp(of->task, "jd") == 0)
        error = tlnmf_diagonalise(p->ctx, data, settings, NULL, &p->model);
    else if (error == TLNMF_OK)
        error = tlnmf_fit(p->ctx, data, settings, NULL, &p->model);
    tlnmf_data_free(data);
    tlnmf_settings_free(settings);
    free(Y);
    return error;
}

static void fit_on(process *m)
{
    part *p = m->arg;
    tlnmf_comm *sums = NULL;
    tlnmf_ctx_create(&p->ctx);
    p->error = tlnmf_comm_create(p->ctx, m->all->size, m->rank, sum_over_processes,
                                 broadcast_to_processes, m, &sums);
    tlnmf_ctx_distribute_frames(p->ctx, sums);
    if (p->error == TLNMF_OK)
        p->error = fit(p);
    snprintf(p->message, sizeof p->message, "%s", tlnmf_message(p->ctx));
    tlnmf_ctx_distribute_frames(p->ctx, NULL);
    tlnmf_comm_free(sums);
}

static void run_parts(int size, sum_order order, part *parts)
{
    void *args[MAX_PROCESSES];
    for (int r = 0; r < size; r++)
        args[r] = &parts[r];
    run_processes(size, order, fit_on, args);
}

static void free_part(part *p)
{
    tlnmf_record_free(p->model);
    tlnmf_ctx_free(p->ctx);
}

/* The first frame of process r. Parts differ in size; if there are few frames, some are empty. */
static int64_t edge(int64_t N, int size, int r)
{
    return r == size ? N : N * r * r / ((int64_t)size * size);
}

static void assert_same_values(const tlnmf_record *a, const tlnmf_record *b, double tolerance)
{
    static const char *const names[] = {"C", "L", "I", "eps", "orthogonality", "certificate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double x = tlnmf_record_get_real(a, names[i]), y = tlnmf_record_get_real(b, names[i]);
        if (isnan(y))
            assert_true(isnan(x));
        else
            assert_near(x, y, tolerance * (fabs(tlnmf_record_get_real(b, "L")) + fabs(y)));
    }
    static const char *const integers[] = {"N",          "M",          "K",      "outcome_code",
                                           "iterations", "best_start", "columns"};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        assert_int_equal(tlnmf_record_get_integer(a, integers[i]),
                         tlnmf_record_get_integer(b, integers[i]));
}

/* The numbers are the same on every process, bit for bit; each has H of its own frames. */
static void assert_one_result(int size, const part *parts, const tlnmf_record *one,
                              double tolerance)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS], all = tlnmf_record_get_integer(one, "N");
    const double *H = tlnmf_record_get_array(one, "H", NULL, shape);
    const double *Phi = tlnmf_record_get_array(parts[0].model, "Phi", NULL, shape);
    int64_t M = shape[0], K = tlnmf_record_get_integer(one, "K");
    double most = H == NULL ? 0.0 : largest(K * all, H);
    for (int r = 0; r < size; r++) {
        const tlnmf_record *model = parts[r].model;
        assert_memory_equal(tlnmf_record_get_array(model, "Phi", NULL, NULL), Phi,
                            (size_t)(M * M) * sizeof *Phi);
        assert_true(tlnmf_record_get_real(model, "C") ==
                        tlnmf_record_get_real(parts[0].model, "C") ||
                    K == 0);
        assert_true(tlnmf_record_get_integer(model, "sums") > 0);
        assert_int_equal(tlnmf_record_get_integer(model, "first_frame"), parts[r].first);
        const double *own = tlnmf_record_get_array(model, "H", NULL, shape);
        for (int64_t k = 0; own != NULL && k < K; k++)
            assert_near(largest_difference(parts[r].count, own + k * parts[r].count,
                                           H + k * all + parts[r].first),
                        0.0, tolerance * most);
    }
}

static double *new_Y(int64_t S, int64_t M, int64_t N)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 9, 1);
    double *Y = new_normals(&rng, S * M * N);
    for (int64_t i = 0; i < S * M * N; i++)
        Y[i] *= exp(1.5 * sin((double)(i % N)) * cos((double)(i / N % M)));
    for (int64_t i = 0; i < S * M && N > 8; i++) /* a silent frame on one process */
        Y[i * N + N - 1] = 0.0;
    return Y;
}

typedef struct trial {
    const char *task;
    const char *options[MOST_OPTIONS];
} trial;

static void check(const trial *t, int64_t S, int64_t M, int64_t N, int size, sum_order order,
                  double tolerance)
{
    double *Y = new_Y(S, M, N);
    const whole of = {S, M, N, Y, t->task, t->options};
    part one = {.of = &of, .count = N, .ctx = new_ctx()}, parts[MAX_PROCESSES];
    assert_ok(one.ctx, fit(&one));
    for (int r = 0; r < size; r++) {
        int64_t first = edge(N, size, r);
        parts[r] = (part){.of = &of, .first = first, .count = edge(N, size, r + 1) - first};
    }
    run_parts(size, order, parts);
    for (int r = 0; r < size; r++)
        if (parts[r].error != TLNMF_OK)
            fail_msg("process %d of %d, %s %s: %s", r, size, t->task, t->options[1],
                     parts[r].message);
    assert_same_values(parts[0].model, one.model, tolerance);
    assert_one_result(size, parts, one.model, 1e5 * tolerance);
    for (int r = 0; r < size; r++)
        free_part(&parts[r]);
    free_part(&one);
    free(Y);
}

/* Compared after a fixed number of iterations, well before convergence. */
static void methods_match_one_process(void **state)
{
    (void)state;
    static const trial trials[] = {
        {"fit", {"method", "tl", "k", "3", "J", "25", "hops", "0", "tol", "0", NULL}},
        {"fit", {"method", "jd", "k", "3", "J", "25", "tol", "0", "starts", "2", NULL}},
        {"fit", {"method", "nmf", "k", "3", "J", "25", "tol", "0", NULL}},
        {"fit", {"method", "tl", "k", "2", "J", "10", "solver", "paper", NULL}},
        {"fit", {"method", "jd", "k", "2", "J", "10", "solver", "paper", NULL}},
        {"fit", {"method", "auto", "k", "3", "J", "25", "hops", "0", "tol", "0", NULL}},
        {"fit",
         {"method", "tl", "k", "2", "J", "25", "certify", "1", "hops", "0", "tol", "0", "stream",
          "numpy", NULL}},
        {"jd", {"J", "25", "tol", "0", NULL}},
        {"jd", {"J", "25", "tol", "0", "whiten", "1", NULL}},
        {"jd", {"J", "25", "tol", "0", "whiten", "1", "rank-reduce", "7", NULL}},
    };
    static const int sizes[] = {1, 2, 3, 4, 7};
    static const int64_t realisations[] = {1, 10};
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) /* one or two of the sizes each */
        for (size_t k = i % 5; k < sizeof sizes / sizeof *sizes; k += 3)
            check(&trials[i], realisations[(i + k) % 2], 11, 40, sizes[k],
                  (sum_order)((i + k) % SUM_ORDERS), 1e-10);
}

static void fewer_frames_than_processes(void **state)
{
    (void)state;
    static const trial trials[] = {
        {"fit", {"method", "tl", "k", "2", "J", "20", "hops", "0", "tol", "0", NULL}},
        {"fit", {"method", "jd", "k", "1", "J", "12", "solver", "paper", NULL}},
        {"fit", {"method", "jd", "k", "1", "J", "40", NULL}}, /* entries of H are revived */
        {"fit", {"method", "nmf", "k", "1", "J", "40", NULL}},
        {"jd", {"J", "9", "tol", "0", "whiten", "1", "rank-reduce", "2", NULL}},
    };
    for (int i = 0; i < 5; i++)
        check(&trials[i], 6, 5, 3, 7, IN_PAIRS, 1e-10);
}

/* Sweeps over many blocks of rows; several blocks are rotated concurrently. */
static void many_rows(void **state)
{
    (void)state;
    static const trial trials[] = {
        {"fit", {"method", "tl", "k", "3", "J", "4", "hops", "0", "tol", "0", NULL}},
        {"jd", {"J", "4", "tol", "0", NULL}},
        {"fit",
         {"method", "tl", "k", "3", "J", "1", "hops", "0", "tol", "0", "precision", "mixed", NULL}},
    };
    for (int i = 0; i < 3; i++) /* in single precision, sums over other columns round differently */
        check(&trials[i], i == 1 ? 3 : 1, 61, 90, 3, IN_PAIRS, i == 2 ? 1e-5 : 1e-10);
}

/* Fits that run to convergence, with hops and several starts. */
static void minima_match_one_process(void **state)
{
    (void)state;
    static const trial trials[] = {
        {"fit", {"method", "tl", "k", "2", "hops", "2", "starts", "2", NULL}},
        {"fit", {"method", "jd", "k", "3", "starts", "2", NULL}},
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        double *Y = new_Y(8, 6, 30);
        const whole of = {8, 6, 30, Y, trials[i].task, trials[i].options};
        part one = {.of = &of, .count = 30, .ctx = new_ctx()}, parts[3];
        assert_ok(one.ctx, fit(&one));
        for (int r = 0; r < 3; r++)
            parts[r] = (part){.of = &of, .first = 10 * r, .count = 10};
        run_parts(3, BACKWARDS, parts);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(parts[r].error, TLNMF_OK);
            assert_close(tlnmf_record_get_real(parts[r].model, "C"),
                         tlnmf_record_get_real(one.model, "C"), 1e-8);
            free_part(&parts[r]);
        }
        free_part(&one);
        free(Y);
    }
}

/* The progress function of one process stops the run: all processes stop at the same iteration,
 * with the same result. */
static void a_stop_on_one_process_stops_all(void **state)
{
    (void)state;
    static const char *const options[] = {"k", "2", "method", "tl", "hops", "0", NULL};
    double *Y = new_Y(2, 12, 40);
    const whole of = {2, 12, 40, Y, "fit", options};
    part parts[3];
    for (int r = 0; r < 3; r++)
        parts[r] = (part){
            .of = &of, .first = 13 * r, .count = r == 2 ? 14 : 13, .stop_after = r == 2 ? 4 : 0};
    run_parts(3, FORWARDS, parts);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(parts[r].error, TLNMF_OK);
        assert_int_equal(tlnmf_record_get_integer(parts[r].model, "outcome_code"),
                         TLNMF_OUTCOME_CANCELLED);
        assert_int_equal(tlnmf_record_get_integer(parts[r].model, "iterations"),
                         tlnmf_record_get_integer(parts[0].model, "iterations"));
    }
    for (int r = 1; r < 3; r++)
        assert_memory_equal(tlnmf_record_get_array(parts[r].model, "Phi", NULL, NULL),
                            tlnmf_record_get_array(parts[0].model, "Phi", NULL, NULL),
                            12 * 12 * sizeof(double));
    for (int r = 0; r < 3; r++)
        free_part(&parts[r]);
    free(Y);
}

/* Fits on `size` processes; resumes from a state, or saves one. */
static double fit_with_state(const whole *of, int size, const tlnmf_record *resume,
                             int64_t save_after, unsigned char **state, size_t *state_size)
{
    part parts[MAX_PROCESSES];
    for (int r = 0; r < size; r++) {
        int64_t first = of->N * r / size;
        parts[r] = (part){.of = of,
                          .first = first,
                          .count = of->N * (r + 1) / size - first,
                          .resume = resume,
                          .save_after = save_after,
                          .state = r == 0 ? state : NULL,
                          .state_size = state_size};
    }
    run_parts(size, FORWARDS, parts);
    for (int r = 0; r < size; r++)
        if (parts[r].error != TLNMF_OK)
            fail_msg("process %d of %d: %s", r, size, parts[r].message);
    double C = tlnmf_record_get_real(parts[0].model, "C");
    for (int r = 0; r < size; r++)
        free_part(&parts[r]);
    return C;
}

/* A state of three processes, saved after the first start or during an exchange, is resumed by one,
 * two, three and four. Three processes reach the same bits. */
static void other_processes_resume(void **state)
{
    (void)state;
    static const char *const sets[][MOST_OPTIONS] = {
        {"k", "2", "method", "tl", "hops", "0", NULL},
        {"k", "2", "method", "tl", "hops", "2", "starts", "2", NULL},
        {"k", "2", "method", "jd", "J", "60", "exchange", "1", "hops", "0", NULL},
        {"k", "2", "method", "tl", "hops", "0", "precision", "mixed", NULL}};
    static const int64_t moments[] = {1, 1, 3, 1};
    static const int sizes[] = {2, 4, 3, 1};
    double *Y = new_Y(2, 9, 40);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const whole of = {2, 9, 40, Y, "fit", sets[i]};
        unsigned char *bytes = NULL;
        size_t size = 0;
        double C = fit_with_state(&of, 3, NULL, moments[i], &bytes, &size);
        assert_non_null(bytes);
        tlnmf_ctx *ctx = new_ctx();
        tlnmf_record *saved;
        assert_ok(ctx, tlnmf_record_unpack(ctx, bytes, size, &saved));
        assert_near(fit_with_state(&of, sizes[i], saved, 0, NULL, NULL), C, 1e-8 * fabs(C));
        assert_true(fit_with_state(&of, 3, saved, 0, NULL, NULL) == C);
        tlnmf_record_free(saved);
        tlnmf_ctx_free(ctx);
        free(bytes);
    }
    free(Y);
}

/* The first process saves if it has a save function, whether the others have one or not. */
static void only_the_first_process_saves(void **state)
{
    (void)state;
    enum { SIZE = 3 };
    static const char *const options[] = {"k", "2", "starts", "2", "J", "20", NULL};
    static const int savers[] = {7, 1, 5, 6}; /* bits: the processes with a save function */
    double *Y = new_Y(2, 9, 30), C = 0.0, bytes[SIZE] = {0.0};
    const whole of = {2, 9, 30, Y, "fit", options};
    for (size_t i = 0; i < sizeof savers / sizeof *savers; i++) {
        part parts[SIZE];
        unsigned char *saved = NULL;
        size_t size = 0;
        for (int r = 0; r < SIZE; r++)
            parts[r] = (part){.of = &of,
                              .first = 10 * r,
                              .count = 10,
                              .save_after = (savers[i] >> r & 1) != 0 ? 2 : 0,
                              .state = r == 0 ? &saved : NULL,
                              .state_size = &size};
        run_parts(SIZE, FORWARDS, parts);
        for (int r = 0; r < SIZE; r++) {
            assert_int_equal(parts[r].error, TLNMF_OK);
            if (i == 0)
                bytes[r] = parts[r].bytes;
            assert_true(parts[r].bytes == bytes[r]);
        }
        assert_int_equal(saved != NULL, savers[i] & 1);
        C = i == 0 ? tlnmf_record_get_real(parts[0].model, "C") : C;
        assert_true(tlnmf_record_get_real(parts[0].model, "C") == C);
        for (int r = 0; r < SIZE; r++)
            free_part(&parts[r]);
        free(saved);
    }
    free(Y);
}

/* Bad data on one process, data of different shapes, and no data at all: all processes report the
 * same error. */
static void an_error_on_one_process_fails_all(void **state)
{
    (void)state;
    static const char *const options[] = {"k", "2", NULL};
    double *Y = new_Y(2, 8, 30), *zeros = new_doubles(2 * 8 * 30), *other = new_Y(2, 9, 30);
    const whole good = {2, 8, 30, Y, "fit", options}, silent = {2, 8, 30, zeros, "fit", options},
                longer = {2, 9, 30, other, "fit", options};
    const struct {
        const whole *of[2];
        int64_t count;
        tlnmf_error error;
        const char *message;
    } cases[] = {
        {{&good, &good},
         15,
         TLNMF_ERR_DATA,
         "process 1: realisation 0, row 0, frame 2 is not finite"},
        {{&good, &longer}, 15, TLNMF_ERR_SHAPE, "processes have frames of different shapes"},
        {{&silent, &silent}, 15, TLNMF_ERR_DATA, "the data are all zeros"},
        {{&good, &good}, 0, TLNMF_ERR_SHAPE, "no process has a frame"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        part parts[2];
        for (int r = 0; r < 2; r++)
            parts[r] = (part){.of = cases[i].of[r], .first = 15 * r, .count = cases[i].count};
        Y[17] = i == 0 ? NAN : 1.0;
        run_parts(2, FORWARDS, parts);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(parts[r].error, cases[i].error);
            assert_int_equal(tlnmf_last_error(parts[r].ctx), cases[i].error);
            assert_non_null(strstr(parts[r].message, cases[i].message));
            free_part(&parts[r]);
        }
    }
    free(Y);
    free(zeros);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_match_one_process),
        cmocka_unit_test(fewer_frames_than_processes),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(minima_match_one_process),
        cmocka_unit_test(a_stop_on_one_process_stops_all),
        cmocka_unit_test(other_processes_resume),
        cmocka_unit_test(only_the_first_process_saves),
        cmocka_unit_test(an_error_on_one_process_fails_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
