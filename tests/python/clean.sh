#!/bin/sh
# Installs a wheel that bundles all its libraries into a minimal system, a folder with Debian's python3
# and python3-numpy but without a compiler, and runs the package's tests and the program there. Needs root,
# for chroot.
#   debootstrap --variant=minbase --include=python3,python3-numpy bookworm ROOT
# usage: clean.sh BUILD ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) root=$(cd "$2" && pwd)

inside() { # command...
    chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 OMP_WAIT_POLICY=passive \
        PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/opt/tlnmf/site:/opt/tlnmf/tests "$@"
}

for tool in cc gcc clang cmake ld; do
    inside sh -c "command -v $tool" >/dev/null && { echo "clean.sh: $root must not contain $tool" >&2; exit 1; }
done
if inside sh -c 'ls /usr/lib/*/libopenblas* /usr/lib/*/libhdf5* /usr/lib/*/libsndfile*' >/dev/null 2>&1; then
    echo "clean.sh: $root must not contain libraries that the wheel bundles" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work" "$root/opt/tlnmf"; [ -z "${mounted:-}" ] || umount "$root/proc"' EXIT
wheel=$(TLNMF_BUILD=$build TLNMF_BUNDLE=all python3 "$here/../../python/backend.py" wheel "$work")
echo "$(basename "$wheel"): $(du -k "$wheel" | cut -f1) kB"
rm -rf "$root/opt/tlnmf"
mkdir -p "$root/opt/tlnmf/tests" "$root/proc"
if [ ! -e "$root/proc/self" ]; then # OpenMP and the tests need /proc
    mount -t proc proc "$root/proc"
    mounted=1
fi
cp "$wheel" "$root/opt/tlnmf/wheel.zip"
cp "$here"/test_*.py "$root/opt/tlnmf/tests"
inside python3 -m zipfile -e /opt/tlnmf/wheel.zip /opt/tlnmf/site
chmod +x "$root/opt/tlnmf/site/tlnmf/_lib/tlnmf" # pip does this

echo "== program"
program() { inside sh -c 'cd /opt/tlnmf && python3 -m tlnmf_program "$@"' program "$@"; }
program --version
program simulate gcm -s 10 --kbar 2 -o y.npy
program fit y.npy -k 2 -o m.h5
cp -r "$here/../recordings/piano_a4_as4" "$root/opt/tlnmf/piano"
program separate piano/mix.flac --labels piano/labels.txt -o stems --method nmf --transform dct

for test in api joint process; do
    echo "== test_$test.py"
    inside python3 "/opt/tlnmf/tests/test_$test.py"
done
inside python3 - <<'PYTHON'
import doctest, importlib, os, pkgutil, tempfile
import tlnmf
failed = [doctest.testmod(importlib.import_module("tlnmf." + m.name)).failed
          for m in pkgutil.iter_modules(tlnmf.__path__)]
assert not any(failed), failed
folder = tempfile.mkdtemp()
model = tlnmf.fit(tlnmf.simulate.gcm().Y, 2)
model.save(folder + "/m.h5")
assert (tlnmf.load(folder + "/m.h5").Phi == model.Phi).all()
model.report(folder + "/page.html")
assert tlnmf.load("/opt/tlnmf/m.h5").outcome  # a model of the program
print("doctests pass; files and pages are written;", os.path.dirname(tlnmf.__file__))
PYTHON
echo "clean.sh: all passed"
