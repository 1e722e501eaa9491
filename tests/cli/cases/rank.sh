# How many components: -k A:B and -k auto, by realisations that are kept aside.
tlnmf simulate gcm -s 100 --seed-data 1 -o a.npy
expect 0 ... "" tlnmf fit a.npy -k 1:6 --eps 1e-8 --no-model --json
check "the true number is found" [ "$(json k)" = 5 ]
check "a line for each k" [ "$(grep -c heldout_C_per_entry "$out")" -eq 6 ]
check "one is the best" [ "$(grep -c '"best": true' "$out")" -eq 1 ]
C=$(json C)
expect 0 ... "" tlnmf fit a.npy -k 5 --eps 1e-8 --no-model --json
check "k as given is in the summary, too" [ "$(json k)" = 5 ]
check "the same fit as with that k" [ "$(json C)" = "$C" ]
check "no table" [ "$(grep -c rank_table "$out")" -eq 0 ]

# A score by hand: fit to one half, C an entry of the other at that W and H, and the other way round.
npy y.npy "(2, 2, 3)" 1 2 3 2 1 1 1 1 2 3 2 1
npy first.npy "(2, 3)" 1 2 3 2 1 1
npy second.npy "(2, 3)" 1 1 2 3 2 1
expect 0 ... "" tlnmf fit y.npy -k 1:1 --method nmf --transform identity --eps 1 --no-model --json
got=$(json heldout_C_per_entry)
heldout() # DATA OTHER: C of OTHER at W, H of DATA; the arrays of a .npz lie in it as they are
{
    tlnmf fit $1.npy -k 1 --method nmf --transform identity --eps 1 -o $1.npz >/dev/null
    { od -An -v -w8 -t f8 -j 360 -N 16 $1.npz; od -An -v -w8 -t f8 -j 539 -N 24 $1.npz; doubles $2.npy 0 6; } | awk '
        { x[NR] = $1 } END { for (m = 0; m < 2; m++) for (n = 0; n < 3; n++) {
            fit = x[1 + m] * x[3 + n] + 1; y = x[6 + 3 * m + n]; C += (y * y + 1) / fit + log(fit) }
            printf "%.15g\n", C }'
}
near "the held-out score" "$got" \
    "$(awk -v a="$(heldout first second)" -v b="$(heldout second first)" 'BEGIN { printf "%.15g", (a + b) / 12 }')" 1e-12

expect 0 ... "" tlnmf fit a.npy -k auto --eps 1e-8 --no-model
check "a table" [ "$(sed -n 1p "$out")" = "components by held-out realisations (5 folds of 100)" ]
check "its head" [ "$(sed -n 2p "$out")" = "    k   C per entry   above the best   standard error" ]
check "eight lines" [ "$(grep -Ec '^  +[1-8] +[0-9.]+ +[0-9.]+ +[0-9.]+' "$out")" -eq 8 ]
check "what is kept" grep -Eq '^ +5 .* best: kept' "$out"
expect 0 ... "tlnmf fit: warning: k beyond min(M, N) = 2: W H can fit any V exactly" \
    tlnmf fit y.npy -k 1:3 -J 2 --no-model
usage fit "k = 3:1: a number, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 3:1
usage fit "k = 0:2: a number, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 0:2
usage fit "k = 1:x: a number, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 1:x
usage fit "-k 1:3 compares fits from starts of its own: not with a given W or H" a.npy -k 1:3 --init-w w.npy
usage fit "-k A:B and -k auto read the array twice: not from standard input" - -k 1:3 --no-model <a.npy
input fit "first.npy: -k A:B keeps realisations aside, and there is only one: give one k" first.npy -k 1:3 --no-model
npy covs.npy "(1, 2, 2)" 2 1 1 2
input fit "covs.npy: -k auto keeps realisations aside, and there are covariances: give one k" \
    covs.npy -k auto --input covariances --no-model
