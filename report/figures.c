/* tlnmf_io_write_figures: a page of figures and claims, in the visual language of the report page.
 */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

static const char *word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static void put_cell(io_buffer *page, const json_t *value)
{
    char number[32];
    page_raw(page, "<td>");
    if (json_is_number(value))
        page_raw(page, page_number(json_number_value(value), number));
    else
        page_text(page, json_string_value(value));
    page_raw(page, "</td>");
}

static void put_row(io_buffer *page, const json_t *row)
{
    const json_t *holds = json_object_get(row, "holds");
    page_raw(page, "<tr><th scope=\"row\">");
    page_text(page, word(row, "experiment"));
    page_raw(page, "</th>");
    put_cell(page, json_object_get(row, "what"));
    put_cell(page, json_object_get(row, "published"));
    put_cell(page, json_object_get(row, "ours"));
    put_cell(page, json_object_get(row, "claim"));
    page_raw(page, json_is_true(holds)    ? "<td class=\"verdict-yes\">holds</td>"
                   : json_is_false(holds) ? "<td class=\"verdict-no\">does not hold</td>"
                                          : "<td></td>");
    page_raw(page, "</tr>\n");
}

static void put_claims(io_buffer *page, const json_t *rows)
{
    size_t i;
    json_t *row;
    page_raw(page, "<section id=\"claims\" aria-labelledby=\"claims-title\">"
                   "<h2 id=\"claims-title\">Claims</h2>\n<div class=\"scroll\" tabindex=\"0\" "
                   "role=\"group\" aria-label=\"Claims\"><table><caption>Published numbers beside "
                   "ours</caption><thead><tr><th scope=\"col\">experiment</th>"
                   "<th scope=\"col\">what</th><th scope=\"col\">published</th>"
                   "<th scope=\"col\">ours</th><th scope=\"col\">claim</th>"
                   "<th scope=\"col\">verdict</th></tr></thead><tbody>\n");
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        put_row(page, row);
    }
    page_raw(page, "</tbody></table></div></section>\n");
}

static void put_figures(io_buffer *page, const json_t *figures)
{
    size_t i;
    json_t *figure;
    json_array_foreach((json_t *)(uintptr_t)figures, i, figure)
    {
        page_format(page, "<section aria-labelledby=\"title-%zu\"><h2 id=\"title-%zu\">", i, i);
        page_text(page, word(figure, "title"));
        page_format(page, "</h2>\n<div class=\"panels\" id=\"figure-%zu\"></div></section>\n", i);
    }
}

static void write_page(io_buffer *page, const json_t *all)
{
    json_t *data =
        json_pack("{s:s, s:O}", "kind", "figures", "figures", json_object_get(all, "figures"));
    page_begin(page, word(all, "title"));
    page_raw(page, "<p class=\"lead\">");
    page_text(page, word(all, "lead"));
    page_raw(page, "</p></header>\n<noscript><p class=\"notes\">Figures need JavaScript, which is "
                   "off; the claims are below.</p></noscript>\n<main id=\"main\">\n");
    put_figures(page, json_object_get(all, "figures"));
    put_claims(page, json_object_get(all, "rows"));
    page_end(page, data);
    json_decref(data);
}

tlnmf_error tlnmf_io_write_figures(tlnmf_ctx *ctx, const char *path, const char *json)
{
    io_buffer page = {0};
    io_error err;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, json);
    json_t *all = json_loads(json, 0, NULL);
    if (!json_is_object(all) || !json_is_array(json_object_get(all, "figures"))) {
        json_decref(all);
        return io_refuse(ctx, TLNMF_ERR_ARGUMENT, "json is not an object with a list of figures");
    }
    write_page(&page, all);
    json_decref(all);
    return io_answer(ctx, io_buffer_publish(&page, true, path, &err), &err);
}
