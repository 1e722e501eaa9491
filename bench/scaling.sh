#!/bin/sh
# How wall time falls with threads, in one run, and whether outputs have the same bits.
#   [ROWS=EXPRESSION] [CEILING=1] scaling.sh PROGRAM [REPEATS [THREADS..]]
# Times are minima over the repeats, which are interleaved. Ratios are relative to one thread. ROWS
# selects rows by name. CEILING=1 also starts independent processes of one thread each, one for each of
# the last number of threads, and prints their throughput relative to one process. PARTS is the
# folder of the recording, if it is not in the repository.
set -eu
program=$(command -v "$1")
case $program in /*) ;; *) program=$PWD/$program ;; esac
repeats=${2:-3}
[ $# -gt 2 ] && shift 2 || set -- 1 2 4 8 16
recordings=${PARTS:-$(cd "$(dirname "$0")/.." && pwd)/tests/recordings/piano_a4_as4}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export SOURCE_DATE_EPOCH=0 # no times in the outputs

"$program" simulate notes --seed 7 -o "$dir/notes.npy" >/dev/null
"$program" simulate gcm -m 512 -n 2000 --kbar 10 -o "$dir/large.npy" >/dev/null
"$program" simulate gcm -s 64 -m 64 -n 1000 -o "$dir/covariances.npy" >/dev/null

seconds() # COMMAND..: its wall time
{
    begin=$(date +%s.%N)
    "$@" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
    echo "$begin $(date +%s.%N)" | awk '{ printf "%.4f", $2 - $1 }'
}

independent() # ARGUMENT..: an independent process for each of the last number of threads
{
    pids=
    for i in $(seq "${threads##* }"); do
        mkdir -p "$dir/alone$i"
        (cd "$dir/alone$i" && exec "$program" "$@" --threads 1 --force -o "out$suffix") &
        pids="$pids $!"
    done
    code=0
    for pid in $pids; do wait "$pid" || code=1; done
    rm -rf "$dir"/alone*
    return $code
}

measure() # NAME SUFFIX ARGUMENT..: one row; the output is a file with this suffix, or a folder
{
    name=$1 suffix=$2
    shift 2
    echo "$name" | grep -Eq "${ROWS:-.}" || return 0
    : >"$dir/times"
    for t in $threads; do mkdir -p "$dir/$t"; done
    for i in $(seq "$repeats"); do
        for t in $threads; do
            echo "$t $(cd "$dir/$t" && seconds "$program" "$@" --threads "$t" --force -o "out$suffix")" >>"$dir/times"
        done
    done
    [ -z "${CEILING:-}" ] || for i in $(seq "$repeats"); do
        echo "all $(seconds independent "$@")" >>"$dir/times"
    done
    same=yes
    for t in $threads; do
        [ -z "$suffix" ] || python3 -m zipfile -e "$dir/$t/out$suffix" "$dir/$t/out"
    done
    for t in $threads; do
        # all but summaries, pages and models, which name the command with its number of threads
        diff -r -x '*.json' -x '*.html' -x '*.h5' "$dir/1/out" "$dir/$t/out" >/dev/null || same=NO
    done
    awk -v name="$name" -v same="$same" -v threads="$threads" '
        !($1 in least) || $2 < least[$1] { least[$1] = $2 }
        END {
            count = split(threads, t, " ")
            printf "%-34s", name
            for (i = 1; i <= count; i++)
                printf "  %8.3f s %5.2f", least[t[i]], least[1] / least[t[i]]
            if ("all" in least)
                printf "  ceiling %5.2f", t[count] * least[1] / least["all"]
            print "  same bits: " same
        }' "$dir/times"
    for t in $threads; do rm -rf "${dir:?}/$t"; done
}

threads=$*
printf '%-34s' "threads"
for t in $threads; do printf '  %16s' "$t"; done
printf '\n'
measure "64 starts, notes" .npz fit "$dir/notes.npy" -k 2 --eps 5e-7 --starts 64
measure "one start, 512 x 2000, K = 10" .npz fit "$dir/large.npy" -k 10 -J 40
measure "one start, notes, 200 x 151" .npz fit "$dir/notes.npy" -k 2 --eps 5e-7
measure "JD, 1000 covariances of 64 x 64" .npz jd "$dir/covariances.npy"
measure "separate, 3.3 s, mono, guided" "" separate "$recordings/mix.flac" --labels "$recordings/labels.txt"
