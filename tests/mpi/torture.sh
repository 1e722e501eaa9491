#!/usr/bin/env bash
# The long tests of several processes, oversubscribed:
#   table     every method on every kind of data on 1, 2, 3, 4 and 7 processes, compared with tlnmf
#   kills     distributed frames: processes are killed at random moments; another number resumes
#   starts    the same with distributed starts, which give the same bytes
#   valgrind  memcheck
# usage: torture.sh TLNMF TLNMF_MPI [table[=DATA]|kills[=COUNT]|starts[=COUNT]|valgrind]...
set -u
here=$(cd "$(dirname "$0")" && pwd)
tlnmf=$(realpath -e -- "$1") parallel=$(realpath -e -- "$2") || exit 2
shift 2
[ $# -gt 0 ] || set -- table kills starts valgrind
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export SOURCE_DATE_EPOCH=1 OMP_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1
failed=0

report() { # NAME GOOD ALL
    echo "$1: $2 of $3"
    [ "$2" = "$3" ] || failed=1
}

# The largest difference of C, L and I, relative to the largest of them.
apart() { # two files of JSON
    python3 - "$1" "$2" <<'PY'
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:])
scale = max(abs(a[x] or 0) for x in "CLI")
print(max(abs(a[x] - b[x]) / scale for x in "CLI" if a[x] is not None))
PY
}

# ---- the same numbers --------------------------------------------------------------------------

table() { # [DATA]: gcm, random, few or notes
    local good=0 all=0 data k command off
    for s in 1 10; do
        "$tlnmf" simulate gcm --s $s --m 10 --n 50 --kbar 5 -o gcm.$s.npy >/dev/null
        "$tlnmf" simulate notes --s $s --seed 7 -o notes.$s.npy >/dev/null
        "$tlnmf" simulate gcm --s $s --m 6 --n 3 --kbar 2 -o few.$s.npy >/dev/null
        python3 - $s <<'PY'
import random, struct, sys
S, M, N = int(sys.argv[1]), 12, 31
random.seed(S)
text = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (S, M, N)
with open("random.%d.npy" % S, "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    f.write(struct.pack("<%dd" % (S * M * N), *(random.gauss(0, 1) for _ in range(S * M * N))))
PY
    done
    for data in ${1:-gcm random few notes}; do
        k=3
        [ $data != notes ] || k="2 --eps 5e-7" # the paper's
        for s in 1 10; do
            # shellcheck disable=SC2086
            for command in "fit -k $k --method tl" "fit -k $k --method jd" "fit -k $k --method nmf" \
                "jd --input data"; do
                local J=12
                [ $data != notes ] || J=4
                set -- ${command%% *} $data.$s.npy ${command#* } -J $J --json -q --force
                case $command in fit*) set -- "$@" --hops 0 ;; esac
                "$tlnmf" "$@" -o one.h5 >one.json 2>err || { echo "tlnmf $*: $(cat err)"; failed=1; continue; }
                for n in 1 2 3 4 7; do
                    all=$((all + 1))
                    timeout 300 mpirun -n $n "$parallel" "$@" --split frames -o many.h5 \
                        >many.json 2>err || { echo "$n processes: $*: $(cat err)"; continue; }
                    off=$(apart one.json many.json)
                    if awk -v x="$off" 'BEGIN { exit !(x <= 1e-10) }'; then
                        good=$((good + 1))
                    else
                        echo "$n processes: $*: $off"
                    fi
                done
            done
        done
    done
    report "runs within 1e-10 of one process" $good $all
}

# ---- killed and resumed ------------------------------------------------------------------------

# mpirun itself may hang if processes are killed while they start; timeout ends it.

kills() { # COUNT
    local good=0 saved=0 count=${1:-20} i before after took code
    local -a arguments=(fit y.npy -k 3 --method tl --hops 0 --seed 2 --starts 2 --tol 0 --grad-tol 0
        -J 100 --split frames -o r.h5 --json -q) alive
    "$tlnmf" simulate gcm --s 3 --m 12 --n 60 --kbar 3 -o y.npy >/dev/null
    "$tlnmf" "${arguments[@]}" >one.json
    took=$(date +%s%N)
    timeout 300 mpirun -n 3 "$parallel" "${arguments[@]}" --force --every 0.05 >/dev/null 2>err || cat err
    took=$(($(date +%s%N) - took))
    RANDOM=1
    for ((i = 0; i < count; i++)); do
        before=$((2 + i % 3)) after=$((1 + (i + 2) % 5))
        [ $after != $before ] || after=5
        rm -f r.h5*
        timeout -k 5 60 mpirun -n $before "$parallel" "${arguments[@]}" --every 0.05 >/dev/null 2>err &
        local job=$!
        # at a random moment of such a run; if the run has already ended, the kill has no effect
        sleep "$(awk -v t="$took" -v r=$RANDOM 'BEGIN { print 1e-9 * t * (0.1 + 0.8 * r / 32768) }')"
        mapfile -t alive < <(pgrep -P "$(pgrep -P $job | head -1)" 2>/dev/null)
        [ ${#alive[@]} = 0 ] || kill -KILL "${alive[$((RANDOM % ${#alive[@]}))]}" 2>/dev/null
        wait $job
        [ ! -e r.h5.checkpoint ] || saved=$((saved + 1))
        timeout 300 mpirun -n $after "$parallel" "${arguments[@]}" --resume --force >many.json 2>err
        code=$?
        if [ $code = 0 ] && [ ! -e r.h5.checkpoint ] &&
            awk -v x="$(apart one.json many.json)" 'BEGIN { exit !(x <= 1e-8) }'; then
            good=$((good + 1))
        else
            echo "kill $i, $before processes, then $after: code $code, $(apart one.json many.json): $(head -2 err)"
        fi
    done
    report "killed and resumed on another number of processes ($saved from a checkpoint)" $good "$count"
}

# Distributed starts: each run is killed twice, on different numbers of processes, either one process or
# all of them. Another number of processes, or tlnmf itself, resumes it, with the same bytes and no
# other files.
kill_once() { # number of processes, nanoseconds of a whole run, arguments
    local n=$1 most=$2 count
    local -a alive
    shift 2
    timeout -k 5 60 mpirun -n "$n" "$parallel" "$@" --every 0.02 -q >/dev/null 2>err &
    local job=$!
    sleep "$(awk -v t="$most" -v r=$RANDOM 'BEGIN { print 1e-9 * t * (0.2 + 0.7 * r / 32768) }')"
    mapfile -t alive < <(pgrep -f "^$parallel fit s.npy")
    count=$((RANDOM % 2 ? ${#alive[@]} : 1))
    [ ${#alive[@]} = 0 ] || kill -KILL "${alive[@]:0:$count}" 2>/dev/null
    wait $job 2>/dev/null
    rm -f s.h5 # it may have completed before
    [ -z "$(find . -name 's.h5.*')" ] || saved=$((saved + 1))
}
starts() { # COUNT
    local good=0 saved=0 count=${1:-20} i before between after took code command
    local -a kinds=("--method tl --starts 5 -J 600" "--starts 4 --exchange -J 200"
        "--method auto --starts 5 -J 400" "--method jd --solver paper --starts 6 -J 150"
        "--method jd --starts 3 -J 200 -k 1:3")
    "$tlnmf" simulate gcm --s 3 --m 48 --n 60 --kbar 3 -o s.npy >/dev/null
    RANDOM=2
    for ((i = 0; i < count; i++)); do
        command="fit s.npy -k 3 --seed $i --tol 0 --grad-tol 0 -o s.h5 ${kinds[i % ${#kinds[@]}]}"
        before=$((2 + i % 3)) between=$((1 + (i + 1) % 4)) after=$(((i * 3 + 2) % 5))
        rm -f s.h5*
        # shellcheck disable=SC2086
        "$tlnmf" $command -q >/dev/null || failed=1
        mv s.h5 one.h5
        took=$(date +%s%N)
        # shellcheck disable=SC2086
        timeout 300 mpirun -n $before "$parallel" $command --every 0.02 -q >/dev/null 2>err || cat err
        took=$(($(date +%s%N) - took))
        rm -f s.h5*
        # shellcheck disable=SC2086
        kill_once $before $took $command
        # shellcheck disable=SC2086
        kill_once $between $took $command --resume
        # shellcheck disable=SC2086
        case $after in
        0) "$tlnmf" $command --resume -q >/dev/null 2>err ;;
        *) timeout 300 mpirun -n $after "$parallel" $command --resume -q >/dev/null 2>err ;;
        esac
        code=$?
        if [ $code = 0 ] && cmp -s one.h5 s.h5 && [ -z "$(find . -name '*s.h5.*')" ]; then
            good=$((good + 1))
        else
            echo "$command: $before, $between, $after processes: code $code: $(head -2 err) $(find . -name '*s.h5.*')"
        fi
    done
    report "starts killed twice, the same bytes ($saved of $((2 * count)) kills left checkpoints)" $good "$count"
}

# ---- memcheck ----------------------------------------------------------------------------------

# Errors and definite leaks, except for MPI's own: OpenMPI has a list of them, mpi.supp has the rest.
memcheck() {
    local good=0 all=0 command supp
    "$tlnmf" simulate gcm --s 2 --m 5 --n 12 --kbar 2 -o tiny.npy >/dev/null
    for supp in /usr/share/openmpi/openmpi-valgrind.supp "$here/mpi.supp" "$here/../valgrind.supp"; do
        [ ! -e "$supp" ] || echo "--suppressions=$supp" >>options
    done
    for command in "fit tiny.npy -k 2 --method tl --starts 2 --hops 0 -J 4 --split frames --every 0" \
        "fit tiny.npy -k 2 --method tl --starts 3 --hops 0 -J 4 --every 0" \
        "fit tiny.npy -k 2 --method jd --solver paper -J 3 --split frames --certify" \
        "fit nothing.npy -k 2 --split frames" "jd tiny.npy --input data -J 4 --split frames"; do
        all=$((all + 1))
        rm -rf log.* out.h5*
        # shellcheck disable=SC2046,SC2086
        timeout 600 mpirun -n 2 valgrind -q --log-file=log.%p --leak-check=full \
            --show-leak-kinds=definite --errors-for-leak-kinds=definite $(cat options) \
            "$parallel" $command -o out.h5 -q >/dev/null 2>err
        if cat log.* 2>/dev/null | grep -q '^==.*at 0x'; then
            echo "$command: $(cat log.* | head -20)"
        elif ls log.* >/dev/null 2>&1; then
            good=$((good + 1))
        fi
    done
    report "commands under valgrind" $good $all
}

for word; do
    case $word in
    table) table ;;
    table=*) table "${word#*=}" ;;
    kills) kills ;;
    kills=*) kills "${word#*=}" ;;
    starts) starts ;;
    starts=*) starts "${word#*=}" ;;
    valgrind) memcheck ;;
    *) echo "torture.sh: unknown test $word" >&2; exit 2 ;;
    esac
done
exit $failed
