#!/bin/sh
# Fetches what the browser test needs from npm, once; says so where it cannot, and the test is skipped.
cd "$(dirname "$0")" || exit 1
[ ! -d node_modules/playwright-core ] || exit 0
command -v npm >/dev/null 2>&1 || { echo "report: no npm, so that the browser test is skipped"; exit 0; }
npm ci --no-audit --no-fund --loglevel=error >npm.log 2>&1 && rm -f npm.log && exit 0
echo "report: npm could not fetch playwright-core and axe-core, so that the browser test is skipped:"
tail -n 3 npm.log
rm -rf npm.log node_modules
