/* A fuzz target: one input in, nothing but a normal return out. mutate.c feeds it with damaged
 * copies of the seeds; with clang and -DTLNMF_FUZZ=ON libFuzzer does (see CONTRIBUTING.md). */
#ifndef TLNMF_TESTS_FUZZ_H
#define TLNMF_TESTS_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Writes good file number `number` to `path`; false when there are no more. */
bool fuzz_seed(int number, const char *path);

/* What must hold for whatever has been accepted. */
#define FUZZ_CHECK(condition)                                                       \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

static inline void fuzz_put(const char *path, const void *bytes, size_t size)
{
    remove(path); /* file systems are slow to truncate: they see to it that nothing is lost */
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(bytes, 1, size, file) == size);
    FUZZ_CHECK(fclose(file) == 0);
}

#endif
