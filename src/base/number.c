/* Numbers from text and to text in the C locale, for this thread only and only for as long. */
#include "base/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The C locale for this thread, and what to go back to. Where the C locale cannot be had, the
 * host's stays. */
typedef struct neutral {
    locale_t own, before;
} neutral;

static neutral enter(void)
{
    neutral n = {.own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (n.own != (locale_t)0)
        n.before = uselocale(n.own);
    return n;
}

static void leave(neutral n)
{
    if (n.own == (locale_t)0)
        return;
    uselocale(n.before);
    freelocale(n.own);
}

bool tl_parse_real(const char *text, double *x)
{
    char *end;
    neutral n = enter();
    *x = strtod(text, &end);
    leave(n);
    return end != text && *end == '\0';
}

void tl_format_real(double x, char *text, size_t size)
{
    char digits[32];
    neutral n = enter();
    for (int count = 15; count <= 17; count++) {
        snprintf(digits, sizeof digits, "%.*g", count, x);
        if (strtod(digits, NULL) == x)
            break;
    }
    leave(n);
    snprintf(text, size, "%s", digits);
}
