/* Text into HTML: escapes, numbers, base64, JSON inside a script element. */
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void page_raw(io_buffer *page, const char *html)
{
    io_buffer_add(page, html, strlen(html));
}

/* The length of the UTF-8 character at `text` if it may stand in a page, else 0. Not: controls,
 * surrogates, overlong forms, marks that turn the direction of writing. */
static size_t good_character(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned first = text[0];
    size_t length = first < 0x80             ? 1
                    : (first & 0xe0) == 0xc0 ? 2
                    : (first & 0xf0) == 0xe0 ? 3
                    : (first & 0xf8) == 0xf0 ? 4
                                             : 0;
    unsigned code = length == 1 ? first : first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fU);
    }
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    if (length == 0 || code < least[length] || code > 0x10ffff || control || turns ||
        (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return length;
}

void page_text(io_buffer *page, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (at != NULL && *at != '\0') {
        size_t length = good_character(at);
        const char *escape = *at == '<'    ? "&lt;"
                             : *at == '>'  ? "&gt;"
                             : *at == '&'  ? "&amp;"
                             : *at == '"'  ? "&quot;"
                             : *at == '\'' ? "&#39;"
                             : length == 0 ? "\xef\xbf\xbd"
                                           : NULL;
        if (escape != NULL)
            page_raw(page, escape);
        else
            io_buffer_add(page, at, length);
        at += length == 0 ? 1 : length;
    }
}

void page_format(io_buffer *page, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    page_raw(page, text);
}

void page_base64(io_buffer *page, const void *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *x = bytes;
    char text[4096];
    size_t filled = 0;
    for (size_t i = 0; i < size; i += 3) {
        unsigned b = i + 1 < size ? x[i + 1] : 0, c = i + 2 < size ? x[i + 2] : 0;
        unsigned group = (unsigned)x[i] << 16 | b << 8 | c;
        text[filled++] = digits[group >> 18];
        text[filled++] = digits[group >> 12 & 63];
        text[filled++] = '=';
        text[filled++] = '=';
        if (i + 1 < size)
            text[filled - 2] = digits[group >> 6 & 63];
        if (i + 2 < size)
            text[filled - 1] = digits[group & 63];
        if (filled == sizeof text) {
            io_buffer_add(page, text, filled);
            filled = 0;
        }
    }
    io_buffer_add(page, text, filled);
}

void page_json(io_buffer *page, const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (text == NULL) {
        page->failed = true;
        return;
    }
    for (char *at = text; *at != '\0';) {
        size_t plain = strcspn(at, "<>&");
        io_buffer_add(page, at, plain);
        at += plain;
        if (*at != '\0')
            page_format(page, "\\u%04x", (unsigned)(unsigned char)*at++);
    }
    free(text);
}

const char *page_number(double x, char text[32])
{
    if (isfinite(x))
        snprintf(text, 32, "%.6g", x);
    else
        snprintf(text, 32, "none");
    return text;
}
