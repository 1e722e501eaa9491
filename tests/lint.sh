#!/bin/sh
# Runs clang-format, clang-tidy and cppcheck on the tracked C files, and eslint on the page's scripts.
# All parts run before the script fails.
# usage: tests/lint.sh [format] [tidy] [cppcheck] [scripts]      (none: all)
set -u
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- format tidy cppcheck scripts
build="build-lint"
jobs=$(nproc)
failed=

tracked() { # tracked files that exist, e.g. tracked '*.c' '*.h'
    git ls-files -- "$@" | sort -u | while IFS= read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done
}

format() {
    tracked '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

# Skips files that are not in the compilation database, for which clang-tidy would guess flags.
tidy() {
    cmake -S . -B $build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_C_COMPILER=clang -DTLNMF_CUDA=AUTO \
        -DTLNMF_MPI=AUTO >$build.log 2>&1 || {
        cat $build.log
        return 1
    }
    rm -f $build.log
    tracked '*.c' | while IFS= read -r file; do
        ! grep -qF "/$file\"" $build/compile_commands.json || printf '%s\n' "$file"
    done | xargs -P "$jobs" -n 1 clang-tidy --quiet -p $build 2>$build/tidy.err
    status=$?
    # stderr is "N warnings generated" unless something went wrong
    [ $status = 0 ] || grep -v 'warnings\{0,1\} generated\.$' $build/tidy.err
    return $status
}

# H5E_BEGIN_TRY and H5E_END_TRY are defined as empty; readdir_r, which cppcheck advises, is deprecated.
check() {
    tracked '*.c' | xargs cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability \
        --inline-suppr --std=c11 --platform=unix64 --library=posix --max-configs=12 \
        -DH5E_BEGIN_TRY= -DH5E_END_TRY= --suppress=readdirCalled --suppress=missingIncludeSystem \
        -I include -I src -I . -j "$jobs"
}

# If npm cannot fetch eslint, node at least parses the scripts.
scripts() {
    tests/report/setup.sh
    if [ -x tests/report/node_modules/.bin/eslint ]; then
        tests/report/node_modules/.bin/eslint --config tests/report/eslint.config.mjs --max-warnings 0 \
            report/assets tests/report
    elif command -v node >/dev/null 2>&1; then
        echo "SKIPPED: eslint is not available; the scripts are only parsed"
        tracked 'report/assets/*.mjs' 'tests/report/*.mjs' | xargs -n 1 node --check
    else
        echo "SKIPPED: node is not installed"
    fi
}

for part in "$@"; do
    echo "-- $part"
    case $part in
    format) format ;;
    tidy) tidy ;;
    cppcheck) check ;;
    scripts) scripts ;;
    *) echo "lint.sh: unknown part '$part'" >&2; false ;;
    esac || failed="$failed $part"
done
[ -z "$failed" ] || { echo "lint failed:$failed" >&2; exit 1; }
echo "lint: clean"
