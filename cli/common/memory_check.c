/* Estimates the memory of a run before it starts, and refuses a run that does not fit. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Bytes that the program and BLAS use themselves. */
static const double BASE = 30e6;

/* The number after `name` at the beginning of a line of a file of the kernel; infinite if there is
 * no such line or it has no number ("max"). */
static double number_in(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return INFINITY;
    char line[128];
    double number = INFINITY;
    while (isinf(number) && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        char *end, *text = line + strlen(name);
        double value = strtod(text, &end);
        if (end != text)
            number = value;
    }
    fclose(file);
    return number;
}

/* Linux's estimate of the memory that is available without swapping. */
static double machine_has(void)
{
    return 1024.0 * number_in("/proc/meminfo", "MemAvailable:");
}

/* The memory that a control group still allows; its cached files can be reclaimed. */
static double left_of(const char *limit_file, const char *used_file, const char *stat_file,
                      const char *cached_name)
{
    double limit = number_in(limit_file, ""), used = number_in(used_file, "");
    double cached = number_in(stat_file, cached_name);
    if (!isfinite(limit) || !isfinite(used))
        return INFINITY;
    return fmax(limit - used + (isfinite(cached) ? cached : 0.0), 0.0);
}

/* Containers see the whole machine in /proc/meminfo, and their limit in one of two places. */
static double group_has(void)
{
    double v2 = left_of("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                        "/sys/fs/cgroup/memory.stat", "inactive_file ");
    double v1 = left_of("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                        "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file ");
    return fmin(v1, v2);
}

/* The memory that ulimit -v still allows after BLAS has mapped its buffers. /proc/self/statm begins
 * with the address space in use, in pages. */
static double process_has(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    double used = number_in("/proc/self/statm", "") * (double)sysconf(_SC_PAGESIZE);
    return isfinite(used) ? fmax((double)limit.rlim_cur - used - cli_blas_space(), 0.0) : INFINITY;
}

static const char *bytes_text(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    int unit = 0;
    double number = bytes / 1e3;
    for (; number >= 999.5 && unit < 3; unit++)
        number /= 1e3;
    snprintf(text, size, "%.3g %s", number, units[unit]);
    return text;
}

/* Starts that run concurrently need memory each. */
static const char *advice(const cli_call *call)
{
    const tlnmf_settings *settings = call->settings;
    bool searches = call->command->task != NULL && (strcmp(call->command->task, "fit") == 0 ||
                                                    strcmp(call->command->task, "jd") == 0);
    if (!searches || tlnmf_settings_get_integer(settings, "starts") == 1)
        return "";
    return tlnmf_settings_get_integer(settings, "exchange") == 1 ? ": fewer --starts take less"
                                                                 : ": --threads 1 takes less";
}

static double available_memory(void)
{
    return fmin(machine_has(), fmin(group_has(), process_has()));
}

int cli_check_memory(const cli_call *call, double bytes)
{
    char needs[32], has[32];
    double available = available_memory();
    bytes_text(bytes + BASE, needs, sizeof needs);
    if (bytes + BASE > available)
        return cli_fail(call->command, EXIT_INTERNAL,
                        "this run needs about %s of memory, but only %s are free%s", needs,
                        bytes_text(available, has, sizeof has), advice(call));
    if (cli_asked.quiet == NULL && (cli_asked.verbose != NULL || isatty(STDERR_FILENO)))
        fprintf(stderr, "tlnmf %s: needs about %s of memory\n", call->command->name, needs);
    return EXIT_DONE;
}
