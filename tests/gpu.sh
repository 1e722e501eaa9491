#!/bin/sh
# Everything that needs a GPU, and one table of what passed, or the figures of docs/benchmarks.md.
# FOLDER is a build, or what `carry` made of one: it runs where there is a driver, cuBLAS and nothing
# else of CUDA. With compute-sanitizer in the PATH or in CUDA's folder tests also run under its tools.
# usage: gpu.sh test FOLDER | bench FOLDER [PART..] | carry BUILD FOLDER
set -u
PATH=$PATH:/usr/local/cuda/bin

# A program of the build, wherever the folder has it.
program() {
    for place in "$folder" "$folder/tests" "$folder/bench"; do
        if [ -f "$place/$1" ]; then
            echo "$place/$1"
            return
        fi
    done
}

row() { # what, exit code
    if [ "$2" = 0 ]; then result=passed; else result=FAILED status=1; fi
    table="$table$(printf '%-60s %s' "$1" "$result")
"
    [ "$2" = 0 ] || cat "$log"
}

run_tests() {
    status=0
    table=
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    for test in operations device; do
        "$(program unit_engine_$test)" >"$log" 2>&1
        row "unit_engine_$test" $?
        grep '^gpu' "$log"
        if grep -q '^gpu: SKIPPED' "$log"; then
            echo "gpu-test: no GPU, nothing was tested" >&2
            exit 1
        fi
    done
    if command -v compute-sanitizer >/dev/null 2>&1; then
        for tool in memcheck initcheck synccheck; do
            compute-sanitizer --tool $tool --error-exitcode 9 \
                "$(program unit_engine_operations)" >"$log" 2>&1
            row "compute-sanitizer $tool, all operations" $?
        done
        # racecheck is slow: the kernels that share memory between threads
        for only in 'sweeps_*' 'operations_on_L*'; do
            compute-sanitizer --tool racecheck --error-exitcode 9 \
                "$(program unit_engine_operations)" "$only" >"$log" 2>&1
            row "compute-sanitizer racecheck, $only" $?
        done
    fi
    printf '%s' "$table"
    exit $status
}

# What a machine without compilers needs: programs, libraries but for those of the system and CUDA.
carry() {
    set -e
    mkdir -p "$2"
    cp -L "$1/libtlnmf_cuda.so" "$1/tests/unit_engine_operations" "$1/tests/unit_engine_device" \
        "$1/bench/gpu" "$0" "$2"
    ldd "$2/unit_engine_device" "$2/gpu" | awk '$2 == "=>" { print $3 }' | sort -u |
        grep -Ev '/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' |
        while read -r library; do cp -L "$library" "$2"; done
    strip --strip-unneeded "$2"/unit_engine_* "$2/gpu" "$2/libtlnmf_cuda.so"
    echo "$2: copy it; there, in it: ./gpu.sh test . and ./gpu.sh bench ."
}

if [ $# -lt 2 ]; then
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
fi
what=$1
shift
folder=$1
LD_LIBRARY_PATH=$(cd "$folder" && pwd):/usr/local/cuda/lib64:${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH
case $what in
test) run_tests ;;
bench)
    shift
    [ $# -gt 0 ] || set -- iterations rough cpu starts cpu-starts large large-mixed jd huge
    date -u +%Y-%m-%d
    "$(program gpu)" "$@"
    ;;
carry) carry "$@" ;;
esac
