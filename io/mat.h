/* Opening MATLAB files, for arrays and for models. */
#ifndef TLNMF_IO_MAT_H
#define TLNMF_IO_MAT_H

#include "internal.h"

#include <matio.h>

/* A complete file; NULL with `err` filled in. Mat_Close when done. */
mat_t *io_mat_open(const io_source *source, io_error *err);

#endif
