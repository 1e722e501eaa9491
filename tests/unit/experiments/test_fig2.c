/* The verdicts of the report of figure 2 on results of the full protocol, made by hand: the quick
 * version, which the test of the program runs, compares nothing with the paper. */
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
                        I_tl[REP_MOST_S] = {370.16781, 21.627583, 2.2326012, 0.270913, 0.046727276};
    *f = (report){.folder = "/tmp/fig2-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    static const cli_command command = {.name = "reproduce"};
    f->call.command = &command;
    assert_int_equal(tlnmf_ctx_create(&f->call.ctx), TLNMF_OK);
    f->r = (rep){.call = &f->call,
                 .folder = f->folder,
                 .uses_set = {[REP_GCM] = true},
                 .uses_solver = {true, true},
                 .cells = f->cells,
                 .experiment = "fig2",
                 .rows = json_array(),
                 .figures = json_array()};
    for (int solver = 0; solver < REP_SOLVERS; solver++)
        for (int i = 0; i < REP_MOST_S; i++) {
            rep_cell *cell = &f->cells[f->r.cell_count++];
            *cell =
                rep_search_cell(&f->r, REP_GCM, (int64_t)rep_published_S[i], (rep_solver)solver);
            cell->result =
                json_pack("{s:f, s:f, s:f, s:f, s:f, s:b}", "I_jd", I_jd[i], "I_tl", I_tl[i],
                          "C_jd", 1851.0, "C_tl", 1850.0, "L_jd", 0.0, "chain", 1);
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
    const char *first = "gcm, fast, S=1: C(TL-NMF)", *later = "gcm, fast, S=10: C(TL-NMF)",
               *fast = "search-gcm-S1-fast";
    report f;
    begin(&f);
    set(&f, "search-gcm-S1-paper", "C_tl", 1300.0);
    set(&f, fast, "C_tl", 1249.0);
    run(&f);
    assert_verdict(&f, first, "lower than published", true);
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
    f.r.uses_solver[REP_PAPER] = false; /* without the paper's solver: only S = 1 is compared */
    f.r.cell_count = REP_MOST_S;
    set(&f, fast, "C_tl", 1249.0);
    run(&f);
    assert_verdict(&f, first, "lower than published", true);
    assert_true(json_is_null(json_object_get(row_of(&f, later), "holds")));
    f.r.cell_count = CELLS;
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values_are_reproduced),
        cmocka_unit_test(the_fast_search_is_at_least_as_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
