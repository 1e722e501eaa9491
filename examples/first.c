/* A first program: learns a transform and a factorisation from an array.
 *
 *     cc first.c $(pkg-config --cflags --libs tlnmf) -o first */
#include <stdio.h>
#include <tlnmf/tlnmf.h>

int main(void)
{
    const double Y[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}; /* row-major 2 x 6: Y[m * 6 + n] */
    const int64_t shape[] = {1, 2, 6};                       /* realisations, samples, frames */
    char message[TLNMF_MESSAGE_SIZE];
    tlnmf_record *model;
    if (tlnmf_simple_fit(Y, shape, "k=1", message, &model) != TLNMF_OK)
        return fprintf(stderr, "%s\n", message), 1;
    const double *H = tlnmf_record_get_array(model, "H", NULL, NULL); /* k x frames */
    printf("C = %.3f, H of frame 0: %.3f\n", tlnmf_record_get_real(model, "C"), H[0]);
    tlnmf_record_free(model);
    return 0;
}
