# The number of components: -k A:B and -k auto, by held-out data.
tlnmf simulate gcm -s 100 --seed-data 1 -o a.npy
expect 0 ... "" tlnmf fit a.npy -k 4:6 --eps 1e-8 --no-model --json
check "the true number is found" [ "$(json k)" = 5 ]
check "a line for each k" [ "$(grep -c heldout_C_per_entry "$out")" -eq 3 ]
check "by frames" [ "$(json rank_by) $(json rank_folds)" = "frames 5" ]
check "one is the best" [ "$(grep -c '"best": true' "$out")" -eq 1 ]
C=$(json C)
expect 0 ... "" tlnmf fit a.npy -k 5 --eps 1e-8 --no-model --json
check "a given k is also in the summary" [ "$(json k)" = 5 ]
check "the same fit as with that k" [ "$(json C)" = "$C" ]
check "no table" [ "$(grep -c rank_table "$out")" -eq 0 ]

# A score computed by hand: fit one half, then C per entry of the other half at that W and H; and vice
# versa.
npy y.npy "(2, 2, 3)" 1 2 3 2 1 1 1 1 2 3 2 1
npy first.npy "(2, 3)" 1 2 3 2 1 1
npy second.npy "(2, 3)" 1 1 2 3 2 1
expect 0 ... "" tlnmf fit y.npy -k 1:1 --method nmf --transform identity --eps 1 --no-model --json
got=$(json heldout_C_per_entry)
heldout() # DATA OTHER: C of OTHER at W, H of DATA; arrays of a .npz are stored uncompressed
{
    tlnmf fit $1.npy -k 1 --method nmf --transform identity --eps 1 --starts 1 -o $1.npz >/dev/null
    { od -An -v -w8 -t f8 -j 360 -N 16 $1.npz; od -An -v -w8 -t f8 -j 539 -N 24 $1.npz; doubles $2.npy 0 6; } | awk '
        { x[NR] = $1 } END { for (m = 0; m < 2; m++) for (n = 0; n < 3; n++) {
            fit = x[1 + m] * x[3 + n] + 1; y = x[6 + 3 * m + n]; C += (y * y + 1) / fit + log(fit) }
            printf "%.15g\n", C }'
}
near "the held-out score" "$got" \
    "$(awk -v a="$(heldout first second)" -v b="$(heldout second first)" 'BEGIN { printf "%.15g", (a + b) / 12 }')" 1e-12

tlnmf simulate gcm -s 4 -n 20 -o few.npy
expect 0 ... "" tlnmf fit few.npy -k auto --method jd --eps 1e-8 --no-model
check "the answer first" grep -Eq "^components by held-out realisations \(4 folds, 4 realisations\): k = . has the best score and is used" "$out"
check "at most twelve lines" [ "$(wc -l <"$out")" -le 12 ]
expect 0 ... "" tlnmf fit few.npy -k auto --method jd --eps 1e-8 --no-model -v -q
check "a table" grep -q "^components by held-out realisations (4 folds, 4 realisations): k = . has the best score and is used" "$out"
check "its head" [ "$(sed -n 2p "$out")" = "    k   C per entry   above the best   standard error" ]
check "eight lines" [ "$(grep -Ec '^  +[1-8] +[0-9.]+ +[0-9.]+ +[0-9.]+' "$out")" -eq 8 ]
check "the k that is kept" [ "$(grep -Ec '^ +[1-8] .* best: kept' "$out")" -eq 1 ]
check "a note on few realisations" grep -Fxq "  Few data: with 4 realisations the true number is not always found; it may be larger (docs/howto/components.md)." "$out"
expect 0 ... "" env -u SOURCE_DATE_EPOCH tlnmf fit few.npy -k 1:3 --method jd --eps 1e-8 --no-model -v -q
check "the time includes the comparison" awk '/^  time / { found = $2 >= $9 && $9 > 0 } END { exit !found }' "$out"
expect 0 ... "" tlnmf fit y.npy -k 1:1 -J 2 --no-model --json
check "too few data" [ "$(json rank_limits)" = "Too few data: with 2 realisations the true number is rarely found; it may be larger (docs/howto/components.md)" ]
expect 0 ... "tlnmf fit: warning: k is above min(M, N) = 2: W H can fit any V exactly" \
    tlnmf fit y.npy -k 3:3 -J 2 --no-model
usage fit "k = 3:1 is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 3:1
usage fit "k = 0:2 is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 0:2
usage fit "k = abc is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k abc
usage fit "k = 2.5 is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 2.5
usage fit "k = 1:x is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" a.npy -k 1:x
usage fit "-k 1:3 and --init, --init-w or --init-h are mutually exclusive" a.npy -k 1:3 --init-w w.npy
expect 0 ... "" tlnmf fit few.npy -k 1:2 --method jd --no-model --json
table=$(sed -n '/"rank_table"/,/]/p' "$out")
expect 0 ... "" tlnmf fit - -k 1:2 --method jd --no-model --json <few.npy
check "the same from standard input" [ "$(sed -n '/"rank_table"/,/]/p' "$out")" = "$table" ]

# The longest summary.
tlnmf simulate notes -s 1 -o notes.npy
expect 0 ... ... tlnmf fit notes.npy -k 1:2 --starts 2 --rate 5000 --report --eps-check -J 20 -o longest.h5
check "at most twelve lines" [ "$(wc -l <"$out")" -le 12 ]
check "the comparison is one of them" [ "$(grep -n "^TL-NMF with\|^JD+NMF with" "$out" | cut -d: -f1)" -eq 2 ]

# With nmf, a given Phi is kept.
npy turn.npy "(2, 2)" 0.6 0.8 -0.8 0.6
npy turned.npy "(2, 2, 3)" 2.2 2 2.6 0.4 -1 -1.8  3 2.2 2 1 0.4 -1 # y rotated, both realisations
expect 0 ... "" tlnmf fit y.npy -k 1:1 --method nmf --init-phi turn.npy --eps 1 --no-model --json
given=$(json heldout_C_per_entry)
expect 0 ... "" tlnmf fit turned.npy -k 1:1 --method nmf --transform identity --eps 1 --no-model --json
near "the score at a given Phi" "$given" "$(json heldout_C_per_entry)" 1e-12

# With one realisation, covariances or neighbours: entries of V.
tlnmf simulate gcm -s 1 -o one.npy
expect 0 ... "" tlnmf fit one.npy -k 1:3 --no-model -v -q
check "by entries" grep -Fxq "components by held-out entries of V (5 folds): k = 1 has the best score and is used" "$out"
check "entries decide" grep -Eq "^    1 .*  best: kept$" "$out"
check "the limits of entries" grep -q "this is rarely the true number (docs/howto/components.md)" "$out"
check "then by neighbours" grep -Fxq "components by held-out neighbours (4 folds, blocks of 4 frames): k = 1 has the best score" "$out"
check "the limits of neighbours" \
    grep -Fxq "  If the data change within 4 frames, this number is too low (docs/howto/components.md)." "$out"
expect 0 ... "" tlnmf fit one.npy -k 1:3 --no-model
check "only the table that decides" [ "$(grep -c "^components by" "$out")" -eq 1 ]
check "at most twelve lines" [ "$(wc -l <"$out")" -le 12 ]
expect 0 ... "" tlnmf fit one.npy -k 1:3 --no-model --json
check "both in the JSON" [ "$(json rank_by) $(json rank_other_by)" = "entries neighbours" ]
check "six lines" [ "$(grep -c heldout_C_per_entry "$out")" -eq 6 ]
check "complete" [ "$(json rank_complete) $(json rank_folds) $(json rank_folds_wanted)" = "true 5 5" ]
expect 0 ... "" tlnmf fit one.npy --block 2 -k 1:2 --method jd --no-model --json
check "neighbours alone" [ "$(json rank_by) $(grep -c heldout_C_per_entry "$out")" = "neighbours 2" ]
expect 0 ... "" tlnmf fit one.npy --moving 3 -k 1:2 --method jd --no-model --json
check "entries alone" [ "$(json rank_by) $(grep -c heldout_C_per_entry "$out")" = "entries 2" ]
expect 0 ... "" tlnmf fit one.npy --moving 3 -k 1:2 --method jd --no-model
check "a note on frames that share realisations" \
    grep -Fq " Phi fits the noise of few realisations: this may not be the true number (docs/howto/components.md)." "$out"
check "no note on a single realisation" [ "$(grep -c "one realisation" "$out")" -eq 0 ]

# Neighbours by hand: frames 0, 2, 4 are one realisation and 1, 3, 5 the other; the last is ignored.
npy seven.npy "(2, 7)" 1 1 2 1 3 2 9 2 3 1 2 1 1 9
expect 0 ... "" tlnmf fit seven.npy -k 1:1 --block 2 --method nmf --transform identity --eps 1 --no-model --json
near "the score of neighbours" "$(json heldout_C_per_entry)" \
    "$(awk -v a="$(heldout first second)" -v b="$(heldout second first)" 'BEGIN { printf "%.15g", (a + b) / 12 }')" 1e-12

# Two rhythms that come and go slowly, in rotated channels: one realisation is enough to find both.
npy slow.npy "(3, 80)" $(awk 'BEGIN { srand(7); pi = 3.14159265358979
    for (n = 0; n < 80; n++) for (m = 0; m < 3; m++) {
        r = sqrt(-2 * log(1 - rand())) * cos(2 * pi * rand()); on = int(n / 20) % 2
        x[m, n] = r * (m == 0 ? (on ? 5 : .1) : m == 1 ? (on ? .1 : 5) : .1) }
    for (m = 0; m < 3; m++) for (n = 0; n < 80; n++)
        printf "%.17g ", m == 0 ? .6 * x[0, n] - .8 * x[1, n] : m == 1 ? .8 * x[0, n] + .6 * x[1, n] : x[2, n] }')
expect 0 ... "" tlnmf fit slow.npy -k 1:3 --no-model --json
check "neighbours decide" [ "$(json rank_by) $(json k)" = "neighbours 2" ]

# Warnings about the data come once, before the comparison.
npy offset.npy "(2, 80)" $(awk 'BEGIN { srand(3); for (i = 0; i < 160; i++) printf "%.6f ", 9 + rand() }')
expect 0 ... ... tlnmf fit offset.npy -k 1:2 --method jd --no-model
check "eps as a share of the power that defines it" grep -q "(0.01 of the mean power without the offset)" "$out"
check "one warning" [ "$(grep -c "warning: the mean frame has" "$err")" -eq 1 ]
check "no other warning" [ "$(grep -c "warning:" "$err")" -eq 1 ]

# The comparison gets half of the time limit, and the final fit gets the rest.
tlnmf simulate gcm -s 20 -m 40 -n 100 -o large.npy
begin=$(date +%s%N)
expect 0 ... "" tlnmf fit large.npy -k 1:6 --max-seconds 1 --no-model
check "in time" [ $((($(date +%s%N) - begin) / 1000000)) -lt 6000 ]
check "incomplete" grep -Eq "^components .* Incomplete: the time limit was reached after [1-9] of 5 folds; the choice is provisional\.$" "$out"
check "the fit has run" grep -Eq "^  stopped       (TL-NMF|JD|NMF): .* \((best start: )?iteration [1-9]" "$out"
expect 0 ... "" tlnmf fit large.npy -k 1:6 --max-seconds 1 --no-model --json
check "incomplete in the JSON" [ "$(json rank_complete)" = false ]
check "its folds" [ "$(json rank_folds)" -ge 1 -a "$(json rank_folds)" -lt 5 ]
check "as the options say" [ "$(json max-seconds)" = 1.0 ]

# A signal ends the comparison soon; finished folds are printed, and no k is suggested.
set -m
for form in "" --json; do
    tlnmf fit large.npy -k 1:6 --starts 50 --solver paper -J 100000 --tol 0 --threads 1 --no-model $form >"$out" 2>"$err" &
    pid=$!
    sleep 0.7
    kill -TERM $pid
    begin=$SECONDS code=0
    wait $pid || code=$?
    judge 130 ... "" $code "a comparison that gets SIGTERM $form"
    check "soon" [ $((SECONDS - begin)) -lt 5 ]
    if [ -z "$form" ]; then
        same_text "components by held-out frames (5 folds)
    k   C per entry   above the best   standard error
    1  not done
    2  not done
    3  not done
    4  not done
    5  not done
    6  not done
  Incomplete: interrupted after 0 of 5 folds; no k is suggested." "$out" "standard output" "a comparison that gets SIGTERM"
    else
        check "cancelled" [ "$(json outcome) $(json rank_complete) $(json rank_folds)" = "cancelled false 0" ]
    fi
done
set +m

# V of rank 2 without noise, at a fixed transform: two components predict the entries.
npy clean.npy "(4, 12)" $(awk 'BEGIN { for (m = 0; m < 4; m++) for (n = 0; n < 12; n++)
    printf "%.17g ", sqrt((1 + m) * (1 + n % 5) + (4 - m) * (1 + (n * 7) % 4)) }')
expect 0 ... "" tlnmf fit clean.npy -k 1:2 --method nmf --transform identity --eps 1e-3 --no-model --json
check "two components" [ "$(json k)" = 2 ]
usage fit "-k A:B and --mask are mutually exclusive" clean.npy -k 1:2 --method nmf --mask clean.npy --no-model
npy even.npy "(50,)" $(seq 50 | sed 's/.*/2/')
expect 0 ... "" tlnmf fit one.npy -k 1:2 --method nmf --transform dct --no-model --json
check "frames at a kept transform" [ "$(json rank_by) $(grep -c heldout_C_per_entry "$out")" = "frames 2" ]
plain=$(json heldout_C_per_entry)
expect 0 ... "" tlnmf fit one.npy -k 1:2 --method nmf --transform dct --weights even.npy --no-model --json
near "even weights change nothing" "$(json heldout_C_per_entry)" "$plain" 1e-3
input fit "first.npy: comparing several k holds out entries of V, which requires at least 10 frames: use a single k" \
    first.npy -k 1:2 --no-model
npy covs.npy "(1, 2, 2)" 2 1 1 2
input fit "covs.npy: comparing several k holds out entries of V, which requires at least 10 frames: use a single k" \
    covs.npy -k auto --input covariances --no-model

# Rows too short for every fold of the speckle pattern: one realisation of 10 rows, covariances.
for n in 12 24; do
    tlnmf simulate gcm -s 1 -m 10 -n $n -o short.npy --force
    expect 0 ... "" tlnmf fit short.npy -k 1:3 --method jd --no-model --json
    check "scores of $n frames" [ "$(json rank_by) $(json rank_folds)" = "entries 5" ]
done
npy covs.npy "(20, 6, 6)" $(awk 'BEGIN { for (n = 0; n < 20; n++) for (i = 0; i < 6; i++) for (j = 0; j < 6; j++)
    printf "%.17g ", i == j ? 1 + (n * (i + 1)) % 7 : 0.1 }')
expect 0 ... ... tlnmf fit covs.npy -k 1:3 --input covariances --no-model -v -q
check "scores of covariances" grep -Eq "^    3 .*[0-9.]+ +[0-9.]+" "$out"
check "a note on their realisations" \
    grep -Fxq "  Phi fits the noise of few realisations: this may not be the true number (docs/howto/components.md)." "$out"
expect 0 ... "" tlnmf fit clean.npy -k 1:2 --method nmf --transform identity --eps 1e-3 --no-model
check "no note on Phi if Phi is kept" eval '! grep -q "Phi fits" "$out"'
