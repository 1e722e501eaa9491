/* Learning a model of the sources, or taking it from the checkpoint of a run that was killed. */
#include "cli/stems/stems.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int cli_stems_learn(cli_stems *stems, tlnmf_record **model)
{
    cli_call *call = stems->call;
    double since = now();
    tlnmf_record *state = NULL;
    *model = NULL;
    tlnmf_ctx_set_progress(call->ctx, cli_sound_progress, NULL); /* of the stems, too */
    int code = cli_stems_take(stems, model, &state);
    if (code != EXIT_DONE || *model != NULL)
        return code;
    cli_checkpoint_watch(call, NULL, NULL, state);
    tlnmf_error error = tlnmf_separate(call->ctx, stems->sound, call->settings, model);
    cli_checkpoint_unwatch(call);
    tlnmf_record_free(state);
    if (error != TLNMF_OK) /* the message of a file that cannot be read names it */
        return cli_fail_library(
            call, error,
            error == TLNMF_ERR_OPTION || error == TLNMF_ERR_INPUT ? NULL : stems->path);
    if (tlnmf_get_integer(*model, "outcome_code") == TLNMF_CANCELLED)
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted, no stems are written");
    if (now() - since >= cli_checkpoint_every())
        cli_stems_keep(stems, *model);
    return EXIT_DONE;
}
