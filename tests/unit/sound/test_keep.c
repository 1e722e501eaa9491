/* Checkpoints of a separation: a separation that resumes from its finished candidates gives the
 * same model, whichever candidates were saved; mismatched checkpoints are refused, forged ones are
 * harmless.
 */
#include "sound/signal/samples.h"
#include "unit/sound/duet.h"
#include "unit/sound/keeper.h"

/* ---- the duet -------------------------------------------------------------------------------- */

typedef struct task {
    tlnmf_ctx *ctx;
    duet *d;
    tlnmf_sound *sound;
    tlnmf_settings *settings;
} task;

static task create(const char *const options[], bool labelled)
{
    static const double spans[4][2] = {{0.0, 1.0}, {1.0, 2.0}, {2.0, 3.0}, {2.0, 3.0}};
    static const char *const names[4] = {"low", "high", "low", "high"};
    task t = {.ctx = new_ctx()};
    t.d = new_duet(t.ctx);
    assert_ok(t.ctx, tlnmf_sound_from_array(t.ctx, t.d->mix, LENGTH, 1, RATE, &t.sound));
    for (int i = 0; labelled && i < 4; i++)
        assert_ok(t.ctx, tlnmf_sound_add_label(t.ctx, t.sound, names[i], spans[i][0], spans[i][1]));
    assert_ok(t.ctx, tlnmf_settings_create(t.ctx, "learn", &t.settings));
    for (; options[0] != NULL; options += 2)
        assert_ok(t.ctx, tlnmf_settings_set_text(t.ctx, t.settings, options[0], options[1]));
    return t;
}

static void destroy(task *t)
{
    tlnmf_settings_free(t->settings);
    tlnmf_sound_free(t->sound);
    free(t->d);
    tlnmf_ctx_free(t->ctx);
}

static tlnmf_error run(const task *t, const packed *from, keeper *k, tlnmf_record **model)
{
    tlnmf_record *state = watch(t->ctx, from, k);
    tlnmf_error error = tlnmf_learn_sources(t->ctx, t->sound, t->settings, model);
    unwatch(t->ctx, state);
    return error;
}

/* The model of a run from this state, packed. */
static packed learn_from(const task *t, const packed *from)
{
    tlnmf_record *model;
    assert_ok(t->ctx, run(t, from, NULL, &model));
    packed p = pack(t->ctx, model);
    tlnmf_record_free(model);
    return p;
}

static void assert_same(const task *t, const packed *from, const packed *whole)
{
    packed p = learn_from(t, from);
    assert_int_equal(p.size, whole->size);
    assert_memory_equal(p.bytes, whole->bytes, p.size);
    free(p.bytes);
}

/* A run saves at least `least` states. Resumed from each of them, and from the last state of a
 * cancelled run, it gives the same model. */
static void check_all(const char *const options[], bool labelled, int least)
{
    task t = create(options, labelled);
    keeper k = {.ctx = new_ctx()}, cut = {.ctx = new_ctx(), .stop_after = least / 2};
    packed whole = learn_from(&t, NULL);
    tlnmf_record *model;
    assert_ok(t.ctx, run(&t, NULL, &k, &model));
    tlnmf_record_free(model);
    assert_true(k.count >= least);
    for (int i = 0; i < k.count; i++)
        assert_same(&t, &k.state[i], &whole);
    assert_ok(t.ctx, run(&t, NULL, &cut, &model));
    assert_int_equal(tlnmf_record_get_integer(model, "outcome_code"), TLNMF_OUTCOME_CANCELLED);
    tlnmf_record_free(model);
    assert_same(&t, &cut.state[cut.count - 1], &whole);
    free(whole.bytes);
    forget(&k);
    forget(&cut);
    destroy(&t);
}

static void candidates_with_labels(void **state)
{
    (void)state;
    check_all((const char *const[]){"frame", "100", NULL}, true, 4);
}

static void candidates_of_recipes(void **state)
{
    (void)state;
    check_all((const char *const[]){"frame", "100", "method", "tl", "iterations", "2", NULL}, true,
              3);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *const FEW[] = {"frame", "100", "method", "nmf", NULL};

static void refuse(const task *t, const packed *from, const char *message)
{
    tlnmf_record *model;
    assert_int_equal(run(t, from, NULL, &model), TLNMF_ERR_DATA);
    assert_string_equal(tlnmf_message(t->ctx), message);
    assert_null(model);
}

static void other_runs_are_refused(void **state)
{
    (void)state;
    task t = create(FEW, true), other = create(FEW, true);
    keeper k = {.ctx = new_ctx()};
    tlnmf_record *model;
    assert_ok(t.ctx, run(&t, NULL, &k, &model));
    tlnmf_record_free(model);
    const packed *last = &k.state[k.count - 1];
    assert_ok(other.ctx, tlnmf_settings_set_integer(other.ctx, other.settings, "seed", 9));
    refuse(&other, last, "the checkpoint has seed=1, but this run has seed=9");
    assert_ok(other.ctx, tlnmf_settings_set_integer(other.ctx, other.settings, "seed", 1));
    other.d->mix[777] += 1e-9;
    refuse(&other, last, "the checkpoint belongs to other data or another start");
    other.d->mix[777] = t.d->mix[777];
    assert_ok(other.ctx, tlnmf_sound_add_label(other.ctx, other.sound, "low", 0.5, 0.6));
    tlnmf_error error = run(&other, last, NULL, &model);
    assert_int_equal(error, TLNMF_ERR_DATA);
    assert_non_null(strstr(tlnmf_message(other.ctx), "the checkpoint belongs to other data"));
    packed whole = pack(t.ctx, tlnmf_sound_record(t.sound));
    refuse(&t, &whole, "this is not a checkpoint");
    free(whole.bytes);
    forget(&k);
    destroy(&t);
    destroy(&other);
}

/* Numbers of a state are replaced: an error or a model, never a crash. */
static void forged_states_are_harmless(void **state)
{
    (void)state;
    task t = create(FEW, true);
    keeper k = {.ctx = new_ctx()};
    tlnmf_record *model, *made_up;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    assert_ok(t.ctx, run(&t, NULL, &k, &model));
    tlnmf_record_free(model);
    const packed *last = &k.state[k.count - 1];
    for (int i = 0; i < 60; i++) {
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        char name[32];
        assert_ok(t.ctx, tlnmf_record_unpack(t.ctx, last->bytes, last->size, &made_up));
        snprintf(name, sizeof name, "learn.%d", (int)pick(&rng, 0, 1));
        double *x = (double *)(uintptr_t)tlnmf_record_get_array(made_up, name, NULL, shape);
        if (x != NULL) { /* most of them among the sizes, which come first */
            int64_t place = pick(&rng, 0, i % 4 == 0 ? shape[0] - 1 : tl_min(30, shape[0] - 1));
            uint64_t word = (uint64_t)pick(&rng, -3, 1000);
            memcpy(&x[place], &word, sizeof word);
        }
        tlnmf_ctx_set_resume(t.ctx, made_up);
        tlnmf_error error = tlnmf_learn_sources(t.ctx, t.sound, t.settings, &model);
        assert_true((error == TLNMF_OK) == (model != NULL));
        assert_true(error == TLNMF_OK || error == TLNMF_ERR_DATA);
        tlnmf_ctx_set_resume(t.ctx, NULL);
        tlnmf_record_free(made_up);
        tlnmf_record_free(model);
    }
    forget(&k);
    destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_with_labels),
        cmocka_unit_test(candidates_of_recipes),
        cmocka_unit_test(other_runs_are_refused),
        cmocka_unit_test(forged_states_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
