# The BLAS in the summary is the library that computes products, even if OpenBLAS is loaded as well.
if [ -n "${ASAN_OPTIONS-}" ]; then
    echo "skipped: the sanitizer must be loaded first"
    exit 0
fi
if ! command -v cc >/dev/null; then
    echo "skipped: no compiler"
    exit 0
fi
cat >blas.c <<'END'
enum { TRANSPOSED = 112 };
void cblas_dgemm(int order, int opA, int opB, int m, int n, int k, double alpha, const double *A,
                 int lda, const double *B, int ldb, double beta, double *C, int ldc)
{
    (void)order; /* by rows, always */
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int l = 0; l < k; l++)
                sum += (opA == TRANSPOSED ? A[l * lda + i] : A[i * lda + l]) *
                       (opB == TRANSPOSED ? B[j * ldb + l] : B[l * ldb + j]);
            C[i * ldc + j] = alpha * sum + (beta == 0.0 ? 0.0 : beta * C[i * ldc + j]);
        }
}
#ifdef BLIS
const char *bli_info_get_version_str(void) { return "0"; }
#endif
END
cc -shared -fPIC -o unknown.so blas.c
cc -shared -fPIC -DBLIS -o blis.so blas.c
printf '1,2,3\n4,5,6\n3,1,2\n' >y.csv
blas() { # PRELOADED
    LD_PRELOAD=$1 tlnmf fit y.csv -k 1 -J 2 --no-model --json 2>/dev/null | sed -n 's/.*"blas": "\([^"]*\)".*/\1/p'
}
[ "$(blas ./unknown.so)" = unknown ]
[ "$(blas ./blis.so)" = BLIS ]
case $(blas "") in
"" | unknown) echo "skipped: a BLAS that does not tell its name" ;;
esac
