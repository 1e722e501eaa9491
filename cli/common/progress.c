/* Ctrl-C and the progress line. */
#include "cli/cli.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    interrupted = 1;
    signal(signal_number, SIG_DFL); /* the second one ends the program at once */
}

void cli_catch_interrupt(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* What the line shows; the library calls back from one thread at a time. */
static struct {
    bool shown;
    double since, last;
    int64_t done; /* complete iterations of all starts */
    double best;
} line = {.best = INFINITY};

static double now(void)
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

bool cli_interrupted(void)
{
    return interrupted != 0;
}

void cli_progress_show(const char *text)
{
    double time = now();
    if (cli_common_values.quiet != NULL || !isatty(STDERR_FILENO) || time - line.last < 0.1)
        return;
    line.last = time;
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
    line.shown = true;
}

static void draw(const tlnmf_progress *p, double time)
{
    enum { WIDTH = 20 };
    static const char *const stages[] = {"TL-NMF", "JD", "NMF"};
    double rate = (double)line.done / fmax(time - line.since, 1e-9);
    double share = p->iterations > 0 ? (double)p->iteration / (double)p->iterations : 0.0;
    int filled = (int)(share * WIDTH);
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] ", stages[p->stage], bar);
    if (p->starts > 1)
        fprintf(stderr, "start %lld of %lld, ", (long long)p->start + 1, (long long)p->starts);
    fprintf(stderr, "iteration %lld of %lld, %.4g/s, %s %.10g, at most %.0f s left",
            (long long)p->iteration, (long long)p->iterations, rate,
            p->stage == TLNMF_STAGE_JD ? "L" : "best C",
            p->stage == TLNMF_STAGE_JD ? p->L : line.best,
            (double)(p->iterations - p->iteration) / fmax(rate, 1e-9));
    line.shown = true;
}

int cli_progress(const tlnmf_progress *p, void *user)
{
    (void)user;
    if (p->complete) {
        line.done++;
        if (p->C < line.best)
            line.best = p->C;
        double time = now();
        if (line.since == 0.0)
            line.since = line.last = time;
        if (cli_common_values.quiet == NULL && isatty(STDERR_FILENO) && time - line.last > 0.1) {
            line.last = time;
            draw(p, time);
        }
    }
    return interrupted != 0;
}

/* What the line of a separation shows: candidates first, then the frames of the stems. */
static struct {
    int32_t stage;
    double since; /* of the candidates, or of the stems */
    int64_t done, planned;
} separation;

int cli_sound_progress(const tlnmf_progress *p, void *user)
{
    (void)user;
    if (!p->complete)
        return interrupted != 0;
    bool stems = p->stage == TLNMF_STAGE_STEMS;
    double time = now();
    if (separation.since == 0.0 || (stems && separation.stage != TLNMF_STAGE_STEMS))
        separation.since = time;
    separation.stage = p->stage;
    if (stems || p->stage == TLNMF_STAGE_CHOOSE) {
        separation.done = p->iteration;
        separation.planned = p->iterations;
    }
    double share = (double)separation.done / fmax((double)separation.planned, 1.0);
    double left = (time - separation.since) * (1.0 - share) / fmax(share, 1e-9);
    char text[160];
    if (stems)
        snprintf(text, sizeof text, "stems: %.0f %%, about %.0f s left", 100.0 * share, left);
    else if (separation.done == 0)
        snprintf(text, sizeof text, "learning, C = %.8g", p->C);
    else
        snprintf(text, sizeof text,
                 "learning: %lld of %lld candidates, the last with C = %.8g, about %.0f s left",
                 (long long)separation.done, (long long)separation.planned, p->C, left);
    cli_progress_show(text);
    return interrupted != 0;
}
