/* Failing allocations, for LD_PRELOAD: allocation number ALLOC_AT of our own code fails. The number
 * of allocations is written to the file ALLOC_COUNT. Allocations of HDF5, BLAS and other libraries
 * do not count: those libraries crash without memory, which we cannot prevent. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
/* AddressSanitizer's allocator if the program has one, so that it reports leaks. */
__attribute__((weak)) extern void *__interceptor_malloc(size_t size);
__attribute__((weak)) extern void *__interceptor_calloc(size_t count, size_t size);
__attribute__((weak)) extern void *__interceptor_realloc(void *block, size_t size);

enum { MOST = 16 };
static uintptr_t first[MOST], last[MOST];
static int ranges;
static atomic_long calls, at;

/* Code of the program itself, whose name is empty, and of our libraries. */
static int note(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (info->dlpi_name[0] != '\0' && strstr(info->dlpi_name, "libtlnmf") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && ranges < MOST; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        first[ranges] = info->dlpi_addr + part->p_vaddr;
        last[ranges] = first[ranges] + part->p_memsz;
        ranges++;
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("ALLOC_AT");
    atomic_store(&at, text != NULL ? strtol(text, NULL, 10) : 0);
    dl_iterate_phdr(note, NULL);
}

static int fails(const void *caller)
{
    uintptr_t place = (uintptr_t)caller;
    int ours = 0;
    for (int i = 0; i < ranges; i++)
        ours |= place >= first[i] && place < last[i];
    if (!ours || atomic_fetch_add(&calls, 1) + 1 != atomic_load(&at))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    return __interceptor_malloc != NULL ? __interceptor_malloc(size) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    return __interceptor_calloc != NULL ? __interceptor_calloc(count, size)
                                        : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    return __interceptor_realloc != NULL ? __interceptor_realloc(block, size)
                                         : __libc_realloc(block, size);
}

__attribute__((destructor)) static void say_how_many(void)
{
    const char *path = getenv("ALLOC_COUNT");
    long count = atomic_load(&calls);
    FILE *out = path != NULL ? fopen(path, "w") : NULL;
    if (out != NULL) {
        fprintf(out, "%ld\n", count);
        fclose(out);
    }
}
