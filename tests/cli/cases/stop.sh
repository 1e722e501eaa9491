# Stopping by a signal or a time limit: the result so far is saved, and no incomplete file remains.
tlnmf simulate gcm --s 1 --m 60 --n 200 -o y.npy
set -m # so that background jobs receive SIGINT

# Starts a fit that would take 100 seconds and waits until its signal handlers are installed.
begin() # FILE, which is replaced; [FORM], --json unless given
{
    tlnmf fit y.npy -k 5 --solver paper -J 100000000 --tol 0 --max-seconds 100 ${2---json} --force -o "$1" \
        >"$out" 2>"$err" &
    pid=$!
    for _ in $(seq 200); do
        mask=$(sed -n 's/^SigCgt:\t*//p' /proc/$pid/status)
        [ $((0x$mask & 0x4002)) -ne $((0x4002)) ] || break
        sleep 0.1
    done
    sleep 0.4
}

echo mine >HUP.h5 # --force replaces it only if the run completes
for signal in INT TERM HUP; do
    begin $signal.h5
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    judge 130 ... "" $code "a fit that gets SIG$signal"
    check "$signal: outcome in the JSON" [ "$(json outcome)" = cancelled ]
    check "$signal: no certificate, and why" \
        [ "$(json certificate_means)" = "none: the run was interrupted before L was minimised" ]
    C=$(json C)
    expect 0 ... "" tlnmf info $signal.partial.h5 --json
    check "$signal: outcome in the model" [ "$(json outcome)" = cancelled ]
    check "$signal: C in the model" [ "$(json C)" = "$C" ]
done

absent INT.h5 TERM.h5
check "a cancelled run replaces nothing" [ "$(<HUP.h5)" = mine ]
begin HUP.h5 ""
kill -INT $pid
wait $pid || true
check "nor the partial model of an earlier run" [ -s HUP.partial-2.h5 -a "$(<HUP.h5)" = mine ]
check "the text says that it was interrupted" \
    grep -Eq "^  stopped       (TL-NMF|JD|NMF): interrupted \(best start: iteration [0-9]+\)" "$out"

# SIGKILL: existing files remain complete.
cp INT.partial.h5 INT.h5
cp INT.h5 old.h5
begin INT.h5
kill -KILL $pid
code=0
wait $pid 2>/dev/null || code=$?
check "killed" [ $code -eq 137 ]
check "the old model is untouched" cmp INT.h5 old.h5

# A separation: after one signal it ends cleanly; after two it ends at once. Neither leaves anything
# but a checkpoint, although the files of the stems are open. The sound is 200 s of noise, 16 bits at
# 8000 Hz. The program is stopped (SIGSTOP) while both signals are sent, so that both are pending when
# it continues.
noise_wav 1600000 noise.wav
for signals in INT TERM "INT TERM"; do
    tlnmf separate noise.wav -k 2 --method nmf --transform dct --starts 1 --learn-frames 20 -o "stems $signals" \
        >"$out" 2>"$err" &
    pid=$!
    while kill -0 $pid 2>/dev/null && ! compgen -G "stems $signals/.tlnmf-part/.source_2.*" >/dev/null; do
        sleep 0.002
    done
    check "$signals: the stems are being written" kill -STOP $pid
    for signal in $signals; do
        kill -$signal $pid
    done
    kill -CONT $pid
    code=147 # 128 + SIGSTOP: wait may still report the stop
    while [ $code -eq 147 ]; do
        code=0
        wait $pid || code=$?
    done
    case $signals in
    *" "*) check "$signals: ended by a signal: $code" [ $code -eq 130 -o $code -eq 143 ] ;;
    *) judge 130 "" "tlnmf separate: interrupted, no stems are written
tlnmf separate: there is no checkpoint yet" $code "separate, SIG$signals" ;;
    esac
    check "$signals: no message" [ "$signals" != "INT TERM" -o ! -s "$err" ]
    absent "stems $signals"
done
check "no temporary file remains" [ "$(ls -A | grep -c '^\.')" -eq 0 ]

# Killed while it writes 32 MB: the file does not exist, or it is complete.
for _ in 1 2 3; do
    rm -f big.npy .big.npy.*
    tlnmf simulate gcm --s 20 --m 400 --n 500 -o big.npy &
    pid=$!
    while kill -0 $pid 2>/dev/null && ! compgen -G '.big.npy.*' >/dev/null; do sleep 0.002; done
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    [ ! -e big.npy ] || check "big.npy is complete" [ "$(stat -c %s big.npy)" -eq 32000128 ]
done

# The time limit. There is no progress line, since standard error is not a terminal.
expect 0 ... "" tlnmf fit y.npy -k 5 --solver paper -J 100000000 --tol 0 --max-seconds 0.5 --json -o time.h5
check "outcome" [ "$(json outcome)" = time ]
expect 4 ... "" tlnmf fit y.npy -k 5 --solver paper -J 100000000 --tol 0 --max-seconds 0.2 --method tl --strict --no-model
check "the text says why" grep -Eq "^  stopped       (TL-NMF|JD|NMF): the time limit was reached \(best start: iteration [0-9]+\)$" "$out"

# The time limit ends reading, with a message.
npy_header large.npy "(4000, 5000)"
truncate -s +160000000 large.npy
expect 1 "" "tlnmf fit: --max-seconds ended before the data were read: use a larger limit" \
    tlnmf fit large.npy -k 2 --max-seconds 0.002 -o large.h5
absent large.h5
rm large.npy
