/* Label tracks: accepted labels can be written and read again, and their names are safe. */
#include "io/files.h"
#include "io/program.h"

#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_stem(const char *name)
{
    tlnmf_ctx *ctx = fuzz_context();
    tlnmf_record *names, *safe;

    FUZZ_CHECK(tlnmf_record_create(ctx, &names) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_set_texts(ctx, names, "names", &name, 1) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_io_safe_names(ctx, names, &safe) == TLNMF_OK);
    const char *stem = tlnmf_record_get_text_at(safe, "names", 0);
    FUZZ_CHECK(stem[0] != '\0' && stem[0] != '.' && !strpbrk(stem, "/\\\n"));
    FUZZ_CHECK(strlen(stem) <= 120);
    tlnmf_record_free(names);
    tlnmf_record_free(safe);
}

/* The labels as events of sources that have their names. */
static void write_again(tlnmf_record *track, int64_t count)
{
    static const char *const columns[][2] = {
        {"source", NULL}, {"begin", "start"}, {"end", "end"}, {"level", NULL}, {"key", NULL}};
    tlnmf_ctx *ctx = fuzz_context();
    tlnmf_record *model, *events, *again;
    const char **name = calloc((size_t)count, sizeof *name);
    double *x;
    int64_t shape[TLNMF_MAX_DIMENSIONS];

    FUZZ_CHECK(name != NULL);
    FUZZ_CHECK(tlnmf_record_create(ctx, &model) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_record_create(ctx, &events) == TLNMF_OK);
    for (int64_t i = 0; i < count; i++)
        name[i] = tlnmf_record_get_text_at(track, "name", (size_t)i);
    FUZZ_CHECK(tlnmf_record_set_texts(ctx, model, "names", name, (size_t)count) == TLNMF_OK);
    for (int c = 0; c < 5; c++) {
        const double *from =
            columns[c][1] ? tlnmf_record_get_array(track, columns[c][1], NULL, NULL) : NULL;
        FUZZ_CHECK(tlnmf_record_new_array(ctx, events, columns[c][0], 1, &count, &x) == TLNMF_OK);
        for (int64_t i = 0; i < count; i++)
            x[i] = from ? from[i] : c == 0 ? (double)i : 0.0;
    }
    FUZZ_CHECK(tlnmf_io_write_labels(ctx, "copy.fuzz", model, events) == TLNMF_OK);
    FUZZ_CHECK(tlnmf_io_read_labels(ctx, "copy.fuzz", &again) == TLNMF_OK);
    tlnmf_record_get_array(again, "start", NULL, shape);
    FUZZ_CHECK(shape[0] == count);
    tlnmf_record_free(again);
    tlnmf_record_free(events);
    tlnmf_record_free(model);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tlnmf_record *track;
    int64_t shape[TLNMF_MAX_DIMENSIONS];

    fuzz_put("labels.fuzz", bytes, size);
    if (tlnmf_io_read_labels(fuzz_context(), "labels.fuzz", &track) != TLNMF_OK) {
        FUZZ_CHECK(strncmp(tlnmf_message(fuzz_context()), "labels.fuzz: ", 13) == 0);
        return 0;
    }
    const double *start = tlnmf_record_get_array(track, "start", NULL, shape);
    const double *end = tlnmf_record_get_array(track, "end", NULL, NULL);
    FUZZ_CHECK(shape[0] > 0);
    for (int64_t i = 0; i < shape[0]; i++) {
        FUZZ_CHECK(start[i] >= 0 && end[i] >= start[i] && isfinite(end[i]));
        check_stem(tlnmf_record_get_text_at(track, "name", (size_t)i));
    }
    write_again(track, shape[0]);
    tlnmf_record_free(track);
    return 0;
}

bool fuzz_seed(int number, const char *path)
{
    static const char *const seeds[] = {
        "0.000000\t1.000000\tpiano\n1.500000\t2.250000\tfl\xc3\xbcte\n",
        "\xef\xbb\xbf\x30,5\t1,5\t../x\r\n\\\t100.0\t2000.0\r\n2e0\t2\t\r\n\r\n3\t4",
        "1\t2\tcon\n2\t3\t\xf0\x9f\x8e\xb5\n",
    };

    if (number == sizeof seeds / sizeof *seeds)
        return false;
    fuzz_put(path, seeds[number], strlen(seeds[number]));
    return true;
}
