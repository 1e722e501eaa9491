#!/bin/sh
# Fetches what the browser test and the linter need from npm, once; says so where it cannot, and they
# are skipped.
cd "$(dirname "$0")" || exit 1
[ ! -d node_modules/playwright-core ] || [ ! -d node_modules/eslint ] || exit 0
command -v npm >/dev/null 2>&1 || { echo "report: no npm, so that the browser test is skipped"; exit 0; }
npm ci --no-audit --no-fund --loglevel=error >npm.log 2>&1 && rm -f npm.log && exit 0
echo "report: npm could not fetch playwright-core, axe-core and eslint, so that the browser test is skipped:"
tail -n 3 npm.log
rm -rf npm.log node_modules
