/* Numbers from text and to text. The calling thread switches to the C locale for the conversion. */
#include "base/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The C locale of this thread, and the locale to restore. If the C locale is not available, the
 * caller's is used. */
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
