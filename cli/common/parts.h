/* The checkpoints of processes that share out starts: FILE of the first, FILE.process1, ... of the
 * others. Together they are the state of the run. */
#ifndef TLNMF_CLI_COMMON_PARTS_H
#define TLNMF_CLI_COMMON_PARTS_H

#include "cli/cli.h"

enum { CLI_PART_PATH = CLI_PATH + 24 };

/* The file of process (or group of processes) `number`. */
void cli_part_path(const char *file, int32_t number, char path[CLI_PART_PATH]);

/* The parts beside FILE, by their numbers from 1 on. Of some only a temporary may be there. */
typedef struct cli_parts {
    int32_t *number;
    size_t count;
} cli_parts;
bool cli_parts_find(const char *file, cli_parts *out); /* false: no memory */
void cli_parts_free(cli_parts *parts);
/* Removes those from `first` on; 0 is FILE itself. */
void cli_parts_remove(const char *file, int32_t first);

/* FILE and its parts as one state; NULL if there is none of them. */
int cli_parts_read(const cli_call *call, const char *file, const cli_parts *parts,
                   tlnmf_record **all);

#endif
