#!/bin/sh
# Runs the long tests and all fuzz targets of an archive from tests/torture/pack.sh on another computer,
# one process per core.     usage: away.sh ARCHIVE CORES SECONDS OUT
# SECONDS: the time limit of a fuzz target; a long test has three times as long. OUT receives crash
# files, corpora and logs; a line of statistics for each test goes to standard output.
set -u
home=/tmp/tlnmf-away    # the binaries are linked to look there
shm=/dev/shm/tlnmf-away # files of the targets are in memory
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512 OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive TLNMF_PROGRAM=$home/tlnmf

fuzz() # TARGET
{
    [ -x "$home/fuzz/fuzz_$1" ] || return
    work=$shm/$1
    mkdir -p "$work" "$out/crashes"
    cp -r "$home/corpus/$1" "$work/corpus"
    cd "$work" && "$home/fuzz/fuzz_$1" -seed=7 -runs=5000000 -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=3000 \
        -timeout=20 -print_final_stats=1 -artifact_prefix="$out/crashes/$1." corpus >log 2>&1
    echo "fuzz_$1: exit $?, $(grep number_of_executed log | tr -s ' ' | cut -d' ' -f2) executions," \
        "$(ls corpus | wc -l) files, $(grep -o 'cov: [0-9]*' log | tail -n 1)"
    tail -c 20000 log >"$out/fuzz_$1.log"
    tar -czf "$out/corpus_$1.tgz" corpus
}

long() # NAME COMMAND...
{
    name=$1
    shift
    [ -x "$1" ] || return
    mkdir -p "$shm/$name"
    cd "$shm/$name" && TMPDIR=$shm/$name timeout $((3 * seconds)) "$@" >log 2>&1
    echo "$name: exit $?: $(tail -n 3 log | tr '\n' ';')"
    tail -c 20000 log >"$out/$name.log"
}

if [ "$1" = one ]; then # JOB SECONDS OUT: how the queue below calls this script
    seconds=$3 out=$4
    case $2 in
    mutants) long mutants "$home/tests/fuzz_container" 2500 ;;
    extremes) long extremes "$home/tests/extremes" 10000 ;;
    kills | folders | limits) long "$2" "$home/torture.sh" "$home" "$2" ;;
    *) fuzz "$2" ;;
    esac
    exit
fi
archive=$1 cores=$2 seconds=$3 out=$4
rm -rf "$home" "$shm"
mkdir -p "$home" "$shm" "$out" && tar -xf "$archive" -C "$home" || exit 2
printf '%s\n' mutants kills limits extremes sound checkpoint npz framing labels array table summary record options \
    protocol folders | xargs -P "$cores" -I{} sh "$0" one {} "$seconds" "$out"
ls -l "$out/crashes"
