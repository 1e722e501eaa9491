#!/usr/bin/env bash
# Builds and tests the library for other processors and C libraries, and compares C between them.
# For maintainers, on Debian 12 (amd64); no test of the suite needs it.
usage='usage: tests/portability.sh TARGET [FOLDER]
TARGET
  native            this processor, OpenMP, the default BLAS
  no-openmp         gcc without OpenMP                    no-openmp-clang  clang without OpenMP
  avx2, baseline    the native build on an emulated Haswell, or a processor without AVX
  i386              32-bit x86 (runs natively)            arm64            AArch64, emulated
  s390x             big endian, emulated                  musl             musl, the core library
FOLDER (build-portability) receives TARGET/, the build, and sysroot/TARGET/, the libraries.

Packages: qemu-user, musl-tools, gfortran, gcc-{i686,aarch64,s390x}-linux-gnu. Libraries of other
processors, and the sources that musl needs, are downloaded with apt-get and unpacked below FOLDER;
nothing is installed.
TESTS is the pattern of tests that ctest runs, LIMIT the seconds that a test may take (3000), JOBS the
number of processes (2).'
set -euo pipefail
unset OPENBLAS_CORETYPE # OpenBLAS would use its instructions, also on an emulated processor without them
cd "$(dirname "$0")/.."
target=${1-} root=$(realpath -m "${2:-build-portability}")
tests=${TESTS:-^(unit_|golden|property|extremes|portability)}
build=$root/$target sys=$root/sysroot/$target log=$root/$target.log
emulator='' host_emulator=() triplet='' flags=(-DTLNMF_WERROR=ON)

case $target in
native) flags+=(-DCMAKE_CROSSCOMPILING_EMULATOR=) ;;
avx2) build=$root/native host_emulator=(qemu-x86_64 -cpu Haswell) ;;
baseline) build=$root/native host_emulator=(qemu-x86_64 -cpu Nehalem) ;;
no-openmp) flags+=(-DCMAKE_C_COMPILER=gcc -DTLNMF_OPENMP=OFF) ;;
no-openmp-clang) flags+=(-DCMAKE_C_COMPILER=clang -DTLNMF_OPENMP=OFF) ;;
i386) triplet=i386-linux-gnu compiler=i686-linux-gnu-gcc processor=i686 ;;
arm64) triplet=aarch64-linux-gnu compiler=$triplet-gcc processor=aarch64 emulator=qemu-aarch64 ;;
s390x) triplet=s390x-linux-gnu compiler=$triplet-gcc processor=s390x emulator=qemu-s390x ;;
musl)
    flags+=(-DCMAKE_C_COMPILER=musl-gcc -DTLNMF_BUILD_IO=OFF -DTLNMF_BUILD_PROGRAM=OFF)
    flags+=(-DTLNMF_OPENMP=OFF) # libgomp needs glibc
    flags+=(-D{BLAS,LAPACKE}_LIBRARY="$sys/lib/libblas.a" -D{CBLAS,LAPACKE}_INCLUDE="$sys/include")
    ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac

# Unpacks Debian's libraries for one processor, from the sources that apt-get has here. apt-get gets
# folders of its own.
make_sysroot() {
    local apt=$root/apt/$target lib=$sys/usr/lib/$triplet package
    [ ! -f "$sys/complete" ] || return 0
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial} "$lib"
    : >"$apt/state/status"
    cat >"$apt/apt.conf" <<END
APT { Architecture "$target"; Architectures { "$target"; }; Install-Recommends "false"; Sandbox::User "root"; };
Dir { State "$apt/state"; State::status "$apt/state/status"; Cache "$apt/cache"; };
Acquire::Languages "none";
END
    export APT_CONFIG=$apt/apt.conf
    apt-get -q update || true # a list that is missing matters only if a package is then missing
    apt-get -q -y --download-only install libc6-dev libgomp1 libblas-dev liblapack-dev liblapacke-dev \
        libcmocka-dev libsndfile1-dev libjansson-dev zlib1g-dev libhdf5-dev libmatio-dev
    unset APT_CONFIG
    ln -sfn usr/lib "$sys/lib"
    for package in "$apt"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$sys" --keep-directory-symlink --wildcards \
            './lib*' './usr/lib*' './usr/include*' './usr/share/pkgconfig*' 2>/dev/null || true
    done
    find "$sys" -type l -lname '/*' -printf '%l %p\n' | while read -r to link; do
        ln -sfn "$sys$to" "$link" # an absolute link means a file of this system
    done
    # Links that the packages make when they are installed.
    ln -sf blas/libblas.so "$lib/libblas.so" && ln -sf blas/libblas.so.3 "$lib/libblas.so.3"
    ln -sf lapack/liblapack.so "$lib/liblapack.so" && ln -sf lapack/liblapack.so.3 "$lib/liblapack.so.3"
    ln -sf hdf5-serial.pc "$lib/pkgconfig/hdf5.pc"
    ln -sf cblas-netlib.h "$sys/usr/include/$triplet/cblas.h"
    touch "$sys/complete"
}

cross_flags() {
    local lib=$sys/usr/lib/$triplet link='' file=$root/$target.cmake
    if [ -z "$emulator" ]; then # runs natively, with the libraries of the sysroot
        link="-Wl,--dynamic-linker=$sys/lib/ld-linux.so.2 -Wl,-rpath,$lib -Wl,--disable-new-dtags" # also for their libraries
    fi
    cat >"$file" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_C_COMPILER $compiler)
set(CMAKE_LIBRARY_ARCHITECTURE $triplet)
set(CMAKE_SYSROOT $sys)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,$lib $link")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,$lib")
END
    # Without an emulator, "env" starts the programs that the build runs.
    echo "set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator:-env}${emulator:+ -L $sys})" >>"$file"
    export PKG_CONFIG_LIBDIR=$lib/pkgconfig:$sys/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$sys
    flags+=(-DCMAKE_TOOLCHAIN_FILE="$file")
}

# Runs a command where the kernel starts foreign programs with the emulator: programs start programs. A
# user namespace of its own has this setting (Linux 6.7 and later); the system does not change.
emulated() {
    local magic mask
    if [ -z "$emulator" ]; then
        "$@"
        return
    fi
    case $emulator in
    qemu-aarch64)
        magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
        mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
        ;;
    qemu-s390x)
        magic='\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16'
        mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff'
        ;;
    esac
    QEMU_LD_PREFIX=$sys unshare --user --map-root-user --mount sh -c '
        rule=$1 && shift
        mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit 1
        printf "%s" "$rule" >/proc/sys/fs/binfmt_misc/register || exit 1
        exec "$@"' sh ":$emulator:M::$magic:$mask:$(command -v $emulator):" "$@"
}

# Builds the program and the tests that will run.
build_all() {
    local targets
    cmake -S . -B "$build" "${flags[@]}" >"$log" 2>&1 || { tail -20 "$log"; exit 1; }
    targets=$(ctest --test-dir "$build" -N -R "$tests" |
        sed -n 's/^ *Test *#[0-9]*: //p' | grep -E '^(unit_|fuzz_|golden|property|extremes)' || true)
    ! grep -q '^TLNMF_BUILD_PROGRAM:BOOL=ON' "$build/CMakeCache.txt" || targets="$targets tlnmf"
    # shellcheck disable=SC2086
    nice cmake --build "$build" -j "${JOBS:-2}" --target $targets objective -- -k >>"$log" 2>&1 ||
        { tail -40 "$log"; exit 1; }
}

test_all() {
    OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} emulated nice ctest --test-dir "$build" -j "${JOBS:-2}" -R "$tests" \
        --output-on-failure --timeout "${LIMIT:-3000}" >"$root/$target.tests.log" 2>&1 || true
    sed -n '/tests passed/,$p' "$root/$target.tests.log"
}

mkdir -p "$root"
case $target in
i386 | arm64 | s390x)
    make_sysroot
    cross_flags
    ;;
musl)
    export PKG_CONFIG_LIBDIR=$sys/lib/pkgconfig
    [ -f "$sys/lib/libcmocka.a" ] || tests/portability/musl.sh "$sys"
    ;;
esac
[ ${#host_emulator[@]} = 0 ] ||
    flags+=(-DCMAKE_CROSSCOMPILING_EMULATOR="$(IFS=';' && echo "${host_emulator[*]}")")
build_all
test_all
OMP_NUM_THREADS=1 emulated "${host_emulator[@]}" "$build/tests/objective"
