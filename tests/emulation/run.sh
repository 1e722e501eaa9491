#!/bin/sh
# The GPU's updates on the host: src/cuda/updates.c and its kernels, compiled with what this folder has
# in the place of CUDA, run the tests of updates that a GPU would run, whole separations included.
# Index arithmetic, sizes, strides and the order of operations are tested; what only threads of a GPU
# can show is not.
# usage: run.sh LIBTLNMF CC CXX [FLAGS..]      the static library, compilers and how to link it
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
library=$1 cc=$2 cxx=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/cuda"
cp "$root/src/cuda/kernels.h" "$work/cuda"
sed 's/THREADS = 256;/THREADS = 1;/' "$root/src/cuda/reduce.cuh" >"$work/cuda/reduce.cuh"

# A launch, kernel<<<blocks, THREADS, 0, stream>>>(..), as a call; statements are put on one line
# before.
launches() {
    awk '{ line = line == "" ? $0 : line " " $0
           if (line ~ /<<</ && line !~ /;$/) next
           print line; line = "" }' "$1" |
        sed -E 's/([a-z_]+)<<<(.*), *THREADS, 0, gpu->stream>>> *\( */launch(\2, \1, /'
}
for file in updates spectra; do launches "$root/src/cuda/$file.cu" >"$work/$file.cpp"; done
{ # of the other kernels, the one that updates share
    echo '#include "cuda/reduce.cuh"'
    launches "$root/src/cuda/entries.cu" | sed -n '/__global__ void scale(/,/^\/\* One block/p' |
        sed '$d'
} >"$work/entries.cpp"
for file in updates spectra entries; do
    $cxx -std=c++17 -g -O1 -I "$here" -I "$work" -c "$work/$file.cpp" -o "$work/$file.o"
done
$cc -std=gnu11 -g -O1 -DTEST_EMULATED -I "$here" -I "$root/src" -I "$root/include" -I "$root/tests" \
    "$root/src/cuda/updates.c" "$root/src/cuda/spectra.c" \
    "$root/tests/unit/separate/test_updates.c" "$work/updates.o" "$work/spectra.o" \
    "$work/entries.o" "$library" "$@" -o "$work/test"
for test in 'the_gpu*' 'a_run*' 'a_separation*'; do
    "$work/test" "$test"
done
