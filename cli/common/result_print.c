/* The summaries of fit and jd: the answer first, at most twelve lines without -v; --explain. */
#include "cli/common/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What changes at a third or at three times eps: C by above[i] per entry of V, or the atoms. */
static void print_dependence(FILE *out, const double above[2], const double same[2])
{
    static const char *const floors[] = {"eps / 3", "3 eps"};
    const double slight = 0.01; /* a smaller rise of C does not matter */
    int C = above[1] > above[0], atoms = same[1] < same[0];
    double moved = 100.0 * (1.0 - same[atoms]);
    fputs("the result depends on eps: ", out);
    bool rises = above[C] >= slight;
    if (rises)
        fprintf(out, "C rises by %.2g per entry at %s; ", above[C], floors[C]);
    if (moved >= 0.5)
        fprintf(out, "%.*f %% of the energy is in other atoms%s%s", moved < 9.95, moved,
                rises && atoms == C ? "" : " at ", rises && atoms == C ? "" : floors[atoms]);
    else
        fputs("the atoms stay the same", out);
}

/* The result of --eps-check: fits at a third and at three times eps. If most of V lies below the
 * default, eps may be far from the best. */
static void print_eps_check(FILE *out, const tlnmf_record *model, bool is_default, bool details)
{
    bool may_be_far = is_default && tlnmf_record_get_real(model, "below_floor") > 0.5;
    const double *above = tlnmf_record_get_array(model, "eps_check.above_per_entry", NULL, NULL);
    const double *same = tlnmf_record_get_array(model, "eps_check.same_atoms", NULL, NULL);
    if (above == NULL || same == NULL) {
        fputs("  eps check     interrupted\n", out);
        return;
    }
    bool matters = tlnmf_record_get_integer(model, "eps_check.matters") == 1;
    fputs("  eps check     ", out);
    if (matters)
        print_dependence(out, above, same);
    else
        fprintf(out, "the result is the same at eps / 3 and at 3 eps%s\n",
                may_be_far ? "; at a much smaller eps it may differ" : "");
    if (matters)
        fputs(is_default ? "; see docs/howto/eps.md\n" : "\n", out);
    for (int i = 0; details && i < 2; i++)
        fprintf(out,
                "                at %s eps: C here would be %.3g per entry higher, %.3g %% of the "
                "energy is in the same atoms\n",
                i == 0 ? "1/3" : "3  ", above[i], 100.0 * same[i]);
}

const char *cli_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* An atom with a larger error is not called a sinusoid: its frequency means nothing. */
static const double SINUSOID = 0.5;

/* Whether two atoms have the same frequency, or both are not sinusoids. */
static bool are_alike(const double *frequency, const double *error, int64_t i, int64_t j)
{
    const double ratio = 0.01;
    if (error[i] > SINUSOID || error[j] > SINUSOID)
        return error[i] > SINUSOID && error[j] > SINUSOID;
    return fabs(frequency[i] - frequency[j]) <= ratio * fmin(frequency[i], frequency[j]);
}

/* "2 x 440 Hz (A4)" for the atoms that are like atom i; "" if an earlier atom is like it. A tone of
 * any phase needs two atoms. */
static const char *atoms_text(const tlnmf_record *atoms, int64_t i, int64_t all, char text[64])
{
    const double *frequency = tlnmf_record_get_array(atoms, "frequency", NULL, NULL);
    const double *error = tlnmf_record_get_array(atoms, "error", NULL, NULL);
    const char *note = tlnmf_record_get_text_at(atoms, "note", (size_t)i);
    int count = 0;
    text[0] = '\0';
    for (int64_t j = 0; j < all; j++) {
        bool alike = are_alike(frequency, error, i, j);
        if (alike && j < i)
            return text;
        count += alike;
    }
    if (count > 1)
        snprintf(text, 16, "%d x ", count);
    size_t used = strlen(text);
    if (error[i] > SINUSOID)
        snprintf(text + used, 64 - used, "not a sinusoid");
    else
        snprintf(text + used, 64 - used, note[0] != '\0' ? "%.4g Hz (%s)" : "%.4g Hz", frequency[i],
                 note);
    return text;
}

/* The strongest atoms in one line. */
static void print_atoms(FILE *out, const tlnmf_record *atoms)
{
    const int width = 96; /* leaves room for " .." */
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const char *separator = "";
    char text[64];
    int at = fprintf(out, "  %-14s", "atoms");
    tlnmf_record_get_array(atoms, "frequency", NULL, shape);
    for (int64_t i = 0; i < shape[0]; i++) {
        int length = (int)strlen(atoms_text(atoms, i, shape[0], text));
        if (length == 0)
            continue;
        if (at + 2 + length > width) {
            fputs(", ..", out);
            break;
        }
        at += fprintf(out, "%s%s", separator, text);
        separator = ", ";
    }
    fputc('\n', out);
}

/* All atoms, and how well each fits a sinusoid. */
static void print_atom_table(FILE *out, const cli_result *r)
{
    int64_t M = tlnmf_record_get_integer(r->model, "M"), shape[TLNMF_MAX_DIMENSIONS];
    const double *row = tlnmf_record_get_array(r->atoms, "row", NULL, shape);
    const double *frequency = tlnmf_record_get_array(r->atoms, "frequency", NULL, NULL);
    const double *cents = tlnmf_record_get_array(r->atoms, "cents", NULL, NULL);
    const double *error = tlnmf_record_get_array(r->atoms, "error", NULL, NULL);
    const double *energy = tlnmf_record_get_array(r->atoms, "energy", NULL, NULL);
    const double *all = tlnmf_record_get_array(r->model, "energy", NULL, NULL);
    double total = 0.0;
    for (int64_t m = 0; m < M; m++)
        total += all[m];
    fprintf(out, "\nstrongest atoms (rows of Phi as sinusoids)\n"
                 "  row   frequency   note     cents   error   share of energy\n");
    for (int64_t i = 0; i < shape[0]; i++)
        fprintf(out, "  %3lld  %8.2f Hz   %-5s  %+6.1f   %5.3f   %5.1f %%\n", (long long)row[i],
                frequency[i], tlnmf_record_get_text_at(r->atoms, "note", (size_t)i), cents[i],
                error[i], total > 0.0 ? 100.0 * energy[i] / total : 0.0);
}

static void print_exchange(FILE *out, const tlnmf_record *model)
{
    fprintf(out, "  TL-NMF        C %.10g   I %.6g\n  JD+NMF        C %.10g   I %.6g\n",
            tlnmf_record_get_real(model, "C_tl"), tlnmf_record_get_real(model, "I_tl"),
            tlnmf_record_get_real(model, "C_jd"), tlnmf_record_get_real(model, "I_jd"));
    if (tlnmf_record_get_integer(model, "chain") == 0)
        fputs("                one of the two is not at its minimum; try --continuation or more "
              "--starts\n",
              out);
}

/* The choice of --method auto, and its reason. */
static void print_choice(FILE *out, const tlnmf_record *model)
{
    const double worth = 1e-3; /* I per entry of V beyond which `auto` runs TL-NMF as well */
    double I = tlnmf_record_get_real(model, "I");
    double entries = tlnmf_record_get_real(model, "M") * tlnmf_record_get_real(model, "N");
    bool is_jd = strcmp(tlnmf_record_get_text(model, "method"), "jd") == 0;
    if (is_jd && isfinite(tlnmf_record_get_real(model, "certificate")))
        fprintf(out, "  method        JD+NMF, because TL-NMF could lower C by %.3g at most\n", I);
    else if (is_jd)
        fprintf(out, "  method        JD+NMF, because %s\n",
                I > worth * entries ? "TL-NMF found no lower C"
                                    : "W H describes V at this Phi; another Phi may be better");
    else
        fprintf(
            out,
            "  method        TL-NMF, because it could lower C of JD+NMF, %.10g, by up to %.6g\n",
            tlnmf_record_get_real(model, "C_jd"), tlnmf_record_get_real(model, "I_jd"));
}

const char *cli_stop_words(const tlnmf_record *model)
{
    switch (tlnmf_record_get_integer(model, "outcome_code")) {
    case TLNMF_OUTCOME_CONVERGED:
        return "converged: the objective no longer changes";
    case TLNMF_OUTCOME_STATIONARY:
        return "converged: the gradient vanishes";
    case TLNMF_OUTCOME_ITERATIONS:
        return "reached the iteration limit";
    case TLNMF_OUTCOME_LINE_SEARCH:
        return "no step lowers the objective";
    case TLNMF_OUTCOME_TIME:
        return "the time limit was reached";
    case TLNMF_OUTCOME_CANCELLED:
        return "interrupted";
    default:
        return tlnmf_record_get_text(model, "outcome");
    }
}

void cli_print_data(FILE *out, const char *input, const tlnmf_record *data, int64_t columns)
{
    int64_t M = tlnmf_record_get_integer(data, "M"), N = tlnmf_record_get_integer(data, "N");
    int64_t S = tlnmf_record_get_integer(data, "S"), dof = tlnmf_record_get_integer(data, "dof");
    int64_t missing = tlnmf_record_get_integer(data, "missing");
    fputs("  data          ", out);
    cli_put(out, input);
    fprintf(out, ": %lld frame%s of length %lld", (long long)N, cli_plural(N), (long long)M);
    if (S > 0)
        fprintf(out, ", %lld realisation%s", (long long)S, cli_plural(S));
    else
        fputs(", given as covariances", out);
    if (dof > 0)
        fprintf(out, ", powers with %lld degree%s of freedom", (long long)dof, cli_plural(dof));
    if (missing > 0)
        fprintf(out, ", %lld %s%s missing%s", (long long)missing, dof > 0 ? "power" : "frame",
                cli_plural(missing), dof > 0 ? " or masked" : "");
    fprintf(out, " (%lld compressed column%s)\n", (long long)columns, cli_plural(columns));
}

static void print_certificate(FILE *out, const tlnmf_record *model, double C, double certificate)
{
    double entries = tlnmf_record_get_real(model, "M") * tlnmf_record_get_real(model, "N");
    if (isfinite(certificate))
        fprintf(out,
                "  certificate   C - C* <= %.6g (%.3g per entry of V), if %.12g is the least L\n",
                certificate, certificate / entries, C - certificate);
    else if (tlnmf_record_get_integer(model, "doubt") > 0)
        fprintf(out, "  certificate   %s\n", tlnmf_record_get_text(model, "certificate_means"));
}

/* Whether to print details that do not fit into the twelve lines of a summary. */
static bool wants_details(void)
{
    return cli_asked.verbose != NULL || cli_asked.explain != NULL;
}

/* How many starts found the best value. */
static void print_starts(FILE *out, const tlnmf_record *model)
{
    long long starts = tlnmf_record_get_integer(model, "starts");
    long long completed = tlnmf_record_get_integer(model, "starts_completed");
    long long of_nmf = tlnmf_record_get_integer(model, "nmf_starts_completed");
    const char *method = tlnmf_record_get_text(model, "method");
    if (completed > 1 && starts > 1)
        fprintf(out, ", best %s found by %lld of %lld %sstarts%s",
                strcmp(method, "jd") == 0    ? "L"
                : strcmp(method, "nmf") == 0 ? "I"
                                             : "C",
                (long long)tlnmf_record_get_integer(model, "starts_agree"), completed,
                completed < starts ? "completed " : "",
                completed > starts + 1 ? ", some of them from JD+NMF"
                : completed > starts   ? ", one of them from JD+NMF"
                                       : "");
    if (of_nmf > 1)
        fprintf(out, ", best I by %lld of %lld starts of NMF",
                (long long)tlnmf_record_get_integer(model, "nmf_starts_agree"), of_nmf);
}

/* The answer: what was fitted, whether it converged, and how good it is. */
static void print_answer(FILE *out, const tlnmf_record *model)
{
    const char *method = tlnmf_record_get_text(model, "method");
    long long K = tlnmf_record_get_integer(model, "K");
    int64_t outcome = tlnmf_record_get_integer(model, "outcome_code");
    bool converged = outcome == TLNMF_OUTCOME_CONVERGED || outcome == TLNMF_OUTCOME_STATIONARY;
    bool is_jd = strcmp(method, "jd") == 0, is_nmf = strcmp(method, "nmf") == 0;
    if (K > 0)
        fprintf(out, "%s with %lld component%s",
                is_jd    ? "JD+NMF"
                : is_nmf ? "NMF"
                         : "TL-NMF",
                K, cli_plural(K));
    else
        fputs("joint diagonalisation", out);
    fprintf(out, ": %s", converged ? "converged" : "not converged");
    if (K > 0)
        fprintf(out, ", C = %.6g, I = %.4g", tlnmf_record_get_real(model, "C"),
                tlnmf_record_get_real(model, "I"));
    else
        fprintf(out, ", L = %.6g", tlnmf_record_get_real(model, "L"));
    print_starts(out, model);
    fputc('\n', out);
}

static void print_values(FILE *out, const cli_call *call, const tlnmf_record *model)
{
    double C = tlnmf_record_get_real(model, "C"), L = tlnmf_record_get_real(model, "L");
    char method[64];
    if (tlnmf_record_get_integer(model, "K") > 0)
        fprintf(out, "  objective     C %.12g = L %.12g + I %.10g\n", C, L,
                tlnmf_record_get_real(model, "I"));
    else
        fprintf(out, "  objective     L %.12g\n", L);
    bool chooses =
        tlnmf_settings_get_text(call->settings, "method", method, sizeof method) != NULL &&
        strcmp(method, "auto") == 0;
    if (chooses)
        print_choice(out, model);
    if (tlnmf_record_get_integer(model, "chain") >= 0 && (!chooses || wants_details()))
        print_exchange(out, model);
    print_certificate(out, model, C, tlnmf_record_get_real(model, "certificate"));
}

/* Which run stopped, why, and when. JD+NMF has two runs. */
static void print_stop(FILE *out, const tlnmf_record *model)
{
    const char *of = tlnmf_record_get_text(model, "outcome_of");
    bool is_nmf = strcmp(of, "nmf") == 0, is_jd = strcmp(of, "jd") == 0;
    bool both = strcmp(tlnmf_record_get_text(model, "method"), "jd") == 0 &&
                tlnmf_record_get_integer(model, "K") > 0;
    long long first = tlnmf_record_get_integer(model, "iterations");
    long long second = tlnmf_record_get_integer(model, "nmf_iterations");
    int64_t outcome = tlnmf_record_get_integer(model, "outcome_code");
    bool cut = outcome == TLNMF_OUTCOME_TIME || outcome == TLNMF_OUTCOME_CANCELLED;
    fprintf(out, "  stopped       %s: %s (%siteration %lld)",
            is_jd    ? "JD"
            : is_nmf ? "NMF"
                     : "TL-NMF",
            cli_stop_words(model), cut ? "best start: " : "", both && is_nmf ? second : first);
    if (both)
        fprintf(out, is_nmf ? "; JD before it: iteration %lld" : "; NMF after it: iteration %lld",
                is_nmf ? first : second);
    if (tlnmf_record_get_integer(model, "continued") > 0)
        fputs(", continued from a saved iterate", out);
}

const char *cli_eps_from(const cli_call *call, const cli_result *r)
{
    if (cli_given(call, "eps"))
        return "given";
    if (cli_given(call, "eps-rel"))
        return "given share";
    return r->init != NULL ? "model" : "default";
}

/* The floor, how much of V lies below it, and whether it matters. */
static void print_floor(FILE *out, const cli_call *call, const cli_result *r, bool white)
{
    const tlnmf_record *data = tlnmf_data_record(r->data);
    double eps = tlnmf_record_get_real(r->model, "eps");
    double all = tlnmf_record_get_real(data, "mean_power"), power = all;
    if (strcmp(tlnmf_record_get_text(r->model, "method"), "nmf") != 0) /* Phi is learnt */
        power = tlnmf_record_get_real(data, "centred_power");
    fprintf(out, "  eps           %.6g (%.3g of the mean power%s); %.3g %% of V lies below it\n",
            eps, eps / (white ? 1.0 : power), power < all && !white ? " without the offset" : "",
            100.0 * tlnmf_record_get_real(r->model, "below_floor"));
    bool is_default = strcmp(cli_eps_from(call, r), "default") == 0;
    if (strcmp(cli_eps_from(call, r), "model") == 0) {
        fputs("                from ", out);
        cli_put(out, r->init);
        fputs("; --eps sets another\n", out);
    }
    if (tlnmf_settings_get_integer(call->settings, "eps-check") == 1)
        print_eps_check(out, r->model, is_default, wants_details());
    else if (wants_details() && is_default && strcmp(call->command->name, "fit") == 0)
        fputs("                the default; --eps-check shows whether another would change the "
              "result\n",
              out);
}

/* The time of the fit and of the comparison of several k before it. */
static void print_time(FILE *out, const cli_result *r)
{
    fprintf(out, "  time          %.3g s (%.3g s CPU)",
            cli_seconds(tlnmf_record_get_real(r->model, "wall_seconds") + r->rank_wall),
            cli_seconds(tlnmf_record_get_real(r->model, "cpu_seconds") + r->rank_cpu));
    if (r->rank_table != NULL)
        fprintf(out, ", of which %.3g s to compare several k", cli_seconds(r->rank_wall));
    fputc('\n', out);
}

static void print_run(FILE *out, const cli_result *r)
{
    const tlnmf_record *model = r->model;
    int64_t starts = tlnmf_record_get_integer(model, "starts");
    int64_t completed = tlnmf_record_get_integer(model, "starts_completed"); /* also JD+NMF */
    int64_t best = tlnmf_record_get_integer(model, "best_start");
    print_stop(out, model);
    if (best >= starts) /* --method auto */
        fputs(", started from JD+NMF", out);
    else if (starts > 1)
        fprintf(out, ", start %lld of %lld", (long long)best + 1,
                (long long)(completed > starts ? completed : starts));
    fputc('\n', out);
    if (!wants_details())
        return;
    fputs("  gradient      ", out);
    if (strcmp(tlnmf_record_get_text(model, "method"), "nmf") == 0)
        fputs("none: Phi is fixed", out);
    else
        fprintf(out, "%.3g", tlnmf_record_get_real(model, "gradient_norm"));
    fprintf(out, "   orthogonality %.2g\n", tlnmf_record_get_real(model, "orthogonality"));
    print_time(out, r);
    if (tlnmf_record_get_integer(model, "sums") > 0)
        fprintf(out, "  sums          %lld of %.4g MB over processes, %.3g s\n",
                (long long)tlnmf_record_get_integer(model, "sums"),
                1e-6 * tlnmf_record_get_real(model, "sum_bytes"),
                cli_seconds(tlnmf_record_get_real(model, "sum_seconds")));
}

void cli_print_name(FILE *out, const char *label, const char *name, const char *note)
{
    fprintf(out, "  %-14s", label);
    cli_put(out, name);
    fprintf(out, "%s\n", note);
}

/* The labels of the lines of a summary, and their explanations. */
static const cli_sentence sentences[] = {
    {"components by",
     "The scores of several numbers of components k on data that the fit has not seen; lower is "
     "better. Scores within one standard error of the best are equally good: the line also names "
     "the "
     "smallest such k."},
    {"found by",
     "How many of the completed starts ended at the best C (L for JD, I for NMF): at most 1e-6 per "
     "entry of V above it. If several did, it is probably the global minimum, but they may "
     "differ in Phi. If one did, more --starts may find a lower C."},
    CLI_DATA_SENTENCE,
    {"objective",
     "TL-NMF minimises C: up to a constant, -2 / S times the log-likelihood of the data. "
     "L is smallest if Phi makes the covariances as diagonal as possible; it does not depend on W "
     "and H, and its zero has no meaning. Lower is better, but only fits of the same data with the "
     "same eps can be compared. "
     "I = C - L is how badly W H describes the power V, in nats; 0 is perfect. With S "
     "realisations chance alone leaves I / (M N) of about 1 / S: near that value, the fit is as "
     "good as chance allows."},
    {"method",
     "The choice of --method auto. JD+NMF is chosen if TL-NMF could lower C by very little."},
    {"TL-NMF", "The result of TL-NMF. At the global minima it has the lower C and I of the two."},
    {"JD+NMF", "The result of JD+NMF. At the global minima it has the lower L of the two."},
    {"certificate",
     "An upper bound on C minus the global minimum of C. Below 0.01 per entry the fit cannot be "
     "improved noticeably. It is valid if the search found the global minimum of L."},
    {"eps",
     "The floor added to V and W H: smaller powers do not matter. It should be about the power of "
     "the noise. If most of V lies below eps, the result depends mainly on eps. With few "
     "realisations and nothing below eps, the smallest powers have a large influence, and the "
     "minimum is harder to find."},
    {"eps check",
     "The same fit at a third and at three times eps. The result is the same if C rises by less "
     "than 0.01 per entry and more than 90 % of the energy is in the same atoms."},
    {"stopped",
     "Which run ended, why, and the iterations of the best start, without its hops. A time limit "
     "or an interruption ends the whole search; the best start may have converged before. "
     "Converged is good. At the iteration limit, use "
     "a larger -J, or continue from this model with --init. If no step lowers the objective, "
     "rounding limits the run; that is good if the gradient is small."},
    {"gradient", "The norm of the gradient over Phi. If Phi is learnt, below 1e-5 is a minimum (or "
                 "a saddle), and "
                 "above 1e-2 the run was cut short. If Phi is fixed, it has no meaning. "
                 "Orthogonality is the largest entry of |Phi Phi' - I|: 1e-13 or less is "
                 "rounding."},
    {"atoms",
     "The strongest rows of Phi, each as the sinusoid that fits it best. An error below 0.05 is a "
     "clean sinusoid; near 1 it is not a sinusoid, and its frequency and note mean nothing."},
    {"time",
     "Wall-clock time, also of the runs that were resumed, and the processor time of this run."},
    {"sums", "Sums over the processes that share the frames, and the time that they took."},
    {"model", "The file with the result and this summary: `tlnmf info` lists it."},
    {"page", "The report for a browser."},
};
/* The sentences of jd that differ. */
static const cli_sentence of_jd[] = {
    {"objective",
     "L is smallest if Phi makes the covariances as diagonal as possible. Its zero has no meaning. "
     "Lower is better, but only runs on the same data with the same eps can be compared."},
    {"eps",
     "The floor added to V: smaller powers do not matter. It should be about the power of the "
     "noise. If most of V lies below eps, the result depends mainly on eps. With few realisations "
     "and nothing below eps, the smallest powers have a large influence, and the minimum is harder "
     "to find."},
    {"stopped",
     "Why the run ended, and at which iteration. Converged is good. At the iteration limit, use a "
     "larger -J. If no step lowers the objective, rounding limits the run; that is good if the "
     "gradient is small."},
};

void cli_put_sentences(FILE *out, const cli_sentence *sentence, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "  %s\n    ", sentence[i].label);
        cli_put_wrapped(out, sentence[i].text, 4, 4);
    }
}

static bool is_jd(const cli_call *call)
{
    return strcmp(call->command->name, "jd") == 0;
}

static const cli_sentence *sentence_for(const cli_call *call, const cli_sentence *s)
{
    for (size_t i = 0; is_jd(call) && i < sizeof of_jd / sizeof *of_jd; i++)
        if (strcmp(of_jd[i].label, s->label) == 0)
            return &of_jd[i];
    return s;
}

/* Explains the lines of the printed text; NULL: all lines that the command may print. The tables of
 * -k A:B and of the atoms have no label; the number of starts that agree is in the first line. */
static void explain(FILE *out, const cli_call *call, const char *printed, const cli_result *r)
{
    static const char jd_lines[] = " data objective eps stopped gradient time sums model ";
    char line[40];
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        const cli_sentence *s = &sentences[i];
        snprintf(line, sizeof line, printed != NULL ? "\n  %-14s" : " %s ", s->label);
        bool wanted = printed != NULL ? strstr(printed, line) != NULL
                                      : !is_jd(call) || strstr(jd_lines, line) != NULL;
        if (strcmp(s->label, "found by") == 0)
            wanted = printed == NULL || strstr(printed, " found by ") != NULL;
        if (r != NULL && strcmp(s->label, "components by") == 0)
            wanted = r->rank_table != NULL;
        if (r != NULL && strcmp(s->label, "atoms") == 0)
            wanted = r->atoms != NULL;
        if (wanted)
            cli_put_sentences(out, sentence_for(call, s), 1);
    }
}

void cli_explain(FILE *out, const cli_call *call)
{
    explain(out, call, NULL, NULL);
}

static void print_summary(FILE *out, const cli_call *call, const cli_result *r)
{
    bool white = tlnmf_record_get_array(r->model, "unmixing", NULL, NULL) != NULL;
    print_answer(out, r->model);
    if (r->output != NULL)
        cli_print_name(out, "model", r->output,
                       white ? ": unmixing (one row per source) and mixing, its inverse" : "");
    if (r->page != NULL)
        cli_print_name(out, "page", r->page, "");
    cli_print_data(out, r->input, tlnmf_data_record(r->data),
                   tlnmf_record_get_integer(r->model, "columns"));
    print_values(out, call, r->model);
    print_floor(out, call, r, white);
    print_run(out, r);
    if (r->atoms != NULL && wants_details())
        print_atom_table(out, r);
    else if (r->atoms != NULL)
        print_atoms(out, r->atoms);
}

void cli_print_result(FILE *out, const cli_call *call, const cli_result *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *copy = cli_asked.explain != NULL ? open_memstream(&text, &size) : NULL;
    print_summary(copy != NULL ? copy : out, call, r);
    if (copy == NULL)
        return;
    if (fclose(copy) == 0) {
        fputs(text, out);
        fputs("\nwhat these mean\n", out);
        explain(out, call, text, r);
    }
    free(text);
}
