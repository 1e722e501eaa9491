/* The monitor of a context: clocks, stop, deadline, progress. */
#include "base/monitor.h"
#include "base/record.h"

#include <math.h>
#include <time.h>

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double tl_wall_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double tl_cpu_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

const char *tl_stage_name(tl_stage stage)
{
    static const char *const names[] = {"tl", "jd", "nmf"};
    return names[stage];
}

tl_progress tl_progress_of(const char *stage)
{
    return (tl_progress){.stage = stage,
                         .starts = 1,
                         .C = NAN,
                         .L = NAN,
                         .I = NAN,
                         .step = NAN,
                         .score = NAN,
                         .done = NAN};
}

/* ---- create and free ------------------------------------------------------------------------- */

/* Sets every name. Only the first call can fail: later ones do not allocate. */
static tlnmf_error fill(tlnmf_ctx *ctx, const tl_monitor *m, const tl_progress *p)
{
    tlnmf_record *record = m->record;
    TRY(tl_record_refer_text(ctx, record, "stage", m->folds > 0 ? "ranks" : p->stage));
    TRY(tlnmf_record_set_integer(ctx, record, "complete", p->complete));
    TRY(tlnmf_record_set_integer(ctx, record, "start", p->start));
    TRY(tlnmf_record_set_integer(ctx, record, "starts", p->starts));
    TRY(tlnmf_record_set_integer(ctx, record, "iteration", p->iteration));
    TRY(tlnmf_record_set_integer(ctx, record, "iterations", p->iterations));
    TRY(tlnmf_record_set_real(ctx, record, "C", p->C));
    TRY(tlnmf_record_set_real(ctx, record, "L", p->L));
    TRY(tlnmf_record_set_real(ctx, record, "I", p->I));
    TRY(tlnmf_record_set_real(ctx, record, "step", p->step));
    TRY(tlnmf_record_set_real(ctx, record, "score", p->score));
    TRY(tlnmf_record_set_real(ctx, record, "done", m->folds > 0 ? m->compared : p->done));
    TRY(tlnmf_record_set_integer(ctx, record, "k", m->k));
    TRY(tlnmf_record_set_integer(ctx, record, "fold", m->fold));
    TRY(tlnmf_record_set_integer(ctx, record, "folds", m->folds));
    double time = tl_wall_seconds(), left = isfinite(m->deadline) ? m->deadline - time : NAN;
    TRY(tlnmf_record_set_real(ctx, record, "seconds_left", left));
    return tlnmf_record_set_real(ctx, record, "seconds", time - m->began);
}

tlnmf_error tl_monitor_create(tlnmf_ctx *ctx)
{
    const double every = 5e-3;
    tl_monitor *m = tl_allocate(&ctx->hooks, sizeof *m);
    if (m == NULL)
        return TLNMF_ERR_MEMORY;
    *m = (tl_monitor){.every = every, .deadline = INFINITY, .now = tl_progress_of("")};
    tlnmf_error error = tlnmf_record_create(ctx, &m->record);
    if (error == TLNMF_OK)
        error = tl_record_keep_if(fill(ctx, m, &m->now), &m->record);
    if (error != TLNMF_OK) {
        tl_release(&ctx->hooks, m);
        return error;
    }
    pthread_mutex_init(&m->lock, NULL);
    ctx->monitor = m;
    return TLNMF_OK;
}

void tl_monitor_free(tlnmf_ctx *ctx)
{
    tlnmf_record_free(ctx->monitor->record);
    pthread_mutex_destroy(&ctx->monitor->lock);
    tl_release(&ctx->hooks, ctx->monitor);
}

/* ---- calls inside calls ---------------------------------------------------------------------- */

static void set_frames_comm(tl_monitor *m, tl_comm *frames_comm)
{
    if (m->frames_comm != NULL)
        m->frames_comm->monitor = NULL;
    m->frames_comm = frames_comm;
    if (frames_comm != NULL)
        frames_comm->monitor = m;
}

void tl_monitor_enter(tl_monitor *m, double seconds, tl_comm *frames_comm, tl_scope *outer)
{
    if (m == NULL)
        return;
    *outer = (tl_scope){m->since, m->deadline, m->frames_comm};
    m->since = tl_wall_seconds();
    if (m->depth++ == 0) {
        m->began = m->since;
        m->deadline = INFINITY;
        m->next = 0.0;
        m->now = tl_progress_of("");
        m->cause[0] = '\0';
        atomic_store(&m->stop, TLNMF_OUTCOME_NOT_RUN);
        atomic_store(&m->vote, TLNMF_OUTCOME_NOT_RUN);
    }
    if (seconds > 0.0)
        m->deadline = fmin(m->deadline, m->since + seconds);
    set_frames_comm(m, frames_comm);
}

void tl_monitor_extend(tl_monitor *m, double deadline)
{
    int stop = TLNMF_OUTCOME_TIME, vote = TLNMF_OUTCOME_TIME;
    m->deadline = deadline;
    m->next = 0.0;
    atomic_compare_exchange_strong(&m->stop, &stop, TLNMF_OUTCOME_NOT_RUN);
    atomic_compare_exchange_strong(&m->vote, &vote, TLNMF_OUTCOME_NOT_RUN);
}

void tl_monitor_leave(tl_monitor *m, const tl_scope *outer)
{
    if (m == NULL)
        return;
    if (tl_wall_seconds() < outer->deadline)
        tl_monitor_extend(m, outer->deadline);
    m->depth--;
    m->deadline = outer->deadline;
    m->since = outer->since;
    set_frames_comm(m, outer->frames_comm);
}

/* ---- polls and reports ----------------------------------------------------------------------- */

/* On one process the call ends; with distributed frames the next sum decides. */
static void ask_to_stop(tl_monitor *m, tlnmf_outcome why)
{
    int none = TLNMF_OUTCOME_NOT_RUN;
    atomic_compare_exchange_strong(m->frames_comm != NULL ? &m->vote : &m->stop, &none, (int)why);
}

/* Calls the progress function, under the lock. It works on a copy of a context, so that the
 * caller's last message does not change during a run. */
static void call(tl_monitor *m, const tl_progress *progress)
{
    tlnmf_ctx ctx = {.threads = 0};
    if (m->report == NULL || tl_stopped(m) != TLNMF_OUTCOME_NOT_RUN)
        return;
    if (fill(&ctx, m, progress) != TLNMF_OK)
        return;
    m->reporter = pthread_self();
    atomic_store(&m->reports, true);
    if (m->report(m->record, m->user) != 0)
        ask_to_stop(m, TLNMF_OUTCOME_CANCELLED);
    atomic_store(&m->reports, false);
}

tlnmf_error tl_monitor_need_idle(tlnmf_ctx *ctx)
{
    tl_monitor *m = ctx->monitor;
    if (m != NULL && atomic_load(&m->reports) && pthread_equal(m->reporter, pthread_self()))
        return tl_fail(
            ctx, TLNMF_ERR_ARGUMENT,
            "a progress function must not call the library with the context of its call");
    return TLNMF_OK;
}

static void look(tl_monitor *m, double time)
{
    if (m->frames_comm != NULL && m->frames_comm->failed)
        atomic_store(&m->stop, TLNMF_OUTCOME_CANCELLED);
    if (time > m->deadline)
        ask_to_stop(m, TLNMF_OUTCOME_TIME);
    if (pthread_mutex_trylock(&m->lock) != 0)
        return; /* a report is under way; perhaps its progress function polls */
    m->now.complete = false;
    call(m, &m->now);
    pthread_mutex_unlock(&m->lock);
}

/* Claims a look at the clock, if one is due and no other thread is looking. */
static bool is_due(tl_monitor *m, double *time)
{
    if (tl_stopped(m) != TLNMF_OUTCOME_NOT_RUN || atomic_exchange(&m->busy, true))
        return false;
    *time = tl_wall_seconds();
    if (*time >= m->next) {
        m->next = *time + m->every;
        return true;
    }
    atomic_store(&m->busy, false);
    return false;
}

bool tl_poll(tl_monitor *m)
{
    double time;
    if (m == NULL)
        return false;
    if (is_due(m, &time)) {
        look(m, time);
        atomic_store(&m->busy, false);
    }
    return tl_stopped(m) != TLNMF_OUTCOME_NOT_RUN;
}

/* A caller's count of units; 0 if it is NaN or negative. */
static int64_t whole(double x)
{
    return x > 0.0 ? (int64_t)fmin(x, 0x1p62) : 0;
}

bool tl_poll_at(tl_monitor *m, const char *stage, double done, double total)
{
    double time;
    if (m == NULL)
        return false;
    if (is_due(m, &time)) {
        tl_progress progress = tl_progress_of(stage);
        progress.iteration = whole(done);
        progress.iterations = whole(total);
        progress.done = total > 0.0 ? done / total : NAN;
        tl_monitor_set(m, &progress);
        look(m, time);
        atomic_store(&m->busy, false);
    }
    return tl_stopped(m) != TLNMF_OUTCOME_NOT_RUN;
}

void tl_monitor_set(tl_monitor *m, const tl_progress *progress)
{
    pthread_mutex_lock(&m->lock);
    m->now = *progress;
    pthread_mutex_unlock(&m->lock);
}

void tl_report(tl_monitor *m, const tl_progress *progress)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    m->now = *progress;
    call(m, progress);
    pthread_mutex_unlock(&m->lock);
}

void tl_report_units(tl_monitor *m, const char *stage, int64_t done, int64_t planned, double C)
{
    tl_progress progress = tl_progress_of(stage);
    progress.complete = true;
    progress.iteration = done;
    progress.iterations = planned;
    progress.C = C;
    progress.done = planned > 0 ? (double)done / (double)planned : NAN;
    tl_report(m, &progress);
}

void tl_report_end(tl_monitor *m)
{
    if (m == NULL)
        return;
    tl_progress progress = m->now;
    progress.complete = true;
    progress.iteration = progress.iterations;
    progress.done = 1.0;
    tl_report(m, &progress);
}

int tlnmf_poll(tlnmf_ctx *ctx, const char *stage, double done, double total)
{
    if (ctx == NULL || stage == NULL)
        return 0;
    tl_monitor *m = ctx->monitor;
    if (m->depth > 0) /* inside a call, which reports its own stage */
        return tl_poll(m);
    atomic_store(&m->stop, TLNMF_OUTCOME_NOT_RUN);
    if (done <= 0.0)
        m->began = tl_wall_seconds();
    return tl_poll_at(m, stage, done, total);
}

/* ---- distributed frames ---------------------------------------------------------------------- */

/* Votes are summed. One for cancellation weighs more than those of all processes for the end of the
 * time. */
static const double OF_TIME = 0x1p-30;

double tl_monitor_vote(const tl_monitor *m)
{
    int vote = atomic_load(&m->vote);
    return vote == TLNMF_OUTCOME_CANCELLED ? 1.0 : vote == TLNMF_OUTCOME_TIME ? OF_TIME : 0.0;
}

void tl_monitor_decide(tl_monitor *m, double votes)
{
    int none = TLNMF_OUTCOME_NOT_RUN;
    if (votes >= OF_TIME)
        atomic_compare_exchange_strong(&m->stop, &none,
                                       votes >= 1.0 ? TLNMF_OUTCOME_CANCELLED : TLNMF_OUTCOME_TIME);
}
