#!/usr/bin/env bash
# Packs the fuzz targets and the long tests with all libraries they need, for a computer with more cores
# on which nothing can be installed.     usage: pack.sh BUILD FUZZ_BUILD ARCHIVE
# Both builds are linked with $(tests/torture/pack.sh flags) as CMAKE_EXE_LINKER_FLAGS; FUZZ_BUILD is one
# for libFuzzer (CONTRIBUTING.md). away.sh unpacks and runs the archive.
set -eu
home=/tmp/tlnmf-away # where away.sh unpacks it: loader and libraries are looked for there
if [ "$1" = flags ]; then
    echo "-Wl,--dynamic-linker=$home/lib/ld-linux-x86-64.so.2 -Wl,--disable-new-dtags -Wl,-rpath,$home/lib"
    exit
fi
here=$(cd "$(dirname "$0")/.." && pwd)
build=$1 fuzz_build=$2 archive=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/lib "$work"/fuzz "$work"/tests "$work"/corpus "$work"/cli
cp "$build/tlnmf" "$work/"
for name in extremes unit_search_checkpoint unit_api_host unit_sound_keep fuzz_container; do
    cp "$build/tests/$name" "$work/tests/"
done
for target in "$fuzz_build"/tests/fuzz_*; do
    name=$(basename "$target")
    [ -x "$target" ] && [ -x "$build/tests/$name" ] && [ "$name" != fuzz_container ] || continue
    cp "$target" "$work/fuzz/"
    mkdir "$work/corpus/${name#fuzz_}"
    "$build/tests/$name" seeds "$work/corpus/${name#fuzz_}"
    ! [ -d "$here/fuzz/corpus/${name#fuzz_}" ] || cp "$here/fuzz/corpus/${name#fuzz_}"/* "$work/corpus/${name#fuzz_}/"
done
cp -L /lib64/ld-linux-x86-64.so.2 "$work/lib/"
for program in "$work/tlnmf" "$work"/tests/* "$work"/fuzz/*; do
    LD_LIBRARY_PATH= ldd "$program" 2>/dev/null || /lib64/ld-linux-x86-64.so.2 --list "$program"
done | awk '$3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
    [ -e "$work/lib/$(basename "$library")" ] || cp -L "$library" "$work/lib/"
done
cp "$here/torture.sh" "$work/"
cp "$here/cli/lib.sh" "$work/cli/"
strip "$work/tlnmf" "$work"/tests/* "$work"/fuzz/*
tar -cJf "$archive" -C "$work" .
du -h "$archive"
