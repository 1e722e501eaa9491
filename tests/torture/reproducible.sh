#!/usr/bin/env bash
# Two builds of the same sources in different folders give the same bytes of the libraries, the program,
# the wheel and the source archive. tests/packages/reproducible.sh compares the Debian packages.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
for folder in first "a/much longer name"; do
    mkdir -p "$work/$folder"
    (cd "$top" && packaging/files.sh | tar -cf - -T -) | tar -xf - -C "$work/$folder" || exit 2
    cmake -S "$work/$folder" -B "$work/$folder/build" -DTLNMF_BUILD_TESTS=OFF -DTLNMF_MPI=OFF >/dev/null &&
        cmake --build "$work/$folder/build" -j "$(nproc)" >/dev/null &&
        python3 "$work/$folder/python/backend.py" wheel "$work/$folder/build" >/dev/null &&
        "$work/$folder/packaging/dist.sh" "$work/$folder/build" >/dev/null || exit 1
done
bad=0 all=0
cd "$work/first/build" || exit 2
for file in libtlnmf.so libtlnmf.a libtlnmf_io.so libtlnmf_io.a tlnmf *.whl *.tar.gz; do
    all=$((all + 1))
    cmp "$file" "$work/a/much longer name/build/$file" || bad=$((bad + 1))
done
echo "reproducible: $((all - bad)) of $all files"
[ $bad -eq 0 ]
