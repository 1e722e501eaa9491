/* tlnmf: the program. One file per command; this one only chooses. */
#include "cli/cli.h"

#include <string.h>

static const cli_command *const commands[] = {&cli_separate,  &cli_apply, &cli_eval,
                                              &cli_fit,       &cli_jd,    &cli_simulate,
                                              &cli_reproduce, &cli_info};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fprintf(out, "tlnmf %s: transform-learning NMF and joint diagonalisation\n\nCommands\n",
            tlnmf_version());
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->purpose);
    fputs(
        "\nTry\n"
        "  tlnmf simulate notes --seed 7 -o notes.npy\n"
        "  tlnmf fit notes.npy -k 2 --eps 5e-7 --rate 5000 --starts 8\n"
        "\n`tlnmf COMMAND --help` tells more. Exit codes: 0 done, 1 no memory or LAPACK failed,\n"
        "2 usage, 3 bad input, 4 did not converge (with --strict), 5 output could not be written,\n"
        "130 interrupted (what was reached is saved).\n",
        out);
}

static int choose(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tlnmf %s\n%s\n", tlnmf_version(), tlnmf_blas());
        return EXIT_DONE;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    fprintf(stderr, "tlnmf: there is no command %s (see tlnmf --help)\n", argv[1]);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    int code = choose(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fputs("tlnmf: standard output cannot be written\n", stderr);
        code = EXIT_OUTPUT;
    }
    return code;
}
