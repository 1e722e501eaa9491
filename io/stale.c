/* Temporary files that a killed process has left beside a target: found by their lock, removed. */
#include "internal.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool io_claim_temporary(int fd)
{
    struct stat st;

    /* Where locks are not supported nobody can take the file for a stale one, either. */
    flock(fd, LOCK_EX | LOCK_NB);
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static const char *digits(const char *at)
{
    while (isdigit((unsigned char)*at))
        at++;
    return at;
}

/* ".BASE.PID-NUMBER" */
static bool is_temporary(const char *name, const char *base, size_t length)
{
    if (name[0] != '.' || strncmp(name + 1, base, length) != 0 || name[1 + length] != '.')
        return false;
    const char *pid = name + length + 2, *dash = digits(pid);
    return dash > pid && *dash == '-' && isdigit((unsigned char)dash[1]) &&
           *digits(dash + 1) == '\0';
}

/* A file whose lock is free has no living writer. */
static void remove_if_free(int directory, const char *name)
{
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(directory, name, 0);
    close(fd);
}

void io_remove_stale(const char *directory, const char *base)
{
    size_t length = strlen(base) < IO_TEMPORARY_BASE ? strlen(base) : IO_TEMPORARY_BASE;
    DIR *d = opendir(directory);
    const struct dirent *entry;

    if (!d)
        return;
    while ((entry = readdir(d)) != NULL)
        if (is_temporary(entry->d_name, base, length))
            remove_if_free(dirfd(d), entry->d_name);
    closedir(d);
}
