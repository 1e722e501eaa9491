/* The tables of all values of a summary, with explanations, and the command that repeats the run.
 */
#include "report/report.h"

#include <string.h>

/* Values of the program's summary that are not in the tables of the library. */
static const char *own_help(const char *name)
{
    static const char *const texts[][2] = {
        {"command", "the command that wrote this"},
        {"repeat", "the command line that repeats the run"},
        {"file", "the file that was read"},
        {"model", "the model file"},
        {"page", "the file of this page"},
        {"activations", "the file of the activations"},
        {"k", "rank: the number of components"},
        {"eps_rel", "floor as a fraction of the mean power"},
        {"certificate_means", "the meaning of the certificate, or why it is missing"},
        {"frames", "samples per channel of the recording"},
        {"labels", "label track: when each source plays"},
        {"gain", "gain applied to all stems to avoid clipping"},
        {"clipped", "samples of the stems that did not fit their format"},
        {"remix_si_sdr", "SI-SDR in dB on remixed parts of the recording"},
        {"stems", "the files of the stems"},
        {"eps_from", "how eps was chosen: the default, an option, or the choice of the command"},
        {"learnt_model", "the model that was applied, with its Phi, W and eps"},
        {"verdict",
         "expected quality of the stems; only for the recording that the model was learnt from"},
        {"unexplained_learnt", "unexplained, for the recording that the model was learnt from"},
        {"resampled_from", "rate of the file before it was resampled to the model's"},
        {"trace_stages", "meaning of the numbers of the stages in the trace"},
        {"rank_complete", "whether all ranks were compared on all folds"},
        {"rank_other_by", "another way of choosing the number of components, for comparison"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i][0]) == 0)
            return texts[i][1];
    return NULL;
}

static const char *option_help(const char *command, const char *name)
{
    static const char *const tasks[] = {"fit", "jd", "learn", "separate", "apply"};
    const char *help = command == NULL ? NULL : tlnmf_option_help(command, name);
    for (size_t i = 0; help == NULL && i < sizeof tasks / sizeof *tasks; i++)
        help = tlnmf_option_help(tasks[i], name);
    return help;
}

static const char *help_of(const page_model *m, const char *group, const char *name)
{
    if (strcmp(group, "given") == 0)
        return "an option of the command";
    const char *help =
        strcmp(group, "options") == 0 ? option_help(page_word(m, "command"), name) : own_help(name);
    size_t index = io_result_index(name);
    if (help == NULL && index < tlnmf_result_count())
        help = tlnmf_result_help(index);
    return help != NULL ? help : option_help(page_word(m, "command"), name);
}

/* False for objects, which have separate tables, and for values that are unknown. */
static bool put_value(io_buffer *page, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        page_text(page, json_string_value(value));
        return true;
    case JSON_INTEGER:
        page_format(page, "%lld", (long long)json_integer_value(value));
        return true;
    case JSON_REAL:
        page_format(page, "%.12g", json_real_value(value));
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        page_raw(page, json_is_true(value) ? "yes" : "no");
        return true;
    case JSON_ARRAY:
        for (size_t i = 0; i < json_array_size(value); i++) {
            page_raw(page, i == 0 ? "" : ", ");
            page_text(page, json_string_value(json_array_get(value, i)));
        }
        return true;
    default:
        return false;
    }
}

static bool is_shown(const json_t *value)
{
    return !json_is_object(value) && !json_is_null(value) &&
           !(json_is_array(value) && !json_is_string(json_array_get(value, 0)));
}

static void put_group(io_buffer *page, const page_model *m, const json_t *object, const char *group)
{
    const char *key;
    json_t *value;
    page_raw(page, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"");
    page_text(page, group[0] == '\0' ? "results" : group);
    page_raw(page, "\"><table class=\"numbers\"><caption>");
    page_text(page, group[0] == '\0' ? "results" : group);
    page_raw(page, "</caption><thead><tr><th scope=\"col\">name</th><th scope=\"col\">value</th>"
                   "<th scope=\"col\">what it is</th></tr></thead><tbody>");
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!is_shown(value))
            continue;
        page_raw(page, "<tr><th scope=\"row\">");
        page_text(page, key);
        page_raw(page, "</th><td data-name=\"");
        page_text(page, group);
        page_raw(page, group[0] == '\0' ? "" : ".");
        page_text(page, key);
        page_raw(page, "\">");
        put_value(page, value);
        page_raw(page, "</td><td>");
        page_text(page, help_of(m, group, key));
        page_raw(page, "</td></tr>");
    }
    page_raw(page, "</tbody></table></div>");
}

void page_numbers(io_buffer *page, const page_model *m)
{
    const char *key, *repeat = tlnmf_record_get_text(m->about, "command");
    json_t *value;
    if (repeat == NULL)
        repeat = page_word(m, "repeat");
    if (repeat != NULL) {
        page_raw(page,
                 "<p>Command that repeats the run:</p><p class=\"repeat\"><code id=\"repeat\">");
        page_text(page, repeat);
        page_raw(page, "</code></p>");
    }
    put_group(page, m, m->summary, "");
    json_object_foreach(m->summary, key, value)
    {
        bool has_own_table = strcmp(key, "candidate") == 0;
        if (json_is_object(value) && json_object_size(value) > 0 && !has_own_table)
            put_group(page, m, value, key);
    }
}
