#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool io_fail(io_error *err, io_fault fault, const char *format, ...)
{
    va_list list;

    if (!err)
        return false;
    err->fault = fault;
    va_start(list, format);
    int length = vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
    if (length >= (int)sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
    return false;
}

bool io_no_memory(io_error *err, const char *name)
{
    return io_fail(err, IO_NO_MEMORY, "%s: out of memory", name);
}
