/* The protocols of the paper's experiments, and the settings of the library that follow them. */
#include "paper/experiments/reproduce.h"

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

const double rep_published_S[REP_MOST_S] = {1, 10, 100, 1000, 5000};

int rep_place_of(double S)
{
    int i = 0;
    while (i + 1 < REP_MOST_S && rep_published_S[i] != S)
        i++;
    return i;
}

int rep_settings(const rep *r, const char *task, const char *options, tlnmf_settings **out)
{
    tlnmf_error error = tlnmf_settings_create(r->call->ctx, task, out);
    if (error == TLNMF_OK)
        error = tlnmf_settings_set_all(r->call->ctx, *out, options);
    return rep_check(r, error);
}

static long long or_else(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

/* Paper mode runs all J steps of JD (grad-tol=0): the authors' test for the end never holds. */
static void paper_options(const rep_search *search, const rep_protocol *p, char *text, size_t size)
{
    snprintf(text, size, "solver=paper J=%lld halvings=%lld grad-tol=0%s", or_else(search->J, p->J),
             (long long)p->halvings,
             search->method == NULL && !search->whole_handover ? " handover=1000" : "");
}

static void fast_options(const rep_search *search, bool quick, char *text, size_t size)
{
    int used = snprintf(text, size, "solver=fast continuation=%d",
                        search->set == REP_GCM && search->S == 1);
    if (quick || search->J > 0)
        snprintf(text + used, size - (size_t)used, " J=%lld", or_else(search->J, 20));
}

int rep_fit_settings(const rep *r, const rep_search *search, tlnmf_settings **out)
{
    rep_protocol p = rep_protocol_of(r, search->set);
    char solver[128], text[512];
    if (search->solver == REP_PAPER)
        paper_options(search, &p, solver, sizeof solver);
    else
        fast_options(search, r->quick, solver, sizeof solver);
    snprintf(text, sizeof text,
             "k=%lld eps=%g method=%s exchange=%d starts=%lld seed=%lld stream=numpy "
             "threads=%lld trace=%d %s",
             or_else(search->K, p.K), p.eps, search->method == NULL ? "tl" : search->method,
             search->method == NULL, or_else(search->starts, p.P), (long long)p.seed,
             (long long)tlnmf_settings_get_integer(r->call->settings, "threads"), search->trace,
             solver);
    return rep_settings(r, "fit", text, out);
}
