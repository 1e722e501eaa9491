# jd: two covariances with the same eigenvectors are diagonalised exactly.
# A = [[2,1],[1,2]] and B = [[5,-3],[-3,5]] have eigenvalues (3, 1) and (2, 8) for (1,1), (1,-1).
npy covariances.npy "(2, 2, 2)" 2 1 1 2 5 -3 -3 5
expect 0 ... "" tlnmf jd covariances.npy --eps 1e-8 --json --trace
check "a model" [ -f phi.h5 ]
check "C is null" [ "$(json C)" = null ]
near "L" "$(json L)" "$(awk 'BEGIN { printf "%.17g", log(3) + log(1) + log(2) + log(8) + 4 }')" 1e-7
near "orthogonality" "$(json orthogonality)" 0 1e-12
check "the data are covariances" grep -q '"S": null' "$out"
L=$(json L)
expect 0 ... "" tlnmf jd - --eps 1e-8 --json --input covariances --force <covariances.npy
check "the same from standard input" [ "$(json L)" = "$L" ]
expect 0 ... "" tlnmf info phi.h5
check "Phi alone" grep -Eq '^  /Phi +float64 +\(2, 2\)$' "$out"
check "no W" eval '! grep -q "/W" "$out"'
check "the command" grep -Eq '^ +command +jd$' "$out"

expect 0 ... "" tlnmf jd covariances.npy --eps 1e-8 -o there.h5
sed -E '/^(joint|  (objective|stopped)) /s/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/#/g' "$out" >text
same_text "joint diagonalisation: converged, L = #
  model         there.h5
  data          covariances.npy: 2 frames of length 2, given as covariances (4 compressed columns)
  objective     L #
  eps           1e-08 (2.86e-09 of the mean power); 0 % of V lies below it
  stopped       JD: converged: the gradient vanishes (iteration #)" text "standard output" "tlnmf jd, numbers hidden"

# Data instead of covariances
small_data y.npy
expect 0 ... "" tlnmf jd y.npy --json --input data --starts 3 --force
check "three starts" [ "$(json starts)" = 3 ]
expect 0 ... ... tlnmf jd y.npy --starts 3 -v --force
for start in 1 2 3; do
    check "-v has a line for start $start" [ "$(grep -c "^tlnmf jd: JD from start $start: " "$err")" -eq 1 ]
done
check "-v prints the required memory" [ "$(grep -c "^tlnmf jd: needs about [0-9.]* MB of memory$" "$err")" -eq 1 ]
check "-v prints only that and a line for each start" [ "$(wc -l <"$err")" -eq 4 ]
check "the best start" grep -Eq "^  stopped .* \(iteration [0-9]+\), start [1-3] of 3$" "$out"
expect 4 ... "" tlnmf jd y.npy -J 1 --strict --json --force
check "outcome" [ "$(json outcome)" = iterations ]

# Square slices that are not symmetric are refused unless --input says what they are.
npy off.npy "(2, 2, 2)" 2 1 1.0001 2 5 -3 -3 5
npy square.npy "(2, 2, 2)" 2 1 -1 2 5 -3 2 5
for case in "off.npy 0.0001" "square.npy 2"; do
    off="${case% *}: slice 0 is not symmetric: entries (0, 1) and (1, 0) differ by ${case#* } of 2. If these are covariances, make them symmetric: (C + C') / 2. If they are data (S, M, N), use --input data"
    input jd "$off" ${case% *} -o off.h5
    input jd "$off" ${case% *} -o off.h5 --input auto -q
    expect 0 ... "" tlnmf jd ${case% *} --input data --force --json
    check "read as data" [ "$(json S)" = 2 ]
done

# Weights of frames: only ratios matter; the message names an invalid weight.
npy even.npy "(4,)" 3 3 3 3
npy uneven.npy "(4,)" 1 0 2 1
npy negative.npy "(4,)" 1 0 -2 1
npy short.npy "(3,)" 1 1 1
expect 0 ... "" tlnmf jd y.npy --eps 0.1 --json --force
plain=$(json L)
expect 0 ... "" tlnmf jd y.npy --eps 0.1 --json --weights even.npy --force
near "even weights change nothing" "$(json L)" "$plain" 1e-9
check "the weights are in the summary" grep -q '"weights": "even.npy"' "$out"
expect 0 ... "" tlnmf jd y.npy --eps 0.1 --json --weights uneven.npy --force
check "uneven ones do" [ "$(json L)" != "$plain" ]
expect 3 "" "tlnmf jd: negative.npy: the weight of frame 2 is -2: weights must be finite and not negative" tlnmf jd y.npy --weights negative.npy --force
expect 3 "" "tlnmf jd: short.npy: shape (3,), but weights must be (4,)" tlnmf jd y.npy --weights short.npy --force
expect 0 ... "" tlnmf jd y.npy --eps 0.1 --json --solver paper --force
paper=$(json L)
expect 0 ... "" tlnmf jd y.npy --eps 0.1 --json --weights even.npy --solver paper --force
near "nor in the paper's solver" "$(json L)" "$paper" 1e-9

# Mixed precision
expect 0 ... "" tlnmf jd y.npy --eps 0.1 --json --precision mixed --force
near "the same L" "$(json L)" "$plain" 1e-9
expect 2 "" ... tlnmf jd y.npy --eps 1e-9 --precision mixed --force
check "the reason" grep -q "V would lose too many digits" "$err"

# Whitening: sources 1 and 4, then 9 and 1, mixed by [[1, 1], [0, 2]]
npy mixed.npy "(2, 2, 2)" 5 8 8 16 10 2 2 4
for end in h5 npz mat; do
    expect 0 ... "" tlnmf jd mixed.npy --whiten --eps-rel 1e-9 -o white.$end --json
    check "the option is in the summary" grep -q '"whiten": true' "$out"
    check "no option that jd lacks" [ "$(json certificate_means)" = "none: a transform alone has no C" ]
done
expect 0 ... "" tlnmf info white.npz
for end in npz mat; do # the text is the same as for HDF5
    check "info prints the same for .$end as for .h5" diff \
        <(tlnmf info white.h5 | tail -n +2 | grep -v "^  /\|white") <(tlnmf info white.$end | tail -n +6 | grep -v white)
done
check "unmixing and mixing" [ "$(grep -Ec '^  (un)?mixing +float64 +\(2, 2\)$' "$out")" -eq 2 ]
expect 0 ... "" tlnmf jd mixed.npy --whiten --force
check "where they are" grep -Eq '^  model         phi.h5: unmixing \(one row per source\) and mixing, its inverse$' "$out"
npy flat.npy "(2, 2, 2)" 1 1 1 1 2 2 2 2
expect 3 "" "tlnmf jd: whiten: the mean covariance has rank 1 of 2, as after an average reference; use rank-reduce 1 to keep its 1 principal component" \
    tlnmf jd flat.npy --whiten --force

# Covariances of rank 2 of 3, as after an average reference: PCA instead of a refusal.
npy deficient.npy "(2, 3, 3)" 2 -1 -1 -1 2 -1 -1 -1 2 2 -2 0 -2 5 -3 0 -3 3
input jd "whiten: the mean covariance has rank 2 of 3, as after an average reference; use rank-reduce 2 to keep its 2 principal components" \
    deficient.npy --whiten -o reduced.h5
for rank in auto 2; do
    expect 0 ... "" tlnmf jd deficient.npy --whiten --rank-reduce $rank -o reduced.h5 --force
    expect 0 ... "" tlnmf info reduced.h5
    check "unmixing with --rank-reduce $rank" grep -Eq '^  /unmixing +float64 +\(2, 3\)$' "$out"
done
usage jd "--init-phi and --rank-reduce are mutually exclusive" deficient.npy -o reduced.h5 --force --whiten \
    --rank-reduce auto --init-phi deficient.npy
usage jd "rank-reduce requires whiten" deficient.npy -o reduced.h5 --force --rank-reduce auto
usage jd "rank-reduce = most is not a number" deficient.npy -o reduced.h5 --force --whiten --rank-reduce most
# Symmetric to single precision: covariances, and the warning says so.
npy single.npy "(2, 2, 2)" 2 1.0000002 1 2 5 -3 -3 5
expect 0 ... "tlnmf jd: warning: the covariances are symmetric and positive semidefinite only to 1e-07 of their largest entries, as in single precision; the nearest symmetric positive semidefinite matrices are used" \
    tlnmf jd single.npy --json --force
check "read as covariances" grep -q '"S": null' "$out"
