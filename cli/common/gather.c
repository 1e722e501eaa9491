/* H of all processes, where frames are shared out: in pieces into the file of the model, or all of
 * it into the record of the first process. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* ---- pieces in turn -------------------------------------------------------------------------- */

/* Rows of H one after the other, of each row the frames of one process after the other, in pieces.
 * All processes of the group step together: one has the piece, all receive it. */
enum { PIECE = 65536 }; /* numbers: 512 kB, beside which the latency of a broadcast is nothing */
struct cli_pieces {
    const cli_call *call;
    const double *own; /* H of this process, K rows; NULL if it has no frames */
    int64_t K, N;
    /* The next piece: its row, who has it, and where it begins in that part of the row. */
    int64_t row, begin;
    int32_t root;
    int64_t held, taken; /* numbers of the piece that is here, and how many of them are used */
    bool failed;
    double piece[PIECE];
};

/* The frames of process `root`. */
static int64_t frames_of(const cli_pieces *p, int32_t root)
{
    int32_t size = p->call->part.size;
    return cli_part_first((cli_part){root + 1, size}, p->N, 1) -
           cli_part_first((cli_part){root, size}, p->N, 1);
}

/* The piece from the process that has it to all. Nobody goes on before the first one has taken it:
 * MPI would keep what a slow disk has not taken yet, all of H in the end. */
static void send(cli_pieces *p, int64_t frames)
{
    const cli_machines *m = &cli_machines_values;
    double ready = 0.0;
    if (p->root == p->call->part.rank)
        memcpy(p->piece, p->own + p->row * frames + p->begin, (size_t)p->held * sizeof *p->piece);
    p->failed = p->failed || m->sum(&ready, 1, p->call->frames_user) != 0 ||
                m->broadcast(p->piece, p->held, p->root, p->call->frames_user) != 0;
}

/* The next piece that has numbers; false past the last one. */
static bool step(cli_pieces *p)
{
    p->held = p->taken = 0;
    while (p->held == 0 && p->row < p->K) {
        int64_t frames = frames_of(p, p->root), left = frames - p->begin;
        p->held = left < PIECE ? left : PIECE;
        if (p->held > 0)
            send(p, frames);
        p->begin += p->held;
        if (p->begin == frames) {
            p->begin = 0;
            p->root++;
        }
        if (p->root == p->call->part.size) {
            p->root = 0;
            p->row++;
        }
    }
    return p->held > 0;
}

/* A tlnmf_io_next. */
static int next(double *x, int64_t count, void *user)
{
    cli_pieces *p = user;
    for (int64_t at = 0, n; at < count; at += n) {
        if (p->taken == p->held && !step(p))
            return 1;
        n = p->held - p->taken < count - at ? p->held - p->taken : count - at;
        memcpy(x + at, p->piece + p->taken, (size_t)n * sizeof *x);
        p->taken += n;
    }
    return p->failed;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Only the processes that share the frames of the first one. */
static bool takes_part(const cli_call *call, const tlnmf_record *model)
{
    return call->part.size > 1 && tlnmf_get_integer(model, "K") > 0 &&
           cli_machines_values.rank < call->part.size;
}

int cli_pieces_begin(const cli_call *call, const tlnmf_record *model, cli_pieces **out)
{
    *out = NULL;
    if (!takes_part(call, model))
        return EXIT_DONE;
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return cli_fail(call->command, EXIT_INTERNAL, "no memory for a piece of H");
    **out = (cli_pieces){.call = call,
                         .own = tlnmf_get_array(model, "H", NULL, NULL),
                         .K = tlnmf_get_integer(model, "K"),
                         .N = tlnmf_get_integer(model, "N")};
    return EXIT_DONE;
}

void cli_pieces_drop(cli_pieces *pieces)
{
    free(pieces);
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
