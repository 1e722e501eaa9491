#!/usr/bin/env bash
# Processes against one: time, sums and peak memory of the same fit on 1, 2, 4, .. processes of one
# thread each. Prints a table; docs/scale.md says what to expect.
# usage: mpi.sh BUILD [MOST [M [N [J [ROUNDS]]]]]
set -eu
build=$(cd "$1" && pwd)
most=${2:-2} M=${3:-512} N=${4:-20000} J=${5:-40} rounds=${6:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$build/tlnmf" simulate gcm --s 1 --m "$M" --n "$N" --kbar 10 -o "$work/data.npy" >/dev/null

run() { # way to split, number of processes, starts: seconds of the fit, sums and megabytes of them
    mpirun -n "$2" "$build/tlnmf-mpi" fit "$work/data.npy" -k 10 --method tl --eps-rel 1e-2 -J "$J" \
        --tol 0 --grad-tol 0 --starts "$3" --threads 1 --split "$1" --no-model --json 2>/dev/null |
        python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["wall_seconds"], d.get("sums", 0), 1e-6 * d.get("sum_bytes", 0), d.get("sum_seconds", 0))'
}

echo "M = $M, N = $N, K = 10, S = 1, J = $J: the least time of $rounds rounds, ratio to 1 process"
for split in frames starts; do
    starts=1
    [ $split = frames ] || starts=$most
    : >"$work/times"
    for _ in $(seq "$rounds"); do # interleaved: a busy moment meets all numbers of processes
        for ((n = 1; n <= most; n *= 2)); do
            echo "$n $(run $split $n $starts)" >>"$work/times"
        done
    done
    sort -n "$work/times" | awk -v split=$split '
        !($1 in least) || $2 < least[$1] { least[$1] = $2; rest[$1] = $3 " sums, " $4 " MB, " $5 " s in them" }
        END { for (n = 1; n in least; n *= 2)
                  printf "%-6s %3d processes  %9.3f s  %6.2f x  %s\n", split, n, least[n],
                         least[1] / least[n], rest[n] }'
done
