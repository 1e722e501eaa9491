#!/bin/sh
# Each public header compiles alone, twice, as strict C99, as C++11 and C++17, and after
# <complex.h> (which defines I) or <complex>. Exit code 77: no C++ compiler.
# usage: header.sh [ROOT]
set -eu
root=${1:-$(dirname "$0")/../..}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-pedantic -Wall -Wextra -Werror -I$root/include -fsyntax-only"
headers=$(cd "$root/include" && echo tlnmf/*.h)

# A source file: a first line, the header twice (for its guard), and one of its names, so that the file
# is not empty.
unit() { # first line, header, file
    printf '%s\n#include "%s"\n#include "%s"\nconst char *(*v)(void) = tlnmf_version;\n' \
        "$1" "$2" "$2" >"$3"
}

[ "$(echo "$headers" | wc -w)" = 4 ] || { echo "four headers, not: $headers" >&2; exit 1; }
if grep -nE '^ *# *include' "$root"/include/tlnmf/*.h |
    grep -vE '<std(def|int)\.h>|"tlnmf/(tlnmf|sound)\.h"'; then
    echo "public headers may include only standard headers such as stddef.h and stdint.h" >&2
    exit 1
fi
for header in $headers; do
    for first in '' '#include <complex.h>'; do
        unit "$first" "$header" "$work/header.c"
        # shellcheck disable=SC2086
        ${CC:-cc} -std=c99 $flags "$work/header.c"
    done
done
echo "C99: $headers"

cxx=${CXX:-g++}
if ! command -v "$cxx" >/dev/null 2>&1; then
    echo "C++: skipped, $cxx not found"
    exit 77
fi
for header in $headers; do
    for first in '' '#include <complex>'; do
        unit "$first" "$header" "$work/header.cc"
        for standard in c++11 c++17; do
            # shellcheck disable=SC2086
            "$cxx" -std=$standard $flags "$work/header.cc"
        done
    done
done
echo "C++11, C++17: $headers"

# All headers in one program, in both orders.
# shellcheck disable=SC2086
for order in "$headers" "$(printf '%s\n' $headers | sort -r | tr '\n' ' ')"; do
    printf '#include "%s"\n' $order >"$work/header.c"
    ${CC:-cc} -std=c99 $flags "$work/header.c"
done
