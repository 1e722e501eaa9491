/* How many threads a call may have. */
#include "base/base.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

int tl_thread_count(int64_t wanted)
{
    if (wanted > 0)
        return (int)tl_min(wanted, TL_THREADS_MOST);
    return tl_threads_here() > 1 ? tl_threads_here() : omp_get_max_threads();
}

/* The stack of OpenMP's threads in bytes, as OMP_STACKSIZE says: a number in kB, or with a unit. 0:
 * the usual one. */
static size_t stack_size(void)
{
    static const char units[] = "bkmg";
    const char *text = getenv("OMP_STACKSIZE");
    char *end;
    if (text == NULL)
        return 0;
    unsigned long long size = strtoull(text, &end, 10);
    while (*end == ' ' || *end == '\t')
        end++;
    const char *unit = *end != '\0' ? strchr(units, *end | 0x20) : units + 1;
    if (unit == NULL || size > SIZE_MAX >> 30)
        return 0;
    return (size_t)size << (10 * (unit - units));
}

static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

int tl_threads_possible(int wanted)
{
    enum { MOST = 256 };
    pthread_t threads[MOST];
    pthread_mutex_t gate;
    pthread_attr_t attributes;
    int count = 0;
    if (wanted <= 1 || pthread_attr_init(&attributes) != 0)
        return 1;
    if (stack_size() > 0)
        (void)pthread_attr_setstacksize(&attributes, stack_size());
    if (pthread_mutex_init(&gate, NULL) == 0) {
        pthread_mutex_lock(&gate); /* all of them are there at the same time */
        while (count < wanted - 1 && count < MOST &&
               pthread_create(&threads[count], &attributes, pass, &gate) == 0)
            count++;
        pthread_mutex_unlock(&gate);
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
        pthread_mutex_destroy(&gate);
    }
    pthread_attr_destroy(&attributes);
    return count + 1;
}
