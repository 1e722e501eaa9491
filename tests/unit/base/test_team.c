/* The threads of a call: pieces, nested jobs, sums, the settings of the caller. */
#include "support.h"

#include "base/openmp.h"

#include <stdatomic.h>

/* ---- pieces ---------------------------------------------------------------------------------- */

typedef struct counting {
    int64_t count, grain;
    atomic_int *times; /* how often each number was in a piece */
    atomic_int wrong;
} counting;

static void count_piece(int64_t first, int64_t last, void *arg)
{
    counting *c = arg;
    if (first % c->grain != 0 || last != tl_min(first + c->grain, c->count) || first >= last)
        atomic_fetch_add(&c->wrong, 1);
    for (int64_t i = first; i < last; i++)
        atomic_fetch_add(&c->times[i], 1);
}

static tlnmf_error count_all(void *arg)
{
    counting *c = arg;
    for (int again = 0; again < 50; again++)
        tl_share(c->count, c->grain, count_piece, c);
    return TLNMF_OK;
}

/* Every number is in exactly one piece, at any number of threads. */
static void pieces_cover_everything_once(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{0, 1},   {1, 1},   {7, 1}, {7, 3},
                                        {100, 7}, {33, 64}, {16, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int threads = 1; threads <= 16; threads += 5) {
            counting c = {.count = shapes[i][0], .grain = shapes[i][1]};
            c.times = calloc((size_t)c.count + 1, sizeof *c.times);
            assert_int_equal(tl_with_threads(threads, count_all, &c), TLNMF_OK);
            assert_int_equal(atomic_load(&c.wrong), 0);
            for (int64_t j = 0; j < c.count; j++)
                assert_int_equal(atomic_load(&c.times[j]), 50);
            free(c.times);
        }
}

static void count_foreign(int64_t i, void *arg)
{
    count_piece(i, i + 1, arg);
}

static void pieces_of_other_libraries_run_once(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    tlnmf_ctx *ctx = new_ctx();
    atomic_int times[COUNT] = {0};
    counting c = {.count = COUNT, .grain = 1, .times = times};
    for (int threads = 0; threads < 4; threads++) {
        assert_ok(ctx, tlnmf_ctx_set_threads(ctx, threads));
        assert_ok(ctx, tlnmf_parallel(ctx, COUNT, count_foreign, &c));
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(atomic_load(&times[i]), threads + 1);
    }
    assert_int_equal(atomic_load(&c.wrong), 0);
    assert_ok(ctx, tlnmf_parallel(ctx, 0, count_foreign, NULL));
    tlnmf_ctx_free(ctx);
}

/* ---- few concurrent pieces, and work of the caller ------------------------------------------- */

typedef struct among {
    atomic_int inside, most, done;
    atomic_bool worked;
    int caller;
} among;

static void count_inside(int64_t first, int64_t last, void *arg)
{
    among *a = arg;
    int now = atomic_fetch_add(&a->inside, 1) + 1, most = atomic_load(&a->most);
    while (now > most && !atomic_compare_exchange_weak(&a->most, &most, now))
        ;
    assert_int_equal(last, first + 1);
    for (volatile int i = 0; i < 20000; i++)
        ;
    atomic_fetch_sub(&a->inside, 1);
    atomic_fetch_add(&a->done, 1);
}

static void own_work(void *arg)
{
    among *a = arg;
    a->caller = tl_thread_index();
    atomic_store(&a->worked, true);
    tl_share(4, 1, count_inside, a); /* a nested job */
}

static tlnmf_error run_among(void *arg)
{
    among *a = arg;
    tl_share_among(3, 40, count_inside, a);
    return TLNMF_OK;
}

static tlnmf_error run_beside(void *arg)
{
    tl_share_beside(20, count_inside, own_work, arg);
    return TLNMF_OK;
}

static void few_pieces_run_concurrently(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads += 7) {
        among a = {.caller = -1};
        assert_int_equal(tl_with_threads(threads, run_among, &a), TLNMF_OK);
        assert_int_equal(atomic_load(&a.done), 40);
        assert_true(atomic_load(&a.most) <= 3);
    }
}

/* The caller's thread does its own work once, and all pieces are done. */
static void pieces_run_while_the_caller_works(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads += 7) {
        among a = {.caller = -1};
        assert_int_equal(tl_with_threads(threads, run_beside, &a), TLNMF_OK);
        assert_true(atomic_load(&a.worked));
        assert_int_equal(a.caller, 0);
        assert_int_equal(atomic_load(&a.done), 24);
    }
}

/* ---- jobs inside jobs ------------------------------------------------------------------------ */

enum { OUTER = 5, INNER = 400 };

typedef struct nesting {
    atomic_int inner[OUTER], innermost;
    atomic_int index_is_wrong;
} nesting;

static void count_innermost(int64_t first, int64_t last, void *arg)
{
    nesting *n = arg;
    atomic_fetch_add(&n->innermost, (int)(last - first));
}

typedef struct at {
    nesting *n;
    int64_t i;
} at;

static void count_inner(int64_t first, int64_t last, void *arg)
{
    const at *here = arg;
    atomic_fetch_add(&here->n->inner[here->i], (int)(last - first));
    if (tl_thread_index() < 0 || tl_thread_index() >= tl_threads_here())
        atomic_fetch_add(&here->n->index_is_wrong, 1);
    tl_share(2, 1, count_innermost, here->n);
}

static void do_outer(int64_t first, int64_t last, void *arg)
{
    (void)last;
    for (int again = 0; again < 10; again++)
        tl_share(INNER, 10, count_inner, &(at){arg, first});
}

static tlnmf_error nest(void *arg)
{
    tl_share(OUTER, 1, do_outer, arg);
    return TLNMF_OK;
}

static void jobs_inside_jobs(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 9; threads += 2) {
        nesting n = {0};
        assert_int_equal(tl_with_threads(threads, nest, &n), TLNMF_OK);
        for (int i = 0; i < OUTER; i++)
            assert_int_equal(atomic_load(&n.inner[i]), 10 * INNER);
        assert_int_equal(atomic_load(&n.innermost), OUTER * 10 * INNER / 10 * 2);
        assert_int_equal(atomic_load(&n.index_is_wrong), 0);
    }
}

/* ---- several threads at the same time -------------------------------------------------------- */

typedef struct meeting {
    atomic_int here, met;
} meeting;

/* Waits for another piece, up to a tenth of a second. */
static void meet(int64_t first, int64_t last, void *arg)
{
    meeting *m = arg;
    double since = tl_wall_seconds();
    (void)first;
    (void)last;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < 2 && tl_wall_seconds() - since < 0.1)
        ;
    if (atomic_load(&m->here) >= 2)
        atomic_store(&m->met, 1);
    atomic_fetch_sub(&m->here, 1);
}

/* Tries several times: on a busy computer, the other thread may come late. */
static void meet_at_last(meeting *m)
{
    for (int again = 0; again < 100 && !atomic_load(&m->met); again++)
        tl_share(2, 1, meet, m);
}

static tlnmf_error share_meeting(void *arg)
{
    meet_at_last(arg);
    return TLNMF_OK;
}

/* Only a piece in the caller's thread can meet the helper: a caller that waits does not help. */
static void share_inner_meeting(int64_t first, int64_t last, void *arg)
{
    (void)last;
    if (first == 0 && tl_thread_index() == 0)
        meet_at_last(arg);
}

static tlnmf_error share_meeting_in_a_piece(void *arg)
{
    const meeting *m = arg;
    for (int again = 0; again < 100 && !atomic_load(&m->met); again++)
        tl_share(2, 1, share_inner_meeting, arg);
    return TLNMF_OK;
}

/* Two pieces run concurrently, and an idle thread takes a piece of another thread's job. */
static void threads_join(void **state)
{
    (void)state;
    meeting m = {0}, inside = {0};
    tl_with_threads(2, share_meeting, &m);
    assert_int_equal(atomic_load(&m.met), 1);
    tl_with_threads(2, share_meeting_in_a_piece, &inside);
    assert_int_equal(atomic_load(&inside.met), 1);
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct terms {
    int64_t count;
    double *x, sum;
} terms;

static double sum_part(int64_t first, int64_t last, void *arg)
{
    const terms *t = arg;
    double sum = 0.0;
    for (int64_t i = first; i < last; i++)
        sum += t->x[i];
    return sum;
}

static tlnmf_error sum_all(void *arg)
{
    terms *t = arg;
    t->sum = tl_share_sum(t->count, 8, sum_part, t);
    return TLNMF_OK;
}

static void sums_have_the_same_bits(void **state)
{
    (void)state;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 1, 0);
    static const int64_t counts[] = {0, 5, 8, 100, 5001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        terms t = {.count = counts[i], .x = new_normals(&rng, counts[i])};
        double plain = sum_part(0, t.count, &t);
        tl_with_threads(1, sum_all, &t);
        double one = t.sum;
        assert_near(one, plain, 1e-12 * (double)(t.count + 1));
        for (int threads = 2; threads <= 16; threads += 7) {
            tl_with_threads(threads, sum_all, &t);
            assert_true(t.sum == one);
        }
        free(t.x);
    }
}

/* ---- settings of the caller ------------------------------------------------------------------ */

typedef struct looking {
    int threads, of_blas;
} looking;

static tlnmf_error look(void *arg)
{
    *(looking *)arg = (looking){tl_threads_here(), omp_get_max_threads()};
    return TLNMF_ERR_NUMERIC;
}

static tlnmf_error look_inside_one(void *arg)
{
    return tl_with_threads(1, look, arg);
}

/* The call's number of threads is used, its error is returned, the caller's settings are unchanged.
 */
static void threads_belong_to_a_call(void **state)
{
    (void)state;
    int before = omp_get_max_threads();
    looking seen;
    assert_int_equal(tl_with_threads(before + 3, look, &seen), TLNMF_ERR_NUMERIC);
    assert_int_equal(seen.threads, before + 3);
    assert_int_equal(seen.of_blas, 1);
    assert_int_equal(tl_with_threads(before + 3, look_inside_one, &seen), TLNMF_ERR_NUMERIC);
    assert_int_equal(seen.threads, 1);
    assert_int_equal(omp_get_max_threads(), before);
    assert_int_equal(tl_threads_here(), 1);
    assert_int_equal(tl_thread_count(3), 3);
    assert_true(tl_thread_count(0) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_cover_everything_once),
        cmocka_unit_test(pieces_of_other_libraries_run_once),
        cmocka_unit_test(few_pieces_run_concurrently),
        cmocka_unit_test(pieces_run_while_the_caller_works),
        cmocka_unit_test(jobs_inside_jobs),
        cmocka_unit_test(threads_join),
        cmocka_unit_test(sums_have_the_same_bits),
        cmocka_unit_test(threads_belong_to_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
