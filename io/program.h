/* Functions of libtlnmf_io for the program, in addition to tlnmf/io.h. This header is not
 * installed. The shared library does not export these functions; the program links the static
 * library. */
#ifndef TLNMF_IO_PROGRAM_H
#define TLNMF_IO_PROGRAM_H

#include "tlnmf/io.h"

/* ---- the reader process ---------------------------------------------------------------------- */

/* HDF5 and MATLAB files are read by large libraries that damaged files can crash, stall or bloat.
 * These calls read such a file in a child process: `helper` is a program that answers `HELPER
 * --read WHAT SPEC` by `return tlnmf_io_serve(WHAT, SPEC)`. It is started with posix_spawn, works
 * under limits on memory, time and system calls (seccomp on Linux), and returns a packed record. If
 * it crashes or exceeds a limit, the call returns TLNMF_ERR_INPUT.
 *
 * `what` is "array", "model", "describe" or "slice AXIS FIRST COUNT" (such as "slice -1 0 100"),
 * for the results of tlnmf_io_read_array, tlnmf_io_read_model, tlnmf_io_describe and
 * tlnmf_io_read_slice. .npy files are always read in this process; so are all files if helper is
 * NULL or cannot be started. The context's progress function is called with the stage "read"
 * and may stop it: TLNMF_ERR_CALLBACK. */
tlnmf_error tlnmf_io_read_apart(tlnmf_ctx *ctx, const char *helper_or_null, const char *what,
                                const char *spec, tlnmf_record **out);
/* For the helper: returns its exit code. Call _exit with it: on damaged files libhdf5 may loop in
 * its exit handlers. Limits are set for the whole process. */
int tlnmf_io_serve(const char *what, const char *spec);

/* The length of the file's path at the start of a spec: 7 for `data.h5:/Y`. */
size_t tlnmf_io_file_length(const char *spec);

/* ---- output files ---------------------------------------------------------------------------- */

/* Reserves disk space for a file that will be written after a long run. It fails as writing would:
 * no space, a limit, a missing directory, a name that is too long. The reservation ends with the
 * process. Release it just before the file is written. Nothing is reserved for `-`, devices and
 * pipes, and on file systems that do not support it. */
typedef struct tlnmf_io_reservation tlnmf_io_reservation;
tlnmf_error tlnmf_io_reserve(tlnmf_ctx *ctx, const char *path, int64_t bytes,
                             tlnmf_io_reservation **out);
void tlnmf_io_release(tlnmf_io_reservation *reservation_or_null);
/* Removes a regular file or a link, and temporary files of writers that were killed while writing
 * it. */
void tlnmf_io_remove(const char *path);

/* Makes file names without extension from the list of texts `names` of a record: no directory, no
 * control character, no name that an operating system reserves, no duplicates. `safe` holds them as
 * the list `names`. */
tlnmf_error tlnmf_io_safe_names(tlnmf_ctx *ctx, const tlnmf_record *names, tlnmf_record **safe);

#endif
