#!/bin/sh
# Installs the Debian packages into a minimal system, uses them, and purges them: nothing remains. Needs root,
# for chroot, and the packages that they depend on.
#   debootstrap --variant=minbase bookworm ROOT
#   packaging/deb.sh DEBS
# usage: deb.sh DEBS ROOT
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
debs=$(cd "$1" && pwd) root=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "$root/opt/tlnmf"; [ -z "${mounted:-}" ] || umount "$root/proc"' EXIT

inside() { # command...
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 OMP_WAIT_POLICY=passive \
        DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1 "$@"
}
apt() { # arguments of apt-get
    inside apt-get -q -y --no-install-recommends "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}
our() { # names: their files
    for name in "$@"; do
        for file in "$root/opt/tlnmf/debs/${name}"_*.deb; do echo "${file#"$root"}"; done
    done
}
say() { echo "deb.sh: $*"; }

# Packages, and all files except those of apt, dpkg and ldconfig themselves.
state() { # name
    inside dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' >"$work/packages.$1"
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./opt/tlnmf -o -path ./var/cache -o -path ./var/lib/apt \
        -o -path ./var/log -o -path './var/lib/dpkg/*' -o -path ./tmp \) -prune -o -print | sort) >"$work/files.$1"
}

# ---- the contents: no run path, no broken link ----------------------------------------------------
for deb in "$debs"/*.deb; do
    dpkg-deb -x "$deb" "$work/content"
done
find "$work/content" -type f \( -path '*/bin/*' -o -name '*.so*' \) >"$work/binaries"
[ "$(wc -l <"$work/binaries")" -ge 3 ] || { echo "deb.sh: the packages have too few binaries" >&2; exit 1; }
while read -r file; do
    objdump -p "$file" >"$work/log"
    ! grep -E 'R(UN)?PATH' "$work/log" || { echo "deb.sh: $(basename "$file") has a run path" >&2; exit 1; }
done <"$work/binaries"
"$top/tests/rules/links.sh" "$work/content/usr/share/doc/tlnmf"
say "$(wc -l <"$work/binaries") binaries have no run path; the pages link to each other"

mkdir -p "$root/opt/tlnmf/debs"
cp "$debs"/*.deb "$root/opt/tlnmf/debs"
if [ ! -e "$root/proc/self" ]; then
    mount -t proc proc "$root/proc"
    mounted=1
fi
[ -s "$root/etc/resolv.conf" ] || cp /etc/resolv.conf "$root/etc/resolv.conf"
apt update
inside apt-get -q -y --purge autoremove >/dev/null 2>&1
state before

# ---- the program ----------------------------------------------------------------------------------
# shellcheck disable=SC2046
apt install $(our tlnmf tlnmf-doc)
cat >"$root/opt/tlnmf/program.sh" <<'SH'
set -eu
cd /opt/tlnmf
tlnmf --version
tlnmf simulate gcm -s 10 --kbar 2 -o y.npy
tlnmf fit y.npy -k 2 -o model.h5
tlnmf info model.h5 >info
piano=/usr/share/doc/tlnmf/tests/recordings/piano_a4_as4
tlnmf separate $piano/mix.flac --labels $piano/labels.txt -o stems --method nmf --transform dct
ls stems/*.wav
sh /usr/share/doc/tlnmf/examples/demo.sh tlnmf demo >demo.log
for page in tlnmf tlnmf-fit tlnmf-separate; do zcat /usr/share/man/man1/$page.1.gz | grep -q '^\.TH'; done
for file in bash-completion/completions/tlnmf fish/vendor_completions.d/tlnmf.fish zsh/vendor-completions/_tlnmf; do
    test -s /usr/share/$file
done
for file in README.md docs/install.md examples/first.c copyright changelog.gz; do test -s /usr/share/doc/tlnmf/$file; done
SH
inside sh /opt/tlnmf/program.sh
say "the program works; BLAS: $(inside readlink -f /etc/alternatives/libblas.so.3-x86_64-linux-gnu)"
apt install libopenblas0-pthread
inside tlnmf fit /opt/tlnmf/y.npy -k 2 -o /opt/tlnmf/other.h5 >/dev/null
say "and with $(inside readlink -f /etc/alternatives/libblas.so.3-x86_64-linux-gnu)"

# ---- Python ---------------------------------------------------------------------------------------
# shellcheck disable=SC2046
apt install $(our libtlnmf0 libtlnmf-io0 python3-tlnmf)
inside python3 -c "
import tlnmf
model = tlnmf.fit(tlnmf.simulate.gcm().Y, k=2)
model.save('/opt/tlnmf/python.h5')
print('python3-tlnmf', tlnmf.__version__, model.outcome)"

# ---- development ----------------------------------------------------------------------------------
# shellcheck disable=SC2046
apt install $(our libtlnmf-dev) gcc libc6-dev make cmake pkgconf libcmocka-dev
inside sh -c 'cd /opt/tlnmf && cc /usr/share/doc/tlnmf/examples/first.c $(pkg-config --cflags --libs tlnmf) -o first &&
    ./first && cc /usr/share/doc/tlnmf/examples/separate.c $(pkg-config --cflags --libs tlnmf_io) -lm -o separate &&
    ldd first separate | grep -q "libtlnmf.so.0 => /lib"'
say "pkg-config works"
mkdir "$root/opt/tlnmf/sources"
(cd "$top" && packaging/files.sh | tar -cf - -T -) | tar -xf - -C "$root/opt/tlnmf/sources"
inside /opt/tlnmf/sources/tests/installed/run.sh /usr >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep 'tests passed' "$work/log"
say "CMake works, and tests/installed passes"

# ---- nothing remains ------------------------------------------------------------------------------
apt purge tlnmf tlnmf-doc libtlnmf0 libtlnmf-io0 libtlnmf-dev python3-tlnmf
if find "$root" -xdev -path "$root/opt/tlnmf" -prune -o -path "$root/var/lib/apt" -prune -o -path "$root/proc" -prune \
    -o -iname '*tlnmf*' -print | grep .; then
    echo "deb.sh: these files remain after the purge" >&2
    exit 1
fi
apt purge gcc libc6-dev make cmake pkgconf libcmocka-dev libopenblas0-pthread
apt autoremove --purge
state after
for list in packages files; do
    diff "$work/$list.before" "$work/$list.after" >"$work/log" || {
        echo "deb.sh: $list differ after the purge" >&2
        cat "$work/log" >&2
        exit 1
    }
done
say "purged: $(wc -l <"$work/packages.after") packages and $(wc -l <"$work/files.after") files, as before. All passed"
