#!/usr/bin/env bash
# The program's tests: exact standard output, standard error and exit code.
#
#   tests/cli/run.sh PROGRAM [case...]      all cases, or those named
#   UPDATE=1 tests/cli/run.sh PROGRAM help  replaces golden/ by the current output of the program
#
# A case is cases/NAME.sh. A separate bash (set -eu) reads it after lib.sh, in an empty directory that
# is removed afterwards.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] && program=$(realpath -e -- "$1") && [ -x "$program" ] && [ -f "$program" ] ||
    { echo "usage: $0 PROGRAM [case...]" >&2; exit 2; }
shift
[ $# -gt 0 ] || set -- $(cd "$here/cases" && ls | sed -n 's/\.sh$//p')

export LC_ALL=C SOURCE_DATE_EPOCH=0 GOLDEN=$here/golden UPDATE=${UPDATE:-}
root=$(mktemp -d "${TMPDIR:-/tmp}/tlnmf-cli.XXXXXX") || exit 2
trap 'chmod -R u+w "$root"; rm -rf "$root"' EXIT
trap 'exit 130' INT TERM
mkdir "$root/bin" && ln -s "$program" "$root/bin/tlnmf"
export PATH=$root/bin:$PATH

passed=0 failed=0
for name; do
    export CAPTURE=$root/$name.captured # output of the program under test, outside the case's directory
    mkdir -p "$root/$name" "$CAPTURE"
    start=$SECONDS
    (cd "$root/$name" &&
        exec bash -eu -c '. "$1"; . "$2"; [ "$failures" -eq 0 ]' case "$here/lib.sh" "$here/cases/$name.sh"
    ) >"$CAPTURE/log" 2>&1 </dev/null
    if [ $? -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok    $name ($((SECONDS - start)) s)$(sed -n 's/^skipped: /, skipped: /p' "$CAPTURE/log")"
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
        sed 's/^/      /' "$CAPTURE/log"
    fi
    chmod -R u+w "$root/$name"
    rm -rf "$root/$name" "$CAPTURE"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
