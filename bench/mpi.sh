#!/usr/bin/env bash
# Measures time, sums and peak memory of the same work on 1, 2, 4, .. processes of one thread each:
# sweeps, L-BFGS and a fit with distributed frames, of the same data (strong) and of a quarter of them
# per process (weak), and distributed starts. The first row is the ceiling: independent processes.
# docs/measurements/processes.md has results.
# usage: mpi.sh BUILD [MOST [M [N [ROUNDS]]]]
set -eu
build=$(cd "$1" && pwd)
most=${2:-2} M=${3:-512} N=${4:-20000} rounds=${5:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

data() { # number of frames: prints the name of a file with that many
    [ -e "$work/$1.npy" ] ||
        "$build/tlnmf" simulate gcm --s 1 --m "$M" --n "$1" --kbar 10 -o "$work/$1.npy" >/dev/null
    echo "$work/$1.npy"
}

once() { # number of processes, way to split, command and its arguments: a line of numbers
    local n=$1 split=$2
    shift 2
    mpirun --bind-to core -n "$n" "$build/tlnmf-mpi" "$@" --tol 0 --grad-tol 0 \
        --threads 1 --split "$split" --json -o /dev/null 2>"$work/err" |
        python3 -c '
import json, sys
d = json.load(sys.stdin)
at_work = (d.get("nmf_seconds") or 0) + (d.get("transform_seconds") or 0)
print(sys.argv[1], d["wall_seconds"] if sys.argv[2] == "starts" else at_work, d.get("sums", 0), 1e-6 * d.get("sum_bytes", 0),
      d.get("sum_seconds", 0), d["wall_seconds"], d["cpu_seconds"])' "$n" "$split" || cat "$work/err" >&2
}

alone() { # number of processes: the longest time of independent processes
    local i file
    file=$(data $((N / 4)))
    for ((i = 0; i < $1; i++)); do
        "$build/tlnmf" jd "$file" --input data --transform dct -J 6 --tol 0 --grad-tol 0 \
            --threads 1 --json -o /dev/null >"$work/alone.$i" 2>"$work/err" &
    done
    wait
    python3 -c '
import json, sys
each = [json.load(open(name)) for name in sys.argv[2:]]
print(sys.argv[1], max(d["transform_seconds"] for d in each), 0, 0, 0,
      max(d["wall_seconds"] for d in each), each[0]["cpu_seconds"])' "$1" \
        $(seq -f "$work/alone.%.0f" 0 $(($1 - 1)))
}

table() { # title; reads lines of once()
    sort -n | awk -v title="$1" -v weak="$2" '
        !($1 in least) || $2 < least[$1] {
            least[$1] = $2
            rest[$1] = $3 " sums, " $4 " MB, " $5 " s in them; wall " $6 ", processor time of the first " $7 }
        END { for (n = 1; n in least; n *= 2)
                  printf "%-22s %3d processes  %9.3f s  %6.2f %s  %s\n", title, n, least[n],
                         weak ? least[n] / least[1] : least[1] / least[n],
                         weak ? "of the time" : "times", rest[n] }'
}

measure() { # title, weak or not, way to split, command, arguments that follow the data
    local title=$1 weak=$2 split=$3 command=$4
    shift 4
    for _ in $(seq "$rounds"); do # interleaved, so that other load affects all numbers of processes
        for ((n = 1; n <= most; n *= 2)); do
            local frames=$N
            [ "$weak" = 0 ] || frames=$((N / 4 * n))
            if [ "$split" = none ]; then
                alone "$n"
            else
                once "$n" "$split" "$command" "$(data "$frames")" "$@"
            fi
        done
    done | table "$title" "$weak"
}

echo "M = $M, N = $N, K = 10, S = 1: the least time of $rounds rounds; time spent in solvers"
measure "independent, weak" 1 none ""
for weak in 0 1; do
    how=$([ $weak = 0 ] && echo strong || echo weak)
    measure "sweeps, $how" $weak frames fit -k 10 --method tl --eps-rel 1e-2 -J 3
    measure "L-BFGS of Phi, $how" $weak frames jd --input data --transform dct -J 12
done
N=$((N / 4)) measure "starts, strong" 0 starts fit -k 10 --method tl --eps-rel 1e-2 -J 1 \
    --starts "$most"
measure "a fit, strong" 0 frames fit -k 10 --method tl --eps-rel 1e-2 -J 20
