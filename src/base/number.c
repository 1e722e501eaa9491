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
    neutral n = enter();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    leave(n);
}
