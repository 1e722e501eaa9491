/* Bytes of arrays whose columns are on several machines. */
#include "base/columns.h"

enum { PIECE = 4096 };

/* An array in either precision, and where its bytes are. A machine without columns has no array. */
typedef struct moving {
    double *x;
    float *single;
    bool is_double; /* which of the two it is */
    size_t size;    /* of a number */
    unsigned char *at;
    int64_t all;
} moving;

static double get(const moving *m, int64_t i)
{
    return m->is_double ? m->x[i] : (double)m->single[i];
}

static void put(const moving *m, int64_t place, double value)
{
    float single = (float)value;
    memcpy(m->at + (size_t)place * m->size, m->is_double ? (void *)&value : (void *)&single,
           m->size);
}

/* The columns of machine `root`, a piece at a time, to the first one. */
static void send(const tl_columns *c, const moving *m, int64_t rows, int root)
{
    double where[2] = {(double)c->first, (double)c->own}, piece[PIECE];
    tl_sums_send(c->sums, where, 2, root);
    int64_t first = (int64_t)where[0], own = (int64_t)where[1];
    for (int64_t i = 0; i < rows * own; i += PIECE) {
        int64_t count = tl_min(PIECE, rows * own - i);
        for (int64_t j = 0; c->sums->rank == root && j < count; j++)
            piece[j] = get(m, i + j);
        tl_sums_send(c->sums, piece, count, root);
        for (int64_t j = 0; m->at != NULL && !c->sums->failed && j < count; j++)
            put(m, (i + j) / own * m->all + first + (i + j) % own, piece[j]);
    }
}

static void take(const tl_columns *c, const moving *m, int64_t rows)
{
    unsigned char *x = m->is_double ? (unsigned char *)m->x : (unsigned char *)m->single;
    size_t length = (size_t)c->own * m->size;
    for (int64_t i = 0; length > 0 && i < rows; i++)
        memcpy(x + (size_t)i * length, m->at + (size_t)(i * m->all + c->first) * m->size, length);
}

static void pass(const tl_columns *c, tl_bytes *b, moving m, int64_t rows)
{
    size_t bytes = (size_t)(rows * c->all) * m.size;
    if (b->mode != TL_BYTES_COUNT && bytes > b->capacity - b->size)
        b->bad = true;
    if (b->bad || bytes == 0)
        return;
    m.all = c->all;
    m.at = b->at != NULL ? b->at + b->size : NULL;
    if (b->mode == TL_BYTES_READ)
        take(c, &m, rows);
    else if (b->mode == TL_BYTES_WRITE)
        for (int root = 0; root < c->sums->size; root++)
            send(c, &m, rows, root);
    b->size += bytes;
}

void tl_columns_pass(const tl_columns *c, tl_bytes *b, double *x, int64_t rows)
{
    if (c->sums == NULL)
        tl_bytes_doubles(b, x, rows * c->own);
    else
        pass(c, b, (moving){.x = x, .is_double = true, .size = sizeof *x}, rows);
}

void tl_columns_pass_single(const tl_columns *c, tl_bytes *b, float *x, int64_t rows)
{
    if (c->sums == NULL)
        tl_bytes_pass(b, x, (size_t)(rows * c->own) * sizeof *x);
    else
        pass(c, b, (moving){.single = x, .size = sizeof *x}, rows);
}
