#!/bin/sh
# The targets of links between pages exist, both files and headings. Functions that a table row of
# docs/architecture.md lists are in the file of that row.
# usage: links.sh [ROOT]      ROOT: sources, or installed pages, of which only the links are checked
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Converts headings to anchors as GitHub does: lower case, letters, digits and hyphens.
anchors_of() { # FILE
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}

broken() { # FILE: prints a line for each broken link
    folder=$(dirname "$1")
    grep -oE '\]\([^)]+\)' "$1" | sed 's/^](//; s/)$//' | grep -v '://' | while read -r link; do
        path=${link%%#*} anchor=${link#"${link%%#*}"}
        target=${path:+$folder/$path}
        target=${target:-$1}
        if [ ! -e "$target" ]; then
            echo "$1: $link: no such file"
        elif [ -n "$anchor" ] && ! anchors_of "$target" | grep -qx -- "${anchor#\#}"; then
            echo "$1: $link: no such heading"
        fi
    done
}

cd "$root"
if [ -d src ]; then
    packaging/files.sh >"$work/files"
else
    find . -type f >"$work/files"
fi
grep '\.md$' "$work/files" >"$work/pages"
[ "$(wc -l <"$work/pages")" -ge 20 ] || { echo "links.sh: $root has too few pages" >&2; exit 1; }
while read -r file; do
    broken "$file"
done <"$work/pages" >"$work/found"
[ -d src ] || { cat "$work/found" >&2; [ ! -s "$work/found" ]; exit; }
# | `file` | `function`, `function` | .. |
sed -n 's/^| `\([^`]*\.c\)` | \(`[^|]*\) |.*/\1 \2/p' docs/architecture.md | tr -d '`,' >"$work/rows"
while read -r file functions; do
    for name in $functions; do
        grep -q "^[a-z].*\b$name(" "$file" || echo "docs/architecture.md: $file has no function $name"
    done
done <"$work/rows" >>"$work/found"
[ "$(wc -l <"$work/rows")" -ge 15 ] || echo "docs/architecture.md: the paths have too few files" >>"$work/found"
cat "$work/found" >&2
[ ! -s "$work/found" ]
