# The meaning of the axes of an array: covariances are recognised, axes by name, trials as frames.
npy covs.npy "(3, 2, 2)" 2 1 1 2 5 -3 -3 5 1 .5 .5 4
recognised="tlnmf fit: covs.npy: every slice is symmetric: read as covariances (N, M, M) of 3 frames; --input data reads them as realisations (S, M, N)"
expect 0 ... "$recognised" tlnmf fit covs.npy -k 1 --no-model --json
C=$(json C)
check "read as covariances" grep -q '"S": null' "$out"
expect 0 ... "" tlnmf fit covs.npy -k 1 --no-model --json --input covariances
check "the same with --input covariances" [ "$(json C)" = "$C" ]
expect 0 ... "" tlnmf fit covs.npy -k 1 --no-model --json --input data
check "realisations with --input data" [ "$(json S)" = 3 ]
expect 0 ... "$recognised" tlnmf fit covs.npy -k 1 -o covs.h5
expect 0 ... "${recognised/fit/apply}" tlnmf apply covs.h5 covs.npy -o own.h5 --json
check "apply reads covariances" [ "$(json own_data)" = true ]
npy near.npy "(2, 2, 2)" 2 1.001 1 2 5 -3 -3 5
remedies="If these are covariances, make them symmetric: (C + C') / 2. If they are data (S, M, N), use --input data"
input fit "near.npy: slice 0 is not symmetric: entries (0, 1) and (1, 0) differ by 0.001 of 2. $remedies" near.npy -k 1 --no-model
expect 0 ... "" tlnmf fit near.npy -k 1 --no-model --input data
# The same covariances with the frames on the last axis, or in the middle.
npy last.npy "(2, 2, 3)" 2 5 1 1 -3 .5 1 -3 .5 2 5 4
npy middle.npy "(2, 3, 2)" 2 1 5 -3 1 .5 1 2 -3 5 .5 4
for order in "last (M, M, N)" "middle (M, N, M)"; do
    file=${order%% *}.npy found="${order%% *}.npy: every slice is symmetric: read as covariances ${order#* } of 3 frames"
    expect 0 ... "tlnmf fit: $found; --input data reads them as realisations (S, M, N)" \
        tlnmf fit $file -k 1 --no-model --json
    check "the same fit of $file" [ "$(json C)" = "$C" ]
    expect 0 ... "tlnmf fit: $found" tlnmf fit $file -k 1 --no-model --json --input covariances
    check "the same with --input covariances of $file" [ "$(json C)" = "$C" ]
    expect 0 ... "" tlnmf fit $file -k 1 --no-model --json --input data
    check "realisations with --input data of $file" [ "$(json S)" = 2 ]
    expect 0 ... "tlnmf jd: $found; --input data reads them as realisations (S, M, N)" \
        tlnmf jd $file --json --force
done
npy nearly.npy "(2, 2, 3)" 2 5 1 1 -3 .5 1 -3.01 .5 2 5 4
input fit "nearly.npy: slice 1 along the last axis is not symmetric: entries (0, 1) and (1, 0) differ by 0.01 of 5. $remedies" \
    nearly.npy -k 1 --no-model
input fit "nearly.npy: shape (2, 2, 3): covariances are (N, M, M)" nearly.npy -k 1 --no-model --input covariances
npy numbers.npy "(1, 1, 4)" 1 2 3 4
expect 0 ... "tlnmf fit: warning: frames of length 1: the transform can only change a sign" \
    tlnmf fit numbers.npy -k 1 --no-model --json
check "frames of one number are data" [ "$(json S)" = 1 ]
npy data.npy "(2, 2, 2)" 1 2 3 4 5 6 7 9
expect 0 ... "" tlnmf fit data.npy -k 1 --no-model
npy one.npy "(2, 2)" 2 1 1 2
expect 0 ... "tlnmf fit: warning: one.npy: symmetric, and read as data (M, N); a covariance has the shape (1, M, M)" \
    tlnmf fit one.npy -k 1 --no-model

# The same numbers in every order of the axes: x[s][m][n] = (s + 1)(m + 2)^2 + n^2 - 3 s n
order() # AXES LOOP-VARIABLES: the array with these axes
{
    awk -v order="$2" 'BEGIN { split("2 3 4", size, " "); split(order, o, "")
        for (i = 0; i < size[o[1]]; i++) for (j = 0; j < size[o[2]]; j++) for (k = 0; k < size[o[3]]; k++) {
            at[o[1]] = i; at[o[2]] = j; at[o[3]] = k; s = at[1]; m = at[2]; n = at[3]
            print (s + 1) * (m + 2) ^ 2 + n ^ 2 - 3 * s * n } }'
}
npy smn.npy "(2, 3, 4)" $(order x 123)
tlnmf fit smn.npy -k 1 --no-model --json >want.json
for case in "trials,channels,time 123 2,3,4" "epochs,time,sensors 132 2,4,3" "channels,trials,time 213 3,2,4" \
    "length,frames,realisations 231 3,4,2" "time,trials,channels 312 4,2,3" "frames,length,trials 321 4,3,2"; do
    set -- $case
    npy x.npy "(${3//,/, })" $(order x "$2")
    expect 0 ... "tlnmf fit: x.npy: axes $1: 4 frames of length 3, 2 realisations of each" \
        tlnmf fit x.npy -k 1 --no-model --json --axes "$1"
    near "C with axes $1" "$(json C)" "$(json C want.json)" 1e-12
    check "axes in the summary" [ "$(json axes)" = "$1" ]
done
npy mn.npy "(3, 4)" $(order x 123 | head -n 12)
npy nm.npy "(4, 3)" $(order x 132 | head -n 12)
tlnmf fit mn.npy -k 1 --no-model --json >want.json
expect 0 ... "tlnmf fit: nm.npy: axes time,channels: 4 frames of length 3, 1 realisation of each" \
    tlnmf fit nm.npy -k 1 --no-model --json --axes time,channels
near "C of the transpose" "$(json C)" "$(json C want.json)" 1e-12

# Concatenated trials: frames (m, s n)
npy joined.npy "(3, 8)" $(order x 213)
tlnmf fit joined.npy -k 1 --no-model --json >want.json
said="smn.npy: 2 trials of 4 frames become 8 frames of length 3, one realisation each"
expect 0 ... "tlnmf fit: $said" tlnmf fit smn.npy -k 1 --no-model --json --per-trial
near "C per trial" "$(json C)" "$(json C want.json)" 1e-12
expect 0 ... "tlnmf fit: $said" tlnmf fit smn.npy -k 1 -o m.h5 --per-trial --axes trials,channels,time
expect 0 ... "tlnmf apply: $said" tlnmf apply m.h5 smn.npy -o a.h5 --per-trial --json
check "apply with --per-trial" [ "$(json own_data)" = true ]
expect 0 ... "tlnmf apply: warning: the model was fitted with --per-trial, but is applied without it" \
    tlnmf apply m.h5 smn.npy -o a.h5 --force --json
check "no verdict" [ "$(json fits)" = "cannot tell: the model's own data were read with other options" ]

names="give 2 or 3 of these names, with commas: trials, epochs or realisations; channels, sensors or length; time, times or frames"
usage fit "axes = trials,leads,time: $names" smn.npy -k 1 --axes trials,leads,time
usage fit "axes = trials,channels,time,frames: $names" smn.npy -k 1 --axes trials,channels,time,frames
usage fit "axes = trials,epochs,time: two axes cannot both be the realisations" smn.npy -k 1 --axes trials,epochs,time
usage fit "axes = trials,time: missing channels, sensors or length" smn.npy -k 1 --axes trials,time
usage fit "axes = channels,trials: missing time, times or frames" smn.npy -k 1 --axes channels,trials
input fit "smn.npy: the array has 3 axes, but --axes channels,time names 2" smn.npy -k 1 --axes channels,time
usage fit "--per-trial: mn.npy has no trials" mn.npy -k 1 --per-trial
usage fit "--axes requires data, but covs.npy has covariances" covs.npy -k 1 --input covariances --axes trials,channels,time
usage apply "--axes is for arrays, but x.wav is a sound" m.h5 x.wav --axes trials,channels,time

# Frames that are much longer than their number: the order may be another one.
npy long.npy "(2, 7, 2)" 1 -2 3 -4 5 -6 7 -8 9 -1 2 -3 4 -5 -6 7 -8 9 -1 2 -3 4 -5 6 -7 8 -9 3
orders="If the last axis is channels, use --axes trials,time,channels. If it is realisations (M x N x S), use --axes channels,time,trials"
expect 0 ... "tlnmf fit: long.npy: shape (2, 7, 2) is read as (S, M, N). $orders
tlnmf fit: warning: frames of length 7, but only 2 frames: check the order of the axes" \
    tlnmf fit long.npy -k 1 -J 2 --no-model
npy matlab.npy "(5, 3, 2)" 1 -2 3 -4 5 -6 7 -8 9 -1 2 -3 4 -5 -6 7 -8 9 -1 2 -3 4 -5 6 -7 8 -9 3 1 2
expect 0 ... "tlnmf fit: matlab.npy: shape (5, 3, 2) is read as (S, M, N). $orders" tlnmf fit matlab.npy -k 1 -J 2 --no-model
expect 0 ... "" tlnmf fit matlab.npy -k 1 -J 2 --no-model --method nmf --transform dct
expect 0 ... "tlnmf fit: long.npy: axes epochs,times,channels: 7 frames of length 2, 2 realisations of each" \
    tlnmf fit long.npy -k 1 -J 2 --no-model --axes epochs,times,channels

# jd has --axes, and names it.
expect 0 ... "tlnmf jd: long.npy: shape (2, 7, 2) is read as (S, M, N). $orders
tlnmf jd: warning: frames of length 7, but only 2 frames: check the order of the axes" \
    tlnmf jd long.npy -J 2 -o long.h5
expect 0 ... "tlnmf jd: long.npy: axes epochs,times,channels: 7 frames of length 2, 2 realisations of each" \
    tlnmf jd long.npy -J 2 -o long.h5 --force --axes epochs,times,channels
usage jd "--axes requires data, but covs.npy has covariances" \
    covs.npy --input covariances --axes trials,channels,time -o none.h5

# Usual shapes give no advice. A MATLAB array 8 x 60 x 100 (M x N x S) has one of them: the summary says how it is read.
for shape in "2 8 50" "200 4 50" "8 60 100" "3 64 300"; do
    set -- $shape
    tlnmf simulate gcm -s $1 -m $2 -n $3 -o usual.npy --force >/dev/null
    expect 0 ... "" tlnmf fit usual.npy -k 1 -J 1 --starts 1 --method jd --eps 1 --no-model
    check "the summary of $shape" grep -Eq "^  data +usual.npy: $3 frames of length $2, $1 realisations" "$out"
done
