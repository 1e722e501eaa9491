#!/bin/sh
# What many cores gain: every row of the table in docs/benchmarks.md (Threads), in one run, with the
# ceiling that processes which share nothing reach on the same machine.
# usage: cores.sh measure FOLDER [REPEATS] | carry BUILD FOLDER
# FOLDER is what `carry` made of a build: program, libraries and loader, packed, some 30 MB. It needs
# a shell, awk, tar and python3 (for zip files), nothing else. About 15 minutes on 16 cores.
set -eu

carry()
{
    here=$(cd "$(dirname "$0")" && pwd)
    target=$2
    stage=$(mktemp -d)
    trap 'rm -rf "$stage"' EXIT
    mkdir -p "$target" "$stage/lib" "$stage/recording"
    cp -L "$1/tlnmf" "$stage/tlnmf.bin"
    strip --strip-unneeded "$stage/tlnmf.bin"
    [ ! -x "$1/bench/span" ] || { cp -L "$1/bench/span" "$stage/span.bin" && strip "$stage/span.bin"; }
    ldd "$stage/tlnmf.bin" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | sort -u |
        while read -r library; do cp -L "$library" "$stage/lib"; done
    cp "$here/scaling.sh" "$stage"
    cp "$here"/../tests/recordings/piano_a4_as4/mix.flac \
        "$here"/../tests/recordings/piano_a4_as4/labels.txt "$stage/recording"
    for name in tlnmf span; do
        cat >"$stage/$name" <<'END'
#!/bin/sh
# The program with the libraries it was carried with.
here=$(cd "$(dirname "$0")" && pwd)
exec "$here"/lib/ld-linux*.so.* --library-path "$here/lib" "$here/$(basename "$0").bin" "$@"
END
        chmod +x "$stage/$name"
    done
    [ -f "$stage/span.bin" ] || rm "$stage/span"
    tar czf "$target/all.tar.gz" -C "$stage" .
    cp "$here/cores.sh" "$target"
    du -sh "$target"
    echo "copy it; there: $target/cores.sh measure $target"
}

# One start on two cores, one of which another process keeps busy.
busy_core()
{
    command -v taskset >/dev/null || { echo "a busy core: no taskset, not measured"; return; }
    data=$(mktemp -d)
    "$1/tlnmf" simulate gcm -m 256 -n 1000 --kbar 10 -o "$data/x.npy" >/dev/null
    taskset -c 1 sh -c 'while :; do :; done' &
    other=$!
    trap 'kill $other 2>/dev/null; rm -rf "$data" "$folder"' EXIT
    for i in $(seq "$2"); do
        for t in 1 2; do
            begin=$(date +%s.%N)
            taskset -c 0,1 "$1/tlnmf" fit "$data/x.npy" -k 10 -J 40 --threads $t --no-model \
                >/dev/null 2>&1
            echo "$t $begin $(date +%s.%N)"
        done
    done | awk '{ s = $3 - $2; if (!($1 in least) || s < least[$1]) least[$1] = s }
        END { printf "%-34s  1: %.3f s  2: %.3f s  ratio %.2f\n", "one of two cores busy, 256 x 1000",
              least[1], least[2], least[1] / least[2] }'
    kill $other
}

measure()
{
    folder=$(mktemp -d)
    repeats=${2:-3}
    trap 'rm -rf "$folder"' EXIT
    tar xzf "$1/all.tar.gz" -C "$folder"
    date -u +%Y-%m-%d
    awk -F: '/model name/ { print "processors:" $2; exit }' /proc/cpuinfo
    nproc
    export PARTS="$folder/recording" OMP_WAIT_POLICY=passive
    # Bits at 1, 2, 3, 8 and 16 threads; ratios and ceilings of the last.
    CEILING=1 ROWS='64 starts|512|JD|separate' "$folder/scaling.sh" "$folder/tlnmf" "$repeats" 1 2 3 8 16
    CEILING=1 ROWS='one start, notes' "$folder/scaling.sh" "$folder/tlnmf" "$repeats" 1 2 3 16 8
    busy_core "$folder" "$repeats"
    [ ! -x "$folder/span" ] || {
        echo "work over its longest chain, separate:"
        out=$(mktemp -d)
        "$folder/span" separate "$PARTS/mix.flac" --labels "$PARTS/labels.txt" --threads 16 \
            -o "$out/stems" 2>&1 >/dev/null | sed -n '/^work/,$p'
        rm -rf "$out"
    }
    echo "targets: 64 starts 14, 512 x 2000 9, notes 3 (8 threads), JD 10, separate 8, busy core 1.0"
}

if [ $# -lt 2 ]; then
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
fi
what=$1
shift
case $what in
measure) measure "$@" ;;
carry) carry "$@" ;;
*) exit 2 ;;
esac
