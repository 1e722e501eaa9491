#!/bin/sh
# Simulates the paper's music notes, learns their transform and shows it. Then separates a recording
# of a piano.
#   demo.sh PROGRAM [DIRECTORY]
set -eu
tlnmf=$1
dir=${2:-demo-out}
mkdir -p "$dir"

run() # ARGUMENT...: prints the command and runs it
{
    printf '\n$ tlnmf %s\n' "$*"
    "$tlnmf" "$@"
}

run simulate notes --seed 7 -o "$dir/notes.npy" --signal "$dir/notes.wav" --force
run fit "$dir/notes.npy" -k 2 --eps 5e-7 --transform dct --rate 5000 --certify \
    --report -o "$dir/model.h5" --force

cat <<EOF

Two notes a semitone apart, 440 and 466.16 Hz with one harmonic each: the transform has found a pair
of atoms for each of the four frequencies. No row of the DCT, from which it started, has any of them.
Listen to $dir/notes.wav; show the model with: tlnmf info $dir/model.h5

Now a recording: two piano notes a semitone apart, first in sequence and then together.
EOF

piano=$(dirname "$(dirname "$0")")/tests/recordings/piano_a4_as4
run separate "$piano/mix.flac" -k 2 -o "$dir/stems" --force
run eval --ref "$piano/piano_a4.flac" "$piano/piano_as4.flac" \
    --est "$dir/stems/source_1.wav" "$dir/stems/source_2.wav"

cat <<EOF

The program was not told when each note plays. Listen to $dir/stems/source_1.wav and source_2.wav, or
open $dir/stems/report.html in a browser to see and hear all of it. The page of the notes above is
$dir/model.html
EOF
