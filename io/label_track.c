/* Reads label tracks of Audacity. */
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct label {
    double start, end, low, high;
    int64_t line;
    const char *name; /* in the text of the track */
} label;

typedef struct label_track {
    tlnmf_ctx *ctx;
    const char *name; /* of the file, for messages */
    int64_t line, count, capacity;
    label *label;
} label_track;

static bool fail_line(const label_track *t, const char *what, const char *field)
{
    return io_fail(t->ctx, TLNMF_ERR_INPUT, "%s: line %lld: %s%s%s", t->name, (long long)t->line,
                   what, field ? " " : "", field ? field : "");
}

static bool parse_number(const char *field, double *x)
{
    return io_decimal(field, field + strlen(field), x);
}

static bool is_utf8(const char *at, const char *end)
{
    uint32_t code;
    size_t length = 1;

    for (; at < end && length > 0; at += length)
        length = io_utf8(at, end, &code);
    return length > 0;
}

/* Ends the text before its next TAB and returns the text after it; NULL if there is no TAB. */
static char *split(char *text)
{
    char *tab = strchr(text, '\t');

    if (!tab)
        return NULL;
    *tab = '\0';
    return tab + 1;
}

/* "\ TAB low TAB high": the frequencies of the label before. Audacity writes -1 for a missing
 * bound. */
static bool parse_range(label_track *t, char *line)
{
    char *first = split(line), *second = first ? split(first) : NULL;
    double low, high;

    if (t->count == 0)
        return fail_line(t, "frequencies without a label before them", NULL);
    if (line[1] != '\0' || !second)
        return fail_line(t, "expected a backslash, TAB, lowest frequency, TAB, highest frequency",
                         NULL);
    if (!parse_number(first, &low) || !parse_number(second, &high))
        return fail_line(t, "not a frequency in Hz:", first);
    label *l = &t->label[t->count - 1];
    l->low = fmax(low, 0.0);
    l->high = high > 0.0 ? high : l->low > 0.0 ? 1e12 : 0.0; /* 1e12: no upper bound */
    return l->high >= l->low || fail_line(t, "the highest frequency is below the lowest", NULL);
}

static bool add_label(label_track *t, const label *added)
{
    if (t->count == t->capacity) {
        int64_t capacity = 2 * t->capacity + 16;
        label *larger = realloc(t->label, (size_t)capacity * sizeof *larger);
        if (!larger)
            return io_no_memory(t->ctx, t->name);
        t->label = larger;
        t->capacity = capacity;
    }
    t->label[t->count++] = *added;
    return true;
}

/* "start TAB end TAB name"; the name may be missing. */
static bool parse_label(label_track *t, char *line)
{
    char *second = split(line), *name = second ? split(second) : NULL;
    label l = {.line = t->line, .name = name ? name : ""};

    if (!second)
        return fail_line(t, "expected start, TAB, end, TAB, name; the line has no TAB", NULL);
    if (!parse_number(line, &l.start) || !parse_number(second, &l.end))
        return fail_line(t, "not a time in seconds:", parse_number(line, &l.start) ? second : line);
    if (!isfinite(l.start) || !isfinite(l.end))
        return fail_line(t, "a time is too large:", isfinite(l.start) ? second : line);
    if (l.start < 0 || l.end < 0)
        return fail_line(t, "a time is negative:", l.start < 0 ? line : second);
    if (l.end < l.start)
        return fail_line(t, "the label ends before it starts", NULL);
    return add_label(t, &l);
}

/* The byte after the text is overwritten, as are line ends and TABs. */
static bool parse(label_track *t, char *text, size_t size)
{
    char *end = text + size, *line = text;

    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    while (line < end) {
        char *next = memchr(line, '\n', (size_t)(end - line)), *stop = next ? next : end;
        if (stop > line && stop[-1] == '\r')
            stop--;
        t->line++;
        if (!is_utf8(line, stop))
            return fail_line(t, "not UTF-8 text", NULL);
        *stop = '\0';
        if (*line != '\0' && !(*line == '\\' ? parse_range(t, line) : parse_label(t, line)))
            return false;
        line = next ? next + 1 : end;
    }
    return t->count > 0 || io_fail(t->ctx, TLNMF_ERR_INPUT, "%s: it contains no labels", t->name);
}

static bool make_record(const label_track *t, tlnmf_record **out)
{
    static const char *const names[] = {"start", "end", "low", "high", "line"};
    enum { COUNT = 5 };
    double *x[COUNT];
    const char **name = calloc((size_t)t->count + 1, sizeof *name);
    bool ok = name ? tlnmf_record_create(t->ctx, out) == TLNMF_OK : io_no_memory(t->ctx, t->name);

    for (int c = 0; ok && c < COUNT; c++)
        ok = tlnmf_record_new_array(t->ctx, *out, names[c], 1, &t->count, &x[c]) == TLNMF_OK;
    for (int64_t i = 0; ok && i < t->count; i++) {
        const label *l = &t->label[i];
        const double values[] = {l->start, l->end, l->low, l->high, (double)l->line};
        for (int c = 0; c < COUNT; c++)
            x[c][i] = values[c];
        name[i] = l->name;
    }
    ok = ok && tlnmf_record_set_texts(t->ctx, *out, "name", name, (size_t)t->count) == TLNMF_OK;
    ok = ok && tlnmf_record_set_text(t->ctx, *out, "file", t->name) == TLNMF_OK;
    free(name);
    return ok;
}

tlnmf_error tlnmf_io_read_labels(tlnmf_ctx *ctx, const char *path, tlnmf_record **track)
{
    unsigned char *bytes;
    size_t size;

    IO_NEED_OUT(ctx, track, path);
    label_track t = {.ctx = ctx, .name = strcmp(path, "-") == 0 ? "standard input" : path};
    if (!io_slurp(ctx, path, &bytes, &size))
        return io_end(ctx, false);
    locale_t before = io_enter_c_locale();
    bool ok = parse(&t, (char *)bytes, size) && make_record(&t, track);
    io_leave_c_locale(before);
    free(t.label);
    free(bytes);
    return io_end_record(ctx, ok, track);
}
