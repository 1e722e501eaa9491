# Checkpoints: a run that was killed goes on, and ends in the same bytes as one that was not.
export SOURCE_DATE_EPOCH=1 # no clocks in models
set -m # background jobs shall take SIGQUIT
tlnmf simulate gcm --s 3 --m 12 --n 40 -o y.npy

# Runs the command with checkpoints wherever it can, until there is one, and sends the signal.
begin() # SIGNAL CHECKPOINT COMMAND...
{
    local signal=$1 checkpoint=$2
    shift 2
    "$@" --every 0 >"$out" 2>"$err" &
    pid=$!
    for _ in $(seq 600); do
        [ ! -e "$checkpoint" ] || break
        sleep 0.05
    done
    kill -"$signal" $pid 2>/dev/null
    code=0
    wait $pid 2>/dev/null || code=$?
}

one="tlnmf fit y.npy -k 3 --method tl --solver paper -J 1500 --tol 0 -q"
many="tlnmf fit y.npy -k 3 --starts 12 -J 150 -q --json"
jd="tlnmf jd y.npy --input data --starts 40 -q"
traced="tlnmf fit y.npy -k 3 --method tl --starts 8 -J 150 --trace all -q" # rows of starts that had ended, too
for command in one many jd traced; do
    expect 0 ... "" ${!command} -o $command.h5
    mv $command.h5 $command.whole.h5
    for signal in KILL QUIT TERM HUP; do
        begin $signal $command.h5.checkpoint ${!command} -o $command.h5
        case $signal in
        KILL) check "$command: SIG$signal ended it" [ $code -eq 137 ] ;;
        QUIT) check "$command: SIG$signal ended it" [ $code -eq 131 ] ;;
        *) check "$command: SIG$signal ended it" [ $code -eq 130 ] ;;
        esac
        check "$command: SIG$signal leaves a checkpoint" [ -s $command.h5.checkpoint ]
        absent $command.h5
        expect 0 ... "" ${!command} --resume -o $command.h5
        check "$command: after SIG$signal the same bytes" cmp $command.h5 $command.whole.h5
        check "$command: nothing else is left" [ "$(ls -A | grep -c "^\.\|checkpoint")" -eq 0 ]
        rm -f $command.h5 $command.partial*.h5
    done
done

# Several k: killed while they are compared, and in the fit that follows.
several="tlnmf fit y.npy -k 2:3 --starts 12 -J 150 -q"
expect 0 ... "" $several -o several.h5
cp "$out" several.txt
mv several.h5 several.whole.h5
for at in several.h5.checkpoint.k several.h5.checkpoint; do
    for signal in KILL TERM; do
        begin $signal $at $several -o several.h5
        check "several k: SIG$signal ended it" [ $code -eq $([ $signal = KILL ] && echo 137 || echo 130) ]
        check "SIG$signal leaves a checkpoint of the comparison" [ -s several.h5.checkpoint.k ]
        absent several.h5
        expect 5 "" ... $several -o several.h5
        check "which is not replaced" grep -q "a checkpoint of an earlier run; --resume goes on from it" "$err"
        expect 0 "$(cat several.txt)" "" $several --resume -o several.h5
        check "several k: after SIG$signal the same bytes" cmp several.h5 several.whole.h5
        check "several k: nothing else is left" [ "$(ls -A | grep -c "^\.\|checkpoint")" -eq 0 ]
        rm -f several.h5 several.partial*.h5
    done
done
begin KILL several.h5.checkpoint.k $several -o several.h5
expect 3 "" "tlnmf fit: the checkpoint is of high = 3, this run of 4" ${several/2:3/2:4} -o several.h5 --resume
expect 3 "" "tlnmf fit: the checkpoint is of option.seed = 1, this run of 5" $several --seed 5 -o several.h5 --resume
rm several.h5.checkpoint.k

# --eps-check fits again without checkpoints of its own.
checked="tlnmf fit y.npy -k 3 --method tl --solver paper -J 300 --tol 0 --eps-check -q"
expect 0 ... "" $checked -o check.h5
mv check.h5 check.whole.h5
begin KILL check.h5.checkpoint $checked -o check.h5
expect 0 ... "" $checked --resume -o check.h5
check "with --eps-check the same bytes" cmp check.h5 check.whole.h5

# What does not fit is refused, and the field is named; the checkpoint stays.
begin KILL many.h5.checkpoint $many -o many.h5
fit="tlnmf fit y.npy --starts 12 -J 150 -q --json -o many.h5"
expect 3 "" "tlnmf fit: the checkpoint is of option.k = 3, this run of 2" $fit -k 2 --resume
expect 3 "" "tlnmf fit: the checkpoint is of option.seed = 1, this run of 5" $fit -k 3 --seed 5 --resume
tlnmf simulate gcm --s 3 --m 12 --n 40 --seed-data 9 -o other.npy
expect 3 "" "tlnmf fit: the checkpoint is of other data" tlnmf fit other.npy -k 3 --starts 12 -J 150 \
    -q -o many.h5 --resume
expect 5 "" "tlnmf fit: many.h5.checkpoint: a checkpoint of an earlier run; --resume goes on from it, --force begins anew" \
    $fit -k 3
cp many.h5.checkpoint whole
size=$(stat -c %s whole)
for cut in 0 7 100 $((size / 2)) $((size - 1)); do
    head -c $cut whole >many.h5.checkpoint
    expect 3 "" "tlnmf fit: many.h5.checkpoint: no record, or damaged or cut short" $fit -k 3 --resume
done
head -c $((size / 2)) whole >flipped
printf x >>flipped
tail -c +$((size / 2 + 2)) whole >>flipped
expect 3 "" "tlnmf fit: flipped: no record, or damaged or cut short" $fit -k 3 --resume --checkpoint flipped
mv whole elsewhere
rm many.h5.checkpoint
expect 0 ... "" $many --resume --checkpoint elsewhere -o many.h5
check "from a checkpoint elsewhere" cmp many.h5 many.whole.h5
absent elsewhere
rm many.h5

# No checkpoint yet; no place for one; one that cannot be written is no reason to end.
expect 0 ... "tlnmf fit: many.h5.checkpoint: no checkpoint yet, the run begins anew" \
    tlnmf fit y.npy -k 3 --starts 12 -J 150 --json -o many.h5 --resume
check "begun anew" cmp many.h5 many.whole.h5
usage fit "--checkpoint FILE is needed: where to" y.npy -k 3 --no-model --resume
usage fit "y.npy: this output would replace an input" y.npy -k 3 --checkpoint y.npy --force -o z.h5
expect 0 ... "tlnmf fit: warning: no checkpoint: /dev/full: cannot write: No space left on device" \
    tlnmf fit y.npy -k 3 -J 50 --json --checkpoint /dev/full --force --every 0 -o full.h5
check "a device is never removed" [ -c /dev/full ]

# A separation keeps its finished candidates, then what it has learnt.
tlnmf simulate notes --signal s.wav --s 1
printf '0\t1\tlow\n1\t2\thigh\n2\t3\tlow\n2\t3\thigh\n' >l.txt
separate="tlnmf separate s.wav --labels l.txt --frame 100 -q -o st"
expect 0 ... "" $separate
mv st whole
begin KILL st.checkpoint $separate
expect 3 "" "tlnmf separate: s.wav: the checkpoint is of option.seed = 1, this run of 4" $separate --seed 4 --resume
expect 0 ... "" $separate --resume
check "separate: the same bytes" diff -r st whole
check "separate: nothing else is left" [ "$(ls -A | grep -c "^\.\|checkpoint")" -eq 0 ]

# Then the blocks of stems that are finished: most of the time of a long recording. A run that goes on
# may be killed again. With --gain safe the stems are made twice.
noise_wav 240000 n.wav
stems() # SIZE SIGNAL OPTION...: the signal, when there are blocks, and the checkpoint has more than SIZE bytes
{
    local more=$1 signal=$2
    shift 2
    $blocks --every 0 "$@" >"$out" 2>"$err" &
    pid=$!
    for _ in $(seq 3000); do
        ! grep -qs stems.kind st.checkpoint || [ "$(stat -c %s st.checkpoint)" -le "$more" ] || break
        sleep 0.01
    done
    kill -"$signal" $pid 2>/dev/null
    code=0
    wait $pid 2>/dev/null || code=$?
}
rm -rf whole st
for blocks in "" "--gain safe --format flac"; do
    blocks="tlnmf separate n.wav -k 2 --method nmf --transform dct --per-source 1 --frame 200 --learn-frames 100 -q -o st $blocks"
    expect 0 ... "" $blocks
    mv st whole
    stems 0 KILL
    check "stems: SIGKILL ended it" [ $code -eq 137 ]
    check "stems: only what is hidden is there" [ "$(ls st | wc -l)" -eq 0 ]
    expect 3 "" "tlnmf separate: n.wav: the checkpoint is of option.residual = 0, this run of 1" $blocks --resume --residual
    expect 3 "" "tlnmf separate: the checkpoint is of seed = 1, this run of 4" $blocks --resume --seed 4
    expect 5 "" "tlnmf separate: st.checkpoint: a checkpoint of an earlier run; --resume goes on from it, --force begins anew" $blocks
    size=$(stat -c %s st.checkpoint)
    stems "$size" KILL --resume
    check "stems: SIGKILL ended it again" [ $code -eq 137 ]
    check "stems: the checkpoint has grown" [ "$(stat -c %s st.checkpoint)" -gt "$size" ]
    cp whole/source_1.* st # as if it had been killed while it puts files in place
    expect 0 ... "" $blocks --resume
    check "stems: the same bytes" diff -r st whole
    check "stems: nothing else is left" [ "$(ls -A . st | grep -c "^\.[a-z]\|checkpoint")" -eq 0 ]
    rm -r st
    stems 0 TERM
    check "stems: SIGTERM ended it" [ $code -eq 130 ]
    stems "$(stat -c %s st.checkpoint)" TERM --resume
    check "stems: one that has gone on is stopped in the same way" [ $code -eq 130 ]
    absent st
    expect 0 ... "" $blocks --resume
    check "stems: the same bytes after SIGTERM" diff -r st whole
    stems 0 KILL --force
    expect 0 ... "" $blocks --force
    check "stems: begun anew" diff -r st whole
    check "stems: no checkpoint" [ "$(ls -A . st | grep -c "^\.[a-z]\|checkpoint")" -eq 0 ]
    rm -r st whole
done
