#!/usr/bin/env bash
# The source archive, unpacked in another folder, builds and passes its tests without git, and then gives the
# same archive again.
# usage: dist.sh [CTEST_ARGUMENT...]
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$("$top/packaging/dist.sh" "$work/first")
tar -xzf "$archive" -C "$work"
cd "$work/$(basename "$archive" .tar.gz)"
mkdir "$work/tools"
printf '#!/bin/sh\necho "dist.sh: git is called" >&2\nexit 127\n' >"$work/tools/git"
chmod +x "$work/tools/git"
export PATH=$work/tools:$PATH
make all CMAKE_FLAGS="-DTLNMF_CUDA=AUTO -DTLNMF_MPI=AUTO" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
OMP_WAIT_POLICY=passive ctest --test-dir build --output-on-failure -j "$(nproc)" "$@" >"$work/log" 2>&1 ||
    { tail -n 200 "$work/log"; exit 1; }
grep 'tests passed' "$work/log"
packaging/dist.sh "$work/second" >/dev/null
cmp "$archive" "$work/second/$(basename "$archive")"
echo "dist: the archive builds, passes its tests, and is the same afterwards"
