/* The asking end: starts a reader, waits for it, takes over what it has read. */
#include "apart.h"

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
    int file;     /* in memory: what it has read */
    int pipe[2];  /* ours to read, its own to hold open */
    double limit; /* seconds; 0: none */
    bool late, stopped;
} reader;

/* ---- starting -------------------------------------------------------------------------------- */

/* The environment with BLAS and OpenMP on one thread: the reader computes nothing, and each thread
 * of theirs takes memory. The strings are not copied; free() the list. */
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

/* An error number, 0 if it runs. posix_spawn, not fork: the host may have threads. */
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

/* Descriptors above those that the reader gets: a dup2 to oneself would leave it closed on exec. */
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

/* Until the reader ends, is late, or is no longer wanted; returns its status. */
static int wait_for(reader *r, tlnmf_io_stop *stop, void *user)
{
    const int slice = 50; /* milliseconds: how soon a stop is noticed */
    struct pollfd end = {.fd = r->pipe[0], .events = POLLIN};
    double start = now();
    int status = 0, ready = 0;

    while (ready <= 0 && !r->late && !r->stopped) {
        ready = poll(&end, 1, slice);
        r->stopped = ready <= 0 && stop && stop(user) != 0;
        r->late = ready <= 0 && r->limit > 0 && now() - start > r->limit;
    }
    if (r->late || r->stopped)
        kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* ---- taking over ----------------------------------------------------------------------------- */

static tlnmf_error unpack(tlnmf_ctx *ctx, const reader *r, tlnmf_record **out)
{
    struct stat st;

    if (fstat(r->file, &st) != 0 || st.st_size <= 0)
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: its reader left nothing", r->name);
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, r->file, 0);
    if (bytes == MAP_FAILED)
        return io_refuse(ctx, TLNMF_ERR_MEMORY, "%s: out of memory", r->name);
    tlnmf_error error = tlnmf_record_unpack(ctx, bytes, (size_t)st.st_size, out);
    munmap(bytes, (size_t)st.st_size);
    return error == TLNMF_OK || error == TLNMF_ERR_MEMORY
               ? error
               : io_refuse(ctx, TLNMF_ERR_INPUT, "%s: its reader left a damaged record", r->name);
}

/* The error that the reader has met. */
static tlnmf_error pass_on(tlnmf_ctx *ctx, const reader *r)
{
    tlnmf_record *said = NULL;

    IO_TRY(unpack(ctx, r, &said));
    int64_t code = tlnmf_get_integer(said, "error");
    const char *message = tlnmf_get_text(said, "message");
    bool known = code == TLNMF_ERR_INPUT || code == TLNMF_ERR_MEMORY || code == TLNMF_ERR_ARGUMENT;
    tlnmf_error error = tlnmf_fail(ctx, known ? (tlnmf_error)code : TLNMF_ERR_INPUT,
                                   message ? message : "a file cannot be read");
    tlnmf_record_free(said);
    return error;
}

static tlnmf_error judge(tlnmf_ctx *ctx, const reader *r, int status, tlnmf_record **out)
{
    if (r->stopped)
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: reading was interrupted", r->name);
    if (r->late ||
        (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)))
        return io_refuse(ctx, TLNMF_ERR_INPUT,
                         "%s: damaged: reading it takes more time or memory than its size explains",
                         r->name);
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: reading was interrupted", r->name);
    if (WIFSIGNALED(status))
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: damaged: its reader was ended by signal %d",
                         r->name, WTERMSIG(status));
    if (WEXITSTATUS(status) == IO_APART_FAILED)
        return pass_on(ctx, r);
    if (WEXITSTATUS(status) != IO_APART_READ)
        return io_refuse(ctx, TLNMF_ERR_INPUT, "%s: its reader ended with code %d", r->name,
                         WEXITSTATUS(status));
    return unpack(ctx, r, out);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Our own formats need no reader of their own; neither do files that are not there. */
static bool is_foreign(const char *spec, double *limit)
{
    const int64_t rate = 1 << 20; /* bytes a second, over a slow network */
    struct stat st;
    io_source source;
    io_error err;

    *limit = 0;
    if (strcmp(spec, "-") == 0 || strncmp(spec, "-:", 2) == 0)
        return true;
    char *path = strdup(spec), *colon = path ? strrchr(path, ':') : NULL;
    if (path && colon && stat(path, &st) != 0)
        *colon = '\0';
    bool foreign = path && stat(path, &st) == 0;
    if (foreign && S_ISREG(st.st_mode)) {
        *limit = 3.0 * (double)io_seconds_to_read((int64_t)st.st_size, rate);
        foreign = io_source_open(path, &source, &err);
        if (foreign) {
            foreign = source.format != IO_FORMAT_NPY;
            io_source_close(&source);
        }
    }
    free(path);
    return foreign;
}

tlnmf_error tlnmf_io_read_apart(tlnmf_ctx *ctx, const char *helper, const char *what,
                                const char *spec, tlnmf_io_stop *stop, void *user,
                                tlnmf_record **out)
{
    reader r = {.kind = what, .spec = spec, .file = -1, .pipe = {-1, -1}};

    IO_NEED(ctx, out);
    *out = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, what);
    IO_NEED(ctx, spec);
    if (helper == NULL || !is_foreign(spec, &r.limit))
        return io_read_kind(ctx, what, spec, out);
    r.name = strcmp(spec, "-") == 0 || strncmp(spec, "-:", 2) == 0 ? "standard input" : spec;
    bool started = open_ends(&r) && spawn(&r, helper) == 0;
    close_end(&r.pipe[1]);
    tlnmf_error error;
    if (started) {
        int status = wait_for(&r, stop, user);
        error = judge(ctx, &r, status, out);
    } else
        error = io_read_kind(ctx, what, spec, out);
    close_end(&r.pipe[0]);
    close_end(&r.file);
    return error;
}
