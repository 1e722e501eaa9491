/* A host that forks: calls before the fork leave no thread pool for which the child would wait. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

enum { M = 500, N = 60, K = 3 };

static tlnmf_ctx *ctx;

static void evaluate(double *C)
{
    static double Y[M * N], Phi[M * M], W[M * K], H[K * N];
    tlnmf_data *data;
    tlnmf_record *point, *values;
    for (int i = 0; i < M * N; i++)
        Y[i] = (double)(i * 7919L % 1009) / 500.0 - 1.0;
    for (int i = 0; i < M; i++)
        Phi[i * M + i] = 1.0;
    for (int i = 0; i < M * K; i++)
        W[i] = 1.0 / M;
    for (int i = 0; i < K * N; i++)
        H[i] = 1.0;
    assert_ok(ctx, tlnmf_data_from_realisations(ctx, Y, (int64_t[]){1, M, N}, &data));
    assert_ok(ctx, tlnmf_record_create(ctx, &point));
    assert_ok(ctx, tlnmf_record_set_array(ctx, point, "Phi", Phi, 2, (int64_t[]){M, M}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, point, "W", W, 2, (int64_t[]){M, K}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, point, "H", H, 2, (int64_t[]){K, N}));
    assert_ok(ctx, tlnmf_record_set_real(ctx, point, "eps", 1e-3));
    assert_ok(ctx, tlnmf_evaluate(ctx, data, point, &values));
    *C = tlnmf_record_get_real(values, "C");
    tlnmf_record_free(values);
    tlnmf_record_free(point);
    tlnmf_data_free(data);
}

static void simulate(double *sum)
{
    tlnmf_settings *settings;
    tlnmf_record *sample;
    assert_ok(ctx, tlnmf_settings_create(ctx, "gcm", &settings));
    assert_ok(ctx, tlnmf_settings_set_integer(ctx, settings, "m", 420));
    assert_ok(ctx, tlnmf_simulate_gcm(ctx, settings, &sample));
    *sum = tlnmf_record_get_array(sample, "Y", NULL, NULL)[0];
    tlnmf_record_free(sample);
    tlnmf_settings_free(settings);
}

/* Does the work once here, then in a child, which must end before its alarm. */
static void twice(void (*work)(double *))
{
    double here, there;
    int status, ends[2];
    work(&here);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(30);
        work(&there);
        _exit(write(ends[1], &there, sizeof there) == sizeof there ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &there, sizeof there), sizeof there);
    assert_true(here == there);
    close(ends[0]);
    close(ends[1]);
}

static void test_evaluate(void **state)
{
    (void)state;
    twice(evaluate);
}

static void test_simulate(void **state)
{
    (void)state;
    twice(simulate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluate),
        cmocka_unit_test(test_simulate),
    };
    if (tlnmf_ctx_create(&ctx) != TLNMF_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tlnmf_ctx_free(ctx);
    return failed;
}
