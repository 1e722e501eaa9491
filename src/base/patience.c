/* Waiting in a loop costs others their time on a shared core: it is short, and ends at once on a
 * core that somebody else has wanted of late. */
#define _GNU_SOURCE /* RUSAGE_THREAD; NOLINT(bugprone-reserved-identifier) */
#include "base/patience.h"
#include "base/base.h"

#include <sys/resource.h>

/* A wait in a loop is worth it up to the time that a sleeping thread takes to wake, some 50 us, and
 * the serial parts between two phases. The clock is read every LOOKS looks, about a microsecond.
 * Waits below SURE do not pay for a system call. A core counts as wanted by others for TIRED, a few
 * time slices of the scheduler. Both are plain choices. */
static const double LONGEST = 150e-6, SURE = 5e-6, TIRED = 20e-3;
enum { LOOKS = 16 };

/* How often this thread had to leave its core to another. */
static long interruptions(void)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
#else
    return 0;
#endif
}

static void pause_core(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void tl_patience_begin(tl_patience *p, bool crowded)
{
    p->looks = 0;
    p->crowded = crowded;
    p->checked = false;
}

bool tl_patience_lasts(tl_patience *p)
{
    if (p->crowded)
        return false;
    pause_core();
    if (++p->looks % LOOKS != 0)
        return true;
    double now = tl_wall_seconds();
    if (p->looks == LOOKS)
        p->since = now;
    if (!p->checked && now - p->since > SURE) {
        long count = interruptions();
        if (count != p->interruptions)
            p->tired_until = now + TIRED;
        p->interruptions = count;
        p->checked = true;
    }
    return now >= p->tired_until && now - p->since < LONGEST;
}
