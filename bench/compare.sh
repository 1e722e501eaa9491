#!/bin/sh
# Compares the kernels of this tree with an older commit: the ratio of their smallest CPU times.
#   bench/compare.sh COMMIT FOLDER      builds both and gathers them in FOLDER with the libraries
#                                       they need, so that FOLDER can be taken to a quiet machine
#   FOLDER/compare.sh [ROUNDS]          old and new in turn, one thread, 12 rounds of 30 s by default
# Both are measured by this tree's kernels.c.
set -eu

build() { # SOURCE NAME
    cmake -S "$1" -B "$folder/build-$2" > "$folder/$2.log"
    cmake --build "$folder/build-$2" -j2 --target bench_kernels >> "$folder/$2.log"
    cp "$folder/build-$2/bench/kernels" "$folder/$2"
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
    build "$folder/source" old
    build "$top" new
    for library in $(ldd "$folder/new" "$folder/old" | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
        cp -L "$library" "$folder/lib/"
    done
    cp "$0" "$folder/compare.sh"
    rm -rf "$folder/source" "$folder/build-old" "$folder/build-new" "$folder/old.log" "$folder/new.log"
    du -sh "$folder"
}

one() { # NAME: its lines go to times, after its name
    # Uses the gathered loader, whose C library may be newer than the machine's.
    OMP_NUM_THREADS=1 "$folder"/lib/ld-linux* --library-path "$folder/lib" "$folder/$1" --minima |
        sed "s/^/$1 /" >> "$times"
}

compare() {
    times=$(mktemp)
    trap 'rm -f "$times"' EXIT
    round=1
    while [ "$round" -le "$1" ]; do
        [ $((round % 2)) -eq 0 ] && order="new old" || order="old new"
        for name in $order; do one "$name"; done
        echo "round $round of $1" >&2
        round=$((round + 1))
    done
    # The spread, the second smallest time over the smallest, shows how well a minimum repeats.
    awk '
        { side = $1; ms = $2; key = $0; sub(/^[^ ]* [^ ]* /, "", key)
          if (!(key in seen)) { seen[key] = 1; names[++count] = key }
          i = side SUBSEP key
          if (!(i in least) || ms < least[i]) { second[i] = least[i]; least[i] = ms }
          else if (second[i] == "" || ms < second[i]) second[i] = ms }
        END { print "| kernel | old, ms | new, ms | new / old | spread, old and new |\n|---|---|---|---|---|"
              for (j = 1; j <= count; j++) {
                  o = "old" SUBSEP names[j]; n = "new" SUBSEP names[j]
                  printf "| %s | %.4g | %.4g | %.3f | %.3f, %.3f |\n", names[j], least[o], least[n],
                      least[n] / least[o], second[o] / least[o], second[n] / least[n] } }' "$times"
}

case $# in
2) gather "$1" "$2" ;;
*) folder=$(cd "$(dirname "$0")" && pwd)
   [ -x "$folder/old" ] || { echo "usage: bench/compare.sh COMMIT FOLDER" >&2; exit 2; }
   compare "${1:-12}" ;;
esac
