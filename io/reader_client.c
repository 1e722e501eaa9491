/* The client: starts a reader process, waits for it and unpacks its result. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* A reader at work. */
typedef struct reader {
    const char *kind, *spec, *name;
    pid_t pid;
    int file;     /* in memory: its result */
    int pipe[2];  /* our end, its end */
    double limit; /* seconds; 0: none */
    int64_t size; /* of the file; -1: not a regular one */
    bool late, stopped;
} reader;

/* ---- starting -------------------------------------------------------------------------------- */

/* The environment with one thread for BLAS and OpenMP: the reader computes nothing, and each thread
 * takes memory. The strings are not copied; free() the list. */
static char **make_environment(void)
{
    static char *const ours[] = {(char *)(uintptr_t) "OPENBLAS_NUM_THREADS=1",
                                 (char *)(uintptr_t) "OMP_NUM_THREADS=1"};
    size_t count = 0, used = 0;

    while (environ && environ[count])
        count++;
    char **list = calloc(count + 3, sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < 2; i++)
        list[used++] = ours[i];
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "OPENBLAS_NUM_THREADS=", 21) != 0 &&
            strncmp(environ[i], "OMP_NUM_THREADS=", 16) != 0)
            list[used++] = environ[i];
    return list;
}

/* Returns an error number, or 0. posix_spawn instead of fork, because the host may have threads. */
static int spawn(reader *r, const char *helper)
{
    char *const argv[] = {(char *)(uintptr_t)helper, (char *)(uintptr_t) "--read",
                          (char *)(uintptr_t)r->kind, (char *)(uintptr_t)r->spec, NULL};
    char **environment = make_environment();
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int why = environment ? posix_spawn_file_actions_init(&actions) : ENOMEM;

    if (why != 0) {
        free(environment);
        return why;
    }
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    why = posix_spawn_file_actions_adddup2(&actions, r->file, IO_APART_FILE);
    if (why == 0)
        why = posix_spawn_file_actions_adddup2(&actions, r->pipe[1], IO_APART_PIPE);
    if (why == 0)
        why = posix_spawn(&r->pid, helper, &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return why;
}

/* Moves a descriptor above those of the reader: dup2 to the same number would keep close-on-exec.
 */
static int move_up(int fd)
{
    if (fd < 0 || fd > IO_APART_PIPE)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, IO_APART_PIPE + 1);
    close(fd);
    return moved;
}

static bool open_ends(reader *r)
{
    r->file = move_up(io_memory_file("tlnmf-read"));
    if (r->file < 0 || pipe(r->pipe) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        r->pipe[i] = move_up(r->pipe[i]);
        if (r->pipe[i] >= 0)
            fcntl(r->pipe[i], F_SETFD, FD_CLOEXEC);
    }
    return r->pipe[0] >= 0 && r->pipe[1] >= 0;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reads progress from the pipe: bytes and their total. False if the pipe is closed. */
static bool hear(reader *r, double part[2])
{
    double heard[2];
    ssize_t n = read(r->pipe[0], heard, sizeof heard);

    if (n == (ssize_t)sizeof heard && heard[0] >= 0 && heard[0] <= heard[1] && heard[1] < 1e18)
        memcpy(part, heard, sizeof heard);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Waits until the reader exits, is late, or is no longer needed; returns its status. */
static int wait_for(tlnmf_ctx *ctx, reader *r)
{
    const int slice = 50; /* milliseconds between polls */
    struct pollfd end = {.fd = r->pipe[0], .events = POLLIN};
    double start = now(), part[2] = {0, 0};
    int status = 0;
    bool runs = true;

    while (runs && !r->late && !r->stopped) {
        if (poll(&end, 1, slice) > 0)
            runs = hear(r, part);
        r->stopped = runs && tlnmf_poll(ctx, "read", part[0], part[1]) != 0;
        r->late = runs && r->limit > 0 && now() - start > r->limit;
    }
    if (r->late || r->stopped)
        kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* ---- the result ------------------------------------------------------------------------------ */

static tlnmf_error unpack(tlnmf_ctx *ctx, const reader *r, tlnmf_record **out)
{
    struct stat st;

    if (fstat(r->file, &st) != 0 || st.st_size <= 0)
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: the reader process returned nothing", r->name);
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, r->file, 0);
    if (bytes == MAP_FAILED)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", r->name);
    tlnmf_error error = tlnmf_record_unpack(ctx, bytes, (size_t)st.st_size, out);
    munmap(bytes, (size_t)st.st_size);
    return error == TLNMF_OK || error == TLNMF_ERR_MEMORY
               ? error
               : io_refuse(ctx, TLNMF_ERR_INPUT, "%s: the reader process returned a damaged record",
                           r->name);
}

static tlnmf_error too_much(tlnmf_ctx *ctx, const reader *r)
{
    return io_refuse(ctx, TLNMF_ERR_INPUT,
                     "%s: reading it exceeds the time or memory limit for a file of this size; it "
                     "may be damaged",
                     r->name);
}

/* Reports the reader's error. If its memory limit was below the memory of the machine, a lack of
 * memory means that the file is damaged. */
static tlnmf_error pass_on(tlnmf_ctx *ctx, const reader *r)
{
    tlnmf_record *said = NULL;
    bool limited = io_memory_to_read(r->size) < io_memory_to_read(-1);

    IO_TRY(unpack(ctx, r, &said));
    int64_t code = tlnmf_record_get_integer(said, "error");
    const char *message = tlnmf_record_get_text(said, "message");
    bool known = code == TLNMF_ERR_INPUT || code == TLNMF_ERR_MEMORY || code == TLNMF_ERR_ARGUMENT;
    tlnmf_error error = code == TLNMF_ERR_MEMORY && limited
                            ? too_much(ctx, r)
                            : tlnmf_fail(ctx, known ? (tlnmf_error)code : TLNMF_ERR_INPUT,
                                         message ? message : "a file cannot be read");
    tlnmf_record_free(said);
    return error;
}

static tlnmf_error judge(tlnmf_ctx *ctx, const reader *r, int status, tlnmf_record **out)
{
    if (r->stopped)
        return io_refuse(ctx, TLNMF_ERR_CALLBACK, "%s: reading was interrupted", r->name);
    if (r->late ||
        (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)))
        return too_much(ctx, r);
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: reading was interrupted", r->name);
    if (WIFSIGNALED(status))
        return io_refuse(ctx, TLNMF_ERR_INPUT,
                         "%s: damaged: it ended the reader process with signal %d", r->name,
                         WTERMSIG(status));
    if (WEXITSTATUS(status) == IO_APART_FAILED)
        return pass_on(ctx, r);
    if (WEXITSTATUS(status) != IO_APART_READ)
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: the reader process exited with code %d",
                         r->name, WEXITSTATUS(status));
    return unpack(ctx, r, out);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Whether to use the reader process: not for .npy files, nor for files that do not exist. */
static bool is_foreign(reader *r)
{
    const double rate = 1 << 20; /* bytes per second, over a slow network */
    io_source source;

    r->size = -1;
    if (strcmp(r->name, "standard input") == 0)
        return true;
    char *path = io_spec_file(r->spec, &r->size);
    bool foreign = path != NULL;
    if (foreign && r->size >= 0) {
        r->limit = 15.0 + 3.0 * (double)r->size / rate;
        foreign = io_source_open(NULL, path, &source);
        if (foreign) {
            foreign = source.format != IO_FORMAT_NPY;
            io_source_close(&source);
        }
    }
    free(path);
    return foreign;
}

tlnmf_error tlnmf_io_read_apart(tlnmf_ctx *ctx, const char *helper, const char *what,
                                const char *spec, tlnmf_record **out)
{
    reader r = {.kind = what, .spec = spec, .file = -1, .pipe = {-1, -1}};

    IO_NEED_OUT(ctx, out, what);
    IO_NEED(ctx, spec);
    r.name = strcmp(spec, "-") == 0 || strncmp(spec, "-:", 2) == 0 ? "standard input" : spec;
    if (helper == NULL || !is_foreign(&r))
        return io_read_kind(ctx, what, spec, out);
    bool started = open_ends(&r) && spawn(&r, helper) == 0;
    close_end(&r.pipe[1]);
    tlnmf_error error =
        started ? judge(ctx, &r, wait_for(ctx, &r), out) : io_read_kind(ctx, what, spec, out);
    close_end(&r.pipe[0]);
    close_end(&r.file);
    return error;
}
