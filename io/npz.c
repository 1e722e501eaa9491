/* NumPy's .npz files: archives of .npy files, stored or compressed. */
#include "zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `Y` and `Y.npy` both mean the member Y.npy, as in numpy. */
static bool is_named(const io_zip_member *m, const char *name)
{
    size_t length = strlen(name);
    return strncmp(m->name, name, length) == 0 &&
           (m->name[length] == '\0' || strcmp(m->name + length, ".npy") == 0);
}

/* A member as a source for the readers of .npy; free its bytes when done. */
static bool open_member(const io_zip *zip, const io_zip_member *m, char *name, size_t size,
                        io_source *out, io_error *err)
{
    snprintf(name, size, "%s:%s", zip->source->name, m->name);
    *out = (io_source){.path = name, .name = name, .size = m->size, .format = IO_FORMAT_NPY};
    if (!io_zip_extract(zip, m, &out->bytes, err))
        return false;
    out->head_size = (size_t)m->size < sizeof out->head ? (size_t)m->size : sizeof out->head;
    memcpy(out->head, out->bytes, out->head_size);
    return true;
}

enum { NAME_SIZE = 4096 };

static bool read_member(const io_zip *zip, const io_zip_member *m, const io_place *place,
                        io_array *out, io_error *err)
{
    char name[NAME_SIZE];
    io_source inner;
    if (!open_member(zip, m, name, sizeof name, &inner, err))
        return false;
    bool ok = io_npy_read(&inner, NULL, place, out, err);
    free(inner.bytes);
    return ok;
}

/* What is in the archive. Members that are no arrays of numbers are listed, too. */
static bool list(const io_zip *zip, io_listing *listing, io_error *err)
{
    for (size_t i = 0; i < zip->count; i++) {
        char name[NAME_SIZE];
        io_source inner;
        io_listing one = {0};
        if (!open_member(zip, &zip->member[i], name, sizeof name, &inner, err))
            return false;
        io_error ignored;
        size_t length = strlen(zip->member[i].name);
        if (length > 4 && strcmp(zip->member[i].name + length - 4, ".npy") == 0)
            zip->member[i].name[length - 4] = '\0';
        io_entry entry = {.name = zip->member[i].name, .dtype = "other"};
        if (io_npy_list(&inner, &one, &ignored)) {
            entry = one.entry[0];
            entry.name = zip->member[i].name;
        }
        bool ok = io_listing_add(listing, &entry);
        io_listing_free(&one);
        free(inner.bytes);
        if (!ok)
            return io_no_memory(err, zip->source->name);
    }
    return true;
}

static bool read_named(const io_zip *zip, const char *member, const io_place *place, io_array *out,
                       io_error *err)
{
    io_listing listing = {0};
    bool ok = member || list(zip, &listing, err);
    if (ok && !member) {
        member = io_listing_only(&listing, zip->source->name, err);
        ok = member != NULL;
    }
    const io_zip_member *found = NULL;
    for (size_t i = 0; ok && i < zip->count; i++)
        if (is_named(&zip->member[i], member))
            found = &zip->member[i];
    if (ok && !found)
        ok = list(zip, &listing, err) &&
             io_fail_missing(&listing, zip->source->name, "array", member, err);
    ok = ok && read_member(zip, found, place, out, err);
    io_listing_free(&listing);
    return ok;
}

bool io_npz_read(const io_source *source, const char *member, const io_place *place, io_array *out,
                 io_error *err)
{
    io_zip zip;
    bool ok = io_zip_open(source, &zip, err) && read_named(&zip, member, place, out, err);
    io_zip_close(&zip);
    return ok;
}

bool io_npz_list(const io_source *source, io_listing *listing, io_error *err)
{
    io_zip zip;
    bool ok = io_zip_open(source, &zip, err) && list(&zip, listing, err);
    io_zip_close(&zip);
    return ok;
}
