/* The result of fit and jd as a page of text. */
#include "cli/common/summary.h"

#include <math.h>
#include <string.h>

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_atoms(FILE *out, const cli_result *r)
{
    int64_t M = tlnmf_get_integer(r->model, "M"), shape[TLNMF_MAX_RANK];
    const double *row = tlnmf_get_array(r->atoms, "row", NULL, shape);
    const double *frequency = tlnmf_get_array(r->atoms, "frequency", NULL, NULL);
    const double *cents = tlnmf_get_array(r->atoms, "cents", NULL, NULL);
    const double *error = tlnmf_get_array(r->atoms, "error", NULL, NULL);
    const double *energy = tlnmf_get_array(r->atoms, "energy", NULL, NULL);
    const double *all = tlnmf_get_array(r->model, "energy", NULL, NULL);
    double total = 0.0;
    for (int64_t m = 0; m < M; m++)
        total += all[m];
    fprintf(out, "\nstrongest atoms (rows of Phi as sinusoids)\n"
                 "  row   frequency   note     cents   error   share of energy\n");
    for (int64_t i = 0; i < shape[0]; i++)
        fprintf(out, "  %3lld  %8.2f Hz   %-5s  %+6.1f   %5.3f   %5.1f %%\n", (long long)row[i],
                frequency[i], tlnmf_get_text_at(r->atoms, "note", (size_t)i), cents[i], error[i],
                total > 0.0 ? 100.0 * energy[i] / total : 0.0);
    fputc('\n', out);
}

static void print_exchange(FILE *out, const tlnmf_record *model)
{
    fprintf(out, "  TL-NMF        C %.10g   I %.6g\n  JD+NMF        C %.10g   I %.6g\n",
            tlnmf_get_real(model, "C_tl"), tlnmf_get_real(model, "I_tl"),
            tlnmf_get_real(model, "C_jd"), tlnmf_get_real(model, "I_jd"));
    if (tlnmf_get_integer(model, "chain") == 0)
        fputs("                theory says that TL-NMF has the smaller C and I, JD the smaller L; "
              "that does\n"
              "                not hold: a search has not found its minimum; try --continuation or "
              "more --starts\n",
              out);
}

/* What --method auto chose, and why. */
static void print_choice(FILE *out, const tlnmf_record *model)
{
    const double worth = 1e-3; /* I per entry of V beyond which `auto` runs TL-NMF as well */
    double I = tlnmf_get_real(model, "I");
    double entries = tlnmf_get_real(model, "M") * tlnmf_get_real(model, "N");
    bool is_jd = strcmp(tlnmf_get_text(model, "method"), "jd") == 0;
    if (is_jd && isfinite(tlnmf_get_real(model, "certificate")))
        fprintf(out, "  method        JD+NMF: TL-NMF could lower C by %.3g at most\n", I);
    else if (is_jd)
        fprintf(out, "  method        JD+NMF: %s\n",
                I > worth * entries ? "TL-NMF met no lower C"
                                    : "W H describes V at this Phi; whether another Phi is better "
                                      "is not known");
    else
        fprintf(out, "  method        TL-NMF: JD+NMF left I = %.6g to gain from\n",
                tlnmf_get_real(model, "I_jd"));
}

const char *cli_stop_words(const tlnmf_record *model)
{
    switch (tlnmf_get_integer(model, "outcome_code")) {
    case TLNMF_CONVERGED:
        return "converged: the objective no longer changes";
    case TLNMF_STATIONARY:
        return "converged: the gradient vanishes";
    case TLNMF_ITERATIONS:
        return "all iterations done";
    case TLNMF_LINE_SEARCH:
        return "no step improves the objective any more";
    default:
        return tlnmf_get_text(model, "outcome");
    }
}

void cli_print_data(FILE *out, const char *input, const tlnmf_record *data, int64_t columns)
{
    int64_t M = tlnmf_get_integer(data, "M"), N = tlnmf_get_integer(data, "N");
    int64_t S = tlnmf_get_integer(data, "S");
    cli_put(out, input);
    fprintf(out, ": %lld frame%s of length %lld", (long long)N, plural(N), (long long)M);
    if (S > 0)
        fprintf(out, ", %lld realisation%s", (long long)S, plural(S));
    else
        fputs(", given as covariances", out);
    fprintf(out, " (%lld compressed column%s)\n", (long long)columns, plural(columns));
}

const char *cli_certificate_words(const tlnmf_record *model)
{
    static const char *const doubts[] = {
        "not known: --certify or --exchange look for it",
        "none: L is not minimised, TL-NMF met a lower one; try --continuation or more --starts",
        "none: the time was over before L was minimised; try more --max-seconds",
        ("none: covariances are singular and the floor is low, so that L has many minima; try "
         "--continuation"),
        "none: all iterations of JD were done before L was minimised; try a larger -J"};
    int64_t doubt = tlnmf_get_integer(model, "doubt");
    if (isfinite(tlnmf_get_real(model, "certificate")))
        return "upper bound on C - C*, valid if the run found the global minimum of L, which rests "
               "on "
               "a search";
    if (tlnmf_get_integer(model, "K") == 0)
        return "none: a transform alone has no C";
    if (doubt == 2 && tlnmf_get_integer(model, "outcome_code") == TLNMF_CANCELLED)
        return "none: the run was interrupted before L was minimised";
    return doubts[doubt >= 1 && doubt <= 4 ? doubt : 0];
}

static void print_certificate(FILE *out, const tlnmf_record *model, double C, double certificate)
{
    double entries = tlnmf_get_real(model, "M") * tlnmf_get_real(model, "N");
    if (isfinite(certificate))
        fprintf(out,
                "  certificate   C - C* is at most %.6g (%.3g per entry of V), if the search found "
                "the least L, %.12g\n",
                certificate, certificate / entries, C - certificate);
    else if (tlnmf_get_integer(model, "doubt") > 0)
        fprintf(out, "  certificate   %s\n", cli_certificate_words(model));
}

static void print_values(FILE *out, const cli_call *call, const tlnmf_record *model)
{
    double C = tlnmf_get_real(model, "C"), L = tlnmf_get_real(model, "L");
    double certificate = tlnmf_get_real(model, "certificate");
    char method[64];
    if (tlnmf_get_integer(model, "K") > 0)
        fprintf(out, "  C             %.12g\n  L             %.12g\n  I             %.10g\n", C, L,
                tlnmf_get_real(model, "I"));
    else
        fprintf(out, "  L             %.12g\n", L);
    if (tlnmf_settings_get_text(call->settings, "method", method, sizeof method) != NULL &&
        strcmp(method, "auto") == 0)
        print_choice(out, model);
    if (tlnmf_get_integer(model, "chain") >= 0)
        print_exchange(out, model);
    print_certificate(out, model, C, certificate);
}

/* Whose run stopped, why, and when. JD+NMF has two. */
static void print_stop(FILE *out, const tlnmf_record *model)
{
    const char *of = tlnmf_get_text(model, "outcome_of");
    bool is_nmf = strcmp(of, "nmf") == 0, is_jd = strcmp(of, "jd") == 0;
    bool both =
        strcmp(tlnmf_get_text(model, "method"), "jd") == 0 && tlnmf_get_integer(model, "K") > 0;
    long long first = tlnmf_get_integer(model, "iterations");
    long long second = tlnmf_get_integer(model, "nmf_iterations");
    fprintf(out, "  stopped       %s: %s (iteration %lld)",
            is_jd    ? "JD"
            : is_nmf ? "NMF"
                     : "TL-NMF",
            cli_stop_words(model), both && is_nmf ? second : first);
    if (both)
        fprintf(out, is_nmf ? "; JD before it: iteration %lld" : "; NMF after it: iteration %lld",
                is_nmf ? first : second);
}

const char *cli_eps_from(const cli_call *call, const cli_result *r)
{
    if (cli_given(call, "eps"))
        return "given";
    if (cli_given(call, "eps-rel"))
        return "given share";
    return r->init != NULL ? "model" : "default";
}

/* The floor, what it hides, and whether it matters. */
static void print_floor(FILE *out, const cli_call *call, const cli_result *r, double mean_power)
{
    double eps = tlnmf_get_real(r->model, "eps");
    fprintf(out, "  eps           %.6g (%.3g of the mean power); %.3g %% of V lies below it\n", eps,
            eps / mean_power, 100.0 * tlnmf_get_real(r->model, "below_floor"));
    if (strcmp(cli_eps_from(call, r), "model") == 0) {
        fputs("                it is that of ", out);
        cli_put(out, r->init);
        fputs("; --eps sets another\n", out);
    }
    if (tlnmf_settings_get_integer(call->settings, "eps-check") == 1)
        cli_print_eps_check(out, r->model);
    else if (strcmp(cli_eps_from(call, r), "default") == 0 &&
             strcmp(call->command->name, "fit") == 0)
        fputs(
            "                it was not given: --eps-check tells whether another would change the "
            "result\n",
            out);
}

static void print_run(FILE *out, const tlnmf_record *model)
{
    int64_t starts = tlnmf_get_integer(model, "starts");
    int64_t best = tlnmf_get_integer(model, "best_start");
    print_stop(out, model);
    if (best >= starts) /* --method auto */
        fputs(", from where JD+NMF ended", out);
    else if (starts > 1)
        fprintf(out, ", start %lld, the best of %lld", (long long)best + 1, (long long)starts);
    fprintf(out, "\n  gradient      %.3g   orthogonality %.2g\n",
            tlnmf_get_real(model, "gradient_norm"), tlnmf_get_real(model, "orthogonality"));
    fprintf(out, "  time          %.3g s (%.3g s CPU)\n",
            cli_seconds(tlnmf_get_real(model, "wall_seconds")),
            cli_seconds(tlnmf_get_real(model, "cpu_seconds")));
    if (cli_common_values.verbose != NULL && tlnmf_get_integer(model, "sums") > 0)
        fprintf(out, "  sums          %lld of %.4g MB over processes, %.3g s\n",
                (long long)tlnmf_get_integer(model, "sums"),
                1e-6 * tlnmf_get_real(model, "sum_bytes"),
                cli_seconds(tlnmf_get_real(model, "sum_seconds")));
}

void cli_print_result(FILE *out, const cli_call *call, const cli_result *r)
{
    cli_print_data(out, r->input, tlnmf_data_record(r->data),
                   tlnmf_get_integer(r->model, "columns"));
    if (r->atoms != NULL)
        print_atoms(out, r);
    print_values(out, call, r->model);
    bool white = tlnmf_get_array(r->model, "unmixing", NULL, NULL) != NULL;
    double power = tlnmf_get_real(tlnmf_data_record(r->data), "mean_power");
    print_floor(out, call, r, white ? 1.0 : power);
    print_run(out, r->model);
    if (r->output != NULL) {
        fputs("  model         ", out);
        cli_put(out, r->output);
        fprintf(out, "%s\n",
                white ? ": unmixing (one row per source) and mixing, its inverse" : "");
    }
    if (r->page != NULL) {
        fputs("  page          ", out);
        cli_put(out, r->page);
        fputc('\n', out);
    }
}
