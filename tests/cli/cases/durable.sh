# Nothing is lost: new outputs are complete before an old file is replaced, and they then remain.
tlnmf simulate notes --theta 1,2 --signal notes.wav
small_data y.npy
learn="--method nmf --transform dct --per-source 1 --frame 100"
separate="tlnmf separate notes.wav -k 2 $learn"
files="model.h5 report.html source_1.wav source_2.wav summary.json "

listing() # DIR: all names, including hidden ones
{
    ls -A "$1" | tr '\n' ' '
}

# ---- the outputs remain if the summary cannot be printed -------------------------------------------
for json in "" --json; do
    rm -rf stems
    code=0
    $separate -o stems $json >/dev/full 2>"$err" || code=$?
    check "exit code $code, not 5 ($json)" [ $code -eq 5 ]
    check "the stems stay ($json)" [ "$(listing stems)" = "$files" ]
done
rm -rf stems
code=0
$separate -o stems --json >&- 2>"$err" || code=$?
check "standard output is closed: $code" [ $code -eq 5 -a "$(listing stems)" = "$files" ]
# The reader of the pipe has exited: SIGPIPE ends the program, but all files are complete.
for json in "" --json; do
    rm -rf stems
    mkfifo gone
    code=0
    (exec 3<>gone 4>gone 3<&-; exec $separate -o stems $json >&4) 2>"$err" || code=$?
    rm gone
    check "a pipe without a reader ($json): $code, $(listing stems)" [ $code -ne 0 -a "$(listing stems)" = "$files" ]
done

# ---- old files remain until all new files are complete ---------------------------------------------
old() # DIR
{
    rm -rf "$1" && mkdir "$1" && echo old1 >"$1/source_1.wav" && echo old2 >"$1/source_2.wav"
}
kept() # WHAT DIR
{
    check "$1: the old stems exist" [ "$(cat "$2/source_1.wav" "$2/source_2.wav")" = $'old1\nold2' ]
    check "$1: nothing else exists ($(listing "$2"))" [ "$(listing "$2")" = "${3:-source_1.wav source_2.wav }" ]
}
old dir && mkdir dir/summary.json
expect 5 "" "tlnmf separate: dir/summary.json: is a directory" $separate -o dir --force
kept "a directory in the way" dir "source_1.wav source_2.wav summary.json "
old dir
expect 5 "" ... bash -c "ulimit -f 100; trap '' XFSZ; exec $separate -o dir --force --frame 200"
check "no room for the model" grep -q "dir/model.h5: cannot write: File too large" "$err"
kept "no room" dir
if mkdir mnt && mount -t tmpfs -o size=128k none mnt 2>/dev/null; then
    old mnt/st
    expect 5 "" ... $separate -o mnt/st --force
    check "which file" grep -q 'mnt/st/.*No space left on device' "$err"
    kept "a full disk" mnt/st
    long="timeout 30 tlnmf fit mnt/../big.npy -k 2 -J 100000000 --tol 0 -q"
    npy_header big.npy "(200, 4)" && head -c $((8 * 800)) /dev/zero | tr '\0' '?' >>big.npy
    expect 5 "" "tlnmf fit: mnt/m.h5: cannot write: No space left on device" $long -o mnt/m.h5
    umount mnt
else
    skip "no file system can be mounted here"
fi
old dir && chmod 640 dir/source_1.wav
expect 0 ... "" $separate -o dir --force
check "all are new" [ "$(listing dir)" = "$files" -a "$(head -c 4 dir/source_1.wav)" = RIFF ]
check "the mode stays" [ "$(stat -c %a dir/source_1.wav)" = 640 ]

# ---- with --force, no page of an earlier run stays --------------------------------------------------
printf '0\t1\tlow\n1\t2\thigh\n' >names.txt && sed 's/low/first/' names.txt >other-names.txt
guided="tlnmf separate notes.wav $learn"
earlier() # OPTION...: fills st
{
    rm -rf st
    $guided --labels names.txt -q -o st "$@" >"$out"
    echo mine >st/notes.md
}
removed="st: removed the page report.html of an earlier run"
earlier
expect 0 ... ... $guided --labels other-names.txt --no-report -o st --force
check "a message" grep -qx "tlnmf separate: $removed" "$err"
check "only the page is removed: $(listing st)" \
    [ "$(listing st)" = "first.wav high.wav low.wav model.h5 notes.md summary.json " ]
earlier --no-report && tlnmf report st >"$out"
expect 0 ... "tlnmf apply: $removed" \
    bash -c "cp st/model.h5 st.h5 && exec tlnmf apply st.h5 notes.wav --no-report -o st --force"
check "apply does the same: $(listing st)" \
    [ "$(listing st)" = "high.wav low.wav model.h5 notes.md summary.json " ]
earlier && echo mine >st/report.html
expect 0 ... ... $guided --labels names.txt --no-report -o st --force
check "a page of others stays" [ "$(<st/report.html)" = mine ]
earlier && rm -rf st.copy && cp -rp st st.copy
expect 5 "" ... bash -c "ulimit -f 20; trap '' XFSZ; exec $guided --labels other-names.txt -o st --force"
check "a failed run removes nothing" diff -r st st.copy
earlier
size=$(($(stat -c %s st/report.html) / 1024 - 1))
code=0
(ulimit -f $size; trap '' XFSZ; exec $guided --labels other-names.txt -o st --force -q) >"$out" 2>"$err" || code=$?
check "exit code $code, not 5, if the page cannot be written" [ $code -eq 5 ]
check "-q does not hide it: $(<"$err")" grep -q "^tlnmf separate: the page could not be written, all other files are: .*report.html" "$err"
check "no page of the earlier run: $(listing st)" \
    [ "$(listing st)" = "first.wav high.wav low.wav model.h5 notes.md summary.json " ]
check "the summary names no page" eval '! grep -q "\"page\"" st/summary.json'

# ---- links inside the folder are replaced, not followed --------------------------------------------
old dir && echo precious >target && ln -sf ../target dir/source_1.wav && ln -s ../target dir/model.h5
expect 0 ... "" $separate -o dir --force
check "the target is as it was" [ "$(<target)" = precious ]
check "the links are files now" [ ! -L dir/source_1.wav -a ! -L dir/model.h5 ]
mkdir elsewhere && rm -rf dir && mkdir dir && ln -s ../elsewhere dir/.tlnmf-part && echo mine >elsewhere/mine
expect 5 "" "tlnmf separate: dir/.tlnmf-part: Not a directory" $separate -o dir --force
check "a link with the name of the staging folder" [ "$(<elsewhere/mine)" = mine ]

# ---- every output is compared with every input -----------------------------------------------------
mkdir lab && printf '0\t1\tlow\n1\t2\thigh\n' >lab/activations.txt && cp lab/activations.txt labels.copy
usage separate "lab/activations.txt: this output would replace an input" \
    notes.wav --labels lab/activations.txt $learn --activations labels -o lab --force
cp notes.wav lab/labels.wav && printf '0\t1\tlabels\n1\t2\thigh\n' >lab/l.txt
usage separate "lab/labels.wav: this output would replace an input" \
    lab/labels.wav --labels lab/l.txt $learn -o lab --force
rm -f lab/labels.wav && cp notes.wav in.wav && ln in.wav lab/residual.wav
usage separate "lab/residual.wav: this output would replace an input" \
    in.wav --labels lab/l.txt $learn -o lab --force
check "inputs are as they were" cmp lab/activations.txt labels.copy
check "inputs are as they were" cmp in.wav notes.wav

# ---- concurrent runs are refused; files of a killed run do not block the next -----------------------
noise_wav 400000 noise.wav
tlnmf separate noise.wav -k 2 -o two >"$out" 2>"$err" & # takes long enough for a second run to start
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -d two/.tlnmf-part ]; do sleep 0.01; done
sleep 0.3
expect 5 "" "tlnmf separate: two: another run is writing into it" $separate -o two
kill -KILL $pid
wait $pid 2>/dev/null || true
check "the staging folder remains" [ "$(listing two)" = ".tlnmf-part " ]
echo half >two/.tlnmf-part/source_9.wav && echo mine >two/source_1.wav
refused="tlnmf separate: two: the directory is not empty; --force adds and replaces files"
expect 5 "" "$refused" $separate -o two --resume
check "--resume replaces no file that the killed run has not published" [ "$(<two/source_1.wav)" = mine ]
rm two/source_1.wav && mkdir two/.tlnmf-part && touch two/.hidden && echo half >two/.tlnmf-part/source_9.wav
expect 0 ... "" $separate -o two
rm two/.hidden
check "it does not block the next run" [ "$(listing two)" = "$files" ]
mkdir two/.tlnmf-part && cp -r two two.copy && rmdir two.copy/.tlnmf-part
expect 5 "" "$refused" $separate -o two --resume
check "a finished folder stays" diff -r two two.copy
mkdir two/.tlnmf-part && echo damaged >two/.tlnmf-part/.journal && echo old >two/.tlnmf-part/.old.source_1.wav
expect 5 "" "tlnmf separate: two/.tlnmf-part/.journal: not a record, or damaged or cut short" $separate -o two --force
check "old files stay if the journal is damaged" [ -e two/.tlnmf-part/.old.source_1.wav ]

# Files that appear during the run are replaced with --force only.
for force in "" --force; do
    rm -rf late
    tlnmf separate noise.wav -k 2 $learn -q $force -o late >"$out" 2>"$err" &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ ! -d late/.tlnmf-part ]; do sleep 0.01; done
    sleep 0.1
    echo mine >late/source_1.wav
    code=0
    wait $pid || code=$?
    if [ -n "$force" ]; then
        check "--force replaces a new file: $code" [ $code -eq 0 -a "$(listing late)" = "$files" ]
    else
        judge 5 "" ... $code "a new file"
        check "why" grep -q "late/source_1.wav: exists already; --force\|late: .* not empty; --force" "$err" # slow machines: the second
        check "nothing was added" [ "$(listing late)$(<late/source_1.wav)" = "source_1.wav mine" ]
    fi
done

# A temporary file of a process that has ended is removed; a locked one is not.
echo half >.n.npy.99999-0.tlnmf && echo half >.n.npy.99998-0.tlnmf && echo mine >.n.npy.mine && echo mine >.n.npy.2026-11
flock .n.npy.99998-0.tlnmf sleep 3 &
while flock -n .n.npy.99998-0.tlnmf true; do sleep 0.01; done
expect 0 ... "" tlnmf simulate notes -o n.npy
check "stale temporary files are removed" [ "$(ls -A | grep '^\.n' | tr '\n' ' ')" = ".n.npy.2026-11 .n.npy.99998-0.tlnmf .n.npy.mine " ]
wait && rm .n.npy.*

# ---- outputs that cannot be written are detected before a long run ---------------------------------
ln -s loop_b.h5 loop_a.h5 && ln -s loop_a.h5 loop_b.h5
long="timeout 30 tlnmf fit y.npy -k 2 -J 100000000 --tol 0"
expect 5 "" "tlnmf fit: loop_a.h5: cannot be written: Too many levels of symbolic links" $long -o loop_a.h5
name=$(printf 'x%.0s' {1..256}).h5
expect 5 "" "tlnmf fit: $name: cannot be written: File name too long" $long -o "$name"
ln -s no/where dangling.h5
expect 5 "" "tlnmf fit: dangling.h5: cannot write: No such file or directory (directory no does not exist)" \
    $long -o dangling.h5
expect 5 "" "tlnmf fit: m.h5: cannot write: File too large" \
    bash -c "ulimit -f 10; trap '' XFSZ; exec $long -o m.h5"
expect 5 "" "tlnmf jd: m.h5: cannot write: File too large" \
    bash -c "ulimit -f 10; trap '' XFSZ; exec timeout 30 tlnmf jd y.npy -o m.h5"
absent m.h5
check "no temporary files remain" [ -z "$(ls -A | grep '^\.')" ]
