# Limits on the address space (ulimit -v), results that do not depend on threads, and overflows.

# The command prints a message and exits with 1, or completes. Without our check, BLAS would retry for
# ever. Sanitizers map terabytes, so no limit is large enough for them.
small_data y.npy
limits="150 200 300 400 500 560 620 800 1200"
if is_sanitized; then
    skip "sanitizers need more address space than ulimit -v leaves"
    limits= code=0
fi
for megabytes in $limits; do
    for threads in 1 4; do
        for command in "fit y.npy -k 1 -J 2 --no-model --threads $threads" "simulate gcm -o s.npy --force" "info y.npy"; do
            code=0
            (ulimit -v $((megabytes * 1024)) && OMP_NUM_THREADS=$threads exec timeout 10 tlnmf $command) >"$out" 2>"$err" || code=$?
            case $code in
            0) ;;
            1) check "a message: $command" grep -q '^tlnmf' "$err" ;;
            *) fail "$megabytes MB, $threads threads: exit code $code: $command" ;;
            esac
        done
    done
done
check "1200 MB are enough" [ $code -eq 0 ]
for megabytes in $limits; do # OpenMP's threads count, whatever OPENBLAS_NUM_THREADS says
    code=0
    (ulimit -v $((megabytes * 1024)) && OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=4 exec timeout 10 tlnmf simulate gcm \
        -o s.npy --force) >"$out" 2>"$err" || code=$?
    check "$megabytes MB, OPENBLAS_NUM_THREADS=1" [ $code -le 1 ]
done

# Products on several threads: each thread has a BLAS buffer, whichever setting created the threads.
tlnmf simulate notes -o notes.npy
for megabytes in $limits; do
    for asked in "4 fit notes.npy -k 2 -J 2 --no-model --threads 4" "1 fit notes.npy -k 2 -J 2 --no-model --threads 4" \
        "1 jd notes.npy -J 2 -o p.h5 --force --threads=3"; do
        code=0
        (ulimit -v $((megabytes * 1024)) && OMP_NUM_THREADS=${asked%% *} exec timeout -k 1 10 tlnmf ${asked#* }) \
            >"$out" 2>"$err" || code=$?
        check "$megabytes MB, OMP_NUM_THREADS=$asked: $code" [ $code -le 1 ]
    done
done

# The data do not depend on the number of threads.
OMP_NUM_THREADS=1 tlnmf simulate gcm --m 420 --n 20 --s 1 -o one.npy
OMP_NUM_THREADS=2 tlnmf simulate gcm --m 420 --n 20 --s 1 -o two.npy
check "simulate gcm" cmp one.npy two.npy

# Numbers that overflow are refused before the fit, with the same message for all kinds of data. The
# message does not speak of infinite powers or missing memory.
large="the power of the data does not fit a double (largest entry 1.7e+308): rescale them"
npy diagonal.npy "(2, 2, 2)" 1.7e308 0 0 1 1 0 0 1              # twice that is infinite
npy off.npy "(2, 2, 2)" 1 1.7e308 1.7e308 1 1 0 0 1             # the trace is 2, the eigenvalues overflow
npy skew.npy "(2, 2, 2)" 1 1.7e308 -1.7e308 1 1 0 0 1           # the difference overflows
npy traces.npy "(2, 2, 2)" 1.7e308 0 0 1.7e308 1.7e308 0 0 1e308 # the sum overflows
npy data.npy "(2, 2, 2)" 1.7e308 0 0 1 1 0 0 1
for file in diagonal off skew traces; do
    input jd "$file.npy: $large" $file.npy --input covariances --eps 1
    input fit "$file.npy: $large" $file.npy --input covariances --eps 1 -k 1 --no-model --json
done
input fit "data.npy: $large" data.npy --input data -k 1 --no-model --json
# Data just below the limit are fitted, and the results are numbers.
npy edge.npy "(2, 2, 2)" 4e307 0 0 1 1 0 0 1
expect 0 ... "" tlnmf fit edge.npy --input covariances --eps 1e295 -k 1 -J 3 --no-model --json
for figure in C L I mean_power; do
    check "$figure is a number" grep -q "\"$figure\": [0-9]" "$out"
done

# If rounding errors of X reach sqrt(eps), C is meaningless.
npy loud.npy "(2, 3)" 1e6 2e6 -1e6 3e6 1e6 5e5
expect 0 ... "" tlnmf fit loud.npy -k 1 -J 2 --no-model --eps 1
expect 0 ... "tlnmf fit: warning: C is rounding noise: 2.2e-16 x 3.16e+06 (the longest frame) / sqrt(eps = 1e-16) is 0.07, not below 0.001: use a larger eps" \
    tlnmf fit loud.npy -k 1 -J 2 --no-model --eps 1e-16

# Labels take time in proportion to their number: 200,000 labels took minutes of processor time when
# each was compared with all others, and take about a second.
tlnmf simulate notes --theta 1,2 --signal notes.wav
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "%.6f\t%.6f\t%s\n", i * 1e-6, i * 1e-6 + 1, i % 2 ? "a" : "b" }' >many.txt
code=0
(ulimit -t 60 && exec tlnmf separate notes.wav --labels many.txt --method nmf -o many -q) >"$out" 2>"$err" || code=$?
check "many labels: exit code $code" [ $code -eq 0 ]

# Beyond `ulimit -f` every command ends with a message, and leaves no temporary file.
tlnmf simulate gcm --s 2 --m 40 --n 200 -o wide.npy
small_data small.npy
tlnmf fit wide.npy -k 2 -J 2 -o wide.h5 -q >"$out"
tlnmf fit small.npy -k 1 -J 2 -o small.h5 -q >"$out"
mkdir full && cd full
for command in "5 simulate gcm --s 2 --m 40 --n 200 -o x.npy" "40 report ../small.h5 -o x.html" \
    "5 fit ../wide.npy -k 2 -J 2 -q -o x.h5"; do
    expect 5 ... ... bash -c "ulimit -f ${command%% *}; exec tlnmf ${command#* }"
    check "a message: $command" grep -q "File too large" "$err"
    check "no file: $command" [ -z "$(ls -A)" ]
done
cd ..
expect 3 "" "tlnmf apply: wide.h5: cannot be read: its contents exceed the limit on the size of files (ulimit -f)" \
    bash -c "ulimit -f 5; exec tlnmf apply wide.h5 wide.npy -o x.h5"
