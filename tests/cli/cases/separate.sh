# Stems: their files, names and sums, and all kinds of bad input.
tlnmf simulate notes --theta 1,2 --signal notes.wav
printf '0\t1\tlow A\n1\t2\thigh\n2\t3\tlow A\n2\t3\thigh\n' >notes.txt

# ---- output files --------------------------------------------------------------------------------
expect 0 "notes.wav: separated into 2 stems (3 s, 1 channel, 5000 Hz)
  blind/source_1.wav: about 22 dB SI-SDR (13 to 29), very good: the others are hardly heard
  blind/source_2.wav: about 22 dB SI-SDR (13 to 29), very good: the others are hardly heard
  sources       2: as asked
  how sure      8 of 10 stems in tests without labels were in the range. For single
                notes it is often far too low, for speech and noise it may be far too
                high
  no labels     this separates notes, not players; --labels FILE says who plays when
  transform     learnt from the DCT, tukey window, frames of 200 samples every 100, 8 shifts
  page          blind/report.html" "" tlnmf separate notes.wav -k 2 -o blind --starts 2
check "the same on the page" grep -q "<p>8 of 10 stems in tests without labels were in the range. For single notes" blind/report.html
check "the files" [ "$(ls blind | tr '\n' ' ')" = "model.h5 report.html source_1.wav source_2.wav summary.json " ]

expect 0 ... "" tlnmf separate notes.wav --labels notes.txt --method tl --transform dct --per-source 1 \
    --iterations 10 -o stems --json --activations labels
check "JSON is the summary" cmp "$out" stems/summary.json
check "named after the labels" [ -f "stems/low A.wav" -a -f stems/high.wav ]
check "the window" [ "$(json window)" = tukey ]
near "seconds" "$(json release)" 0.2 0
check "the frames that were used, once" [ "$(grep -c '"learn_frames"' "$out")" = 1 ]
check "why there is no estimate" grep -q "not estimated with --method, --per-source, --transform dct|dft, or --window with --frame or --hop. Listen" stems/report.html
check "what it was chosen by" grep -q "1 candidate was compared on 1 remix" stems/report.html
check "the frame" [ "$(json frame)" = 200 ]
check "one candidate" [ "$(json candidates)" = 1 ]
check "the given number of iterations" [ "$(json iterations)" = 10 ]
near "the score of the remix" "$(json remix_si_sdr)" 30.04 0.1
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt --method tl --transform dct --per-source 1 -o when --json
check "half and twice the iterations are tried" [ "$(json candidates)" = 3 ]
expect 0 ... "" tlnmf info stems/model.h5
check "the model" grep -q 'separate' "$out"
check "activations" [ "$(cut -f 3 stems/activations.txt | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = \
    " 2 high; 2 low A;" ] # each alone, and both together at the end
mv stems again
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt --method tl --transform dct --per-source 1 \
    -o stems --json --activations midi
check "MIDI" [ "$(head -c 4 stems/activations.mid)" = MThd ]
rm -r stems
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt --method tl --transform dct --per-source 1 \
    --iterations 10 -o stems --json --activations labels
check "the same model again" cmp stems/model.h5 again/model.h5
check "the same stems again" cmp stems/high.wav again/high.wav

# A second recording: the same notes, with the model
expect 0 ... "" tlnmf apply stems/model.h5 notes.wav --labels notes.txt -o applied
check "apply gives the same stems" cmp stems/high.wav applied/high.wav
mkfifo labels.pipe
cat notes.txt >labels.pipe &
expect 0 ... "" timeout 60 tlnmf apply stems/model.h5 notes.wav --labels labels.pipe -o piped
check "labels from a pipe are read once" [ -s piped/report.html ]
expect 0 ... "" tlnmf apply stems/model.h5 notes.wav -o free --format flac
check "names from the model" [ -f "free/low A.flac" -a -f free/high.flac ]

# ---- the default folder, many files, the number of sources -----------------------------------------
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt --method nmf --per-source 1
check "the folder has the name of the sound" [ -f notes-stems/summary.json -a -f "notes-stems/low A.wav" ]
cp notes.wav again.wav
cp notes.txt again.txt
expect 3 ... "tlnmf separate: notes.wav (1 of 3)
tlnmf separate: gone.wav (2 of 3)
tlnmf separate: gone.wav: No such file or directory
tlnmf separate: again.wav (3 of 3)
tlnmf separate: 1 of 3 sounds had errors" \
    tlnmf separate notes.wav gone.wav again.wav --labels-from '{name}.txt' -o 'out/set/{name}' --method nmf --per-source 1
check "a file that fails does not stop the others" [ -f out/set/notes/high.wav -a -f out/set/again/high.wav ]
absent out/set/gone
many="tlnmf separate notes.wav again.wav --labels-from {name}.txt -o out/many/{name} --method nmf --per-source 1"
expect 0 ... ... $many
rm -r out/many/again
expect 0 ... "tlnmf separate: notes.wav (1 of 2)
tlnmf separate: notes.wav: already separated, skipped
tlnmf separate: again.wav (2 of 2)
tlnmf separate: out/many/again.checkpoint: no checkpoint yet, the run begins anew" $many --resume
check "a finished sound is skipped, the other separated" [ -f out/many/again/high.wav ]
skips() # COMMAND...: whether --resume skips again.wav after the command; undoes nothing
{
    "$@"
    $many --resume >"$out" 2>"$err" || true
    grep -q "again.wav: already separated, skipped" "$err"
}
check "nothing has changed" skips true
check "changed labels are separated again" eval '! skips touch -d "+1 minute" again.txt'
touch -r notes.txt again.txt
check "a lost page is written again" eval '! skips rm out/many/again/report.html'
check "without a page it is not needed" eval 'many="$many --no-report"; ! skips true'
expect 5 "" ... $many --unlabelled silent --resume
check "another command does not skip it" [ "$(grep -c 'many/.*: the directory is not empty' "$err")" = 2 ]
expect 0 ... "" tlnmf separate notes.wav -k auto --starts 1 -o auto --json
check "the number of sources, and why" eval '[ "$(json sources)" -ge 1 ] && json reason | grep -q "^assumed (. spectra explain it); only k or labels"'
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt -o guided -v -q
check "a verdict in words" grep -Eq "^  guided/low A.wav: about [0-9]+ dB SI-SDR \([0-9-]+ to [0-9]+\), (very )?good: the others are" "$out"
check "the number of blended dictionaries" grep -q "^  transform     blend of ., mainly STFT, " "$out"
check "the verdict is in the summary" [ "$(grep -c '"expected_si_sdr": [0-9]' guided/summary.json)" = 2 ]
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt -o single --frame 20ms --window sine
check "one candidate: no figure" [ "$(grep -c 'quality not estimated with .* or --window with --frame or --hop$' "$out")" = 2 ]
check "nor on the page" grep -q "not estimated with .* or --window with --frame or --hop. Listen" single/report.html
printf 'no sound' >song.m4a
expect 3 "" 'tlnmf separate: song.m4a: unsupported audio format
tlnmf separate: convert it first: ffmpeg -i song.m4a out.wav' tlnmf separate song.m4a -k 2
cp song.m4a 'my song.wma'
expect 3 "" "tlnmf separate: my song.wma: unsupported audio format
tlnmf separate: convert it first: ffmpeg -i 'my song.wma' out.wav" tlnmf separate 'my song.wma' -k 2
expect 3 "" 'tlnmf apply: guided: Is a directory
tlnmf apply: use guided/model.h5' tlnmf apply guided notes.wav -o x

# ---- sums ----------------------------------------------------------------------------------------
# The last 2000 samples of a file, of 64 bits each
samples() # FILE
{
    tail -c 16000 "$1" | od -An -v -w8 -t f8 | tr -d ' '
}
# A mixture of two tones in 64-bit floats, its stems summed
awk 'BEGIN { for (t = 0; t < 2000; t++) print .3 * sin(t * .4) * (t < 1400) + .2 * sin(t * .9) * (t > 600) }' >tones
wav tones.wav 4000 1 $(cat tones)
printf '0\t0.35\ta\n0.15\t0.5\tb\n' >tones.txt
expect 0 ... "" tlnmf separate tones.wav --labels tones.txt -o sum --components --per-source 2 --residual
check "the files" [ "$(cd sum && ls ./*.wav | tr '\n' ' ')" = "./a 1.wav ./a 2.wav ./b 1.wav ./b 2.wav ./residual.wav " ]
paste <(samples tones.wav) <(samples "sum/a 1.wav") <(samples "sum/a 2.wav") <(samples "sum/b 1.wav") \
    <(samples "sum/b 2.wav") <(samples sum/residual.wav) | awk '
    { off = $1 - $2 - $3 - $4 - $5 - $6; if (off < 0) off = -off; if (off > worst) worst = off; n++ }
    END { print n, worst; exit !(n == 2000 && worst < 1e-12) }' >sums ||
    fail "the stems do not sum to the input: $(cat sums)"

# ---- options -------------------------------------------------------------------------------------
usage separate "missing operand: a sound file (see tlnmf separate --help)"
usage separate "the name of -o is empty" notes.wav -k 2 -o ""
usage separate "k = many is not a number" notes.wav -k many
usage separate "--labels and --labels-from are mutually exclusive" notes.wav --labels a.txt --labels-from '{name}.txt'
usage separate "-o x for 2 sounds must contain {name}, as in -o x/{name}" notes.wav notes.wav -k 2 -o x
usage separate "--labels a.txt for 2 sounds: use --labels-from {name}.txt" notes.wav notes.wav --labels a.txt
usage separate "--labels-from a.txt must contain {name}" notes.wav --labels-from a.txt
usage separate "k = 70 is outside [0, 64]" notes.wav -k 70 -o x
usage separate "k = 3, but the labels name 2 sources" notes.wav -k 3 --labels notes.txt -o x
usage separate "per-source = 2: without labels nothing says which components belong together" \
    notes.wav -k 2 --per-source 2 -o x
usage separate "window = round is not one of auto|tukey|sine|hann|rectangular|kaiser" notes.wav -k 2 --window round -o x
usage separate "transform = wavelet is not one of auto|dct|dft|stft" notes.wav -k 2 --transform wavelet -o x
usage separate "gain = loud is not one of none|safe" notes.wav -k 2 --gain loud -o x
for frame in 7.5 -200 40m ms -40ms; do
    usage separate "frame = $frame is neither a number of samples nor a time such as 40ms" \
        notes.wav -k 2 --frame=$frame -o x
done
usage separate "frame = 5000000 is outside [0, 1048576]" notes.wav -k 2 --frame 1000s -o x
usage separate "hop = 201 samples is outside [1, 200], the length of a frame: the sound between frames would be lost" \
    notes.wav -k 2 --hop 201 -o x
usage separate "window hann with hop 200 of 200 samples cannot reconstruct the sound: between frames its weight is only 6.2e-05; use a smaller hop" \
    notes.wav -k 2 --window hann --hop 200 --shifts 1 -o x
usage separate "release = soon is not a number" notes.wav -k 2 --release soon -o x
absent x

# ---- bad sound -----------------------------------------------------------------------------------
wav empty.wav 8000 1
input separate "empty.wav: holds no samples" empty.wav -k 2 -o x
input separate "gone.wav: No such file or directory" gone.wav -k 2 -o x
wav silent.wav 8000 1 $(printf '0 %.0s' $(seq 500))
input separate "silent.wav: the sound is silent: there is nothing to learn from" silent.wav -k 2 -o x
wav nan.wav 8000 1 .1 .2 nan .4
input separate "nan.wav: sample 2, channel 0 is not finite" nan.wav -k 2 -o x
# An odd number of channels
wav three.wav 8000 3 $(awk 'BEGIN { for (i = 0; i < 30000; i++) print 0.5 * sin(i * i / 9000) }')
expect 0 ... "" tlnmf separate three.wav -k 2 --method nmf --shifts 1 -o three
check "three channels in, three out" grep -q '"channels": 3' three/summary.json
usage separate 'format = |wav is not one of wav|flac|w64' three.wav -k 2 -o x --format '|wav'
usage separate 'gain = none|safe is not one of none|safe' three.wav -k 2 -o x --gain 'none|safe'
# Louder than the format: clipped and counted, or scaled
wav loud.wav 8000 1 $(awk 'BEGIN { for (i = 0; i < 4000; i++) print 1.5 * sin(i / 3) }')
expect 0 ... ... tlnmf separate loud.wav -k 1 --method nmf --shifts 1 --format flac -o loud --json
check "clipped samples are counted" [ "$(json clipped)" -gt 100 ]
check "and reported" grep -q "samples of the stems were clipped; --gain safe avoids it" "$err"
expect 0 ... "" tlnmf separate loud.wav -k 1 --method nmf --shifts 1 --format flac -o safe --json --gain safe
check "none is clipped" [ "$(json clipped)" -eq 0 ]
near "by the gain" "$(json gain)" 0.66667 1e-3
mkdir own && cp loud.wav own/source_1.wav
expect 2 "" "tlnmf separate: own/source_1.wav: this output would replace an input" \
    tlnmf separate own/source_1.wav -k 1 --method nmf --shifts 1 -o own --force
check "the input is unchanged" cmp loud.wav own/source_1.wav
head -c 2000 tones.wav >cut.wav
input separate "cut.wav: truncated: its header announces 16036 bytes, the file has 1992" cut.wav -k 2 -o x
printf hello >text.wav
input separate 'text.wav: unsupported audio format' text.wav -k 2 -o x
wav slow.wav 1 1 $(seq 50)
usage separate "frame = 0 samples is outside [2, 1048576]" slow.wav -k 2 -o x
wav quick.wav 10000000 1 $(seq 50)
expect 1 "" ... tlnmf separate quick.wav -k 2 -o x
check "the required memory" grep -Eq '^tlnmf separate: this run needs about [0-9.]+ [GT]B of memory, but only [0-9.]+ [kMG]B are free$' "$err"
wav short.wav 8000 1 .1 .2 -.1
input separate "short.wav: 30 components need at least as many frames, but there are 2: use a longer sound, shorter frames or fewer components" \
    short.wav -k 30 -o x
absent x

# unusual, but valid: shorter than a frame, a constant, a clipped square wave, many channels
expect 0 ... "" tlnmf separate short.wav -k 2 -o short
wav constant.wav 8000 1 $(printf '.5 %.0s' $(seq 900))
expect 0 ... "" tlnmf separate constant.wav -k 2 -o constant
wav square.wav 8000 1 $(for i in $(seq 60); do printf '1 1 1 1 1 1 1 1 -1 -1 -1 -1 -1 -1 -1 -1 '; done)
expect 0 ... "" tlnmf separate square.wav -k 2 -o square --gain safe
wav many.wav 8000 64 $(awk 'BEGIN { for (i = 0; i < 64 * 400; i++) print sin(i * i * .01) * .5 }')
expect 0 ... "" tlnmf separate many.wav -k 2 -o many --shifts 2
check "64 channels" [ "$(od -An -t u2 -j 22 -N 2 many/source_1.wav | tr -d ' ')" -eq 64 ]

# ---- bad labels ----------------------------------------------------------------------------------
labels() # MESSAGE TEXT
{
    printf '%b' "$2" >l.txt
    input separate "l.txt: $1" notes.wav --labels l.txt -o x
}
labels "it contains no labels" ""
labels "line 1: a time is negative: -1" '-1\t1\ta\n'
labels "line 1: not UTF-8 text" '0\t1\t\xff\xfe\n'
labels "line 1: the label ends before it starts" '2\t1\ta\n'
labels "line 1: the label at 0 s has no name: which source is it?" '0\t1\t\n'
printf '0\t1\ta\n5\t6\tb\n' >l.txt
expect 3 "" 'tlnmf separate: warning: l.txt: the label "b" (line 2, 5 to 6 s) lies outside of the sound, which ends at 3 s, and is ignored: correct its times or remove it
tlnmf separate: l.txt: "b" never sounds: its labels have no length or lie past the end of the sound' \
    tlnmf separate notes.wav --labels l.txt -o x
printf '0\t1\ta\n1\t1\tb\n' >l.txt
expect 3 "" 'tlnmf separate: warning: l.txt: the label "b" at 1 s has zero length: it does not say how long the source sounds
tlnmf separate: l.txt: "b" never sounds: its labels have no length or lie past the end of the sound' \
    tlnmf separate notes.wav --labels l.txt -o x
absent x
printf '0\t1\t../x\n0.5\t2\t/etc/y\n1\t9\t../x\n' >paths.txt
expect 0 ... 'tlnmf separate: warning: paths.txt: the label "../x" ends at 9 s, but the sound ends at 3 s' \
    tlnmf separate notes.wav --labels paths.txt --method nmf --per-source 1 -o paths
check "why there is no estimate" [ "$(grep -c ': quality not estimated with --method, --per-source, --transform dct|dft, or --window with --frame or --hop$' "$out")" = 2 ]
check "no stem outside of the directory" [ "$(ls paths | tr '\n' ' ')" = "_etc_y.wav _x.wav model.h5 report.html summary.json " ]

# Names: surrounding spaces are ignored; names that differ only in case are two sources, with a warning
# in place of the estimate
printf '0\t1\tPiano\n1\t2\t piano \n2\t3\tPiano \n2\t3\tpiano\n' >case.txt
expect 0 ... 'tlnmf separate: warning: the names "Piano" (case.txt line 1, 0 s) and "piano" (case.txt line 2, 1 s) differ only in case: if they are one source, correct one of them' \
    tlnmf separate notes.wav --labels case.txt --method nmf --per-source 1 -o case
check "two sources, not four" [ "$(grep -c '"name"' case/summary.json)" = 2 ]
printf '0\t1\ta\n1\t3\tb\n2\t2\ta\n' >point.txt
expect 0 ... 'tlnmf separate: warning: point.txt: the label "a" at 2 s has zero length: it does not say how long the source sounds' \
    tlnmf separate notes.wav --labels point.txt --method nmf --per-source 1 -o point

# Many warnings of one kind are summed
awk 'BEGIN { for (i = 0; i < 80; i++) print "0\t1\ta\n1\t9\tb\n2\t2\tb" }' >flood.txt
expect 0 ... ... tlnmf separate notes.wav --labels flood.txt --method nmf --per-source 1 -o flood
check "few lines" [ "$(grep -c 'flood.txt' "$err")" -le 9 ]
check "late labels" grep -q "warning: flood.txt: and 77 more labels end after the sound" "$err"
check "points" grep -q "warning: flood.txt: and 77 more labels have zero length" "$err"

# ---- labels that may be wrong ----------------------------------------------------------------------
printf '0\t1\tlow A\n1\t2\thigh\n2\t3\tlow A\n2\t3\thighx\n' >typo.txt
expect 0 ... 'tlnmf separate: warning: the names "high" (typo.txt line 2, 1 s) and "highx" (typo.txt line 4, 2 s) are nearly the same: if they are one source, correct one of them' \
    tlnmf separate notes.wav --labels typo.txt -o typo
check "a figure for the other stem" grep -q "low A.wav: about" "$out"
check "no figure" [ "$(grep -c 'quality not estimated, see the warnings' "$out")" = 2 ]
check "in the summary" [ "$(grep -c 'are nearly the same' typo/summary.json)" = 1 ]
expect 0 ... "" tlnmf separate notes.wav --labels typo.txt -o typo_quiet -q
check "no warnings to see" [ "$(grep -c 'quality not estimated, see the page' "$out")" = 2 ]
expect 0 ... "" tlnmf separate notes.wav --labels typo.txt -o typo_plain -q --no-report
check "and no page" [ "$(grep -c 'quality not estimated, see caveats in summary.json' "$out")" = 2 ]
expect 0 ... "" tlnmf report typo/model.h5 -o typo.html
for page in typo/report.html typo.html; do
    check "$page: the caveat" grep -q 'the names &quot;high&quot; (typo.txt line 2, 1 s)' $page
    check "$page: no figure" grep -q '<th scope="row">highx</th><td>not estimated</td>' $page
    check "$page: how sure" grep -q "cannot detect notes assigned to the wrong player, .* or labels that are missing" $page
    check "$page: no empty heading" [ "$(grep -c '>Convergence<' $page)" = 0 ]
    check "$page: no empty value" [ "$(grep -c '>none</td>' $page)" = 0 ]
done
printf '0\t1\tlow A\n1\t2\thigh\n2\t3\tlow A\n2\t9\thigh\n20\t30\thigh\n' >outside.txt
outside='the label "high" (line 5, 20 to 30 s) lies outside of the sound, which ends at 3 s, and is ignored: correct its times or remove it'
expect 0 ... 'tlnmf separate: warning: outside.txt: the label "high" ends at 9 s, but the sound ends at 3 s
tlnmf separate: warning: outside.txt: '"$outside" tlnmf separate notes.wav --labels outside.txt -o outside
check "no figure" [ "$(grep -c 'quality not estimated, see the warnings' "$out")" = 2 ]
check "both warnings are in the summary" [ "$(grep -c '"the label .*high' outside/summary.json)" = 2 ]
check "and on the page" grep -q '<li>[^<]* ends at 9 s, but.*(line 5, 20 to 30 s) lies outside' outside/report.html
sed '$d' outside.txt >cut.txt
expect 0 ... ... tlnmf separate notes.wav --labels cut.txt -o cut
check "a label that is cut withholds nothing" [ "$(grep -c 'about [0-9]* dB' "$out")" = 2 ]
check "and is a caveat" grep -q "ends at 9 s" cut/report.html
printf '0\t3\tall\n' >one.txt
expect 0 ... 'tlnmf separate: warning: all labels have the name "all": its stem is the whole recording; if several sources play, name each of them' \
    tlnmf separate notes.wav --labels one.txt -o one
check "no figure" grep -q "all.wav: quality not estimated" "$out"

# Both always sound, so candidates can agree and all be wrong.
printf '0\t3\tlow A\n0\t3\thigh\n' >together.txt
expect 0 ... 'tlnmf separate: warning: no two passages without a common source are long enough to check the quality: record each source alone before the mixture, and label it' \
    tlnmf separate notes.wav --labels together.txt -o together
check "no figure" [ "$(grep -c 'quality not estimated, see the warnings' "$out")" = 2 ]
check "the page has the reason" grep -q "no two passages without a common source are long enough" together/report.html
check "no figure on the page" [ "$(grep -c 'expect [0-9-]* dB' together/report.html)" = 0 ]

# With a release of 1 s, high is never alone.
expect 0 ... 'tlnmf separate: warning: "high" is never alone, so its sound cannot be learnt and the quality cannot be estimated: record 0.4 s or more of it alone before the mixture, and label it; or correct the name if it is misspelt' \
    tlnmf separate notes.wav --labels notes.txt --release 1 -o solo
check "no figure" [ "$(grep -c 'quality not estimated, see the warnings' "$out")" = 2 ]
check "a caveat" grep -q 'is never alone, so its sound' solo/summary.json

# ---- passages without a label ----------------------------------------------------------------------
printf '0\t1\tlow A\n1\t2\thigh\n' >alone.txt
expect 0 ... ... tlnmf separate notes.wav --labels alone.txt -o any --json
check "a warning" grep -Eq "^tlnmf separate: warning: 0\.[0-9]+ s with [0-9.]+ % of the energy have no label \(first at 2\.[0-9]+ s\)\. Any source may sound there: label it, or use --unlabelled silent to divide it equally among all stems\$" "$err"
near "how long" "$(json unlabelled_seconds)" 0.7 0.2
check "once on the page" [ "$(grep -o '<li>[0-9.]* s with [^<]* have no label' any/report.html | wc -l)" = 1 -a "$(grep -c '<b>Without a label' any/report.html)" = 0 ]
check "no score that the labels make too high" [ "$(grep -c 'best candidate in use' any/report.html)" = 0 ]
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt -o known --json
near "everything is labelled" "$(json unlabelled_seconds)" 0 0
expect 0 ... "" tlnmf eval --filter 1 --json --ref known/high.wav --est any/high.wav
check "as good as with all labels: $(json si_sdr) dB" awk -v a="$(json si_sdr)" 'BEGIN { exit !(a > 20) }'
expect 0 ... ... tlnmf separate notes.wav --labels alone.txt -o none --unlabelled silent
check "silence, as asked" grep -q "It is divided equally among all stems" "$err"

# Late labels leave the starts of sounds without a label: the cause comes first.
duet=$GOLDEN/../../recordings/piano_clarinet
awk -F '\t' '{ printf "%.2f\t%.2f\t%s\n", $1 + 0.25, $2 + 0.25, $3 }' "$duet/labels.txt" >late.txt
expect 0 ... 'tlnmf separate: warning: the labels are about 0.25 s late: sounds begin before them; check the first label (late.txt line 1, 0.25 s) and move all labels; if they are right, ignore this warning: the stems do not change, only their quality is not estimated
tlnmf separate: warning: 0.24 s with 9.5 % of the energy have no label (first at 0 s). Any source may sound there: label it, or use --unlabelled silent to divide it equally among all stems' \
    tlnmf separate "$duet/mix.flac" --labels late.txt -o late --per-source 1 --method nmf

# A model of other instruments does not fit
expect 0 ... ... tlnmf apply late/model.h5 "$duet/../flute_violin/mix.flac" -o other
check "what to do" grep -q "the model does not explain 6[0-9] % of it: .* put solo takes before the recording, label them, and use separate$" "$err"
check "the page says what to do" grep -q "Put solo takes before the recording, label them, and use <code>tlnmf separate</code>" other/report.html

# ---- labels with frequencies -----------------------------------------------------------------------
awk 'BEGIN { for (t = 0; t < 2000; t++) print .3 * sin(t * .4) }' >deep
awk 'BEGIN { for (t = 0; t < 2000; t++) print .2 * sin(t * .9) }' >bright
wav deep.wav 4000 1 $(cat deep)
wav bright.wav 4000 1 $(cat bright)
wav both.wav 4000 1 $(paste deep bright | awk '{ print $1 + $2 }')
printf '0\t0.5\tdeep\n\\\t0\t400\n0\t0.5\tbright\n\\\t400\t-1\n' >ranges.txt
expect 0 ... 'tlnmf separate: warning: some labels have frequencies (the first: ranges.txt line 1, 0 s): the quality of such stems cannot be estimated' \
    tlnmf separate both.wav --labels ranges.txt -o ranges
check "no figure" grep -q "deep.wav: quality not estimated, see the warnings" "$out"
expect 0 ... "" tlnmf eval --filter 1 --json --no-permutation --ref deep.wav bright.wav --est ranges/deep.wav ranges/bright.wav
check "separated by frequency: $(json si_sdr) dB" awk -v a="$(json si_sdr)" 'BEGIN { exit !(a > 15) }'
labels "line 1: frequencies without a label before them" '\\\t1\t2\n'
labels "line 2: the highest frequency is below the lowest" '0\t1\ta\n\\\t500\t100\n'
labels "line 2: not a frequency in Hz: low" '0\t1\ta\n\\\tlow\t100\n'

# ---- outputs -------------------------------------------------------------------------------------
expect 5 "" "tlnmf separate: stems: the directory is not empty; --force adds and replaces files" \
    tlnmf separate notes.wav -k 2 -o stems
expect 0 ... "" tlnmf separate notes.wav -k 2 -o stems --force --method nmf --format flac
check "the existing files are kept" [ -f stems/high.wav -a -f stems/source_1.flac ]
expect 5 "" "tlnmf separate: notes.txt: Not a directory" tlnmf separate notes.wav -k 2 -o notes.txt
expect 5 "" "tlnmf separate: no/dir: No such file or directory" tlnmf separate notes.wav -k 2 -o no/dir
# no space for the stems: 8 blocks of 512 or 1024 bytes
expect 5 "" ... bash -c "ulimit -f 8; trap '' XFSZ; exec tlnmf separate notes.wav -k 2 --method nmf -o full"
check "why" grep -q 'tlnmf separate: .*full' "$err"
absent full
# space for the stems (60 kB each), but not for the model (192 kB): no file remains
expect 5 "" ... bash -c "ulimit -f 150; trap '' XFSZ; exec tlnmf separate notes.wav --labels notes.txt --method nmf \
    --transform dct --frame 1500 --per-source 8 -o full"
check "why" grep -q 'tlnmf separate: full/.*model.h5' "$err"
absent full

# without a GPU; an existing one is hidden
expect 2 "" ... env CUDA_VISIBLE_DEVICES= tlnmf separate notes.wav -k 2 --device gpu -o x
check "why" grep -q '^tlnmf separate: device gpu: ' "$err"
absent x

# ---- apply ---------------------------------------------------------------------------------------
usage apply "missing operand: a model and a sound file or array are required (see tlnmf apply --help)" stems/model.h5
input apply "tones.wav: the rate of the sound is 4000 Hz, the model was learnt at 5000 Hz: resample it first, or give --resample" \
    again/model.h5 tones.wav -o x
expect 0 ... ... tlnmf apply again/model.h5 tones.wav -o fast --resample
check "stems have the model's rate" grep -q '"resampled_from": 4000' fast/summary.json
check "the text says so" grep -qx '  resampled     from 4000 Hz: stems have 5000 Hz, the rate of the model' "$out"
check "the page shows the resampled recording" grep -q '"V":{"type"' fast/report.html
check "as long as the stems" eval '! grep -q "the recording has [0-9]\|do not sum" fast/report.html'
check "another sound is not explained" grep -q 'tones.wav: the model does not explain [4-9][0-9] % of it' "$err"
check "and the summary says so" grep -q '"fits": false' fast/summary.json
expect 0 ... "" tlnmf apply again/model.h5 notes.wav -o refit --resample
check "its own sound is explained" grep -q '"fits": true' refit/summary.json
check "the text says so as well" grep -q '  not explained [0-9.]* % of the power ([0-9.]* % of the recording it was learnt from)' "$out"
printf '0\t1\tlow B\n' >b.txt
input apply 'b.txt: the model has no source "low B"' again/model.h5 notes.wav --labels b.txt -o x
small_data y.npy
tlnmf fit y.npy -k 2 -o fit.h5 -q >/dev/null
input apply 'fit.h5: this is not a separation model: it does not describe its frames' \
    fit.h5 notes.wav -o x
usage apply "--resample is for sounds, but y.npy is an array" fit.h5 y.npy --resample
absent x
