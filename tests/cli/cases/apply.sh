# A model applied to new arrays: H is fitted with the model's Phi and W; the verdict whether it fits.
tlnmf simulate gcm -s 100 --seed-data 1 -o a.npy
tlnmf simulate gcm -s 100 --seed-data 2 -o b.npy
tlnmf simulate gcm -s 100 --seed-truth 7 --seed-data 3 -o c.npy
tlnmf simulate gcm -s 100 --seed-data 4 -m 8 -o short.npy
for method in tl jd nmf; do
    tlnmf fit a.npy -k 5 --eps 1e-8 --method $method -o $method.h5 --json >$method.json
    expect 0 ... "" tlnmf apply $method.h5 a.npy -o own.h5 --force --json
    check "$method: its own data are recognised" [ "$(json own_data)" = true ]
    near "$method: C" "$(json C)" "$(json C $method.json)" 1e-12
    near "$method: I per entry" "$(json I_per_entry)" "$(json model_I_per_entry)" 1e-12
done

# New realisations of the same truth: C per entry is within 1 % of that of a full fit.
tlnmf fit b.npy -k 5 --eps 1e-8 -o full.h5 --json >full.json
expect 0 ... "" tlnmf apply tl.h5 b.npy -o b.h5 --json --keep-v --keep-x
near "C on new realisations" "$(json C)" "$(json C full.json)" 0.01
check "they are not its own data" [ "$(json own_data)" = false ]
check "they fit" [ "$(json fits)" = "about as well as its own data" ]
check "X and V are written" [ "$(tlnmf info b.h5 | grep -c '^  /[XV] ')" = 2 ]
expect 0 ... "" tlnmf apply tl.h5 c.npy -o c.h5 --json
check "another truth does not fit" [ "$(json fits)" = "no: these data are different" ]
# The numbers of realisations may differ: chance is subtracted.
tlnmf simulate gcm -s 5 --seed-data 5 -o few.npy
tlnmf simulate gcm -s 5 --seed-truth 7 --seed-data 6 -o few_c.npy
expect 0 ... "" tlnmf apply tl.h5 few.npy -o few.h5 --json
check "fewer realisations fit" [ "$(json fits)" = "about as well as its own data" ]
check "although I per entry is larger" awk -v a="$(json I_per_entry)" -v b="$(json model_I_per_entry)" \
    'BEGIN { exit !(a > 3 * b) }'
check "the excess is small" awk -v e="$(json excess)" -v s="$(json excess_error)" -v r="$(json excess_random)" \
    'BEGIN { exit !(s > 0 && e < 2.5 * s && r > 4 * s) }'
expect 0 ... "" tlnmf apply tl.h5 few_c.npy -o few.h5 --force --json
check "another truth is found there" [ "$(json fits)" = "no: these data are different" ]
expect 0 ... "" tlnmf apply few.h5 c.npy -o x.h5 --json
check "an applied model has no verdict" [ "$(json fits)" = \
    "cannot tell: the model does not say how many realisations it was learnt from" ]
expect 0 ... "" tlnmf apply tl.h5 b.npy -o x.h5 --force --explain
check "the verdict is the first line" [ "$(head -n 1 "$out")" = "model fits: about as well as its own data" ]
for line in "model fits" "I per entry" excess output objective eps stopped; do
    check "--explain has $line" [ "$(sed -n '/^what these mean/,$p' "$out" | grep -c "^  $line\$")" = 1 ]
done
rm x.h5
expect 0 ... "" tlnmf apply --explain
# The output is a model as well.
expect 0 ... "" tlnmf apply b.h5 b.npy -o b2.h5 --json
check "the result is a model of the new data" [ "$(json own_data)" = true ]

npy y.npy "(2, 3)" 1 2 3 4 5 6
tlnmf fit y.npy -k 1 --method nmf --transform identity --eps 1 --starts 1 -o y.h5 >/dev/null
npy z.npy "(2, 2)" 2 4 8 10
# L = 4 + log 5 + log 17 + log 65 + log 101
expect 0 "model fits: cannot tell: too few frames
  I per entry   0.0398626 here, 0.0238869 on the model's own data
  output        applied.h5
  data          z.npy: 2 frames of length 2, 1 realisation (2 compressed columns)
  objective     C 17.3916096286 = L 17.2321590432 + I 0.1594505854
  eps           1 (the model's)
  stopped       converged: the gradient vanishes (iteration 0)" "" tlnmf apply y.h5 z.npy

# Inputs that do not match
usage apply "missing operand: a model and a sound file or array are required (see tlnmf apply --help)" y.h5
usage apply "--labels is for sounds, but z.npy is an array" y.h5 z.npy --labels x.txt
usage apply "--input power requires a model whose transform is the identity" tl.h5 a.npy --input power -o power.h5
usage apply "--eps is for sounds, but z.npy is an array" y.h5 z.npy --eps 1
usage apply "--keep-v is for arrays, but x.wav is a sound" y.h5 x.wav --keep-v
usage apply "--explain is for arrays, but x.wav is a sound" y.h5 x.wav --explain
usage apply "-J is for arrays, but x.wav is a sound" y.h5 x.wav -J 3
usage apply "--block and --moving are mutually exclusive" y.h5 z.npy --block 2 --moving 2
usage apply "z.npy: the name of a model must end in .h5, .mat or .npz" y.h5 z.npy -o z.npy --force
cp y.h5 input.h5
usage apply "input.h5: this output would replace an input" y.h5 input.h5:/H -o input.h5 --force
usage apply "y.h5: this output would replace an input" y.h5 z.npy -o y.h5 --force
usage apply "--json and the model cannot both go to standard output" y.h5 z.npy -o - --json
expect 5 "" "tlnmf apply: applied.h5: exists already; --force replaces it" tlnmf apply y.h5 z.npy
input apply "short.npy: its frames have length 8, but the model tl.h5 has frames of length 10" tl.h5 short.npy -o x.h5
tlnmf jd a.npy --input data -o phi.h5 >/dev/null
input apply "phi.h5: a transform without W cannot be applied" phi.h5 a.npy -o x.h5
tlnmf fit a.npy -k 2 --block 5 -o block.h5 >/dev/null
expect 0 ... "tlnmf apply: warning: the model was fitted with --block 5, but is applied without it" \
    tlnmf apply block.h5 b.npy -o x.h5
check "and there is no verdict" [ "$(head -n 1 "$out")" = \
    "model fits: cannot tell: the model's own data were read with other options" ]
check "and no excess" [ "$(grep -c excess "$out")" = 0 ]
expect 0 ... "" tlnmf apply block.h5 a.npy --block 5 -o x.h5 --force --json
check "with the same blocks" [ "$(json own_data)" = true ]
expect 0 ... "" tlnmf apply y.h5 - -o x.h5 --force <z.npy

# ---- models with bad numbers --------------------------------------------------------------------
# Exit code 3 and a message that names the file of the model and the field.
damage() # OUT EPS: a copy of good.h5 with another eps in its summary
{
    LC_ALL=C sed "s/\"eps\": 0.125/\"eps\": $2/" good.h5 >"$1"
    check "$1 differs" eval '! cmp -s good.h5 "$1"'
}
small_data bad.npy
expect 0 ... ... tlnmf fit bad.npy -k 2 -J 5 --method nmf --eps 0.125 -o good.h5
damage zero.h5 0.000
damage negative.h5 -0.25
damage text.h5 '"abc"'
for bad in "zero 0" "negative -0.25" "text nan"; do
    set -- $bad
    message="$1.h5: eps = $2 is outside [1e-304, 1e+304]"
    expect 3 "" "tlnmf apply: $message" tlnmf apply $1.h5 bad.npy -o bad.h5
    expect 3 "" "tlnmf fit: $message" tlnmf fit bad.npy --init $1.h5 -o bad.h5
    expect 3 "" "tlnmf report: $message" tlnmf report $1.h5 -o bad.html
    absent bad.h5 bad.html
done
