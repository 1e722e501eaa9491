#!/bin/sh
# Every source file begins with a comment that states its purpose. A function has at most 7 parameters,
# unless the comment before it gives a reason (with the word "parameters"), and at most 80 lines; a file
# has at most 600 lines. Outside of tests and benchmarks, a type name has one definition.
# usage: purpose.sh [--self-test]     (--self-test: checks that it detects errors in test files)
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sources() {
    "$root/packaging/files.sh" |
        grep -E '\.(c|cc|cu|cuh|h|sh|py|def|mjs|css|m|cmake|map)$|(^|/)CMakeLists.txt$|^Makefile$|^run$|^\.ci/run$|^debian/rules$' |
        grep -v /vendor/
}

# Checks that the first line, or the second after #!, is a comment with words.
check_purpose() {
    awk '
        NR == 1 && /^#!/ { next }
        { line = $0 }
        /^(\/\*|\/\/|#|%|""")/ && line ~ /[A-Za-z]+ [A-Za-z]+/ && line !~ /clang-format o/ { good = 1 }
        { exit }
        END { exit !good }' "$1" || echo "$1:1: missing a first comment that states the purpose of the file"
}

check_length() {
    lines=$(wc -l <"$1")
    [ "$lines" -le 600 ] || echo "$1: $lines lines, more than 600"
}

# Functions of a file that clang-format has formatted: from a line that begins in the first column to
# a brace there.
check_functions() {
    awk -v file="$1" '
        function parameters(text,    i, c, depth, count, inside) {
            for (i = index(text, "("); i <= length(text); i++) {
                c = substr(text, i, 1)
                if (c == "(") depth++
                else if (c == ")" && --depth == 0) break
                else if (c == "," && depth == 1) count++
                else if (c ~ /[A-Za-z]/) inside = 1
            }
            return inside ? count + 1 : 0
        }
        /^[A-Za-z]/ && !/^(typedef|struct|enum|union|extern|namespace|using)/ && !/;$/ && !in_body {
            if (head == "") { first = NR; why = comment }
            head = head " " $0
        }
        head != "" && /^ / && !in_body { head = head " " $0 }
        head != "" && /;$/ && !in_body { head = "" }
        /^\{/ && head ~ /\(/ { in_body = 1 }
        /^\}/ && in_body {
            match(head, /[A-Za-z_0-9]+\(/)
            name = substr(head, RSTART, RLENGTH - 1)
            count = parameters(head)
            if (count > 7 && why !~ /parameters/)
                printf "%s:%d: %s has %d parameters, and no comment says why\n", file, first, name, count
            if (NR - first + 1 > 80)
                printf "%s:%d: %s has %d lines, more than 80\n", file, first, name, NR - first + 1
            in_body = 0
            head = ""
        }
        /^[#}]/ && !in_body { head = "" }
        # the comment right above
        /^\/\*/ { comment = $0; open_comment = !/\*\//; next }
        open_comment { comment = comment " " $0; open_comment = !/\*\//; next }
        { comment = "" }' "$1"
}

# Names at the end of a struct, enum or union, and of other typedefs. A name without a body elsewhere
# (typedef struct tl_x tl_x) declares an opaque type.
check_types() {
    sources | grep -E '\.(c|h|cu|cuh)$' | grep -vE '^(tests|bench|examples)/' | xargs -r awk '
        /^(typedef )?(struct|enum|union)[ a-z_0-9A-Z]*\{$/ || /^typedef struct \{$/ { defines = /^typedef/ }
        /^\} [A-Za-z_0-9]+;$/ && defines { print substr($2, 1, length($2) - 1), FILENAME; defines = 0 }' /dev/null |
        sort | awk '$1 == name && $2 != file { print $2 ": type " $1 " is also defined in " file } { name = $1; file = $2 }'
}

complaints() { # folder
    cd "$1"
    check_types
    sources | while read -r file; do
        check_purpose "$file"
        check_length "$file"
        case $file in *.c | *.h | *.cu) check_functions "$file" ;; esac
    done
}

# ---- the test of this script: purpose.sh --self-test -----------------------------------------------

if [ "${1:-}" = --self-test ]; then
mkdir "$work/good" "$work/bad"
many='int a, int b, int c, int d,\n        int e, int f, int g, int h'
{ printf '/* A file of functions. */\n\nstatic int seven(int a, int b, int c, int d, int e, int f,\n'
  printf '                 int (*g)(int, int))\n{\n    return g(a, b);\n}\n\n'
  printf '/* As many parameters as the standard wants. */\nint eight(%b)\n{\n    return a;\n}\n' "$many"
} >"$work/good/a.c"
printf '#!/bin/sh\n# Says what it is for.\n' >"$work/good/b.sh"
printf '# Says what it is for.\nimport os\n' >"$work/good/c.py"
{ printf '#include <math.h>\nint eight(%b)\n{\n' "$many"
  yes '    a++;' | head -n 600
  printf '}\n'
} >"$work/bad/a.c"
printf '#!/bin/sh\nset -eu\n' >"$work/bad/b.sh"
for file in c d; do
    printf '/* A file with a type. */\ntypedef struct twice {\n    int x;\n} twice;\n' >"$work/bad/$file.h"
done
complaints "$work/good" >"$work/found"
[ ! -s "$work/found" ] || { echo "purpose.sh rejects valid files:" >&2; cat "$work/found" >&2; exit 1; }
complaints "$work/bad" >"$work/found"
cat >"$work/wanted" <<'TEXT'
d.h: type twice is also defined in c.h
a.c:1: missing a first comment that states the purpose of the file
a.c: 605 lines, more than 600
a.c:2: eight has 8 parameters, and no comment says why
a.c:2: eight has 604 lines, more than 80
b.sh:1: missing a first comment that states the purpose of the file
TEXT
cmp -s "$work/found" "$work/wanted" || {
    echo "purpose.sh does not detect the errors. Its output:" >&2
    cat "$work/found" >&2
    exit 1
}
echo "purpose: detects the errors in the test files"
exit 0
fi

# ---- the test -----------------------------------------------------------------------------------

complaints "$root" >"$work/found"
cat "$work/found" >&2
[ ! -s "$work/found" ] || { echo "$(wc -l <"$work/found") errors" >&2; exit 1; }
echo "purpose: $(cd "$root" && sources | wc -l) files"
