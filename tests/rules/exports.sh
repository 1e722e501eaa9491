#!/bin/sh
# Both shared libraries export exactly the functions that their headers declare, with a fixed version
# node and SONAME. Neither prints or exits. The core reads neither files nor the environment, and needs
# no libraries that do.
# usage: exports.sh LIBTLNMF [LIBTLNMF_IO]
set -u
include=$(dirname "$0")/../../include/tlnmf
status=0

complain() { # library, what is wrong, names
    # shellcheck disable=SC2086
    [ -z "$3" ] || { echo "$1: $2:" $3 >&2; status=1; }
}

not_in() { # the words of the first list that are not in the second
    for name in $1; do
        echo "$2" | grep -qx "$name" || echo "$name"
    done
}

declared() { # headers
    cat "$@" | tr '\n' ' ' | grep -oE 'TLNMF_API [^;(]*[ *]tlnmf_[A-Za-z0-9_]+\(' |
        grep -oE 'tlnmf_[A-Za-z0-9_]+\($' | tr -d '(' | sort
}

undefined() { # library
    nm -D --undefined-only "$1" | awk '{sub(/@.*/, "", $2); print $2}'
}

# Exports, version node and SONAME. They change only deliberately, so they are listed here.
check_names() { # library, node, soname, headers
    library=$1 node=$2 soname=$3
    shift 3
    exported=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" {print $3}')
    [ -n "$exported" ] || complain "$library" "exports" "nothing"
    complain "$library" "not under the version $node" "$(echo "$exported" | grep -v "@@$node\$")"
    names=$(echo "$exported" | sed 's/@.*//')
    promised=$(declared "$@")
    complain "$library" "the headers declare, the library lacks" "$(not_in "$promised" "$names")"
    complain "$library" "the library exports, the headers do not declare" \
        "$(not_in "$names" "$promised")"
    found=$(LC_ALL=C objdump -p "$library" | awk '$1 == "SONAME" {print $2}')
    [ "$found" = "$soname" ] || complain "$library" "SONAME should be $soname, is" "${found:-none}"
    echo "$(basename "$library"): $(echo "$names" | wc -l) names, $node, $found"
}

check_names "$1" TLNMF_0.3 libtlnmf.so.0.3 "$include/tlnmf.h" "$include/sound.h" "$include/paper.h"
complain "$1" "needs libraries of files" "$(LC_ALL=C objdump -p "$1" |
    awk '$1 == "NEEDED" {print $2}' | grep -iE 'hdf5|sndfile|jansson|matio')"
complain "$1" "uses" "$(undefined "$1" | grep -xE \
    '(__)?v?f?printf(_chk)?|f?puts|f?putc|putchar|perror|fwrite|_?exit|_Exit|abort|fopen(64)?|system|(secure_)?getenv')"

if [ $# -gt 1 ]; then
    check_names "$2" TLNMF_IO_0.3 libtlnmf_io.so.0.3 "$include/io.h"
    complain "$2" "uses" "$(undefined "$2" | grep -xE \
        '(__)?v?printf(_chk)?|puts|putchar|perror|_?exit|_Exit|abort|system')"
    LC_ALL=C objdump -p "$2" | grep -q 'NEEDED *libtlnmf\.so\.0\.3' ||
        complain "$2" "does not stand on" "libtlnmf.so.0.3"
fi
exit $status
