#!/usr/bin/env bash
# The long tests: `make torture`, or some of them with counts: `make torture WORDS="kills=20 limits=200"`.
# Each line of the result is a row of docs/measurements/reliability.md.
#   tests/torture.sh BUILD [WORD[=COUNT]...]
#
#   kills=200        SIGKILL at one to three random moments of fit (several k, many starts, exchange, mixed
#                    precision, saved iterates), jd, separate (guided, blind), reproduce; with MPI also fit
#                    with distributed starts and frames; with a GPU also fit, jd and separate there
#   folders=100      SIGKILL of separate into a folder of old stems
#   states=40        states of each kind of fit to resume from
#   faults=1         every COUNT-th write, sync, reservation and rename fails, in all commands
#   disks=16         disks of COUNT kB, 2 COUNT kB .. 1 MB
#   allocations=1    every allocation of the library fails; every COUNT-th of the program; leaks are
#                    detected if BUILD has AddressSanitizer
#   mutants=10000    damaged HDF5 and .mat files through the reader; accepted files are compared with
#                    h5py and scipy
#   fuzz=200000      rounds per seed of our own parsers
#   limits=20        ulimit -v from 20 MB to 2 GB in steps of COUNT MB, five commands, 1 and 4 threads
#   extremes=10000   extreme problems
#   hosts=32         solves per thread on 32 threads, half of them cancelled, with forks in between
#   valgrind=7200    memcheck over the unit tests; no test starts after COUNT seconds
#   coverage         lines and branches of src, sound and io, in a separate build
#   reproducible     two builds in different folders, byte by byte; also of the Debian packages, where
#                    dpkg-buildpackage and debhelper are installed
#   dist             the source archive, unpacked, builds and passes its tests without git
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath -e -- "$1") || exit 2
shift
[ $# -gt 0 ] || set -- kills folders states faults disks allocations mutants fuzz limits extremes hosts valgrind coverage reproducible dist
program=$build/tlnmf
work=$(mktemp -d) || exit 2
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 2
failed=0
export OMP_WAIT_POLICY=passive

report() # NAME GOOD ALL
{
    echo "$1: $2 of $3"
    [ "$2" -eq "$3" ] || failed=1
}

# Runs a command whose exit code is the whole result.
passes() # NAME COUNT COMMAND...
{
    local name=$1 count=$2 good=0
    shift 2
    "$@" && good=$count
    report "$name" $good "$count"
}

# ---- nothing is lost ---------------------------------------------------------------------------

# Runs COMMAND and kills it after SECONDS. Of several processes, one or all are killed; mpirun ends the
# others with SIGTERM, which may leave a partial model.
strike() # SECONDS COMMAND...
{
    local after=$1 pid
    local -a victims
    shift
    "$@" >out 2>/dev/null &
    pid=$!
    victims=("$pid")
    sleep "$after"
    if [ "$1" = timeout ]; then
        mapfile -t victims < <(pgrep -P "$(pgrep -P $pid)")
        [ $((RANDOM % 2)) -eq 0 ] || victims=("${victims[@]:0:1}")
    fi
    [ ${#victims[@]} -eq 0 ] || kill -KILL "${victims[@]}" 2>/dev/null
    wait $pid 2>/dev/null
    rm -f r.partial* .r.partial*
}

# The run was killed after its end, or not at all: all outputs, the summary and no checkpoint.
ended()
{
    ! compgen -G '*checkpoint*' >/dev/null && { [ -e r/summary.json ] || { [ -e r.h5 ] && [ -s out ]; }; }
}

# What is promised of a resumed run: the same bytes; with distributed frames the same C; if a start has
# continued from its iterate, which the summary says, C is not above that of any iterate.
resumed_well() # COMMAND WHOLE
{
    if [ -d r ]; then
        diff -r r "$2" && return
    else
        cmp -s r.h5 "$2" && return
    fi
    case $1 in
    *--iterate-after*) continued=$((continued + 1)) && grep -q '"continued": [1-9]' out &&
        sed -n 's/^ *"C": \([^,]*\).*/\1/p' out | awk 'NR == 1 { C = $1 } C > $1 + 1e-12 * sqrt($1 * $1) { bad = 1 }
            END { exit bad || NR < 2 }' ;;
    *--split\ frames*) sed -n 's/^ *"C": \([^,]*\).*/\1/p' out "$2.out" |
        awk '{ C[NR] = $1 } END { exit NR != 2 || (C[1] - C[2]) ^ 2 > (1e-10 * C[2]) ^ 2 }' ;;
    *) false ;;
    esac
}

# Each run is killed one to three times and resumed to its end: resumed_well(), and no other files.
# Models contain no times.
kills()
{
    export SOURCE_DATE_EPOCH=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_odls_base_sigkill_timeout=0
    local i n count good=0 checkpoints=0 continued=0 struck=0 all=${1:-200} command run more whole from kind kinds
    local -a took commands=(
        "fit y.npy -k 1:3 --starts 4 --solver paper -J 400 --tol 0"
        "fit y.npy -k 3 --starts 40 -J 400"
        "fit y.npy -k 3 --starts 8 --exchange -J 200"
        "fit y.npy -k 3 --starts 40 -J 400 --precision mixed"
        "fit long.npy -k 5 --method tl --solver paper -J 400 --tol 0 --trace --json --iterate-after 0.1"
        "fit long.npy -k 5 --method tl --starts 6 --trace --json --iterate-after 0.1"
        "jd y.npy --input data --starts 60"
        "jd y.npy --input data --starts 60 --precision mixed"
        "separate s.wav --labels l.txt --frame 100"
        "separate s.wav -k 2 --frame 100"
        "separate n.wav -k 2 --method nmf --transform dct --per-source 1 --frame 200 --learn-frames 100 --no-report"
        "reproduce fig4 --data gcm --quick")
    "$program" simulate gcm --s 3 --m 16 --n 60 -o y.npy --force >/dev/null
    "$program" simulate gcm --s 3 --m 40 --n 300 -o long.npy --force >/dev/null
    "$program" simulate notes --signal s.wav --force >/dev/null
    printf '0\t1\tlow\n1\t2\thigh\n2\t3\tlow\n2\t3\thigh\n' >l.txt
    (CAPTURE=$work && . "$here/cli/lib.sh" && noise_wav 960000 n.wav)
    if [ -x "$program-mpi" ] && command -v mpirun >/dev/null; then
        commands+=("fit y.npy -k 3 --starts 40 -J 400 --threads 1 --split starts"
            "fit y.npy -k 3 --starts 8 -J 100 --threads 1 --json --split frames")
    fi
    if "$program" info --devices | grep -q '^gpu: .* free$'; then
        commands+=("fit y.npy -k 3 --starts 40 -J 400 --device gpu"
            "fit y.npy -k 3 --starts 40 -J 400 --device gpu --precision mixed"
            "fit long.npy -k 5 --method tl --starts 6 --trace --json --iterate-after 0.1 --device gpu"
            "jd y.npy --input data --starts 60 --device gpu"
            "separate s.wav --labels l.txt --frame 100 --device gpu")
    fi
    kinds=${#commands[@]}
    for ((i = 0; i < all; i++)); do
        kind=$((i % kinds)) whole=whole$((i % kinds)) command=${commands[i % kinds]}
        case $command in
        fit* | jd*) run="$program $command -q -o r.h5 --every 0.02" ;;
        separate*) run="$program $command -q -o r --every 0" ;;
        reproduce*) run="$program $command -q -o r" ;;
        esac
        [[ $command != *--split* ]] || run="timeout -k 5 60 mpirun -n 3 ${run/tlnmf fit/tlnmf-mpi fit}"
        if [ ! -e "$whole" ]; then
            from=$(date +%s%N)
            $run >"$whole.out"
            took[kind]=$((($(date +%s%N) - from) / 1000000))
            if [ -e r ]; then mv r "$whole"; else mv r.h5 "$whole"; fi
        fi
        more='' count=$((1 + RANDOM % 3))
        for ((n = 0; n < count; n++)); do
            strike "$(awk -v r=$RANDOM -v t="${took[kind]}" -v n=$count 'BEGIN { print r / 32768 * t / 1000 / n }')" $run $more
            struck=$((struck + 1))
            ! ended || break
            [[ $command = reproduce* ]] || more=--resume # the same command continues
            [ ! -e r.h5 ] && [ ! -e r/summary.json ] || more+=" --force" # killed after its last rename
        done
        ! compgen -G '*checkpoint*' >/dev/null || checkpoints=$((checkpoints + 1))
        if { ended || $run $more >out 2>err; } && resumed_well "$command" "$whole" &&
            [ "$(ls -A . r 2>/dev/null | grep -v '^cells.checkpoint$' | grep -c 'checkpoint\|^\..*[a-z]')" -eq 0 ]; then
            good=$((good + 1))
        else
            echo "kills: $command: killed $n of $count times"
            cat err
            ls -A
        fi
        rm -rf r r.h5 .r* r*.checkpoint*
        [ $(((i + 1) % 20)) -ne 0 ] || echo "kills: $good of $((i + 1)) so far"
    done
    echo "kills: $struck kills of $all runs; at last $checkpoints resumed from a checkpoint, $continued continued from an iterate"
    report "kills" $good "$all"
}

# A folder with a summary is complete, old or new, and the next run is not blocked.
folders()
{
    local i good=0 all=${1:-100} pid
    "$program" simulate notes --signal s.wav --force >/dev/null
    local separate="$program separate s.wav -k 2 --method nmf --transform dct --per-source 1 --frame 100 -o st --force -q"
    $separate >/dev/null
    for ((i = 0; i < all; i++)); do
        $separate >/dev/null 2>&1 &
        pid=$!
        sleep "0.$(printf '%03d' $((RANDOM % 150)))"
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        if { [ ! -e st/summary.json ] || { [ "$(stat -c %s st/source_1.wav)" = "$(stat -c %s s.wav)" ] && "$program" info st/model.h5 >/dev/null; }; } &&
            $separate >/dev/null && [ "$(ls -A st | tr '\n' ' ')" = "model.h5 report.html source_1.wav source_2.wav summary.json " ]; then
            good=$((good + 1))
        fi
    done
    report "folders" $good $all
}

states()
{
    passes states 1 "$build/tests/unit_search_checkpoint" "${1:-40}"
}

faults()
{
    local line
    line=$("$here/fault/disk.sh" "$build/tests/libfault_shim.so" "$program" "${1:-1}" | tee /dev/stderr | tail -n 1)
    # "faulty disk: GOOD of ALL"
    set -- $line
    report "faults" "${3:-0}" "${5:-1}"
}

# Exit code 0, or 5 with unchanged old files.
disks()
{
    local kilobytes code good=0 all=0 step=${1:-16}
    "$program" simulate notes --signal s.wav --force >/dev/null
    mkdir -p disk
    for ((kilobytes = step; kilobytes <= 1024; kilobytes += step)); do
        mount -t tmpfs -o size=${kilobytes}k none disk 2>/dev/null || { echo "disks: skipped, cannot mount a file system here"; return; }
        mkdir disk/st
        echo old >disk/st/source_1.wav
        code=0
        "$program" separate s.wav -k 2 --method nmf --transform dct --frame 100 -o disk/st --force >out 2>err || code=$?
        all=$((all + 1))
        case $code in
        0) [ -s disk/st/summary.json ] && good=$((good + 1)) ;;
        5) [ "$(<disk/st/source_1.wav)" = old ] && grep -q disk/st err && [ "$(ls -A disk/st)" = source_1.wav ] && good=$((good + 1)) ;;
        esac
        umount disk
    done
    report "disks" $good $all
}

allocations()
{
    local test
    for test in fault_memory io_alloc; do
        passes "allocations: $test" 1 "$build/tests/$test"
    done
    passes "allocations: commands" 1 "$here/fault/allocations.sh" "$build/tests/liballoc_shim.so" "$build" "${1:-1}"
}

# ---- damaged files are refused -----------------------------------------------------------------

# Four seeds.
mutants()
{
    local all=${1:-10000}
    mkdir -p "$work/accepted"
    FUZZ_KEEP=$work/accepted passes mutants "$all" "$build/tests/fuzz_container" $((all / 4))
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c "import h5py, scipy" 2>/dev/null || continue
        passes "accepted mutants compared with h5py and scipy" 1 "$python" "$here/fuzz/accepted.py" "$work/accepted"
        return
    done
    echo "accepted mutants: not compared, h5py or scipy is not installed"
}

fuzz()
{
    local target rounds=${1:-200000} good=0
    for target in labels array table npz record protocol options summary sound framing checkpoint; do
        case $target in labels | array | table | record | protocol) "$build/tests/fuzz_$target" "$rounds" ;;
        *) "$build/tests/fuzz_$target" $((rounds / 20)) ;;
        esac && good=$((good + 1))
    done
    report "fuzz targets" $good 11
}

# ---- nothing hangs -----------------------------------------------------------------------------

# The program ends within 10 s, with a result or a message.
limits()
{
    local megabytes threads command code good=0 all=0
    "$program" simulate notes -o y.npy --signal s.wav --force >/dev/null
    "$program" fit y.npy -k 2 -J 2 -o m.h5 -q --force >/dev/null
    for ((megabytes = 20; megabytes <= 2000; megabytes += ${1:-20})); do
        for threads in 1 4; do
            for command in "fit y.npy -k 2 -J 2 --no-model --threads $threads" "jd y.npy -J 2 -o p.h5 --force" \
                "info m.h5" "eval --ref s.wav --est s.wav --filter 4" "simulate gcm -o g.npy --force"; do
                code=0
                (ulimit -v $((megabytes * 1024)) && OMP_NUM_THREADS=$threads exec timeout -k 1 10 "$program" $command) \
                    >out 2>err || code=$?
                all=$((all + 1))
                # 127: the dynamic linker reports that it has no memory
                case $code in
                0) good=$((good + 1)) ;;
                1 | 3 | 127) if [ -s err ]; then good=$((good + 1)); else echo "silent: $megabytes $command"; fi ;;
                *) echo "$megabytes MB, $threads threads: $code: $command" ;;
                esac
            done
        done
    done
    report "limits" $good $all
}

hosts()
{
    passes hosts 1 "$build/tests/unit_api_host" "${1:-32}"
    passes "unusual hosts and tests of the tests" 1 ctest --test-dir "$build" -C torture -R "unit_api_(fork|modes|stacks)|emulated-gpu-large|bench-quick|rules-(width|.*-self)"
}

# ---- no silent errors --------------------------------------------------------------------------

extremes()
{
    passes extremes "${1:-10000}" "$build/tests/extremes" "${1:-10000}"
}

# Under valgrind, the library uses no vector instructions that valgrind does not support.
valgrind()
{
    local test good=0 all=0 began=$SECONDS
    command -v valgrind >/dev/null || { echo "valgrind is not installed"; return; }
    for test in "$build"/tests/unit_*; do
        # The first four limit their own resources; valgrind supports no traps, flushing of denormals or long double.
        case $test in */unit_api_host | */unit_api_fork | */unit_io_apart | */unit_api_stacks) continue ;;
        */unit_api_modes | */unit_linalg_linalg) continue ;;
        esac
        [ -x "$test" ] && [ -f "$test" ] || continue
        [ $((SECONDS - began)) -lt "${1:-7200}" ] || { echo "valgrind: skipped for lack of time: $(basename "$test")"; continue; }
        all=$((all + 1))
        if command valgrind -q --error-exitcode=99 --suppressions="$here/valgrind.supp" --leak-check=full \
            --errors-for-leak-kinds=definite "$test" >out 2>err; then
            good=$((good + 1))
        else
            echo "valgrind: $(basename "$test")"
            grep -m 12 '==' err
        fi
    done
    report "valgrind" $good $all
}

coverage()
{
    "$here/torture/coverage.sh" "$work/coverage" || failed=1
}

reproducible()
{
    "$here/torture/reproducible.sh" || failed=1
    if command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null; then
        "$here/packages/reproducible.sh" || failed=1
    else
        echo "reproducible: the Debian packages are not built, debhelper is not installed"
    fi
}

dist()
{
    "$here/torture/dist.sh" || failed=1
}

for part; do
    word=${part%%=*} count=
    [ "$word" = "$part" ] || count=${part#*=}
    "$word" $count
done
exit $failed
