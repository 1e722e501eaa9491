/* Strong Wolfe line search (Nocedal and Wright, Algorithms 3.5 and 3.6) with the interpolation
 * rules of scipy.optimize.line_search, on which the reference's steps depend. */
#ifndef TLNMF_SOLVE_LINESEARCH_H
#define TLNMF_SOLVE_LINESEARCH_H

#include <stdbool.h>

/* The objective as a function of the step. slope(a) is only called right after value(a). */
typedef struct tl_line {
    double (*value)(void *self, double a);
    double (*slope)(void *self, double a);
    void *self;
    bool (*stops)(void *self); /* polled between tries: true ends the search; may be NULL */
} tl_line;

/* False if there is no acceptable step; else the last call of value() was at *step. */
bool tl_wolfe(const tl_line *line, double value0, double slope0, double *step);

#endif
