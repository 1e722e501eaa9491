#!/usr/bin/env bash
# Each write, sync, reservation and rename of every command that writes files fails in turn: exit code 5
# and a message with the path; old outputs, inputs and the folder are unchanged. Stems are also
# published while the program is killed or the disk stays broken.
#   tests/fault/disk.sh SHIM PROGRAM [EVERY]
# EVERY above 1: only every EVERY-th call between the first six and the last twelve of a command, and
# one kind of error per call. Otherwise all calls and all kinds.
set -u
shim=$(realpath -e -- "$1") && program=$(realpath -e -- "$2") || exit 2
every=${3:-1}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export SOURCE_DATE_EPOCH=1 LC_ALL=C OMP_WAIT_POLICY=passive
mkdir in out
"$program" simulate gcm --s 2 --m 6 --n 20 -o in/y.npy >/dev/null &&
    "$program" simulate notes --signal in/s.wav -o in/n.npy >/dev/null &&
    "$program" fit in/y.npy -k 2 -J 9 -q -o in/m.h5 >/dev/null &&
    "$program" separate in/s.wav -k 2 --method nmf --transform dct --frame 100 -q -o in/st >/dev/null || exit 2

names=(fit npz jd apply simulate stems separate kept)
declare -A commands=(
    [fit]="fit in/y.npy -k 2 -J 9 -q -o out/a.h5 --force"
    [npz]="fit in/y.npy -k 2 -J 9 -q -o out/a.npz --force"
    [jd]="jd in/y.npy --input data -J 9 -q -o out/a.mat --force"
    [apply]="apply in/m.h5 in/y.npy -q -o out/a.h5 --force"
    [simulate]="simulate gcm --m 4 --n 9 -o out/a.npy --force"
    [stems]="apply in/st/model.h5 in/s.wav -q -o out --force"
    [kept]="fit in/y.npy -k 2 -J 3 -q -o out/a.h5 --force --checkpoint out/kept --every 0"
    [separate]="separate in/s.wav -k 2 --method nmf --transform dct --frame 100 --activations labels -q -o out --force --checkpoint out/kept --every 0")

# Creates old outputs with all names that a command writes.
restore()
{
    rm -rf out
    mkdir out
    local name
    for name in a.h5 a.npz a.mat a.npy source_1.wav source_2.wav model.h5 summary.json activations.txt; do
        echo "old $name" >out/$name
    done
}

# Ignores checkpoints, which --resume checks below.
state()
{
    find in out -type f ! -name kept -print0 | sort -z | xargs -0 cksum
    find out ! -name kept | sort
}

faulty() # NUMBER ERROR COMMAND...
{
    local number=$1 error=$2
    shift 2
    FAULT_DIR=$work/out FAULT_AT=$number FAULT_ERROR=$error FAULT_COUNT=$work/count LD_PRELOAD=$shim \
        timeout 60 "$program" "$@" >stdout 2>stderr
}

points=0 bad=0
complain() # TEXT
{
    echo "$1"
    head -n 3 stderr
    bad=$((bad + 1))
}

restore
before=$(state)
for name in "${names[@]}"; do
    rm -f count
    faulty 0 EIO ${commands[$name]} || complain "$name fails without a fault"
    calls=$(sort -n count | tail -n 1)
    [ "$calls" -ge 2 ] || complain "$name: only $calls calls"
    for ((n = 1; n <= calls; n += n > 6 && n + every <= calls - 12 ? every : 1)); do
        kinds=(ENOSPC EIO EDQUOT)
        [ "$every" -eq 1 ] || kinds=("${kinds[n % 3]}")
        for error in "${kinds[@]}"; do
            restore
            code=0
            faulty $n $error ${commands[$name]} || code=$?
            points=$((points + 1))
            case $code in
            5)
                grep -q 'out' stderr || complain "$name, $error at call $n: the message names no path"
                [ "$(state)" = "$before" ] || grep -q 'the page could not be written' stderr || complain "$name, $error at call $n: files have changed"
                [ ! -e out/kept ] || "$program" ${commands[$name]} --resume >stdout 2>stderr || complain "$name, $error at call $n: the checkpoint cannot be resumed"
                ;;
            0) ;; # an unsupported reservation, or a sync of something that is not a file
            *) complain "$name, $error at call $n: exit code $code" ;;
            esac
        done
    done
    for ((n = 1; n <= calls; n += every)); do # a short write is continued
        restore
        points=$((points + 1))
        faulty $n SHORT ${commands[$name]} || complain "$name, short write at call $n: exit code $?"
    done
    restore
done

# Killed at each call, or each later call fails: a folder with a summary is complete, old or new. The
# next run restores the old files and removes new ones, and needs --force for old ones only.
stems="apply in/st/model.h5 in/s.wav -q -o out"
rm -f count
restore
faulty 0 EIO $stems --force
calls=$(sort -n count | tail -n 1)
new=$(state)
rm -rf out
"$program" $stems >stdout 2>stderr
fresh=$(state)
folder() # the files without the staging folder
{
    state | grep -v 'out/.tlnmf-part'
}
for how in KILL BROKEN; do
    for ((n = 1; n <= calls; n += n + every <= calls - 24 ? every : 1)); do # the last ones publish
        restore
        points=$((points + 1)) code=0
        faulty $n $how $stems --force 2>/dev/null || code=$?
        [ ! -e out/summary.json ] || [ "$(folder)" = "$before" ] || [ "$(folder)" = "$new" ] || complain "$how at call $n: a summary of other files"
        code=0
        "$program" $stems >stdout 2>stderr || code=$?
        [ $code -eq 5 ] && grep -q 'not empty; --force' stderr || complain "$how at call $n: the next run: exit code $code"
        [ "$(state)" = "$before" ] || [ "$(state)" = "$new" ] || complain "$how at call $n: the old files are not restored"
        rm -rf out
        points=$((points + 1)) code=0
        faulty $n $how $stems 2>/dev/null || code=$?
        complete=$([ -e out/summary.json ] && echo 5)
        code=0
        "$program" $stems >stdout 2>stderr || code=$?
        [ $code -eq ${complete:-0} ] || complain "$how at call $n: the next run into the new folder: exit code $code"
        [ "$(state)" = "$fresh" ] || complain "$how at call $n: the new folder differs"
    done
done

echo "faulty disk: $((points - bad)) of $points"
[ $bad -eq 0 ]
