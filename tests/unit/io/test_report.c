/* Report pages: all kinds of models, missing parts, texts that look like markup, sizes. */
#include "unit/io/test_api.h"

#include <math.h>
#include <time.h>

/* The whole page; free() it. */
static char *read_page(const char *path)
{
    unsigned char *bytes;
    size_t size;
    if (!io_slurp(test_context(), path, &bytes, &size))
        fail_msg("%s", tlnmf_message(test_context()));
    char *text = malloc(size + 1);
    memcpy(text, bytes, size);
    text[size] = '\0';
    assert_int_equal(strlen(text), size); /* no NUL inside */
    free(bytes);
    return text;
}

static void assert_has(const char *page, const char *text)
{
    if (strstr(page, text) == NULL)
        fail_msg("the page lacks %s", text);
}

static void assert_lacks(const char *page, const char *text)
{
    if (strstr(page, text) != NULL)
        fail_msg("the page has %s", text);
}

static double noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 16777216.0;
}

/* A model with the identity for Phi and random W and H. */
static tlnmf_record *model_of(tlnmf_ctx *ctx, int64_t M, int64_t N, int64_t K)
{
    tlnmf_record *model;
    unsigned seed = 1;
    double *Phi, *W, *H;
    assert_ok(ctx, tlnmf_record_create(ctx, &model));
    assert_ok(ctx, tlnmf_record_new_array(ctx, model, "Phi", 2, (int64_t[]){M, M}, &Phi));
    assert_ok(ctx, tlnmf_transform_matrix(ctx, "dct", M, Phi));
    assert_ok(ctx, tlnmf_record_new_array(ctx, model, "W", 2, (int64_t[]){M, K}, &W));
    assert_ok(ctx, tlnmf_record_new_array(ctx, model, "H", 2, (int64_t[]){K, N}, &H));
    for (int64_t i = 0; i < M * K; i++)
        W[i] = noise(&seed);
    for (int64_t i = 0; i < K * N; i++)
        H[i] = noise(&seed);
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "C", -12.25));
    assert_ok(ctx, tlnmf_record_set_real(ctx, model, "eps", 1e-3));
    return model;
}

static void add_trace(tlnmf_ctx *ctx, tlnmf_record *model, int64_t rows)
{
    static const char *const names[] = {"trace.stage", "trace.iteration", "trace.C",
                                        "trace.L",     "trace.I",         "trace.step"};
    for (size_t c = 0; c < sizeof names / sizeof *names; c++) {
        double *x;
        assert_ok(ctx, tlnmf_record_new_array(ctx, model, names[c], 1, &rows, &x));
        for (int64_t i = 0; i < rows; i++)
            x[i] = c == 0 ? 0.0 : c == 1 ? (double)i : i % 3 == 0 ? NAN : 1.0 / (double)(i + 1);
    }
}

/* ---- models of all sizes --------------------------------------------------------------------- */

static void small_models(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1}, {1, 7, 1},   {7, 1, 2},
                                       {2, 2, 3}, {5, 900, 1}, {400, 3, 2}};
    tlnmf_ctx *ctx = new_context();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tlnmf_record *model = model_of(ctx, sizes[i][0], sizes[i][1], sizes[i][2]);
        add_trace(ctx, model, 5);
        assert_ok(ctx, tlnmf_io_write_report(ctx, "p.html", model, NULL, NULL));
        char *page = read_page("p.html");
        assert_has(page, "data-name=\"C\">-12.25<");
        assert_has(page, "\"WH\":{\"type\":\"u8\"");
        assert_lacks(page, ">nan<");
        assert_lacks(page, ":nan");
        free(page);
        tlnmf_record_free(model);
    }
    tlnmf_ctx_free(ctx);
}

/* A transform alone, as of a joint diagonalisation; then W without H. */
static void parts_of_models(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *whole = model_of(ctx, 6, 4, 2), *part;
    assert_ok(ctx, tlnmf_record_create(ctx, &part));
    assert_error(ctx, tlnmf_io_write_report(ctx, "p.html", part, NULL, NULL), TLNMF_ERR_ARGUMENT,
                 "the model has neither Phi nor W");
    assert_ok(ctx, tlnmf_record_set_array(ctx, part, "Phi",
                                          tlnmf_record_get_array(whole, "Phi", NULL, NULL), 2,
                                          (int64_t[]){6, 6}));
    assert_ok(ctx, tlnmf_io_write_report(ctx, "p.html", part, NULL, NULL));
    char *page = read_page("p.html");
    assert_has(page, "jointly diagonalised");
    assert_has(page, "id=\"atom-table\"");
    free(page);
    assert_ok(ctx,
              tlnmf_record_set_array(ctx, part, "W", tlnmf_record_get_array(whole, "W", NULL, NULL),
                                     2, (int64_t[]){6, 2}));
    assert_ok(ctx, tlnmf_io_write_report(ctx, "p.html", part, NULL, NULL));
    const double bad[36] = {1.0, NAN, 0.0, 1.0};
    assert_ok(ctx, tlnmf_record_set_array(ctx, part, "Phi", bad, 2, (int64_t[]){2, 2}));
    assert_error(ctx, tlnmf_io_write_report(ctx, "q.html", part, NULL, NULL), TLNMF_ERR_SHAPE,
                 "the model: W has M = 6, but Phi has M = 2");
    assert_ok(ctx, tlnmf_record_set_array(ctx, part, "Phi", bad, 2, (int64_t[]){6, 6}));
    assert_error(ctx, tlnmf_io_write_report(ctx, "q.html", part, NULL, NULL), TLNMF_ERR_DATA,
                 "the model: Phi is not finite");
    assert_int_equal(access("q.html", F_OK), -1);
    tlnmf_record_free(part);
    tlnmf_record_free(whole);
    tlnmf_ctx_free(ctx);
}

static void settings_must_be_of_task_report(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = model_of(ctx, 8, 5, 2);
    tlnmf_settings *fit, *report;
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &fit));
    assert_error(ctx, tlnmf_io_write_report(ctx, "p.html", model, NULL, fit), TLNMF_ERR_ARGUMENT,
                 "the settings are not of task report");
    assert_ok(ctx, tlnmf_settings_create(ctx, "report", &report));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, report, "atoms", "3"));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, report, "rate", "16000"));
    assert_ok(ctx, tlnmf_io_write_report(ctx, "p.html", model, NULL, report));
    char *page = read_page("p.html");
    assert_has(page, "The 3 strongest of 8 atoms");
    assert_has(page, "frequency (Hz)");
    free(page);
    tlnmf_settings_free(fit);
    tlnmf_settings_free(report);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

/* ---- untrusted texts ------------------------------------------------------------------------- */

static void texts_are_escaped(void **state)
{
    (void)state;
    static const char hostile[] =
        "</script><script>alert(1)</script>\"'&<!--\xff\x01\xe2\x80\xae]]>";
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = model_of(ctx, 4, 5, 2), *about;
    const char *names[] = {hostile, "\"><img src=x onerror=alert(1)>"};
    const double times[2] = {0.0, 1.0};
    assert_ok(ctx, tlnmf_record_set_texts(ctx, model, "names", names, 2));
    assert_ok(ctx, tlnmf_record_set_text(ctx, model, "outcome", hostile));
    assert_ok(ctx, tlnmf_record_create(ctx, &about));
    assert_ok(ctx, tlnmf_record_set_text(ctx, about, "title", hostile));
    assert_ok(ctx, tlnmf_record_set_text(ctx, about, "command", hostile));
    assert_ok(ctx, tlnmf_record_set_text(ctx, about, "recording", "</script>.wav"));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, about, "stems", names, 2));
    assert_ok(ctx, tlnmf_record_set_texts(ctx, about, "name", names, 2));
    assert_ok(ctx, tlnmf_record_set_array(ctx, about, "start", times, 1, (int64_t[]){2}));
    assert_ok(ctx, tlnmf_record_set_array(ctx, about, "end", times, 1, (int64_t[]){2}));
    assert_ok(ctx, tlnmf_io_write_report(ctx, "p.html", model, about, NULL));
    char *page = read_page("p.html");
    assert_has(page, "&lt;/script&gt;&lt;script&gt;alert(1)");
    assert_lacks(page, "<script>alert");
    assert_lacks(page, "<img");
    assert_lacks(page, "<!--");
    assert_lacks(page, "\xff");
    assert_lacks(page, "\xe2\x80\xae");
    int ends = 0; /* of script elements: data, library, script */
    for (const char *at = page; (at = strstr(at, "</script")) != NULL; at++)
        ends++;
    assert_int_equal(ends, 3);
    free(page);
    tlnmf_record_free(about);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* M = 1024, N = 5000, K = 20, 100 atoms, 1000 iterations: at most 3 MB of data. */
static void large_model(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = model_of(ctx, 1024, 5000, 20);
    struct stat status;
    add_trace(ctx, model, 1000);
    assert_ok(ctx, tlnmf_io_write_report(ctx, "large.html", model, NULL, NULL));
    assert_int_equal(stat("large.html", &status), 0);
    assert_in_range(status.st_size, 500000, 3200000);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

/* ---- no memory, no disk ---------------------------------------------------------------------- */

static tlnmf_error write_small(tlnmf_ctx *ctx)
{
    static tlnmf_record *model;
    static tlnmf_ctx *own;
    if (model == NULL) {
        own = new_context();
        model = model_of(own, 4, 5, 2);
    }
    tlnmf_error error = tlnmf_io_write_report(ctx, "m.html", model, NULL, NULL);
    if (error == TLNMF_OK) {
        tlnmf_record_free(model);
        tlnmf_ctx_free(own);
    }
    return error;
}

static void allocations_may_fail(void **state)
{
    (void)state;
    exhaust_context(write_small);
}

static void a_missing_folder_is_an_error(void **state)
{
    (void)state;
    tlnmf_ctx *ctx = new_context();
    tlnmf_record *model = model_of(ctx, 4, 5, 2);
    assert_int_equal(tlnmf_io_write_report(ctx, "nowhere/p.html", model, NULL, NULL),
                     TLNMF_ERR_OUTPUT);
    tlnmf_record_free(model);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_models),
        cmocka_unit_test(parts_of_models),
        cmocka_unit_test(settings_must_be_of_task_report),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(large_model),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(a_missing_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
