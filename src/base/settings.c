/* Settings by name, from the table in options.def. */
#include "base/settings.h"
#include "base/monitor.h"
#include "base/rng.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct option {
    const char *name;
    int tasks;
    tlnmf_option_kind kind;
    double low, high, fallback;
    size_t offset;
    const char *choices, *help;
    bool unset; /* the default means "not given" and is allowed outside the range */
} option;

/* The tasks as the table names them. */
enum {
    FIT = TL_TASK_FIT,
    JD = TL_TASK_JD,
    APPLY = TL_TASK_APPLY,
    FRAMES = TL_TASK_FRAMES,
    LEARN = TL_TASK_LEARN,
    SEPARATE = TL_TASK_SEPARATE,
    SCORE = TL_TASK_SCORE,
    GCM = TL_TASK_GCM,
    REPORT = TL_TASK_REPORT
};

#define OPTION(tasks, name, field, kind, low, high, fallback, unset, choices, help)                \
    {name, tasks, TLNMF_OPTION_##kind, low, high, fallback, offsetof(tl_settings, field), choices, \
     help, unset},
static const option options[] = {
#include "options.def"
};
#undef OPTION

enum { OPTIONS = sizeof options / sizeof *options };

static const struct {
    const char *name;
    int task;
} tasks[] = {{"fit", FIT},       {"jd", JD},       {"apply", APPLY},
             {"frames", FRAMES}, {"learn", LEARN}, {"separate", SEPARATE},
             {"score", SCORE},   {"gcm", GCM},     {"report", REPORT}};

enum { TASKS = sizeof tasks / sizeof *tasks };

/* ---- the table ------------------------------------------------------------------------------- */

const char *tlnmf_task_name(size_t index)
{
    return index < TASKS ? tasks[index].name : NULL;
}

/* The bit of a task, or 0. */
static int task_of(const char *name)
{
    for (size_t i = 0; name != NULL && i < TASKS; i++)
        if (strcmp(tasks[i].name, name) == 0)
            return tasks[i].task;
    return 0;
}

const char *tl_task_name(int task)
{
    for (size_t i = 0; i < TASKS; i++)
        if (tasks[i].task == task)
            return tasks[i].name;
    return "?";
}

static const option *find(int task, const char *name)
{
    for (size_t i = 0; name != NULL && i < OPTIONS; i++)
        if ((options[i].tasks & task) != 0 && strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

const char *tlnmf_option_name(const char *task, size_t index)
{
    int bit = task_of(task);
    for (size_t i = 0; i < OPTIONS; i++)
        if ((options[i].tasks & bit) != 0 && index-- == 0)
            return options[i].name;
    return NULL;
}

tlnmf_option_kind tlnmf_option_kind_of(const char *task, const char *name)
{
    const option *o = find(task_of(task), name);
    return o == NULL ? TLNMF_OPTION_UNKNOWN : o->kind;
}

const char *tlnmf_option_help(const char *task, const char *name)
{
    const option *o = find(task_of(task), name);
    return o == NULL ? NULL : o->help;
}

const char *tlnmf_option_choices(const char *task, const char *name)
{
    const option *o = find(task_of(task), name);
    return o == NULL ? NULL : o->choices;
}

tlnmf_error tlnmf_option_range(const char *task, const char *name, double *low, double *high)
{
    const option *o = find(task_of(task), name);
    if (o == NULL || low == NULL || high == NULL)
        return TLNMF_ERR_ARGUMENT;
    *low = o->low;
    *high = o->high;
    return TLNMF_OK;
}

/* The word number `index` of "a|b|c"; NULL past the end. */
static const char *word_at(const char *choices, int32_t index)
{
    const char *at = choices;
    for (; index > 0 && at != NULL; index--) {
        at = strchr(at, '|');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

static int32_t choice_of(const option *o, const char *word)
{
    size_t length = strlen(word);
    const char *at = o->choices;
    for (int32_t i = 0; length > 0 && at != NULL; at = word_at(o->choices, ++i))
        if (strcspn(at, "|") == length && memcmp(at, word, length) == 0)
            return i;
    return -1;
}

const char *tl_option_word(tl_task task, const char *name, int32_t choice, char word[TL_WORD])
{
    const option *o = find((int)task, name);
    const char *at = o == NULL || choice < 0 ? NULL : word_at(o->choices, choice);
    snprintf(word, TL_WORD, "%.*s", at == NULL ? 0 : (int)strcspn(at, "|"), at == NULL ? "" : at);
    return word;
}

int32_t tl_option_choice(tl_task task, const char *name, const char *word)
{
    const option *o = find((int)task, name);
    return o == NULL || word == NULL ? -1 : choice_of(o, word);
}

/* ---- numbers as text ------------------------------------------------------------------------- */

/* Numbers have a decimal point in every locale: this thread switches to the C locale for the
 * conversion. Holds that locale and the one to restore. If the C locale is not available, the
 * caller's is used. */
typedef struct neutral {
    locale_t own, before;
} neutral;

static neutral enter(void)
{
    neutral n = {.own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (n.own != (locale_t)0)
        n.before = uselocale(n.own);
    return n;
}

static void leave(neutral n)
{
    if (n.own == (locale_t)0)
        return;
    uselocale(n.before);
    freelocale(n.own);
}

/* The whole text as a number; false if it is not one. */
static bool parse_real(const char *text, double *x)
{
    char *end;
    neutral n = enter();
    *x = strtod(text, &end);
    leave(n);
    return end != text && *end == '\0';
}

void tl_format_real(double x, int most, char text[TL_WORD])
{
    neutral n = enter();
    for (int count = 15; count <= most; count++) {
        snprintf(text, TL_WORD, "%.*g", count, x);
        if (strtod(text, NULL) == x)
            break;
    }
    leave(n);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Numbers of every kind are handled as double, except seeds, which need 64 bits. */
static double get_number(const tl_settings *settings, const option *o)
{
    const void *at = (const char *)settings + o->offset;
    switch (o->kind) {
    case TLNMF_OPTION_INTEGER:
        return (double)*(const int64_t *)at;
    case TLNMF_OPTION_REAL:
        return *(const double *)at;
    case TLNMF_OPTION_SEED:
        return (double)*(const uint64_t *)at;
    default:
        return (double)*(const int32_t *)at;
    }
}

static void put_number(tl_settings *settings, const option *o, double value)
{
    void *at = (char *)settings + o->offset;
    switch (o->kind) {
    case TLNMF_OPTION_INTEGER:
        *(int64_t *)at = (int64_t)value;
        break;
    case TLNMF_OPTION_REAL:
        *(double *)at = value;
        break;
    case TLNMF_OPTION_SEED:
        *(uint64_t *)at = (uint64_t)value;
        break;
    default:
        *(int32_t *)at = (int32_t)value;
        break;
    }
}

static bool is_unset(const tl_settings *settings, const option *o)
{
    return o->unset && get_number(settings, o) == o->fallback;
}

/* Writes the value as text to `buffer` (64 bytes); "" if it is not set. */
static void write_value(const tl_settings *settings, const option *o, char *buffer, size_t size)
{
    const void *at = (const char *)settings + o->offset;
    if (is_unset(settings, o) || (o->fallback < o->low && get_number(settings, o) < o->low)) {
        buffer[0] = '\0';
    } else if (o->kind == TLNMF_OPTION_CHOICE) {
        char word[TL_WORD];
        snprintf(buffer, size, "%s",
                 tl_option_word((tl_task)settings->task, o->name, *(const int32_t *)at, word));
    } else if (o->choices[0] != '\0' && get_number(settings, o) == o->low) {
        snprintf(buffer, size, "%s", o->choices); /* the word of the lowest integer */
    } else if (o->kind == TLNMF_OPTION_SEED) {
        snprintf(buffer, size, "%llu", (unsigned long long)*(const uint64_t *)at);
    } else {
        tl_format_real(get_number(settings, o), 17, buffer);
    }
}

void tl_settings_defaults(tl_task task, tl_settings *settings)
{
    *settings = (tl_settings){.task = (int32_t)task};
    for (size_t i = 0; i < OPTIONS; i++)
        if ((options[i].tasks & (int)task) != 0)
            put_number(settings, &options[i], options[i].fallback);
}

static tlnmf_error check_range(tlnmf_ctx *ctx, const option *o, double value)
{
    if (!(value >= o->low && value <= o->high)) /* also fails for NaN */
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %.10g is outside [%.10g, %.10g]", o->name,
                       value, o->low, o->high);
    return TLNMF_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

static tlnmf_error parse_number(tlnmf_ctx *ctx, const option *o, const char *value, double *number)
{
    if (o->kind == TLNMF_OPTION_CHOICE) {
        *number = (double)choice_of(o, value);
        return *number >= 0.0 ? TLNMF_OK
                              : tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %s is not one of %s", o->name,
                                        value, o->choices);
    }
    if (o->kind == TLNMF_OPTION_INTEGER && choice_of(o, value) == 0) {
        *number = o->low;
        return TLNMF_OK;
    }
    if (o->kind == TLNMF_OPTION_FLAG &&
        (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)) {
        *number = value[0] == 't';
        return TLNMF_OK;
    }
    if (!parse_real(value, number))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %s is not a number%s%s", o->name, value,
                       o->choices[0] != '\0' ? " or " : "", o->choices);
    if (o->kind != TLNMF_OPTION_REAL && isfinite(*number) && *number != floor(*number))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %s is not a whole number", o->name, value);
    return TLNMF_OK;
}

static tlnmf_error parse_seed(tlnmf_ctx *ctx, const option *o, const char *value, uint64_t *seed)
{
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(value, &end, 10);
    if (value[strspn(value, "0123456789")] != '\0' || value[0] == '\0' || errno == ERANGE)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s = %s is not a whole number below 2^64", o->name,
                       value);
    *seed = parsed;
    return TLNMF_OK;
}

/* ---- the object ------------------------------------------------------------------------------ */

tlnmf_error tlnmf_settings_create(tlnmf_ctx *ctx, const char *task, tl_settings **out)
{
    TL_NEED_OUT(ctx, out);
    TL_NEED(ctx, task);
    int bit = task_of(task);
    if (bit == 0)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "there is no task named %s", task);
    tl_settings *settings = tl_allocate(&ctx->hooks, sizeof *settings);
    if (settings == NULL)
        return tl_fail(ctx, TLNMF_ERR_MEMORY, "no memory for settings");
    tl_settings_defaults((tl_task)bit, settings);
    settings->hooks = ctx->hooks;
    settings->threads = ctx->threads;
    *out = settings;
    return TLNMF_OK;
}

tlnmf_error tlnmf_settings_copy(tlnmf_ctx *ctx, const tl_settings *settings, tl_settings **out)
{
    TL_NEED(ctx, out);
    *out = NULL;
    TL_NEED(ctx, settings);
    tl_settings *copy = NULL;
    TRY(tlnmf_settings_create(ctx, tl_task_name(settings->task), &copy));
    if (copy == NULL) /* for static analysers, which do not see that this cannot happen */
        return TLNMF_ERR_MEMORY;
    tl_hooks hooks = copy->hooks;
    *copy = *settings;
    copy->hooks = hooks;
    *out = copy;
    return TLNMF_OK;
}

void tlnmf_settings_free(tl_settings *settings)
{
    if (settings == NULL)
        return;
    tl_hooks hooks = settings->hooks;
    tl_release(&hooks, settings);
}

tlnmf_error tl_settings_need(tlnmf_ctx *ctx, const tl_settings *settings, int wanted)
{
    TRY(tl_monitor_need_idle(ctx));
    if ((settings->task & wanted) != 0)
        return TLNMF_OK;
    char names[64] = "";
    for (size_t i = 0, used = 0; i < TASKS && used < sizeof names; i++)
        if ((tasks[i].task & wanted) != 0)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? " or " : "", tasks[i].name);
    return tl_fail(ctx, TLNMF_ERR_ARGUMENT,
                   "the settings are for task %s; this call needs settings of task %s",
                   tl_task_name(settings->task), names);
}

/* The message suggests the nearest name, if there is one. */
static tlnmf_error fail_unknown(tlnmf_ctx *ctx, int task, const char *name)
{
    const char *names[OPTIONS], *task_name = tl_task_name(task);
    size_t count = 0;
    for (size_t i = 0; i < OPTIONS; i++)
        if ((options[i].tasks & task) != 0)
            names[count++] = options[i].name;
    const char *near = tlnmf_nearest(name, names, count);
    return tl_fail(ctx, TLNMF_ERR_OPTION, "task %s has no option named %.80s%s%s%s", task_name,
                   name, near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                   near == NULL ? "" : "?");
}

static tlnmf_error find_option(tlnmf_ctx *ctx, const tl_settings *settings, const char *name,
                               const option **o)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    TL_NEED(ctx, name);
    *o = find(settings->task, name);
    return *o != NULL ? TLNMF_OK : fail_unknown(ctx, settings->task, name);
}

tlnmf_error tlnmf_settings_set_text(tlnmf_ctx *ctx, tl_settings *settings, const char *name,
                                    const char *value)
{
    const option *o;
    double number = 0.0;
    TRY(find_option(ctx, settings, name, &o));
    TL_NEED(ctx, value);
    if (o->kind == TLNMF_OPTION_SEED)
        return parse_seed(ctx, o, value, (uint64_t *)(void *)((char *)settings + o->offset));
    TRY(parse_number(ctx, o, value, &number));
    TRY(check_range(ctx, o, number));
    put_number(settings, o, number);
    return TLNMF_OK;
}

tlnmf_error tlnmf_settings_set_integer(tlnmf_ctx *ctx, tl_settings *settings, const char *name,
                                       int64_t value)
{
    char text[32];
    const option *o;
    TRY(find_option(ctx, settings, name, &o));
    if (o->kind == TLNMF_OPTION_CHOICE) {
        TRY(check_range(ctx, o, (double)value));
        put_number(settings, o, (double)value);
        return TLNMF_OK;
    }
    snprintf(text, sizeof text, "%lld", (long long)value);
    return tlnmf_settings_set_text(ctx, settings, name, text);
}

tlnmf_error tlnmf_settings_set_real(tlnmf_ctx *ctx, tl_settings *settings, const char *name,
                                    double value)
{
    char text[TL_WORD];
    tl_format_real(value, 17, text);
    return tlnmf_settings_set_text(ctx, settings, name, text);
}

/* Reads one "name=value" or "flag" of `length` bytes. */
static tlnmf_error set_pair(tlnmf_ctx *ctx, tl_settings *settings, const char *at, size_t length)
{
    char name[64], *value;
    const option *o;
    if (length >= sizeof name)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%.40s.. is too long for an option", at);
    memcpy(name, at, length);
    name[length] = '\0';
    value = strchr(name, '=');
    if (value != NULL)
        *value++ = '\0';
    TRY(find_option(ctx, settings, name, &o));
    if (value == NULL && o->kind != TLNMF_OPTION_FLAG)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "%s needs a value: %s=VALUE", name, name);
    return tlnmf_settings_set_text(ctx, settings, name, value == NULL ? "1" : value);
}

tlnmf_error tlnmf_settings_set_all(tlnmf_ctx *ctx, tl_settings *settings, const char *text)
{
    static const char spaces[] = " \t\n\r";
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    TL_NEED(ctx, text);
    tl_settings all = *settings;
    for (text += strspn(text, spaces); *text != '\0'; text += strspn(text, spaces)) {
        size_t length = strcspn(text, spaces);
        TRY(set_pair(ctx, &all, text, length));
        text += length;
    }
    *settings = all;
    return TLNMF_OK;
}

const char *tlnmf_settings_get_text(const tl_settings *settings, const char *name, char *buffer,
                                    size_t size)
{
    const option *o = settings == NULL ? NULL : find(settings->task, name);
    char text[64];
    if (o == NULL || buffer == NULL)
        return NULL;
    write_value(settings, o, text, sizeof text);
    if (strlen(text) >= size)
        return NULL;
    memcpy(buffer, text, strlen(text) + 1);
    return buffer;
}

int64_t tlnmf_settings_get_integer(const tl_settings *settings, const char *name)
{
    const option *o = settings == NULL ? NULL : find(settings->task, name);
    if (o == NULL || o->kind == TLNMF_OPTION_REAL)
        return TLNMF_NO_INTEGER;
    if (o->kind == TLNMF_OPTION_SEED) {
        uint64_t seed = *(const uint64_t *)(const void *)((const char *)settings + o->offset);
        return seed <= INT64_MAX ? (int64_t)seed : TLNMF_NO_INTEGER;
    }
    return (int64_t)get_number(settings, o);
}

double tlnmf_settings_get_real(const tl_settings *settings, const char *name)
{
    const option *o = settings == NULL ? NULL : find(settings->task, name);
    return o == NULL ? (double)NAN : get_number(settings, o);
}

const char *tlnmf_option_default(const char *task, const char *name, char *buffer, size_t size)
{
    tl_settings defaults = {.task = task_of(task)};
    tl_settings_defaults((tl_task)defaults.task, &defaults);
    return tlnmf_settings_get_text(&defaults, name, buffer, size);
}

/* ---- consistency ----------------------------------------------------------------------------- */

static tlnmf_error check_learning(tlnmf_ctx *ctx, const tl_settings *s)
{
    bool fast = s->solver == TL_ALGORITHM_FAST;
    bool learns = s->task == TL_TASK_JD || s->method != TL_METHOD_NMF;
    if (s->stream == TL_STREAM_NUMPY)
        TRY(tl_check_numpy_seed(ctx, s->seed));
    if (s->continuation && !(fast && learns))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "continuation is for solver fast and methods that learn a transform");
    if (s->precision == TL_PRECISION_MIXED && !(fast && learns))
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "precision mixed is for solver fast and methods that learn a transform");
    return TLNMF_OK;
}

static tlnmf_error check_fit(tlnmf_ctx *ctx, const tl_settings *s)
{
    bool joint = s->method == TL_METHOD_TL || s->method == TL_METHOD_AUTO;
    bool fast = s->solver == TL_ALGORITHM_FAST;
    if (s->exchange && s->method == TL_METHOD_NMF)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "exchange runs tl and jd: it cannot be used with method nmf");
    if (s->exchange && s->starts == 0)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "exchange needs a number of starts, not auto");
    if (s->hops > 0 && !(fast && joint))
        return tl_fail(ctx, TLNMF_ERR_OPTION, "hops are for solver fast and methods tl and auto");
    TRY(check_learning(ctx, s));
    if (s->certify && !joint)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "certify is for method tl");
    return TLNMF_OK;
}

/* With fewer samples than taps, a filter turns any reference into any estimate. */
static tlnmf_error check_score(tlnmf_ctx *ctx, const tl_settings *s)
{
    if (s->framewise > 0 && s->framewise < s->filter)
        return tl_fail(ctx, TLNMF_ERR_OPTION,
                       "framewise: windows of %lld samples are shorter than the filter of %lld "
                       "taps; use longer windows or a smaller filter",
                       (long long)s->framewise, (long long)s->filter);
    return TLNMF_OK;
}

tlnmf_error tlnmf_settings_check(tlnmf_ctx *ctx, const tl_settings *settings)
{
    TL_NEED(ctx, ctx);
    TL_NEED(ctx, settings);
    for (size_t i = 0; i < OPTIONS; i++) {
        const option *o = &options[i];
        if ((o->tasks & settings->task) == 0 || is_unset(settings, o))
            continue;
        if (o->fallback < o->low && get_number(settings, o) == o->fallback)
            return tl_fail(ctx, TLNMF_ERR_OPTION, "%s is required", o->name);
        TRY(check_range(ctx, o, get_number(settings, o)));
    }
    if (settings->task == TL_TASK_FIT)
        return check_fit(ctx, settings);
    if (settings->task == TL_TASK_JD && settings->rank_reduce >= 0 && !settings->whiten)
        return tl_fail(ctx, TLNMF_ERR_OPTION, "rank-reduce requires whiten");
    if (settings->task == TL_TASK_JD)
        return check_learning(ctx, settings);
    if (settings->task == TL_TASK_SCORE)
        return check_score(ctx, settings);
    return TLNMF_OK;
}
