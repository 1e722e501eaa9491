#!/bin/sh
# Installs into a folder, moves it away, and builds and runs a small program against what is there:
# with pkg-config (shared and static) and with CMake's find_package.
# usage: install.sh BUILD_DIR      (77: its folders are absolute, a trial would write there)
set -eu
build=$(cd "$1" && pwd)
header=$(cd "$(dirname "$0")/../.." && pwd)/include/tlnmf/tlnmf.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
export LC_ALL=C

if grep -E '^CMAKE_INSTALL_(LIB|INCLUDE|BIN)DIR:[A-Z]*=/' "$build/CMakeCache.txt"; then
    exit 77
fi
cmake --install "$build" --prefix "$work/first" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix" # nothing may remember where it was installed
prefix=$work/prefix
pc=$(find "$prefix" -name tlnmf.pc)
[ -n "$pc" ] || { echo "no tlnmf.pc was installed" >&2; exit 1; }
libdir=$(dirname "$(dirname "$pc")")
cmp "$header" "$prefix/include/tlnmf/tlnmf.h"
if grep -rIlE "$work/first|$build" "$prefix"; then
    echo "these installed files name the folder of the build or of the first place" >&2
    exit 1
fi

mkdir "$work/use"
cd "$work/use"
cat >use.c <<'CODE'
#include <stdio.h>
#include <string.h>
#include <tlnmf/tlnmf.h>

int main(void)
{
    double Y[4 * 6] = {0};
    tlnmf_ctx *ctx = NULL;
    tlnmf_data *data = NULL;
    tlnmf_result *result = NULL;
    tlnmf_settings settings;
    tlnmf_error error = tlnmf_ctx_create(NULL, &ctx);

    for (int i = 0; i < 4 * 6; i++)
        Y[i] = (double)((i * 7) % 11) - 5.0;
    tlnmf_settings_init(&settings);
    settings.k = 2;
    settings.J = 3;
    if (!error)
        error = tlnmf_data_from_realisations(ctx, Y, 1, 4, 6, &data);
    if (!error)
        error = tlnmf_fit(ctx, data, &settings, NULL, NULL, NULL, &result);
    if (error)
        fprintf(stderr, "%s: %s\n", tlnmf_error_name(error), ctx ? tlnmf_message(ctx) : "");
    tlnmf_result_free(result);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    printf("%s\n", tlnmf_version());
    return error != TLNMF_OK || strcmp(tlnmf_version(), TLNMF_VERSION) != 0;
}
CODE

needs() { # does the program load libtlnmf.so?
    objdump -p "$1" | grep -q 'NEEDED *libtlnmf\.so'
}

expect() { # what, version that the program printed
    [ "$2" = "$version" ] || { echo "$1: version $2, not $version" >&2; exit 1; }
    echo "$1: ok"
}

export PKG_CONFIG_PATH="$libdir/pkgconfig"
version=$(pkg-config --modversion tlnmf)

# shellcheck disable=SC2046
$cc -std=c11 -Wall -Wextra -Werror use.c $(pkg-config --cflags --libs tlnmf) -o shared
needs shared
expect "pkg-config, shared" "$(LD_LIBRARY_PATH=$libdir ./shared)"

# The archive by its name, as the shared library lies beside it; what it needs, from pkg-config.
# shellcheck disable=SC2046
$cc -std=c11 -Wall -Wextra -Werror use.c $(pkg-config --static --cflags --libs tlnmf |
    sed 's/-ltlnmf/-l:libtlnmf.a/') -o static
if needs static; then
    echo "pkg-config, static: still loads the shared library" >&2
    exit 1
fi
expect "pkg-config, static" "$(./static)"

cat >CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.18)
project(use LANGUAGES C)
find_package(tlnmf 0.1 REQUIRED)
add_executable(found use.c)
target_link_libraries(found PRIVATE tlnmf::tlnmf)
CODE
if ! { cmake -S . -B b -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" &&
    cmake --build b; } >log 2>&1; then
    cat log
    exit 1
fi
needs b/found
expect "find_package" "$(b/found)"

if [ -x "$prefix/bin/tlnmf" ]; then
    expect "program" "$("$prefix/bin/tlnmf" --version | head -n 1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)"
fi
