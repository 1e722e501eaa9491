#!/bin/sh
# The files of packages agree with the build: the version and the ABI are those of tlnmf.h, every option that
# they name exists, every option of the build is in docs/install.md, and the recipes can be parsed. The source
# archive does not depend on what a build leaves, and is not written if its files are unknown.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
complain() { echo "packaging.sh: $*" >&2; status=1; }
is() { # what, found, expected
    [ "$2" = "$3" ] || complain "$1 is '$2', not '$3'"
}

version=$(sed -n 's/^#define TLNMF_VERSION_[A-Z]* *//p' include/tlnmf/tlnmf.h | paste -sd.)
abi=$(sed -n 's/^#define TLNMF_ABI *//p' include/tlnmf/tlnmf.h)
is "the version of debian/changelog" "$(sed -n '1s/^tlnmf (\(.*\)-[^-]*) .*/\1/p' debian/changelog)" "$version"
is "the version of packaging/conda" "$(sed -n 's/^{% set version = "\(.*\)" %}/\1/p' packaging/conda/meta.yaml)" "$version"
is "the version of packaging/spack" "$(sed -n 's/^    version("\([^"]*\)".*/\1/p' packaging/spack/package.py)" "$version"
is "the version of CITATION.cff" "$(sed -n 's/^version: //p' CITATION.cff)" "$version"
is "the date of CITATION.cff" "$(sed -n 's/^date-released: //p' CITATION.cff)" \
    "$(sed -n 's/^## \[.*\] - //p' CHANGELOG.md | head -n 1)"
is "the first version of CHANGELOG.md" "$(sed -n 's/^## \[\(.*\)\].*/\1/p' CHANGELOG.md | head -n 1)" "$version"

# Debian's packages of the libraries, and the version nodes in their symbols files.
for row in tlnmf:libtlnmf tlnmf_io:libtlnmf-io; do
    library=${row%:*} package=${row#*:}$abi
    grep -qx "Package: $package" debian/control || complain "debian/control has no $package"
    symbols=debian/$package.symbols
    [ -f "$symbols" ] || { complain "$symbols does not exist"; continue; }
    is "the first line of $symbols" "$(head -n 1 "$symbols")" "lib$library.so.$abi $package #MINVER#"
    is "the nodes of $symbols" "$(sed -n 's/^ (symver)\([^ ]*\) .*/\1/p' "$symbols" | paste -sd' ')" \
        "$(sed -n 's/^\([A-Z_0-9.]*\) {$/\1/p' "cmake/$library.map" | paste -sd' ')"
done

cat CMakeLists.txt cmake/*.cmake |
    sed -nE 's/^ *option\((TLNMF_[A-Z_0-9]+) .*/\1/p; s/^ *set\((TLNMF_[A-Z_0-9]+) .* CACHE (STRING|BOOL|PATH) .*/\1/p' |
    sort -u >"$work/options"
[ "$(wc -l <"$work/options")" -ge 12 ] || complain "found too few options: $(paste -sd' ' "$work/options")"
while read -r option; do
    grep -q "^| \`$option\` |" docs/install.md || complain "docs/install.md does not list $option"
done <"$work/options"
for file in debian/rules packaging/Containerfile packaging/conda/meta.yaml packaging/spack/package.py python/backend.py docs/*.md; do
    for option in $(grep -oE '(-D|define\("|define_from_variant\(")TLNMF_[A-Z0-9_]+' "$file" | grep -oE 'TLNMF_.*' | sort -u); do
        grep -qx "$option" "$work/options" || complain "$file: the build has no option $option"
    done
done

# Every package that the build needs is in the container and in `./run`.
for package in $(sed -n '/^Build-Depends/,/^Standards/p' debian/control | grep -oE '\b(lib[a-z0-9]*-dev|zlib1g-dev)\b'); do
    [ "$package" != libcmocka-dev ] || continue
    grep -qw -- "$package" packaging/Containerfile || complain "packaging/Containerfile lacks $package"
    grep -qw -- "$package" run || complain "run lacks $package"
done

# The source archive: the same from an unpacked one in which packages were built, and from a clone without git.
packaging/dist.sh "$work/out" >/dev/null 2>&1 || complain "packaging/dist.sh fails"
archive=tlnmf-$version.tar.gz
tar -xzf "$work/out/$archive" -C "$work"
cd "$work/tlnmf-$version"
for file in debian/tlnmf/usr/bin/tlnmf debian/libtlnmf0/DEBIAN/control debian/.debhelper/x debian/tmp/x debian/files \
    debian/tlnmf.substvars debian/tlnmf.postinst.debhelper debian/tlnmf.debhelper.log debian/debhelper-build-stamp \
    debian/wheel/tlnmf.whl build-debian/tlnmf build/tlnmf python/tlnmf/_lib/tlnmf python/tlnmf/__pycache__/x.pyc; do
    mkdir -p "$(dirname "$file")"
    echo x >"$file"
done
packaging/dist.sh "$work/again" >/dev/null 2>"$work/log" || complain "dist.sh in an archive: $(cat "$work/log")"
cmp "$work/out/$archive" "$work/again/$archive" || complain "builds change the source archive"
mkdir .git "$work/tools"
echo x >.git/config
for tool in sh cat date dirname find grep gzip head mkdir mktemp mv paste rm sed sort tar; do
    ln -s "$(command -v $tool)" "$work/tools"
done
PATH=$work/tools packaging/dist.sh "$work/clone" >/dev/null 2>"$work/log" || complain "dist.sh without git: $(cat "$work/log")"
cmp "$work/out/$archive" "$work/clone/$archive" || complain "the source archive contains the files of git"
# git fails, for example in a folder of another user; tar fails: there is no archive.
for tool in git tar; do
    mkdir "$work/$tool"
    printf '#!/bin/sh\nexit 128\n' >"$work/$tool/$tool"
    chmod +x "$work/$tool/$tool"
    ! PATH=$work/$tool:$work/tools packaging/dist.sh "$work/$tool/out" >/dev/null 2>&1 || complain "a failure of $tool is ignored"
    [ -z "$(ls "$work/$tool/out")" ] || complain "dist.sh leaves files after a failure of $tool"
done
cd "$OLDPWD"

python=${PYTHON:-/usr/bin/python3}
if [ -x "$python" ]; then
    "$python" - <<'PYTHON' || status=1
import re
compile(open("packaging/spack/package.py").read(), "packaging/spack/package.py", "exec")
try:
    import yaml
except ImportError:
    print("packaging/conda/meta.yaml was not parsed: no Python module yaml")
else:
    text = re.sub(r"\{%.*?%\}", "", open("packaging/conda/meta.yaml").read())
    recipe = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "x", text))
    assert {"package", "source", "build", "requirements", "test", "about"} <= set(recipe), recipe
    for name in ("build", "host", "run"):
        assert all(isinstance(word, str) for word in recipe["requirements"][name]), name
PYTHON
fi
exit $status
