#!/bin/sh
# The public header compiles alone, as strict C99 and as C++; 77: no C++ compiler to try the latter.
# usage: header.sh [ROOT]
set -eu
root=${1:-$(dirname "$0")/../..}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-pedantic -Wall -Wextra -Werror -I$root/include -c -o $work/header.o"
# Twice, for the include guard; a name of it, so that the file is no empty unit.
printf '#include "tlnmf/tlnmf.h"\n#include "tlnmf/tlnmf.h"\nconst char *(*v)(void) = tlnmf_version;\n' \
    >"$work/header.c"
cp "$work/header.c" "$work/header.cc"

# shellcheck disable=SC2086
${CC:-cc} -std=c99 $flags "$work/header.c"
echo "C99: ok"
cxx=${CXX:-g++}
if ! command -v "$cxx" >/dev/null 2>&1; then
    echo "C++: no $cxx here, skipped"
    exit 77
fi
for standard in c++11 c++17; do
    # shellcheck disable=SC2086
    "$cxx" -std=$standard $flags "$work/header.cc"
done
echo "C++: ok"
