# Outputs that cannot be written: exit code 5, before the run where that can be known.
full="cannot write: No space left on device"
small_data y.npy
tlnmf simulate gcm --m 60 --n 200 -o long.npy

# A run of 10^8 iterations would not come to its end here.
expect 5 "" "tlnmf fit: nowhere/x.h5: directory nowhere does not exist" \
    timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0 -o nowhere/x.h5
expect 5 "" "tlnmf jd: nowhere/x.h5: directory nowhere does not exist" \
    timeout 30 tlnmf jd long.npy -J 100000000 --grad-tol 0 -o nowhere/x.h5
expect 5 "" ... tlnmf simulate gcm -o nowhere/x.npy
check "simulate names the directory" grep -q "nowhere/x.npy.*directory nowhere does not exist" "$err"
expect 5 "" ... tlnmf simulate notes -o n.npy --signal nowhere/x.wav
check "simulate names the directory" grep -q "nowhere/x.wav.*directory nowhere does not exist" "$err"

if [ "$(id -u)" -eq 0 ]; then
    skip "directories that are not writable (running as root)"
else
    mkdir locked && chmod a-w locked
    expect 5 "" "tlnmf fit: locked/x.h5: directory locked cannot be written: Permission denied" \
        timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0 -o locked/x.h5
    expect 5 "" ... tlnmf simulate gcm -o locked/x.npy
    check "simulate says why" grep -q "locked/x.npy.*Permission denied" "$err"
fi

# A full disk
expect 5 ... "tlnmf fit: /dev/full: $full" tlnmf fit y.npy -k 1 -J 1 -o /dev/full
expect 5 ... "tlnmf fit: /dev/full: $full" tlnmf fit y.npy -k 1 -J 1 -o /dev/full --json
expect 5 ... "tlnmf jd: /dev/full: $full" tlnmf jd y.npy -J 1 -o /dev/full
expect 5 "" "tlnmf simulate: /dev/full: $full" tlnmf simulate gcm -o /dev/full

onto_full() # MESSAGE ARGUMENT...: with standard output on the full device
{
    local message=$1 got=0
    shift
    : >"$out"
    tlnmf "$@" >/dev/full 2>"$err" || got=$?
    judge 5 "" "$message" "$got" "tlnmf $* >/dev/full"
}
onto_full "tlnmf fit: standard output cannot be written" fit y.npy -k 1 -J 1 --json
onto_full "tlnmf fit: standard output cannot be written" fit y.npy -k 1 -J 1
onto_full "tlnmf jd: standard output cannot be written" jd y.npy -J 1 --json
onto_full "tlnmf info: standard output cannot be written" info y.npy --json
onto_full "tlnmf simulate: standard output: $full" simulate gcm -o -
check "the model is written all the same" tlnmf info model.h5 >/dev/null

# Kinds of file
expect 5 "" "tlnmf simulate: x.csv: arrays are written as .npy or .h5" tlnmf simulate gcm -o x.csv
expect 5 "" "tlnmf simulate: x.mp3: sound is written as .wav or .flac" \
    tlnmf simulate notes --signal x.mp3
absent x.csv x.mp3
