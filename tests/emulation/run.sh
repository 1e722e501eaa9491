#!/bin/sh
# The GPU engine on the host: compiles cuda/ with this folder instead of CUDA to a libtlnmf_cuda.so,
# which the tests of the GPU load. This tests index arithmetic, sizes, strides, barriers and the order
# of operations, but not clusters of blocks (kernels_columns.cu) or races between concurrent threads.
# usage: run.sh build LIBTLNMF CC CXX FOLDER [FLAGS..]   LIBTLNMF: the static library; FLAGS: for linking
#        run.sh test LIBTLNMF CC CXX TESTS [FLAGS..]     TESTS: the folder of unit tests, of which this
#        runs a part. To run all, which takes minutes, put the FOLDER of build into LD_LIBRARY_PATH.
#        run.sh large ..                                 as test, but tests with more than 1000 rows
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
what=$1 library=$2 cc=$3 cxx=$4 folder=$5
shift 5

# Converts kernels to C++: kernel<<<blocks, THREADS, bytes, stream>>>(..); becomes a call.
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
    for file in "$root"/cuda/*.cu; do
        name=$(basename "$file" .cu)
        [ "$name" = kernels_columns ] || as_cpp "$file" >"$out/made/$name.cpp"
    done
    cp "$here/kernels_columns.cpp" "$out/made"
    for file in "$out"/made/*.cpp; do
        $cxx -std=c++17 -g -O1 -U_FORTIFY_SOURCE -fPIC -I "$here" -I "$root/src" -I "$root" -c "$file" \
            -o "${file%.cpp}.o"
    done
    $cc -std=gnu11 -g -O1 -fPIC -shared -I "$here" -I "$root/src" -I "$root" -I "$root/include" \
        "$root"/cuda/*.c "$out"/made/*.o "$library" "$@" -Wl,--exclude-libs,ALL \
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
if [ "$what" = large ]; then
    "$folder/unit_engine_device" 'steps_of_many*'
    "$folder/unit_engine_device" 'large_starts*'
    exit
fi
"$folder/unit_engine_operations" 'every_operation_matches*' 5 | tee "$work/log"
grep -q 'gpu: an emulated GPU' "$work/log" # otherwise all tests were skipped
"$folder/unit_engine_operations" 'every_operation_with*' 1
"$folder/unit_engine_operations" '*L_alone'
"$folder/unit_engine_operations" 'products_are_rounded*'
"$folder/unit_engine_operations" 'sweeps*' 3
"$folder/unit_engine_sums" '*gpu*'
"$folder/unit_engine_device" 'contexts_use*'
"$folder/unit_engine_device" 'too_large*'
"$folder/unit_engine_device" 'starts_that_do_not_fit*'
for test in 'the_gpu*' 'a_run*' 'a_separation*'; do
    "$folder/unit_sound_updates" "$test"
done

# Frames distributed over two processes, each with a GPU: the same C as with two CPUs.
tlnmf=$folder/../tlnmf
if [ ! -x "$tlnmf-mpi" ] || ! command -v mpirun >/dev/null; then
    echo "no MPI: skipped the test with two processes"
    exit
fi
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
"$tlnmf" simulate gcm -o "$work/y.npy" >/dev/null 2>&1
for device in gpu cpu; do
    timeout 100 mpirun --oversubscribe -np 2 "$tlnmf-mpi" fit "$work/y.npy" -k 5 --method tl --starts 1 \
        --hops 0 -J 30 --split frames --device $device -v --json -o "$work/$device.h5" \
        >"$work/$device.json" 2>"$work/$device.err"
done
grep 'device gpu: an emulated GPU' "$work/gpu.err"
sed -n 's/^ *"C": \([-0-9.e+]*\).*/\1/p' "$work/gpu.json" "$work/cpu.json" |
    awk '{ C[NR] = $1 } END { print C[1], C[2]; d = C[1] - C[2]; exit !(NR == 2 && d * d <= 1e-20 * C[2] * C[2]) }'
