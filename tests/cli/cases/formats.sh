# Arrays as text, in half precision and as booleans; models as .mat and .npz.
npy y.npy "(2, 3)" 1 2.5 -3 .5 5 6
expect 0 ... "" tlnmf fit y.npy -k 1 --no-model --json
C=$(json C)

table() # FILE NOTE [TEXT]: the same numbers, with a note
{
    [ $# -lt 3 ] || printf "$3" >"$1"
    expect 0 ... "tlnmf fit: $1: text, 2 x 3 numbers between $2" tlnmf fit "$1" -k 1 --no-model --json
    near "C of $1" "$(json C)" "$C" 1e-12
}
table plain.csv "commas" '1,2.5,-3\n.5,5,6\n'
table header.csv "commas; skipped: the header line" 'a,b,c\n1,2.5,-3\n.5,5,6\n'
table pandas.csv "commas; skipped: the header line, the first column, an index" \
    ',0,1,2\n0,1,2.5,-3\n1,.5,5,6\n'
table comma.csv "semicolons, with decimal commas; skipped: the header line" 'a;b;c\n1;2,5;-3\n0,5;5;6\n'
table quoted.csv "commas" '"1","2.5","-3"\n".5","5","6"\n'
table names.tsv "tabs; skipped: the first column, an index" 'x\t1\t2.5\t-3\ny\t.5\t5\t6\n'
table r.txt "spaces; skipped: the header line, the first column, an index" \
    '"V1" "V2" "V3"\n"1" 1 2.5 -3\n"2" .5 5 6\n'
# Header lines that count the columns, as pandas writes them; index columns; options that override both.
table count.csv "commas; skipped: the header line (it counts the columns; :no-header keeps it)" \
    '0,1,2\n1,2.5,-3\n.5,5,6\n'
table one.tsv "tabs; skipped: the header line (it counts the columns; :no-header keeps it)" \
    '1\t2\t3\n1\t2.5\t-3\n.5\t5\t6\n'
table id.csv "commas; skipped: the header line, the first column, an index" 'id,a,b,c\n3,1,2.5,-3\n7,.5,5,6\n'
table row.csv "semicolons; skipped: the header line, the first column, an index" \
    'Row;a;b;c\n0;1;2.5;-3\n1;.5;5;6\n'
sizes() # M N NOTE FILE [OPTION...]
{
    local M=$1 N=$2 note=$3 file=$4
    shift 4
    expect 0 ... "tlnmf fit: $file: text, $M x $N numbers between commas$note" \
        tlnmf fit "$file" -k 1 -J 2 --no-model --json "$@"
    check "M and N of $file $*" [ "$(json M) $(json N)" = "$M $N" ]
}
left="; skipped: the header line"
sizes 3 3 "" count.csv --header no
sizes 3 3 "" count.csv:no-header
sizes 2 2 "$left (it counts the columns; :no-header keeps it), the first column, an index" count.csv --index yes
sizes 2 4 "$left" id.csv --index no
sizes 2 4 "$left" id.csv:header,no-index
printf 'id,a,b\n3,1,2.5\n1,.5,5\n' >falls.csv # not an index: its numbers do not increase
input fit "falls.csv: these columns usually identify rows: id. Use --drop id to omit them, or --columns NAME,.. to choose the columns to read" \
    falls.csv -k 1
sizes 2 2 "$left, 1 column (id)" falls.csv --drop id
sizes 2 2 "$left, 1 column (id)" falls.csv --columns a,3
sizes 2 3 "$left" falls.csv --columns '*'
for twice in a,a a,2; do
    input fit "falls.csv: --columns names the column \"${twice#a,}\" twice; name each column once" \
        falls.csv -k 1 --columns $twice
done
sizes 2 3 "$left" falls.csv --index no
expect 0 ... "tlnmf jd: falls.csv: text, 2 x 2 numbers between commas$left, 1 column (id)" \
    tlnmf jd falls.csv --drop 1 --input data -o drop.h5
tlnmf fit falls.csv --drop id -k 1 -o drop.h5 --force -q >drop.out
expect 0 ... "tlnmf apply: falls.csv: text, 2 x 2 numbers between commas$left, 1 column (id)" \
    tlnmf apply drop.h5 falls.csv --drop id -o dropped.h5
sizes_of() { tlnmf info "$@" 2>&1 | tail -n 1 | tr -s ' '; }
check "info lists all columns" [ "$(sizes_of falls.csv)" = " text (2, 3)" ]
check "info with --drop shows the shape that fit reads" [ "$(sizes_of falls.csv --drop id)" = " text (2, 2)" ]
check "the same as a suffix" [ "$(sizes_of falls.csv:drop=id)" = " text (2, 2)" ]
usage info "--drop requires a text table; y.npy is not one" y.npy --drop 1
usage fit "--columns and --drop are mutually exclusive" falls.csv -k 1 --columns a --drop id
usage fit "--drop requires names or numbers of columns" falls.csv -k 1 --drop ""
usage fit "--drop requires a text table; y.npy is not one" y.npy -k 1 --drop 1
sizes 2 2 "$left, the first column, an index" falls.csv --index yes
printf '0,1,2\n1,2,3\n4,5,7\n' >counts.csv # no fractions below it: data
sizes 3 3 "; its first line counts the columns and is read as data (:header skips it)" counts.csv
sizes 3 3 "" counts.csv --header no
sizes 2 3 "$left" counts.csv --header yes
printf '1,2.5,2\n2,5,1\n3,1,1\n' >rows.csv
sizes 3 3 "; its first column counts the rows and is read as data (:index skips it)" rows.csv
sizes 3 2 "; skipped: the first column, an index" rows.csv --index yes
sizes 3 3 "" rows.csv --index no
expect 0 ... "tlnmf fit: -: text, 3 x 3 numbers between commas" tlnmf fit - -k 1 -J 2 --no-model --header no <count.csv
expect 0 ... "tlnmf jd: count.csv: text, 2 x 3 numbers between commas; skipped: the header line (it counts the columns; :no-header keeps it)" \
    tlnmf jd count.csv -o count.h5
usage fit "--header requires a text table; y.npy is not one" y.npy -k 1 --header yes
usage fit "header = maybe is not one of yes|no|auto" plain.csv -k 1 --header maybe
input fit "y.npy: not a text table, :no-header does not apply to it" y.npy:no-header -k 1 --no-model
printf '\xff\xfe1\0,\0002\0\n\0' >utf16.csv
expect 3 "" "tlnmf fit: utf16.csv: UTF-16 text: save it as UTF-8" tlnmf fit utf16.csv -k 1 --no-model
expect 0 ... "" tlnmf fit plain.csv -k 1 --no-model -q
expect 0 ... "tlnmf fit: -: text, 2 x 3 numbers between commas" tlnmf fit - -k 1 --no-model <plain.csv
expect 0 "plain.csv: text, 16 bytes
                     text     (2, 3)" "" tlnmf info plain.csv

printf '1,2,3\n4,5\n' >ragged.csv
printf '1,2,3\n4,,6\n' >empty.csv
printf '1,2,3\n4,NA,6\n' >missing.csv
printf '1,2,3\n4,nan,6\n' >nan.csv
input fit "ragged.csv: line 2 has 2 cells, line 1 has 3: all rows must have the same length" ragged.csv -k 1
skips="; --missing skips frames that have a missing value"
input fit "empty.csv: line 2, column 2 is empty$skips" empty.csv -k 1
input fit "missing.csv: line 2, column 2 is \"NA\"$skips" missing.csv -k 1
printf ',10.02,0.129\n1,2,3\n4,5,7\n' >first.csv # data: pandas would write ,0,1
input fit "first.csv: line 1, column 1 is empty (if the line is a header, use --header yes)$skips" first.csv -k 1
for more in "" "--header no"; do
    expect 0 ... ... tlnmf fit first.csv -k 1 --missing --no-model $more
    check "a first line of data $more" grep -q "first.csv: text, 3 x 3 numbers between commas$" "$err"
done
sizes 2 2 "$left, the first column, an index" first.csv --header yes
printf 'NA,,nan\n1,2,3\n4,5,7\n' >gone.csv
input fit "gone.csv: line 1, column 1 is \"NA\"$skips" gone.csv -k 1
input fit "missing.csv: line 2, column 2 is \"NA\"" y.npy -k 1 --weights missing.csv
expect 0 ... ... tlnmf fit empty.csv -k 1 --missing --no-model
check "an empty cell is missing" grep -q "empty.csv: 1 of 3 frames are missing" "$err"
expect 3 "" "tlnmf fit: nan.csv: text, 2 x 3 numbers between commas; its first line counts the columns and is read as data (:header skips it)
tlnmf fit: nan.csv: realisation 0, row 1, frame 1 is not finite (nan); --missing skips frames that have a NaN" tlnmf fit nan.csv -k 1

# 1, -2 | 0.5, 1.5 in half precision, and true, false | true, true
npy_header half.npy "(2, 2)" "<f2" && printf '\x00\x3c\x00\xc0\x00\x38\x00\x3e' >>half.npy
npy half8.npy "(2, 2)" 1 -2 .5 1.5
npy_header bool.npy "(2, 2)" "|b1" && printf '\x01\x00\x01\x01' >>bool.npy
npy bool8.npy "(2, 2)" 1 0 1 1
for kind in half bool; do
    tlnmf fit ${kind}8.npy -k 1 --no-model --json >want.json
    expect 0 ... "" tlnmf fit $kind.npy -k 1 --no-model --json
    check "$kind" [ "$(json C)" = "$(json C want.json)" ]
done

# Models: apply reads and writes all three formats.
for end in h5 mat npz; do
    expect 0 ... "" tlnmf fit y.npy -k 1 --trace -o model.$end
    expect 0 ... "" tlnmf apply model.$end y.npy -o applied.$end --json --keep-v
    check "$end: its own data" [ "$(json own_data)" = true ]
    near "$end: C" "$(json C)" "$C" 1e-12
    expect 0 ... "" tlnmf apply applied.$end y.npy -o again.$end --json
    check "$end: the output of apply" [ "$(json own_data)" = true ]
done
mv model.npz first.npz
tlnmf fit y.npy -k 1 --trace -o model.npz >/dev/null
check "the same bytes again" cmp model.npz first.npz
expect 0 ... "" tlnmf jd y.npy --input data -o phi.mat
input fit "model.npz: contains several arrays; name one, as in model.npz:Phi (it has Phi, W, H, energy, trace_stage, trace_iteration and 36 more)" \
    model.npz -k 1 --no-model
expect 0 ... "" tlnmf fit y.npy -k 1 --init-phi model.npz:Phi --no-model
for name in model model.txt model.npy some.dir/model; do # a name without extension is refused as well
    usage fit "$name: the name of a model must end in .h5, .mat or .npz" y.npy -k 1 -o $name
    usage apply "$name: the name of a model must end in .h5, .mat or .npz" model.h5 y.npy -o $name
done
absent model
expect 0 ... "" tlnmf fit y.npy -k 1 -o /dev/null
input apply "plain.csv: not a model, which is an .h5, .mat or .npz file" plain.csv y.npy

# Unsupported formats: the message says how to convert them.
printf 'PAR1' >data.parquet
printf 'PK\003\004' >data.XLSX
printf '\200' >eeg.fif
expect 3 "" ... tlnmf fit data.parquet -k 1 --no-model
check "parquet" [ "$(tail -n 1 "$err")" = "tlnmf fit: convert it first, in Python: pandas.read_parquet('IN').to_csv('out.csv')" ]
expect 3 "" ... tlnmf fit data.XLSX -k 1 --no-model
check "a sheet" [ "$(tail -n 1 "$err")" = "tlnmf fit: save the sheet as .csv first" ]
expect 3 "" ... tlnmf jd eeg.fif -o none.h5
check "an EEG" grep -q "mne.io.read_raw('IN').get_data())$" "$err"
input fit "none.parquet: No such file or directory" none.parquet -k 1 --no-model
npy y.npy "(2, 3)" 1 2 3 4 5 6.5
expect 0 ... "tlnmf fit: warning: k is above min(M, N) = 2: W H can fit any V exactly" tlnmf fit y.npy -k 3 -J 2 --no-model
