/* Joins two strings of Fortran: the only function of libgfortran that LAPACK calls, for programs
 * that link LAPACK with musl (musl.sh). */
#include <stddef.h>
#include <string.h>

static void put(char *to, size_t room, const char *from, size_t length)
{
    size_t copied = length < room ? length : room;
    memcpy(to, from, copied);
    memset(to + copied, ' ', room - copied);
}

/* to = first // second, cut or filled with blanks to `length` characters */
void _gfortran_concat_string(size_t length, char *to, size_t first_length, const char *first,
                             size_t second_length, const char *second)
{
    put(to, length, first, first_length);
    if (first_length < length)
        put(to + first_length, length - first_length, second, second_length);
}
