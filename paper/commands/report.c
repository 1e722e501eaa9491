/* What a reproduction writes beside its cells: the table, columns of numbers, pictures. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

json_t *rep_numbers(const double *x, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(array, cli_real(x[i]));
    return array;
}

double rep_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

int64_t rep_values(const json_t *array, double *x, int64_t most)
{
    int64_t count = (int64_t)json_array_size(array);
    for (int64_t i = 0; i < most; i++) {
        const json_t *value = json_array_get(array, (size_t)i);
        x[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    return count < most ? count : most;
}

int64_t rep_array(const json_t *object, const char *key, double *x, int64_t most)
{
    return rep_values(json_object_get(object, key), x, most);
}

bool rep_is_close(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

/* Eight parameters: a row of the table as a call site reads it, claim and figures side by side. */
void rep_row_add(rep *r, const char *experiment, double published, double ours, bool holds,
                 const char *claim, const char *format, ...)
{
    rep_row *rows = rep_grow(r, r->rows, r->row_count, &r->row_capacity, sizeof *r->rows);
    if (rows == NULL)
        return;
    r->rows = rows;
    rep_row *row = &r->rows[r->row_count++];
    *row = (rep_row){.experiment = experiment,
                     .published = published,
                     .ours = ours,
                     .holds = holds && isfinite(ours)};
    snprintf(row->claim, sizeof row->claim, "%s", claim);
    va_list args;
    va_start(args, format);
    vsnprintf(row->what, sizeof row->what, format, args);
    va_end(args);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The heading of a picture's file. */
static const char *heading(const char *name)
{
    static const char *const known[][2] = {
        {"fig2-paper.svg", "Figure 2, by the paper's algorithms"},
        {"fig2-fast.svg", "Figure 2, by the fast solvers"},
        {"fig4.svg", "Figure 4"},
        {"theory.svg", "Theorem 4 and Remark 6"},
        {"beyond.svg", "Beyond the paper: fewer realisations, other ranks"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i][0]) == 0)
            return known[i][1];
    return name;
}

/* The panels of a picture, for the page. */
static void note_figure(rep *r, const char *name, const char *svg)
{
    json_t *panels = json_array();
    for (const char *at = svg; (at = strstr(at, PLOT_METADATA)) != NULL;) {
        at += strlen(PLOT_METADATA);
        const char *end = strstr(at, PLOT_METADATA_END);
        if (end == NULL)
            break;
        json_array_append_new(panels, json_loadb(at, (size_t)(end - at), 0, NULL));
    }
    if (json_array_size(panels) > 0)
        json_array_append_new(r->figures,
                              json_pack("{s:s, s:O}", "title", heading(name), "panels", panels));
    json_decref(panels);
}

/* Closes what open_memstream opened and publishes its bytes. */
static int publish_stream(rep *r, const char *name, FILE *out, char **bytes, const size_t *size)
{
    bool whole = ferror(out) == 0;
    int code = fclose(out) == 0 && whole ? EXIT_DONE : rep_no_memory(r);
    if (code == EXIT_DONE)
        code = rep_publish(r, name, *bytes, *size);
    if (code == EXIT_DONE)
        note_figure(r, name, *bytes);
    free(*bytes);
    return code;
}

int rep_csv(rep *r, const char *name, const char *header, int64_t rows, int columns,
            const double *values)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (out == NULL)
        return rep_no_memory(r);
    fprintf(out, "%s\n", header);
    for (int64_t i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double v = values[i * columns + j];
            if (isfinite(v)) /* else an empty field: there is none */
                fprintf(out, "%.12g", v);
            fputc(j + 1 < columns ? ',' : '\n', out);
        }
    return publish_stream(r, name, out, &bytes, &size);
}

int rep_file(rep *r, const char *name, rep_writer write, const void *of)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (out == NULL)
        return rep_no_memory(r);
    write(out, of);
    return publish_stream(r, name, out, &bytes, &size);
}

plot_panel rep_panel_over_S(const char *title, const char *y_label)
{
    return (plot_panel){.title = title,
                        .x_label = "S (realisations)",
                        .y_label = y_label,
                        .x_log = true,
                        .y_log = true,
                        .x_low = 0.7,
                        .x_high = 7000.0,
                        .legend = PLOT_LOWER_LEFT};
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, " %.10g |", x);
    else
        fputs("  |", out);
}

static void write_table(FILE *out, const void *of)
{
    const rep *r = of;
    int held = 0, claims = 0;
    fprintf(out, "# The paper's experiments, %s\n\n", r->quick ? "the quick version" : "in full");
    fprintf(out, "tlnmf %s, %s\n\n", tlnmf_version(), tlnmf_blas());
    fputs("| experiment | what | published | ours | difference | claim | holds |\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < r->row_count; i++) {
        const rep_row *row = &r->rows[i];
        fprintf(out, "| %s | %s |", row->experiment, row->what);
        print_number(out, row->published);
        print_number(out, row->ours);
        if (isfinite(row->ours - row->published))
            fprintf(out, " %.3g |", row->ours - row->published);
        else
            fputs("  |", out);
        fprintf(out, " %s | %s |\n", row->claim,
                row->claim[0] == '\0' ? ""
                : row->holds          ? "yes"
                                      : "**no**");
        claims += row->claim[0] != '\0';
        held += row->claim[0] != '\0' && row->holds;
    }
    fprintf(out, "\n%d of %d claims hold.\n", held, claims);
}

static json_t *table_json(const rep *r)
{
    json_t *table = json_array();
    for (int i = 0; i < r->row_count; i++) {
        const rep_row *row = &r->rows[i];
        json_t *object = json_object();
        json_object_set_new(object, "experiment", json_string(row->experiment));
        json_object_set_new(object, "what", json_string(row->what));
        json_object_set_new(object, "published", cli_real(row->published));
        json_object_set_new(object, "ours", cli_real(row->ours));
        json_object_set_new(object, "difference", cli_real(row->ours - row->published));
        json_object_set_new(object, "claim", json_string(row->claim));
        json_object_set_new(object, "holds",
                            row->claim[0] == '\0' ? json_null() : json_boolean(row->holds));
        json_array_append_new(table, object);
    }
    return table;
}

static void write_line(FILE *out, const void *of)
{
    fprintf(out, "%s\n", (const char *)of);
}

static json_t *summary_json(const rep *r, json_t *chosen)
{
    json_t *seconds = json_object();
    for (int i = 0; i < r->cell_count; i++)
        json_object_set_new(seconds, r->cells[i].name,
                            json_real(rep_number(r->cells[i].result, "seconds")));
    return json_pack("{s:s, s:s, s:b, s:O, s:o, s:o}", "version", tlnmf_version(), "blas",
                     tlnmf_blas(), "quick", r->quick, "experiments", chosen, "table", table_json(r),
                     "seconds", seconds);
}

/* index.html: the figures, and every claim with its verdict. */
static int write_index(rep *r)
{
    char path[CLI_PATH], lead[160];
    int held = 0, claims = 0;
    for (int i = 0; i < r->row_count; i++) {
        claims += r->rows[i].claim[0] != '\0';
        held += r->rows[i].claim[0] != '\0' && r->rows[i].holds;
    }
    snprintf(lead, sizeof lead, "%d of %d claims hold, %s. tlnmf %s.", held, claims,
             r->quick ? "in the quick version" : "in full", tlnmf_version());
    if (snprintf(path, sizeof path, "%s/index.html", r->folder) >= CLI_PATH)
        return cli_fail(r->call->command, EXIT_OUTPUT, "%s: the name is too long", r->folder);
    json_t *all = json_pack("{s:s, s:s, s:O, s:o}", "title", "The paper's experiments, run again",
                            "lead", lead, "figures", r->figures, "rows", table_json(r));
    char *text = all == NULL ? NULL : json_dumps(all, JSON_COMPACT);
    int code = text == NULL ? rep_no_memory(r)
                            : rep_check(r, tlnmf_io_write_figures(r->call->ctx, path, text));
    free(text);
    json_decref(all);
    return code;
}

int rep_summary(rep *r, json_t *chosen)
{
    json_t *all = summary_json(r, chosen);
    char *text = all == NULL ? NULL : cli_json_text(all);
    int code = text == NULL ? rep_no_memory(r) : rep_file(r, "summary.md", write_table, r);
    if (code == EXIT_DONE)
        code = rep_file(r, "summary.json", write_line, text);
    if (code == EXIT_DONE)
        code = write_index(r);
    if (code == EXIT_DONE && cli_common_values.json != NULL)
        write_line(stdout, text);
    else if (code == EXIT_DONE)
        write_table(stdout, r);
    free(text);
    json_decref(all);
    return code;
}
