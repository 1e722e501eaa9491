#!/bin/sh
# Pages are wrapped at 100 columns. Tables and lines with a link may be wider. First checks that it
# detects errors in a test page.
# usage: width.sh [ROOT]
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
page=$(mktemp)
trap 'rm -f "$page"' EXIT

# A character of several bytes counts once: its bytes after the first are 10xxxxxx.
too_wide() { # FILE
    LC_ALL=C awk -v file="$1" '
        { text = $0; gsub(/[\200-\277]/, "", text) }
        length(text) > 100 && !/^ *\|/ && !/\]\(/ && !/:\/\// {
            print file ":" FNR ": " length(text) " columns, more than 100"
        }' "$1"
}

word=$(printf '%099d' 0)
printf '%s\n' "$word 1" "${word}é" "| $word | 1 |" "[$word](page.md)" "http://$word" >"$page"
found=$(too_wide "$page")
[ "$found" = "$page:1: 101 columns, more than 100" ] || {
    echo "width.sh does not detect the error in its test page: $found"
    exit 1
}

cd "$root"
status=0
for file in $(packaging/files.sh | grep '\.md$'); do
    wide=$(too_wide "$file")
    [ -z "$wide" ] || { echo "$wide" && status=1; }
done
exit $status
