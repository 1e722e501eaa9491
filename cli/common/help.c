/* The text of --help, from the tables of options. */
#include "cli/cli.h"

#include <string.h>

/* Lines end at WIDTH; the texts of the options begin in column COLUMN. */
enum { WIDTH = 100, COLUMN = 29 };

/* Words from column `at` on, further lines from `indent` on. */
static void print_wrapped(const char *text, int at, int indent)
{
    bool first = true; /* on this line */
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (!first && at + 1 + length > WIDTH) {
            printf("\n%*s", indent, "");
            at = indent;
            first = true;
        }
        at += printf("%s%.*s", first ? "" : " ", length, text);
        first = false;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_option(const cli_option_text *text)
{
    int at = printf("  %s%s%s", text->name, text->argument[0] != '\0' ? " " : "", text->argument);
    if (at >= COLUMN) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", COLUMN - at, "");
    print_wrapped(text->help, COLUMN, COLUMN);
}

void cli_print_help(const cli_command *command)
{
    cli_option_text text;
    printf("%s\n\nUsage: tlnmf %s\n\nOptions\n", command->purpose, command->usage);
    for (size_t i = 0; cli_option_at(command, i, &text); i++)
        print_option(&text);
    printf("\nExamples\n%s", command->examples);
    if (command->notes != NULL) {
        putchar('\n');
        print_wrapped(command->notes, 0, 0);
    }
}
