/* The paper's data sets and protocols (Table I), and the search of Figure 2 on them. */
#include "paper/commands/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t GCM_TRUTH = 2020, GCM_DATA = 100, NOTES_PHASES = 7;

/* The phases of the first ten realisations of the authors' notes, by which their S = 1 and S = 10
 * can be made again; theirs beyond are not known, and drawn here. */
enum { KNOWN_PHASES = 20 };
static const double known_phases[KNOWN_PHASES] = {
    4.566139588724956,  5.105464657836703,    0.2449613913090589, 5.153115826666694,
    3.4203100177108436, 0.027070506989782122, 1.196935609829323,  2.850363993678152,
    5.46327257289301,   5.476779534871654,    0.4373918919838481, 5.512620373054259,
    5.46113699868618,   2.463911211959506,    4.475390176713075,  0.3057042255931498,
    2.0970839871027898, 5.167942064571887,    4.424665146296706,  5.442874783303953};

rep_protocol rep_protocol_of(const rep *r, rep_set set)
{
    static const rep_protocol full[] = {
        {"gcm", 10, 50, 5, 1e-8, 100, 1000, 30, 2021, {1, 10, 100, 1000, 5000}},
        {"notes",
         TLNMF_NOTES_M,
         TLNMF_NOTES_N,
         2,
         5e-7,
         10,
         100,
         10,
         100,
         {1, 10, 100, 1000, 5000}}};
    static const rep_protocol quick[] = {
        {"gcm", 10, 50, 5, 1e-8, 4, 100, 30, 2021, {1, 10, 100}},
        {"notes", TLNMF_NOTES_M, TLNMF_NOTES_N, 2, 5e-7, 1, 10, 10, 100, {1, 100}}};
    return r->quick ? quick[set] : full[set];
}

tlnmf_settings rep_settings(const rep *r, rep_set set, tlnmf_solver solver, int64_t S)
{
    rep_protocol p = rep_protocol_of(r, set);
    tlnmf_settings opt;
    tlnmf_settings_init(&opt);
    opt.k = p.K;
    opt.eps = p.eps;
    opt.method = TLNMF_METHOD_TL;
    opt.solver = (int32_t)solver;
    opt.starts = p.P;
    opt.seed = p.seed;
    opt.stream = TLNMF_STREAM_NUMPY;
    opt.exchange = 1;
    opt.threads = r->call->settings.threads;
    if (solver == TLNMF_SOLVER_PAPER) {
        opt.J = p.J;
        opt.halvings = p.halvings;
        opt.grad_tol = 0.0; /* all J steps of JD: the reference's test never holds */
        opt.handover = 1000;
    } else {
        opt.J = r->quick ? 20 : opt.J;
        opt.continuation = set == REP_GCM && S == 1;
    }
    return opt;
}

/* ---- data ------------------------------------------------------------------------------------ */

static double *doubles(int64_t count)
{
    return malloc((size_t)count * sizeof(double));
}

static int gcm(rep *r, int64_t S, tlnmf_data **out)
{
    rep_protocol p = rep_protocol_of(r, REP_GCM);
    double *Y = doubles(S * p.M * p.N);
    if (Y == NULL)
        return rep_no_memory(r);
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_error error = tlnmf_simulate_gcm(ctx, S, p.M, p.N, p.K, GCM_TRUTH, GCM_DATA,
                                           TLNMF_STREAM_NUMPY, Y, NULL, NULL);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, Y, S, p.M, p.N, out);
    free(Y);
    return error == TLNMF_OK ? EXIT_DONE : rep_fail(r, error);
}

/* Sigma_n = Phibar' Diag(Wbar Hbar_n) Phibar, for all n. */
static void true_covariances(const rep_protocol *p, const double *Phibar, const double *W,
                             const double *H, double *Sigma)
{
    int64_t M = p->M, N = p->N, K = p->K;
    memset(Sigma, 0, (size_t)(N * M * M) * sizeof *Sigma);
    for (int64_t n = 0; n < N; n++)
        for (int64_t m = 0; m < M; m++) {
            double v = 0.0;
            for (int64_t k = 0; k < K; k++)
                v += W[m * K + k] * H[k * N + n];
            for (int64_t i = 0; i < M; i++)
                for (int64_t j = 0; j < M; j++)
                    Sigma[(n * M + i) * M + j] += v * Phibar[m * M + i] * Phibar[m * M + j];
        }
}

int rep_truth(rep *r, tlnmf_data **out)
{
    rep_protocol p = rep_protocol_of(r, REP_GCM);
    int64_t M = p.M, N = p.N, K = p.K;
    double *block = doubles(M * N + M * K + K * N + M * M + N * M * M);
    if (block == NULL)
        return rep_no_memory(r);
    double *Y = block, *W = Y + M * N, *H = W + M * K, *Phibar = H + K * N, *Sigma = Phibar + M * M;
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_error error =
        tlnmf_simulate_gcm(ctx, 1, M, N, K, GCM_TRUTH, GCM_DATA, TLNMF_STREAM_NUMPY, Y, W, H);
    if (error == TLNMF_OK)
        error = tlnmf_transform_matrix(ctx, TLNMF_TRANSFORM_DCT, M, Phibar);
    if (error == TLNMF_OK) {
        true_covariances(&p, Phibar, W, H, Sigma);
        error = tlnmf_data_from_covariances(ctx, Sigma, N, M, out);
    }
    free(block);
    return error == TLNMF_OK ? EXIT_DONE : rep_fail(r, error);
}

/* cos, sin of theta and 2 theta of both notes: the frames are linear in these eight numbers. */
enum { TRIG = 8, NOTE_SIZE = TLNMF_NOTES_M * TLNMF_NOTES_N, BASIS_SIZE = TRIG * NOTE_SIZE };

static void trig(const double theta[2], double c[TRIG])
{
    for (int64_t i = 0; i < 2; i++) {
        c[4 * i] = cos(theta[i]);
        c[4 * i + 1] = sin(theta[i]);
        c[4 * i + 2] = cos(2.0 * theta[i]);
        c[4 * i + 3] = sin(2.0 * theta[i]);
    }
}

/* What each of the eight numbers multiplies, TRIG x 200 x 151: Fourier coefficients of the frames
 * over eight phases of one note, the other's being constant and so without effect. */
static tlnmf_error note_basis(tlnmf_ctx *ctx, double *Y, double *basis)
{
    memset(basis, 0, BASIS_SIZE * sizeof *basis);
    for (int64_t note = 0; note < 2; note++)
        for (int j = 0; j < TRIG; j++) {
            double theta[2] = {0.0, 0.0}, c[TRIG];
            theta[note] = 6.283185307179586 * j / TRIG;
            tlnmf_error error = tlnmf_simulate_notes(ctx, 1, theta, Y, NULL);
            if (error != TLNMF_OK)
                return error;
            trig(theta, c);
            for (int64_t i = 4 * note; i < 4 * note + 4; i++)
                for (int64_t e = 0; e < NOTE_SIZE; e++)
                    basis[i * NOTE_SIZE + e] += 0.25 * c[i] * Y[e];
        }
    return TLNMF_OK;
}

/* F with F F' = (1/S) sum_s c_s c_s', lower triangular (Cholesky). */
static void factor_phases(int64_t S, const double *theta, double F[TRIG][TRIG])
{
    memset(F, 0, TRIG * sizeof *F);
    for (int64_t s = 0; s < S; s++) {
        double c[TRIG];
        trig(theta + 2 * s, c);
        for (int i = 0; i < TRIG; i++)
            for (int j = 0; j <= i; j++)
                F[i][j] += c[i] * c[j] / (double)S;
    }
    for (int j = 0; j < TRIG; j++)
        for (int i = j; i < TRIG; i++) {
            for (int k = 0; k < j; k++)
                F[i][j] -= F[i][k] * F[j][k];
            F[i][j] = i == j ? sqrt(fmax(F[j][j], 0.0)) : F[j][j] > 0.0 ? F[i][j] / F[j][j] : 0.0;
        }
}

/* Eight realisations with the covariances of S: 5000 of them would take a gigabyte. */
static tlnmf_error many_notes(tlnmf_ctx *ctx, int64_t S, const double *theta, double *Y,
                              double *basis)
{
    double F[TRIG][TRIG];
    tlnmf_error error = note_basis(ctx, Y, basis);
    factor_phases(S, theta, F);
    for (int64_t e = 0; error == TLNMF_OK && e < BASIS_SIZE; e++) {
        int64_t j = e / NOTE_SIZE;
        Y[e] = 0.0;
        for (int64_t i = j; i < TRIG; i++)
            Y[e] += sqrt(TRIG) * F[i][j] * basis[i * NOTE_SIZE + e % NOTE_SIZE];
    }
    return error;
}

static int notes(rep *r, int64_t S, tlnmf_data **out)
{
    enum { DIRECTLY = KNOWN_PHASES / 2, DIRECT_SIZE = DIRECTLY * NOTE_SIZE };
    tlnmf_ctx *ctx = r->call->ctx;
    int64_t count = S <= DIRECTLY ? S : TRIG;
    double *theta = doubles(2 * S + KNOWN_PHASES), *Y = doubles(DIRECT_SIZE + BASIS_SIZE);
    tlnmf_error error = TLNMF_OK;
    if (theta == NULL || Y == NULL) {
        free(theta);
        free(Y);
        return rep_no_memory(r);
    }
    memcpy(theta, known_phases, sizeof known_phases);
    if (S > DIRECTLY)
        error = tlnmf_random_phases(ctx, NOTES_PHASES, TLNMF_STREAM_NUMPY, 2 * S - KNOWN_PHASES,
                                    theta + KNOWN_PHASES);
    if (error == TLNMF_OK)
        error = S <= DIRECTLY ? tlnmf_simulate_notes(ctx, S, theta, Y, NULL)
                              : many_notes(ctx, S, theta, Y, Y + DIRECT_SIZE);
    if (error == TLNMF_OK)
        error = tlnmf_data_from_realisations(ctx, Y, count, TLNMF_NOTES_M, TLNMF_NOTES_N, out);
    free(theta);
    free(Y);
    return error == TLNMF_OK ? EXIT_DONE : rep_fail(r, error);
}

double *rep_notes(rep *r)
{
    double *Y = doubles(NOTE_SIZE);
    if (Y != NULL && tlnmf_simulate_notes(r->call->ctx, 1, known_phases, Y, NULL) != TLNMF_OK) {
        free(Y);
        return NULL;
    }
    return Y;
}

int rep_data(rep *r, rep_set set, int64_t S, tlnmf_data **out)
{
    *out = NULL;
    return set == REP_GCM ? gcm(r, S, out) : notes(r, S, out);
}

/* ---- the search of Figure 2 ------------------------------------------------------------------ */

int rep_fit(rep *r, const tlnmf_data *data, const tlnmf_settings *opt, const tlnmf_start *start,
            tlnmf_result **out)
{
    tlnmf_error error = tlnmf_fit(r->call->ctx, data, opt, start, rep_progress, r, out);
    if (error != TLNMF_OK)
        return rep_fail(r, error);
    tlnmf_info info;
    tlnmf_result_describe(*out, &info);
    if (info.outcome != TLNMF_CANCELLED)
        return EXIT_DONE;
    tlnmf_result_free(*out);
    *out = NULL;
    return EXIT_INTERRUPTED;
}

void rep_put_search(json_t *out, const tlnmf_result *tl)
{
    tlnmf_info info, jd;
    tlnmf_result_describe(tl, &info);
    tlnmf_result_describe(tlnmf_result_other(tl), &jd);
    const struct {
        const char *key;
        double value;
    } all[] = {{"C_tl", info.C}, {"L_tl", info.L}, {"I_tl", info.I},
               {"C_jd", jd.C},   {"L_jd", jd.L},   {"I_jd", jd.I}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_object_set_new(out, all[i].key, json_real(all[i].value));
    json_object_set_new(out, "chain", json_boolean(info.chain == 1));
    json_object_set_new(out, "start_tl", json_integer((json_int_t)info.best_start));
    json_object_set_new(out, "start_jd", json_integer((json_int_t)jd.best_start));
    json_object_set_new(out, "gradient_jd", json_real(jd.gradient_norm));
}

/* W with its rows in the order of the energies of Phi's, the largest first. */
static json_t *sorted_W(const tlnmf_result *result, const tlnmf_info *info)
{
    const double *energy = tlnmf_result_energy(result), *W = tlnmf_result_W(result);
    json_t *array = json_array();
    double last = INFINITY;
    int64_t last_row = -1;
    for (int64_t i = 0; i < info->M; i++) {
        int64_t next = -1;
        for (int64_t m = 0; m < info->M; m++) {
            bool after = energy[m] < last || (energy[m] == last && m > last_row);
            if (after && (next < 0 || energy[m] > energy[next]))
                next = m;
        }
        for (int64_t k = 0; k < info->K && next >= 0; k++)
            json_array_append_new(array, json_real(W[next * info->K + k]));
        last = next < 0 ? last : energy[next];
        last_row = next;
    }
    return array;
}

/* The strongest rows with their fits, W in the order of energies, and H. */
int rep_put_atoms(rep *r, json_t *out, const char *key, const tlnmf_result *result)
{
    tlnmf_info info;
    tlnmf_atom atoms[REP_ATOMS];
    double frequency[REP_ATOMS], wrong[REP_ATOMS];
    tlnmf_result_describe(result, &info);
    tlnmf_error error =
        tlnmf_result_atoms(r->call->ctx, result, TLNMF_NOTES_RATE, atoms, REP_ATOMS);
    if (error != TLNMF_OK)
        return rep_fail(r, error);
    json_t *rows = json_array(), *object = json_object();
    for (int i = 0; i < REP_ATOMS; i++) {
        frequency[i] = atoms[i].frequency;
        wrong[i] = atoms[i].error;
        json_array_append_new(
            rows, rep_numbers(tlnmf_result_Phi(result) + atoms[i].row * info.M, info.M));
    }
    json_object_set_new(object, "frequency", rep_numbers(frequency, REP_ATOMS));
    json_object_set_new(object, "error", rep_numbers(wrong, REP_ATOMS));
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "W", sorted_W(result, &info));
    json_object_set_new(object, "H", rep_numbers(tlnmf_result_H(result), info.K * info.N));
    json_object_set_new(out, key, object);
    return EXIT_DONE;
}

/* How far both results of an exchange are from Phibar, the DCT. */
static int put_distances(rep *r, json_t *out, const tlnmf_result *tl)
{
    enum { M = 10 };
    double Phibar[M * M], distance[2] = {NAN, NAN};
    tlnmf_ctx *ctx = r->call->ctx;
    const tlnmf_result *both[2] = {tl, tlnmf_result_other(tl)};
    tlnmf_error error = tlnmf_transform_matrix(ctx, TLNMF_TRANSFORM_DCT, M, Phibar);
    for (int i = 0; error == TLNMF_OK && i < 2; i++)
        error = tlnmf_transform_distance(ctx, M, tlnmf_result_Phi(both[i]), Phibar, &distance[i]);
    if (error != TLNMF_OK)
        return rep_fail(r, error);
    json_object_set_new(out, "distance_tl", json_real(distance[0]));
    json_object_set_new(out, "distance_jd", json_real(distance[1]));
    return EXIT_DONE;
}

int rep_search_gcm(rep *r, tlnmf_data *data, const tlnmf_settings *opt, json_t *out)
{
    tlnmf_result *tl = NULL;
    int code = rep_fit(r, data, opt, NULL, &tl);
    if (code == EXIT_DONE) {
        rep_put_search(out, tl);
        code = put_distances(r, out, tl);
    }
    tlnmf_result_free(tl);
    tlnmf_data_free(data);
    return code;
}

static int run_search(rep *r, const rep_cell *cell, json_t *out)
{
    tlnmf_data *data;
    tlnmf_result *tl = NULL;
    int code = rep_data(r, cell->set, cell->S, &data);
    if (code == EXIT_DONE) {
        tlnmf_settings opt = rep_settings(r, cell->set, cell->solver, cell->S);
        code = rep_fit(r, data, &opt, NULL, &tl);
    }
    if (code == EXIT_DONE) {
        rep_put_search(out, tl);
        int64_t square = rep_protocol_of(r, cell->set).M * rep_protocol_of(r, cell->set).M;
        if (cell->set == REP_GCM) {
            json_object_set_new(out, "Phi_tl", rep_numbers(tlnmf_result_Phi(tl), square));
            json_object_set_new(out, "Phi_jd",
                                rep_numbers(tlnmf_result_Phi(tlnmf_result_other(tl)), square));
        } else {
            code = rep_put_atoms(r, out, "tl", tl);
            if (code == EXIT_DONE)
                code = rep_put_atoms(r, out, "jd", tlnmf_result_other(tl));
        }
    }
    tlnmf_result_free(tl);
    tlnmf_data_free(data);
    return code;
}

rep_cell rep_search_cell(const rep *r, rep_set set, int64_t S, tlnmf_solver solver)
{
    bool is_paper = solver == TLNMF_SOLVER_PAPER;
    rep_cell cell = {.run = run_search, .set = set, .S = S, .solver = solver};
    snprintf(cell.name, sizeof cell.name, "search-%s-S%lld-%s", rep_protocol_of(r, set).name,
             (long long)S, is_paper ? "paper" : "fast");
    if (set == REP_GCM)
        cell.cost = is_paper ? 7.0 : 2.5;
    else
        cell.cost = is_paper ? (S == 1 ? 10.0 : 20.0) : 12.0;
    if (r->quick)
        cell.cost *= 0.05;
    return cell;
}
