#!/bin/sh
# Writes the source archive tlnmf-VERSION.tar.gz. The same files give the same bytes, from a clone and from an
# unpacked archive: names are sorted, owners and modes are fixed, and the time is that of debian/changelog.
# usage: dist.sh OUT
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
version=$(sed -n 's/^#define TLNMF_VERSION_[A-Z]* *//p' include/tlnmf/tlnmf.h | paste -sd.)
epoch=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s)}
[ ! -e .git ] || [ -z "$(git status --porcelain 2>/dev/null)" ] ||
    echo "dist.sh: the archive contains changes that are not committed" >&2
archive=$1/tlnmf-$version.tar.gz
# No pipeline: the shell would ignore the failure of any command but the last.
work=$(mktemp -d)
trap 'rm -rf "$work" "$archive.part"' EXIT
packaging/files.sh >"$work/list"
tar -cf "$work/tar" --format=gnu --no-recursion --verbatim-files-from -T "$work/list" \
    --transform "s|^|tlnmf-$version/|" --mtime "@$epoch" --owner=0 --group=0 --numeric-owner \
    --mode='u=rwX,go=rX'
gzip -n -9 <"$work/tar" >"$archive.part"
mv "$archive.part" "$archive"
echo "$archive"
