/* How many cores the process may use. */
#ifndef TLNMF_CLI_CORES_H
#define TLNMF_CLI_CORES_H

/* The cores that control groups leave to the process, rounded up; 0: no limit. `groups` is its
 * /proc/self/cgroup, `mount` the folder where control groups are mounted, version 1 or 2. */
int cli_cores_of_groups(const char *groups, const char *mount);

/* Unless told otherwise (--threads, OMP_NUM_THREADS), no more threads than that. */
void cli_respect_cores(void);

#endif
