# Man pages: every command and tlnmf-mpi have one, it describes every option of --help, and groff and
# mandoc print no warning.
render() # FILE: as a text of 80 columns, without bold and italic
{
    LC_ALL=C.UTF-8 groff -man -t -Kutf8 -Tutf8 -ww -P-cbou "$1" 2>groff.err
}

expect 0 ... "" tlnmf --man
cp "$out" tlnmf.1
for command in separate apply eval fit jd report simulate reproduce info; do
    check "tlnmf.1 describes $command" grep -q "^\\\\fB$command\\\\fR" tlnmf.1
    expect 0 ... "" tlnmf --man $command
    cp "$out" tlnmf-$command.1
    check "$command: the title" [ "$(head -n 1 "$out" | cut -d ' ' -f 2)" = \
        "\"TLNMF\\-$(echo $command | tr a-z A-Z)\"" ]
    tlnmf $command --help all | sed -n '/^Examples/q; s/^.\{13\}\(-[-a-zA-Z]*\).*/\1/p' >options
    check "$command: has options" [ -s options ]
    while read -r option; do
        check "tlnmf-$command.1 describes $option" \
            grep -qF "\\fB${option//-/\\-}\\fR" tlnmf-$command.1
    done <options
done

expect 0 ... "" tlnmf --man mpi
cp "$out" tlnmf-mpi.1
for command in fit jd reproduce; do
    check "tlnmf-mpi.1 names $command" grep -q "^\\\\fB$command\\\\fR" tlnmf-mpi.1
done
check "tlnmf-mpi.1 describes --split" grep -qF '\fB\-\-split\fR' tlnmf-mpi.1
for page in *.1; do
    for section in NAME SYNOPSIS OPTIONS EXAMPLES "EXIT STATUS" "SEE ALSO"; do
        check "$page: $section" [ "$(grep -cx ".SH $section" $page)" -eq 1 ]
    done
done

# Lines that begin with a period are requests; only these are intended.
for page in *.1; do
    check "$page: an unknown request: $(grep '^[.]' $page | grep -Ev '^\.(TH|SH|SS|TP|br|nf|fi)( |$)')" \
        [ "$(grep -c '^[.]' $page)" -eq "$(grep -Ec '^\.(TH|SH|SS|TP|br|nf|fi)( |$)' $page)" ]
    check "$page: fonts end where they begin" \
        [ "$(grep -o '\\f[BI]' $page | wc -l)" -eq "$(grep -o '\\fR' $page | wc -l)" ]
    check "$page: no bare minus signs" eval "! sed 1d $page | grep -q '[^\\\\]-'"
done

if command -v groff >/dev/null; then
    for page in *.1; do
        render $page >text || fail "groff cannot read $page"
        check "groff on $page: $(cat groff.err)" [ ! -s groff.err ]
    done
    render tlnmf-fit.1 >text
    check "an option with its text" grep -A1 -e "^ *--hops INT" text
    tr -s ' \n' '  ' <text >words
    check "its range" grep -q -- "-J INT maximum number of outer iterations \[1000\]. From 1 to 1000000000." words
else
    skip "rendering (there is no groff)"
fi

# The date is that of the release, so that builds are reproducible.
released=$(sed -n 's/^date-released: //p' "$GOLDEN/../../../CITATION.cff")
for page in *.1; do
    check "$page: the date" [ "$(sed -n '1s/^\.TH [^ ]* 1 "\([-0-9]*\)" .*/\1/p' $page)" = "$released" ]
done
if command -v mandoc >/dev/null; then
    for page in *.1; do
        mandoc -T lint -W warning $page >lint || true
        check "mandoc on $page: $(cat lint)" [ ! -s lint ]
    done
else
    skip "mandoc (it is not installed)"
fi

# The page of the program refers to tlnmf-mpi(1) if that is built.
code=1
[ ! -x "$(realpath "$(command -v tlnmf)")-mpi" ] || code=0
expect $code ... "" grep -x '\\fBtlnmf\\-mpi\\fR(1),' tlnmf.1

# All man pages are installed.
installed=$(sed -n 's/^ *set(commands "" \(.*\))$/\1/p' "$GOLDEN/../../../CMakeLists.txt")
check "CMakeLists.txt installs a page for each command" [ "$installed" = \
    "$(tlnmf --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | xargs)" ]

expect 2 "" "tlnmf: unknown command bogus (see tlnmf --help)" tlnmf --man bogus
