#!/usr/bin/env bash
# One of several processes runs out of memory: one of many allocations fails, or its address space is
# limited. All end soon with one message and one exit code, and no incomplete file remains.
# usage: memory.sh SHIM TLNMF TLNMF_MPI [PLACES]
set -u
if [ $# -lt 3 ] || ! command -v mpirun >/dev/null; then
    echo "no MPI: tlnmf-mpi is not tested"
    exit 77
fi
shim=$1 tlnmf=$2 parallel=$3 places=${4:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export SOURCE_DATE_EPOCH=1 OMP_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_odls_base_sigkill_timeout=0

failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# Runs the program; process $SHORT_RANK runs out of memory.
cat >short.sh <<'SH'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
if [ "$rank" = "$SHORT_RANK" ]; then
    [ -z "${SHORT_KB:-}" ] || ulimit -v "$SHORT_KB" || exit 9
    [ -z "${SHORT_SHIM:-}" ] || export LD_PRELOAD="$SHORT_SHIM"
fi
exec "$@"
SH
chmod +x short.sh

# All ended with the same code: 1 and one message about memory, or 0 if the program can continue without
# the allocation.
judge() { # what was short, exit code
    local words
    words=$(grep -c '^tlnmf' stderr)
    if [ "$2" = 0 ]; then
        [ -e model.h5 ] || fail "$1: no model"
    elif [ "$2" != 1 ]; then
        fail "$1: exit code $2: $(head -3 stderr)"
    elif [ "$words" != 1 ] || ! grep -qE '^tlnmf.*(memory|address space)' stderr; then
        fail "$1: not exactly one message about memory: $(head -5 stderr)"
    fi
    [ "$2" = 0 ] || [ ! -e model.h5 ] || fail "$1: a model in spite of the failure"
    [ -z "$(find . -name '.model*')" ] || fail "$1: left $(find . -name '.model*')"
    rm -f model.h5* .model*
}

"$tlnmf" simulate gcm --s 3 --m 6 --n 40 --kbar 2 -o data.npy >/dev/null
# mpirun 4.1 may answer a process that it has just killed while it was connecting. It then dies of
# SIGPIPE, unless this is ignored (its processes get the default again), or hangs in
# PMIx_server_finalize, after it has told the exit code.
fit() { # way to split
    local code told
    (trap '' PIPE && exec timeout -k 5 60 mpirun -n 3 ./short.sh "$parallel" fit data.npy -k 2 \
        --starts 3 --hops 0 -J 8 --split "$1" -o model.h5 -q >/dev/null 2>stderr)
    code=$?
    told=$(sed -n 's/^ *Exit code: *//p' stderr | head -1)
    [ $code -lt 124 ] || code=${told:-$code}
    return "$code"
}

for split in frames starts; do
    for rank in 0 1; do
        export SHORT_RANK=$rank SHORT_SHIM=$shim
        ALLOC_COUNT=$folder/count fit "$split" || fail "$split: $(cat stderr)"
        rm -f model.h5
        count=$(cat count)
        for ((i = 1; i <= places; i++)); do # evenly: the first and the last among them
            at=$((1 + (count - 1) * (i - 1) / (places - 1)))
            ALLOC_AT=$at fit "$split"
            judge "$split: allocation $at of $count on process $rank" $?
        done
    done
done

# Limits on the address space: not enough for the libraries, not enough for the fit.
unset SHORT_SHIM
"$tlnmf" simulate gcm --s 1 --m 64 --n 30000 --kbar 2 -o data.npy --force >/dev/null
export SHORT_RANK=1
for SHORT_KB in 450000 560000; do
    export SHORT_KB
    fit frames
    code=$?
    [ $code = 1 ] || fail "$SHORT_KB kB of address space: exit code $code"
    judge "$SHORT_KB kB of address space" $code
done

[ $failures = 0 ] || exit 1
echo "mpi: all processes end if one has no memory"
