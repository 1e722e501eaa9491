/* The text of --help, from the tables of options. */
#include "cli/cli.h"

#include <string.h>

/* The column of the options, after the name of their group, and the column of their texts. */
enum { MARGIN = 13, COLUMN = 42 };

void cli_shorten(char *help)
{
    size_t clause = strcspn(help, ";"), length = strlen(help);
    const char *fallback = strrchr(help, '[');
    if (clause == length)
        return;
    help[clause] = '\0';
    if (help[length - 1] != ']' || fallback == NULL || fallback < help + clause)
        return;
    help[clause++] = ' ';
    memmove(help + clause, fallback, strlen(fallback) + 1);
}

static void print_option(const char *group, cli_option_text *text, bool all)
{
    if (!all)
        cli_shorten(text->help);
    int at = printf("%-*s", MARGIN, group);
    at += printf("%s%s%s", text->name, text->argument[0] != '\0' ? " " : "", text->argument);
    if (at >= COLUMN) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", COLUMN - at, "");
    cli_put_wrapped(stdout, text->help, COLUMN, COLUMN);
}

/* Prints the options of a group. Returns how many of them are not on the first page. */
static int print_group(const cli_command *command, cli_group group, bool all)
{
    cli_option_text text;
    const char *name = cli_group_name(group);
    int more = 0;
    for (size_t i = 0; cli_option_at(command, i, &text); i++) {
        more += text.group == group && !text.first;
        if (text.group != group || (!all && !text.first))
            continue;
        print_option(name, &text, all);
        name = "";
    }
    return more;
}

/* Prints the first three lines, or all lines. */
static void print_examples(const char *text, bool all)
{
    fputs("\nExamples\n", stdout);
    for (int i = 0; *text != '\0' && (all || i < 3); i++) {
        int length = (int)strcspn(text, "\n") + 1;
        printf("%.*s", length, text);
        text += length;
    }
}

void cli_print_help(const cli_command *command, bool all)
{
    int more = 0;
    printf("%s\n\nUsage: tlnmf %s\n\n", command->purpose, command->usage);
    for (int group = 0; group < GROUPS; group++)
        more += print_group(command, (cli_group)group, all);
    print_examples(command->examples, all);
    if (command->notes != NULL && (all || more == 0)) {
        putchar('\n');
        cli_put_wrapped(stdout, command->notes, 0, 0);
    }
    if (!all && more > 0)
        printf("\n%d more options: tlnmf %s --help all, or man tlnmf-%s\n", more, command->name,
               command->name);
}
