/* How many cores the process may use. */
#ifndef TLNMF_IO_CORES_H
#define TLNMF_IO_CORES_H

/* The cores that control groups leave to the process, rounded up; 0: no limit. `groups` is its
 * /proc/self/cgroup, `mount` the folder where control groups are mounted, version 1 or 2. */
int io_cores_of_groups(const char *groups, const char *mount);

#endif
