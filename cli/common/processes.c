/* Several processes run one command: distribution of the work, and one exit code for all. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

cli_processes cli_world = {.size = 1};

enum { LINE = 1024 };
static char last_line[LINE]; /* the message of the last failure */

bool cli_is_first(void)
{
    return cli_world.rank == 0;
}

/* ---- distribution ---------------------------------------------------------------------------- */

/* Reads --split: the number of processes that divide the frames of one start, 1 for "starts". False
 * if the text is invalid. */
static bool read_split(const char *split, int32_t size, int32_t *per_start)
{
    static const char frames[] = "frames";
    size_t length = strlen(frames);
    *per_start = 1;
    if (split == NULL || strcmp(split, "starts") == 0)
        return true;
    if (strncmp(split, frames, length) != 0)
        return false;
    *per_start = size;
    if (split[length] == '\0')
        return true;
    char *end;
    long number = split[length] == ':' ? strtol(split + length + 1, &end, 10) : 0;
    if (number < 1 || *end != '\0')
        return false;
    if (size == 1) /* G does not matter */
        return true;
    *per_start = (int32_t)number;
    return number <= size && size % number == 0;
}

/* Creates the communicator of a group of processes. A group of one gets a communicator only if
 * `alone`. */
static tlnmf_error join(cli_call *call, int32_t group, cli_part part, bool alone, tlnmf_comm **out,
                        void **user)
{
    const cli_processes *m = &cli_world;
    *out = NULL;
    if (part.size == 1 && !alone)
        return TLNMF_OK;
    *user = part.size == m->size ? m->user : m->split(group);
    if (*user == NULL)
        return tlnmf_fail(call->ctx, TLNMF_ERR_CALLBACK, "the processes cannot be grouped");
    return tlnmf_comm_create(call->ctx, part.size, part.rank, m->sum, m->broadcast, *user, out);
}

int cli_distribute(cli_call *call, const char *split)
{
    const cli_processes *m = &cli_world;
    int32_t per_start;
    call->part = (cli_part){0, 1};
    if (!read_split(split, m->size, &per_start))
        return cli_fail(call->command, EXIT_USAGE,
                        "split = %s is not starts, frames or frames:G, where G divides the %d "
                        "processes",
                        split, (int)m->size);
    int32_t group = m->rank / per_start, place = m->rank % per_start;
    void *of_starts;
    /* one process of tlnmf-mpi can resume a run of several */
    bool alone = m->size == 1 && m->sum != NULL && split != NULL && strcmp(split, "starts") != 0;
    tlnmf_error error =
        join(call, group, (cli_part){place, per_start}, alone, &call->frames, &call->frames_user);
    if (error == TLNMF_OK)
        error = join(call, place, (cli_part){group, m->size / per_start}, false, &call->starts,
                     &of_starts);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    call->part = (cli_part){place, per_start};
    tlnmf_ctx_distribute_starts(call->ctx, call->starts);
    tlnmf_ctx_distribute_frames(call->ctx, call->frames);
    tlnmf_ctx_set_gpu(call->ctx, m->node_rank);
    return EXIT_DONE;
}

int64_t cli_part_first(cli_part part, int64_t N, int64_t whole)
{
    int64_t groups = (N + whole - 1) / whole, first = groups * part.rank / part.size * whole;
    return first < N ? first : N;
}

/* ---- one exit code --------------------------------------------------------------------------- */

void cli_keep_message(const char *line)
{
    snprintf(last_line, sizeof last_line, "%s", line);
}

int cli_agree(int code)
{
    const cli_processes *m = &cli_world;
    static bool is_over; /* all processes know that one failed */
    double failures = code != EXIT_DONE, packed[1 + LINE] = {0.0};
    if (is_over && code != EXIT_DONE) /* already ending */
        return code;
    if (m->size == 1 || m->sum(&failures, 1, m->user) != 0 || failures == 0.0)
        return code;
    is_over = true;
    for (int32_t root = 0; root < m->size && packed[0] == 0.0; root++) {
        packed[0] = (double)code;
        for (int i = 0; i < LINE; i++)
            packed[1 + i] = (double)(unsigned char)last_line[i];
        if (m->broadcast(packed, 1 + LINE, root, m->user) != 0)
            return code;
    }
    if (cli_is_first() && code == EXIT_DONE) {
        for (int i = 0; i < LINE; i++)
            last_line[i] = (char)(unsigned char)packed[1 + i];
        last_line[LINE - 1] = '\0';
        cli_progress_clear();
        cli_put(stderr, last_line);
        fputc('\n', stderr);
    }
    return (int)packed[0];
}
