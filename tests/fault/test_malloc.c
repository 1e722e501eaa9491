/* Neither the library nor BLAS, LAPACK or others call malloc between two iterations: this program
 * replaces malloc and counts. (Not built with sanitizers, which replace it themselves.) */
#include "support.h"

#include <stdatomic.h>

static atomic_llong mallocs;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add(&mallocs, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&mallocs, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    atomic_fetch_add(&mallocs, 1);
    return __libc_realloc(block, size);
}

/* Mallocs seen at the end of the second and of the last complete iteration of each stage. */
typedef struct seen {
    long long second[3], last[3];
} seen;

static int look(const tlnmf_record *progress, void *user)
{
    seen *s = user;
    const char *stage = tlnmf_record_get_text(progress, "stage");
    int i = strcmp(stage, "tl") == 0 ? 0 : strcmp(stage, "jd") == 0 ? 1 : 2;
    if (tlnmf_record_get_integer(progress, "complete") != 1)
        return 0;
    if (tlnmf_record_get_integer(progress, "iteration") == 2)
        s->second[i] = atomic_load(&mallocs);
    s->last[i] = atomic_load(&mallocs);
    return 0;
}

static void loops_do_not_malloc(void **state)
{
    (void)state;
    enum { M = 40, N = 60 };
    tlnmf_ctx *ctx = new_ctx();
    double *Y = new_doubles(M * N);
    simulate_gcm(ctx, (gcm_recipe){1, M, N, 3, 1, 1, TL_STREAM_OWN}, Y, NULL, NULL);
    tlnmf_data *data = data_of(ctx, Y, 1, M, N);
    tl_settings opt = fit_settings(3);
    opt.J = 50;
    opt.tol = 0.0;
    opt.threads = 1;
    for (opt.method = 0; opt.method < 3; opt.method++) {
        seen s = {{0}, {0}};
        tl_result *result;
        tlnmf_ctx_set_progress(ctx, look, &s);
        assert_ok(ctx, tl_fit(ctx, data, &opt, NULL, &result));
        for (int stage = 0; stage < 3; stage++)
            assert_int_equal(s.second[stage], s.last[stage]);
        assert_true(s.last[0] + s.last[1] + s.last[2] > 0);
        tl_result_free(result);
    }
    tlnmf_data_free(data);
    free(Y);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_do_not_malloc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
