/* Runs a fuzz target on the files of its corpus, which once found an error or reach deep code, and
 * on damaged copies of its seeds, which are the same every time.
 *
 *     fuzz_TARGET [ROUNDS [CORPUS]]
 *     fuzz_TARGET seeds FOLDER        only writes the seeds, for libFuzzer */
#include "io/files.h"

#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

/* Damaged files claim huge sizes: their allocation should fail. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Changes, truncates or duplicates bytes, or sets them to numbers that often cause errors. The
 * header is changed more often than the rest. Returns the new size; `copy` has space for twice the
 * old size. */
static size_t damage(const unsigned char *bytes, size_t size, unsigned char *copy, uint64_t *state)
{
    static const unsigned char odd[] = {0x00, 0x01, 0x7f, 0x80, 0xff};

    memcpy(copy, bytes, size);
    for (uint32_t times = 1 + next_random(state) % 4; times > 0 && size > 0; times--) {
        size_t near = size < 128 ? size : 128;
        size_t at = next_random(state) % (next_random(state) % 3 ? near : size);
        switch (next_random(state) % 8) {
        case 0:
            size = at;
            break;
        case 1: { /* repeats a part, over the bytes that follow */
            size_t length = next_random(state) % (size - at) + 1;
            memmove(copy + at + length / 2, copy + at, length - length / 2);
            break;
        }
        case 2:
            memset(copy + at, odd[next_random(state) % sizeof odd], size - at < 4 ? size - at : 4);
            break;
        case 3:
            copy[at] ^= (unsigned char)(1u << next_random(state) % 8);
            break;
        case 4:
            copy[at] = odd[next_random(state) % sizeof odd];
            break;
        default:
            copy[at] = (unsigned char)next_random(state);
        }
    }
    return size;
}

static void feed(const char *path, int rounds, uint64_t *state)
{
    unsigned char *bytes;
    size_t size;

    FUZZ_CHECK(io_slurp(fuzz_context(), path, &bytes, &size));
    unsigned char *copy = malloc(2 * size + 1);
    FUZZ_CHECK(copy != NULL);
    LLVMFuzzerTestOneInput(bytes, size);
    for (int i = 0; i < rounds; i++)
        LLVMFuzzerTestOneInput(copy, damage(bytes, size, copy, state));
    free(copy);
    free(bytes);
}

/* Every file of the folder, unchanged and slightly damaged. */
static void feed_folder(const char *folder, int rounds, uint64_t *state)
{
    DIR *d = opendir(folder);
    const struct dirent *entry;
    char path[4096];
    int count = 0;

    FUZZ_CHECK(d != NULL);
    while ((entry = readdir(d)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        feed(path, rounds, state);
        count++;
    }
    closedir(d);
    printf("%d files of the corpus\n", count);
}

static int write_seeds(const char *folder)
{
    char path[4096];
    int count = 0;

    do
        snprintf(path, sizeof path, "%s/seed%d", folder, count);
    while (fuzz_seed(count++, path));
    return count > 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "seeds") == 0)
        return write_seeds(argv[2]);
    const char *base = getenv("TMPDIR");
    char directory[4096];
    uint64_t state = 20060101;
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;

    snprintf(directory, sizeof directory, "%s/tlnmf-fuzz.XXXXXX", base && *base ? base : "/tmp");
    FUZZ_CHECK(mkdtemp(directory) && chdir(directory) == 0);
    if (argc > 2)
        feed_folder(argv[2], rounds / 20, &state);
    for (int seed = 0; fuzz_seed(seed, "seed"); seed++)
        feed("seed", rounds, &state);
    static const char *const files[] = {"seed",      "sound.fuzz", "labels.fuzz", "copy.fuzz",
                                        "array.npy", "x.h5",       "x.mat"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : 1;
}
