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
for command in separate apply eval fit jd report simulate reproduce info; do
    golden help-$command $command --help
    golden help-$command $command -h
    golden help-$command $command missing.npy --help # whatever else is there
    case $command in # the common options that it uses, and no others
    simulate) common=" -o --force " ;;
    eval | info) common=" --json " ;;
    reproduce) common=" -o --json -q -v " ;;
    report) common=" -o --force -q -v " ;;
    *) common=" -o --force --json -q -v " ;;
    esac
    for option in -o --force --json -q -v; do
        case $common in
        *" $option "*) count=1 ;;
        *) count=0 ;;
        esac
        check "tlnmf $command --help tells of $option: $count" \
            [ "$(grep -c -e "^  $option\\( \\|$\\)" "$out")" -eq $count ]
    done
    check "tlnmf $command --help has lines of 100 columns at most" [ "$(wc -L <"$out")" -le 100 ]
done

# Every option of the library's table belongs to the commands of its tasks, but for those that the
# program sets itself.
table=$GOLDEN/../../../src/options.def
tells() # TASK COMMAND LEFT-OUT...
{
    local task=$1 command=$2 names name option
    shift 2
    names=$(sed -n "s/^OPTION(\\([A-Z| ]*\\<$task\\>[A-Z| ]*\\), \"\\([^\"]*\\)\".*/\\2/p" "$table")
    check "src/options.def has options of $task" [ -n "$names" ]
    tlnmf $command --help >"$out"
    for name in $names; do
        [ ${#name} -eq 1 ] && option=-$name || option=--$name
        case " $* " in
        *" $name "*) check "tlnmf $command --help hides $option" eval '! grep -q -e "^  $option\( \|$\)" "$out"' ;;
        *) check "tlnmf $command --help tells of $option" grep -q -e "^  $option\\( \\|$\\)" "$out" ;;
        esac
    done
}
tells FIT fit
tells JD jd
tells SEPARATE separate
tells STEMS separate eps keep-h
tells STEMS apply keep-h
tells SCORE eval permute
tells GCM simulate
tells REPORT report

expect 0 ... "" tlnmf --version
check "tlnmf --version: two lines" [ "$(wc -l <"$out")" -eq 2 ]
check "tlnmf --version: the version" grep -Eq '^tlnmf [0-9]+\.[0-9]+\.[0-9]+$' "$out"

# help COMMAND is COMMAND --help.
tlnmf fit --help >fit.txt
expect 0 "$(cat fit.txt)" "" tlnmf help fit
expect 2 "" "tlnmf: there is no command nope (see tlnmf --help)" tlnmf help nope
