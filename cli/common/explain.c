/* --explain: the numbers of a summary in a sentence each, with what is good and what is not. */
#include "cli/common/summary.h"

#include <stdlib.h>
#include <string.h>

/* The label that a line of the summary begins with, and what to say of it. */
static const struct {
    const char *label, *text;
} sentences[] = {
    {"components by",
     "The table compares numbers of components k by data that the fit has not seen; lower is "
     "better. "
     "A k is as good as the best one if it is above it by less than the standard error."},
    {"strongest atoms", "Atoms are rows of Phi. An error below 0.05 is a clean sinusoid; near 1 it "
                        "is none at all, and "
                        "its frequency and note mean nothing."},
    {"C ",
     "C is what TL-NMF minimises: up to a constant and a factor the negative log-likelihood of the "
     "data. Lower is better, but only fits of the same data with the same eps can be compared."},
    {"L ",
     "L is how far the covariances are from being diagonal in Phi. It does not depend on W and H. "
     "Lower is better, at the same data and eps."},
    {"I ",
     "I = C - L is how badly W H describes the power V, in nats; 0 is perfect. Divide by M N: "
     "below "
     "0.01 an entry the fit is close. With S realisations chance alone leaves about 1 / S."},
    {"method",
     "What --method auto chose. JD+NMF is the answer where TL-NMF could gain next to nothing."},
    {"TL-NMF", "What TL-NMF reached. It should have the lower C and I of the two."},
    {"JD+NMF", "What JD+NMF reached. It should have the lower L of the two."},
    {"certificate",
     "An upper bound on how much lower C could get at all. Below 0.01 per entry nothing is left to "
     "gain. It rests on a search: it holds if that found the least L."},
    {"eps",
     "The floor added to V and W H: smaller powers do not matter. It should be about the power of "
     "the noise. If most of V lies below it, the floor decides the result; if nothing does, tiny "
     "powers do, and small eps makes the problem hard."},
    {"eps check", "The same fit at a third and at three times eps. Less than 0.01 per entry and "
                  "more than 90 % of "
                  "the energy in the same atoms: the result does not depend on eps."},
    {"stopped",
     "Whose run ended, why, and at which iteration. Converged is good. If all iterations were "
     "done, "
     "a larger -J goes on; --init continues where this ended. If no step improves the objective, "
     "rounding is reached: good if the gradient is small."},
    {"gradient",
     "The norm of the gradient over Phi: below 1e-5 is a minimum (or a saddle), above 1e-2 the run "
     "was cut short. Orthogonality is the largest entry of |Phi Phi' - I|: 1e-13 or less is "
     "rounding."},
    {"time", "Wall-clock time, and the processor time of all threads."},
    {"model", "The file with Phi, W, H and this summary: `tlnmf info` lists it."},
};
enum { SENTENCES = sizeof sentences / sizeof *sentences };

/* Words in lines of at most 100 columns. */
static void print_wrapped(FILE *out, const char *text)
{
    const size_t indent = 4, width = 100;
    size_t column = indent;
    fputs("   ", out);
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column + length + 1 > width) {
            fputs("\n   ", out);
            column = indent;
        }
        fprintf(out, " %.*s", (int)length, text);
        column += length + 1;
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

static void explain(FILE *out, size_t i)
{
    size_t length = strlen(sentences[i].label);
    while (length > 0 && sentences[i].label[length - 1] == ' ')
        length--;
    fprintf(out, "  %.*s\n", (int)length, sentences[i].label);
    print_wrapped(out, sentences[i].text);
}

/* Whether a line of the page begins with the label, after its indentation. */
static bool has_line(const char *page, const char *label)
{
    for (const char *line = page; line != NULL && *line != '\0';) {
        size_t indent = strspn(line, " ");
        if (indent <= 2 && strncmp(line + indent, label, strlen(label)) == 0)
            return true;
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return false;
}

void cli_explain_all(FILE *out)
{
    for (size_t i = 0; i < SENTENCES; i++)
        explain(out, i);
}

void cli_print_explained(FILE *out, const cli_call *call, const cli_result *r)
{
    char *page = NULL;
    size_t size;
    FILE *memory = cli_common_values.explain == NULL ? NULL : open_memstream(&page, &size);
    cli_print_result(memory == NULL ? out : memory, call, r);
    if (memory == NULL)
        return;
    if (fclose(memory) == 0) {
        fputs(page, out);
        fputs("\nwhat these mean\n", out);
        for (size_t i = 0; i < SENTENCES; i++)
            if (has_line(page, sentences[i].label) || (i == 0 && r->rank_table != NULL))
                explain(out, i);
    }
    free(page);
}
