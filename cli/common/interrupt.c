/* Ctrl-C, SIGTERM and SIGHUP. The first stops the run cleanly; the second ends the program at once.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Stems of all components of all sources, the residual, and the directory. */
enum { TEMPORARIES = 64 * 16 + 2 };

/* One thread writes these; the handler reads them in any thread. They are lock-free atomics. */
static _Atomic(const char *) temporaries[TEMPORARIES];
static atomic_int signals, guarded;

/* Calls only functions that are safe in a signal handler. */
static void end_at_once(int signal_number)
{
    for (int i = TEMPORARIES - 1; i >= 0; i--) { /* files before the directory they are in */
        const char *path = atomic_load(&temporaries[i]);
        if (path != NULL && unlink(path) != 0)
            rmdir(path); /* fails if the directory is not empty */
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void on_signal(int signal_number)
{
    int count = atomic_fetch_add(&signals, 1) + 1;
    if (count > 2 || (count == 2 && !atomic_load(&guarded)))
        end_at_once(signal_number);
}

void cli_catch_interrupt(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask); /* no two handlers concurrently */
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGHUP);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* under nohup(1) it stays ignored */
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

bool cli_interrupted(void)
{
    return atomic_load(&signals) > 0;
}

void cli_guard_begin(void)
{
    atomic_store(&guarded, 1);
}

void cli_guard_end(void)
{
    atomic_store(&guarded, 0);
    if (atomic_load(&signals) > 1)
        end_at_once(SIGINT);
}

void cli_remember_temporary(const char *path)
{
    for (int i = 0; path != NULL && i < TEMPORARIES; i++)
        if (atomic_load(&temporaries[i]) == NULL) {
            atomic_store(&temporaries[i], path);
            return;
        }
}

void cli_forget_temporary(const char *path)
{
    for (int i = 0; path != NULL && i < TEMPORARIES; i++)
        if (atomic_load(&temporaries[i]) == path)
            atomic_store(&temporaries[i], NULL);
}
