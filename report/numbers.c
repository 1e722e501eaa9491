/* Every figure of a summary with the sentence that explains it, and how to repeat the run. */
#include "report/report.h"

#include <string.h>

static const char *find(const char *const (*texts)[2], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, texts[i][0]) == 0)
            return texts[i][1];
    return NULL;
}

/* What the tables of the library do not have. */
static const char *own_help(const char *name)
{
    static const char *const texts[][2] = {
        {"command", "the command that wrote this"},
        {"seed", "seed of the random starts"},
        {"k", "rank: the number of components"},
        {"certificate_means", "what the certificate says, or why there is none"},
        {"file", "the file that was read"},
        {"frames", "number of samples of the recording, all channels of a time counted once"},
        {"release", "samples that a source may go on sounding after its label"},
        {"labels", "label track that says who plays when"},
        {"gain", "factor on all stems, so that none is clipped"},
        {"clipped", "samples of the stems that did not fit their format"},
        {"remix_si_sdr", "SI-SDR in dB on remixed parts of the recording"},
        {"eps_rel", "floor as a fraction of the mean power"},
        {"model", "the model file"},
        {"stems", "the files of the stems"},
        {"activations", "the file of the activations"},
        {"chain_holds", "whether TL-NMF has the smaller C and I, JD the smaller L, as theory says"},
        {"repeat", "the command line"},
        {"page", "the file of this page"},
        {"eps_from", "how eps was chosen: the default, an option, or what the command found"},
        {"learnt_model", "the model that was applied: its Phi, W and eps were kept"},
        {"I_per_entry", "I divided by the entries of V: how badly W H describes these data"},
        {"model_I_per_entry", "the same of the data that the model was fitted to"},
        {"fits", "whether the model describes these data as well as those it was learnt from"},
        {"verdict", "what to expect of the stems; none for another recording than the model's"},
        {"unexplained_learnt", "the same of the recording that the model was learnt from"},
        {"resampled_from", "the rate of the file, before it was brought to the model's"},
        {"trace_stages", "what the numbers of the stages in the trace mean"},
        {"rank_by", "how the number of components was chosen"},
        {"rank_folds", "number of folds that every rank was compared on"},
        {"rank_folds_wanted", "number of folds that were asked for"},
        {"rank_complete", "whether all ranks were compared on all folds"},
        {"rank_other_by", "another way of choosing the number of components, for comparison"},
    };
    return find(texts, sizeof texts / sizeof *texts, name);
}

/* Options of the program that say how its input was read, and where starts came from. */
static const char *given_help(const char *name)
{
    static const char *const texts[][2] = {
        {"input", "what the array holds: data or covariances"},
        {"init-phi", "Phi that the fit started from"},
        {"init-w", "W that the fit started from"},
        {"init-h", "H that the fit started from"},
        {"init", "where the start came from"},
        {"keep", "what of the start was kept as it is"},
        {"weights", "file of the weights of the frames"},
        {"mask", "file of the mask of the entries of V"},
        {"block", "so many consecutive frames are realisations of a single one"},
        {"moving", "so many frames around each frame are realisations of it"},
        {"axes", "what the axes of the array are"},
        {"per-trial", "every trial has frames of its own"},
        {"missing", "NaN in the array is a frame that is missing"},
        {"header", "whether a table has a row of names"},
        {"index", "whether a table has a column of numbers of its rows"},
    };
    return find(texts, sizeof texts / sizeof *texts, name);
}

static const char *result_help(const char *name)
{
    const char *known;
    for (size_t i = 0; (known = tlnmf_result_name(i)) != NULL; i++)
        if (strcmp(known, name) == 0)
            return tlnmf_result_help(i);
    return NULL;
}

static const char *option_help(const char *command, const char *name)
{
    static const char *const tasks[] = {"fit", "jd", "separate", "stems", "apply"};
    const char *help = command == NULL ? NULL : tlnmf_option_help(command, name);
    for (size_t i = 0; help == NULL && i < sizeof tasks / sizeof *tasks; i++)
        help = tlnmf_option_help(tasks[i], name);
    return help;
}

static const char *help_of(const page_model *m, const char *group, const char *name)
{
    const char *help = NULL;
    if (strcmp(group, "options") == 0)
        help = option_help(page_word(m, "command"), name);
    if (strcmp(group, "given") == 0)
        help = given_help(name);
    if (help == NULL)
        help = own_help(name);
    if (help == NULL)
        help = result_help(name);
    if (help == NULL)
        help = option_help(page_word(m, "command"), name);
    return help == NULL ? "" : help;
}

/* False for objects and long lists, which have rows of their own or none. */
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
    case JSON_NULL:
        page_raw(page, "none");
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
    return !json_is_object(value) &&
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
    const char *key, *repeat = tlnmf_get_text(m->about, "command");
    json_t *value;
    if (repeat == NULL)
        repeat = page_word(m, "repeat");
    if (repeat != NULL) {
        page_raw(page, "<p>This repeats it:</p><p class=\"repeat\"><code id=\"repeat\">");
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
