#!/usr/bin/env bash
# An allocation fails, each in turn, in commands and examples: they end with a code of their own and a
# message, or go on without it; never with a signal.
#   tests/fault/allocations.sh SHIM BUILD [EVERY]     EVERY: only every so many of them
# Allocations of our own code (alloc_shim.c).
set -u
shim=$(realpath -e -- "$1") && build=$(realpath -e -- "$2") || exit 2
every=${3:-1}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
program=$build/tlnmf
"$program" simulate gcm --s 2 --m 4 --n 9 -o y.npy >/dev/null &&
    "$program" simulate notes --signal s.wav -o n.npy >/dev/null &&
    "$program" fit y.npy -k 2 -J 3 -q -o m.h5 >/dev/null || exit 2
commands=(
    "$program fit y.npy -k 2 -J 3 -q -o a.h5 --force"
    "$program jd y.npy --input data -J 3 -q -o a.h5 --force"
    "$program apply m.h5 y.npy -q -o a.h5 --force"
    "$program eval --ref s.wav --est s.wav --filter 2"
    "$program report m.h5 -o a.html --force"
    "$program separate s.wav -k 2 --method nmf --transform dct --frame 100 -q -o st --force"
    "$build/examples/embed"
    "$build/examples/watch")
points=0 bad=0
for command in "${commands[@]}"; do
    [ -x "${command%% *}" ] || continue
    ALLOC_COUNT=count LD_PRELOAD=$shim $command >/dev/null 2>err || { echo "fails without a fault: $command"; bad=$((bad + 1)); continue; }
    calls=$(<count)
    for ((n = 1; n <= calls; n += every)); do
        code=0
        ALLOC_AT=$n LD_PRELOAD=$shim timeout 60 $command >/dev/null 2>err || code=$?
        points=$((points + 1))
        # an example without a context has no message
        if [ $code -ge 124 ] || { [ $code -ne 0 ] && ! [ -s err ] && [ "${command%% *}" = "$program" ]; }; then
            echo "allocation $n of $calls: code $code: $(basename "$command" | cut -c 1-60): $(head -n 1 err)"
            bad=$((bad + 1))
        fi
    done
done
echo "allocations: $((points - bad)) of $points"
[ $bad -eq 0 ]
