/* Searches: fits of the paper's data, and what the cells keep of them. */
#include "paper/commands/reproduce.h"

#include <math.h>

int rep_draw_start(const rep *r, const tlnmf_data *data, const rep_search *search, int64_t p,
                   tlnmf_record **start)
{
    rep_settings s = rep_settings_of(r, search);
    *start = NULL;
    if (s.error == TLNMF_OK)
        s.error = tlnmf_draw_start(s.ctx, data, s.settings, p, start);
    tlnmf_settings_free(s.settings);
    return rep_check(r, s.error);
}

int rep_fit(const rep *r, const tlnmf_data *data, const rep_search *search,
            const tlnmf_record *start_or_null, tlnmf_record **model)
{
    rep_settings s = rep_settings_of(r, search);
    *model = NULL;
    if (s.error == TLNMF_OK)
        s.error = tlnmf_fit(s.ctx, data, s.settings, start_or_null, model);
    tlnmf_settings_free(s.settings);
    if (s.error != TLNMF_OK || tlnmf_get_integer(*model, "outcome_code") != TLNMF_CANCELLED)
        return rep_check(r, s.error);
    tlnmf_record_free(*model);
    *model = NULL;
    return EXIT_INTERRUPTED;
}

int rep_find(const rep *r, const rep_search *search, tlnmf_data **data, tlnmf_record **model)
{
    *model = NULL;
    int code = rep_data(r, search, data);
    return code == EXIT_DONE ? rep_fit(r, *data, search, NULL, model) : code;
}

/* ---- what a cell keeps of a search ----------------------------------------------------------- */

static void put_search(json_t *out, const tlnmf_record *model)
{
    static const struct {
        const char *key, *name;
    } all[] = {{"C_tl", "C"},
               {"L_tl", "L"},
               {"I_tl", "I"},
               {"C_jd", "other.C"},
               {"L_jd", "other.L"},
               {"I_jd", "other.I"},
               {"gradient_jd", "other.gradient_norm"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_object_set_new(out, all[i].key, json_real(tlnmf_get_real(model, all[i].name)));
    json_object_set_new(out, "chain", json_boolean(tlnmf_get_integer(model, "chain") == 1));
    json_object_set_new(out, "start_tl", json_integer(tlnmf_get_integer(model, "best_start")));
    json_object_set_new(out, "start_jd",
                        json_integer(tlnmf_get_integer(model, "other.best_start")));
}

static json_t *array_json(const tlnmf_record *record, const char *name)
{
    int64_t shape[TLNMF_MAX_RANK];
    const double *x = tlnmf_get_array(record, name, NULL, shape);
    return rep_numbers(x, shape[0] * shape[1]);
}

static int put_transforms(const rep *r, json_t *out, const tlnmf_record *model)
{
    (void)r;
    json_object_set_new(out, "Phi_tl", array_json(model, "Phi"));
    json_object_set_new(out, "Phi_jd", array_json(model, "other.Phi"));
    return EXIT_DONE;
}

/* How far both transforms are from Phibar, the DCT. */
static int put_distances(const rep *r, json_t *out, const tlnmf_record *model)
{
    enum { M = REP_GCM_M };
    static const char *const names[2] = {"Phi", "other.Phi"};
    static const char *const keys[2] = {"distance_tl", "distance_jd"};
    double Phibar[M * M], distance;
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_error error = tlnmf_transform_matrix(ctx, "dct", M, Phibar);
    for (int i = 0; error == TLNMF_OK && i < 2; i++) {
        const double *Phi = tlnmf_get_array(model, names[i], NULL, NULL);
        error = tlnmf_transform_distance(ctx, M, Phi, Phibar, &distance);
        if (error == TLNMF_OK)
            json_object_set_new(out, keys[i], json_real(distance));
    }
    return rep_check(r, error);
}

/* W with its rows in the order of the energies of Phi's, the largest first. */
static json_t *sorted_W(const tlnmf_record *model)
{
    int64_t shape[TLNMF_MAX_RANK], M, K, last_row = -1;
    const double *energy = tlnmf_get_array(model, "energy", NULL, NULL);
    const double *W = tlnmf_get_array(model, "W", NULL, shape);
    json_t *array = json_array();
    double last = INFINITY;
    M = shape[0];
    K = shape[1];
    for (int64_t i = 0; i < M; i++) {
        int64_t next = -1;
        for (int64_t m = 0; m < M; m++) {
            bool after = energy[m] < last || (energy[m] == last && m > last_row);
            if (after && (next < 0 || energy[m] > energy[next]))
                next = m;
        }
        for (int64_t k = 0; k < K && next >= 0; k++)
            json_array_append_new(array, json_real(W[next * K + k]));
        last = next < 0 ? last : energy[next];
        last_row = next;
    }
    return array;
}

/* The strongest rows with their fits, W in the order of energies, and H. */
static tlnmf_error put_atoms(tlnmf_ctx *ctx, json_t *out, const char *key,
                             const tlnmf_record *model)
{
    int64_t M = REP_NOTES_M;
    tlnmf_record *atoms;
    tlnmf_error error = tlnmf_atoms(ctx, model, REP_NOTES_RATE, REP_ATOMS, &atoms);
    if (error != TLNMF_OK)
        return error;
    const double *Phi = tlnmf_get_array(model, "Phi", NULL, NULL);
    const double *row = tlnmf_get_array(atoms, "row", NULL, NULL);
    json_t *rows = json_array(), *object = json_object();
    for (int i = 0; i < REP_ATOMS; i++)
        json_array_append_new(rows, rep_numbers(Phi + (int64_t)row[i] * M, M));
    json_object_set_new(object, "frequency", array_json(atoms, "frequency"));
    json_object_set_new(object, "error", array_json(atoms, "error"));
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "W", sorted_W(model));
    json_object_set_new(object, "H", array_json(model, "H"));
    json_object_set_new(out, key, object);
    tlnmf_record_free(atoms);
    return TLNMF_OK;
}

/* The other method's arrays as a model of their own: `other.Phi` as `Phi`. */
static tlnmf_error copy_other(tlnmf_ctx *ctx, const tlnmf_record *model, tlnmf_record *other)
{
    static const char *const names[] = {"other.Phi", "other.W", "other.H", "other.energy"};
    tlnmf_error error = TLNMF_OK;
    for (size_t i = 0; error == TLNMF_OK && i < sizeof names / sizeof *names; i++) {
        int32_t rank;
        int64_t shape[TLNMF_MAX_RANK];
        const double *x = tlnmf_get_array(model, names[i], &rank, shape);
        error = tlnmf_set_array(ctx, other, names[i] + sizeof "other." - 1, x, rank, shape);
    }
    return error;
}

static int put_both_atoms(const rep *r, json_t *out, const tlnmf_record *model)
{
    tlnmf_ctx *ctx = r->call->ctx;
    tlnmf_record *other;
    tlnmf_error error = tlnmf_record_create(ctx, &other);
    if (error == TLNMF_OK)
        error = copy_other(ctx, model, other);
    if (error == TLNMF_OK)
        error = put_atoms(ctx, out, "tl", model);
    if (error == TLNMF_OK)
        error = put_atoms(ctx, out, "jd", other);
    tlnmf_record_free(other);
    return rep_check(r, error);
}

/* ---- cells ----------------------------------------------------------------------------------- */

typedef int (*keeper)(const rep *r, json_t *out, const tlnmf_record *model);

static int run_and_keep(const rep *r, const rep_search *search, keeper keep, json_t *out)
{
    tlnmf_data *data;
    tlnmf_record *model;
    int code = rep_find(r, search, &data, &model);
    if (code == EXIT_DONE) {
        put_search(out, model);
        code = keep(r, out, model);
    }
    tlnmf_record_free(model);
    tlnmf_data_free(data);
    return code;
}

int rep_run_search(rep *r, const rep_cell *cell, json_t *out)
{
    keeper keep = cell->search.set == REP_GCM ? put_transforms : put_both_atoms;
    return run_and_keep(r, &cell->search, keep, out);
}

int rep_run_distances(rep *r, const rep_cell *cell, json_t *out)
{
    return run_and_keep(r, &cell->search, put_distances, out);
}

rep_cell rep_search_cell(const rep *r, rep_set set, int64_t S, rep_solver solver)
{
    bool is_paper = solver == REP_PAPER;
    rep_cell cell = {.run = rep_run_search, .search = {.set = set, .S = S, .solver = solver}};
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

const json_t *rep_search_result(const rep *r, rep_set set, int64_t S, rep_solver solver)
{
    return rep_result(r, rep_search_cell(r, set, S, solver).name);
}
