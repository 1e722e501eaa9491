/* The page as HTML: its text, tables and sound, and the elements that the script fills. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_head(io_buffer *page, const char *title)
{
    page_raw(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "base-uri 'none'; form-action 'none'; img-src data: blob:; "
                   "media-src data: blob:; script-src ");
    page_format(page, "%s %s; style-src %s\">\n", page_library_hash, page_script_hash,
                page_style_hash);
    page_raw(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n"
                   "<meta name=\"generator\" content=\"tlnmf ");
    page_raw(page, tlnmf_version());
    page_raw(page, "\">\n<title>");
    page_text(page, title);
    page_raw(page, "</title>\n<style>");
    page_raw(page, page_style);
    page_raw(page, "</style></head>\n<body>\n"
                   "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header><h1>");
    page_text(page, title);
    page_raw(page, "</h1>\n");
}

static void put_foot(io_buffer *page, const json_t *data)
{
    page_raw(page, "</main>\n<footer><p>Made by tlnmf ");
    page_raw(page, tlnmf_version());
    page_raw(page, ". Curves are drawn by uPlot, (c) 2022 Leon Sorokin, MIT licence.</p></footer>\n"
                   "<script type=\"application/json\" id=\"data\">");
    page_json(page, data);
    page_raw(page, "</script>\n<script>");
    page_raw(page, page_library);
    page_raw(page, "</script>\n<script>");
    page_raw(page, page_script);
    page_raw(page, "</script>\n</body></html>\n");
}

/* ---- listen ---------------------------------------------------------------------------------- */

static void put_audio(io_buffer *page, const page_track *t, io_packing packing)
{
    if (t->packed.size == 0)
        return;
    page_raw(page, "<audio controls preload=\"metadata\" aria-label=\"");
    page_text(page, t->name);
    page_format(page, "\" src=\"data:audio/%s;base64,", packing == IO_PACKED_FLAC ? "flac" : "ogg");
    page_base64(page, t->packed.bytes, t->packed.size);
    page_raw(page, "\"></audio>");
}

static void put_listen(io_buffer *page, const page_model *m, const page_sound *sound)
{
    if (sound->count == 0)
        return;
    page_raw(page, "<section id=\"listen\" aria-labelledby=\"listen-title\">"
                   "<h2 id=\"listen-title\">Listen</h2>\n<div id=\"transport\"></div>\n"
                   "<div id=\"tracks\">");
    for (int i = 0; i < sound->count; i++) {
        const page_track *t = &sound->track[i];
        page_format(page, "<div class=\"track\" data-track=\"%d\"><h3>", i);
        page_text(page, t->name);
        page_raw(page, "</h3>");
        if (!t->readable)
            page_raw(page, "<p class=\"missing\">This file could not be read.</p>");
        put_audio(page, t, sound->packing);
        page_raw(page, "</div>\n");
    }
    page_raw(page, "</div>\n<div id=\"timeline\"></div>\n");
    page_scores(page, m);
    page_raw(page, "</section>\n");
}

/* ---- atoms ----------------------------------------------------------------------------------- */

/* `total` is 0 if the energy is unknown. */
static void put_atom_row(io_buffer *page, const page_model *m, int64_t i, double total)
{
    const double *row = tlnmf_record_get_array(m->atoms, "row", NULL, NULL);
    const double *energy = tlnmf_record_get_array(m->atoms, "energy", NULL, NULL);
    const double *frequency = tlnmf_record_get_array(m->atoms, "frequency", NULL, NULL);
    const double *cents = tlnmf_record_get_array(m->atoms, "cents", NULL, NULL);
    const double *error = tlnmf_record_get_array(m->atoms, "error", NULL, NULL);
    char number[32];
    page_format(page, "<tr><th scope=\"row\">%.0f</th>", row[i]);
    if (m->unit[0] != '\0')
        page_format(page, "<td>%s</td>", page_number(frequency[i], number));
    if (m->rate > 0.0) {
        page_raw(page, "<td>");
        page_text(page, tlnmf_record_get_text_at(m->atoms, "note", (size_t)i));
        if (isfinite(cents[i]))
            page_format(page, "</td><td>%+.1f</td>", cents[i]);
        else
            page_raw(page, "</td><td></td>");
    }
    if (m->unit[0] != '\0')
        page_format(page, "<td>%.3f</td>", error[i]);
    if (total > 0.0)
        page_format(page, "<td>%.2f %%</td>", 100.0 * energy[i] / total);
    page_raw(page, "</tr>\n");
}

static void put_atoms(io_buffer *page, const page_model *m)
{
    page_raw(page, "<section id=\"atoms\" aria-labelledby=\"atoms-title\">"
                   "<h2 id=\"atoms-title\">Atoms</h2>\n");
    if (strcmp(m->unit, "row") == 0) {
        page_raw(page, "<p>The transform is the identity: a row of V is a row of the data."
                       "</p></section>\n");
        return;
    }
    if (m->atoms == NULL) {
        page_raw(page, "<p>The transform is fixed (STFT): its atoms are windowed sinusoids, one "
                       "pair per frequency. They were not learnt.</p></section>\n");
        return;
    }
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    double total = 0.0;
    tlnmf_record_get_array(m->atoms, "row", NULL, shape);
    for (int64_t r = 0; r < m->M; r++)
        total += m->energy[r];
    bool fitted = m->unit[0] != '\0';
    page_raw(page, "<p>Atoms are the rows of the transform. ");
    page_raw(page, fitted ? "Each is fitted by a cosine; the error is the part of its energy that "
                            "the cosine does not explain."
                          : "Cosines do not fit these atoms, so they have no frequency.");
    page_format(
        page,
        "</p>\n<div id=\"curves\"></div>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
        "aria-label=\"Table of atoms\"><table id=\"atom-table\"><caption>The %lld "
        "%s %lld atoms</caption><thead><tr><th scope=\"col\">row</th>"
        "%s%s%s%s%s%s</tr></thead><tbody>\n",
        (long long)shape[0], total > 0.0 ? "strongest of" : "first of", (long long)m->M,
        fitted ? "<th scope=\"col\">frequency (" : "", m->unit, fitted ? ")</th>" : "",
        m->rate > 0.0 ? "<th scope=\"col\">note</th><th scope=\"col\">cents</th>" : "",
        fitted ? "<th scope=\"col\">error</th>" : "",
        total > 0.0 ? "<th scope=\"col\">share of energy</th>" : "");
    for (int64_t i = 0; i < shape[0]; i++)
        put_atom_row(page, m, i, total);
    page_raw(page, "</tbody></table></div>\n<p id=\"atom-more\"></p></section>\n");
}

/* ---- the page -------------------------------------------------------------------------------- */

/* The title of the section on the run; NULL: there is nothing to show in it. */
static const char *run_title(const page_model *m)
{
    if (!m->separated || tlnmf_record_get_array(m->record, "trace.stage", NULL, NULL) != NULL)
        return "Convergence";
    bool any = tlnmf_record_get_array(m->record, "candidate.score", NULL, NULL) != NULL ||
               tlnmf_record_get_array(m->record, "members", NULL, NULL) != NULL;
    return any ? "Candidates" : NULL;
}

static void put_run(io_buffer *page, const page_model *m)
{
    const char *title = run_title(m);
    page_format(page, "<section id=\"convergence\" %s>",
                title != NULL ? "aria-labelledby=\"convergence-title\"" : "hidden");
    if (title != NULL)
        page_format(page, "<h2 id=\"convergence-title\">%s</h2>\n", title);
    page_raw(page, "<div id=\"traces\">");
    if (tlnmf_record_get_array(m->record, "trace.stage", NULL, NULL) == NULL && !m->separated)
        page_raw(page,
                 "<p>The model has no trace, because it was fitted without the option trace.</p>");
    page_raw(page, "</div>\n<div id=\"candidates\"></div></section>\n");
}

static void put_navigation(io_buffer *page, const page_model *m, const page_sound *sound)
{
    page_raw(page, "</header>\n<nav aria-label=\"Sections\"><ul>");
    if (sound->count > 0)
        page_raw(page, "<li><a href=\"#listen\">Listen</a></li>");
    page_raw(page, "<li><a href=\"#look\">Look</a></li><li><a href=\"#atoms\">Atoms</a></li>");
    if (run_title(m) != NULL)
        page_format(page, "<li><a href=\"#convergence\">%s</a></li>", run_title(m));
    page_raw(page,
             "<li><a href=\"#numbers\">Numbers</a></li></ul></nav>\n"
             "<noscript><p class=\"notes\">Curves and pictures need JavaScript, which is off. "
             "Text");
    page_raw(page, sound->count > 0 ? ", tables and sound" : " and tables");
    page_raw(page, " are below.</p></noscript>\n<main id=\"main\">\n");
}

static void put_look(io_buffer *page, const page_model *m)
{
    page_raw(page, "<section id=\"look\" aria-labelledby=\"look-title\"><h2 id=\"look-title\">Look"
                   "</h2>\n<p>Power of the coefficients, V = |&Phi;Y|<sup>2</sup>");
    page_raw(page, m->K > 0 ? ", and its model W H, in dB on one scale. " : ", in dB. ");
    const char *why = tlnmf_record_get_text(m->about, "without");
    if (m->V == NULL && !m->separated) {
        page_raw(page, "The data are not in the model");
        page_raw(page, why != NULL ? " (" : "");
        page_text(page, why != NULL ? why : "");
        page_raw(page, why != NULL ? ")" : "");
        page_raw(page,
                 m->H != NULL ? ", so only W H is shown. " : ", so there is nothing to show. ");
    }
    if (m->stride > 1)
        page_format(page, "One of every %lld of the %lld frames is shown. ", (long long)m->stride,
                    (long long)m->N);
    page_raw(page, "</p>\n<div id=\"pictures\"></div>\n<div id=\"factors\"></div></section>\n");
}

static void put_page(io_buffer *page, const page_model *m, const page_sound *sound,
                     const json_t *data)
{
    char title[64];
    put_head(page, page_title(m, title));
    page_headline(page, m, sound);
    put_navigation(page, m, sound);
    put_listen(page, m, sound);
    put_look(page, m);
    put_atoms(page, m);
    put_run(page, m);
    page_raw(page, "<section id=\"numbers\" aria-labelledby=\"numbers-title\">"
                   "<h2 id=\"numbers-title\">Numbers</h2>\n<div id=\"downloads\"></div>\n");
    page_numbers(page, m);
    page_raw(page, "</section>\n");
    put_foot(page, data);
}

/* ---- the call -------------------------------------------------------------------------------- */

static tlnmf_error make(page_model *m, const tlnmf_settings *settings, const char *path)
{
    page_sound sound = {0};
    io_buffer page = {0};
    json_t *data = NULL;
    tlnmf_error error = page_model_read(m, settings);
    if (error == TLNMF_OK)
        error = page_sound_read(&sound, m, tlnmf_settings_get_integer(settings, "no-sound") == 1);
    if (error == TLNMF_OK)
        data = page_data(m, &sound);
    if (error == TLNMF_OK && data == NULL)
        error = io_refuse(m->ctx, TLNMF_ERR_MEMORY, "%s: out of memory for the page", path);
    if (error == TLNMF_OK) {
        put_page(&page, m, &sound, data);
        error = io_end(m->ctx, io_buffer_publish(m->ctx, &page, true, path));
    }
    free(page.bytes);
    json_decref(data);
    page_sound_free(&sound);
    return error;
}

tlnmf_error tlnmf_io_write_report(tlnmf_ctx *ctx, const char *path, const tlnmf_record *model,
                                  const tlnmf_record *about, const tlnmf_settings *settings)
{
    tlnmf_settings *defaults = NULL;
    tlnmf_record *empty = NULL;
    IO_NEED(ctx, ctx);
    IO_NEED(ctx, path);
    IO_NEED(ctx, model);
    tlnmf_error error = tlnmf_settings_create(ctx, "report", &defaults);
    if (error == TLNMF_OK)
        error = tlnmf_record_create(ctx, &empty);
    if (error == TLNMF_OK && settings != NULL &&
        tlnmf_settings_get_integer(settings, "no-sound") == TLNMF_NO_INTEGER)
        error = io_refuse(ctx, TLNMF_ERR_ARGUMENT, "the settings are not of task report");
    if (error == TLNMF_OK) {
        page_model m = {.ctx = ctx, .record = model, .about = about != NULL ? about : empty};
        error = make(&m, settings != NULL ? settings : defaults, path);
        page_model_free(&m);
    }
    tlnmf_record_free(empty);
    tlnmf_settings_free(defaults);
    return error;
}
