/* The headline of a page, and the scores of a separation. */
#include "report/report.h"

#include <math.h>
#include <string.h>

static const json_t *find(const page_model *m, const char *name)
{
    const json_t *at = m->summary;
    const char *dot = strchr(name, '.');
    char key[64];
    if (dot != NULL) {
        snprintf(key, sizeof key, "%.*s", (int)(dot - name), name);
        at = json_object_get(at, key);
        name = dot + 1;
    }
    return json_object_get(at, name);
}

double page_value(const page_model *m, const char *name)
{
    const json_t *value = find(m, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const char *page_word(const page_model *m, const char *name)
{
    return json_string_value(find(m, name));
}

static void say_number(io_buffer *page, const char *before, double x, const char *after)
{
    char text[32];
    page_raw(page, before);
    page_raw(page, page_number(x, text));
    page_raw(page, after);
}

/* ---- a separation ---------------------------------------------------------------------------- */

static double score_at(const page_model *m, const char *name, int64_t source)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x = tlnmf_record_get_array(m->record, name, NULL, shape);
    return x != NULL && source < shape[0] ? x[source] : (double)NAN;
}

static void say_sources(io_buffer *page, const page_model *m)
{
    page_format(page, " was separated into %lld source%s: ", (long long)m->sources,
                m->sources == 1 ? "" : "s");
    for (int64_t k = 0; k < m->sources; k++) {
        page_raw(page, k == 0 ? "<b>" : k + 1 == m->sources ? "</b> and <b>" : "</b>, <b>");
        page_text(page, page_source(m, k));
    }
    page_raw(page, "</b>.");
}

/* The warnings that the program prints. */
static void say_caveats(io_buffer *page, const page_model *m)
{
    const char *caveat = tlnmf_record_get_text_at(m->record, "caveats", 0);
    if (caveat == NULL)
        return;
    page_raw(page, "<ul class=\"notes\" aria-label=\"Warnings\">");
    for (size_t i = 1; caveat != NULL;
         caveat = tlnmf_record_get_text_at(m->record, "caveats", i++)) {
        page_raw(page, "<li>");
        page_text(page, caveat);
        page_raw(page, "</li>");
    }
    page_raw(page, "</ul>");
}

/* What limits the estimate. */
static void say_limits(io_buffer *page, const page_model *m, bool known)
{
    double coverage = tlnmf_record_get_real(m->record, "coverage");
    bool guided = page_word(m, "labels") != NULL;
    say_caveats(page, m);
    if (known && !guided)
        page_raw(page, "<p>8 of 10 stems in tests without labels were in the range. For single "
                       "notes the estimate is often far too low, for speech and noise it may be "
                       "far too high.</p>");
    else if (known)
        page_raw(page, "<p>8 of 10 stems of instruments in tests were in the range. For speech and "
                       "noise the estimate may be far too high. It cannot detect notes assigned to "
                       "the wrong player, such as octaves, or labels that are missing while "
                       "another source sounds.</p>");
    if (guided && coverage < 0.995)
        page_format(page,
                    "<p><b>Not covered:</b> %.0f %% of the labelled time in the mixture has notes "
                    "that were never heard alone.</p>",
                    100.0 * (1.0 - coverage));
    if (json_is_null(find(m, "labels")))
        page_raw(page, "<p><b>No labels:</b> this separates notes, not players.</p>");
}

/* Whether the model was learnt from this recording: else its verdict is about another one. */
static bool is_own(const page_model *m)
{
    return !json_is_null(find(m, "verdict"));
}

/* How well a model explains a recording that it was not learnt from. */
static void say_applied(io_buffer *page, const page_model *m)
{
    page_raw(page, "<p><b>How well:</b> not estimated. A model can only be judged on the recording "
                   "that it was learnt from. Listen to the stems.</p>");
    if (json_is_false(find(m, "fits")))
        page_format(page,
                    "<p class=\"notes\">The model does not explain %.0f %% of the power: the "
                    "recording has other sources or other notes than the model. Put solo takes "
                    "before the recording, label them, and use <code>tlnmf separate</code>.</p>",
                    100.0 * page_value(m, "unexplained"));
}

static void say_quality(io_buffer *page, const page_model *m)
{
    double sum = 0.0, score = page_value(m, "separation.remix_si_sdr");
    int64_t known = 0;
    bool caveats = tlnmf_record_get_text_at(m->record, "caveats", 0) != NULL;
    bool compared = m->sources > 0 && isfinite(score_at(m, "agreement", 0)); /* with others */
    for (int64_t k = 0; k < m->sources; k++)
        if (isfinite(score_at(m, "expected_sdr", k))) {
            sum += score_at(m, "expected_sdr", k);
            known++;
        }
    if (known > 0)
        page_format(page,
                    "<p><b>How well:</b> expect %.0f dB SI-SDR on average; the table has the range "
                    "of each stem. At 20 dB a stem sounds clean, at 10 dB others are audible, at "
                    "0 dB they are as loud as the source.</p>",
                    sum / (double)known);
    else if (caveats && compared)
        page_raw(page, "<p><b>How well:</b> not estimated; the warnings say why.</p>");
    else
        page_format(page, "<p><b>How well:</b> not estimated%s. Listen to the stems.</p>",
                    compared ? ""
                             : " with --method, --per-source, --transform dct|dft, or --window "
                               "with --frame or --hop");
    say_limits(page, m, known > 0);
    double remixes = page_value(m, "separation.remixes");
    double candidates = page_value(m, "separation.candidates");
    if (isfinite(score) && (known > 0 || !compared)) /* else wrong labels make it high */
        page_format(page,
                    "<p><b>How sure:</b> %.0f candidate%s compared on %.0f remix%s of passages "
                    "of the recording, whose sources are known. The best candidate in use reaches "
                    "%.1f dB.</p>",
                    candidates, candidates == 1.0 ? " was" : "s were", remixes,
                    remixes == 1.0 ? "" : "es", score);
    else if (known > 0 && !caveats)
        page_raw(page, "<p><b>How sure:</b> nothing could be checked. To check the result, label "
                       "passages in which one source plays alone.</p>");
    const char *reason = tlnmf_record_get_text(m->record, "reason");
    if (reason != NULL && reason[0] != '\0') {
        page_raw(page, "<p><b>Why this number of sources:</b> ");
        page_text(page, reason);
        page_raw(page, "</p>");
    }
}

static void say_separation(io_buffer *page, const page_model *m, const page_sound *sound)
{
    const char *file = page_word(m, "sound.file");
    page_raw(page, "<p class=\"lead\">");
    page_text(page, file != NULL       ? file
                    : sound->count > 0 ? sound->track[0].path
                                       : "The recording");
    if (sound->count > 0 && sound->track[0].readable)
        page_format(page, " (%.3g s, %d channel%s, %d Hz)",
                    (double)sound->track[0].info.frames / sound->track[0].info.rate,
                    sound->track[0].info.channels, sound->track[0].info.channels == 1 ? "" : "s",
                    sound->track[0].info.rate);
    say_sources(page, m);
    page_raw(page, "</p>");
    if (is_own(m))
        say_quality(page, m);
    else
        say_applied(page, m);
}

void page_scores(io_buffer *page, const page_model *m)
{
    static const struct {
        const char *name, *format;
        double scale;
    } columns[] = {{"expected_sdr", "<td>%.1f</td>", 1.0},  {"expected_low", "<td>%.1f</td>", 1.0},
                   {"expected_high", "<td>%.1f</td>", 1.0}, {"agreement", "<td>%.1f</td>", 1.0},
                   {"share", "<td>%.0f</td>", 100.0},       {"overlap", "<td>%.0f</td>", 100.0}};
    if (!m->separated || m->sources == 0 || !is_own(m))
        return;
    page_raw(
        page,
        "<p class=\"caption\" id=\"scores\">What to expect of each stem. From, to: the range that "
        "holds for 8 of 10 stems. Agreement: how alike the candidates' stems are; above 20 dB is "
        "good, below 15 dB is poor. Overlap: the share of the stem's energy while others may "
        "sound.</p>"
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-labelledby=\"scores\"><table "
        "class=\"scores\" aria-labelledby=\"scores\"><thead><tr><th scope=\"col\">source</th>"
        "<th scope=\"col\">SI-SDR, dB</th><th scope=\"col\">from</th>"
        "<th scope=\"col\">to</th><th scope=\"col\">agree&shy;ment, dB</th>"
        "<th scope=\"col\">energy, %</th><th scope=\"col\">over&shy;lap, %</th></tr></thead>"
        "<tbody>");
    for (int64_t k = 0; k < m->sources; k++) {
        page_raw(page, "<tr><th scope=\"row\">");
        page_text(page, page_source(m, k));
        page_raw(page, "</th>");
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            double x = columns[c].scale * score_at(m, columns[c].name, k);
            char cell[64];
            snprintf(cell, sizeof cell, columns[c].format, x);
            page_raw(page, isfinite(x) ? cell
                           : c == 0    ? "<td>not estimated</td>"
                                       : "<td>&ndash;</td>");
        }
        page_raw(page, "</tr>");
    }
    page_raw(page, "</tbody></table></div>");
}

/* ---- a fit ----------------------------------------------------------------------------------- */

static const char *stop_words(const page_model *m)
{
    const char *outcome = page_word(m, "outcome");
    for (int i = TLNMF_OUTCOME_NOT_RUN; outcome != NULL && i <= TLNMF_OUTCOME_TIME; i++) {
        static const char *const words[] = {
            "it has not run",
            "it converged: the objective no longer changes",
            "it converged: the gradient vanishes",
            "it reached the maximum number of iterations and may not have converged",
            "no step improves the objective",
            "it was cancelled; this is the result so far",
            "the time limit ended it; this is the result so far"};
        if (strcmp(outcome, tlnmf_outcome_name((tlnmf_outcome)i)) == 0)
            return words[i];
    }
    return outcome;
}

static void say_method(io_buffer *page, const page_model *m, const char *was)
{
    const char *method = page_word(m, "method");
    bool jd = method != NULL && strcmp(method, "jd") == 0;
    bool nmf = method != NULL && strcmp(method, "nmf") == 0;
    bool whitened = tlnmf_record_get_array(m->record, "unmixing", NULL, NULL) != NULL;
    if (m->K == 0)
        page_format(page, " %s jointly diagonalised: one %s for all covariances.", was,
                    whitened ? "unmixing (whitening, then an orthogonal transform)"
                             : "orthogonal transform");
    else
        page_format(page,
                    " %s decomposed into %lld component%s %s: C = %.10g, of which L = %.10g is "
                    "the transform's part and I = %.6g is the misfit of W H.",
                    was, (long long)m->K, m->K == 1 ? "" : "s",
                    nmf  ? "with a fixed transform (NMF)"
                    : jd ? "after joint diagonalisation (JD+NMF)"
                         : "with a learnt transform (TL-NMF)",
                    page_value(m, "C"), page_value(m, "L"), page_value(m, "I"));
    if (m->K == 0 && isfinite(page_value(m, "L")))
        say_number(page, " L = ", page_value(m, "L"), ".");
}

static void say_certificate(io_buffer *page, const page_model *m)
{
    double certificate = page_value(m, "certificate"), entries = (double)m->M * (double)m->N;
    const char *means = page_word(m, "certificate_means");
    if (m->K == 0)
        return;
    page_raw(page, "<p><b>How sure:</b> ");
    if (isfinite(certificate)) {
        say_number(page, "C lies at most ", certificate, " above the lowest possible C");
        if (entries > 0.0)
            page_format(page, " (%.3g per entry of V)", certificate / entries);
        page_raw(page, ", if the run found the global minimum of L. The search cannot prove "
                       "that; the more starts end at the same L, the likelier it is.</p>");
        return;
    }
    page_raw(page, "C may be above the lowest possible C by an unknown amount. Certificate: ");
    page_text(page, means != NULL ? means : "none");
    page_raw(page, ".</p>");
}

const char *page_title(const page_model *m, char text[64])
{
    const char *method = page_word(m, "method"), *title = tlnmf_record_get_text(m->about, "title");
    bool jd = method != NULL && strcmp(method, "jd") == 0;
    bool nmf = method != NULL && strcmp(method, "nmf") == 0;
    if (title != NULL)
        return title;
    if (m->separated)
        return "A separation";
    if (m->K == 0)
        return "Joint diagonalisation";
    snprintf(text, 64, "%s with %lld component%s",
             nmf  ? "NMF"
             : jd ? "JD+NMF"
                  : "TL-NMF",
             (long long)m->K, m->K == 1 ? "" : "s");
    return text;
}

/* Models of the Python package do not hold S, but the number of independent realisations, which of
 * powers is another one. */
static double realisations(const page_model *m)
{
    const char *input = tlnmf_record_get_text(m->record, "given.input");
    double S = page_value(m, "data.S");
    bool unknown = !isfinite(S) && (input == NULL || strcmp(input, "power") != 0);
    return unknown ? page_value(m, "realisations") : S;
}

/* Which start the result is from, and how many starts agree. */
static void say_starts(io_buffer *page, const page_model *m)
{
    double starts = page_value(m, "starts"), completed = page_value(m, "starts_completed");
    double agree = page_value(m, "starts_agree"), best = page_value(m, "best_start");
    double all = completed > starts ? completed : starts;
    if (starts > 1.0 && best < starts)
        page_format(page, " of start %.0f of %.0f", best + 1.0, all);
    else if (starts > 1.0 && best >= starts) /* method auto, exchange */
        page_raw(page, " of the start from JD+NMF");
    page_raw(page, ".");
    if (completed > 1.0)
        page_format(page, " %.0f of %.0f completed starts%s found the best minimum.", agree,
                    completed,
                    completed > starts + 1.0 ? " (some of them from JD+NMF)"
                    : completed > starts     ? " (one of them from JD+NMF)"
                                             : "");
}

static void say_fit(io_buffer *page, const page_model *m)
{
    const char *file = page_word(m, "data.file"), *stop = stop_words(m);
    double iterations = page_value(m, "iterations"), S = realisations(m);
    page_raw(page, "<p class=\"lead\">");
    page_text(page, file != NULL ? file : "The data");
    page_raw(page, " (");
    if (m->N > 0)
        page_format(page, "%lld ", (long long)m->N);
    page_format(page, "frames of length %lld", (long long)m->M);
    if (S > 1.0)
        page_format(page, ", %.0f realisations", S);
    page_raw(page, ")");
    say_method(page, m, file != NULL ? "was" : "were");
    page_raw(page, "</p>");
    say_caveats(page, m);
    if (stop != NULL) {
        page_raw(page, "<p><b>Why it stopped:</b> ");
        page_text(page, stop);
        if (isfinite(iterations))
            page_format(page, ", after %.0f iteration%s", iterations, iterations == 1.0 ? "" : "s");
        say_starts(page, m);
        page_raw(page, "</p>");
    }
    say_certificate(page, m);
}

void page_headline(io_buffer *page, const page_model *m, const page_sound *sound)
{
    if (m->separated)
        say_separation(page, m, sound);
    else
        say_fit(page, m);
    if (json_array_size(m->notes) == 0)
        return;
    page_raw(page, "<ul class=\"notes\" aria-label=\"Notes\">");
    for (size_t i = 0; i < json_array_size(m->notes); i++) {
        page_raw(page, "<li>");
        page_text(page, json_string_value(json_array_get(m->notes, i)));
        page_raw(page, "</li>");
    }
    page_raw(page, "</ul>");
}
