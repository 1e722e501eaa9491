#!/bin/sh
# Runs on the machine that tests/torture/pack.sh packed for: all fuzz targets and the long tests at the
# same time, one process a core.     usage: away.sh ARCHIVE SECONDS OUT
# OUT gets crash files, corpora, logs; a line of statistics for each target goes to standard output.
set -u
archive=$1 seconds=$2 out=$3
home=/tmp/tlnmf-away # the binaries are linked to look there
rm -rf "$home"
mkdir -p "$home" "$out" && tar -xzf "$archive" -C "$home" || exit 2
shm=/dev/shm/tlnmf-away # files of the targets are in memory
rm -rf "$shm"
mkdir -p "$shm" || exit 2
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive

fuzz() # TARGET JOB
{
    work=$shm/$1.$2
    mkdir -p "$work/corpus" "$out/crashes"
    cp -r "$home/corpus/$1/." "$work/corpus/"
    (cd "$work" && "$home/fuzz/fuzz_$1" -seed=$((100 + $2)) -runs=5000000 -max_total_time="$seconds" -max_len=4096 \
        -rss_limit_mb=3000 -timeout=20 -print_final_stats=1 -artifact_prefix="$out/crashes/$1." corpus >log 2>&1
        echo "fuzz_$1 job $2: exit $?, $(grep number_of_executed log | tr -s ' ' | cut -d' ' -f2) executions," \
            "$(grep average_exec log | tr -s ' ' | cut -d' ' -f2)/s, $(ls corpus | wc -l) files," \
            "$(grep -o 'cov: [0-9]*' log | tail -n 1)")
    tail -c 20000 "$work/log" >"$out/fuzz_$1.$2.log"
    (cd "$work" && tar -czf "$out/corpus_$1.$2.tgz" corpus)
}

long() # NAME COMMAND...
{
    name=$1
    shift
    mkdir -p "$shm/$name"
    (cd "$shm/$name" && TMPDIR=$shm/$name timeout "$seconds" "$@" >log 2>&1
        echo "$name: exit $?: $(tail -n 3 log | tr '\n' ';')")
    tail -c 20000 "$shm/$name/log" >"$out/$name.log"
}

for target in record options summary protocol labels array table; do fuzz $target 1 & done
for target in npz framing sound checkpoint; do
    fuzz $target 1 &
    fuzz $target 2 &
done
export TLNMF_PROGRAM=$home/tlnmf
long mutants "$home/tests/fuzz_container" 2500 &
long extremes "$home/tests/extremes" 10000 &
(
    KILLS=200 long resume "$home/torture.sh" "$home" resume
    long limits "$home/torture.sh" "$home" limits
) &
KILLS=200 long kills "$home/torture.sh" "$home" kills &
wait
ls -l "$out/crashes"
