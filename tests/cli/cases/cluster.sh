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
expect 130 ... ... job job.npy job.h5
check "requeued" [ "$(cat requeued)" = "requeue 7" ]
