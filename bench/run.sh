#!/bin/sh
# make bench: ours against numpy, in one run. Needs a python3 with numpy and scipy.
#   run.sh BUILD
set -eu
build=$1
here=$(dirname "$0")
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy, scipy' 2>/dev/null; then
        exec "$python" "$here/compare.py" "$build/tlnmf" --json "$build/bench.json"
    fi
done
echo "bench: no python3 with numpy and scipy (Debian: python3-numpy python3-scipy; ./run bench installs them)" >&2
exit 1
