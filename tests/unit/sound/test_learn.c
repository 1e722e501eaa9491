/* Candidates: C recomputed in plain loops, the band, and independence from earlier candidates. */
#include "sound/learn/learn.h"
#include "unit/sound/duet.h"

/* A learner on the notes, with its data. */
typedef struct bench {
    tlnmf_ctx *ctx;
    duet *d;
    arrays a;
    tl_sound sound;
    tl_learn_options opt;
    tl_schedule schedule;
    tl_scene scene;
    tl_learner learner;
} bench;

static bench *new_bench(void)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->ctx = new_ctx();
    b->d = new_duet(b->ctx);
    b->a = (arrays){.x = b->d->mix, .channels = 1};
    b->sound = (tl_sound){LENGTH, 1, read_array, &b->a};
    b->opt = note_options();
    b->opt.frames.shifts = 3;
    b->opt.set.learn_frames = 70;
    assert_ok(b->ctx, tl_schedule_create(b->ctx, NOTES, 4, 0, 2, &b->schedule));
    assert_ok(b->ctx, tl_scene_create(b->ctx, &b->sound, &b->schedule, &b->opt.frames,
                                      b->opt.set.learn_frames, &b->scene));
    assert_ok(b->ctx, tl_learner_create(b->ctx, &b->scene, &b->opt, 2, &b->learner));
    return b;
}

static void free_bench(bench *b)
{
    tl_learner_free(&b->learner);
    tl_scene_free(&b->scene);
    tl_schedule_free(&b->schedule);
    tlnmf_ctx_free(b->ctx);
    free(b->d);
    free(b);
}

static const tl_recipe RECIPES[] = {
    {false, TL_WINDOW_TUKEY, TL_BASIS_DCT, TL_METHOD_NMF, 1, 0},
    {false, TL_WINDOW_SINE, TL_BASIS_STFT, TL_METHOD_NMF, 2, 0},
    {false, TL_WINDOW_TUKEY, TL_BASIS_DCT, TL_METHOD_TL, 1, 3},
    {false, TL_WINDOW_TUKEY, TL_BASIS_DFT, TL_METHOD_JD, 2, 2},
    {false, TL_WINDOW_TUKEY, TL_BASIS_DFT, TL_METHOD_NMF, 1, 0},
};
enum { RECIPES_COUNT = sizeof RECIPES / sizeof *RECIPES };

/* V_mi of frame i of the scene, from the definition (22) and (1). */
static double naive_power(const bench *b, const tl_separator *model, const double *w, int64_t m,
                          int64_t i)
{
    const tl_frames *f = &model->info.frames;
    double V = 0.0;
    for (int64_t s = 0; s < f->shifts; s++) {
        int64_t begin = (b->scene.n[i] + 1) * f->hop - f->M - s * f->hop / f->shifts;
        double X = 0.0;
        for (int64_t t = 0; t < f->M; t++)
            if (begin + t >= 0 && begin + t < LENGTH)
                X += model->Phi[m * f->M + t] * w[t] * b->d->mix[begin + t];
        V += X * X / (double)f->shifts;
    }
    return V;
}

/* (2), with the powers of cosine and sine shared for the STFT, (25). */
static double naive_C(const bench *b, const tl_separator *model, const double *H)
{
    int64_t M = model->M, K = model->K, frames = b->scene.frames;
    double *w = new_doubles(M), *V = new_doubles(M), C = 0.0;
    window_of(b->ctx, &model->info.frames, w);
    for (int64_t i = 0; i < frames; i++) {
        for (int64_t m = 0; m < M; m++)
            V[m] = naive_power(b, model, w, m, i);
        for (int64_t m = 1; model->info.basis == TL_BASIS_STFT && m + 1 < M; m += 2)
            V[m] = V[m + 1] = 0.5 * (V[m] + V[m + 1]);
        for (int64_t m = 0; m < M; m++) {
            double Vhat = model->info.eps;
            for (int64_t k = 0; k < K; k++)
                Vhat += model->W[m * K + k] * H[k * frames + i];
            C += (V[m] + model->info.eps) / Vhat + log(Vhat);
        }
    }
    free(w);
    free(V);
    return C;
}

static void C_is_that_of_the_model(void **state)
{
    (void)state;
    bench *b = new_bench();
    for (int i = 0; i < RECIPES_COUNT; i++) {
        tl_candidate candidate;
        assert_ok(b->ctx, tl_learn(&b->learner, &RECIPES[i], &candidate));
        const tl_separator_info *info = &candidate.model->info;
        assert_close(info->C, naive_C(b, candidate.model, b->learner.H), 1e-10);
        assert_true(isnan(candidate.score) && isnan(info->score)); /* it has not been scored */
        assert_int_equal(info->method, RECIPES[i].method);
        assert_int_equal(info->per_source, RECIPES[i].per_source);
        assert_int_equal(info->J, RECIPES[i].J);
        assert_int_equal(info->learn_frames, 70);
        tl_separator_free(candidate.model);
    }
    free_bench(b);
}

/* Learning rotates only the rows of the band, and lowers C. */
static void learning_rotates_only_the_band(void **state)
{
    (void)state;
    bench *b = new_bench();
    tl_candidate fixed, learnt;
    tl_recipe recipe = RECIPES[0];
    assert_ok(b->ctx, tl_learn(&b->learner, &recipe, &fixed));
    recipe.method = TL_METHOD_TL;
    recipe.J = 3;
    b->opt.band = 60;
    assert_ok(b->ctx, tl_learn(&b->learner, &recipe, &learnt));
    int64_t M = b->learner.M;
    assert_int_equal(fixed.model->info.band, 0);
    assert_int_equal(learnt.model->info.band, 60);
    assert_true(largest_difference(60 * M, fixed.model->Phi, learnt.model->Phi) > 0.01);
    assert_memory_equal(fixed.model->Phi + 60 * M, learnt.model->Phi + 60 * M,
                        (size_t)((M - 60) * M) * sizeof(double));
    assert_ok(b->ctx, tl_check_orthogonal(b->ctx, "Phi", M, learnt.model->Phi));
    assert_true(learnt.model->info.C < fixed.model->info.C - 100.0);
    tl_separator_free(fixed.model);
    tl_separator_free(learnt.model);
    free_bench(b);
}

/* All recipes in order and then in reverse: the learner's buffers keep no state. */
static void candidates_do_not_depend_on_earlier_ones(void **state)
{
    (void)state;
    bench *b = new_bench();
    tl_candidate first[RECIPES_COUNT], again;
    for (int i = 0; i < RECIPES_COUNT; i++)
        assert_ok(b->ctx, tl_learn(&b->learner, &RECIPES[i], &first[i]));
    for (int i = RECIPES_COUNT - 1; i >= 0; i--) {
        const tl_separator *model = first[i].model;
        assert_ok(b->ctx, tl_learn(&b->learner, &RECIPES[i], &again));
        assert_memory_equal(model->Phi, again.model->Phi,
                            (size_t)(model->M * model->M) * sizeof(double));
        assert_memory_equal(model->W, again.model->W,
                            (size_t)(model->M * model->K) * sizeof(double));
        assert_true(model->info.C == again.model->info.C);
        assert_true(model->info.eps == again.model->info.eps);
        tl_separator_free(again.model);
        tl_separator_free(first[i].model);
    }
    free_bench(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C_is_that_of_the_model),
        cmocka_unit_test(learning_rotates_only_the_band),
        cmocka_unit_test(candidates_do_not_depend_on_earlier_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
