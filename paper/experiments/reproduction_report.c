/* The files of a reproduction: tables, figures, the summary, the page. */
#include "paper/experiments/reproduce.h"

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

bool rep_is_close(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

/* ---- files ----------------------------------------------------------------------------------- */

int rep_file(rep *r, const char *name, const char *title_or_null, rep_writer write, const void *of)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (out == NULL)
        return rep_no_memory(r);
    write(out, of);
    bool whole = ferror(out) == 0;
    int code = fclose(out) == 0 && whole ? rep_publish(r, name, bytes, size) : rep_no_memory(r);
    if (code == EXIT_DONE && title_or_null != NULL)
        json_array_append_new(r->figures,
                              json_pack("{s:s, s:s}", "title", title_or_null, "svg", bytes));
    free(bytes);
    return code;
}

typedef struct csv {
    const char *header;
    int64_t rows, stride;
    const double *values;
} csv;

static void write_csv(FILE *out, const void *of)
{
    const csv *c = of;
    int64_t columns = 1;
    for (const char *at = c->header; (at = strchr(at, ',')) != NULL; at++)
        columns++;
    fprintf(out, "%s\n", c->header);
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double v = c->values[j * c->stride + i];
            if (isfinite(v)) /* else an empty field */
                fprintf(out, "%.12g", v);
            fputc(j + 1 < columns ? ',' : '\n', out);
        }
}

int rep_csv(rep *r, const char *name, const char *header, int64_t rows, int64_t stride,
            const double *values)
{
    return rep_file(r, name, NULL, write_csv, &(csv){header, rows, stride, values});
}

int64_t rep_table_add(rep_table *table, const json_t *cell)
{
    const char *name = table->header;
    for (int j = 0; *name != '\0'; j++) {
        char key[32];
        int length = (int)strcspn(name, ",");
        snprintf(key, sizeof key, "%.*s", length, name);
        table->at[j][table->rows] = rep_number(cell, key);
        name += length + (name[length] == ',');
    }
    return table->rows++;
}

int rep_table_write(rep *r, const char *name, const rep_table *table)
{
    return rep_csv(r, name, table->header, table->rows, REP_MOST_ROWS, table->at[0]);
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

/* ---- the summary ----------------------------------------------------------------------------- */

const char *rep_full(const rep *r, const char *claim)
{
    return r->quick ? "" : claim;
}

static const char *const verdicts[] = {
    [REP_VIOLATED] = "violated",          [REP_NOT_REPRODUCED] = "not reproduced",
    [REP_SATISFIED] = "satisfied",        [REP_REPRODUCED] = "reproduced",
    [REP_LOWER] = "lower than published",
};

void rep_claim(rep *r, double published, double ours, rep_verdict verdict, const char *claim,
               const char *format, ...)
{
    char what[96];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    bool none = claim[0] == '\0';
    if (r->quick)
        published = NAN; /* not comparable */
    if (!isfinite(ours) && verdict >= REP_SATISFIED)
        verdict = REP_VIOLATED;
    json_t *row = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o}", "experiment", r->experiment,
                            "what", what, "published", cli_real(published), "ours", cli_real(ours),
                            "difference", cli_real(ours - published), "claim", claim, "holds",
                            none ? json_null() : json_boolean(verdict >= REP_SATISFIED), "verdict",
                            none ? json_null() : json_string(verdicts[verdict]));
    if (json_array_append_new(r->rows, row) != 0)
        r->failed = true;
}

/* "25 of 25 claims hold: 20 satisfied, 5 reproduced" */
static void write_verdict(FILE *out, const rep *r)
{
    int held = 0, claims = 0, count[REP_VERDICTS] = {0};
    size_t i;
    json_t *row;
    json_array_foreach(r->rows, i, row)
    {
        const json_t *holds = json_object_get(row, "holds");
        const char *word = json_string_value(json_object_get(row, "verdict"));
        claims += json_is_boolean(holds);
        held += json_is_true(holds);
        for (int v = 0; v < REP_VERDICTS; v++)
            count[v] += word != NULL && strcmp(word, verdicts[v]) == 0;
    }
    fprintf(out, "%d of %d claims hold", held, claims);
    for (int v = 0, written = 0; v < REP_VERDICTS; v++)
        if (count[v] > 0)
            fprintf(out, "%s%d %s", written++ == 0 ? ": " : ", ", count[v], verdicts[v]);
}

static const char *not_comparable(const rep *r)
{
    return r->quick ? " The quick version is too short to compare with the paper." : "";
}

static void write_value(FILE *out, const json_t *value, const char *number_format, bool is_html)
{
    const char *text = json_string_value(value);
    if (text != NULL && (strcmp(text, verdicts[REP_VIOLATED]) == 0 ||
                         strcmp(text, verdicts[REP_NOT_REPRODUCED]) == 0))
        fprintf(out, is_html ? "<b>%s</b>" : "**%s**", text);
    else if (json_is_string(value) && is_html)
        plot_escape(out, json_string_value(value));
    else if (json_is_string(value))
        fputs(json_string_value(value), out);
    else if (json_is_number(value))
        fprintf(out, number_format, json_number_value(value));
}

/* The rows of the summary, in Markdown or in HTML. */
static void write_rows(FILE *out, const rep *r, bool is_html)
{
    size_t i;
    json_t *row, *value;
    const char *key;
    json_array_foreach(r->rows, i, row)
    {
        fputs(is_html ? "<tr>" : "|", out);
        json_object_foreach(row, key, value)
        {
            if (strcmp(key, "holds") == 0) /* the verdict says more */
                continue;
            fputs(is_html ? "<td>" : " ", out);
            write_value(out, value, strcmp(key, "difference") == 0 ? "%.3g" : "%.10g", is_html);
            fputs(is_html ? "</td>" : " |", out);
        }
        fputs(is_html ? "</tr>\n" : "\n", out);
    }
}

/* summary.md */
static void write_summary(FILE *out, const void *of)
{
    const rep *r = of;
    fprintf(out, "# The paper's experiments, %s\n\n", r->quick ? "the quick version" : "in full");
    write_verdict(out, r);
    fprintf(out, ".%s\n\ntlnmf %s, %s\n\n", not_comparable(r), tlnmf_version(), tlnmf_blas());
    fputs("| experiment | what | published | ours | difference | claim | verdict |\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    write_rows(out, r, false);
}

/* index.html: the figures, and every claim with its verdict. */
static void write_index(FILE *out, const void *of)
{
    const rep *r = of;
    size_t i;
    json_t *figure;
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\">"
          "<title>The paper's experiments</title>\n"
          "<style>body{font-family:sans-serif;margin:1rem auto;max-width:70rem;padding:0 1rem}"
          "figure{margin:0;overflow-x:auto}figure>svg{max-width:100%;height:auto}"
          "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .5rem;"
          "text-align:left}</style></head>\n<body><h1>The paper's experiments</h1>\n<p>",
          out);
    write_verdict(out, r);
    fprintf(out, ", %s.%s tlnmf %s.</p>\n", r->quick ? "in the quick version" : "in full",
            not_comparable(r), tlnmf_version());
    json_array_foreach(r->figures, i, figure)
    {
        fprintf(out, "<h2>%s</h2>\n<figure>%s</figure>\n",
                json_string_value(json_object_get(figure, "title")),
                json_string_value(json_object_get(figure, "svg")));
    }
    fputs("<h2>Claims</h2>\n<table><thead><tr><th>experiment</th><th>what</th><th>published</th>"
          "<th>ours</th><th>difference</th><th>claim</th><th>verdict</th></tr></thead><tbody>\n",
          out);
    write_rows(out, r, true);
    fputs("</tbody></table></body></html>\n", out);
}

static void write_line(FILE *out, const void *of)
{
    fprintf(out, "%s\n", (const char *)of);
}

int rep_summary(rep *r)
{
    json_t *seconds = json_object();
    for (int i = 0; i < r->cell_count; i++)
        json_object_set_new(seconds, r->cells[i].name,
                            json_real(rep_number(r->cells[i].result, "seconds")));
    json_t *all = json_pack("{s:s, s:s, s:b, s:O, s:O, s:o}", "version", tlnmf_version(), "blas",
                            tlnmf_blas(), "quick", r->quick, "experiments", r->experiments, "table",
                            r->rows, "seconds", seconds);
    char *text = all == NULL ? NULL : cli_json_text(all);
    int code = text == NULL ? rep_no_memory(r) : rep_file(r, "summary.md", NULL, write_summary, r);
    if (code == EXIT_DONE)
        code = rep_file(r, "summary.json", NULL, write_line, text);
    if (code == EXIT_DONE)
        code = rep_file(r, "index.html", NULL, write_index, r);
    if (code == EXIT_DONE && cli_asked.json != NULL)
        write_line(stdout, text);
    else if (code == EXIT_DONE)
        write_summary(stdout, r);
    free(text);
    json_decref(all);
    return code;
}
