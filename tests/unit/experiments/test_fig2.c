/* The verdicts, figures and summary of figure 2 on results of the full protocol, made by hand: the
 * quick version, which the test of the program runs, compares nothing with the paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "paper/experiments/reproduce.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = REP_MOST_S * REP_SOLVERS };

typedef struct report {
    rep r;
    cli_call call;
    rep_cell cells[CELLS];
    char folder[32];
} report;

/* GCM results close to the published ones: the searches of both solvers end in the same C. */
static void begin(report *f)
{
    static const double I_jd[REP_MOST_S] = {415.66829, 27.870132, 2.2830648, 0.27157012,
                                            0.046742741},
                        I_tl[REP_MOST_S] = {370.16781, 21.627583, 2.2326012, 0.270913, 0.046727276},
                        C_gap[REP_MOST_S] = {1.0, 3.573, 0.02577, 3.273e-4, 7.7e-6};
    *f = (report){.folder = "/tmp/fig2-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    static const cli_command command = {.name = "reproduce"};
    f->call.command = &command;
    assert_int_equal(tlnmf_ctx_create(&f->call.ctx), TLNMF_OK);
    f->r = (rep){.call = &f->call,
                 .folder = f->folder,
                 .parts = rep_part(REP_GCM, REP_FAST) | rep_part(REP_GCM, REP_PAPER),
                 .cells = f->cells,
                 .experiment = "fig2",
                 .rows = json_array(),
                 .figures = json_array(),
                 .files = json_array()};
    for (int solver = 0; solver < REP_SOLVERS; solver++)
        for (int i = 0; i < REP_MOST_S; i++) {
            rep_cell *cell = &f->cells[f->r.cell_count++];
            *cell =
                rep_search_cell(&f->r, REP_GCM, (int64_t)rep_published_S[i], (rep_solver)solver);
            cell->result =
                json_pack("{s:f, s:f, s:f, s:f, s:f, s:b}", "I_jd", I_jd[i], "I_tl", I_tl[i],
                          "C_jd", 1850.0 + C_gap[i], "C_tl", 1850.0, "L_jd", 0.0, "chain", 1);
            assert_non_null(cell->result);
        }
}

static void set(report *f, const char *cell, const char *key, double value)
{
    json_object_set_new((json_t *)(uintptr_t)rep_result(&f->r, cell), key, cli_real(value));
}

static void run(report *f)
{
    json_array_clear(f->r.rows);
    json_array_clear(f->r.figures);
    assert_int_equal(rep_fig2.report(&f->r), EXIT_DONE);
    assert_false(f->r.failed);
}

static void end(report *f)
{
    DIR *folder = opendir(f->folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
    closedir(folder);
    assert_int_equal(rmdir(f->folder), 0);
    for (int i = 0; i < f->r.cell_count; i++)
        json_decref(f->cells[i].result);
    json_decref(f->r.rows);
    json_decref(f->r.figures);
    json_decref(f->r.files);
    tlnmf_ctx_free(f->call.ctx);
}

/* The row of the summary about this. */
static const json_t *row_of(const report *f, const char *what)
{
    size_t i;
    json_t *row;
    json_array_foreach(f->r.rows, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "what")), what) == 0)
            return row;
    }
    fail_msg("no row about %s", what);
    return NULL;
}

static void assert_verdict(const report *f, const char *what, const char *verdict, bool holds)
{
    const json_t *row = row_of(f, what);
    assert_string_equal(json_string_value(json_object_get(row, "verdict")), verdict);
    assert_int_equal(json_is_true(json_object_get(row, "holds")), holds);
}

static void assert_claim(const report *f, const char *what, const char *claim)
{
    assert_string_equal(json_string_value(json_object_get(row_of(f, what), "claim")), claim);
}

static void published_values_are_reproduced(void **state)
{
    (void)state;
    const char *slope = "GCM, paper: slope of I(JD+NMF) in log-log, S >= 10";
    const char *small = "gcm, paper, S=10: I(JD+NMF)", *large = "gcm, paper, S=100: I(TL-NMF)";
    report f;
    begin(&f);
    run(&f);
    assert_verdict(&f, small, "reproduced", true);
    assert_verdict(&f, large, "reproduced", true);
    assert_verdict(&f, slope, "reproduced", true);
    const json_t *row = row_of(&f, small);
    assert_true(json_number_value(json_object_get(row, "published")) == 27.870132);
    assert_true(json_is_null(json_object_get(row_of(&f, "gcm, paper, S=1: I(JD+NMF)"), "holds")));
    set(&f, "search-gcm-S10-paper", "I_jd", 27.870132 * (1.0 + 2e-3));  /* the claim: 1e-3 */
    set(&f, "search-gcm-S100-paper", "I_tl", 2.2326012 * (1.0 + 2e-6)); /* 1e-6 */
    set(&f, "search-gcm-S5000-paper", "I_jd", 1.0);
    run(&f);
    assert_verdict(&f, small, "not reproduced", false);
    assert_verdict(&f, large, "not reproduced", false);
    assert_verdict(&f, slope, "not reproduced", false);
    set(&f, "search-gcm-S10-paper", "I_jd", NAN);
    run(&f);
    assert_verdict(&f, small, "not reproduced", false);
    end(&f);
}

/* The least C of the paper at S = 1 is 1249.15. */
static void the_fast_search_is_at_least_as_good(void **state)
{
    (void)state;
    static const char both[] = "not above the published nor our run in paper mode";
    const char *first = "gcm, fast, S=1: C(TL-NMF)", *later = "gcm, fast, S=10: C(TL-NMF)",
               *fast = "search-gcm-S1-fast";
    report f;
    begin(&f);
    set(&f, "search-gcm-S1-paper", "C_tl", 1300.0);
    set(&f, fast, "C_tl", 1249.0);
    run(&f);
    assert_verdict(&f, first, "lower than published", true);
    assert_claim(&f, first, both);
    assert_claim(&f, later, "not above our run in paper mode");
    assert_verdict(&f, later, "satisfied", true); /* C of the paper's solver; none is published */
    set(&f, fast, "C_tl", 1249.15);
    run(&f);
    assert_verdict(&f, first, "satisfied", true);
    set(&f, fast, "C_tl", 1249.2); /* better than the paper's solver here, not than published */
    set(&f, "search-gcm-S10-fast", "C_tl", 1850.5);
    run(&f);
    assert_verdict(&f, first, "violated", false);
    assert_verdict(&f, later, "violated", false);
    set(&f, "search-gcm-S1-paper", "C_tl", 1248.0); /* lower than published, but not the lowest */
    set(&f, fast, "C_tl", 1249.0);
    run(&f);
    assert_verdict(&f, first, "violated", false);
    set(&f, fast, "C_tl", NAN);
    run(&f);
    assert_verdict(&f, first, "violated", false);
    f.r.parts = rep_part(REP_GCM, REP_FAST); /* only S = 1 is compared */
    f.r.cell_count = REP_MOST_S;
    set(&f, fast, "C_tl", 1249.0);
    run(&f);
    assert_verdict(&f, first, "lower than published", true);
    assert_claim(&f, first, "not above the published");
    assert_true(json_is_null(json_object_get(row_of(&f, later), "holds")));
    f.r.cell_count = CELLS;
    end(&f);
}

/* Whether the folder's file has the text. */
static bool has(const report *f, const char *name, const char *text)
{
    static char bytes[1 << 16];
    char path[64];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t size = fread(bytes, 1, sizeof bytes - 1, in);
    fclose(in);
    assert_in_range(size, 1, sizeof bytes - 2);
    bytes[size] = '\0';
    return strstr(bytes, text) != NULL;
}

/* The published curves are drawn if they can be compared with. */
static void figures_show_the_published_curves_in_full_only(void **state)
{
    (void)state;
    static const char note[] = "quick version: not comparable with the paper";
    report f;
    begin(&f);
    run(&f);
    assert_true(has(&f, "fig2-fast.svg", "JD+NMF, published"));
    assert_true(has(&f, "fig2-paper.svg", "I_jd - I_tl, published"));
    assert_false(has(&f, "fig2-paper.svg", note));
    assert_false(has(&f, "fig2-paper.svg", "not drawn"));
    set(&f, "search-gcm-S1-paper", "I_jd", 369.0); /* a negative gap */
    set(&f, "search-gcm-S10-paper", "I_jd", NAN);
    run(&f);
    assert_true(has(&f, "fig2-paper.svg", "1 value &lt;= 0 is not drawn"));
    set(&f, "search-gcm-S100-paper", "I_tl", 2.2830648); /* a gap of 0 */
    run(&f);
    assert_true(has(&f, "fig2-paper.svg", "2 values &lt;= 0 are not drawn"));
    f.r.quick = true;
    run(&f);
    assert_false(has(&f, "fig2-fast.svg", "published"));
    assert_true(has(&f, "fig2-fast.svg", note));
    end(&f);
}

/* The summary counts the published values without a tolerance, and says where paper mode violates
 * the theory. */
static void the_summary_says_what_is_not_claimed(void **state)
{
    (void)state;
    const char *gap = "gcm, paper, S=1: C(JD+NMF) - C(TL-NMF)", *I = "gcm, paper, S=1: I(TL-NMF)",
               *verdict = "violates the theory, not claimed";
    report f;
    begin(&f);
    set(&f, "search-gcm-S1-fast", "C_tl", 1249.0);
    f.r.experiments = json_array();
    run(&f);
    assert_int_equal(rep_summary(&f.r), EXIT_DONE);
    assert_true(has(&f, "summary.md",
                    "\n33 of 33 claims hold: 14 satisfied, 18 reproduced, 1 lower "
                    "than published. 3 published values have no tolerance.\n"));
    assert_true(
        has(&f, "summary.md", "\nValues without a tolerance belong to the GCM data at S = 1"));
    assert_true(has(&f, "index.html", "<p>Values without a tolerance belong to the GCM data"));
    assert_false(has(&f, "summary.md", "theory"));
    assert_true(json_is_null(json_object_get(row_of(&f, gap), "verdict")));
    set(&f, "search-gcm-S1-paper", "C_tl", 1851.5);
    set(&f, "search-gcm-S1-paper", "I_tl", 416.0);
    run(&f);
    assert_int_equal(rep_summary(&f.r), EXIT_DONE);
    assert_verdict(&f, gap, verdict, false);
    assert_verdict(&f, I, verdict, false);
    assert_true(json_is_null(json_object_get(row_of(&f, gap), "holds")));
    assert_true(
        has(&f, "summary.md", "\n33 of 33 claims hold: 14 satisfied, 18 reproduced, 1 lower"));
    assert_true(has(&f, "summary.md", "\nRows that violate the theory: 2. "));
    json_decref(f.r.experiments);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values_are_reproduced),
        cmocka_unit_test(the_fast_search_is_at_least_as_good),
        cmocka_unit_test(figures_show_the_published_curves_in_full_only),
        cmocka_unit_test(the_summary_says_what_is_not_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
