# fit: its text, its JSON, the model file, info.
small_data y.npy
version=$(tlnmf --version | sed -n '1s/tlnmf //p')
hide() # replaces numbers that depend on rounding
{
    sed -E '/^(TL-NMF|  (objective|gradient)) /s/(^| )-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/\1#/g' "$@"
}

# The text
expect 0 ... "" tlnmf fit y.npy -k 2 -J 2 --method tl --hops 0
hide "$out" >text
same_text "TL-NMF with # components: not converged, C = #, I = #
  model         model.h5
  data          y.npy: 4 frames of length 3, 1 realisation (4 compressed columns)
  objective     C # = L # + I #
  eps           0.0104583 (0.01 of the mean power); 8.33 % of V lies below it
  stopped       TL-NMF: reached the iteration limit (iteration 2)" text "standard output" "tlnmf fit, numbers hidden"

# --method auto prints its choice and the reason: here TL-NMF; JD+NMF for many realisations of the model.
expect 0 ... "" tlnmf fit y.npy -k 2 --no-model
check "TL-NMF, and why" grep -Eq "^  method        TL-NMF, because it could lower C of JD\+NMF, [0-9.e+-]+, by up to [0-9.e+-]+$" "$out"
tlnmf simulate gcm --s 3000 --m 4 --n 12 --kbar 2 -o many.npy
expect 0 ... "" tlnmf fit many.npy -k 2 --starts 3 --no-model
check "JD+NMF, and why" grep -Eq "^  method        JD\+NMF, because TL-NMF could lower C by [0-9.e+-]+ at most$" "$out"
expect 0 ... "" tlnmf fit many.npy -k 2 --starts 3 --no-model --json
check "method in the JSON" [ "$(json method)" = jd ]
tlnmf simulate gcm -s 1 -o s1.npy
expect 0 ... ... tlnmf fit s1.npy -k 12 --no-model
check "no bound without its certificate" grep -Fxq \
    "  method        JD+NMF, because W H describes V at this Phi; another Phi may be better" "$out"
check "the certificate is withheld" grep -q "^  certificate   none: " "$out"

# The summary records the options.
npy given.npy "(3, 3)" 1 0 0 0 1 0 0 0 1
expect 0 ... "" tlnmf fit y.npy -k 2 --input data --transform given.npy --no-model --json
check "the file of Phi" [ "$(json init-phi)" = given.npy ]
check "the kind of input" [ "$(json input)" = data ]

# Neighbouring frames as realisations: blocks shorten the data, moving averages do not.
expect 0 ... "" tlnmf fit y.npy -k 1 --block 3 --no-model --json
check "4 frames in blocks of 3" [ "$(json N) $(json S)" = "2 3" ]
check "the block is in the summary" [ "$(json block)" = 3 ]
expect 0 ... "" tlnmf fit y.npy -k 1 --moving 3 --no-model --json
check "4 moving frames" [ "$(json N) $(json S)" = "4 3" ]
expect 0 ... "" tlnmf fit y.npy -k 2 --no-model --json
C=$(json C)
expect 0 ... "" tlnmf fit y.npy -k 2 --no-model --json --moving 1
check "an average over one frame is the frame" [ "$(json C)" = "$C" ]
npy cov.npy "(2, 2, 2)" 1 0 0 1 2 0 0 1
usage fit "--block requires data, but cov.npy has covariances" \
    cov.npy -k 1 --input covariances --block 2 --no-model

# JSON, trace and model
expect 0 ... "" tlnmf fit y.npy -k 2 -J 30 --tol 0 --hops 0 --json --trace -o m.h5
for key in C L I certificate outcome iterations cpu_seconds wall_seconds orthogonality \
    gradient_norm seed starts version eps; do
    check "JSON has $key" [ -n "$(json $key)" ]
done
cp "$out" fit.json
check "version" [ "$(json version)" = "$version" ]
check "outcome" [ "$(json outcome)" = iterations ]
check "iterations" [ "$(json iterations)" = 30 ]
check "seed" [ "$(json seed)" = 1 ]
check "starts" [ "$(json starts)" = 1 ]
check "times are 0 with SOURCE_DATE_EPOCH" [ "$(json cpu_seconds) $(json wall_seconds)" = "0.0 0.0" ]
near "orthogonality" "$(json orthogonality)" 0 1e-12
near "eps, 0.01 of the mean power" "$(json eps)" "$(doubles y.npy 0 12 |
    awk '{ s += $1 * $1 } END { printf "%.17g", .01 * s / 12 }')" 1e-14
awk -F '[:,]' '
    /"trace": \[/ { inside = 1 }
    /"(C|L|I|iteration|step)":/ { key = $1; gsub(/[ "]/, "", key); value[key] = $2 + 0; seen[key] = 1 }
    /"step":/ && inside {
        rows++
        if (!("C" in seen && "L" in seen && "I" in seen && "iteration" in seen)) wrong("a key is missing")
        delete seen
        C = value["C"]; off = C - value["L"] - value["I"]
        if (off > 1e-9 * abs(C) || -off > 1e-9 * abs(C)) wrong("C is not L + I")
        if (value["iteration"] != rows) wrong("iterations are not 1, 2, ..")
        if (rows > 1 && C > last + 1e-12 * abs(last)) wrong("C rises")
        if (!(value["step"] >= 0)) wrong("a step is negative")
        last = C }
    function abs(x) { return x < 0 ? -x : x }
    function wrong(what) { print "row " rows " of the trace: " what; bad = 1 }
    END { if (rows != 30) wrong("there should be 30"); exit bad }' fit.json || fail "the trace"
near "C, with L + I" "$(json C fit.json)" \
    "$(awk -v L="$(json L fit.json)" -v I="$(json I fit.json)" 'BEGIN { printf "%.17g", L + I }')" 1e-9
near "C, with that of the trace's end" "$(json C fit.json)" \
    "$(sed -n 's/^ *"C": \([^,]*\),$/\1/p' fit.json | tail -n 1)" 1e-10

expect 0 ... "" tlnmf info m.h5 --json
check "format" [ "$(json format)" = tlnmf-model ]
for key in C L I outcome iterations orthogonality gradient_norm seed starts version; do
    check "$key of the model equals $key of the run" [ "$(json $key)" = "$(json $key fit.json)" ]
done
expect 0 ... "" tlnmf info m.h5
check "the usual values, without options" eval 'grep -Eq "^ +C +[-0-9.]+$" "$out" && ! grep -q threads "$out"'
expect 0 ... "" tlnmf info m.h5 -v
sed -E '1s/[0-9]+ bytes/# bytes/; /^  \/trace\/seconds /d' "$out" | head -n 13 >text
same_text "m.h5: tlnmf-model, # bytes
  /H                 float64  (2, 4)
  /Phi               float64  (3, 3)
  /W                 float64  (3, 2)
  /arrays/energy     float64  (3,)
  /trace/C           float64  (30,)
  /trace/I           float64  (30,)
  /trace/L           float64  (30,)
  /trace/gradient    float64  (30,)
  /trace/iteration   int64    (30,)
  /trace/stage       int64    (30,)
  /trace/start       int64    (30,)
  /trace/step        float64  (30,)" text "standard output" "tlnmf info m.h5, the beginning"
for line in "version +$version" "outcome +iterations" "method +tl" "file +y.npy" "M +3" "N +4" \
    "seed +1" "threads +0" "blas +.+"; do
    check "info prints: $line" grep -Eq "^ +$line$" "$out"
done

# Without SOURCE_DATE_EPOCH, times are recorded.
expect 0 ... "" env -u SOURCE_DATE_EPOCH tlnmf fit y.npy -k 2 -J 30 --tol 0 --json --no-model
check "wall_seconds > 0" awk -v t="$(json wall_seconds)" 'BEGIN { exit !(t > 0) }'

# The trace has the seconds since the start, which never decrease; with SOURCE_DATE_EPOCH it has none.
check "no times in the trace" [ "$(grep -c '"seconds"' fit.json)" -eq 0 ]
expect 0 ... "" env -u SOURCE_DATE_EPOCH tlnmf fit y.npy -k 2 -J 30 --tol 0 --hops 0 --json --trace --no-model
check "times never decrease" awk -F : '/"seconds"/ { rows++; if ($2 < last) exit 1; last = $2 + 0 }
    END { exit !(rows == 30 && last > 0) }' "$out"

# No model, standard output, standard input, HDF5, MATLAB: the result is the same
rm -f model.h5
C=$(json C fit.json)
same() # ARGUMENT...
{
    local
    expect 0 ... "" tlnmf fit "$@" -k 2 -J 30 --tol 0 --hops 0 --json --no-model
    [ "$(json C)" = "$C" ] || fail "tlnmf fit $*: C is $(json C), not $C"
}
same y.npy
same - <y.npy
same y.npy --seed 1 --eps-rel 0.01 --method auto --solver fast
mat y.mat Y 3 4 1 .3 2 2 -.2 .1 -1 .8 -.4 .5 1 .6
same y.mat:Y
same y.mat
same - <y.mat
absent model.h5
tlnmf simulate gcm --m 5 --n 6 -o g.npy
tlnmf simulate gcm --m 5 --n 6 -o g.h5
expect 0 ... "" tlnmf fit g.npy -k 2 -J 30 --tol 0 --starts 1 --json --no-model
C=$(json C)
same g.h5:/Y
same g.h5
same - <g.h5
expect 0 ... ... tlnmf fit y.npy -k 2 --method tl -J 30 --tol 0 --hops 0 --trace -o - # the text goes to standard error
check "the text is on standard error" grep -q "^  stopped       TL-NMF: reached the iteration limit (iteration 30)$" "$err"
cp "$out" stdout.h5
expect 0 ... "" tlnmf info stdout.h5
check "a model on standard output" grep -Eq "^stdout.h5: tlnmf-model" "$out"

# The largest seed, which does not fit into an integer of JSON
expect 0 ... "" tlnmf fit y.npy -k 1 -J 1 --json --seed 18446744073709551615 -o seed.h5
check "seed in the JSON is $(json seed)" [ "$(json seed)" = 18446744073709551615 ]
expect 0 ... "" tlnmf info seed.h5 -v
check "seed in the model" grep -Eq "^ +seed +18446744073709551615$" "$out"

# Names that are not UTF-8: characters outside ASCII become ? in the JSON, which is complete
if cp y.npy $'\xff.npy' 2>/dev/null; then
    expect 0 ... "" tlnmf fit $'\xff.npy' -k 1 -J 1 --json -o $'\xff.h5'
    check "JSON has M" [ "$(json M)" = 3 ]
    check "JSON names the data" [ "$(json file)" = "?.npy" ]
    check "JSON names the model" [ "$(json model)" = "?.h5" ]
    expect 0 ... "" tlnmf info $'\xff.h5' --json
    check "the model has M" [ "$(json M)" = 3 ]
    check "info names the model" [ "$(json file)" = "?.h5" ]
else
    skip "names that are not UTF-8 (the file system has none)"
fi

# Several starts: -v has a line for each, and the text and the JSON agree with them.
expect 0 ... ... tlnmf fit y.npy -k 2 --method tl --hops 0 -J 2 --tol 0 --starts 3 --threads 1 --no-model -v
number='-?[0-9.]+(e[-+][0-9]+)?'
for start in 1 2 3; do
    check "-v has a line for start $start" [ "$(grep -Ec "^tlnmf fit: TL-NMF from start $start: C = $number, \
not converged after 2 iterations(, the best)?$" "$err")" -eq 1 ]
done
check "-v prints the required memory" [ "$(grep -c "^tlnmf fit: needs about [0-9.]* MB of memory$" "$err")" -eq 1 ]
check "-v prints only that and a line for each start" [ "$(wc -l <"$err")" -eq 4 ]
best=$(sed -n 's/^tlnmf fit: TL-NMF from start \([0-9]*\): .*, the best$/\1/p' "$err" | tail -n 1)
C=$(sed -n "s/^tlnmf fit: TL-NMF from start $best: C = \([^,]*\),.*/\1/p" "$err")
check "the text names the best start" \
    grep -q "^  stopped       TL-NMF: reached the iteration limit (iteration 2), start $best of 3$" "$out"
check "the text has its C" grep -q "^  objective     C $C = L " "$out"
expect 0 ... "" tlnmf fit y.npy -k 2 --method tl --hops 0 -J 2 --tol 0 --starts 3 --no-model -v -q --json
check "best_start in the JSON" [ "$(json best_start)" -eq $((best - 1)) ] # from 0
near "C in the JSON" "$(json C)" "$C" 1e-11
expect 0 ... ... tlnmf fit y.npy -k 2 -J 2 --starts 1 --no-model -v --json
check "-v, one start" [ "$(grep -c "^tlnmf fit: TL-NMF from start 1: " "$err")" -eq 1 ]
check "-v names the start from JD+NMF" [ "$(grep -c "^tlnmf fit: TL-NMF from the result of JD+NMF: " "$err")" -eq 1 ]
check "-v, no second start" eval '! grep -q "from start 2" "$err"'
check "-v leaves standard output to the JSON" [ "$(head -n 1 "$out")" = "{" ]

# A transform in single precision is replaced by the nearest orthogonal matrix.
npy single.npy "(3, 3)" 0.6 0.8 0 -0.8 0.600001 0 0 0 1
expect 0 ... "tlnmf fit: warning: the given Phi is orthogonal only to 1.2e-06: the nearest orthogonal matrix is used" \
    tlnmf fit y.npy -k 1 -J 2 --init-phi single.npy --no-model

# Methods
expect 0 ... "" tlnmf fit y.npy -k 2 --method jd --json -J 20 --no-model
check "method jd" grep -q '"method": "jd"' "$out"
expect 0 ... "" tlnmf fit y.npy -k 2 --method nmf --transform dct --json -J 20 --no-model
check "method nmf" grep -q '"transform": "dct"' "$out"
expect 0 ... "" tlnmf fit y.npy -k 2 --exchange --starts 2 --json -J 20 --no-model
check "exchange" grep -q '^ "chain": [01],' "$out"
check "values of both methods have the names of the record" grep -q '^ "C_tl": -\{0,1\}[0-9]' "$out"
check "no certificate if L has many minima" [ "$(json certificate)" = null ]
check "and why" [ "$(json certificate_means)" = "none: L has many minima (singular covariances, low eps); try the option continuation" ]
expect 0 ... "" tlnmf fit y.npy -k 2 --eps-rel 0.1 --exchange --starts 2 -J 20 --no-model
check "a certificate per entry, with its condition" \
    grep -Eq '^  certificate   C - C\* <= [-0-9.e]+ \([-0-9.e]+ per entry of V\), if [-0-9.e]+ is the least L$' "$out"
expect 0 ... "" tlnmf fit y.npy -k 2 --eps-rel 0.1 --exchange --starts 2 --json -J 20 --no-model
check "a certificate" awk -v x="$(json certificate)" 'BEGIN { exit !(x != "null" && x > -1e-9) }'
expect 0 ... "" tlnmf fit y.npy -k 2 --rate 8000 --atoms 2 -J 2 --no-model
check "two atoms in one line" [ "$(grep -c '^  atoms         .*, ' "$out")" -eq 1 ]
check "at most twelve lines" [ "$(wc -l <"$out")" -le 12 ]
expect 0 ... "" tlnmf fit y.npy -k 2 --rate 8000 --atoms 2 -J 2 --no-model -v -q
check "a table of two atoms" [ "$(grep -c ' Hz ' "$out")" -eq 2 ]

# No certificate because the diagonalisation did not converge.
expect 0 ... "" tlnmf fit y.npy -k 2 --exchange -J 1 --json --no-model
check "iterations" [ "$(json certificate_means)" = "none: JD used all its iterations before L was minimised; try a larger J" ]
tlnmf simulate gcm --s 1 --m 60 --n 200 -o long.npy
expect 0 ... "" tlnmf fit long.npy -k 5 --max-seconds 0.05 --json --no-model
check "one start, as the problem is not small" [ "$(json starts)" = 1 ]
check "time" [ "$(json certificate_means)" = "none: the time limit ended the search for the least L; try more max-seconds" ]
expect 0 ... "" tlnmf fit long.npy -k 5 --method tl --certify --max-seconds 0.05 --no-model
check "time, with --certify" grep -Fxq "  certificate   none: the time limit ended the search for the least L; try more max-seconds" "$out"

# The stage that stopped and its iterations; JD+NMF has two stages.
expect 0 ... "" tlnmf fit y.npy -k 2 --method jd -J 3 --starts 1 --no-model
check "iterations of NMF and of JD" grep -Fxq "  stopped       NMF: reached the iteration limit (iteration 3); JD before it: iteration 3" "$out"
expect 0 ... "" tlnmf fit y.npy -k 2 --method jd -J 3 --no-model --json
check "in the JSON" [ "$(json outcome_of) $(json iterations) $(json nmf_iterations)" = "nmf 3 3" ]
expect 0 ... "" tlnmf fit y.npy -k 2 --method jd --starts 1 --no-model
check "both stages ran" grep -Eq "^  stopped       JD: .* \(iteration [0-9]+\); NMF after it: iteration [0-9]+$" "$out"

# How many starts found the best minimum. Small problems run starts until three did.
tlnmf simulate gcm -s 100 -m 4 -n 12 --kbar 2 -o easy.npy
expect 0 ... "" tlnmf fit easy.npy -k 2 --json -o easy.h5
check "four starts, and one from JD+NMF" [ "$(json starts) $(json starts_completed)" = "4 5" ]
agree=$(json starts_agree)
check "three agree" [ "$agree" -ge 3 ]
check "the model has the option" eval 'tlnmf info easy.h5 -v | grep -Eq "^ +starts +0$"'
expect 0 ... "" tlnmf fit easy.npy -k 2 --starts auto --threads 1 --no-model
check "the summary says so" grep -Eq "^TL-NMF with 2 components: converged, .*, best C found by $agree of 5 starts, one of them from JD\+NMF$" "$out"
expect 0 ... "" tlnmf fit easy.npy -k 2 --method jd --starts 3 --no-model
check "both stages of JD+NMF" grep -Eq "^JD\+NMF .*, best L found by [123] of 3 starts, best I by [123] of 3 starts of NMF$" "$out"
expect 0 ... "" tlnmf fit easy.npy -k 2 --starts 3 --explain --no-model
check "the count is explained" grep -Fq "How many of the completed starts ended at the best C" "$out"
expect 0 ... "" tlnmf fit easy.npy -k 2 --method jd --starts 1 --explain --no-model
check "one start has no count" eval '! grep -Fq "How many of the completed starts" "$out"'
expect 0 ... "" tlnmf fit easy.npy -k 2 --starts 2 --exchange --trace -o both.h5
check "traces of both methods" eval 'tlnmf info both.h5 | grep -Fq other.trace'
tlnmf simulate gcm -s 1 -o minima.npy
expect 0 ... "" tlnmf fit minima.npy -k 5 --starts 6 --method tl --no-model
check "many minima" grep -Eq ", best C found by 1 of 6 starts(, one of them from JD\+NMF)?$" "$out"
expect 0 ... ... tlnmf fit easy.npy --init easy.h5 --json --no-model
check "a given start is the only one" [ "$(json starts) $(json starts_completed)" = "1 1" ]

# Traces of all starts, with the gradient norm; every file has the names of the stages.
expect 0 ... "" tlnmf fit y.npy -k 2 --method tl --hops 0 -J 5 --tol 0 --starts 3 --trace-all --json -o all.h5
check "all starts" [ "$(grep -c '"start": 2' "$out") $(grep -c '"start": 1' "$out") $(grep -c '"start": 0' "$out")" = "5 5 5" ]
last=$(grep '"gradient": ' "$out" | sed -n "$(($(json best_start) * 5 + 5))p" | sed 's/.*: //; s/,//')
near "the last gradient norm of the trace, with that of the model" "$last" "$(json gradient_norm)" 1e-9
check "the file has the names of the stages" [ "$(json trace_stages)" = "0 tl, 1 jd, 2 nmf" ]
expect 0 ... "" tlnmf fit y.npy -k 2 --method tl --hops 0 -J 5 --tol 0 --starts 3 --trace --json --no-model
check "otherwise only the best start" [ "$(grep -c '"gradient": ' "$out")" = 5 ]

# The longest summary has twelve lines.
expect 0 ... "" tlnmf fit y.npy -k 2 --exchange --starts 2 --eps-check --report --rate 8000 -o longest.h5
check "twelve lines: $(wc -l <"$out")" [ "$(wc -l <"$out")" -le 12 ]

# --explain: every line of the summary in a sentence or two, also without an input.
expect 0 ... "" tlnmf fit y.npy -k 2 -J 2 --method tl --hops 0 --no-model --explain
check "C is explained" grep -q "^    TL-NMF minimises C" "$out"
check "the data are explained" grep -q "^  data$" "$out"
check "lines that are not printed are not explained" eval '! grep -Eq "^  (eps check|atoms|components by|model)$" "$out"'
expect 0 ... "" tlnmf fit y.npy -k 2 --method nmf --transform dct --no-model --explain
check "no gradient at a fixed transform" grep -q "^  gradient      none: Phi is fixed   orthogonality" "$out"
check "the explanation says so" grep -q "If Phi is fixed, it has no meaning" <(tr -s ' \n' ' ' <"$out")
expect 0 ... "" tlnmf fit --explain
check "all lines without an input" [ "$(grep -Ec "^  (data|eps check|atoms|components by)$" "$out")" -eq 4 ]
expect 0 ... "" tlnmf jd --explain
check "jd explains its own lines" [ "$(grep -E "^  [a-z]" "$out" | head -n 2 | tr -s "\n " " ")" = " found by data " ]
check "jd has no C and no I" eval '! grep -Eq "TL-NMF|I = C" "$out"'

# --eps-check: two neighbours of eps.
expect 0 ... "" tlnmf fit y.npy -k 1 --method nmf --transform identity --no-model --eps-check --json
check "two neighbours" [ "$(grep -c '"same_atoms": 1.0' "$out")" -eq 2 ] # the transform is kept
check "neither is better here" eval '! grep -q "\"above_per_entry\": -" "$out"'
expect 0 ... "" tlnmf fit y.npy -k 1 --method nmf --transform identity --no-model --eps-check -v -q
check "in words" grep -Eq "^                at 1/3 eps: C here would be [0-9.e-]+ per entry higher, 100 % of the energy is in the same atoms$" "$out"
check "the conclusion" grep -Eq "^  eps check     the result (is the same at eps / 3 and at 3 eps|depends on eps)" "$out"

tlnmf simulate gcm -s 3 -m 8 -n 20 --kbar 2 -o noisy.npy
expect 0 ... "" tlnmf fit noisy.npy -k 6 --no-model --eps-check --eps 0.1
reason="(C rises by [0-9.e-]+ per entry at (eps / 3|3 eps); )?([0-9.]+ % of the energy is in other atoms( at (eps / 3|3 eps))?|the atoms stay the same)"
check "what changes, and no advice where eps is given" grep -Eq "^  eps check     the result depends on eps: $reason$" "$out"
expect 0 ... "" tlnmf fit noisy.npy -k 6 --no-model --eps-check
check "a page to read where it is the default" grep -Eq "^  eps check     the result depends on eps: $reason; see docs/howto/eps.md$" "$out"

# At 3 eps the weak second covariance is hidden, and Phi turns by 45 degrees.
npy turning.npy "(2, 2, 2)" 2 0 0 1 0.0101 0.0099 0.0099 0.0101
expect 0 ... ... tlnmf fit turning.npy -k 1 --method jd --eps 0.01 --no-model --eps-check
check "all energy is in other atoms" grep -q " 100 % of the energy is in other atoms" "$out"

# Stopping
expect 4 ... "" tlnmf fit y.npy -k 2 -J 2 --strict --json -o strict.h5
check "outcome" [ "$(json outcome)" = iterations ]
check "--strict keeps the result" tlnmf info strict.h5 >/dev/null
expect 0 ... "" tlnmf fit y.npy -k 2 --tol 0.1 --strict --json
check "outcome" [ "$(json outcome)" = converged ]
expect 0 ... "" tlnmf fit y.npy -k 2 --tol 0.1 --strict --starts 1 --no-model
check "the text says why" \
    grep -Eq "^  stopped       TL-NMF: converged: the objective no longer changes \(iteration [0-9]+\)$" "$out"

# auto keeps the better of its results, and TL-NMF gets its share of a short time limit.
tlnmf simulate gcm -s 3 -m 40 -n 400 -o large.npy
expect 0 ... "" tlnmf fit large.npy -k 5 --eps 1e-8 --max-seconds 0.6 --json --no-model
check "no worse than JD+NMF" awk -v c="$(json C)" -v jd="$(json C_jd)" 'BEGIN { exit !(jd == "" || c <= jd) }'
check "stopped by the time limit" [ "$(json outcome)" = time ]
