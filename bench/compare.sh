#!/bin/sh
# Compares this tree with an older commit, in one run: kernels, and calls that users wait for.
#   bench/compare.sh COMMIT FOLDER      builds both and gathers them in FOLDER with the libraries
#                                       they need, so that FOLDER can be taken to a quiet machine
#   FOLDER/compare.sh [ROUNDS]          kernels: the smallest CPU times of old and new in turn, one
#                                       thread, 12 rounds of 30 s by default
#   FOLDER/compare.sh waits [M N]       reading, simulation and so on, on all cores; an array of
#                                       M x N int16, 8192 x 450000 by default: 6 minutes, 96 GB
# Both are measured by this tree's kernels.c and waits.c.
set -eu

build() { # SOURCE NAME
    cmake -S "$1" -B "$folder/build-$2" > "$folder/$2.log"
    cmake --build "$folder/build-$2" -j2 --target bench_kernels bench_waits >> "$folder/$2.log"
    cp "$folder/build-$2/bench/kernels" "$folder/$2"
    strip -o "$folder/waits-$2" "$folder/build-$2/bench/waits"
}

gather() {
    top=$(cd "$(dirname "$0")/.." && pwd)
    mkdir -p "$2/lib"
    folder=$(cd "$2" && pwd)
    rm -rf "$folder/source" && mkdir "$folder/source"
    git -C "$top" archive "$1" | tar -x -C "$folder/source"
    # 0.1 made a context with hooks.
    hooks=$(grep -q 'tlnmf_ctx_create(NULL,' "$folder/source/bench/kernels.c" && echo 'NULL, ' || true)
    sed "s/tlnmf_ctx_create(/&$hooks/" "$top/bench/kernels.c" > "$folder/source/bench/kernels.c"
    cp "$top/src/base/openmp.h" "$folder/source/src/base/"
    cp "$top/bench/waits.c" "$folder/source/bench/"
    if ! grep -q bench_waits "$folder/source/bench/CMakeLists.txt"; then
        sed -n '/BEGIN waits/,/END waits/p' "$top/bench/CMakeLists.txt" >> "$folder/source/bench/CMakeLists.txt"
    fi
    build "$folder/source" old
    build "$top" new
    for library in $(ldd "$folder/new" "$folder/old" "$folder/waits-new" "$folder/waits-old" |
                     grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
        cp -L "$library" "$folder/lib/"
    done
    cp "$0" "$folder/compare.sh"
    rm -rf "$folder/source" "$folder/build-old" "$folder/build-new" "$folder/old.log" "$folder/new.log"
    du -sh "$folder"
}

one() { # NAME ROW PROGRAM ARGUMENT..: its lines `ms KEY` go to times, after the name and with the row
    name=$1 row=$2 program=$3
    shift 3
    # Uses the gathered loader, whose C library may be newer than the machine's.
    "$folder"/lib/ld-linux* --library-path "$folder/lib" "$folder/$program" "$@" > "$times.one"
    sed "s/^\([^ ]*\) /$name \1 $row/" "$times.one" >> "$times"
}

# The spread, the second smallest time over the smallest, shows how well a minimum repeats.
table() { # TITLE
    awk -v title="$1" '
        function spread(i) { return second[i] == "" ? "-" : sprintf("%.3f", second[i] / least[i]) }
        { side = $1; ms = $2; key = $0; sub(/^[^ ]* [^ ]* /, "", key)
          if (!(key in seen)) { seen[key] = 1; names[++count] = key }
          i = side SUBSEP key
          if (!(i in least) || ms < least[i]) { second[i] = least[i]; least[i] = ms }
          else if (second[i] == "" || ms < second[i]) second[i] = ms }
        END { print "| " title " | old, ms | new, ms | new / old | spread, old and new |\n|---|---|---|---|---|"
              for (j = 1; j <= count; j++) {
                  o = "old" SUBSEP names[j]; n = "new" SUBSEP names[j]
                  if (!(o in least) || !(n in least)) continue
                  printf "| %s | %.4g | %.4g | %.3f | %s, %s |\n", names[j], least[o], least[n],
                      least[n] / least[o], spread(o), spread(n) } }' "$times"
}

compare() { # ROUNDS
    round=1
    while [ "$round" -le "$1" ]; do
        [ $((round % 2)) -eq 0 ] && order="new old" || order="old new"
        for name in $order; do OMP_NUM_THREADS=1 one "$name" "" "$name" --minima; done
        echo "round $round of $1" >&2
        round=$((round + 1))
    done
    table kernel
}

waits() { # M N; the new version first, so that a time limit leaves its figures
    for name in new new old new; do
        one "$name" "" "waits-$name" diagonalise
        one "$name" "" "waits-$name" apply
    done
    echo "small calls done" >&2
    "$folder"/lib/ld-linux* --library-path "$folder/lib" "$folder/waits-new" file "$times.npy" "$1" $(($2 / 10)) fortran
    for name in new old; do
        one "$name" "column-major, a tenth as many frames: " "waits-$name" read "$times.npy"
    done
    "$folder"/lib/ld-linux* --library-path "$folder/lib" "$folder/waits-new" file "$times.npy" "$1" "$2"
    for name in new new old; do
        one "$name" "" "waits-$name" read "$times.npy"
        cat "$times.one" >&2
    done
    for name in new new old; do
        one "$name" "" "waits-$name" simulate $(($1 / 2)) $(($2 / 45))
        cat "$times.one" >&2
    done
    table "array of $1 x $2 int16; gcm of $(($1 / 2)) x $(($2 / 45))"
}

if [ $# -eq 2 ] && [ "$1" != waits ]; then
    gather "$1" "$2"
    exit
fi
folder=$(cd "$(dirname "$0")" && pwd)
[ -x "$folder/old" ] || { echo "usage: bench/compare.sh COMMIT FOLDER" >&2; exit 2; }
times=$(mktemp)
trap 'rm -f "$times" "$times.one" "$times.npy"' EXIT
if [ "${1:-}" = waits ]; then
    waits "${2:-8192}" "${3:-450000}"
else
    compare "${1:-12}"
fi
