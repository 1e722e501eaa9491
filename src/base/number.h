/* Numbers from text and to text, with a decimal point whatever the host's locale says. */
#ifndef TLNMF_BASE_NUMBER_H
#define TLNMF_BASE_NUMBER_H

#include "base/base.h"

/* The whole text as a number; false if it is none. */
bool tl_parse_real(const char *text, double *x);
/* The shortest of %.15g, %.16g and %.17g that reads back as x. `size` of 32 is enough. */
void tl_format_real(double x, char *text, size_t size);

#endif
