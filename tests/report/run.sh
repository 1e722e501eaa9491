#!/bin/sh
# Tests of the report page: its logic in node, the whole page in a browser.
# usage: run.sh unit | run.sh browser BUILD_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() { # REASON
    echo "SKIPPED: $1"
    exit 77
}
command -v node >/dev/null 2>&1 || skip "node is not installed"
if [ "$1" = unit ]; then
    exec node --test "$here/unit/logic.test.mjs"
fi
build=$(cd "$2" && pwd)
for name in chromium chromium-browser google-chrome chrome; do
    chromium=$(command -v $name) && break || true
done
[ -n "$chromium" ] || skip "no Chromium"
[ -d "$here/node_modules/playwright-core" ] || skip "tests/report/setup.sh has not fetched playwright-core"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
node "$here/browser.mjs" "$chromium" "$build" "$work" ${SCREENSHOTS:+"$SCREENSHOTS"}
