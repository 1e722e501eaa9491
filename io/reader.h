/* The reader process, which reads foreign files, and its client. */
#ifndef TLNMF_IO_READER_H
#define TLNMF_IO_READER_H

#include "files.h"
#include "program.h"

/* The protocol. The client starts the reader as `HELPER --read KIND SPEC`. Descriptor 3 is an empty
 * file in memory. Descriptor 4 is a pipe for progress, which closes when the reader exits. The
 * reader writes one packed record into the file: the result (exit code 0), or `error` and `message`
 * (exit code 1). Any other exit means that the file broke the reader. */
enum { IO_APART_FILE = 3, IO_APART_PIPE = 4, IO_APART_READ = 0, IO_APART_FAILED = 1 };

/* Sets limits for reading a file of this size, or -1 for a pipe. They cannot be removed. False if
 * system calls are not filtered: for pipes, and if the system cannot. */
bool io_confine(int64_t size);

/* The file that a spec names, with or without a member, and its size; -1 if it is not a regular
 * file. NULL if it does not exist. free() the result. */
char *io_spec_file(const char *spec, int64_t *size);

/* Reads in this process. TLNMF_ERR_ARGUMENT if the kind is unknown. */
tlnmf_error io_read_kind(tlnmf_ctx *ctx, const char *kind, const char *spec, tlnmf_record **out);

/* Makes a file in memory; negative with errno. */
int io_memory_file(const char *name);

/* The memory limit in bytes for the arrays of a file of this size, at most the machine's memory. An
 * array is at most 200 times as large as its stored bytes (deflate reaches 1032, but not on
 * measured numbers) and exists three times: in the library, in the record, and packed. */
uint64_t io_memory_to_read(int64_t size);

#endif
