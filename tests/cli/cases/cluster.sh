# The job script for one node: an interrupted run is requeued and then resumed.
mkdir tools
printf '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n' >tools/srun
printf '#!/bin/sh\necho "$@" >requeued\n' >tools/scontrol
chmod +x tools/srun tools/scontrol
tlnmf simulate gcm -s 2 -m 6 -n 40 -o job.npy >/dev/null
script=$(dirname "$2")/../../../examples/cluster/one_node.slurm
job() { PATH=$PWD/tools:$PATH SLURM_JOB_ID=7 sh "$script" "$@"; }
expect 0 ... ... job job.npy job.h5 -k 3 -J 5
check "a model" [ -f job.h5 ]
absent requeued
printf '#!/bin/sh\nexit 130\n' >tools/srun
expect 130 ... ... job job.npy job.h5 -k 3
check "requeued" [ "$(cat requeued)" = "requeue 7" ]

printf '#!/bin/sh\nshift 2\nexec "$@"\n' >tools/srun
expect 2 "" "tlnmf fit: missing required option -k (number of components)" job job.npy other.h5
absent other.h5

# The job script for several processes, with mpirun as srun, two processes and a smaller fit.
parallel=$(realpath "$(command -v tlnmf)")-mpi
expect 0 "" "" sh -n "${script%/*}/fit.slurm"
sed 's/ --split frames:8 / --split frames:2 /' "${script%/*}/fit.slurm" >fit.slurm
script=fit.slurm
check "groups of processes" grep -q -- '--split frames:2' fit.slurm
if [ -x "$parallel" ] && command -v mpirun >/dev/null; then
    cat >tools/srun <<'SH'
#!/bin/sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader ASAN_OPTIONS=detect_leaks=0
exec timeout 120 mpirun -n 2 "$@"
SH
    ln -s "$parallel" tools/tlnmf-mpi
    rm requeued
    expect 0 ... ... job job.npy several.h5 -k 2 --starts 2
    check "a model of several processes" [ -f several.h5 ]
    absent requeued
    printf '#!/bin/sh\necho "$@" >words\nexit 130\n' >tools/srun
    expect 130 ... ... job job.npy several.h5 -k 2 --starts 2
    check "requeued" [ "$(cat requeued)" = "requeue 7" ]
    check "the command" grep -q '^tlnmf-mpi fit job.npy .* --resume .* -o several.h5 -k 2 --starts 2$' words
else
    skip "fit.slurm (there is no MPI)"
fi
