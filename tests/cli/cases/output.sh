# Outputs that cannot be written: exit code 5, before the run if possible.
full="cannot write: No space left on device"
small_data y.npy
tlnmf simulate gcm --m 60 --n 200 -o long.npy

# 10^8 iterations would take too long: the run must be refused before it starts.
expect 5 "" "tlnmf fit: nowhere/x.h5: directory nowhere does not exist" \
    timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0 -o nowhere/x.h5
expect 5 "" "tlnmf jd: nowhere/x.h5: directory nowhere does not exist" \
    timeout 30 tlnmf jd long.npy -J 100000000 --grad-tol 0 -o nowhere/x.h5
mkdir directory directory.h5
expect 5 "" "tlnmf fit: directory: is a directory" \
    timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0 -o directory
expect 5 "" "tlnmf jd: directory.h5: is a directory" \
    timeout 30 tlnmf jd long.npy -J 100000000 --grad-tol 0 -o directory.h5
expect 5 "" "tlnmf simulate: directory: is a directory" tlnmf simulate gcm -o directory
expect 5 "" ... tlnmf simulate gcm -o nowhere/x.npy
check "simulate names the directory" grep -q "nowhere/x.npy.*directory nowhere does not exist" "$err"
expect 5 "" ... tlnmf simulate notes -o n.npy --signal nowhere/x.wav
check "simulate names the directory" grep -q "nowhere/x.wav.*directory nowhere does not exist" "$err"
expect 5 "" "tlnmf simulate: nowhere/W.npy: directory nowhere does not exist" \
    tlnmf simulate gcm -o g.npy --truth-w nowhere/W.npy
expect 5 "" "tlnmf simulate: nowhere/H.npy: directory nowhere does not exist" \
    tlnmf simulate gcm -o g.npy --truth-w W.npy --truth-h nowhere/H.npy
absent n.npy g.npy W.npy # all outputs are checked before the first is written

if [ "$(id -u)" -eq 0 ]; then
    skip "directories that are not writable (running as root)"
else
    mkdir locked && chmod a-w locked
    expect 5 "" "tlnmf fit: locked/x.h5: directory locked cannot be written: Permission denied" \
        timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0 -o locked/x.h5
    expect 5 "" ... tlnmf simulate gcm -o locked/x.npy
    check "simulate says why" grep -q "locked/x.npy.*Permission denied" "$err"
    echo mine >mine.h5 && chmod a-w mine.h5
    expect 5 "" "tlnmf fit: mine.h5: cannot be written: Permission denied" \
        timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0 -o mine.h5
    check "a file that is not writable is unchanged" [ "$(<mine.h5)" = mine ]
fi

# A device is written in place, even if its directory is not writable.
expect 0 ... "" tlnmf fit y.npy -k 1 -J 1 -o /dev/null
check "the text names the model" grep -q "^  model         /dev/null$" "$out"
expect 0 "" "" tlnmf simulate gcm -o /dev/null
check "/dev/null is still a device" [ -c /dev/null ]

# A full disk: the result is printed, but no model is named.
for command in "fit y.npy -k 1" "jd y.npy"; do
    name=${command%% *}
    expect 5 ... "tlnmf $name: /dev/full: $full" tlnmf $command -J 1 -o /dev/full
    check "$name: the text has L" grep -Eq "^  objective .*L " "$out"
    check "$name: the text has no model" [ "$(grep -c "^  model " "$out")" -eq 0 ]
    expect 5 ... "tlnmf $name: /dev/full: $full" tlnmf $command -J 1 -o /dev/full --json
    check "$name: the JSON has L" [ -n "$(json L)" ]
    check "$name: the JSON has no model" [ -z "$(json model)" ]
done
expect 5 "" "tlnmf simulate: /dev/full: $full" tlnmf simulate gcm -o /dev/full

onto_full() # MESSAGE ARGUMENT...: with standard output on the full device
{
    local message=$1 got=0
    shift
    : >"$out"
    tlnmf "$@" >/dev/full 2>"$err" || got=$?
    judge 5 "" "$message" "$got" "tlnmf $* >/dev/full"
}
onto_full "tlnmf: standard output cannot be written" fit y.npy -k 1 -J 1 --json
onto_full "tlnmf: standard output cannot be written" fit y.npy -k 1 -J 1 --force
onto_full "tlnmf: standard output cannot be written" jd y.npy -J 1 --json
onto_full "tlnmf: standard output cannot be written" info y.npy --json
onto_full "tlnmf simulate: standard output: $full" simulate gcm -o -
onto_full "tlnmf: standard output cannot be written" info y.npy
onto_full "tlnmf: standard output cannot be written" --help
onto_full "tlnmf: standard output cannot be written" --version
onto_full "tlnmf: standard output cannot be written" fit --help
check "the model is still written" tlnmf info model.h5 >/dev/null

# Kinds of file
expect 5 "" "tlnmf simulate: x.csv: arrays are written as .npy or .h5" tlnmf simulate gcm -o x.csv
expect 5 "" "tlnmf simulate: x.mp3: sound is written as .wav, .flac or .w64" \
    tlnmf simulate notes --signal x.mp3
absent x.csv x.mp3
