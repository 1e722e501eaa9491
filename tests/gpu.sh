#!/bin/sh
# make gpu-test: everything that needs a GPU, and one table of what passed. With compute-sanitizer in
# the PATH or in CUDA's folder the operations also run under its tools.
# usage: gpu.sh BUILD
set -u
build=$1
status=0
PATH=$PATH:/usr/local/cuda/bin

row() { # what, log, exit code
    if [ "$3" = 0 ]; then result=passed; else result=FAILED status=1; fi
    table="$table$(printf '%-45s %s' "$1" "$result")
"
    [ "$3" = 0 ] || cat "$2"
}

table=
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for test in operations device; do
    "$build/tests/unit_engine_$test" >"$log" 2>&1
    row "unit_engine_$test" "$log" $?
    grep '^gpu: ' "$log"
    if grep -q '^gpu: SKIPPED' "$log"; then
        echo "gpu-test: no GPU, nothing was tested" >&2
        exit 1
    fi
done
if command -v compute-sanitizer >/dev/null 2>&1; then
    for tool in memcheck racecheck initcheck synccheck; do
        compute-sanitizer --tool $tool --error-exitcode 9 "$build/tests/unit_engine_operations" >"$log" 2>&1
        row "compute-sanitizer $tool" "$log" $?
    done
fi
printf '%s' "$table"
exit $status
