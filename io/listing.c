/* Lists of the arrays in a file, for choosing one and for messages. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool io_listing_add(io_listing *listing, const io_entry *entry)
{
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? 2 * listing->capacity : 8;
        io_entry *larger = realloc(listing->entry, capacity * sizeof *larger);
        if (!larger)
            return false;
        listing->entry = larger;
        listing->capacity = capacity;
    }
    char *name = strdup(entry->name);
    if (!name)
        return false;
    listing->entry[listing->count] = *entry;
    listing->entry[listing->count++].name = name;
    return true;
}

void io_listing_free(io_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->entry[i].name);
    free(listing->entry);
    *listing = (io_listing){0};
}

/* "it has /A, /B and 3 more": the first few, cut where the text is full. */
static void tell(const io_listing *listing, char *text, size_t size)
{
    enum { FEW = 6 };
    size_t used = (size_t)snprintf(text, size, "it has %s", listing->count ? "" : "none");

    for (size_t i = 0; i < listing->count && i < FEW && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.60s", i ? ", " : "",
                                 listing->entry[i].name[0] ? listing->entry[i].name
                                                           : "one without a name");
    if (listing->count > FEW && used < size)
        snprintf(text + used, size - used, " and %zu more", listing->count - FEW);
}

const char *io_listing_only(const io_listing *listing, const char *name, io_error *err)
{
    const char *only = NULL;
    size_t found = 0;
    char have[400];

    for (size_t i = 0; i < listing->count; i++)
        if (listing->entry[i].numeric && found++ == 0)
            only = listing->entry[i].name;
    if (found == 1)
        return only;
    tell(listing, have, sizeof have);
    if (found == 0)
        io_fail(err, IO_BAD_INPUT, "%s: no array of real numbers (%s)", name, have);
    else
        io_fail(err, IO_BAD_INPUT, "%s: several arrays, name one as in %s:%s (%s)", name, name,
                only, have);
    return NULL;
}

void io_set_missing(const io_listing *listing, const char *name, const char *what,
                    const char *member, io_error *err)
{
    char have[400];

    tell(listing, have, sizeof have);
    io_set_error(err, IO_BAD_INPUT, "%s: no %s %s (%s)", name, what, member, have);
}
