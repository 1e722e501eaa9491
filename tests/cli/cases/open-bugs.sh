# Not run by default: what the program should do and does not yet. A fixed line moves to its case.
small_data y.npy
npy covariances.npy "(2, 2, 2)" 2 1 1 2 5 -3 -3 5
mkdir directory

# simulate gcm --signal alone writes nothing and says nothing
expect 2 "" ... tlnmf simulate gcm --signal x.wav
# a seed that numpy's stream cannot take is cut silently
expect 2 "" ... tlnmf simulate notes --stream numpy --seed 4294967296 -o x.npy
# jd lacks two checks of fit's
usage jd "--json and the model cannot both go to standard output" y.npy --json -o -
usage jd "--init-phi and --transform FILE say the same thing twice" y.npy --init-phi a --transform b
# a full disk goes unnoticed
for arguments in "info y.npy" --help --version "fit --help"; do
    code=0
    tlnmf $arguments >/dev/full 2>/dev/null || code=$?
    check "tlnmf $arguments >/dev/full: exit code $code, not 5" [ $code -eq 5 ]
done
# an output that is a directory is noticed after the run only
expect 5 "" ... timeout 30 tlnmf fit y.npy -k 1 -J 1 -o directory
# a second output that cannot be written is noticed after the first is
expect 5 "" ... tlnmf simulate gcm -o y2.npy --truth-w nowhere/W.npy
absent y2.npy
# HDF5 under the name of an .npy file, which info then refuses
tlnmf fit y.npy -k 1 -J 1 -o model.npy >/dev/null 2>&1 && expect 0 ... "" tlnmf info model.npy
# seeds from 2^63 on are negative in the JSON
expect 0 ... "" tlnmf fit y.npy -k 1 -J 1 --json --seed 18446744073709551615 --no-model
check "seed in the JSON is $(json seed)" [ "$(json seed)" = 18446744073709551615 ]
# a file name that is not UTF-8 takes "data" out of the JSON and the model
cp y.npy $'\xff.npy'
expect 0 ... "" tlnmf fit $'\xff.npy' -k 1 -J 1 --json --no-model
check "JSON has M" [ "$(json M)" = 3 ]
# options that are accepted and do nothing
expect 0 ... "" tlnmf simulate gcm -o z.npy --json
check "simulate --json prints an object" [ -s "$out" ]
expect 0 ... "" tlnmf info y.npy -o there
check "info -o writes the file" [ -s there ]
# /dev is not writable for everybody, /dev/null is: the early check asks about the directory only
# (for root this passes; output.sh has /dev/full, which fails for others for the same reason)
expect 0 ... "" tlnmf fit y.npy -k 1 -J 1 -o /dev/null
