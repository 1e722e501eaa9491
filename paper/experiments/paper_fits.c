/* Fits of the paper's data, and the results that cells store. */
#include "paper/experiments/reproduce.h"

#include <math.h>

int rep_draw_start(const rep *r, const tlnmf_data *data, const rep_search *search, int64_t p,
                   tlnmf_record **start)
{
    tlnmf_settings *settings;
    int code = rep_fit_settings(r, search, &settings);
    *start = NULL;
    if (code == EXIT_DONE)
        code = rep_check(r, tlnmf_draw_start(r->call->ctx, data, settings, p, start));
    tlnmf_settings_free(settings);
    return code;
}

int rep_fit(const rep *r, const tlnmf_data *data, const rep_search *search,
            const tlnmf_record *start_or_null, tlnmf_record **model)
{
    tlnmf_settings *settings;
    int code = rep_fit_settings(r, search, &settings);
    *model = NULL;
    if (code == EXIT_DONE)
        code = rep_check(r, tlnmf_fit(r->call->ctx, data, settings, start_or_null, model));
    tlnmf_settings_free(settings);
    if (code != EXIT_DONE ||
        tlnmf_record_get_integer(*model, "outcome_code") != TLNMF_OUTCOME_CANCELLED)
        return code;
    tlnmf_record_free(*model);
    *model = NULL;
    return EXIT_INTERRUPTED;
}

int rep_find(const rep *r, const rep_search *search, rep_objects *own)
{
    REP_TRY(rep_data(r, search, &own->data));
    return rep_fit(r, own->data, search, NULL, &own->model);
}

/* ---- results --------------------------------------------------------------------------------- */

static void put_search(json_t *out, const tlnmf_record *model)
{
    static const struct {
        const char *key, *name;
    } all[] = {{"C_tl", "C"},       {"L_tl", "L"},       {"I_tl", "I"},
               {"C_jd", "other.C"}, {"L_jd", "other.L"}, {"I_jd", "other.I"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_object_set_new(out, all[i].key, json_real(tlnmf_record_get_real(model, all[i].name)));
    json_object_set_new(out, "chain", json_boolean(tlnmf_record_get_integer(model, "chain") == 1));
}

static json_t *array_json(const tlnmf_record *record, const char *name)
{
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    const double *x = tlnmf_record_get_array(record, name, NULL, shape);
    return rep_numbers(x, shape[0] * shape[1]);
}

/* GCM: Phi of both methods, and the distance of each to Phibar, the DCT. */
static tlnmf_error put_transforms(tlnmf_ctx *ctx, json_t *out, const tlnmf_record *model)
{
    enum { M = REP_GCM_M };
    static const char *const names[2] = {"Phi", "other.Phi"}, *const keys[2] = {"Phi_tl", "Phi_jd"};
    static const char *const distances[2] = {"distance_tl", "distance_jd"};
    double Phibar[M * M], distance;
    tlnmf_error error = tlnmf_transform_matrix(ctx, "dct", M, Phibar);
    for (int i = 0; error == TLNMF_OK && i < 2; i++) {
        const double *Phi = tlnmf_record_get_array(model, names[i], NULL, NULL);
        error = tlnmf_transform_distance(ctx, M, Phi, Phibar, &distance);
        json_object_set_new(out, keys[i], array_json(model, names[i]));
        if (error == TLNMF_OK)
            json_object_set_new(out, distances[i], json_real(distance));
    }
    return error;
}

/* Notes: the fits of the strongest atoms, their rows of Phi, W with its rows in the same order, by
 * columns, and H. */
static tlnmf_error put_atoms(tlnmf_ctx *ctx, json_t *out, const char *key,
                             const tlnmf_record *model)
{
    enum { M = REP_NOTES_M, K = REP_NOTES_K };
    tlnmf_record *atoms;
    tlnmf_error error = tlnmf_atoms(ctx, model, REP_NOTES_RATE, M, &atoms);
    if (error != TLNMF_OK)
        return error;
    const double *Phi = tlnmf_record_get_array(model, "Phi", NULL, NULL);
    const double *W = tlnmf_record_get_array(model, "W", NULL, NULL);
    const double *row = tlnmf_record_get_array(atoms, "row", NULL, NULL);
    double sorted[K * M];
    for (int i = 0; i < K * M; i++)
        sorted[i] = W[(int)row[i % M] * K + i / M];
    json_t *rows = json_array(), *object = json_object();
    for (int i = 0; i < REP_ATOMS; i++)
        json_array_append_new(rows, rep_numbers(Phi + (int64_t)row[i] * M, M));
    json_object_set_new(object, "frequency", array_json(atoms, "frequency"));
    json_object_set_new(object, "error", array_json(atoms, "error"));
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "W", rep_numbers(sorted, (int64_t)K * M));
    json_object_set_new(object, "H", array_json(model, "H"));
    json_object_set_new(out, key, object);
    tlnmf_record_free(atoms);
    return TLNMF_OK;
}

/* Replaces the arrays of the model by those of the other method: `Phi` by `other.Phi`. */
static tlnmf_error use_other(tlnmf_ctx *ctx, tlnmf_record *model)
{
    static const char *const names[] = {"other.Phi", "other.W", "other.H", "other.energy"};
    tlnmf_error error = TLNMF_OK;
    for (size_t i = 0; error == TLNMF_OK && i < sizeof names / sizeof *names; i++) {
        int32_t rank;
        int64_t shape[TLNMF_MAX_DIMENSIONS];
        const double *x = tlnmf_record_get_array(model, names[i], &rank, shape);
        error = tlnmf_record_set_array(ctx, model, names[i] + sizeof "other." - 1, x, rank, shape);
    }
    return error;
}

/* ---- cells ----------------------------------------------------------------------------------- */

int rep_run_search(rep *r, const rep_cell *cell, rep_objects *own, json_t *out)
{
    tlnmf_ctx *ctx = r->call->ctx;
    REP_TRY(rep_find(r, &cell->search, own));
    put_search(out, own->model);
    if (cell->search.set == REP_GCM)
        return rep_check(r, put_transforms(ctx, out, own->model));
    REP_TRY(rep_check(r, put_atoms(ctx, out, "tl", own->model)));
    REP_TRY(rep_check(r, use_other(ctx, own->model)));
    return rep_check(r, put_atoms(ctx, out, "jd", own->model));
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
