/* Files from strangers are read by a second process of this program, which may break. */
#include "cli/cli.h"

/* Linux's name for the program that runs; elsewhere there is none, and files are read here. */
static const char program[] = "/proc/self/exe";

static int stop(void *user)
{
    (void)user;
    return cli_interrupted();
}

int cli_read(const cli_call *call, const char *kind, const char *spec, tlnmf_record **out)
{
    tlnmf_error error = tlnmf_io_read_apart(call->ctx, program, kind, spec, stop, NULL, out);
    if (error == TLNMF_OK)
        return EXIT_DONE;
    if (cli_interrupted())
        return cli_fail(call->command, EXIT_INTERRUPTED, "interrupted while reading");
    return cli_fail_library(call, error, NULL);
}
