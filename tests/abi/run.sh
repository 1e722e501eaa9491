#!/bin/sh
# For each set of public headers that was released (the folders beside this script): its
# declarations agree with the headers of today, its numbers are pinned, and a program compiled
# against it runs with the library of today.
# usage: run.sh LIBTLNMF [LIBTLNMF_IO]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
library=$(realpath "$1")
io=${2:+$(realpath "$2")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$(dirname "$library")${io:+:$(dirname "$io")}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

code() { # headers: neither comments nor lines of the preprocessor, all on one line
    cat "$@" | sed -e '/^ *#/d; s|/\*|\n&|g; s|\*/|&\n|g' |
        awk '/^\/\*/ {inside = 1} !inside; /\*\/$/ {inside = 0}' | tr '\n' ' '
}

functions() { # headers: each on a line
    code "$@" | grep -oE 'TLNMF_API [^;]*;' | sed 's/^TLNMF_API //'
}

callbacks() { # headers: types of functions
    code "$@" | grep -oE 'typedef [^;{]*\(\*[^;]*;'
}

constants() { # headers: NAME = NUMBER of enumerations
    code "$@" | grep -oE 'TLNMF_[A-Z_]+ = [0-9]+'
}

for release in "$here"/[0-9]*; do
    version=$(basename "$release")
    mkdir "$work/$version"
    cd "$work/$version"
    count=$(functions "$release"/tlnmf/*.h | wc -l)
    [ "$count" -gt 90 ] || { echo "$version: saw only $count functions" >&2; exit 1; }

    # A function that is declared twice must be declared alike, and an enumeration keeps its numbers.
    { printf '#include "tlnmf/%s.h"\n' io paper
      functions "$release"/tlnmf/*.h
      callbacks "$release"/tlnmf/*.h
      constants "$release"/tlnmf/*.h | sed 's/\(.*\) = \(.*\)/_Static_assert(\1 == \2, "\1");/'
    } >declared.c
    "$cc" -std=c11 -Wall -Wextra -Werror -I"$here/../../include" -c declared.c
    echo "$version: $count functions declared alike," \
        "$(constants "$release"/tlnmf/*.h | wc -l) numbers pinned"

    # Every one of them is in a library.
    headers=$(ls "$release"/tlnmf/*.h)
    [ -n "$io" ] || headers=$(echo "$headers" | grep -v '/io\.h')
    # shellcheck disable=SC2086
    { printf '#include "tlnmf/%s.h"\n' io paper
      echo 'void (*all[])(void) = {'
      functions $headers | grep -oE 'tlnmf_[A-Za-z0-9_]+\(' | sed 's/(/,/; s/^/(void (*)(void))/'
      echo '};'
      echo 'int main(void) { return all[0] == 0; }'
    } >all.c
    # shellcheck disable=SC2086
    "$cc" -std=c11 -I"$release" all.c "$library" $io -o all
    ./all

    "$cc" -std=c11 -Wall -Wextra -Werror -I"$release" "$here/program.c" "$library" -lm -o program
    ./program
done
