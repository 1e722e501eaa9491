/* Trust-region Newton steps (Nocedal and Wright, 4 and 7.1): conjugate gradients in the metric of
 * the joint coordinates, after Steihaug, on products with the Hessian that are differences of
 * gradients. For small problems close to a minimum, where L-BFGS takes hundreds of steps for the
 * last digits. */
#ifndef TLNMF_SOLVE_NEWTON_H
#define TLNMF_SOLVE_NEWTON_H

#include "model/model.h"

struct tl_joint;

typedef struct tl_newton {
    double radius;               /* of the region, in the metric; 0: not known yet */
    double *step, *residual, *d; /* of conjugate gradients */
    double *Hd, *gradient;       /* Hessian times d; the gradient at the point */
    double *P, *Q, *W, *H;       /* of the point, while products are made */
} tl_newton;

enum { TL_NEWTON_SLOTS = 9, TL_NEWTON_MOST_M = 64 };
/* All empty where M is more than TL_NEWTON_MOST_M. */
void tl_newton_slots(tl_newton *newton, int64_t size, int64_t M, int64_t N, int64_t K,
                     tl_slot slots[TL_NEWTON_SLOTS]);

/* One step from the model's point, whose gradient and metric are up to date, as is the gradient
 * afterwards. False, with the point as it was, if the region shrank to nothing. */
bool tl_newton_step(tl_model *model, struct tl_joint *joint, double *value, double *length);

#endif
