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
packaging/files.sh | tar -cf - --format=gnu --no-recursion --verbatim-files-from -T - \
    --transform "s|^|tlnmf-$version/|" --mtime "@$epoch" --owner=0 --group=0 --numeric-owner \
    --mode='u=rwX,go=rX' | gzip -n -9 >"$archive.part"
mv "$archive.part" "$archive"
echo "$archive"
