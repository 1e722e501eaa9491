/* If frames are distributed: sends H row by row to the first process, which writes the model. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* The processes of a group handle the rows of H in the same order. Each broadcasts its part of a
 * row. */
struct cli_pieces {
    const cli_call *call;
    const double *own; /* H of this process, K rows; NULL if it has no frames */
    int64_t K, N;
    int64_t row, taken; /* the next row; how many numbers of the current row are used */
    bool failed;
    double line[]; /* the current row, N numbers */
};

/* Sends the next row; false after the last. All processes wait until the first is ready. Otherwise
 * MPI would buffer all of H while a slow disk writes. */
static bool step(cli_pieces *p)
{
    const cli_processes *m = &cli_world;
    const cli_part *part = &p->call->part;
    double ready = 0.0;
    if (p->row == p->K)
        return false;
    p->failed = p->failed || m->sum(&ready, 1, p->call->frames_user) != 0;
    for (int32_t root = 0; root < part->size; root++) {
        int64_t first = cli_part_first((cli_part){root, part->size}, p->N, 1);
        int64_t count = cli_part_first((cli_part){root + 1, part->size}, p->N, 1) - first;
        if (root == part->rank && count > 0)
            memcpy(p->line + first, p->own + p->row * count, (size_t)count * sizeof *p->line);
        p->failed = p->failed || (count > 0 && m->broadcast(p->line + first, count, root,
                                                            p->call->frames_user) != 0);
    }
    p->row++;
    p->taken = 0;
    return true;
}

/* A tlnmf_io_next_fn. */
static int next(double *x, int64_t count, void *user)
{
    cli_pieces *p = user;
    for (int64_t at = 0, n; at < count; at += n) {
        if (p->taken == p->N && !step(p))
            return 1;
        n = p->N - p->taken < count - at ? p->N - p->taken : count - at;
        memcpy(x + at, p->line + p->taken, (size_t)n * sizeof *x);
        p->taken += n;
    }
    return p->failed;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Only the processes over which the frames of the first one are distributed. */
static bool takes_part(const cli_call *call, const tlnmf_record *model)
{
    return call->part.size > 1 && tlnmf_record_get_integer(model, "K") > 0 &&
           cli_world.rank < call->part.size;
}

int cli_pieces_begin(const cli_call *call, const tlnmf_record *model, cli_pieces **out)
{
    *out = NULL;
    if (!takes_part(call, model))
        return EXIT_DONE;
    int64_t N = tlnmf_record_get_integer(model, "N");
    *out = calloc(1, sizeof **out + (size_t)N * sizeof *(*out)->line);
    if (*out == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory for a row of H");
    (*out)->call = call;
    (*out)->own = tlnmf_record_get_array(model, "H", NULL, NULL);
    (*out)->K = tlnmf_record_get_integer(model, "K");
    (*out)->N = (*out)->taken = N;
    return EXIT_DONE;
}

void cli_pieces_end(cli_pieces *pieces)
{
    while (pieces != NULL && !pieces->failed && step(pieces))
        ;
    free(pieces);
}

tlnmf_error cli_write_model(const cli_call *call, const char *path, const tlnmf_record *model,
                            cli_pieces *pieces)
{
    if (pieces == NULL)
        return tlnmf_io_write_model(call->ctx, path, model);
    return tlnmf_io_write_model_from(call->ctx, path, model, pieces->N, next, pieces);
}
