/* tlnmf/io.h: models whose H arrives in pieces: the same file as from memory, little memory,
 * errors. */
#include "unit/io/test_api.h"

#include <math.h>
#include <sys/resource.h>

enum { M = 2, K = 3 };

static const double Phi[M * M] = {0.6, 0.8, -0.8, 0.6};
static const double W[M * K] = {1, 2, 3, 4, 5, 6};

static tlnmf_record *make_model(tlnmf_ctx *ctx)
{
    tlnmf_record *model;

    assert_ok(ctx, tlnmf_record_create(ctx, &model));
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "Phi", Phi, 2, (int64_t[]){M, M}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "W", W, 2, (int64_t[]){M, K}));
    return model;
}

/* H[k, n] as a function of its index in C order; all are different. */
static double value(int64_t i)
{
    return 1.0 + 0.5 * (double)i;
}

typedef struct source {
    int64_t at;     /* numbers returned so far */
    int64_t end;    /* the first number that fails */
    int64_t bad;    /* the first number that is not finite */
    tlnmf_ctx *ctx; /* not NULL: a failure names its cause */
} source;

static int next(double *x, int64_t count, void *user)
{
    source *s = user;

    for (int64_t i = 0; i < count; i++, s->at++)
        x[i] = s->at < s->bad ? value(s->at) : NAN;
    if (s->at > s->end && s->ctx != NULL)
        return (int)tlnmf_fail(s->ctx, TLNMF_ERR_INPUT, "process 3 is lost");
    return s->at > s->end;
}

static source all_good(void)
{
    return (source){.end = INT64_MAX, .bad = INT64_MAX};
}

/* In all formats, also to an output without a temporary file. N is larger than one piece, and not a
 * multiple of it. */
static void test_same(void **state)
{
    enum { N = 70001 };
    static const char *const names[] = {"x.h5", "x.npz", "x.mat"};
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = make_model(ctx), *back;
    double *H = malloc(sizeof *H * K * N);
    int64_t shape[TLNMF_MAX_DIMENSIONS];

    (void)state;
    assert_non_null(H);
    for (int64_t i = 0; i < K * N; i++)
        H[i] = value(i);
    /* an H in the record is ignored */
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "H", H, 2, (int64_t[]){K, 7}));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        source s = all_good();
        assert_ok(ctx, tlnmf_io_write_model_from(ctx, names[i], model, N, next, &s));
        assert_int_equal(s.at, K * N);
        assert_ok(ctx, tlnmf_io_read_model(ctx, names[i], &back));
        const double *x = tlnmf_record_get_array(back, "H", NULL, shape);
        assert_non_null(x);
        assert_int_equal(shape[0], K);
        assert_int_equal(shape[1], N);
        assert_memory_equal(x, H, sizeof *H * K * N);
        assert_memory_equal(tlnmf_record_get_array(back, "W", NULL, NULL), W, sizeof W);
        assert_memory_equal(tlnmf_record_get_array(back, "Phi", NULL, NULL), Phi, sizeof Phi);
        assert_int_equal(tlnmf_record_get_integer(back, "N"), N);
        tlnmf_record_free(back);
    }
    source s = all_good();
    assert_ok(ctx, tlnmf_io_write_model_from(ctx, "/dev/null", model, N, next, &s));
    free(H);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

static long peak_kB(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* 48 MB of H; memory holds a piece of 512 kB and buffers of HDF5. */
static void test_memory(void **state)
{
    enum { N = 2000000 };
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = make_model(ctx), *part;
    source s = all_good();

    (void)state;
    long before = peak_kB();
    assert_ok(ctx, tlnmf_io_write_model_from(ctx, "x.h5", model, N, next, &s));
    long more = peak_kB() - before;
    if (more > 16 * 1024) /* a third of H; valgrind itself takes 9 MB */
        fail_msg("%ld kB more for 48 MB of H", more);
    assert_ok(ctx, tlnmf_io_read_slice(ctx, "x.h5:/H", -1, N - 2, 2, &part));
    const double *x = tlnmf_record_get_array(part, "array", NULL, NULL);
    assert_non_null(x);
    for (int64_t k = 0; k < K; k++)
        assert_true(x[2 * k] == value(k * N + N - 2) && x[2 * k + 1] == value(k * N + N - 1));
    tlnmf_record_free(part);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

static void test_refused(void **state)
{
    enum { N = 100 };
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = make_model(ctx);
    source s = {.end = 150, .bad = INT64_MAX};
    const double zero = 0.0;

    (void)state;
    remove_files(0);
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.h5", model, N, next, &s),
                 TLNMF_ERR_CALLBACK, "x.h5: cannot write H: the callback returned 1");
    s = (source){.end = 150, .bad = INT64_MAX};
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.npz", model, N, next, &s),
                 TLNMF_ERR_CALLBACK, "x.npz: cannot write H: the callback returned 1");
    static const char *const names[] = {"x.h5", "x.npz"};
    for (int i = 0; i < 2; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "%s: cannot write H: process 3 is lost", names[i]);
        s = (source){.end = 150, .bad = INT64_MAX, .ctx = ctx};
        assert_error(ctx, tlnmf_io_write_model_from(ctx, names[i], model, N, next, &s),
                     TLNMF_ERR_CALLBACK, expected);
    }
    s = (source){.end = INT64_MAX, .bad = 250};
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.h5", model, N, next, &s), TLNMF_ERR_OUTPUT,
                 "x.h5: cannot write H: it is not finite");
    s = (source){.end = INT64_MAX, .bad = 250};
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.mat", model, N, next, &s), TLNMF_ERR_OUTPUT,
                 "x.mat: cannot write H: it is not finite");
    s = all_good();
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "no/x.h5", model, N, next, &s),
                 TLNMF_ERR_OUTPUT,
                 "no/x.h5: cannot write: No such file or directory (directory no does not exist)");
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.h5", model, 0, next, &s),
                 TLNMF_ERR_ARGUMENT, "x.h5: H cannot have the shape (3, 0)");
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.h5", model, INT64_MAX, next, &s),
                 TLNMF_ERR_ARGUMENT, "x.h5: H cannot have the shape (3, 9223372036854775807)");
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "W", &zero, 2, (int64_t[]){2, 0}));
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.h5", model, N, next, &s),
                 TLNMF_ERR_ARGUMENT, "x.h5: H cannot have the shape (0, 100)");
    /* K of a model without Phi is a number, which need not be the K of W */
    assert_ok(ctx, tlnmf_record_set_array(ctx, model, "members", &zero, 2, (int64_t[]){1, 1}));
    tlnmf_record_remove(model, "Phi");
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.npz", model, N, next, &s),
                 TLNMF_ERR_ARGUMENT, "x.npz: H in pieces needs a model with Phi and W");
    tlnmf_record_remove(model, "W");
    assert_error(ctx, tlnmf_io_write_model_from(ctx, "x.h5", model, N, next, &s),
                 TLNMF_ERR_ARGUMENT, "x.h5: H in pieces needs a model with Phi and W");
    tlnmf_record_free(model);
    assert_int_equal(count_files(), 0);
    tlnmf_ctx_free(ctx);
}

static tlnmf_error write_pieces(tlnmf_ctx *ctx)
{
    tlnmf_ctx *mine = new_context();
    tlnmf_record *model = make_model(mine);
    source s = all_good();
    tlnmf_error error = tlnmf_io_write_model_from(ctx, "x.h5", model, 10, next, &s);

    tlnmf_record_free(model);
    tlnmf_ctx_free(mine);
    return error;
}

static void test_allocations(void **state)
{
    (void)state;
    exhaust_context(write_pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), /* first: the peak never decreases */
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allocations),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
