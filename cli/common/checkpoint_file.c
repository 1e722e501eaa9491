/* --checkpoint, --every, --resume: the files of a checkpoint. Processes that distribute starts have
 * one each: FILE, FILE.process1, .. The first process merges them into FILE before a run continues.
 * A file is never followed through a link, and only a checkpoint is ever replaced or removed. */
#include "cli/cli.h"

#include <string.h>
#include <sys/stat.h>

enum { PART_PATH = CLI_PATH + 24, MOST_PROCESSES = 1024 };

/* Seconds. A run that takes less than EVERY leaves no checkpoint unless --every says so. */
static const double EVERY = 60.0, ITERATE_AFTER = 600.0;

/* The library saves from one thread at a time. */
static struct {
    const cli_command *command;
    char path[CLI_PATH]; /* "": no checkpoints */
    char own[PART_PATH]; /* the file of this process */
    tlnmf_ctx *ctx;      /* for writing, while the context of the call is busy */
    tlnmf_record *state; /* to resume from */
    double every;        /* seconds */
    bool begun, warned;
    bool resumed;     /* the run began with a state, */
    int64_t finished; /* which had so many finished units */
    struct stat last; /* the file of this process, as it was written or read */
} kept;

/* ---- files ----------------------------------------------------------------------------------- */

static const char *part_path(int number, char path[PART_PATH])
{
    int length = snprintf(path, PART_PATH, "%s", kept.path);
    if (number > 0)
        snprintf(path + length, PART_PATH - (size_t)length, ".process%d", number);
    return path;
}

static bool is_file(const char *path, struct stat *status)
{
    *status = (struct stat){0};
    return lstat(path, status) == 0 && S_ISREG(status->st_mode);
}

/* Whether this run has written or read the file that is there now. A new file or link may have the
 * inode of a removed one. */
static bool is_ours(const struct stat *now)
{
    const struct stat *last = &kept.last;
    return S_ISREG(now->st_mode) && now->st_ino == last->st_ino && now->st_dev == last->st_dev &&
           now->st_size == last->st_size && now->st_mtim.tv_sec == last->st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == last->st_mtim.tv_nsec;
}

/* Writes the file of this process. */
static tlnmf_error write_own(tlnmf_ctx *ctx, const tlnmf_record *state)
{
    struct stat now;
    char text[PART_PATH + 80];
    if (lstat(kept.own, &now) == 0 && !is_ours(&now)) {
        snprintf(text, sizeof text,
                 "%s: the file appeared or changed during the run; it is not replaced", kept.own);
        return tlnmf_fail(ctx, TLNMF_ERR_OUTPUT, text);
    }
    cli_guard_begin(); /* no temporary is left */
    tlnmf_error error = tlnmf_io_write_record(ctx, kept.own, state);
    cli_guard_end();
    if (error == TLNMF_OK)
        is_file(kept.own, &kept.last);
    return error;
}

/* Adds the units of a file to the state. If the run does not resume, removes the file, unless it is
 * not a checkpoint. */
static int take_file(const cli_call *call, const char *path)
{
    tlnmf_record *part = NULL;
    int code = EXIT_DONE;
    struct stat status;
    if (!is_file(path, &status))
        return EXIT_DONE;
    if (strcmp(path, kept.own) == 0)
        kept.last = status;
    tlnmf_error error = tlnmf_io_read_record(call->ctx, path, &part);
    bool is_checkpoint = tlnmf_record_get_text(part, "kind") != NULL;
    if (kept.state == NULL && is_checkpoint)
        tlnmf_io_remove(path);
    else if (kept.state == NULL)
        code =
            cli_fail(call->command, EXIT_OUTPUT, "%s: not a checkpoint; it is not replaced", path);
    else if (error != TLNMF_OK)
        code = cli_fail_library(call, error, NULL);
    else if ((error = tlnmf_join_states(call->ctx, kept.state, part)) != TLNMF_OK)
        code = cli_fail_library(call, error, path);
    tlnmf_record_free(part);
    return code;
}

/* Takes all files, and makes one of them. */
static int merge(const cli_call *call)
{
    char path[PART_PATH];
    struct stat status;
    int code = take_file(call, kept.path), last = 0;
    for (int i = 1; code == EXIT_DONE && i < MOST_PROCESSES; i++)
        if (is_file(part_path(i, path), &status)) {
            code = take_file(call, path);
            last = i;
        }
    if (code == EXIT_DONE && kept.state != NULL && last > 0)
        code = cli_checkpoint_write(call, kept.state);
    for (int i = 1; code == EXIT_DONE && i <= last; i++)
        if (is_file(part_path(i, path), &status))
            tlnmf_io_remove(path);
    return code;
}

/* ---- before the run -------------------------------------------------------------------------- */

/* The default is next to the output: model.h5.checkpoint. False if there is no default, as for a
 * pipe. */
static bool choose_path(const char *output)
{
    struct stat status;
    int size;
    if (cli_asked.checkpoint != NULL) {
        size = snprintf(kept.path, CLI_PATH, "%s", cli_asked.checkpoint);
    } else if (output == NULL || strcmp(output, "-") == 0 ||
               (stat(output, &status) == 0 && !S_ISREG(status.st_mode) &&
                !S_ISDIR(status.st_mode))) {
        return false;
    } else {
        int length = (int)strlen(output);
        while (length > 1 && output[length - 1] == '/') /* a folder */
            length--;
        size = snprintf(kept.path, CLI_PATH, "%.*s.checkpoint", length, output);
    }
    return size < CLI_PATH;
}

/* Files that exist are resumed or replaced, as the options say. */
static int check_files(const cli_call *call)
{
    bool allowed = cli_asked.resume != NULL || cli_asked.force != NULL;
    char path[PART_PATH];
    struct stat status;
    int code = cli_file_add(call, CLI_SAVES, "the checkpoint", kept.path);
    for (int i = 0; code == EXIT_DONE && i < MOST_PROCESSES; i++) {
        if (lstat(part_path(i, path), &status) != 0)
            continue;
        if (i > 0)
            code = cli_file_add(call, CLI_SAVES, "the checkpoint", path);
        if (code == EXIT_DONE && !allowed)
            code = cli_fail(call->command, EXIT_OUTPUT,
                            "%s: a checkpoint of an earlier run; --resume continues it, --force "
                            "starts anew",
                            path);
    }
    return code;
}

int cli_checkpoint_check(const cli_call *call, const char *output)
{
    const cli_shared *given = &cli_asked;
    const double least = 1e-3; /* seconds: the library would save after every unit with 0 */
    double every, iterate_after;
    if (!cli_number(call->command, "every", given->every, 0.0, 1e9, EVERY, &every) ||
        !cli_number(call->command, "iterate-after", given->iterate_after, 0.0, 1e9, ITERATE_AFTER,
                    &iterate_after))
        return EXIT_USAGE;
    memset(&kept, 0, sizeof kept);
    kept.command = call->command;
    kept.every = every > least ? every : least;
    tlnmf_ctx_set_iterate_after(call->ctx, iterate_after);
    if (given->checkpoint != NULL &&
        (given->checkpoint[0] == '\0' || strcmp(given->checkpoint, "-") == 0))
        return cli_fail(call->command, EXIT_USAGE,
                        "--checkpoint needs the name of a file, not \"%s\"", given->checkpoint);
    if (choose_path(output))
        return check_files(call);
    kept.path[0] = '\0';
    if (given->checkpoint != NULL || given->resume != NULL || given->every != NULL ||
        given->iterate_after != NULL)
        return cli_fail(call->command, EXIT_USAGE,
                        "missing required option --checkpoint FILE or -o FILE");
    return EXIT_DONE;
}

static int save(const tlnmf_record *state, void *user)
{
    (void)user;
    if (write_own(kept.ctx, state) != TLNMF_OK && !kept.warned) {
        cli_progress_clear();
        cli_warn(kept.command, "no checkpoint: %s", tlnmf_message(kept.ctx));
        kept.warned = true;
    }
    return 0; /* the next may succeed */
}

/* Later library calls neither save nor resume. */
static void unwatch(const cli_call *call)
{
    tlnmf_ctx_set_checkpoint(call->ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(call->ctx, NULL);
    tlnmf_record_free(kept.state);
    kept.state = NULL;
}

/* The number of finished units: runs (a start has one for each method), whose tables end in
 * ".units" and whose rows begin with 1 if they are finished; or candidates of a separation, which
 * are arrays "learn.N". */
static int64_t count_finished(void)
{
    int64_t finished = 0, shape[TLNMF_MAX_DIMENSIONS];
    const char *name;
    for (size_t i = 0; (name = tlnmf_record_name(kept.state, i)) != NULL; i++) {
        int32_t dimensions = 0;
        const double *x = tlnmf_record_get_array(kept.state, name, &dimensions, shape);
        size_t length = strlen(name);
        finished += x != NULL && strncmp(name, "learn.", 6) == 0 &&
                    strspn(name + 6, "0123456789") == length - 6;
        if (x == NULL || dimensions != 2 || length < 6 || strcmp(name + length - 6, ".units") != 0)
            continue;
        for (int64_t row = 0; row < shape[0]; row++)
            finished += x[row * shape[1]] == 1.0;
    }
    return finished;
}

static bool separates(const cli_call *call)
{
    return strcmp(call->command->name, "separate") == 0;
}

/* After a run that the checkpoint was accepted for. */
static void say_resumed(const cli_call *call)
{
    if (kept.finished > 0)
        cli_say(call->command, "resumed from %s: %lld finished %s%s", kept.path,
                (long long)kept.finished, separates(call) ? "candidate" : "run",
                cli_plural(kept.finished));
    else
        cli_say(call->command, "resumed from %s", kept.path);
}

int cli_checkpoint_begin(const cli_call *call)
{
    bool resumes = cli_asked.resume != NULL || kept.begun;
    if (kept.path[0] == '\0')
        return EXIT_DONE;
    unwatch(call);
    part_path(cli_world.rank / call->part.size, kept.own);
    bool fails = (kept.ctx == NULL && tlnmf_ctx_create(&kept.ctx) != TLNMF_OK) ||
                 (resumes && tlnmf_record_create(call->ctx, &kept.state) != TLNMF_OK);
    int code = fails ? cli_fail(call->command, EXIT_INTERNAL, "no memory") : EXIT_DONE;
    code = cli_agree(code); /* all processes have written their files */
    if (code == EXIT_DONE)
        code = cli_agree(cli_is_first() ? merge(call) : EXIT_DONE);
    if (code == EXIT_DONE)
        code = cli_agree(resumes && !cli_is_first() ? take_file(call, kept.path) : EXIT_DONE);
    if (code != EXIT_DONE)
        return code;
    bool found = tlnmf_record_count(kept.state) > 0;
    if (cli_asked.resume != NULL && !kept.begun && !found)
        cli_say(call->command, "%s: no checkpoint yet, the run begins anew", kept.path);
    else if (!kept.begun && found) {
        kept.resumed = true;
        kept.finished = count_finished();
    }
    kept.begun = true;
    tlnmf_ctx_set_checkpoint(call->ctx, kept.every, save, NULL);
    tlnmf_ctx_set_resume(call->ctx, found ? kept.state : NULL);
    return EXIT_DONE;
}

/* ---- a checkpoint that stays ----------------------------------------------------------------- */

int cli_checkpoint_merge(const cli_call *call, const char *path, tlnmf_record *all)
{
    memset(&kept, 0, sizeof kept);
    snprintf(kept.path, sizeof kept.path, "%s", path);
    part_path(cli_world.rank, kept.own);
    kept.state = all;
    int code = cli_is_first() ? merge(call) : EXIT_DONE;
    kept.state = NULL;
    return code;
}

int cli_checkpoint_write(const cli_call *call, const tlnmf_record *state)
{
    tlnmf_error error = write_own(call->ctx, state);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

/* ---- after the run --------------------------------------------------------------------------- */

void cli_checkpoint_end(const cli_call *call, int code, bool out_of_time)
{
    struct stat now;
    bool exists = lstat(kept.own, &now) == 0;
    bool done = code == EXIT_DONE || code == EXIT_NOT_CONVERGED;
    bool wanted = out_of_time && (cli_asked.checkpoint != NULL || cli_asked.resume != NULL);
    unwatch(call);
    if (done && kept.resumed && cli_is_first())
        say_resumed(call);
    if (exists && ((done && wanted) || code == EXIT_INTERRUPTED))
        cli_say(call->command, "--resume%s continues from %s", done ? " --force" : "",
                kept.path); /* the output is there */
    else if (kept.begun && code == EXIT_INTERRUPTED && separates(call))
        cli_say(call->command, "there is no checkpoint yet");
    else if (kept.own[0] != '\0' && done &&
             (!exists || is_ours(&now))) /* and temporaries after a kill */
        tlnmf_io_remove(kept.own);
    tlnmf_ctx_free(kept.ctx);
    memset(&kept, 0, sizeof kept);
}
