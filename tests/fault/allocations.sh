#!/usr/bin/env bash
# Each allocation of our own code (alloc_shim.c) fails in turn, in commands and examples: they print a
# message and exit with one of their codes, or continue without the allocation; no signal ends them. A
# build with AddressSanitizer also detects leaks.
#   tests/fault/allocations.sh SHIM BUILD [EVERY]     EVERY: only every EVERY-th allocation
set -u
shim=$(realpath -e -- "$1") && build=$(realpath -e -- "$2") || exit 2
every=${3:-1}
recordings=$(cd "$(dirname "$0")/../recordings/piano_a4_as4" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Exit codes that no command uses; the shim is loaded before the sanitizer's library.
export ASAN_OPTIONS=verify_asan_link_order=0:allocator_may_return_null=1:exitcode=99 LSAN_OPTIONS=exitcode=98
program=$build/tlnmf examples=$build/examples
"$program" simulate gcm --s 2 --m 4 --n 9 -o y.npy >/dev/null &&
    "$program" simulate notes --signal s.wav -o n.npy >/dev/null &&
    "$program" fit y.npy -k 2 -J 3 -q -o m.h5 >/dev/null || exit 2
# A factor of EVERY, and the command.
commands=(
    "1 $program fit y.npy -k 2 -J 3 -q -o a.h5 --force"
    "10 $program fit y.npy -k 2 -J 3 --starts 2 -q -o a.npz --force --every 0"
    "1 $program jd y.npy --input data -J 3 -q -o a.h5 --force"
    "1 $program apply m.h5 y.npy -q -o a.h5 --force"
    "1 $program eval --ref s.wav --est s.wav --filter 2"
    "1 $program report m.h5 -o a.html --force"
    "1 $program separate s.wav -k 2 --method nmf --transform dct --frame 100 -q -o st --force"
    "2 $program separate s.wav -k 2 --method nmf --transform dct --frame 100 -q -o st --force --every 0"
    "1 $program reproduce fig4 --data gcm --quick -q -o r"
    "1 $examples/embed"
    "1 $examples/watch"
    "1 $examples/crew"
    "1 $examples/draw_atoms"
    "4 $examples/separate $recordings/mix.flac $recordings/labels.txt p method=nmf transform=dct frame=1764 window=sine per-source=1")
[ "$every" -gt 1 ] || commands+=("200 $program reproduce all --quick -q -o r") # 5 s each
points=0 bad=0
for command in "${commands[@]}"; do
    step=$((every * ${command%% *})) command=${command#* }
    [ -x "${command%% *}" ] || continue
    rm -rf r
    ALLOC_COUNT=count LD_PRELOAD=$shim $command >/dev/null 2>err || { echo "fails without a fault: $command"; bad=$((bad + 1)); continue; }
    calls=$(<count)
    for ((n = 1; n <= calls; n += step)); do
        rm -rf r
        code=0
        timeout 120 env ALLOC_AT=$n LD_PRELOAD="$shim" $command >/dev/null 2>err || code=$?
        points=$((points + 1))
        # an example may fail before it has a context for a message
        if [ $code -ge 98 ] || { [ $code -ne 0 ] && ! [ -s err ] && [ "${command%% *}" = "$program" ]; }; then
            echo "allocation $n of $calls: code $code: $(echo "${command#"$build/"}" | cut -c 1-60): $(head -n 1 err)"
            grep -m 9 '^ *#[0-9]* .*build\|/src/\|/cli/\|/io/\|leak of' err
            bad=$((bad + 1))
        fi
    done
    echo "$calls allocations, every ${step}th: $(echo "${command#"$build/"}" | cut -c 1-60)"
done
echo "allocations: $((points - bad)) of $points"
[ $bad -eq 0 ]
