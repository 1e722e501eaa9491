/* A first program: learns a transform and two spectra from an array.
 *
 *     cc first.c $(pkg-config --cflags --libs tlnmf) -lm -o first */
#include <math.h>
#include <stdio.h>
#include <tlnmf/tlnmf.h>

int main(void)
{
    const int64_t shape[] = {1, 16, 100};
    double Y[16][100]; /* 100 frames of 16 samples, in columns: first one tone, then another */
    char message[TLNMF_MESSAGE_SIZE];
    tlnmf_record *model;
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 100; n++)
            Y[m][n] = n < 50 ? sin(0.9 * m + n) : cos(2.1 * m - 3 * n);
    if (tlnmf_simple_fit(Y[0], shape, "k=2 seed=3", message, &model) != TLNMF_OK)
        return fprintf(stderr, "%s\n", message), 1;
    const double *H = tlnmf_record_get_array(model, "H", NULL, NULL); /* H[k][n], 2 x 100 */
    printf("C = %.3f, H of frame 0: %.3f, %.3f\n", tlnmf_record_get_real(model, "C"), H[0], H[100]);
    tlnmf_record_free(model);
    return 0;
}
