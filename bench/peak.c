/* Runs a command and writes its peak memory and CPU time: peak FILE COMMAND WORD..
 *
 * The kernel counts what a parent held at the fork as part of the child's peak. A large parent,
 * such as Python with numpy, therefore starts commands through this small program. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: peak FILE COMMAND WORD..\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    int status = 0;
    struct rusage used;
    if (child < 0 || waitpid(child, &status, 0) < 0 || getrusage(RUSAGE_CHILDREN, &used) != 0) {
        perror("peak");
        return 1;
    }
    FILE *out = fopen(argv[1], "w");
    if (out == NULL) {
        perror(argv[1]);
        return 1;
    }
    fprintf(out, "{\"peak_bytes\": %ld, \"process_seconds\": %.6f}\n", 1024 * used.ru_maxrss,
            seconds(used.ru_utime) + seconds(used.ru_stime));
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
