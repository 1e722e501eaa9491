/* Helpers of the tests of io/: a temporary working directory, and bytes in files. */
#ifndef TLNMF_TEST_IO_H
#define TLNMF_TEST_IO_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Damaged files claim huge sizes: their allocation should fail. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

/* A context for tests; its message is that of the last failure. */
static inline tlnmf_ctx *test_context(void)
{
    static tlnmf_ctx *ctx;

    if (!ctx)
        assert_int_equal(tlnmf_ctx_create(&ctx), TLNMF_OK);
    return ctx;
}

/* An array to write, or an array that was read and belongs to the record. */
typedef struct test_array {
    int ndim;
    int64_t dim[TLNMF_MAX_DIMENSIONS];
    const double *x;
    const char *note;
    tlnmf_record *record;
} test_array;

static inline bool get_array(const char *spec, test_array *out)
{
    int32_t rank;

    *out = (test_array){.note = ""};
    if (tlnmf_io_read_array(test_context(), spec, &out->record) != TLNMF_OK)
        return false;
    out->x = tlnmf_record_get_array(out->record, "array", &rank, out->dim);
    out->ndim = rank;
    const char *note = tlnmf_record_get_text(out->record, "note");
    out->note = note ? note : "";
    return true;
}

static inline void drop_array(test_array *array)
{
    tlnmf_record_free(array->record);
    *array = (test_array){0};
}

static inline bool put_array(const char *spec, const test_array *array)
{
    return tlnmf_io_write_array(test_context(), spec, array->x, array->ndim, array->dim) ==
           TLNMF_OK;
}

/* The contents of a file, or NULL. */
static inline json_t *describe(const char *path)
{
    tlnmf_record *record;

    if (tlnmf_io_describe(test_context(), path, &record) != TLNMF_OK)
        return NULL;
    json_t *object = json_loads(tlnmf_record_get_text(record, "json"), 0, NULL);
    tlnmf_record_free(record);
    return object;
}

static char test_directory[4096];

/* The tests run inside the directory, so that messages have short names. */
static inline int enter_directory(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(test_directory, sizeof test_directory, "%s/tlnmf-io.XXXXXX",
             base && *base ? base : "/tmp");
    return mkdtemp(test_directory) && chdir(test_directory) == 0 ? 0 : -1;
}

static inline int is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Files and one level of directories below the working directory. */
static inline void remove_files(int depth)
{
    DIR *directory = opendir(".");
    struct dirent *entry;

    while (directory && (entry = readdir(directory)) != NULL) {
        if (is_dots(entry->d_name) || unlink(entry->d_name) == 0)
            continue;
        if (depth < 1 && chmod(entry->d_name, 0700) == 0 && chdir(entry->d_name) == 0) {
            remove_files(depth + 1);
            if (chdir("..") != 0)
                break;
        }
        rmdir(entry->d_name);
    }
    if (directory)
        closedir(directory);
}

static inline int leave_directory(void **state)
{
    (void)state;
    remove_files(0);
    return chdir("/") == 0 ? rmdir(test_directory) : -1;
}

/* The number of files in the working directory, to detect leftover files. */
static inline int count_files(void)
{
    DIR *directory = opendir(".");
    struct dirent *entry;
    int count = 0;

    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL)
        count += !is_dots(entry->d_name);
    closedir(directory);
    return count;
}

/* Converts `count` numbers of this machine to little-endian, in place. */
static inline void make_little(void *numbers, size_t count, size_t width)
{
    unsigned char *p = numbers;
    for (size_t i = 0; __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && i < count; i++, p += width)
        for (size_t b = 0; b < width / 2; b++) {
            unsigned char byte = p[b];
            p[b] = p[width - 1 - b];
            p[width - 1 - b] = byte;
        }
}

static inline void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline unsigned char *get_file(const char *path, size_t *size)
{
    unsigned char *bytes;

    if (!io_slurp(test_context(), path, &bytes, size))
        fail_msg("%s", tlnmf_message(test_context()));
    return bytes;
}

static inline void assert_same_files(const char *a, const char *b)
{
    size_t size_a, size_b;
    unsigned char *bytes_a = get_file(a, &size_a), *bytes_b = get_file(b, &size_b);

    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
}

static inline void assert_fails(const char *spec, tlnmf_error fault, const char *text)
{
    test_array array;

    assert_false(get_array(spec, &array));
    assert_string_equal(tlnmf_message(test_context()), text);
    assert_int_equal(tlnmf_last_error(test_context()), fault);
    assert_null(array.x);
}

static inline void assert_reads(const char *spec, int ndim, const int64_t *dim, const double *x)
{
    test_array array;
    int64_t count = 1;

    if (!get_array(spec, &array))
        fail_msg("%s", tlnmf_message(test_context()));
    assert_int_equal(array.ndim, ndim);
    for (int d = 0; d < ndim; d++) {
        assert_int_equal(array.dim[d], dim[d]);
        count *= dim[d];
    }
    assert_non_null(array.x);
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&array.x[i], &x[i], 8) != 0)
            fail_msg("%s: element %d is %g, not %g", spec, (int)i, array.x[i], x[i]);
    drop_array(&array);
}

/* The same spec on standard input instead of a file. */
static inline void assert_reads_stdin(const char *path, int ndim, const int64_t *dim,
                                      const double *x)
{
    int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY);

    assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) >= 0);
    assert_reads("-", ndim, dim, x);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
    close(fd);
}

/* A random generator that gives the same bytes everywhere. */
static inline uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Calls every reader on `path`; each must return, with or without an error. */
static inline void poke(const char *path)
{
    test_array array;

    if (get_array(path, &array))
        drop_array(&array);
    json_decref(describe(path));
}

static inline void poke_flips(const char *good, const char *damaged, int count)
{
    size_t size;
    unsigned char *bytes = get_file(good, &size);
    uint64_t state = 20191013;

    for (int i = 0; i < count; i++) {
        size_t at = next_random(&state) % size;
        unsigned char old = bytes[at];
        bytes[at] = (unsigned char)next_random(&state);
        put_file(damaged, bytes, size);
        poke(damaged);
        bytes[at] = old;
    }
    free(bytes);
}

/* Some libraries leak or loop at exit after damaged files. Therefore a child process reads them and
 * calls _exit(); crashes and errors are still detected. */
static inline void poke_flips_in_child(const char *good, const char *damaged, int count)
{
#ifdef __clang__ /* locks of its OpenMP runtime do not survive a fork */
    poke_flips(good, damaged, count);
#else
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
#ifndef TLNMF_SANITIZED /* sanitizers map terabytes */
        struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
        setrlimit(RLIMIT_AS, &limit); /* as the reader process does: claims of gigabytes fail */
#endif
        poke_flips(good, damaged, count);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
#endif
}

/* A file cut short at any byte must be refused. */
static inline void assert_cuts_fail(const char *good, const char *damaged)
{
    size_t size;
    unsigned char *bytes = get_file(good, &size);

    for (size_t n = 0; n < size; n++) {
        test_array array;
        put_file(damaged, bytes, n);
        if (get_array(damaged, &array))
            fail_msg("%s: read although only %d of %d bytes are there", good, (int)n, (int)size);
        assert_int_equal(tlnmf_last_error(test_context()), TLNMF_ERR_INPUT);
        assert_true(strncmp(tlnmf_message(test_context()), damaged, strlen(damaged)) == 0);
    }
    free(bytes);
}

#endif
