#!/bin/sh
# Builds the MEX file with mkoctfile and runs test_octave.m with it. Exit code 77: no Octave.
# usage: run.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
build=$1
for tool in octave mkoctfile; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: $tool not found"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$root"/octave/*.m "$here/test_octave.m" "$work"
cd "$work"
CFLAGS="-O2 -Wall -Wextra -Werror" mkoctfile --mex -I"$root/include" "$root/octave/tlnmf_mex.c" \
    -L"$build" -ltlnmf "-Wl,-rpath,$build" -o tlnmf_mex.mex
"$build/tlnmf" simulate gcm -s 3 -m 6 -n 20 -o Y.npy >/dev/null
"$build/tlnmf" fit Y.npy -k 2 --seed 5 --starts 1 -o model.h5 >/dev/null
PROGRAM=$build/tlnmf OMP_WAIT_POLICY=passive octave --no-gui --no-init-file --quiet test_octave.m
