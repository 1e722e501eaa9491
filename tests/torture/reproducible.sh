#!/usr/bin/env bash
# Two builds of the same sources in different folders give the same bytes of the libraries and the program.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
for folder in first "a/much longer name"; do
    mkdir -p "$work/$folder"
    (cd "$top" && packaging/files.sh | tar -cf - -T -) | tar -xf - -C "$work/$folder" || exit 2
    cmake -S "$work/$folder" -B "$work/$folder/build" -DTLNMF_BUILD_TESTS=OFF -DTLNMF_MPI=OFF >/dev/null &&
        cmake --build "$work/$folder/build" -j "$(nproc)" >/dev/null || exit 1
done
bad=0
for file in libtlnmf.so libtlnmf.a libtlnmf_io.so libtlnmf_io.a tlnmf; do
    cmp "$work/first/build/$file" "$work/a/much longer name/build/$file" || bad=$((bad + 1))
done
echo "reproducible: $((5 - bad)) of 5 files"
[ $bad -eq 0 ]
