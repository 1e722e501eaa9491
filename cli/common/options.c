/* The options of a command: its own, those of the library's table, and the common ones. */
#include "cli/common/options.h"

#include <string.h>

cli_common cli_common_values;

static const cli_option common_options[] = {
    {"o", "FILE", "write the output here; - is standard output", &cli_common_values.output},
    {"force", NULL, "replace outputs that exist already", &cli_common_values.force},
    {"json", NULL, "print one JSON object on standard output", &cli_common_values.json},
    {"explain", NULL,
     "after the summary, explain each of its numbers and which values are good; without an input, "
     "explain all numbers",
     &cli_common_values.explain},
    {"q", NULL, "no progress and no warnings", &cli_common_values.quiet},
    {"v", NULL, "say more on standard error", &cli_common_values.verbose},
    {"checkpoint", "FILE", "keep the state of the run here [beside the output: OUTPUT.checkpoint]",
     &cli_common_values.checkpoint},
    {"every", "SECONDS",
     "seconds between checkpoints; more if they would take over a hundredth of the time [60]",
     &cli_common_values.every},
    {"resume", NULL,
     "go on from the checkpoint of the same command; the result is the same to the last bit",
     &cli_common_values.resume},
};
enum { COMMON = sizeof common_options / sizeof *common_options };

bool cli_has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; at != NULL && (at = strstr(at, word)) != NULL; at++)
        if (at > words && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* ---- one option by name ---------------------------------------------------------------------- */

static const cli_option *find_in(const cli_option *options, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

const cli_option *cli_find_option(const cli_command *command, const char *name)
{
    const cli_option *option = find_in(command->options, command->option_count, name);
    if (option == NULL)
        option = find_in(command->shared, command->shared_count, name);
    if (option == NULL && cli_has_word(command->common, name))
        option = find_in(common_options, COMMON, name);
    return option;
}

/* Whether a command has this option of one of its tasks. */
static bool has_setting(const cli_command *command, const char *task, const char *name)
{
    return task != NULL && tlnmf_option_kind_of(task, name) != TLNMF_OPTION_UNKNOWN &&
           (command->only == NULL || cli_has_word(command->only, name)) &&
           !cli_has_word(command->without, name);
}

const char *cli_find_setting(const cli_command *command, const char *name)
{
    if (has_setting(command, command->task, name))
        return command->task;
    return has_setting(command, command->also, name) ? command->also : NULL;
}

/* ---- all options in order -------------------------------------------------------------------- */

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

static void put_name(const char *name, cli_option_text *text)
{
    snprintf(text->name, sizeof text->name, "%s%s", strlen(name) == 1 ? "-" : "--", name);
}

/* What the program adds to the library's options. */
static const char *addition(const char *task, const char *name)
{
    if (strcmp(task, "fit") != 0 && strcmp(task, "jd") != 0)
        return "";
    if (strcmp(name, "transform") == 0)
        return "; or a FILE that holds Phi";
    return strcmp(name, "trace-all") == 0 ? "; --trace all does the same" : "";
}

/* The help of an option of the library's table, with its default if it has one. */
static void put_setting_help(const char *task, const char *name, cli_option_text *text)
{
    char value[64];
    bool flag = tlnmf_option_kind_of(task, name) == TLNMF_OPTION_FLAG;
    const char *fallback = tlnmf_option_default(task, name, value, sizeof value);
    const char *help = tlnmf_option_help(task, name), *more = addition(task, name);
    if (flag || fallback == NULL || fallback[0] == '\0')
        snprintf(text->help, sizeof text->help, "%s%s", help, more);
    else
        snprintf(text->help, sizeof text->help, "%s%s [%s]", help, more, fallback);
}

static void describe_setting(const char *task, const char *name, cli_option_text *text)
{
    static const char *const kinds[] = {
        [TLNMF_OPTION_INTEGER] = "INT",
        [TLNMF_OPTION_SEED] = "INT",
        [TLNMF_OPTION_REAL] = "REAL",
        [TLNMF_OPTION_FLAG] = "",
    };
    tlnmf_option_kind kind = tlnmf_option_kind_of(task, name);
    put_name(name, text);
    copy(text->argument, sizeof text->argument,
         kind == TLNMF_OPTION_CHOICE ? tlnmf_option_choices(task, name) : kinds[kind]);
    put_setting_help(task, name, text);
}

static void describe_own(const cli_command *command, const cli_option *option,
                         cli_option_text *text)
{
    put_name(option->name, text);
    copy(text->argument, sizeof text->argument, option->argument);
    if (option->help != NULL)
        copy(text->help, sizeof text->help, option->help);
    else
        put_setting_help(cli_find_setting(command, option->name), option->name, text);
}

/* Option number *index of a table; else counts those that there are off *index. Options whose text
 * is that of the library's stand in its place. */
static bool own_at(const cli_command *command, const cli_option *options, size_t count,
                   size_t *index, cli_option_text *text)
{
    for (size_t i = 0; i < count; i++) {
        bool is_listed = cli_find_option(command, options[i].name) == &options[i];
        if (!is_listed || options[i].help == NULL || (*index)-- > 0)
            continue;
        describe_own(command, &options[i], text);
        return true;
    }
    return false;
}

/* The same for the options of a task. */
static bool setting_at(const cli_command *command, const char *task, size_t *index,
                       cli_option_text *text)
{
    const char *name;
    for (size_t i = 0; task != NULL && (name = tlnmf_option_name(task, i)) != NULL; i++) {
        const cli_option *own = cli_find_option(command, name);
        bool is_first = cli_find_setting(command, name) == task; /* not in an earlier task */
        if (!is_first || (own != NULL && own->help != NULL) || (*index)-- > 0)
            continue;
        if (own != NULL)
            describe_own(command, own, text);
        else
            describe_setting(task, name, text);
        return true;
    }
    return false;
}

/* Puts a word before the help. */
static bool mark(const char *word, cli_option_text *text)
{
    char help[sizeof text->help];
    if (word == NULL)
        return true;
    copy(help, sizeof help, text->help);
    snprintf(text->help, sizeof text->help, "%s%.*s", word, (int)(sizeof help - strlen(word) - 1),
             help);
    return true;
}

/* What belongs before an option of the first task: nothing if the second has it, too. */
static const char *mark_of(const cli_command *command, const cli_option_text *text)
{
    const char *name = text->name + strspn(text->name, "-");
    return has_setting(command, command->also, name) ? NULL : command->mark;
}

bool cli_option_at(const cli_command *command, size_t index, cli_option_text *text)
{
    if (own_at(command, command->options, command->option_count, &index, text))
        return true;
    if (own_at(command, command->shared, command->shared_count, &index, text))
        return mark(command->mark, text);
    if (setting_at(command, command->task, &index, text))
        return mark(mark_of(command, text), text);
    if (setting_at(command, command->also, &index, text))
        return mark(command->also_mark, text);
    return own_at(command, common_options, COMMON, &index, text);
}
