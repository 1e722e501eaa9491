/* The progress line on a terminal. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What the line shows; the library calls back from one thread at a time. */
static struct {
    bool shown;
    double since, last; /* when the stage began, when the line was drawn */
    char stage[8];
    int64_t done; /* complete iterations of the stage, of all starts */
    double best;
} line = {.best = INFINITY};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Not more often than one can read. */
static bool is_due(double time)
{
    const double interval = 0.1; /* seconds */
    return cli_common_values.quiet == NULL && isatty(STDERR_FILENO) && time - line.last > interval;
}

void cli_progress_clear(void)
{
    if (line.shown)
        fputs("\r\033[K", stderr);
    line.shown = false;
}

void cli_progress_show(const char *text)
{
    double time = now();
    if (!is_due(time))
        return;
    line.last = time;
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
    line.shown = true;
}

/* ---- fits ------------------------------------------------------------------------------------ */

static void draw(const tlnmf_record *p, double time)
{
    enum { WIDTH = 20 };
    const char *stage = tlnmf_get_text(p, "stage");
    bool jd = strcmp(stage, "jd") == 0;
    int64_t iteration = tlnmf_get_integer(p, "iteration"), all = tlnmf_get_integer(p, "iterations");
    int64_t starts = tlnmf_get_integer(p, "starts");
    double rate = (double)line.done / fmax(time - line.since, 1e-9);
    double share = all > 0 ? (double)iteration / (double)all : 0.0;
    int filled = (int)(share * WIDTH);
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] ",
            jd                         ? "JD"
            : strcmp(stage, "tl") == 0 ? "TL-NMF"
                                       : "NMF",
            bar);
    if (starts > 1)
        fprintf(stderr, "start %lld of %lld, ", (long long)tlnmf_get_integer(p, "start") + 1,
                (long long)starts);
    fprintf(stderr, "iteration %lld of %lld, %.4g/s, %s %.10g", (long long)iteration,
            (long long)all, rate, jd ? "L" : "best C", jd ? tlnmf_get_real(p, "L") : line.best);
    if (starts == 1) /* of several, nobody knows how early each will end */
        fprintf(stderr, ", at most %.0f s left", (double)(all - iteration) / fmax(rate, 1e-9));
    line.shown = true;
}

int cli_progress(const tlnmf_record *p, void *user)
{
    (void)user;
    if (tlnmf_get_integer(p, "complete") == 1) {
        double time = now(), C = tlnmf_get_real(p, "C");
        const char *stage = tlnmf_get_text(p, "stage");
        if (strcmp(stage, line.stage) != 0) { /* another stage has another rate */
            snprintf(line.stage, sizeof line.stage, "%s", stage);
            line.since = line.last = time;
            line.done = 0;
        }
        line.done++;
        if (C < line.best)
            line.best = C;
        if (is_due(time)) {
            line.last = time;
            draw(p, time);
        }
    }
    return cli_interrupted();
}

/* ---- separations ----------------------------------------------------------------------------- */

/* Learning comes first, and takes LEARNING of the time of the whole command; then the stems. */
static const double LEARNING = 0.85;
static struct {
    double since;
    double done; /* of the command */
} separation;

int cli_sound_progress(const tlnmf_record *p, void *user)
{
    (void)user;
    if (tlnmf_get_integer(p, "complete") != 1)
        return cli_interrupted();
    bool stems = strcmp(tlnmf_get_text(p, "stage"), "stems") == 0;
    double time = now(), done = tlnmf_get_real(p, "done"), score = tlnmf_get_real(p, "score");
    if (separation.since == 0.0 || (stems && separation.done == 0.0))
        separation.since = time; /* no learning came before: a model is applied */
    bool learns = !stems || separation.done >= LEARNING * 0.5;
    if (isfinite(done))
        separation.done =
            stems ? (learns ? LEARNING + (1.0 - LEARNING) * done : done) : LEARNING * done;
    double left = (time - separation.since) * (1.0 - separation.done) / fmax(separation.done, 1e-3);
    char text[160], best[64] = "";
    if (isfinite(score))
        snprintf(best, sizeof best, ", %.1f dB on remixes so far", score);
    if (separation.done > 0.0)
        snprintf(text, sizeof text, "%s: %.0f %%%s, about %.0f s left",
                 stems ? "stems" : "learning", 100.0 * separation.done, best, left);
    else
        snprintf(text, sizeof text, "learning");
    cli_progress_show(text);
    return cli_interrupted();
}
