/* --checkpoint, --every, --resume: where the state of a run is kept, and when it goes. */
#include "cli/common/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run that takes less than this leaves no checkpoint unless --every says so. */
static const double USUAL = 60.0;

/* The library saves from one thread at a time. */
static struct {
    const cli_command *command;
    char path[CLI_PATH];      /* "": no checkpoints */
    char own[CLI_PART_PATH];  /* where this process writes its part */
    char ranks[CLI_PATH + 8]; /* beside it: that of a comparison of several k */
    bool compared;            /* a comparison was gone on from */
    tlnmf_ctx *ctx;           /* the call's own is busy while the run is saved */
    tlnmf_record *state;      /* to go on from */
    double every;             /* seconds */
    bool warned;
} kept;

static bool write_to(const char *path, const tlnmf_record *state)
{
    if (kept.path[0] == '\0' || (kept.ctx == NULL && tlnmf_ctx_create(&kept.ctx) != TLNMF_OK))
        return false;
    cli_guard_begin(); /* no temporary is left */
    tlnmf_error error = tlnmf_io_write_record(kept.ctx, path, state);
    cli_guard_end();
    if (error == TLNMF_OK)
        return true;
    if (!kept.warned) {
        cli_progress_clear();
        cli_warn(kept.command, "no checkpoint: %s", tlnmf_message(kept.ctx));
        kept.warned = true;
    }
    return false;
}

void cli_checkpoint_write(const tlnmf_record *state)
{
    write_to(kept.own, state);
}

static int save_ranks(const tlnmf_record *state, void *user)
{
    (void)user;
    write_to(kept.ranks, state);
    return 0; /* the next may succeed */
}

static int save(const tlnmf_record *state, void *user)
{
    (void)user;
    cli_checkpoint_write(state);
    return 0; /* the next may succeed */
}

double cli_checkpoint_every(void)
{
    return kept.every;
}

/* The default is beside the output: model.h5.checkpoint. False if there is none: what goes to a
 * pipe has no place beside it. */
static bool choose_path(const char *output)
{
    struct stat status;
    const char *given = cli_common_values.checkpoint;
    kept.path[0] = '\0';
    if (given != NULL)
        return snprintf(kept.path, sizeof kept.path, "%s", given) < CLI_PATH;
    if (output == NULL || strcmp(output, "-") == 0 ||
        (stat(output, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
        return false;
    size_t length = strlen(output);
    while (length > 1 && output[length - 1] == '/') /* a folder */
        length--;
    if (snprintf(kept.path, sizeof kept.path, "%.*s.checkpoint", (int)length, output) < CLI_PATH)
        return true;
    kept.path[0] = '\0';
    return false;
}

/* A checkpoint that is there is gone on from, or replaced, as the caller says. */
static int check_present(const cli_call *call, const char *path)
{
    if (access(path, F_OK) != 0)
        return EXIT_DONE;
    for (int i = 0; i < call->operand_count; i++) {
        int code = cli_check_input(call->command, call->operands[i], path);
        if (code != EXIT_DONE)
            return code;
    }
    if (cli_common_values.resume == NULL && cli_common_values.force == NULL)
        return cli_fail(call->command, EXIT_OUTPUT,
                        "%s: a checkpoint of an earlier run; --resume goes on from it, --force "
                        "begins anew",
                        path);
    return EXIT_DONE;
}

static int check_parts(const cli_call *call)
{
    cli_parts parts;
    char path[CLI_PART_PATH];
    int code = cli_parts_find(kept.path, &parts)
                   ? EXIT_DONE
                   : cli_fail(call->command, EXIT_INTERNAL, "no memory");
    for (size_t i = 0; code == EXIT_DONE && i < parts.count; i++) {
        cli_part_path(kept.path, parts.number[i], path);
        code = check_present(call, path);
    }
    cli_parts_free(&parts);
    return code;
}

static int say_none(const cli_call *call)
{
    if (!kept.compared)
        cli_say(call->command, "%s: no checkpoint yet, the run begins anew", kept.path);
    return EXIT_DONE;
}

int cli_checkpoint_read(const cli_call *call, tlnmf_record **state)
{
    *state = NULL;
    if (cli_common_values.resume == NULL)
        return EXIT_DONE;
    if (access(kept.path, F_OK) != 0 && errno == ENOENT)
        return say_none(call);
    tlnmf_error error = tlnmf_io_read_record(call->ctx, kept.path, state);
    return error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL);
}

int cli_checkpoint_check(const cli_call *call, const char *output)
{
    const cli_common *given = &cli_common_values;
    double every;
    if (!cli_number(call->command, "every", given->every, 0.0, 1e9, USUAL, &every))
        return EXIT_USAGE;
    memset(&kept, 0, sizeof kept);
    kept.command = call->command;
    kept.every = every;
    if (!choose_path(output)) {
        if (given->checkpoint != NULL || given->resume != NULL || given->every != NULL)
            return cli_fail(call->command, EXIT_USAGE, "--checkpoint FILE is needed: where to");
        return EXIT_DONE;
    }
    cli_part_path(kept.path, 0, kept.own);
    snprintf(kept.ranks, sizeof kept.ranks, "%s.k", kept.path);
    int code = cli_check_input(call->command, output, kept.path);
    if (code == EXIT_DONE)
        code = check_present(call, kept.path);
    if (code == EXIT_DONE)
        code = check_present(call, kept.ranks);
    if (code == EXIT_DONE)
        code = check_parts(call);
    if (code == EXIT_DONE && given->checkpoint != NULL && access(kept.path, F_OK) != 0)
        code = cli_check_output(call->command, kept.path);
    return code;
}

/* Memory for a state that nobody asked for is no reason to refuse a run. Processes that save
 * together leave it out together. */
static void leave_out_if_large(const cli_call *call, const tlnmf_data *data)
{
    const cli_machines *m = &cli_machines_values;
    double bytes, without = 0.0;
    if (cli_common_values.checkpoint != NULL || cli_common_values.resume != NULL)
        return;
    if (tlnmf_memory(call->ctx, data, call->settings, &bytes) == TLNMF_OK)
        without = !cli_has_memory(bytes);
    if ((m->size > 1 && m->sum(&without, 1, m->user) != 0) || without == 0.0)
        return;
    cli_warn(call->command, "too little memory for checkpoints: this run cannot be resumed");
    tlnmf_ctx_set_checkpoint(call->ctx, 0.0, NULL, NULL);
}

/* Whether it is so on any process. */
static bool any(bool here)
{
    const cli_machines *m = &cli_machines_values;
    double all = here;
    return m->size == 1 || m->sum(&all, 1, m->user) != 0 ? here : all > 0.0;
}

/* Groups of processes that share the starts. */
static int32_t groups_of(const cli_call *call)
{
    return cli_machines_values.size / call->part.size;
}

static int read_parts(const cli_call *call, const cli_parts *parts)
{
    if (cli_common_values.resume == NULL)
        return EXIT_DONE;
    if (parts->count == 0 && groups_of(call) == 1)
        return cli_checkpoint_read(call, &kept.state);
    int code = cli_parts_read(call, kept.path, parts, &kept.state);
    return code == EXIT_DONE && kept.state == NULL ? say_none(call) : code;
}

/* Every process keeps its part of what it goes on from; then the files of processes that are no
 * more can go. So can all of them if the run begins anew. */
static void settle(const cli_call *call, bool has_parts)
{
    bool failed = false;
    if (!any(has_parts || groups_of(call) > 1))
        return;
    if (kept.state != NULL && call->part.rank == 0)
        failed = !write_to(kept.own, kept.state);
    if (!any(failed) && cli_is_first())
        cli_parts_remove(kept.path, kept.state != NULL ? groups_of(call) : 0);
}

int cli_checkpoint_begin(const cli_call *call, const tlnmf_data *data)
{
    cli_parts parts = {0};
    if (kept.path[0] == '\0')
        return EXIT_DONE;
    cli_part_path(kept.path, cli_machines_values.rank / call->part.size, kept.own);
    int code = (kept.ctx != NULL || tlnmf_ctx_create(&kept.ctx) == TLNMF_OK) &&
                       cli_parts_find(kept.path, &parts)
                   ? read_parts(call, &parts)
                   : cli_fail(call->command, EXIT_INTERNAL, "no memory");
    code = cli_agree(code);
    if (code == EXIT_DONE)
        settle(call, parts.count > 0);
    cli_parts_free(&parts);
    if (code != EXIT_DONE)
        return code;
    tlnmf_ctx_set_checkpoint(call->ctx, kept.every, save, NULL);
    tlnmf_ctx_set_resume(call->ctx, kept.state);
    leave_out_if_large(call, data);
    return EXIT_DONE;
}

int cli_checkpoint_begin_ranks(const cli_call *call)
{
    tlnmf_error error = TLNMF_OK;
    if (kept.path[0] == '\0')
        return EXIT_DONE;
    if (cli_common_values.resume != NULL && access(kept.ranks, F_OK) == 0) {
        error = tlnmf_io_read_record(call->ctx, kept.ranks, &kept.state);
        kept.compared = error == TLNMF_OK;
    }
    int code = cli_agree(error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL));
    if (code != EXIT_DONE)
        return code;
    tlnmf_ctx_set_checkpoint(call->ctx, kept.every, save_ranks, NULL);
    tlnmf_ctx_set_resume(call->ctx, kept.state);
    return EXIT_DONE;
}

void cli_checkpoint_end_ranks(const cli_call *call)
{
    cli_checkpoint_unwatch(call);
    tlnmf_record_free(kept.state);
    kept.state = NULL;
}

void cli_checkpoint_watch(const cli_call *call, tlnmf_save save_or_null, void *user,
                          const tlnmf_record *state)
{
    if (kept.path[0] != '\0')
        tlnmf_ctx_set_checkpoint(call->ctx, kept.every, save_or_null ? save_or_null : save, user);
    tlnmf_ctx_set_resume(call->ctx, state);
}

void cli_checkpoint_unwatch(const cli_call *call)
{
    tlnmf_ctx_set_checkpoint(call->ctx, 0.0, NULL, NULL);
    tlnmf_ctx_set_resume(call->ctx, NULL);
}

void cli_checkpoint_report(const cli_call *call)
{
    if (kept.path[0] != '\0' && any(kept.warned && !cli_is_first()) && cli_is_first())
        cli_warn(call->command, "%s: other processes could not write theirs", kept.path);
}

void cli_checkpoint_end(const cli_call *call, int code)
{
    bool done = code == EXIT_DONE || code == EXIT_NOT_CONVERGED;
    cli_checkpoint_unwatch(call);
    bool is_there = access(kept.own, F_OK) == 0;
    if (kept.path[0] != '\0' && done && cli_is_first()) {
        cli_parts_remove(kept.path, 0);
        tlnmf_io_remove(kept.ranks);
    } else if (kept.path[0] != '\0' && code == EXIT_INTERRUPTED &&
               (is_there || access(kept.ranks, F_OK) == 0)) {
        cli_say(call->command, "--resume goes on from %s", is_there ? kept.path : kept.ranks);
    }
    tlnmf_record_free(kept.state);
    tlnmf_ctx_free(kept.ctx);
    memset(&kept, 0, sizeof kept);
}
