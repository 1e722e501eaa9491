/* A fuzz target: for any input, it must return normally. mutate.c calls it with damaged copies of
 * the seeds; with clang and -DTLNMF_FUZZ=ON, libFuzzer calls it (see CONTRIBUTING.md). */
#ifndef TLNMF_TESTS_FUZZ_H
#define TLNMF_TESTS_FUZZ_H

#include "tlnmf/tlnmf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Writes good file number `number` to `path`; false when there are no more. */
bool fuzz_seed(int number, const char *path);

/* A condition that must hold for every accepted input. */
#define FUZZ_CHECK(condition)                                                         \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

static inline void fuzz_put(const char *path, const void *bytes, size_t size)
{
    remove(path); /* removing is faster than truncating, after which file systems sync */
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(bytes, 1, size, file) == size);
    FUZZ_CHECK(fclose(file) == 0);
}

/* Corrects the checksum of damaged bytes of a packed record; otherwise all damage would be refused.
 */
static inline void fuzz_mend(uint8_t *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i + 8 < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    for (int i = 0; size >= 8 && i < 8; i++)
        bytes[size - 8 + (size_t)i] = (uint8_t)(hash >> (8 * i));
}

/* A static context; its message is that of the last failure. */
static inline tlnmf_ctx *fuzz_context(void)
{
    static tlnmf_ctx *ctx;

    if (ctx == NULL)
        FUZZ_CHECK(tlnmf_ctx_create(&ctx) == TLNMF_OK);
    return ctx;
}

#endif
