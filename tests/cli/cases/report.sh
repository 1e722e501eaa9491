# Report pages: of fits, of stems, of what is missing, of names that would be markup.
tlnmf simulate gcm --s 3 --m 8 --n 20 -o y.npy
tlnmf simulate notes --theta 1,2 --signal notes.wav
printf '0\t1\tlow\n1\t2\t"><img src=x onerror=alert(1)>\n2\t3\tlow\n' >notes.txt

has() # FILE TEXT...: as it stands
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

# ---- a fit --------------------------------------------------------------------------------------
expect 0 ... "" tlnmf fit y.npy -k 2 -J 30 --starts 3 --report -o m.h5
check "the page is said" grep -q '^  page          m.html$' "$out"
has m.html "<title>m.h5</title>" "2 components" 'data-name="C"' "tlnmf fit y.npy -k 2" '"trace":{"stage"'
lacks m.html "http-equiv=\"refresh\"" "<script src" "<link"
check "a policy without unsafe words" eval '! grep -o "Content-Security-Policy[^>]*" m.html | grep -q unsafe'
expect 5 "" "tlnmf fit: m.html: exists already; --force replaces it" tlnmf fit y.npy -k 2 --report -o m.npz
expect 5 "" "tlnmf report: m.html: exists already; --force replaces it" tlnmf report m.h5
expect 0 again.html "" tlnmf report m.h5 -o again.html
has again.html '"V":{"type"'
tlnmf simulate gcm --s 3 --m 8 --n 20 --seed-data 5 -o y.npy --force
expect 0 other.html "tlnmf report: warning: y.npy: not what the model was fitted to; |Phi Y|^2 is left out" \
    tlnmf report m.h5 -o other.html
lacks other.html '"V":{"type"'
rm y.npy
expect 0 alone.html "" tlnmf report m.h5 -o alone.html --title '<b>"bold"</b>'
has alone.html "&lt;b&gt;&quot;bold&quot;&lt;/b&gt;" "only W H is shown"
expect 0 ... "" tlnmf report m.h5 -o -
check "a page on standard output" grep -q '^<!doctype html>' "$out"

# The same bytes again, and a name that would be a script.
expect 0 ... "" tlnmf report m.h5 -o again.html --force
cp again.html first.html
expect 0 ... "" tlnmf report m.h5 -o again.html --force
check "the same page twice" cmp first.html again.html
mkdir 'd' && cp m.h5 'd/<script>alert(1)<' && mkdir 'e' && cp m.h5 'e/<script>alert(1)<.h5'
expect 0 p.html "" tlnmf report 'e/<script>alert(1)<.h5' -o p.html
has p.html "e/&lt;script&gt;alert(1)&lt;.h5"
lacks p.html "<script>alert(1)"

# ---- stems --------------------------------------------------------------------------------------
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt --method nmf --per-source 1 -o stems
page=stems/report.html
has $page "<audio controls" "audio/flac;base64," "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;" "tlnmf separate notes.wav"
lacks $page "<img"
expect 0 new.html "" tlnmf report stems -o new.html
has new.html "<audio controls"
lacks new.html "do not sum" "<img"
expect 0 quiet.html "" tlnmf report stems -o quiet.html --no-sound
lacks quiet.html "<audio controls"
has quiet.html "Sound was left out on request."
expect 0 ... "" tlnmf separate notes.wav -k 2 --starts 1 -o none --no-report
absent none/report.html
expect 0 ... "" tlnmf separate notes.wav -k 2 --starts 1 -o mute --no-sound
lacks mute/report.html "<audio controls"

# Stems that changed, cannot be read, have another length, are gone.
cp stems/low.wav low.wav
tlnmf simulate notes --theta 2,1 --signal stems/low.wav --force
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "The stems do not sum to the recording: a file has changed since."
cp "$GOLDEN/../../recordings/piano_a4_as4/mix.flac" stems/low.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "samples at" "the recording has"
head -c 1000 low.wav >stems/low.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "cut short" "could not be read"
echo nonsense >stems/low.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "not a sound file"
rm stems/low.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "stems/low.wav: No such file"
mv notes.wav gone.wav
expect 0 x.html "" tlnmf report stems -o x.html --force
has x.html "notes.wav: No such file"

# ---- bad input ----------------------------------------------------------------------------------
usage report "one model or folder is needed"
usage report "one model or folder is needed" a b
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
