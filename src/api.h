/* The calls of tlnmf.h for use inside the library: plain structs, and a callback per call. */
#ifndef TLNMF_API_H
#define TLNMF_API_H

#include "data/data.h"
#include "search/search.h"

/* A fit, or a joint diagonalisation where the settings are of task TL_TASK_JD; without checkpoints.
 */
tlnmf_error tl_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                   const tl_start *start_or_null, tl_callback callback_or_null, void *user,
                   tl_result **out);
/* The same with what `how` says beside the settings: data, start, callback, machines, checkpoints.
 */
tlnmf_error tl_fit_as(tlnmf_ctx *ctx, const tl_settings *settings, const tl_search_task *how,
                      tl_result **out);
/* Start number p of a fit: Phi (M x M), W (M x K), H (K x N). */
tlnmf_error tl_draw_start(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                          int64_t p, double *Phi, double *W, double *H);

/* A point and its floor. */
typedef struct tl_model_point {
    const double *Phi, *W, *H; /* M x M, M x K, K x N */
    int64_t K;
    double eps;
} tl_model_point;

typedef struct tl_point_values {
    double C, L, I;
} tl_point_values;

/* C, L, I of any point, and the gradient Ganti of C over Phi (M x M) unless it is NULL. */
tlnmf_error tl_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_model_point *point,
                        tl_point_values *values, double *Ganti_or_null);

/* Reads Phi, W, H and eps from a record and checks their shapes against the data. `what` is what
 * messages call the record. H may be missing unless needs_H. */
tlnmf_error tl_read_point(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *record,
                          const char *what, bool needs_H, tl_model_point *point);

/* An error if (V + eps) / (Vhat + eps) could leave the range of double. */
tlnmf_error tl_check_range(tlnmf_ctx *ctx, const tlnmf_data *data, double eps);

/* What the option eps-check finds out at a third and at three times the floor. */
enum { TL_FLOORS = 2 };
typedef struct tl_floor_check {
    bool done; /* false: it was cancelled */
    double eps[TL_FLOORS], above[TL_FLOORS], same_atoms[TL_FLOORS];
} tl_floor_check;

/* Fits again as `how` says, but without checkpoints. */
tlnmf_error tl_check_floor(tlnmf_ctx *ctx, const tl_search_task *how, const tl_settings *settings,
                           const tl_result *kept, tl_floor_check *check);
/* Adds it to a model, if it is done. */
tlnmf_error tl_put_floor_check(tlnmf_ctx *ctx, const tl_floor_check *check, tlnmf_record *model);

/* Converts a result to a record, which takes over its arrays. The result is consumed, also on
 * failure. */
tlnmf_error tl_model_record(tlnmf_ctx *ctx, const tl_settings *settings, tl_result *result,
                            tlnmf_record **model);

#endif
