# How many components: -k A:B and -k auto, by realisations that are kept aside.
tlnmf simulate gcm -s 100 --seed-data 1 -o a.npy
expect 0 ... "" tlnmf fit a.npy -k 4:6 --eps 1e-8 --no-model --json
check "the true number is found" [ "$(json k)" = 5 ]
check "a line for each k" [ "$(grep -c heldout_C_per_entry "$out")" -eq 3 ]
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

tlnmf simulate gcm -s 4 -n 20 -o few.npy
expect 0 ... "" tlnmf fit few.npy -k auto --method jd --eps 1e-8 --no-model
check "a table" [ "$(sed -n 1p "$out")" = "components by held-out realisations (4 folds of 4)" ]
check "its head" [ "$(sed -n 2p "$out")" = "    k   C per entry   above the best   standard error" ]
check "eight lines" [ "$(grep -Ec '^  +[1-8] +[0-9.]+ +[0-9.]+ +[0-9.]+' "$out")" -eq 8 ]
check "what is kept" [ "$(grep -Ec '^ +[1-8] .* best: kept' "$out")" -eq 1 ]
check "few realisations support few" grep -q "as many components, and the truth may have more" "$out"
expect 0 ... "tlnmf fit: warning: k beyond min(M, N) = 2: W H can fit any V exactly" \
    tlnmf fit y.npy -k 1:3 -J 2 --no-model
usage fit "k = 3:1: a number, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 3:1
usage fit "k = 0:2: a number, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 0:2
usage fit "k = 1:x: a number, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 1:x
usage fit "-k 1:3 compares fits from starts of its own: not with a given W or H" a.npy -k 1:3 --init-w w.npy
usage fit "-k A:B and -k auto read the array twice: not from standard input" - -k 1:3 --no-model <a.npy

# With one realisation, covariances or neighbours: entries of V.
tlnmf simulate gcm -s 1 -o one.npy
expect 0 ... "" tlnmf fit one.npy -k 1:3 --no-model
check "by entries" [ "$(sed -n 1p "$out")" = "components by held-out entries of V (5 folds)" ]
check "what it cannot tell" grep -q "rarely how many components there are (docs/choosing.md)" "$out"
for kind in "one.npy --block 2" "one.npy --moving 3"; do
    expect 0 ... "" tlnmf fit $kind -k 1:2 --method jd --no-model --json
    check "three lines" [ "$(grep -c heldout_C_per_entry "$out")" -eq 2 ]
done
# V of rank 2 without noise, at a transform that is kept: entries are predicted by two components.
npy clean.npy "(4, 12)" $(awk 'BEGIN { for (m = 0; m < 4; m++) for (n = 0; n < 12; n++)
    printf "%.17g ", sqrt((1 + m) * (1 + n % 5) + (4 - m) * (1 + (n * 7) % 4)) }')
expect 0 ... "" tlnmf fit clean.npy -k 1:2 --method nmf --transform identity --eps 1e-3 --no-model --json
check "two components" [ "$(json k)" = 2 ]
usage fit "-k A:B and --mask: one of them" clean.npy -k 1:2 --method nmf --mask clean.npy --no-model
npy even.npy "(50,)" $(seq 50 | sed 's/.*/2/')
expect 0 ... "" tlnmf fit one.npy -k 1:2 --no-model --json
plain=$(json heldout_C_per_entry)
expect 0 ... "" tlnmf fit one.npy -k 1:2 --weights even.npy --no-model --json
near "even weights change nothing" "$(json heldout_C_per_entry)" "$plain" 1e-3
input fit "first.npy: -k A:B keeps entries of V aside, which takes 10 frames: give one k" first.npy -k 1:3 --no-model
npy covs.npy "(1, 2, 2)" 2 1 1 2
input fit "covs.npy: -k auto keeps entries of V aside, which takes 10 frames: give one k" \
    covs.npy -k auto --input covariances --no-model
