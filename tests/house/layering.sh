#!/bin/sh
# The rooms include each other downwards only, and the library neither prints nor ends the process.
# usage: layering.sh [ROOT]
set -u
root=${1:-$(dirname "$0")/../..}
cd "$root" || exit 1
failures=$(mktemp) || exit 1
trap 'rm -f "$failures"' EXIT

complain() { # file:line, what is wrong
    printf '%s: %s\n' "$1" "$2" | tee -a "$failures" >&2
}

# "LINE QUOTE NAME" for each #include of a file, QUOTE being < or ".
includes() {
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([<"]\)\([^>"]*\)[>"].*/\1 \2/;t found
            b
            :found
            =;p' "$1" | paste -d ' ' - -
}

# What the files of a room may include, as shell patterns.
allowed_in() {
    case $1 in
    base) echo 'tlnmf/tlnmf.h base/*' ;;
    linalg) echo 'tlnmf/tlnmf.h base/* linalg/*' ;;
    data) echo 'tlnmf/tlnmf.h base/* linalg/* data/*' ;;
    model) echo 'tlnmf/tlnmf.h base/* linalg/* data/* model/*' ;;
    engine) echo 'tlnmf/tlnmf.h base/* linalg/* data/* model/* engine/*' ;;
    # of the engines only the seam: what they keep is theirs
    solve) echo 'tlnmf/tlnmf.h base/* engine/engine.h solve/*' ;;
    search) echo 'tlnmf/tlnmf.h base/* engine/engine.h solve/* measure/* search/*' ;;
    # measure reads results, which search.h declares
    measure) echo 'tlnmf/tlnmf.h base/* linalg/* data/* model/* measure/* search/search.h' ;;
    score) echo 'tlnmf/tlnmf.h base/* linalg/* score/*' ;;
    separate) echo 'tlnmf/tlnmf.h base/* linalg/* data/* model/* score/* separate/*' ;;
    paper) echo 'tlnmf/tlnmf.h base/* linalg/* data/* model/* engine/lbfgs.h solve/* paper/*' ;;
    # api.c and settings.c stand above all rooms
    src) echo 'tlnmf/tlnmf.h options.def base/* linalg/* data/* model/* solve/* search/* measure/*' ;;
    io) echo 'io/*' ;;
    cli) echo 'tlnmf/tlnmf.h io/io.h score/score.h cli/*' ;;
    commands) echo 'tlnmf/tlnmf.h io/io.h cli/cli.h paper/commands/*' ;;
    include) echo '' ;;
    *) return 1 ;;
    esac
}

room_of() {
    case $1 in
    src/*/* | paper/commands/*) echo "$1" | cut -d/ -f2 ;;
    *) echo "$1" | cut -d/ -f1 ;;
    esac
}

is_ours() { # a header of this project, however it is quoted
    case $1 in
    tlnmf/* | base/* | linalg/* | data/* | model/* | engine/* | solve/* | search/* | measure/* | separate/* | io/* | score/* | paper/* | \
        cli/* | \
        src/* | include/*) return 0 ;;
    esac
    return 1
}

matches() { # name, patterns
    name=$1
    shift
    for pattern in "$@"; do
        # shellcheck disable=SC2254
        case $name in $pattern) return 0 ;; esac
    done
    return 1
}

check_ours() { # where, room, folder, name as written
    name=$4
    case $name in
    *..*) complain "$1" "#include \"$name\": no path upwards"; return ;;
    */*) ;;
    *) # a neighbour, named without its room
        if [ -f "$3/$name" ] && [ "$2" != src ]; then name=$2/$name; fi ;;
    esac
    # shellcheck disable=SC2086
    matches "$name" $patterns || complain "$1" "$2 must not include \"$4\""
}

check_system() { # where, room, name
    case $3 in
    *cblas*.h | *lapack*.h | *openblas*.h | mkl*.h | f77blas.h | blis*.h)
        [ "$2" = linalg ] || complain "$1" "<$3>: BLAS and LAPACK belong to src/linalg" ;;
    esac
    if [ "$2" = include ]; then
        matches "$3" stddef.h stdint.h ||
            complain "$1" "<$3>: the public header includes stddef.h and stdint.h only"
    fi
}

files=$(find include src io paper cli -name '*.[ch]' -o -name '*.def' | sort)
set -f # the patterns are for `case`, not for the shell
count=0
for file in $files; do
    room=$(room_of "$file")
    if ! patterns=$(allowed_in "$room"); then
        complain "$file" "room '$room' is not in the table of $(basename "$0")"
        continue
    fi
    while read -r line quote name; do
        [ -n "$line" ] || continue
        count=$((count + 1))
        if [ "$quote" = '"' ] || is_ours "$name"; then
            check_ours "$file:$line" "$room" "$(dirname "$file")" "$name"
        else
            check_system "$file:$line" "$room" "$name"
        fi
    done <<LIST
$(includes "$file")
LIST
    # an #include that names a macro escapes this test
    grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[^<"[:space:]]' "$file" |
        while IFS=: read -r line rest; do complain "$file:$line" "cannot be checked: $rest"; done
done

# ---- words that the library does not use --------------------------------------------------------

# The code of a file without comments and strings, "LINE:CODE".
code_of() {
    awk '{
        line = $0; out = ""
        while (line != "") {
            if (inside) {
                end = index(line, "*/")
                if (!end) break
                line = substr(line, end + 2); inside = 0
            } else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) {
                out = out substr(line, 1, RSTART - 1) " "
                token = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                if (token == "/*") inside = 1
                else if (token == "//") line = ""
            } else { out = out line; line = "" }
        }
        print NR ":" out
    }' "$1"
}

not_a_word='(^|[^A-Za-z0-9_])'
prints='v?f?printf|v?dprintf|f?puts|f?putc|putchar|perror|fwrite'
ends='exit|_exit|_Exit|quick_exit|abort|atexit|raise|signal|sigaction|longjmp'
outside='fopen|freopen|fdopen|open|getenv|setenv|putenv|system|popen'
for file in $files; do
    case $file in src/*) ;; *) continue ;; esac
    code_of "$file" | grep -E "$not_a_word($prints|$ends|$outside)[[:space:]]*\(" |
        while IFS=: read -r line rest; do
            complain "$file:$line" "the library neither prints, opens, asks nor ends:$rest"
        done
    code_of "$file" | grep -E "$not_a_word(stdout|stderr|stdin|environ)([^A-Za-z0-9_]|\$)" |
        while IFS=: read -r line rest; do complain "$file:$line" "no streams in the library:$rest"; done
    case $file in src/linalg/*) continue ;; esac
    code_of "$file" | grep -E "$not_a_word(cblas_|LAPACKE_|openblas_|lapack_int)" |
        while IFS=: read -r line rest; do
            complain "$file:$line" "BLAS and LAPACK belong to src/linalg:$rest"
        done
done

[ "$count" -gt 50 ] || complain "$0" "saw only $count #include lines: is this the right folder?"
[ ! -s "$failures" ] || exit 1
echo "layering: $count #include lines, all downwards"
