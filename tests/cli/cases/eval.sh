# Scores of a separation. With a filter of one tap they can be computed by hand: x is the sum of a, a
# tenth of b and a hundredth of a signal that is in neither; y likewise.
wav a.wav 8000 1 1 0 0 0
wav b.wav 8000 1 0 1 0 0
wav x.wav 8000 1 1 .1 .01 0
wav y.wav 8000 1 .1 1 0 .01
wav zero.wav 8000 1 0 0 0 0
table='reference  estimate       SDR      SIR      SAR   SI-SDR  (dB)
a.wav      x.wav        19.96    20.00    40.04    19.96
b.wav      y.wav        19.96    20.00    40.04    19.96
mean                    19.96    20.00    40.04    19.96'
expect 0 "$table" "" tlnmf eval --ref a.wav b.wav --est x.wav y.wav --filter 1
expect 0 "$table" "" tlnmf eval --filter=1 --est y.wav x.wav --ref a.wav b.wav
expect 0 "$table" "" tlnmf eval --ref a.wav --est y.wav --filter 1 --ref=b.wav --est x.wav
expect 0 'reference  estimate       SDR      SIR      SAR   SI-SDR  (dB)
a.wav      y.wav       -20.00   -20.00    40.04   -20.00
b.wav      x.wav       -20.00   -20.00    40.04   -20.00
mean                   -20.00   -20.00    40.04   -20.00' "" \
    tlnmf eval --filter 1 --est y.wav x.wav --ref a.wav b.wav --no-permutation
expect 0 'reference  estimate       SDR      SIR      SAR   SI-SDR  (dB)
a.wav      x.wav        19.96      inf    19.96    19.96' "" \
    tlnmf eval --filter 1 --ref a.wav --est x.wav
expect 0 'reference  estimate       SDR      SIR      SAR   SI-SDR  (dB)
a.wav      x.wav        19.96      inf    19.96    19.96
zero.wav   y.wav       silent reference
mean of 1 of 2          19.96      inf    19.96    19.96' "" \
    tlnmf eval --filter 1 --ref a.wav zero.wav --est y.wav x.wav
expect 0 ... "" tlnmf eval --filter 1 --ref a.wav b.wav --est x.wav zero.wav
check "a missing stem is not hidden by the mean" grep -q "^mean of 1 of 2 " "$out"
expect 0 ... "" tlnmf eval --filter 1 --ref a.wav b.wav --est x.wav zero.wav --json
check "also in JSON" [ "$(json scored)" = 1 ]
expect 0 'reference  estimate       SDR      SIR      SAR   SI-SDR  (dB)
a.wav      zero.wav    silent estimate' "" tlnmf eval --ref a.wav --est zero.wav

# JSON: the same in full
expect 0 ... "" tlnmf eval --ref a.wav b.wav --est y.wav x.wav --filter 1 --json
check "valid" grep -q '^}$' "$out"
near sdr "$(json sdr)" 19.95678626217357 1e-12
near sir "$(json sir)" 20 1e-12
near sar "$(json sar)" 40.04321373782643 1e-12
near si_sdr "$(json si_sdr)" 19.95678626217357 1e-12
check "the estimate" [ "$(json estimate)" = x.wav ]
check "the permutation" grep -A 3 '"permutation"' "$out" | tr -d ' \n' | grep -qx '"permutation":\[1,0\],' # 1, 0
check "the filter" [ "$(json filter)" = 1 ]
expect 0 ... "" tlnmf eval --ref a.wav --est zero.wav --json
check "the state" [ "$(json state)" = "silent estimate" ]
check "no score" [ "$(json sdr)" = null ]

# Scores of each channel and of all channels
wav stereo-a.wav 8000 2 1 1 0 0 0 0 0 0
wav stereo-x.wav 8000 2 1 1 0 .1 .1 0 0 0
expect 0 'reference     estimate           SDR      SIR      SAR   SI-SDR  (dB)
stereo-a.wav  stereo-x.wav     20.00      inf    20.00    20.00
  channel 0                    20.00      inf    20.00    20.00
  channel 1                    20.00      inf    20.00    20.00' "" \
    tlnmf eval --ref stereo-a.wav --est stereo-x.wav --filter 1

# Images: level counts; x is a, half of it is an image at half the level
wav half.wav 8000 1 .5 .05 .005 0
expect 0 'reference  estimate       SDR      SIR      SAR   SI-SDR      ISR  (dB)
a.wav      half.wav      5.98      inf    19.96    19.96     6.02' "" \
    tlnmf eval --images --filter 1 --ref a.wav --est half.wav

# Window by window: two windows of two samples; a is silent in the second
wav p.wav 8000 1 1 0 0 1
wav q.wav 8000 1 1 .1 .01 1
expect 0 'reference  estimate              SDR      SIR      SAR   SI-SDR  (dB)
p.wav      q.wav               22.97      inf    22.97    22.97
  median of 2 windows          30.00      inf    30.00    30.00' "" \
    tlnmf eval --filter 1 --framewise 2 --framewise-hop 2 --ref p.wav --est q.wav
expect 0 ... "" tlnmf eval --filter 1 --framewise 4 --ref p.wav --est q.wav
check "one window" grep -q "^  median of 1 window  " "$out"
usage eval "framewise: windows of 3 samples are shorter than the filter of 4 taps; use longer windows or a smaller filter" \
    --filter 4 --framewise 3 --ref p.wav --est q.wav
expect 0 ... "" tlnmf eval --filter 1 --framewise 0.25ms --framewise-hop 2 --ref a.wav --est x.wav --json
check "a window that cannot be scored" [ "$(sed -n '/"framewise"/,/]/p' "$out" | tr -d ' \n')" = \
    '"framewise":{"sdr":[20.0,null],' ]
usage eval "framewise = soon is neither a number of samples nor a time such as 40ms" \
    --ref a.wav --est x.wav --framewise soon

# Standard input
expect 0 "$table" "" bash -c 'tlnmf eval --filter 1 --ref a.wav b.wav --est x.wav - <y.wav |
    sed "s/-    /y.wav/"'
usage eval "standard input can be read only once" --ref - --est -

# Mistakes
usage eval "missing required option --ref FILE..."
usage eval "missing required option --est FILE..." --ref a.wav
usage eval "--ref needs a value" --ref --est x.wav
usage eval "a.wav: operands are not accepted; use --ref or --est" --filter 3 a.wav --ref a.wav --est x.wav
usage eval "2 references and 1 estimate: there must be one estimate per reference" \
    --ref a.wav b.wav --est x.wav
usage eval "1 reference and 2 estimates: there must be one estimate per reference" \
    --ref a.wav --est x.wav y.wav
usage eval "filter = 0 is outside [1, 4096]" --ref a.wav --est x.wav --filter 0
usage eval "filter = many is not a number" --ref a.wav --est x.wav --filter many
usage eval "--no-permutation takes no value" --ref a.wav --est x.wav --no-permutation=1
usage eval "--ref has too many values" --ref $(seq 100)

# Inputs that do not match or cannot be read
wav fast.wav 16000 1 1 0 0 0
wav long.wav 8000 1 1 0 0 0 0
wav none.wav 8000 1
wav nan.wav 8000 2 1 0 0 nan
wav inf.wav 8000 1 1 -inf 0 0
head -c 60 a.wav >cut.wav
echo hello >text.wav
: >empty.wav
input eval "fast.wav: the rate is 16000 Hz, but a.wav has 8000 Hz" --ref a.wav --est fast.wav
input eval "stereo-a.wav: 2 channels, but 1 in a.wav" --ref a.wav --est stereo-a.wav
input eval "long.wav: 5 samples, but a.wav has 4; cut them to the same length" \
    --ref a.wav --est long.wav
input eval "none.wav: holds no samples" --ref none.wav --est x.wav
input eval "nan.wav: sample 1, channel 1 is not finite" --ref nan.wav --est x.wav
input eval "inf.wav: sample 1, channel 0 is not finite" --ref a.wav --est inf.wav
input eval "cut.wav: truncated: its header announces 68 bytes, the file has 52" --ref cut.wav --est x.wav
input eval "text.wav: unsupported audio format" \
    --ref text.wav --est x.wav
input eval "empty.wav: empty file" --ref empty.wav --est x.wav
input eval ".: Is a directory" --ref . --est x.wav
input eval "missing.wav: No such file or directory" --ref missing.wav --est x.wav
expect 5 "" "tlnmf: standard output cannot be written" \
    bash -c 'tlnmf eval --ref a.wav --est x.wav >/dev/full'
