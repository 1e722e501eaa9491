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

/* Publishes a file. The caller frees its bytes, also if the call fails. */
static int write_file(rep *r, const char *name, rep_writer write, const void *of, char **bytes)
{
    size_t size = 0;
    *bytes = NULL;
    FILE *out = open_memstream(bytes, &size);
    if (out == NULL)
        return rep_no_memory(r);
    write(out, of);
    bool whole = ferror(out) == 0;
    return fclose(out) == 0 && whole ? rep_publish(r, name, *bytes, size) : rep_no_memory(r);
}

int rep_file(rep *r, const char *name, rep_writer write, const void *of)
{
    char *bytes;
    int code = write_file(r, name, write, of, &bytes);
    free(bytes);
    return code;
}

typedef struct figure_of {
    const rep_figure *figure;
    const void *of;
    bool quick;
} figure_of;

static void write_figure(FILE *out, const void *of)
{
    const figure_of *f = of;
    const double height = f->figure->height;
    plot_begin(out, f->figure->width, f->quick ? height + 20.0 : height);
    f->figure->draw(out, f->of);
    if (f->quick)
        plot_text(out, 8.0, height + 10.0, "start", 12.0,
                  "quick version: not comparable with the paper");
    plot_end(out);
}

int rep_figure_write(rep *r, const rep_figure *figure, const void *of)
{
    char *svg;
    int code = write_file(r, figure->name, write_figure, &(figure_of){figure, of, r->quick}, &svg);
    if (code == EXIT_DONE)
        json_array_append_new(r->figures,
                              json_pack("{s:s, s:s}", "title", figure->title, "svg", svg));
    free(svg);
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
    return rep_file(r, name, write_csv, &(csv){header, rows, stride, values});
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
                        .legend = PLOT_BESIDE};
}

/* ---- the summary ----------------------------------------------------------------------------- */

const char *rep_full(const rep *r, const char *claim)
{
    return r->quick ? "" : claim;
}

static const char *const verdicts[] = {
    [REP_VIOLATED] = "violated",          [REP_NOT_REPRODUCED] = "not reproduced",
    [REP_SATISFIED] = "satisfied",        [REP_REPRODUCED] = "reproduced",
    [REP_LOWER] = "lower than published", [REP_UNCLAIMED] = "violates the theory, not claimed",
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
    bool silent = none && verdict != REP_UNCLAIMED;
    json_t *row = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o}", "experiment", r->experiment,
                            "what", what, "published", cli_real(published), "ours", cli_real(ours),
                            "difference", cli_real(ours - published), "claim", claim, "holds",
                            none ? json_null() : json_boolean(verdict >= REP_SATISFIED), "verdict",
                            silent ? json_null() : json_string(verdicts[verdict]));
    if (json_array_append_new(r->rows, row) != 0)
        r->failed = true;
}

/* Counts of rows: with a claim, with one that holds, without a claim but with a published value,
 * and by verdict. */
typedef struct tally {
    int claims, held, without_tolerance, count[REP_VERDICTS];
} tally;

static tally count_rows(const rep *r)
{
    tally t = {0};
    size_t i;
    json_t *row;
    json_array_foreach(r->rows, i, row)
    {
        const json_t *holds = json_object_get(row, "holds");
        const char *word = json_string_value(json_object_get(row, "verdict"));
        t.claims += json_is_boolean(holds);
        t.held += json_is_true(holds);
        t.without_tolerance +=
            !json_is_boolean(holds) && json_is_number(json_object_get(row, "published"));
        for (int v = 0; v < REP_VERDICTS; v++)
            t.count[v] += word != NULL && strcmp(word, verdicts[v]) == 0;
    }
    return t;
}

/* "25 of 25 claims hold: 20 satisfied, 5 reproduced. 3 published values have no tolerance." */
static void write_verdict(FILE *out, const rep *r)
{
    tally t = count_rows(r);
    fprintf(out, "%d of %d claims hold", t.held, t.claims);
    for (int v = 0, written = 0; v < REP_UNCLAIMED; v++)
        if (t.count[v] > 0)
            fprintf(out, "%s%d %s", written++ == 0 ? ": " : ", ", t.count[v], verdicts[v]);
    fputc('.', out);
    if (t.without_tolerance > 0)
        fprintf(out, " %d published value%s no tolerance.", t.without_tolerance,
                t.without_tolerance == 1 ? " has" : "s have");
    if (r->quick)
        fputs(" The quick version is too short to compare with the paper.", out);
}

/* Why rows have no verdict, or violate the theory; `begin` and `end` enclose each paragraph. */
static void write_reasons(FILE *out, const rep *r, const char *begin, const char *end)
{
    tally t = count_rows(r);
    if (t.without_tolerance > 0)
        fprintf(out,
                "%sValues without a tolerance belong to the GCM data at S = 1 and to the music "
                "notes.\nAt S = 1 the paper's algorithms stop far from the minimum, and rounding "
                "changes their results.\nThe phases of the authors' notes are unknown for S > 10, "
                "and their I(JD+NMF) at S = 10 is not\nreproduced. "
                "docs/measurements/reproduction.md describes the differences.%s",
                begin, end);
    if (t.count[REP_UNCLAIMED] > 0)
        fprintf(out,
                "%sRows that violate the theory: %d. Its inequalities hold at the minima, but the "
                "paper's algorithms\nstop after a fixed number of iterations. These rows have no "
                "claim.%s",
                begin, t.count[REP_UNCLAIMED], end);
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

static const char *version_name(const rep *r)
{
    return r->quick ? "the quick version" : "in full";
}

/* summary.md */
static void write_summary(FILE *out, const void *of)
{
    const rep *r = of;
    fprintf(out, "# The paper's experiments, %s\n\n", version_name(r));
    write_verdict(out, r);
    fputs("\n\n", out);
    write_reasons(out, r, "", "\n\n");
    fprintf(out, "tlnmf %s, %s\n\n", tlnmf_version(), tlnmf_blas());
    fputs("| experiment | what | published | ours | difference | claim | verdict |\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    write_rows(out, r, false);
}

static void print_files(const rep *r)
{
    size_t i;
    json_t *name;
    json_array_foreach(r->files, i, name)
    {
        printf("%s%s", i == 0 ? "\nFiles: " : ", ", json_string_value(name));
    }
    putchar('\n');
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
          "text-align:left}</style></head>\n<body>",
          out);
    fprintf(out, "<h1>The paper's experiments, %s</h1>\n<p>", version_name(r));
    write_verdict(out, r);
    fputs("</p>\n", out);
    write_reasons(out, r, "<p>", "</p>\n");
    fprintf(out, "<p>tlnmf %s</p>\n", tlnmf_version());
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
    int code = text == NULL ? rep_no_memory(r) : rep_file(r, "summary.md", write_summary, r);
    if (code == EXIT_DONE)
        code = rep_file(r, "summary.json", write_line, text);
    if (code == EXIT_DONE)
        code = rep_file(r, "index.html", write_index, r);
    if (code == EXIT_DONE && cli_asked.json != NULL)
        write_line(stdout, text);
    else if (code == EXIT_DONE) {
        write_summary(stdout, r);
        print_files(r);
    }
    free(text);
    json_decref(all);
    return code;
}
