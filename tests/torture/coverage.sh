#!/usr/bin/env bash
# Lines and branches of src/, sound/ and io/ that all tests together reach, by gcov.   usage: coverage.sh FOLDER
# Builds in FOLDER if there is no build, and runs its tests, except for tests that only read the sources
# and tests with failing allocations, since gcov allocates as well.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1
[ -e "$folder/CMakeCache.txt" ] ||
    cmake -S "$top" -B "$folder" -DCMAKE_BUILD_TYPE=Debug -DTLNMF_MPI=OFF -DTLNMF_CUDA=OFF -DTLNMF_SANITIZE= \
        "-DCMAKE_C_FLAGS=-O1 --coverage -DTL_NO_CLONES" >/dev/null || exit 2
cmake --build "$folder" -j "$(nproc)" >/dev/null || exit 1
find "$folder" -name '*.gcda' -delete
ctest --test-dir "$folder" -j "$(nproc)" -E "${SKIP:-rules|bench|report-browser|mpi|octave|fault_allocations}" >"$folder/tests.log" 2>&1
tail -n 12 "$folder/tests.log"
cd "$folder" || exit 2
find . \( -path '*tlnmf_objects*/src/*' -o -path '*tlnmf_objects*/sound/*' -o -path '*tlnmf_io_objects*/io/*' \) -name '*.gcda' -print0 |
    xargs -0 gcov -b -r -s "$top" 2>/dev/null |
    awk -F"[:% ]+" -v least_lines=95 -v least_branches=85 '
    /^File/ { file = $2; gsub("\047", "", file); counts = file ~ /\.c$/ && !(file in seen); seen[file] = 1 }
    /^Lines executed/ && counts { lines[file] = $5; hit[file] = $3 * $5 / 100; L += $5; l += $3 * $5 / 100 }
    /^Taken at least once/ && counts { branches[file] = $7; took[file] = $5 * $7 / 100; B += $7; b += $5 * $7 / 100; counts = 0 }
    END {
        for (f in lines)
            printf "%6.0f lines and %5.0f branches missed: %s\n", lines[f] - hit[f], branches[f] - took[f], f | "sort -rn | head -n 25"
        close("sort -rn | head -n 25")
        printf "coverage of src, sound and io: lines %.2f %% of %d, branches %.2f %% of %d\n", 100 * l / L, L, 100 * b / B, B
        exit !(100 * l / L >= least_lines && 100 * b / B >= least_branches)
    }'
