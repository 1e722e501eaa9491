#!/bin/sh
# The GPU's engine on the host: src/cuda, compiled with what this folder has in the place of CUDA, is
# a libtlnmf_cuda.so that the tests of a GPU load and run. Index arithmetic, sizes, strides, barriers
# and the order of operations are tested; clusters of blocks (columns.cu) and what only threads that
# run at the same time can show are not.
# usage: run.sh build LIBTLNMF CC CXX FOLDER [FLAGS..]    the static library, compilers, how to link it
#        run.sh test LIBTLNMF CC CXX TESTS [FLAGS..]     the folder of unit tests; with the FOLDER of
#        build in LD_LIBRARY_PATH all of them can be run, which takes minutes
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
what=$1 library=$2 cc=$3 cxx=$4 folder=$5
shift 5

# Kernels as C++: kernel<<<blocks, THREADS, bytes, stream>>>(..); becomes a call.
as_cpp() {
    awk 'BEGIN { RS = ORS = ";" }
        match($0, /[ \n]*<<</) {
            head = substr($0, 1, RSTART - 1); tail = substr($0, RSTART)
            sub(/^[ \n]*<<</, "", tail)
            gsub(/[ \n]+/, " ", tail)
            match(head, /[A-Za-z_]+(<[A-Za-z0-9_]+>)?$/)
            kernel = substr(head, RSTART); head = substr(head, 1, RSTART - 1)
            sub(/, gpu->stream>>> ?\(/, ", [\\&] { " kernel "(", tail)
            $0 = head "emulator.launch(" tail "; })"
        }
        { print }' "$1" |
        sed -E 's/extern __shared__ double ([a-z]+)\[\];/double *\1 = emulator.shared.data();/
                s/asm\("cvt.rna.tf32.f32.*/return nearest_tf32(x);/
                /unsigned bits;|__uint_as_float/d
                $ s/;$//'
}

# The emulated library, in the folder.
build() { # FOLDER [FLAGS..]
    out=$1
    shift
    mkdir -p "$out/made"
    for file in "$root"/src/cuda/*.cu; do
        name=$(basename "$file" .cu)
        [ "$name" = columns ] || as_cpp "$file" >"$out/made/$name.cpp"
    done
    cp "$here/columns.cpp" "$out/made"
    for file in "$out"/made/*.cpp; do
        $cxx -std=c++17 -g -O1 -U_FORTIFY_SOURCE -fPIC -I "$here" -I "$root/src" -c "$file" \
            -o "${file%.cpp}.o"
    done
    $cc -std=gnu11 -g -O1 -fPIC -shared -I "$here" -I "$root/src" -I "$root/include" \
        "$root"/src/cuda/*.c "$out"/made/*.o "$library" "$@" -Wl,--exclude-libs,ALL \
        -Wl,-z,defs -o "$out/libtlnmf_cuda.so"
}

if [ "$what" = build ]; then
    build "$folder" "$@"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build "$work" "$@"
LD_LIBRARY_PATH=$work:${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH
"$folder/unit_engine_operations" 'every_operation_is*' 5 | tee "$work/log"
grep -q 'gpu: an emulated GPU' "$work/log" # else all was skipped
"$folder/unit_engine_operations" 'every_operation_with*' 1
"$folder/unit_engine_operations" 'every_operation_in*' 4
"$folder/unit_engine_device" 'steps_of_many*'
"$folder/unit_engine_device" 'large_starts*'
"$folder/unit_engine_operations" '*L_alone'
"$folder/unit_engine_operations" rough_is_rough
"$folder/unit_engine_operations" 'sweeps*' 3
"$folder/unit_engine_panels"
for test in 'the_gpu*' 'a_run*' 'a_separation*'; do
    "$folder/unit_separate_updates" "$test"
done
