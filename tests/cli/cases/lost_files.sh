# No command loses a file: all its file names are compared before it runs, also with --force.
small_data y.npy
tlnmf simulate gcm --m 3 --n 4 -o y.h5
npy w.npy "(4,)" 1 2 1 1
tlnmf simulate notes --theta 1,2 --signal notes.wav
printf '0\t1\tlow\n1\t2\thigh\n' >notes.txt
replaced="this output would replace an input"
fit="y.npy -k 1 -J 2 -q"
learn="--labels notes.txt --method nmf --transform dct --per-source 1 -q"
mkdir kept && cp y.npy y.h5 w.npy notes.wav notes.txt kept
unharmed()
{
    local file
    for file in kept/*; do
        check "$file is unchanged after $1" cmp "$file" "${file#kept/}"
    done
}

# A checkpoint that is an output or an input
for force in "" --force; do
    usage fit "-o and the checkpoint are the same file: ./m.h5" $fit -o m.h5 --checkpoint ./m.h5 $force
    usage jd "-o and the checkpoint are the same file: j.h5" y.npy -q -o j.h5 --checkpoint j.h5 $force
    usage fit "the page and the checkpoint are the same file: m.html" \
        $fit -o m.h5 --report --checkpoint m.html $force
    usage separate "low.wav and the checkpoint are the same file: stems/low.wav" \
        notes.wav $learn -o stems --checkpoint stems/low.wav $force
    absent stems m.h5 j.h5 m.html
    usage fit "the input and the checkpoint are the same file: y.npy" $fit --checkpoint y.npy $force
    usage fit "--weights and the checkpoint are the same file: w.npy" \
        $fit --weights w.npy --checkpoint w.npy $force
    usage jd "--weights and the checkpoint are the same file: w.npy" \
        y.npy --weights w.npy --checkpoint w.npy -q $force
    usage separate "--labels and the checkpoint are the same file: notes.txt" \
        notes.wav $learn -o stems --checkpoint notes.txt $force
    usage separate "the input and the checkpoint are the same file: notes.wav" \
        notes.wav $learn -o stems --checkpoint notes.wav $force
done
expect 0 ... "" tlnmf fit $fit -o model.h5
cp model.h5 kept
usage fit "--init and the checkpoint are the same file: model.h5" \
    y.npy --init model.h5 -q --checkpoint model.h5 --force -o m2.h5
unharmed checkpoints

# A link with the name of a checkpoint
for target in kept/y.npy missing; do
    ln -s $target link.h5.checkpoint
    expect 5 "" "tlnmf fit: link.h5.checkpoint: a checkpoint must be a regular file, not a link" \
        tlnmf fit $fit --every 0 --force -o link.h5
    check "the link is unchanged" [ "$(readlink link.h5.checkpoint)" = $target ]
    rm link.h5.checkpoint
done
absent missing link.h5
unharmed links

# Sounds with the same base name
mkdir x z && cp notes.wav x/a.wav && cp notes.wav z/a.wav
for out_dir in "out/{name}" "./out//{name}/" "{name}"; do
    usage separate "x/a.wav and z/a.wav would both be written into ${out_dir/"{name}"/a}" \
        x/a.wav z/a.wav -k 2 -q -o "$out_dir" --force
done
usage separate "x/a.wav and z/a.wav would both be written into a-stems" x/a.wav z/a.wav -k 2 -q
absent out a a-stems

# Outputs that are inputs under another name
usage fit "y.h5: $replaced" - -k 1 -q -o y.h5 --force <y.h5
refused_append() # COMMAND...: standard output is appended to y.npy
{
    local got=0
    "$@" >>y.npy 2>"$err" || got=$?
    check "exit code $got, not 2: $*" [ $got -eq 2 ]
    check "the message of: $*" \
        [ "$(cat "$err")" = "tlnmf $2: y.npy: standard output is redirected into this input" ]
}
refused_append tlnmf fit $fit -o -
refused_append tlnmf fit $fit -o m.h5
refused_append tlnmf jd y.npy -o m.h5
refused_append tlnmf info y.npy
absent m.h5
ln y.h5 hard.h5
usage fit "hard.h5: $replaced" y.h5 -k 1 -o hard.h5 --force
ln -s y.h5 soft.h5
usage fit "soft.h5: $replaced" y.h5 -k 1 -o soft.h5 --force
usage fit "y.h5: $replaced" soft.h5 -k 1 -o y.h5 --force
unharmed "outputs that are inputs"

# Two outputs
ln -s new.npy dangling.npy
usage simulate "-o and --truth-w are the same file: ./new.npy" gcm -o new.npy --truth-w ./new.npy
usage simulate "-o and --truth-w are the same file: new.npy" gcm -o dangling.npy --truth-w new.npy
absent new.npy
expect 2 "" "tlnmf simulate: standard output and -o are the same file: $out" \
    tlnmf simulate gcm -o "$out" --force

# Pages
expect 0 ... "" tlnmf separate notes.wav $learn -o stems
cp -r stems stems.kept
usage report "y.npy: $replaced" model.h5 --data y.npy -o y.npy --force
usage report "y.npy: $replaced" model.h5 -o y.npy --force
usage report "stems/low.wav: $replaced" stems -o stems/low.wav --force
usage report "notes.wav: $replaced" stems -o notes.wav --force
usage report "notes.txt: $replaced" stems -o notes.txt --force
usage report "stems/summary.json: $replaced" stems -o stems/summary.json --force
usage report "stems/model.h5: $replaced" stems -o stems/model.h5 --force
check "the stems are unchanged" diff -r stems stems.kept
mkdir other && cp notes.txt other/report.html
usage separate "other/report.html: $replaced" notes.wav ${learn/notes.txt/other/report.html} -o other --force
check "the labels are unchanged" cmp notes.txt other/report.html
unharmed pages

# An output that another process creates during the run, or that becomes a link to an input
long="tlnmf fit y.npy -k 2 --starts 1000000 --max-seconds 1.5 -q"
for force in "" --force; do
    for what in "echo mine >late.h5" "ln -s y.npy late.h5"; do
        [ -z "$force" -o "$what" = "ln -s y.npy late.h5" ] || continue
        code=0
        $long -o late.h5 $force >"$out" 2>"$err" &
        sleep 0.5
        eval "$what"
        wait $! || code=$?
        check "exit code $code, not 5 ($what)" [ $code -eq 5 ]
        check "the message ($what)" grep -q \
            "^tlnmf fit: late.h5: the file appeared or changed during the run; the model is in late.partial.h5 instead" "$err"
        check "the model is complete" tlnmf info late.partial.h5 >"$out"
        rm -f late.* .late*
    done
done
unharmed "late links"

# Two runs with one name
run_two() { # name, what to do with the runs, options...
    local name=$1 act=$2 one two run
    shift 2
    tlnmf fit y.npy -k 2 --seed 1 --threads 1 -q "$@" -o "$name" >"$out" 2>"$err" &
    one=$!
    tlnmf fit y.npy -k 2 --seed 2 --threads 1 -q "$@" -o "$name" >/dev/null 2>/dev/null &
    two=$!
    $act $one $two
    codes=
    for run in $one $two; do
        wait $run && codes="$codes 0" || codes="$codes $?"
    done
}
for i in 1 2 3 4 5 6; do
    run_two same.h5 : --starts 1 -J 3
    check "codes$codes, not 0 and 5" [ "$codes" = " 0 5" -o "$codes" = " 5 0" ]
    check "the first model is complete" tlnmf info same.h5 >"$out"
    rm -f same.*
done
stop_both() { sleep 1; kill -TERM "$@"; }
run_two both.h5 stop_both --starts 1000000
check "codes$codes, not 130" [ "$codes" = " 130 130" ]
check "both models are complete" eval 'tlnmf info both.partial.h5 && tlnmf info both.partial-2.h5' >"$out"
rm -f both.*
unharmed "two runs"

# A pipe that nobody writes: no reader process remains
mkfifo never
timeout -s KILL 1 tlnmf apply never y.npy -o applied.h5 >"$out" 2>"$err" || true
sleep 0.2
check "no reader remains" eval '! cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" " " | grep -q -e "--read model [n]ever"'

# A pipe
mkfifo pipe
timeout 30 cat pipe >piped.h5 &
expect 0 ... "" timeout 30 tlnmf fit $fit -o pipe
wait
check "a model goes through a pipe" tlnmf info piped.h5 >"$out"
check "the pipe is still a pipe" [ -p pipe ]
