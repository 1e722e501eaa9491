#!/bin/sh
# Modules use only modules below them: checks the symbols of the object files, not the includes. Also:
# the library does not print, exit, open files, read the environment or keep global state; only
# src/linalg calls BLAS and LAPACK, and only io calls libraries for files.
# usage: layering.sh BUILD_DIR [--self-test]     (--self-test: checks that it detects errors in test objects)
set -eu
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- the layers ---------------------------------------------------------------------------------

# Module: the modules below it, whose symbols it may use. In addition, a module of the second table may
# use the functions of the public headers.
below='
base:
linalg:   base
data:     base linalg
model:    base linalg data
engine:   base linalg data model
cuda:     base linalg data model engine
solve:    base linalg data model engine
search:   base linalg data model engine solve
api:      base linalg data model engine solve search
sound/signal: base linalg
sound/score:  base linalg
sound/model:  base linalg model engine sound/signal
sound/render: base linalg model engine sound/signal sound/model
sound/judge:  base linalg engine sound/signal sound/model sound/render sound/score
sound/learn:  base linalg data model engine search api sound/signal sound/model sound/render sound/judge
sound:    base engine search sound/signal sound/model sound/render sound/judge sound/learn
paper:    base linalg data model engine solve
'
public='
io:
report:   io
common:
experiments: common
cli:      common experiments
mpi:      cli common
'

# ---- symbols ------------------------------------------------------------------------------------

# "MODULE FILE KIND SYMBOL" for each symbol of the objects in a folder; KIND is D for a definition (a
# fifth word is function or object), U for a use, S for a writable variable. Objects of CMake are
# TARGET.dir/PATH.o, objects of nvcc are cuda/NAME.o. Tests, benchmarks, build tools, and objects whose
# source no longer exists are ignored.
symbols_in() { # folder of a build, folder of sources
    {
        find "$1/CMakeFiles" -name '*.c.o' | grep -E '\.dir/(src|sound|cuda|paper|io|report|cli|mpi)/' |
            grep -v /tlnmf_embed.dir/ | sed 's|\(.*\.dir/\(.*\)\.o\)$|\1 \2|'
        find "$1" -path "$1/cuda/*.o" | sed 's|\(.*/\(.*\)\.o\)$|\1 cuda/\2.cu|'
    } | sort -u | while read -r object file; do [ ! -f "$2/$file" ] || echo "$object $file"; done >"$work/objects"
    cut -d' ' -f1 "$work/objects" | xargs nm -P -A >"$work/nm"
    cut -d' ' -f1 "$work/objects" | xargs objdump -t >"$work/objdump"
    awk '
        function module_of(file,    part) {
            split(file, part, "/")
            if (file ~ /^sound\/.*\//) return part[1] "/" part[2]
            if (file ~ /^src\/.*\// || file ~ /^(cli\/common|paper\/experiments)\//) return part[2]
            return part[1]
        }
        FILENAME ~ /objects$/ { at[$1 ":"] = module_of($2) " " $2; next }
        FILENAME ~ /nm$/ {
            if ($3 ~ /^[Uwv]$/) print at[$1], "U", $2
            else if ($3 ~ /^[A-Zi]$/) print at[$1], "D", $2, $3 ~ /^[TWi]$/ ? "function" : "object"
            next
        }
        /file format/ { now = at[$1]; next }
        # .data.rel.ro has constants that need relocation; symbols that nvcc adds are ignored
        ($4 == ".bss" || $4 == ".data" || $4 == "*COM*" || $4 ~ /^\.(bss|data)\./) &&
        $4 !~ /^\.data\.rel\.ro/ && $3 == "O" && $NF !~ /^__/ && $NF != "blas_name_lock" &&
        $NF !~ /__device_stub__|__cudaFatCubinHandle|__gxx_personality/ { print now, "S", $NF }
    ' "$work/objects" "$work/nm" "$work/objdump"
}

# Prints one line for each wrong symbol.
complaints() { # symbols
    awk -v below="$below" -v public="$public" '
        function read_table(text, allowed,    lines, words, i, j, n, m) {
            n = split(text, lines, "\n")
            for (i = 1; i <= n; i++) {
                m = split(lines[i], words, /[: ]+/)
                if (m < 1 || words[1] == "") continue
                known[words[1]] = 1
                allowed[words[1], words[1]] = 1
                for (j = 2; j <= m; j++) if (words[j] != "") allowed[words[1], words[j]] = 1
            }
        }
        BEGIN {
            read_table(below, may)
            for (name in known) library[name] = 1
            read_table(public, may)
            prints = "^(_IO_putc|(__)?v?f?printf(_chk)?|(__)?v?dprintf(_chk)?|f?puts|f?putc|putchar|perror|fwrite)$"
            ends = "^(_?exit|_Exit|quick_exit|abort|atexit|raise|signal|sigaction|longjmp|_longjmp)$"
            asks = "^(fopen(64)?|freopen|fdopen|open(64)?|(secure_)?getenv|setenv|putenv|system|popen)$"
            streams = "^(stdin|stdout|stderr|environ)$"
            blas = "^(cblas_|LAPACKE_|openblas_|[sdcz][a-z0-9]+_$)"
            files = "^(H5|sf_|Mat_)"
            mpi = "^(MPI_|PMPI_|ompi_)"
            regions = "^(GOMP_parallel|__kmpc_fork_call)"
        }
        FNR == NR { if ($3 == "D") { home[$4] = $1; own[$1, $4] = 1 }; next }
        !($1 in known) { if (!told[$1]++) print $2 ": module " $1 " is not in the table"; next }
        $3 == "S" && ($1 in library) { print $2 ": " $4 " is global state"; next }
        $3 != "U" { next }
        $4 in home {
            if (!(($1, $4) in own) && !(($1, home[$4]) in may) && ($1 in library || $4 !~ /^tlnmf_/))
                print $2 ": " $1 " must not use " $4 " of " home[$4]
            next
        }
        $4 ~ blas && $1 != "linalg" { print $2 ": " $4 ": BLAS and LAPACK belong to src/linalg" }
        $4 ~ files && $1 != "io" { print $2 ": " $4 ": libraries of files belong to io" }
        $4 ~ mpi && $1 != "mpi" { print $2 ": " $4 ": MPI belongs to mpi" }
        $4 ~ regions { print $2 ": " $4 ": an OpenMP region allocates; use the threads of src/base/team.c" }
        $2 ~ /\.cu$/ && $4 ~ /^(at)?exit$/ { next } # nvcc adds these to every launch
        ($1 in library) && ($4 ~ prints || $4 ~ ends || $4 ~ asks || $4 ~ streams) {
            print $2 ": the library must not print, open files, read the environment or exit: " $4 }
        ($1 == "io" || $1 == "report") && $4 ~ ends { print $2 ": ends the process: " $4 }
    ' "$1" "$1"
}

# ---- the test of this script: layering.sh BUILD --self-test --------------------------------------

fake() { # path, code
    object=$work/fake/CMakeFiles/x.dir/$1.o
    case $1 in *.cu) object=$work/fake/cuda/$(basename "$1" .cu).o ;; esac
    mkdir -p "$(dirname "$object")" "$work/fake/$(dirname "$1")"
    printf '%s\n' "$2" >"$work/fake/$1"
    "${CC:-cc}" -fPIC -x c -c "$work/fake/$1" -o "$object"
}

expect() { # what, pairs of path and code; standard input has the expected output
    what=$1
    shift
    rm -rf "$work/fake"
    while [ $# -gt 0 ]; do
        fake "$1" "$2"
        shift 2
    done
    symbols_in "$work/fake" "$work/fake" >"$work/fake.symbols"
    complaints "$work/fake.symbols" | sort >"$work/found"
    sort >"$work/wanted"
    cmp -s "$work/found" "$work/wanted" && return
    echo "layering.sh does not detect $what. Its output, then the expected output:" >&2
    cat "$work/found" "$work/wanted" >&2
    exit 1
}

if [ "${2:-}" = --self-test ]; then
expect "that downwards is fine" src/base/a.c 'int tl_a(void) { return 1; }' \
    src/solve/b.c 'int tl_a(void); int tl_b(void) { return tl_a(); }' \
    src/api/fit.c 'int tl_b(void); int tlnmf_c(void) { return tl_b(); }' \
    cli/main.c 'int tlnmf_c(void); int main(void) { return tlnmf_c(); }' </dev/null
expect "a use upwards" src/search/a.c 'int tl_a(void) { return 1; }' \
    src/base/b.c 'int tl_a(void); int tl_b(void) { return tl_a(); }' <<'TEXT'
src/base/b.c: base must not use tl_a of search
TEXT
expect "a use sideways" sound/score/a.c 'int tl_a = 1; int tl_f(void) { return 1; }' \
    src/solve/b.c 'int tl_f(void); int tl_b(void) { return tl_f(); }' <<'TEXT'
sound/score/a.c: tl_a is global state
src/solve/b.c: solve must not use tl_f of sound/score
TEXT
expect "a use upwards in sound" sound/learn/a.c 'int tl_a(void) { return 1; }' \
    sound/render/b.c 'int tl_a(void); int tl_b(void) { return tl_a(); }' \
    sound/calls.c 'int tl_a(void); int tl_b(void); int tlnmf_c(void) { return tl_a() + tl_b(); }' <<'TEXT'
sound/render/b.c: sound/render must not use tl_a of sound/learn
TEXT
expect "a program that goes inside" src/api/fit.c 'int tl_a(void) { return 1; }' \
    cli/common/b.c 'int tl_a(void); int b(void) { return tl_a(); }' \
    paper/experiments/c.c 'int b(void); int tl_a(void); int c(void) { return b() + tl_a(); }' <<'TEXT'
cli/common/b.c: common must not use tl_a of api
paper/experiments/c.c: experiments must not use tl_a of api
TEXT
expect "BLAS, files, printing, state, OpenMP" src/linalg/a.c 'void cblas_dgemm(void); void tl_a(void) { cblas_dgemm(); }' \
    src/model/b.c 'void cblas_dgemm(void); static int n; void tl_b(void) { n++; cblas_dgemm(); }' \
    src/data/c.c 'int puts(const char *); char *getenv(const char *); int tl_c(void) { return puts(getenv("A")); }' \
    cli/d.c 'int H5open(void); int puts(const char *); int d(void) { puts("d"); return H5open(); }' \
    io/e.c 'int H5open(void); int tlnmf_io_e(void) { return H5open(); }' \
    cli/h.c 'int MPI_Init(void); int h(void) { return MPI_Init(); }' \
    mpi/i.c 'int MPI_Init(void); int i(void) { return MPI_Init(); }' \
    cuda/j.cu 'int MPI_Init(void); int puts(const char *); int tl_j(void) { puts("j"); return MPI_Init(); }' \
    src/base/k.c 'void GOMP_parallel(void); void tl_k(void) { GOMP_parallel(); }' \
    elsewhere/f.c 'int f;' src/new/g.c 'int tl_g(void) { return 1; }' <<'TEXT'
cli/d.c: H5open: libraries of files belong to io
cli/h.c: MPI_Init: MPI belongs to mpi
src/base/k.c: GOMP_parallel: an OpenMP region allocates; use the threads of src/base/team.c
src/data/c.c: the library must not print, open files, read the environment or exit: getenv
src/data/c.c: the library must not print, open files, read the environment or exit: puts
src/model/b.c: cblas_dgemm: BLAS and LAPACK belong to src/linalg
src/model/b.c: n is global state
src/new/g.c: module new is not in the table
cuda/j.cu: MPI_Init: MPI belongs to mpi
cuda/j.cu: the library must not print, open files, read the environment or exit: puts
TEXT
echo "layering: detects the errors in the test objects"
exit 0
fi

# ---- the test -----------------------------------------------------------------------------------

symbols_in "$build" "$root" >"$work/symbols"
objects=$(cut -d' ' -f2 "$work/symbols" | sort -u | wc -l)
uses=$(grep -c ' U tl' "$work/symbols")
if [ "$objects" -lt 40 ] || [ "$uses" -lt 300 ]; then
    echo "layering: found only $objects objects and $uses uses in $build" >&2
    exit 1
fi
complaints "$work/symbols" | sort -u >"$work/found"
cat "$work/found" >&2
[ ! -s "$work/found" ] || exit 1

# The paths that docs/architecture.md lists, from main to the arithmetic. "A -> B": A uses a function
# of B. "A => B": A calls B through a pointer, so it uses a symbol of B that is or holds the pointer.
# The table below a path has a row for each of its files, in their order.
awk '
    /^    [a-z_\/]+\.c [-=]> / && !inside { inside = 1; count++ }
    NF == 0 { inside = 0 }
    inside { path[count] = path[count] " " $0 }
    /^\| `[^`]*\.c` \| `/ && count { split($0, cell, "`"); rows[count] = rows[count] " " cell[2] }
    END {
        for (i = 1; i <= count; i++) {
            files = path[i]
            gsub(/[-=]>/, "", files)
            gsub(/ +/, " ", files)
            if (files != rows[i]) print "docs/architecture.md: the table does not follow" files >"/dev/stderr"
            else print path[i]
        }
    }' "$root/docs/architecture.md" >"$work/paths"
while read -r path; do
    last="" how=""
    for word in $path; do
        case $word in
        '->') how='^function$' && continue ;;
        '=>') how='^(function|object)$' && continue ;;
        esac
        if [ -n "$last" ] && ! awk -v from="$last" -v to="$word" -v how="$how" '
            FNR == NR { if ($2 == to && $3 == "D" && $5 ~ how) defined[$4] = 1; next }
            $2 == from && $3 == "U" && $4 in defined { found = 1 }
            END { exit !found }' "$work/symbols" "$work/symbols"; then
            echo "docs/architecture.md: $last does not call $word" >&2
            exit 1
        fi
        last=$word
    done
    echo "${path%% *} $last"
done <"$work/paths" >"$work/ends"
cat >"$work/wanted" <<'TEXT'
cli/main.c src/solve/fast.c
cli/main.c sound/model/factors.c
cli/cmd_separate.c sound/model/factors.c
TEXT
diff "$work/wanted" "$work/ends" >&2 || {
    echo "docs/architecture.md: these are not the ends of the paths of fit and separate" >&2
    exit 1
}
echo "layering: $objects objects, $uses uses of our symbols, all of lower modules"
