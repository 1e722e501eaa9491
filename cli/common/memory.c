/* Says how much memory a run takes before it starts, and refuses what the machine does not have. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Bytes that the program and the BLAS take up themselves. */
static const double BASE = 30e6;

/* The number after `name` at the beginning of a line of the file, e.g. of a control group's;
 * infinite if there is none ("max"). */
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

/* Linux's estimate of what can be had without swapping. */
static double machine_has(void)
{
    return 1024.0 * number_in("/proc/meminfo", "MemAvailable:");
}

/* What a control group still allows, from its files; what it holds of cached files can be had. */
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

/* What ulimit -v still allows; /proc/self/statm begins with the address space in use, in pages. */
static double process_has(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    double used = number_in("/proc/self/statm", "") * (double)sysconf(_SC_PAGESIZE);
    /* OpenBLAS 0.3.21 maps another 128 MiB in its first factorisation, and tries for ever where it
     * cannot. What early.c asks for has room for it, but not beside MPI. */
    const double later = cli_machines_values.size > 1 ? 140e6 : 0.0;
    return isfinite(used) ? fmax((double)limit.rlim_cur - used - later, 0.0) : INFINITY;
}

const char *cli_bytes(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    int unit = 0;
    double number = bytes / 1e3;
    for (; number >= 999.5 && unit < 3; unit++)
        number /= 1e3;
    snprintf(text, size, "%.3g %s", number, units[unit]);
    return text;
}

/* Starts that run at a time take memory each. */
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

bool cli_has_memory(double bytes)
{
    return bytes + BASE <= available_memory();
}

int cli_check_memory(const cli_call *call, double bytes)
{
    char needs[32], has[32];
    double available = available_memory();
    cli_bytes(bytes + BASE, needs, sizeof needs);
    if (bytes + BASE > available)
        return cli_fail(call->command, EXIT_INTERNAL,
                        "this would take about %s of memory, and %s are free%s", needs,
                        cli_bytes(available, has, sizeof has), advice(call));
    if (cli_common_values.quiet == NULL &&
        (cli_common_values.verbose != NULL || isatty(STDERR_FILENO)))
        fprintf(stderr, "tlnmf %s: takes about %s of memory\n", call->command->name, needs);
    return EXIT_DONE;
}

int cli_check_fit_memory(const cli_call *call, const tlnmf_data *data)
{
    double bytes;
    tlnmf_error error = tlnmf_memory(call->ctx, data, call->settings, &bytes);
    return error == TLNMF_OK ? cli_check_memory(call, bytes) : cli_fail_library(call, error, NULL);
}
