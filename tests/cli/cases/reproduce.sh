# reproduce: a quick run that is killed three times and resumed writes the same files; errors.
# Sanitizers make it many times slower, so they run only one experiment.
experiments="all"
! is_sanitized || experiments="fig2 theory --data gcm"

expect 0 ... ... tlnmf reproduce $experiments --quick -o whole --threads 2
check "a line for each cell without a terminal" grep -Eq "^tlnmf reproduce: [^ ]+, [0-9.]+ s$" "$err"
head -n -2 "$out" >table
check "the table is summary.md" cmp table whole/summary.md
check "claims, and all of them hold" grep -Eq '^([0-9]+) of \1 claims hold: \1 satisfied\.' table
short="The quick version is too short to compare with the paper\."
check "line 3: not comparable with the paper" [ "$(sed -n 3p table | grep -c "$short")" -eq 1 ]
check "neither is the page" grep -q "$short" whole/index.html
check "no published value, no difference" [ "$(sed 1,/---/d table | cut -d '|' -f 4,6 | tr -d ' |\n')" = "" ]
check "nor in the JSON" [ "$(grep -Eoc '"(published|difference)": ?-?[0-9]' whole/summary.json)" -eq 0 ]
for file in fig2-gcm-fast.csv fig2-gcm-paper.csv theory.csv fig2-fast.svg fig2-paper.svg theory.svg summary.json; do
    check "$file exists" [ -s whole/$file ]
done
check "columns have names" [ "$(head -n 1 whole/fig2-gcm-fast.csv)" = S,I_jd,I_tl,I_gap,C_jd,C_tl,L_jd ]
check "one row per S" [ "$(wc -l <whole/fig2-gcm-fast.csv)" -eq 4 ]
check "a page with the figures" grep -q '<h2>Figure 2, .*</h2>' whole/index.html
check "all figures are in it" [ "$(grep -c '<figure><svg ' whole/index.html)" -eq "$(ls whole/*.svg | wc -l)" ]
for file in whole/*.svg; do
    check "$file has no published curve" sh -c "! grep -q published $file"
    check "$file says why" grep -q '>quick version: not comparable with the paper<' $file
done
check "no slope of two points" sh -c '! grep -q slope whole/summary.md'
check "and the verdicts" grep -q '<td>satisfied</td>' whole/index.html
check "a verdict in the JSON" grep -q '"verdict": "satisfied"' whole/summary.json
check "a picture with axes and a legend" grep -q ">S (realisations)<.*" whole/fig2-fast.svg
check "no NaN in a picture" sh -c '! grep -qi nan whole/*.svg whole/*.csv'
if [ "$experiments" = all ]; then
    for file in fig3.svg fig3-atoms.csv fig3-W.csv fig3-H.csv table2.csv fig4.svg fig4-gcm.csv fig4-notes.csv \
        beyond.svg beyond-block.csv beyond-moving.csv beyond-rank.csv; do
        check "$file exists" [ -s whole/$file ]
    done
fi

# Killed at some moment after a number of cells, and resumed: the same bytes.
finished() # FOLDER: cells in its checkpoint
{
    grep -ao 'cell\.[a-z]' "$1/cells.checkpoint" 2>/dev/null | wc -l
}
cells=$(finished whole)
check "there are several cells" [ "$cells" -gt 3 ]
for part in 1 2 3; do
    tlnmf reproduce $experiments --quick -o killed -q --threads 2 >/dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(finished killed)" -lt $((part * cells / 4)) ]; do
        sleep 0.02
    done
    sleep 0.0$((RANDOM % 10))
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    check "killed before the end ($part)" [ ! -e killed/summary.json ]
done
expect 0 ... "" tlnmf reproduce $experiments --quick -o killed --threads 1 -q
for file in $(cd whole && ls); do
    check "$file is the same after three kills, at another number of threads" cmp whole/$file killed/$file
done

# Run again: nothing is computed, and the JSON equals the summary
expect 0 ... "" tlnmf reproduce $experiments --quick -o killed --json
check "--json" cmp "$out" killed/summary.json

# Another experiment, or another part of one, in the same folder: the files of one run of all.
expect 0 ... "" tlnmf reproduce fig2 --data gcm --solver fast --quick -o parts -q
check "the files are named" [ "$(tail -n 1 "$out")" = \
    "Files: fig2-gcm-fast.csv, fig2-fast.svg, summary.md, summary.json, index.html" ]
expect 0 ... "" tlnmf reproduce errata --quick -o parts -q
check "finished experiments stay" [ "$(grep -c '^| fig2 |' "$out")" -eq 9 ]
check "next to the new one" grep -q '^| errata |' "$out"
expect 0 ... "" tlnmf reproduce fig4 --data gcm --solver paper --quick -o parts -q
expect 0 ... "" tlnmf reproduce fig2 fig4 errata --data gcm --solver fast --quick -o one -q
for file in summary.md index.html fig2-gcm-fast.csv fig2-fast.svg fig4-gcm.csv fig4.svg; do
    check "$file is the same after three runs" cmp one/$file parts/$file
done
check "one data set: one panel of figure 2" grep -q '<svg [^>]* width="725" height="370"' parts/fig2-fast.svg
check "and of figure 4" grep -q '<svg [^>]* width="425" height="380"' parts/fig4.svg
check "a part that was not asked for is not reported" [ "$(ls parts)" = "$(ls one)" ]
check "the page has its figure" grep -q '<h2>Figure 2, ' parts/index.html

# Ctrl-C: exit code 130, and how to resume
set -m
tlnmf reproduce fig2 --data gcm -o stopped >"$out" 2>"$err" &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -e stopped/cells.checkpoint ]; do sleep 0.02; done
sleep 0.3
kill -INT $pid
code=0
wait $pid || code=$?
judge 130 "" "tlnmf reproduce: stopped; the same command continues from here" $code "interrupted"

# Refused arguments
usage reproduce "unknown experiment fig7; use fig2, fig3, table2, fig4, theory, beyond, errata, or all" \
    fig7 -o x
usage reproduce "missing operand: fig2, fig3, table2, fig4, theory, beyond, errata, or all" -o x
usage reproduce "missing required option -o FOLDER" fig2
usage reproduce "solver = newton is not one of fast|paper|both" fig2 --solver newton -o x
usage reproduce "data = piano is not one of gcm|notes|both" fig2 --data piano -o x
input reproduce "whole/cells.checkpoint: the checkpoint has quick=true, but this run has quick=false" fig2 -o whole

# A claim can fail: a cell with another number and a matching checksum.
forge() # FILE AFTER OLD NEW, as long as OLD
{
    python3 - "$@" <<'END'
import re, sys
path, after, old, new = sys.argv[1], *(a.encode() for a in sys.argv[2:])
data = bytearray(open(path, "rb").read()[:-8])
at = re.compile(old).search(data, data.index(after))
data[at.start():at.end()] = new.ljust(at.end() - at.start())
h = 0xcbf29ce484222325
for byte in data:
    h = (h ^ byte) * 0x100000001b3 % 2**64
open(path, "wb").write(data + h.to_bytes(8, "little"))
END
}
cp -r whole saved
if command -v python3 >/dev/null; then
    forge whole/cells.checkpoint cell.search-gcm-S10-fast '"C_tl": ?[0-9]{3}' '"C_tl":9999'
    expect 0 ... "" tlnmf reproduce $experiments --quick -o whole
    check "a claim does not hold" grep -q "| \*\*violated\*\* |" whole/summary.md
    check "and is not counted" sh -c '! grep -Eq "^([0-9]+) of \1 claims hold" whole/summary.md'
    rm -r whole && cp -r saved whole
    version=$(tlnmf --version | sed -n '1s/tlnmf //p')
    forge killed/cells.checkpoint version "$version" "$(echo "$version" | tr 0-9 9)"
    input reproduce "killed/cells.checkpoint: the checkpoint has version=$(echo "$version" | tr 0-9 9), but this run has version=$version" \
        fig2 --quick -o killed
else
    skip "no python3 to forge a checkpoint"
fi
rm -r saved

# Damaged checkpoints
file=whole/cells.checkpoint
cp $file kept
for damage in 's/[1-9]/7/' 1q; do
    sed "$damage" kept >$file
    input reproduce "$file: not a record, or damaged or cut short" $experiments --quick -o whole
done
rm $file && mkdir $file
expect 5 "" "tlnmf reproduce: $file: a checkpoint must be a regular file, not a directory" \
    tlnmf reproduce $experiments --quick -o whole
mkdir full && touch full/.cells.checkpoint.1-0 full/mine # the first may belong to a killed run, the second does not
expect 5 "" "tlnmf reproduce: full: is neither empty nor a folder of results: choose another -o" \
    tlnmf reproduce fig2 -o full
touch file
expect 5 "" "tlnmf reproduce: file: cannot be created: there is a file of that name" tlnmf reproduce fig2 -o file
expect 5 "" "tlnmf reproduce: no/where: cannot be created: No such file or directory" \
    tlnmf reproduce fig2 -o no/where
expect 5 "" "tlnmf reproduce: file/in: cannot be created: Not a directory" tlnmf reproduce fig2 -o file/in
if [ "$(id -u)" -ne 0 ]; then
    mkdir shut && chmod 555 shut
    expect 5 "" "tlnmf reproduce: shut/cells.checkpoint: directory shut cannot be written: Permission denied" \
        tlnmf reproduce fig2 --quick -o shut
    expect 5 "" "tlnmf reproduce: shut/in: cannot be created: Permission denied" \
        tlnmf reproduce fig2 --quick -o shut/in
    mkdir blind && chmod 666 blind # a folder whose files cannot be examined
    expect 5 "" "tlnmf reproduce: blind/cells.checkpoint: cannot be written: Permission denied" \
        tlnmf reproduce fig2 --quick -o blind
else
    skip "root writes into read-only folders, and looks into all"
fi
absent x
