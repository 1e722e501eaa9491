#!/bin/sh
# Lists the files of the source tree in the current folder: those that git tracks or would add. Without git
# (an unpacked archive, or a container without git), all files except those that builds create. Fails if it
# finds none.
set -eu
list=$(mktemp)
trap 'rm -f "$list"' EXIT
if [ -e .git ] && command -v git >/dev/null 2>&1; then
    git -c core.quotePath=off ls-files -co --exclude-standard >"$list" || {
        echo "files.sh: git cannot list the files" >&2
        exit 1
    }
else
    # As in .gitignore; dpkg-buildpackage creates the other folders and files of debian/.
    find . -type d \( -path ./.git -o -name build -o -name 'build-*' -o -name node_modules -o -name __pycache__ \
        -o -path ./demo-out -o -path ./python/tlnmf/_lib \
        -o -path './debian/*' ! -path './debian/source*' ! -path './debian/tests*' \) -prune -o \
        -type f ! -path ./.git ! -name '*.o' ! -name '*.so' ! -path './debian/*.substvars' ! -path ./debian/files \
        ! -path './debian/*.debhelper' ! -path './debian/*.debhelper.log' ! -path ./debian/debhelper-build-stamp \
        -print | sed 's|^\./||' >"$list"
fi
[ -s "$list" ] || { echo "files.sh: $PWD has no files" >&2; exit 1; }
LC_ALL=C sort -u "$list" | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
done
