#!/bin/sh
# Builds the Debian packages and the Debian source package from the source archive, in a temporary folder.
# Needs the packages that `./run --install deb` installs. DEB_BUILD_OPTIONS=nocheck omits the tests. lintian
# checks the packages where it is installed; it needs too many packages to install it for this.
# usage: deb.sh OUT
set -eu
umask 022
unset BUILD MAKEFLAGS # variables of `make deb BUILD=..` must not reach debian/rules
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$("$here/dist.sh" "$work")
version=$(basename "$archive" .tar.gz | sed 's/^tlnmf-//')
tar -xzf "$archive" -C "$work"
mv "$archive" "$work/tlnmf_$version.orig.tar.gz"
(cd "$work/tlnmf-$version" && dpkg-buildpackage -us -uc)
if command -v lintian >/dev/null 2>&1; then
    lintian --allow-root --fail-on error "$work"/*.changes
fi
rm -f "$out"/*tlnmf*_"$version"*
cp "$work"/*tlnmf*_"$version"* "$out"
ls "$out"/*_"$version"*
