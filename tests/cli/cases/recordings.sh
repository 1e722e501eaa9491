# Recordings of instruments: the mean SI-SDR of the stems has a lower limit.
recordings=$GOLDEN/../../recordings
separates() # LEAST CASE OPTION...
{
    local least=$1 name=$2 sources source
    shift 2
    sources=$(cut -f 3 "$recordings/$name/labels.txt" | sort -u)
    rm -rf stems refs
    expect 0 ... "" tlnmf separate "$recordings/$name/mix.flac" -o stems --threads 1 "$@"
    set --
    for source in $sources; do
        set -- "$@" "$recordings/$name/$source.flac"
    done
    expect 0 ... "" tlnmf eval --filter 1 --json --ref "$@" --est stems/*.wav
    score=$(sed -n '/"mean"/,/}/s/.*"si_sdr": \([-0-9.]*\).*/\1/p' "$out")
    check "$name: SI-SDR $score, not $least dB" awk -v a="$score" -v b="$least" \
        'BEGIN { exit !(a >= b) }'
}

separates 20 piano_a4_as4 --labels "$recordings/piano_a4_as4/labels.txt"
separates 18 piano_a4_as4 -k 2
separates 26 piano_clarinet --labels "$recordings/piano_clarinet/labels.txt" --method tl --transform dct \
    --per-source 1
separates 32 flute_violin --labels "$recordings/flute_violin/labels.txt" --method nmf --transform stft \
    --window sine --per-source 1
