/* The calls of tlnmf.h for use inside the library: plain structs. */
#ifndef TLNMF_API_API_H
#define TLNMF_API_API_H

#include "base/caveats.h"
#include "data/data.h"
#include "search/search.h"

/* A fit, or a joint diagonalisation if the task of the settings is TL_TASK_JD; no checkpoints. */
tlnmf_error tl_fit(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                   const tl_start *start_or_null, tl_result **out);
/* The same, with data, start, processes and checkpoints in `how`. */
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

/* C, L, I of any point, and the gradient Ganti of C over Phi (M x M) unless it is NULL. */
tlnmf_error tl_evaluate(tlnmf_ctx *ctx, const tlnmf_data *data, const tl_model_point *point,
                        tl_values *values, double *Ganti_or_null);

/* Reads Phi, W, H and eps from a record and checks their shapes against the data. Messages
 * call the record `what`. H may be missing unless needs_H. */
tlnmf_error tl_read_point(tlnmf_ctx *ctx, const tlnmf_data *data, const tlnmf_record *record,
                          const char *what, bool needs_H, tl_model_point *point);

/* The start of a fit of H alone: every component gets the same share of each frame's power. The
 * columns of W sum to 1, so W H has the power of the frame, and every component can grow. */
void tl_flat_start(const tlnmf_data *data, int64_t K, double eps, double *H);

/* Whether all numbers are finite, and not negative if `nonnegative`. */
bool tl_is_usable(int64_t count, const double *x, bool nonnegative);
/* An error unless W is finite and not negative and Phi is orthogonal to 1e-5, which takes M^3
 * operations. If Phi is not orthogonal to 1e-8, the model refers to the nearest orthogonal matrix
 * instead, with a warning. *own is that matrix or NULL; the caller releases it. */
tlnmf_error tl_check_model(tlnmf_ctx *ctx, int64_t M, tl_model_point *model, double **own);

/* An error if a start holds a name that no record of the library has: probably a wrong one. */
tlnmf_error tl_check_start_names(tlnmf_ctx *ctx, const tlnmf_record *record);

/* Whether 1 / eps and sums of it are in the range of double. */
bool tl_is_floor(double eps);
/* An error if (V + eps) / (Vhat + eps) could leave the range of double. */
tlnmf_error tl_check_range(tlnmf_ctx *ctx, const tlnmf_data *data, double eps);

/* eps-rel of the mean power; if the data have an offset, of the power without it. */
double tl_default_floor(const tlnmf_data *data, const tl_settings *settings);
/* Log warnings and keep them: before a fit, about the data and k, and about data from which nothing
 * can be learnt or whose V is noise; after it, about the floor. Fits inside a call do not repeat
 * them. */
void tl_warn_of_data(const tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                     tl_caveats *caveats_or_null);
void tl_warn_of_numbers(const tlnmf_ctx *ctx, const tlnmf_data *data, const tl_settings *settings,
                        tl_caveats *caveats_or_null);
void tl_warn_of_result(const tlnmf_ctx *ctx, const tl_info *info, tl_caveats *caveats_or_null);

/* The option eps-check: fits again, as `how` says, at a third and at three times the floor, and
 * adds the comparison to the model, unless it is cancelled. */
tlnmf_error tl_check_floor(tlnmf_ctx *ctx, const tl_search_task *how, const tl_settings *settings,
                           tlnmf_record *model);

/* Converts a result to a record, which takes ownership of its arrays. The result is consumed, even
 * on failure. */
tlnmf_error tl_model_record(tlnmf_ctx *ctx, const tl_settings *settings, tl_result *result,
                            tlnmf_record **model);

#endif
