#!/bin/sh
# Tests of the report page: its logic in node, the whole page in a browser.
# usage: run.sh unit | run.sh browser BUILD_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() { # REASON
    echo "SKIPPED: $1"
    exit 77
}
if [ "$1" = unit ]; then
    command -v node >/dev/null 2>&1 || skip "node is not installed"
    exec node --test "$here/unit/logic.test.mjs"
fi
build=$(cd "$2" && pwd)
chromium=$(command -v chromium || command -v chromium-browser) || skip "no Chromium"
chromedriver=$(command -v chromedriver) || skip "no chromedriver (Debian: chromium-driver)"
/usr/bin/python3 -c "import selenium" 2>/dev/null || skip "no Selenium (Debian: python3-selenium)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 "$here/browser.py" "$chromium" "$chromedriver" "$build" "$work" ${SCREENSHOTS:+"$SCREENSHOTS"}
