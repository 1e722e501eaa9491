/* The protocols of the paper's experiments, and the settings of the library that follow them. */
#include "paper/commands/reproduce.h"

rep_settings rep_settings_new(const rep *r, const char *task)
{
    rep_settings s = {.ctx = r->call->ctx};
    s.error = tlnmf_settings_create(s.ctx, task, &s.settings);
    return s;
}

void rep_set_text(rep_settings *s, const char *name, const char *value)
{
    if (s->error == TLNMF_OK)
        s->error = tlnmf_settings_set_text(s->ctx, s->settings, name, value);
}

void rep_set_integer(rep_settings *s, const char *name, int64_t value)
{
    if (s->error == TLNMF_OK)
        s->error = tlnmf_settings_set_integer(s->ctx, s->settings, name, value);
}

void rep_set_real(rep_settings *s, const char *name, double value)
{
    if (s->error == TLNMF_OK)
        s->error = tlnmf_settings_set_real(s->ctx, s->settings, name, value);
}

rep_protocol rep_protocol_of(const rep *r, rep_set set)
{
    /* name, K, eps, P, J, halvings, seed, S */
    static const rep_protocol full[] = {
        {"gcm", REP_GCM_K, 1e-8, 100, 1000, 30, 2021, {1, 10, 100, 1000, 5000}},
        {"notes", REP_NOTES_K, 5e-7, 10, 100, 10, 100, {1, 10, 100, 1000, 5000}}};
    static const rep_protocol quick[] = {{"gcm", REP_GCM_K, 1e-8, 4, 100, 30, 2021, {1, 10, 100}},
                                         {"notes", REP_NOTES_K, 5e-7, 1, 10, 10, 100, {1, 100}}};
    return r->quick ? quick[set] : full[set];
}

static int64_t or_else(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

static void set_paper(rep_settings *s, const rep_search *search, const rep_protocol *p)
{
    rep_set_integer(s, "J", or_else(search->J, p->J));
    rep_set_integer(s, "halvings", p->halvings);
    rep_set_real(s, "grad-tol", 0.0); /* all J steps of JD: the reference's test never holds */
    if (search->method == NULL && !search->whole_handover)
        rep_set_integer(s, "handover", 1000);
}

static void set_fast(rep_settings *s, const rep_search *search, bool quick)
{
    if (quick || search->J > 0)
        rep_set_integer(s, "J", or_else(search->J, 20));
    rep_set_integer(s, "continuation", search->set == REP_GCM && search->S == 1);
}

rep_settings rep_settings_of(const rep *r, const rep_search *search)
{
    rep_protocol p = rep_protocol_of(r, search->set);
    rep_settings s = rep_settings_new(r, "fit");
    rep_set_integer(&s, "k", or_else(search->K, p.K));
    rep_set_real(&s, "eps", p.eps);
    rep_set_text(&s, "method", search->method == NULL ? "tl" : search->method);
    rep_set_integer(&s, "exchange", search->method == NULL);
    rep_set_text(&s, "solver", search->solver == REP_PAPER ? "paper" : "fast");
    rep_set_integer(&s, "starts", or_else(search->starts, p.P));
    rep_set_integer(&s, "seed", p.seed);
    rep_set_text(&s, "stream", "numpy");
    rep_set_integer(&s, "threads", tlnmf_settings_get_integer(r->call->settings, "threads"));
    rep_set_integer(&s, "trace", search->trace);
    if (search->solver == REP_PAPER)
        set_paper(&s, search, &p);
    else
        set_fast(&s, search, r->quick);
    return s;
}
