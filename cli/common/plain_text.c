/* Prints text from files and file names without control characters for the terminal. */
#include "cli/cli.h"

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

/* Characters that a terminal does not show but obeys: C0 and C1 controls, marks and overrides of
 * direction, line separators, tags. */
static bool is_command(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
           (code >= 0xe0000 && code <= 0xe007f);
}

/* Writes the first character as it is printed to `piece`. Returns its number of bytes in the text.
 */
static int escape(const unsigned char *at, char piece[16])
{
    int bytes;
    uint32_t code = decode(at, &bytes);
    if (bytes == 0 || (is_command(code) && code < 0x100))
        snprintf(piece, 16, "\\x%02x", bytes == 0 ? at[0] : code);
    else if (is_command(code))
        snprintf(piece, 16, code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
    else
        snprintf(piece, 16, "%.*s", bytes, (const char *)at);
    return bytes > 0 ? bytes : 1;
}

void cli_put(FILE *out, const char *text)
{
    char piece[16];
    int bytes;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at += bytes) {
        bytes = escape(at, piece);
        fputs(piece, out);
    }
}

void cli_put_wrapped(FILE *out, const char *text, int at, int indent)
{
    const int width = 100;
    bool first = true; /* on this line */
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (!first && at + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        at += fprintf(out, "%s%.*s", first ? "" : " ", length, text);
        first = false;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}
