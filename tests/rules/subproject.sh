#!/bin/sh
# A host project adds this folder with add_subdirectory: it gets tlnmf::tlnmf and tlnmf::tlnmf_io of the
# kind that BUILD_SHARED_LIBS asks for, no tests, no program, and nothing to install. Parts that miss
# another part are not built. With `build`, also builds the libraries without HDF5 and runs
# programs with them.
# usage: subproject.sh check|build
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
export LC_ALL=C

fail() {
    cat "$work/log"
    echo "subproject.sh: $*" >&2
    exit 1
}

mkdir "$work/host"
cat >"$work/host/CMakeLists.txt" <<CODE
cmake_minimum_required(VERSION 3.18)
project(host LANGUAGES C)
enable_testing()
add_test(NAME host COMMAND true)
install(FILES CMakeLists.txt DESTINATION host)
add_subdirectory($top tlnmf)
foreach(target tlnmf::tlnmf tlnmf::tlnmf_io)
  if(TARGET \${target})
    get_target_property(kind \${target} TYPE)
    message(STATUS "\${target} is \${kind}")
  endif()
endforeach()
foreach(name core files)
  if(EXISTS \${PROJECT_SOURCE_DIR}/\${name}.c)
    add_executable(\${name} \${name}.c)
  endif()
endforeach()
if(TARGET core)
  target_link_libraries(core PRIVATE tlnmf::tlnmf)
  target_link_libraries(files PRIVATE tlnmf::tlnmf_io)
  add_library(plugin MODULE files.c)
  target_link_libraries(plugin PRIVATE tlnmf::tlnmf_io)
endif()
CODE

configure() { # folder, option...
    folder=$1
    shift
    cmake -S "$work/host" -B "$work/$folder" -DCMAKE_C_COMPILER="$cc" "$@" >"$work/log" 2>&1
}
is() { # target, kind
    grep -qx -e "-- $1 is $2" "$work/log" || fail "$1 is not $2"
}

if [ "$1" = check ]; then
    configure b || fail "the host project cannot be configured"
    is tlnmf::tlnmf STATIC_LIBRARY
    is tlnmf::tlnmf_io STATIC_LIBRARY
    grep -q 'GPU engine\|MPI' "$work/log" && fail "CUDA or MPI was looked for"
    ctest --test-dir "$work/b" -N >"$work/log"
    grep -qx 'Total Tests: 1' "$work/log" || fail "the host has tests of tlnmf"
    cmake --install "$work/b" --prefix "$work/p" >"$work/log" || fail "nothing can be installed"
    [ "$(cd "$work/p" && find . -type f)" = ./host/CMakeLists.txt ] || fail "the host installs tlnmf"
    configure b -DBUILD_SHARED_LIBS=ON -DTLNMF_BUILD_IO=OFF || fail "BUILD_SHARED_LIBS=ON"
    is tlnmf::tlnmf SHARED_LIBRARY
    ! grep -q tlnmf_io "$work/log" || fail "TLNMF_BUILD_IO=OFF has libtlnmf_io"
    # The host has no build type, and neither has the installed package.
    configure c -DTLNMF_INSTALL=ON || fail "TLNMF_INSTALL=ON"
    find "$work/c" -name tlnmfTargets-noconfig.cmake | grep -q . || fail "no targets without a build type"
    # An existing folder: the parts that need HDF5 go with it.
    configure c -DTLNMF_BUILD_PROGRAM=ON -DTLNMF_HDF5=OFF || fail "TLNMF_HDF5=OFF in an existing folder"
    grep -q 'The program is not built: it needs' "$work/log" || fail "no message about the program"
    grep -q 'MATLAB files are not read' "$work/log" || fail "no message about MATLAB files"
    cmake -S "$top" -B "$work/f" -DCMAKE_C_COMPILER="$cc" -DTLNMF_BUILD_IO=OFF \
        -DCMAKE_INSTALL_PREFIX=/usr >"$work/log" 2>&1 || fail "TLNMF_BUILD_IO=OFF alone"
    ! grep -q ORIGIN "$work/f/cmake_install.cmake" || fail "a run path in a system folder"
    # pkg-config: with archives alone, a program also needs their libraries.
    ! grep -q '^Libs:.* -llapacke' "$work/f/tlnmf.pc" || fail "tlnmf.pc links the libraries of the archive"
    cmake -S "$top" -B "$work/f" -DBUILD_SHARED_LIBS=OFF >"$work/log" 2>&1 || fail "BUILD_SHARED_LIBS=OFF"
    grep -q '^Libs:.* -llapacke' "$work/f/tlnmf.pc" || fail "tlnmf.pc lacks the libraries of the archive"
    # Values that cannot be built.
    ! configure i -DTLNMF_BUILD_IO=OFF -DBLAS_LIBRARY=/nonexistent/libblas.so || fail "a missing BLAS is accepted"
    grep -q 'BLAS_LIBRARY: no such file: /nonexistent/libblas.so' "$work/log" || fail "a missing BLAS is not named"
    ! configure i -DTLNMF_BUILD_IO=OFF -DBLAS_LIBRARY=/usr/lib || fail "a folder is accepted as BLAS"
    grep -q 'BLAS_LIBRARY: not a library but a folder: /usr/lib' "$work/log" || fail "the folder is not named"
    if ! "$cc" --version | grep -q clang; then
        ! configure j -DTLNMF_BUILD_IO=OFF -DTLNMF_FUZZ=ON || fail "TLNMF_FUZZ is accepted without clang"
        grep -q 'TLNMF_FUZZ needs clang' "$work/log" || fail "TLNMF_FUZZ does not name clang"
    fi
    # OpenMP: any case, and CMake's booleans.
    configure g -DTLNMF_BUILD_IO=OFF -DTLNMF_OPENMP=no || fail "TLNMF_OPENMP=no"
    grep -q 'Built without OpenMP' "$work/log" || fail "TLNMF_OPENMP=no uses OpenMP"
    configure g -DTLNMF_OPENMP=Auto || fail "TLNMF_OPENMP=Auto"
    ! configure g -DTLNMF_OPENMP=maybe || fail "TLNMF_OPENMP=maybe is accepted"
    # A cross compilation has no man pages of commands, but the target, which python/backend.py builds.
    cmake -S "$top" -B "$work/h" -DCMAKE_C_COMPILER="$cc" -DCMAKE_SYSTEM_NAME=Linux -DTLNMF_BUILD_TESTS=OFF \
        >"$work/log" 2>&1 || fail "a cross compilation"
    cmake --build "$work/h" --target help >"$work/log"
    grep -qxE '(\.\.\. )?man(: phony)?' "$work/log" || fail "a cross compilation has no target man"
    # Core alone needs neither pkg-config nor packages for files.
    configure d -DTLNMF_BUILD_IO=OFF -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON || fail "core without pkg-config"
    ! env PKG_CONFIG_LIBDIR="$work" cmake -S "$work/host" -B "$work/e" >"$work/log" 2>&1 || fail "no packages"
    tr -s '\n ' ' ' <"$work/log" | grep -q 'does not find: sndfile;jansson;zlib;hdf5;matio' ||
        fail "missing packages are not named"
    echo "subproject.sh: ok"
    exit 0
fi

cat >"$work/host/core.c" <<'CODE'
#include <stdio.h>
#include <tlnmf/tlnmf.h>

int main(void)
{
    return puts(tlnmf_version()) < 0;
}
CODE
cat >"$work/host/files.c" <<'CODE'
/* Prints the message for a file. */
#include <stdio.h>
#include <tlnmf/io.h>

int main(int argc, char **argv)
{
    tlnmf_ctx *ctx = NULL;
    tlnmf_record *read = NULL;
    if (argc < 2 || tlnmf_ctx_create(&ctx))
        return 1;
    if (tlnmf_io_read_array(ctx, argv[1], &read))
        puts(tlnmf_message(ctx));
    tlnmf_record_free(read);
    tlnmf_ctx_free(ctx);
    return 0;
}
CODE
configure b -DTLNMF_HDF5=OFF -DCMAKE_BUILD_TYPE=Debug || fail "no configuration without HDF5"
cmake --build "$work/b" -j "$(nproc)" >"$work/log" 2>&1 || fail "no build without HDF5"
"$work/b/core" | grep -qx '[0-9.]*' || fail "core does not run"
! objdump -p "$work/b/files" | grep -q 'NEEDED.*lib\(hdf5\|matio\|tlnmf\)' || fail "files needs HDF5"
! nm -D --defined-only "$work/b/libplugin.so" | grep tlnmf_ || fail "a plugin exports the functions of the archives"
printf '\211HDF\r\n\032\n' >"$work/x.h5"
"$work/b/files" "$work/x.h5" | grep -q 'no HDF5 (TLNMF_HDF5=OFF)' || fail "no message for HDF5"
printf 'MATLAB 5.0' >"$work/x.mat"
"$work/b/files" "$work/x.mat" | grep -q 'TLNMF_MATIO=OFF' || fail "no message for MATLAB files"
echo "subproject.sh: ok"
