#!/bin/sh
# Compiles use.cc against the public headers and runs it with the shared library. Exit code 77: no C++ compiler.
# usage: cxx.sh LIBTLNMF
set -eu
here=$(cd "$(dirname "$0")" && pwd)
library=$(realpath "$1")
cxx=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v "$cxx" >/dev/null 2>&1; then
    echo "skipped: $cxx not found"
    exit 77
fi
"$cxx" -std=c++17 -pedantic -Wall -Wextra -Werror -I"$here/../../include" "$here/use.cc" "$library" \
    -o "$work/use"
LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$work/use"
