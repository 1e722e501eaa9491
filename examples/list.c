/* Lists the options of every task and the values of every kind of record, from the tables of the
 * library. Its output is docs/tables.md:
 *
 *     build/examples/list > docs/tables.md */
#include <tlnmf/tlnmf.h>

#include <stdio.h>
#include <string.h>

enum { WIDTH = 100 };

/* Prints one item of a list on lines of at most WIDTH columns. */
static void print_item(const char *text)
{
    int column = printf("-");
    for (const char *at = text; *at != '\0'; at += strspn(at, " ")) {
        int length = (int)strcspn(at, " ");
        if (column + 1 + length > WIDTH) {
            printf("\n ");
            column = 1;
        }
        column += printf(" %.*s", length, at);
        at += length;
    }
    printf("\n");
}

/* ---- options --------------------------------------------------------------------------------- */

/* The values of an option: "integer, 1 to 10000", "fast|paper". */
static void describe_values(const char *task, const char *name, char *text, size_t size)
{
    double low, high;
    tlnmf_option_range(task, name, &low, &high);
    switch (tlnmf_option_kind_of(task, name)) {
    case TLNMF_OPTION_INTEGER:
        snprintf(text, size, "integer, %.10g to %.10g", low, high);
        break;
    case TLNMF_OPTION_REAL:
        snprintf(text, size, "real, %.10g to %.10g", low, high);
        break;
    case TLNMF_OPTION_SEED:
        snprintf(text, size, "integer, 0 to 2^64 - 1");
        break;
    case TLNMF_OPTION_FLAG:
        snprintf(text, size, "0 or 1");
        break;
    default:
        snprintf(text, size, "%s", tlnmf_option_choices(task, name));
    }
}

static void print_options(const char *task)
{
    const char *name;
    printf("\n### Task `%s`\n\n", task);
    for (size_t i = 0; (name = tlnmf_option_name(task, i)) != NULL; i++) {
        char values[128], fallback[64], item[1024];
        describe_values(task, name, values, sizeof values);
        tlnmf_option_default(task, name, fallback, sizeof fallback);
        snprintf(item, sizeof item, "`%s` (%s; %s%s): %s", name, values,
                 fallback[0] == '\0' ? "no default" : "default ", fallback,
                 tlnmf_option_help(task, name));
        print_item(item);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static int holds(size_t result, const char *record)
{
    size_t length = strlen(record);
    const char *where = tlnmf_result_where(result), *at = where;
    for (; (at = strstr(at, record)) != NULL; at += length)
        if ((at == where || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    return 0;
}

static void print_results(const char *record, const char *meaning)
{
    static const char *const types[] = {"none", "integer", "real", "text", "texts", "array"};
    printf("\n### Record `%s`: %s\n\n", record, meaning);
    for (size_t i = 0; i < tlnmf_result_count(); i++) {
        char item[1024];
        const char *shape = tlnmf_result_shape(i);
        if (!holds(i, record))
            continue;
        snprintf(item, sizeof item, "`%s` (%s%s%s): %s", tlnmf_result_name(i),
                 types[tlnmf_result_type(i)], shape[0] == '\0' ? "" : " ", shape,
                 tlnmf_result_help(i));
        print_item(item);
    }
}

int main(void)
{
    static const char *const records[][2] = {
        {"data", "tlnmf_data_record"},
        {"start", "tlnmf_draw_start, and the start of a fit"},
        {"model", "tlnmf_fit, tlnmf_diagonalise"},
        {"shared", "models and data whose frames are distributed over processes"},
        {"progress", "the argument of a progress function"},
        {"ranks", "tlnmf_compare_ranks"},
        {"applied", "tlnmf_apply"},
        {"likelihood", "tlnmf_likelihood"},
        {"evaluation", "tlnmf_evaluate"},
        {"device", "tlnmf_device"},
        {"atoms", "tlnmf_atoms"},
        {"sound", "tlnmf_sound_record"},
        {"separation", "tlnmf_learn_sources"},
        {"stems", "tlnmf_separate_plan, tlnmf_separate, tlnmf_separate_array"},
        {"activations", "tlnmf_activations"},
        {"scores", "tlnmf_score"},
        {"sample", "tlnmf_simulate_gcm, tlnmf_simulate_notes"},
    };
    const char *task;
    printf("# Options and results\n\nGenerated from the tables of the library by "
           "[examples/list.c](../examples/list.c):\n`build/examples/list > docs/tables.md`. "
           "[library.md](library.md) explains how to use them.\n\n## Options\n");
    for (size_t i = 0; (task = tlnmf_task_name(i)) != NULL; i++)
        print_options(task);
    printf("\n## Results\n\nThe shape of an array is given by the names of sizes: `M,K` is M rows "
           "of K numbers.\n");
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        print_results(records[i][0], records[i][1]);
    return 0;
}
