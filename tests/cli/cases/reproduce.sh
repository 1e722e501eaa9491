# reproduce: a quick run, killed three times and continued, ends in the same files; what it refuses.
# Sanitizers make it many times slower: there, one experiment stands for all.
experiments="all"
! is_sanitized || experiments="fig2 theory --data gcm"

expect 0 ... "" tlnmf reproduce $experiments --quick -o whole --threads 2
cp "$out" table
check "the table is summary.md" cmp table whole/summary.md
check "claims, and all of them hold" grep -Eq '^([0-9]+) of \1 claims hold\.$' table
for file in fig2-gcm-fast.csv fig2-gcm-paper.csv theory.csv fig2-fast.svg fig2-paper.svg theory.svg summary.json; do
    check "$file is there" [ -s whole/$file ]
done
check "columns have names" [ "$(head -n 1 whole/fig2-gcm-fast.csv)" = S,I_jd,I_tl,gap,C_jd,C_tl,L_jd ]
check "a row an S" [ "$(wc -l <whole/fig2-gcm-fast.csv)" -eq 4 ]
check "a page with the figures" grep -q '"figures":\[{"title":"Figure 2, ' whole/index.html
check "the published curves beside ours" grep -q 'JD+NMF, published' whole/index.html
check "and the verdicts" grep -q 'class="verdict-' whole/index.html
check "a picture with axes and a legend" grep -q ">S (realisations)<.*" whole/fig2-fast.svg
check "no NaN in a picture" sh -c '! grep -qi nan whole/*.svg whole/*.csv'
if [ "$experiments" = all ]; then
    for file in fig3.svg fig3-atoms.csv fig3-W.csv fig3-H.csv table2.csv fig4.svg fig4-gcm.csv fig4-notes.csv \
        beyond.svg beyond-block.csv beyond-moving.csv beyond-rank.csv; do
        check "$file is there" [ -s whole/$file ]
    done
fi

# Killed at some moment after so many cells, and continued: the same bytes.
cells=$(ls whole/cells | wc -l)
for part in 1 2 3; do
    tlnmf reproduce $experiments --quick -o killed -q --threads 2 >/dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(ls killed/cells 2>/dev/null | wc -l)" -lt $((part * cells / 4)) ]; do
        sleep 0.02
    done
    sleep 0.0$((RANDOM % 10))
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    check "killed before the end ($part)" [ ! -e killed/summary.json ]
done
expect 0 ... "" tlnmf reproduce $experiments --quick -o killed --threads 1
for file in $(cd whole && ls -p | grep -v /); do
    check "$file is the same after three kills, at another number of threads" cmp whole/$file killed/$file
done

# Again: nothing is computed, the JSON is the summary's
expect 0 ... "" tlnmf reproduce $experiments --quick -o killed --json
check "--json" cmp "$out" killed/summary.json

# Ctrl-C: 130, and how to go on
set -m
tlnmf reproduce fig2 --data gcm -o stopped >"$out" 2>"$err" &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -d stopped/cells ]; do sleep 0.02; done
sleep 0.3
kill -INT $pid
code=0
wait $pid || code=$?
judge 130 "" "tlnmf reproduce: stopped; the same command continues from here" $code "interrupted"

# What is refused
usage reproduce "there is no experiment fig7: fig2, fig3, table2, fig4, theory, beyond, errata, or all" \
    fig7 -o x
usage reproduce "which experiment? fig2, fig3, table2, fig4, theory, beyond, errata, or all" -o x
usage reproduce "-o FOLDER is needed" fig2
usage reproduce "solver = newton is not one of fast|paper|both" fig2 --solver newton -o x
usage reproduce "data = piano is not one of gcm|notes|both" fig2 --data piano -o x
input reproduce "whole: its results have quick = true, this run has false: choose another -o" fig2 -o whole
sed 's/"version": "[^"]*"/"version": "0.0.1"/' whole/manifest.json >old && cp old killed/manifest.json
input reproduce "killed: its results have version = \"0.0.1\", this run has \"$(tlnmf --version |
    sed -n '1s/tlnmf //p')\": choose another -o" fig2 --quick -o killed

# A claim can fail: a cell with another number, and the checksum that belongs to it.
forge() # CELL EDIT
{
    tail -n +2 whole/cells/$1.json | sed "$2" >body
    printf '{"cell": "%s", "check": %s,\n' "$1" "$(cksum <body | cut -d ' ' -f 1)" | cat - body >whole/cells/$1.json
}
cp -r whole saved
forge search-gcm-S10-fast 's/"C_tl": [0-9.]*/"C_tl": 99999.5/'
expect 0 ... "" tlnmf reproduce $experiments --quick -o whole
check "C(TL) <= C(JD+NMF) does not hold" grep -q "| gcm, fast, S=10: C(JD+NMF) - C(TL-NMF) .*| \*\*no\*\* |" whole/summary.md
check "and is not counted" sh -c '! grep -Eq "^([0-9]+) of \1 claims hold" whole/summary.md'
forge search-gcm-S10-fast 's/"C_tl": [0-9.]*/"C_tl": null/'
expect 0 ... "" tlnmf reproduce $experiments --quick -o whole
check "nor does it without a number" sh -c '! grep -Eq "^([0-9]+) of \1 claims hold" whole/summary.md'
rm -r whole && mv saved whole

# Cells that are not what was stored
cell=$(ls whole/cells | head -n 1)
cp whole/cells/$cell kept
sed 's/[1-9]/7/' kept >whole/cells/$cell
input reproduce "whole/cells/$cell: is damaged: remove it" $experiments --quick -o whole
head -c 20 kept >whole/cells/$cell
input reproduce "whole/cells/$cell: is damaged: remove it" $experiments --quick -o whole
echo '{}' >whole/cells/$cell
input reproduce "whole/cells/$cell: is damaged: remove it" $experiments --quick -o whole
cp whole/cells/$(ls whole/cells | tail -n 1) whole/cells/$cell
input reproduce "whole/cells/$cell: is damaged: remove it" $experiments --quick -o whole
echo '[1]' >whole/manifest.json
input reproduce "whole/manifest.json: is not a JSON object: remove it" $experiments --quick -o whole
rm whole/manifest.json && mkdir whole/manifest.json
input reproduce "whole/manifest.json: is not a file: remove it" $experiments --quick -o whole
mkdir full && touch full/.manifest.json.1-0 full/mine # the first may be a killed run's, the second is not
expect 5 "" "tlnmf reproduce: full: is not empty, and no folder of results: choose another -o" \
    tlnmf reproduce fig2 -o full
touch file
expect 5 "" "tlnmf reproduce: file: cannot be made: there is a file of that name" tlnmf reproduce fig2 -o file
expect 5 "" "tlnmf reproduce: no/where: cannot be made: No such file or directory" \
    tlnmf reproduce fig2 -o no/where
expect 5 "" "tlnmf reproduce: file/in: cannot be made: Not a directory" tlnmf reproduce fig2 -o file/in
if [ "$(id -u)" -ne 0 ]; then
    mkdir shut && chmod 555 shut
    expect 5 "" "tlnmf reproduce: shut/manifest.json: cannot write: Permission denied" \
        tlnmf reproduce fig2 --quick -o shut
    expect 5 "" "tlnmf reproduce: shut/in: cannot be made: Permission denied" \
        tlnmf reproduce fig2 --quick -o shut/in
    mkdir blind && chmod 666 blind # a folder whose files cannot even be looked at
    input reproduce "blind/manifest.json: Permission denied" fig2 --quick -o blind
else
    skip "root writes into read-only folders, and looks into all"
fi
absent x
