/* Columns that run through the GPU in panels: when, how large, sweeps, whole fits. Operations are
 * in test_operations.c. What needs a GPU is skipped where there is none. */
#include "unit/engine/engines.h"
#include "unit/engine/fits.h"

static const tl_device_library *library; /* NULL: not built here */
static const tl_engine_ops *gpu;         /* NULL: no GPU here */
static bool emulated;                    /* its memory is what EMULATED_MEMORY says */

/* ---- memory ---------------------------------------------------------------------------------- */

static void panels_fit_the_memory(void **state)
{
    (void)state;
    if (library == NULL) {
        skip();
        return; /* which skip() does, but says to no analyser */
    }
    enum { M = 1000, N = 30001 };
    tlnmf_data data = {.M = M, .N = N, .T = N, .one_each = true};
    tl_model model = {.data = &data, .K = 10};
    tl_engine_spec spec = {.model = &model, .moves = TL_ALL};
    for (int mixed = 0; mixed < 2; mixed++) {
        double all = library->bytes(&spec, mixed);
        for (double part = 0.9; part > 0.2; part -= 0.1) {
            int64_t panel = library->fitting_panel(&spec, mixed, part * all);
            assert_true(panel > 0 && panel < N);
            tl_engine_spec own = spec;
            own.panel = panel;
            assert_true(library->bytes(&own, mixed) <= 0.95 * part * all);
            own.panel = panel + panel / 2; /* most of what fits is used */
            assert_true(library->bytes(&own, mixed) > 0.95 * part * all);
        }
        /* not even all of M x M */
        assert_int_equal(library->fitting_panel(&spec, mixed, 8.0 * 5 * M * M), 0);
    }
}

/* A panel is as wide as its frames are. */
static void frames_are_not_cut(void **state)
{
    (void)state;
    if (library == NULL) {
        skip();
        return; /* which skip() does, but says to no analyser */
    }
    int64_t offset[] = {0, 1, 2, 12, 22, 22, 23};
    tlnmf_data data = {.M = 1000, .N = 6, .T = 23, .offset = offset};
    tl_model model = {.data = &data, .K = 1};
    tl_engine_spec narrow = {.model = &model, .panel = 1}, wide = {.model = &model, .panel = 2};
    /* 10 and 20 columns of R (two buffers), X and UX; a frame of V and U, and U of the sample */
    assert_near(library->bytes(&wide, false) - library->bytes(&narrow, false),
                8.0 * 1000 * (4 * 10 + 3), 5000.0);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Every `every`-th frame of a problem, at its point. */
static problem sample_of(const problem *p, int64_t every)
{
    problem s = *p;
    const tlnmf_data *from = p->data;
    s.N = (p->N + every - 1) / every;
    s.data = malloc(sizeof *s.data);
    assert_non_null(s.data);
    *s.data = *from;
    s.data->N = s.data->all = s.N;
    s.data->offset = malloc((size_t)(s.N + 1) * sizeof *s.data->offset);
    assert_non_null(s.data->offset);
    s.data->offset[0] = 0;
    for (int64_t i = 0; i < s.N; i++)
        s.data->offset[i + 1] =
            s.data->offset[i] + from->offset[i * every + 1] - from->offset[i * every];
    s.data->T = s.data->columns = s.data->offset[s.N];
    s.data->R = new_doubles(p->M * s.data->T);
    s.H = new_doubles(p->K * s.N);
    for (int64_t i = 0; i < s.N; i++) {
        int64_t to = s.data->offset[i], count = s.data->offset[i + 1] - to;
        for (int64_t m = 0; m < p->M; m++)
            for (int64_t t = 0; t < count; t++)
                s.data->R[m * s.data->T + to + t] =
                    from->R[m * from->T + from->offset[i * every] + t];
        for (int64_t k = 0; k < p->K; k++)
            s.H[k * s.N + i] = p->H[k * p->N + i * every];
    }
    s.model.data = s.data;
    return s;
}

static void free_sample(problem *s)
{
    free(s->data->R);
    free(s->data->offset);
    free(s->data);
    free(s->H);
}

static double value_of(tl_engine *e, unsigned of)
{
    tl_values v = tl_engine_values(e, of);
    return of == TL_C ? v.C : v.L;
}

/* One sweep in panels: the rotations are those of the naive engine on the sample alone, and are
 * kept if they lower the objective of all frames. Returns whether they were. */
static bool check_sweep(const problem *p, int64_t every, unsigned of)
{
    problem s = sample_of(p, every);
    int64_t MM = p->M * p->M;
    double *expected = new_doubles(MM), *Phi = new_doubles(MM);
    tl_engine *part = new_engine(&s, &tl_engine_naive, NULL),
              *whole = new_engine(p, &tl_engine_naive, NULL),
              *e = new_engine(p, library->panels, NULL);
    tl_engine_sweep(part, of, part->eps, 0.0);
    tl_engine_store(part, expected, NULL, NULL);
    double before = value_of(whole, of);
    tl_engine_load(whole, expected, NULL, NULL);
    double fall = before - value_of(whole, of);
    double gain = tl_engine_sweep(e, of, e->eps, 0.0);
    tl_engine_store(e, Phi, NULL, NULL);
    bool kept = fall > 0.0;
    assert_near(gain, kept ? fall : 0.0, 1e-9 * fabs(before));
    assert_true(largest_difference(MM, kept ? expected : p->Phi, Phi) < 1e-10);
    assert_near(value_of(e, of), kept ? before - fall : before, 1e-11 * fabs(before));
    free_engine(part);
    free_engine(whole);
    free_engine(e);
    free(expected);
    free(Phi);
    free_sample(&s);
    return kept;
}

static void sweeps_rotate_by_a_sample_of_the_frames(void **state)
{
    (void)state;
    /* S, M, N, K, panels, and whether what the sample gains holds for all frames */
    static const struct {
        int64_t shape[4], panels;
        bool kept;
    } cases[] = {{{3, 7, 40, 3}, 3, true}, {{1, 9, 90, 2}, 2, true}, {{1, 12, 20, 3}, 20, false}};
    if (gpu == NULL)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned of = TL_C; of <= TL_L; of++) {
            problem p = new_problem(i, cases[i].shape);
            p.panel = (p.N + cases[i].panels - 1) / cases[i].panels;
            int64_t panels = (p.N + p.panel - 1) / p.panel;
            assert_int_equal(check_sweep(&p, panels, of), cases[i].kept);
            free_problem(&p);
        }
}

/* Panels without any column, the first one among them. */
static void silent_panels_add_nothing(void **state)
{
    (void)state;
    enum { M = 5, N = 9, K = 2 };
    if (gpu == NULL)
        skip();
    problem p = new_problem(1, (const int64_t[]){1, M, N, K});
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 8, 1);
    double *Y = new_normals(&rng, M * N), Ganti[2][M * M], Phi[2][M * M], W[2][M * K], H[2][K * N];
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            if (n < 2 || n == 5)
                Y[m * N + n] = 0.0;
    tlnmf_data_free(p.data);
    p.model.data = p.data = data_of(p.ctx, Y, 1, M, N);
    assert_int_equal(p.data->offset[2], 0);
    p.panel = 1;
    tl_engine *e[2] = {new_engine(&p, &tl_engine_naive, NULL),
                       new_engine(&p, library->panels, NULL)};
    double C[2], value[2];
    for (int i = 0; i < 2; i++) {
        tl_engine_gradient(e[i], TL_C, Ganti[i]);
        tl_engine_update(e[i], TL_W | TL_H, 2);
        C[i] = tl_engine_values(e[i], TL_C).C;
        tl_engine_begin(e[i], TL_ALL);
        tl_engine_norm(e[i], true);
        value[i] = tl_engine_try(e[i], 0.5 * tl_engine_aim(e[i], TL_LBFGS).first);
        tl_engine_take(e[i], 0.5);
        tl_engine_store(e[i], Phi[i], W[i], H[i]);
        free_engine(e[i]);
    }
    assert_near(C[1], C[0], 1e-12 * fabs(C[0]));
    assert_near(value[1], value[0], 1e-11 * fabs(value[0]));
    assert_true(largest_difference(M * M, Ganti[0], Ganti[1]) < 1e-11);
    assert_true(largest_difference(M * M, Phi[0], Phi[1]) < 1e-11);
    assert_true(largest_difference(M * K, W[0], W[1]) < 1e-11);
    assert_true(largest_difference(K * N, H[0], H[1]) < 1e-10);
    free(Y);
    free_problem(&p);
}

/* ---- whole fits ------------------------------------------------------------------------------ */

/* Engines whose sweeps do nothing, and that of the GPU with so many frames in a panel. */
static tl_engine_ops still_cpu, cut, still_cut;
static int64_t panel;

static double no_sweep(tl_engine *e, unsigned of, double floor, double least)
{
    (void)e;
    (void)of;
    (void)floor;
    (void)least;
    return 0.0;
}

static tlnmf_error create_on_cpu(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    TRY(tl_engine_cpu.create(ctx, spec, out));
    (*out)->ops = &still_cpu;
    return TLNMF_OK;
}

static tlnmf_error create_cut_as(tlnmf_ctx *ctx, const tl_engine_spec *spec,
                                 const tl_engine_ops *ops, tl_engine **out)
{
    tl_engine_spec own = *spec;
    own.panel = panel;
    TRY(library->panels->create(ctx, &own, out));
    (*out)->ops = ops;
    return TLNMF_OK;
}

static tlnmf_error create_cut(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_cut_as(ctx, spec, &cut, out);
}

static tlnmf_error create_still_cut(tlnmf_ctx *ctx, const tl_engine_spec *spec, tl_engine **out)
{
    return create_cut_as(ctx, spec, &still_cut, out);
}

static void make_engines(void)
{
    still_cpu = tl_engine_cpu;
    still_cpu.create = create_on_cpu;
    still_cpu.sweep = no_sweep;
    cut = still_cut = *library->panels;
    cut.create = create_cut;
    still_cut.create = create_still_cut;
    still_cut.sweep = no_sweep;
}

/* The same iterations on the cpu, where nothing is in panels and no sweeps are done. */
static void compare(fit *p, tl_goal goal, tl_algorithm solver, int64_t J)
{
    p->opt.solver = (int32_t)solver;
    p->opt.J = J;
    p->opt.tol = p->opt.grad_tol = 0.0;
    p->opt.hops = 0;
    tl_result *cpu = run_fit(p, goal, &still_cpu), *other = run_fit(p, goal, &still_cut);
    assert_int_equal(cpu->info.iterations, other->info.iterations);
    assert_near(other->info.C, cpu->info.C, 1e-10 * fabs(cpu->info.C));
    assert_near(other->info.L, cpu->info.L, 1e-10 * fabs(cpu->info.L));
    assert_true(other->info.orthogonality < 1e-12);
    tl_result_free(cpu);
    tl_result_free(other);
}

static void fits_are_those_of_the_cpu(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    make_engines();
    fit p = fit_of_gcm(10);
    for (int64_t panels = 2; panels <= 7; panels += 5) {
        panel = (p.data->N + panels - 1) / panels;
        compare(&p, TL_GOAL_TL, TL_ALGORITHM_FAST, 25);
        compare(&p, TL_GOAL_TL, TL_ALGORITHM_PAPER, 10);
        compare(&p, TL_GOAL_JD, TL_ALGORITHM_PAPER, 5);
        compare(&p, TL_GOAL_NMF, TL_ALGORITHM_FAST, 10);
    }
    free_fit(&p);
}

/* With sweeps: two runs have the same bits, and the fit is about as good as one that has all
 * columns at a time. */
static void fits_with_sweeps_can_be_repeated(void **state)
{
    (void)state;
    if (gpu == NULL)
        skip();
    make_engines();
    fit p = fit_of_gcm(10);
    panel = 13;
    p.opt.J = 60;
    p.opt.hops = 0;
    tl_result *once = run_fit(&p, TL_GOAL_TL, &cut), *again = run_fit(&p, TL_GOAL_TL, &cut),
              *whole = run_fit(&p, TL_GOAL_TL, NULL);
    assert_true(once->info.C == again->info.C);
    assert_memory_equal(once->Phi, again->Phi, (size_t)(10 * 10) * sizeof(double));
    assert_near(once->info.C, whole->info.C, 0.02 * fabs(whole->info.C));
    tl_result_free(once);
    tl_result_free(again);
    tl_result_free(whole);
    free_fit(&p);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void keep_warning(tlnmf_log_level level, const char *message, void *user)
{
    if (level == TLNMF_LOG_WARNING)
        snprintf(user, TL_DEVICE_TEXT, "%s", message);
}

static void set_memory(double bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", bytes);
    setenv("EMULATED_MEMORY", text, 1);
}

/* With a little less memory than all arrays need, a fit runs in panels, says so, and finds what it
 * finds otherwise; whether or not memory of the host can be pinned. With next to none it is refused
 * with figures. */
static void memory_decides(void **state)
{
    (void)state;
    if (gpu == NULL || !emulated)
        skip();
    enum { M = 16, N = 8000, K = 2 };
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 3, 1);
    double *Y = new_normals(&rng, M * N);
    fit p = fit_of(new_ctx(), Y, (int64_t[]){1, M, N}, K, 0.01);
    free(Y);
    char warning[TL_DEVICE_TEXT] = "";
    const tl_model model = {.data = p.data, .K = p.opt.k};
    const tl_engine_spec spec = {.model = &model};
    double C[3], all = library->bytes(&spec, false);
    tlnmf_ctx_set_log(p.ctx, keep_warning, warning);
    p.opt.solver = TL_ALGORITHM_PAPER;
    p.opt.J = 2;
    p.opt.J_nmf = 1;
    for (int i = 0; i < 3; i++) {
        p.opt.device = TL_DEVICE_GPU;
        warning[0] = '\0';
        if (i > 0)
            set_memory(all - 1.0);
        if (i > 1)
            setenv("EMULATED_UNPINNED", "1", 1);
        assert_ok(p.ctx, tl_device_choose(p.ctx, &spec, &p.opt));
        assert_int_equal(p.opt.device, i > 0 ? TL_DEVICE_PANELS : TL_DEVICE_GPU);
        assert_int_equal(strstr(warning, " panels, sweeps turn rows by one frame in ") != NULL,
                         i > 0);
        assert_ptr_equal(tl_engine_of(&p.opt), i > 0 ? library->panels : gpu);
        tl_result *result = run_fit(&p, TL_GOAL_TL, NULL);
        C[i] = result->info.C;
        tl_result_free(result);
    }
    unsetenv("EMULATED_UNPINNED");
    p.opt.device = TL_DEVICE_AUTO; /* the cpu rather than panels */
    p.opt.starts = 1000;
    assert_ok(p.ctx, tl_device_choose(p.ctx, &spec, &p.opt));
    assert_int_equal(p.opt.device, TL_DEVICE_CPU);
    assert_non_null(strstr(warning, "device auto: the cpu, since: a start needs "));
    p.opt.device = TL_DEVICE_GPU;
    assert_near(C[1], C[0], 1e-10 * fabs(C[0]));
    assert_true(C[2] == C[1]);
    set_memory(1e6);
    assert_int_equal(tl_device_choose(p.ctx, &spec, &p.opt), TLNMF_ERR_OPTION);
    assert_non_null(strstr(tlnmf_message(p.ctx), "with columns in panels "));
    unsetenv("EMULATED_MEMORY");
    free_fit(&p);
}

/* usage: unit_engine_panels [TEST], a name or a pattern */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_fit_the_memory),
        cmocka_unit_test(frames_are_not_cut),
        cmocka_unit_test(sweeps_rotate_by_a_sample_of_the_frames),
        cmocka_unit_test(silent_panels_add_nothing),
        cmocka_unit_test(fits_are_those_of_the_cpu),
        cmocka_unit_test(fits_with_sweeps_can_be_repeated),
        cmocka_unit_test(memory_decides),
    };
    char why[TL_DEVICE_TEXT];
    const tl_engine_ops *mixed;
    tl_device device;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    library = tl_device_load(why);
    gpu = gpu_engine(&mixed);
    emulated =
        gpu != NULL && library->find(&device, why) && strcmp(device.name, "an emulated GPU") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
