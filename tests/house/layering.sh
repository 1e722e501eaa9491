#!/bin/sh
# Modules use what lies below them only: looks at the symbols of the object files, not at includes.
# Also: the library neither prints, ends the process, opens files, reads the environment nor keeps
# global state; BLAS and LAPACK are called in src/linalg only, and libraries of files in io only.
# Begins by proving that it finds what is wrong in objects made for that.
# usage: layering.sh BUILD_DIR
set -eu
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- the layers ---------------------------------------------------------------------------------

# Which module a source file belongs to.
module_of() {
    case $1 in
    src/settings.c | src/results.c) echo tables ;; # of options and results, which all modules read
    src/*/*) echo "$1" | cut -d/ -f2 ;;
    src/*) echo api ;;
    paper/commands/*) echo commands ;;
    *) echo "${1%%/*}" ;;
    esac
}

# Module: those below it, whose symbols it may use. Beside these, a module of the second table may
# use what the public headers declare.
below='
base:
tables:   base
linalg:   base tables
data:     base tables linalg
model:    base tables linalg data
engine:   base tables linalg data model
cuda:     base tables linalg data model engine
solve:    base tables linalg data model engine
search:   base tables linalg data model engine solve
measure:  base tables linalg data model engine solve search
api:      base tables linalg data model engine solve search measure
rank:     base tables linalg data model engine solve search api
score:    base tables linalg
separate: base tables linalg data model engine solve search measure api score
paper:    base tables linalg data model engine solve
'
public='
io:
report:   io
cli:      commands
commands: cli
mpi:      cli
'

# ---- symbols ------------------------------------------------------------------------------------

# "MODULE FILE KIND SYMBOL" for each symbol of the objects under a folder; KIND is D where it is
# defined, U where it is used, S where it is a variable that can change. Objects of CMake lie in
# TARGET.dir/PATH.o, those of nvcc in cuda/NAME.o; those of tests, benchmarks and tools of the build
# are not looked at, nor those whose source is gone.
symbols_in() { # folder of a build, folder of sources
    {
        find "$1/CMakeFiles" -name '*.c.o' | grep -E '\.dir/(src|paper|io|report|cli|mpi)/' |
            grep -v /tlnmf_embed.dir/ | sed 's|\(.*\.dir/\(.*\)\.o\)$|\1 \2|'
        find "$1" -path "$1/cuda/*.o" | sed 's|\(.*/\(.*\)\.o\)$|\1 src/cuda/\2.cu|'
    } | sort -u | while read -r object file; do
        [ -f "$2/$file" ] || continue
        module=$(module_of "$file")
        nm -P "$object" | awk -v at="$module $file" '
            $2 == "U" || $2 == "w" || $2 == "v" { print at, "U", $1; next }
            $2 ~ /^[A-Zi]$/ { print at, "D", $1 }'
        # constants that need relocating are in .data.rel.ro: those cannot change
        objdump -t "$object" | awk -v at="$module $file" '
            ($4 == ".bss" || $4 == ".data" || $4 == "*COM*" || $4 ~ /^\.(bss|data)\./) &&
            $4 !~ /^\.data\.rel\.ro/ && $3 == "O" && $NF !~ /^__/ && $NF !~ /^\.gomp_critical/ &&
            $NF !~ /__device_stub__|__cudaFatCubinHandle|__gxx_personality/ { print at, "S", $NF }' # what nvcc adds
    done
}

# What is wrong with those symbols, a line each.
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
        $2 ~ /\.cu$/ && $4 ~ /^(at)?exit$/ { next } # of what nvcc adds to every launch
        ($1 in library) && ($4 ~ prints || $4 ~ ends || $4 ~ asks || $4 ~ streams) {
            print $2 ": the library neither prints, opens, asks nor ends: " $4 }
        ($1 == "io" || $1 == "report") && $4 ~ ends { print $2 ": ends the process: " $4 }
    ' "$1" "$1"
}

# ---- the test of the test -----------------------------------------------------------------------

fake() { # path, code
    object=$work/fake/CMakeFiles/x.dir/$1.o
    case $1 in *.cu) object=$work/fake/cuda/$(basename "$1" .cu).o ;; esac
    mkdir -p "$(dirname "$object")" "$work/fake/$(dirname "$1")"
    printf '%s\n' "$2" >"$work/fake/$1"
    "${CC:-cc}" -fPIC -x c -c "$work/fake/$1" -o "$object"
}

expect() { # what, path and code pairs; the complaint, or nothing, is on standard input
    what=$1
    shift
    rm -rf "$work/fake"
    while [ $# -gt 0 ]; do
        fake "$1" "$2"
        shift 2
    done
    symbols_in "$work/fake" "$work/fake" >"$work/fake.symbols"
    complaints "$work/fake.symbols" >"$work/found"
    cat >"$work/wanted"
    cmp -s "$work/found" "$work/wanted" && return
    echo "layering.sh does not see $what. It says, instead of what is after it:" >&2
    cat "$work/found" "$work/wanted" >&2
    exit 1
}

expect "that downwards is fine" src/base/a.c 'int tl_a(void) { return 1; }' \
    src/solve/b.c 'int tl_a(void); int tl_b(void) { return tl_a(); }' \
    src/api.c 'int tl_b(void); int tlnmf_c(void) { return tl_b(); }' \
    cli/main.c 'int tlnmf_c(void); int main(void) { return tlnmf_c(); }' </dev/null
expect "a use upwards" src/search/a.c 'int tl_a(void) { return 1; }' \
    src/base/b.c 'int tl_a(void); int tl_b(void) { return tl_a(); }' <<'TEXT'
src/base/b.c: base must not use tl_a of search
TEXT
expect "a use sideways" src/score/a.c 'int tl_a = 1; int tl_f(void) { return 1; }' \
    src/solve/b.c 'int tl_f(void); int tl_b(void) { return tl_f(); }' <<'TEXT'
src/score/a.c: tl_a is global state
src/solve/b.c: solve must not use tl_f of score
TEXT
expect "a program that goes inside" src/api.c 'int tl_a(void) { return 1; }' \
    cli/b.c 'int tl_a(void); int b(void) { return tl_a(); }' \
    paper/commands/c.c 'int b(void); int tl_a(void); int c(void) { return b() + tl_a(); }' <<'TEXT'
cli/b.c: cli must not use tl_a of api
paper/commands/c.c: commands must not use tl_a of api
TEXT
expect "BLAS, files, printing, state" src/linalg/a.c 'void cblas_dgemm(void); void tl_a(void) { cblas_dgemm(); }' \
    src/model/b.c 'void cblas_dgemm(void); static int n; void tl_b(void) { n++; cblas_dgemm(); }' \
    src/data/c.c 'int puts(const char *); char *getenv(const char *); int tl_c(void) { return puts(getenv("A")); }' \
    cli/d.c 'int H5open(void); int puts(const char *); int d(void) { puts("d"); return H5open(); }' \
    io/e.c 'int H5open(void); int tlnmf_io_e(void) { return H5open(); }' \
    cli/h.c 'int MPI_Init(void); int h(void) { return MPI_Init(); }' \
    mpi/i.c 'int MPI_Init(void); int i(void) { return MPI_Init(); }' \
    src/cuda/j.cu 'int MPI_Init(void); int puts(const char *); int tl_j(void) { puts("j"); return MPI_Init(); }' \
    elsewhere/f.c 'int f;' src/new/g.c 'int tl_g(void) { return 1; }' <<'TEXT'
cli/d.c: H5open: libraries of files belong to io
cli/h.c: MPI_Init: MPI belongs to mpi
src/data/c.c: the library neither prints, opens, asks nor ends: getenv
src/data/c.c: the library neither prints, opens, asks nor ends: puts
src/model/b.c: cblas_dgemm: BLAS and LAPACK belong to src/linalg
src/model/b.c: n is global state
src/new/g.c: module new is not in the table
src/cuda/j.cu: MPI_Init: MPI belongs to mpi
src/cuda/j.cu: the library neither prints, opens, asks nor ends: puts
TEXT

# ---- the test -----------------------------------------------------------------------------------

symbols_in "$build" "$root" >"$work/symbols"
objects=$(cut -d' ' -f2 "$work/symbols" | sort -u | wc -l)
uses=$(grep -c ' U tl' "$work/symbols")
if [ "$objects" -lt 40 ] || [ "$uses" -lt 300 ]; then
    echo "layering: saw only $objects objects and $uses uses in $build" >&2
    exit 1
fi
complaints "$work/symbols" | sort -u >"$work/found"
cat "$work/found" >&2
[ ! -s "$work/found" ] || exit 1

# The path that docs/architecture.md lists, from main to the solver: each file uses the next.
path=$(echo $(awk '/^From `main` to the engine/ { near = 1 } near && / -> / { gsub(/ -> /, " "); print; exit }' \
    "$root/docs/architecture.md"))
grep -q "^cli ${path%% *} D main\$" "$work/symbols" || path=""
steps=0 last=""
for file in $path; do
    steps=$((steps + 1))
    if [ -n "$last" ] && ! awk -v from="$last" -v to="$file" '
        FNR == NR { if ($2 == to && $3 == "D") defined[$4] = 1; next }
        $2 == from && $3 == "U" && $4 in defined { found = 1 }
        END { exit !found }' "$work/symbols" "$work/symbols"; then
        echo "docs/architecture.md: $last uses nothing of $file" >&2
        exit 1
    fi
    last=$file
done
[ "$steps" -eq 5 ] && [ "$last" = src/solve/fast.c ] || {
    echo "docs/architecture.md: the path from main to the solver has $steps files, not five" >&2
    exit 1
}
echo "layering: $objects objects, $uses uses of symbols of ours, all downwards"
