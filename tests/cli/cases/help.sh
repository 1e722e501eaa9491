# --help and --version: complete texts, in golden/. After a change of the option table:
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

# The options that a help text shows, after the column with the names of the groups.
options_of() # FILE
{
    sed -n '/^Examples/q; s/^.\{13\}\(-[-a-zA-Z]*\).*/\1/p' "$1"
}

golden help --help
golden help -h
golden help help
for command in separate apply eval fit jd report simulate reproduce info; do
    golden help-$command $command --help
    golden help-$command $command -h
    golden help-$command $command missing.npy --help # regardless of other arguments
    check "$command --help fits one screen: $(wc -l <"$out") lines" [ "$(wc -l <"$out")" -le 28 ]
    check "$command --help shows at most 16 options" [ "$(options_of "$out" | wc -l)" -le 16 ]
    check "$command --help has three examples" [ "$(grep -c '^  tlnmf ' "$out")" -eq 3 ]
    options_of "$out" >first
    golden help-$command-all $command --help all
    golden help-$command-all $command --help=all
    golden help-$command-all help $command all
    options_of "$out" >all
    check "$command --help is a part of --help all" [ -z "$(grep -vxFf all first)" ]
    check "$command: no option is listed twice" [ -z "$(sort all | uniq -d)" ]
    check "$command: every option has a group" eval '! grep -q "^Other" "$out"'
    case $command in # only the common options that it uses
    simulate) common=" -o --force " ;;
    eval) common=" --json " ;;
    info) common=" --json -v " ;;
    reproduce) common=" -o --json -q -v " ;;
    report) common=" -o --force -q -v " ;;
    *) common=" -o --force --json -q -v " ;;
    esac
    for option in -o --force --json -q -v; do
        case $common in
        *" $option "*) count=1 ;;
        *) count=0 ;;
        esac
        check "tlnmf $command --help all has $option: $count" [ "$(grep -cxe "$option" all)" -eq $count ]
    done
    check "tlnmf $command --help has lines of 100 columns at most" [ "$(wc -L <"$out")" -le 100 ]
done

# Every option of the library's table belongs to the commands of its tasks, except for options that
# the program sets itself.
table=$GOLDEN/../../../src/base/options.def
tells() # TASK COMMAND OMITTED...
{
    local task=$1 command=$2 names name option
    shift 2
    names=$(sed -n "s/^OPTION(\\([A-Z| ]*\\<$task\\>[A-Z| ]*\\), \"\\([^\"]*\\)\".*/\\2/p" "$table")
    check "src/base/options.def has options of $task" [ -n "$names" ]
    tlnmf $command --help all >"$out"
    options_of "$out" >all
    for name in $names; do
        [ ${#name} -eq 1 ] && option=-$name || option=--$name
        case " $* " in
        *" $name "*) check "tlnmf $command --help hides $option" eval '! grep -qxe "$option" all' ;;
        *) check "tlnmf $command --help all has $option" grep -qxe "$option" all ;;
        esac
    done
}
tells FIT fit
tells JD jd
tells LEARN separate
tells SEPARATE separate eps keep-h
tells SEPARATE apply keep-h
tells SCORE eval permute
tells GCM simulate
tells REPORT report

expect 0 ... "" tlnmf --version
check "tlnmf --version: two lines" [ "$(wc -l <"$out")" -eq 2 ]
check "tlnmf --version: the version" grep -Eq '^tlnmf [0-9]+\.[0-9]+\.[0-9]+$' "$out"
check "tlnmf --version: the BLAS" grep -q '^BLAS: .' "$out"

# help COMMAND is COMMAND --help.
tlnmf fit --help >fit.txt
expect 0 "$(cat fit.txt)" "" tlnmf help fit
expect 2 "" "tlnmf: unknown command nope (see tlnmf --help)" tlnmf help nope
