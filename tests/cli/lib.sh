# Functions for the cases: running and comparing commands, numbers, and writing small files.
# A failed check is reported and counted; the case continues.

failures=0
out=$CAPTURE/out # standard output and standard error of the last `expect`
err=$CAPTURE/err

fail() # TEXT; prints it after the line number of the case
{
    local i=1
    while [ "${FUNCNAME[i]}" != source ]; do
        i=$((i + 1))
    done
    failures=$((failures + 1))
    echo "line ${BASH_LINENO[i - 1]}: $1"
}

skip() # REASON
{
    echo "skipped: $1"
}

is_sanitized() # whether the program under test was built with a sanitizer
{
    grep -qaE '__(asan|tsan)_init' "$(realpath "$(command -v tlnmf)")"
}

# ---- running -----------------------------------------------------------------------------------

# expect CODE STDOUT STDERR COMMAND...
# Texts must match exactly; they are given without the final newline, which the program must print.
# `...` accepts any text, which is in $out or $err for further checks.
expect()
{
    local code=$1 want_out=$2 want_err=$3 got=0
    shift 3
    "$@" >"$out" 2>"$err" || got=$?
    judge "$code" "$want_out" "$want_err" "$got" "$*"
}

# The same for a command that has already run, with its streams in $out and $err.
judge() # CODE STDOUT STDERR GOT-CODE COMMAND
{
    [ "$4" = "$1" ] || fail "exit code $4, not $1: $5"$'\n'"$(head -c 2000 "$err")"
    same_text "$2" "$out" "standard output" "$5"
    same_text "$3" "$err" "standard error" "$5"
}

same_text() # TEXT FILE NAME COMMAND
{
    local difference
    [ "$1" != ... ] || return 0
    difference=$(printf '%s' "${1:+$1$'\n'}" | diff -u --label expected --label got - "$2") ||
        fail "$3 of: $4"$'\n'"$difference"
}

# usage COMMAND MESSAGE ARGUMENT...: exit code 2, and only the message. input: the same with 3.
usage()
{
    local command=$1 message=$2
    shift 2
    expect 2 "" "tlnmf $command: $message" tlnmf "$command" "$@"
}

input()
{
    local command=$1 message=$2
    shift 2
    expect 3 "" "tlnmf $command: $message" tlnmf "$command" "$@"
}

# ---- checks ------------------------------------------------------------------------------------

check() # WHAT CONDITION...
{
    local what=$1
    shift
    "$@" || fail "$what"
}

absent() # FILE...
{
    local file
    for file; do
        [ ! -e "$file" ] || fail "$file should not exist"
    done
}

near() # WHAT GOT WANTED TOLERANCE(relative to max(1, |WANTED|))
{
    awk -v a="$2" -v b="$3" -v tol="$4" 'BEGIN {
        size = b < 0 ? -b : b; if (size < 1) size = 1
        off = a - b; if (off < 0) off = -off
        exit !(a != "" && b != "" && off <= tol * size) }' || fail "$1 is $2, not $3 (within $4)"
}

# The first value of a key in the program's JSON, which has one member per line.
json() # KEY [FILE]
{
    sed -n 's/^ *"'"$1"'": "\{0,1\}\([^"]*[^",]\)"\{0,1\},\{0,1\}$/\1/p' "${2:-$out}" | head -n 1
}

# Doubles from a file, one per line; our .npy files have a header of 128 bytes.
doubles() # FILE FIRST COUNT
{
    od -An -v -w8 -t f8 -j $((128 + 8 * $2)) -N $((8 * $3)) "$1" | tr -d ' '
}

# ---- writing files -----------------------------------------------------------------------------

# VALUE... as little-endian doubles in printf %b's notation; also accepts nan, inf and -inf.
encode()
{
    printf '%s\n' "$@" | awk '
        function bytes(x, count) {
            for (; count > 0; count--) { printf "\\x%02x", x % 256; x = int(x / 256) } }
        $1 == "nan"  { printf "\\x00\\x00\\x00\\x00\\x00\\x00\\xf8\\x7f"; next }
        $1 == "inf"  { printf "\\x00\\x00\\x00\\x00\\x00\\x00\\xf0\\x7f"; next }
        $1 == "-inf" { printf "\\x00\\x00\\x00\\x00\\x00\\x00\\xf0\\xff"; next }
        { x = $1 + 0; sign = x < 0; if (sign) x = -x
          if (x == 0) { bytes(0, 8); next }
          for (e = 1023; x >= 2; e++) x /= 2
          for (; x < 1; e--) x *= 2
          x = (x - 1) * 1048576; high = int(x)
          bytes((x - high) * 4294967296, 4)
          bytes(sign * 2147483648 + e * 1048576 + high, 4) }'
}

# An .npy header of 128 bytes; it may claim any shape.
npy_header() # FILE SHAPE [DTYPE]
{
    local text="{'descr': '${3:-<f8}', 'fortran_order': False, 'shape': $2, }"
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$text" >"$1"
}

npy() # FILE SHAPE VALUE...
{
    local file=$1
    npy_header "$1" "$2"
    shift 2
    [ $# -eq 0 ] || printf '%b' "$(encode "$@")" >>"$file"
}

# A matrix of doubles in MATLAB's version 5 format, one variable; VALUEs are in column order.
mat() # FILE NAME(at most 8 letters) ROWS COLUMNS VALUE...
{
    local file=$1 name=$2 rows=$3 columns=$4 padded
    shift 4
    padded=$(printf '%s%.*s' "$name" $((4 * (8 - ${#name}))) '\x00\x00\x00\x00\x00\x00\x00\x00')
    {
        printf '%-116s\0\0\0\0\0\0\0\0\0\x01IM' 'MATLAB 5.0 MAT-file'
        words 14 $((16 + 16 + 16 + 8 + 8 * $#))
        words 6 8 6 0 5 8 "$rows" "$columns" 1 ${#name}
        printf '%b' "$padded"
        words 9 $((8 * $#))
        printf '%b' "$(encode "$@")"
    } >"$file"
}

# Sound in a .wav file of doubles, channels interleaved; samples may be nan and inf.
wav() # FILE RATE CHANNELS VALUE...
{
    local file=$1 rate=$2 channels=$3
    shift 3
    {
        printf RIFF
        words $((36 + 8 * $#))
        printf 'WAVEfmt '
        words 16 $((3 | channels << 16)) "$rate" $((8 * rate * channels)) $((8 * channels | 64 << 16))
        printf data
        words $((8 * $#))
        [ $# -eq 0 ] || printf '%b' "$(encode "$@")"
    } >"$file"
}

words() # INTEGER...: little-endian, 32 bits
{
    local x
    for x; do
        printf '%b' "$(printf '\\x%02x' $((x & 255)) $((x >> 8 & 255)) $((x >> 16 & 255)) $((x >> 24 & 255)))"
    done
}

# White noise as WAV: one channel of 16 bits at 8000 Hz.
noise_wav() # SAMPLES FILE
{
    {
        printf RIFF
        words $((36 + 2 * $1))
        printf 'WAVEfmt '
        words 16 $((1 | 1 << 16)) 8000 16000 $((2 | 16 << 16))
        printf data
        words $((2 * $1))
        head -c $((2 * $1)) /dev/urandom
    } >"$2"
}

# Small data, M = 3, N = 4, which most cases use.
small_data() # FILE
{
    npy "$1" "(3, 4)" 1 2 -1 .5 .3 -.2 .8 1 2 .1 -.4 .6
}
