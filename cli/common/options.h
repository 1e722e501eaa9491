/* The options of a command by name, for the parser and the texts. */
#ifndef TLNMF_CLI_OPTIONS_H
#define TLNMF_CLI_OPTIONS_H

#include "cli/cli.h"

/* Whether `word` is one of `words`, a text such as " o force json "; NULL has none. */
bool cli_has_word(const char *words, const char *word);
/* An option of the program's own that the command has; or NULL. */
const cli_option *cli_find_option(const cli_command *command, const char *name);
/* The first of the command's tasks that has the option; or NULL. */
const char *cli_find_setting(const cli_command *command, const char *name);

#endif
