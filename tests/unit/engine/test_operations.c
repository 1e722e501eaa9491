/* Every operation of every engine, compared with the naive engine at awkward sizes. */
#include "unit/engine/engines.h"

/* The results of an operation: vectors, each compared as a whole. */
enum { MOST_VECTORS = 200, MOST_NUMBERS = 60000 };
typedef struct notes {
    int count;
    int64_t first[MOST_VECTORS + 1];
    double x[MOST_NUMBERS];
} notes;

static void note(notes *out, int64_t count, const double *x)
{
    int64_t first = out->first[out->count];
    assert_true(out->count < MOST_VECTORS && first + count <= MOST_NUMBERS);
    if (count > 0)
        memcpy(out->x + first, x, (size_t)count * sizeof *x);
    out->first[++out->count] = first + count;
}

static void note_number(notes *out, double x)
{
    note(out, 1, &x);
}

static void note_point(notes *out, tl_engine *e)
{
    double *Phi = new_doubles(e->M * e->M), *W = new_doubles(e->M * e->K),
           *H = new_doubles(e->K * e->N);
    tl_engine_store(e, Phi, W, H);
    note(out, e->M * e->M, Phi);
    note(out, e->M * e->K, W);
    note(out, e->K * e->N, H);
    free(Phi);
    free(W);
    free(H);
    tl_values v = tl_engine_values(e, e->K > 0 ? TL_C | TL_L | TL_I : TL_L);
    if (e->K > 0)
        note(out, 3, (double[]){v.C, v.L, v.I});
    else
        note_number(out, v.L);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void store_and_values(tl_engine *e, notes *out)
{
    note_point(out, e);
}

/* Twice the entries, on the host; and a part alone. */
static tlnmf_error double_W(const tl_point *point, void *user)
{
    (void)user;
    for (int64_t i = 0; i < point->M * point->K; i++)
        point->W[i] *= 2.0;
    return TLNMF_OK;
}

static void fill(tl_engine *e, notes *out)
{
    note_number(out,
                tl_engine_values(e, TL_C).C); /* cached values of the point must be discarded */
    assert_int_equal(tl_engine_fill(e, TL_W, double_W, NULL), TLNMF_OK);
    note_point(out, e);
}

static void project(tl_engine *e, notes *out)
{
    double *Phi = new_doubles(e->M * e->M);
    tl_engine_store(e, Phi, NULL, NULL);
    for (int64_t i = 0; i < e->M * e->M; i++)
        Phi[i] += 1e-4 * cos((double)i);
    tl_engine_load(e, Phi, NULL, NULL);
    free(Phi);
    note_number(out, tl_engine_values(e, TL_I).I);
    tl_engine_project(e, TL_PHI | TL_W);
    note_point(out, e);
}

static void inspect(tl_engine *e, notes *out)
{
    tl_inspection found = {.energy = new_doubles(e->M)};
    note_number(out, tl_engine_inspect(e, &found));
    note(out, e->M, found.energy);
    note_number(out, found.below_floor);
    note_number(out, found.power_below);
    assert_true(found.orthogonality < 1e-13);
    free(found.energy);
    double *H = new_doubles(e->K * e->N);
    H[0] = NAN;
    tl_engine_load(e, NULL, NULL, H);
    note_number(out, tl_engine_inspect(e, NULL));
    free(H);
}

static void gradients(tl_engine *e, notes *out)
{
    double *Ganti = new_doubles(e->M * e->M);
    for (unsigned of = e->K > 0 ? TL_C : TL_L; of <= TL_L; of++) {
        note_number(out, 1.0 + tl_engine_gradient(e, of, Ganti)); /* may be almost 0 */
        double size = 0.0;
        for (int64_t i = 0; i < e->M * e->M; i++)
            size = fmax(size, fabs(Ganti[i]));
        if (size > 1e-3 * (double)e->N) /* else it is rounding */
            note(out, e->M * e->M, Ganti);
    }
    free(Ganti);
}

static void updates(tl_engine *e, notes *out)
{
    tl_engine_update(e, TL_W | TL_H, 2);
    note_point(out, e);
    tl_engine_update(e, TL_H, 3);
    note_point(out, e);
    tl_engine_update(e, TL_W | TL_H, 1); /* V' must be available again */
    tl_engine_update(e, TL_W | TL_H, 1);
    note_point(out, e);
}

static void sweep_C(tl_engine *e, notes *out)
{
    note_number(out, 1.0 + tl_engine_sweep(e, TL_C, e->eps, 0.0));
    note_point(out, e);
}

static void sweep_L(tl_engine *e, notes *out)
{
    note_number(out, 1.0 + tl_engine_sweep(e, TL_L, 3.0 * e->eps, 0.0));
    note_number(out, tl_engine_values(e, TL_L).L);
    double least = 0.1 * tl_engine_sweep(e, TL_L, e->eps, 0.0);
    note_number(out, 1.0 + tl_engine_sweep(e, TL_L, e->eps, least));
    note_number(out, tl_engine_values(e, TL_L).L);
}

static void quasi_newton_C(tl_engine *e, notes *out)
{
    tl_aim aim = tl_engine_aim(e, TL_QUASI_NEWTON_C);
    note_number(out, 1.0 + aim.slope);
    if (aim.slope == 0.0) /* M = 1 */
        return;
    note_number(out, aim.value);
    note_number(out, tl_engine_try(e, 1.0));
    note_number(out, tl_engine_try(e, 0.1));
    note_number(out, tl_engine_slope(e));
    tl_engine_take(e, 0.1);
    note_point(out, e);
    tl_engine_aim(e, TL_QUASI_NEWTON_C);
    tl_engine_try(e, 0.3);
    tl_engine_take(e, 0.0);
    note_point(out, e);
}

static void quasi_newton_L(tl_engine *e, notes *out)
{
    note_number(out, 1.0 + tl_engine_aim(e, TL_QUASI_NEWTON_L).norm);
    note_number(out, tl_engine_try(e, 1.0));
    note_number(out, tl_engine_try(e, 0.25));
    tl_engine_take(e, 0.25);
    note_point(out, e);
    tl_engine_aim(e, TL_QUASI_NEWTON_L);
    tl_engine_try(e, 0.5);
    tl_engine_take(e, 0.0);
    note_point(out, e);
}

/* Steps of L-BFGS, one that is not taken, one along the gradient. */
static void descend(tl_engine *e, unsigned over, notes *out)
{
    note_number(out, tl_engine_begin(e, over));
    for (int i = 0; i < 5; i++) {
        note_number(out, 1.0 + tl_engine_norm(e, i % 2 == 0));
        tl_aim aim = tl_engine_aim(e, i == 3 ? TL_GRADIENT : TL_LBFGS);
        note_number(out, 1.0 + aim.slope);
        note_number(out, aim.first);
        note_number(out, aim.pairs);
        double a = 0.25 * aim.first; /* halved twice: engines may cache values for both steps */
        note_number(out, tl_engine_try(e, aim.first));
        note_number(out, tl_engine_try(e, 0.5 * aim.first));
        note_number(out, tl_engine_try(e, a));
        tl_engine_take(e, i == 2 ? 0.0 : a);
        if (over & TL_PHI)
            note_number(out, 1.0 + tl_engine_known_gradient(e, over));
    }
    note_number(out, 1.0 + tl_engine_norm(e, true));
    note_point(out, e);
}

static void descend_all(tl_engine *e, notes *out)
{
    descend(e, TL_ALL, out);
}

static void descend_Phi(tl_engine *e, notes *out)
{
    descend(e, TL_PHI, out);
}

static void descend_factors(tl_engine *e, notes *out)
{
    descend(e, TL_W | TL_H, out);
}

static void descend_H(tl_engine *e, notes *out)
{
    descend(e, TL_H, out);
}

static void descend_W(tl_engine *e, notes *out)
{
    descend(e, TL_W, out);
}

static void descend_Phi_and_H(tl_engine *e, notes *out)
{
    descend(e, TL_PHI | TL_H, out);
}

/* Entries of W and H close to zero that should be larger. */
static void revive(tl_engine *e, notes *out)
{
    double *W = new_doubles(e->M * e->K), *H = new_doubles(e->K * e->N);
    tl_engine_store(e, NULL, W, H);
    W[0] = 1e-30;
    H[e->K * e->N - 1] = 1e-30;
    static const unsigned over[] = {TL_ALL, TL_W | TL_H, TL_H, TL_PHI};
    for (int i = 0; i < 4; i++) {
        tl_engine_load(e, NULL, W, H);
        tl_engine_begin(e, over[i]);
        note_number(out, tl_engine_revive(e, 0.0));
        note_point(out, e);
        tl_engine_load(e, NULL, W, H);
        tl_engine_begin(e, over[i]);
        assert_false(tl_engine_revive(e, 1e9));
    }
    free(W);
    free(H);
}

/* Tolerances are relative to a vector's largest entry. */
static const struct operation {
    const char *name;
    void (*run)(tl_engine *e, notes *out);
    bool of_L;               /* works with K = 0 */
    double tolerance, rough; /* exact; with rounded products */
} operations[] = {
    {"store and values", store_and_values, true, 1e-13, 1e-13},
    {"fill", fill, false, 1e-13, 1e-13},
    {"project", project, false, 1e-13, 1e-6},
    {"inspect", inspect, false, 1e-13, 1e-13},
    {"gradient", gradients, true, 1e-13, 1e-5},
    {"update", updates, false, 1e-13, 1e-13},
    {"sweep on C", sweep_C, false, 1e-12, 1e-4},
    {"sweep on L", sweep_L, true, 1e-12, 1e-4},
    {"quasi-Newton on C", quasi_newton_C, false, 1e-13, 1e-5},
    {"quasi-Newton on L", quasi_newton_L, true, 1e-13, 1e-5},
    {"descent over Phi, W, H", descend_all, false, 1e-12, 1e-3},
    {"descent over Phi", descend_Phi, true, 1e-10, 1e-3},
    {"descent over W, H", descend_factors, false, 1e-12, 1e-12},
    {"descent over H", descend_H, false, 1e-12, 1e-12},
    {"descent over W", descend_W, false, 1e-12, 1e-12},
    {"descent over Phi, H", descend_Phi_and_H, false, 1e-12, 1e-3},
    {"revive", revive, false, 1e-13, 1e-13},
};

/* ---- the table ------------------------------------------------------------------------------- */

/* The available engines; main() looks for a GPU. `slack`: a factor on the tolerances of exact
 * operations, for libraries with another order of summation. */
static struct {
    const char *name;
    const tl_engine_ops *ops;
    double slack;
    bool rough;
} engines[] = {{"cpu", &tl_engine_cpu, 1.0, false},
               {"cpu mixed, exact", &tl_engine_mixed, 1.0, false},
               {"cpu mixed, rough", &tl_engine_mixed, 1.0, true},
               {"gpu", NULL, 10.0, false},
               {"gpu mixed, exact", NULL, 10.0, false},
               {"gpu mixed, rough", NULL, 10.0, true}};
enum { ENGINES = sizeof engines / sizeof *engines, GPU = 3 };

static void run(const struct operation *op, const problem *p, const tl_engine_ops *ops, bool rough,
                notes *out)
{
    tl_engine *e = new_engine(p, ops, NULL);
    if (rough)
        assert_true(tl_engine_precision(e, true));
    out->count = 0;
    op->run(e, out);
    if (rough) { /* Phi is orthogonal again in spite of rounding */
        tl_inspection found = {.energy = NULL};
        assert_false(tl_engine_precision(e, false));
        tl_engine_inspect(e, &found);
        assert_true(found.orthogonality < 1e-13);
    }
    free_engine(e);
}

/* Shapes of each test that are tried. */
static size_t shapes_most = SIZE_MAX;

/* Number of differences: all are reported before a test fails, since a run on a device is
 * expensive. */
static int differences;

static void assert_no_differences(void)
{
    int found = differences;
    differences = 0;
    assert_int_equal(found, 0);
}

static void compare(const struct operation *op, const problem *p, size_t which)
{
    static notes naive, other;
    double tolerance = engines[which].slack * (engines[which].rough ? op->rough : op->tolerance);
    if (engines[which].ops == NULL)
        return;
    run(op, p, &tl_engine_naive, false, &naive);
    run(op, p, engines[which].ops, engines[which].rough, &other);
    if (naive.count != other.count) {
        print_error("%s by %s: %d vectors, not %d\n", op->name, engines[which].name, other.count,
                    naive.count);
        differences++;
    }
    for (int i = 0; i < naive.count && i < other.count; i++) {
        int64_t first = naive.first[i], count = naive.first[i + 1] - first;
        double off = largest_difference(count, naive.x + first, other.x + first),
               size = largest(count, naive.x + first);
        if (off <= tolerance * size)
            continue;
        print_error("%s by %s, S = %lld, M = %lld, N = %lld, K = %lld: vector %d is off by %.3g "
                    "of %.3g\n",
                    op->name, engines[which].name, (long long)p->S, (long long)p->M,
                    (long long)p->N, (long long)p->K, i, off, size);
        differences++;
        break; /* later results depend on it */
    }
}

/* S, M, N, K: ones, primes, one more or less than blocks of 8, several columns per frame, more
 * components than rows. */
static void compare_all(const problem *p)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (size_t which = 0; which < ENGINES; which++)
            if ((!engines[which].rough || operations[i].rough > 0.0) &&
                (p->K > 0 || operations[i].of_L))
                compare(&operations[i], p, which);
}

static void every_operation_matches_the_naive_engine(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 1},  {1, 2, 3, 1},   {3, 7, 13, 3}, {2, 8, 9, 2},
                                        {1, 9, 17, 1}, {4, 17, 31, 5}, {2, 3, 33, 11}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes && s < shapes_most; s++) {
        problem p = new_problem(s, shapes[s]);
        compare_all(&p);
        free_problem(&p);
    }
    assert_no_differences();
}

/* Weights of frames (1), a mask (2), or both; some of them are 0. */
static void set_weights(const problem *p, int kind)
{
    double *weights = new_doubles(p->N), *mask = new_doubles(p->M * p->N);
    for (int64_t n = 0; n < p->N; n++)
        weights[n] = (double)((n + 1) % 4);
    for (int64_t i = 0; i < p->M * p->N; i++)
        mask[i] = i % 5 == 3 ? 0.0 : i % 3 == 1 ? 0.25 : 1.0;
    if (kind & 1)
        assert_ok(p->ctx, tlnmf_data_set_weights(p->ctx, p->data, weights));
    if (kind & 2)
        assert_ok(p->ctx, tlnmf_data_set_mask(p->ctx, p->data, mask));
    free(weights);
    free(mask);
}

/* The same with weights of frames, with a mask, and with both. */
static void every_operation_with_weights_matches(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{3, 7, 13, 3}, {1, 9, 17, 1}, {4, 17, 31, 5}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes && s < shapes_most; s++)
        for (int kind = 1; kind <= 3; kind++) {
            problem p = new_problem(s, shapes[s]);
            set_weights(&p, kind);
            compare_all(&p);
            free_problem(&p);
        }
    assert_no_differences();
}

/* An engine with rounded products rounds only on request. */
static void products_are_rounded_only_on_request(void **state)
{
    (void)state;
    static const int64_t shape[] = {3, 7, 13, 3};
    static notes exact, rough;
    const struct operation *gradient = operations;
    while (gradient->run != gradients)
        gradient++;
    problem p = new_problem(1, shape);
    for (size_t i = 0; i < ENGINES; i++) {
        if (!engines[i].rough || engines[i].ops == NULL)
            continue;
        run(gradient, &p, engines[i].ops, false, &exact);
        run(gradient, &p, engines[i].ops, true, &rough);
        double off = largest_difference(exact.first[exact.count], exact.x, rough.x);
        assert_true(off > 1e-9 && off < 1e-3);
    }
    tl_engine *e = new_engine(&p, &tl_engine_cpu, NULL);
    assert_false(tl_engine_precision(e, true)); /* it has only one precision */
    free_engine(e);
    free_problem(&p);
}

/* Without W and H, and with weights of frames. */
static void operations_on_L_alone(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 5, 7, 0}, {3, 11, 12, 0}};
    for (int s = 0; s < 4; s++) {
        problem p = new_problem((uint64_t)s, shapes[s / 2]);
        double weights[12];
        for (int n = 0; n < 12; n++)
            weights[n] = 1.0 + n % 3;
        if (s % 2 == 1)
            assert_ok(p.ctx, tlnmf_data_set_weights(p.ctx, p.data, weights));
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
            for (size_t which = 0; which < ENGINES; which++)
                if (operations[i].of_L)
                    compare(&operations[i], &p, which);
        free_problem(&p);
    }
    assert_no_differences();
}

/* Rows too long for the shared memory of one multiprocessor: engines divide their columns. The
 * numbers of rows are not multiples of 8; the rows of the last shapes are too long for any
 * division. */
static void sweeps_of_long_rows(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 19, 1000, 2},  {1, 8, 1409, 1},  {2, 24, 1300, 2},
                                        {1, 33, 2823, 3},  {1, 17, 5700, 1}, {1, 9, 12001, 1},
                                        {1, 10, 20011, 1}, {1, 9, 23000, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes && s < shapes_most; s++) {
        problem p = new_problem(s, shapes[s]);
        double *expected = new_doubles(p.M * p.M), *Phi = new_doubles(p.M * p.M);
        tl_engine *naive = new_engine(&p, &tl_engine_naive, NULL);
        double first = tl_engine_sweep(naive, TL_C, naive->eps, 0.0);
        double second = tl_engine_sweep(naive, TL_L, naive->eps, 0.0);
        double C = tl_engine_values(naive, TL_C).C;
        tl_engine_store(naive, expected, NULL, NULL);
        for (size_t i = 0; i < ENGINES; i++) {
            if (engines[i].ops == NULL)
                continue;
            tl_engine *e = new_engine(&p, engines[i].ops, NULL);
            double tolerance = engines[i].rough ? 1e-3 : 1e-11;
            tl_engine_precision(e, engines[i].rough);
            double gain = tl_engine_sweep(e, TL_C, e->eps, 0.0);
            double again = tl_engine_sweep(e, TL_L, e->eps, 0.0);
            tl_engine_precision(e, false);
            tl_engine_store(e, Phi, NULL, NULL);
            double off = largest_difference(p.M * p.M, expected, Phi);
            double off_C = fabs(tl_engine_values(e, TL_C).C - C);
            if (!(off <= tolerance && fabs(gain - first) <= tolerance * first &&
                  fabs(again - second) <= tolerance * first && off_C <= tolerance * fabs(C))) {
                print_error("sweeps by %s, S = %lld, M = %lld, N = %lld: gains %.12g, %.12g, not "
                            "%.12g, %.12g; Phi off by %.3g, C by %.3g of %.3g\n",
                            engines[i].name, (long long)p.S, (long long)p.M, (long long)p.N, gain,
                            again, first, second, off, off_C, C);
                differences++;
            }
            free_engine(e);
        }
        free_engine(naive);
        free(expected);
        free(Phi);
        free_problem(&p);
    }
    assert_no_differences();
}

/* usage: unit_engine_operations [TEST [SHAPES]]
 * TEST: a name or a pattern; SHAPES: only the first ones of each test, for tools that slow it down
 */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_matches_the_naive_engine),
        cmocka_unit_test(every_operation_with_weights_matches),
        cmocka_unit_test(operations_on_L_alone),
        cmocka_unit_test(products_are_rounded_only_on_request),
        cmocka_unit_test(sweeps_of_long_rows),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (argc > 2)
        shapes_most = (size_t)strtoul(argv[2], NULL, 10);
    engines[GPU].ops = gpu_engine(&engines[GPU + 1].ops);
    engines[GPU + 2].ops = engines[GPU + 1].ops;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
