# The progress line: it is shown only on terminals, and erased before the result is printed.
export SHELL=/bin/sh # script runs commands with it

on_terminal() # COMMAND...: both streams are a terminal; $out receives them, lines separated by \r
{
    expect 0 ... ... timeout 60 script -qec "$*" /dev/null
    tr '\r' '\n' <"$out" >lines
}

if script -qec true /dev/null >/dev/null 2>&1; then
    tlnmf simulate gcm --m 60 --n 200 -o y.npy
    long="-J 100000000 --threads 1 --max-seconds"
    erase=$'\e\\[K'
    on_terminal tlnmf fit y.npy -k 5 --method tl --solver paper --tol 0 --no-model $long 2
    check "the line" grep -Eq "${erase}TL-NMF \[\.{20}\] iteration [0-9]+ of 100000000, [0-9.e+]+/s, \
best C -?[0-9.e+]+, at most [0-9]+ s left$" lines
    check "the text replaces it" grep -q "^${erase}TL-NMF with 5 components: not converged" lines
    check "the text is complete" grep -Eq "^  stopped       (TL-NMF|JD|NMF): the time limit was reached \(best start: iteration [0-9]+\)$" lines

    on_terminal tlnmf fit y.npy -k 5 --method nmf --solver paper --tol 0 --no-model $long 1
    check "nmf has C" grep -Eq "${erase}NMF .* iteration [0-9]+ of 100000000, .*, best C -?[0-9.e+]+," lines

    on_terminal tlnmf fit y.npy -k 5 --method tl --solver paper --starts 2 --tol 0 --no-model $long 1
    check "the limit is known for several starts" grep -Eq \
        "start [12] of 2, .*, best C -?[0-9.e+]+, at most [01] s left$" lines
    on_terminal tlnmf fit y.npy -k 5 --method tl --solver paper --starts 2 -J 2000 --threads 1 --tol 0 --no-model
    check "several starts without a time limit: no time left" grep -Eq "start [12] of 2, .*, best C -?[0-9.e+]+$" lines

    on_terminal tlnmf fit y.npy -k 5 --solver paper --tol 0 --no-model $long 0.3 -q
    check "-q: no line" eval '! grep -q "best C" lines'
    check "-q: the text is still printed" grep -q " with 5 components: not converged" lines
else
    skip "the progress line (no script(1), or no terminal to be had)"
fi
