/* Errata: where the paper as printed and its results differ, each shown by a computation. */
#include "paper/commands/reproduce.h"

#include <math.h>

/* I(TL-NMF) on GCM as published. */
static const double I_S10 = 21.627583, I_S100 = 2.2326012;

static void plan(rep *r)
{
    double speed = r->quick ? 0.05 : 1.0;
    for (int64_t S = 10; S <= 100; S *= 10) {
        rep_cell search = rep_search_cell(r, REP_GCM, S, REP_PAPER);
        rep_add(r, &search);
    }
    rep_add(r, &(rep_cell){.name = "errata-handover",
                           .run = rep_run_distances,
                           .search = {.solver = REP_PAPER, .S = 10, .whole_handover = true},
                           .cost = 7.0 * speed});
    rep_cell updates = rep_errata_updates;
    updates.cost *= speed;
    rep_add(r, &updates);
    rep_add(r, &rep_errata_hessian);
    rep_add(r, &rep_errata_stop);
}

static void update_rows(rep *r)
{
    const json_t *cell = rep_result(r, "errata-updates");
    double rises = rep_number(cell, "increases_printed"), none = rep_number(cell, "increases");
    rep_row_add(r, "errata", NAN, rises, rises > 0.0, r->quick ? "" : "I is not monotone",
                "Algorithm 3 as printed: increases of I in %d updates", r->quick ? 20 : 1000);
    rep_row_add(r, "errata", NAN, none, none == 0.0, "I never rises",
                "Algorithm 3 with V + eps: increases of I");
    rep_row_add(r, "errata", NAN, rep_number(cell, "I_printed"), true, "",
                "Algorithm 3 as printed: I at the end");
    rep_row_add(r, "errata", NAN, rep_number(cell, "I"), true, "",
                "Algorithm 3 with V + eps: I at the end");
}

static void end_rows(rep *r)
{
    const json_t *hessian = rep_result(r, "errata-hessian"), *stop = rep_result(r, "errata-stop");
    double printed = rep_number(hessian, "error_printed");
    double exact = rep_number(hessian, "error_exact");
    double G = rep_number(stop, "G"), anti = rep_number(stop, "G_anti");
    rep_row_add(r, "errata", NAN, printed, printed > 0.1, r->quick ? "" : "is not the Hessian's",
                "TL-NMF's diagonal as printed: relative error");
    rep_row_add(r, "errata", NAN, exact, exact < 1e-3, "is the Hessian's",
                "TL-NMF's diagonal with its missing term: relative error");
    rep_row_add(r, "errata", NAN, G, G > 1e-3, r->quick ? "" : "does not vanish at the end",
                "JD's gradient G at its end: norm");
    rep_row_add(r, "errata", NAN, anti, anti < 1e-6, r->quick ? "" : "vanishes at the end",
                "its antisymmetric part: norm");
}

static void protocol_rows(rep *r)
{
    double few = rep_number(rep_search_result(r, REP_GCM, 10, REP_PAPER), "I_tl");
    double many = rep_number(rep_search_result(r, REP_GCM, 100, REP_PAPER), "I_tl");
    double whole = rep_number(rep_result(r, "errata-handover"), "I_tl");
    double nested = fmax(fabs(few / I_S10 - 1.0), fabs(many / I_S100 - 1.0));
    rep_row_add(r, "errata", NAN, nested, nested < 1e-6,
                r->quick ? "" : "not drawn anew for each S",
                "I(TL-NMF) published for S=10, S=100 against those of one stream");
    rep_row_add(r, "errata", I_S10, few, rep_is_close(few, I_S10, 1e-6),
                r->quick ? "" : "is the published",
                "GCM S=10, exchange after 1000 updates: I(TL-NMF)");
    rep_row_add(r, "errata", I_S10, whole, !rep_is_close(whole, I_S10, 1e-6),
                r->quick ? "" : "is not the published",
                "GCM S=10, exchange after all J J_nmf updates: I(TL-NMF)");
}

static int report(rep *r)
{
    update_rows(r);
    end_rows(r);
    protocol_rows(r);
    return EXIT_DONE;
}

const rep_experiment rep_errata = {"errata", plan, report};
