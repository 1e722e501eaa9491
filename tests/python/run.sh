#!/bin/sh
# Runs a test of the Python package with Debian's Python, or the one that PYTHON names.
# Exit code 77: there is no Python with the required modules, or the library (built by clang) and the
# BLAS of numpy use different OpenMP runtimes, which support neither common threads nor a fork.
# usage: run.sh BUILD MODULES TEST [ARGUMENT...]      MODULES: comma-separated, e.g. numpy,sklearn
# TEST is relative to this folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 modules=$2 test=$3
shift 3
python=${PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null 2>&1 || python=python3
"$python" -c "import $modules" 2>/dev/null || { echo "skipped: no $python with $modules"; exit 77; }
case $test in
test_program.py | test_process.py | *blocks.py)
    if ldd "$build/libtlnmf.so" | grep -q libomp; then
        echo "skipped: the library uses libomp, BLAS another OpenMP runtime"
        exit 77
    fi ;;
esac
TLNMF_LIBRARY=$build TLNMF_PROGRAM=$build/tlnmf PYTHONPATH=$here/../../python:$here
PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive # the computer may be busy
export TLNMF_LIBRARY TLNMF_PROGRAM PYTHONPATH PYTHONDONTWRITEBYTECODE OMP_WAIT_POLICY
exec "$python" -W error::SyntaxWarning "$here/$test" "$@"
