/* Sums over frames that are distributed over processes: how many there are, that a single process
 * needs none, and that several processes compute the same result as one. */
#include "processes.h"
#include "unit/engine/engines.h"

#include "solve/solver.h"

/* ---- a single process that counts its sums --------------------------------------------------- */

static int count_only(double *x, int64_t count, void *user)
{
    (void)x;
    (void)count;
    (void)user;
    return 0;
}

static int count_sent(double *x, int64_t count, int32_t root, void *user)
{
    (void)root;
    return count_only(x, count, user);
}

static tl_comm counting(void)
{
    return (tl_comm){.size = 1, .sum = count_only, .broadcast = count_sent};
}

/* Checks the calls and bytes since the last check. */
static void assert_calls(tl_comm *sums, int64_t calls, int64_t numbers)
{
    if (sums->calls != calls || sums->bytes != 8 * numbers)
        fail_msg("%lld calls of %lld numbers, not %lld of %lld", (long long)sums->calls,
                 (long long)sums->bytes / 8, (long long)calls, (long long)numbers);
    sums->calls = sums->bytes = 0;
}

/* How many numbers are summed for the products of m pairs, of which the latest is new; and for the
 * metric. */
static int64_t of_pair(int64_t m)
{
    return 5 * m + 1;
}

static int64_t of_metric(int64_t m)
{
    return m * (m + 1) / 2 + m + 1;
}

/* One iteration of L-BFGS: the gradient of Phi and W with products over H; the rest of the
 * products, which process 0 broadcasts; one objective per trial step. A new metric is one more sum.
 */
static void lbfgs_makes_the_expected_sums(void **state)
{
    (void)state;
    enum { ITERATIONS = 11, RENEW = 5 };
    static const int64_t shape[] = {2, 12, 20, 3};
    const int64_t M = 12, triangle = 66, MM = 144, MK = 36, bound = MM + 2 * MK + 64;
    problem p = new_problem(1, shape);
    tl_comm sums = counting();
    tl_engine *e = new_engine(&p, &tl_engine_cpu, &sums);
    assert_calls(&sums, 2, MM + MK); /* Phi and W for all processes */
    double before = tl_engine_begin(e, TL_ALL), now;
    assert_calls(&sums, 3, 3 + triangle + MK); /* C with the stop flag, the unit, the gradient */
    int64_t m = 0, calls = 0, numbers = 0;
    for (int i = 0; i < ITERATIONS; i++, before = now) {
        int64_t pending = i > 0, pairs = tl_min(m + pending, 10);
        tl_engine_norm(e, i % RENEW == 0);
        int64_t own = pending * of_pair(pairs), metric = of_metric(pairs);
        if (i % RENEW == 0)
            assert_calls(&sums, 2, triangle + M + 2 * MK + metric + own + metric);
        else
            assert_calls(&sums, 1, own);
        calls += i % RENEW == 0 ? 2 : 1;
        numbers += i % RENEW == 0 ? triangle + M + 2 * MK + 2 * metric + own : own;
        tl_aim aim = tl_engine_aim(e, TL_LBFGS);
        assert_calls(&sums, 0, 0);
        m = aim.pairs;
        now = tl_engine_try(e, 0.1 * aim.first);
        assert_true(now < before);
        assert_calls(&sums, 1, 2);
        tl_engine_take(e, 0.1 * aim.first);
        assert_calls(&sums, 1, triangle + MK + of_pair(tl_min(m + 1, 10)));
        calls += 2;
        numbers += 2 + triangle + MK + of_pair(tl_min(m + 1, 10));
        assert_true(calls <= 4 * (i + 1));
    }
    assert_true(numbers <= ITERATIONS * bound);
    assert_true(m >= 3); /* some may have been dropped for their curvature */
    tl_engine_values(e, TL_C | TL_L | TL_I);
    assert_calls(&sums, 1, 4);
    tl_engine_update(e, TL_W | TL_H, 3);
    assert_calls(&sums, 3, 3 * 2 * MK);
    tl_engine_update(e, TL_H, 3);
    assert_calls(&sums, 0, 0);
    tl_engine_begin(e, TL_H); /* C and the unit; the gradient in H is local */
    assert_calls(&sums, 2, 3);
    assert_true(sums.seconds >= 0.0);
    free_engine(e);
    free_problem(&p);
}

/* Records the values that solvers rarely use as rows of a trace. */
static void probe(tl_engine *e, tl_run *run)
{
    double x[8], energy[32];
    tl_inspection found = {.energy = energy};
    int count = 0;
    tl_engine_inspect(e, &found);
    x[count++] = energy[0];
    x[count++] = 1.0 + found.below_floor;
    x[count++] = tl_engine_gradient(e, TL_C, NULL);
    x[count++] = tl_engine_gradient(e, TL_L, NULL);
    x[count++] = tl_engine_begin(e, TL_ALL);
    x[count++] = tl_engine_norm(e, true);
    tl_engine_aim(e, TL_GRADIENT);
    x[count++] = tl_engine_try(e, 0.01) / tl_engine_try(e, 0.02);
    tl_engine_take(e, 0.0);
    x[count++] = 1.0 + tl_engine_revive(e, 0.0);
    for (int i = 0; i < count; i++)
        tl_run_record(run, (tl_trace_row){.C = x[i]}, count);
}

typedef void (*solver)(tl_engine *e, tl_run *run);
static const solver solvers[] = {tl_fast_tl,  tl_fast_jd,   tl_fast_nmf,         tl_paper_tl,
                                 tl_paper_jd, tl_paper_nmf, tl_fast_activations, probe};
enum { SOLVERS = sizeof solvers / sizeof *solvers, J = 40 };

/* The trace of a run, and the point at its end. */
typedef struct ending {
    tl_trace_row trace[J + 1];
    int64_t rows;
    double *Phi, *W, *H;
} ending;

static void run(const problem *p, tl_engine *e, solver solve, ending *end)
{
    tl_settings opt = fit_settings(p->K);
    opt.J = J;
    opt.tol = opt.grad_tol = 0.0;
    tl_run run = {.opt = &opt,
                  .monitor = p->ctx->monitor,
                  .roams = true,
                  .trace = end->trace,
                  .trace_capacity = J + 1};
    solve(e, &run);
    tl_engine_project(e, TL_PHI);
    end->rows = run.trace_length;
    tl_engine_store(e, end->Phi, end->W, end->H);
}

static ending new_ending(const problem *p)
{
    return (ending){.Phi = new_doubles(p->M * p->M),
                    .W = new_doubles(p->M * p->K),
                    .H = new_doubles(p->K * p->N)};
}

static void free_ending(ending *end)
{
    free(end->Phi);
    free(end->W);
    free(end->H);
}

/* With a communicator of one process, results differ from those without one only by the rounding of
 * descents, in both precisions. */
static void one_process_matches_no_communicator(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{2, 11, 21, 3}, {1, 9, 17, 2}};
    for (int i = 0; i < 4 * SOLVERS; i++) {
        problem p = new_problem(5, shapes[i % 2]);
        ending a = new_ending(&p), b = new_ending(&p);
        tl_comm sums = counting();
        bool mixed = i / 2 % 2 == 1, descends = solvers[i / 4] != tl_paper_tl;
        const tl_engine_ops *ops = mixed ? &tl_engine_mixed : &tl_engine_cpu;
        tl_engine *with = new_engine(&p, ops, &sums), *without = new_engine(&p, ops, NULL);
        run(&p, with, solvers[i / 4], &a);
        run(&p, without, solvers[i / 4], &b);
        assert_true(sums.calls > 10);
        /* rounding decides when a line search no longer finds a lower point */
        assert_true(a.rows > 5 && b.rows > 5);
        for (int64_t row = 0; row < tl_min(a.rows, b.rows); row++) {
            double x = isnan(a.trace[row].C) ? a.trace[row].L : a.trace[row].C;
            double y = isnan(a.trace[row].C) ? b.trace[row].L : b.trace[row].C;
            assert_near(x, y, !descends ? 0.0 : (mixed ? 1e-5 : 1e-9) * fabs(y));
        }
        free_engine(with);
        free_engine(without);
        free_ending(&a);
        free_ending(&b);
        free_problem(&p);
    }
}

/* Each process writes to its own entry of a vector, which is then summed. A sum that changes
 * nothing keeps this process's entry. */
static void the_largest_comes_from_a_sum(void **state)
{
    (void)state;
    for (int rank = 0; rank < 130; rank++) {
        tl_comm sums = {.size = 130, .rank = rank, .sum = count_only, .broadcast = count_sent};
        assert_true(tl_comm_max(&sums, 3.5) == 3.5);
        assert_calls(&sums, 3, 130);
    }
    assert_true(tl_comm_max(NULL, 3.5) == 3.5);
}

/* ---- several processes, simulated by threads ------------------------------------------------- */

/* The frames of one process, its solver and its result. */
typedef struct share {
    problem p;
    const tl_engine_ops *ops;
    solver solve;
    ending end;
    bool fails; /* from the beginning */
    tlnmf_error fault;
} share;

static void solve_share(process *m)
{
    share *s = m->arg;
    tl_comm sums = {.size = m->all->size,
                    .rank = m->rank,
                    .sum = sum_over_processes,
                    .broadcast = broadcast_to_processes,
                    .user = m};
    tl_engine *e = new_engine(&s->p, s->ops, &sums);
    if (s->fails) {
        e->fault = TLNMF_ERR_NUMERIC;
        e->why = "a test";
    }
    run(&s->p, e, s->solve, &s->end);
    s->fault = e->fault;
    free_engine(e);
}

/* Frames first .. last - 1 of p, with a new context. */
static problem part_of(const problem *p, const double *Y, int64_t first, int64_t last)
{
    problem part = *p;
    int64_t N = last - first;
    double *mine = new_doubles(p->S * p->M * N);
    for (int64_t i = 0; i < p->S * p->M; i++)
        memcpy(mine + i * N, Y + i * p->N + first, (size_t)N * sizeof *mine);
    part.ctx = new_ctx();
    part.N = N;
    if (N > 0) {
        part.data = data_of(part.ctx, mine, p->S, p->M, N);
    } else { /* made with a communicator, data may have no frames */
        part.data = data_of(part.ctx, Y, p->S, p->M, 1);
        part.data->N = part.data->T = part.data->columns = 0;
    }
    part.data->mean_power = p->data->mean_power; /* of all processes */
    part.data->all = p->N;
    part.data->first = first;
    part.model.data = part.data;
    part.Phi = new_doubles(p->M * p->M);
    part.W = new_doubles(p->M * p->K);
    part.H = new_doubles(p->K * N);
    if (first == 0) { /* the others receive theirs by broadcast */
        memcpy(part.Phi, p->Phi, (size_t)(p->M * p->M) * sizeof *part.Phi);
        memcpy(part.W, p->W, (size_t)(p->M * p->K) * sizeof *part.W);
    }
    for (int64_t k = 0; k < p->K; k++)
        memcpy(part.H + k * N, p->H + k * p->N + first, (size_t)N * sizeof *part.H);
    free(mine);
    return part;
}

enum { PROCESSES = 3 };

/* Data of new_problem()'s shape without silence; free() it. */
static double *new_data(problem *p)
{
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 77, 7);
    double *Y = new_normals(&rng, p->S * p->M * p->N);
    tlnmf_data_free(p->data);
    p->data = data_of(p->ctx, Y, p->S, p->M, p->N);
    p->model.data = p->data;
    p->model.eps = 0.05 * p->data->mean_power;
    return Y;
}

/* Runs the solver; process r has the frames edges[r] .. edges[r + 1] - 1. */
static void solve_on(const tl_engine_ops *ops, const problem *p, const double *Y,
                     const int64_t *edges, int which, share m[PROCESSES])
{
    void *args[PROCESSES];
    for (int r = 0; r < PROCESSES; r++) {
        m[r] = (share){
            .p = part_of(p, Y, edges[r], edges[r + 1]), .ops = ops, .solve = solvers[which]};
        m[r].end = new_ending(&m[r].p);
        args[r] = &m[r];
    }
    run_processes(PROCESSES, (sum_order)(which % SUM_ORDERS), solve_share, args);
}

static void free_shares(share m[PROCESSES])
{
    for (int r = 0; r < PROCESSES; r++) {
        free_ending(&m[r].end);
        free_problem(&m[r].p);
    }
}

static void assert_traces(const ending *a, const ending *b, double tolerance)
{
    /* rounding decides when a line search no longer finds a lower point */
    assert_true(a->rows > 5 && b->rows > 5);
    for (int64_t i = 0; i < tl_min(a->rows, b->rows); i++) {
        double x = isnan(a->trace[i].C) ? a->trace[i].L : a->trace[i].C,
               y = isnan(a->trace[i].C) ? b->trace[i].L : b->trace[i].C;
        assert_near(y, x, tolerance * fabs(x));
    }
}

static void several_processes_match_one(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 11, 23, 3}, edges[] = {0, 9, 10, 23};
    for (int which = 0; which < SOLVERS; which++) {
        problem p = new_problem(3, shape);
        double *Y = new_data(&p);
        ending one = new_ending(&p);
        tl_engine *e = new_engine(&p, &tl_engine_cpu, NULL);
        run(&p, e, solvers[which], &one);
        free_engine(e);
        share m[PROCESSES];
        solve_on(&tl_engine_cpu, &p, Y, edges, which, m);
        for (int r = 0; r < PROCESSES; r++) {
            int64_t N = m[r].p.N;
            assert_int_equal(m[r].end.rows, one.rows);
            assert_traces(&one, &m[r].end, 1e-9);
            assert_near(largest_difference(p.M * p.M, m[r].end.Phi, one.Phi), 0.0, 1e-7);
            assert_near(largest_difference(p.M * p.K, m[r].end.W, one.W), 0.0, 1e-7);
            for (int64_t k = 0; k < p.K; k++)
                assert_near(largest_difference(N, m[r].end.H + k * N, one.H + k * p.N + edges[r]),
                            0.0, 1e-7 * largest(p.K * p.N, one.H));
        }
        free_shares(m);
        free_ending(&one);
        free(Y);
        free_problem(&p);
    }
}

/* ---- one GPU per process --------------------------------------------------------------------- */

static const tl_engine_ops *gpu; /* NULL: no GPU */

/* The traces equal those of the CPU engine on the same processes: for frames of one column and of
 * several, for more rows than a block of eight, and with a process that has no frames. */
static void gpus_match_cpus(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{2, 11, 23, 3}, {1, 17, 23, 2}},
                         edges[][4] = {{0, 9, 10, 23}, {0, 12, 12, 23}};
    if (gpu == NULL)
        skip();
    for (int which = 0; which < SOLVERS; which++) {
        const int64_t *shape = shapes[which % 2], *edge = edges[which % 2];
        problem p = new_problem(3, shape);
        double *Y = new_data(&p);
        static share cpus[PROCESSES], gpus[PROCESSES];
        solve_on(&tl_engine_cpu, &p, Y, edge, which, cpus);
        solve_on(gpu, &p, Y, edge, which, gpus);
        for (int r = 0; r < PROCESSES; r++) {
            assert_traces(&cpus[r].end, &gpus[r].end, 1e-10);
            assert_true(gpus[r].fault == TLNMF_OK);
            /* must be equal: decisions depend on Phi and W */
            assert_memory_equal(gpus[r].end.Phi, gpus[0].end.Phi,
                                (size_t)(p.M * p.M) * sizeof(double));
            assert_memory_equal(gpus[r].end.W, gpus[0].end.W, (size_t)(p.M * p.K) * sizeof(double));
        }
        free_shares(cpus);
        free_shares(gpus);
        free(Y);
        free_problem(&p);
    }
}

/* A failure on one process ends the run on all processes. */
static void a_lost_gpu_ends_all_runs(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 11, 23, 3}, edges[] = {0, 9, 10, 23};
    if (gpu == NULL)
        skip();
    for (int which = 0; which < SOLVERS; which++) {
        problem p = new_problem(3, shape);
        double *Y = new_data(&p);
        share m[PROCESSES];
        void *args[PROCESSES];
        for (int r = 0; r < PROCESSES; r++) {
            m[r] = (share){.p = part_of(&p, Y, edges[r], edges[r + 1]),
                           .ops = gpu,
                           .solve = solvers[which],
                           .fails = r == 1};
            m[r].end = new_ending(&m[r].p);
            args[r] = &m[r];
        }
        run_processes(PROCESSES, FORWARDS, solve_share, args);
        for (int r = 0; r < PROCESSES; r++)
            assert_int_equal(m[r].fault, TLNMF_ERR_NUMERIC);
        free_shares(m);
        free(Y);
        free_problem(&p);
    }
}

/* usage: unit_engine_sums [TEST], a name or a pattern */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lbfgs_makes_the_expected_sums),
        cmocka_unit_test(one_process_matches_no_communicator),
        cmocka_unit_test(the_largest_comes_from_a_sum),
        cmocka_unit_test(several_processes_match_one),
        cmocka_unit_test(gpus_match_cpus),
        cmocka_unit_test(a_lost_gpu_ends_all_runs),
    };
    const tl_engine_ops *mixed;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    gpu = gpu_engine(&mixed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
