#!/usr/bin/env bash
# The program on several processes, oversubscribed: the same files as from one process, one message and
# one exit code. Skipped without MPI.
# usage: run.sh TLNMF [TLNMF_MPI EXAMPLE_MPI EXAMPLE_CREW]
set -u
if [ $# -lt 4 ] || ! command -v mpirun >/dev/null; then
    echo "no MPI: tlnmf-mpi is not tested"
    exit 77
fi
tlnmf=$1 parallel=$2 example_mpi=$3 example_crew=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export SOURCE_DATE_EPOCH=1 OMP_NUM_THREADS=1
# As root in a container, with more processes than cores; waiting processes yield.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_odls_base_sigkill_timeout=0
# MPI unloads modules that leak, so a suppression cannot name them.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

on() { # number of processes, arguments of the program
    local n=$1
    shift
    timeout 300 mpirun -n "$n" "$parallel" "$@" 2>stderr >stdout
}

# ---- starts ------------------------------------------------------------------------------------

# The same model, byte for byte, and the same text as from one process.
same() { # numbers of processes, arguments of fit or jd
    local numbers=$1
    shift
    "$tlnmf" "$@" -o model.h5 --force >one.out 2>one.err || fail "tlnmf $*: $(cat one.err)"
    mv model.h5 one.h5
    for n in $numbers; do
        on "$n" "$@" -o model.h5 --force || fail "$n processes: $*: $(cat stderr)"
        cmp -s one.h5 model.h5 || fail "$n processes: $*: another model"
        cmp -s one.out stdout || fail "$n processes: $*: other words: $(diff one.out stdout)"
        rm -f model.h5
    done
}

"$tlnmf" simulate notes --seed 7 -o notes.npy >/dev/null
"$tlnmf" simulate gcm --s 5 --m 8 --n 30 --kbar 3 -o gcm.npy >/dev/null
same "1 2 3 5" fit gcm.npy -k 3 --starts 7
same "3" fit gcm.npy -k 3 --starts 4 --exchange --trace
same "2" fit gcm.npy -k 2 --method jd --solver paper -J 50 --starts 3
same "5" jd gcm.npy --input data --starts 3
same "2" fit notes.npy -k 2 --eps 5e-7 --starts 2 -J 6 --method tl
same "2" fit gcm.npy -k 1:2 --starts 2 --method jd --eps-check

# Cells of reproduce: the same files, including files of an earlier run.
"$tlnmf" reproduce fig4 theory errata --data gcm --quick -o cells.1 >one.out || fail "tlnmf reproduce"
on 2 reproduce errata --quick -o cells.3 || fail "2 processes: reproduce errata: $(cat stderr)"
on 3 reproduce fig4 theory errata --data gcm --quick -o cells.3 ||
    fail "3 processes: reproduce: $(cat stderr)"
diff -r -x cells.checkpoint cells.1 cells.3 >diff.out || fail "3 processes: reproduce: $(head -5 diff.out)"
cmp -s one.out stdout || fail "3 processes: reproduce: other words: $(diff one.out stdout)"
mkdir other && touch other/file

# ---- frames ------------------------------------------------------------------------------------

# C, L, I within a relative difference of those of one process, and the model complete.
close() { # tolerance, number of processes, way to split, arguments of fit or jd
    local tolerance=$1 n=$2 split=$3
    shift 3
    "$tlnmf" "$@" --json -o one.h5 --force >one.json 2>one.err || fail "tlnmf $*: $(cat one.err)"
    on "$n" "$@" --split "$split" --json -o model.h5 --force || fail "$n: $*: $(cat stderr)"
    "$tlnmf" info one.h5 | grep '^  /' >one.out
    "$tlnmf" info model.h5 | grep '^  /' | cmp -s one.out - || fail "$n: $*: another kind of model"
    python3 - "$tolerance" <<'PY' || fail "$n processes, $split: $*"
import json, math, sys
a, b = (json.load(open(name)) for name in ("one.json", "stdout"))
scale = max(abs(a[x] or 0) for x in "CLI")
off = {x: abs(a[x] - b[x]) / scale for x in "CLI" if a[x] is not None}
wrong = [x for x in off if not off[x] <= float(sys.argv[1])]
wrong += [] if b["sums"] > 0 and b["sum_bytes"] > 0 else ["sums"]
sys.exit(f"{wrong}: {off}" if wrong else 0)
PY
}

close 1e-10 2 frames fit gcm.npy -k 2 --method tl -J 20 --certify --hops 0
on 2 fit gcm.npy -k 2 --method tl -J 3 --split frames -v --no-model || fail "-v: $(cat stderr)"
grep -qE '^  sums +[1-9][0-9]* of [0-9.e-]+ MB over processes, ' stdout || fail "-v does not print the sums"
close 1e-10 3 frames fit gcm.npy -k 3 --method jd -J 20
close 1e-10 7 frames fit gcm.npy -k 2 --method tl --solver paper -J 5
close 1e-10 4 frames fit gcm.npy -k 2 --method nmf -J 20 --block 2
close 1e-8 4 frames:2 fit gcm.npy -k 3 --method tl --starts 2 --hops 0
close 1e-10 2 frames jd gcm.npy --input data -J 20
"$tlnmf" simulate gcm --s 4 --m 5 --n 3 --kbar 2 -o few.npy >/dev/null
close 1e-10 5 frames fit few.npy -k 1 --method tl -J 10 --hops 0 # more processes than frames
# Each process reads its own part of HDF5, of covariances, of an array with square slices.
"$tlnmf" simulate gcm --s 3 --m 8 --n 30 --kbar 3 -o gcm.h5 >/dev/null
close 1e-10 3 frames fit gcm.h5:/Y -k 2 --method tl -J 10 --hops 0
"$tlnmf" simulate gcm --s 5 --m 6 --n 6 --kbar 2 -o square.npy >/dev/null
close 1e-10 2 frames fit square.npy -k 2 --method jd -J 10
python3 - <<'PY'
import random, struct
M, N = 4, 9
random.seed(1)
x = []
for n in range(N):
    a = [[random.gauss(0, 1) for _ in range(M)] for _ in range(M)]
    x += [sum(a[i][k] * a[j][k] for k in range(M)) for i in range(M) for j in range(M)]

def write(name, shape, x):
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % (shape,)
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        f.write(struct.pack("<%dd" % len(x), *x))

write("covs.npy", (N, M, M), x)
x[8 * M * M + 1] += 1e-3 * x[8 * M * M] # slice 8 is not quite symmetric
write("skew.npy", (N, M, M), x)
write("powers.npy", (M, N), [-1.0 if i == 2 * N + 7 else 1.0 + i % 5 for i in range(M * N)])
PY
close 1e-10 4 frames jd covs.npy -J 10
close 1e-10 2 frames fit covs.npy -k 2 --method tl -J 10 --hops 0

# Peak memory of a process, minus that of a small problem: two processes need half of it each. Each
# process writes to its own file, since mpirun may mix the outputs of processes.
peak() { # number of processes, data
    rm -f peak.*
    timeout 120 mpirun -n "$1" python3 -c '
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
with open("peak.%d" % os.getpid(), "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=file)' "$parallel" fit "$2" \
        -k 3 --method tl -J 1 --split frames --no-model --threads 1 2>stderr ||
        echo "$1 processes, $2: $(head -3 stderr)" >&2
    sort -n peak.* | tail -1
}
"$tlnmf" simulate gcm --s 1 --m 32 --n 100000 --kbar 3 -o long.npy >/dev/null
least=$(peak 2 few.npy) one=$(peak 1 long.npy) two=$(peak 2 long.npy)
grep -qa __asan_init "$parallel" || # sanitizers need additional memory
    awk -v l="$least" -v a="$one" -v b="$two" 'BEGIN { exit !(b - l <= 0.55 * (a - l)) }' ||
    fail "peak memory: $one kB on one process, $two kB on each of two, $least kB for a small problem"
rm -f model.h5 long.npy

# ---- one message, one exit code ----------------------------------------------------------------

ends_with() { # code, number of processes, pattern of the message, arguments
    local code=$1 n=$2 pattern=$3
    shift 3
    on "$n" "$@"
    local ended=$?
    [ $ended = "$code" ] || fail "$n processes: $*: exit code $ended, not $code"
    [ "$(grep -c '^tlnmf' stderr)" = 1 ] || fail "$n processes: $*: not one message: $(cat stderr)"
    grep -qE "$pattern" stderr || fail "$n processes: $*: says $(cat stderr)"
}

ends_with 2 3 "^tlnmf fit: missing required option -k" fit gcm.npy
ends_with 3 3 "^tlnmf fit: nothing.npy" fit nothing.npy -k 2
ends_with 2 3 "unknown command nonsense" nonsense
ends_with 2 3 "where G divides the 3 processes" fit gcm.npy -k 2 --split frames:2
ends_with 2 2 "cannot be combined with -k A:B" fit gcm.npy -k 1:3 --split frames
ends_with 2 2 "cannot be combined with .* --report or" fit gcm.npy -k 2 --split frames --report
ends_with 2 2 "cannot be combined with .* or --missing with --input power" fit powers.npy -k 2 --split frames \
    --input power --missing
# The number of a slice or of a frame is that in the file, not in the part of a process.
ends_with 3 2 "skew.npy: slice 8 is not symmetric" fit skew.npy -k 2 --split frames
ends_with 3 2 "powers.npy: row 2, frame 7 is -1" fit powers.npy -k 2 --split frames --input power
ends_with 5 3 "other: is neither empty nor a folder of results" reproduce errata --quick -o other
ends_with 5 3 "directory nowhere does not exist" fit gcm.npy -k 2 -o nowhere/model.h5

# A file that only some processes can see: process 0 prints the message of the process that cannot.
cat >sees.sh <<'SH'
#!/bin/sh
# Runs the program in another folder on process 1.
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" != 1 ] || cd empty || exit 1
exec "$@"
SH
chmod +x sees.sh
mkdir empty
timeout 120 mpirun -n 3 ./sees.sh "$parallel" fit gcm.npy -k 2 -o seen.h5 >stdout 2>stderr
code=$?
[ $code = 3 ] || fail "a file that process 1 does not see: exit code $code"
[ "$(grep -c '^tlnmf fit: gcm.npy' stderr)" = 1 ] || fail "process 1's message: $(cat stderr)"
[ ! -e seen.h5 ] || fail "a model though process 1 failed"

# ---- killed and resumed ------------------------------------------------------------------------

# Runs the program with frequent checkpoints. When the checkpoint exists, sends the signal: KILL to one
# process, which ends the job; TERM, as from a batch system, to all.
stop() { # signal, number of processes, checkpoint to wait for, arguments
    local signal=$1 n=$2 checkpoint=$3 all
    shift 3
    timeout 120 mpirun -n "$n" "$parallel" "$@" --every 0 -q >/dev/null 2>stderr &
    local job=$!
    while [ ! -e "$checkpoint" ] && kill -0 $job 2>/dev/null; do
        sleep 0.02
    done
    mapfile -t all < <(pgrep -f "^$parallel fit kill.npy") # in any order
    case $signal in
    KILL) kill -KILL "${all[@]:0:1}" ;;
    TERM) kill -TERM "${all[@]}" ;;
    esac
    wait $job && fail "SIG$signal on $n processes: the job did not fail: $*"
    [ -e "$checkpoint" ] || fail "SIG$signal on $n processes: no checkpoint: $*: $(cat stderr)"
}
nothing_left() { # what was done
    local left
    left=$(find . -name '*kill.h5?*')
    [ -z "$left" ] || fail "$1: left $left"
}

"$tlnmf" simulate gcm --s 3 --m 12 --n 60 --kbar 3 -o kill.npy >/dev/null
fit=(fit kill.npy -k 3 --method tl --hops 0 --seed 2 --tol 0 --grad-tol 0 -o kill.h5)

frames_resume() { # signal, numbers of processes before and after, way to split, checkpoint
    local -a arguments=("${fit[@]}" --starts 12 -J 100 --split "$4")
    rm -f kill.h5*
    stop "$1" "$2" "$5" "${arguments[@]}"
    on "$3" "${arguments[@]}" --resume --force --json -q || fail "resumed on $3: $(cat stderr)"
    nothing_left "SIG$1 on $2 processes, resumed on $3, split $4"
    "$tlnmf" "${arguments[@]}" --force --json -q >one.json
    python3 - <<'PY' || fail "SIG$1 on $2 processes, resumed on $3, split $4: another C"
import json, sys
a, b = (json.load(open(name))["C"] for name in ("one.json", "stdout"))
sys.exit(0 if abs(a - b) <= 1e-8 * abs(a) else f"{a} and {b}")
PY
}
frames_resume KILL 3 2 frames kill.h5.checkpoint
frames_resume TERM 2 3 frames kill.h5.checkpoint
frames_resume KILL 4 2 frames:2 kill.h5.checkpoint.process1

# Distributed starts: the same bytes, also if tlnmf itself resumes.
starts_resume() { # signal, numbers of processes before and after (0: tlnmf), checkpoint, arguments
    local signal=$1 n=$2 after=$3 checkpoint=$4
    shift 4
    rm -f kill.h5*
    "$tlnmf" "$@" -q >one.out || fail "tlnmf $*"
    mv kill.h5 one.h5
    stop "$signal" "$n" "$checkpoint" "$@"
    if [ "$after" = 0 ]; then
        "$tlnmf" "$@" --resume -q >stdout 2>stderr || fail "resumed by tlnmf: $*: $(cat stderr)"
    else
        on "$after" "$@" --resume -q || fail "resumed on $after: $*: $(cat stderr)"
    fi
    cmp -s one.h5 kill.h5 || fail "SIG$signal on $n processes, resumed on $after: $*: another model"
    nothing_left "SIG$signal on $n processes, resumed on $after: $*"
}
many=("${fit[@]}" --starts 40 -J 1000)
starts_resume KILL 3 2 kill.h5.checkpoint.process2 "${many[@]}" --split starts
starts_resume TERM 2 3 kill.h5.checkpoint.process1 "${many[@]}" --exchange -J 300
starts_resume TERM 3 0 kill.h5.checkpoint "${many[@]}"
starts_resume KILL 2 3 kill.h5.checkpoint fit kill.npy -k 1:2 --method jd --starts 8 --tol 0 \
    --grad-tol 0 -J 1000 -o kill.h5
# Existing checkpoints are not replaced; a checkpoint or a part of another run and a damaged part are refused.
rm -f kill.h5*
stop KILL 3 kill.h5.checkpoint.process2 "${many[@]}"
ends_with 5 2 "a checkpoint of an earlier run; --resume continues it" "${many[@]}"
ends_with 3 2 "the checkpoint has seed=2, but this run has seed=3" "${many[@]}" --seed 3 --resume --force
stop KILL 2 another.process1 "${many[@]}" --seed 3 --checkpoint another --force
rm -f another
mv another.process1 kill.h5.checkpoint.process1
ends_with 3 2 "process1: the checkpoint has seed=3, but this run has seed=2" \
    "${many[@]}" --resume --force
echo rubbish >kill.h5.checkpoint.process1
ends_with 3 2 "kill.h5.checkpoint.process1: not a record" "${many[@]}" --resume --force
rm kill.h5.checkpoint.process1
# With --force the run starts anew, and all checkpoints of the old run are removed.
stop KILL 2 kill.h5.checkpoint.process1 "${many[@]}" --force
[ ! -e kill.h5.checkpoint.process2 ] || fail "an old checkpoint remains after a new start"
on 2 "${many[@]}" --resume --force -q || fail "resumed on 2: $(cat stderr)"
nothing_left "started anew and resumed"
mkdir kill.h5.checkpoint.process1
ends_with 5 2 "kill.h5.checkpoint.process1: a checkpoint must be a regular file, not a directory" \
    "${fit[@]}" --starts 40 -J 100 --every 0 --force
rm -r kill.h5*

# Commands that are not distributed run once.
on 3 info gcm.npy || fail "info: $(cat stderr)"
"$tlnmf" info gcm.npy >one.out
cmp -s one.out stdout || fail "info on 3 processes: $(diff one.out stdout)"

# ---- examples ----------------------------------------------------------------------------------

"$example_crew" >one.out || fail "the example with threads"
timeout 120 mpirun -n 3 "$example_mpi" >stdout 2>stderr || fail "the example with MPI: $(cat stderr)"
cmp -s one.out stdout || fail "the examples differ: $(diff one.out stdout)"

[ $failures = 0 ] || exit 1
echo "mpi: all results as on one process"
