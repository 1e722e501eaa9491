# Existing outputs are not replaced without --force, and inputs are never replaced.
small_data y.npy
tlnmf simulate gcm --m 60 --n 200 -o long.npy
tlnmf simulate notes --theta 1,2 --signal notes.wav
printf '0\t1\tlow\n1\t2\thigh\n' >notes.txt
echo mine >mine.h5

# 10^8 iterations would take too long: the run is refused before it starts.
expect 5 "" "tlnmf fit: mine.h5: exists already; --force replaces it" \
    timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0 -o mine.h5
expect 5 "" "tlnmf jd: mine.h5: exists already; --force replaces it" \
    timeout 30 tlnmf jd long.npy -J 100000000 --grad-tol 0 -o mine.h5
cp mine.h5 model.h5 # the default names without -o
cp mine.h5 phi.h5
expect 5 "" "tlnmf fit: model.h5: exists already; --force replaces it" \
    timeout 30 tlnmf fit long.npy -k 5 -J 100000000 --tol 0
expect 5 "" "tlnmf jd: phi.h5: exists already; --force replaces it" \
    timeout 30 tlnmf jd long.npy -J 100000000 --grad-tol 0
ln -s mine.h5 link.h5
expect 5 "" "tlnmf fit: link.h5: exists already; --force replaces it" tlnmf fit y.npy -k 1 -o link.h5
check "the existing files are unchanged" [ "$(cat mine.h5 model.h5 phi.h5)" = $'mine\nmine\nmine' ]
expect 0 ... "" tlnmf fit y.npy -k 1 -J 1 --no-model # writes nothing: there is nothing to refuse

expect 0 ... "" tlnmf fit y.npy -k 1 -J 1 -o mine.h5 --force
check "fit --force replaces it" tlnmf info mine.h5 >"$out"
expect 0 ... "" tlnmf jd y.npy -J 1 --force
check "jd --force replaces it" tlnmf info phi.h5 >"$out"

# Directories of stems
learn="--method nmf --transform dct --per-source 1 -q" # -q: no warning about sound without labels
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt $learn -o stems
mkdir other && echo mine >other/summary.json
expect 5 "" "tlnmf separate: other: the directory is not empty; --force replaces the outputs of an earlier run" \
    tlnmf separate notes.wav --labels notes.txt $learn -o other
expect 5 "" "tlnmf apply: other: the directory is not empty; --force replaces the outputs of an earlier run" \
    tlnmf apply stems/model.h5 notes.wav -o other
check "nothing was added" [ "$(ls other)" = summary.json -a "$(<other/summary.json)" = mine ]
expect 0 ... "" tlnmf apply stems/model.h5 notes.wav -o other --force
check "apply --force writes" [ -f other/low.wav -a "$(head -n 1 other/summary.json)" = "{" ]
mkdir empty
expect 0 ... "" tlnmf separate notes.wav --labels notes.txt $learn -o empty # nothing to lose

# Inputs
tlnmf simulate gcm --m 3 --n 4 -o in.h5
cp in.h5 copy.h5
npy Phi.npy "(3, 3)" 1 0 0 0 1 0 0 0 1
cp Phi.npy Phi.h5 && cp Phi.npy W.h5 && cp Phi.npy H.h5 # only the names matter
replaced="this output would replace an input"
for force in "" --force; do
    usage fit "in.h5: $replaced" in.h5 -k 2 -o in.h5 $force
    usage fit "in.h5: $replaced" in.h5:/Y -k 2 -o in.h5 $force
    usage fit "./in.h5: $replaced" in.h5 -k 2 -o ./in.h5 $force
    usage jd "in.h5: $replaced" in.h5 -o in.h5 $force
    usage fit "Phi.h5: $replaced" y.npy -k 2 --init-phi Phi.h5 -o Phi.h5 $force
    usage fit "Phi.h5: $replaced" y.npy -k 2 --transform ./Phi.h5 -o Phi.h5 $force
    usage fit "W.h5: $replaced" y.npy -k 2 --init-w W.h5 -o W.h5 $force
    usage fit "H.h5: $replaced" y.npy -k 2 --init-h H.h5 -o H.h5 $force
    usage jd "W.h5: $replaced" y.npy --weights W.h5 -o W.h5 $force
done
check "the data are unchanged" cmp in.h5 copy.h5
cp stems/model.h5 model.copy
usage apply "stems/model.h5: $replaced" stems/model.h5 notes.wav -o stems --force
check "the model is unchanged" cmp stems/model.h5 model.copy
cp notes.wav stems/low.wav && cp notes.txt stems/activations.txt
usage separate "stems/low.wav: $replaced" stems/low.wav --labels notes.txt $learn -o stems --force
usage apply "stems/low.wav: $replaced" model.copy stems/low.wav -o stems --force
usage separate "stems/activations.txt: $replaced" \
    notes.wav --labels stems/activations.txt $learn --activations labels -o stems --force
check "the sound is unchanged" cmp notes.wav stems/low.wav
check "the labels are unchanged" cmp notes.txt stems/activations.txt
cp notes.wav "stems/low 1.wav" # the names of components are known only after learning
usage separate "stems/low 1.wav: $replaced" \
    "stems/low 1.wav" --labels notes.txt $learn --components -o stems --force
check "this sound is unchanged as well" cmp notes.wav "stems/low 1.wav"
