#!/bin/sh
# Lists the files of the source tree in the current folder: those that git tracks or would add. Without git
# (an unpacked archive), all files except those that builds create.
set -eu
if [ -e .git ] && command -v git >/dev/null 2>&1; then
    git ls-files -co --exclude-standard --deduplicate
else
    find . -type d \( -name build -o -name 'build-*' -o -name node_modules -o -name __pycache__ \
        -o -name demo-out -o -path ./python/tlnmf/_lib \) -prune -o \
        -type f ! -name '*.o' ! -name '*.so' -print | sed 's|^\./||'
fi | LC_ALL=C sort | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
done
