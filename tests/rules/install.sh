#!/bin/sh
# Installs into a folder, moves the folder, and builds and runs small programs with both installed
# libraries: with pkg-config (shared, static, as a plugin, and without any shared library) and with
# find_package (shared, static, and as a plugin).
# usage: install.sh BUILD_DIR      (exit code 77: the build has absolute install paths)
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../include/tlnmf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
export LC_ALL=C

if grep -E '^CMAKE_INSTALL_(LIB|INCLUDE|BIN)DIR:[A-Z]*=/' "$build/CMakeCache.txt"; then
    exit 77
fi
cmake --install "$build" --prefix "$work/first" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix" # no file may contain the first path
prefix=$work/prefix
pc=$(find "$prefix" -name tlnmf.pc)
[ -n "$pc" ] || { echo "no tlnmf.pc was installed" >&2; exit 1; }
libdir=$(dirname "$(dirname "$pc")")
if grep -rIlE "$work/first|$build" "$prefix"; then
    echo "these installed files contain the path of the build or of the installation" >&2
    exit 1
fi

libraries=tlnmf
if grep -q '^TLNMF_BUILD_IO:BOOL=ON' "$build/CMakeCache.txt"; then
    libraries="tlnmf tlnmf_io"
fi
headers="tlnmf sound paper"
[ "$libraries" = tlnmf ] || headers="$headers io"
for header in $headers; do
    cmp "$include/$header.h" "$prefix/include/tlnmf/$header.h"
done

doc=$prefix/share/doc/tlnmf
for file in LICENSE docs/library.md examples/first.c python/examples/notes.py; do
    [ -s "$doc/$file" ] || { echo "$file is not installed" >&2; exit 1; }
done
"$here/links.sh" "$doc"
for library in $libraries; do # an empty element would be the current folder
    if [ -e "$libdir/lib$library.so" ] && objdump -p "$libdir/lib$library.so" | grep -E 'R(UN)?PATH +(:|.*(::|:$))'; then
        echo "lib$library.so: the run path has an empty element" >&2
        exit 1
    fi
done
component() { # name, folder: installs it
    cmake --install "$build" --prefix "$2" --component "$1" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
component development "$work/dev"
for file in tlnmf.h tlnmf.pc tlnmf_static.pc tlnmfConfig.cmake tlnmfTargets.cmake; do
    [ -n "$(find "$work/dev" -name "$file")" ] || { echo "component development lacks $file" >&2; exit 1; }
done

# ---- programs that use them ---------------------------------------------------------------------

mkdir "$work/use"
cd "$work/use"
cat >use_tlnmf.c <<'CODE'
/* Fits a model to a few numbers. */
#include <stdio.h>
#include <string.h>
#include <tlnmf/paper.h>
#include <tlnmf/sound.h>
#include <tlnmf/tlnmf.h>

int main(void)
{
    const int64_t shape[3] = {1, 4, 6};
    double Y[4 * 6];
    tlnmf_ctx *ctx = NULL;
    tlnmf_data *data = NULL;
    tlnmf_settings *settings = NULL;
    tlnmf_record *model = NULL;
    tlnmf_error error = tlnmf_ctx_create(&ctx);

    for (int i = 0; i < 4 * 6; i++)
        Y[i] = (double)((i * 7) % 11) - 5.0;
    if (!error)
        error = tlnmf_settings_create(ctx, "fit", &settings);
    if (!error)
        error = tlnmf_settings_set_integer(ctx, settings, "k", 2);
    if (!error)
        error = tlnmf_data_from_realisations(ctx, Y, shape, &data);
    if (!error)
        error = tlnmf_fit(ctx, data, settings, NULL, &model);
    if (error || tlnmf_theory_probability(2, 4.0) <= 0.0)
        fprintf(stderr, "%s: %s\n", tlnmf_error_name(error), tlnmf_message(ctx));
    tlnmf_record_free(model);
    tlnmf_settings_free(settings);
    tlnmf_data_free(data);
    tlnmf_ctx_free(ctx);
    printf("%s\n", tlnmf_version());
    return error != TLNMF_OK || strcmp(tlnmf_version(), TLNMF_VERSION) != 0;
}
CODE
cat >use_tlnmf_io.c <<'CODE'
/* Writes an array and reads it back. */
#include <stdio.h>
#include <tlnmf/io.h>

int main(void)
{
    const int64_t shape[2] = {2, 3};
    const double x[6] = {1, 2, 3, 4, 5, 6};
    tlnmf_ctx *ctx = NULL;
    tlnmf_record *read = NULL;
    tlnmf_error error = tlnmf_ctx_create(&ctx);

    if (!error)
        error = tlnmf_io_write_array(ctx, "x.npy", x, 2, shape);
    if (!error)
        error = tlnmf_io_read_array(ctx, "x.npy", &read);
    if (error)
        fprintf(stderr, "%s: %s\n", tlnmf_error_name(error), tlnmf_message(ctx));
    int same = !error && tlnmf_record_get_array(read, "array", NULL, NULL)[5] == 6.0;
    tlnmf_record_free(read);
    tlnmf_ctx_free(ctx);
    printf("%s\n", tlnmf_version());
    return !same;
}
CODE

cat >host.c <<'CODE'
/* Loads plugin.so, calls it and unloads it. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    int (*plugin_main)(void);
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void **)&plugin_main = dlsym(plugin, "plugin_main");
    int status = plugin_main == NULL || plugin_main() != 0;
    return dlclose(plugin) != 0 || status;
}
CODE
$cc -std=c11 host.c -ldl -o host

needs() { # does the program load this library?
    objdump -p "$1" | grep -q "NEEDED *lib$2\\.so"
}

expect() { # what, version that the program printed
    [ "$2" = "$version" ] || { echo "$1: version $2, not $version" >&2; exit 1; }
    echo "$1: ok"
}

export PKG_CONFIG_PATH="$libdir/pkgconfig"
version=$(pkg-config --modversion tlnmf)
flags="-std=c11 -Wall -Wextra -Werror"

for library in $libraries; do
    # shellcheck disable=SC2046,SC2086
    $cc $flags use_$library.c $(pkg-config --cflags --libs $library) -o shared
    needs shared "$library"
    expect "$library, pkg-config, shared" "$(LD_LIBRARY_PATH=$libdir ./shared)"

    # shellcheck disable=SC2046,SC2086
    $cc $flags use_$library.c $(pkg-config --cflags --libs "${library}_static") -o static
    if needs static tlnmf || needs static tlnmf_io; then
        echo "$library, pkg-config, static: still loads a shared library" >&2
        exit 1
    fi
    expect "$library, pkg-config, static" "$(./static)"

    # A plugin exports its own function only, and works in a program that knows nothing of tlnmf.
    # shellcheck disable=SC2046,SC2086
    $cc $flags -Dmain=plugin_main -shared -fPIC use_$library.c -o plugin.so \
        $(pkg-config --cflags --libs "${library}_static")
    exported=$(nm -D --defined-only plugin.so | sed 's/.* //')
    [ "$exported" = plugin_main ] || { echo "$library: a plugin exports $exported" >&2; exit 1; }
    expect "$library, pkg-config, plugin" "$(./host)"
done

# No shared library at all, if BLAS and LAPACK have archives.
if grep -q '^TLNMF_STATIC_WITH_.*=1' "$build/CMakeCache.txt"; then
    # shellcheck disable=SC2046,SC2086
    $cc $flags -static use_tlnmf.c $(pkg-config --static --cflags --libs tlnmf) -o alone 2>log || { cat log; exit 1; }
    if objdump -p alone | grep NEEDED; then
        echo "tlnmf, pkg-config, -static: still loads a shared library" >&2
        exit 1
    fi
    expect "tlnmf, pkg-config, -static" "$(./alone)"
fi

# ---- CMake --------------------------------------------------------------------------------------

cat >CMakeLists.txt <<CODE
cmake_minimum_required(VERSION 3.18)
project(use LANGUAGES C)
find_package(tlnmf ${version%.*} REQUIRED)
foreach(library IN ITEMS ${libraries})
  add_executable(found_\${library} use_\${library}.c)
  target_link_libraries(found_\${library} PRIVATE tlnmf::\${library})
  add_executable(static_\${library} use_\${library}.c)
  target_link_libraries(static_\${library} PRIVATE tlnmf::\${library}_static)
  add_library(plugin_\${library} MODULE use_\${library}.c)
  target_link_libraries(plugin_\${library} PRIVATE tlnmf::\${library}_static)
endforeach()
CODE
if ! { cmake -S . -B b -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" &&
    cmake --build b; } >log 2>&1; then
    cat log
    exit 1
fi
for library in $libraries; do
    needs "b/found_$library" "$library"
    expect "$library, find_package" "$("b/found_$library")"
    if needs "b/static_$library" tlnmf; then
        echo "$library, find_package, static: still loads a shared library" >&2
        exit 1
    fi
    expect "$library, find_package, static" "$("b/static_$library")"
    if nm -D --defined-only "b/libplugin_$library.so" | grep tlnmf_; then
        echo "$library: a plugin exports the functions of the archive" >&2
        exit 1
    fi
done

# ---- the program --------------------------------------------------------------------------------

if [ -x "$prefix/bin/tlnmf" ]; then
    expect "program" "$("$prefix/bin/tlnmf" --version | head -n 1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)"
    component program "$work/program"
    if find "$work/program" -name 'tlnmf-mpi*' | grep .; then
        echo "the component program has files of tlnmf-mpi" >&2
        exit 1
    fi
    [ ! -x "$prefix/bin/tlnmf-mpi" ] || component mpi "$work/program"
    for program in tlnmf tlnmf-mpi; do
        [ -x "$prefix/bin/$program" ] || continue
        for file in "man/man1/$program.1" "bash-completion/completions/$program" zsh/site-functions/_tlnmf \
            "fish/vendor_completions.d/$program.fish"; do
            [ -s "$work/program/share/$file" ] || { echo "the components of $program lack $file" >&2; exit 1; }
        done
    done
fi
