/* Text that came from a file or a file name, made harmless for a terminal. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* The code point at `at` and its bytes; 0 bytes if it is not valid UTF-8. */
static uint32_t decode(const unsigned char *at, int *bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = at[0] < 0x80       ? 1
            : at[0] >> 5 == 6  ? 2
            : at[0] >> 4 == 14 ? 3
            : at[0] >> 3 == 30 ? 4
                               : 0;
    uint32_t code = n == 1 ? at[0] : n == 0 ? 0 : at[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            n = 0;
        else
            code = code << 6 | (at[i] & 0x3fu);
    }
    bool bad = n == 0 || (n > 1 && code < least[n]) || code > 0x10ffff ||
               (code >= 0xd800 && code <= 0xdfff);
    *bytes = bad ? 0 : n;
    return code;
}

/* What a terminal would obey rather than show: controls, also those of C1; marks and overrides of
 * direction, which show a text as another one; separators of lines; tags. */
static bool is_command(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
           (code >= 0xe0000 && code <= 0xe007f);
}

/* A piece of `text` as it is printed: its length, and how many bytes of the text it stands for. */
static int escape(const unsigned char *at, bool json, char piece[16], int *taken)
{
    int bytes;
    uint32_t code = decode(at, &bytes);
    *taken = bytes > 0 ? bytes : 1;
    if (bytes == 0 && !json)
        return snprintf(piece, 16, "\\x%02x", at[0]);
    if (bytes == 0 || !is_command(code) || (json && code < 0x20)) {
        memcpy(piece, at, (size_t)*taken); /* jansson has escaped the first 32 */
        piece[*taken] = '\0';
        return *taken;
    }
    if (code < 0x100 && !json)
        return snprintf(piece, 16, "\\x%02x", code);
    if (code < 0x10000)
        return snprintf(piece, 16, "\\u%04x", code);
    if (!json)
        return snprintf(piece, 16, "\\U%08x", code);
    return snprintf(piece, 16, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                    0xdc00 + ((code - 0x10000) & 0x3ff));
}

void cli_put(FILE *out, const char *text)
{
    char piece[16];
    int taken;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at += taken) {
        escape(at, false, piece, &taken);
        fputs(piece, out);
    }
}

const char *cli_plain(const char *text, char *buffer, size_t size)
{
    char piece[16];
    size_t used = 0;
    int taken;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at += taken) {
        size_t n = (size_t)escape(at, false, piece, &taken);
        if (used + n + 1 > size)
            break;
        memcpy(buffer + used, piece, n);
        used += n;
    }
    buffer[used] = '\0';
    return buffer;
}

char *cli_plain_json(char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);
    /* One byte becomes six at most (DEL), four become twelve. */
    char *plain = text == NULL ? NULL : malloc(6 * length + 1), *to = plain, piece[16];
    int taken;
    for (const unsigned char *at = (const unsigned char *)text; plain != NULL && *at != '\0';
         at += taken) {
        size_t n = (size_t)escape(at, true, piece, &taken);
        memcpy(to, piece, n);
        to += n;
    }
    if (plain != NULL)
        *to = '\0';
    free(text);
    return plain;
}
