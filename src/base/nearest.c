/* The name that a wrong name was probably meant to be. */
#include "base/base.h"

enum { LONGEST = 63 };

/* Common names of our options elsewhere, such as in scikit-learn; all in plain form (see below). */
static const struct {
    const char *theirs, *ours;
} synonyms[] = {{"n-components", "k"},   {"components", "k"},       {"rank", "k"},
                {"n-sources", "k"},      {"max-iter", "j"},         {"maxiter", "j"},
                {"iterations", "j"},     {"n-iter", "j"},           {"random-state", "seed"},
                {"n-init", "starts"},    {"restarts", "starts"},    {"n-jobs", "threads"},
                {"jobs", "threads"},     {"tolerance", "tol"},      {"epsilon", "eps"},
                {"algorithm", "solver"}, {"timeout", "max-seconds"}};

/* Lower case, with - for _, so that these differences do not count. */
static int plain(const char *word, char text[LONGEST + 1])
{
    int length = 0;
    for (; length < LONGEST && word[length] != '\0'; length++) {
        char c = word[length];
        text[length] = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    text[length] = '\0';
    return word[length] == '\0' ? length : 0; /* 0: too long to be a name */
}

/* The number of letters to insert, remove, replace or exchange with a neighbour. */
static int edits(const char *a, int n, const char *b, int m)
{
    int row[3][LONGEST + 1];
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int least = before[j - 1] + (a[i - 1] != b[j - 1]);
            least = before[j] + 1 < least ? before[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two_before[j - 2] + 1 < least)
                least = two_before[j - 2] + 1;
            now[j] = least;
        }
    }
    return row[n % 3][m];
}

static bool are_synonyms(const char *a, const char *b)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        const char *theirs = synonyms[i].theirs, *ours = synonyms[i].ours;
        if ((strcmp(a, theirs) == 0 && strcmp(b, ours) == 0) ||
            (strcmp(a, ours) == 0 && strcmp(b, theirs) == 0))
            return true;
    }
    return false;
}

/* Names that begin with the word are preferred to others, and of equally near names the shortest.
 */
const char *tlnmf_nearest(const char *word, const char *const *names, size_t count)
{
    char wrong[LONGEST + 1], name[LONGEST + 1];
    const char *found = NULL;
    if (word == NULL || names == NULL)
        return NULL;
    int length = plain(word, wrong), best = 2 * (length / 3 + 1), shortest = 0;
    for (size_t i = 0; length > 0 && i < count; i++) {
        if (names[i] == NULL)
            continue;
        int other = plain(names[i], name), distance = 2 * edits(wrong, length, name, other);
        if (length >= 3 && strncmp(name, wrong, (size_t)length) == 0)
            distance = distance > 1 ? 1 : distance;
        if (are_synonyms(wrong, name))
            distance = -1;
        if (distance < best || (distance == best && other < shortest)) {
            best = distance;
            shortest = other;
            found = names[i];
        }
    }
    return found;
}
