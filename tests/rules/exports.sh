#!/bin/sh
# Both shared libraries export exactly the functions that their headers declare, each in the node of a
# version up to this one. The SONAME has the number TLNMF_ABI. Neither prints or exits. The core reads
# neither files nor the environment, and needs no libraries that do.
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

number() { # name of a macro in tlnmf.h
    sed -n "s/^#define $1  *\\([0-9][0-9]*\\)\$/\\1/p" "$include/tlnmf.h"
}
abi=$(number TLNMF_ABI)
version=$(number TLNMF_VERSION_MAJOR).$(number TLNMF_VERSION_MINOR)
[ -n "$abi" ] || complain tlnmf.h "lacks" TLNMF_ABI

later_than_this() { # exported names with their nodes
    for node in $(echo "$1" | sed 's/.*_//' | sort -u); do
        [ "$(printf '%s\n' "$node" "$version" | sort -V | tail -n 1)" = "$version" ] || echo "$node"
    done
}

# Exports, version nodes and SONAME.
check_names() { # library, name, headers
    library=$1 node=$(echo "$2" | tr a-z A-Z) soname=lib$2.so.$abi
    shift 2
    exported=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" {print $3}')
    [ -n "$exported" ] || complain "$library" "exports" "nothing"
    complain "$library" "not in a node ${node}_MAJOR.MINOR" \
        "$(echo "$exported" | grep -vE "@@${node}_[0-9]+\.[0-9]+\$")"
    complain "$library" "nodes later than $version" "$(later_than_this "$exported")"
    names=$(echo "$exported" | sed 's/@.*//')
    promised=$(declared "$@")
    complain "$library" "the headers declare, the library lacks" "$(not_in "$promised" "$names")"
    complain "$library" "the library exports, the headers do not declare" \
        "$(not_in "$names" "$promised")"
    found=$(LC_ALL=C objdump -p "$library" | awk '$1 == "SONAME" {print $2}')
    [ "$found" = "$soname" ] || complain "$library" "SONAME should be $soname, is" "${found:-none}"
    echo "$(basename "$library"): $(echo "$names" | wc -l) names, $found"
}

check_names "$1" tlnmf "$include/tlnmf.h" "$include/sound.h" "$include/paper.h"
complain "$1" "needs libraries of files" "$(LC_ALL=C objdump -p "$1" |
    awk '$1 == "NEEDED" {print $2}' | grep -iE 'hdf5|sndfile|jansson|matio')"
complain "$1" "uses" "$(undefined "$1" | grep -xE \
    '(__)?v?f?printf(_chk)?|f?puts|f?putc|putchar|perror|fwrite|_?exit|_Exit|abort|fopen(64)?|system|(secure_)?getenv')"

if [ $# -gt 1 ]; then
    check_names "$2" tlnmf_io "$include/io.h"
    complain "$2" "uses" "$(undefined "$2" | grep -xE \
        '(__)?v?printf(_chk)?|puts|putchar|perror|_?exit|_Exit|abort|system')"
    LC_ALL=C objdump -p "$2" | grep -q "NEEDED *libtlnmf\.so\.$abi\$" ||
        complain "$2" "does not stand on" "libtlnmf.so.$abi"
fi
exit $status
