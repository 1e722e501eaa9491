/* Label tracks: what is accepted can be written and read again, and its names are safe. */
#include "io/io.h"

#include "fuzz.h"

#include <math.h>
#include <string.h>

static void check_stem(const io_label *label)
{
    const char *name = label->name;
    char *stem;
    io_error err;

    FUZZ_CHECK(io_safe_stems(&name, 1, &stem, &err));
    FUZZ_CHECK(stem[0] != '\0' && stem[0] != '.' && !strpbrk(stem, "/\\\n"));
    FUZZ_CHECK(strlen(stem) <= 120);
    free(stem);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    io_labels labels, again;
    io_error err = {0};

    fuzz_put("labels.fuzz", bytes, size);
    if (!io_labels_read("labels.fuzz", &labels, &err)) {
        FUZZ_CHECK(strncmp(err.text, "labels.fuzz: ", 13) == 0);
        return 0;
    }
    FUZZ_CHECK(labels.count > 0);
    for (int64_t i = 0; i < labels.count; i++) {
        const io_label *label = &labels.label[i];
        FUZZ_CHECK(label->start >= 0 && label->end >= label->start && isfinite(label->end));
        check_stem(label);
    }
    /* Numbers of more than 60 digits are written, but not taken for times. */
    if (labels.label[0].end < 1e50 && io_labels_write("copy.fuzz", &labels, &err)) {
        bool readable = io_labels_read("copy.fuzz", &again, &err);
        FUZZ_CHECK(!readable || again.count == labels.count);
        io_labels_free(&again);
    }
    io_labels_free(&labels);
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
