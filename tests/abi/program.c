/* A program of somebody who has the headers of 0.2.0: it is compiled against those and run with the
 * library of today. It uses what such programs use: options by name, a fit that its callback
 * cancels, every result by name, a model as bytes, a separation, a score. */
#include <tlnmf/paper.h>
#include <tlnmf/sound.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { S = 3, M = 8, N = 20, K = 2, CANCEL_AT = 5 };

static void check(const tlnmf_ctx *ctx, tlnmf_error error, int line)
{
    if (error == TLNMF_OK)
        return;
    fprintf(stderr, "line %d: %s: %s\n", line, tlnmf_error_name(error), tlnmf_message(ctx));
    exit(1);
}

static void need(int is_so, int line)
{
    if (!is_so) {
        fprintf(stderr, "line %d: not as it was in 0.2.0\n", line);
        exit(1);
    }
}

#define CHECK(call)     check(ctx, (call), __LINE__)
#define NEED(condition) need((condition), __LINE__)

static int cancel(const tlnmf_record *progress, void *user)
{
    ++*(int *)user;
    NEED(tlnmf_get_text(progress, "stage") != NULL);
    NEED(!isnan(tlnmf_get_real(progress, "seconds")));
    return tlnmf_get_integer(progress, "complete") == 1 &&
           tlnmf_get_integer(progress, "iteration") >= CANCEL_AT;
}

/* Every value that there is, by its name; the number of values. */
static size_t read_all(const tlnmf_record *record)
{
    size_t count = tlnmf_record_count(record);
    for (size_t i = 0; i < count; i++) {
        const char *name = tlnmf_record_name(record, i);
        int32_t rank;
        int64_t shape[TLNMF_MAX_RANK];
        switch (tlnmf_record_type(record, name)) {
        case TLNMF_INTEGER:
            NEED(tlnmf_get_integer(record, name) != TLNMF_NO_INTEGER);
            break;
        case TLNMF_REAL: /* which may be NaN */
            NEED(tlnmf_get_text(record, name) == NULL);
            break;
        case TLNMF_TEXT:
            NEED(strlen(tlnmf_get_text(record, name)) < 1000);
            break;
        case TLNMF_TEXTS:
            NEED(tlnmf_get_text_at(record, name, 1000) == NULL);
            break;
        case TLNMF_ARRAY:
            NEED(tlnmf_get_array(record, name, &rank, shape) != NULL && rank >= 1);
            break;
        default:
            NEED(0);
        }
    }
    return count;
}

/* Whether new settings of a task hold their defaults, and how many options there are. */
static int read_options(tlnmf_ctx *ctx, const char *task)
{
    tlnmf_settings *settings;
    const char *name;
    int count = 0;
    CHECK(tlnmf_settings_create(ctx, task, &settings));
    for (; (name = tlnmf_option_name(task, (size_t)count)) != NULL; count++) {
        char now[64], fresh[64];
        NEED(tlnmf_option_kind_of(task, name) != TLNMF_OPTION_UNKNOWN);
        NEED(tlnmf_option_help(task, name) != NULL);
        tlnmf_settings_get_text(settings, name, now, sizeof now);
        tlnmf_option_default(task, name, fresh, sizeof fresh);
        NEED(strcmp(now, fresh) == 0);
    }
    tlnmf_settings_free(settings);
    return count;
}

static tlnmf_data *simulate(tlnmf_ctx *ctx)
{
    static const int64_t shape[3] = {S, M, N};
    tlnmf_settings *settings;
    tlnmf_record *sample;
    tlnmf_data *data;
    CHECK(tlnmf_settings_create(ctx, "gcm", &settings));
    CHECK(tlnmf_settings_set_integer(ctx, settings, "s", S));
    CHECK(tlnmf_settings_set_integer(ctx, settings, "m", M));
    CHECK(tlnmf_settings_set_text(ctx, settings, "n", "20"));
    CHECK(tlnmf_settings_set_real(ctx, settings, "kbar", 2.0));
    CHECK(tlnmf_simulate_gcm(ctx, settings, &sample));
    CHECK(
        tlnmf_data_from_realisations(ctx, tlnmf_get_array(sample, "Y", NULL, NULL), shape, &data));
    tlnmf_record_free(sample);
    tlnmf_settings_free(settings);
    NEED(tlnmf_get_integer(tlnmf_data_record(data), "N") == N);
    return data;
}

static tlnmf_record *fit(tlnmf_ctx *ctx, const tlnmf_data *data)
{
    tlnmf_settings *settings;
    tlnmf_record *model;
    int calls = 0;
    CHECK(tlnmf_settings_create(ctx, "fit", &settings));
    CHECK(tlnmf_settings_set_integer(ctx, settings, "k", K));
    CHECK(tlnmf_settings_set_text(ctx, settings, "solver", "paper"));
    CHECK(tlnmf_settings_set_text(ctx, settings, "method", "tl"));
    CHECK(tlnmf_settings_set_text(ctx, settings, "trace", "true"));
    CHECK(tlnmf_settings_set_real(ctx, settings, "tol", 0.0));
    NEED(tlnmf_settings_set_integer(ctx, settings, "k", 0) == TLNMF_ERR_OPTION);
    NEED(strcmp(tlnmf_message(ctx), "k = 0 is outside [1, 10000]") == 0);
    tlnmf_ctx_set_progress(ctx, cancel, &calls);
    CHECK(tlnmf_fit(ctx, data, settings, NULL, &model));
    tlnmf_ctx_set_progress(ctx, NULL, NULL);
    NEED(calls >= CANCEL_AT);
    NEED(tlnmf_get_integer(model, "outcome_code") == TLNMF_CANCELLED);
    NEED(strcmp(tlnmf_get_text(model, "outcome"), "cancelled") == 0);
    NEED(read_all(model) > 40);
    tlnmf_settings_free(settings);
    return model;
}

/* Through bytes, and the same value again. */
static void evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *model)
{
    size_t size = 0;
    tlnmf_record *again, *values;
    CHECK(tlnmf_record_pack(ctx, model, NULL, &size));
    void *bytes = malloc(size);
    NEED(bytes != NULL);
    CHECK(tlnmf_record_pack(ctx, model, bytes, &size));
    CHECK(tlnmf_record_unpack(ctx, bytes, size, &again));
    NEED(read_all(again) == tlnmf_record_count(model));
    CHECK(tlnmf_evaluate(ctx, data, again, &values));
    NEED(fabs(tlnmf_get_real(values, "C") - tlnmf_get_real(model, "C")) < 1e-9);
    free(bytes);
    tlnmf_record_free(values);
    tlnmf_record_free(again);
}

static void apply(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *model)
{
    tlnmf_settings *settings;
    tlnmf_record *applied;
    int64_t shape[TLNMF_MAX_RANK];
    CHECK(tlnmf_settings_create(ctx, "apply", &settings));
    CHECK(tlnmf_settings_set_integer(ctx, settings, "keep-v", 1));
    CHECK(tlnmf_apply(ctx, model, data, settings, &applied));
    NEED(tlnmf_get_array(applied, "H", NULL, shape) != NULL && shape[0] == K && shape[1] == N);
    NEED(tlnmf_get_real(applied, "C") <= tlnmf_get_real(model, "C") + 1e-9);
    NEED(read_all(applied) >= 6);
    tlnmf_record_free(applied);
    tlnmf_settings_free(settings);
}

/* A sound of two notes taken apart; the stems sum to it. */
static void separate(tlnmf_ctx *ctx)
{
    enum { LENGTH = 2000 };
    static double x[LENGTH], stems[2][LENGTH];
    double worst = 0.0;
    tlnmf_sound *sound;
    tlnmf_settings *learn, *run;
    tlnmf_record *model, *report;
    for (int t = 0; t < LENGTH; t++)
        x[t] = t < LENGTH / 2 ? sin(0.3 * t) : 0.5 * sin(1.1 * t);
    CHECK(tlnmf_sound_from_array(ctx, x, LENGTH, 1, 1000.0, &sound));
    CHECK(tlnmf_sound_add_label(ctx, sound, "low", 0.0, 1.0));
    CHECK(tlnmf_sound_add_label(ctx, sound, "high", 1.0, 2.0));
    CHECK(tlnmf_settings_create(ctx, "separate", &learn));
    CHECK(tlnmf_settings_set_integer(ctx, learn, "frame", 32));
    CHECK(tlnmf_settings_set_text(ctx, learn, "method", "nmf"));
    CHECK(tlnmf_settings_set_integer(ctx, learn, "per-source", 1));
    CHECK(tlnmf_separate(ctx, sound, learn, &model));
    CHECK(tlnmf_settings_create(ctx, "stems", &run));
    CHECK(tlnmf_stems_array(ctx, model, sound, run, stems[0], &report));
    for (int t = 0; t < LENGTH; t++)
        worst = fmax(worst, fabs(stems[0][t] + stems[1][t] - x[t]));
    NEED(worst < 1e-9);
    NEED(read_all(model) > 20 && read_all(report) >= 4);
    tlnmf_record_free(report);
    tlnmf_record_free(model);
    tlnmf_settings_free(run);
    tlnmf_settings_free(learn);
    tlnmf_sound_free(sound);
}

int main(void)
{
    tlnmf_ctx *ctx;
    const char *task;
    int tasks = 0, options = 0;
    NEED(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    for (; (task = tlnmf_task_name((size_t)tasks)) != NULL; tasks++)
        options += read_options(ctx, task);
    NEED(tasks >= 8 && options >= 89);
    tlnmf_data *data = simulate(ctx);
    tlnmf_record *model = fit(ctx, data);
    evaluate(ctx, data, model);
    separate(ctx);
    apply(ctx, data, model);
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    printf("headers %s, library %s: ok\n", TLNMF_VERSION, tlnmf_version());
    return 0;
}
