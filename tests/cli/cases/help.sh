# --help and --version: whole texts, in golden/. After a change of the option table:
#   UPDATE=1 tests/cli/run.sh PROGRAM help
golden() # NAME ARGUMENT...
{
    local file=$GOLDEN/$1.txt
    shift
    expect 0 ... "" tlnmf "$@"
    sed '1s/^tlnmf [0-9.]*:/tlnmf VERSION:/' "$out" >got
    if [ -n "$UPDATE" ]; then
        cp got "$file"
    elif ! diff -u --label "$file" --label got "$file" got; then
        fail "--help has changed: see UPDATE=1 in $0"
    fi
}

golden help --help
golden help -h
golden help help
for command in separate apply eval fit jd simulate reproduce info; do
    golden help-$command $command --help
    golden help-$command $command -h
    golden help-$command $command missing.npy --help # whatever else is there
    case $command in # the common options that it uses, and no others
    simulate) common=" -o " ;;
    eval | info) common=" --json " ;;
    *) common=" -o --json -q -v " ;;
    esac
    for option in -o --json -q -v; do
        case $common in
        *" $option "*) count=1 ;;
        *) count=0 ;;
        esac
        check "tlnmf $command --help tells of $option: $count" \
            [ "$(grep -c -e "^  $option " "$out")" -eq $count ]
    done
done

# Every option of the table is one of fit's.
names=$(sed -n 's/^OPTION("\([^"]*\)".*/\1/p' "$GOLDEN/../../../src/options.def")
check "src/options.def has options" [ -n "$names" ]
tlnmf fit --help >"$out"
for name in $names; do
    [ ${#name} -eq 1 ] && option=-$name || option=--$name
    check "tlnmf fit --help tells of $option" grep -q -e "^  $option " "$out"
done

expect 0 ... "" tlnmf --version
check "tlnmf --version: two lines" [ "$(wc -l <"$out")" -eq 2 ]
check "tlnmf --version: the version" grep -Eq '^tlnmf [0-9]+\.[0-9]+\.[0-9]+$' "$out"
