/* Checks of the names in labels: mistyped names, one name for everything, frequencies. */
#include "sound/judge/label_checks.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- texts ----------------------------------------------------------------------------------- */

static bool continues(char byte) /* a UTF-8 character */
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The bytes of at most `most` that do not end within a character. */
static size_t cut_length(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length > most)
        for (length = most; length > 0 && continues(text[length]);)
            length--;
    return length;
}

const char *tl_label_quote(const char *name, char text[TL_QUOTED])
{
    size_t length = cut_length(name, TL_QUOTED - 5);
    snprintf(text, TL_QUOTED, "\"%.*s%s\"", (int)length, name, name[length] != '\0' ? ".." : "");
    return text;
}

const char *tl_label_place(const tlnmf_sound *sound, const tl_span *label, char text[TL_PLACE])
{
    enum { MOST = 48 };
    const char *path = tlnmf_record_get_text(sound->record, "label_file");
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *file = slash != NULL ? slash + 1 : path != NULL ? path : "";
    size_t length = cut_length(file, MOST);
    text[0] = '\0';
    if (label->line > 0)
        snprintf(text, TL_PLACE, "%.*s%s%sline %lld, ", (int)length, file,
                 file[length] != '\0' ? ".." : "", length > 0 ? " " : "", (long long)label->line);
    size_t used = strlen(text);
    double hundredths = floor(100.0 * (double)label->start / sound->rate + 0.5);
    snprintf(text + used, TL_PLACE - used, "%.10g s", hundredths / 100.0);
    return text;
}

/* ---- names that look alike ------------------------------------------------------------------- */

/* The first letter at which two texts differ, not within a character. */
static size_t common(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && tolower((unsigned char)a[n]) == tolower((unsigned char)b[n]))
        n++;
    while (n > 0 && (continues(a[n]) || continues(b[n])))
        n--;
    return n;
}

/* The text after its first character. */
static const char *next(const char *text)
{
    for (text += *text != '\0'; continues(*text);)
        text++;
    return text;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Whether the byte ends a word: the end, a space, a hyphen, .. */
static bool ends(char byte)
{
    return byte == '\0' || strchr(" _-.()[]/", byte) != NULL;
}

/* Whether names that differ at a[n] and b[n] are numbered there, by digits or by letters: a letter
 * that is a word, or a capital at the end of a word. */
static bool is_numbered(const char *a, const char *b, size_t n)
{
    if (is_digit(a[n]) || is_digit(b[n])) /* also "violin" and "violin2" */
        return true;
    bool both = a[n] != '\0' && b[n] != '\0' && ends(*next(a + n)) && ends(*next(b + n));
    bool word = n == 0 || ends(a[n - 1]);
    return both && (word || (isupper((unsigned char)a[n]) && isupper((unsigned char)b[n])));
}

static bool same(const char *a, const char *b)
{
    size_t n = common(a, b);
    return a[n] == '\0' && b[n] == '\0';
}

bool tl_names_look_alike(const char *a, const char *b)
{
    const size_t least = 4; /* shorter names, such as abbreviations, are often a letter apart */
    size_t n = common(a, b);
    if (same(a, b))
        return true; /* only case differs */
    if (strlen(a) < least || strlen(b) < least || is_numbered(a, b, n))
        return false;
    const char *x = a + n, *y = b + n;
    bool swapped = *x != '\0' && *y != '\0' && x[0] == y[1] && x[1] == y[0] && same(x + 2, y + 2);
    return same(next(x), next(y)) || same(next(x), y) || same(x, next(y)) || swapped;
}

/* Whether labels of the two names overlap, but not at the same times as the notes of a chord: two
 * sources. Looks at the first labels only, if there are very many. */
static bool sound_together(const tlnmf_sound *sound, int64_t k, int64_t l)
{
    const int64_t most = 2000, near = tl_samples(0.05, sound->rate);
    int64_t count = tl_min(sound->span_count, most);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; sound->span[i].source == k && j < count; j++) {
            const tl_span *a = &sound->span[i], *b = &sound->span[j];
            bool overlap = tl_min(a->end, b->end) - tl_max(a->start, b->start) > near;
            bool chord = llabs(a->start - b->start) <= near && llabs(a->end - b->end) <= near;
            if (b->source == l && overlap && !chord)
                return true;
        }
    return false;
}

static const tl_span *first_of(const tlnmf_sound *sound, int64_t source)
{
    const tl_span *label = sound->span;
    while (label->source != source && label + 1 < sound->span + sound->span_count)
        label++;
    return label;
}

void tl_check_names(const tlnmf_sound *sound, uint64_t alike[TL_SOURCES_MAX], tl_caveats *caveats)
{
    enum { SHOWN = 4 };
    int64_t found = 0;
    char name[2][TL_QUOTED], place[2][TL_PLACE];
    memset(alike, 0, TL_SOURCES_MAX * sizeof *alike);
    for (int64_t k = 0; k < sound->sources; k++)
        for (int64_t l = k + 1; l < sound->sources; l++) {
            uint64_t both = (uint64_t)1 << k | (uint64_t)1 << l;
            if (!tl_names_look_alike(sound->name[k], sound->name[l]) || sound_together(sound, k, l))
                continue;
            alike[k] |= both;
            alike[l] |= both;
            caveats->sources |= both;
            if (found++ < SHOWN)
                tl_caveats_add(caveats, both,
                               "the names %s (%s) and %s (%s) %s: if they are one source, "
                               "correct one of them",
                               tl_label_quote(sound->name[k], name[0]),
                               tl_label_place(sound, first_of(sound, k), place[0]),
                               tl_label_quote(sound->name[l], name[1]),
                               tl_label_place(sound, first_of(sound, l), place[1]),
                               same(sound->name[k], sound->name[l]) ? "differ only in case"
                                                                    : "are nearly the same");
        }
    if (found > SHOWN)
        tl_caveats_add(caveats, 0, "and %lld more names are nearly the same as another",
                       (long long)(found - SHOWN));
}
