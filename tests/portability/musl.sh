#!/usr/bin/env bash
# Builds with musl-gcc what libtlnmf and its tests need: the part of the reference BLAS and LAPACK that
# the library calls, with CBLAS and LAPACKE, and cmocka. tests/portability.sh calls it.
usage='usage: tests/portability/musl.sh FOLDER
FOLDER receives lib/, include/ and the sources, which apt-get downloads: the source packages lapack
and cmocka of Debian 12. Needs musl-tools, gfortran and apt-get.'
set -euo pipefail
[ $# = 1 ] || { echo "$usage" >&2; exit 2; }
project=$(realpath "$(dirname "$0")/../..")
mkdir -p "$1"/{apt/state/lists/partial,apt/cache/archives/partial,apt/sources.d,source,objects,lib/pkgconfig,include}
cd "$1"
folder=$PWD lapack=$PWD/source/lapack-3.11.0 cmocka=$PWD/source/cmocka-1.1.5

# The source packages, from the addresses that apt-get has here.
fetch() {
    local list
    : >apt/state/status
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$list" ] || sed 's/^deb /deb-src /; s/^Types:.*/Types: deb-src/' "$list" >"apt/sources.d/${list##*/}"
    done
    cat >apt/apt.conf <<END
APT::Sandbox::User "root";
Dir { State "$folder/apt/state"; State::status "$folder/apt/state/status"; Cache "$folder/apt/cache"; };
Dir { Etc::sourcelist "/dev/null"; Etc::sourceparts "$folder/apt/sources.d"; };
END
    (export APT_CONFIG=$folder/apt/apt.conf
    apt-get -q update || true # a list that is missing matters only if a package is then missing
    cd source && apt-get -q source --download-only lapack=3.11.0-2 cmocka=1.1.5-2.1)
    tar -xf source/lapack_3.11.0.orig.tar.gz -C source
    tar -xf source/cmocka_1.1.5.orig.tar.xz -C source
}

# compile NAME: the file of $lapack that defines the function NAME, as NAME.o. Fortran needs nothing of
# the system, except to join strings.
compile() {
    local file cc=(musl-gcc -w -O2 -DADD_ -I../include)
    case $1 in
    xerbla_ | cblas_*) "${cc[@]}" -c "$lapack/CBLAS/src/${1%_}.c" -o "$1.o" ;;
    LAPACKE_*) "${cc[@]}" -c "$lapack"/LAPACKE/*/"lapacke_${1#LAPACKE_}.c" -o "$1.o" ;;
    *)
        for file in "$lapack"/{BLAS/SRC,SRC,INSTALL,CBLAS/src}/"${1%_}".{f,f90,F90}; do
            [ ! -f "$file" ] || gfortran -O2 -ffp-contract=off -c "$file" -o "$1.o"
        done
        ;;
    esac
}

# Compiles what the library calls, then what that calls, until nothing is missing.
build_lapack() {
    local name wanted
    cp "$lapack"/CBLAS/include/cblas{,_f77}.h "$lapack"/LAPACKE/include/lapack*.h include
    cp "$lapack/CBLAS/include/cblas_mangling_with_flags.h.in" include/cblas_mangling.h
    cp "$lapack/LAPACKE/include/lapacke_mangling_with_flags.h.in" include/lapacke_mangling.h
    cd objects
    gfortran -c "$lapack/SRC/la_constants.f90" "$lapack/SRC/la_xisnan.F90"
    musl-gcc -O2 -DADD_ -I../include -c "$lapack/CBLAS/src/cblas_globals.c"
    musl-gcc -O2 -c "$project/tests/portability/concat_string.c"
    wanted=$(grep -rhoE '\b(LAPACKE|cblas)_[a-z0-9_]+' "$project"/{src,sound,paper,tests/unit,tests/reference} | sort -u)
    while [ -n "$wanted" ]; do
        for name in $wanted; do
            compile "$name"
        done
        nm --defined-only ./*.o | sed -n 's/.* [A-Z] //p' | sort -u >defined
        wanted=$(nm --undefined-only ./*.o | sed -n 's/.* U //p' | sort -u | comm -23 - defined |
            grep -E '^(cblas_|LAPACKE_|[a-z0-9]+_$)' || true)
    done
    ar rcs ../lib/libblas.a ./*.o
    cd ..
}

build_cmocka() {
    musl-gcc -w -O2 -I"$cmocka/include" -DHAVE_{ASSERT,INTTYPES,MALLOC,SETJMP,SIGNAL,STDARG,STDDEF,STDINT}_H \
        -DHAVE_{STDIO,STDLIB,STRING,STRINGS,SYS_TYPES,TIME,UNISTD}_H -DHAVE_{CALLOC,EXIT,FPRINTF,FREE,LONGJMP}=1 \
        -DHAVE_{MALLOC,MEMCPY,MEMSET,PRINTF,SETJMP,SIGNAL,SNPRINTF,STRCMP,STRNCPY,VSNPRINTF}=1 \
        -D_POSIX_C_SOURCE=200809L -c "$cmocka/src/cmocka.c" -o cmocka.o
    ar rcs lib/libcmocka.a cmocka.o
    cp "$cmocka"/include/cmocka.h include
    printf '%s\n' "Name: cmocka" "Description: cmocka" "Version: 1.1.5" "Libs: -L$folder/lib -lcmocka" \
        "Cflags: -I$folder/include" >lib/pkgconfig/cmocka.pc
}

[ -f source/lapack_3.11.0.orig.tar.gz ] || fetch
build_lapack
build_cmocka
