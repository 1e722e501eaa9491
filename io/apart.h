/* Foreign files are read in a process of their own: what both ends share. */
#ifndef TLNMF_IO_APART_H
#define TLNMF_IO_APART_H

#include "api.h"
#include "internal.h"

/* The protocol. The reader is started as `HELPER --read KIND SPEC`; descriptor 3 is a file in
 * memory, empty, and 4 the end of a pipe that closes when the reader ends. It writes one packed
 * record into the file: what was read (exit code 0), or `error` and `message` (exit code 1). Any
 * other end is that of a file that broke the reader. */
enum { IO_APART_FILE = 3, IO_APART_PIPE = 4, IO_APART_READ = 0, IO_APART_FAILED = 1 };

/* Sets limits for reading a file of this size, -1 if it comes through a pipe; false if system calls
 * are not filtered: for pipes, and where the system cannot. There is no way back. */
bool io_confine(int64_t size);

/* A file in memory; negative with errno. */
int io_memory_file(const char *name);

/* The time limit in seconds for a file of this size, at `rate` bytes a second. */
static inline int64_t io_seconds_to_read(int64_t size, int64_t rate)
{
    const int64_t least = 5;

    return least + size / rate;
}

#endif
