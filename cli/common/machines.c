/* Several processes that run one command together: who prints, and one exit code for all. */
#include "cli/cli.h"

#include <string.h>

cli_machines cli_machines_values = {.size = 1};

enum { LINE = 1024 };
static char last_line[LINE]; /* the message of the last failure */

bool cli_is_first(void)
{
    return cli_machines_values.rank == 0;
}

tlnmf_error cli_join(cli_call *call)
{
    const cli_machines *m = &cli_machines_values;
    if (m->size == 1 || !call->command->shares)
        return TLNMF_OK;
    tlnmf_error error = tlnmf_sums_create(call->ctx, m->size, m->rank, m->sum, m->broadcast,
                                          m->user, &call->machines);
    tlnmf_ctx_share_starts(call->ctx, call->machines);
    return error;
}

void cli_keep_message(const char *line)
{
    snprintf(last_line, sizeof last_line, "%s", line);
}

int cli_agree(int code)
{
    const cli_machines *m = &cli_machines_values;
    double failures = code != EXIT_DONE, packed[1 + LINE] = {0.0};
    if (m->size == 1 || m->sum(&failures, 1, m->user) != 0 || failures == 0.0)
        return code;
    for (int32_t root = 0; root < m->size && packed[0] == 0.0; root++) {
        packed[0] = (double)code;
        for (int i = 0; i < LINE; i++)
            packed[1 + i] = (double)(unsigned char)last_line[i];
        if (m->broadcast(packed, 1 + LINE, root, m->user) != 0)
            return code;
    }
    if (cli_is_first() && code == EXIT_DONE) {
        for (int i = 0; i < LINE; i++)
            last_line[i] = (char)(unsigned char)packed[1 + i];
        last_line[LINE - 1] = '\0';
        cli_progress_clear();
        cli_put(stderr, last_line);
        fputc('\n', stderr);
    }
    return (int)packed[0];
}
