#!/usr/bin/env bash
# bench/mpi.sh on a machine with many cores and nothing installed: a folder with the programs, their
# libraries and OpenMPI, made here, and one command there that prints one table.
# usage: mpi_carry.sh pack BUILD FOLDER | run FOLDER [MOST [M [N [ROUNDS]]]]
set -eu

# The libraries that ldd names, but for those of the C library.
libraries() {
    awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
        grep -Ev '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so'
}

pack() { # BUILD FOLDER
    local here parts modules data pmix
    here=$(cd "$(dirname "$0")" && pwd)
    where() { ompi_info --path "$1" | awk '{ print $2 }'; }
    parts=$2/parts modules=$(where pkglibdir) data=$(where pkgdatadir)
    pmix=$(find /usr/lib -maxdepth 2 -type d -name 'pmix2' | head -1)
    rm -rf "$parts"
    # OPAL_PREFIX takes the place of /usr
    mkdir -p "$parts/libs" "$parts/bin" "$parts${modules#/usr}" "$parts${data#/usr}"
    cp -L "$1/tlnmf" "$1/tlnmf-mpi" "$here/mpi.sh" "$parts"
    cp -L "$(command -v orterun)" "$(command -v orted)" "$parts/bin"
    # one machine: no networks, no batch systems
    find "$modules" -name 'mca_*.so' |
        grep -Ev '_(ucx|ofi|openib|usnic|psm|psm2|portals4|verbs|slurm|gridengine|lsf|tm|monitoring|java)[^/]*\.so|oshmem|spml|scoll|memheap|sshmem|atomic' |
        while read -r module; do cp -L "$module" "$parts${modules#/usr}"; done
    cp -L "$data"/help-*.txt "$data"/*.conf "$parts${data#/usr}" 2>/dev/null || true
    if [ -n "$pmix" ]; then
        mkdir -p "$parts/pmix2"
        cp -rL "$pmix/lib" "$pmix/share" "$parts/pmix2"
        rm -rf "$parts/pmix2/lib"/*.a
    fi
    find "$parts" -type f \( -name '*.so' -o -perm -u+x \) -print0 | xargs -0 ldd 2>/dev/null | libraries |
        while read -r library; do cp -L "$library" "$parts/libs"; done
    strip --strip-unneeded "$parts/tlnmf" "$parts/tlnmf-mpi" "$parts/libs"/* 2>/dev/null || true
    tar -C "$parts" -czf "$2/parts.tar.gz" .
    rm -rf "$parts"
    cp "$0" "$2/mpi_carry.sh"
    local size=$(($(wc -c <"$2/parts.tar.gz") / 1000000))
    echo "$2: $size MB; copy it; there: bash $2/mpi_carry.sh run $2 16"
    [ $size -lt 60 ]
}

# A program with the libraries of the folder.
wrap() { # name, variables, program
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s/libs %s exec %s "$@"\n' "$at" "$2" "$3" >"$at/wrapped/$1"
    chmod +x "$at/wrapped/$1"
}

run() { # FOLDER [arguments of mpi.sh]
    local folder=$1
    shift
    at=$(mktemp -d)
    trap 'rm -rf "$at"' EXIT
    tar -C "$at" -xzf "$folder/parts.tar.gz"
    mkdir "$at/wrapped"
    wrap tlnmf "" "$at/tlnmf"
    wrap tlnmf-mpi "" "$at/tlnmf-mpi"
    wrap mpirun "OPAL_PREFIX=$at PMIX_PREFIX=$at/pmix2" "$at/bin/orterun"
    export PATH=$at/wrapped:$PATH OMP_WAIT_POLICY=passive PMIX_MCA_pcompress_base_silence_warning=1
    export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_plm=isolated OMPI_MCA_plm_rsh_agent=/bin/false
    lscpu 2>/dev/null | grep -E 'Model name|^CPU\(s\)|Thread|L2|L3' || nproc
    bash "$at/mpi.sh" "$at/wrapped" "${1:-16}" "${@:2}"
}

case "${1-}" in
pack | run) "$@" ;;
*)
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
    ;;
esac
