# Hostile files: nothing outside them is read, and their contents are escaped before they are printed.
hostile=$GOLDEN/../hostile

# ---- sizes and damage: a message and exit code 3, never a signal ------------------------------------
expect 3 "" "tlnmf fit: bomb.h5: reading it exceeds the time or memory limit for a file of this size; it may be damaged" \
    bash -c "cd '$hostile' && exec tlnmf fit bomb.h5 -k 1 --no-model"
expect 3 "" "tlnmf fit: few.mat: the variable at byte 128 is damaged" \
    bash -c "cd '$hostile' && exec tlnmf fit few.mat -k 1 --no-model"
for file in "$hostile"/*.h5 "$hostile"/*.mat; do
    for command in info "fit -k 1 -J 1 --no-model" "jd -J 1 -o out.h5 --force"; do
        code=0
        timeout 20 tlnmf ${command%% *} "$file" $(echo "$command " | cut -s -d' ' -f2-) >"$out" 2>"$err" || code=$?
        check "$command of ${file##*/}: exit code $code" [ $code -eq 0 -o $code -eq 3 ]
        check "$command of ${file##*/}: a message" [ $code -eq 0 -o -s "$err" ]
    done
done

# ---- sounds with false headers: memory and time depend only on the samples ---------------------------
float_wav() # NAME RATE SAMPLE, as bytes in octal: 400 samples of 32 bits
{
    { printf 'RIFF\144\006\0\0WAVEfmt \020\0\0\0\003\0\001\0%b\0\0\0\0\004\0\040\0data\100\006\0\0' "$2"
        for _ in $(seq 200); do printf "$3\0\0\0\0"; done; } >"$1"
}
learn="-k 1 --method nmf --transform dct --per-source 1 --frame 32 --threads 1 -q --force"
float_wav fast.wav '\0377\0377\0377\0177' '\0\0\0\077'
limit=2000000
! is_sanitized || limit=unlimited
expect 0 ... ... bash -c "ulimit -v $limit; OMP_NUM_THREADS=1 exec timeout 20 tlnmf separate fast.wav $learn -o fast"
# Loud sounds: their models can be read.
float_wav loud.wav '\0100\0037\0\0' '\0\0\0\175' # 1.1e37
expect 0 ... ... tlnmf separate loud.wav $learn -o loud
expect 0 ... ... tlnmf apply loud/model.h5 loud.wav -q -o again

# ---- the same fault has the same code in every format ------------------------------------------------
npy good.npy "(3, 4)" 1 2 3 4 5 6 7 8 9 10 11 12
printf '1,2,3,4\n5,6,7,8\n9,10,11,12\n' >good.csv
for extension in h5 mat npz; do
    tlnmf fit good.npy -k 1 -J 1 -q -o good.$extension >"$out"
done
for extension in npy csv h5 mat npz; do
    part=
    case $extension in h5 | mat | npz) part=:W ;; esac
    expect 0 ... ... tlnmf fit good.$extension$part -k 1 -J 1 -q --no-model
    : >empty.$extension
    head -c $(($(stat -c %s good.$extension) / 8)) good.$extension >cut.$extension
    [ $extension != csv ] || printf '1,2,3\n4,5\n' >cut.csv
    mkdir directory.$extension
    for fault in missing empty cut directory; do
        expect 3 "" ... tlnmf fit $fault.$extension$part -k 1 -J 1 --no-model
        check "$fault.$extension is named" grep -q "^tlnmf fit: .*$fault.$extension" "$err"
    done
    [ -z "$part" ] || expect 3 "" ... tlnmf fit good.$extension:nothing -k 1 --no-model
done

# ---- names that contain terminal escapes ------------------------------------------------------------
escape=$(printf '\033') override=$(printf '\342\200\256') c1=$(printf '\302\233')
harmless() # WHAT: neither stream contains an escape or an override
{
    check "$1: escapes" bash -c "! grep -q '[$escape$(printf '\007')]' '$out' '$err'"
    check "$1: overrides" bash -c "! grep -q '$override\|$c1' '$out' '$err'"
}
expect 0 ... "" tlnmf info "$hostile/esc.h5"
check "datasets" grep -qF '/\x1b[31mred\x07' "$out"
harmless "info"
expect 0 ... "" tlnmf info "$hostile/esc.h5" --json
check "datasets in JSON" grep -qF '/\u001B[31mred\u0007' "$out"
harmless "info --json"
expect 3 "" ... tlnmf fit "$hostile/esc.h5" -k 1
harmless "the datasets there are"
input info "no\\x1b[31m\\u202efile.npy: No such file or directory" "no${escape}[31m${override}file.npy"
expect 2 "" "tlnmf: unknown command \\x1b[31m (see tlnmf --help)" tlnmf "$escape[31m"
npy "a${override}b.npy" "(1, 1)" 1
expect 0 ... "" tlnmf info "a${override}b.npy" --json
check "a file name in JSON" grep -qF 'a\u202Eb.npy' "$out"
harmless "a file name"

tlnmf simulate notes --theta 1,2 --signal notes.wav
printf '0\t1\t-rf\n0.5\t2\t%s[31mb%s\n1\t9\tc%s\n' "$escape" "$override" "$c1" >labels.txt
learn="--method nmf --transform dct --per-source 1 --frame 100"
expect 0 ... 'tlnmf separate: warning: labels.txt: the label "c\x9b" ends at 9 s, but the sound ends at 3 s' \
    tlnmf separate notes.wav --labels labels.txt $learn -o stems
harmless "labels"
check "names of stems: $(ls stems | tr '\n' ' ')" \
    [ "$(ls stems | tr '\n' ' ')" = "_[31mb_.wav c_.wav model.h5 report.html rf.wav summary.json " ]
check "names in the summary" bash -c "! grep -q '[$escape]\|$override\|$c1' stems/summary.json"
expect 0 ... "" tlnmf info stems/model.h5
harmless "the summary of a model"

# ---- reading can be interrupted ----------------------------------------------------------------------
set -m
mkfifo fifo
for source in - fifo; do
    for signal in INT TERM HUP; do
        if [ $source = - ]; then
            tlnmf fit - -k 1 --no-model < <(exec sleep 30) >"$out" 2>"$err" &
        else
            tlnmf fit $source -k 1 --no-model >"$out" 2>"$err" &
        fi
        pid=$!
        for _ in $(seq 100); do
            mask=$(sed -n 's/^SigCgt:\t*//p' /proc/$pid/status)
            [ $((0x$mask & 0x4002)) -ne $((0x4002)) ] || break
            sleep 0.05
        done
        kill -$signal $pid
        code=0 start=$SECONDS
        wait $pid || code=$?
        judge 130 "" "tlnmf fit: interrupted while reading" $code "fit $source, SIG$signal"
        check "$source, $signal: at once" [ $((SECONDS - start)) -le 2 ]
    done
done

input fit "/dev/zero: a device, not a file" /dev/zero -k 1 --no-model

# An empty array with dimensions that overflow; a sound without a rate
npy empty.npy "(0, 4611686018427387904)"
input fit "empty.npy: the array is empty" empty.npy -k 1
float_wav still.wav '\0\0\0\0' '\0\0\0\077'
input separate "still.wav: the header of the sound file is invalid" still.wav $learn -o still
