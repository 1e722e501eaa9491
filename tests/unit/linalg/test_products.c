/* Products in tiles and panels, compared with plain sums, at any number of threads. */
#include "support.h"

#include "linalg/panels.h"

#include <pthread.h>

/* The same source without memory for its scratch. */
#define tl_thread_scratch() NULL
#define aligned_alloc(...)  NULL
#define tl_panels_here      here_without_scratch
#define tl_panels_multiply  multiply_without_scratch
bool here_without_scratch(void);
void multiply_without_scratch(const tl_product *tile);
#include "linalg/panels.c" // NOLINT(bugprone-suspicious-include)
#undef tl_thread_scratch
#undef aligned_alloc
#undef tl_panels_here
#undef tl_panels_multiply

/* A product with leading dimensions longer than rows; the gaps must not change. */
typedef struct problem {
    tl_op opA, opB;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta, *A, *B, *C, *out;
} problem;

enum { GAP = 3 };

static problem new_problem(tl_op opA, tl_op opB, const int64_t size[3], double beta)
{
    problem p = {.opA = opA, .opB = opB, .m = size[0], .n = size[1], .k = size[2]};
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 11, (uint64_t)(p.m * p.n + p.k));
    p.lda = (opA == TL_PLAIN ? p.k : p.m) + GAP;
    p.ldb = (opB == TL_PLAIN ? p.n : p.k) + GAP;
    p.ldc = p.n + GAP;
    p.alpha = -1.5;
    p.beta = beta;
    p.A = new_normals(&rng, (opA == TL_PLAIN ? p.m : p.k) * p.lda);
    p.B = new_normals(&rng, (opB == TL_PLAIN ? p.k : p.n) * p.ldb);
    p.C = new_normals(&rng, p.m * p.ldc);
    p.out = new_doubles(p.m * p.ldc);
    if (beta == 0.0) /* C is not read then */
        for (int64_t i = 0; i < p.m; i++)
            for (int64_t j = 0; j < p.n; j++)
                p.C[i * p.ldc + j] = NAN;
    return p;
}

static void free_problem(problem *p)
{
    free(p->A);
    free(p->B);
    free(p->C);
    free(p->out);
}

static tlnmf_error solve(void *arg)
{
    problem *p = arg;
    tl_copy(p->out, p->C, p->m * p->ldc);
    tl_gemm(p->opA, p->opB, p->m, p->n, p->k, p->alpha, p->A, p->lda, p->B, p->ldb, p->beta, p->out,
            p->ldc);
    return TLNMF_OK;
}

static double left(const problem *p, int64_t i, int64_t l)
{
    return p->opA == TL_PLAIN ? p->A[i * p->lda + l] : p->A[l * p->lda + i];
}

static double right(const problem *p, int64_t l, int64_t j)
{
    return p->opB == TL_PLAIN ? p->B[l * p->ldb + j] : p->B[j * p->ldb + l];
}

static void check_entries(const problem *p)
{
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            long double sum = 0.0L, size = 1.0L;
            for (int64_t l = 0; l < p->k; l++) {
                long double term = (long double)left(p, i, l) * right(p, l, j);
                sum += term;
                size += fabsl(term);
            }
            double before = p->beta == 0.0 ? 0.0 : p->beta * p->C[i * p->ldc + j];
            double off = fabs(p->out[i * p->ldc + j] - (double)(p->alpha * sum) - before);
            assert_true(off <= 1e-14 * (double)size);
        }
        for (int64_t j = p->n; j < p->ldc; j++)
            assert_true(p->out[i * p->ldc + j] == p->C[i * p->ldc + j]);
    }
}

/* Sizes around 8 rows, 24 and 96 columns, a depth of 256; too small for panels; large enough for
 * tiles. */
static const int64_t shapes[][3] = {
    {1, 1, 1},     {3, 5, 2},      {7, 300, 400},  {8, 24, 2700},  {9, 25, 2300}, {16, 96, 513},
    {17, 97, 331}, {104, 151, 64}, {200, 151, 33}, {65, 121, 257}, {530, 47, 40},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void products_match_plain_sums(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int way = 0; way < 8; way++) {
            problem p =
                new_problem(way & 1 ? TL_TRANSPOSED : TL_PLAIN, way & 2 ? TL_TRANSPOSED : TL_PLAIN,
                            shapes[s], way & 4 ? 0.5 : 0.0);
            assert_int_equal(solve(&p), TLNMF_OK);
            check_entries(&p);
            free_problem(&p);
        }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        problem p = new_problem(TL_PLAIN, TL_TRANSPOSED, shapes[s], 0.5);
        size_t bytes = (size_t)(p.m * p.ldc) * sizeof(double);
        assert_int_equal(tl_with_threads(1, solve, &p), TLNMF_OK);
        double *one = new_doubles(p.m * p.ldc);
        memcpy(one, p.out, bytes);
        for (int threads = 2; threads <= 8; threads *= 2) {
            assert_int_equal(tl_with_threads(threads, solve, &p), TLNMF_OK);
            assert_memory_equal(p.out, one, bytes);
        }
        free(one);
        free_problem(&p);
    }
}

/* The whole product, to p->out. */
static tl_product product_of(const problem *p)
{
    return (tl_product){.opA = p->opA,
                        .opB = p->opB,
                        .m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .alpha = p->alpha,
                        .beta = p->beta,
                        .A = p->A,
                        .B = p->B,
                        .lda = p->lda,
                        .ldb = p->ldb,
                        .ldc = p->ldc,
                        .C = p->out};
}

/* As panels.h promises: any part of a product, computed separately, has the bits of the whole. */
static void panels_give_the_same_bits_in_every_tile(void **state)
{
    (void)state;
    if (!tl_panels_here())
        skip();
    problem p = new_problem(TL_PLAIN, TL_PLAIN, (int64_t[]){37, 131, 300}, 0.0);
    tl_product whole = product_of(&p);
    tl_panels_multiply(&whole);
    tl_product some = whole;
    some.m = 11;
    some.n = 29;
    some.A += 5 * p.lda;
    some.B += 90;
    some.C = p.C;
    tl_panels_multiply(&some);
    for (int64_t i = 0; i < some.m; i++)
        assert_memory_equal(p.C + i * p.ldc, p.out + (5 + i) * p.ldc + 90,
                            (size_t)some.n * sizeof(double));
    free_problem(&p);
}

static void a_gram_matrix_is_symmetric_and_right(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{5, 9}, {90, 130}, {201, 77}, {290, 40}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s][0], k = sizes[s][1];
        tl_rng rng;
        tl_rng_seed(&rng, TL_STREAM_OWN, 12, s);
        double *A = new_normals(&rng, n * k), *C = new_doubles(n * n);
        tl_gram(n, k, -2.0, A, C);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0.0;
                for (int64_t l = 0; l < k; l++)
                    sum += A[i * k + l] * A[j * k + l];
                assert_near(C[i * n + j], -2.0 * sum, 1e-12);
                assert_true(C[i * n + j] == C[j * n + i]);
            }
        free(A);
        free(C);
    }
}

/* Entries of a tile, as tl_panels_multiply() computes them with scratch and without. */
static void bits_do_not_depend_on_memory(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{8, 24, 8}, {13, 101, 300}, {50, 30, 777}};
    if (!tl_panels_here())
        skip();
    assert_true(here_without_scratch());
    for (int i = 0; i < 24; i++) {
        problem p =
            new_problem(i % 2 ? TL_TRANSPOSED : TL_PLAIN, i / 2 % 2 ? TL_TRANSPOSED : TL_PLAIN,
                        sizes[i / 4 % 3], i < 12 ? 0.0 : 1.0);
        size_t bytes = (size_t)(p.m * p.ldc) * sizeof *p.C;
        double *slow = malloc(bytes);
        assert_non_null(slow);
        memcpy(p.out, p.C, bytes);
        memcpy(slow, p.C, bytes);
        tl_product t = product_of(&p);
        tl_panels_multiply(&t);
        t.C = slow;
        multiply_without_scratch(&t);
        assert_memory_equal(slow, p.out, bytes);
        free(slow);
        free_problem(&p);
    }
}

static tlnmf_error multiply_inside(void *arg)
{
    problem *p = arg;
    for (int i = 0; i < 2; i++) /* the second time with the scratch of the first */
        tl_gemm(p->opA, p->opB, p->m, p->n, p->k, p->alpha, p->A, p->lda, p->B, p->ldb, 0.0, p->out,
                p->ldc);
    return TLNMF_OK;
}

static void *multiply_on_thread(void *arg)
{
    tl_with_threads(1, multiply_inside, arg);
    return NULL;
}

/* Large products need no large stack. */
static void products_run_on_small_stacks(void **state)
{
    (void)state;
    static const int64_t size[] = {120, 150, 400};
    problem p = new_problem(TL_PLAIN, TL_PLAIN, size, 0.0),
            q = new_problem(TL_PLAIN, TL_PLAIN, size, 0.0);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attributes, multiply_on_thread, &p), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    multiply_inside(&q); /* not inside tl_with_threads() */
    for (int64_t i = 0; i < p.m; i++)
        assert_memory_equal(p.out + i * p.ldc, q.out + i * q.ldc, (size_t)p.n * sizeof *p.out);
    free_problem(&p);
    free_problem(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_plain_sums),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(panels_give_the_same_bits_in_every_tile),
        cmocka_unit_test(a_gram_matrix_is_symmetric_and_right),
        cmocka_unit_test(bits_do_not_depend_on_memory),
        cmocka_unit_test(products_run_on_small_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
