/* The program as one process. tlnmf-mpi has mpi/mpi_processes.c instead. */
#include "cli/cli.h"

bool cli_processes_begin(int *argc, char ***argv, int *code)
{
    (void)argc;
    (void)argv;
    (void)code;
    return true;
}

void cli_processes_end(int code)
{
    (void)code;
}
