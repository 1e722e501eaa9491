# Checkpoints: a killed run that is resumed writes the same bytes as an uninterrupted run.
export SOURCE_DATE_EPOCH=1 # no times in models
set -m # so that background jobs receive SIGQUIT
tlnmf simulate gcm --s 3 --m 12 --n 40 -o y.npy

# Runs the command until a checkpoint exists, then sends the signal.
begin() # SIGNAL CHECKPOINT COMMAND...
{
    local signal=$1 checkpoint=$2
    shift 2
    "$@" --every 0 >"$out" 2>"$err" &
    pid=$!
    for _ in $(seq 3000); do
        [ ! -e "$checkpoint" ] || break
        sleep 0.01
    done
    kill -"$signal" $pid 2>/dev/null
    code=0
    wait $pid 2>/dev/null || code=$?
}

paper="--solver paper -J 80 --tol 0"
many="tlnmf fit y.npy -k 3 --starts 24 $paper --exchange -q --json"
jd="tlnmf jd y.npy --input data --starts 1000 -q"
traced="tlnmf fit y.npy -k 3 --method tl --starts 24 $paper --trace-all -q" # also rows of finished starts
for command in many jd traced; do
    expect 0 ... "" ${!command} -o $command.h5
    mv $command.h5 $command.whole.h5
    for signal in KILL $([ $command != many ] || echo QUIT TERM HUP); do
        begin $signal $command.h5.checkpoint ${!command} -o $command.h5
        case $signal in
        KILL) check "$command: SIG$signal ended it" [ $code -eq 137 ] ;;
        QUIT) check "$command: SIG$signal ended it" [ $code -eq 131 ] ;;
        *) check "$command: SIG$signal ended it" [ $code -eq 130 ] ;;
        esac
        check "$command: SIG$signal leaves a checkpoint" [ -s $command.h5.checkpoint ]
        absent $command.h5
        if [ $command-$signal = many-KILL ]; then
            expect 3 "" "tlnmf info: many.h5.checkpoint: a checkpoint, which only --resume reads" \
                tlnmf info many.h5.checkpoint
            cp many.h5.checkpoint told.checkpoint
            expect 0 ... ... ${many/-q/} --resume --checkpoint told.checkpoint -o told.h5
            told="resumed from told.checkpoint: [1-9][0-9]* finished runs\?"
            check "the program says what it has resumed" [ "$(grep -c "$told" "$err")" -eq 1 ]
            rm told.h5
        fi
        expect 0 ... "" ${!command} --resume -o $command.h5
        check "$command: after SIG$signal the same bytes" cmp $command.h5 $command.whole.h5
        check "$command: nothing else remains" [ "$(ls -A | grep -c "^\.\|checkpoint")" -eq 0 ]
        rm -f $command.h5 $command.partial*.h5
    done
done

# Several k: killed while they are compared.
several="tlnmf fit y.npy -k 2:3 --starts 12 $paper -q"
expect 0 ... "" $several -o several.h5
cp "$out" several.txt
mv several.h5 several.whole.h5
for signal in KILL TERM; do
    begin $signal several.h5.checkpoint $several -o several.h5
    check "several k: SIG$signal ended it" [ $code -eq $([ $signal = KILL ] && echo 137 || echo 130) ]
    check "SIG$signal leaves a checkpoint" [ -s several.h5.checkpoint ]
    absent several.h5
    expect 5 "" ... $several -o several.h5
    check "the checkpoint is not replaced" grep -q "a checkpoint of an earlier run; --resume continues it" "$err"
    expect 0 "$(cat several.txt)" "" $several --resume -o several.h5
    check "several k: after SIG$signal the same bytes" cmp several.h5 several.whole.h5
    check "several k: nothing else remains" [ "$(ls -A | grep -c "^\.\|checkpoint")" -eq 0 ]
    rm -f several.h5 several.partial*.h5
done
begin KILL several.h5.checkpoint $several -o several.h5
expect 3 "" "tlnmf fit: the checkpoint has high=3, but this run has high=4" ${several/2:3/2:4} -o several.h5 --resume
expect 3 "" "tlnmf fit: the checkpoint has seed=1, but this run has seed=5" $several --seed 5 -o several.h5 --resume
rm several.h5.checkpoint

# --eps-check: the starts of its fits are units of the checkpoint as well.
checked="tlnmf fit y.npy -k 3 --method tl --starts 24 $paper --eps-check -q"
expect 0 ... "" $checked -o check.h5
mv check.h5 check.whole.h5
begin KILL check.h5.checkpoint $checked -o check.h5
expect 0 ... "" $checked --resume -o check.h5
check "with --eps-check the same bytes" cmp check.h5 check.whole.h5

# More iterations, starts or seconds: units that they do not affect are kept.
more="tlnmf fit y.npy -k 3 --starts 30 --solver paper -J 90 --tol 0 --exchange -q"
expect 0 ... "" $more -o more.h5
mv more.h5 more.whole.h5
begin KILL many.h5.checkpoint $many -o many.h5
cp many.h5.checkpoint more.h5.checkpoint
expect 0 ... "" $more --resume -o more.h5
check "more starts, a larger J" cmp more.h5 more.whole.h5
expect 0 ... "" $many --max-seconds 1000 --resume -o many.h5
check "more time" [ -s many.h5 ]
rm many.h5

# The time limit ended it: a checkpoint that was asked for stays, and a longer run continues.
limited="tlnmf fit y.npy -k 3 $paper -q -o limited.h5 --checkpoint limited.checkpoint"
expect 0 ... "" $limited --starts 24 --max-seconds 1000
mv limited.h5 limited.whole.h5
expect 0 ... ... $limited --starts 20000 --max-seconds 0.5
check "the time limit ended it" grep -q "time" "$out"
check "its checkpoint stays" [ -s limited.checkpoint ]
expect 0 ... "" $limited --starts 24 --max-seconds 1000 --resume --force
check "a longer run continues" cmp limited.h5 limited.whole.h5
absent limited.checkpoint

# A checkpoint of another run is refused with the name of the option; it is not removed.
begin KILL many.h5.checkpoint $many -o many.h5
fit="tlnmf fit y.npy --starts 24 $paper --exchange -q --json -o many.h5"
expect 3 "" "tlnmf fit: the checkpoint has k=3, but this run has k=2" $fit -k 2 --resume
expect 3 "" "tlnmf fit: the checkpoint has seed=1, but this run has seed=5" $fit -k 3 --seed 5 --resume
tlnmf simulate gcm --s 3 --m 12 --n 40 --seed-data 9 -o other.npy
expect 3 "" ... tlnmf fit other.npy -k 3 --starts 24 $paper --exchange -q -o many.h5 --resume
check "other data" grep -q "the checkpoint has eps=" "$err"
expect 5 "" "tlnmf fit: many.h5.checkpoint: a checkpoint of an earlier run; --resume continues it, --force starts anew" \
    $fit -k 3

# Nothing else is replaced or removed, and links are not followed.
cp many.h5.checkpoint whole
mv many.h5.checkpoint target
ln -s target many.h5.checkpoint
for how in --resume --force; do
    expect 5 "" "tlnmf fit: many.h5.checkpoint: a checkpoint must be a regular file, not a link" $fit -k 3 $how
done
check "a link stays" [ -L many.h5.checkpoint -a -s target ]
rm many.h5.checkpoint target
echo mine >notes
expect 5 "" "tlnmf fit: notes: not a checkpoint; it is not replaced" $fit -k 3 --force --checkpoint notes
expect 3 "" "tlnmf fit: notes: not a record, or damaged or cut short" $fit -k 3 --resume --checkpoint notes
check "another file stays" [ "$(cat notes)" = mine ]
cp whole many.h5.checkpoint
size=$(stat -c %s whole)
for cut in 0 7 100 $((size / 2)) $((size - 1)); do
    head -c $cut whole >many.h5.checkpoint
    expect 3 "" "tlnmf fit: many.h5.checkpoint: not a record, or damaged or cut short" $fit -k 3 --resume
done
head -c $((size / 2)) whole >flipped
printf x >>flipped
tail -c +$((size / 2 + 2)) whole >>flipped
expect 3 "" "tlnmf fit: flipped: not a record, or damaged or cut short" $fit -k 3 --resume --checkpoint flipped
mv whole elsewhere
rm many.h5.checkpoint flipped
expect 0 ... "" $many --resume --checkpoint elsewhere -o many.h5
check "from a checkpoint elsewhere" cmp many.h5 many.whole.h5
absent elsewhere
rm many.h5

# A file that takes the name of the checkpoint during the run is not replaced.
tlnmf fit y.npy -k 3 --starts 20000 $paper --checkpoint taken --every 1000 -o taken.h5 >"$out" 2>"$err" &
pid=$!
sleep 0.5
echo mine >taken
kill -TERM $pid
wait $pid 2>/dev/null || true
check "a file of that name stays" [ "$(cat taken)" = mine ]
check "the run says so" grep -q "no checkpoint: taken: the file appeared or changed during the run; it is not replaced" "$err"

# A link in place of the checkpoint, which may have its inode
echo mine >precious
tlnmf fit y.npy -k 3 --starts 20000 $paper --checkpoint swapped --every 0.01 -o swapped.h5 >"$out" 2>"$err" &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -s swapped ]; do sleep 0.01; done
rm swapped && ln -s precious swapped
sleep 0.3
kill -TERM $pid
wait $pid 2>/dev/null || true
check "a link is not followed" [ "$(cat precious)" = mine -a -L swapped ]
rm -f swapped precious

# No checkpoint yet; no name for one; a run does not end if its checkpoint cannot be written.
expect 0 ... "tlnmf fit: many.h5.checkpoint: no checkpoint yet, the run begins anew" \
    tlnmf fit y.npy -k 3 --starts 24 $paper --exchange --json -o many.h5 --resume
check "started anew" cmp many.h5 many.whole.h5
usage fit "missing required option --checkpoint FILE or -o FILE" y.npy -k 3 --no-model --resume
usage fit "the input and the checkpoint are the same file: y.npy" y.npy -k 3 --checkpoint y.npy --force -o z.h5
(ulimit -f 0 && exec tlnmf fit y.npy -k 3 --starts 24 $paper --no-model --checkpoint full --every 0 2>&1) | cat >"$out"
check "a run without room for its checkpoint ends well" [ ${PIPESTATUS[0]} -eq 0 ]
check "it warns" grep -q "^tlnmf fit: warning: no checkpoint: full: cannot write: File too large$" "$out"
# A checkpoint on standard output would be mixed with the model; a device keeps nothing.
for name in - ""; do
    usage fit "--checkpoint needs the name of a file, not \"$name\"" y.npy -k 3 -o z.h5 --checkpoint "$name"
done
for force in "" --force; do
    expect 5 "" "tlnmf fit: /dev/null: a checkpoint must be a regular file, not a device" \
        tlnmf fit y.npy -k 3 --checkpoint /dev/null $force -o z.h5
done

# A separation keeps its finished candidates; stems are computed again.
tlnmf simulate notes --signal s.wav --s 1
printf '0\t1\tlow\n1\t2\thigh\n2\t3\tlow\n2\t3\thigh\n' >l.txt
separate="tlnmf separate s.wav --labels l.txt --frame 100 -q -o st"
expect 0 ... "" $separate
mv st whole_stems
begin KILL st.checkpoint $separate
expect 3 "" "tlnmf separate: s.wav: the checkpoint has seed=1, but this run has seed=4" $separate --seed 4 --resume
expect 0 ... "" $separate --resume
check "separate: the same bytes" diff -r st whole_stems
check "separate: nothing else remains" [ "$(ls -A | grep -c "^\.\|checkpoint")" -eq 0 ]
rm -r st
begin KILL st/kept $separate --checkpoint st/kept
expect 0 ... "" $separate --checkpoint st/kept --resume
check "a checkpoint in the folder" diff -r st whole_stems

# Without labels, candidates depend on the number of starts.
blind="tlnmf separate s.wav -k 2 --frame 100 -q -o blind"
expect 0 ... "" $blind --starts 3
mv blind whole_blind
begin KILL blind.checkpoint $blind --starts 2
expect 0 ... "" $blind --starts 3 --resume
check "separate with more starts: the same bytes" diff -r blind whole_blind

# A start that has run long saves its iterate, and continues from it.
tlnmf simulate gcm --s 3 --m 40 --n 300 -o long.npy
long="tlnmf fit long.npy -k 5 --method tl --solver paper -J 1500 --tol 0 --trace -q --iterate-after 0.2 -o long.h5"
begin KILL long.h5.checkpoint $long
check "the long start: SIGKILL ended it" [ $code -eq 137 ]
check "its iterate is saved" [ -s long.h5.checkpoint ]
cp long.h5.checkpoint again.checkpoint
expect 0 ... "" $long --every 0.1 --resume
check "the summary says that it continued" grep -q "continued from a saved iterate" "$out"
absent long.h5.checkpoint
expect 0 ... "" $long --every 0.1 --resume --checkpoint again.checkpoint --force --json
check "and --json" [ "$(json continued)" = 1 ]
check "C is not above the C of an iterate" awk '/"C":/ { sub(",", "", $2); C[n++] = $2 + 0 }
    END { for (i = 1; i < n; i++) if (C[0] > C[i] * (1 + 1e-12)) exit 1; exit n < 1500 }' "$out"
