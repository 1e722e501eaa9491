/* The GPU engine: how it is found, and whole solvers on it, compared with the CPU engine. Tests
 * that need a GPU are skipped without one; test_operations.c tests the operations. */
#include "unit/engine/engines.h"
#include "unit/engine/fits.h"

static const tl_engine_ops *gpu, *gpu_mixed; /* NULL: no GPU */

static void the_library_is_found_or_its_absence_explained(void **state)
{
    (void)state;
    char why[TL_DEVICE_TEXT] = "";
    const tl_device_library *library = tl_device_load(why);
#ifdef TEST_CUDA_IS_BUILT
    if (library == NULL)
        fail_msg("libtlnmf_cuda.so was built, but: %s", why);
#endif
    if (library == NULL) {
        assert_true(strlen(why) > 0);
        skip();
        return; /* skip() does not return, but analysers do not know */
    }
    tl_device device = {.memory = 0.0};
    assert_string_equal(library->version, tlnmf_version());
    assert_string_equal(library->engine->name, "gpu");
    if (!library->find(0, &device, why))
        assert_true(strlen(why) > 0);
    else
        assert_true(device.memory >= device.free && device.free > 0.0);
}

/* The estimate includes the arrays of every start, and grows with them. */
static void memory_on_the_device_is_estimated(void **state)
{
    (void)state;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library = tl_device_load(why);
    if (library == NULL) {
        skip();
        return;
    }
    tlnmf_data data = {.M = 1000, .N = 3000, .T = 3000, .one_each = true};
    tl_model model = {.data = &data, .K = 10};
    tl_engine_spec spec = {.model = &model, .moves = TL_ALL};
    double one = library->bytes(&spec, false), MN = 8.0 * 1000 * 3000, MM = 8.0 * 1000 * 1000;
    assert_true(one > 5 * MN + 8 * MM && one < 5 * MN + 15 * MM + 5e7);
    data.N = data.T = 6000;
    assert_near(library->bytes(&spec, false) - one, 5 * MN, 0.5 * MN); /* and a few K x N */
    /* five arrays in single precision, of 1000 x 6000 */
    assert_near(library->bytes(&spec, true) - library->bytes(&spec, false), 5 * MN, 0.01 * MN);
}

/* Without a GPU, creating the engine fails with a reason. */
static void an_engine_without_a_device_is_refused(void **state)
{
    (void)state;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library = tl_device_load(why);
    if (library == NULL || gpu != NULL) {
        skip();
        return;
    }
    problem p = new_problem(1, (const int64_t[]){1, 3, 5, 2});
    tl_engine *e;
    tl_engine_spec spec = {.model = &p.model, .moves = TL_ALL};
    assert_int_not_equal(library->engine->create(p.ctx, &spec, &e), TLNMF_OK);
    assert_null(e);
    assert_non_null(strstr(tlnmf_message(p.ctx), "device gpu: "));
    free_problem(&p);
}

/* ---- whole solvers --------------------------------------------------------------------------- */

/* The paper's music notes, one realisation. */
static fit notes(void)
{
    enum { M = 200, N = 151, K = 2 };
    tlnmf_ctx *ctx = new_ctx();
    const double theta[2] = {0.5, 2.0};
    double *Y = new_doubles(M * N);
    simulate_notes(ctx, 1, theta, Y, NULL);
    fit p = fit_of(ctx, Y, (int64_t[]){1, M, N}, K, 5e-7);
    free(Y);
    return p;
}

static void assert_same(int64_t i, double a, double b, double tolerance)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= tolerance))
        fail_msg("row %lld is %.17g on the cpu, %.17g on the gpu", (long long)i, a, b);
}

/* Compares all iterations of a solver on both engines, within 1e-9. At a minimum, rounding decides
 * when the fast solvers and JD stop, so that the traces of a stage may have different lengths. */
static void compare(fit *p, tl_goal goal, tl_algorithm solver, int64_t J)
{
    p->opt.solver = (int32_t)solver;
    p->opt.J = J;
    p->opt.tol = p->opt.grad_tol = 0.0;
    p->opt.trace = 1;
    p->opt.hops = 0;
    tl_result *cpu = run_fit(p, goal, NULL), *other = run_fit(p, goal, gpu);
    int64_t rows = tl_min(cpu->trace_length, other->trace_length);
    if (solver == TL_ALGORITHM_PAPER && goal != TL_GOAL_JD_NMF)
        assert_int_equal(cpu->trace_length, other->trace_length);
    assert_true(rows >= J);
    for (int64_t i = 0; i < rows; i++) {
        const tl_trace_row *a = &cpu->trace[i], *b = &other->trace[i];
        if (a->stage != b->stage) {
            assert_int_equal(goal, TL_GOAL_JD_NMF);
            assert_true(i > 10);
            break;
        }
        double size = isnan(a->C) ? fabs(a->L) : fabs(a->C);
        assert_same(i, a->C, b->C, 1e-9 * size);
        assert_same(i, a->L, b->L, 1e-9 * size);
        assert_same(i, a->I, b->I, 1e-9 * size);
    }
    assert_same(-1, cpu->info.C, other->info.C, 1e-9 * fabs(cpu->info.C));
    tl_result_free(cpu);
    tl_result_free(other);
}

static void traces_of_gcm(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    for (int64_t S = 10; S <= 100; S *= 10) {
        fit p = fit_of_gcm(S);
        compare(&p, TL_GOAL_TL, TL_ALGORITHM_PAPER, 100);
        compare(&p, TL_GOAL_JD_NMF, TL_ALGORITHM_PAPER, 100);
        compare(&p, TL_GOAL_NMF, TL_ALGORITHM_PAPER, 100);
        compare(&p, TL_GOAL_TL, TL_ALGORITHM_FAST, 45); /* at most as in test_solvers.c */
        compare(&p, TL_GOAL_NMF, TL_ALGORITHM_FAST, 45);
        if (S == 10) /* S = 100 is at its minimum by then */
            compare(&p, TL_GOAL_JD_NMF, TL_ALGORITHM_FAST, 25);
        free_fit(&p);
    }
}

static void traces_of_notes(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    fit p = notes();
    compare(&p, TL_GOAL_TL, TL_ALGORITHM_PAPER, 100);
    compare(&p, TL_GOAL_TL, TL_ALGORITHM_FAST, 16);
    free_fit(&p);
}

/* Many starts run concurrently: the best result has the same bits if fewer do. */
static void results_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    fit p = fit_of_gcm(10);
    p.opt.starts = 20;
    tl_result *many = run_fit(&p, TL_GOAL_TL, gpu);
    p.opt.starts = many->info.best_start + 1;
    tl_result *fewer = run_fit(&p, TL_GOAL_TL, gpu);
    assert_true(many->info.C == fewer->info.C);
    assert_int_equal(many->info.best_start, fewer->info.best_start);
    tl_result_free(many);
    tl_result_free(fewer);
    free_fit(&p);
}

/* Mixed precision reaches the same minimum. The minimum is flat: C still decreases by about 1e-9,
 * relatively, when the solver stops. */
static void mixed_precision_ends_in_the_same_minimum(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    fit p = fit_of_gcm(100);
    p.opt.transform = TL_TRANSFORM_DCT;
    p.opt.hops = 0;
    p.opt.tol = 1e-13;
    p.opt.J = 5000;
    tl_result *exact = run_fit(&p, TL_GOAL_TL, gpu), *mixed = run_fit(&p, TL_GOAL_TL, gpu_mixed);
    print_message("gpu mixed: C %.12g after %lld iterations, in double %.12g after %lld\n",
                  mixed->info.C, (long long)mixed->info.iterations, exact->info.C,
                  (long long)exact->info.iterations);
    assert_same(0, exact->info.C, mixed->info.C, 1e-8 * fabs(exact->info.C));
    assert_true(mixed->info.orthogonality < 1e-12);
    tl_result_free(exact);
    tl_result_free(mixed);
    free_fit(&p);
}

/* Orthogonalises Gaussian numbers on the engine, if it can, and on the host. */
static tlnmf_error draw_and_compare(const tl_point *point, void *user)
{
    tlnmf_ctx *ctx = user;
    int64_t count = point->M * point->M;
    double *expected = new_doubles(count);
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 1);
    for (int64_t i = 0; i < count; i++)
        expected[i] = point->Phi[i] = tl_rng_normal(&rng);
    bool did = point->orthogonalise(point);
    assert_int_equal(did,
                     point->M >= 1024); /* smaller ones are computed on the host, with its bits */
    if (did)
        assert_ok(ctx, tl_polar(ctx, point->M, expected));
    assert_true(largest_difference(count, expected, point->Phi) <= (did ? 1e-9 : 0.0));
    free(expected);
    return TLNMF_OK;
}

static void large_starts_are_orthogonalised_on_the_device(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    for (int64_t M = 1023; M <= 1024; M++) {
        problem p = new_problem(1, (const int64_t[]){1, 3, 5, 2});
        tlnmf_data data = *p.data;
        double *R = new_doubles(M * data.T);
        data.R = R;
        data.M = M;
        p.model.data = &data;
        tl_engine *e;
        tl_engine_spec spec = {.model = &p.model};
        assert_ok(p.ctx, gpu->create(p.ctx, &spec, &e));
        assert_int_equal(tl_engine_fill(e, TL_PHI, draw_and_compare, p.ctx), TLNMF_OK);
        free_engine(e);
        free(R);
        free_problem(&p);
    }
}

/* Steps of many rows, for which exponentials estimate the norm of E: their values and the new Phi.
 */
static void steps_of_many_rows(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    problem p = new_problem(3, (const int64_t[]){1, 1280, 12, 2});
    tl_engine *e[] = {new_engine(&p, &tl_engine_cpu, NULL), new_engine(&p, gpu, NULL)};
    tl_aim aim[2];
    for (int i = 0; i < 2; i++) {
        tl_engine_begin(e[i], TL_ALL);
        tl_engine_norm(e[i], true);
        aim[i] = tl_engine_aim(e[i], TL_LBFGS);
    }
    assert_near(aim[1].first, aim[0].first, 1e-9 * aim[0].first);
    for (double factor = 0.01; factor < 200.0; factor *= 100.0) {
        double a = factor * aim[0].first, expected = tl_engine_try(e[0], a);
        assert_near(tl_engine_try(e[1], a), expected, 1e-10 * fabs(expected));
    }
    tl_engine_take(e[1], 100.0 * aim[0].first);
    tl_inspection found = {.energy = NULL};
    assert_true(tl_engine_inspect(e[1], &found));
    assert_true(found.orthogonality < 1e-11);
    free_engine(e[0]);
    free_engine(e[1]);
    free_problem(&p);
}

/* ---- the option ------------------------------------------------------------------------------ */

static void keep_message(tlnmf_log_level level, const char *message, void *user)
{
    if (level == TLNMF_LOG_WARNING && strstr(message, "device") != NULL)
        snprintf(user, TL_DEVICE_TEXT, "%s", message);
}

/* cpu: the CPU; gpu: the GPU or an error; auto: the GPU if it pays, with a note if it pays but is
 * missing. */
static void the_option_chooses_the_device(void **state)
{
    (void)state;
    fit p = fit_of_gcm(1);
    char message[TL_DEVICE_TEXT] = "";
    tlnmf_ctx_set_log(p.ctx, keep_message, message);
    const tl_model model = {.data = p.data, .K = 5};
    const tl_engine_spec spec = {.model = &model, .moves = TL_ALL};
    assert_ok(p.ctx, tl_device_choose(p.ctx, &spec, &p.opt));
    assert_int_equal(p.opt.device, TL_DEVICE_CPU);
    p.opt.device = TL_DEVICE_AUTO; /* 10 x 50: always on the CPU */
    assert_ok(p.ctx, tl_device_choose(p.ctx, &spec, &p.opt));
    assert_int_equal(p.opt.device, TL_DEVICE_CPU);
    assert_string_equal(message, "");
    p.opt.device = TL_DEVICE_AUTO;
    p.opt.starts = 1000000; /* many starts: the GPU pays */
    assert_ok(p.ctx, tl_device_choose(p.ctx, &spec, &p.opt));
    assert_int_equal(p.opt.device, gpu != NULL ? TL_DEVICE_GPU : TL_DEVICE_CPU);
    assert_int_equal(strncmp(message, "device auto: using the cpu: ", 28) == 0, gpu == NULL);
    tl_comm frames = {.size = 2};
    const tl_engine_spec distributed = {.model = &model, .moves = TL_ALL, .frames_comm = &frames};
    p.opt.device = TL_DEVICE_AUTO; /* processes might choose differently */
    assert_ok(p.ctx, tl_device_choose(p.ctx, &distributed, &p.opt));
    assert_int_equal(p.opt.device, TL_DEVICE_CPU);
    assert_non_null(strstr(message, "frames are distributed"));
    p.opt.device = TL_DEVICE_GPU;
    tlnmf_error error = tl_device_choose(p.ctx, &spec, &p.opt);
    assert_int_equal(error, gpu != NULL ? TLNMF_OK : TLNMF_ERR_OPTION);
    if (gpu == NULL)
        assert_int_equal(strncmp(tlnmf_message(p.ctx), "device gpu: ", 12), 0);
    else
        assert_ptr_equal(tl_engine_of(&p.opt), gpu);
    free_fit(&p);
}

/* A problem that is too large for any GPU is refused with three figures and a remedy; also by auto.
 */
static void too_large_a_problem_is_refused(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    fit p = fit_of_gcm(1);
    char message[TL_DEVICE_TEXT] = "";
    tlnmf_ctx_set_log(p.ctx, keep_message, message);
    tlnmf_data data = {.M = 100000, .N = 1000000, .T = 1000000, .one_each = true};
    const tl_model model = {.data = &data, .K = 5};
    const tl_engine_spec spec = {.model = &model, .moves = TL_ALL};
    static const char *const parts[] = {"a start needs ", " GB, and the GPU has ", " GB free of ",
                                        " tlnmf-mpi --split frames --device gpu"};
    p.opt.device = TL_DEVICE_GPU;
    assert_int_equal(tl_device_choose(p.ctx, &spec, &p.opt), TLNMF_ERR_OPTION);
    for (int i = 0; i < 4; i++)
        assert_non_null(strstr(tlnmf_message(p.ctx), parts[i]));
    p.opt.device = TL_DEVICE_AUTO;
    assert_ok(p.ctx, tl_device_choose(p.ctx, &spec, &p.opt));
    assert_int_equal(p.opt.device, TL_DEVICE_CPU);
    for (int i = 0; i < 4; i++)
        assert_non_null(strstr(message, parts[i]));
    free_fit(&p);
}

/* If memory is sufficient for single starts but not for all, fewer starts run concurrently. */
static void starts_that_do_not_fit_run_in_batches(void **state)
{
    (void)state;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library = tl_device_load(why);
    tl_device device;
    if (gpu == NULL || library == NULL || !library->find(0, &device, why)) {
        skip();
        return;
    }
    fit p = fit_of_gcm(1);
    tlnmf_data data = {.M = 1000, .N = 1000, .T = 1000, .one_each = true};
    const tl_model model = {.data = &data, .K = 5};
    const tl_engine_spec spec = {.model = &model, .moves = TL_ALL};
    p.opt.device = TL_DEVICE_GPU;
    assert_int_equal(tl_device_workers(p.ctx, &spec, &p.opt, 1), 1);
    while (library->bytes(&spec, false) < 0.3 * device.free)
        data.N = data.T += 1000;
    assert_int_equal(tl_device_workers(p.ctx, &spec, &p.opt, 16), 3);
    assert_int_equal(tl_device_workers(p.ctx, &spec, &p.opt, 2), 2);
    p.opt.device = TL_DEVICE_CPU;
    assert_int_equal(tl_device_workers(p.ctx, &spec, &p.opt, 16), 16);
    free_fit(&p);
}

/* Contexts use the available GPUs in turn. */
static void contexts_use_different_gpus(void **state)
{
    (void)state;
    char why[TL_DEVICE_TEXT];
    const tl_device_library *library = tl_device_load(why);
    tl_device device[8];
    int count = 0;
    if (gpu == NULL || library == NULL) {
        skip();
        return;
    }
    for (int i = 0; i < 8; i++) {
        assert_true(library->find(i, &device[i], why));
        count = device[i].number >= count ? device[i].number + 1 : count;
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(device[i].number, i % count);
        assert_string_equal(device[i].name, device[i % count].name);
    }
}

/* usage: unit_engine_device [TEST], a name or a pattern */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_is_found_or_its_absence_explained),
        cmocka_unit_test(memory_on_the_device_is_estimated),
        cmocka_unit_test(an_engine_without_a_device_is_refused),
        cmocka_unit_test(traces_of_gcm),
        cmocka_unit_test(traces_of_notes),
        cmocka_unit_test(results_do_not_depend_on_the_batch),
        cmocka_unit_test(mixed_precision_ends_in_the_same_minimum),
        cmocka_unit_test(large_starts_are_orthogonalised_on_the_device),
        cmocka_unit_test(steps_of_many_rows),
        cmocka_unit_test(the_option_chooses_the_device),
        cmocka_unit_test(too_large_a_problem_is_refused),
        cmocka_unit_test(starts_that_do_not_fit_run_in_batches),
        cmocka_unit_test(contexts_use_different_gpus),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    gpu = gpu_engine(&gpu_mixed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
