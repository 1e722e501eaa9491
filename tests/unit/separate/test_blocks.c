/* Checkpoints of stems: a call that goes on from finished blocks ends with the same stems,
 * whichever were saved; what does not fit is refused, what is made up does no harm. */
#include "meter.h"
#include "tlnmf/sound.h"
#include "unit/separate/duet.h"
#include "unit/separate/keeper.h"

enum { STEMS = 6 };

/* A model, the sound, and space for what a call returns. */
typedef struct task {
    tlnmf_ctx *ctx;
    duet *d;
    tlnmf_sound *sound;
    tlnmf_settings *settings; /* of the stems */
    tlnmf_record *model;
    double stems[STEMS * LENGTH];
} task;

static task *create(const char *const learning[], const char *const options[])
{
    static const double spans[4][2] = {{0.0, 1.0}, {1.0, 2.0}, {2.0, 3.0}, {2.0, 3.0}};
    static const char *const names[4] = {"low", "high", "low", "high"};
    tlnmf_settings *settings;
    task *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->ctx = new_ctx();
    t->d = new_duet(t->ctx);
    assert_ok(t->ctx, tlnmf_sound_from_array(t->ctx, t->d->mix, LENGTH, 1, RATE, &t->sound));
    for (int i = 0; i < 4; i++)
        assert_ok(t->ctx,
                  tlnmf_sound_add_label(t->ctx, t->sound, names[i], spans[i][0], spans[i][1]));
    assert_ok(t->ctx, tlnmf_settings_create(t->ctx, "separate", &settings));
    for (; learning[0] != NULL; learning += 2)
        assert_ok(t->ctx, tlnmf_settings_set_text(t->ctx, settings, learning[0], learning[1]));
    assert_ok(t->ctx, tlnmf_separate(t->ctx, t->sound, settings, &t->model));
    tlnmf_settings_free(settings);
    assert_ok(t->ctx, tlnmf_settings_create(t->ctx, "stems", &t->settings));
    for (; options[0] != NULL; options += 2)
        assert_ok(t->ctx, tlnmf_settings_set_text(t->ctx, t->settings, options[0], options[1]));
    return t;
}

static void destroy(task *t)
{
    tlnmf_record_free(t->model);
    tlnmf_settings_free(t->settings);
    tlnmf_sound_free(t->sound);
    free(t->d);
    tlnmf_ctx_free(t->ctx);
    free(t);
}

static tlnmf_error run(task *t, const packed *from, keeper *k, tlnmf_record **report)
{
    tlnmf_record *state = watch(t->ctx, from, k);
    memset(t->stems, 0, sizeof t->stems);
    tlnmf_error error =
        tlnmf_stems_array(t->ctx, t->model, t->sound, t->settings, t->stems, report);
    unwatch(t->ctx, state);
    return error;
}

/* The report (H, envelopes, the part that is not explained) and the stems, packed. */
static packed stems_from(task *t, const packed *from, keeper *k)
{
    tlnmf_record *report;
    const int64_t count = STEMS * LENGTH;
    assert_ok(t->ctx, run(t, from, k, &report));
    assert_ok(t->ctx, tlnmf_set_array(t->ctx, report, "samples", t->stems, 1, &count));
    packed p = pack(t->ctx, report);
    tlnmf_record_free(report);
    return p;
}

static bool are_same(const packed *a, const packed *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void assert_same(task *t, const packed *from, const packed *whole)
{
    packed p = stems_from(t, from, NULL);
    assert_true(are_same(&p, whole));
    free(p.bytes);
}

/* The stems of the last call are those of the packed report. */
static void assert_same_samples(task *t, const packed *whole)
{
    tlnmf_record *record;
    tlnmf_ctx *ctx = new_ctx();
    assert_ok(ctx, tlnmf_record_unpack(ctx, whole->bytes, whole->size, &record));
    assert_memory_equal(tlnmf_get_array(record, "samples", NULL, NULL), t->stems, sizeof t->stems);
    tlnmf_record_free(record);
    tlnmf_ctx_free(ctx);
}

/* The numbers of lane 0 in a state. */
static double *numbers_of(const tlnmf_record *state, int64_t *count)
{
    int64_t shape[TLNMF_MAX_RANK];
    double *x = (double *)(uintptr_t)tlnmf_get_array(state, "item.0", NULL, shape);
    assert_non_null(x);
    *count = shape[0];
    return x;
}

/* ---- the same stems -------------------------------------------------------------------------- */

static void check_all(const char *const learning[], const char *const options[])
{
    task *t = create(learning, options);
    keeper k = {.ctx = new_ctx()}, cut = {.ctx = new_ctx(), .stop_after = 3}, more = {0};
    more.ctx = new_ctx();
    packed whole = stems_from(t, NULL, NULL), saved = stems_from(t, NULL, &k);
    assert_true(are_same(&whole, &saved)); /* saving changes nothing */
    assert_true(k.count >= 4);
    for (int i = 0; i < k.count; i++)
        assert_same(t, &k.state[i], &whole);
    tlnmf_record *report;
    assert_ok(t->ctx, run(t, NULL, &cut, &report));
    assert_int_equal(tlnmf_get_integer(report, "outcome_code"), TLNMF_CANCELLED);
    tlnmf_record_free(report);
    assert_same(t, &cut.state[cut.count - 1], &whole);
    /* Killed again after it went on: what it saves then is more, and not less. */
    packed again = stems_from(t, &cut.state[cut.count - 1], &more);
    assert_true(are_same(&again, &whole));
    for (int i = 0; i < more.count; i++) {
        assert_true(more.state[i].size >= cut.state[cut.count - 1].size);
        assert_same(t, &more.state[i], &whole);
    }
    free(whole.bytes);
    free(saved.bytes);
    free(again.bytes);
    forget(&k);
    forget(&cut);
    forget(&more);
    destroy(t);
}

static const char *const FEW[] = {"frame", "100", "method", "nmf", NULL};
static const char *const NOTHING[] = {NULL};

static void blocks_of_members(void **state)
{
    (void)state;
    check_all((const char *const[]){"frame", "100", NULL},
              (const char *const[]){"keep-h", "1", NULL});
}

static void blocks_of_a_learnt_transform(void **state)
{
    (void)state;
    check_all((const char *const[]){"frame", "100", "method", "tl", "iterations", "2", "per-source",
                                    "1", NULL},
              (const char *const[]){"keep-h", "1", "components", "1", "threads", "1", NULL});
}

/* H of a state is what the stems are made of: it is not computed again. */
static void blocks_are_taken(void **state)
{
    (void)state;
    task *t = create(FEW, NOTHING);
    keeper k = {.ctx = new_ctx()};
    tlnmf_record *changed;
    int64_t count;
    packed whole = stems_from(t, NULL, &k);
    const packed *last = &k.state[k.count - 1];
    assert_ok(t->ctx, tlnmf_record_unpack(t->ctx, last->bytes, last->size, &changed));
    double *x = numbers_of(changed, &count);
    for (int64_t i = 0; i < count; i += 2)
        x[i] *= 2.0;
    packed other = pack(t->ctx, changed), stems = stems_from(t, &other, NULL);
    assert_false(are_same(&stems, &whole));
    tlnmf_record_free(changed);
    free(other.bytes);
    free(stems.bytes);
    free(whole.bytes);
    forget(&k);
    destroy(t);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse(task *t, const packed *from, const char *message)
{
    tlnmf_record *report;
    assert_int_equal(run(t, from, NULL, &report), TLNMF_ERR_DATA);
    assert_non_null(strstr(tlnmf_message(t->ctx), message));
    assert_null(report);
}

static void other_runs_are_refused(void **state)
{
    (void)state;
    task *t = create(FEW, NOTHING), *other = create(FEW, NOTHING);
    keeper k = {.ctx = new_ctx()};
    int64_t shape[TLNMF_MAX_RANK];
    packed whole = stems_from(t, NULL, &k);
    const packed *last = &k.state[k.count - 1];
    assert_same(other, last, &whole); /* so far they are the same */
    assert_ok(other->ctx, tlnmf_settings_set_integer(other->ctx, other->settings, "residual", 1));
    refuse(other, last, "the checkpoint is of option.residual = 0, this run of 1");
    assert_ok(other->ctx, tlnmf_settings_set_integer(other->ctx, other->settings, "residual", 0));
    other->d->mix[777] += 1e-9;
    refuse(other, last, "the checkpoint is of other data");
    other->d->mix[777] = t->d->mix[777];
    double *W = (double *)(uintptr_t)tlnmf_get_array(other->model, "member.0.W", NULL, shape);
    W[0] *= 1.5;
    refuse(other, last, "the checkpoint is of model = ");
    W[0] /= 1.5;
    assert_ok(other->ctx, tlnmf_sound_add_label(other->ctx, other->sound, "low", 1.5, 1.6));
    refuse(other, last, "the checkpoint is of labels = ");
    packed none = pack(t->ctx, tlnmf_sound_record(t->sound));
    refuse(t, &none, "the checkpoint is of kind = nothing, this run of stems");
    free(none.bytes);
    free(whole.bytes);
    forget(&k);
    destroy(t);
    destroy(other);
}

/* Numbers replaced by others, lists cut short: an error or stems, never a crash. */
static void made_up_states_do_no_harm(void **state)
{
    (void)state;
    static const double words[] = {-1.0, NAN, INFINITY, 0.0, 1e300, 1.0};
    task *t = create(FEW, NOTHING);
    keeper k = {.ctx = new_ctx()};
    tlnmf_record *made_up, *report;
    tl_rng rng;
    tl_rng_seed(&rng, TL_STREAM_OWN, 5, 0);
    packed whole = stems_from(t, NULL, &k);
    const packed *last = &k.state[k.count - 1];
    for (int i = 0; i < 40; i++) {
        int64_t count;
        assert_ok(t->ctx, tlnmf_record_unpack(t->ctx, last->bytes, last->size, &made_up));
        double *x = numbers_of(made_up, &count), word = words[i % 6];
        x[pick(&rng, 0, count - 1)] = word;
        int64_t kept = i % 2 == 0 ? count : pick(&rng, 1, count);
        double *part = malloc((size_t)kept * sizeof *part);
        assert_non_null(part);
        memcpy(part, x, (size_t)kept * sizeof *part);
        assert_ok(t->ctx, tlnmf_set_array(t->ctx, made_up, "item.0", part, 1, &kept));
        free(part);
        packed from = pack(t->ctx, made_up);
        tlnmf_error error = run(t, &from, NULL, &report);
        assert_true((error == TLNMF_OK) == (report != NULL));
        assert_true(error == TLNMF_OK || error == TLNMF_ERR_DATA);
        if (kept == count && !(word >= 0.0 && isfinite(word)))
            assert_string_equal(tlnmf_message(t->ctx), "the checkpoint is damaged");
        free(from.bytes);
        tlnmf_record_free(made_up);
        tlnmf_record_free(report);
    }
    free(whole.bytes);
    forget(&k);
    destroy(t);
}

/* A list that ends inside a block: what is whole is taken, the rest computed. */
static void part_of_a_block_is_left(void **state)
{
    (void)state;
    task *t = create(FEW, NOTHING);
    keeper k = {.ctx = new_ctx()};
    tlnmf_record *cut;
    int64_t count;
    packed whole = stems_from(t, NULL, &k);
    const packed *last = &k.state[k.count - 1];
    assert_ok(t->ctx, tlnmf_record_unpack(t->ctx, last->bytes, last->size, &cut));
    const double *x = numbers_of(cut, &count);
    double *part = malloc((size_t)count * sizeof *part);
    assert_non_null(part);
    memcpy(part, x, (size_t)count * sizeof *part);
    count -= 3;
    assert_ok(t->ctx, tlnmf_set_array(t->ctx, cut, "item.0", part, 1, &count));
    free(part);
    packed from = pack(t->ctx, cut);
    assert_same(t, &from, &whole);
    tlnmf_record_free(cut);
    free(from.bytes);
    free(whole.bytes);
    forget(&k);
    destroy(t);
}

/* Each allocation of a call that saves and goes on fails in turn: an error, or the same stems and
 * fewer checkpoints. Nothing leaks. */
static void memory_may_be_missing(void **state)
{
    (void)state;
    task *t = create(FEW, (const char *const[]){"threads", "1", NULL});
    keeper k = {.ctx = new_ctx()};
    tlnmf_record *report, *from;
    packed whole = stems_from(t, NULL, &k);
    tlnmf_ctx *usual = t->ctx;
    int64_t points = 1;
    bool survived = false;
    for (int64_t n = 0; n <= points; n++) { /* 0: none fails */
        meter m = {0};
        keeper some = {.ctx = new_ctx()};
        assert_ok(usual, tlnmf_ctx_create_with(metered_allocate, metered_release, &m, &t->ctx));
        m.fail_at = n > 0 ? m.calls + n : 0;
        assert_ok(usual, tlnmf_record_unpack(usual, k.state[0].bytes, k.state[0].size, &from));
        tlnmf_ctx_set_checkpoint(t->ctx, 0.0, save, &some);
        tlnmf_ctx_set_resume(t->ctx, from);
        memset(t->stems, 0, sizeof t->stems);
        tlnmf_error error =
            tlnmf_stems_array(t->ctx, t->model, t->sound, t->settings, t->stems, &report);
        assert_true(error == TLNMF_OK || error == TLNMF_ERR_MEMORY);
        assert_true((error == TLNMF_OK) == (report != NULL));
        survived = survived || (n > 0 && error == TLNMF_OK);
        tlnmf_record_free(report);
        tlnmf_record_free(from);
        tlnmf_ctx_free(t->ctx);
        if (n == 0)
            points = m.calls;
        else if (error == TLNMF_OK)
            assert_same_samples(t, &whole);
        assert_int_equal(m.alive, 0);
        t->ctx = usual;
        forget(&some);
    }
    assert_true(survived);
    free(whole.bytes);
    forget(&k);
    destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_members),         cmocka_unit_test(blocks_of_a_learnt_transform),
        cmocka_unit_test(blocks_are_taken),          cmocka_unit_test(other_runs_are_refused),
        cmocka_unit_test(made_up_states_do_no_harm), cmocka_unit_test(part_of_a_block_is_left),
        cmocka_unit_test(memory_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
