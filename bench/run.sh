#!/bin/sh
# make bench: compares tlnmf with plain loops, numpy and scikit-learn, in one run. Needs a python3 with
# numpy and scipy; without one, the exit code is 77.
#   run.sh BUILD [OPTION of bench.py..]
set -eu
build=$1
shift
here=$(dirname "$0")
for modules in numpy,scipy,sklearn numpy,scipy; do
    for python in python3 /usr/bin/python3; do
        if "$python" -c "import $modules" 2>/dev/null; then
            exec "$python" "$here/bench.py" "$build" "$@"
        fi
    done
done
echo "bench: no python3 with numpy and scipy (Debian: python3-numpy python3-scipy; ./run bench installs them)" >&2
exit 77
