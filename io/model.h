/* Models in files that are sets of named arrays: what .npz and .mat do each in their way. */
#ifndef TLNMF_IO_MODEL_H
#define TLNMF_IO_MODEL_H

#include "internal.h"

/* A file under construction. put() and put_text() (the summary) return false when something is
 * wrong, and finish() then says what, publishes nothing and frees everything. */
typedef struct io_parts_out io_parts_out;
struct io_parts_out {
    bool (*put)(io_parts_out *out, const char *name, const io_array *array);
    bool (*put_text)(io_parts_out *out, const char *text);
    bool (*finish)(io_parts_out *out, bool ok, const char *path, io_error *err);
    void *file;
};

/* How a file is read: what is in it, one array by name, the text of the summary (NULL: none). */
typedef struct io_parts_in {
    bool (*list)(const io_source *source, io_listing *listing, io_error *err);
    bool (*read)(const io_source *source, const char *name, const io_place *place, io_array *out,
                 io_error *err);
    bool (*text)(const io_source *source, char **text, io_error *err);
    io_listing listing;
} io_parts_in;

bool io_model_write_parts(const char *path, const io_model *model, io_parts_out *out,
                          io_error *err);
bool io_model_read_parts(const io_source *source, io_parts_in *in, io_model *model, io_error *err);

/* The text of the summary that a file may have, to be freed; NULL: it has none. */
bool io_npz_summary(const io_source *source, char **text, io_error *err);
bool io_mat_summary(const io_source *source, char **text, io_error *err);

bool io_npz_model_write(const char *path, const io_model *model, io_error *err);
bool io_npz_model_read(const io_source *source, io_model *model, io_error *err);
bool io_mat_model_write(const char *path, const io_model *model, io_error *err);
bool io_mat_model_read(const io_source *source, io_model *model, io_error *err);

#endif
