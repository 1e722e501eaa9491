/* Man pages in roff, from the same tables as --help. */
#include "cli/cli.h"

#include <string.h>

/* Prints text with the characters escaped that roff interprets: backslashes, minus signs (which
 * would become hyphens), and a period or an apostrophe at the beginning of a line. */
static void put(const char *text)
{
    bool begins = true;
    for (; *text != '\0'; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
        begins = *text == '\n';
    }
}

static void put_line(const char *text)
{
    put(text);
    putchar('\n');
}

/* Prints the title: the name in capitals, and the date of the release, not that of the build, so
 * that builds are reproducible. */
static void put_title(const char *name)
{
    fputs(".TH \"", stdout);
    for (; *name != '\0'; name++)
        if (*name == '-')
            fputs("\\-", stdout);
        else
            putchar(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
    printf("\" 1 \"%s\" \"tlnmf %s\" \"User Commands\"\n", TLNMF_RELEASED, tlnmf_version());
}

/* Prints the range of a numeric option of the library. */
static void put_range(const cli_command *command, const char *name)
{
    const char *task =
        cli_find_option(command, name) == NULL ? cli_find_setting(command, name) : NULL;
    double low, high;
    if (task == NULL || tlnmf_option_range(task, name, &low, &high) != TLNMF_OK)
        return;
    tlnmf_option_kind kind = tlnmf_option_kind_of(task, name);
    char text[64];
    snprintf(text, sizeof text, "From %.10g to %.10g.", low, high);
    if (kind == TLNMF_OPTION_INTEGER || kind == TLNMF_OPTION_REAL)
        put_line(text);
}

/* Prints a paragraph for one option: a line with name and argument, then the text. */
static void put_option(const cli_command *command, const cli_option_text *text)
{
    fputs(".TP\n\\fB", stdout);
    put(text->name);
    fputs("\\fR", stdout);
    if (text->argument[0] != '\0') {
        bool words = strchr(text->argument, '|') != NULL; /* literal words, not a placeholder */
        fputs(words ? " " : " \\fI", stdout);
        put(text->argument);
        fputs(words ? "" : "\\fR", stdout);
    }
    putchar('\n');
    put(text->help);
    puts(".");
    put_range(command, text->name + strspn(text->name, "-"));
}

/* Prints the lines without filling. */
static void put_examples(const char *text)
{
    puts(".SH EXAMPLES\n.nf");
    while (*text != '\0') {
        char line[256];
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        put_line(line + strspn(line, " "));
        text += length + (text[length] == '\n');
    }
    puts(".fi");
}

static void put_exit_codes(void)
{
    static const char *const codes[][2] = {
        {"0", "Done, also if the iterations or the time ran out."},
        {"1",
         "Another failure: out of memory, numeric overflow, LAPACK failed, or the time ran out "
         "before there was a result."},
        {"2", "Usage: an option is unknown, out of range, or contradicts another."},
        {"3", "Bad input: a file cannot be read or used."},
        {"4", "The run did not converge; only with --strict."},
        {"5", "An output exists already or cannot be written."},
        {"130", "Interrupted."},
    };
    puts(".SH EXIT STATUS");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        printf(".TP\n\\fB%s\\fR\n", codes[i][0]);
        put_line(codes[i][1]);
    }
}

/* Refers to the other pages: `but` is the name of this one. */
static void put_references(const char *but)
{
    const cli_command *command;
    size_t count = 0;
#ifdef TLNMF_HAS_MPI /* its page is built */
    const char *of_mpi = "\\fBtlnmf\\-mpi\\fR(1),\n";
#else
    const char *of_mpi = "";
#endif
    puts(".SH SEE ALSO");
    fputs(strcmp(but, "tlnmf") == 0 ? of_mpi : "\\fBtlnmf\\fR(1),\n", stdout);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        if (strcmp(command->name, but) != 0)
            printf("%s\\fBtlnmf\\-%s\\fR(1)", count++ > 0 ? ",\n" : "", command->name);
    puts(strcmp(but, "mpi") == 0 ? ",\n\\fBmpirun\\fR(1)" : "");
}

/* Whether an operand or an option of the command is the name of such a file; NULL: of any. */
static bool has_files(const cli_command *command_or_null, const cli_file_kind *kind)
{
    cli_option_text text;
    if (command_or_null == NULL)
        return true;
    for (size_t i = 0; cli_option_at(command_or_null, i, &text); i++)
        if (text.argument[0] >= 'A' && text.argument[0] <= 'Z' && /* not a list of words */
            cli_has_word(kind->names, text.name + strspn(text.name, "-")))
            return true;
    for (const char *at = command_or_null->usage; at[0] != '\0'; at += strspn(at, " |.")) {
        char word[64];
        size_t length = strcspn(at, " |.");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length > 0 && cli_has_word(kind->names, word))
            return true;
        at += length;
    }
    return false;
}

/* Prints the extensions of the files that the command reads; NULL: any command. */
static void put_files(const cli_command *command_or_null)
{
    bool begun = false;
    for (const cli_file_kind *kind = cli_file_kinds; kind->what != NULL; kind++) {
        if (!has_files(command_or_null, kind))
            continue;
        if (!begun)
            puts(".SH FILES");
        begun = true;
        printf(".TP\n%s\n", kind->what);
        for (const char *at = kind->extensions; *at != '\0'; at += strspn(at, " ")) {
            int length = (int)strcspn(at, " ");
            printf("\\&.%.*s%s", length, at, at[length] == ' ' ? ", " : "\n");
            at += length;
        }
    }
}

static void put_program(void)
{
    const cli_command *command;
    put_title("tlnmf");
    puts(".SH NAME\ntlnmf \\- transform\\-learning NMF and joint diagonalisation");
    puts(".SH SYNOPSIS\n\\fBtlnmf\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.br\n"
         "\\fBtlnmf\\fR \\-\\-help | \\-\\-version | \\-\\-man [\\fICOMMAND\\fR]");
    puts(".SH DESCRIPTION\nLearns an orthogonal transform together with a nonnegative matrix "
         "factorisation (TL\\-NMF),\ndiagonalises covariances jointly, separates recordings into "
         "their sources,\nand shows the results as HTML pages.\n"
         "The page of each command describes its options.");
    puts(".SH COMMANDS");
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        printf(".TP\n\\fB%s\\fR\n", command->name);
        put(command->purpose);
        puts(".");
    }
    puts(".SH OPTIONS\n"
         ".TP\n\\fB\\-\\-help\\fR\nList the commands. After a command: show its options.\n"
         ".TP\n\\fB\\-\\-version\\fR\nPrint the version and the name of the BLAS library.\n"
         ".TP\n\\fB\\-\\-man\\fR [\\fICOMMAND\\fR]\nPrint a man page.");
    put_exit_codes();
    puts(".SH ENVIRONMENT\n.TP\n\\fBSOURCE_DATE_EPOCH\\fR\n"
         "If it is set, times in outputs are 0 and traces have no times,\nso that outputs are "
         "reproducible.\n"
         ".TP\n\\fBOMP_NUM_THREADS\\fR\nThe number of threads, unless \\-\\-threads is given.");
    put_files(NULL);
    put_examples(cli_try);
    put_references("tlnmf");
}

void cli_print_man_mpi(void)
{
    const cli_command *command;
    cli_option_text text;
    put_title("tlnmf-mpi");
    puts(".SH NAME\ntlnmf\\-mpi \\- run tlnmf on several processes or computers");
    puts(".SH SYNOPSIS\n\\fBmpirun\\fR \\-n \\fIP\\fR \\fBtlnmf\\-mpi\\fR \\fICOMMAND\\fR "
         "[\\fIoptions\\fR]");
    puts(".SH DESCRIPTION\nHas the commands and options of \\fBtlnmf\\fR(1).\n"
         "The work of these commands is distributed over the processes:");
    for (size_t i = 0, count = 0; (command = cli_command_at(i)) != NULL; i++)
        if (command->distributes)
            printf("%s\\fB%s\\fR", count++ == 0 ? "" : ",\n", command->name);
    puts(".\nAll other commands run on the first process.\n"
         "Only the first process prints and writes.\n"
         "A failure on one process ends all of them, with the same exit status.");
    puts(".SH OPTIONS");
    for (size_t i = 0; cli_option_at(&cli_fit, i, &text); i++)
        if (cli_has_word(" --split --threads --device ", text.name))
            put_option(&cli_fit, &text);
    put_exit_codes();
    put_examples("mpirun -n 64 tlnmf-mpi fit big.h5:/Y -k 10 --starts 1000 -o model.h5\n"
                 "mpirun -n 64 tlnmf-mpi fit huge.npy -k 20 --split frames -o model.h5\n"
                 "mpirun -n 64 tlnmf-mpi reproduce all -o results --threads 1\n");
    put_references("mpi");
}

void cli_print_man(const cli_command *command)
{
    char name[64];
    cli_option_text text;
    if (command == NULL) {
        put_program();
        return;
    }
    snprintf(name, sizeof name, "tlnmf-%s", command->name);
    put_title(name);
    fputs(".SH NAME\n", stdout);
    put(name);
    fputs(" \\- ", stdout);
    put_line(command->purpose);
    fputs(".SH SYNOPSIS\n\\fBtlnmf\\fR ", stdout);
    put_line(command->usage);
    if (command->notes != NULL) {
        puts(".SH DESCRIPTION");
        put_line(command->notes);
    }
    puts(".SH OPTIONS");
    for (int group = 0; group < GROUPS; group++) {
        bool begun = false;
        for (size_t i = 0; cli_option_at(command, i, &text); i++) {
            if ((int)text.group != group)
                continue;
            if (!begun)
                printf(".SS %s\n", cli_group_name((cli_group)group));
            begun = true;
            put_option(command, &text);
        }
    }
    put_files(command);
    put_examples(command->examples);
    put_exit_codes();
    put_references(command->name);
}
