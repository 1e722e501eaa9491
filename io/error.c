/* Messages of failed calls. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void io_set_error(io_error *err, io_fault fault, const char *format, ...)
{
    va_list list;

    if (!err)
        return;
    err->fault = fault;
    va_start(list, format);
    int length = vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
    if (length >= (int)sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
}
