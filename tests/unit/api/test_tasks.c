/* Settings of one task passed to a call of another. */
#include "unit/api/results_table.h"
#include "unit/api/small.h"

/* Valid arguments other than the settings. */
typedef struct world {
    tlnmf_ctx *ctx;
    tlnmf_data *data;
    tlnmf_sound *sound;
    tlnmf_record *separation;
    double x[LENGTH * CHANNELS], space[LENGTH * CHANNELS * 8];
} world;

/* ---- every function that takes settings ------------------------------------------------------ */

static tlnmf_error fit(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_fit(w->ctx, w->data, s, NULL, out);
}

static tlnmf_error diagonalise(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_diagonalise(w->ctx, w->data, s, NULL, out);
}

static tlnmf_error draw_start(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_draw_start(w->ctx, w->data, s, 0, out);
}

static tlnmf_error memory(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    (void)out;
    return tlnmf_memory(w->ctx, w->data, s, w->space);
}

static tlnmf_error frames_count(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    (void)out;
    int64_t count;
    return tlnmf_frames_count(w->ctx, s, 100, &count);
}

static tlnmf_error frames_window(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    (void)out;
    return tlnmf_frames_window(w->ctx, s, w->space);
}

static tlnmf_error frames_analyse(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    (void)out;
    return tlnmf_frames_analyse(w->ctx, s, w->x, 100, w->space);
}

static tlnmf_error frames_synthesise(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    (void)out;
    return tlnmf_frames_synthesise(w->ctx, s, w->space, 100, w->space + LENGTH);
}

static tlnmf_error separate(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_learn_sources(w->ctx, w->sound, s, out);
}

static tlnmf_error separate_memory(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    (void)out;
    return tlnmf_learn_sources_memory(w->ctx, w->sound, s, w->space);
}

static tlnmf_error stems(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_separate(w->ctx, w->separation, w->sound, s, NULL, NULL, out);
}

static tlnmf_error stems_plan(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_separate_plan(w->ctx, w->separation, w->sound, s, out);
}

static tlnmf_error stems_array(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_separate_array(w->ctx, w->separation, w->sound, s, w->space, out);
}

static tlnmf_error score(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_score(w->ctx, w->x, w->x, (int64_t[]){1, 600, 1}, s, out);
}

static tlnmf_error simulate(world *w, const tlnmf_settings *s, tlnmf_record **out)
{
    return tlnmf_simulate_gcm(w->ctx, s, out);
}

static const struct {
    const char *name, *tasks; /* tasks whose settings it accepts */
    tlnmf_error (*call)(world *w, const tlnmf_settings *s, tlnmf_record **out);
} functions[] = {
    {"tlnmf_fit", "fit", fit},
    {"tlnmf_diagonalise", "jd", diagonalise},
    {"tlnmf_draw_start", "fit", draw_start},
    {"tlnmf_memory", "fit jd", memory},
    {"tlnmf_frames_count", "frames learn", frames_count},
    {"tlnmf_frames_window", "frames learn", frames_window},
    {"tlnmf_frames_analyse", "frames learn", frames_analyse},
    {"tlnmf_frames_synthesise", "frames learn", frames_synthesise},
    {"tlnmf_learn_sources", "learn", separate},
    {"tlnmf_learn_sources_memory", "learn", separate_memory},
    {"tlnmf_separate", "separate", stems},
    {"tlnmf_separate_plan", "separate", stems_plan},
    {"tlnmf_separate_array", "separate", stems_array},
    {"tlnmf_score", "score", score},
    {"tlnmf_simulate_gcm", "gcm", simulate},
};

/* The required options of a task. */
static const char *pairs_of(const char *task)
{
    static const char *const needed[][2] = {
        {"fit", "k=2 J=2"}, {"frames", "frame=16"}, {"learn", QUICK_SEPARATION}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (strcmp(needed[i][0], task) == 0)
            return needed[i][1];
    return "";
}

/* `tasks` has one name or two, with a space between them. */
static void expect_tasks(const char *message, const char *tasks)
{
    char end[64];
    const char *space = strchr(tasks, ' ');
    snprintf(end, sizeof end, "this call needs settings of task %.*s%s%s",
             space == NULL ? (int)strlen(tasks) : (int)(space - tasks), tasks,
             space == NULL ? "" : " or ", space == NULL ? "" : space + 1);
    const char *found = strstr(message, end);
    if (found == NULL || strcmp(found, end) != 0)
        fail_msg("%s: does not end with: %s", message, end);
}

/* Every function with settings of every task. */
static void settings_of_another_task_are_refused(void **state)
{
    (void)state;
    static world w;
    fill_sound(w.x);
    w.ctx = new_ctx();
    w.data = small_data(w.ctx);
    w.sound = labelled_sound(w.ctx, w.x);
    tlnmf_settings *learn = new_settings(w.ctx, "learn", QUICK_SEPARATION);
    assert_ok(w.ctx, tlnmf_learn_sources(w.ctx, w.sound, learn, &w.separation));
    tlnmf_settings_free(learn);
    const char *task;
    for (size_t t = 0; (task = tlnmf_task_name(t)) != NULL; t++) {
        tlnmf_settings *settings = new_settings(w.ctx, task, pairs_of(task));
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
            tlnmf_record *out = NULL;
            tlnmf_error error = functions[f].call(&w, settings, &out);
            if (error != (is_among(functions[f].tasks, task) ? TLNMF_OK : TLNMF_ERR_ARGUMENT))
                fail_msg("%s with settings of task %s: %s (%s)", functions[f].name, task,
                         tlnmf_error_name(error), tlnmf_message(w.ctx));
            assert_true(error == TLNMF_OK || out == NULL);
            if (error != TLNMF_OK) /* the message names the tasks of the function */
                expect_tasks(tlnmf_message(w.ctx), functions[f].tasks);
            tlnmf_record_free(out);
        }
        tlnmf_settings_free(settings);
    }
    tlnmf_record_free(w.separation);
    tlnmf_sound_free(w.sound);
    tlnmf_data_free(w.data);
    tlnmf_ctx_free(w.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(settings_of_another_task_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
