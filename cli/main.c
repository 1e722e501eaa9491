/* tlnmf: the program. Finds the command and runs it. */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {&cli_separate, &cli_apply,     &cli_eval,
                                              &cli_fit,      &cli_jd,        &cli_report,
                                              &cli_simulate, &cli_reproduce, &cli_info};
enum { COMMANDS = sizeof commands / sizeof *commands };

const char cli_try[] = "  tlnmf simulate notes --seed 7 -o notes.npy\n"
                       "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000 --starts 8\n";

const cli_command *cli_command_at(size_t index)
{
    return index < COMMANDS ? commands[index] : NULL;
}

/* The command with the name nearest to a wrong one; or NULL. */
static const char *nearest(const char *typed)
{
    static const char *const synonyms[][2] = {
        {"train", "fit"},      {"learn", "fit"}, {"transform", "apply"},  {"predict", "apply"},
        {"diagonalise", "jd"}, {"ajd", "jd"},    {"unmix", "separate"},   {"score", "eval"},
        {"plot", "report"},    {"show", "info"}, {"generate", "simulate"}};
    const char *names[COMMANDS];
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(typed, synonyms[i][0]) == 0)
            return synonyms[i][1];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    return tlnmf_nearest(typed, names, COMMANDS);
}

static const cli_command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    fputs("tlnmf: unknown command ", stderr);
    cli_put(stderr, name);
    const char *guess = nearest(name);
    if (guess != NULL)
        fprintf(stderr, "; did you mean %s?\n", guess);
    else
        fputs(" (see tlnmf --help)\n", stderr);
    return NULL;
}

static void print_help(FILE *out)
{
    fprintf(out, "tlnmf %s: transform-learning NMF and joint diagonalisation\n\nCommands\n",
            tlnmf_version());
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->purpose);
    fprintf(out, "\nTry\n%s", cli_try);
    fputs("\n`tlnmf COMMAND --help` shows the common options, `tlnmf COMMAND --help all` all "
          "options, and\n"
          "`tlnmf --man COMMAND` the man page.\n"
          "Exit codes: 0 done, 1 out of memory or another failure, 2 usage, 3 bad input, 4 not "
          "converged\n"
          "(with --strict), 5 output exists already or cannot be written, 130 interrupted.\n",
          out);
}

static int print_man(const char *name_or_null)
{
    if (name_or_null != NULL && strcmp(name_or_null, "mpi") == 0) {
        cli_print_man_mpi();
        return EXIT_DONE;
    }
    const cli_command *command = name_or_null == NULL ? NULL : find(name_or_null);
    if (name_or_null != NULL && command == NULL)
        return EXIT_USAGE;
    cli_print_man(command);
    return EXIT_DONE;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    cli_call call = {
        .command = command, .began = cli_now(), .argc = argc, .argv = argv, .part = {0, 1}};
    int code = EXIT_DONE;
    if (cli_begin(&call, &code))
        code = command->run(&call);
    tlnmf_settings_free(call.settings);
    tlnmf_settings_free(call.also);
    tlnmf_comm_free(call.starts);
    tlnmf_comm_free(call.frames);
    tlnmf_ctx_free(call.ctx);
    cli_files_free(call.files);
    return code;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) {
        const cli_command *about = find(argv[2]);
        if (about != NULL)
            cli_print_help(about, argc > 3 && strcmp(argv[3], "all") == 0);
        return about != NULL ? EXIT_DONE : EXIT_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h", "help")) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tlnmf %s\nBLAS: %s\n", tlnmf_version(), tlnmf_blas());
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--read") == 0) /* the reader process, which cli_read() starts */
        _exit(argc == 4 ? tlnmf_io_serve(argv[2], argv[3]) : EXIT_USAGE);
    if (strcmp(argv[1], "--complete") == 0) { /* for the scripts in completions/ */
        cli_complete(argc - 2, argv + 2);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--man") == 0)
        return print_man(argc > 2 ? argv[2] : NULL);
    const cli_command *command = find(argv[1]);
    if (command == NULL)
        return EXIT_USAGE;
    if (command->distributes)
        return cli_agree(run_command(command, argc - 1, argv + 1));
    return cli_is_first() ? run_command(command, argc - 1, argv + 1) : EXIT_DONE;
}

int main(int argc, char **argv)
{
    int code = EXIT_DONE;
    signal(SIGXFSZ, SIG_IGN); /* beyond ulimit -f writes fail, and temporary files are removed */
    if (!cli_processes_begin(&argc, &argv, &code))
        return code;
    code = run(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fputs("tlnmf: standard output cannot be written\n", stderr);
        code = EXIT_OUTPUT;
    }
    cli_processes_end(code);
    return code;
}
