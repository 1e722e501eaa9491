# Data that cannot be used: exit code 3, the message says which entry, and no model is written.
npy nan.npy "(2, 2, 3)" 1 2 3 4 5 6 7 8 9 10 11 nan
npy inf.npy "(2, 3)" 1 2 3 4 -inf 6
npy huge.npy "(2, 2)" 1 1e200 1 1
npy zeros.npy "(2, 3)" 0 0 0 0 0 0
npy S0.npy "(0, 3, 4)"
npy M0.npy "(0, 4)"
npy N0.npy "(3, 0)"
npy 0d.npy "()" 1
npy 1d.npy "(3,)" 1 2 3
npy 4d.npy "(1, 1, 2, 2)" 1 2 3 4

input fit "nan.npy: realisation 1, row 1, frame 2 is not finite (nan); --missing skips frames that have a NaN" nan.npy -k 1
input jd "nan.npy: realisation 1, row 1, frame 2 is not finite (nan); --missing skips frames that have a NaN" nan.npy
input fit "inf.npy: realisation 0, row 1, frame 1 is not finite (-inf)" inf.npy -k 1
input fit "huge.npy: the power of the data does not fit a double (largest entry 1e+200): rescale them" \
    huge.npy -k 1
input fit "zeros.npy: the data are all zeros: there is nothing to learn" zeros.npy -k 1
input jd "zeros.npy: the data are all zeros: there is nothing to learn" zeros.npy
input fit "S0.npy: S (realisations) = 0 must be at least 1" S0.npy -k 1
input fit "M0.npy: M (frame length) = 0 must be at least 1" M0.npy -k 1
input fit "N0.npy: N (frames) = 0 must be at least 1" N0.npy -k 1
input fit "0d.npy: a single number, not an array" 0d.npy -k 1
check "which info shows" [ "$(tlnmf info 0d.npy | tail -n 1 | tr -s ' ')" = " float64 ()" ]
input fit "1d.npy: shape (3,): the array must be (M, N) or (S, M, N)" 1d.npy -k 1
input fit "4d.npy: shape (1, 1, 2, 2): the array must be (M, N) or (S, M, N)" 4d.npy -k 1

# Covariances
npy asymmetric.npy "(1, 2, 2)" 1 .5 0 1
npy indefinite.npy "(2, 2, 2)" 1 0 0 1 1 2 2 1
npy infinite.npy "(2, 2, 2)" 1 0 0 1 1 0 0 inf
npy nothing.npy "(1, 2, 2)" 0 0 0 0
input jd "asymmetric.npy: covariance 0 is not symmetric: entries (0, 1) and (1, 0) differ by 0.5 of 1" \
    asymmetric.npy --input covariances
input fit "asymmetric.npy: covariance 0 is not symmetric: entries (0, 1) and (1, 0) differ by 0.5 of 1" \
    asymmetric.npy -k 1 --input covariances
input jd "indefinite.npy: covariance 1 is not positive semidefinite (least eigenvalue -1 of 3)" \
    indefinite.npy
input jd "infinite.npy: covariance 1, row 1, column 1 is not finite (inf)" \
    infinite.npy --input covariances
input jd "nothing.npy: the covariances have a mean power of 0: it must be positive" nothing.npy
input jd "inf.npy: shape (2, 3): covariances are (N, M, M)" inf.npy --input covariances

absent model.h5 phi.h5

# --input power: Itakura-Saito NMF of V itself; V = W H of rank 1 is fitted exactly.
npy power.npy "(3, 4)" 1 2 3 4 2 4 6 8 1e-3 2e-3 3e-3 4e-3
expect 0 ... "" tlnmf fit power.npy -k 1 --input power --eps 1e-9 -o power.h5 --json
near "I of an exact factorisation" "$(json I)" 0 1e-6
check "NMF with the identity" eval 'grep -q "\"transform\": \"identity\"" "$out" && [ "$(json method)" = nmf ]'
expect 0 ... "" tlnmf fit power.npy -k 1 --input power --no-model --json
near "the default floor is 1e-6 of the mean of V" "$(json eps)" 2.5008333333333335e-06 1e-9
expect 0 ... "tlnmf apply: power.npy: read as powers V, as the data of the model" \
    tlnmf apply power.h5 power.npy -o applied.h5 --json
check "the model's own V" [ "$(json own_data)" = true ]
check "the degrees of freedom of |STFT|^2" [ "$(json dof)" = 2 ]
expect 0 ... "" tlnmf fit power.npy -k 1 --input power --dof 7 -o power.h5 --force --json
check "those that are given" [ "$(json dof)" = 7 ]
expect 0 ... ... tlnmf apply power.h5 power.npy --force -o applied.h5 --json
check "those of the model" [ "$(json dof)" = 7 ]
# A fit that starts from a model of powers reads powers, too, with the dof of the model.
read="tlnmf fit: power.npy: read as powers V, as the data of the model"
expect 0 ... "$read
tlnmf fit: power.h5: starts from Phi, W and H" tlnmf fit power.npy --init power.h5 -o next.h5 --json
near "I of the continued fit" "$(json I)" 0 1e-6
check "the model of the continued fit is one of powers" [ "$(json input) $(json dof)" = "power 7" ]
expect 0 ... "tlnmf apply: power.npy: read as powers V, as the data of the model" \
    tlnmf apply next.h5 power.npy --force -o applied.h5 --json
check "which apply knows" [ "$(json dof)" = 7 ]
expect 0 ... ... tlnmf fit power.npy --init power.h5 --dof 3 --no-model --json
check "dof as given" [ "$(json dof)" = 3 ]
expect 0 ... "$read" tlnmf fit power.npy --init power.h5 --keep phi,w -o kept.h5 --json
check "with --keep" [ "$(json dof)" = 7 ]
usage fit "power.h5 was fitted to powers, but --input is data: omit --input to read power.npy as powers, or start from its arrays with --init-w and --init-h" \
    power.npy --init power.h5 --input data --no-model
tlnmf fit power.npy -k 1 -J 2 -o signals.h5 -q >/dev/null
usage fit "--input power requires a model whose transform is the identity" \
    power.npy --init signals.h5 --input power --no-model
# Missing powers: only these entries are ignored, as by a mask.
npy holes.npy "(3, 4)" 1 nan 3 4 2 4 6 8 1e-3 2e-3 3e-3 nan
npy whole.npy "(3, 4)" 1 99 3 4 2 4 6 8 1e-3 2e-3 3e-3 99
npy some.npy "(3, 4)" 1 0 1 1 1 1 1 1 1 1 1 0
input fit "holes.npy: realisation 0, row 0, frame 1 is not finite (nan); --missing ignores powers that are NaN" \
    holes.npy -k 1 --input power
expect 0 ... "tlnmf fit: holes.npy: 2 of 12 powers are missing" \
    tlnmf fit holes.npy -k 1 --input power --eps 1e-9 --missing -o holes.h5 --json
near "I of a matrix of rank 1 with gaps" "$(json I)" 0 1e-6
C=$(json C)
expect 0 ... "" tlnmf fit whole.npy -k 1 --input power --eps 1e-9 --mask some.npy --no-model --json
near "as with a mask" "$(json C)" "$C" 1e-9
expect 0 ... "" tlnmf fit holes.npy -k 1 --input power --eps 1e-9 --mask some.npy --no-model --json
near "a power under a mask of 0 may be NaN" "$(json C)" "$C" 1e-9
npy first.npy "(3, 4)" 1 0 1 1 1 1 1 1 1 1 1 1
expect 0 ... "tlnmf fit: holes.npy: 2 of 12 powers are missing" \
    tlnmf fit holes.npy -k 1 --input power --eps 1e-9 --missing --mask first.npy --no-model --json
near "--missing and --mask together" "$(json C)" "$C" 1e-9
expect 0 ... ... tlnmf apply holes.h5 holes.npy --missing -o applied_holes.h5 --json
near "apply with gaps" "$(json I)" 0 1e-6
usage fit "--missing and --block are mutually exclusive" holes.npy -k 1 --input power --missing --block 2

usage fit "--dof requires --input power" power.npy -k 1 --dof 2
usage fit "dof = 0 is outside [1, 1000000000]" power.npy -k 1 --input power --dof 0
npy negative_power.npy "(2, 2)" 1 2 -3 4
input fit "negative_power.npy: row 1, frame 0 is -3: powers must not be negative" \
    negative_power.npy -k 1 --input power
usage fit "--input power requires --method nmf" power.npy -k 1 --input power --method tl
usage fit "--input power requires --transform identity" power.npy -k 1 --input power --transform dct
usage jd "jd does not accept --input power" power.npy --input power
