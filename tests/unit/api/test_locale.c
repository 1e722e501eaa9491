/* Numbers in text have a decimal point even if the host's locale has a decimal comma. */
#include "support.h"

#include <locale.h>
#include <unistd.h>

static bool has_comma(void)
{
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

/* Creates a locale with a decimal comma, by localedef in a new folder. */
static bool make_locale(void)
{
    static const char source[] = "LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"\"\n"
                                 "grouping -1\nEND LC_NUMERIC\n";
    char folder[] = "tlnmf-locale-XXXXXX", command[256];
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(command, sizeof command, "%s/source", folder);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fputs(source, file);
    fclose(file);
    /* -c: writes the locale although localedef warns of missing parts and returns 1 */
    snprintf(command, sizeof command, "localedef -c -i %s/source ./%s/comma >/dev/null 2>&1",
             folder, folder);
    if (system(command) == -1) /* NOLINT(cert-env33-c): a test may */
        return false;
    setenv("LOCPATH", folder, 1);
    bool found = setlocale(LC_NUMERIC, "comma") != NULL && has_comma();
    snprintf(command, sizeof command, "rm -rf ./%s", folder);
    return system(command) == 0 && found; /* NOLINT(cert-env33-c) */
}

/* Whether numbers of the C library now have a decimal comma. */
static bool enter_comma_locale(void)
{
    static const char *const names[] = {"", "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_NUMERIC, names[i]) != NULL && has_comma())
            return true;
    return make_locale();
}

static void numbers_have_a_point(void **state)
{
    (void)state;
    if (!enter_comma_locale()) {
        print_message("no locale with a decimal comma, and no localedef to make one\n");
        skip();
    }
    char text[64];
    snprintf(text, sizeof text, "%.1f", 2.5);
    assert_string_equal(text, "2,5"); /* the host's format */
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_text(ctx, settings, "eps-rel", "2.5e-3"));
    assert_true(tlnmf_settings_get_real(settings, "eps-rel") == 2.5e-3);
    assert_string_equal(tlnmf_settings_get_text(settings, "eps-rel", text, sizeof text), "0.0025");
    assert_ok(ctx, tlnmf_settings_set_real(ctx, settings, "gamma", 0.75));
    assert_string_equal(tlnmf_settings_get_text(settings, "gamma", text, sizeof text), "0.75");
    assert_string_equal(tlnmf_option_default("frames", "taper", text, sizeof text), "0.1");
    assert_int_equal(tlnmf_settings_set_text(ctx, settings, "gamma", "0,75"), TLNMF_ERR_OPTION);
    assert_string_equal(tlnmf_message(ctx), "gamma = 0,75 is not a number");
    snprintf(text, sizeof text, "%.1f", 2.5);
    assert_string_equal(text, "2,5"); /* and it is unchanged */
    tlnmf_settings_free(settings);
    tlnmf_ctx_free(ctx);
}

/* Keeps the last state. */
static int keep(const tlnmf_record *state, void *user)
{
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_record **last = user;
    tlnmf_record_free(*last);
    assert_ok(ctx, tlnmf_record_create(ctx, last));
    assert_ok(ctx, tlnmf_join_states(ctx, *last, state));
    tlnmf_ctx_free(ctx);
    return 0;
}

/* A host with a decimal comma resumes the checkpoint of one without. */
static void checkpoints_have_a_point(void **state)
{
    (void)state;
    enum { M = 4, N = 12 };
    double Y[M * N];
    tlnmf_ctx *ctx = new_ctx();
    tlnmf_settings *settings;
    tlnmf_record *model, *last = NULL;
    for (int i = 0; i < M * N; i++)
        Y[i] = sin(0.7 * i * i);
    tlnmf_data *data = data_of(ctx, Y, 1, M, N);
    assert_ok(ctx, tlnmf_settings_create(ctx, "fit", &settings));
    assert_ok(ctx, tlnmf_settings_set_all(ctx, settings, "k=2 J=10"));
    assert_non_null(setlocale(LC_NUMERIC, "C"));
    tlnmf_ctx_set_checkpoint(ctx, 0.0, keep, &last);
    assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
    tlnmf_record_free(model);
    assert_non_null(last);
    if (enter_comma_locale()) {
        tlnmf_ctx_set_resume(ctx, last);
        assert_ok(ctx, tlnmf_fit(ctx, data, settings, NULL, &model));
        tlnmf_record_free(model);
    }
    tlnmf_record_free(last);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_have_a_point),
                                       cmocka_unit_test(checkpoints_have_a_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
