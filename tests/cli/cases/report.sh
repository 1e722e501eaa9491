# Report pages: of fits and stems, with missing parts, with names that look like markup.
tlnmf simulate gcm --s 3 --m 8 --n 20 -o y.npy
tlnmf simulate notes --theta 1,2 --signal notes.wav
printf '0\t1\tlow\n1\t2\t"><img src=x onerror=alert(1)>\n2\t3\tlow\n' >notes.txt

has() # FILE TEXT...: literally
{
    local file=$1 text
    shift
    for text; do
        check "$file has $text" grep -qF -e "$text" "$file"
    done
}
lacks() # FILE TEXT...
{
    local file=$1 text
    shift
    for text; do
        check "$file lacks $text" eval '! grep -qF -e "$text" "$file"'
    done
}

# ---- data that are not sound: frequencies only if cosines fit the atoms or a rate is given ----------
expect 0 ... "" tlnmf fit y.npy -k 2 -J 30 --report -o channels.h5
has channels.html '"unit":""' 'Cosines do not fit these atoms' 'Text and tables are below.'
has channels.html 'channels.h5' 'W: power per row'
lacks channels.html '"col">frequency' ' Hz</th>' '"col">error'
awk 'BEGIN { srand(1); for (m = 0; m < 8; m++) { for (n = 0; n < 60; n++)
    printf "%s%.6f", n ? "," : "", 5 + rand() - rand() + rand(); print "" } }' >offset.csv
tlnmf fit offset.csv -k 2 -J 30 --report -o offset.h5 >"$out" 2>"$err"
check "an offset is noticed" grep -q "if it is an offset" "$err"
has offset.html '"unit":""' # a constant atom has no frequency
expect 0 ... "" tlnmf fit y.npy -k 2 -J 30 -o plain.h5
expect 0 ... "" tlnmf report plain.h5 -o plain.html
has plain.html 'The model has no trace, because it was fitted without the option trace.'
expect 0 ... "" tlnmf report channels.h5 --rate 100 -o rate.html
has rate.html '"unit":"Hz"' 'frequency (Hz)' '<th scope="col">error'
expect 0 ... "" tlnmf fit y.npy -k 2 -J 30 --method nmf --transform dct --report -o cosines.h5
has cosines.html '"unit":"cycles per sample"' 'frequency (cycles per sample)'
expect 0 ... "" tlnmf fit y.npy -k 2 -J 30 --method nmf --transform identity --report -o rows.h5
has rows.html '"unit":"row"' 'The transform is the identity'
expect 0 ... "" tlnmf report rows.h5 --rate 100 -o rows.html --force # the rows may be those of a spectrogram
has rows.html '"unit":"row"' 'The transform is the identity'

# ---- a fit --------------------------------------------------------------------------------------
expect 0 ... "" tlnmf fit y.npy -k 2 -J 30 --starts 3 --report -o m.h5
check "the summary names the page" grep -q '^  page          m.html$' "$out"
has m.html "<title>m.h5</title>" "2 components" 'data-name="C"' "tlnmf fit y.npy -k 2" '"trace":{"stage"'
has m.html "y.npy (20 frames of length 8, 3 realisations) was decomposed"
check "which start, and how many agree" grep -Eq \
    ' iterations? of (start [1234] of [34]|the start from JD\+NMF)\. [1-4] of [34] completed starts' m.html
lacks m.html "http-equiv=\"refresh\"" "<script src" "<link"
check "a policy without unsafe words" eval '! grep -o "Content-Security-Policy[^>]*" m.html | grep -q unsafe'
expect 5 "" "tlnmf fit: m.html: exists already; --force replaces it" tlnmf fit y.npy -k 2 --report -o m.npz
expect 5 "" "tlnmf report: m.html: exists already; --force replaces it" tlnmf report m.h5
expect 0 again.html "" tlnmf report m.h5 -o again.html
has again.html '"V":{"type"'
tlnmf simulate gcm --s 3 --m 8 --n 20 --seed-data 5 -o y.npy --force
expect 0 other.html "tlnmf report: warning: y.npy: the model was not fitted to these data; the page omits |Phi Y|^2" \
    tlnmf report m.h5 -o other.html
lacks other.html '"V":{"type"'
rm y.npy
expect 0 alone.html "" tlnmf report m.h5 -o alone.html --title '<b>"bold"</b>'
has alone.html "&lt;b&gt;&quot;bold&quot;&lt;/b&gt;" "only W H is shown"
expect 0 ... "" tlnmf report m.h5 -o -
check "a page on standard output" grep -q '^<!doctype html>' "$out"

# The same bytes again, and a name that looks like a script.
expect 0 ... "" tlnmf report m.h5 -o again.html --force
cp again.html first.html
expect 0 ... "" tlnmf report m.h5 -o again.html --force
check "the same page twice" cmp first.html again.html
mkdir 'd' && cp m.h5 'd/<script>alert(1)<' && mkdir 'e' && cp m.h5 'e/<script>alert(1)<.h5'
expect 0 p.html "" tlnmf report 'e/<script>alert(1)<.h5' -o p.html
has p.html "e/&lt;script&gt;alert(1)&lt;.h5"
lacks p.html "<script>alert(1)"

# Every number has an explanation.
full() # FILE
{
    lacks "$1" "</td><td></td></tr>"
}
full m.html

# ---- every way of reading data -------------------------------------------------------------------
value() # S M N: an entry of the data; all are different integers
{
    echo $(((37 * $1 + 11 * $2 * $2 + 17 * $3 * ($1 + 1) + $2 * $3 * $3) % 23 - 11))
}
data=() moved=()
for s in 0 1; do for m in 0 1 2; do for n in 0 1 2 3 4 5; do data+=("$(value $s $m $n)"); done; done; done
for m in 0 1 2; do for n in 0 1 2 3 4 5; do for s in 0 1; do moved+=("$(value $s $m $n)"); done; done; done
npy data.npy "(2, 3, 6)" "${data[@]}"
npy moved.npy "(3, 6, 2)" "${moved[@]}"
npy other.npy "(2, 3, 6)" 1 "${data[@]:1}"
npy holes.npy "(2, 3, 6)" nan "${data[@]:1}"
npy weights.npy "(6,)" 1 2 3 1 2 3
npy mask.npy "(3, 6)" 1 1 1 0 1 1 1 1 0 1 1 1 1 1 1 1 1 0
npy covs.npy "(3, 2, 2)" 2 1 1 3 5 0 0 1 4 -1 -1 2
number=0
again() # FILE OPTION..: the page of this fit has V, and so has the page that `report` writes
{
    number=$((number + 1))
    expect 0 ... ... tlnmf fit "$@" -k 2 -J 5 --report -o "way$number.h5"
    has way$number.html '"V":{"type"'
    expect 0 "w$number.html" ... tlnmf report way$number.h5 -o w$number.html
    check "no warning" eval '! grep -q "warning\|--input" "$err"'
    has w$number.html '"V":{"type"'
    lacks w$number.html "The data are not in the model"
    full w$number.html
}
again data.npy
again moved.npy --axes channels,time,trials
again data.npy --per-trial
again data.npy --weights weights.npy
again data.npy --method nmf --mask mask.npy
again holes.npy --missing
again data.npy --block 2
again data.npy --moving 3
again covs.npy
again data.npy --input data --init-phi way1.h5:Phi
expect 0 w4.html "" tlnmf report way4.h5 --data data.npy -o w4.html --force
has w4.html '"V":{"type"'
mv weights.npy aside.npy
expect 0 w4.html "tlnmf report: warning: weights.npy: the file of --weights is not in the model's folder; the page omits |Phi Y|^2" \
    tlnmf report way4.h5 -o w4.html --force
has w4.html "The data are not in the model (weights.npy: the file of --weights is not in the model&#39;s folder)"

# A transform alone: V by its Phi, energies only if they are known, unmixing.
expect 0 ... "" tlnmf jd data.npy -o jd.h5
expect 0 jd.html "" tlnmf report jd.h5
has jd.html '"V":{"type"' "share of energy" "one orthogonal transform"
lacks jd.html "<td>0.00 %</td>"
full jd.html
expect 0 j.html "tlnmf report: warning: other.npy: the model was not fitted to these data; the page omits |Phi Y|^2" \
    tlnmf report jd.h5 --data other.npy -o j.html
has j.html "share of energy</th>"
lacks j.html '"V":{"type"'
expect 0 ... "" tlnmf jd data.npy --whiten -o white.h5
expect 0 white.html "" tlnmf report white.h5
has white.html "one unmixing" "the model is for whitened data"
lacks white.html "one orthogonal transform"
full white.html

# The output of apply.
expect 0 ... ... tlnmf apply way2.h5 moved.npy --axes channels,time,trials -o applied.h5
expect 0 applied.html ... tlnmf report applied.h5
has applied.html "tlnmf apply way2.h5 moved.npy --axes channels,time,trials" '"V":{"type"'
full applied.html

# Other formats keep the curves of all starts.
for kind in npz mat; do
    expect 0 ... "" env -u SOURCE_DATE_EPOCH tlnmf fit data.npy -k 2 -J 5 --starts 2 --report -o kept.$kind --force
    expect 0 kept2.html "" tlnmf report kept.$kind -o kept2.html --force
    has kept2.html '"starts":{"stage"'
done

# ---- stems --------------------------------------------------------------------------------------
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt --method nmf --per-source 1 -o stems
page=stems/report.html
full $page
has $page "<audio controls" "audio/flac;base64," "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;" "tlnmf separate notes.wav"
lacks $page "<img"
expect 0 new.html "" tlnmf report stems -o new.html
has new.html "<audio controls"
lacks new.html "do not sum" "<img"

# A model that a stranger sends must not choose which files the page shows: only plain files next to
# the model count, and files that the user names.
has new.html "The recording is not in the model&#39;s folder. Use tlnmf report --sound FILE."
lacks new.html '"V":{"type"'
expect 0 given.html "" tlnmf report stems --sound notes.wav --labels notes.txt -o given.html
has given.html '"V":{"type"' '"labels":[[0'
lacks given.html "in the model&#39;s folder"
mkdir far && cp -r stems far/
cp notes.wav notes.txt far/stems/
expect 0 near.html "" tlnmf report far/stems -o near.html
has near.html '"V":{"type"' '"labels":[[0'
for kind in link fifo device; do
    for name in notes.wav notes.txt low.wav; do
        rm -f far/stems/$name
        case $kind in
        link) ln -s "$PWD/notes.wav" far/stems/$name ;;
        fifo) mkfifo far/stems/$name ;;
        device) ln -s /dev/zero far/stems/$name ;;
        esac
    done
    expect 0 ... "" timeout 20 tlnmf report far/stems -o far.html --force
    has far.html "The recording is not in the model&#39;s folder" "is not in the model&#39;s folder."
    has far.html '"labels":[]'
    lacks far.html 'aria-label="low" src'
done
expect 0 ... "" tlnmf separate "$PWD/notes.wav" --labels "$PWD/notes.txt" --method nmf --per-source 1 -o abs
cp notes.wav notes.txt abs/
expect 0 ... "" tlnmf report abs -o abs.html
has abs.html "The recording is not in the model&#39;s folder" '"labels":[]'
expect 0 ... ... tlnmf fit "$PWD/data.npy" -k 2 -J 5 -o abs.h5
expect 0 ... "" tlnmf report abs.h5 -o abs2.html
has abs2.html "not in the model&#39;s folder; use --data FILE"
mkdir up && expect 0 ... ... tlnmf fit up/../data.npy -k 2 -J 5 -o up/m.h5
cp data.npy up/
expect 0 ... "" tlnmf report up/m.h5 -o up.html
lacks up.html '"V":{"type"'
expect 0 ... ... tlnmf fit - -k 2 -J 5 -o dash.h5 <data.npy
expect 0 ... "" timeout 20 tlnmf report dash.h5 -o dash.html </dev/zero
lacks dash.html '"V":{"type"'
expect 0 quiet.html "" tlnmf report stems -o quiet.html --no-sound
lacks quiet.html "<audio controls"
has quiet.html "Sound is omitted, as requested."
expect 0 ... ... tlnmf apply stems/model.h5 notes.wav -o applied
has applied/report.html "tlnmf apply stems/model.h5 notes.wav -o applied"
full applied/report.html
has applied/report.html "A model can only be judged on the recording that it was learnt from."
lacks applied/report.html "What to expect of each stem"
has stems/report.html "What to expect of each stem"
expect 0 ... "" tlnmf separate notes.wav -k 2 --starts 1 -o none --no-report
absent none/report.html
expect 0 ... "" tlnmf separate notes.wav -k 2 --starts 1 -o mute --no-sound
lacks mute/report.html "<audio controls"

# Stems that have changed, cannot be read, have another length or are missing.
cp stems/low.wav low.wav
tlnmf simulate notes --theta 2,1 --signal stems/low.wav --force
expect 0 x.html "" tlnmf report stems --sound notes.wav -o x.html --force
has x.html "The stems do not sum to the recording. A file has changed since the separation."
cp "$GOLDEN/../../recordings/piano_a4_as4/mix.flac" stems/low.wav
expect 0 x.html "" tlnmf report stems --sound notes.wav -o x.html --force
has x.html "samples at" "the recording has"
head -c 1000 low.wav >stems/low.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "truncated" "could not be read"
echo nonsense >stems/low.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "unsupported audio format"
rm stems/low.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "The stem &quot;low&quot; is not in the model&#39;s folder."
mv notes.wav gone.wav

# ---- bad input ----------------------------------------------------------------------------------
usage report "missing operand: a model or a folder (see tlnmf report --help)"
usage report "unexpected operand b (see tlnmf report --help)" a b
input report "missing.h5: No such file or directory" missing.h5
mkdir empty
input report "empty/model.h5: No such file or directory" empty
echo text >text.h5
expect 3 "" ... tlnmf report text.h5
usage report "atoms = 0 is outside [1, 10000]" m.h5 --atoms 0
expect 2 "" ... tlnmf report m.h5 --rate -1
expect 5 "" ... tlnmf report m.h5 -o nowhere/x.html
absent nowhere
usage report "m.h5: this output would replace an input" m.h5 -o m.h5 --force
