#!/bin/sh
# Builds tests/installed with an installed library and runs the tests.
# usage: run.sh PREFIX|BUILD       BUILD, a build folder, is first installed into a temporary folder
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -f "$prefix/CMakeCache.txt" ]; then
    cmake --install "$prefix" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
    prefix=$work/prefix
fi
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/build" -j "$(nproc)"
OMP_WAIT_POLICY=passive ctest --test-dir "$work/build" --output-on-failure -j "$(nproc)"
