/* Completions for shells: `tlnmf --complete WORD...` prints what the last word may become, from the
 * same tables as --help. */
#include "cli/cli.h"

#include <string.h>

/* `names` are placeholders of usage lines and options whose value is a file. */
const cli_file_kind cli_file_kinds[] = {
    {"arrays", " DATA COVARIANCES ARRAY data weights mask init-phi init-w init-h truth-w truth-h ",
     "npy npz h5 hdf5 mat csv tsv txt"},
    {"models", " MODEL init ", "h5 npz mat"},
    {"sounds", " SOUND ref est sound signal ", "wav flac w64 aiff aif au caf ogg opus mp3"},
    {"label tracks", " labels ", "txt"},
    {0},
};

/* Prints a word that begins as `typed` does, after `before`, and a tab and its help. */
static void offer(const char *before, const char *typed, const char *word, const char *help)
{
    if (strncmp(word, typed, strlen(typed)) == 0)
        printf("%s%s\t%s\n", before, word, help);
}

static void offer_commands(const char *typed)
{
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        offer("", typed, command->name, command->purpose);
}

static void offer_options(const cli_command *command, const char *typed)
{
    cli_option_text text;
    for (size_t i = 0; cli_option_at(command, i, &text); i++) {
        cli_shorten(text.help);
        offer("", typed, text.name, text.help);
    }
    offer("", typed, "--help", "show the common options");
}

/* Offers the values that "a|b|INT" or "FILE..." names: words, or a line for the shell, which
 * completes names of files: ":files", then the usual extensions, or ":folders". */
static void offer_values(const char *argument, const char *name, const char *before,
                         const char *typed)
{
    static const char *const words[][2] = {
        {"HOW", "starts|frames"},
        {"EXPERIMENT...", "fig2|fig3|table2|fig4|theory|beyond|errata|all"}};
    const char *line = "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(argument, words[i][0]) == 0)
            argument = words[i][1];
    for (size_t length; *argument != '\0'; argument += length + (argument[length] == '|')) {
        char value[64];
        length = strcspn(argument, "|");
        snprintf(value, sizeof value, "%.*s", (int)strcspn(argument, "|."), argument);
        if (value[0] >= 'a')
            offer(before, typed, value, "");
        if (cli_has_word(" DATA COVARIANCES ARRAY SOUND MODEL FILE OUTPUT ", value)) {
            fputs(line[0] == '\0' ? ":files" : "", stdout);
            line = "\n";
            for (const cli_file_kind *kind = cli_file_kinds; kind->what != NULL; kind++)
                if (cli_has_word(kind->names, value) || cli_has_word(kind->names, name))
                    printf(" %s", kind->extensions);
        }
        if (line[0] == '\0' && cli_has_word(" DIR FOLDER ", value))
            line = ":folders\n";
    }
    fputs(line, stdout);
}

/* The operand of this number in the usage line, such as "SOUND..."; "": there is none. */
static void operand_of(const cli_command *command, int number, char operand[64])
{
    const char *at = command->usage;
    operand[0] = '\0';
    for (int i = 0; i <= number; i++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
        size_t length = strcspn(at, " ");
        if (strchr("-[(", at[0]) != NULL) { /* an option, or the end */
            if (strstr(operand, "...") == NULL)
                operand[0] = '\0';
            return;
        }
        snprintf(operand, 64, "%.*s", (int)length, at);
    }
}

static bool find_option(const cli_command *command, const char *word, cli_option_text *text)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; cli_option_at(command, i, text); i++)
        if (strlen(text->name) == length && strncmp(text->name, word, length) == 0)
            return true;
    return false;
}

/* Completes the last word after a command. bash divides --name=value into three words. */
static void complete(const cli_command *command, int count, char **word)
{
    cli_option_text text = {.argument = ""}; /* of the option whose value comes next */
    const char *last = strcmp(word[count - 1], "=") == 0 ? "" : word[count - 1];
    int operands = 0;
    bool only_operands = false, is_list = false;
    for (int i = 0; i < count; i++) {
        const char *at = i == count - 1 ? last : word[i], *value = strchr(at, '=');
        bool is_option = !only_operands && at[0] == '-';
        bool is_value = text.argument[0] != '\0' && !(is_list && is_option);
        char name[64], before[80];
        if (!is_value && is_option && strncmp(at, "--", 2) == 0 && value != NULL && at == last &&
            find_option(command, at, &text)) {
            snprintf(before, sizeof before, "%s=", text.name);
            offer_values(text.argument, text.name + 2, before, value + 1);
        } else if (i == count - 1 && is_value) {
            offer_values(text.argument, text.name + strspn(text.name, "-"), "", last);
        } else if (i == count - 1) {
            operand_of(command, operands, name);
            if (is_option || (name[0] == '\0' && !only_operands))
                offer_options(command, last);
            else
                offer_values(name, "", "", last);
        } else if (strcmp(at, "=") != 0 && (!is_value || !is_list)) {
            only_operands |= strcmp(at, "--") == 0;
            operands += !is_value && !is_option;
            if (is_value || !is_option || value != NULL || !find_option(command, at, &text))
                text.argument[0] = '\0';
            is_list = strstr(text.argument, "...") != NULL;
        }
    }
}

void cli_complete(int count, char **word)
{
    static const char *const others[][2] = {{"help", "show the options of a command"},
                                            {"--help", "list the commands"},
                                            {"--version", "print the version"},
                                            {"--man", "print a man page"}};
    const cli_command *command;
    const char *first = count > 0 ? word[0] : "";
    for (size_t i = 0; count > 1 && (command = cli_command_at(i)) != NULL; i++)
        if (strcmp(command->name, first) == 0)
            complete(command, count - 1, word + 1);
    if (count < 2 || (count == 2 && cli_has_word(" help --man ", first)))
        offer_commands(count < 2 ? first : word[1]);
    for (size_t i = 0; count < 2 && i < sizeof others / sizeof *others; i++)
        offer("", first, others[i][0], others[i][1]);
}
