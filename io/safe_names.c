/* Makes file names from names of sources, which may contain any characters. */
#include "files.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STEM = 120 }; /* bytes; names may have 255, including extensions and temporary suffixes */

/* Whether Windows reserves the name for a device, with any extension: CON, NUL, COM1, .. */
static bool is_reserved(const char *stem)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul"};
    size_t length = strcspn(stem, ".");

    while (length > 0 && stem[length - 1] == ' ')
        length--;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (length == 3 && strncasecmp(stem, devices[i], 3) == 0)
            return true;
    return length == 4 && stem[3] >= '0' && stem[3] <= '9' &&
           (strncasecmp(stem, "com", 3) == 0 || strncasecmp(stem, "lpt", 3) == 0);
}

/* Cuts the name to at most `most` bytes, between characters. */
static void cut(char *stem, size_t most)
{
    if (strlen(stem) <= most)
        return;
    while (most > 0 && ((unsigned char)stem[most] & 0xc0) == 0x80)
        most--;
    stem[most] = '\0';
}

/* Copies the name without characters that are unsafe in a file name. `stem` is a buffer of STEM + 2
 * bytes. */
static void make_safe(const char *name, char *stem)
{
    name += strspn(name, " .-"); /* "..", hidden files, names that look like options */
    const char *end = name + strlen(name);
    size_t used = 0, length, size;

    for (; name < end; name += length, used += size) {
        uint32_t code = ' '; /* of bytes that are not UTF-8, which stay */
        length = io_utf8(name, end, &code);
        bool unsafe = io_is_unsafe(code) || (code < 0x80 && strchr("/\\<>:\"|?*", (int)code));
        length = length == 0 ? 1 : length;
        size = unsafe ? 1 : length;
        if (used + size > STEM)
            break;
        memcpy(stem + used, unsafe ? "_" : name, size);
    }
    stem[used] = '\0';
    for (size_t n = strlen(stem); n > 0 && (stem[n - 1] == ' ' || stem[n - 1] == '.'); n--)
        stem[n - 1] = '\0';
    if (stem[0] == '\0')
        snprintf(stem, STEM + 2, "source");
    if (is_reserved(stem)) {
        cut(stem, STEM - 1);
        memmove(stem + 1, stem, strlen(stem) + 1);
        stem[0] = '_';
    }
}

static bool is_taken(const char *stem, char *const *stems, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (strcasecmp(stem, stems[i]) == 0)
            return true;
    return false;
}

/* "piano", then "piano-2", .. */
static char *new_stem(const char *name, char *const *stems, int64_t count)
{
    char stem[STEM + 2], ending[32];

    make_safe(name, stem);
    size_t length = strlen(stem);
    for (int64_t number = 2; is_taken(stem, stems, count); number++) {
        int n = snprintf(ending, sizeof ending, "-%lld", (long long)number);
        stem[length] = '\0';
        cut(stem, STEM - (size_t)n);
        length = strlen(stem);
        memcpy(stem + length, ending, (size_t)n + 1);
    }
    return strdup(stem);
}

tlnmf_error tlnmf_io_safe_names(tlnmf_ctx *ctx, const tlnmf_record *names, tlnmf_record **safe)
{
    size_t count = 0;

    IO_NEED_OUT(ctx, safe, names);
    if (tlnmf_record_type(names, "names") != TLNMF_TYPE_TEXTS)
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "there is no list of texts called names");
    while (tlnmf_record_get_text_at(names, "names", count) != NULL)
        count++;
    char **made = calloc(count + 1, sizeof *made);
    bool ok = made != NULL || io_no_memory(ctx, "names of files");
    for (size_t i = 0; ok && i < count; i++) {
        made[i] = new_stem(tlnmf_record_get_text_at(names, "names", i), made, (int64_t)i);
        ok = made[i] != NULL || io_no_memory(ctx, "names of files");
    }
    ok = ok && tlnmf_record_create(ctx, safe) == TLNMF_OK &&
         tlnmf_record_set_texts(ctx, *safe, "names", (const char *const *)made, count) == TLNMF_OK;
    for (size_t i = 0; made != NULL && i < count; i++)
        free(made[i]);
    free(made);
    return io_end_record(ctx, ok, safe);
}
