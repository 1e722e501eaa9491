/* Text in files: UTF-8 and decimal numbers. */
#include "files.h"

#include <stdlib.h>
#include <string.h>

size_t io_utf8(const char *at, const char *end, uint32_t *code)
{
    static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000}; /* by length; 0 ends a text */
    unsigned char first = (unsigned char)*at;
    size_t length = first < 0x80             ? 1
                    : (first & 0xe0) == 0xc0 ? 2
                    : (first & 0xf0) == 0xe0 ? 3
                    : (first & 0xf8) == 0xf0 ? 4
                                             : 0;

    if (length == 0 || (size_t)(end - at) < length)
        return 0;
    uint32_t c = length == 1 ? first : first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | ((unsigned char)at[i] & 0x3fU);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) /* surrogates */
        return 0;
    *code = c;
    return length;
}

bool io_is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool io_decimal(const char *at, const char *end, double *x)
{
    static const char digits[] = "0123456789";
    char text[512];
    size_t length = (size_t)(end - at);

    if (length >= sizeof text)
        return false;
    memcpy(text, at, length);
    text[length] = '\0';
    char *c = text + (text[0] == '-' || text[0] == '+');
    size_t whole = strspn(c, digits), fraction = 0;
    c += whole;
    if (*c == '.' || *c == ',') {
        *c++ = '.';
        fraction = strspn(c, digits);
        c += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*c == 'e' || *c == 'E') {
        c += c[1] == '-' || c[1] == '+' ? 2 : 1;
        size_t exponent = strspn(c, digits);
        if (exponent == 0)
            return false;
        c += exponent;
    }
    *x = strtod(text, NULL);
    return c == text + length;
}

locale_t io_enter_c_locale(void)
{
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    return c ? uselocale(c) : (locale_t)0;
}

void io_leave_c_locale(locale_t before)
{
    if (before)
        freelocale(uselocale(before));
}
