/* The tensor cores in double precision. */
#ifndef TLNMF_CUDA_MMA_CUH
#define TLNMF_CUDA_MMA_CUH

/* c += A B over a warp, A 8 x 4 and B 4 x 8. With l the lane, a is entry (l / 4, l % 4) of A, b
 * entry (l % 4, l / 4) of B, c[i] entry (l / 4, 2 (l % 4) + i) of the result. */
__device__ inline void multiply_tiles(double (&c)[2], double a, double b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
}

#endif
