/* The program as one process. tlnmf-mpi has mpi/processes.c instead. */
#include "cli/cli.h"

bool cli_machines_begin(int *argc, char ***argv, int *code)
{
    (void)argc;
    (void)argv;
    (void)code;
    return true;
}

void cli_machines_end(int code)
{
    (void)code;
}
