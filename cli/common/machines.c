/* Several processes that run one command together: who does what, who prints, one exit code. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

cli_machines cli_machines_values = {.size = 1};

enum { LINE = 1024 };
static char last_line[LINE]; /* the message of the last failure */

bool cli_is_first(void)
{
    return cli_machines_values.rank == 0;
}

/* ---- who does what --------------------------------------------------------------------------- */

/* How many processes share the frames of one start: 1 for "starts". False if the text is wrong. */
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
    if (size == 1) /* the program alone */
        return true;
    *per_start = (int32_t)number;
    return number <= size && size % number == 0;
}

/* The sums of the processes in one group. */
static tlnmf_error join(cli_call *call, int32_t group, cli_part part, tlnmf_sums **out, void **user)
{
    const cli_machines *m = &cli_machines_values;
    *out = NULL;
    if (part.size == 1)
        return TLNMF_OK;
    *user = part.size == m->size ? m->user : m->split(group);
    if (*user == NULL)
        return tlnmf_fail(call->ctx, TLNMF_ERR_CALLBACK, "the processes cannot be grouped");
    return tlnmf_sums_create(call->ctx, part.size, part.rank, m->sum, m->broadcast, *user, out);
}

int cli_share(cli_call *call, const char *split)
{
    const cli_machines *m = &cli_machines_values;
    int32_t per_start;
    call->part = (cli_part){0, 1};
    if (!read_split(split, m->size, &per_start))
        return cli_fail(call->command, EXIT_USAGE,
                        "split = %s is not starts, frames or frames:G, where G divides the %d "
                        "processes",
                        split, (int)m->size);
    int32_t group = m->rank / per_start, place = m->rank % per_start;
    void *of_starts;
    tlnmf_error error =
        join(call, group, (cli_part){place, per_start}, &call->frames, &call->frames_user);
    if (error == TLNMF_OK)
        error =
            join(call, place, (cli_part){group, m->size / per_start}, &call->starts, &of_starts);
    if (error != TLNMF_OK)
        return cli_fail_library(call, error, NULL);
    call->part = (cli_part){place, per_start};
    tlnmf_ctx_share_starts(call->ctx, call->starts);
    tlnmf_ctx_share_frames(call->ctx, call->frames);
    return EXIT_DONE;
}

int64_t cli_part_first(cli_part part, int64_t N, int64_t whole)
{
    int64_t groups = (N + whole - 1) / whole, first = groups * part.rank / part.size * whole;
    return first < N ? first : N;
}

/* ---- H ----------------------------------------------------------------------------------------
 */

/* H of all processes, one after the other, in pieces; the first one keeps them in `all`. */
static int collect(const cli_call *call, const int64_t shape[2], const double *own, double *all)
{
    enum { PIECE = 65536 };
    static double piece[PIECE];
    cli_part part = call->part;
    int64_t K = shape[0], N = shape[1];
    for (int32_t root = 0; root < part.size; root++) {
        int64_t first = cli_part_first((cli_part){root, part.size}, N, 1);
        int64_t count = cli_part_first((cli_part){root + 1, part.size}, N, 1) - first;
        for (int64_t i = 0; i < K * count; i += PIECE) {
            int64_t length = K * count - i < PIECE ? K * count - i : PIECE;
            if (root == part.rank && own != NULL)
                memcpy(piece, own + i, (size_t)length * sizeof *piece);
            if (cli_machines_values.broadcast(piece, length, root, call->frames_user) != 0)
                return EXIT_INTERNAL;
            for (int64_t j = i; all != NULL && j < i + length; j++)
                all[j / count * N + first + j % count] = piece[j - i];
        }
    }
    return EXIT_DONE;
}

/* H of all frames in the model of the first process. */
static tlnmf_error place_for_H(cli_call *call, tlnmf_record *model, int64_t shape[2], double **all)
{
    *all = NULL;
    if (!cli_is_first())
        return TLNMF_OK;
    tlnmf_error error = tlnmf_new_array(call->ctx, model, "H", 2, shape, all);
    if (error == TLNMF_OK)
        error = tlnmf_set_integer(call->ctx, model, "own_frames", shape[1]);
    return error;
}

int cli_gather(cli_call *call, tlnmf_record *model)
{
    int64_t shape[TLNMF_MAX_RANK] = {tlnmf_get_integer(model, "K"), tlnmf_get_integer(model, "N")};
    int64_t count = shape[0] * tlnmf_get_integer(model, "own_frames");
    double *all = NULL;
    if (call->frames == NULL || shape[0] == 0)
        return EXIT_DONE;
    double *own = malloc((size_t)(count + 1) * sizeof *own); /* + 1: never of size 0 */
    if (own != NULL && count > 0)
        memcpy(own, tlnmf_get_array(model, "H", NULL, NULL), (size_t)count * sizeof *own);
    tlnmf_error error = own != NULL ? place_for_H(call, model, shape, &all)
                                    : tlnmf_fail(call->ctx, TLNMF_ERR_MEMORY, "no memory for H");
    int code = cli_agree(error == TLNMF_OK ? EXIT_DONE : cli_fail_library(call, error, NULL));
    if (code == EXIT_DONE)
        code = collect(call, shape, own, all);
    free(own);
    return code;
}

/* ---- one exit code ----------------------------------------------------------------------------
 */

void cli_keep_message(const char *line)
{
    snprintf(last_line, sizeof last_line, "%s", line);
}

int cli_agree(int code)
{
    const cli_machines *m = &cli_machines_values;
    double failures = code != EXIT_DONE, packed[1 + LINE] = {0.0};
    if (m->size == 1 || m->sum(&failures, 1, m->user) != 0 || failures == 0.0)
        return code;
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
