/* Trust-region Newton steps (Nocedal and Wright, 4 and 7.1): conjugate gradients in the metric of
 * the joint coordinates, after Steihaug, on products with the Hessian that are differences of
 * gradients. For small problems close to a minimum, where L-BFGS takes hundreds of steps for the
 * last digits. */
#ifndef TLNMF_SOLVE_NEWTON_H
#define TLNMF_SOLVE_NEWTON_H

#include "model/model.h"
#include "solve/run.h"

struct tl_joint;

typedef struct tl_newton {
    double radius;               /* of the region, in the metric; 0: not known yet */
    double *step, *residual, *d; /* of conjugate gradients */
    double *Hd;                  /* Hessian times d */
    double *P, *Q, *W, *H;       /* of the point, while products are made */
} tl_newton;

enum { TL_NEWTON_SLOTS = 8, TL_NEWTON_MOST_M = 64 };
/* `size` coordinates, of them MK and KN entries of W and H. */
void tl_newton_slots(tl_newton *newton, int64_t size, int64_t MK, int64_t KN,
                     tl_slot slots[TL_NEWTON_SLOTS]);

/* One step from the model's point, whose gradient and metric are up to date, as is the gradient
 * afterwards. False, with the point as it was, if the region shrank to nothing or the run has to
 * end. */
bool tl_newton_step(tl_model *model, struct tl_joint *joint, tl_run *run, double *value,
                    double *length);

#endif
