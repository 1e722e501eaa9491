#!/usr/bin/env bash
# The long tests: `make torture`. Each line of the result is one of docs/reliability.md.
#   tests/torture.sh BUILD [PART...]      parts: resume states hosts extremes faults mutants fuzz limits kills disks
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath -e -- "$1") || exit 2
shift
[ $# -gt 0 ] || set -- resume states hosts extremes faults mutants fuzz limits kills disks
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

# SIGKILL at random moments of fits (one start, many starts, both methods, a diagonalisation); each goes
# on to its end: the same bytes as without, and nothing else left. Models carry no clocks.
resume()
{
    export SOURCE_DATE_EPOCH=1
    local i good=0 checkpoints=0 all=${KILLS:-200} pid command whole from
    local -a commands=(
        "fit y.npy -k 3 --method tl --solver paper -J 4000 --tol 0"
        "fit y.npy -k 3 --starts 40 -J 400"
        "fit y.npy -k 3 --starts 8 --exchange -J 200"
        "jd y.npy --input data --starts 60")
    "$program" simulate gcm --s 3 --m 16 --n 60 -o y.npy --force >/dev/null
    for ((i = 0; i < all; i++)); do
        command=${commands[i % 4]} whole=whole$((i % 4)).h5
        if [ ! -e "$whole" ]; then
            from=$(date +%s%N)
            "$program" $command -o r.h5 -q >/dev/null && mv r.h5 "$whole"
            took[i % 4]=$((($(date +%s%N) - from) / 1000000))
        fi
        "$program" $command -o r.h5 -q --every 0.02 >/dev/null 2>&1 &
        pid=$!
        sleep "$(awk -v r=$RANDOM -v t="${took[i % 4]}" 'BEGIN { print r / 32768 * t / 1000 }')"
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        [ ! -e r.h5.checkpoint ] || checkpoints=$((checkpoints + 1))
        if { [ -e r.h5 ] || "$program" $command -o r.h5 -q --resume >/dev/null 2>err; } && cmp -s r.h5 "$whole" &&
            [ "$(ls -A | grep -c 'checkpoint\|^\.')" -eq 0 ]; then
            good=$((good + 1))
        else
            echo "resume: $command"
            cat err
        fi
        rm -f r.h5 .r.h5*
    done
    echo "resume: $checkpoints of $all went on from a checkpoint"
    report "resume" $good "$all"
}

# More states of each kind of fit; 1000 solves on 32 threads; 10,000 extreme problems.
states()
{
    if "$build/tests/unit_search_checkpoint" 40; then report "states" 1 1; else report "states" 0 1; fi
}

hosts()
{
    if "$build/tests/unit_api_host" 32; then report "hosts" 1 1; else report "hosts" 0 1; fi
}

extremes()
{
    if "$build/tests/extremes" 10000; then report "extremes" 10000 10000; else report "extremes" 0 10000; fi
}

# Every write, sync, reservation and rename of every command fails in turn.
faults()
{
    local line
    line=$("$here/fault/disk.sh" "$build/tests/libfault_shim.so" "$program" | tee /dev/stderr | tail -n 1)
    # "faulty disk: GOOD of ALL"
    set -- $line
    report "faulty disk" "${3:-0}" "${5:-1}"
}

# 10,000 mutants of HDF5 and .mat files, four seeds, through the program's reader.
mutants()
{
    if "$build/tests/fuzz_container" 2500; then report "mutants" 10000 10000; else report "mutants" 0 10000; fi
}

# Our own parsers: rounds for each seed.
fuzz()
{
    local target rounds=${ROUNDS:-200000} good=0
    for target in labels array record summary sound; do
        case $target in summary | sound) rounds=$((${ROUNDS:-200000} / 20)) ;; esac
        "$build/tests/fuzz_$target" "$rounds" && good=$((good + 1))
    done
    report "fuzz targets" $good 5
}

# ulimit -v from 20 MB to 2 GB: the program ends within 10 s, done or with a message.
limits()
{
    local megabytes threads command code good=0 all=0
    "$program" simulate notes -o y.npy --signal s.wav --force >/dev/null
    "$program" fit y.npy -k 2 -J 2 -o m.h5 -q >/dev/null
    for ((megabytes = 20; megabytes <= 2000; megabytes += 20)); do
        for threads in 1 4; do
            for command in "fit y.npy -k 2 -J 2 --no-model --threads $threads" "jd y.npy -J 2 -o p.h5 --force" \
                "info m.h5" "eval --ref s.wav --est s.wav --filter 4" "simulate gcm -o g.npy --force"; do
                code=0
                (ulimit -v $((megabytes * 1024)) && OMP_NUM_THREADS=$threads exec timeout -k 1 10 "$program" $command) \
                    >out 2>err || code=$?
                all=$((all + 1))
                # 127: the dynamic linker itself has no memory, and says so
                case $code in
                0) good=$((good + 1)) ;;
                1 | 3 | 127) if [ -s err ]; then good=$((good + 1)); else echo "silent: $megabytes $command"; fi ;;
                *) echo "$megabytes MB, $threads threads: $code: $command" ;;
                esac
            done
        done
    done
    report "ulimit -v" $good $all
}

# SIGKILL at random moments of a separation into a folder of old stems: each stem is whole, old or new,
# and the next run is not hindered.
kills()
{
    local i good=0 all=${KILLS:-100} pid
    "$program" simulate notes --signal s.wav --force >/dev/null
    local separate="$program separate s.wav -k 2 --method nmf --transform dct --per-source 1 --frame 100 -o st --force -q"
    $separate >/dev/null
    for ((i = 0; i < all; i++)); do
        $separate >/dev/null 2>&1 &
        pid=$!
        sleep "0.$(printf '%03d' $((RANDOM % 150)))"
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        if [ "$(stat -c %s st/source_1.wav)" = "$(stat -c %s s.wav)" ] && "$program" info st/model.h5 >/dev/null &&
            $separate >/dev/null && [ "$(ls -A st | tr '\n' ' ')" = "model.h5 source_1.wav source_2.wav summary.json " ]; then
            good=$((good + 1))
        fi
    done
    report "kills of separate" $good $all
}

# Disks of 16 kB to 1 MB: exit 0 or 5, and old files intact with 5.
disks()
{
    local kilobytes code good=0 all=0
    "$program" simulate notes --signal s.wav --force >/dev/null
    mkdir -p disk
    for ((kilobytes = 16; kilobytes <= 1024; kilobytes += 16)); do
        mount -t tmpfs -o size=${kilobytes}k none disk 2>/dev/null || { echo "disks: nothing can be mounted here"; return; }
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

for part; do
    "$part"
done
exit $failed
