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

void page_text(io_buffer *page, const char *text)
{
    const char *at = text, *end = text == NULL ? NULL : text + strlen(text);
    while (at < end) {
        uint32_t code = 0;
        size_t length = io_utf8(at, end, &code);
        const char *escape = *at == '<'                          ? "&lt;"
                             : *at == '>'                        ? "&gt;"
                             : *at == '&'                        ? "&amp;"
                             : *at == '"'                        ? "&quot;"
                             : *at == '\''                       ? "&#39;"
                             : length == 0 || io_is_unsafe(code) ? "\xef\xbf\xbd"
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
