/* Label tracks of Audacity, in and out; safe names of files. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- reading ------------------------------------------------------------------------------ */

/* The length of the UTF-8 character at `at`, 0 if there is none. */
static size_t character(const unsigned char *at, const unsigned char *end)
{
    static const struct {
        unsigned char low, high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (*at < forms[i].low || *at > forms[i].high)
            continue;
        if ((size_t)(end - at) < forms[i].length)
            return 0;
        if (forms[i].length > 1 && (at[1] < forms[i].second_low || at[1] > forms[i].second_high))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if (at[k] < 0x80 || at[k] > 0xbf)
                return 0;
        return forms[i].length;
    }
    return 0;
}

static bool is_utf8(const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        size_t length = character(at, end);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static size_t skip_digits(const char *text, size_t at)
{
    while (text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* Digits with a point or a comma, perhaps an exponent; strtod alone would take "nan" and "0x1". */
static bool parse_seconds(const char *field, double *seconds)
{
    char text[64];
    size_t length = strlen(field);

    if (length >= sizeof text)
        return false;
    memcpy(text, field, length + 1);
    size_t first = text[0] == '-' || text[0] == '+', at = skip_digits(text, first), digits;
    digits = at - first;
    if (text[at] == '.' || text[at] == ',') {
        text[at++] = '.';
        size_t end = skip_digits(text, at);
        digits += end - at;
        at = end;
    }
    if (digits > 0 && (text[at] == 'e' || text[at] == 'E')) {
        at += text[at + 1] == '-' || text[at + 1] == '+' ? 2 : 1;
        size_t end = skip_digits(text, at);
        digits = end > at ? digits : 0;
        at = end;
    }
    if (digits == 0 || text[at] != '\0')
        return false;
    *seconds = strtod(text, NULL);
    return true;
}

typedef struct reader {
    const char *name;
    int64_t line, capacity;
    io_labels labels;
} reader;

static bool fail_line(const reader *r, const char *what, const char *field, io_error *err)
{
    return io_fail(err, IO_BAD_INPUT, "%s: line %lld: %s%s%s", r->name, (long long)r->line, what,
                   field ? " " : "", field ? field : "");
}

static bool check_times(const reader *r, double start, double end, const char *text, io_error *err)
{
    if (!isfinite(start) || !isfinite(end))
        return fail_line(r, "a time is too large:", text, err);
    if (start < 0 || end < 0)
        return fail_line(r, "a time is negative:", start < 0 ? text : text + strlen(text) + 1, err);
    return end >= start || fail_line(r, "the label ends before it starts", NULL, err);
}

static bool add_label(reader *r, double start, double end, const char *name, io_error *err)
{
    if (r->labels.count == r->capacity) {
        int64_t capacity = 2 * r->capacity + 16;
        io_label *larger = realloc(r->labels.label, (size_t)capacity * sizeof *larger);
        if (!larger)
            return io_no_memory(err, r->name);
        r->labels.label = larger;
        r->capacity = capacity;
    }
    io_label *label = &r->labels.label[r->labels.count];
    *label = (io_label){.start = start, .end = end, .name = strdup(name)};
    if (!label->name)
        return io_no_memory(err, r->name);
    r->labels.count++;
    return true;
}

/* "\\ TAB low TAB high", the frequencies of the label before it. Audacity writes -1 where there is
 * no bound. */
static bool parse_range(reader *r, char *line, char *line_end, io_error *err)
{
    char *second;
    double low, high;

    *line_end = '\0';
    if (r->labels.count == 0)
        return fail_line(r, "frequencies without a label before them", NULL, err);
    if (line[1] != '\t' || (second = strchr(line + 2, '\t')) == NULL)
        return fail_line(r, "a backslash, TAB, low, TAB, high are needed", NULL, err);
    *second++ = '\0';
    if (!parse_seconds(line + 2, &low) || !parse_seconds(second, &high))
        return fail_line(r, "not a frequency in Hz:", line + 2, err);
    io_label *label = &r->labels.label[r->labels.count - 1];
    label->low = low > 0.0 ? low : 0.0;
    label->high = high > 0.0 ? high : 0.0;
    if (label->high == 0.0 && label->low > 0.0)
        label->high = 1e12; /* no upper bound */
    return label->high >= label->low ||
           fail_line(r, "the highest frequency is below the lowest", NULL, err);
}

/* One line without its end, which is overwritten. */
static bool parse_line(reader *r, char *line, char *line_end, io_error *err)
{
    char *first_tab = memchr(line, '\t', (size_t)(line_end - line)), *second_tab, *name;
    double start, end;

    if (line == line_end)
        return true;
    if (line[0] == '\\')
        return parse_range(r, line, line_end, err);
    if (!is_utf8((unsigned char *)line, (unsigned char *)line_end))
        return fail_line(r, "not UTF-8 text", NULL, err);
    *line_end = '\0';
    if (!first_tab)
        return fail_line(r, "start, TAB, end, TAB, name are needed, there is no TAB", NULL, err);
    *first_tab = '\0';
    second_tab = strchr(first_tab + 1, '\t');
    name = second_tab ? second_tab + 1 : line_end;
    if (second_tab)
        *second_tab = '\0';
    if (!parse_seconds(line, &start))
        return fail_line(r, "not a time in seconds:", line, err);
    if (!parse_seconds(first_tab + 1, &end))
        return fail_line(r, "not a time in seconds:", first_tab + 1, err);
    return check_times(r, start, end, line, err) && add_label(r, start, end, name, err);
}

/* `bytes` has one more byte at its end. */
static bool parse(reader *r, char *bytes, size_t size, io_error *err)
{
    char *end = bytes + size, *line = bytes;

    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    while (line < end) {
        char *next = memchr(line, '\n', (size_t)(end - line));
        char *stop = next ? next : end;
        if (stop > line && stop[-1] == '\r')
            stop--;
        r->line++;
        if (!parse_line(r, line, stop, err))
            return false;
        line = next ? next + 1 : end;
    }
    return r->labels.count > 0 || io_fail(err, IO_BAD_INPUT, "%s: there are no labels", r->name);
}

bool io_labels_read(const char *path, io_labels *out, io_error *err)
{
    reader r = {.name = strcmp(path, "-") == 0 ? "standard input" : path};
    unsigned char *bytes;
    size_t size;

    *out = (io_labels){0};
    if (!io_slurp(path, &bytes, &size, err))
        return false;
    char *text = malloc(size + 1);
    bool ok = text != NULL;
    if (ok) {
        memcpy(text, bytes, size);
        ok = parse(&r, text, size, err);
    } else {
        io_no_memory(err, r.name);
    }
    free(text);
    free(bytes);
    if (ok)
        *out = r.labels;
    else
        io_labels_free(&r.labels);
    return ok;
}

void io_labels_free(io_labels *labels)
{
    for (int64_t i = 0; i < labels->count; i++)
        free(labels->label[i].name);
    free(labels->label);
    *labels = (io_labels){0};
}

/* ---- writing ------------------------------------------------------------------------------ */

static void add_line(io_buffer *buffer, const io_label *label)
{
    char times[800]; /* two doubles of up to 309 digits */
    int n = snprintf(times, sizeof times, "%.6f\t%.6f\t", label->start, label->end);

    io_buffer_add(buffer, times, (size_t)n);
    for (const char *c = label->name ? label->name : ""; *c; c++) /* a label is one line */
        io_buffer_add(buffer, (unsigned char)*c < ' ' ? " " : c, 1);
    io_buffer_add(buffer, "\n", 1);
}

bool io_labels_write(const char *path, const io_labels *labels, io_error *err)
{
    io_buffer buffer = {0};

    for (int64_t i = 0; i < labels->count; i++) {
        const io_label *label = &labels->label[i];
        if (!(label->start >= 0 && label->end >= label->start && isfinite(label->end))) {
            io_fail(err, IO_NO_OUTPUT, "%s: label %lld lasts from %g to %g s", path, (long long)i,
                    label->start, label->end);
            return io_buffer_publish(&buffer, false, path, err);
        }
        add_line(&buffer, label);
    }
    return io_buffer_publish(&buffer, true, path, err);
}

/* ---- names of files ----------------------------------------------------------------------- */

enum { STEM = 120 }; /* bytes; names may have 255, extensions and temporary names need some */

/* The device that a name stands for on Windows whatever its extension: CON, NUL, COM1, .. */
static bool is_reserved(const char *stem)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul"};
    size_t length = strcspn(stem, ".");

    while (length > 0 && stem[length - 1] == ' ')
        length--;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (length == 3 && strncasecmp(stem, devices[i], 3) == 0)
            return true;
    return length == 4 && stem[3] >= '0' && stem[3] <= '9' &&
           (strncasecmp(stem, "com", 3) == 0 || strncasecmp(stem, "lpt", 3) == 0);
}

/* At most `most` bytes, no character cut in two. */
static void cut(char *stem, size_t most)
{
    if (strlen(stem) <= most)
        return;
    while (most > 0 && ((unsigned char)stem[most] & 0xc0) == 0x80)
        most--;
    stem[most] = '\0';
}

/* Characters that turn the direction of text (U+200E and F, U+202A to E, U+2066 to 9) would show a
 * name as another one; C1 controls (U+0080 to 9F) reach terminals as commands. */
static void drop_directions(char *stem)
{
    char *to = stem;

    for (const unsigned char *c = (const unsigned char *)stem; *c;) {
        bool turns =
            c[0] == 0xe2 &&
            ((c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae))) ||
             (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
        bool controls = c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f;
        if (turns || controls)
            *to++ = '_';
        else
            *to++ = (char)*c;
        c += turns ? 3 : controls ? 2 : 1;
    }
    *to = '\0';
}

/* `stem` is a buffer of STEM + 2 bytes. */
static void make_safe(const char *name, char *stem)
{
    name += strspn(name, " .-"); /* "..", hidden files, what looks like an option */
    snprintf(stem, STEM + 2, "%s", name);
    cut(stem, STEM);
    for (char *c = stem; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127 || strchr("/\\<>:\"|?*", *c))
            *c = '_';
    drop_directions(stem);
    for (size_t n = strlen(stem); n > 0 && (stem[n - 1] == ' ' || stem[n - 1] == '.'); n--)
        stem[n - 1] = '\0';
    if (stem[0] == '\0')
        snprintf(stem, STEM + 2, "source");
    if (is_reserved(stem)) {
        cut(stem, STEM - 1);
        memmove(stem + 1, stem, strlen(stem) + 1);
        stem[0] = '_';
    }
}

static bool is_taken(const char *stem, char *const *stems, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (strcasecmp(stem, stems[i]) == 0)
            return true;
    return false;
}

/* "piano", then "piano-2", .. */
static char *new_stem(const char *name, char *const *stems, int64_t count)
{
    char stem[STEM + 2], ending[32];

    make_safe(name, stem);
    size_t length = strlen(stem);
    for (int64_t number = 2; is_taken(stem, stems, count); number++) {
        int n = snprintf(ending, sizeof ending, "-%lld", (long long)number);
        stem[length] = '\0';
        cut(stem, STEM - (size_t)n);
        length = strlen(stem);
        memcpy(stem + length, ending, (size_t)n + 1);
    }
    return strdup(stem);
}

bool io_safe_stems(const char *const *names, int64_t count, char **stems, io_error *err)
{
    for (int64_t i = 0; i < count; i++)
        stems[i] = NULL;
    for (int64_t i = 0; i < count; i++) {
        stems[i] = new_stem(names[i], stems, i);
        if (stems[i])
            continue;
        for (int64_t k = 0; k < i; k++) {
            free(stems[k]);
            stems[k] = NULL;
        }
        return io_no_memory(err, names[i]);
    }
    return true;
}
