/* The number of cores that a container may use. Containers see all cores of the machine; their
 * limit is in files of their control group. */
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MOST = 1024 };

/* The first number of a file, or infinity; and the second if `second` is not NULL. */
static double number_in(const char *path, double *second)
{
    FILE *file = fopen(path, "r");
    char line[128] = "", *end;
    if (file == NULL)
        return INFINITY;
    bool has = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    double first = strtod(line, &end);
    if (!has || end == line)
        return INFINITY; /* "max" */
    if (second != NULL)
        *second = strtod(end, NULL);
    return first;
}

/* Time over period of one group, in the files of version 2 or version 1. */
static double cores_of(const char *folder)
{
    char path[PATH_MOST + 32];
    double period = 0.0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    double quota = number_in(path, &period);
    if (!isfinite(quota)) {
        snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
        quota = number_in(path, NULL);
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        period = number_in(path, NULL);
    }
    return quota > 0.0 && period > 0.0 && isfinite(period) ? quota / period : INFINITY;
}

/* The minimum over a group and its parents, up to the folder `top`. */
static double cores_below(const char *top, const char *group)
{
    char folder[PATH_MOST];
    size_t least = strlen(top);
    double cores = INFINITY;
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", top, group) >= sizeof folder)
        return cores_of(top);
    for (;;) {
        cores = fmin(cores, cores_of(folder));
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= least || slash == NULL || slash < folder + least)
            return cores;
        *slash = '\0';
    }
}

/* Whether the controllers of a line such as "4:cpu,cpuacct:/group" include cpu, or are empty as in
 * version 2. */
static bool is_about_cpu(const char *controllers)
{
    char list[256];
    snprintf(list, sizeof list, ",%s,", controllers);
    return *controllers == '\0' || strstr(list, ",cpu,") != NULL;
}

int io_cores_of_groups(const char *groups, const char *mount)
{
    FILE *file = fopen(groups, "r");
    char line[PATH_MOST], top[PATH_MOST];
    double cores = INFINITY;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *controllers = strchr(line, ':'), *group = NULL;
        if (controllers != NULL)
            group = strchr(++controllers, ':');
        if (group == NULL)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (!is_about_cpu(controllers))
            continue;
        snprintf(top, sizeof top, "%s%s%s", mount, *controllers != '\0' ? "/" : "", controllers);
        cores = fmin(cores, cores_below(top, group));
        snprintf(top, sizeof top, "%s/cpu", mount); /* often a link to the same folder */
        cores = fmin(cores, cores_below(top, group));
    }
    if (file != NULL)
        fclose(file);
    return isfinite(cores) ? (int)fmin(fmax(ceil(cores), 1.0), 4096.0) : 0;
}

int32_t tlnmf_io_cores(void)
{
    return getenv("OMP_NUM_THREADS") != NULL
               ? 0
               : (int32_t)io_cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
}
