# simulate: the numbers of the reference implementation, and valid files.
value() # WHAT FILE INDEX WANTED
{
    near "$1" "$(doubles "$2" "$3" 1)" "$4" 1e-14
}

# Random numbers of numpy's RandomState, compared with the reference arrays.
expect 0 "" "" tlnmf simulate gcm --s 100 --seed-truth 2020 --seed-data 100 --stream numpy \
    -o gcm100.npy --truth-w W.npy --truth-h H.npy
expect 0 "gcm100.npy: npy, 400128 bytes
                     float64  (100, 10, 50)" "" tlnmf info gcm100.npy
value "Y[0,0,0]" gcm100.npy 0 0.31839586695006916
value "Y[0,0,1]" gcm100.npy 1 -0.6430041175824567
value "Y[0,9,49]" gcm100.npy 499 -3.9535642877751456
value "Y[50,3,7]" gcm100.npy $((50 * 500 + 3 * 50 + 7)) -2.120685659789991
value "Y[99,9,49]" gcm100.npy 49999 -3.776039743410516
near "the sum of Y" "$(doubles gcm100.npy 0 50000 | awk '{ s += $1 } END { printf "%.17g", s }')" \
    -928.0184819904772 1e-11
near "the sum of Y^2" "$(doubles gcm100.npy 0 50000 | awk '{ s += $1 * $1 } END { printf "%.17g", s }')" \
    967477.6314726818 1e-11
expect 0 "W.npy: npy, 528 bytes
                     float64  (10, 5)" "" tlnmf info W.npy
value "Wbar[0,0]" W.npy 0 8.577339101709759
value "Wbar[0,1]" W.npy 1 4.133318304371036
value "Wbar[0,2]" W.npy 2 1.4256613717869082
value "Hbar[0,0]" H.npy 0 1.4407087562849696
value "Hbar[0,1]" H.npy 1 0.6277169716565189

# S = 1 is the beginning of S = 100.
expect 0 "" "" tlnmf simulate gcm --s 1 --stream numpy -o gcm1.npy
check "the first realisation" cmp -s <(tail -c +129 gcm1.npy) <(tail -c +129 gcm100.npy | head -c 4000)

# Files
expect 0 "" "" tlnmf simulate gcm --s 2 --m 3 --n 4 --kbar 2 -o a.npy
expect 0 "" "" tlnmf simulate gcm -s 2 -m 3 -n 4 --kbar 2 -o b.npy
check "--s is -s" cmp a.npy b.npy
expect 0 ... "" tlnmf simulate gcm --s 2 --m 3 --n 4 --kbar 2 -o -
check "-o - is the same file" cmp "$out" a.npy
expect 0 "" "" tlnmf simulate gcm --s 2 --m 3 --n 4 --kbar 2 --seed-data 101 -o c.npy
check "another seed, other data" eval '! cmp -s a.npy c.npy'
expect 0 "" "" tlnmf simulate gcm --s 2 --m 3 --n 4 --kbar 2 -o a.h5
expect 0 ... "" tlnmf info a.h5
check "HDF5: /Y is (2, 3, 4)" grep -Eq '^  /Y +float64 +\(2, 3, 4\)$' "$out"
expect 0 "" "" tlnmf simulate gcm -o b.h5:/group/Y
expect 0 ... "" tlnmf fit b.h5:/group/Y -k 1 -J 1 -q --no-model

# Existing files are not replaced without --force
cp c.npy kept.npy
for option in "-o c.npy" "-o d.npy --truth-w c.npy" "-o d.npy --truth-h c.npy"; do
    expect 5 "" "tlnmf simulate: c.npy: exists already; --force replaces it" tlnmf simulate gcm $option
done
cp a.h5 kept.h5
for force in "" --force; do
    expect 5 "" "tlnmf simulate: a.h5: exists already, and a dataset cannot be added to it; name a new file" \
        tlnmf simulate gcm -o a.h5:/Z $force
done
check "the datasets of the file stay" cmp a.h5 kept.h5
check "nothing has changed" cmp c.npy kept.npy
absent d.npy
expect 0 "" "" tlnmf simulate gcm --s 2 --m 3 --n 4 --kbar 2 --force -o c.npy
check "--force replaces it" cmp c.npy a.npy
touch sound.wav
expect 5 "" "tlnmf simulate: sound.wav: exists already; --force replaces it" \
    tlnmf simulate notes -o d.npy --signal sound.wav
absent d.npy
expect 0 "" "" tlnmf simulate notes -o d.npy --signal sound.wav --force
check "the sound exists" [ "$(head -c 4 sound.wav)" = RIFF ]
expect 2 "" "tlnmf simulate: s = 65 is outside [1, 64]" tlnmf simulate notes -s 65 --signal many.wav
absent many.wav

# Music notes, with the phases of the reference
expect 0 "" "" tlnmf simulate notes --theta 4.566139588724956,5.105464657836703 -o notes.npy \
    --signal notes.wav
expect 0 "notes.npy: npy, 241728 bytes
                     float64  (1, 200, 151)" "" tlnmf info notes.npy
near "Y[0,33,17]" "$(doubles notes.npy 5000 1)" -0.0005818477129214691 1e-12
near "the sum of Y^2" "$(doubles notes.npy 0 30200 | awk '{ s += $1 * $1 } END { printf "%.17g", s }')" \
    0.019962790980562806 1e-11

# The sound: RIFF, the size of the rest, WAVE, 5000 Hz, one channel of floats, 3 seconds
number() # FILE OFFSET SIZE
{
    od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}
check "RIFF" [ "$(head -c 4 notes.wav)" = RIFF ]
check "WAVE" [ "$(tail -c +9 notes.wav | head -c 8)" = "WAVEfmt " ]
check "the size in the header" [ "$(number notes.wav 4 4)" -eq $(($(stat -c %s notes.wav) - 8)) ]
check "float samples" [ "$(number notes.wav 20 2)" -eq 3 ]
check "one channel" [ "$(number notes.wav 22 2)" -eq 1 ]
check "5000 Hz" [ "$(number notes.wav 24 4)" -eq 5000 ]
check "15000 samples" [ "$(stat -c %s notes.wav)" -ge 60044 ]

expect 0 "" "" tlnmf simulate notes --s 2 --seed 7 --signal two.wav
check "two channels" [ "$(number two.wav 22 2)" -eq 2 ]
expect 0 "" "" tlnmf simulate notes --s 2 --seed 7 -o seven.npy --signal again.wav
check "same seed, same sound" cmp two.wav again.wav
expect 0 "" "" tlnmf simulate notes --seed 7 --signal notes.flac
check "FLAC" [ "$(head -c 4 notes.flac)" = fLaC ]
