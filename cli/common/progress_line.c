/* The progress function of the program, and the progress line on a terminal. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The library never calls back from two threads concurrently. */
static struct {
    bool shown;
    double last; /* when the line was drawn */
    char stage[16];
    double since, part; /* when the stage began, and the fraction of it that was done then */
    int64_t done;       /* complete iterations of the stage, of all starts */
    double best;
    cli_describe_fn describe; /* NULL: the stage is shown */
    void *user;
    double read_until; /* when reading and compression must end */
    bool late;         /* they did not */
} line = {.best = INFINITY, .read_until = INFINITY};

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_progress_clear(void)
{
    if (line.shown)
        fputs("\r\033[K", stderr);
    line.shown = false;
}

void cli_progress_describe(cli_describe_fn describe, void *user)
{
    line.describe = describe;
    line.user = user;
}

void cli_limit_reading(const cli_call *call)
{
    line.read_until = INFINITY;
    if (call != NULL && tlnmf_settings_get_real(call->settings, "max-seconds") > 0.0)
        line.read_until = call->began + tlnmf_settings_get_real(call->settings, "max-seconds");
}

bool cli_read_late(void)
{
    return line.late;
}

/* ---- texts ----------------------------------------------------------------------------------- */

enum { TEXT = 200 };

/* Appends to the text. */
__attribute__((format(printf, 2, 3))) static void add(char text[TEXT], const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + length, TEXT - length, format, args);
    va_end(args);
}

/* Appends the remaining time, extrapolated from the speed so far. Appends nothing before a second
 * and 2 % of the work have passed, nor if `done` is NaN. */
static void add_time_left(char text[TEXT], double spent, double done, const char *of)
{
    double made = done - line.part;
    if (spent >= 1.0 && made >= 0.02)
        add(text, ", about %.0f s left%s", ceil(spent * (1.0 - done) / made), of);
}

static void add_part(char text[TEXT], double done)
{
    if (isfinite(done))
        add(text, ": %.0f %%", floor(100.0 * done));
}

static void describe_reading(const tlnmf_record *p, double spent, char text[TEXT])
{
    double done = tlnmf_record_get_real(p, "done"), bytes = tlnmf_record_get_real(p, "iteration");
    add(text, "reading");
    add_part(text, done);
    if (spent > 0.1 && bytes > 0.0)
        add(text, ", %.0f MB/s", 1e-6 * bytes / spent);
    add_time_left(text, spent, done, "");
}

static void describe_fit(const tlnmf_record *p, double spent, char text[TEXT])
{
    enum { WIDTH = 20 };
    bool jd = strcmp(line.stage, "jd") == 0;
    int64_t iteration = tlnmf_record_get_integer(p, "iteration"),
            all = tlnmf_record_get_integer(p, "iterations"),
            starts = tlnmf_record_get_integer(p, "starts");
    int filled = all > 0 ? (int)(WIDTH * iteration / all) : 0;
    double rate = (double)line.done / fmax(spent, 1e-9), limit = INFINITY,
           left = tlnmf_record_get_real(p, "seconds_left");
    char bar[WIDTH + 1] = "....................";
    memset(bar, '#', (size_t)filled);
    add(text, "%s [%s] ", jd ? "JD" : strcmp(line.stage, "tl") == 0 ? "TL-NMF" : "NMF", bar);
    if (starts == 0) /* auto */
        add(text, "start %lld, ", (long long)tlnmf_record_get_integer(p, "start") + 1);
    if (starts > 1)
        add(text, "start %lld of %lld, ", (long long)tlnmf_record_get_integer(p, "start") + 1,
            (long long)starts);
    add(text, "iteration %lld of %lld", (long long)iteration, (long long)all);
    if (line.done > 0) {
        double L = tlnmf_record_get_real(p, "L");
        add(text, ", %.4g/s", rate);
        if (isfinite(jd ? L : line.best))
            add(text, ", %s %.10g", jd ? "L" : "best C", jd ? L : line.best);
        if (starts == 1) /* with several, each may end earlier */
            limit = (double)(all - iteration) / rate;
    } else {
        add(text, ", %.0f s", spent);
    }
    if (isfinite(left))
        limit = fmin(limit, fmax(left, 0.0));
    if (isfinite(limit))
        add(text, ", at most %.0f s left", ceil(limit));
}

/* Learning and stems are two stages. The time of the second is not known before it begins. */
static void describe_separation(const tlnmf_record *p, double spent, char text[TEXT])
{
    bool stems = strcmp(line.stage, "stems") == 0;
    double done = tlnmf_record_get_real(p, "done"), score = tlnmf_record_get_real(p, "score");
    add(text, stems ? "stems" : "learning");
    add_part(text, done);
    if (!(done > 0.0))
        add(text, ", %.0f s", spent);
    if (isfinite(score))
        add(text, ", %.1f dB on remixes so far", score);
    add_time_left(text, spent, done, stems ? "" : " to learn");
}

static void describe_stage(const tlnmf_record *p, double spent, char text[TEXT])
{
    const char *stage = line.stage;
    double done = tlnmf_record_get_real(p, "done");
    if (strcmp(stage, "read") == 0) {
        describe_reading(p, spent, text);
    } else if (strcmp(stage, "compress") == 0 || strncmp(stage, "score", 5) == 0) {
        add(text, stage[0] == 'c' ? "compressing" : "scoring");
        add_part(text, done);
        add_time_left(text, spent, done, "");
    } else if (strcmp(stage, "ranks") == 0) {
        add(text, "comparing k: fold %lld of %lld, k = %lld",
            (long long)tlnmf_record_get_integer(p, "fold") + 1,
            (long long)tlnmf_record_get_integer(p, "folds"),
            (long long)tlnmf_record_get_integer(p, "k"));
        add_time_left(text, spent, done, "");
    } else if (strcmp(stage, "choose") == 0 || strcmp(stage, "stems") == 0) {
        describe_separation(p, spent, text);
    } else if (strcmp(stage, "tl") == 0 || strcmp(stage, "jd") == 0 || strcmp(stage, "nmf") == 0) {
        describe_fit(p, spent, text);
    } else {
        add(text, "preparing, %.0f s", spent);
    }
}

/* ---- the function ---------------------------------------------------------------------------- */

/* Whether this is a stage of a fit inside learning, which is not shown. */
static bool is_inside(const char *stage)
{
    return strcmp(line.stage, "choose") == 0 && strcmp(stage, "choose") != 0 &&
           strcmp(stage, "stems") != 0;
}

static void note(const tlnmf_record *p, double time)
{
    const char *stage = tlnmf_record_get_text(p, "stage");
    double C = tlnmf_record_get_real(p, "C"), done = tlnmf_record_get_real(p, "done");
    bool complete = tlnmf_record_get_integer(p, "complete") == 1;
    bool again = strcmp(stage, "read") == 0 && tlnmf_record_get_integer(p, "iteration") == 0;
    if (again || strcmp(stage, line.stage) != 0) { /* another stage has another rate */
        snprintf(line.stage, sizeof line.stage, "%s", stage);
        line.since = time;
        line.part = isfinite(done) ? done : 0.0;
        line.done = 0;
    }
    line.done += complete;
    if (C < line.best)
        line.best = C;
}

static void draw(const tlnmf_record *p, double time)
{
    const double interval = 0.1, patience = 0.3; /* seconds; shorter stages are not shown */
    char text[TEXT] = "";
    if (cli_asked.quiet != NULL || !isatty(STDERR_FILENO) || time - line.last <= interval)
        return;
    if (line.describe != NULL)
        line.describe(line.user, text, TEXT);
    else if (p != NULL && (line.shown || time - line.since > patience))
        describe_stage(p, time - line.since, text);
    if (text[0] == '\0')
        return;
    line.last = time;
    line.shown = true;
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
}

int cli_progress(const tlnmf_record *p, void *user)
{
    double time = cli_now();
    const char *stage = tlnmf_record_get_text(p, "stage");
    (void)user;
    if (!is_inside(stage)) {
        note(p, time);
        draw(p, time);
    }
    bool reads = strcmp(stage, "read") == 0 || strcmp(stage, "compress") == 0;
    line.late = line.late || (reads && time > line.read_until);
    return line.late || cli_interrupted();
}

bool cli_progress_poll(void)
{
    draw(NULL, cli_now());
    return cli_interrupted();
}
