# Starts from files: shapes and values that cannot be used, and one that can.
small_data y.npy
npy Phi.npy "(3, 3)" 0 1 0 1 0 0 0 0 -1
npy W.npy "(3, 2)" 1 2 1 1 2 1
npy H.npy "(2, 4)" 1 2 1 1 2 1 1 3
npy vector.npy "(3,)" 1 2 3
npy W-negative.npy "(3, 2)" 1 1 1 -1 1 1
npy W-zero.npy "(3, 2)" 1 0 1 0 1 0
npy W-nan.npy "(3, 2)" 1 2 1 1 nan 1
npy H-nan.npy "(2, 4)" 1 2 1 1 2 nan 1 3
npy H-negative.npy "(2, 4)" 1 2 1 1 2 1 1 -0.5
npy H-infinite.npy "(2, 4)" inf 2 1 1 2 1 1 1
npy Phi-skew.npy "(3, 3)" 1 .5 0 0 1 0 0 0 1
npy Phi-nan.npy "(3, 3)" 1 nan 0 0 1 0 0 0 1
npy Phi-zero.npy "(3, 3)" 0 0 0 0 0 0 0 0 0
npy Phi-close.npy "(3, 3)" 1 1e-10 0 0 1 0 0 0 1

input fit "H.npy: shape (2, 4), but Phi must be (3, 3)" y.npy -k 2 --init-phi H.npy
input fit "H.npy: shape (2, 4), but Phi must be (3, 3)" y.npy -k 2 --method nmf --transform H.npy
input jd "H.npy: shape (2, 4), but Phi must be (3, 3)" y.npy --init-phi H.npy
input fit "H.npy: shape (2, 4), but W must be (3, 2)" y.npy -k 2 --init-w H.npy
input fit "W.npy: shape (3, 2), but H must be (2, 4)" y.npy -k 2 --init-h W.npy
input fit "W.npy: shape (3, 2), but W must be (3, 1)" y.npy -k 1 --init-w W.npy
input fit "vector.npy: shape (3,), but H must be (2, 4)" y.npy -k 2 --init-h vector.npy
input fit "missing.npy: No such file or directory" y.npy -k 2 --init-phi missing.npy
input fit "missing.npy: No such file or directory" y.npy -k 2 --transform missing.npy
input jd "missing.npy: No such file or directory" y.npy --transform missing.npy
input fit "./dct: No such file or directory" y.npy -k 2 --transform ./dct
input fit "missing:Phi: No such file or directory" y.npy -k 2 --transform missing:Phi

# The message may begin with the name of the file.
named() # FILE MESSAGE OPTION
{
    local text
    expect 3 "" ... tlnmf fit y.npy -k 2 "$3" "$1"
    text=$(<"$err")
    [ "$text" = "tlnmf fit: $2" ] || [ "$text" = "tlnmf fit: $1: $2" ] || fail "$3 $1: $text"
}
named W-negative.npy "the given W must be finite and not negative: row 1, column 1 is -1" --init-w
named W-zero.npy "column 1 of the given W is all zeros" --init-w
named W-nan.npy "the given W must be finite and not negative: row 2, column 0 is nan" --init-w
named H-nan.npy "the given H must be finite and not negative: row 1, column 1 is nan" --init-h
named H-negative.npy "the given H must be finite and not negative: row 1, column 3 is -0.5" --init-h
named H-infinite.npy "the given H must be finite and not negative: row 0, column 0 is inf" --init-h
named Phi-skew.npy \
    "the given Phi is not orthogonal: Phi Phi' differs from I by 0.5 (at most 1e-05). Use its polar factor U V', where U S V' is its singular value decomposition" --init-phi
named Phi-zero.npy \
    "the given Phi is not orthogonal: Phi Phi' differs from I by 1 (at most 1e-05). Use its polar factor U V', where U S V' is its singular value decomposition" --init-phi
named Phi-skew.npy \
    "the given Phi is not orthogonal: Phi Phi' differs from I by 0.5 (at most 1e-05). Use its polar factor U V', where U S V' is its singular value decomposition" --transform
named Phi-nan.npy "the given Phi is not finite at row 0, column 1" --init-phi
absent model.h5

expect 0 ... "" tlnmf fit y.npy -k 2 --json --init-phi Phi.npy --init-w W.npy --init-h H.npy -J 3
check "three iterations" [ "$(json iterations)" = 3 ]
expect 0 ... "" tlnmf fit y.npy -k 2 --json --init-phi Phi-close.npy -J 3 --no-model
near "orthogonality" "$(json orthogonality)" 0 1e-14

# --method nmf keeps a given Phi, whichever option gives it.
expect 0 ... "" tlnmf fit y.npy -k 2 --json --method nmf --init-phi Phi.npy --no-model
L=$(json L)
expect 0 ... "" tlnmf fit y.npy -k 2 --json --method nmf --transform Phi.npy --no-model
check "the same L" [ "$(json L)" = "$L" ]
expect 0 ... "" tlnmf fit y.npy -k 2 --json --method nmf --transform identity --no-model
near "L of a permutation, with L of the identity" "$(json L)" "$L" 1e-12

# --transform reads a file if its value has a . or / or : and is not one of its choices
cp Phi.npy Phi
usage fit "transform = Phi is not one of auto|random|dct|dft|identity" y.npy -k 2 --transform Phi
expect 0 ... "" tlnmf fit y.npy -k 2 --json --method nmf --transform ./Phi -o nmf.h5
check "the same L" [ "$(json L)" = "$L" ]
expect 0 ... "" tlnmf fit y.npy -k 2 --json --method nmf --transform nmf.h5:/Phi --no-model
check "the same L" [ "$(json L)" = "$L" ]

# The bound of the help is the one at which a fit runs several starts: 10 x 10 + (10 + 90) 4, and
# (10 + 115) 4 at a fixed transform.
bound='M M + (M + N) K <= 500 (with a fixed transform: (M + N) K)'
check "the bound in the help" grep -qF "$bound" <(tlnmf fit --help all | tr -s ' \n' ' ')
for file in include/tlnmf/tlnmf.h python/tlnmf/_model.py docs/howto/convergence.md; do
    check "the bound in $file" grep -q 'most 500\b' "$GOLDEN/../../../$file"
done
several() # FRAMES OPTION...: whether the summary names the number of starts
{
    tlnmf simulate gcm -s 2 -m 10 -n "$1" -o bound.npy --force &&
        tlnmf fit bound.npy -k 4 -J 2 --no-model "${@:2}" 2>/dev/null | grep -q 'of 50 starts'
}
check "500 unknowns: several starts" several 90 --method jd
check "504 unknowns: one start" eval '! several 91 --method jd'
check "500 unknowns at a fixed transform: several starts" several 115 --method nmf
check "504 unknowns at a fixed transform: one start" eval '! several 116 --method nmf'
