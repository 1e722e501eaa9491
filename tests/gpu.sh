#!/bin/sh
# All tests and measurements that need a GPU: unit tests, compute-sanitizer, the figures of
# docs/measurements/gpu.md. Each row has a time limit, and so have all rows together; a table at the end
# shows which passed. FOLDER is a build, or the output of `carry`, which needs only a driver and cuBLAS.
# compute-sanitizer runs if it is in the PATH or in CUDA's folder.
# usage: gpu.sh test FOLDER | bench FOLDER [PART..] | all FOLDER [SECONDS] | carry BUILD FOLDER
set -u
PATH=$PATH:/usr/local/cuda/bin

# Finds a program in the folder.
program() {
    for place in "$folder" "$folder/tests" "$folder/bench"; do
        if [ -f "$place/$1" ]; then
            echo "$place/$1"
            return
        fi
    done
}

now() { date +%s; }

# Runs a command for at most LIMIT seconds, and not beyond the total time limit.
row() { # LIMIT WHAT COMMAND..
    limit=$1 what=$2
    shift 2
    left=$((deadline - $(now)))
    if [ "$left" -lt 5 ]; then
        result="not run: no time left"
        : >"$log"
        add "$what" "$result" 0
        return
    fi
    [ "$limit" -lt "$left" ] || limit=$left
    began=$(now)
    timeout -k 5 "$limit" "$@" >"$log" 2>&1
    code=$?
    case $code in
    0) result=passed ;;
    124 | 137) result="TIMEOUT after $limit s" ;;
    *) result="FAILED ($code)" ;;
    esac
    add "$what" "$result" $(($(now) - began))
    if [ $code -ne 0 ]; then
        status=1
        echo "---- $what: $result"
        tail -n 60 "$log"
    fi
}

add() { # WHAT RESULT SECONDS
    table="$table$(printf '%-58s %-22s %4d s' "$1" "$2" "$3")
"
}

# Runs a benchmark and prints its rows.
figures() { # LIMIT PART
    row "$1" "bench $2" "$(program gpu)" "$2"
    [ "$result" = passed ] && cat "$log"
}

unit_tests() {
    for test in engine_operations engine_device engine_sums sound_updates; do
        row 90 "unit_$test" "$(program unit_$test)"
        grep '^gpu' "$log"
        if grep -q '^gpu: SKIPPED' "$log"; then
            echo "gpu.sh: no GPU found, nothing was tested" >&2
            exit 1
        fi
    done
}

# The kernels of a few iterations, by Nsight Compute: total time, launches, mean time, grid (which
# reveals the shapes of products) and name, sorted by total time.
profile() { # LIMIT PART
    if ! command -v ncu >/dev/null 2>&1; then
        add "profile $2" "not run: ncu not found" 0
        return
    fi
    row "$1" "profile $2" ncu --clock-control none --metrics gpu__time_duration.sum \
        --print-units base --csv --page raw "$(program gpu)" "$2"
    [ "$result" = passed ] || return
    kernels <"$log"
}

# Adds up the times of launches in the raw page of ncu, in ns.
kernels() {
    echo "kernels:  total ms   launches    mean us   grid, name"
    awk '/^"ID",/ {
            count = split($0, head, /","/)
            for (i = 1; i <= count; i++) {
                gsub(/"/, "", head[i])
                if (head[i] == "Kernel Name") name = i
                if (head[i] == "Grid Size") grid = i
                if (head[i] == "gpu__time_duration.sum") time = i
            }
            next
        }
        name && /^"[0-9]+",/ {
            split($0, x, /","/)
            gsub(/[",]/, "", x[time])
            sub(/^void /, "", x[name]); gsub(/\((bool|int)\)/, "", x[name]); sub(/\(.*/, "", x[name])
            if (x[name] !~ /gemm|xmma|cutlass/) x[grid] = ""
            what = x[grid] " " substr(x[name], 1, 90)
            sum[what] += x[time]; calls[what]++; all += x[time]
        }
        END {
            for (what in sum)
                printf "%17.3f %10d %10.1f   %s\n", 1e-6 * sum[what], calls[what], 1e-3 * sum[what] / calls[what], what
            printf "%17.3f %10s %10s   all\n", 1e-6 * all, "", ""
        }' | sort -rn | head -n 25
}

# Tests that end within a minute under each tool, and the number of shapes to test.
sanitizers() {
    if ! command -v compute-sanitizer >/dev/null 2>&1; then
        add "compute-sanitizer" "not run: not found" 0
        return
    fi
    operations=$(program unit_engine_operations) updates=$(program unit_sound_updates)
    while read -r tool limit test shapes; do
        row "$limit" "$tool, $test, $shapes shapes" \
            compute-sanitizer --tool "$tool" --error-exitcode 9 "$operations" "$test" "$shapes"
    done <<END
memcheck 60 every_operation_matches* 7
memcheck 60 every_operation_with* 3
initcheck 60 every_operation_matches* 3
initcheck 60 sweeps* 1
racecheck 60 sweeps* 1
synccheck 60 sweeps* 3
racecheck 60 operations_on_L* 1
racecheck 120 every_operation_matches* 1
END
    for tool in memcheck initcheck racecheck; do
        row 60 "$tool, separations" compute-sanitizer --tool "$tool" --error-exitcode 9 "$updates" \
            'the_gpu*'
    done
}

# For a computer without compilers: copies the programs, and all libraries except those of the system and CUDA.
carry() {
    set -e
    mkdir -p "$2"
    cp -L "$1/libtlnmf_cuda.so" "$1/tests/unit_engine_operations" "$1/tests/unit_engine_device" \
        "$1/tests/unit_engine_sums" "$1/tests/unit_sound_updates" "$1/bench/gpu" "$0" "$2"
    ldd "$2/unit_engine_device" "$2/gpu" | awk '$2 == "=>" { print $3 }' | sort -u |
        grep -Ev '/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' |
        while read -r library; do cp -L "$library" "$2"; done
    strip --strip-unneeded "$2"/unit_* "$2/gpu" "$2/libtlnmf_cuda.so"
    echo "$2: $(du -sm "$2" | cut -f1) MB; copy it to the computer with the GPU and run there: ./gpu.sh all ."
}

if [ $# -lt 2 ]; then
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
fi
what=$1
shift
folder=$1
shift
if [ "$what" = carry ]; then
    carry "$folder" "$@"
    exit
fi
LD_LIBRARY_PATH=$(cd "$folder" && pwd):/usr/local/cuda/lib64:${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH
status=0
table=
log=$(mktemp)
trap 'rm -f "$log"' EXIT
deadline=$(($(now) + 3600))
date -u +%Y-%m-%d
case $what in
test)
    unit_tests
    sanitizers
    ;;
bench)
    if [ $# -gt 0 ]; then
        for part; do figures 300 "$part"; done
    else
        for part in iterations rough cpu starts cpu-starts large large-mixed jd separate \
            cpu-separate huge huge-fit; do
            figures 300 "$part"
        done
        profile 100 profile
        profile 100 profile-rough
    fi
    ;;
all) # the most important rows first
    deadline=$(($(now) + ${1:-470}))
    unit_tests
    figures 60 iterations
    figures 60 large
    figures 40 large-mixed
    figures 20 starts
    figures 20 jd
    profile 60 profile
    figures 60 separate
    figures 100 cpu-separate
    figures 60 huge-fit
    figures 40 rough
    profile 40 profile-rough
    sanitizers
    figures 30 cpu
    figures 60 cpu-starts
    ;;
*)
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
    ;;
esac
echo
printf '%s' "$table"
exit $status
