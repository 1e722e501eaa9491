# --complete: what the last word of a command line may become. tests/cli/press_tab.py presses Tab in
# the shells.
tab=$'\t'
answers() # LINE.. WORD...: the lines, then -- and the words of the command line
{
    local lines=
    while [ "$1" != -- ]; do
        lines+=${lines:+$'\n'}$1
        shift
    done
    shift
    expect 0 "$lines" "" tlnmf --complete "$@"
}
arrays="npy npz h5 hdf5 mat csv tsv txt"

# Commands.
expect 0 ... "" tlnmf --complete ""
check "all commands" [ "$(cut -f 1 "$out" | grep '^[a-z]' | xargs)" = \
    "$(tlnmf --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | xargs) help" ]
cp "$out" all
expect 0 "$(cat all)" "" tlnmf --complete
answers "fit${tab}learn a transform and a factorisation from an array (M, N) or (S, M, N)" -- fi
answers "jd${tab}joint diagonalisation: the orthogonal Phi that minimises L" -- help j
answers "jd${tab}joint diagonalisation: the orthogonal Phi that minimises L" -- --man j
answers -- bogus ""
answers -- fit jd.npy --bogus

# Options: all of --help all, with the first clause of the help.
for command in separate apply eval fit jd report simulate reproduce info; do
    tlnmf $command --help all | sed -n '/^Examples/q; s/^.\{13\}\(-[-a-zA-Z]*\).*/\1/p' | sort >options
    tlnmf --complete $command - | cut -f 1 | grep -vx -e --help | sort >offered
    check "the options of $command"$'\n'"$(diff options offered)" cmp -s options offered
done
answers "--init-w${tab}start from this W (M, K)" -- fit data.npy --init-w
answers "--devices${tab}instead of a file: list the devices of this machine, as values of --device" \
    -- info --de
answers ":files $arrays" -- fit -- --method # after --, all words are operands

# Values. A shell may pass --name=value as one word, bash as three.
answers "double$tab" "mixed$tab" -- fit data.npy --precision ""
answers "mixed$tab" -- fit data.npy --precision m
answers "--precision=mixed$tab" -- fit data.npy --precision=m
answers "mixed$tab" -- fit data.npy --precision = m
answers "double$tab" "mixed$tab" -- fit data.npy --precision =
answers "auto$tab" -- fit data.npy -k ""
answers "auto$tab" -- fit data.npy --method jd -k a
answers "starts$tab" "frames$tab" -- fit --split ""
answers -- fit data.npy --seed ""
answers -- fit data.npy -k5 --seed ""

# Operands and files.
answers ":files $arrays" -- fit ""
answers ":files $arrays" -- fit --precision mixed da
answers ":files $arrays" -- fit --precision = mixed da
answers ":files $arrays" -- fit --json da
answers ":files $arrays" -- fit --weights ""
answers ":files h5 npz mat" -- apply ""
answers ":files wav flac w64 aiff aif au caf ogg opus mp3 $arrays" -- apply model.h5 ""
answers ":files wav flac w64 aiff aif au caf ogg opus mp3" -- separate a.wav b.wav ""
answers ":files wav flac w64 aiff aif au caf ogg opus mp3" -- eval --ref a.wav b.wav ""
answers "--est${tab}the estimates, one per reference, in any order" -- eval --ref a.wav b.wav --es
answers ":files txt" -- separate a.wav --labels ""
answers ":files" -- info ""
answers ":folders" -- separate a.wav -o ""
answers "gcm$tab" "notes$tab" -- simulate ""
expect 0 ... "" tlnmf --complete fit data.npy ""
check "no second operand: options" grep -q "^--method$tab" "$out"
tlnmf --complete reproduce "" | tr -d "$tab" | xargs >experiments
check "the experiments" [ "$(cat experiments)" = \
    "$(tlnmf --man reproduce | sed -n 's/^EXPERIMENT is \([^.]*\)\..*/\1/p' | sed 's/,//g; s/ or / /')" ]
