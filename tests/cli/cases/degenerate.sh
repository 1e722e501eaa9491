# One frame, or frames of length 1: a warning says that there is nothing to learn; the result is right.
one_frame="tlnmf fit: warning: one frame only: W H can always fit it, nothing is learnt from it"
length_1="tlnmf fit: warning: frames of length 1: the transform can only change a sign"
npy N1.npy "(3, 1)" 1 2 3
npy M1.npy "(1, 4)" 1 2 3 4
npy M1N1.npy "(1, 1)" 3

expect 0 ... "$one_frame" tlnmf fit N1.npy -k 1 --json
check "N = 1 writes a model" [ -f model.h5 ]
near "C - L - I" "$(json C)" "$(awk -v L="$(json L)" -v I="$(json I)" 'BEGIN { printf "%.17g", L + I }')" 1e-12

# V is y^2 whatever the sign, and W H can be anything of rank 1: L = sum log(y^2 + eps) + 1, I = 0.
expect 0 ... "$length_1" tlnmf fit M1.npy -k 1 --json --eps .075 --no-model
near "L of M = 1" "$(json L)" \
    "$(awk 'BEGIN { for (y = 1; y <= 4; y++) L += log(y * y + .075) + 1; printf "%.17g", L }')" 1e-12
near "I of M = 1" "$(json I)" 0 1e-9

# The only transforms of length 1 are 1 and -1: the run converges at once.
expect 0 ... "$length_1" tlnmf fit M1.npy -k 1 --strict --no-model
check "M = 1 converges" grep -q "^  stopped       [A-Z+-]*: converged: " "$out"

expect 0 ... "$one_frame"$'\n'"$length_1" tlnmf fit M1N1.npy -k 1 --json --eps .09 --no-model
near "L of M = N = 1" "$(json L)" "$(awk 'BEGIN { printf "%.17g", log(9.09) + 1 }')" 1e-12

# -q: no warnings
expect 0 ... "" tlnmf fit N1.npy -k 1 -q --no-model
expect 0 ... "" tlnmf fit M1N1.npy -k 1 -q --json --no-model
